//! What travels among the ranks of a plan, how long it takes, and the energy of the links.

use std::ops::{Add, AddAssign, Mul};

use crate::collective::{Operation, collective};
use crate::fabric::Group;
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

/// The groups of a plan, each with what it gets of the fabric while all like it communicate at once; none where a
/// single rank has nobody to talk to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Groups {
    /// Tensor-parallel ranks.
    pub tensor: Option<Box<Group>>,
    /// Context-parallel ranks.
    pub context: Option<Box<Group>>,
    /// Expert-parallel ranks.
    pub expert: Option<Box<Group>>,
    /// Stages of a pipeline.
    pub pipeline: Option<Box<Group>>,
    /// Devices over which a worker's ops are placed.
    pub placed: Option<Box<Group>>,
    /// Ranks that hold the same weights.
    pub data: Option<Box<Group>>,
    /// Ranks that hold the same experts.
    pub expert_data: Option<Box<Group>>,
    /// First and last stage, which may hold copies of a tied table.
    pub tied: Option<Box<Group>>,
}

impl Groups {
    /// Of a plan that has been checked against the system's capacity, so that its groups exist.
    pub fn new(system: &System, plan: &Plan) -> Self {
        let group = |ranks: Ranks| {
            let placed = || system.fabric.group(plan.devices(), ranks.size, ranks.stride).ok().map(Box::new);
            if ranks.size > 1 { placed() } else { None }
        };
        Self {
            tensor: group(plan.tensor_ranks()),
            context: group(plan.context_ranks()),
            expert: group(plan.expert_ranks()),
            pipeline: group(plan.pipeline_ranks()),
            placed: group(plan.placed_ranks()),
            data: group(plan.data_ranks()),
            expert_data: group(plan.expert_data_ranks()),
            tied: group(plan.tied_ranks()),
        }
    }
}

/// A collective over a group, while every other group like it does the same. One rank costs nothing.
pub fn travel(group: Option<&Group>, operation: Operation, bytes: Bytes) -> Travel {
    let Some(group) = group.filter(|_| bytes > Bytes::ZERO) else { return Travel::default() };
    let whole = collective(group, operation, bytes);
    Travel { seconds: whole.seconds, energy: whole.energy / group.ranks() as f64 }
}
