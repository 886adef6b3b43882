"""Partition through the public API and the command line."""

import json
import time

import pytest

import dielet
from dielet.cli import main
from dielet.errors import FileError, ModelError, PlanError
from dielet.model.partition_input import parse


def layers(times, activation=0.0, parameters=0.0):
    """A PipeDream chain with the given forward times in ms."""
    nodes = [
        f"n{v} -- layer -- forward_compute_time={t}, backward_compute_time=0.0, "
        f"activation_size={activation}, parameter_size={parameters}"
        for v, t in enumerate(times)
    ]
    return "\n".join(nodes + [f"\tn{v} -- n{v + 1}" for v in range(len(times) - 1)])


def colours(times, *, cpus=0, accelerators=2, memory=1e9):
    """A Tarnawski chain."""
    nodes = [
        {
            "id": v,
            "supportedOnFpga": 1,
            "cpuLatency": 10 * t,
            "fpgaLatency": t,
            "isBackwardNode": 0,
            "size": 1.0,
        }
        for v, t in enumerate(times)
    ]
    edges = [{"sourceId": v, "destId": v + 1, "cost": 0.5} for v in range(len(times) - 1)]
    machine = {"maxFPGAs": accelerators, "maxCPUs": cpus, "maxSizePerFPGA": memory}
    return json.dumps({**machine, "nodes": nodes, "edges": edges}) + "\n"


def test_a_chain_is_cut_where_the_loads_are_even():
    answer = dielet.partition(layers([4.0, 1.0, 1.0, 2.0]), levels=(2,), bandwidths_bytes_per_s=(1e9,))
    assert answer.status == "optimal"
    # Two replicas of everything halve 8 ms, as does the cut after the first layer.
    assert answer.bottleneck == pytest.approx(4e-3)


def test_heavy_parameters_are_not_replicated():
    answer = dielet.partition(layers([4.0, 1.0, 1.0, 2.0], parameters=1e9), levels=(2,), bandwidths_bytes_per_s=(1e9,))
    assert [stage.replicas for stage in answer.stages] == [1, 1]
    assert [stage.ops for stage in answer.stages] == [("n0",), ("n1", "n2", "n3")]


def test_both_ends_of_a_cut_pay_for_the_tensor():
    answer = dielet.partition(colours([3.0, 3.0]))
    assert answer.bottleneck == 3.5
    assert {stage.kind for stage in answer.stages} == {"accelerator"}


def test_without_order_two_pairs_beat_every_chain():
    text = colours([5.0, 1.0, 5.0, 1.0, 1.0, 5.0])
    contiguous = dielet.partition(text)
    anything = dielet.partition(text, contiguous=False)
    assert anything.bottleneck <= contiguous.bottleneck


def test_infeasible_is_an_answer_with_numbers():
    answer = dielet.partition(colours([3.0, 3.0], memory=0.5))
    assert answer.status == "infeasible"
    assert "1.0000e0 B" in (answer.reason or "")


def test_a_time_limit_gives_the_best_so_far_with_a_valid_bound():
    proven = dielet.partition(colours([float(v % 7 + 1) for v in range(60)], accelerators=5))
    stopped = dielet.partition(colours([float(v % 7 + 1) for v in range(60)], accelerators=5), time_limit_s=0.0)
    if stopped.bottleneck is not None:
        assert stopped.bottleneck >= proven.bottleneck
    assert (stopped.lower_bound or 0.0) <= proven.bottleneck * (1 + 1e-9)


def test_a_memory_limit_gives_a_gap_and_no_crash(shared):
    graph = shared / "data/dnn_partitioning/throughput-inputs/OperatorGraphs/bert_l-3_inference.json"
    answer = dielet.partition(graph, memory_limit_bytes=20_000)
    assert answer.search["stop"] == "memory_limit"
    assert answer.status in ("feasible", "unknown")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({}, "names no machine"),
        ({"levels": (2,)}, "bandwidths"),
        ({"levels": (2, 2), "bandwidths_bytes_per_s": (1e9,)}, "bandwidths"),
        ({"devices": 3, "levels": (2,), "bandwidths_bytes_per_s": (1e9,)}, "give either"),
        ({"convention": "piper"}, "convention pipedream"),
    ],
)
def test_bad_options_name_themselves(options, fault):
    with pytest.raises(PlanError, match=fault):
        dielet.partition(layers([1.0, 1.0]), **options)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{}", "neither"),
        ("{", "JSON"),
        ("a -- b\n", "line 1"),
        ("a -- b -- forward_compute_time=1\n", "backward_compute_time"),
        (layers([1.0]) + "\n\tn0 -- n9\n", "n9"),
    ],
)
def test_bad_graphs_say_where(text, fault):
    with pytest.raises(ModelError, match=fault):
        parse(text)


def test_a_cycle_is_refused():
    with pytest.raises(ModelError, match="cycle"):
        dielet.partition(layers([1.0, 1.0]) + "\n\tn1 -- n0\n", levels=(2,), bandwidths_bytes_per_s=(1e9,))


def test_a_missing_file_is_a_file_error(tmp_path):
    with pytest.raises(FileError, match="absent"):
        dielet.partition(tmp_path / "absent.txt")


def test_the_command_prints_one_json_object(tmp_path, capsys):
    path = tmp_path / "graph.txt"
    path.write_text(layers([4.0, 1.0, 1.0, 2.0]))
    with pytest.raises(SystemExit) as ended:
        main(["partition", str(path), "--levels", "2", "--bandwidths", "1GB/s", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0
    assert {"version", "status", "bottleneck", "lower_bound", "unit", "stages", "seconds"} <= set(answer)
    assert {"ops", "replicas", "load", "memory_bytes"} <= set(answer["stages"][0])


def test_identical_layers_by_the_hundred_take_no_time():
    start = time.process_time()
    answer = dielet.partition(layers([1.0] * 400, activation=1e3), levels=(16,), bandwidths_bytes_per_s=(1e9,))
    assert answer.status == "optimal"
    assert answer.bottleneck == pytest.approx(25e-3)
    assert time.process_time() - start < 2.0


def test_memory_is_refused_where_the_convention_has_none():
    with pytest.raises(dielet.PlanError, match="memory is no part"):
        dielet.partition(layers([1.0, 1.0]), levels=(2,), bandwidths_bytes_per_s=(1e9,), memory_bytes=1e9)


def test_an_empty_file_says_so(tmp_path):
    (tmp_path / "empty.json").touch()
    with pytest.raises(dielet.FileError, match="is empty"):
        dielet.partition(tmp_path / "empty.json")
