//! The price of a plan as an answer: time with its terms, throughput, memory, energy and money of one step.

use serde::Serialize;

use crate::device::Power;
use crate::graph::Model;
use crate::memory::StageMemory;
use crate::plan::Plan;
use crate::step::{Case, Step, assemble};
use crate::system::System;
use crate::term::Breakdown;
use crate::units::{Bytes, Flops, FlopsPerSecond, Joules, Seconds};
use crate::verdict::Infeasible;

/// Memory of the stages of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryReport {
    /// Of the fullest stage.
    pub peak: Bytes,
    /// Of the device.
    pub capacity: Bytes,
    /// By stage and term.
    pub stages: Vec<StageMemory>,
}

/// Everything that one step of a plan costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Price {
    /// The plan.
    pub plan: Plan,
    /// Devices in use.
    pub devices: u64,
    /// Time of a step.
    pub step_s: Seconds,
    /// Samples of all workers per second.
    pub samples_per_s: f64,
    /// Tokens (samples of a model without a sequence) per second and device.
    pub tokens_per_s_per_device: f64,
    /// Model FLOPs per second over the dense peak; what is computed again does not count.
    pub mfu: f64,
    /// The same with what is computed again.
    pub hfu: f64,
    /// Memory.
    pub memory_bytes: MemoryReport,
    /// Where the time goes.
    pub breakdown: Breakdown,
    /// Its largest term.
    pub limit: &'static str,
    /// Energy of a step, if the system has the figures.
    pub energy_j: Option<Joules>,
    /// Which figures the energy comes from.
    pub energy_basis: Option<&'static str>,
    /// Hire of the devices for a step, if the system has a price.
    pub cost_usd: Option<f64>,
}

/// The price of a plan whose worker is known, or why it cannot run.
pub fn report(case: &Case) -> Result<Price, Infeasible> {
    let step = assemble::<Breakdown>(case)?;
    let Case { model, system, plan, .. } = *case;
    let energy = energy(system, plan, &step, || case.link_energy());
    Ok(price_of(model, system, plan, step, energy))
}

fn price_of(
    model: &Model,
    system: &System,
    plan: &Plan,
    step: Step<Breakdown>,
    energy: Option<(Joules, &'static str)>,
) -> Price {
    let seconds = step.time.seconds;
    let devices = plan.devices() as f64;
    let samples_per_s = plan.batch as f64 / seconds.value();
    let used = |flops: Flops| utilisation(system, plan, flops, seconds);
    Price {
        plan: *plan,
        devices: plan.devices(),
        step_s: seconds,
        samples_per_s,
        tokens_per_s_per_device: samples_per_s * model.tokens_per_sample(plan.sequence) / devices,
        mfu: used(step.model_flops),
        hfu: used(step.hardware_flops),
        memory_bytes: MemoryReport {
            peak: step.memory.iter().map(StageMemory::total).fold(Bytes::ZERO, Bytes::max),
            capacity: system.device.memory.value,
            stages: step.memory,
        },
        limit: step.time.largest().name,
        breakdown: step.time,
        energy_j: energy.map(|(energy, _)| energy),
        energy_basis: energy.map(|(_, basis)| basis),
        cost_usd: system.price.as_ref().map(|price| (price.value * seconds).value() * devices),
    }
}

/// Share of the devices' dense peak that so much work in so long a time uses.
pub fn utilisation(system: &System, plan: &Plan, work: Flops, time: Seconds) -> f64 {
    let rate = system.device.rates.get(&plan.precision.number());
    let peak = rate.map_or(FlopsPerSecond::ZERO, |rate| rate.peak.value);
    (work / time).value() / (peak.value() * plan.devices() as f64)
}

/// Energy of a step: the device's power for its time (links and memory are in it), or its static power and what work,
/// memory traffic and links draw; with the overhead of host and network.
fn energy(
    system: &System,
    plan: &Plan,
    step: &Step<Breakdown>,
    links: impl Fn() -> Joules,
) -> Option<(Joules, &'static str)> {
    let device_time = step.time.seconds * plan.devices() as f64;
    let overhead = system.overhead_power.as_ref().map_or(Joules::ZERO, |power| power.value * device_time);
    let (devices, basis) = match system.device.draw()? {
        Power::Whole(power) => (power * device_time, "device power x time"),
        Power::Parts { idle, per_flop, per_bit } => {
            let work = Joules(per_flop.value() * step.hardware_flops.value());
            let memory = Joules(per_bit.value() * step.traffic.value() * 8.0);
            (idle * device_time + work + memory + links(), "static power x time + energy per FLOP and bit")
        }
    };
    Some((devices + overhead, basis))
}
