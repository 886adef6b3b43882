//! The instance as literals, arcs and clauses, for makespans up to a limit.

use super::engine::Engine;
use super::joins::Joins;
use super::literal::{Lit, TRUE};
use super::load::Memory;
use crate::place::instance::{Instance, Ticks};
use crate::place::problem::Links;
use std::collections::BTreeMap;

/// A transfer of a tensor to a device: a task that exists while `present`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub(crate) tensor: usize,
    pub(crate) to: usize,
    pub(crate) node: usize,
    pub(crate) present: Lit,
}

/// Two tasks that may not overlap while `active` holds (a disjunction of conjunctions is several pairs).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) first: usize,
    pub(crate) second: usize,
    pub(crate) active: [Lit; 3],
    pub(crate) before: Lit,
    pub(crate) after: Lit,
}

pub(crate) struct Model<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) engine: Engine,
    /// `on[group][device]`.
    pub(crate) on: Vec<Vec<Lit>>,
    same: BTreeMap<(usize, usize), Lit>,
    pub(crate) moves: Vec<Move>,
    pub(crate) pairs: Vec<Pair>,
    /// False when the root already contradicts itself.
    pub(crate) consistent: bool,
}

impl<'a> Model<'a> {
    pub(crate) fn new(instance: &'a Instance, limit: Ticks, joins: Joins) -> Self {
        let transfers =
            if instance.links == Links::Delay { 0 } else { instance.nets.len() * instance.devices };
        let mut model = Self {
            instance,
            engine: Engine::new(instance.ops() + 2 + transfers, 0, limit),
            on: vec![],
            same: BTreeMap::new(),
            moves: vec![],
            pairs: vec![],
            consistent: true,
        };
        model.on = (0..instance.groups.len()).map(|g| model.devices_of(g)).collect();
        model.break_symmetry();
        model.op_arcs();
        model.edges();
        model.memory();
        model.joins(joins);
        model.root();
        model.order_pairs();
        model.root();
        model
    }

    pub(crate) fn origin(&self) -> usize {
        self.instance.ops()
    }

    pub(crate) fn end(&self) -> usize {
        self.instance.ops() + 1
    }

    pub(crate) fn require(&mut self, clause: &[Lit]) {
        self.consistent &= self.engine.clause(clause);
    }

    pub(crate) fn op_on(&self, op: usize, device: usize) -> Lit {
        self.on[self.instance.group_of[op]][device]
    }

    /// Propagate at the root.
    pub(crate) fn root(&mut self) {
        (0..2 * self.engine.nodes() as u32).for_each(|b| self.engine.enqueue(b));
        self.consistent = self.consistent && self.engine.propagate().is_ok();
    }

    fn devices_of(&mut self, group: usize) -> Vec<Lit> {
        let mut lits = vec![!TRUE; self.instance.devices];
        let choices: Vec<usize> = self.instance.choices(group).collect();
        match choices[..] {
            [only] => lits[only] = TRUE,
            [a, b] => {
                lits[a] = self.engine.variable();
                lits[b] = !lits[a];
            }
            _ => self.exactly_one(&choices, &mut lits),
        }
        lits
    }

    fn exactly_one(&mut self, choices: &[usize], lits: &mut [Lit]) {
        for &d in choices {
            lits[d] = self.engine.variable();
        }
        let some: Vec<Lit> = choices.iter().map(|&d| lits[d]).collect();
        self.require(&some);
        for (k, &a) in some.iter().enumerate() {
            some[..k].iter().for_each(|&b| self.require(&[!a, !b]));
        }
    }

    /// Literal for two groups on one device.
    pub(crate) fn together(&mut self, g: usize, h: usize) -> Lit {
        if g == h {
            return TRUE;
        }
        let key = (g.min(h), g.max(h));
        if let Some(&lit) = self.same.get(&key) {
            return lit;
        }
        let lit = self.engine.variable();
        for d in 0..self.instance.devices {
            let (a, b) = (self.on[g][d], self.on[h][d]);
            self.require(&[!a, !b, lit]);
            self.require(&[!a, b, !lit]);
            self.require(&[a, !b, !lit]);
        }
        self.same.insert(key, lit);
        lit
    }

    pub(crate) fn ops_together(&mut self, i: usize, j: usize) -> Lit {
        self.together(self.instance.group_of[i], self.instance.group_of[j])
    }

    /// `start[to] >= start[op] + time of op` while `conditions` hold; slower devices add to the base.
    pub(crate) fn after_op(&mut self, op: usize, to: usize, delay: Ticks, conditions: &[Lit]) {
        let base = self.instance.shortest(op);
        self.engine.arc(op, to, base + delay, conditions);
        let choices: Vec<usize> = self.instance.choices(self.instance.group_of[op]).collect();
        for d in choices {
            let time = self.instance.times[op][d];
            if time > base {
                let all: Vec<Lit> = conditions.iter().copied().chain([self.op_on(op, d)]).collect();
                self.engine.arc(op, to, time + delay, &all);
            }
        }
    }

    fn op_arcs(&mut self) {
        for op in 0..self.instance.ops() {
            self.engine.arc(self.origin(), op, 0, &[]);
            self.after_op(op, self.end(), 0, &[]);
        }
    }

    fn edges(&mut self) {
        for tensor in 0..self.instance.nets.len() {
            for k in 0..self.instance.nets[tensor].consumers.len() {
                let consumer = self.instance.nets[tensor].consumers[k];
                self.edge(tensor, consumer);
            }
            if self.instance.links != Links::Delay {
                (0..self.instance.devices).for_each(|to| self.transfer(tensor, to));
            }
        }
    }

    /// A consumer waits for its producer, and for the transfer when they are apart.
    fn edge(&mut self, tensor: usize, consumer: usize) {
        let producer = self.instance.nets[tensor].producer;
        self.after_op(producer, consumer, 0, &[]);
        let apart = !self.ops_together(producer, consumer);
        if self.engine.is_false(apart) {
            return;
        }
        let least = self.least_move(tensor, consumer);
        if least > 0 {
            self.after_op(producer, consumer, least, &[apart]);
        }
        if self.instance.links == Links::Delay {
            self.slower_moves(tensor, consumer, least);
        }
    }

    fn routes(&self, tensor: usize, consumer: usize) -> Vec<(usize, usize)> {
        let group = |op: usize| self.instance.group_of[op];
        let from = group(self.instance.nets[tensor].producer);
        let to =
            |s: usize| self.instance.choices(group(consumer)).filter(move |&d| d != s).map(move |d| (s, d));
        self.instance.choices(from).flat_map(to).collect()
    }

    fn least_move(&self, tensor: usize, consumer: usize) -> Ticks {
        let routes = self.routes(tensor, consumer);
        routes.iter().map(|&(s, d)| self.instance.move_ticks(tensor, s, d)).min().unwrap_or(0)
    }

    /// Routes that take longer than the fastest, or start from a slower device.
    fn slower_moves(&mut self, tensor: usize, consumer: usize, least: Ticks) {
        let producer = self.instance.nets[tensor].producer;
        let base = self.instance.shortest(producer) + least;
        for (s, d) in self.routes(tensor, consumer) {
            let weight = self.instance.times[producer][s] + self.instance.move_ticks(tensor, s, d);
            if weight > base {
                let conditions = [self.op_on(producer, s), self.op_on(consumer, d)];
                self.engine.arc(producer, consumer, weight, &conditions);
            }
        }
    }

    fn transfer(&mut self, tensor: usize, to: usize) {
        let node = self.instance.ops() + 2 + tensor * self.instance.devices + to;
        let producer = self.instance.nets[tensor].producer;
        let consumers = self.instance.nets[tensor].consumers.clone();
        let away = !self.op_on(producer, to);
        let apart = |model: &Self, v: usize| !model.engine.is_false(model.op_on(v, to));
        let wanted: Vec<usize> = consumers.into_iter().filter(|&v| apart(self, v)).collect();
        let remote = |&v: &usize| self.instance.group_of[v] != self.instance.group_of[producer];
        if self.engine.is_false(away) || !wanted.iter().any(remote) {
            return;
        }
        let present = self.engine.variable();
        self.require(&[!present, away]);
        let some: Vec<Lit> = wanted.iter().map(|&v| self.op_on(v, to)).chain([!present]).collect();
        self.require(&some);
        self.after_op(producer, node, 0, &[present]);
        for v in wanted {
            self.require(&[!self.op_on(v, to), !away, present]);
            self.after_move(tensor, to, node, v, &[present, self.op_on(v, to)]);
        }
        self.after_move(tensor, to, node, self.end(), &[present]);
        self.moves.push(Move { tensor, to, node, present });
    }

    /// `start[next] >= start of the transfer + its time` while `conditions` hold.
    pub(crate) fn after_move(
        &mut self,
        tensor: usize,
        to: usize,
        node: usize,
        next: usize,
        conditions: &[Lit],
    ) {
        let producer = self.instance.nets[tensor].producer;
        let sources: Vec<usize> =
            self.instance.choices(self.instance.group_of[producer]).filter(|&s| s != to).collect();
        let time = |s: usize| self.instance.move_ticks(tensor, s, to);
        let base = sources.iter().map(|&s| time(s)).min().unwrap_or(0);
        self.engine.arc(node, next, base, conditions);
        for s in sources.into_iter().filter(|&s| time(s) > base) {
            let all: Vec<Lit> = conditions.iter().copied().chain([self.op_on(producer, s)]).collect();
            self.engine.arc(node, next, time(s), &all);
        }
    }

    fn memory(&mut self) {
        for d in 0..self.instance.devices {
            let items: Vec<(Lit, f64)> =
                (0..self.on.len()).map(|g| (self.on[g][d], self.instance.group_memory[g])).collect();
            let capacity = self.instance.capacity[d] * (1.0 + 1e-12);
            if items.iter().map(|item| item.1).sum::<f64>() > capacity {
                self.engine.loads.memories.push(Memory { items, capacity });
            }
        }
    }
}
