"""Systems: what is shipped, that every number has a source, what is refused."""

import tomllib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from dielet.errors import FileError, SpecError
from dielet.hardware.device import load_device
from dielet.hardware.system import System, fabric_names, load_system, system_names

NAMED = ["dgx-a100", "dgx-h100", "dgx1-p100", "dgx1-v100", "dgx1-v100-32gb", "dgx2-v100", "gb200-nvl72"]
NAMED += ["si-if-waferscale-24", "si-if-waferscale-40", "tpu-v4"]

# Text and shapes, not figures.
PLAIN = {"name", "summary", "device", "topology", "shape", "tree"}


def test_the_systems_of_the_package() -> None:
    assert system_names() == NAMED


@pytest.mark.parametrize("name", NAMED)
def test_every_system_loads_with_its_device(name: str) -> None:
    machine = load_system(name)
    assert machine.name == name
    assert machine.summary
    tree = machine.to_dict()
    assert tree["device"]["name"] == machine.device.name
    assert tree["price"]["value"] > 0


def bare(tree: dict[str, Any], path: str = "") -> Iterator[str]:
    """Paths of figures without a source."""
    for key, value in tree.items():
        here = f"{path}.{key}"
        if isinstance(value, dict):
            if not {"value", "source", "confidence"} <= value.keys():
                yield from bare(value, here)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for place, item in enumerate(value):
                yield from bare(item, f"{here}[{place}]")
        elif key not in PLAIN:
            yield here


@pytest.mark.parametrize("kind", ["systems", "fabrics"])
def test_every_shipped_figure_has_a_source(kind: str) -> None:
    names = system_names() if kind == "systems" else fabric_names()
    for name in names:
        text = resources.files("dielet.hardware").joinpath("specs", kind, f"{name}.toml").read_text("utf-8")
        assert list(bare(tomllib.loads(text))) == [], name


def own(**changes: str) -> str:
    keys = {"name": '"mine"', "summary": '"of a user"', "device": '"v100-sxm2-16gb"'} | changes
    tier = {
        "name": '"bus"',
        "members": "4",
        "topology": '"ring"',
        "bandwidth": '"10 GB/s"',
        "latency": '"1 us"',
        "energy": '"5 pJ/bit"',
        "bulk": '{ launch = "5 us", step = "1 us", efficiency = 0.9 }',
    }
    lines = [f"{key} = {value}" for key, value in keys.items()]
    return "\n".join([*lines, "[[tiers]]", *(f"{key} = {value}" for key, value in tier.items())])


def test_a_users_own_file_may_state_bare_values(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(own(price='"2 USD/h"'))
    machine = load_system(file)
    assert machine.capacity == 4
    assert machine.to_dict()["price"]["confidence"] == "stated"


def test_a_device_file_beside_the_system_is_used(tmp_path: Path) -> None:
    shipped = resources.files("dielet.hardware").joinpath("specs", "devices", "v100-sxm2-16gb.toml")
    text = shipped.read_text("utf-8").replace('name = "v100-sxm2-16gb"', 'name = "own"')
    (tmp_path / "own.toml").write_text(text)
    (tmp_path / "mine.toml").write_text(own(device='"own"'))
    assert load_system(tmp_path / "mine.toml").device.name == "own"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (own(prise='"2 USD/h"'), "unknown key `prise`: did you mean `price`"),
        (own(price='"2 EUR/h"'), "`price = .*`: .*is no unit of price per time"),
        (own(price="2"), "`price = 2`"),
        (own(device='"a100-sxm4-80gb"'), "the device given is `v100-sxm2-16gb`"),
        (own(name=""), "line 1"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said) as raised:
        System.from_toml(text, load_device("v100-sxm2-16gb"), "mine.toml")
    assert str(raised.value).startswith("mine.toml: ")
    assert "\n" not in str(raised.value)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="cannot be read"):
        load_system(file)
    with pytest.raises(FileError, match="system `dgx-9` is neither a file nor one of dgx-a100"):
        load_system("dgx-9")
