"""The time of one kernel, through the public face."""

import numpy as np
import pytest

from dielet.errors import SpecError
from dielet.hardware.device import device_names, gemm_time_s, load_device


def efficiency(device, number, m, n, k):
    """Share of the data sheet's peak that a GEMM reaches."""
    peak = device.to_dict()["rates"][number]["peak"]["value"]
    return 2 * m * n * k / (gemm_time_s(device, number, m=m, n=n, k=k) * peak)


def test_sizes_broadcast_and_every_row_is_priced_alone():
    device = load_device("a100-sxm4-80gb")
    m = np.array([[128], [4096]])
    n = np.array([1024, 2048, 4096])
    table = gemm_time_s(device, "bf16", m=m, n=n, k=512)
    assert table.shape == (2, 3)
    assert table[1, 2] == gemm_time_s(device, "bf16", m=4096, n=4096, k=512)


@pytest.mark.parametrize("name", device_names())
def test_efficiency_rises_with_the_shape_and_stays_below_the_ceiling(name):
    device = load_device(name)
    for number in device.numbers:
        small, middle, large = (efficiency(device, number, size, size, size) for size in (256, 1024, 8192))
        ceiling = device.to_dict()["rates"][number]["ceiling"]["value"]
        assert small < middle < large <= ceiling, (name, number)


def test_one_tile_more_than_a_wave_costs_a_step():
    # 80 multiprocessors: 80 tiles of 256 x 128 are one wave, 81 are two or must be cut up.
    device = load_device("v100-sxm2-16gb")
    wave, one_more = gemm_time_s(device, "fp16", m=256, n=np.array([128 * 80, 128 * 80 + 1]), k=8192)
    assert one_more > 1.05 * wave


def test_a_thin_product_is_bound_by_memory():
    device = load_device("v100-sxm2-16gb")
    tree = device.to_dict()
    bandwidth = tree["memory_bandwidth"]["value"] * tree["memory_efficiency"]["value"]
    time = gemm_time_s(device, "fp16", m=16, n=65536, k=8192)
    moved = 2 * (16 * 8192 + 65536 * 8192 + 16 * 65536)
    assert time == pytest.approx(moved / bandwidth, rel=0.35)
    assert time > moved / bandwidth


def test_a_format_the_device_lacks_is_refused():
    with pytest.raises(SpecError, match=r"device `v100-sxm2-16gb` has no rate for bf16: use one of fp32, fp16"):
        gemm_time_s(load_device("v100-sxm2-16gb"), "bf16", m=1, n=1, k=1)
    with pytest.raises(SpecError, match="number format `int4` is unknown"):
        gemm_time_s(load_device("v100-sxm2-16gb"), "int4", m=1, n=1, k=1)


@pytest.mark.parametrize("m", [-1, 0.5, 2**64])
def test_a_size_that_is_no_count_is_refused(m):
    with pytest.raises(SpecError, match="is no count"):
        gemm_time_s(load_device("v100-sxm2-16gb"), "fp16", m=m, n=1, k=1)
