"""Random models, plans and machines for the laws of a step."""

from dataclasses import dataclass
from functools import cache

from hypothesis import assume, settings
from hypothesis import strategies as st

from dielet import _core
from dielet.model import Model, load_model
from gpt_builder import gpt, plan_of
from machine_builder import Machine

LAWS = settings(max_examples=200, deadline=None, derandomize=True)
FEW = settings(max_examples=30, deadline=None, derandomize=True)

NETWORKS = ("resnet-50", "vgg-16", "alexnet", "inception-v3", "gnmt", "big-lstm")
SMALL = [1, 2, 4]


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and what a plan must know of it."""

    model: Model
    repeats: tuple[int, ...]
    sequence: int
    recurrent: bool
    routed: bool

    @staticmethod
    def of(model):
        tree = model.to_dict()
        repeats = tuple(segment["repeat"] for segment in tree["segments"])
        recurrent = any(op["work"]["kind"] == "recurrent" for op in tree["ops"])
        routed = any(axis["name"] == "experts" for op in tree["ops"] for axis in op["axes"])
        return Subject(model, repeats, tree["sequence"], recurrent, routed)

    def __repr__(self):
        return repr(self.model)


@cache
def network(name):
    return Subject.of(load_model(name))


@cache
def transformer(**shape):
    return Subject.of(gpt(**shape))


@st.composite
def transformers(draw):
    kv_heads, group = draw(st.sampled_from([1, 2, 4, 8])), draw(st.sampled_from([1, 2, 3]))
    head_dim = draw(st.sampled_from([16, 64]))
    experts = draw(st.sampled_from([0, 0, 0, 4]))
    attention = draw(st.sampled_from(["unfused", "flash"]))
    return transformer(
        layers=draw(st.sampled_from([2, 3, 4, 8])),
        hidden=draw(st.sampled_from([64, 192, 512])),
        heads=kv_heads * group,
        kv_heads=kv_heads,
        head_dim=head_dim,
        ffn=draw(st.sampled_from([96, 256, 1024])),
        vocab=draw(st.sampled_from([512, 3000])),
        sequence=draw(st.sampled_from([32, 100, 256])),
        positions=draw(st.sampled_from([0, 256])),
        gated=draw(st.booleans()),
        norm=draw(st.sampled_from(["layer", "rms"])),
        biases=draw(st.booleans()),
        tied=draw(st.booleans()),
        dropout=draw(st.booleans()),
        attention=attention,
        experts=experts,
        top_k=2 if experts else 0,
        expert_ffn=64 if experts else 0,
    )


models = st.one_of(transformers(), st.sampled_from(NETWORKS).map(network))


@st.composite
def plans(draw, model):
    """Plans that mostly run; memory is ample."""
    dp, micro_batch = draw(st.sampled_from([1, 2, 4, 8])), draw(st.sampled_from([1, 2, 6]))
    pp, micro_batches = draw(st.sampled_from(SMALL)), draw(st.sampled_from([1, 2, 4, 8]))
    return plan_of(
        model.model,
        draw(st.sampled_from(["fp32", "mixed", "bf16"])),
        dp=dp,
        tp=draw(st.sampled_from(SMALL)),
        pp=pp,
        cp=draw(st.sampled_from([1, 1, 2])) if model.sequence and not model.recurrent else 1,
        ep=draw(st.sampled_from([1, 2])) if model.routed else 1,
        virtual_stages=draw(st.sampled_from([1, 2])) if pp > 1 and micro_batches % pp == 0 else 1,
        micro_batch=micro_batch,
        batch=dp * micro_batch * micro_batches,
        schedule=draw(st.sampled_from(["1f1b", "gpipe"])),
        recompute=draw(st.sampled_from(["none", "selective", "full"])),
        sharding=draw(st.sampled_from([0, 1, 2, 3])),
        sequence_parallel=draw(st.booleans()),
        dense_gradients=draw(st.booleans()),
        mapping=draw(st.sampled_from(["tp-cp-dp-pp", "tp-pp-cp-dp"])),
    )


cases = models.flatmap(lambda model: st.tuples(st.just(model), plans(model)))
scales = st.floats(-1.0, 1.0).map(lambda exponent: 10**exponent)
machines = st.builds(
    Machine,
    peak=scales.map(lambda scale: 1e14 * scale),
    memory_bandwidth=scales.map(lambda scale: 1e12 * scale),
    inner_bandwidth=scales.map(lambda scale: 1e11 * scale),
    outer_bandwidth=scales.map(lambda scale: 1e10 * scale),
    kernel_overhead=scales.map(lambda scale: 3e-6 * scale),
    inner=st.sampled_from(["switch", "full", "ring"]),
)


def answer(model, machine, plan):
    return _core.price(model.model, machine.build(), plan)


def priced(model, machine, plan):
    found = answer(model, machine, plan)
    assume(found["status"] == "feasible")
    return found


def even(model, plan):
    """Whether the cut into stages is that of equal blocks, whatever they cost."""
    repeats = [repeat for repeat in model.repeats if repeat > 1]
    stages = plan["pp"] * plan["virtual_stages"]
    return stages == 1 or (len(repeats) == 1 and repeats[0] % stages == 0)
