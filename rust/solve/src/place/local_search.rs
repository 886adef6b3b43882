//! Simulated annealing over devices and order: a heuristic, seeded, the same on every run.

use super::instance::{Instance, Ticks};
use super::plan::{Decoder, Plan};

/// How long and from which seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    pub(crate) evaluations: usize,
    pub(crate) seed: u64,
    /// Relative rise of the makespan accepted with probability 1/e at the start.
    pub(crate) heat: f64,
}

/// Heats of the annealing: from a known plan, and to leave its basin when transfers are long.
pub(crate) const WARM: f64 = 0.02;
pub(crate) const HOT: f64 = 0.15;

/// The heat falls to this share of the start.
const COOLING: f64 = 0.01;

/// The best plan met on a walk from `plan`; never worse than `plan`.
pub(crate) fn improve(instance: &Instance, plan: Plan, search: &Search, stop: &dyn Fn() -> bool) -> Plan {
    if instance.ops() < 2 {
        return plan;
    }
    Walk::new(instance, plan, search).run(stop)
}

struct Walk<'a> {
    instance: &'a Instance,
    decoder: Decoder<'a>,
    random: Random,
    device: Vec<usize>,
    order: Vec<usize>,
    position: Vec<usize>,
    used: Vec<f64>,
    value: Ticks,
    best: Plan,
    evaluations: usize,
    heat: f64,
}

/// What a move changed, to take it back.
enum Undo {
    Devices(Vec<(usize, usize)>),
    Order { from: usize, to: usize },
}

impl<'a> Walk<'a> {
    fn new(instance: &'a Instance, plan: Plan, search: &Search) -> Self {
        let mut order: Vec<usize> = (0..instance.ops()).collect();
        let mut rank = vec![0; instance.ops()];
        instance.topological.iter().enumerate().for_each(|(at, &op)| rank[op] = at);
        order.sort_by_key(|&op| (plan.start[op], rank[op]));
        let mut used = vec![0.0; instance.devices];
        plan.device.iter().enumerate().for_each(|(g, &d)| used[d] += instance.group_memory[g]);
        let mut walk = Self {
            instance,
            decoder: Decoder::new(instance),
            random: Random::new(search.seed),
            device: plan.device.clone(),
            position: vec![0; order.len()],
            order,
            used,
            value: plan.makespan,
            best: plan,
            evaluations: search.evaluations,
            heat: search.heat,
        };
        walk.index(0, walk.order.len() - 1);
        walk.value = walk.decoder.decode(&walk.device, &walk.order);
        walk.keep();
        walk
    }

    fn run(mut self, stop: &dyn Fn() -> bool) -> Plan {
        for step in 0..self.evaluations {
            if step % 64 == 0 && stop() {
                break;
            }
            let progress = step as f64 / self.evaluations as f64;
            let heat = self.heat * COOLING.powf(progress) * self.best.makespan as f64;
            self.step(heat);
        }
        self.best
    }

    fn step(&mut self, heat: f64) {
        let Some(undo) = self.propose() else { return };
        let value = self.decoder.decode(&self.device, &self.order);
        let rise = (value - self.value) as f64;
        if rise <= 0.0 || self.random.unit() < (-rise / heat).exp() {
            self.value = value;
            self.keep();
        } else {
            self.undo(undo);
        }
    }

    fn keep(&mut self) {
        if self.value < self.best.makespan {
            self.best = self.decoder.plan(&self.device);
        }
    }

    fn propose(&mut self) -> Option<Undo> {
        match self.random.below(8) {
            0..=2 => self.move_group(),
            3 => self.swap_groups(),
            4 => self.move_pair(),
            _ => self.move_op(),
        }
    }

    fn move_group(&mut self) -> Option<Undo> {
        let group = self.random.below(self.device.len());
        let to = self.random.below(self.instance.devices);
        self.relocate(&[(group, to)])
    }

    fn swap_groups(&mut self) -> Option<Undo> {
        let (a, b) = (self.random.below(self.device.len()), self.random.below(self.device.len()));
        self.relocate(&[(a, self.device[b]), (b, self.device[a])])
    }

    /// A group and one of its neighbours together, as a cut often moves along a chain.
    fn move_pair(&mut self) -> Option<Undo> {
        let op = self.random.below(self.instance.ops());
        let edges = &self.instance.outputs[op];
        let edge = (!edges.is_empty()).then(|| edges[self.random.below(edges.len())])?;
        let to = self.random.below(self.instance.devices);
        let (a, b) = (self.instance.group_of[op], self.instance.group_of[edge.op]);
        self.relocate(&[(a, to), (b, to)])
    }

    fn relocate(&mut self, moves: &[(usize, usize)]) -> Option<Undo> {
        if moves.iter().any(|&(group, to)| !self.instance.may(group, to))
            || moves.iter().all(|&(group, to)| self.device[group] == to)
            || (moves.len() > 1 && moves[0].0 == moves[1].0)
        {
            return None;
        }
        let before: Vec<_> = moves.iter().map(|&(group, _)| (group, self.device[group])).collect();
        for &(group, to) in moves {
            self.put(group, to);
        }
        let fits = (0..self.instance.devices).all(|d| self.instance.fits(self.used[d], d));
        if !fits {
            self.undo(Undo::Devices(before));
            return None;
        }
        Some(Undo::Devices(before))
    }

    fn put(&mut self, group: usize, to: usize) {
        self.used[self.device[group]] -= self.instance.group_memory[group];
        self.used[to] += self.instance.group_memory[group];
        self.device[group] = to;
    }

    /// Another place in the order between the op's last producer and its first consumer.
    fn move_op(&mut self) -> Option<Undo> {
        let op = self.random.below(self.order.len());
        let from = self.position[op];
        let low = self.instance.inputs[op].iter().map(|e| self.position[e.op] + 1).max().unwrap_or(0);
        let end = self.order.len();
        let high = self.instance.outputs[op].iter().map(|e| self.position[e.op]).min().unwrap_or(end);
        let to = low + self.random.below(high - low);
        (to != from).then(|| {
            self.shift(from, to);
            Undo::Order { from, to }
        })
    }

    fn shift(&mut self, from: usize, to: usize) {
        if from < to {
            self.order[from..=to].rotate_left(1);
        } else {
            self.order[to..=from].rotate_right(1);
        }
        self.index(from.min(to), from.max(to));
    }

    fn index(&mut self, first: usize, last: usize) {
        for at in first..=last {
            self.position[self.order[at]] = at;
        }
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Devices(before) => before.into_iter().rev().for_each(|(group, to)| self.put(group, to)),
            Undo::Order { from, to } => self.shift(to, from),
        }
    }
}

/// Marsaglia's xorshift64*: small, seeded, enough for a walk.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
