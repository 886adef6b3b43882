//! Bytes on a device, by term.

use serde::Serialize;

use crate::graph::Optimizer;
use crate::parameters::Parameters;
use crate::plan::Plan;

use crate::units::Bytes;
use crate::worker::Content;

/// What a device of a stage holds at the peak.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StageMemory {
    /// Weights.
    pub weights: Bytes,
    /// Gradients.
    pub gradients: Bytes,
    /// Master weights and optimizer state.
    pub optimizer: Bytes,
    /// Kept for the backward passes of the micro-batches in flight.
    pub activations: Bytes,
    /// Of the segment that is being computed again.
    pub transient: Bytes,
}

impl StageMemory {
    /// The sum.
    pub fn total(&self) -> Bytes {
        let Self { weights, gradients, optimizer, activations, transient } = *self;
        weights + gradients + optimizer + activations + transient
    }
}

/// Memory of one device of a worker that keeps so many activations.
///
/// Weights, gradients, and master weights with state are divided over the data-parallel ranks from sharding stage
/// 3, 2 and 1 on (Rajbhandari et al., ZeRO, SC 2020, section 5). Gradients of looked-up tables hold the touched rows
/// of all micro-batches.
pub fn stage_memory(plan: &Plan, optimizer: Optimizer, content: &Content, kept: Bytes) -> StageMemory {
    let bytes = plan.precision.bytes();
    let share = |from: u8, ranks: u64| if plan.sharding >= from { ranks as f64 } else { 1.0 };
    let Parameters { dense, expert, sparse, touched, .. } = content.parameters;
    let (data, expert_data) = (plan.data_ranks().size, plan.expert_data_ranks().size);
    let held = |from: u8, dense: f64| dense / share(from, data) + expert / share(from, expert_data);
    let rows = sparse.min(touched * plan.micro_batches() as f64);
    StageMemory {
        weights: Bytes(held(3, dense + sparse) * bytes.weight),
        gradients: Bytes(held(2, dense + rows) * bytes.gradient),
        optimizer: Bytes(held(1, dense + sparse) * (bytes.master + bytes.state * optimizer.states())),
        activations: kept,
        transient: content.transient,
    }
}
