//! One plan for itself, placed ones included.

use dielet_core::device::MatrixUnit;
use dielet_core::graph::Model;
use dielet_core::op::OpPricer;
use dielet_core::plan::Plan;
use dielet_core::price::{Price, report};
use dielet_core::segment;
use dielet_core::step::{Case, check};
use dielet_core::system::System;
use dielet_core::travel::Groups;
use dielet_core::verdict::Infeasible;
use dielet_core::worker::Worker;
use serde::Serialize;

use super::placed;

/// The price of any plan, or why it cannot run.
pub fn price(model: &Model, system: &System, plan: &Plan) -> Result<Price, Infeasible> {
    let unit = check(model, system, plan)?;
    let groups = Groups::new(system, plan);
    let worker = worker(model, system, &unit, plan, &groups)?;
    report(&Case { model, system, plan, groups: &groups, worker: &worker })
}

/// The worker of a plan that passed its checks.
fn worker(
    model: &Model,
    system: &System,
    unit: &MatrixUnit,
    plan: &Plan,
    groups: &Groups,
) -> Result<Worker, Infeasible> {
    if plan.placed > 1 {
        return placed::worker(model, system, unit, plan, groups);
    }
    Ok(Worker::pipelined(model, plan, groups, &segment::costs(model, system, unit, plan, groups)))
}

/// Costs of the ops of a model on one device, as columns.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct OpColumns {
    /// Names.
    pub name: Vec<String>,
    /// Kinds of work.
    pub kind: Vec<&'static str>,
    /// Forward pass.
    pub forward_s: Vec<f64>,
    /// Backward pass.
    pub backward_s: Vec<f64>,
    /// Forward work.
    pub flops: Vec<f64>,
    /// Output.
    pub output_bytes: Vec<f64>,
}

/// What each op of a plan costs one device, or why the plan cannot run.
pub fn op_costs(model: &Model, system: &System, plan: &Plan) -> Result<OpColumns, Infeasible> {
    let unit = check(model, system, plan)?;
    let groups = Groups::new(system, plan);
    let pricer = OpPricer::new(model, system, &unit, plan, &groups);
    let mut columns = OpColumns::default();
    for (index, op) in model.ops.iter().enumerate() {
        let cost = pricer.cost(index);
        columns.name.push(op.name.clone());
        columns.kind.push(op.work.kind());
        columns.forward_s.push(cost.forward.total().value());
        columns.backward_s.push(cost.backward.total().value());
        columns.flops.push(cost.flops.value());
        columns.output_bytes.push(cost.output.value());
    }
    Ok(columns)
}
