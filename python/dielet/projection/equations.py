"""The equations of data parallelism alone against hybrid parallelism (Pal et al. 2019).

Symbols, sources and worked examples stand beside the formulas in `rust/core/src/projection.rs`.
"""

from dielet._core import (
    crossover_batch_ratio,
    crossover_devices,
    dp_speedup,
    dp_speedup_limit,
    dp_speedup_under_hyperbola,
    epochs_over_minimum,
    hybrid_gain,
    hybrid_gain_under_hyperbola,
    hybrid_speedup,
    required_epochs_ratio,
    required_mp_speedup,
    training_time_s,
)

__all__ = [
    "crossover_batch_ratio",
    "crossover_devices",
    "dp_speedup",
    "dp_speedup_limit",
    "dp_speedup_under_hyperbola",
    "epochs_over_minimum",
    "hybrid_gain",
    "hybrid_gain_under_hyperbola",
    "hybrid_speedup",
    "required_epochs_ratio",
    "required_mp_speedup",
    "training_time_s",
]
