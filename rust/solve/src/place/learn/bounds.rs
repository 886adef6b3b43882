//! Propagation of starts along active arcs, and its explanation in literals.

use super::engine::{Arc, Cause, Conflict, Engine, Reason};
use super::literal::{Lit, TRUE};
use crate::place::instance::Ticks;
use std::collections::BinaryHeap;

enum Status {
    Active,
    /// One condition is open.
    Almost(Lit),
    Idle,
}

/// Entries yet to be explained, the latest on top.
#[derive(Default)]
struct Pending(BinaryHeap<(u32, Ticks)>);

impl Pending {
    fn insert(&mut self, entry: u32, need: Ticks) {
        self.0.push((entry, need));
    }

    /// The latest entry with its largest need.
    fn pop(&mut self) -> Option<(u32, Ticks)> {
        let top = self.0.pop()?;
        while self.0.peek().is_some_and(|next| next.0 == top.0) {
            self.0.pop();
        }
        Some(top)
    }
}

impl Engine {
    /// `start[to] >= start[from] + weight` while all `conditions` hold.
    pub(crate) fn arc(&mut self, from: usize, to: usize, weight: Ticks, conditions: &[Lit]) {
        let mut padded = [TRUE; 3];
        padded[..conditions.len()].copy_from_slice(conditions);
        let index = self.arcs.len() as u32;
        self.arcs.push(Arc { from: from as u32, to: to as u32, weight, conditions: padded });
        self.outgoing[from].push(index);
        self.incoming[to].push(index);
        for lit in conditions {
            self.guarded[lit.index()].push(index);
        }
    }

    fn status(&self, arc: &Arc) -> Status {
        let mut open = None;
        for &lit in &arc.conditions {
            if self.is_false(lit) || (self.is_free(lit) && open.is_some()) {
                return Status::Idle;
            }
            if self.is_free(lit) {
                open = Some(lit);
            }
        }
        open.map_or(Status::Active, Status::Almost)
    }

    /// Arcs that `lit` may have activated.
    pub(crate) fn propagate_guarded(&mut self, lit: Lit) -> Result<(), Conflict> {
        for k in 0..self.guarded[lit.index()].len() {
            let arc = self.guarded[lit.index()][k];
            self.propagate_arc(arc)?;
        }
        Ok(())
    }

    /// Arcs on the side of the bound that changed.
    pub(crate) fn propagate_bound(&mut self, bound: u32) -> Result<(), Conflict> {
        self.loads.touch_bound(bound);
        let node = (bound / 2) as usize;
        let late = bound % 2 == 1;
        let count = if late { self.incoming[node].len() } else { self.outgoing[node].len() };
        for k in 0..count {
            let arc = if late { self.incoming[node][k] } else { self.outgoing[node][k] };
            self.propagate_arc(arc)?;
        }
        Ok(())
    }

    fn propagate_arc(&mut self, index: u32) -> Result<(), Conflict> {
        let arc = self.arcs[index as usize];
        match self.status(&arc) {
            Status::Idle => Ok(()),
            Status::Active => {
                let (early, late) = (2 * arc.from, 2 * arc.to + 1);
                let down = self.bounds[early as usize] + arc.weight;
                self.tighten(2 * arc.to, down, Cause::Arc(index, self.latest[early as usize]))?;
                let up = self.bounds[late as usize] + arc.weight;
                self.tighten(2 * arc.from + 1, up, Cause::Arc(index, self.latest[late as usize]))
            }
            Status::Almost(lit) => {
                self.refute(index, &arc, lit);
                Ok(())
            }
        }
    }

    /// The last open condition of an arc that does not fit is false.
    fn refute(&mut self, index: u32, arc: &Arc, lit: Lit) {
        let (early, late) = (2 * arc.from as usize, 2 * arc.to as usize + 1);
        if self.bounds[early] + arc.weight + self.bounds[late] > 0 {
            let reason = Reason::Arc(self.arc_reasons.len() as u32);
            self.arc_reasons.push((index, self.latest[early], self.latest[late]));
            self.assign(!lit, reason);
        }
    }

    /// Literals for `bound of entry >= need` of every seed, weakened through older entries where those suffice.
    ///
    /// Latest entries first, each at most once with the largest need: polynomial even where joins share their tasks.
    pub(crate) fn explain_bounds(&self, seeds: &[(u32, Ticks)], into: &mut Conflict) {
        let mut pending = Pending::default();
        for &(entry, need) in seeds {
            pending.insert(entry, need);
        }
        while let Some((entry, need)) = pending.pop() {
            let weakest = self.weakest(entry, need);
            if weakest != entry {
                pending.insert(weakest, need);
                continue;
            }
            match self.entries[entry as usize].cause {
                Cause::Root => {}
                Cause::Join(reason) => self.explain_join(reason, &mut |e, n| pending.insert(e, n), into),
                Cause::Arc(arc, source) => {
                    let arc = &self.arcs[arc as usize];
                    into.extend(arc.conditions.iter().filter(|&&lit| lit != TRUE));
                    pending.insert(source, need - arc.weight);
                }
            }
        }
    }

    /// The oldest entry of the same bound that still is at least `need`.
    fn weakest(&self, mut entry: u32, need: Ticks) -> u32 {
        loop {
            let before = self.entries[entry as usize].previous;
            if before == u32::MAX || self.entries[before as usize].value < need {
                return entry;
            }
            entry = before;
        }
    }

    /// Literals for two opposite bounds that do not fit, of which `slack` may be given away.
    pub(crate) fn explain_sum(&self, a: u32, b: u32, slack: Ticks) -> Conflict {
        let mut conflict = vec![];
        let value = |entry: u32| self.entries[entry as usize].value;
        self.explain_bounds(&[(a, value(a) - slack), (b, value(b))], &mut conflict);
        conflict
    }

    /// Literals that refuted the last condition of an arc.
    pub(crate) fn explain_refuted(&self, reason: u32, lit: Lit, into: &mut Conflict) {
        let (arc, early, late) = self.arc_reasons[reason as usize];
        let arc = &self.arcs[arc as usize];
        into.extend(arc.conditions.iter().filter(|&&c| c != TRUE && c != !lit));
        let (a, b) = (self.entries[early as usize].value, self.entries[late as usize].value);
        let slack = a + arc.weight + b - 1;
        self.explain_bounds(&[(early, a - slack), (late, b)], into);
    }

    /// Literals of the arcs that come round to a node of the chain behind `entry`.
    pub(crate) fn explain_cycle(&self, entry: u32) -> Conflict {
        let mut last_seen = vec![usize::MAX; 2 * self.nodes()];
        let mut chain = vec![];
        let mut at = entry;
        loop {
            let e = &self.entries[at as usize];
            let seen = last_seen[e.bound as usize];
            if seen != usize::MAX {
                return self.conditions(&chain[seen..]);
            }
            last_seen[e.bound as usize] = chain.len();
            let Cause::Arc(arc, source) = e.cause else { return self.conditions(&chain) };
            chain.push(arc);
            at = source;
        }
    }

    fn conditions(&self, arcs: &[u32]) -> Conflict {
        let all = arcs.iter().flat_map(|&arc| self.arcs[arc as usize].conditions);
        all.filter(|&lit| lit != TRUE).collect()
    }
}
