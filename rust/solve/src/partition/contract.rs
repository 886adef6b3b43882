//! From a profiled graph with colour classes to blocks: what must share a device becomes one block.
//!
//! The rules of Tarnawski et al. (`NeurIPS` 2020) fix which partitions exist, so they are followed to the letter:
//! 1. ops of one colour are one class, with a forward and a backward half;
//! 2. a class without a forward half takes part in the forward order through its backward edges, reversed;
//! 3. classes on a cycle of the forward order are fused (contiguous partitions only);
//! 4. a class that takes no time, has one forward neighbour and no backward neighbour joins that neighbour.

use super::dag::{Dag, components, topological_rank};
use super::load::{Block, LoadProblem, Machine, Net};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// An op of a profiled graph.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfiledOp {
    /// Time on an accelerator, in the file's unit.
    pub accelerator: f64,
    /// Time on a CPU, in the same unit.
    pub cpu: f64,
    /// Bytes on the device that runs it.
    pub memory: f64,
    /// Whether it belongs to the backward pass.
    pub backward: bool,
    /// Ops of one colour share a device.
    pub colour: u32,
    /// Whether an accelerator can run it.
    pub supported: bool,
    /// Time to move its output between an accelerator and host memory.
    pub transfer: f64,
}

/// A profiled graph: ops and edges `(source, sink)`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfiledGraph {
    /// Ops.
    pub ops: Vec<ProfiledOp>,
    /// Edges between positions in `ops`.
    pub edges: Vec<(u32, u32)>,
}

/// A load problem and the ops each of its blocks stands for.
#[derive(Clone, Debug)]
pub struct Contraction {
    /// The problem over blocks.
    pub problem: LoadProblem,
    /// Ops of each block, ascending.
    pub ops: Vec<Vec<u32>>,
}

impl Contraction {
    /// Ops of some blocks, ascending.
    pub fn ops_of(&self, blocks: &[usize]) -> Vec<u32> {
        let mut ops: Vec<u32> = blocks.iter().flat_map(|&b| self.ops[b].iter().copied()).collect();
        ops.sort_unstable();
        ops
    }
}

/// Latency below which an op takes no time, in the file's unit (the peer's constant).
const NO_TIME: f64 = 1e-6;

/// Contracts `graph` for contiguous partitions.
pub fn contiguous(graph: &ProfiledGraph, machine: Machine) -> Contraction {
    let mut classes = Classes::of_colours(graph);
    classes.fuse_cycles();
    while classes.absorb_idle(graph) {}
    build(graph, machine, &classes.group)
}

/// Contracts `graph` for arbitrary partitions: colours only, no order.
pub fn arbitrary(graph: &ProfiledGraph, machine: Machine) -> Contraction {
    build(graph, machine, &Classes::of_colours(graph).group)
}

/// The class of every op; classes are numbered by their first op.
struct Classes {
    group: Vec<u32>,
    /// Forward order before fusing: pairs of ops standing for their classes. Reversed backward edges are marked.
    order: Vec<(u32, u32, bool)>,
}

impl Classes {
    fn of_colours(graph: &ProfiledGraph) -> Self {
        let mut first = FxHashMap::default();
        let group: Vec<u32> =
            graph.ops.iter().zip(0u32..).map(|(op, at)| *first.entry(op.colour).or_insert(at)).collect();
        let mut has_forward = vec![false; graph.ops.len()];
        for (op, &class) in graph.ops.iter().zip(&group) {
            has_forward[class as usize] |= !op.backward;
        }
        let orphan = |v: u32| !has_forward[group[v as usize] as usize];
        let order = graph.edges.iter().filter_map(|&(source, sink)| {
            let (from, to) = (&graph.ops[source as usize], &graph.ops[sink as usize]);
            match (from.backward, to.backward) {
                (false, false) => Some((source, sink, false)),
                (true, true) if orphan(source) || orphan(sink) => Some((sink, source, true)),
                _ => None,
            }
        });
        Self { order: order.collect(), group }
    }

    fn successors(&self) -> Vec<Vec<u32>> {
        let mut successors = vec![Vec::new(); self.group.len()];
        for &(before, after, _) in &self.order {
            let (a, b) = (self.group[before as usize], self.group[after as usize]);
            if a != b {
                successors[a as usize].push(b);
            }
        }
        successors
    }

    fn fuse_cycles(&mut self) {
        let component = components(self.group.len(), &self.successors());
        self.group.iter_mut().for_each(|class| *class = component[*class as usize]);
    }

    /// Merges one idle class into its only neighbour; says whether there was one.
    fn absorb_idle(&mut self, graph: &ProfiledGraph) -> bool {
        let Some((idle, into)) = self.idle(graph) else { return false };
        self.group.iter_mut().filter(|class| **class == idle).for_each(|class| *class = into);
        true
    }

    fn idle(&self, graph: &ProfiledGraph) -> Option<(u32, u32)> {
        let facts = self.facts(graph);
        let is_idle = |f: &Facts| {
            f.has_forward
                && f.forward.0 < NO_TIME
                && f.forward.1 < NO_TIME
                && f.backward < NO_TIME
                && !f.meets_backward
        };
        let mut neighbours: Vec<Vec<(u32, u32, bool)>> = vec![Vec::new(); self.group.len()];
        for &(before, after, artificial) in &self.order {
            let (a, b) = (self.group[before as usize], self.group[after as usize]);
            if a != b {
                neighbours[a as usize].push((a, b, artificial));
                neighbours[b as usize].push((a, b, artificial));
            }
        }
        (0..self.group.len()).find_map(|class| {
            let edges = &mut neighbours[class];
            edges.sort_unstable();
            edges.dedup();
            match edges[..] {
                [(a, b, _)] if is_idle(&facts[class]) => {
                    Some((class as u32, if a as usize == class { b } else { a }))
                }
                _ => None,
            }
        })
    }

    fn facts(&self, graph: &ProfiledGraph) -> Vec<Facts> {
        let mut facts = vec![Facts::default(); self.group.len()];
        for (op, &class) in graph.ops.iter().zip(&self.group) {
            let f = &mut facts[class as usize];
            f.has_forward = true;
            if op.backward {
                f.backward += op.accelerator + op.cpu;
            } else {
                f.forward.0 += op.accelerator;
                f.forward.1 += op.cpu;
            }
        }
        for &(source, sink) in &graph.edges {
            let (from, to) = (graph.ops[source as usize].backward, graph.ops[sink as usize].backward);
            if from != to {
                let forward = if from { sink } else { source };
                facts[self.group[forward as usize] as usize].meets_backward = true;
            }
        }
        facts
    }
}

#[derive(Clone, Debug, Default)]
struct Facts {
    has_forward: bool,
    /// Accelerator and CPU time of the forward half.
    forward: (f64, f64),
    backward: f64,
    meets_backward: bool,
}

fn build(graph: &ProfiledGraph, machine: Machine, group: &[u32]) -> Contraction {
    let classes = Classes { order: Classes::of_colours(graph).order, group: group.to_vec() };
    let used: BTreeSet<u32> = group.iter().copied().collect();
    let rank = topological_rank(&used, &classes.successors());
    let len = used.len();
    let block_of = |op: u32| rank[group[op as usize] as usize];
    let mut ops = vec![Vec::new(); len];
    let mut blocks = vec![Block { supported: true, ..Block::default() }; len];
    for (op, at) in graph.ops.iter().zip(0u32..) {
        let block = &mut blocks[block_of(at) as usize];
        block.accelerator += op.accelerator;
        block.cpu += op.cpu;
        block.memory += op.memory;
        block.supported &= op.supported;
        ops[block_of(at) as usize].push(at);
    }
    let edges = classes.order.iter().map(|&(before, after, _)| (block_of(before), block_of(after)));
    let dag = Dag::new(len, edges);
    let nets = nets(graph, block_of);
    Contraction { problem: LoadProblem { blocks, dag, nets, machine }, ops }
}

/// One net an op that has a sink in another block; nets with the same ends are added up.
fn nets(graph: &ProfiledGraph, block_of: impl Fn(u32) -> u32) -> Vec<Net> {
    let mut ends: Vec<Vec<u32>> = (0..graph.ops.len() as u32).map(|op| vec![block_of(op)]).collect();
    for &(source, sink) in &graph.edges {
        ends[source as usize].push(block_of(sink));
    }
    let mut merged: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
    for (mut ends, op) in ends.into_iter().zip(&graph.ops) {
        ends.sort_unstable();
        ends.dedup();
        if ends.len() > 1 && op.transfer > 0.0 {
            *merged.entry(ends).or_default() += op.transfer;
        }
    }
    merged.into_iter().map(|(ends, cost)| Net { ends, cost }).collect()
}
