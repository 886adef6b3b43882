"""The search over workers finds what pricing every candidate finds."""

import itertools

import numpy as np
import pytest

from dielet import _core
from dielet.hardware.system import load_system
from dielet.model.load import load_model
from dielet.projection.columns import price_columns

DEVICES = [1, 2, 3, 4, 7, 8, 16, 24, 64, 250]


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


def candidates(mp, batch, sequence, wavefront):
    """Every way to run a worker, as the search states its space."""
    for tp, micro_batch in itertools.product(divisors(mp), divisors(batch)):
        pp = mp // tp
        for mapping in ["tp-pp-cp-dp", "tp-cp-dp-pp"] if pp > 1 else ["tp-cp-dp-pp"]:
            plan = {"tp": tp, "pp": pp, "micro_batch": micro_batch, "mapping": mapping}
            yield plan
            if tp > 1 and sequence:
                yield {**plan, "sequence_parallel": True}
            chunks = divisors(sequence)[1:] if pp > 1 and wavefront else []
            yield from ({**plan, "time_chunks": c, "schedule": "gpipe"} for c in chunks)
    if mp > 1:
        yield {"placed": mp, "micro_batch": batch}


def relaxed(plan):
    most = 3 if plan["dp"] > 1 else 0
    modes = itertools.product(["none", "selective", "full"], range(most + 1))
    return [{**plan, "recompute": mode, "sharding": stage} for mode, stage in modes]


def fastest(model, system, plans, shared):
    """The least step time over plans; where one does not fit, over its relaxations."""
    base = {"recompute": "none", "sharding": 0, "time_chunks": 1, "schedule": "1f1b", "placed": 1}
    base |= {"sequence_parallel": False, "tp": 1, "pp": 1, "mapping": "tp-cp-dp-pp"}
    plans = [{**base, **plan} for plan in plans]

    def priced(plans):
        columns = {name: np.array([plan[name] for plan in plans]) for name in plans[0]}
        return price_columns(model, system, {**columns, **shared}, precision="fp32")

    first = priced(plans)
    tight = [plan for plan, why in zip(plans, first.reason, strict=True) if first.reasons[why] == "memory"]
    steps = first.step_s
    if tight:
        steps = np.concatenate([steps, priced([choice for plan in tight for choice in relaxed(plan)]).step_s])
    return np.nanmin(steps) if not np.isnan(steps).all() else np.nan


@pytest.mark.parametrize(
    ("name", "batch", "wavefront"),
    [("resnet-50", 24, False), ("gnmt", 8, False), ("big-lstm", 12, True), ("inception-v3", 512, False)],
)
def test_the_search_misses_no_better_worker(name, batch, wavefront):
    model, system = load_model(name), load_system("dgx1-v100")
    request = {"mp": [1, 2, 4], "worker_batch": batch, "sequence": model.sequence, "precision": "fp32"}
    request |= {"dense_gradients": False, "tp": [], "pp": []}
    found = _core.workers(model, system, request, np.array(DEVICES, dtype=np.uint64))
    for column in found["columns"]:
        space = list(candidates(column["mp"], batch, model.sequence, wavefront))
        for devices, step_s in zip(DEVICES, column["step_s"], strict=True):
            dp = devices // column["mp"]
            if dp == 0:
                assert np.isnan(step_s)
                continue
            plans = [{**plan, "dp": dp, "batch": batch * dp} for plan in space]
            best = fastest(model, system, plans, {"sequence": model.sequence})
            assert step_s == best or np.isnan([step_s, best]).all(), (column["mp"], devices)
    counts = found["counts"]
    looked_at = counts["priced"] + sum(counts["pruned"].values()) + sum(counts["infeasible"].values())
    assert counts["space"] == looked_at
