"""Convergence curves: what is shipped, how it interpolates, and a user's own file."""

import numpy as np
import pytest

from dielet.convergence import curve_names, load_curve
from dielet.errors import FileError, SpecError

# Reference: minimum, critical batch, rms and worst error of the fit in per cent.
FITS = {
    "resnet-50-mlperf": (34.7, 47_080, 3.7, 6.1),
    "bert-mlperf": (2.335e6, 12_780, 6.4, 12),
    "gpt3-mlperf": (1.054e9, 16_840, 3.0, 4.3),
    "llama-3.1-405b-mlperf": (254.1e3, 5_023, 0.4, 0.5),
    "llama-3.1-8b-mlperf": (132.2e3, 84.0, 2.6, 3.6),
    "llama-2-70b-lora-mlperf": (2_883, 40.0, 9, 16),
    "rnn-t-mlperf": (35.75, 3_705, 2.3, 3.3),
    "retinanet-mlperf": (3.39, 1_390, 6.7, 13),
    "mask-rcnn-mlperf": (12.87, 836, 3.4, 5.6),
    "dlrm-dcnv2-mlperf": (0.652, 318_300, 1.8, 3.3),
    "stable-diffusion-mlperf": (1.460e6, 1_137, 3.1, 4.9),
    "r-gat-mlperf": (0.752, 115_800, 1.4, 2.6),
    "flux-mlperf": (6.109e6, 2_765, 1.6, 2.6),
    "gpt-oss-20b-mlperf": (160.4e3, 71.9, 0.9, 1.2),
    "lm-85m-zhang": (2.834e6, 2_191, 5, 9),
    "lm-151m-zhang": (5.677e6, 3_240, 5.5, 9.6),
    "lm-302m-zhang": (1.1383e7, 5_433, 4.1, 8.9),
    "lm-604m-zhang": (1.9450e7, 7_907, 4.4, 7.5),
    "lm-1.2b-zhang": (4.3381e7, 11_131, 3.8, 6.1),
}


@pytest.mark.parametrize("name", FITS)
def test_fit_reproduces_the_published_constants(name):
    minimum, critical, rms, worst = FITS[name]
    fit = load_curve(name).hyperbola()
    assert fit.minimum == pytest.approx(minimum, rel=2e-3)  # printed to three or four digits
    assert fit.critical_batch == pytest.approx(critical, rel=2e-3)
    assert 100 * fit.rms_error == pytest.approx(rms, abs=0.65 if rms >= 9 else 0.15)  # two digits at most
    assert 100 * fit.worst_error == pytest.approx(worst, abs=0.5 if worst >= 9 else 0.1)


def test_gnmt_refit_lies_within_one_per_cent_of_the_constants_fitted_to_unrounded_logs():
    fit, constants = load_curve("gnmt-mlperf").hyperbola(), load_curve("gnmt-mlperf-hyperbola").hyperbola()
    assert (constants.minimum, constants.critical_batch) == (3.235, 8985)
    assert fit.minimum == pytest.approx(constants.minimum, rel=0.01)
    assert fit.critical_batch == pytest.approx(constants.critical_batch, rel=0.01)
    assert 100 * fit.rms_error == pytest.approx(2.0, abs=0.15)
    assert 100 * fit.worst_error == pytest.approx(3.3, abs=0.15)


def test_fit_is_the_least_squares_optimum_of_another_solver():
    optimize = pytest.importorskip("scipy.optimize")
    for name in FITS:
        batch, value = load_curve(name)._merged
        found = optimize.least_squares(
            lambda p, b=batch, v=value: p[0] + np.log1p(b / np.exp(p[1])) - np.log(v),
            [np.log(value.min()), np.log(np.median(batch))],
            xtol=1e-14,
            ftol=1e-14,
            gtol=1e-14,
        )
        fit = load_curve(name).hyperbola()
        assert [np.log(fit.minimum), np.log(fit.critical_batch)] == pytest.approx(found.x, abs=2e-6), name


def test_names_are_sorted_and_each_loads_with_source_and_dataset():
    names = curve_names()
    assert names == sorted(names)
    for name in names:
        curve = load_curve(name)
        assert curve.name == name
        assert curve.summary
        assert curve.source
        assert curve.dataset.source


def test_named_sizes_of_data_sets():
    assert load_curve("resnet-50-mlperf").samples_per_epoch == 1_281_167
    assert load_curve("gnmt-mlperf").samples_per_epoch == 3_975_116
    assert load_curve("lm1b-mccandlish").samples_per_epoch == 38_500_000


def test_lm1b_passes_26_epochs_at_its_one_measured_batch():
    curve = load_curve("lm1b-mccandlish")
    assert curve.confidence == "derived"
    assert curve.epochs(1024) == pytest.approx(26)
    assert curve.epochs(5000) == pytest.approx(2 * curve.hyperbola().minimum)
    assert curve.inside(1024)
    assert not curve.inside(2048)


def test_stand_in_is_resnet_50_and_says_so():
    curve, other = load_curve("inception-v3-stand-in"), load_curve("resnet-50-mlperf")
    assert curve.points == other.points
    assert "ResNet-50" in curve.summary
    assert "no public curve" in curve.note


def test_recalled_points_are_labelled_and_give_the_published_gain():
    curve = load_curve("inception-v3-recalled")
    assert curve.confidence == "recalled (low)"
    assert [point.source for point in curve.points if "inferred" in point.source] == ["inferred, not recalled"]
    assert 1.32 / 2 * curve.epochs(65_536) / curve.epochs(32_768) - 1 == pytest.approx(0.265, abs=1e-9)


def test_units_agree_with_each_other():
    gpt3 = load_curve("gpt3-mlperf")
    assert gpt3.samples(8192) * 2048 == pytest.approx(1_627_389_952)
    assert gpt3.nominal_epoch
    assert gpt3.epochs(8192) == pytest.approx(gpt3.samples(8192) / 1e6)
    zhang = load_curve("lm-85m-zhang")
    assert zhang.steps(1024) == pytest.approx(3840)
    gnmt = load_curve("gnmt-mlperf")
    assert gnmt.steps(2048.0) == pytest.approx(4.1 * 3_975_116 / 2048)
    assert not gnmt.nominal_epoch


def test_below_the_table_the_value_is_constant():
    assert load_curve("gnmt-mlperf").epochs(128) == pytest.approx(4.1)


def test_above_the_table_both_rules_pass_through_the_last_point_and_then_differ():
    curve = load_curve("gnmt-mlperf")
    fit = curve.hyperbola()
    expected = 9.2 * fit.value(np.array(51_200.0)) / fit.value(np.array(16_384.0))
    assert curve.epochs(51_200) == pytest.approx(float(expected))
    slope = np.log(9.2 / 7.6) / np.log(16_384 / 12_288)
    assert curve.epochs(51_200, "slope") == pytest.approx(9.2 * (51_200 / 16_384) ** slope)


def test_points_that_fall_with_batch_are_pooled():
    curve = load_curve("mask-rcnn-mlperf")
    assert curve.pooled
    assert curve.epochs(64) == pytest.approx(curve.epochs(128))
    assert not load_curve("gnmt-mlperf").pooled


def test_fitted_curve_follows_the_hyperbola_everywhere():
    curve = load_curve("gnmt-mlperf").as_hyperbola()
    fit = curve.hyperbola()
    assert curve.epochs(64) == pytest.approx(fit.minimum * (1 + 64 / fit.critical_batch))
    assert curve.range == (2048, 16_384)
    assert load_curve("lm-85m-zhang").as_hyperbola().steps(1024) == pytest.approx(3840, rel=0.1)


def test_float_in_float_out_and_array_in_array_out():
    curve = load_curve("gnmt-mlperf")
    assert isinstance(curve.epochs(4096), float)
    assert isinstance(curve.inside(4096), bool)
    assert curve.epochs([2048, 4096, 8192]).shape == (3,)
    assert curve.inside([1024, 4096, 32_768]).tolist() == [False, True, False]


@pytest.mark.parametrize("batch", [0, -5, float("nan"), float("inf"), [1, 0]])
def test_batch_must_be_positive_and_finite(batch):
    with pytest.raises(SpecError, match="must be positive and finite"):
        load_curve("gnmt-mlperf").epochs(batch)


def test_unknown_rule_is_refused():
    with pytest.raises(SpecError, match="use one of hyperbola, slope"):
        load_curve("gnmt-mlperf").epochs(1, "cubic")


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(SpecError, match="did you mean `gnmt-mlperf`"):
        load_curve("gnmt-mlpref")


def test_own_csv(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("# samples_per_epoch = 1000\nbatch,epochs\n64,4\n\n512,8\n")
    curve = load_curve(path)
    assert curve.epochs([64, 512]) == pytest.approx([4, 8])
    assert curve.steps(64) == pytest.approx(4 * 1000 / 64)


def test_own_csv_without_size_takes_it_from_the_caller_or_asks_for_it(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("batch,epochs\n64,4\n512,8\n")
    assert load_curve(path, samples_per_epoch=500).steps(64) == pytest.approx(4 * 500 / 64)
    assert load_curve(path).epochs(64) == pytest.approx(4)
    with pytest.raises(SpecError, match="its data set has no size: give the samples of an epoch"):
        load_curve(path).steps(64)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line is nothing"),
        ("size,epochs\n1,2\n", "must name the columns, as in `batch,epochs`"),
        ("batch,epochs\n1,2\n", "1 batch sizes are too few"),
        ("batch,epochs\n1,2\n2\n", "row 2 has 1 columns"),
        ("batch,epochs\n1,2\n2,x\n", "row 2 is `x`; it must be a number"),
        ("batch,epochs\n1,2\n2,nan\n", "row 2 is nan; it must be positive and finite"),
        ("batch,epochs\n1,2\n-2,3\n", "row 2 is -2; it must be positive"),
        ("batch,epochs\n1,2\n" + "9" * 200_000 + ",3\n", "is no CSV text"),
    ],
)
def test_bad_csv_is_refused_in_one_line(tmp_path, text, message):
    path = tmp_path / "own.csv"
    path.write_text(text)
    with pytest.raises((FileError, SpecError), match=r"own\.csv") as refusal:
        load_curve(path)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match="cannot be read"):
        load_curve(tmp_path / "absent.csv")
    path = tmp_path / "latin.csv"
    path.write_bytes(b"batch,epochs\n1,\xff\n")
    with pytest.raises(FileError, match="is not UTF-8 text"):
        load_curve(path)


BASE = """
name = "own"
summary = "own"
source = "own"
confidence = "read"
unit = "epochs"
points = [{ batch = 64, mean = 4 }, { batch = 128, mean = 5 }]
[dataset]
name = "own"
sample = "image"
source = "own"
confidence = "read"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("", "", None),
        ('unit = "epochs"', 'unit = "epoch"', "unit is `epoch`; the nearest valid value is `epochs`"),
        ("summary", "sumary", "`sumary` is no known key; the nearest is `summary`"),
        ("mean = 4", "means = 4", "point 1: `means` is no known key; the nearest is `mean`"),
        ("batch = 64, mean = 4", "batch = 64", "point 1: mean is missing"),
        ("mean = 4", "mean = -4", "point 1: mean is -4; it must be positive"),
        ('source = "own"', "source = 3", "`source` is 3; it must be a text"),
        (
            "[dataset]",
            "[hyperbola]\nminimum = 1\ncritical_batch = 2\n[dataset]",
            "either `points` or `hyperbola`",
        ),
        ("points", "points = [", "is no valid TOML"),
        ("[{ batch = 64, mean = 4 }, { batch = 128, mean = 5 }]", "5", "`points` must be a list"),
        ("{ batch = 64, mean = 4 }", "64", "point 1 is `64`; it must be a table"),
        ("mean = 4", "mean = 1" + "0" * 400, "it must be a number"),
        ("mean = 4", "mean = true", "it must be positive and finite"),
        (
            "points = [{ batch = 64, mean = 4 }, { batch = 128, mean = 5 }]",
            "hyperbola = { minimum = 3, critical_batch = 9, range = 4 }",
            "hyperbola: range is `4`; it must be two batches",
        ),
    ],
)
def test_own_toml(tmp_path, old, new, message):
    path = tmp_path / "own.toml"
    path.write_text(BASE.replace(old, new, 1))
    if message is None:
        assert load_curve(path).epochs(64) == pytest.approx(4)
        return
    with pytest.raises((FileError, SpecError)) as refusal:
        load_curve(path)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
