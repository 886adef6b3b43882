//! What to try next: devices of the most conflicting groups, then orders of tasks that overlap.

use super::literal::Lit;
use super::model::{Model, Pair};
use crate::place::instance::Ticks;

/// Growth of the weight of later conflicts (VSIDS, Moskewicz et al. 2001).
const GROWTH: f64 = 1.0 / 0.95;

/// Activities and remembered phases.
pub(crate) struct Memory {
    activity: Vec<f64>,
    weight: f64,
    phase: Vec<bool>,
    remembered: Vec<bool>,
}

impl Memory {
    pub(crate) fn new(variables: usize) -> Self {
        Self {
            activity: vec![0.0; variables],
            weight: 1.0,
            phase: vec![false; variables],
            remembered: vec![false; variables],
        }
    }

    /// A first preference, far below any conflict.
    pub(crate) fn prefer(&mut self, variable: usize, weight: f64) {
        self.activity[variable] = self.activity[variable].max(weight * 1e-3);
    }

    pub(crate) fn bump(&mut self, variable: usize) {
        self.activity[variable] += self.weight;
    }

    pub(crate) fn decay(&mut self) {
        self.weight *= GROWTH;
        if self.weight > 1e100 {
            self.activity.iter_mut().for_each(|a| *a *= 1e-100);
            self.weight *= 1e-100;
        }
    }

    pub(crate) fn remember(&mut self, lit: Lit) {
        self.phase[lit.variable()] = lit.is_positive();
        self.remembered[lit.variable()] = true;
    }

    fn activity(&self, lit: Lit) -> f64 {
        self.activity[lit.variable()]
    }

    /// The remembered side of `lit`, if any.
    fn phase(&self, lit: Lit) -> Option<Lit> {
        let v = lit.variable();
        self.remembered[v].then(|| if self.phase[v] == lit.is_positive() { lit } else { !lit })
    }
}

impl Model<'_> {
    /// The next decision; `None` when the earliest starts are a schedule.
    pub(crate) fn next_decision(&self, memory: &Memory) -> Option<Lit> {
        self.open_group(memory).or_else(|| self.overlapping(memory))
    }

    fn open_group(&self, memory: &Memory) -> Option<Lit> {
        let free = |&lit: &Lit| self.engine.is_free(lit);
        let mut best: Option<(f64, Lit)> = None;
        for lits in &self.on {
            for lit in lits.iter().copied().filter(free) {
                let activity = memory.activity(lit);
                if best.is_none_or(|(most, _)| activity > most) {
                    best = Some((activity, lit));
                }
            }
        }
        best.map(|(_, lit)| memory.phase(lit).unwrap_or(lit))
    }

    fn overlapping(&self, memory: &Memory) -> Option<Lit> {
        let finish: Vec<Ticks> = (0..self.engine.nodes()).map(|node| self.finish(node)).collect();
        let overlap = |pair: &&Pair| {
            self.start(pair.first) < finish[pair.second] && self.start(pair.second) < finish[pair.first]
        };
        let mut best: Option<(f64, Ticks, &Pair)> = None;
        for pair in self.pairs.iter().filter(overlap).filter(|pair| self.undecided(pair)) {
            let activity = memory.activity(pair.before) + memory.activity(pair.after);
            let start = self.start(pair.first).min(self.start(pair.second));
            let better = |&(a, s, _): &(f64, Ticks, &Pair)| activity > a || (activity >= a && start < s);
            if best.as_ref().is_none_or(better) {
                best = Some((activity, start, pair));
            }
        }
        best.map(|(_, _, pair)| self.orient(pair, memory))
    }

    pub(crate) fn start(&self, node: usize) -> Ticks {
        self.engine.bounds[2 * node]
    }

    fn latest(&self, node: usize) -> Ticks {
        -self.engine.bounds[2 * node + 1]
    }

    fn undecided(&self, pair: &Pair) -> bool {
        let engine = &self.engine;
        !engine.is_true(pair.before)
            && !engine.is_true(pair.after)
            && pair.active.iter().all(|&lit| engine.is_true(lit))
    }

    /// Earliest end of a task whose device is known.
    fn finish(&self, node: usize) -> Ticks {
        let instance = self.instance;
        if node < instance.ops() {
            let device = self.device(instance.group_of[node]);
            return self.start(node) + instance.times[node][device];
        }
        let Some(slot) = node.checked_sub(instance.ops() + 2) else { return self.start(node) };
        let (tensor, to) = (slot / instance.devices, slot % instance.devices);
        let from = self.device(instance.group_of[instance.nets[tensor].producer]);
        self.start(node) + instance.move_ticks(tensor, from, to)
    }

    pub(crate) fn device(&self, group: usize) -> usize {
        self.on[group].iter().position(|&lit| self.engine.is_true(lit)).unwrap_or(0)
    }

    /// As remembered, else the earlier (then the more urgent) first.
    fn orient(&self, pair: &Pair, memory: &Memory) -> Lit {
        let engine = &self.engine;
        if engine.is_false(pair.before) || engine.is_false(pair.after) {
            return if engine.is_false(pair.before) { pair.after } else { pair.before };
        }
        let key = |node: usize| (self.start(node), self.latest(node));
        let natural = if key(pair.first) <= key(pair.second) { pair.before } else { pair.after };
        let other = if natural == pair.before { pair.after } else { pair.before };
        let chosen = |lit: Lit| memory.phase(lit) == Some(lit);
        if chosen(other) && !chosen(natural) { other } else { natural }
    }
}
