"""Task graphs of other tools: one reader per format, recognised from the content."""

from dielet.model.taskgraph.graph import TaskGraph, TaskOp, TaskTensor
from dielet.model.taskgraph.read import from_networkx, read_taskgraph

__all__ = ["TaskGraph", "TaskOp", "TaskTensor", "from_networkx", "read_taskgraph"]
