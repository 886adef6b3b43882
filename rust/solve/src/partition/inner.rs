//! `PipeDream`'s composite first stage: one pipeline inside a node, copied to several nodes.
//!
//! With `A` the dearest stage of the inner pipeline and `w` all its parameters, `m` copies take
//! `(A + 4 (m-1) w / (B2 m) / n) / m`, `n` the devices of a node. Stages of the inner pipeline are replicated
//! inside the node; all but the first also pay `2 a / (B1 r)` for what enters and leaves them.

use super::ideal::{Bits, members};
use super::minimise::RELATIVE_TOLERANCE;
use super::replicate::{Flow, Levels, ReplicaProblem, absorb, boundary, replicated};
use super::search::{Entry, StageModel};

/// Devices used in a node and the dearest inner stage so far.
#[derive(Clone, Copy, Debug)]
pub struct Inner {
    devices: u32,
    /// The dearest inner stage, s.
    pub value: f64,
}

/// The stage model of the inner pipeline.
pub struct InnerModel<'a> {
    problem: &'a ReplicaProblem,
    copies: u32,
    total: f64,
}

/// A stage under construction.
pub struct InnerStage {
    flow: Flow,
    entering: f64,
    first: bool,
    /// Compute and parameters of the prefix.
    done: (f64, f64),
    waiting: Vec<u32>,
    most: u32,
}

impl<'a> InnerModel<'a> {
    /// Inner pipelines of which `copies` nodes each hold one.
    pub fn new(problem: &'a ReplicaProblem, copies: u32) -> Self {
        Self { problem, copies, total: problem.ops.iter().map(|op| op.compute).sum() }
    }

    fn between_nodes(&self, parameters: f64) -> f64 {
        let (m, n) = (f64::from(self.copies), f64::from(self.problem.levels.devices));
        4.0 * (m - 1.0) * parameters / (self.problem.levels.outer * m) / n
    }

    /// Time of the composite stage over `ops` whose inner pipeline takes `value`.
    pub fn total(&self, value: f64, ops: &Bits) -> f64 {
        let parameters = members(ops).map(|v| self.problem.ops[v].parameters).sum();
        (value + self.between_nodes(parameters)) / f64::from(self.copies)
    }

    /// Slowest inner stage with which the composite stage stays below `target`.
    fn allowance(&self, stage: &InnerStage, target: f64) -> f64 {
        f64::from(self.copies) * target - self.between_nodes(stage.done.1 + stage.flow.parameters)
    }
}

impl StageModel for InnerModel<'_> {
    type Label = Inner;
    type Choice = u32;
    type Mark = Flow;
    type Stage = InnerStage;

    fn start(&self) -> Inner {
        Inner { devices: 0, value: 0.0 }
    }

    #[inline]
    fn dominates(&self, a: Inner, b: Inner) -> bool {
        a.devices <= b.devices && a.value <= b.value
    }

    fn stage(&self) -> InnerStage {
        InnerStage {
            flow: Flow::default(),
            entering: 0.0,
            first: true,
            done: (0.0, 0.0),
            waiting: vec![0; self.problem.ops.len()],
            most: 0,
        }
    }

    fn begin(&self, stage: &mut InnerStage, prefix: &Bits, from: &[Entry<Inner, u32>], _target: f64) {
        let ReplicaProblem { ops, dag, levels } = self.problem;
        stage.entering = boundary(dag, ops, prefix, &mut stage.waiting);
        stage.first = members(prefix).next().is_none();
        stage.done =
            members(prefix).fold((0.0, 0.0), |sum, v| (sum.0 + ops[v].compute, sum.1 + ops[v].parameters));
        let left = (ops.len() - members(prefix).count()) as u32;
        stage.flow = Flow { leaving: stage.entering, left, ..Flow::default() };
        stage.most = from.iter().map(|e| levels.devices - e.label.devices).max().unwrap_or(0);
    }

    #[inline]
    fn push(&self, stage: &mut InnerStage, v: usize) {
        absorb(&self.problem.dag, &self.problem.ops, &mut stage.flow, &mut stage.waiting, v);
    }

    #[inline]
    fn restore(&self, stage: &mut InnerStage, v: usize, mark: Flow) {
        for &u in self.problem.dag.predecessors(v) {
            stage.waiting[u as usize] += 1;
        }
        stage.flow = mark;
    }

    #[inline]
    fn mark(&self, stage: &InnerStage) -> Flow {
        stage.flow
    }

    #[inline]
    fn fits(&self, stage: &InnerStage, target: f64) -> bool {
        stage.flow.compute < self.allowance(stage, target) * f64::from(stage.most)
    }

    #[inline]
    fn extend(&self, stage: &InnerStage, from: Inner, target: f64, emit: &mut dyn FnMut(Inner, f64, u32)) {
        let Levels { devices, inner, .. } = self.problem.levels;
        let allowance = self.allowance(stage, target);
        if from.value >= allowance {
            return;
        }
        let fewest = (stage.flow.compute / allowance).ceil().max(1.0) as u32;
        for r in fewest..=devices - from.devices {
            let crossing = stage.entering.max(if stage.flow.left > 0 { stage.flow.leaving } else { 0.0 });
            let crossing = if stage.first { 0.0 } else { 2.0 * crossing / (inner * f64::from(r)) };
            let time = replicated(stage.flow.compute, stage.flow.parameters, inner, r).max(crossing);
            if time < allowance {
                emit(Inner { devices: from.devices + r, value: from.value.max(time) }, time, r);
            }
        }
    }

    #[inline]
    fn hopeless(&self, stage: &InnerStage, label: Inner, target: f64) -> bool {
        let Levels { devices, nodes, .. } = self.problem.levels;
        let here = f64::from((devices - label.devices) * self.copies);
        let elsewhere = f64::from((nodes - self.copies) * devices);
        let rest = self.total - stage.done.0 - stage.flow.compute;
        rest > (here + elsewhere) * target + self.total * RELATIVE_TOLERANCE
    }
}
