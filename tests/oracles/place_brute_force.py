"""Smallest makespan by trying every placement and order: obvious, slow, no code shared with the solver."""

import itertools
import math


def placements(problem):
    """Every device of every op that respects forbidden devices, pins, groups and memory."""
    ops, devices = problem["ops"], len(problem["memory_bytes"])
    names = [("group", op["group"]) if op["group"] is not None else ("op", i) for i, op in enumerate(ops)]
    groups = sorted(set(names))
    for choice in itertools.product(range(devices), repeat=len(groups)):
        device = [choice[groups.index(name)] for name in names]
        if allowed(problem, device):
            yield device


def allowed(problem, device):
    for op, d in zip(problem["ops"], device, strict=True):
        if math.isinf(op["time_s"][d]) or op["pin"] not in (None, d):
            return False
    for d, capacity in enumerate(problem["memory_bytes"]):
        if sum(op["memory_bytes"] for op, e in zip(problem["ops"], device, strict=True) if e == d) > capacity:
            return False
    return True


def tasks_of(problem, device):
    """Tasks as (time, resources, indices of the tasks they wait for); transfers follow the ops."""
    ops = problem["ops"]
    waits = [set() for _ in ops]
    tasks = [
        [op["time_s"][d], [("device", d)], waits[i]]
        for i, (op, d) in enumerate(zip(ops, device, strict=True))
    ]
    for tensor in problem["tensors"]:
        u = tensor["producer"]
        sent = {}
        for v in tensor["consumers"]:
            s, d = device[u], device[v]
            if s == d:
                waits[v].add(u)
                continue
            if d not in sent:
                time = problem["latency_s"][s][d] + tensor["bytes"] / problem["bandwidth_bytes_per_s"][s][d]
                sent[d] = len(tasks)
                tasks.append([time, resources(problem, s, d), {u}])
            waits[v].add(sent[d])
    return tasks


def resources(problem, s, d):
    if problem["links"] == "delay":
        return []
    if problem["links"] == "serial":
        return [("link", s, d)]
    if problem["overlap"]:
        return [("send", s), ("receive", d)]
    return [("device", s), ("device", d)]


def best_order(tasks, best):
    """Smallest makespan over all orders by start, if below `best`."""
    n = len(tasks)
    tail = [None] * n
    after = [[j for j in range(n) if i in tasks[j][2]] for i in range(n)]

    def tail_of(i):
        if tail[i] is None:
            tail[i] = tasks[i][0] + max((tail_of(j) for j in after[i]), default=0)
        return tail[i]

    def extend(finish, free, last):
        nonlocal best
        if len(finish) == n:
            best = min(best, max(finish.values()))
            return
        ready = [i for i in range(n) if i not in finish and all(j in finish for j in tasks[i][2])]
        for i in ready:
            time, used, waits = tasks[i]
            start = max([last] + [finish[j] for j in waits] + [free.get(r, 0) for r in used])
            if start + tail_of(i) < best:
                extend({**finish, i: start + time}, {**free, **dict.fromkeys(used, start + time)}, start)

    extend({}, {}, 0)
    return best


def smallest_makespan(problem):
    """The optimum, or infinity when nothing fits."""
    best = math.inf
    for device in placements(problem):
        best = best_order(tasks_of(problem, device), best)
    return best
