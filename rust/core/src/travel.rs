//! What travels among the ranks of a plan, how long it takes, and the energy of the links.

use std::ops::{Add, AddAssign, Mul};

use crate::collective::{Operation, collective};
use crate::plan::{Plan, Ranks};
use crate::system::System;
use crate::units::{Bytes, Joules, Seconds};

/// Time of a collective, and the energy of the links per rank.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Travel {
    /// Time.
    pub seconds: Seconds,
    /// Energy per rank.
    pub energy: Joules,
}

impl Add for Travel {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { seconds: self.seconds + other.seconds, energy: self.energy + other.energy }
    }
}

impl AddAssign for Travel {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<f64> for Travel {
    type Output = Self;
    fn mul(self, times: f64) -> Self {
        Self { seconds: self.seconds * times, energy: self.energy * times }
    }
}

/// A collective over `ranks`, while every other group of the plan does the same.
///
/// One rank costs nothing. The plan has been checked against the system's capacity, so its groups exist; one that
/// does not is never reached (infinite time).
pub fn travel(system: &System, plan: &Plan, ranks: Ranks, operation: Operation, bytes: Bytes) -> Travel {
    if ranks.size < 2 || bytes <= Bytes::ZERO {
        return Travel::default();
    }
    let never = Travel { seconds: Seconds(f64::INFINITY), energy: Joules::ZERO };
    let group = system.fabric.group(plan.devices(), ranks.size, ranks.stride);
    group.map_or(never, |group| {
        let whole = collective(&group, operation, bytes);
        Travel { seconds: whole.seconds, energy: whole.energy / ranks.size as f64 }
    })
}
