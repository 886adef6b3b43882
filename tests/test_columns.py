"""Plans priced as columns: the same numbers as one plan at a time, and refusals in one line."""

import os
import subprocess
import sys

import numpy as np
import pytest

from dielet import _core
from dielet.errors import PlanError
from dielet.hardware.system import load_system
from dielet.model.load import load_model
from dielet.projection.columns import price_columns

CHOICES = {
    "dp": [1, 2, 3, 4, 8, 16],
    "tp": [1, 2, 4, 8],
    "pp": [1, 2, 3, 4, 8],
    "virtual_stages": [1, 2, 3],
    "micro_batch": [1, 2, 4],
    "batch": [48, 64, 96, 192, 384],
    "recompute": ["none", "selective", "full"],
    "sharding": [0, 1, 2, 3],
    "sequence_parallel": [False, True],
    "dense_gradients": [False, True],
    "schedule": ["1f1b", "gpipe"],
    "mapping": ["tp-cp-dp-pp", "tp-pp-cp-dp"],
    "precision": ["fp32", "mixed", "bf16"],
}
CASES = [
    ("megatron-22b", "dgx-a100", {"cp": [1, 1, 2]}),
    ("mixtral-8x7b", "dgx-h100", {"ep": [1, 2, 4], "cp": [1, 2]}),
    ("gnmt", "dgx1-v100", {"time_chunks": [1, 1, 5], "placed": [1, 1, 2]}),
    ("inception-v3", "dgx2-v100", {"placed": [1, 2]}),
]


def random_plans(choices, rows, seed):
    rng = np.random.default_rng(seed)
    return {name: rng.choice(values, rows) for name, values in choices.items()}


def alone(model, system, base, columns, row):
    plan = {**base, **{name: column[row].item() for name, column in columns.items()}}
    return _core.price(model, system, plan)


@pytest.mark.parametrize(("name", "machine", "more"), CASES)
def test_a_column_holds_what_price_says_bit_for_bit(name, machine, more):
    model, system = load_model(name), load_system(machine)
    columns = random_plans({**CHOICES, **more}, 250, seed=7)
    priced = price_columns(model, system, columns)
    base = _core.serial_plan(model, "mixed")
    for row in range(len(priced)):
        verdict = alone(model, system, base, columns, row)
        if verdict["status"] == "infeasible":
            assert priced.reasons[priced.reason[row]] == verdict["reason"]
            assert np.isnan([priced.step_s[row], priced.peak_bytes[row], priced.mfu[row]]).all()
            continue
        assert priced.feasible[row]
        numbers = (priced.step_s[row], priced.peak_bytes[row], priced.mfu[row])
        assert numbers == (verdict["step_s"], verdict["memory_bytes"]["peak"], verdict["mfu"])
    assert 0 < priced.feasible.sum() < len(priced)


def test_an_order_of_rows_changes_no_number():
    columns = random_plans(CHOICES, 500, seed=3)
    order = np.random.default_rng(4).permutation(500)
    first = price_columns("megatron-22b", "dgx-a100", columns)
    other = price_columns("megatron-22b", "dgx-a100", {name: column[order] for name, column in columns.items()})
    assert np.array_equal(first.step_s[order], other.step_s, equal_nan=True)
    assert np.array_equal(first.peak_bytes[order], other.peak_bytes, equal_nan=True)


def test_threads_change_no_byte():
    script = (
        "import numpy as np; from dielet import price_columns\n"
        "rng = np.random.default_rng(5)\n"
        "plans = {name: rng.choice([1, 2, 4, 8], 999) for name in ('dp', 'tp', 'pp', 'micro_batch')}\n"
        "priced = price_columns('megatron-22b', 'dgx-a100', {**plans, 'batch': 64, 'sharding': 1})\n"
        "print(priced.step_s.tobytes().hex(), priced.peak_bytes.tobytes().hex(), priced.reasons)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "RAYON_NUM_THREADS": str(threads)},
            capture_output=True,
            check=True,
        ).stdout
        for threads in (1, 2, 5)
    }
    assert len(outputs) == 1


def test_single_values_serve_all_rows():
    one = price_columns("resnet-50", "dgx1-v100", {"dp": 8, "batch": 256, "micro_batch": 32})
    many = price_columns("resnet-50", "dgx1-v100", {"dp": [8, 4], "batch": 256, "micro_batch": [32, 64]})
    assert len(one) == 1
    assert one.step_s[0] == many.step_s[0] != many.step_s[1]


def test_no_rows_give_no_prices():
    empty = np.array([], dtype=np.int64)
    assert len(price_columns("resnet-50", "dgx1-v100", {"dp": empty, "batch": empty})) == 0


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"dp": [1, 2], "tp": [1, 2, 4]}, ["equally long", "`dp` 2", "`tp` 3"]),
        ({"dp": [1, -2]}, ["`dp[1] = -2`", "at least 0"]),
        ({"batch": [8.0, 8.5]}, ["`batch[1] = 8.5`", "whole"]),
        ({"batch": [np.nan]}, ["`batch[0] = nan`", "whole"]),
        ({"batch": 2**60}, ["`batch[0]", "whole"]),
        ({"batch": 2**40}, ["`batch[0] = 1099511627776`", "at most"]),
        ({"sharding": [0, 4]}, ["`sharding[1] = 4`", "at most 3"]),
        ({"sequence_paralel": True}, ["`sequence_paralel`", "did you mean `sequence_parallel`"]),
        ({"zzz": 1}, ["`zzz`", "use one of dp, tp"]),
        ({"recompute": ["none", "some"]}, ["`recompute` = `some`", "none, selective, full"]),
        ({"recompute": [1, 2]}, ["`recompute` = `1`", "none, selective, full"]),
        ({"dp": ["two"]}, ["`dp`", "whole numbers"]),
        ({"dp": [[1, 2]]}, ["`dp`", "2 dimensions"]),
        ({"dp": [1, None]}, ["`dp`", "whole numbers"]),
    ],
)
def test_bad_columns_are_refused_in_one_line(columns, words):
    with pytest.raises(PlanError) as refusal:
        price_columns("resnet-50", "dgx1-v100", columns)
    text = str(refusal.value)
    assert "\n" not in text
    assert all(word in text for word in words), text


def test_a_degree_of_zero_is_an_answer():
    priced = price_columns("resnet-50", "dgx1-v100", {"dp": [0, 1], "tp": [1, 0]})
    assert [priced.reasons[reason] for reason in priced.reason] == ["degree", "degree"]
