"""A model seen as a `networkx.DiGraph`, and a model built from one."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from dielet._core import Model
from dielet.errors import ModelError
from dielet.model import measured
from dielet.model.builder import Tree

if TYPE_CHECKING:
    import networkx


def to_networkx(model: Model) -> networkx.DiGraph:
    """A graph whose nodes are op names and whose edges are tensors.

    Nodes carry `position`, `kind`, `segment`, `repeat`, `forward_flops`, `elements` (of the output, one
    sample) and `parameters`, measured ops `forward_s` and `backward_s` too, and each its definition as `op`.
    """
    import networkx

    tree = model.to_dict()
    table = model.op_table()
    graph = networkx.DiGraph(model={key: value for key, value in tree.items() if key != "ops"})
    segments = [index for index, segment in enumerate(tree["segments"]) for _ in range(segment["ops"])]
    for position, op in enumerate(tree["ops"]):
        named = [{**read, "op": table["name"][read["op"]]} for read in op["inputs"]]
        graph.add_node(
            op["name"],
            position=position,
            kind=op["work"]["kind"],
            segment=segments[position],
            repeat=table["repeat"][position],
            forward_flops=table["forward_flops"][position],
            elements=table["output_elements"][position],
            parameters=table["parameters"][position],
            op={**op, "inputs": named},
            **{key: op["work"][key] for key in ("forward_s", "backward_s") if key in op["work"]},
        )
        graph.add_edges_from((read["op"], op["name"]) for read in named)
    return graph


def from_networkx(graph: networkx.DiGraph, name: str | None = None, batch: int = 1) -> Model:
    """A model from a graph.

    Either the nodes carry `op`, as `to_networkx` writes it, or figures of `batch` samples: `forward_s`
    (or `time`), and optionally `backward_s` (or `backward_time`), `bytes` that the op writes (or its edges
    state) and `memory` bytes of parameters.
    """
    order = _ordered(graph)
    if order and all("op" in graph.nodes[node] for node in order) and "model" in graph.graph:
        return Model.from_dict(_rebuilt(graph, order, name))
    title = name or graph.name or "graph"
    position = {node: index for index, node in enumerate(order)}
    tasks = [_task(graph, node, position, batch) for node in order]
    source = "a networkx graph"
    return Model.from_dict(measured.from_tasks(tasks, name=title, summary=title, source=source, batch=batch))


def _ordered(graph: networkx.DiGraph) -> list[Hashable]:
    """The nodes in topological order, ties by position or as they were added."""
    import networkx

    added = {node: index for index, node in enumerate(graph)}
    rank = {node: graph.nodes[node].get("position", index) for node, index in added.items()}
    try:
        return list(networkx.lexicographical_topological_sort(graph, key=lambda node: (rank[node], added[node])))
    except networkx.NetworkXUnfeasible:
        cycle = " -> ".join(str(tail) for tail, _ in networkx.find_cycle(graph))
        raise ModelError(f"the graph has a cycle through {cycle}: remove one of its edges") from None


def _rebuilt(graph: networkx.DiGraph, order: list[Hashable], name: str | None) -> Tree:
    position = {node: index for index, node in enumerate(order)}
    tree = {**graph.graph["model"], "ops": [_op(graph, node, position) for node in order]}
    held = [graph.nodes[node]["segment"] for node in order]
    tree["segments"] = [
        {**segment, "ops": held.count(index)} for index, segment in enumerate(tree["segments"]) if index in held
    ]
    return tree if name is None else {**tree, "name": name}


def _op(graph: networkx.DiGraph, node: Hashable, position: dict[Hashable, int]) -> Tree:
    op: Tree = graph.nodes[node]["op"]
    missing = next((read["op"] for read in op["inputs"] if read["op"] not in position), None)
    if missing is not None:
        raise ModelError(f"op `{node}` reads `{missing}`, which is not in the graph: add it or change `op`")
    return {**op, "inputs": [{**read, "op": position[read["op"]]} for read in op["inputs"]]}


def _task(graph: networkx.DiGraph, node: Hashable, position: dict[Hashable, int], batch: int) -> measured.Task:
    figures: dict[str, Any] = graph.nodes[node]
    name = str(node)
    forward = figures.get("forward_s", figures.get("time"))
    if forward is None:
        raise ModelError(f"node `{name}` has no time: give it `forward_s` in seconds")
    return measured.Task(
        name=name,
        forward_s=float(forward),
        backward_s=float(figures.get("backward_s", figures.get("backward_time", 0.0))),
        elements=measured.elements_per_sample(_bytes(graph, node), batch, name),
        parameters=measured.parameters(float(figures.get("memory", 0.0)), name),
        inputs=tuple(sorted(position[before] for before in graph.predecessors(node))),
    )


def _bytes(graph: networkx.DiGraph, node: Hashable) -> float:
    """What the node writes: its own figure, or the largest of its edges."""
    edges = (figures.get("bytes", 0.0) for _, _, figures in graph.out_edges(node, data=True))
    return float(graph.nodes[node].get("bytes", max(edges, default=0.0)))
