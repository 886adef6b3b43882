//! Partitions that need not be contiguous: the best assignment met, and a bound below which there is none.
//!
//! The contiguous optimum is the start; annealing improves it; blocks that no better assignment can separate are
//! merged. The bound is the largest target that is refuted: first by packing the work alone, then with tensors. Every refutation is exact, so a bound that meets the value is a proof; when the
//! nodes run out the last refuted target stands.

use super::anneal::anneal;
use super::load::LoadProblem;
use super::pack::{Packed, pack};
use super::reduce::{Reduction, merge_uncuttable, root};
use super::refute::{Verdict, refute};
use super::search::Limits;
use crate::proof::{Proof, Stop};
use std::collections::BTreeMap;

/// Annealing runs in a row that may bring nothing.
const PATIENCE: u64 = 4;
/// Most annealing runs.
const RUNS: u64 = 10;
/// Nodes of one refutation by packing; the targets that need more are left open.
const PACK_NODES: u64 = 4_000_000;
/// Nodes after which a problem is not small.
const FEW_NODES: u64 = 20_000;
/// Nodes of one refutation with tensors, which are dearer.
const NODES: u64 = 600_000;
/// Relative width at which bisection of the bound ends.
const WIDTH: f64 = 1e-5;
/// A target this much below the value is refuted first: with it the answer is proven.
const PROVEN: f64 = 1e-9;

/// An assignment (device of each block, accelerators first) with its certificate.
#[derive(Clone, Debug)]
pub struct Assigned {
    /// Device of each block.
    pub device: Vec<u32>,
    /// Value, bound, counts.
    pub proof: Proof,
}

/// Minimises the largest load over all assignments, from a valid `start`.
pub fn assign(problem: &LoadProblem, start: &[u32], value: f64, limits: &Limits<'_>) -> Assigned {
    let mut search = Search {
        problem,
        device: start.to_vec(),
        value,
        low: problem.floor().min(value),
        explored: 0,
        limits,
    };
    search.settle();
    search.improve();
    search.raise_by_packing();
    search.raise_with_nets();
    let proven = search.proven();
    let stop = if proven { Stop::Optimal } else { (limits.stop)().unwrap_or(Stop::TimeLimit) };
    let lower_bound = if proven { search.value } else { search.low };
    let proof =
        Proof { value: search.value, lower_bound, explored: search.explored, pruned: BTreeMap::new(), stop };
    Assigned { device: search.device, proof }
}

/// What an accelerator that holds some, but not all, of the work pays at least for tensors: the cheapest of them, where
/// tensors connect all blocks that take time.
fn least_cut(problem: &LoadProblem) -> f64 {
    let mut group: Vec<u32> = (0..problem.blocks.len() as u32).collect();
    for net in &problem.nets {
        for pair in net.ends.windows(2) {
            let (a, b) = (root(&mut group, pair[0]), root(&mut group, pair[1]));
            group[a.max(b) as usize] = a.min(b);
        }
    }
    let timed: Vec<u32> =
        (0..group.len() as u32).filter(|&v| problem.blocks[v as usize].accelerator > 0.0).collect();
    if timed.windows(2).any(|pair| root(&mut group, pair[0]) != root(&mut group, pair[1])) {
        return 0.0;
    }
    problem.nets.iter().map(|net| net.cost).fold(f64::INFINITY, f64::min)
}

struct Search<'a> {
    problem: &'a LoadProblem,
    device: Vec<u32>,
    value: f64,
    low: f64,
    explored: u64,
    limits: &'a Limits<'a>,
}

impl Search<'_> {
    fn stopped(&self) -> bool {
        (self.limits.stop)().is_some()
    }

    fn proven(&self) -> bool {
        self.low >= self.value * (1.0 - 2.0 * PROVEN)
    }

    /// Small problems are solved outright.
    fn settle(&mut self) {
        while !self.proven() && !self.stopped() {
            let target = self.value * (1.0 - PROVEN);
            let reduction = merge_uncuttable(self.problem, target);
            match refute(&reduction.problem, target, FEW_NODES, self.limits, &mut self.explored) {
                Verdict::Impossible => self.low = target,
                Verdict::Found(device, _) => self.adopt(&reduction, &device),
                Verdict::Open(_) => break,
            }
        }
    }

    fn improve(&mut self) {
        let mut idle = 0;
        for run in 0..RUNS {
            if idle == PATIENCE || self.proven() || self.stopped() {
                break;
            }
            let reduction = merge_uncuttable(self.problem, self.value);
            let start = self.on_reduced(&reduction);
            let (device, _) = anneal(&reduction.problem, &start, run << 40, self.limits);
            let before = self.value;
            self.adopt(&reduction, &device);
            idle = if self.value < before * (1.0 - PROVEN) { 0 } else { idle + 1 };
        }
    }

    fn on_reduced(&self, reduction: &Reduction) -> Vec<u32> {
        let mut start = vec![0; reduction.problem.blocks.len()];
        for (&block, &device) in reduction.block.iter().zip(&self.device) {
            start[block as usize] = device;
        }
        start
    }

    /// Takes an assignment of a reduced problem over if it is better; its loads are summed afresh.
    fn adopt(&mut self, reduction: &Reduction, device: &[u32]) {
        let device: Vec<u32> = reduction.block.iter().map(|&block| device[block as usize]).collect();
        let value = value_of(self.problem, &device);
        if value < self.value {
            (self.device, self.value) = (device, value);
        }
    }

    /// Raises the bound by packing the work alone. One device without the others pays no tensor, but then holds all.
    fn raise_by_packing(&mut self) {
        let whole = self.problem.blocks.iter().map(|b| b.accelerator).sum::<f64>();
        let cut = least_cut(self.problem);
        let cpus = f64::from(self.problem.machine.cpus);
        let mut target = self.value * (1.0 - PROVEN);
        let mut high = self.value;
        while high - self.low > WIDTH * self.value && !self.stopped() {
            let capacity = if target < whole { target - cut.min(target) } else { target };
            let packed =
                pack(self.problem, capacity, cpus * target, PACK_NODES, self.limits, &mut self.explored);
            match packed {
                Packed::Impossible => self.low = self.low.max(target),
                Packed::Possible | Packed::Open => high = target,
            }
            target = 0.5 * (self.low + high);
        }
    }

    fn raise_with_nets(&mut self) {
        let mut target = self.value * (1.0 - PROVEN);
        let mut high = self.value;
        while high - self.low > PROVEN * self.value && !self.stopped() {
            let reduction = merge_uncuttable(self.problem, target);
            match refute(&reduction.problem, target, NODES, self.limits, &mut self.explored) {
                Verdict::Impossible => self.low = self.low.max(target),
                Verdict::Open(_) => high = target,
                Verdict::Found(device, _) => {
                    self.adopt(&reduction, &device);
                    high = self.value.min(target);
                }
            }
            if high - self.low < WIDTH * self.value {
                break;
            }
            target = 0.5 * (self.low + high);
        }
    }
}

/// The largest load of an assignment, infinite where it breaks a limit.
pub fn value_of(problem: &LoadProblem, device: &[u32]) -> f64 {
    let accelerators = problem.machine.accelerators;
    let part = |d: u32| -> Vec<usize> { (0..device.len()).filter(|&v| device[v] == d).collect() };
    let kind =
        |d: u32| if d < accelerators { super::answer::Kind::Accelerator } else { super::answer::Kind::Cpu };
    (0..accelerators + problem.machine.cpus).map(|d| problem.load(&part(d), kind(d))).fold(0.0, f64::max)
}
