"""A table of ops separated by semicolons: milliseconds of a batch, megabytes, outputs per sample."""

from __future__ import annotations

from pathlib import Path

from dielet.errors import FileError
from dielet.model.measured import Task, elements_per_sample, megabytes, milliseconds, ordered, parameters

COLUMNS = ["id", "op", "fw_ms", "bw_ms", "out_MB_per_sample", "param_MB", "preds"]
# The batch of the profile that the table was made from; the table itself does not say it.
BATCH = 128


def recognise(text: str) -> bool:
    """Whether a text is of this format."""
    return text.partition("\n")[0].strip().split(";") == COLUMNS


def read(text: str, path: Path, batch: int | None) -> tuple[list[Task], int]:
    """The ops in topological order and the batch of their times."""
    rows: dict[str, tuple[int, list[str]]] = {}
    for number, line in enumerate(text.splitlines()[1:], start=2):
        cells = line.strip().split(";")
        if len(cells) == len(COLUMNS):
            rows[cells[0]] = (number, cells)
        elif line.strip():
            raise FileError(f"`{path}` line {number} has {len(cells)} columns of {len(COLUMNS)}: is it complete?")
    position = {name: index for index, name in enumerate(rows)}
    tasks = [_task(cells, f"`{path}` line {number}") for number, cells in rows.values()]
    edges = []
    for name, (number, cells) in rows.items():
        for before in filter(None, cells[-1].split(",")):
            if before not in position:
                raise FileError(f"`{path}` line {number} reads `{before}`, which is no op: is the file complete?")
            edges.append((position[before], position[name]))
    return ordered(tasks, edges), batch or BATCH


def _task(cells: list[str], place: str) -> Task:
    name = f"{cells[1]} #{cells[0]}"
    try:
        forward, backward, output, weights = (float(cell) for cell in cells[2:6])
    except ValueError as error:
        raise FileError(f"{place} has no number where one must be: {error}") from None
    return Task(
        name=name,
        forward_s=milliseconds(forward),
        backward_s=milliseconds(backward),
        elements=elements_per_sample(megabytes(output), 1, name),
        parameters=parameters(megabytes(weights), name),
        inputs=(),
    )
