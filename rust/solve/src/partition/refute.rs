//! Is there an assignment, contiguous or not, whose largest load is below a target? Exact, depth-first.
//!
//! The block with the fewest devices left is placed next. A branch ends where a block has none, or where the loads so
//! far and the work to come exceed what the devices hold. Devices that are still empty are interchangeable.

use super::assign::{Assignment, NONE, nets_of};
use super::load::LoadProblem;
use super::search::Limits;
use crate::proof::Stop;

/// What the search knows at its end.
#[derive(Debug)]
pub enum Verdict {
    /// An assignment below the target.
    Found(Vec<u32>, f64),
    /// There is none.
    Impossible,
    /// The nodes or a limit ran out.
    Open(Option<Stop>),
}

/// Searches for an assignment below `target`, through at most `nodes` nodes.
pub fn refute(
    problem: &LoadProblem,
    target: f64,
    nodes: u64,
    limits: &Limits<'_>,
    explored: &mut u64,
) -> Verdict {
    let nets = nets_of(problem);
    let state = Assignment::new(problem, &nets);
    let mut by_relief: Vec<usize> = (0..problem.blocks.len()).collect();
    let rate = |v: &usize| {
        let block = &problem.blocks[*v];
        if block.cpu > 0.0 { block.accelerator / block.cpu } else { f64::INFINITY }
    };
    by_relief.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    let rest = problem.blocks.iter().map(|b| b.accelerator).sum();
    let weight = |v: usize| {
        problem.blocks[v].accelerator + nets[v].iter().map(|&e| problem.nets[e as usize].cost).sum::<f64>()
    };
    let mut search = Refute {
        problem,
        target,
        nodes,
        limits,
        explored,
        by_relief,
        weight: (0..problem.blocks.len()).map(weight).collect(),
        rest,
        rounding: 1e-9 * target,
        stop: None,
        found: None,
        state,
    };
    let complete = search.place();
    match (search.found, complete) {
        (Some((device, value)), _) => Verdict::Found(device, value),
        (None, true) => Verdict::Impossible,
        (None, false) => Verdict::Open(search.stop),
    }
}

struct Refute<'a> {
    problem: &'a LoadProblem,
    target: f64,
    nodes: u64,
    limits: &'a Limits<'a>,
    explored: &'a mut u64,
    by_relief: Vec<usize>,
    /// Time of a block with all its nets.
    weight: Vec<f64>,
    /// Accelerator time of the blocks to come.
    rest: f64,
    rounding: f64,
    stop: Option<Stop>,
    found: Option<(Vec<u32>, f64)>,
    state: Assignment<'a>,
}

impl Refute<'_> {
    /// Whether the branch was searched to its end without an answer.
    fn place(&mut self) -> bool {
        *self.explored += 1;
        self.nodes = self.nodes.saturating_sub(1);
        if self.explored.is_multiple_of(256) {
            self.stop = (self.limits.stop)();
        }
        if self.nodes == 0 || self.stop.is_some() {
            return false;
        }
        if !self.room() {
            return true;
        }
        let Some((v, devices)) = self.hardest() else {
            self.found = Some((self.state.device.clone(), self.state.worst()));
            return false;
        };
        self.rest -= self.problem.blocks[v].accelerator;
        let mut complete = true;
        for d in devices {
            self.state.put(v, d);
            complete = self.place();
            self.state.take(v);
            if !complete {
                break;
            }
        }
        self.rest += self.problem.blocks[v].accelerator;
        complete
    }

    /// Whether the devices have room for the work to come, if it could be split at will.
    fn room(&self) -> bool {
        let mut free = 0.0;
        for d in 0..self.problem.machine.accelerators as usize {
            free += self.target - self.state.load[d];
        }
        let cpus = self.problem.machine.accelerators as usize..self.state.devices();
        let mut budget: f64 = cpus.map(|d| self.target - self.state.load[d]).sum();
        let mut rest = self.rest - free - self.rounding;
        for &v in &self.by_relief {
            if rest <= 0.0 {
                return true;
            }
            if self.state.device[v] == NONE {
                let block = &self.problem.blocks[v];
                if block.cpu > budget {
                    return rest <= block.accelerator * budget / block.cpu;
                }
                budget -= block.cpu;
                rest -= block.accelerator;
            }
        }
        rest <= 0.0
    }

    /// The unplaced block with the fewest devices, the heaviest of these; and its devices, fullest first.
    fn hardest(&mut self) -> Option<(usize, Vec<usize>)> {
        let mut best: Option<(usize, Vec<usize>)> = None;
        for v in 0..self.weight.len() {
            if self.state.device[v] != NONE {
                continue;
            }
            let devices = self.devices_for(v);
            let better = best
                .as_ref()
                .is_none_or(|(u, known)| (devices.len(), -self.weight[v]) < (known.len(), -self.weight[*u]));
            if better {
                let none = devices.is_empty();
                best = Some((v, devices));
                if none {
                    break;
                }
            }
        }
        let (v, mut devices) = best?;
        devices.sort_by(|&a, &b| self.state.load[b].total_cmp(&self.state.load[a]));
        Some((v, devices))
    }

    fn devices_for(&mut self, v: usize) -> Vec<usize> {
        let accelerators = self.problem.machine.accelerators as usize;
        let mut empty_seen = false;
        let mut devices = Vec::new();
        for d in 0..self.state.devices() {
            let empty = d < accelerators
                && self.state.load[d] <= 0.0
                && self.state.memory[d] <= 0.0
                && self.is_empty(d);
            if (empty && empty_seen) || !self.state.admits(v, d) {
                continue;
            }
            empty_seen |= empty;
            self.state.put(v, d);
            let fits = self.state.load.iter().all(|&load| load < self.target);
            self.state.take(v);
            if fits {
                devices.push(d);
            }
        }
        devices
    }

    fn is_empty(&self, d: usize) -> bool {
        !self.state.device.contains(&(d as u32))
    }
}
