//! Pairs of tasks that one resource must order.

use super::literal::{Lit, TRUE};
use super::model::{Model, Move, Pair};
use crate::place::instance::Ticks;
use crate::place::problem::Links;
use crate::place::reach::Reach;

/// A task that occupies resources: an op, or a transfer while present.
#[derive(Clone, Copy)]
enum Task {
    Op(usize),
    Move(Move),
}

impl Model<'_> {
    /// Decide at the root what the windows decide; make literals for the rest.
    pub(crate) fn order_pairs(&mut self) {
        let reach = Reach::new(self.instance);
        let ops = self.instance.ops();
        for i in 0..ops {
            for j in (0..i).filter(|&j| !reach.ordered(i, j)) {
                let active = self.ops_together(i, j);
                self.pair(Task::Op(j), Task::Op(i), &[&[active]]);
            }
        }
        for k in 0..self.moves.len() {
            for l in 0..k {
                self.pair_moves(self.moves[l], self.moves[k], &reach);
            }
            if !self.instance.overlap {
                (0..ops).for_each(|op| self.pair_op_move(op, self.moves[k], &reach));
            }
        }
    }

    fn producer(&self, transfer: Move) -> usize {
        self.instance.nets[transfer.tensor].producer
    }

    /// Two transfers share a resource when they share a link, a port, or (without overlap) a device.
    fn pair_moves(&mut self, a: Move, b: Move, reach: &Reach) {
        let (p, q) = (self.producer(a), self.producer(b));
        if a.tensor == b.tensor && a.to == b.to {
            return;
        }
        let same_source = self.ops_together(p, q);
        let both = [a.present, b.present];
        let mut conditions: Vec<Vec<Lit>> = vec![];
        match self.instance.links {
            Links::Delay => return,
            Links::Serial if a.to != b.to => return,
            Links::Port if a.to == b.to => conditions.push(both.to_vec()),
            Links::Serial | Links::Port => conditions.push(vec![both[0], both[1], same_source]),
        }
        if !self.instance.overlap && a.to != b.to {
            conditions.push(vec![both[0], both[1], self.op_on(p, b.to)]);
            conditions.push(vec![both[0], both[1], self.op_on(q, a.to)]);
        }
        let views: Vec<&[Lit]> = conditions.iter().map(Vec::as_slice).collect();
        // A transfer that feeds (perhaps through others) the producer of another is over before.
        if self.consumed_before(a, q, reach) || self.consumed_before(b, p, reach) {
            return;
        }
        self.pair(Task::Move(a), Task::Move(b), &views);
    }

    /// Whether every consumer of the transfer precedes `op`, so that the transfer surely does.
    fn consumed_before(&self, transfer: Move, op: usize, reach: &Reach) -> bool {
        let consumers = &self.instance.nets[transfer.tensor].consumers;
        consumers.iter().all(|&v| v == op || reach.before(v, op))
    }

    fn pair_op_move(&mut self, op: usize, transfer: Move, reach: &Reach) {
        let producer = self.producer(transfer);
        let after = op == producer || reach.before(op, producer);
        if after || self.consumed_before(transfer, op, reach) {
            return;
        }
        let there = self.op_on(op, transfer.to);
        let here = self.ops_together(op, producer);
        self.pair(
            Task::Op(op),
            Task::Move(transfer),
            &[&[transfer.present, there], &[transfer.present, here]],
        );
    }

    fn node(task: Task) -> usize {
        match task {
            Task::Op(op) => op,
            Task::Move(transfer) => transfer.node,
        }
    }

    /// Least time of a task.
    fn least(&self, task: Task) -> Ticks {
        match task {
            Task::Op(op) => self.instance.shortest(op),
            Task::Move(m) => {
                let producer = self.instance.group_of[self.producer(m)];
                let sources = self.instance.choices(producer).filter(|&s| s != m.to);
                sources.map(|s| self.instance.move_ticks(m.tensor, s, m.to)).min().unwrap_or(0)
            }
        }
    }

    /// `a` before `b` or the reverse under each of `conditions`.
    fn pair(&mut self, a: Task, b: Task, conditions: &[&[Lit]]) {
        let live = |model: &Self, c: &[Lit]| !c.iter().any(|&lit| model.engine.is_false(lit));
        let conditions: Vec<&[Lit]> = conditions.iter().copied().filter(|c| live(self, c)).collect();
        if conditions.is_empty() {
            return;
        }
        let always = conditions.iter().any(|c| c.iter().all(|&lit| self.engine.is_true(lit)));
        let before = self.order_literal(a, b);
        let after = if always && before != !TRUE { !before } else { self.order_literal(b, a) };
        self.order_arc(a, b, before);
        self.order_arc(b, a, after);
        for condition in conditions {
            let clause: Vec<Lit> = condition.iter().map(|&lit| !lit).chain([before, after]).collect();
            self.require(&clause);
            let mut active = [TRUE; 3];
            active[..condition.len()].copy_from_slice(condition);
            self.pairs.push(Pair { first: Self::node(a), second: Self::node(b), active, before, after });
        }
    }

    /// A literal for "a ends before b starts"; false where the windows forbid it.
    fn order_literal(&mut self, a: Task, b: Task) -> Lit {
        let earliest = self.engine.bounds[2 * Self::node(a)];
        let latest = -self.engine.bounds[2 * Self::node(b) + 1];
        if earliest + self.least(a) > latest { !TRUE } else { self.engine.variable() }
    }

    fn order_arc(&mut self, a: Task, b: Task, lit: Lit) {
        if lit == !TRUE {
            return;
        }
        match a {
            Task::Op(op) => self.after_op(op, Self::node(b), 0, &[lit]),
            Task::Move(m) => self.after_move(m.tensor, m.to, m.node, Self::node(b), &[lit]),
        }
    }
}
