"""Steps of GPT and Llama-like models against two published sweeps, sampled evenly; all printed (`pytest -s`).

Nothing is fitted on these rows. Groups, the limit of 5 ms a layer and the bounds were chosen after the errors
were seen and say what was reached; errors over all rows, and how the limit matters, are in
`docs/validation.md`.
"""

import csv
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from dielet import _core
from dielet.hardware.device import load_device
from dielet.hardware.system import System, load_system
from dielet.model import Model, Transformer
from gpt_builder import plan_of

ROWS = 100
# Groups by what a layer takes per micro-batch.
SIZES = [(2.0, "below 2 ms"), (5.0, "2 to 5 ms"), (15.0, "5 to 15 ms"), (float("inf"), "15 ms or more")]


@dataclass(frozen=True)
class Run:
    """One priced row."""

    row: dict[str, str]
    seconds: float
    step: dict

    @property
    def error(self):
        return self.step["step_s"] / self.seconds - 1

    @property
    def layer_ms(self):
        """Modelled work of a layer on one micro-batch, both passes: small ones wait for the host."""
        names = ("compute", "tensor parallel")
        work = sum(part["seconds"] for part in self.step["breakdown"]["parts"] if part["name"] in names)
        plan, layers = self.step["plan"], int(self.row["layers"]) / int(self.row["pp"])
        return 1e3 * work * plan["dp"] * plan["micro_batch"] / plan["batch"] / layers

    @property
    def group(self):
        nodes = "one node" if int(self.row["gpus"]) <= 8 else "more nodes"
        size = next(label for most, label in SIZES if self.layer_ms < most)
        return f"{nodes}, tp{'>' if int(self.row['tp']) > 8 else '<='}8, a layer takes {size}"


def sample(shared, source, keep):
    """About `ROWS` rows of a source, evenly over those that qualify."""
    with (shared / "data/measurements/llm_training.tsv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    rows = [row for row in rows if row["source_id"] == source and row["complete"] == "yes" and keep(row)]
    return rows[:: max(1, len(rows) // ROWS)]


def shape(row):
    names = {"layers": "layers", "hidden": "hidden", "heads": "heads", "ffn": "ffn", "sequence": "seq_len"}
    sizes = {name: int(row[column]) for name, column in names.items()}
    kv_heads = int(row["kv_heads"] or row["heads"])
    # Trainers pad the vocabulary so that every rank has whole tiles of it.
    whole = 128 * int(row["tp"])
    vocab = -(-int(row["vocab"]) // whole) * whole
    return {**sizes, "kv_heads": kv_heads, "head_dim": sizes["hidden"] // sizes["heads"], "vocab": vocab}


def gpt(row):
    """Megatron's GPT: unfused attention, learned positions, tied head."""
    return {
        **shape(row),
        "positions": int(row["seq_len"]),
        "gated": False,
        "norm": "layer",
        "biases": True,
        "tied": True,
        "dropout": True,
        "attention": "unfused",
    }


def price(row, sizes, system, precision, **more):
    model = Model.from_dict(Transformer(name="row", summary="t", source="t", **sizes).build())
    degrees = {name: int(row[name] or 1) for name in ("tp", "pp", "cp")}
    dp = int(row["gpus"]) // (degrees["tp"] * degrees["pp"] * degrees["cp"])
    plan = plan_of(model, precision, dp=dp, micro_batch=int(row["mbs"]), batch=int(row["gbs"]), **degrees, **more)
    return _core.price(model, system, plan)


def runs(rows, price_of):
    found, refused = [], defaultdict(int)
    for row in rows:
        answer = price_of(row)
        if answer["status"] == "feasible":
            found.append(Run(row, float(row["step_time_s"] or row["d_step_time_s"]), answer))
        else:
            refused[answer["reason"]] += 1
    return found, dict(refused)


def ranks(values):
    return np.argsort(np.argsort(values))


def report(title, found):
    errors = np.array([run.error for run in found])
    ours, theirs = [run.step["step_s"] for run in found], [run.seconds for run in found]
    order = np.corrcoef(ranks(ours), ranks(theirs))[0, 1] if len(found) > 2 else float("nan")
    median, worst = np.quantile(np.abs(errors), [0.5, 0.9])
    print(
        f"{title:58s} {len(found):4d} rows: |error| median {median:.1%}, p90 {worst:.1%}; "
        f"signed median {np.median(errors):+.1%}; Spearman {order:.3f}"
    )
    return median, worst, order


def terms(run):
    total = run.step["step_s"]
    parts = {part["name"]: part["seconds"] / total for part in run.step["breakdown"]["parts"]}
    return ", ".join(f"{name} {share:.0%}" for name, share in sorted(parts.items(), key=lambda item: -item[1])[:4])


def report_all(title, found, refused):
    print(f"\n{title}: {len(found)} priced, refused {refused}")
    groups = defaultdict(list)
    for run in found:
        groups[run.group].append(run)
    for name in sorted(groups):
        report(f"  {name}", groups[name])
    for run in sorted(found, key=lambda run: -abs(np.log1p(run.error)))[:8]:
        row = run.row
        print(
            f"  {run.error:+.0%} h{row['hidden']} L{row['layers']} gpus {row['gpus']} "
            f"tp {row['tp']} pp {row['pp']} mbs {row['mbs']} gbs {row['gbs']}: "
            f"{run.step['step_s']:.3f} s for {run.seconds:.3f} s; {terms(run)}"
        )
    return report(f"  all of {title}", found)


@cache
def with_network(system, device, shipped, network):
    """A shipped system whose nodes have another bandwidth to each other."""
    spec = resources.files("dielet.hardware").joinpath(f"specs/systems/{system}.toml").read_text("utf-8")
    assert spec.count(f'"{shipped}"') == 1
    spec = spec.replace(f'"{shipped}"', f'"{network}"')
    return System.from_toml(spec, load_device(device), f"{system}.toml")


def a100():
    """The source states 800 Gb/s between nodes."""
    return with_network("dgx-a100", "a100-sxm4-80gb", "200 GB/s", "100 GB/s")


def h100(row):
    """Every run states the bus bandwidth of an all-reduce of 1 GiB over all its devices: what the nodes had
    to each other on the day, from 341 GB/s on 2 nodes to 13 GB/s on 64."""
    found = re.search(r"world AR ([0-9.]+)", row["notes"])
    if int(row["gpus"]) <= 8 or not found:
        return load_system("dgx-h100")
    return with_network("dgx-h100", "h100-sxm5-80gb", "400 GB/s", f"{found[1]} GB/s")


def test_megatron_on_a100(shared):
    """VIA-Research/vTrain: Megatron-DeepSpeed, full recomputation, 2 to 512 GPUs."""
    rows = sample(shared, "vtrain-groundtruth", lambda row: True)

    def price_of(row):
        return price(row, gpt(row), a100(), "mixed", recompute="full")

    found, refused = runs(rows, price_of)
    _, _, order = report_all("Megatron-DeepSpeed, A100", found, refused)
    assert order > 0.85
    assert all(run.error < 0.25 for run in found)
    busy = [run for run in found if run.layer_ms >= 5.0]
    median, _, _ = report("Megatron-DeepSpeed, a layer takes 5 ms or more", busy)
    assert len(busy) > 15
    assert median < 0.25


def test_nanotron_on_h100(shared):
    """The sweep behind Hugging Face's Ultra-Scale Playbook: nanotron, Llama-like models, 8 to 512 GPUs."""
    core = sample(shared, "hf-nanotron-playbook", lambda row: row["core"] == "yes")
    alone = sample(shared, "hf-nanotron-playbook", lambda row: row["core"] == "yes" and int(row["gpus"]) <= 8)

    def price_of(row):
        split = row["seq_parallel"].startswith("yes")
        sharding = int(row["zero_fsdp"].removeprefix("ZeRO-"))
        return price(row, shape(row), h100(row), "bf16", sequence_parallel=split, sharding=sharding)

    report_all("nanotron, H100, all sizes", *runs(core, price_of))
    found, refused = runs(alone, price_of)
    report_all("nanotron, H100, one node", found, refused)
    busy = [run for run in found if run.layer_ms >= 5.0]
    median, worst, order = report("nanotron, one node, a layer takes 5 ms or more", busy)
    assert len(busy) > 10
    assert median < 0.30
    assert worst < 0.40
    assert order > 0.90
