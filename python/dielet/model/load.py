"""A model by name or from a file, whatever its format."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dielet._core import Model
from dielet.errors import FileError, ModelError
from dielet.model import measured, zoo
from dielet.model.builder import Tree

SEQUENCE_AXES = ("sequence", "key_sequence")


def model_names() -> list[str]:
    """The names that `load_model` knows."""
    return [*zoo.NETWORKS, *measured.names()]


def load_model(name_or_path: str | Path, sequence: int | None = None, batch: int | None = None) -> Model:
    """A model of the zoo, a packaged measured graph, or a file: a model's own JSON or TOML, or a task graph.

    `sequence` builds it for another sequence length; `batch` says for how many samples the times of a file
    hold that does not say it itself.
    """
    name = str(name_or_path)
    if sequence is not None and sequence < 1:
        raise ModelError(f"sequence {sequence} of model `{name}` is out of range: give at least 1")
    if name in zoo.NETWORKS:
        tree = zoo.build(name, sequence)
    elif name in measured.names():
        tree = measured.packaged(name)
    else:
        return _named_in_faults(name, lambda: Model.from_dict(_at_sequence(_from_file(name, batch), sequence)))
    return Model.from_dict(_at_sequence(tree, sequence))


def _named_in_faults(name: str, load: Callable[[], Model]) -> Model:
    """Whatever reads a file knows what is wrong in it, not always in which."""
    try:
        return load()
    except (FileError, ModelError) as error:
        text = str(error)
        raise type(error)(text if name in text else f"`{name}`: {text}") from None


def _at_sequence(tree: Tree, sequence: int | None) -> Tree:
    """The tree with its sequence axes at another length."""
    if sequence is None or sequence == tree["sequence"]:
        return tree
    if tree["sequence"] == 0:
        raise ModelError(f"model `{tree['name']}` has no sequence: leave out sequence {sequence}")

    def resized(axis: Tree) -> Tree:
        return {**axis, "size": sequence} if axis["name"] in SEQUENCE_AXES else axis

    ops = [{**op, "axes": [resized(axis) for axis in op["axes"]]} for op in tree["ops"]]
    return {**tree, "sequence": sequence, "ops": ops}


def _from_file(name: str, batch: int | None) -> Tree:
    path = Path(name)
    if not path.is_file():
        raise ModelError(_unknown(name))
    text = read_text(path)
    tree = _own_format(path, text)
    return tree if tree is not None else measured.from_text(text, path, batch)


def _unknown(name: str) -> str:
    close = get_close_matches(name.lower(), model_names(), n=3, cutoff=0.5)
    nearest = f"did you mean {' or '.join(f'`{known}`' for known in close)}" if close else _all_names()
    return f"`{name}` is no model and no file: {nearest}"


def _all_names() -> str:
    return f"use a file or one of {', '.join(model_names())}"


def read_text(path: Path) -> str:
    """The text of a file."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"`{path}` is no UTF-8 text at byte {error.start}: save it as UTF-8") from None
    except OSError as error:
        raise FileError(f"`{path}` cannot be read: {error.strerror}") from None


def _own_format(path: Path, text: str) -> Tree | None:
    """The tree of a model's own file, or nothing if the text is another format."""
    tree: Any = None
    if path.suffix == ".toml":
        try:
            tree = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise FileError(f"`{path}` is no TOML: {error}") from None
    elif text.lstrip().startswith("{"):
        try:
            tree = json.loads(text)
        except ValueError as error:
            raise FileError(f"`{path}` is no complete JSON: {error}") from None
    return tree if isinstance(tree, dict) and "segments" in tree and "ops" in tree else None
