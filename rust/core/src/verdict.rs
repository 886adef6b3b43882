//! Infeasible is an answer: why, the two numbers that clash, and the nearest choice that would do.

use serde::Serialize;

/// Why a plan cannot run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A degree is zero or too large to count with.
    #[error("a degree is out of range")]
    Degree,
    /// More devices than the system has.
    #[error("the plan needs more devices than there are")]
    Devices,
    /// The global batch is no multiple of workers times micro-batch.
    #[error("the batch does not divide into micro-batches")]
    Batch,
    /// More stages than segments.
    #[error("there are more pipeline stages than segments to cut")]
    Stages,
    /// The interleaved schedule needs whole rounds.
    #[error("the interleaved schedule needs micro-batches in whole rounds of stages")]
    Interleaving,
    /// The sequence cannot be cut so.
    #[error("the sequence cannot be pipelined in these pieces")]
    TimeChunks,
    /// The tensor degree does not divide an axis.
    #[error("the tensor degree does not divide an axis that it splits")]
    Tensor,
    /// The sequence cannot be split.
    #[error("the model has no sequence that devices could share")]
    Context,
    /// Placement goes with no other split of a worker.
    #[error("ops are placed one by one only where nothing else splits the worker")]
    Placed,
    /// The expert degree does not divide the experts or the ranks.
    #[error("the expert degree does not divide the experts or the ranks")]
    Experts,
    /// Measured ops cannot be sharded.
    #[error("ops with measured times cannot be sharded")]
    Measured,
    /// The device has no such number format.
    #[error("the device has no rate for this precision")]
    Precision,
    /// It does not fit in memory.
    #[error("it does not fit in the memory of a device")]
    Memory,
}

/// A plan that cannot run.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[error("{reason}: needs {needs}, has {has}; nearest: {nearest}")]
pub struct Infeasible {
    /// Why.
    pub reason: Reason,
    /// What it needs (bytes for memory, counts elsewhere).
    pub needs: f64,
    /// What there is.
    pub has: f64,
    /// The nearest choice that is feasible in this respect.
    pub nearest: String,
}

impl Infeasible {
    /// The numbers that clash.
    pub fn new(reason: Reason, needs: f64, has: f64, nearest: String) -> Self {
        Self { reason, needs, has, nearest }
    }
}
