"""Devices: what is shipped, what is refused."""

import pytest

from dielet.errors import FileError, SpecError
from dielet.hardware.device import Device, device_names, load_device

PLAIN = """
name = "mine"
summary = "a device of a user"
memory = "16 GiB"
memory_bandwidth = "900 GB/s"
memory_efficiency = 0.9
multiprocessors = 80
kernel_overhead = "5 us"

[rates.fp16]
peak = "125 TFLOP/s"
ceiling = 0.95
feed = 3
ramp = 200
split = 1000
"""


def figures(tree):
    """Every figure of a device with its path."""
    for key, value in tree.items():
        if isinstance(value, dict) and "confidence" in value:
            yield key, value
        elif isinstance(value, dict):
            yield from ((f"{key}.{path}", figure) for path, figure in figures(value))


def test_the_devices_of_the_systems_are_there():
    expected = {
        "v100-sxm2-16gb",
        "v100-sxm2-32gb",
        "v100-sxm3-32gb",
        "p100-sxm2-16gb",
        "a100-sxm4-40gb",
        "a100-sxm4-80gb",
        "h100-sxm5-80gb",
        "gb200",
        "tpu-v4",
        "gpm-575mhz",
        "gpm-408mhz",
    }
    assert expected <= set(device_names())


@pytest.mark.parametrize("name", device_names())
def test_every_shipped_figure_has_a_source(name):
    device = load_device(name)
    assert device.name == name
    found = dict(figures(device.to_dict()))
    assert len(found) >= 11
    for path, figure in found.items():
        assert figure["confidence"] != "stated", path
        assert len(figure["source"]) > 10, path


def test_the_peak_of_a_gpm_is_its_units_times_its_clock():
    for name, clock_hz in (("gpm-575mhz", 575e6), ("gpm-408mhz", 408e6)):
        peak = load_device(name).to_dict()["rates"]["fp32"]["peak"]
        assert peak["value"] == pytest.approx(64 * 64 * 2 * clock_hz, rel=1e-3)
        assert peak["confidence"] == "derived"


def test_the_data_sheet_of_the_v100():
    tree = load_device("v100-sxm2-16gb").to_dict()
    assert tree["memory"]["value"] == 16 * 2**30
    assert tree["memory_bandwidth"]["value"] == 900e9
    assert tree["rates"]["fp32"]["peak"]["value"] == 15.7e12
    assert tree["rates"]["fp16"]["peak"]["value"] == 125e12


def test_a_users_own_file_may_be_plain(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(PLAIN)
    device = load_device(file)
    assert device.numbers == ["fp16"]
    assert device.to_dict()["memory"] == {
        "value": 16 * 2**30,
        "source": "stated by the user",
        "confidence": "stated",
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "memory_bandwidth",
            "memory_bandwith",
            "unknown key `memory_bandwith`: did you mean `memory_bandwidth`?",
        ),
        ('"900 GB/s"', '"900 GBps"', "nearest is `GB/s`"),
        ('"900 GB/s"', "900", "`memory_bandwidth = 900`: invalid type"),
        ("= 0.9\n", "= 90\n", "`memory_efficiency = 90`: a fraction is greater than 0 and at most 1"),
        ("= 80\n", "= 0\n", "`multiprocessors = 0`: it must be greater than 0"),
        ("= 80\n", "= -8\n", "`multiprocessors = -8`"),
        ("ceiling = 0.95", "ceiling = 1.2", "`rates.fp16.ceiling = 1.2`: a fraction is"),
        ("rates.fp16", "rates.fp61", "did you mean `fp16`?"),
        ("split = 1000", "split = -1", "`rates.fp16.split = -1`: it must be 0 or more"),
        ("split = 1000", "splt = 1000", "unknown key `rates.fp16.splt`: did you mean `split`?"),
        ("ramp = 200\n", "", "`rates.fp16` lacks the key `ramp`"),
        ('kernel_overhead = "5 us"', 'kernel_overhead = "5 us', "line 8: "),
        ("[rates", 'energy_per_bit = "6 pJ/bit"\n[rates', "give all three or none"),
        ("[rates", 'power = "300 W"\nstatic_power = "30 W"\n[rates', "give either power, or static_power"),
        (PLAIN[PLAIN.index("[rates") :], "[rates]\n", "give a rate for at least one of fp32"),
    ],
)
def test_a_mistake_is_one_line_with_file_key_and_remedy(old, new, said):
    assert old in PLAIN
    with pytest.raises(SpecError) as caught:
        Device.from_toml(PLAIN.replace(old, new), "mine.toml")
    message = str(caught.value)
    assert message.startswith("mine.toml: ")
    assert said in message
    assert "\n" not in message


def test_an_unknown_device_names_those_there_are():
    with pytest.raises(FileError, match="device `v1000` is neither a file nor one of a100"):
        load_device("v1000")
