//! The formulas, each on its own: a pass is a reduce-scatter or an all-gather, half an all-reduce.
//!
//! Every formula is a [`Line`] in the message, so that a group's prices are worked out once and cost a few
//! nanoseconds each.

use std::ops::{Add, Mul};

use crate::units::{Bytes, BytesPerSecond, Seconds};

/// A time that depends on the message `m` as `fixed + per_byte m + root sqrt(m)`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Line {
    /// For an empty message.
    pub fixed: Seconds,
    /// s/B.
    pub per_byte: f64,
    /// s per square root of a byte: of a pipeline whose pieces grow with the message.
    pub root: f64,
}

impl Line {
    /// A latency.
    pub fn latency(fixed: Seconds) -> Self {
        Self { fixed, ..Self::default() }
    }

    /// `share` of the message at a rate.
    pub fn wire(share: f64, rate: BytesPerSecond) -> Self {
        Self { per_byte: share / rate.value(), ..Self::default() }
    }

    /// The time for a message.
    pub fn at(self, message: Bytes) -> Seconds {
        self.fixed + Seconds(self.per_byte * message.value() + self.root * message.value().sqrt())
    }

    /// Whether it is nowhere above the other.
    pub fn below(self, other: Self) -> bool {
        self.fixed <= other.fixed && self.per_byte <= other.per_byte && self.root <= other.root
    }

    /// The least line of these coefficients that is nowhere below either.
    #[must_use]
    pub fn above(self, other: Self) -> Self {
        Self {
            fixed: self.fixed.max(other.fixed),
            per_byte: self.per_byte.max(other.per_byte),
            root: self.root.max(other.root),
        }
    }
}

impl Add for Line {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            fixed: self.fixed + other.fixed,
            per_byte: self.per_byte + other.per_byte,
            root: self.root + other.root,
        }
    }
}

impl Mul<f64> for Line {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self { fixed: self.fixed * factor, per_byte: self.per_byte * factor, root: self.root * factor }
    }
}

/// Time of one message.
///
/// `T = a + m / b` (Hockney 1994).
///
/// | symbol | argument | unit |
/// | --- | --- | --- |
/// | a | `latency` | s, software and hops together |
/// | m | the message | B |
/// | b | `rate` | B/s, one direction |
///
/// 1 MB, 5 us, 25 GB/s: 5e-6 + 1e6 / 25e9 = 45 us.
/// ```
/// # use dielet_core::collective::formula::transfer;
/// # use dielet_core::units::{Bytes, BytesPerSecond, Seconds};
/// let time = transfer(Seconds(5e-6), BytesPerSecond(25e9)).at(Bytes(1e6));
/// assert!((time.value() - 45e-6).abs() < 1e-12);
/// ```
pub fn transfer(latency: Seconds, rate: BytesPerSecond) -> Line {
    Line::latency(latency) + Line::wire(1.0, rate)
}

/// Time of a ring pass among `n` ranks.
///
/// `T = A + (n - 1)/n m / b`: in each of `n - 1` steps every rank sends `m / n` to the next.
///
/// | symbol | argument | unit |
/// | --- | --- | --- |
/// | n | `ranks` | count |
/// | m | the message | B: all shards together |
/// | A | `around` | s: latencies of the `n - 1` steps that a shard takes, one after the other |
/// | b | `rate` | B/s: of the slowest link of the ring, or the sum over link-disjoint rings |
///
/// Assumes one flow per link and direction, which link-disjoint rings give. Optimal in bandwidth: no rank can send
/// less. Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, JPDC 2009.
///
/// 8 ranks, 1 GB, 7 us, 100 GB/s: 7e-6 + 7/8 1e9 / 1e11 = 8.757 ms.
/// ```
/// # use dielet_core::collective::formula::ring_pass;
/// # use dielet_core::units::{Bytes, BytesPerSecond, Seconds};
/// let time = ring_pass(8, Seconds(7e-6), BytesPerSecond(1e11)).at(Bytes(1e9));
/// assert!((time.value() - 8.757e-3).abs() < 1e-12);
/// ```
pub fn ring_pass(ranks: u64, around: Seconds, rate: BytesPerSecond) -> Line {
    Line::latency(around) + Line::wire(others(ranks), rate)
}

/// Time of a pass in `s` steps that puts `v` messages' worth on the busiest link.
///
/// `T = s a + v m / b`: dimension by dimension of a mesh or torus, or (`s = 1`, `v = 1/n`) directly over a link to
/// every peer.
///
/// | symbol | argument | unit |
/// | --- | --- | --- |
/// | s | `steps` | count |
/// | a | `step` | s |
/// | v | `volume` | messages |
/// | m | the message | B: all shards together |
/// | b | `rate` | B/s, of one link |
///
/// Source: Chan, Heimlich, Purkayastha and van de Geijn, Collective communication: theory, practice, and experience,
/// 2007, section 7 (meshes by dimension).
///
/// 4 fully joined ranks, 1 MB, 2 us, 50 GB/s: 2e-6 + 1e6 / (4 50e9) = 7 us.
/// ```
/// # use dielet_core::collective::formula::stepped_pass;
/// # use dielet_core::units::{Bytes, BytesPerSecond, Seconds};
/// let time = stepped_pass(1.0, 0.25, Seconds(2e-6), BytesPerSecond(50e9)).at(Bytes(1e6));
/// assert!((time.value() - 7e-6).abs() < 1e-12);
/// ```
pub fn stepped_pass(steps: f64, volume: f64, step: Seconds, rate: BytesPerSecond) -> Line {
    Line::latency(step * steps) + Line::wire(volume, rate)
}

/// Time of a stream through a pipeline of stages, cut into the best number of pieces.
///
/// `T = L + V + 2 sqrt((L - a) V)`: `c` pieces take `L + (c - 1) a + V + (d - 1) V / c` with `d = L / a`, least at
/// `c = sqrt((d - 1) V / a)`, rounded against us.
///
/// | symbol | argument | unit |
/// | --- | --- | --- |
/// | L | `depth` | s: latencies from the first to the last stage |
/// | a | `step` | s: the longest of them |
/// | V | `share` of the message over `rate` | s: the whole stream over one stage's link |
///
/// Assumes stages of equal rate. Source: Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast,
/// reduction and scan, Parallel Computing 2009, section 2.
///
/// 5 stages of 4 us, 1 MB at 1 GB/s: 20e-6 + 1e-3 + 2 sqrt(16e-6 1e-3) = 1.273 ms.
/// ```
/// # use dielet_core::collective::formula::pipelined;
/// # use dielet_core::units::{Bytes, BytesPerSecond, Seconds};
/// let time = pipelined(Seconds(20e-6), Seconds(4e-6), 1.0, BytesPerSecond(1e9)).at(Bytes(1e6));
/// assert!((time.value() - 1.27298e-3).abs() < 1e-8);
/// ```
pub fn pipelined(depth: Seconds, step: Seconds, share: f64, rate: BytesPerSecond) -> Line {
    let filling = (depth - step).max(Seconds::ZERO);
    let stream = Line::wire(share, rate);
    let root = 2.0 * (filling.value() * stream.per_byte).sqrt();
    Line { fixed: depth, root, ..stream }
}

/// Time of a reduction by the switch, which multicasts the sum.
///
/// `T = 2 a + m / b`: every rank sends its message once and receives the sum, both directions at once.
///
/// | symbol | argument | unit |
/// | --- | --- | --- |
/// | a | `step` | s: up to the switch, or down |
/// | m | the message | B, per rank |
/// | b | `rate` | B/s of a rank's port, as the library reaches it |
///
/// Source: Klenk, Jiang, Thorson and Dennison, An in-network architecture for accelerating shared-memory multiprocessor
/// collectives, ISCA 2020.
///
/// 1 GB, 3 us, 270 GB/s: 6e-6 + 1e9 / 270e9 = 3.7097 ms.
/// ```
/// # use dielet_core::collective::formula::in_switch;
/// # use dielet_core::units::{Bytes, BytesPerSecond, Seconds};
/// let time = in_switch(Seconds(3e-6), BytesPerSecond(270e9)).at(Bytes(1e9));
/// assert!((time.value() - 3.70970e-3).abs() < 1e-8);
/// ```
pub fn in_switch(step: Seconds, rate: BytesPerSecond) -> Line {
    Line::latency(step * 2.0) + Line::wire(1.0, rate)
}

/// Share of a message that belongs to others: `(n - 1)/n`.
pub fn others(ranks: u64) -> f64 {
    (ranks - 1) as f64 / ranks as f64
}
