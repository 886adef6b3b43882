//! Workers, kept: device counts differ in the data-parallel degree only, and most share all else.

use dielet_core::device::MatrixUnit;
use dielet_core::fabric::Group;
use dielet_core::graph::Model;
use dielet_core::op::OpPricer;
use dielet_core::plan::{Plan, Ranks};
use dielet_core::price::{Price, report};
use dielet_core::segment;
use dielet_core::step::{Step, assemble, check};
use dielet_core::system::System;
use dielet_core::term::Terms;
use dielet_core::verdict::Infeasible;
use dielet_core::worker::Worker;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::placed;

/// Groups inside a worker: with the same groups the same times.
type Groups = [Option<Group>; 5];

/// Prices plans of one model on one system, each worker computed once.
pub struct Table<'a> {
    model: &'a Model,
    system: &'a System,
    workers: FxHashMap<Plan, Vec<(Groups, Worker)>>,
}

impl<'a> Table<'a> {
    /// An empty table.
    pub fn new(model: &'a Model, system: &'a System) -> Self {
        Self { model, system, workers: FxHashMap::default() }
    }

    /// The price of a plan, equal to [`dielet_core::step::price`] bit for bit.
    pub fn step<T: Terms>(&mut self, plan: &Plan) -> Result<Step<T>, Infeasible> {
        let unit = check(self.model, self.system, plan)?;
        let groups = self.groups(plan);
        let (model, system) = (self.model, self.system);
        let known = self.workers.entry(key(plan)).or_default();
        let index = if let Some(index) = known.iter().position(|(others, _)| *others == groups) {
            index
        } else {
            known.push((groups, worker(model, system, &unit, plan)?));
            known.len() - 1
        };
        assemble(model, system, plan, &known[index].1)
    }

    fn groups(&self, plan: &Plan) -> Groups {
        let group = |ranks: Ranks| {
            let group =
                (ranks.size > 1).then(|| self.system.fabric.group(plan.devices(), ranks.size, ranks.stride));
            group.and_then(Result::ok)
        };
        [
            group(plan.tensor_ranks()),
            group(plan.context_ranks()),
            group(plan.expert_ranks()),
            group(plan.pipeline_ranks()),
            group(plan.placed_ranks()),
        ]
    }
}

/// The worker of a plan that passed its checks.
pub fn worker(model: &Model, system: &System, unit: &MatrixUnit, plan: &Plan) -> Result<Worker, Infeasible> {
    if plan.placed > 1 {
        return placed::worker(model, system, unit, plan);
    }
    Ok(Worker::pipelined(model, system, plan, &segment::costs(model, system, unit, plan)))
}

/// The price of any plan, placed ones included, or why it cannot run.
pub fn price(model: &Model, system: &System, plan: &Plan) -> Result<Price, Infeasible> {
    let unit = check(model, system, plan)?;
    report(model, system, plan, &worker(model, system, &unit, plan)?)
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
    let pricer = OpPricer::new(model, system, &unit, plan);
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

/// What of a plan a worker depends on, apart from its groups.
fn key(plan: &Plan) -> Plan {
    Plan { dp: 1, batch: plan.batch / plan.dp, sharding: 0, ..*plan }
}
