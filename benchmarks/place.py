"""Placement on every graph at hand, and against CP-SAT and HiGHS on the same instances in one run.

    python benchmarks/place.py table [SECONDS]      value, bound and time of each graph (Markdown)
    python benchmarks/place.py solvers [SECONDS]    geometric-mean speed-up over CP-SAT and HiGHS

Reads the shared data folder (DIELET_SHARED).
"""

import importlib.util
import math
import os
import sys
import time
from pathlib import Path

from dielet import _core
from dielet.model.taskgraph import read_taskgraph
from dielet.place import place, placement_problem

DATA = Path(os.environ.get("DIELET_SHARED", Path(__file__).parents[2] / "shared")) / "data"
LINK = {"latency_s": 1e-5, "bandwidth_bytes_per_s": 50e9}
PROFILES = (
    "squeezenet1_0 vgg16 alexnet resnet18 resnet50 resnext101 "
    "inception_v3 nasnetamobile nasnetalarge gnmt gnmt_large"
)


def load(name):
    path = Path(__file__).parents[1] / "tests" / "oracles" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases():
    fused = DATA / "inception_v3/fused_profile.csv"
    no_aux = {"drop": ("88", "89", "90", "91")}
    for bandwidth in (12e9, 25e9, 50e9, 150e9, math.inf):
        link = {**LINK, "bandwidth_bytes_per_s": bandwidth}
        yield f"Inception-V3 fused, no aux, {bandwidth / 1e9:g} GB/s", fused, 2, {**link, **no_aux}
        yield f"Inception-V3 fused, {bandwidth / 1e9:g} GB/s", fused, 2, link
    for devices in (3, 4):
        yield "Inception-V3 fused, 50 GB/s", fused, devices, LINK
    for name in PROFILES.split():
        path = next((DATA / "pipedream").glob(f"*__{name}.graph.txt"))
        yield f"{name}, 50 GB/s", path, 2, LINK
    graphs = DATA / "dnn_partitioning/throughput-inputs/LayerGraphs"
    for name in ("bert24", "gnmt"):
        for devices in (2, 4):
            yield f"{name} training, as given", graphs / f"{name}_training.json", devices, {"as_given": True}
    for path in sorted((DATA / "taskgraphs/hetero_dag").glob("*.txt")):
        yield path.stem, path, None, {}
    for k in range(32):
        yield f"random DAG {k}", f"{DATA / 'taskgraphs/random_dag_instances.json'}#{k}", None, {}


def table(seconds):
    print("| graph | ops | devices | value | bound | gap | speed-up | time s |")
    print("|---|---|---|---|---|---|---|---|")
    for name, path, devices, options in cases():
        answer = place(path, devices, time_limit_s=seconds, **options)
        scale, unit = (1e3, " ms") if answer.unit == "s" else (1, "")
        numbers = f"{answer.makespan_s * scale:.3f}{unit} | {answer.lower_bound_s * scale:.3f}{unit}"
        gap = "proved" if answer.status == "optimal" else f"{answer.gap:.2%}"
        speed = f"{answer.speedup or 1:.4f} | {answer.seconds:.3f}"
        row = f"{len(answer.ops)} | {answer.devices} | {numbers} | {gap} | {speed}"
        print(f"| {name} | {row} |", flush=True)


def highs(problem, limit):
    """Seconds of HiGHS on the big-M model (delay links), or the limit when it does not prove."""
    import highspy

    ops, devices = problem["ops"], range(len(problem["memory_bytes"]))
    horizon = sum(op["time_s"][0] for op in ops) + sum(t["bytes"] for t in problem["tensors"])
    h = highspy.Highs()
    h.silent()
    h.setOptionValue("time_limit", float(limit))
    start = [h.addVariable(0, horizon) for _ in ops]
    on = [[h.addBinary() for _ in devices] for _ in ops]
    end = h.addVariable(0, horizon)
    for i, op in enumerate(ops):
        h.addConstr(sum(on[i]) == 1)
        h.addConstr(start[i] + op["time_s"][0] <= end)
    for d in devices:
        if math.isfinite(problem["memory_bytes"][d]):
            h.addConstr(
                sum(op["memory_bytes"] * on[i][d] for i, op in enumerate(ops)) <= problem["memory_bytes"][d]
            )
    for tensor in problem["tensors"]:
        u = tensor["producer"]
        for v in tensor["consumers"]:
            cut = h.addVariable(0, 1)
            for d in devices:
                h.addConstr(cut >= on[u][d] - on[v][d])
            h.addConstr(start[v] >= start[u] + ops[u]["time_s"][0] + tensor["bytes"] * cut)
    for i in range(len(ops)):
        for j in range(i):
            first = h.addBinary()
            for d in devices:
                h.addConstr(
                    start[j] >= start[i] + ops[i]["time_s"][0] - horizon * (3 - first - on[i][d] - on[j][d])
                )
                h.addConstr(
                    start[i] >= start[j] + ops[j]["time_s"][0] - horizon * (2 + first - on[i][d] - on[j][d])
                )
    began = time.perf_counter()
    h.minimize(end)
    return time.perf_counter() - began


def timed(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def solvers(limit):
    cp_sat = load("place_cp_sat")
    ratios = {"CP-SAT": [], "HiGHS": []}
    print("| random DAG | ours s | CP-SAT s | HiGHS s |")
    print("|---|---|---|---|")
    for k in range(16):
        problem = placement_problem(read_taskgraph(f"{DATA / 'taskgraphs/random_dag_instances.json'}#{k}"))
        ours = timed(lambda p=problem: _core.place_solve(p))
        theirs = timed(lambda p=problem: cp_sat.smallest_makespan(p, limit))
        milp = highs(problem, limit)
        ratios["CP-SAT"].append(theirs / ours)
        ratios["HiGHS"].append(milp / ours)
        print(f"| {k} | {ours:.4f} | {theirs:.3f} | {milp:.2f} |", flush=True)
    for name, values in ratios.items():
        mean = math.exp(sum(map(math.log, values)) / len(values))
        print(f"geometric-mean speed-up over {name}: {mean:.1f} (a run stopped at {limit} s counts as that)")


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else "table"
    {"table": table, "solvers": solvers}[what](float(sys.argv[2]) if len(sys.argv) > 2 else 10.0)
