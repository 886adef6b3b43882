"""A pipelined training step, event by event, from the definitions of the schedules.

Devices work through their list of passes in order, one at a time, each as soon as its input is there; what a
pass writes travels to the device that reads it while the sender goes on working.

- GPipe (Huang et al., NeurIPS 2019): every forward pass, then every backward pass.
- 1F1B (Narayanan et al., SC 2021, section 2.2.1): device d starts with as many forward passes as there are
  devices behind it, then alternates forward and backward until the forward passes are used up, then drains.
- Interleaved 1F1B (section 2.2.2): a device has several chunks of the model; micro-batches go in rounds of as
  many as there are devices through the first chunk of all devices, then the second, and back the other way.
  The first forward passes are two per device behind, and one round per chunk but the last.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

# (is backward, virtual stage, micro-batch)
Pass = tuple[bool, int, int]


def forward_order(device: int, stages: int, chunks: int, micro_batches: int) -> Iterator[Pass]:
    for first in range(0, micro_batches, stages):
        for chunk in range(chunks):
            for micro_batch in range(first, min(first + stages, micro_batches)):
                yield False, chunk * stages + device, micro_batch


def backward_order(device: int, stages: int, chunks: int, micro_batches: int) -> Iterator[Pass]:
    for first in range(0, micro_batches, stages):
        for chunk in reversed(range(chunks)):
            for micro_batch in range(first, min(first + stages, micro_batches)):
                yield True, chunk * stages + device, micro_batch


def work_list(schedule: str, device: int, stages: int, chunks: int, micro_batches: int) -> list[Pass]:
    forward = list(forward_order(device, stages, chunks, micro_batches))
    backward = list(backward_order(device, stages, chunks, micro_batches))
    if schedule == "gpipe":
        return forward + backward
    behind = stages - 1 - device
    ahead = behind if chunks == 1 else 2 * behind + (chunks - 1) * stages
    passes, forward = forward[:ahead], forward[ahead:]
    while forward:
        passes += [forward.pop(0), backward.pop(0)]
    return passes + backward


def after(done: Pass, last: int) -> Pass | None:
    """What reads the output of a pass."""
    backward, stage, micro_batch = done
    if not backward:
        return (False, stage + 1, micro_batch) if stage < last else (True, stage, micro_batch)
    return (True, stage - 1, micro_batch) if stage > 0 else None


def travel(done: Pass, reader: Pass, send: Sequence[float]) -> float:
    """`send[i]` joins virtual stages i and i + 1, both ways."""
    return 0.0 if done[1] == reader[1] else send[min(done[1], reader[1])]


def ends(
    forward: Sequence[float],
    backward: Sequence[float],
    send: Sequence[float],
    stages: int,
    micro_batches: int,
    schedule: str,
) -> list[float]:
    """When each device has ended its last pass; one entry per virtual stage in the times."""
    last, chunks = len(forward) - 1, len(forward) // stages
    waiting = [work_list(schedule, d, stages, chunks, micro_batches)[::-1] for d in range(stages)]
    here: set[Pass] = {(False, 0, micro_batch) for micro_batch in range(micro_batches)}
    free, busy = [0.0] * stages, [False] * stages
    events: list[tuple[float, int, str, Pass]] = []
    count = 0

    def push(time: float, kind: str, item: Pass) -> None:
        nonlocal count
        count += 1
        heapq.heappush(events, (time, count, kind, item))

    def start(device: int, now: float) -> None:
        if not busy[device] and waiting[device] and waiting[device][-1] in here:
            item = waiting[device].pop()
            busy[device] = True
            push(now + (backward if item[0] else forward)[item[1]], "done", item)

    for device in range(stages):
        start(device, 0.0)
    while events:
        now, _, kind, item = heapq.heappop(events)
        device = item[1] % stages
        if kind == "done":
            busy[device], free[device] = False, now
            reader = after(item, last)
            if reader:
                push(now + travel(item, reader, send), "arrived", reader)
        else:
            here.add(item)
        start(device, now)
    assert not any(waiting), "the schedule is stuck"
    return free
