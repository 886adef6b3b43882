"""Partitions of the public inputs against the recorded optima of the published planners."""

import csv

import pytest

import dielet
from dielet.model.partition_input import read

LOADS = [
    "LayerGraphs/bert24_inference",
    "LayerGraphs/bert24_training",
    "LayerGraphs/gnmt_inference",
    "LayerGraphs/gnmt_training",
    "LayerGraphs/inceptionv3_inference",
    "LayerGraphs/inceptionv3_training",
    "LayerGraphs/resnet50_training",
    "OperatorGraphs/bert_l-3_inference",
    "OperatorGraphs/bert_l-6_inference",
    "OperatorGraphs/bert_l-12_inference",
    "OperatorGraphs/bert_L-12_training",
    "OperatorGraphs/resnet50_inference",
    "OperatorGraphs/resnet50_training",
]
MACHINES = {
    "A4": ((4,), (1e9,)),
    "F16": ((16,), (1e9,)),
    "A16": ((4, 4), (1e10, 1.25e9)),
    "B16": ((8, 2), (2e10, 3.125e9)),
}


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.parametrize("name", LOADS)
def test_contiguous_optimum_is_the_recorded_one(shared, name):
    folder = shared / "data/dnn_partitioning"
    (row,) = (row for row in rows(folder / "optima_throughput.tsv") if row["file"] == name)
    answer = dielet.partition(folder / f"throughput-inputs/{name}.json")
    assert answer.status == "optimal"
    assert answer.bottleneck == pytest.approx(float(row["contig_opt_our_prototype"]), rel=1e-6)


@pytest.mark.parametrize("machine", MACHINES)
def test_replicated_stages_are_never_slower_than_pipedreams(shared, machine):
    folder = shared / "data/pipedream"
    levels, bandwidths = MACHINES[machine]
    for row in rows(folder / "optimizer_results.tsv"):
        graph = next(folder.glob(f"*__{row['profile']}.graph.txt"), None)
        if row["config"] != machine or graph is None or not row["predicted_stage_time_s"]:
            continue
        answer = dielet.partition(graph, levels=levels, bandwidths_bytes_per_s=bandwidths)
        peer = float(row["predicted_stage_time_s"])
        assert answer.status == "optimal"
        if len(levels) == 1:
            assert answer.bottleneck == pytest.approx(peer, rel=1e-9)
        else:
            assert answer.bottleneck <= peer * (1 + 1e-9)


def test_vgg16_on_sixteen_flat_machines_is_fifteen_and_one(shared):
    graph = read(shared / "data/pipedream/image_classification__vgg16.graph.txt")
    answer = dielet.partition(graph, levels=(16,), bandwidths_bytes_per_s=(3.125e9,))
    assert [stage.replicas for stage in answer.stages] == [15, 1]
    assert answer.bottleneck == pytest.approx(45.525e-3, rel=1e-4)
    assert "node26" in answer.stages[0].ops
    assert "node27" in answer.stages[1].ops
    serial = sum(graph.columns["forward_ms"]) + sum(graph.columns["backward_ms"])
    assert serial / 1e3 / answer.bottleneck == pytest.approx(14.773, rel=1e-4)


@pytest.mark.parametrize("name", ["bert32a100", "gnmt", "resnet"])
def test_hybrid_stages_are_never_slower_than_pipers(shared, name):
    folder = shared / "data/piper"
    for row in rows(folder / "piper_results.tsv"):
        if row["input"] != f"inputs/{name}.json":
            continue
        answer = dielet.partition(
            folder / f"{name}.json",
            devices=int(row["devices_k"]),
            memory_bytes=float(row["mem_GiB"]) * 2**30,
            micro_batches=int(row["microbatches_N"]),
            bandwidths_bytes_per_s=(float(row["bandwidth_GiBps"]) * 2**30,),
        )
        peer = float(row["piper_TPS"])
        if peer < 0:
            assert answer.status == "infeasible"
        else:
            assert answer.status == "optimal"
            assert answer.bottleneck <= peer * (1 + 1e-8) + 1e-9
