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

/// Which joins and memories have something new to say.
#[derive(Default)]
pub(crate) struct Loads {
    pub(crate) memories: Vec<Memory>,
    /// Joins that read a bound, and a variable.
    by_bound: Vec<Vec<u32>>,
    by_variable: Vec<Vec<u32>>,
    pending: Vec<u32>,
    is_pending: Vec<bool>,
    /// Variables of memories, and whether one changed.
    stored: Vec<bool>,
    memory_changed: bool,
}

/// The tasks whose head is at least `head`.
struct Subset {
    head: Ticks,
    sum: Ticks,
    least_tail: Ticks,
}

impl Loads {
    /// Once, when joins and memories are complete.
    pub(crate) fn index(&mut self, joins: &[Join], bounds: usize, variables: usize) {
        self.by_bound = vec![vec![]; bounds];
        self.by_variable = vec![vec![]; variables];
        self.stored = vec![false; variables];
        self.is_pending = vec![false; joins.len()];
        for (k, join) in joins.iter().enumerate() {
            let k = k as u32;
            self.by_bound[join.target as usize ^ 1].push(k);
            for item in &join.items {
                self.by_bound[item.bound as usize].push(k);
                self.by_variable[item.lit.variable()].push(k);
            }
            self.add(k);
        }
        let stored = self.memories.iter().flat_map(|memory| memory.items.iter().map(|item| item.0));
        stored.for_each(|lit| self.stored[lit.variable()] = true);
        self.memory_changed = true;
    }

    fn add(&mut self, join: u32) {
        if !std::mem::replace(&mut self.is_pending[join as usize], true) {
            self.pending.push(join);
        }
    }

    pub(crate) fn touch_literal(&mut self, lit: Lit) {
        let v = lit.variable();
        self.memory_changed |= self.stored.get(v).is_some_and(|&stored| stored);
        for k in 0..self.by_variable.get(v).map_or(0, Vec::len) {
            self.add(self.by_variable[v][k]);
        }
    }

    pub(crate) fn touch_bound(&mut self, bound: u32) {
        for k in 0..self.by_bound.get(bound as usize).map_or(0, Vec::len) {
            self.add(self.by_bound[bound as usize][k]);
        }
    }

    /// After a return to an earlier state, which had nothing pending.
    pub(crate) fn settle(&mut self) {
        self.pending.drain(..).for_each(|join| self.is_pending[join as usize] = false);
        self.memory_changed = false;
    }
}

impl Engine {
    /// Memories if they changed, else one pending join; whether there was one.
    pub(crate) fn propagate_loads(&mut self) -> Result<bool, Conflict> {
        if std::mem::take(&mut self.loads.memory_changed) {
            let memories = std::mem::take(&mut self.loads.memories);
            let result = memories.iter().try_for_each(|memory| self.propagate_memory(memory));
            self.loads.memories = memories;
            return result.map(|()| true);
        }
        let Some(k) = self.loads.pending.pop() else { return Ok(false) };
        self.loads.is_pending[k as usize] = false;
        let joins = Rc::clone(&self.joins);
        self.propagate_join(k, &joins[k as usize])?;
        Ok(true)
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

    fn propagate_join(&mut self, k: u32, join: &Join) -> Result<(), Conflict> {
        let heads = self.heads(join);
        let open = join.items.iter().filter(|item| self.is_free(item.lit));
        let longest = open.map(|item| item.length).max();
        let limit = -self.bounds[join.target as usize ^ 1];
        let mut best = (self.bounds[join.target as usize], None);
        // By decreasing head, so that sums grow one task at a time; the full subset only where it can matter.
        let (mut sum, mut least, mut most) = (0, Ticks::MAX, Ticks::MIN);
        for (at, &(head, i)) in heads.iter().enumerate() {
            let item = &join.items[i as usize];
            (sum, least, most) = (sum + item.length, least.min(item.tail), most.max(item.tail));
            if heads.get(at + 1).is_some_and(|next| next.0 == head) {
                continue;
            }
            if head + sum + most > best.0 {
                let (value, tail) = largest(join, &heads[..=at], head);
                if value > best.0 {
                    best = (value, Some((head, tail)));
                }
            }
            if longest.is_some_and(|longest| head + sum + longest + least > limit) {
                self.exclude(k, join, &Subset { head, sum, least_tail: least });
            }
        }
        let (value, Some((head, tail))) = best else { return Ok(()) };
        let reason = self.reason(k, head, tail, None);
        self.tighten(join.target, value, Cause::Join(reason))
    }

    /// Heads of the items that hold, the latest first.
    fn heads(&self, join: &Join) -> Vec<(Ticks, u32)> {
        let items = join.items.iter().enumerate().filter(|(_, item)| self.is_true(item.lit));
        let head = |item: &Item| self.bounds[item.bound as usize] + item.offset;
        let mut heads: Vec<(Ticks, u32)> = items.map(|(k, item)| (head(item), k as u32)).collect();
        heads.sort_unstable_by(|a, b| b.cmp(a));
        heads
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

/// Largest `head + sum + tail` over the tasks of `heads` with at least that tail.
fn largest(join: &Join, heads: &[(Ticks, u32)], head: Ticks) -> (Ticks, Ticks) {
    let mut items: Vec<u32> = heads.iter().map(|&(_, k)| k).collect();
    // Items of a join are stored by decreasing tail.
    items.sort_unstable();
    let (mut sum, mut best) = (0, (Ticks::MIN, 0));
    for k in items {
        let item = &join.items[k as usize];
        sum += item.length;
        if head + sum + item.tail > best.0 {
            best = (head + sum + item.tail, item.tail);
        }
    }
    best
}
