//! The price of a training step: (model, system, plan) to a verdict.
//!
//! It factors: costs of segments depend on the sharding and the micro-batch only ([`segment::costs`]); stages and
//! their timeline on those, the cut and the micro-batches ([`Worker`]); reductions, update and sharding are closed
//! forms over them ([`assemble`]). Searches keep the first two in tables.

use crate::compute::stream_time;
use crate::device::MatrixUnit;
use crate::exchange::Exchange;
use crate::graph::Model;
use crate::memory::{StageMemory, stage_memory};
use crate::pass::PassTime;
use crate::plan::Plan;
use crate::segment;
use crate::straggler;
use crate::system::System;
use crate::term::Terms;
use crate::travel::Groups;
use crate::units::{Bytes, Flops, Joules, Seconds};
use crate::update::update_bytes;
use crate::verdict::{Infeasible, Reason};
use crate::worker::{Content, End, Worker};

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
    check_capacity(system, plan)?;
    system.device.matrix_unit(plan.precision.number()).map_err(|_| {
        Infeasible::new(Reason::Precision, 1.0, 0.0, "a precision that the device lists".to_owned())
    })
}

/// Whether the fabric joins as many devices.
pub fn check_capacity(system: &System, plan: &Plan) -> Result<(), Infeasible> {
    if let Some(most) = system.fabric.capacity().filter(|most| plan.devices() > *most) {
        let nearest = match most / plan.mp() {
            0 => format!("at most {most} devices per worker"),
            dp => format!("dp at most {dp}"),
        };
        return Err(Infeasible::new(Reason::Devices, plan.devices() as f64, most as f64, nearest));
    }
    Ok(())
}

/// The price of a plan, or why it cannot run.
pub fn step<T: Terms>(model: &Model, system: &System, plan: &Plan) -> Result<Step<T>, Infeasible> {
    let unit = check(model, system, plan)?;
    let groups = Groups::new(system, plan);
    let worker =
        Worker::pipelined(model, plan, &groups, &segment::costs(model, system, &unit, plan, &groups));
    assemble(&Case { model, system, plan, groups: &groups, worker: &worker })
}

/// A plan whose groups and worker are known.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// What is trained.
    pub model: &'a Model,
    /// On what.
    pub system: &'a System,
    /// How.
    pub plan: &'a Plan,
    /// The plan's groups.
    pub groups: &'a Groups,
    /// The plan's worker.
    pub worker: &'a Worker,
}

/// Whether every device's memory holds what the plan asks of it.
fn fits(needs: Bytes, system: &System) -> Result<(), Infeasible> {
    let has = system.device.memory.value;
    if needs <= has {
        return Ok(());
    }
    // Rounded up: a device of the size named would do.
    let enough = (needs.value() / GIB * 10.0).ceil() / 10.0;
    let nearest = format!("a device with {enough:.1} GiB, or more sharding, stages or recomputation");
    Err(Infeasible::new(Reason::Memory, needs.value(), has.value(), nearest))
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// The closed forms over a worker.
pub fn assemble<T: Terms>(case: &Case) -> Result<Step<T>, Infeasible> {
    let memory: Vec<StageMemory> = (0..case.worker.ranks.len()).map(|rank| case.memory(rank)).collect();
    fits(memory.iter().map(StageMemory::total).fold(Bytes::ZERO, Bytes::max), case.system)?;
    let [model_flops, hardware_flops] = case.flops();
    Ok(Step {
        time: case.time(&case.worker.ends(case.plan), &case.exchanges()),
        memory,
        model_flops,
        hardware_flops,
        traffic: case.worker.traffic * (case.worker.passes(case.plan) * case.copies()),
    })
}

impl Case<'_> {
    /// Memory of a rank.
    pub fn memory(&self, rank: usize) -> StageMemory {
        let content = &self.worker.contents[self.worker.ranks[rank]];
        stage_memory(self.plan, self.model.optimizer, content, self.worker.kept(self.plan, rank))
    }

    /// Memory of the fullest rank.
    pub fn peak_memory(&self) -> Bytes {
        self.worker.fullest.iter().map(|&rank| self.memory(rank).total()).fold(Bytes::ZERO, Bytes::max)
    }

    /// Devices that do the work of each rank of a worker.
    fn copies(&self) -> f64 {
        (self.plan.dp * self.plan.tp * self.plan.cp) as f64
    }

    /// Work of forward and backward pass of all devices, without and with what is computed again.
    pub fn flops(&self) -> [Flops; 2] {
        let times = self.worker.passes(self.plan) * self.copies();
        let once = 3.0 * self.worker.flops.value();
        [once, once + self.worker.again_flops.value()].map(|flops| Flops(flops * times))
    }

    /// What each content exchanges.
    pub fn exchanges(&self) -> Vec<Exchange> {
        let Self { model, system, plan, groups, worker } = *self;
        let exchange = |content| Exchange::new(model, system, plan, groups, content, worker.copied);
        worker.contents.iter().map(exchange).collect()
    }

    /// The time of the rank that ends last.
    pub fn time<T: Terms>(&self, ends: &[End], exchanges: &[Exchange]) -> T {
        let mut last = (Seconds(-1.0), 0);
        for (index, end) in ends.iter().enumerate() {
            let tail = self.tail::<Seconds>(&self.worker.contents[end.content], &exchanges[end.content]);
            if end.end + tail > last.0 {
                last = (end.end + tail, index);
            }
        }
        let end = &ends[last.1];
        self.rank_time(end, &exchanges[end.content])
    }

    /// What no step is shorter than: the same time with nothing exchanged. Sums in another order may differ in their
    /// last bits, for which a share of 1e-12 is far more than enough.
    pub fn bound(&self, ends: &[End]) -> Seconds {
        let alone = |end: &End| end.end + self.tail(&self.worker.contents[end.content], &Exchange::default());
        ends.iter().map(alone).fold(Seconds::ZERO, Seconds::max) * (1.0 - 1e-12)
    }

    /// All terms of a rank.
    fn rank_time<T: Terms>(&self, end: &End, exchange: &Exchange) -> T {
        let content = &self.worker.contents[end.content];
        let times = self.worker.passes(self.plan);
        let passes = |name, part: fn(&PassTime) -> Seconds| {
            T::node(
                name,
                [
                    T::leaf("forward", part(&content.forward) * times),
                    T::leaf("backward", part(&content.backward) * times),
                    T::leaf("recompute", part(&content.again) * times),
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
                T::leaf("bubble", (end.free_end - content.busy() * times).max(Seconds::ZERO)),
                T::leaf("stage transfers", (end.end - end.free_end).max(Seconds::ZERO)),
                self.tail(content, exchange),
            ],
        )
    }

    /// What follows the last pass of a rank.
    fn tail<T: Terms>(&self, content: &Content, exchange: &Exchange) -> T {
        let Self { model, system, plan, worker, .. } = *self;
        let variation = straggler::wait(model.length_variation, (plan.batch / plan.dp) as f64, plan.dp);
        let moved = update_bytes(plan, model, &content.parameters);
        let update = if moved > Bytes::ZERO { stream_time(&system.device, moved) } else { Seconds::ZERO };
        T::node(
            "data parallel and update",
            [
                T::leaf("straggler wait", content.busy() * (worker.passes(plan) * variation)),
                T::leaf("gradient reduction", exchange.reduction(plan, content).seconds),
                T::leaf("sequence-parallel gradient", exchange.partial().seconds),
                T::leaf("tied gradient", exchange.tied().seconds),
                T::leaf("optimizer", update),
                T::leaf("weight gather", exchange.weight_gather(plan, content).seconds),
            ],
        )
    }

    /// Energy of the links of all devices.
    pub fn link_energy(&self) -> Joules {
        let times = self.worker.passes(self.plan);
        let of_content = |(content, exchange): (&Content, Exchange)| {
            let passes = content.forward.links + content.backward.links + content.again.links + content.sends;
            let data = exchange.reduction(self.plan, content).energy
                + exchange.weight_gather(self.plan, content).energy;
            passes * times + data + exchange.partial().energy
        };
        let exchanges = self.exchanges();
        // Two stages hold a tied table.
        let tied = exchanges.first().map_or(Joules::ZERO, |exchange| exchange.tied().energy * 2.0);
        let each: Vec<Joules> = self.worker.contents.iter().zip(exchanges).map(of_content).collect();
        (self.worker.ranks.iter().map(|&content| each[content]).sum::<Joules>() + tied) * self.copies()
    }
}
