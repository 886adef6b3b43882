//! What every partition search takes for granted and gives back: checks, numbering, stages with their proof.

use super::dag::{Dag, topological_rank};
use crate::proof::{Proof, Stop};
use serde::Serialize;

/// What a stage runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An accelerator.
    Accelerator,
    /// A CPU.
    Cpu,
}

/// One stage of an answer.
#[derive(Clone, Debug, Serialize)]
pub struct StageReport {
    /// Positions of its ops in the graph, ascending.
    pub ops: Vec<u32>,
    /// What runs it.
    pub kind: Kind,
    /// Data-parallel replicas.
    pub replicas: u32,
    /// Tensor degree of each replica.
    pub tensor: u32,
    /// Its cost, in the convention's unit.
    pub load: f64,
    /// Bytes a device of it holds.
    pub memory_bytes: f64,
}

/// Stages in pipeline order, and the certificate.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Stages; none if no partition fits.
    pub stages: Vec<StageReport>,
    /// Value, bound, counts.
    pub proof: Proof,
    /// Relative distance of value and bound.
    pub gap: f64,
    /// Blocks after contraction.
    pub blocks: usize,
    /// Why there is no partition, with the two numbers that clash.
    pub reason: Option<String>,
}

impl Answer {
    pub(super) fn new(
        stages: Vec<StageReport>,
        proof: Proof,
        blocks: usize,
        reason: impl FnOnce() -> String,
    ) -> Self {
        let reason = (stages.is_empty() && proof.stop == Stop::Optimal).then(reason);
        Self { gap: proof.gap(), stages, proof, blocks, reason }
    }
}

/// What is wrong with a partition problem.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum PartitionError {
    /// A machine without devices.
    #[error("a partition needs a device, but the machine has none; give --devices or --cpus")]
    NoDevice,
    /// An edge to an op that does not exist.
    #[error("edge {edge:?} names an op that is not among the {ops} ops")]
    Edge {
        /// The edge.
        edge: (u32, u32),
        /// Number of ops.
        ops: usize,
    },
    /// Edges that lead back to where they started.
    #[error("the graph has a cycle through op {op}; a pipeline needs an acyclic graph")]
    Cycle {
        /// An op on a cycle or behind it.
        op: usize,
    },
    /// A number that is negative or not finite.
    #[error("op {op} has {what} {value}; it must be a finite number of at least 0")]
    Number {
        /// The op.
        op: usize,
        /// Which number.
        what: &'static str,
        /// What it is.
        value: f64,
    },
    /// An op with no mode, or with more than the kept and the recomputed one.
    #[error("op {op} has {modes} modes at one tensor degree; it must have one or two")]
    Modes {
        /// The op.
        op: usize,
        /// How many.
        modes: usize,
    },
    /// More ops than the search is written for.
    #[error("the graph has {ops} ops, and partition takes at most {}; contract it first", MOST_OPS)]
    TooLarge {
        /// Number of ops.
        ops: usize,
    },
}

/// Most ops of a graph: one stage may hold them all, and the search recurses once an op.
pub const MOST_OPS: usize = 16_384;

/// A topological numbering of ops and the way back.
pub(super) struct Order {
    pub(super) new: Vec<u32>,
    pub(super) old: Vec<u32>,
}

impl Order {
    pub(super) fn dag(&self, edges: &[(u32, u32)]) -> Dag {
        Dag::new(self.old.len(), edges.iter().map(|&(a, b)| (self.new[a as usize], self.new[b as usize])))
    }

    pub(super) fn old_of(&self, blocks: &[usize]) -> Vec<u32> {
        let mut ops: Vec<u32> = blocks.iter().map(|&v| self.old[v]).collect();
        ops.sort_unstable();
        ops
    }
}

pub(super) fn topological_order(ops: usize, edges: &[(u32, u32)]) -> Result<Order, PartitionError> {
    let mut successors = vec![Vec::new(); ops];
    for &(a, b) in edges {
        successors[a as usize].push(b);
    }
    let new = topological_rank(&(0..ops as u32).collect(), &successors);
    if let Some(&(op, _)) = edges.iter().find(|&&(a, b)| new[a as usize] >= new[b as usize]) {
        return Err(PartitionError::Cycle { op: op as usize });
    }
    let mut old = vec![0; ops];
    for (at, &rank) in new.iter().enumerate() {
        old[rank as usize] = at as u32;
    }
    Ok(Order { new, old })
}

pub(super) fn check_edges(ops: usize, edges: &[(u32, u32)]) -> Result<(), PartitionError> {
    if ops > MOST_OPS {
        return Err(PartitionError::TooLarge { ops });
    }
    match edges.iter().find(|(a, b)| *a as usize >= ops || *b as usize >= ops) {
        Some(&edge) => Err(PartitionError::Edge { edge, ops }),
        None => Ok(()),
    }
}

pub(super) fn check_numbers(op: usize, numbers: &[(&'static str, f64)]) -> Result<(), PartitionError> {
    match numbers.iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0)) {
        Some(&(what, value)) => Err(PartitionError::Number { op, what, value }),
        None => Ok(()),
    }
}
