//! Bytes on a device, by term.

use serde::Serialize;

use crate::graph::Optimizer;
use crate::pipeline::in_flight;
use crate::plan::Plan;
use crate::stage::StageCost;
use crate::units::Bytes;

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

/// Memory of physical stage `stage`, whose chunks are `chunks`.
///
/// Weights, gradients, and master weights with state are divided over the data-parallel ranks from sharding stage
/// 3, 2 and 1 on (Rajbhandari et al., ZeRO, SC 2020, section 5). Gradients of looked-up tables hold the touched rows
/// of all micro-batches. Activations follow [`in_flight`].
pub fn stage_memory(plan: &Plan, optimizer: Optimizer, stage: u64, chunks: &[&StageCost]) -> StageMemory {
    let bytes = plan.precision.bytes();
    let share = |from: u8, ranks: u64| if plan.sharding >= from { ranks as f64 } else { 1.0 };
    let sum = |of: &dyn Fn(&StageCost) -> f64| chunks.iter().map(|chunk| of(chunk)).sum::<f64>();
    let dense = sum(&|chunk| chunk.parameters.dense + chunk.parameters.sparse);
    let expert = sum(&|chunk| chunk.parameters.expert);
    let (data, expert_data) = (plan.data_ranks().size, plan.expert_data_ranks().size);
    let held = |from: u8| dense / share(from, data) + expert / share(from, expert_data);
    let touched = sum(&|chunk| chunk.parameters.sparse.min(chunk.parameters.touched * plan.micro_batches() as f64));
    let sparse = sum(&|chunk| chunk.parameters.sparse);
    let kept = in_flight(plan.schedule, stage, plan.pp, plan.virtual_stages, plan.micro_batches()) as f64;
    let saved = sum(&|chunk| chunk.saved.value()) / chunks.len() as f64;
    let transient = chunks.iter().map(|chunk| chunk.transient).fold(Bytes::ZERO, Bytes::max);
    StageMemory {
        weights: Bytes(held(3) * bytes.weight),
        gradients: Bytes((held(2) - (sparse - touched) / share(2, data)) * bytes.gradient),
        optimizer: Bytes(held(1) * (bytes.master + bytes.state * optimizer.states())),
        activations: Bytes(kept * saved),
        transient,
    }
}
