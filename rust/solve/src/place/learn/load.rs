//! What the tasks of one device together imply: a join waits for all work before it, memory has an end.
//!
//! For a set of tasks on one device that all precede a node `j`:
//! `start[j] >= min head + sum of times + min tail`, where a head is the earliest start of a task and a tail the
//! longest static path from its end to `j` (Carlier 1982). The mirror image bounds latest starts.

use super::engine::{Cause, Conflict, Engine, Reason};
use super::literal::Lit;
use crate::place::instance::Ticks;
use std::rc::Rc;

/// A task that may be in the set: on the device when `lit` holds.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// The bound that is its head, shifted by `offset`.
    pub(crate) bound: u32,
    pub(crate) offset: Ticks,
    pub(crate) length: Ticks,
    pub(crate) tail: Ticks,
    pub(crate) lit: Lit,
}

/// Tasks on one device that all come before (or, mirrored, after) the node of `target`; by decreasing tail.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub(crate) target: u32,
    pub(crate) items: Vec<Item>,
}

/// Groups that may be on one device and its capacity.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) items: Vec<(Lit, f64)>,
    pub(crate) capacity: f64,
}

/// Why a join moved its target or excluded a task: the items that were true and late enough at that moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinReason {
    join: u32,
    head: Ticks,
    tail: Ticks,
    /// Lengths of the trail and of the entries at that moment.
    trail: u32,
    entries: u32,
    /// The excluded item and the end it would have caused; none for a moved target.
    item: Option<(u32, Ticks)>,
}

#[derive(Default)]
pub(crate) struct Loads {
    pub(crate) memories: Vec<Memory>,
    untouched: bool,
    /// Variables that occur in an item.
    relevant: Vec<bool>,
}

/// Outcome of the tasks whose head is at least that of item `first`.
struct Subset {
    head: Ticks,
    /// Largest `head + sum + tail` over the tails.
    value: Ticks,
    tail: Ticks,
    /// Sum over all of the subset, and its smallest tail.
    sum: Ticks,
    least_tail: Ticks,
}

impl Loads {
    /// Once, when joins and memories are complete.
    pub(crate) fn index(&mut self, joins: &[Join], variables: usize) {
        self.relevant = vec![false; variables];
        let joined = joins.iter().flat_map(|join| join.items.iter().map(|item| item.lit));
        let stored = self.memories.iter().flat_map(|memory| memory.items.iter().map(|item| item.0));
        joined.chain(stored).for_each(|lit| self.relevant[lit.variable()] = true);
    }

    pub(crate) fn touch_literal(&mut self, lit: Lit) {
        self.untouched &= !self.relevant.get(lit.variable()).is_some_and(|&relevant| relevant);
    }

    pub(crate) fn touch(&mut self) {
        self.untouched = false;
    }
}

impl Engine {
    /// One round over all joins and memories; whether anything changed.
    pub(crate) fn propagate_loads(&mut self) -> Result<bool, Conflict> {
        if std::mem::replace(&mut self.loads.untouched, true) {
            return Ok(false);
        }
        let before = (self.entries.len(), self.trail.len());
        let loads = std::mem::take(&mut self.loads);
        let mut heads = vec![];
        let result = self.propagate_all(&loads, &mut heads);
        let untouched = self.loads.untouched;
        self.loads = Loads { untouched, ..loads };
        result?;
        let changed = before != (self.entries.len(), self.trail.len());
        self.loads.untouched = !changed;
        Ok(changed)
    }

    fn propagate_all(&mut self, loads: &Loads, heads: &mut Vec<(Ticks, u32)>) -> Result<(), Conflict> {
        for memory in &loads.memories {
            self.propagate_memory(memory)?;
        }
        let joins = Rc::clone(&self.joins);
        for (k, join) in joins.iter().enumerate() {
            self.propagate_join(k as u32, join, heads)?;
        }
        Ok(())
    }

    fn propagate_memory(&mut self, memory: &Memory) -> Result<(), Conflict> {
        let on = |lit: Lit| self.is_true(lit);
        let used: f64 = memory.items.iter().filter(|item| on(item.0)).map(|item| item.1).sum();
        let reason = || memory.items.iter().filter(|item| on(item.0) && item.1 > 0.0).map(|item| item.0);
        if used > memory.capacity {
            return Err(reason().collect());
        }
        let most = memory.capacity - used;
        let full: Vec<Lit> =
            memory.items.iter().filter(|item| self.is_free(item.0) && item.1 > most).map(|item| item.0).collect();
        if full.is_empty() {
            return Ok(());
        }
        let reason = self.pooled(reason().collect());
        for lit in full {
            // Two devices share one variable per group: the literal may have been set by this loop.
            if self.is_free(lit) {
                self.assign(!lit, Reason::Pool(reason.0, reason.1));
            }
        }
        Ok(())
    }

    fn pooled(&mut self, lits: Vec<Lit>) -> (u32, u32) {
        let start = self.pool.len() as u32;
        let length = lits.len() as u32;
        self.pool.extend(lits);
        (start, length)
    }

    fn propagate_join(&mut self, k: u32, join: &Join, heads: &mut Vec<(Ticks, u32)>) -> Result<(), Conflict> {
        heads.clear();
        for (k, item) in join.items.iter().enumerate() {
            if self.is_true(item.lit) {
                heads.push((self.bounds[item.bound as usize] + item.offset, k as u32));
            }
        }
        if self.harmless(join, heads) {
            return Ok(());
        }
        let mut best: Option<Subset> = None;
        for &(head, _) in heads.iter() {
            if best.as_ref().is_some_and(|b| b.head == head) {
                continue;
            }
            let subset = subset(join, heads, head);
            self.exclude(k, join, &subset);
            if best.as_ref().is_none_or(|b| subset.value > b.value) {
                best = Some(subset);
            }
        }
        let Some(best) = best else { return Ok(()) };
        if best.value <= self.bounds[join.target as usize] {
            return Ok(());
        }
        let reason = self.reason(k, best.head, best.tail, None);
        self.tighten(join.target, best.value, Cause::Join(reason))
    }

    /// Whether the join can neither move its target nor exclude a task: by the sum of all, the longest open task
    /// and the largest head and tail.
    fn harmless(&self, join: &Join, heads: &[(Ticks, u32)]) -> bool {
        let Some(last) = heads.iter().map(|&(head, _)| head).max() else { return true };
        let tail = |&(_, k): &(Ticks, u32)| join.items[k as usize].tail;
        let sum: Ticks = heads.iter().map(|&(_, k)| join.items[k as usize].length).sum();
        let open = join.items.iter().filter(|item| self.is_free(item.lit));
        let longest = open.map(|item| item.length).max().unwrap_or(0);
        let most = last + sum + heads.first().map_or(0, tail);
        most <= self.bounds[join.target as usize] && most + longest <= -self.bounds[join.target as usize ^ 1]
    }

    fn reason(&mut self, join: u32, head: Ticks, tail: Ticks, item: Option<(u32, Ticks)>) -> u32 {
        let (trail, entries) = (self.trail.len() as u32, self.entries.len() as u32);
        self.join_reasons.push(JoinReason { join, head, tail, trail, entries, item });
        self.join_reasons.len() as u32 - 1
    }

    /// Open tasks that would make the subset end too late are not on this device.
    fn exclude(&mut self, k: u32, join: &Join, subset: &Subset) {
        let limit = -self.bounds[join.target as usize ^ 1];
        for (i, item) in join.items.iter().enumerate() {
            let value = subset.head + subset.sum + item.length + subset.least_tail.min(item.tail);
            if value <= limit || !self.is_free(item.lit) {
                continue;
            }
            if self.bounds[item.bound as usize] + item.offset >= subset.head {
                let reason = self.reason(k, subset.head, Ticks::MIN, Some((i as u32, value)));
                self.assign(!item.lit, Reason::Join(reason));
            }
        }
    }

    /// Literals and bounds behind a join's conclusion.
    pub(crate) fn explain_join(&self, reason: u32, need: &mut impl FnMut(u32, Ticks), into: &mut Conflict) {
        let reason = self.join_reasons[reason as usize];
        let join = &self.joins[reason.join as usize];
        for item in join.items.iter().filter(|item| item.tail >= reason.tail) {
            let held = self.is_true(item.lit) && self.positions[item.lit.variable()] < reason.trail;
            let entry = self.entry_before(item.bound, reason.entries);
            if held && self.entries[entry as usize].value + item.offset >= reason.head {
                into.push(item.lit);
                need(entry, reason.head - item.offset);
            }
        }
        if let Some((k, value)) = reason.item {
            let item = &join.items[k as usize];
            need(self.entry_before(item.bound, reason.entries), reason.head - item.offset);
            need(self.entry_before(join.target ^ 1, reason.entries), 1 - value);
        }
    }

    /// The latest entry of a bound among the first `entries`.
    fn entry_before(&self, bound: u32, entries: u32) -> u32 {
        let mut entry = self.latest[bound as usize];
        while entry >= entries {
            entry = self.entries[entry as usize].previous;
        }
        entry
    }
}

fn subset(join: &Join, heads: &[(Ticks, u32)], head: Ticks) -> Subset {
    let mut s = Subset { head, value: Ticks::MIN, tail: 0, sum: 0, least_tail: Ticks::MAX };
    for &(h, k) in heads {
        if h < head {
            continue;
        }
        let item = &join.items[k as usize];
        s.sum += item.length;
        s.least_tail = item.tail;
        if head + s.sum + item.tail > s.value {
            (s.value, s.tail) = (head + s.sum + item.tail, item.tail);
        }
    }
    s
}
