//! The price of a training step: (model, system, plan) to a verdict.
//!
//! It factors: costs of segments depend on the sharding and the micro-batch only ([`segment::costs`]); stages and
//! their timeline on those, the cut and the micro-batches ([`Worker`]); reductions, update and sharding are closed
//! forms over them ([`assemble`]). Searches keep the first two in tables.

use crate::collective::Operation;
use crate::compute::stream_time;
use crate::device::MatrixUnit;
use crate::graph::Model;
use crate::memory::{StageMemory, stage_memory};
use crate::pass::PassTime;
use crate::plan::{Plan, Ranks};
use crate::reduction::{behind, exposed, gather_weights, reduce};
use crate::segment;
use crate::straggler;
use crate::system::System;
use crate::term::Terms;
use crate::travel::{Travel, travel};
use crate::units::{Bytes, Flops, Joules, Seconds};
use crate::update::update_bytes;
use crate::verdict::{Infeasible, Reason};
use crate::worker::{Rank, Worker};

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

/// The rate at which the system's device multiplies in the plan's precision, once the plan fits the model and system.
pub fn check(model: &Model, system: &System, plan: &Plan) -> Result<MatrixUnit, Infeasible> {
    plan.check(model)?;
    if let Some(most) = system.fabric.capacity().filter(|most| plan.devices() > *most) {
        let nearest = format!("dp {}", (most / plan.mp()).max(1));
        return Err(Infeasible::new(Reason::Devices, plan.devices() as f64, most as f64, nearest));
    }
    system.device.matrix_unit(plan.precision.number()).map_err(|_| {
        Infeasible::new(Reason::Precision, 1.0, 0.0, "a precision that the device lists".to_owned())
    })
}

/// The price of a plan, or why it cannot run.
pub fn step<T: Terms>(model: &Model, system: &System, plan: &Plan) -> Result<Step<T>, Infeasible> {
    assemble(model, system, plan, &worker(model, system, plan)?)
}

/// The worker of a plan, or why it cannot run.
pub fn worker(model: &Model, system: &System, plan: &Plan) -> Result<Worker, Infeasible> {
    let unit = check(model, system, plan)?;
    Ok(Worker::pipelined(model, system, plan, &segment::costs(model, system, &unit, plan)))
}

/// The closed forms over a worker.
pub fn assemble<T: Terms>(
    model: &Model,
    system: &System,
    plan: &Plan,
    worker: &Worker,
) -> Result<Step<T>, Infeasible> {
    let memory: Vec<StageMemory> =
        worker.ranks.iter().map(|rank| stage_memory(plan, model.optimizer, rank)).collect();
    fits(&memory, system)?;
    let workers = plan.dp as f64;
    let forward_backward = Flops(3.0 * worker.flops.value() * workers * (plan.tp * plan.cp) as f64);
    let again = Flops(worker.again_flops.value() * workers * (plan.tp * plan.cp) as f64);
    let ends = worker.critical.iter().map(|&rank| {
        let end = worker.ranks[rank].end + rank_tail::<Seconds>(model, system, plan, worker, rank).seconds();
        (end, rank)
    });
    let (_, last) = ends.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((Seconds::ZERO, 0));
    Ok(Step {
        time: rank_time(model, system, plan, worker, last),
        memory,
        model_flops: forward_backward,
        hardware_flops: Flops(forward_backward.value() + again.value()),
        traffic: worker.traffic * workers * (plan.tp * plan.cp) as f64,
    })
}

fn fits(memory: &[StageMemory], system: &System) -> Result<(), Infeasible> {
    let has = system.device.memory.value;
    let needs = memory.iter().map(StageMemory::total).fold(Bytes::ZERO, Bytes::max);
    if needs <= has {
        return Ok(());
    }
    let nearest =
        format!("a device with {:.1} GiB, or more sharding, stages or recomputation", needs.value() / GIB);
    Err(Infeasible::new(Reason::Memory, needs.value(), has.value(), nearest))
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// All terms of the rank that ends last.
fn rank_time<T: Terms>(model: &Model, system: &System, plan: &Plan, worker: &Worker, rank: usize) -> T {
    let it = &worker.ranks[rank];
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
            T::leaf("bubble", (it.free_end - it.busy()).max(Seconds::ZERO)),
            T::leaf("stage transfers", (it.end - it.free_end).max(Seconds::ZERO)),
            rank_tail(model, system, plan, worker, rank),
        ],
    )
}

/// What follows the last pass of a rank.
fn rank_tail<T: Terms>(model: &Model, system: &System, plan: &Plan, worker: &Worker, rank: usize) -> T {
    let it = &worker.ranks[rank];
    let variation = straggler::wait(model.length_variation, (plan.batch / plan.dp) as f64, plan.dp);
    let update = stream_time(&system.device, update_bytes(plan, model, &it.parameters));
    T::node(
        "data parallel and update",
        [
            T::leaf("straggler wait", it.busy() * variation),
            T::leaf("gradient reduction", reduction(model, system, plan, it).seconds),
            T::leaf("tied gradient", tied(system, plan, worker).seconds),
            T::leaf("optimizer", update),
            T::leaf("weight gather", weight_gather(system, plan, it).seconds),
        ],
    )
}

/// Energy of the links of all devices.
pub fn link_energy(model: &Model, system: &System, plan: &Plan, worker: &Worker) -> Joules {
    let of_rank = |rank: &Rank| {
        let passes = rank.forward.links + rank.backward.links + rank.again.links + rank.sends;
        let data = reduction(model, system, plan, rank).energy + weight_gather(system, plan, rank).energy;
        passes + data + tied(system, plan, worker).energy
    };
    worker.ranks.iter().map(of_rank).sum::<Joules>() * (plan.dp * plan.tp * plan.cp) as f64
}

fn reduction(model: &Model, system: &System, plan: &Plan, rank: &Rank) -> Travel {
    let last = if model.overlap {
        exposed(system, plan, &rank.buckets)
    } else {
        behind(system, plan, &rank.parameters)
    };
    if plan.sharding < 2 {
        return last;
    }
    // Sharded gradients are reduced after each micro-batch, behind its backward pass.
    let before = (plan.micro_batches() - 1) as f64;
    let window = (rank.backward.total() + rank.again.total()) / plan.micro_batches() as f64;
    let each = reduce(system, plan, &rank.parameters);
    last + Travel { seconds: (each.seconds - window).max(Seconds::ZERO), ..each } * before
}

/// First and last stage each hold a copy of a tied table and add up its gradients. The pair is priced half a pipeline
/// apart, which crosses the same tiers.
fn tied(system: &System, plan: &Plan, worker: &Worker) -> Travel {
    let copied = worker.copied();
    if copied == 0.0 || plan.pp == 1 {
        return Travel::default();
    }
    let stride = plan.pipeline_ranks().stride * (plan.pp / 2);
    let bytes = Bytes(copied * plan.precision.bytes().gradient);
    travel(system, plan, Ranks { size: 2, stride }, Operation::AllReduce, bytes)
}

/// Weights updated in shares are gathered after the update (stages 1, 2) or before each pass, behind the pass
/// before it (stage 3).
fn weight_gather(system: &System, plan: &Plan, rank: &Rank) -> Travel {
    if plan.sharding == 0 || plan.data_ranks().size == 1 {
        return Travel::default();
    }
    let gather = gather_weights(system, plan, &rank.parameters);
    if plan.sharding < 3 {
        return gather;
    }
    let m = plan.micro_batches() as f64;
    let beyond = |window: Seconds| (gather.seconds - window / m).max(Seconds::ZERO);
    let seconds = beyond(rank.forward.total()) + beyond(rank.backward.total() + rank.again.total());
    Travel { seconds: seconds * m, energy: gather.energy * (2.0 * m) }
}
