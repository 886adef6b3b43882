//! What the tasks of one device together imply: a join waits for all work before it, memory has an end.
//!
//! For a set of tasks on one device that all precede a node `j`:
//! `start[j] >= min head + sum of times + min tail`, where a head is the earliest start of a task and a tail the
//! longest static path from its end to `j` (Carlier 1982). The mirror image bounds latest starts.

use super::engine::{Cause, Conflict, Engine, Reason};
use super::literal::Lit;
use crate::place::instance::Ticks;

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

#[derive(Default)]
pub(crate) struct Loads {
    pub(crate) joins: Vec<Join>,
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
    pub(crate) fn index(&mut self, variables: usize) {
        self.relevant = vec![false; variables];
        let joined = self.joins.iter().flat_map(|join| join.items.iter().map(|item| item.lit));
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
        for join in &loads.joins {
            self.propagate_join(join, heads)?;
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
        let full: Vec<Lit> = memory
            .items
            .iter()
            .filter(|item| self.is_free(item.0) && item.1 > most)
            .map(|item| item.0)
            .collect();
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

    fn propagate_join(&mut self, join: &Join, heads: &mut Vec<(Ticks, u32)>) -> Result<(), Conflict> {
        heads.clear();
        for (k, item) in join.items.iter().enumerate() {
            if self.is_true(item.lit) {
                heads.push((self.bounds[item.bound as usize] + item.offset, k as u32));
            }
        }
        let mut best: Option<Subset> = None;
        for &(head, _) in heads.iter() {
            if best.as_ref().is_some_and(|b| b.head == head) {
                continue;
            }
            let subset = subset(join, heads, head);
            self.exclude(join, heads, &subset);
            if best.as_ref().is_none_or(|b| subset.value > b.value) {
                best = Some(subset);
            }
        }
        let Some(best) = best else { return Ok(()) };
        if best.value <= self.bounds[join.target as usize] {
            return Ok(());
        }
        let mut lits = vec![];
        self.explain_subset(join, heads, best.head, best.tail, &mut lits);
        let (start, length) = self.pooled(lits);
        self.tighten(join.target, best.value, Cause::Pool(start, length))
    }

    /// Open tasks that would make the subset end too late are not on this device.
    fn exclude(&mut self, join: &Join, heads: &[(Ticks, u32)], subset: &Subset) {
        let limit = -self.bounds[join.target as usize ^ 1];
        for item in &join.items {
            let value = subset.head + subset.sum + item.length + subset.least_tail.min(item.tail);
            if value <= limit || !self.is_free(item.lit) {
                continue;
            }
            if self.bounds[item.bound as usize] + item.offset < subset.head {
                continue;
            }
            let mut lits = vec![];
            self.explain_subset(join, heads, subset.head, Ticks::MIN, &mut lits);
            self.explain_bound(self.latest[item.bound as usize], subset.head - item.offset, &mut lits);
            let opposite = join.target ^ 1;
            self.explain_bound(self.latest[opposite as usize], 1 - value, &mut lits);
            let (start, length) = self.pooled(lits);
            self.assign(!item.lit, Reason::Pool(start, length));
        }
    }

    fn explain_subset(
        &self,
        join: &Join,
        heads: &[(Ticks, u32)],
        head: Ticks,
        tail: Ticks,
        into: &mut Conflict,
    ) {
        for &(h, k) in heads {
            let item = &join.items[k as usize];
            if h >= head && item.tail >= tail {
                into.push(item.lit);
                self.explain_bound(self.latest[item.bound as usize], head - item.offset, into);
            }
        }
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
