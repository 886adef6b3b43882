"""Links through the public API: what a user reads off one, and what is refused."""

import json

import numpy as np
import pytest

import dielet
from dielet import _core
from dielet.errors import SpecError
from dielet.projection.codesign import codesign
from dielet.technology import compare, fabric, limits, load_technology, technology_names, tier

KEYS = {
    "latency_s", "energy_j_per_bit", "data_rate_bit_per_s_per_wire", "edge_bandwidth_bit_per_s_per_m", "wire",
    "frequency_hz", "insertion_loss_db", "near_end_crosstalk_db", "far_end_crosstalk_db", "in_range",
    "version", "seconds",
}  # fmt: skip


@pytest.mark.parametrize("name", technology_names())
def test_every_technology_answers_with_the_agreed_keys(name: str) -> None:
    answer = fabric(name)
    assert set(answer) >= KEYS
    json.dumps(answer, allow_nan=False)
    assert answer["energy_j_per_bit"] > 0
    assert answer["latency_s"] > 0
    assert len(answer["frequency_hz"]) == len(answer["insertion_loss_db"])


@pytest.mark.parametrize("name", technology_names())
def test_every_number_has_a_source_and_a_confidence(name: str) -> None:
    def check(tree: object) -> int:
        if isinstance(tree, dict) and "value" in tree:
            assert tree["source"]
            assert tree["confidence"] != "stated"
            return 1
        return sum(map(check, tree.values())) if isinstance(tree, dict) else 0

    assert check(load_technology(name).to_dict()) >= 4


def test_spelling_of_a_length_does_not_matter() -> None:
    answers = [fabric("si-if", pitch=text, frequency_points=3) for text in ("10um", "10 um", "0.01mm", 10e-6)]
    for answer in answers[1:]:
        assert {**answer, "seconds": 0} == {**answers[0], "seconds": 0}


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"pitch": "10"}, "has no unit"),
        ({"pitch": "10 parsec"}, "no unit of length"),
        ({"pitch": "2mm"}, "wire pitch of 2.00 mm is outside"),
        ({"length": "2m"}, "wire length"),
        ({"layers": 0}, "layers"),
        ({"width": "20um"}, "wire width"),
        ({"planes": "above"}, "expected `below` or `both`"),
        ({"frequency": "1GHz", "frequency_to": "0.1GHz"}, "frequency range"),
    ],
)
def test_what_cannot_be_says_why(asked: dict[str, object], part: str) -> None:
    with pytest.raises(SpecError, match=part) as caught:
        fabric("si-if", **asked)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_published_figures_have_no_geometry_to_set() -> None:
    with pytest.raises(SpecError, match="`pcb` is described by its published figures, so pitch cannot be set"):
        fabric("pcb", pitch="10um")
    with pytest.raises(SpecError, match="no technology `pbc`"):
        fabric("pbc")


def test_a_spec_with_a_wrong_key_names_file_key_and_the_right_one() -> None:
    with pytest.raises(SpecError, match=r"mine\.toml: unknown key `sumary`: did you mean `summary`"):
        _core.Technology.from_toml("name = 'x'\nsumary = 'y'", "mine.toml")


def test_out_of_range_is_said_not_refused() -> None:
    offered = fabric("si-if", pitch="20um", frequency_points=0)
    assert not offered["in_range"]
    assert "offered at pitches of 2.00 um .. 10.0 um" in offered["range_notes"][0]
    fit = fabric("si-if", pitch="2um", height="60um", frequency_points=0)
    assert not fit["in_range"]
    assert "outside the fit" in fit["range_notes"][0]


def test_parts_add_up() -> None:
    for name in ("si-if", "si-if-2017", "on-die"):
        answer = fabric(name, frequency_points=0)
        assert sum(answer["latency_parts_s"].values()) == pytest.approx(answer["latency_s"], rel=1e-12)
        assert sum(answer["energy_parts_j_per_bit"].values()) == pytest.approx(answer["energy_j_per_bit"], rel=1e-12)


def test_the_2017_link_shows_which_point_was_fitted() -> None:
    near, far = fabric("si-if-2017", frequency_points=0)["references"]
    assert (near["fitted"], far["fitted"]) == (True, False)
    spec = load_technology("si-if-2017").to_dict()["transceiver"]
    fitted = {name for name, entry in spec.items() if entry and entry["confidence"] == "fit"}
    assert fitted == {"fan_out_delay", "protection"}


def test_an_unshielded_bus_without_a_plane_fails_where_one_with_passes() -> None:
    by_return = {row["return"]: row["limits"]["crosstalk_15db_hz"] for row in limits(pitch_m=[4e-6])}
    assert by_return["distant"] < 12e9
    assert by_return["plane"] > 30e9
    assert by_return["plane-and-shields"] is None


def test_compare_sets_one_beside_the_others() -> None:
    table = compare(["pcb", "mcm", "cowos", "ucie-advanced", "si-if", "on-die"], against="si-if", pitch="4um")
    assert list(table["technologies"]) == ["pcb", "mcm", "cowos", "ucie-advanced", "si-if", "on-die"]
    assert set(table["ratios"]["si-if"].values()) == {1.0}
    assert 100 < table["ratios"]["pcb"]["energy"] < 500
    assert "bit/s per mm" in table["merit_formula"]
    with pytest.raises(SpecError, match="cannot compare against `x`"):
        compare(["pcb"], against="x")


def test_a_sweep_is_its_single_answers() -> None:
    pitch, length = np.array([2e-6, 5e-6, 10e-6]), np.array([50e-6, 100e-6, 500e-6])
    columns = load_technology("si-if").sweep(pitch, length, np.array([1, 2, 4], dtype=np.uint32))
    for row, (p, l, layers) in enumerate(zip(pitch, length, (1, 2, 4), strict=True)):  # noqa: E741
        one = fabric("si-if", pitch=p, length=l, layers=layers, frequency_points=0)
        for key in ("latency_s", "energy_j_per_bit", "edge_bandwidth_bit_per_s_per_m"):
            assert columns[key][row] == one[key]


def test_half_of_the_wires_drive_each_way() -> None:
    link = fabric("si-if", pitch="4um", layers=2, frequency_points=0)
    figures = tier("si-if", 0.05, pitch="4um", layers=2)
    both_ways = link["edge_bandwidth_bit_per_s_per_m"] * 0.05 / 8
    assert figures["bandwidth_bytes_per_s"] == pytest.approx(both_ways / 2, rel=1e-12)
    assert figures["latency_s"] == pytest.approx(link["latency_s"] + link["hop_latency_s"], rel=1e-12)
    assert tier("nvlink-4", 0.05)["bandwidth_bytes_per_s"] == 450e9


def test_a_user_file_may_leave_sources_out(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("spec") / "mine.toml"
    file.write_text(
        "name = 'mine'\nsummary = 's'\nsource = 'me'\n[published]\nrate = '10 Gbit/s'\nenergy = '1 pJ/bit'\n"
        "latency = '5 ns'\nedge_bandwidth = '100 Gbit/s/mm'\n"
    )
    assert fabric(str(file))["merit"] == pytest.approx(100)


def test_a_plan_can_run_on_wires() -> None:
    fast = dielet.load_system("si-if-waferscale-24", fabric="si-if:pitch=4um,layers=2").to_dict()["tiers"][0]
    slow = dielet.load_system("si-if-waferscale-24", fabric="si-if:pitch=10 um").to_dict()["tiers"][0]
    assert fast["bandwidth"]["value"] == pytest.approx(5 * slow["bandwidth"]["value"], rel=1e-9)
    assert fast["bandwidth"]["confidence"] == "derived"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("si-if:pitch", "no `key=value`"),
        ("si-if:foo=1", "no key `foo`"),
        ("si-if:pitch=4", "has no unit"),
        ("si-if:topology=blob", "unknown variant `blob`"),
        ("pcb:pitch=4um", "described by its published figures"),
    ],
)
def test_wires_that_cannot_be_say_why(text: str, part: str) -> None:
    with pytest.raises(SpecError, match=part):
        dielet.load_fabric(text)


def test_codesign_prices_every_point_and_marks_the_front() -> None:
    answer = codesign("gnmt", pitch_m=[2e-6, 10e-6], length_m=[500e-6], layers=[1, 2], devices=[8, 24])
    points = answer["points"]
    assert len(points) == 8
    finest = min(point["time_to_target_s"] for point in points)
    coarse, fine = points[4:6], points[:2]
    assert all(p["time_to_target_s"] <= q["time_to_target_s"] for p, q in zip(fine, coarse, strict=True))
    assert any(point["pareto"] and point["time_to_target_s"] == finest for point in points)
    json.dumps(answer, allow_nan=False)
