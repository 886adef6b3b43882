"""The placement problem as a CP-SAT model: an independent exact solver (delay and serial links)."""

from ortools.sat.python import cp_model


def smallest_makespan(problem, seconds=60.0, workers=2):
    """(status, makespan) for whole-numbered times and identical devices."""
    model = cp_model.CpModel()
    ops, devices = problem["ops"], range(len(problem["memory_bytes"]))
    horizon = (
        int(sum(max(op["time_s"]) for op in ops) + sum(_time(problem, t) for t in problem["tensors"]) * 4) + 1
    )
    start = [model.new_int_var(0, horizon, f"s{i}") for i in range(len(ops))]
    on = [[model.new_bool_var(f"x{i}_{d}") for d in devices] for i in range(len(ops))]
    makespan = model.new_int_var(0, horizon, "makespan")
    for i, op in enumerate(ops):
        model.add_exactly_one(on[i])
        model.add(start[i] + int(op["time_s"][0]) <= makespan)
    _groups(model, ops, on)
    for d in devices:
        spans = [
            model.new_optional_fixed_size_interval_var(start[i], int(op["time_s"][d]), on[i][d], f"i{i}_{d}")
            for i, op in enumerate(ops)
        ]
        model.add_no_overlap(spans)
        if problem["memory_bytes"][d] != float("inf"):
            needs = sum(int(op["memory_bytes"]) * on[i][d] for i, op in enumerate(ops))
            model.add(needs <= int(problem["memory_bytes"][d]))
    _transfers(model, problem, start, on, horizon)
    model.minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = workers
    status = solver.solve(model)
    return solver.status_name(status), solver.objective_value


def _groups(model, ops, on):
    leader = {}
    for i, op in enumerate(ops):
        first = leader.setdefault(op["group"], i) if op["group"] is not None else i
        for a, b in zip(on[first], on[i], strict=True):
            model.add(a == b)


def _time(problem, tensor):
    return problem["latency_s"][0][-1] + tensor["bytes"] / problem["bandwidth_bytes_per_s"][0][-1]


def _transfers(model, problem, start, on, horizon):
    devices = range(len(problem["memory_bytes"]))
    links = {}
    for t, tensor in enumerate(problem["tensors"]):
        u = tensor["producer"]
        end = start[u] + int(problem["ops"][u]["time_s"][0])
        time = int(_time(problem, tensor))
        for v in tensor["consumers"]:
            model.add(start[v] >= end)
        for s in devices:
            for d in (d for d in devices if d != s):
                sent = model.new_bool_var(f"y{t}_{s}_{d}")
                at = model.new_int_var(0, horizon, f"c{t}_{s}_{d}")
                model.add(at >= end).only_enforce_if(sent)
                span = model.new_optional_fixed_size_interval_var(at, time, sent, f"t{t}_{s}_{d}")
                links.setdefault((s, d), []).append(span)
                for v in tensor["consumers"]:
                    model.add_bool_or(on[u][s].negated(), on[v][d].negated(), sent)
                    model.add(start[v] >= at + time).only_enforce_if([on[u][s], on[v][d]])
    if problem["links"] == "serial":
        for spans in links.values():
            model.add_no_overlap(spans)
