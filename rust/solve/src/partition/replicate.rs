//! Pipelines of data-parallel stages on a machine of nodes, in the cost convention of `PipeDream` (SOSP 2019).
//!
//! A stage of compute `C` and parameters `w` on `r` devices in each of `g` nodes takes, per mini-batch,
//!
//! ```text
//! t = ((C + 4 (r-1) w / (B1 r)) / r  +  4 (g-1) (w/r) / (B2 g)) / g
//! ```
//!
//! (all-reduce inside a node at `B1`, then of each device's shard between nodes at `B2`), and not less than
//! `2 a / (B r g)` for the activations `a` that enter and leave it, `B` the bandwidth they cross.
//!
//! The peer solves level by level: a stage of the upper level is a whole number of nodes that all run one inner
//! pipeline. Here one search decides everything: stages join groups of `g` nodes, each stage with its own `r`; the
//! peer's upper-level stages are the special case in which a group is charged as a whole, and its composite
//! first stage, which it charges differently, is kept as a seed. So the optimum is never above the peer's.
//! As there, the first stage of a group pays nothing for what leaves it inside the group, and the first group
//! nothing for what leaves it.

use super::dag::Dag;
use super::ideal::{Bits, contains, members};
use super::inner::InnerModel;
use super::minimise::RELATIVE_TOLERANCE;
use super::search::{Counts, Entry, Limits, Seeds, StageModel, prefixes};
use crate::proof::Stop;
use serde::{Deserialize, Serialize};

/// An op of a replicated pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplicaOp {
    /// Forward and backward time of a mini-batch, s.
    pub compute: f64,
    /// Bytes of its parameters.
    pub parameters: f64,
    /// Bytes of its output.
    pub activation: f64,
}

impl ReplicaOp {
    /// From a profile in milliseconds.
    pub fn from_milliseconds(compute: f64, parameters: f64, activation: f64) -> Self {
        Self { compute: compute / 1e3, parameters, activation }
    }
}

/// Nodes of devices: `devices` in each of `nodes`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// Devices of a node.
    pub devices: u32,
    /// Nodes.
    pub nodes: u32,
    /// Bandwidth inside a node, B/s.
    pub inner: f64,
    /// Bandwidth between nodes, B/s.
    pub outer: f64,
}

impl Levels {
    /// All devices.
    pub fn total(&self) -> u32 {
        self.devices * self.nodes
    }
}

/// Ops, their order and the machine.
#[derive(Clone, Debug)]
pub struct ReplicaProblem {
    /// Ops in a topological order.
    pub ops: Vec<ReplicaOp>,
    /// Their order.
    pub dag: Dag,
    /// The machine.
    pub levels: Levels,
}

impl ReplicaProblem {
    /// A valid lower bound: compute spread evenly over all devices.
    pub fn floor(&self) -> f64 {
        self.ops.iter().map(|op| op.compute).sum::<f64>() / f64::from(self.levels.total())
            * (1.0 - RELATIVE_TOLERANCE)
    }
}

/// Time per mini-batch of `r` replicas that reduce `w` bytes of gradient over bandwidth `b`: `(c + 4(r-1)w/(b r))/r`.
#[inline]
pub fn replicated(c: f64, w: f64, b: f64, r: u32) -> f64 {
    let r = f64::from(r);
    (c + 4.0 * (r - 1.0) * w / (b * r)) / r
}

/// Nodes closed, and the group being filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Nodes in closed groups.
    nodes: u16,
    /// Nodes of the open group; 0 if none is open.
    group: u16,
    /// Devices taken in each node of the open group.
    taken: u16,
}

/// How a stage is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Replicas {
    /// Nodes of its group.
    pub nodes: u32,
    /// Devices in each of them.
    pub devices: u32,
    /// First node of the group.
    pub first_node: u32,
    /// A whole inner pipeline, copied to `nodes` nodes.
    pub composite: bool,
}

/// The stage model over a [`ReplicaProblem`].
pub struct ReplicaModel<'a> {
    problem: &'a ReplicaProblem,
    total: f64,
}

/// A stage under construction.
pub struct ReplicaStage {
    sums: Flow,
    /// Bytes that enter it.
    entering: f64,
    first: bool,
    rest: f64,
    /// Most devices any label leaves.
    most: f64,
    /// Consumers of an op that are not in the visited ideal.
    waiting: Vec<u32>,
}

/// Scalars of a stage.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flow {
    pub(super) compute: f64,
    pub(super) parameters: f64,
    /// Bytes that leave the visited ideal.
    pub(super) leaving: f64,
    pub(super) left: u32,
}

/// Bytes of the outputs in `prefix` that some op outside needs; fills the number of such consumers per op.
pub(super) fn boundary(dag: &Dag, ops: &[ReplicaOp], prefix: &Bits, waiting: &mut [u32]) -> f64 {
    for (v, count) in waiting.iter_mut().enumerate() {
        *count = dag.successors(v).iter().filter(|&&w| !contains(prefix, w as usize)).count() as u32;
    }
    members(prefix).filter(|&v| waiting[v] > 0).map(|v| ops[v].activation).sum()
}

/// Adds op `v` to the ideal whose boundary is `flow`.
#[inline]
pub(super) fn absorb(dag: &Dag, ops: &[ReplicaOp], flow: &mut Flow, waiting: &mut [u32], v: usize) {
    flow.compute += ops[v].compute;
    flow.parameters += ops[v].parameters;
    flow.left -= 1;
    if waiting[v] > 0 {
        flow.leaving += ops[v].activation;
    }
    for &u in dag.predecessors(v) {
        waiting[u as usize] -= 1;
        if waiting[u as usize] == 0 {
            flow.leaving -= ops[u as usize].activation;
        }
    }
}

impl<'a> ReplicaModel<'a> {
    /// Prepares the sums.
    pub fn new(problem: &'a ReplicaProblem) -> Self {
        Self { problem, total: problem.ops.iter().map(|op| op.compute).sum() }
    }

    fn left(&self, label: Filled) -> f64 {
        let Levels { devices, nodes, .. } = self.problem.levels;
        let open = u32::from(label.group) * (devices - u32::from(label.taken));
        f64::from((nodes - u32::from(label.nodes) - u32::from(label.group)) * devices + open)
    }

    /// Time of a stage on `r` devices in each of `g` nodes, activations apart.
    fn work(&self, flow: &Flow, r: u32, g: u32) -> f64 {
        let Levels { inner, outer, .. } = self.problem.levels;
        let (nodes, shard) = (f64::from(g), flow.parameters / f64::from(r));
        (replicated(flow.compute, flow.parameters, inner, r) + 4.0 * (nodes - 1.0) * shard / (outer * nodes))
            / nodes
    }

    /// Every way to run the stage on `r` devices in each of the `g` nodes of its group.
    fn run_on(&self, stage: &ReplicaStage, from: Filled, g: u32, r: u32, emit: &mut dyn FnMut(Filled, f64)) {
        let Levels { devices, inner, outer, .. } = self.problem.levels;
        let opens = from.group == 0;
        let replicas = f64::from(r * g);
        let entering = match (stage.first, opens) {
            (true, _) => 0.0,
            (false, true) => 2.0 * stage.entering / (outer * replicas),
            (false, false) => 2.0 * stage.entering / (inner * replicas),
        };
        let time = self.work(&stage.sums, r, g).max(entering);
        let leaving = 2.0 * stage.sums.leaving.max(0.0) / replicas;
        let taken = u32::from(from.taken) + r;
        let within = if opens { 0.0 } else { leaving / inner };
        if taken < devices && stage.sums.left > 0 {
            emit(Filled { nodes: from.nodes, group: g as u16, taken: taken as u16 }, time.max(within));
        }
        let beyond = match (stage.sums.left, from.nodes) {
            (0, _) => 0.0,
            (_, 0) => within,
            _ => leaving / outer,
        };
        emit(Filled { nodes: from.nodes + g as u16, group: 0, taken: 0 }, time.max(beyond));
    }
}

impl StageModel for ReplicaModel<'_> {
    type Label = Filled;
    type Choice = Replicas;
    type Mark = Flow;
    type Stage = ReplicaStage;

    fn start(&self) -> Filled {
        Filled { nodes: 0, group: 0, taken: 0 }
    }

    #[inline]
    fn dominates(&self, a: Filled, b: Filled) -> bool {
        match (a.group, b.group) {
            (0, 0) => a.nodes <= b.nodes,
            (0, _) | (_, 0) => false,
            _ => a.nodes == b.nodes && a.group == b.group && a.taken <= b.taken,
        }
    }

    fn stage(&self) -> ReplicaStage {
        ReplicaStage {
            sums: Flow::default(),
            entering: 0.0,
            first: true,
            rest: 0.0,
            most: 0.0,
            waiting: vec![0; self.problem.ops.len()],
        }
    }

    fn begin(&self, stage: &mut ReplicaStage, prefix: &Bits, from: &[Entry<Filled, Replicas>], _target: f64) {
        let done: f64 = members(prefix).map(|v| self.problem.ops[v].compute).sum();
        let inside = members(prefix).count();
        stage.entering = boundary(&self.problem.dag, &self.problem.ops, prefix, &mut stage.waiting);
        stage.first = inside == 0;
        stage.rest = self.total - done;
        stage.most = from.iter().map(|e| self.left(e.label)).fold(0.0, f64::max);
        stage.sums = Flow {
            leaving: stage.entering,
            left: (self.problem.ops.len() - inside) as u32,
            ..Flow::default()
        };
    }

    #[inline]
    fn push(&self, stage: &mut ReplicaStage, v: usize) {
        absorb(&self.problem.dag, &self.problem.ops, &mut stage.sums, &mut stage.waiting, v);
    }

    #[inline]
    fn restore(&self, stage: &mut ReplicaStage, v: usize, mark: Flow) {
        for &u in self.problem.dag.predecessors(v) {
            stage.waiting[u as usize] += 1;
        }
        stage.sums = mark;
    }

    #[inline]
    fn mark(&self, stage: &ReplicaStage) -> Flow {
        stage.sums
    }

    #[inline]
    fn fits(&self, stage: &ReplicaStage, target: f64) -> bool {
        let bandwidth = self.problem.levels.inner.max(self.problem.levels.outer);
        let entering = if stage.first { 0.0 } else { 2.0 * stage.entering / bandwidth };
        stage.sums.compute.max(entering) < target * stage.most
    }

    #[inline]
    fn extend(
        &self,
        stage: &ReplicaStage,
        from: Filled,
        target: f64,
        emit: &mut dyn FnMut(Filled, f64, Replicas),
    ) {
        let Levels { devices, nodes, .. } = self.problem.levels;
        let open = u32::from(from.group);
        let groups = if open > 0 { open..=open } else { 1..=nodes - u32::from(from.nodes) };
        let free = devices - u32::from(from.taken);
        for g in groups {
            let fewest = (stage.sums.compute / (target * f64::from(g))).ceil().max(1.0) as u32;
            let (mut stays, mut closed) = (false, false);
            for r in fewest..=free {
                let choice =
                    Replicas { nodes: g, devices: r, first_node: u32::from(from.nodes), composite: false };
                self.run_on(stage, from, g, r, &mut |label, value| {
                    let wanted = if label.group > 0 { &mut stays } else { &mut closed };
                    if value < target && !*wanted {
                        *wanted = true;
                        emit(label, value, choice);
                    }
                });
                if stays && closed {
                    break;
                }
            }
        }
    }

    #[inline]
    fn hopeless(&self, stage: &ReplicaStage, label: Filled, target: f64) -> bool {
        let rest = stage.rest - stage.sums.compute;
        rest > self.left(label) * target + self.total * RELATIVE_TOLERANCE
            || (stage.sums.left > 0 && self.left(label) == 0.0)
    }

    /// With `v` the ideal lets no more bytes through, and then no larger ideal does either. (With several nodes a
    /// stage of `v` alone may be worth having: it opens a group, and the next stage receives inside the node.)
    fn absorbs(&self, prefix: &Bits, v: usize) -> bool {
        if self.problem.levels.nodes > 1 {
            return false;
        }
        let dag = &self.problem.dag;
        let last_consumer = |&&u: &&u32| {
            dag.successors(u as usize).iter().all(|&w| w as usize == v || contains(prefix, w as usize))
        };
        let freed: f64 = dag
            .predecessors(v)
            .iter()
            .filter(last_consumer)
            .map(|&u| self.problem.ops[u as usize].activation)
            .sum();
        dag.successors(v).is_empty() || self.problem.ops[v].activation <= freed
    }

    fn seeds(&self, dag: &Dag, target: f64, limits: &Limits<'_>, counts: &mut Counts) -> Seeds<Self> {
        let mut seeds = Vec::new();
        for copies in 2..=self.problem.levels.nodes {
            seeds.extend(self.composite(dag, copies, target, limits, counts)?);
        }
        Ok(seeds)
    }
}

impl ReplicaModel<'_> {
    /// Prefixes that a first stage made of an inner pipeline on `copies` nodes reaches below `target`.
    fn composite(
        &self,
        dag: &Dag,
        copies: u32,
        target: f64,
        limits: &Limits<'_>,
        counts: &mut Counts,
    ) -> Result<Vec<super::search::Seed<Self>>, Stop> {
        let inner = InnerModel::new(self.problem, copies);
        let label = Filled { nodes: copies as u16, group: 0, taken: 0 };
        let choice =
            Replicas { nodes: copies, devices: self.problem.levels.devices, first_node: 0, composite: true };
        let reached = prefixes(dag, &inner, target, limits, counts)?;
        let seeds = reached.into_iter().filter_map(|(bits, labels)| {
            let whole = members(&bits).count() == self.problem.ops.len();
            let value =
                labels.iter().map(|label| inner.total(label.value, &bits)).fold(f64::INFINITY, f64::min);
            let used = bits.iter().any(|&word| word != 0);
            (used && value < target && (whole || copies < self.problem.levels.nodes))
                .then_some((bits, label, value, choice))
        });
        Ok(seeds.collect())
    }
}
