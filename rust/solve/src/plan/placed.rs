//! A worker whose ops are placed one by one on its devices.

use dielet_core::collective::Operation;
use dielet_core::device::MatrixUnit;
use dielet_core::graph::{Model, Work};
use dielet_core::plan::Plan;
use dielet_core::reduction::{BUCKET, Bucket};
use dielet_core::segment::{OpCost, Parameters, PassTime, op_costs};
use dielet_core::system::System;
use dielet_core::travel::travel_time;
use dielet_core::units::{Bytes, Flops, Seconds};
use dielet_core::verdict::{Infeasible, Reason};
use dielet_core::worker::{Rank, Worker};

use crate::place::{ForwardOp, Links, Problem, Schedule, Tensor, list_schedule, training_step};

/// Large enough to tell a link's bandwidth from its latency.
const PROBE: Bytes = Bytes(1e9);

/// A worker by list scheduling: a heuristic placement of the model's ops on `plan.placed` devices.
pub(super) fn worker(
    model: &Model,
    system: &System,
    unit: &MatrixUnit,
    plan: &Plan,
) -> Result<Worker, Infeasible> {
    let costs = op_costs(model, system, unit, plan);
    let problem = problem(model, system, plan, &costs);
    let no_room = || {
        let needs: f64 = problem.ops.iter().map(|op| op.memory_bytes).sum();
        let has = problem.memory_bytes.iter().sum();
        Infeasible::new(Reason::Memory, needs, has, "more devices per worker".to_owned())
    };
    let schedule = list_schedule(&problem).ok().flatten().ok_or_else(no_room)?;
    let ranks = (0..plan.placed as usize).map(|device| rank(plan, &costs, &schedule, device)).collect();
    let flops = Flops(costs.iter().map(|cost| cost.flops.value()).sum());
    Ok(Worker::new(ranks, [flops, Flops::ZERO], costs.iter().map(|cost| cost.traffic).sum()))
}

fn problem(model: &Model, system: &System, plan: &Plan, costs: &[OpCost]) -> Problem {
    let devices = plan.placed as usize;
    let bytes = plan.precision.bytes();
    let held = bytes.weight + bytes.gradient + bytes.master + bytes.state * model.optimizer.states();
    let forward: Vec<ForwardOp> = model
        .ops
        .iter()
        .zip(costs)
        .map(|(op, cost)| ForwardOp {
            id: op.name.clone(),
            forward_s: vec![cost.forward.value(); devices],
            backward_s: vec![cost.backward.value(); devices],
            memory_bytes: cost.parameters.total() * held + cost.saved.value(),
            group: None,
            pin: None,
        })
        .collect();
    let (ops, tensors) = training_step(&forward, &tensors(model, costs));
    let link = |bytes| travel_time(system, plan, plan.placed_ranks(), Operation::PointToPoint, bytes);
    let latency = link(Bytes(1.0)).value();
    let bandwidth = PROBE.value() / (link(PROBE).value() - latency);
    Problem {
        memory_bytes: vec![system.device.memory.value.value(); devices],
        ops,
        tensors,
        latency_s: vec![vec![latency; devices]; devices],
        bandwidth_bytes_per_s: vec![vec![bandwidth; devices]; devices],
        links: Links::Serial,
        overlap: true,
    }
}

/// One tensor per op that others read; every device loads the training data for itself.
fn tensors(model: &Model, costs: &[OpCost]) -> Vec<Tensor> {
    let mut tensors: Vec<Tensor> = (0..model.ops.len())
        .map(|producer| {
            let data = model.ops[producer].work == Work::Data;
            Tensor {
                producer,
                consumers: Vec::new(),
                bytes: if data { 0.0 } else { costs[producer].output.value() },
            }
        })
        .collect();
    for (reader, op) in model.ops.iter().enumerate() {
        for input in &op.inputs {
            let consumers = &mut tensors[input.op].consumers;
            if consumers.last() != Some(&reader) {
                consumers.push(reader);
            }
        }
    }
    tensors.retain(|tensor| !tensor.consumers.is_empty());
    tensors
}

fn rank(plan: &Plan, costs: &[OpCost], schedule: &Schedule, device: usize) -> Rank {
    let n = costs.len();
    let here: Vec<usize> = (0..n).filter(|&op| schedule.ops[op].device == device).collect();
    let mut rank = Rank {
        parameters: Parameters::default(),
        copied: 0.0,
        kept: here.iter().map(|&op| costs[op].saved).sum(),
        transient: Bytes::ZERO,
        buckets: buckets(plan, costs, schedule, &here),
        forward: PassTime::default(),
        backward: PassTime::default(),
        again: PassTime::default(),
        free_end: Seconds::ZERO,
        end: Seconds::ZERO,
    };
    for &op in &here {
        rank.parameters += costs[op].parameters;
        rank.forward.compute += costs[op].forward;
        rank.backward.compute += costs[op].backward;
        rank.end =
            rank.end.max(Seconds(schedule.ops[op].finish_s)).max(Seconds(schedule.ops[n + op].finish_s));
    }
    // Waiting for an input and waiting for a transfer are not told apart.
    rank.free_end = rank.end;
    rank
}

/// Gradients in the order in which a device's backward ops end.
fn buckets(plan: &Plan, costs: &[OpCost], schedule: &Schedule, here: &[usize]) -> Vec<Bucket> {
    let n = costs.len();
    let finish = |op: usize| schedule.ops[n + op].finish_s;
    let mut order = here.to_vec();
    order.sort_by(|&a, &b| finish(a).total_cmp(&finish(b)));
    let limit = BUCKET.value() / plan.precision.bytes().gradient;
    let mut done = Vec::new();
    let mut since = order.first().map_or(0.0, |&op| schedule.ops[n + op].start_s);
    let mut open = Parameters::default();
    for (index, &op) in order.iter().enumerate() {
        open += costs[op].parameters;
        if open.dense + open.expert >= limit || index + 1 == order.len() {
            done.push(Bucket { parameters: open, window: Seconds(finish(op) - since), count: 1 });
            (open, since) = (Parameters::default(), finish(op));
        }
    }
    done
}
