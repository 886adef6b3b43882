"""What the layout promises: borders of crates, direction of imports, sources of numbers, errors, files."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dielet import _core, errors
from dielet.convergence import curve_names, load_curve
from dielet.hardware.device import device_names, load_device
from dielet.hardware.system import fabric_names, load_fabric, load_system, system_names
from dielet.model import load_model, model_names

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "dielet"
RUST = ROOT / "rust"

FILE_LINES = 400

# Modules and packages of python/dielet by floor; those of a floor import their own floor and those below.
FLOORS = [
    {"_core", "confidence", "errors"},
    {"convergence", "hardware", "model", "technology"},
    {"partitioning", "placement", "projection"},
    {"evidence", "export", "link_plot", "report"},
    {"__main__", "cli"},
]

# An answer's `repr` and its files are its report, asked for when they are needed.
UPWARD = {("placement", "report"), ("projection", "report")}


# Borders of crates


def crates_of(crate: str) -> set[str]:
    """Direct dependencies of a crate, for tests too."""
    manifest = tomllib.loads((RUST / crate / "Cargo.toml").read_text("utf-8"))
    tables = ("dependencies", "dev-dependencies", "build-dependencies")
    return {name for table in tables for name in manifest.get(table, {})}


@pytest.mark.parametrize(
    ("crate", "refused"),
    [
        ("core", {"pyo3", "numpy", "pythonize", "rayon", "dielet-solve", "dielet-py"}),
        ("solve", {"pyo3", "numpy", "pythonize", "dielet-py"}),
    ],
)
def test_inner_crates_know_nothing_of_outer_ones(crate: str, refused: set[str]) -> None:
    assert crates_of(crate) & refused == set()


def test_only_the_bindings_know_python() -> None:
    known = {crate.name for crate in RUST.iterdir() if (crate / "Cargo.toml").is_file()}
    assert {crate for crate in known if "pyo3" in crates_of(crate)} == {"py"}


# Direction of imports


def floor_of(module: str) -> int:
    """Floor of a top-level module; every `cli_VERB` stands beside `cli`."""
    name = "cli" if module.startswith("cli_") else module
    for floor, names in enumerate(FLOORS):
        if name in names:
            return floor
    pytest.fail(f"python/dielet/{module} has no floor: name it in FLOORS of {Path(__file__).name}")


def absolute(node: ast.ImportFrom, path: Path) -> str:
    """The dotted module that a `from` statement names."""
    if node.level == 0:
        return node.module or ""
    folder = ("dielet", *path.relative_to(PACKAGE).parent.parts)
    return ".".join([*folder[: len(folder) - node.level + 1], *([node.module] if node.module else [])])


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of every top-level module of the package that a file imports, late imports too."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = absolute(node, path)
            names = [f"dielet.{alias.name}" for alias in node.names] if module == "dielet" else [module]
        for name in names:
            if name.startswith("dielet."):
                yield node.lineno, name.split(".")[1]


def modules() -> list[Path]:
    """Every module but the package itself, whose public names come from all floors."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def is_module(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file() or name == "_core"


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_module_imports_upward(path: Path) -> None:
    top = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    own = floor_of(top)
    upward = [
        f"line {line}: {name}"
        for line, name in imported(path)
        if (top, name) not in UPWARD
        # A public name of the package may live on any floor: only the topmost two may ask for one.
        if (floor_of(name) > own if is_module(name) else own < len(FLOORS) - 2)
    ]
    assert upward == []


# Light import


def test_importing_dielet_stays_light() -> None:
    heavy = ["networkx", "typer", "rich", "matplotlib", "scipy", "ortools", "highspy", "skrf", "pandas"]
    script = f"import sys, json, dielet; print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == []
    assert run.stderr == ""


def test_the_modules_of_answers_stay_light() -> None:
    script = (
        "import sys, json, dielet.model, dielet.hardware.system, dielet.projection, dielet.convergence\n"
        "heavy = ['networkx', 'typer', 'rich', 'matplotlib', 'scipy']\n"
        "print(json.dumps([name for name in heavy if name in sys.modules]))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == []


# Sources of numbers

# Text and shapes, which hold no figure.
PLAIN = {"name", "summary", "source", "device", "topology", "shape", "tree", "technology", "packaging"}


def specs() -> list[Path]:
    return sorted((PACKAGE / "hardware" / "specs").rglob("*.toml"))


def without_source(tree: Any, path: str = "") -> Iterator[str]:
    """Paths of figures, in a table that says no source."""
    if isinstance(tree, dict) and "value" in tree:
        if not (tree.keys() == {"value", "source", "confidence"} and len(tree["source"]) > 3):
            yield path
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key != "shape" and not (key in PLAIN and isinstance(value, str)):
                yield from without_source(value, f"{path}.{key}".lstrip("."))
    elif isinstance(tree, list):
        for place, value in enumerate(tree):
            yield from without_source(value, f"{path}[{place}]")
    elif isinstance(tree, int | float) or re.match(r"[-+]?[\d.]", tree):
        yield path


@pytest.mark.parametrize("path", specs(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_figure_of_a_spec_has_its_source(path: Path) -> None:
    assert list(without_source(tomllib.loads(path.read_text("utf-8")))) == []


@pytest.mark.parametrize("path", specs(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_spec_is_named_as_its_file(path: Path) -> None:
    assert tomllib.loads(path.read_text("utf-8"))["name"] == path.stem


def test_a_figure_without_a_source_is_found() -> None:
    text = 'a = { value = 1, source = "", confidence = "fit" }\nb = "3 us"\n[c]\nd = [{ e = 1.5 }]\nname = "8"'
    assert list(without_source(tomllib.loads(text))) == ["a", "b", "c.d[0].e"]


# Packaged specs


@pytest.mark.parametrize(
    ("names", "load"),
    [
        (device_names, load_device),
        (system_names, load_system),
        (fabric_names, load_fabric),
        (curve_names, load_curve),
        (model_names, load_model),
    ],
    ids=["devices", "systems", "fabrics", "curves", "models"],
)
def test_everything_packaged_loads_by_its_name(names: Callable[[], list[str]], load: Callable[[str], Any]) -> None:
    assert len(names()) > 0
    for name in names():
        assert load(name).name == name


# Errors


def error_enums(crate: str) -> Iterator[tuple[str, str]]:
    """Top-level module and name of every error enum of a crate."""
    source = RUST / crate / "src"
    for path in sorted(source.rglob("*.rs")):
        module = path.relative_to(source).parts[0].removesuffix(".rs")
        for name in re.findall(r"pub enum (\w*Error)\b", path.read_text("utf-8")):
            yield module, name


def bindings() -> str:
    files = sorted((RUST / "py" / "src").rglob("*.rs"))
    return "\n".join(path.read_text("utf-8") for path in files if path.name != "error.rs")


def test_every_error_of_the_core_becomes_an_exception() -> None:
    text = (RUST / "py" / "src" / "error.rs").read_text("utf-8")
    needed = [name for _, name in error_enums("core")]
    # A search counts from the day on which it has a binding.
    bound = bindings()
    needed += [name for module, name in error_enums("solve") if f"dielet_solve::{module}" in bound]
    assert len(needed) > 4
    assert [name for name in needed if f"#[from] {name}" not in text] == []


def test_no_error_is_caught_by_an_arm_for_the_rest() -> None:
    text = (RUST / "py" / "src" / "error.rs").read_text("utf-8")
    classes = re.search(r"fn class\(&self\).*?\n    }\n", text, re.DOTALL)
    assert classes is not None
    assert re.findall(r"^\s*_ =>", classes.group(), re.MULTILINE) == []


def test_the_exceptions_that_rust_names_exist() -> None:
    text = (RUST / "py" / "src" / "error.rs").read_text("utf-8")
    named = re.findall(r'Self::\w+ => "(\w+)"', text)
    assert len(named) > 3
    for name in named:
        assert issubclass(getattr(errors, name), errors.DieletError)


def one_device() -> _core.System:
    return load_system("dgx1-v100")


@pytest.mark.parametrize(
    ("exception", "fails"),
    [
        (errors.ModelError, lambda: _core.Model.from_dict({"name": "empty"})),
        (errors.SpecError, lambda: _core.Device.from_toml("name = 3", "mine.toml")),
        (errors.SpecError, lambda: _core.System.device_name("no toml", "mine.toml")),
        (errors.SpecError, lambda: _core.Fabric.from_toml("", "mine.toml")),
        (errors.SpecError, lambda: _core.parse_quantity("3 parsecs", "time")),
        (errors.SpecError, lambda: load_device("v100-sxm2-16gb") and gemm("fp3")),
        (errors.SpecError, lambda: gemm("bf16")),
        (
            errors.PlanError,
            lambda: _core.collective_columns(one_device(), "all-reduce", np.ones(1), 8, 9, 1, True, None),
        ),
    ],
    ids=["graph", "device", "system", "fabric", "quantity", "number", "rate", "group"],
)
def test_each_error_is_the_exception_of_its_kind_in_one_line(
    exception: type[Exception], fails: Callable[[], object]
) -> None:
    with pytest.raises(exception) as raised:
        fails()
    text = str(raised.value)
    assert len(text) > 10
    assert "\n" not in text
    assert not text.endswith(".")


def gemm(number: str) -> object:
    one = np.ones(1, dtype=np.uint64)
    return _core.gemm_time_s(load_device("v100-sxm2-16gb"), number, one, one, one, one)


# Files


def committed() -> list[Path]:
    """Files of the project: what git knows, or all beside what is ignored where there is no git."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listing.returncode == 0:
        files = (ROOT / name for name in listing.stdout.decode().split("\0") if name)
        return [path for path in files if path.is_file()]
    ours = [path for path in ROOT.iterdir() if path.name in {"rust", "python", "tests", "docs", "benchmarks"}]
    return [path for folder in ours for path in folder.rglob("*") if path.is_file()]


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="ignore")


def test_files_stay_small() -> None:
    code = [path for path in committed() if path.suffix in {".rs", ".py"}]
    sizes = {path.relative_to(ROOT).as_posix(): len(text_of(path).splitlines()) for path in code}
    assert len(sizes) > 100
    long = {name: lines for name, lines in sizes.items() if lines > FILE_LINES}
    assert long == {}, f"split by concept what is longer than {FILE_LINES} lines"


def test_no_path_of_a_machine_is_committed() -> None:
    folders = "|".join(["work", "root", "home", "Users"])
    path_of_a_machine = re.compile(rf"(?<![\w.~-])/(?:{folders})/\w")
    found = {path.relative_to(ROOT).as_posix(): path_of_a_machine.findall(text_of(path)) for path in committed()}
    assert {name: hits for name, hits in found.items() if hits} == {}


def test_guides_that_code_names_exist() -> None:
    code = [path for path in committed() if path.suffix in {".rs", ".py"}]
    named = {guide for path in code for guide in re.findall(r"\bdocs/[\w-]+\.md", text_of(path))}
    assert len(named) > 1
    assert {guide for guide in named if not (ROOT / guide).is_file()} == set()
