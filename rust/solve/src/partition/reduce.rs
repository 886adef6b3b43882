//! Merges blocks that no assignment below a target can separate.
//!
//! A cut tensor is paid by every accelerator that holds an end of it. With at most one CPU, a cut has an accelerator
//! on one side at least, which holds one of the ends. So where the tensor plus the cheapest end reach the target, all
//! ends share a device.

use super::load::{Block, LoadProblem, Net};
use std::collections::BTreeMap;

/// A smaller problem, and the block of it that each block has become.
#[derive(Clone, Debug)]
pub struct Reduction {
    /// The merged problem (its order is meaningless).
    pub problem: LoadProblem,
    /// New block of each old one.
    pub block: Vec<u32>,
}

/// Merges until nothing more must stay together below `target`.
pub fn merge_uncuttable(problem: &LoadProblem, target: f64) -> Reduction {
    let mut reduction =
        Reduction { problem: problem.clone(), block: (0..problem.blocks.len() as u32).collect() };
    if problem.machine.cpus > 1 {
        return reduction;
    }
    loop {
        let group = uncuttable(&reduction.problem, target);
        if group.iter().enumerate().all(|(v, &g)| v == g as usize) {
            return reduction;
        }
        let (merged, new) = merge(&reduction.problem, &group);
        for block in &mut reduction.block {
            *block = new[*block as usize];
        }
        reduction.problem = merged;
    }
}

fn uncuttable(problem: &LoadProblem, target: f64) -> Vec<u32> {
    let mut group: Vec<u32> = (0..problem.blocks.len() as u32).collect();
    for net in &problem.nets {
        let cheapest =
            net.ends.iter().map(|&v| problem.blocks[v as usize].accelerator).fold(f64::INFINITY, f64::min);
        if net.cost + cheapest >= target {
            for pair in net.ends.windows(2) {
                let (a, b) = (root(&mut group, pair[0]), root(&mut group, pair[1]));
                group[a.max(b) as usize] = a.min(b);
            }
        }
    }
    (0..group.len() as u32).map(|v| root(&mut group, v)).collect()
}

/// Representative of `v`'s group, with path halving.
pub(super) fn root(group: &mut [u32], mut v: u32) -> u32 {
    while group[v as usize] != v {
        group[v as usize] = group[group[v as usize] as usize];
        v = group[v as usize];
    }
    v
}

/// The problem over the groups of `group` (each named by one of its members), and the new number of each block.
fn merge(problem: &LoadProblem, group: &[u32]) -> (LoadProblem, Vec<u32>) {
    let mut number = BTreeMap::new();
    for &g in group {
        let next = number.len() as u32;
        number.entry(g).or_insert(next);
    }
    let new: Vec<u32> = group.iter().map(|g| number[g]).collect();
    let mut blocks = vec![Block { supported: true, ..Block::default() }; number.len()];
    for (block, &at) in problem.blocks.iter().zip(&new) {
        let into = &mut blocks[at as usize];
        into.accelerator += block.accelerator;
        into.cpu += block.cpu;
        into.memory += block.memory;
        into.supported &= block.supported;
    }
    let mut nets: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
    for net in &problem.nets {
        let mut ends: Vec<u32> = net.ends.iter().map(|&v| new[v as usize]).collect();
        ends.sort_unstable();
        ends.dedup();
        if ends.len() > 1 {
            *nets.entry(ends).or_default() += net.cost;
        }
    }
    let nets = nets.into_iter().map(|(ends, cost)| Net { ends, cost }).collect();
    let dag = super::dag::Dag::new(blocks.len(), []);
    (LoadProblem { blocks, dag, nets, machine: problem.machine }, new)
}
