"""The answer of `dielet plan`: equations, crossover, columns, and what it says of itself."""

import csv

import numpy as np
import pytest

import dielet
from dielet.projection.answer import crossover

PAPER = {"system": "dgx1-v100", "mp_speedup": {2: 1.15}, "scaling_efficiency": 1, "per_device_batch": 128}


@pytest.fixture(scope="module")
def gnmt():
    """GNMT with the paper's speedup and assumption, on the fitted hyperbola."""
    return dielet.plan("gnmt", devices=range(1, 1025), curve="gnmt-mlperf-hyperbola", **PAPER)


@pytest.fixture(scope="module")
def modelled():
    """Inception-V3, everything modelled."""
    return dielet.plan("inception-v3", system="dgx1-v100", devices=[1, 2, 4, 6, 8, 64, 1024], precision="fp32")


def test_gnmt_crosses_where_the_closed_form_says(gnmt):
    assert gnmt.crossover_devices == 398
    assert gnmt.gain_at_scale == pytest.approx(0.081, abs=0.003)


def test_the_projects_own_refit_crosses_beside_it():
    refit = dielet.load_curve("gnmt-mlperf").as_hyperbola()
    answer = dielet.plan("gnmt", devices=range(1, 1025), curve=refit, **PAPER)
    assert 401 <= answer.crossover_devices <= 410


def test_time_is_the_product_of_step_steps_and_epochs(modelled):
    for choice in modelled.choices:
        product = choice.step_s * choice.steps_per_epoch * choice.epochs
        np.testing.assert_array_equal(product, choice.time_to_target_s)
        known = np.isfinite(choice.step_s)
        batch = choice.batch[known]
        np.testing.assert_allclose(choice.steps_per_epoch[known] * batch, modelled.curve.samples_per_epoch)


def test_idle_devices_are_counted(modelled):
    row = list(modelled.devices).index(6)
    four = next(choice for choice in modelled.choices if choice.mp[0] == 4)
    assert four.workers[row] == 1
    assert modelled.to_dict(top=0)["curve"][row]["hybrid"]["idle_devices"] in (0, 2)


def test_two_devices_speed_up_inception_as_the_paper_found(modelled):
    two = next(choice for choice in modelled.choices if choice.mp[0] == 2)
    speedup = modelled.dp.step_s[0] / two.step_s[1]
    assert 1.25 <= speedup <= 1.50


@pytest.mark.parametrize(("model", "precision"), [("gnmt", "mixed"), ("big-lstm", "fp32")])
def test_two_devices_speed_up_the_recurrent_networks(model, precision):
    answer = dielet.plan(model, system="dgx1-v100", devices=[1, 2], mp=[2], precision=precision)
    assert answer.dp.step_s[0] / answer.hybrid.step_s[1] > 1


def test_a_hybrid_of_one_device_is_data_parallelism():
    alone = dielet.plan("resnet-50", system="dgx1-v100", devices=[1, 8, 64], mp=[1])
    assert alone.hybrid is None
    assert alone.crossover_devices is None
    assert alone.gain_at_scale is None


def test_a_given_speedup_divides_the_step_of_as_many_workers():
    answer = dielet.plan("gnmt", system="dgx1-v100", devices=[8, 16], mp_speedup={2: 1.25})
    assert answer.hybrid.step_s[1] == answer.dp.step_s[0] / 1.25
    assert answer.hybrid.batch[1] == answer.dp.batch[0]


def test_a_fixed_batch_is_shared_out():
    answer = dielet.plan("resnet-50", system="dgx1-v100", devices=[1, 3, 4, 8], batch=256)
    assert set(answer.dp.batch[np.isfinite(answer.dp.step_s)]) == {256.0}
    assert np.isnan(answer.dp.step_s[1])


def test_a_chosen_batch_is_at_least_as_good_as_the_models_own():
    own = dielet.plan("resnet-50", system="dgx1-v100", devices=[8, 512], mp=[1, 2])
    chosen = dielet.plan("resnet-50", system="dgx1-v100", devices=[8, 512], mp=[1, 2], batch="auto")
    assert np.all(chosen.dp.time_to_target_s <= own.dp.time_to_target_s)


def test_bigger_models_than_the_memory_are_an_answer():
    answer = dielet.plan("gpt3-175b", system="dgx1-v100", devices=[1, 2])
    assert answer.status == "infeasible"
    assert answer.to_dict()["plans"] == []
    assert "no plan fits" in repr(answer)


def test_columns_are_of_equal_length_and_the_csv_has_them_all(modelled, tmp_path):
    columns = modelled.to_columns()
    assert {len(column) for column in columns.values()} == {len(modelled.devices)}
    modelled.to_csv(tmp_path / "plan.csv")
    with (tmp_path / "plan.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    read = [float(row["dp_only_step_s"]) for row in rows]
    np.testing.assert_array_equal(read, columns["dp_only_step_s"])


def test_the_repr_is_the_table(modelled):
    text = repr(modelled)
    assert "crossover" in text
    assert "data parallel alone" in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_the_fabric_changes_the_answer():
    plain, wafer = (
        dielet.plan("inception-v3", system="dgx1-v100", devices=[1, 2, 1024], precision="fp32", fabric=fabric)
        for fabric in (None, "si-if")
    )
    assert wafer.hybrid.step_s[1] < plain.hybrid.step_s[1]
    assert wafer.gain_at_scale > plain.gain_at_scale


def test_a_measured_graph_needs_a_curve_and_scales_in_sight():
    with pytest.raises(dielet.PlanError, match="--curve"):
        dielet.plan("inception-v3-measured", system="dgx1-v100", devices=[1])
    answer = dielet.plan(
        "inception-v3-measured",
        system="dgx1-v100-32gb",
        devices=[1, 2],
        curve="inception-v3-stand-in",
        per_device_batch=64,
        mp=[1, 2],
    )
    assert any("scale linearly" in note for note in answer.notes)
    assert answer.dp.step_s[0] == pytest.approx(0.68904 / 2, rel=0.02)


def test_crossover_is_none_where_hybrid_never_stays_ahead(modelled):
    assert crossover(modelled.devices, modelled.dp, None) is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"devices": []}, "no device counts"),
        ({"devices": 0}, "out of range"),
        ({"devices": -4}, "out of range"),
        ({"devices": [1.5]}, "no whole number"),
        ({"devices": 10**9}, "out of range"),
        ({"devices": 8, "objective": "speed"}, "objective `speed`"),
        ({"devices": 8, "precision": "mixd"}, "did you mean `mixed`"),
        ({"devices": 8, "precision": "fp8"}, "has no fp8"),
        ({"devices": 8, "mp_speedup": {2: float("nan")}}, "out of range"),
        ({"devices": 8, "scaling_efficiency": 1.5}, "out of range"),
        ({"devices": 8, "batch": 64, "per_device_batch": 8}, "contradict"),
        ({"devices": 8, "batch": "many"}, "neither a number nor"),
        ({"devices": 8, "curve": "gnmt-mlprf"}, "gnmt-mlperf"),
    ],
)
def test_what_cannot_be_asked_is_one_line(options, says):
    with pytest.raises(dielet.DieletError, match=says) as raised:
        dielet.plan("gnmt", system="dgx1-v100", **options)
    assert "\n" not in str(raised.value)
