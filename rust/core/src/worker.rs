//! The devices of one data-parallel worker: what each holds, how long it works, and when it ends.

use crate::graph::Model;
use crate::parameters::Parameters;
use crate::pass::PassTime;
use crate::pipeline::{StageTime, in_flight, run};
use crate::plan::Plan;
use crate::reduction::{Bucket, buckets};
use crate::segment::SegmentCost;
use crate::stage::{StageCost, stages};
use crate::system::System;
use crate::units::{Bytes, Flops, Joules, Seconds};

/// One device of a worker: a pipeline stage, or a device on which ops are placed.
#[derive(Debug, Clone, PartialEq)]
pub struct Rank {
    /// What it holds.
    pub parameters: Parameters,
    /// Copies of tensors that another stage owns, in parameters.
    pub copied: f64,
    /// Activations of all micro-batches in flight.
    pub kept: Bytes,
    /// Of the segment that is computed again.
    pub transient: Bytes,
    /// Gradients in the order in which the last backward pass completes them.
    pub buckets: Vec<Bucket>,
    /// All forward passes of a step.
    pub forward: PassTime,
    /// All backward passes.
    pub backward: PassTime,
    /// All that is computed again.
    pub again: PassTime,
    /// Energy of its sends to the next stage.
    pub sends: Joules,
    /// When its last pass would end if transfers took no time.
    pub free_end: Seconds,
    /// When its last pass ends.
    pub end: Seconds,
}

impl Rank {
    /// How long it works.
    pub fn busy(&self) -> Seconds {
        self.forward.total() + self.backward.total() + self.again.total()
    }
}

/// The devices of one worker: the part of a plan's price that does not depend on the data-parallel degree.
#[derive(Debug, Clone, PartialEq)]
pub struct Worker {
    /// Its devices, one of each pipeline stage.
    pub ranks: Vec<Rank>,
    /// Of the ranks with equal content, the one that ends last.
    pub critical: Vec<usize>,
    /// Work of all forward passes.
    pub flops: Flops,
    /// Work computed again.
    pub again_flops: Flops,
    /// Memory traffic.
    pub traffic: Bytes,
}

impl Worker {
    /// Cuts the chain into pipeline stages and runs the schedule.
    pub fn pipelined(model: &Model, system: &System, plan: &Plan, costs: &[SegmentCost]) -> Self {
        let stages = stages(model, system, plan, costs);
        // A wavefront runs the pieces of a sequence like micro-batches.
        let passes = plan.micro_batches() * plan.time_chunks;
        let times: Vec<StageTime> = stages.iter().map(StageCost::time).collect();
        let free: Vec<StageTime> =
            times.iter().map(|time| StageTime { send: Seconds::ZERO, ..*time }).collect();
        let ends = |times: &[StageTime]| run(times, plan.pp as usize, passes as usize, plan.schedule).end;
        let (end, free_end) = (ends(&times), ends(&free));
        let rank = |rank: usize| {
            let chunks: Vec<&StageCost> = stages.iter().skip(rank).step_by(plan.pp as usize).collect();
            Rank { end: end[rank], free_end: free_end[rank], ..stage_rank(plan, rank as u64, &chunks, costs) }
        };
        let total = |of: fn(&StageCost) -> f64| stages.iter().map(of).sum::<f64>() * passes as f64;
        let work = [total(|stage| stage.flops.value()), total(|stage| stage.again_flops.value())].map(Flops);
        let traffic = Bytes(total(|stage| stage.traffic.value()));
        Self::new((0..plan.pp as usize).map(rank).collect(), work, traffic)
    }

    /// A worker from its devices, the work of its forward passes and what is computed again, and its memory traffic.
    pub fn new(ranks: Vec<Rank>, [flops, again_flops]: [Flops; 2], traffic: Bytes) -> Self {
        Self { critical: critical(&ranks), ranks, flops, again_flops, traffic }
    }

    /// Parameters that are copies of another rank's.
    pub fn copied(&self) -> f64 {
        self.ranks.iter().map(|rank| rank.copied).sum()
    }
}

fn stage_rank(plan: &Plan, stage: u64, chunks: &[&StageCost], costs: &[SegmentCost]) -> Rank {
    let passes = (plan.micro_batches() * plan.time_chunks) as f64;
    let micro_batches = plan.micro_batches() * plan.time_chunks;
    let in_flight = in_flight(plan.schedule, stage, plan.pp, plan.virtual_stages, micro_batches) as f64;
    let saved: Bytes = chunks.iter().map(|chunk| chunk.saved).sum();
    let mut rank = Rank {
        parameters: Parameters::default(),
        copied: chunks.iter().map(|chunk| chunk.copied).sum(),
        kept: saved * (in_flight / chunks.len() as f64),
        transient: chunks.iter().map(|chunk| chunk.transient).fold(Bytes::ZERO, Bytes::max),
        buckets: buckets(plan, chunks, costs),
        forward: PassTime::default(),
        backward: PassTime::default(),
        again: PassTime::default(),
        sends: Joules::ZERO,
        free_end: Seconds::ZERO,
        end: Seconds::ZERO,
    };
    for chunk in chunks {
        rank.parameters += chunk.parameters;
        rank.forward += chunk.forward.scaled(passes);
        rank.backward += chunk.backward.scaled(passes);
        rank.again += chunk.again.scaled(passes);
        // The output forward and its gradient back.
        rank.sends += chunk.send.energy * (2.0 * passes);
    }
    rank
}

/// Ranks with the same content differ only in when they end: the latest of each kind decides.
fn critical(ranks: &[Rank]) -> Vec<usize> {
    let same =
        |a: &Rank, b: &Rank| a.buckets == b.buckets && a.busy() == b.busy() && a.parameters == b.parameters;
    let mut kinds: Vec<usize> = Vec::new();
    for (index, rank) in ranks.iter().enumerate() {
        match kinds.iter_mut().find(|kind| same(&ranks[**kind], rank)) {
            Some(kind) if rank.end > ranks[*kind].end => *kind = index,
            Some(_) => {}
            None => kinds.push(index),
        }
    }
    kinds
}
