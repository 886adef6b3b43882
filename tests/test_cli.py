"""The command line: exit codes, one line on stderr for a fault, JSON alone on stdout."""

import json
import os
import subprocess
import sys

import pytest

OP = "{} -- Linear -- forward_compute_time=1, backward_compute_time=1, activation_size=4, parameter_size=4\n"
OPS = OP.format("node1") + OP.format("node2")
PLAN = ["plan", "gnmt", "--system", "dgx1-v100"]


def run(*arguments, cwd=None):
    command = [sys.executable, "-m", "dielet", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, env=environment, check=False)


def test_plan_prints_one_json_object():
    done = run(*PLAN, "--devices", "1,2,64", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 0
    assert done.stderr == ""
    assert {"status", "curve", "crossover_devices", "gain_at_scale", "plans", "search", "version", "seconds"} <= set(
        answer
    )
    row = answer["curve"][0]
    assert {"step_s", "steps_per_epoch", "epochs", "time_to_target_s", "batch", "speedup"} <= set(row["dp_only"])
    best = answer["plans"][0]
    assert {"plan", "step_s", "mfu", "hfu", "memory_bytes", "breakdown", "energy_j", "cost_usd"} <= set(best)
    assert {"peak", "capacity", "stages"} <= set(best["memory_bytes"])
    search = answer["search"]
    counted = search["priced"] + sum(search["infeasible"].values()) + sum(search["pruned"].values())
    assert search["space"] == counted


def test_price_prints_one_json_object():
    degrees = ["--tp", 8, "--pp", 8, "--micro-batch", 1, "--batch", 64, "--recompute", "full"]
    done = run("price", "gpt3-175b", "--system", "dgx-a100", *degrees, "--json")
    answer = json.loads(done.stdout)
    assert answer["status"] == "feasible"
    assert answer["step_s"] == answer["breakdown"]["seconds"]


def test_no_plan_fits_is_an_answer():
    done = run("price", "gpt3-175b", "--system", "dgx-a100", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 0
    assert answer["status"] == "infeasible"
    assert answer["reason"] == "memory"
    assert answer["needs"] > answer["has"]
    assert answer["nearest"]


@pytest.mark.parametrize("what", ["models", "systems", "fabrics", "curves"])
def test_show_lists(what):
    entries = json.loads(run("show", what, "--json").stdout)
    assert entries
    assert all(set(entry) >= {"name", "summary", "source"} for entry in entries)


def test_show_model_has_exact_totals():
    answer = json.loads(run("show", "llama-3-8b", "--json").stdout)
    assert answer["parameters"]["total"] == 8_030_261_248


def test_the_table_fits_80_columns():
    done = run(*PLAN, "--devices", "1..64")
    assert done.returncode == 0
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    assert "…" not in done.stdout


def test_csv_keeps_full_precision(tmp_path):
    done = run(*PLAN, "--devices", "1,2", "--csv", tmp_path / "out.csv")
    assert done.returncode == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 3


def test_version_tells_the_build_profile():
    done = run("--version")
    assert "build)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["plan", "gnnt", "--system", "dgx1-v100", "--devices", "8"], "did you mean"),
        (["plan", "gnmt", "--system", "dgx9", "--devices", "8"], "dgx9"),
        ([*PLAN, "--devices", "0"], "below 1"),
        ([*PLAN, "--devices", "-3"], "--devices"),
        ([*PLAN, "--devices", "5..1"], "empty or below 1"),
        ([*PLAN, "--devices", "many"], "is no count"),
        ([*PLAN, "--devices", "9" * 30], "out of range"),
        ([*PLAN, "--devices", "8", "--mp-speedup", "2"], "2=1.32"),
        ([*PLAN, "--devices", "8", "--fabric", "sif"], "sif"),
        ([*PLAN, "--devices", "8", "--csv", "/no/such/folder/x.csv"], "no folder"),
        (["price", "gnmt", "--system", "dgx1-v100", "--devices", "6", "--dp", "4"], "contradict"),
        (["show", "gmnt"], "did you mean"),
        (["place", "alexnet", "--system", "dgx1-v100", "--devices", "99999999"], "at most 64"),
        (["place", "alexnet", "--system", "dgx1-v100", "--devices", "0"], "at least 1"),
        (["codesign", "gnmt", "--pitch", "2um..1um"], "empty range"),
        (["fabric", "si-if", "--pitch", "10"], "has no unit: write the length"),
    ],
)
def test_a_fault_is_one_line_and_exit_code_2(arguments, says):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.graph.txt", b""),
        ("latin.graph.txt", "node1 -- \xe9t\xe9".encode("latin-1")),
        ("truncated.json", b'{"name": "x", "ops": ['),
        ("cycle.txt", (OPS + "\tnode1 -- node2\n\tnode2 -- node1\n").encode()),
        ("nan.txt", OPS.replace("=1,", "=nan,", 1).encode()),
        ("negative.txt", OPS.replace("=1,", "=-1,", 1).encode()),
    ],
)
def test_a_bad_file_is_one_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    done = run("plan", tmp_path / name, "--system", "dgx1-v100", "--devices", "2", "--curve", "resnet-50-mlperf")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert name in done.stderr
