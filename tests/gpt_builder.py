"""Transformers and plans written for a test."""

from collections.abc import Mapping

from dielet import _core
from dielet.model import Model, Transformer

# Sizes at which every byte count below is a whole number.
GPT = {
    "layers": 4,
    "hidden": 512,
    "heads": 8,
    "kv_heads": 8,
    "head_dim": 64,
    "ffn": 2048,
    "vocab": 1024,
    "sequence": 256,
    "positions": 256,
    "gated": False,
    "norm": "layer",
    "biases": True,
    "tied": True,
    "dropout": True,
    "attention": "unfused",
}


def gpt(**changes: object) -> Model:
    """A GPT of the sizes above but for the changes."""
    return Model.from_dict(Transformer(name="gpt", summary="t", source="t", **{**GPT, **changes}).build())


def plan_of(model: Model, precision: str = "mixed", **changes: object) -> dict[str, object]:
    """The plan of one device but for the changes; the batch is one micro-batch a worker unless given."""
    plan = _core.serial_plan(model, precision) | changes
    if "batch" not in changes:
        plan["batch"] = plan["micro_batch"] * plan["dp"]
    return plan


def price(model: Model, system: object, plan: Mapping[str, object]) -> dict[str, object]:
    """The price of a plan that must run."""
    answer = _core.price(model, system, plan)
    assert answer["status"] == "feasible", answer
    return answer
