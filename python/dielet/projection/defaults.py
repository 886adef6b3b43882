"""Which convergence curve a model of the zoo takes where the user names none, and what to say of it."""

from __future__ import annotations

from typing import Final

# Curve, and what the answer must say of it.
CURVES: Final[dict[str, tuple[str, str | None]]] = {
    "inception-v3": ("inception-v3-stand-in", "no public curve of Inception-V3: ResNet-50's stands in"),
    "inception-v3-no-aux": ("inception-v3-stand-in", "no public curve of Inception-V3: ResNet-50's stands in"),
    "gnmt": ("gnmt-mlperf", None),
    "gnmt-8x8": ("gnmt-mlperf", "the curve is that of GNMT with 4 + 4 layers"),
    "big-lstm": ("lm1b-mccandlish", "LM1B has only a critical batch: the curve is derived from it"),
    "resnet-50": ("resnet-50-mlperf", None),
    "vgg-16": ("resnet-50-mlperf", "no public curve of VGG-16: ResNet-50's stands in"),
    "alexnet": ("resnet-50-mlperf", "no public curve of AlexNet: ResNet-50's stands in"),
    "gpt3-175b": ("gpt3-mlperf", None),
    "megatron-22b": ("gpt3-mlperf", "no public curve of this model: GPT-3's stands in"),
    "megatron-530b": ("gpt3-mlperf", "no public curve of this model: GPT-3's stands in"),
    "megatron-1t": ("gpt3-mlperf", "no public curve of this model: GPT-3's stands in"),
    "llama-3-8b": ("llama-3.1-8b-mlperf", "the curve is that of Llama 3.1 8B"),
    "llama-3-70b": ("llama-3.1-405b-mlperf", "no public curve of this model: Llama 3.1 405B's stands in"),
    "mixtral-8x7b": ("llama-3.1-8b-mlperf", "no public curve of this model: Llama 3.1 8B's stands in"),
}
