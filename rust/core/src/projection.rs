//! Data parallelism alone against hybrid parallelism: the equations of Pal et al.
//!
//! | symbol | argument | unit |
//! | --- | --- | --- |
//! | T, S, E | `step`, `steps_per_epoch`, `epochs` | s, count, count |
//! | N | `devices`, `workers` | count |
//! | M | `mp`, devices per worker | count |
//! | `SE_N` = `T_1/T_N` | `scaling_efficiency` | ratio |
//! | `E_1/E_N` | `statistical_efficiency` | ratio |
//! | `SU^M` | `mp_speedup` | ratio |
//! | B | `batch`, samples per step over all workers | samples |
//! | b | `worker_batch`, samples per step and worker | samples |
//! | `B_c` | `critical_batch` | samples |
//!
//! Source of all but the hyperbola: S. Pal et al., "Optimizing Multi-GPU Parallelization Strategies for Deep
//! Learning Training", IEEE Micro 39(5), 2019. Every quantity is positive; S and E are real numbers.

use crate::units::Seconds;

/// Time of training to the target: `C = T S E`.
///
/// 0.5 s a step, 1,000 steps an epoch, 4 epochs: 2,000 s.
/// ```
/// use dielet_core::{projection::training_time, units::Seconds};
/// assert_eq!(training_time(Seconds(0.5), 1000.0, 4.0), Seconds(2000.0));
/// ```
pub fn training_time(step: Seconds, steps_per_epoch: f64, epochs: f64) -> Seconds {
    step * steps_per_epoch * epochs
}

/// Speedup of data parallelism over one device: `SU_N = SE_N N E_1/E_N`.
///
/// Assumes the mini-batch of a device constant, so that the global batch grows N-fold and an epoch has N-fold
/// fewer steps.
///
/// 8 devices, 90 % scaling efficiency, 4 epochs instead of 3: 0.9 · 8 · 3/4 = 5.4.
/// ```
/// use dielet_core::projection::dp_speedup;
/// assert!((dp_speedup(8.0, 0.9, 3.0 / 4.0) - 5.4).abs() < 1e-12);
/// ```
pub fn dp_speedup(devices: f64, scaling_efficiency: f64, statistical_efficiency: f64) -> f64 {
    scaling_efficiency * devices * statistical_efficiency
}

/// Speedup of N workers of M devices over one device: `SU^M_N = SU^M SE_N N E_1/E_N`.
///
/// Assumes that a worker keeps its mini-batch when it is made of M devices, so that S and E are those of N workers.
///
/// 4 workers of 2 devices, 1.32 times faster each, nothing lost: 5.28 on 8 devices.
/// ```
/// use dielet_core::projection::hybrid_speedup;
/// assert!((hybrid_speedup(4.0, 1.32, 1.0, 1.0) - 5.28).abs() < 1e-12);
/// ```
pub fn hybrid_speedup(
    workers: f64,
    mp_speedup: f64,
    scaling_efficiency: f64,
    statistical_efficiency: f64,
) -> f64 {
    mp_speedup * dp_speedup(workers, scaling_efficiency, statistical_efficiency)
}

/// Gain of hybrid over data parallelism alone on the same `M N` devices:
/// `G = SU^M/M · SE_N/SE_MN · E_MN/E_N - 1`.
///
/// `scaling_ratio` is `SE_N/SE_MN` (at least 1 where more workers scale worse), `epochs_ratio` is `E_MN/E_N`.
///
/// `SU^2` = 1.32, epochs 23/12 times as many at twice the batch: +26.5 %.
/// ```
/// use dielet_core::projection::hybrid_gain;
/// assert!((hybrid_gain(2.0, 1.32, 1.0, 23.0 / 12.0) - 0.265).abs() < 1e-12);
/// assert!((hybrid_gain(2.0, 1.22, 1.0, 2.0) - 0.22).abs() < 1e-12);
/// assert!(hybrid_gain(2.0, 1.15, 1.0, 1.7391).abs() < 1e-4);
/// ```
pub fn hybrid_gain(mp: f64, mp_speedup: f64, scaling_ratio: f64, epochs_ratio: f64) -> f64 {
    mp_speedup / mp * scaling_ratio * epochs_ratio - 1.0
}

/// The `SU^M` from which on hybrid wins on the same devices: `M · SE_MN/SE_N · E_N/E_MN`.
///
/// Twice the epochs at twice the batch: any `SU^2` above 1 wins.
/// ```
/// use dielet_core::projection::required_mp_speedup;
/// assert_eq!(required_mp_speedup(2.0, 1.0, 2.0), 1.0);
/// ```
pub fn required_mp_speedup(mp: f64, scaling_ratio: f64, epochs_ratio: f64) -> f64 {
    mp / (scaling_ratio * epochs_ratio)
}

/// The `E_MN/E_N` from which on hybrid wins on the same devices: `M / (SU^M · SE_N/SE_MN)`.
///
/// `SU^2` = 1.32: epochs must grow 1.515-fold when the batch doubles.
/// ```
/// use dielet_core::projection::required_epochs_ratio;
/// assert!((required_epochs_ratio(2.0, 1.32, 1.0) - 1.5152).abs() < 1e-4);
/// ```
pub fn required_epochs_ratio(mp: f64, mp_speedup: f64, scaling_ratio: f64) -> f64 {
    mp / (mp_speedup * scaling_ratio)
}

/// Epochs over their minimum at a batch of x critical batches: `E/E_min = 1 + B/B_c = 1 + x`.
///
/// The trade of steps against examples of S. `McCandlish` et al., "An Empirical Model of Large-Batch Training",
/// 2018: `(S/S_min - 1)(E/E_min - 1) = 1`. At the critical batch both are twice their minimum.
/// ```
/// use dielet_core::projection::epochs_over_minimum;
/// assert_eq!(epochs_over_minimum(5000.0, 5000.0), 2.0);
/// ```
pub fn epochs_over_minimum(batch: f64, critical_batch: f64) -> f64 {
    1.0 + batch / critical_batch
}

/// Speedup of data parallelism under the hyperbola at `SE` = 1: `SU_N = N (1 + β)/(1 + N β)`, `β = b/B_c`.
///
/// Grows towards [`dp_speedup_limit`]. GNMT (`B_c` 8,985, b 128) on 1,024 devices: 66.6 of at most 71.2.
/// ```
/// use dielet_core::projection::dp_speedup_under_hyperbola;
/// assert!((dp_speedup_under_hyperbola(1024.0, 128.0, 8985.0) - 66.62).abs() < 0.01);
/// ```
pub fn dp_speedup_under_hyperbola(devices: f64, worker_batch: f64, critical_batch: f64) -> f64 {
    let statistical_efficiency = epochs_over_minimum(worker_batch, critical_batch)
        / epochs_over_minimum(devices * worker_batch, critical_batch);
    dp_speedup(devices, 1.0, statistical_efficiency)
}

/// What data parallelism can reach under the hyperbola with any number of devices: `1 + B_c/b`.
///
/// ```
/// use dielet_core::projection::dp_speedup_limit;
/// assert!((dp_speedup_limit(128.0, 8985.0) - 71.195).abs() < 1e-3);
/// ```
pub fn dp_speedup_limit(worker_batch: f64, critical_batch: f64) -> f64 {
    1.0 + critical_batch / worker_batch
}

/// Gain on equal devices under the hyperbola at `SE` = 1: `G(x) = SU^M (1 + M x)/(M (1 + x)) - 1`, `x = N b/B_c`.
///
/// N workers of M devices against `M N` workers. Tends to `SU^M - 1` for large x, since `E_MN/E_N < M` always.
///
/// GNMT, 512 workers of 2 devices: x = 512 · 128/8,985, gain 8.1 % on 1,024 devices.
/// ```
/// use dielet_core::projection::hybrid_gain_under_hyperbola;
/// let gain = hybrid_gain_under_hyperbola(512.0, 2.0, 1.15, 128.0, 8985.0);
/// assert!((gain - 0.0807).abs() < 1e-4);
/// ```
pub fn hybrid_gain_under_hyperbola(
    workers: f64,
    mp: f64,
    mp_speedup: f64,
    worker_batch: f64,
    critical_batch: f64,
) -> f64 {
    let epochs_ratio = epochs_over_minimum(mp * workers * worker_batch, critical_batch)
        / epochs_over_minimum(workers * worker_batch, critical_batch);
    hybrid_gain(mp, mp_speedup, 1.0, epochs_ratio)
}

/// Where hybrid overtakes, in critical batches of the hybrid's global batch:
/// `x* = (M - SU^M)/(M (SU^M - 1))`; infinite when `SU^M` is at most 1, and 0 when it is at least M.
///
/// ```
/// use dielet_core::projection::crossover_batch_ratio;
/// assert!((crossover_batch_ratio(2.0, 1.32) - 1.0625).abs() < 1e-9);
/// assert!((crossover_batch_ratio(2.0, 1.15) - 2.8333).abs() < 1e-4);
/// assert!((crossover_batch_ratio(2.0, 1.22) - 1.7727).abs() < 1e-4);
/// ```
pub fn crossover_batch_ratio(mp: f64, mp_speedup: f64) -> f64 {
    if mp_speedup <= 1.0 {
        return f64::INFINITY;
    }
    ((mp - mp_speedup) / (mp * (mp_speedup - 1.0))).max(0.0)
}

/// Devices in all where hybrid overtakes data parallelism alone under the hyperbola at `SE` = 1:
/// `M x* B_c/b`, a real number; infinite when it never does.
///
/// GNMT with `SU^2` = 1.15, b = 128, `B_c` = 8,985: 397.7, so 398 devices.
/// ```
/// use dielet_core::projection::crossover_devices;
/// assert_eq!(crossover_devices(2.0, 1.15, 128.0, 8985.0).ceil(), 398.0);
/// ```
pub fn crossover_devices(mp: f64, mp_speedup: f64, worker_batch: f64, critical_batch: f64) -> f64 {
    mp * crossover_batch_ratio(mp, mp_speedup) * critical_batch / worker_batch
}
