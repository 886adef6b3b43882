//! The equations of data parallelism alone against hybrid parallelism, on plain numbers.

use dielet_core::{projection as core, units::Seconds};
use pyo3::prelude::*;

/// Every argument of these equations is a positive, finite number.
fn positive<const N: usize>(arguments: [(&str, f64); N]) -> PyResult<()> {
    match arguments.into_iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
        None => Ok(()),
        Some((name, value)) => {
            Err(plan_error(&format!("`{name}` is {value}: it must be a positive, finite number")))
        }
    }
}

/// A `dielet.errors.PlanError`.
fn plan_error(text: &str) -> PyErr {
    Python::attach(|py| {
        let raise = || py.import("dielet.errors")?.getattr("PlanError")?.call1((text,));
        raise().map_or_else(|fault| fault, PyErr::from_value)
    })
}

macro_rules! equations {
    ($($(#[doc = $doc:literal])+ $name:ident($($argument:ident),+);)+) => { $(
        $(#[doc = $doc])+
        #[pyfunction]
        pub(crate) fn $name($($argument: f64),+) -> PyResult<f64> {
            positive([$((stringify!($argument), $argument)),+])?;
            Ok(core::$name($($argument),+))
        }
    )+ };
}

/// Time of training to the target in seconds, `C = T S E`.
#[pyfunction]
pub(crate) fn training_time_s(step_s: f64, steps_per_epoch: f64, epochs: f64) -> PyResult<f64> {
    positive([("step_s", step_s), ("steps_per_epoch", steps_per_epoch), ("epochs", epochs)])?;
    Ok(core::training_time(Seconds(step_s), steps_per_epoch, epochs).value())
}

equations! {
    /// Speedup of data parallelism over one device, `SE_N N E_1/E_N`.
    dp_speedup(devices, scaling_efficiency, statistical_efficiency);
    /// Speedup of N workers of M devices over one device, `SU^M SE_N N E_1/E_N`.
    hybrid_speedup(workers, mp_speedup, scaling_efficiency, statistical_efficiency);
    /// Gain of hybrid over data parallelism alone on the same devices, `SU^M/M SE_N/SE_MN E_MN/E_N - 1`.
    hybrid_gain(mp, mp_speedup, scaling_ratio, epochs_ratio);
    /// The `SU^M` from which on hybrid wins, `M SE_MN/SE_N E_N/E_MN`.
    required_mp_speedup(mp, scaling_ratio, epochs_ratio);
    /// The `E_MN/E_N` from which on hybrid wins.
    required_epochs_ratio(mp, mp_speedup, scaling_ratio);
    /// Epochs over their minimum, `1 + B/B_c`.
    epochs_over_minimum(batch, critical_batch);
    /// Speedup of data parallelism under the hyperbola at scaling efficiency 1.
    dp_speedup_under_hyperbola(devices, worker_batch, critical_batch);
    /// What data parallelism can reach under the hyperbola, `1 + B_c/b`.
    dp_speedup_limit(worker_batch, critical_batch);
    /// Gain of N workers of M devices over `M N` workers under the hyperbola at scaling efficiency 1.
    hybrid_gain_under_hyperbola(workers, mp, mp_speedup, worker_batch, critical_batch);
    /// Where hybrid overtakes, in critical batches of its own global batch; infinite when it never does.
    crossover_batch_ratio(mp, mp_speedup);
    /// Devices in all where hybrid overtakes under the hyperbola; infinite when it never does.
    crossover_devices(mp, mp_speedup, worker_batch, critical_batch);
}
