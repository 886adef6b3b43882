"""Graphs to partition, as the published planners write them.

Three formats, told apart by their content: the JSON of Tarnawski et al. (NeurIPS 2020), the ``graph.txt`` of
PipeDream (SOSP 2019) and the JSON of Piper (NeurIPS 2021). Each keeps its own unit of time.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dielet.errors import FileError, ModelError

Json = dict[str, Any]


@dataclass(frozen=True)
class LoadGraph:
    """A graph with times on accelerators and CPUs, and the machine its file names."""

    ids: tuple[str, ...]
    columns: dict[str, Any]
    accelerators: int
    cpus: int
    memory_bytes: float

    convention = "tarnawski"
    unit = "ms"


@dataclass(frozen=True)
class ReplicaGraph:
    """A graph of layers with measured times, parameters and activations."""

    ids: tuple[str, ...]
    columns: dict[str, Any]

    convention = "pipedream"
    unit = "s"


@dataclass(frozen=True)
class HybridGraph:
    """A graph of layers with their costs by tensor degree and recompute."""

    ids: tuple[str, ...]
    ops: list[Json]
    edges: list[Json]
    devices: int
    memory_bytes: float
    bandwidth_bytes_per_s: float
    micro_batches: int

    convention = "piper"
    unit = "s"


Graph = LoadGraph | ReplicaGraph | HybridGraph


def read(path: str | Path) -> Graph:
    """The graph in a file, whatever its format."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read graph `{path}`: {error}") from error
    if not text.strip():
        raise FileError(f"graph `{path}` is empty; give PipeDream graph.txt, Tarnawski or Piper JSON")
    try:
        return parse(text)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
    except (KeyError, TypeError, IndexError) as error:
        raise ModelError(f"{path}: {type(error).__name__} {error}; a field is missing or misplaced") from error


def parse(text: str) -> Graph:
    """The graph in a text, whatever its format."""
    if not text.lstrip().startswith("{"):
        return _replica_graph(text)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise ModelError(f"not valid JSON: {error}") from error
    if "maxFPGAs" in content:
        return _load_graph(content)
    if any("TMPCs" in node for node in content.get("nodes", [])):
        return _hybrid_graph(content)
    raise ModelError("a JSON graph has `maxFPGAs` (Tarnawski et al.) or nodes with `TMPCs` (Piper); this has neither")


def _index(nodes: list[Json]) -> dict[Any, int]:
    index = {node["id"]: at for at, node in enumerate(nodes)}
    if len(index) < len(nodes):
        raise ModelError(f"{len(nodes) - len(index)} node ids occur twice; ids must be distinct")
    return index


def _ends(edge: Json, index: dict[Any, int]) -> tuple[int, int]:
    try:
        return index[edge["sourceId"]], index[edge["destId"]]
    except KeyError as error:
        raise ModelError(f"an edge names node {error}, which is not in `nodes`") from error


def _load_graph(content: Json) -> LoadGraph:
    nodes = content["nodes"]
    index = _index(nodes)
    transfer: dict[int, float] = {}
    edges = []
    for edge in content["edges"]:
        source, sink = _ends(edge, index)
        cost = transfer.setdefault(source, float(edge["cost"]))
        if abs(cost - edge["cost"]) > 1e-6:  # the format's own tolerance
            raise ModelError(f"edges out of node {edge['sourceId']} cost {cost} and {edge['cost']}; they must be equal")
        edges.append((source, sink))
    colours: dict[object, int] = {}
    columns = {
        "accelerator": [float(node["fpgaLatency"]) for node in nodes],
        "cpu": [float(node["cpuLatency"]) for node in nodes],
        "memory": [float(node.get("size", 0.0)) for node in nodes],
        "backward": [bool(node["isBackwardNode"]) for node in nodes],
        # A node without a colour is a class of its own.
        "colour": [
            colours.setdefault(node.get("colorClass", ("own", at)), len(colours)) for at, node in enumerate(nodes)
        ],
        "supported": [bool(node["supportedOnFpga"]) for node in nodes],
        "transfer": [transfer.get(at, 0.0) for at in range(len(nodes))],
        "edges": edges,
    }
    ids = tuple(str(node["id"]) for node in nodes)
    return LoadGraph(ids, columns, content["maxFPGAs"], content["maxCPUs"], float(content["maxSizePerFPGA"]))


_FIELD = re.compile(r"(\w+)=(\[[^\]]*\]|[^,\s]+)")


def _replica_graph(text: str) -> ReplicaGraph:
    nodes: dict[str, tuple[str, dict[str, float]]] = {}
    edges = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split(" -- ")]
        if line[0].isspace() and len(parts) == 2:
            edges.append((parts[0], parts[1]))
        elif len(parts) >= 3:
            nodes[parts[0]] = (parts[1], _fields(parts[2], number))
        else:
            raise ModelError(f"line {number}: neither `id -- name -- fields` nor an indented `source -- sink`")
    return _without_ends(nodes, edges)


def _fields(text: str, line: int) -> dict[str, float]:
    found = {key: _amount(value, line) for key, value in _FIELD.findall(text)}
    wanted = ("forward_compute_time", "backward_compute_time", "activation_size", "parameter_size")
    missing = [key for key in wanted if key not in found]
    if missing:
        raise ModelError(f"line {line}: no {', '.join(missing)}")
    return found


def _amount(text: str, line: int) -> float:
    """A number, or the sum of a list such as ``[1.0; 2.0]``."""
    try:
        return sum(float(part) for part in text.strip("[]").split(";"))
    except ValueError as error:
        raise ModelError(f"line {line}: `{text}` is not a number") from error


def _without_ends(nodes: dict[str, tuple[str, dict[str, float]]], edges: list[tuple[str, str]]) -> ReplicaGraph:
    """Drops what the planner drops: sources named ``Input*``, then sinks named ``__getitem__*``."""
    unknown = [end for edge in edges for end in edge if end not in nodes]
    if unknown:
        raise ModelError(f"an edge names node `{unknown[0]}`, which is not defined")
    sinks = {sink for _, sink in edges}
    inputs = {node for node, (name, _) in nodes.items() if name.startswith("Input") and node not in sinks}
    edges = [edge for edge in edges if edge[0] not in inputs]
    sources = {source for source, _ in edges}
    items = {node for node, (name, _) in nodes.items() if name.startswith("__getitem__") and node not in sources}
    kept = [node for node in nodes if node not in inputs | items]
    at = {node: position for position, node in enumerate(kept)}
    fields = [nodes[node][1] for node in kept]
    columns = {
        "forward_ms": [field["forward_compute_time"] for field in fields],
        "backward_ms": [field["backward_compute_time"] for field in fields],
        "parameters_bytes": [field["parameter_size"] for field in fields],
        "activation_bytes": [field["activation_size"] for field in fields],
        "edges": [(at[source], at[sink]) for source, sink in edges if sink not in items],
    }
    return ReplicaGraph(tuple(kept), columns)


def _hybrid_graph(content: Json) -> HybridGraph:
    nodes = content["nodes"]
    index = _index(nodes)
    edges = []
    for edge in content["edges"]:
        source, sink = _ends(edge, index)
        edges.append(
            {
                "source": source,
                "sink": sink,
                "bytes": edge["communicationCost"],
                "source_reshard": _reshard(nodes[source], "syncTimeBw", str(edge["destId"])),
                "sink_reshard": _reshard(nodes[sink], "syncTimeFw", str(edge["sourceId"])),
            }
        )
    return HybridGraph(
        tuple(str(node["id"]) for node in nodes),
        [{"degrees": [_degree(node, tp) for tp in node["TMPCs"]]} for node in nodes],
        edges,
        content["maxDevices"],
        float(content["maxMemoryPerDevice"]),
        float(content["bandwidth"]),
        content["mbsInBatch"],
    )


def _degree(node: Json, tp: str) -> Json:
    modes = node["TMPCs"][tp]
    return {
        "tp": int(tp),
        "modes": [
            {"time": mode["timePerSample"], "per_flight": mode["memoryUsageA"], "fixed": mode["memoryUsageB"]}
            for mode in modes
        ],
        "parameters": _same([mode["parameterSize"] for mode in modes], node, "parameterSize"),
    }


def _reshard(node: Json, key: str, other: str) -> list[tuple[int, float]]:
    return [
        (int(tp), _same([mode[key].get(other, 0.0) for mode in modes], node, key))
        for tp, modes in node["TMPCs"].items()
    ]


def _same(values: list[float], node: Json, key: str) -> float:
    """The one value that all modes of an op share: recompute changes time and memory only."""
    if any(value != values[0] for value in values):
        raise ModelError(f"node {node['id']}: `{key}` differs between the modes of one tensor degree")
    return float(values[0])
