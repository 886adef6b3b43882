//! The space: every way to run a worker of M devices.

use serde::Serialize;

use dielet_core::graph::{Model, TensorRule, Work};
use dielet_core::plan::{Mapping, Plan, Recompute, Schedule};

use super::Request;

/// What splits a worker, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Nothing: one device.
    Data,
    /// Axes of ops.
    Tensor,
    /// The chain of segments.
    Pipeline,
    /// The chain of segments, with the sequence in pieces.
    Wavefront,
    /// Both axes and chain.
    TensorPipeline,
    /// Single ops are placed.
    Placement,
}

impl Kind {
    /// Of a plan.
    pub fn of(plan: &Plan) -> Self {
        match (plan.placed > 1, plan.tp > 1, plan.pp > 1, plan.time_chunks > 1) {
            (true, ..) => Self::Placement,
            (_, true, true, _) => Self::TensorPipeline,
            (_, true, false, _) => Self::Tensor,
            (_, false, true, true) => Self::Wavefront,
            (_, false, true, false) => Self::Pipeline,
            (_, false, false, _) => Self::Data,
        }
    }
}

/// Plans of one worker (`dp` 1, `batch` the worker's) of `mp` devices, in the order that breaks ties.
pub fn candidates(model: &Model, request: &Request, mp: u64) -> Vec<Plan> {
    let base = base(model, request);
    let mut space = Vec::new();
    for tp in divisors(mp).filter(|&tp| allowed(&request.tp, tp) && (tp == 1 || splits(model))) {
        let pp = mp / tp;
        if allowed(&request.pp, pp) {
            space.extend(split(model, &Plan { tp, pp, ..base }));
        }
    }
    if mp > 1
        && request.tp.is_empty()
        && request.pp.is_empty()
        && model.segments.iter().all(|s| s.repeat == 1)
    {
        space.push(Plan { placed: mp, ..base });
    }
    space
}

fn base(model: &Model, request: &Request) -> Plan {
    Plan {
        micro_batch: request.worker_batch,
        batch: request.worker_batch,
        sequence: request.sequence,
        dense_gradients: request.dense_gradients,
        ..Plan::serial(model, request.precision)
    }
}

fn allowed(listed: &[u64], degree: u64) -> bool {
    listed.is_empty() || listed.contains(&degree)
}

/// Micro-batches, mappings, pieces and sequence parallelism of a tensor x pipeline split.
fn split(model: &Model, plan: &Plan) -> Vec<Plan> {
    let mut space = Vec::new();
    for micro_batch in divisors(plan.batch).collect::<Vec<_>>().into_iter().rev() {
        let plan = Plan { micro_batch, ..*plan };
        let mappings = if plan.pp > 1 {
            &[Mapping::WorkerInside, Mapping::DataInside][..]
        } else {
            &[Mapping::DataInside]
        };
        for &mapping in mappings {
            space.push(Plan { mapping, ..plan });
            if plan.tp > 1 && model.sequence > 0 {
                space.push(Plan { mapping, sequence_parallel: true, ..plan });
            }
            let chunks = if plan.pp > 1 && model.steps_in_time() {
                divisors(plan.sequence).collect()
            } else {
                Vec::new()
            };
            for time_chunks in chunks.into_iter().filter(|&chunks| chunks > 1) {
                space.push(Plan { mapping, time_chunks, schedule: Schedule::Gpipe, ..plan });
            }
        }
    }
    space
}

/// Less memory for more time: computing again, sharding over the data-parallel ranks, and both.
pub fn relaxations(plan: &Plan) -> impl Iterator<Item = Plan> {
    let plan = *plan;
    let most = if plan.dp > 1 { 3 } else { 0 };
    let modes = [Recompute::None, Recompute::Selective, Recompute::Full];
    let all =
        modes.into_iter().flat_map(move |recompute| (0..=most).map(move |sharding| (recompute, sharding)));
    all.filter(|&choice| choice != (Recompute::None, 0)).map(move |(recompute, sharding)| Plan {
        recompute,
        sharding,
        ..plan
    })
}

fn splits(model: &Model) -> bool {
    let measured = model.ops.iter().any(|op| matches!(op.work, Work::Measured { .. }));
    !measured && model.ops.iter().any(|op| matches!(op.tensor, TensorRule::Split(_)))
}

fn divisors(n: u64) -> impl Iterator<Item = u64> {
    (1..=n).filter(move |d| n.is_multiple_of(*d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_are_all() {
        assert_eq!(divisors(12).collect::<Vec<_>>(), [1, 2, 3, 4, 6, 12]);
    }
}
