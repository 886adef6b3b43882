//! A worker whose ops are placed one by one on its devices.

use dielet_core::activation::Activations;
use dielet_core::collective::Operation;
use dielet_core::device::MatrixUnit;
use dielet_core::graph::{Model, Work};
use dielet_core::op::{OpCost, OpPricer};
use dielet_core::parameters::Parameters;
use dielet_core::plan::Plan;
use dielet_core::reduction::{BUCKET, Bucket};
use dielet_core::step::check;
use dielet_core::system::System;
use dielet_core::travel::{Groups, travel};
use dielet_core::units::{Bytes, Flops, Seconds};
use dielet_core::verdict::{Infeasible, Reason};
use dielet_core::worker::{Content, Course, Worker};

use crate::place::{ForwardOp, Links, Problem, Schedule, Tensor, list_schedule, training_step};

/// Large enough to tell a link's bandwidth from its latency.
const PROBE: Bytes = Bytes(1e9);

/// An op's costs with what it keeps; a tensor that several ops keep counts at each.
struct Placed {
    cost: OpCost,
    saved: Bytes,
}

fn costs(model: &Model, system: &System, unit: &MatrixUnit, plan: &Plan, groups: &Groups) -> Vec<Placed> {
    let pricer = OpPricer::new(model, system, unit, plan, groups);
    let element = plan.precision.bytes().activation;
    let activations = Activations { model, shares: &pricer.shares, element };
    let each = 0..model.ops.len();
    each.map(|op| Placed { cost: pricer.cost(op), saved: activations.saved(op..op + 1, false) }).collect()
}

/// A worker by list scheduling: a heuristic placement of the model's ops on `plan.placed` devices.
pub(super) fn worker(
    model: &Model,
    system: &System,
    unit: &MatrixUnit,
    plan: &Plan,
    groups: &Groups,
) -> Result<Worker, Infeasible> {
    let costs = costs(model, system, unit, plan, groups);
    let problem = problem(model, system, plan, groups, &costs);
    let no_room = || {
        let needs: f64 = problem.ops.iter().map(|op| op.memory_bytes).sum();
        let has = problem.memory_bytes.iter().sum();
        Infeasible::new(Reason::Memory, needs, has, "more devices per worker".to_owned())
    };
    let schedule = list_schedule(&problem).ok().flatten().ok_or_else(no_room)?;
    let energy = |bytes: f64| travel(groups.placed.as_deref(), Operation::PointToPoint, Bytes(bytes)).energy;
    let sent = |device: usize| {
        let mine = schedule.transfers.iter().filter(|transfer| transfer.from == device);
        mine.map(|transfer| energy(problem.tensors[transfer.tensor].bytes)).sum()
    };
    let devices = 0..plan.placed as usize;
    let contents = devices
        .clone()
        .map(|device| Content { sends: sent(device), ..content(plan, &costs, &schedule, device) });
    let course = Course::Placement(devices.map(|device| end(&schedule, device)).collect());
    let flops = Flops(costs.iter().map(|op| op.cost.flops.value()).sum());
    let traffic = costs.iter().map(|op| op.cost.traffic * 3.0).sum();
    Ok(Worker::new(contents, course, [flops, Flops::ZERO], traffic))
}

/// The problem of placing a model's ops on the `plan.placed` devices of one worker, for any solver; a training step.
pub fn placement_problem(model: &Model, system: &System, plan: &Plan) -> Result<Problem, Infeasible> {
    let unit = check(model, system, plan)?;
    let groups = Groups::new(system, plan);
    let costs = costs(model, system, &unit, plan, &groups);
    Ok(problem(model, system, plan, &groups, &costs))
}

fn problem(model: &Model, system: &System, plan: &Plan, groups: &Groups, costs: &[Placed]) -> Problem {
    let devices = plan.placed as usize;
    let bytes = plan.precision.bytes();
    let held = bytes.weight + bytes.gradient + bytes.master + bytes.state * model.optimizer.states();
    let forward: Vec<ForwardOp> = model
        .ops
        .iter()
        .zip(costs)
        .map(|(op, Placed { cost, saved })| ForwardOp {
            id: op.name.clone(),
            forward_s: vec![cost.forward.total().value(); devices],
            backward_s: vec![cost.backward.total().value(); devices],
            memory_bytes: cost.parameters.total() * held + saved.value(),
            group: None,
            pin: None,
        })
        .collect();
    let (ops, tensors) = training_step(&forward, &tensors(model, costs));
    let link = |bytes| travel(groups.placed.as_deref(), Operation::PointToPoint, bytes).seconds.value();
    // One device sends nothing: any link would do.
    let (latency, bandwidth) = match devices {
        1 => (0.0, f64::INFINITY),
        _ => (link(Bytes(1.0)), PROBE.value() / (link(PROBE) - link(Bytes(1.0)))),
    };
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
fn tensors(model: &Model, costs: &[Placed]) -> Vec<Tensor> {
    let mut tensors: Vec<Tensor> = (0..model.ops.len())
        .map(|producer| {
            let data = model.ops[producer].work == Work::Data;
            Tensor {
                producer,
                consumers: Vec::new(),
                bytes: if data { 0.0 } else { costs[producer].cost.output.value() },
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

fn content(plan: &Plan, costs: &[Placed], schedule: &Schedule, device: usize) -> Content {
    let here: Vec<usize> = (0..costs.len()).filter(|&op| schedule.ops[op].device == device).collect();
    let mut content = Content {
        saved: here.iter().map(|&op| costs[op].saved).sum(),
        buckets: buckets(plan, costs, schedule, &here),
        ..Content::default()
    };
    for &op in &here {
        content.parameters += costs[op].cost.parameters;
        content.forward += costs[op].cost.forward;
        content.backward += costs[op].cost.backward;
    }
    content
}

/// When a device ends its last op.
fn end(schedule: &Schedule, device: usize) -> Seconds {
    let here = schedule.ops.iter().filter(|op| op.device == device);
    Seconds(here.map(|op| op.finish_s).fold(0.0, f64::max))
}

/// Gradients in the order in which a device's backward ops end.
fn buckets(plan: &Plan, costs: &[Placed], schedule: &Schedule, here: &[usize]) -> Vec<Bucket> {
    let n = costs.len();
    let finish = |op: usize| schedule.ops[n + op].finish_s;
    let mut order = here.to_vec();
    order.sort_by(|&a, &b| finish(a).total_cmp(&finish(b)));
    let limit = BUCKET.value() / plan.precision.bytes().gradient;
    let mut done = Vec::new();
    let mut since = order.first().map_or(0.0, |&op| schedule.ops[n + op].start_s);
    let mut open = Parameters::default();
    for (index, &op) in order.iter().enumerate() {
        open += costs[op].cost.parameters;
        if open.dense + open.expert >= limit || index + 1 == order.len() {
            done.push(Bucket { parameters: open, window: Seconds(finish(op) - since), count: 1 });
            (open, since) = (Parameters::default(), finish(op));
        }
    }
    done
}
