//! Reduction of gradients among data-parallel ranks, in buckets behind the backward pass.

use crate::collective::Operation;
use crate::compute::stream_time;
use crate::fabric::Group;
use crate::parameters::Parameters;
use crate::plan::Plan;
use crate::segment::SegmentCost;
use crate::stage::StageCost;
use crate::system::System;
use crate::travel::{Groups, Travel, travel};
use crate::units::{Bytes, Joules, Seconds};

/// Gradients are reduced in buckets of at least this size (the default of PyTorch's `DistributedDataParallel`).
pub const BUCKET: Bytes = Bytes(25.0 * 1024.0 * 1024.0);

/// `count` equal buckets that become ready one `window` after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Gradients in one bucket.
    pub parameters: Parameters,
    /// Backward time between one and the next.
    pub window: Seconds,
    /// How many.
    pub count: u64,
}

/// The buckets of a stage in the order in which the last backward pass fills them.
pub fn buckets(plan: &Plan, chunks: &[&StageCost], costs: &[SegmentCost]) -> Vec<Bucket> {
    let limit = BUCKET / plan.precision.bytes().gradient;
    let mut done: Vec<Bucket> = Vec::new();
    let mut open = Bucket { parameters: Parameters::default(), window: Seconds::ZERO, count: 1 };
    let runs = chunks.iter().rev().flat_map(|chunk| chunk.runs.iter().rev());
    for run in runs {
        let cost = &costs[run.segment];
        let (parameters, window) = (cost.parameters, cost.backward.total() + cost.again.total());
        let mut left = run.count;
        while left > 0 {
            // Whole instances until the open bucket is full; then as many equal buckets as the run still fills.
            let missing = limit.value() - (open.parameters.dense + open.parameters.expert);
            let each = parameters.dense + parameters.expert;
            let take =
                if each > 0.0 { (missing / each).ceil().max(1.0).min(left as f64) } else { left as f64 };
            open.parameters += parameters.scaled(take);
            open.window += window * take;
            left -= take as u64;
            if open.parameters.dense + open.parameters.expert >= limit.value() {
                push(&mut done, open);
                open = Bucket { parameters: Parameters::default(), window: Seconds::ZERO, count: 1 };
            }
        }
    }
    let copied: f64 = chunks.iter().map(|chunk| chunk.copied).sum();
    open.parameters.dense += copied;
    push(&mut done, open);
    done
}

fn push(done: &mut Vec<Bucket>, bucket: Bucket) {
    match done.last_mut() {
        Some(last) if last.parameters == bucket.parameters && last.window == bucket.window => last.count += 1,
        _ => done.push(bucket),
    }
}

/// Reduces one bucket: an all-reduce of dense gradients (a reduce-scatter where they stay sharded), the same
/// among fewer ranks for experts, and an all-gather of the rows of sparse ones that any rank touched (at most the
/// table).
pub fn reduce(plan: &Plan, groups: &Groups, parameters: &Parameters) -> Travel {
    let operation = if plan.sharding == 0 { Operation::AllReduce } else { Operation::ReduceScatter };
    let bytes = plan.precision.bytes().gradient;
    let touched = parameters.sparse.min(parameters.touched * plan.micro_batches() as f64);
    let all_touched = parameters.sparse.min(touched * plan.data_ranks().size as f64);
    let over = |group: &Option<Box<Group>>, operation, elements: f64| {
        travel(group.as_deref(), operation, Bytes(elements * bytes))
    };
    over(&groups.data, operation, parameters.dense)
        + over(&groups.expert_data, operation, parameters.expert)
        + over(&groups.data, Operation::AllGather, all_touched)
}

/// What of the reductions sticks out behind the backward pass that fills the buckets.
///
/// One reduction runs at a time. With buckets ready at `r_j` and service `c_j` the last ends at
/// `max over j of (r_j + sum of c from j on)`; within equal buckets only the first and the last can be the maximum,
/// since `r_j + (n - j + 1) c` is linear in j.
pub fn exposed(plan: &Plan, groups: &Groups, buckets: &[Bucket]) -> Travel {
    let (mut ready, mut end, mut energy) = (Seconds::ZERO, Seconds::ZERO, Joules::ZERO);
    for bucket in buckets {
        let reduction = reduce(plan, groups, &bucket.parameters);
        let service = reduction.seconds;
        energy += reduction.energy * bucket.count as f64;
        let n = bucket.count as f64;
        let (first, last) = (ready + bucket.window, ready + bucket.window * n);
        end = (end + service * n).max(first + service * n).max(last + service);
        ready = last;
    }
    Travel { seconds: (end - ready).max(Seconds::ZERO), energy }
}

/// Reduction after the whole backward pass in one piece, with a copy into and out of a flat buffer.
pub fn behind(system: &System, plan: &Plan, groups: &Groups, parameters: &Parameters) -> Travel {
    let flat = Bytes(parameters.dense * plan.precision.bytes().gradient);
    let copies = if plan.data_ranks().size > 1 && flat > Bytes::ZERO {
        stream_time(&system.device, flat * 4.0)
    } else {
        Seconds::ZERO
    };
    let reduction = reduce(plan, groups, parameters);
    Travel { seconds: reduction.seconds + copies, ..reduction }
}

/// All-gather of the weights that data-parallel ranks hold in shares.
pub fn gather_weights(plan: &Plan, groups: &Groups, parameters: &Parameters) -> Travel {
    let bytes = plan.precision.bytes().weight;
    let over = |group: &Option<Box<Group>>, elements: f64| {
        travel(group.as_deref(), Operation::AllGather, Bytes(elements * bytes))
    };
    over(&groups.data, parameters.dense + parameters.sparse) + over(&groups.expert_data, parameters.expert)
}
