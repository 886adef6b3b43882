//! The joins of the model: for each node where paths meet, the tasks before and after it by device.

use super::load::{Item, Join};
use super::model::Model;
use crate::place::instance::{Instance, NEVER, Ticks};
use crate::place::reach::Reach;
use std::rc::Rc;

/// Beyond this many items in all, joins cost more than they prune.
const MOST_ITEMS: usize = 8_000;

/// Which joins a search reasons with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joins {
    /// At every op where paths meet: for proofs.
    All,
    /// At the origin and the end only: for finding plans quickly.
    Ends,
}

impl Model<'_> {
    /// Joins at the origin and the end for all ops, and at ops where paths meet.
    pub(crate) fn joins(&mut self, which: Joins) {
        let instance = self.instance;
        let reach = Reach::new(instance);
        let mut joins = vec![];
        for device in 0..instance.devices {
            joins.push(self.before(self.end(), None, device, &reach));
            joins.push(self.after(self.origin(), None, device, &reach));
        }
        let meets = |edges: &[crate::place::instance::Edge]| {
            let first = edges.first().map(|e| e.op);
            edges.iter().any(|e| Some(e.op) != first)
        };
        let inner = if which == Joins::All { instance.ops() } else { 0 };
        for op in 0..inner {
            for device in 0..instance.devices {
                if meets(&instance.inputs[op]) {
                    joins.push(self.before(op, Some(op), device, &reach));
                }
                if meets(&instance.outputs[op]) {
                    joins.push(self.after(op, Some(op), device, &reach));
                }
            }
        }
        joins.retain(|join| join.items.len() > 1);
        let mut items = 0;
        joins.retain(|join| {
            items += join.items.len();
            items <= MOST_ITEMS
        });
        let variables = self.engine.levels.len();
        let bounds = self.engine.bounds.len();
        self.engine.loads.index(&joins, bounds, variables);
        self.engine.joins = Rc::new(joins);
    }

    /// All ops that may be on `device` and precede `op` (all ops without one).
    fn before(&self, target: usize, op: Option<usize>, device: usize, reach: &Reach) -> Join {
        let instance = self.instance;
        let member = |i: usize| op.is_none_or(|op| reach.before(i, op));
        let tails = tails(instance, op, &member);
        let item = |i: usize| Item {
            bound: 2 * i as u32,
            offset: 0,
            length: instance.times[i][device],
            tail: tails[i * instance.devices + device],
            lit: self.op_on(i, device),
        };
        self.join(2 * target as u32, device, &member, item)
    }

    fn after(&self, target: usize, op: Option<usize>, device: usize, reach: &Reach) -> Join {
        let instance = self.instance;
        let member = |i: usize| op.is_none_or(|op| reach.before(op, i));
        let heads = heads(instance, op, &member);
        let item = |i: usize| Item {
            bound: 2 * i as u32 + 1,
            offset: -instance.times[i][device],
            length: instance.times[i][device],
            tail: heads[i * instance.devices + device],
            lit: self.op_on(i, device),
        };
        self.join(2 * target as u32 + 1, device, &member, item)
    }

    fn join(
        &self,
        target: u32,
        device: usize,
        member: &impl Fn(usize) -> bool,
        item: impl Fn(usize) -> Item,
    ) -> Join {
        let may = |i: &usize| !self.engine.is_false(self.op_on(*i, device)) && member(*i);
        let mut items: Vec<Item> = (0..self.instance.ops()).filter(may).map(item).collect();
        items.sort_by_key(|item| -item.tail);
        Join { target, items }
    }
}

/// Least time over placements from the end of each member on each device to the start of `op` (or the end).
fn tails(instance: &Instance, op: Option<usize>, member: &impl Fn(usize) -> bool) -> Vec<Ticks> {
    let devices = instance.devices;
    let mut tails = vec![0; instance.ops() * devices];
    for &u in instance.topological.iter().rev().filter(|&&u| member(u)) {
        for d in instance.choices(instance.group_of[u]) {
            let step = |v: usize, to: usize| {
                if op == Some(v) { 0 } else { instance.times[v][to] + tails[v * devices + to] }
            };
            let outputs = instance.outputs[u].iter().filter(|e| op == Some(e.op) || member(e.op));
            let path = |e: &crate::place::instance::Edge| {
                let moved = |to: usize| if to == d { 0 } else { instance.move_ticks(e.tensor, d, to) };
                ends(instance, u, d, e.op).map(|to| moved(to) + step(e.op, to)).min().unwrap_or(NEVER)
            };
            tails[u * devices + d] = outputs.map(path).max().unwrap_or(0).min(NEVER);
        }
    }
    tails
}

/// Least time from the start of `op` (or from the origin) to the start of each member on each device.
fn heads(instance: &Instance, op: Option<usize>, member: &impl Fn(usize) -> bool) -> Vec<Ticks> {
    let devices = instance.devices;
    let mut heads = vec![0; instance.ops() * devices];
    for &v in instance.topological.iter().filter(|&&v| member(v)) {
        for d in instance.choices(instance.group_of[v]) {
            let step = |u: usize, from: usize| {
                instance.times[u][from] + if op == Some(u) { 0 } else { heads[u * devices + from] }
            };
            let inputs = instance.inputs[v].iter().filter(|e| op == Some(e.op) || member(e.op));
            let path = |e: &crate::place::instance::Edge| {
                let moved = |from: usize| if from == d { 0 } else { instance.move_ticks(e.tensor, from, d) };
                ends(instance, v, d, e.op).map(|from| moved(from) + step(e.op, from)).min().unwrap_or(NEVER)
            };
            heads[v * devices + d] = inputs.map(path).max().unwrap_or(0).min(NEVER);
        }
    }
    heads
}

/// Devices of the other end of an edge of `op` on `device`.
fn ends(instance: &Instance, op: usize, device: usize, other: usize) -> impl Iterator<Item = usize> + '_ {
    let tied = instance.group_of[op] == instance.group_of[other];
    instance.choices(instance.group_of[other]).filter(move |&to| !tied || to == device)
}
