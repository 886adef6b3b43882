//! The price of a training step: (model, system, plan) to a verdict.
//!
//! It factors: costs of segments depend on the sharding and the micro-batch only ([`segment::costs`]); stages and
//! their timeline on those, the cut and the micro-batches ([`Pipelined`]); reductions, update and sharding are closed
//! forms over them ([`assemble`]). Searches keep the first two in tables.

use crate::device::Rate;
use crate::graph::Model;
use crate::memory::{StageMemory, stage_memory};
use crate::pipeline::{StageTime, run};
use crate::plan::Plan;
use crate::reduction::{Bucket, behind, buckets, exposed, gather_weights, reduce_time};
use crate::segment::{self, Parameters, PassTime, SegmentCost};
use crate::stage::{StageCost, stages};
use crate::straggler;
use crate::system::System;
use crate::term::Terms;
use crate::units::{Bytes, Flops, Seconds};
use crate::update::update_bytes;
use crate::verdict::{Infeasible, Reason};
use crate::{collective, compute::stream_time};

/// A feasible plan's step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step<T> {
    /// Where the time goes, on the stage that ends last.
    pub time: T,
    /// Memory of each physical stage.
    pub memory: Vec<StageMemory>,
    /// Work of forward and backward pass of all devices, without what is computed again.
    pub model_flops: Flops,
    /// The same with what is computed again.
    pub hardware_flops: Flops,
    /// Memory traffic of all devices.
    pub traffic: Bytes,
}

/// A rank of a pipeline stage as the reductions see it.
#[derive(Debug, Clone, PartialEq)]
struct Rank {
    parameters: Parameters,
    buckets: Vec<Bucket>,
    forward: PassTime,
    backward: PassTime,
    again: PassTime,
    busy: Seconds,
    /// Without transfers.
    free_end: Seconds,
    end: Seconds,
}

/// The part of a plan's price that does not depend on the data-parallel degree.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipelined {
    stages: Vec<StageCost>,
    ranks: Vec<Rank>,
    /// Of the ranks with equal content, the one that ends last.
    critical: Vec<usize>,
    copied: f64,
    flops: Flops,
    again_flops: Flops,
    traffic: Bytes,
}

impl Pipelined {
    /// Cuts the chain, runs the schedule, and gathers what the closed forms need.
    pub fn new(model: &Model, system: &System, plan: &Plan, costs: &[SegmentCost]) -> Self {
        let stages = stages(model, system, plan, costs);
        let (pp, m) = (plan.pp as usize, plan.micro_batches() as usize);
        // A wavefront runs the pieces of a sequence like micro-batches.
        let passes = m * plan.time_chunks as usize;
        let times: Vec<StageTime> = stages.iter().map(StageCost::time).collect();
        let free: Vec<StageTime> = times.iter().map(|time| StageTime { send: Seconds::ZERO, ..*time }).collect();
        let timeline = run(&times, pp, passes, plan.schedule);
        let ideal = run(&free, pp, passes, plan.schedule);
        let rank = |rank: usize| {
            let chunks: Vec<&StageCost> = stages.iter().skip(rank).step_by(pp).collect();
            let mut sum = Rank {
                parameters: Parameters::default(),
                buckets: buckets(plan, &chunks, costs),
                forward: PassTime::default(),
                backward: PassTime::default(),
                again: PassTime::default(),
                busy: timeline.busy[rank],
                free_end: ideal.end[rank],
                end: timeline.end[rank],
            };
            for chunk in chunks {
                sum.parameters += chunk.parameters;
                sum.forward += chunk.forward.scaled(passes as f64);
                sum.backward += chunk.backward.scaled(passes as f64);
                sum.again += chunk.again.scaled(passes as f64);
            }
            sum
        };
        let ranks: Vec<Rank> = (0..pp).map(rank).collect();
        let total = |of: fn(&StageCost) -> f64| stages.iter().map(of).sum::<f64>() * passes as f64;
        Self {
            critical: critical(&ranks),
            copied: stages.iter().map(|stage| stage.copied).sum(),
            flops: Flops(total(|stage| stage.flops.value())),
            again_flops: Flops(total(|stage| stage.again_flops.value())),
            traffic: Bytes(total(|stage| stage.traffic.value())),
            ranks,
            stages,
        }
    }

    fn memory(&self, model: &Model, plan: &Plan) -> Vec<StageMemory> {
        let pp = plan.pp as usize;
        let chunks = |stage: usize| self.stages.iter().skip(stage).step_by(pp).collect::<Vec<_>>();
        (0..pp).map(|stage| stage_memory(plan, model.optimizer, stage as u64, &chunks(stage))).collect()
    }
}

/// Ranks with the same content differ only in when they end: the latest of each kind decides.
fn critical(ranks: &[Rank]) -> Vec<usize> {
    let same = |a: &Rank, b: &Rank| a.buckets == b.buckets && a.busy == b.busy && a.parameters == b.parameters;
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

/// The rate at which the system's device multiplies in the plan's precision, once the plan fits the model and system.
pub fn check<'a>(model: &Model, system: &'a System, plan: &Plan) -> Result<&'a Rate, Infeasible> {
    plan.check(model)?;
    if let Some(most) = system.fabric.devices().filter(|most| plan.devices() > *most) {
        let nearest = format!("dp {}", (most / plan.mp()).max(1));
        return Err(Infeasible::new(Reason::Devices, plan.devices() as f64, most as f64, nearest));
    }
    let number = plan.precision.number();
    system.device.rate(number).ok_or_else(|| {
        Infeasible::new(Reason::Precision, 1.0, 0.0, "a precision that the device lists".to_owned())
    })
}

/// The price of a plan, or why it cannot run.
pub fn price<T: Terms>(model: &Model, system: &System, plan: &Plan) -> Result<Step<T>, Infeasible> {
    let rate = check(model, system, plan)?;
    let costs = segment::costs(model, system, rate, plan);
    let pipelined = Pipelined::new(model, system, plan, &costs);
    assemble(model, system, plan, &pipelined)
}

/// The closed forms over a pipelined plan.
pub fn assemble<T: Terms>(
    model: &Model,
    system: &System,
    plan: &Plan,
    pipelined: &Pipelined,
) -> Result<Step<T>, Infeasible> {
    let memory = pipelined.memory(model, plan);
    fits(&memory, system)?;
    let workers = plan.dp as f64;
    let forward_backward = Flops(3.0 * pipelined.flops.value() * workers * (plan.tp * plan.cp) as f64);
    let again = Flops(pipelined.again_flops.value() * workers * (plan.tp * plan.cp) as f64);
    let ends = pipelined.critical.iter().map(|&rank| {
        let end = pipelined.ranks[rank].end + rank_tail::<Seconds>(model, system, plan, pipelined, rank).seconds();
        (end, rank)
    });
    let (_, last) = ends.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((Seconds::ZERO, 0));
    Ok(Step {
        time: rank_time(model, system, plan, pipelined, last),
        memory,
        model_flops: forward_backward,
        hardware_flops: Flops(forward_backward.value() + again.value()),
        traffic: pipelined.traffic * workers * (plan.tp * plan.cp) as f64,
    })
}

fn fits(memory: &[StageMemory], system: &System) -> Result<(), Infeasible> {
    let has = system.device.memory.value;
    let needs = memory.iter().map(StageMemory::total).fold(Bytes::ZERO, Bytes::max);
    if needs <= has {
        return Ok(());
    }
    let nearest = format!("a device with {:.1} GiB, or more sharding, stages or recomputation", needs.value() / GIB);
    Err(Infeasible::new(Reason::Memory, needs.value(), has.value(), nearest))
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// All terms of the rank that ends last.
fn rank_time<T: Terms>(model: &Model, system: &System, plan: &Plan, pipelined: &Pipelined, rank: usize) -> T {
    let it = &pipelined.ranks[rank];
    let passes = |name, part: fn(&PassTime) -> Seconds| {
        T::node(
            name,
            [
                T::leaf("forward", part(&it.forward)),
                T::leaf("backward", part(&it.backward)),
                T::leaf("recompute", part(&it.again)),
            ],
        )
    };
    T::node(
        "step",
        [
            passes("compute", |pass| pass.compute),
            passes("tensor parallel", |pass| pass.tensor),
            passes("context parallel", |pass| pass.context),
            passes("expert parallel", |pass| pass.expert),
            T::leaf("bubble", (it.free_end - it.busy).max(Seconds::ZERO)),
            T::leaf("stage transfers", (it.end - it.free_end).max(Seconds::ZERO)),
            rank_tail(model, system, plan, pipelined, rank),
        ],
    )
}

/// What follows the last pass of a rank.
fn rank_tail<T: Terms>(model: &Model, system: &System, plan: &Plan, pipelined: &Pipelined, rank: usize) -> T {
    let it = &pipelined.ranks[rank];
    let variation = straggler::wait(model.length_variation, (plan.batch / plan.dp) as f64, plan.dp);
    let update = stream_time(&system.device, update_bytes(plan, model.optimizer, &it.parameters));
    T::node(
        "data parallel and update",
        [
            T::leaf("straggler wait", it.busy * variation),
            T::leaf("gradient reduction", reduction(model, system, plan, it)),
            T::leaf("tied gradient", tied(system, plan, pipelined)),
            T::leaf("optimizer", update),
            T::leaf("weight gather", weight_gather(system, plan, it)),
        ],
    )
}

fn reduction(model: &Model, system: &System, plan: &Plan, rank: &Rank) -> Seconds {
    let last = if model.overlap { exposed(system, plan, &rank.buckets) } else { behind(system, plan, &rank.parameters) };
    if plan.sharding < 2 {
        return last;
    }
    // Sharded gradients are reduced after each micro-batch, behind its backward pass.
    let before = plan.micro_batches() - 1;
    let window = (rank.backward.total() + rank.again.total()) / plan.micro_batches() as f64;
    let each = (reduce_time(system, plan, &rank.parameters) - window).max(Seconds::ZERO);
    last + each * before as f64
}

/// First and last stage each hold a copy of a tied table and add up its gradients.
fn tied(system: &System, plan: &Plan, pipelined: &Pipelined) -> Seconds {
    if pipelined.copied == 0.0 || plan.pp == 1 {
        return Seconds::ZERO;
    }
    let stride = plan.pipeline_ranks().stride * (plan.pp - 1);
    let group = system.fabric.group(plan.devices(), 2, stride);
    let bytes = Bytes(pipelined.copied * plan.precision.bytes().gradient);
    collective::collective(&system.fabric, &group, collective::Operation::AllReduce, bytes).seconds
}

/// Weights updated in shares are gathered after the update (stages 1, 2) or before each pass, behind the pass
/// before it (stage 3).
fn weight_gather(system: &System, plan: &Plan, rank: &Rank) -> Seconds {
    if plan.sharding == 0 || plan.data_ranks().size == 1 {
        return Seconds::ZERO;
    }
    let gather = gather_weights(system, plan, &rank.parameters);
    if plan.sharding < 3 {
        return gather;
    }
    let m = plan.micro_batches() as f64;
    let beyond = |window: Seconds| (gather - window / m).max(Seconds::ZERO);
    (beyond(rank.forward.total()) + beyond(rank.backward.total() + rank.again.total())) * m
}
