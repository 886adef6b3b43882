"""Semicolon table of a fused training profile: ``id;op;fw_ms;bw_ms;out_MB_per_sample;param_MB;preds``.

Times are for the measured batch of 128 samples, outputs per sample: a tensor is 128 times as large.
"""

import csv

from dielet.errors import ModelError
from dielet.model.taskgraph.graph import TaskGraph, TaskOp, TaskTensor
from dielet.model.taskgraph.scale import milliseconds, shifted

BATCH = 128
_HEADER = ["id", "op", "fw_ms", "bw_ms", "out_MB_per_sample", "param_MB", "preds"]


def recognises(text: str) -> bool:
    """Whether the first line is the header."""
    return text.lstrip().split("\n", 1)[0].strip() == ";".join(_HEADER)


def read(text: str, source: str) -> TaskGraph:
    """The forward graph with the times of its mirrored backward."""
    ops: list[TaskOp] = []
    size: dict[str, float] = {}
    consumers: dict[str, list[str]] = {}
    for at, row in enumerate(csv.reader(text.lstrip().splitlines(), delimiter=";"), start=1):
        if at == 1 or not row:
            continue
        where = f"{source}, line {at}"
        if len(row) != len(_HEADER):
            raise ModelError(f"{where}: {len(row)} fields, not {len(_HEADER)}; the file may be truncated")
        name, _, forward, backward, output, parameters, before = row
        size[name] = BATCH * shifted(output, 6, where)
        memory = shifted(parameters, 6, where) + size[name]
        ops.append(TaskOp(name, (milliseconds(forward, where),), (milliseconds(backward, where),), memory))
        for producer in filter(None, (p.strip() for p in before.split(","))):
            consumers.setdefault(producer, []).append(name)
    tensors = (TaskTensor(u, tuple(vs), bytes=size.get(u)) for u, vs in consumers.items())
    return TaskGraph(
        source, tuple(ops), tuple(tensors), notes=(f"sizes are those of the measured batch of {BATCH}",)
    )
