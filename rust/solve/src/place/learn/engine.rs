//! State of the search: assigned literals, time bounds, and how each came to be.

use super::clauses::Clauses;
use super::literal::{Lit, TRUE};
use super::load::{Join, JoinReason, Loads};
use crate::place::instance::Ticks;
use std::collections::VecDeque;
use std::rc::Rc;

/// Why a literal is true.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reason {
    /// Decided, or fixed at the root.
    None,
    /// All other literals of the clause are false.
    Clause(u32),
    /// Its negation would activate an arc that does not fit: index into `arc_reasons`.
    Arc(u32),
    /// The literals `pool[start..start + length]` hold.
    Pool(u32, u32),
    /// The task would end a join too late: index into `join_reasons`.
    Join(u32),
}

/// Why a bound holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cause {
    /// Given.
    Root,
    /// An active arc from the bound of the given entry.
    Arc(u32, u32),
    /// The tasks before a join: index into `join_reasons`.
    Join(u32),
}

/// One tightening of one bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) bound: u32,
    pub(crate) value: Ticks,
    pub(crate) previous: u32,
    pub(crate) cause: Cause,
    /// Arcs back to a root bound; more than there are nodes means a positive cycle.
    pub(crate) depth: u32,
}

/// `start[to] >= start[from] + weight` while all conditions hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arc {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) weight: Ticks,
    pub(crate) conditions: [Lit; 3],
}

/// True literals that cannot hold together.
pub(crate) type Conflict = Vec<Lit>;

#[derive(Clone, Copy)]
struct Mark {
    trail: usize,
    entries: usize,
    arc_reasons: usize,
    pool: usize,
    join_reasons: usize,
}

/// Bound `2v` is the earliest start of node `v`, bound `2v + 1` minus its latest start: both only grow.
pub(crate) struct Engine {
    pub(crate) values: Vec<u8>,
    pub(crate) levels: Vec<u32>,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) trail: Vec<Lit>,
    pub(crate) positions: Vec<u32>,
    marks: Vec<Mark>,
    head: usize,
    pub(crate) clauses: Clauses,
    pub(crate) bounds: Vec<Ticks>,
    pub(crate) latest: Vec<u32>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) arcs: Vec<Arc>,
    pub(crate) outgoing: Vec<Vec<u32>>,
    pub(crate) incoming: Vec<Vec<u32>>,
    pub(crate) guarded: Vec<Vec<u32>>,
    pub(crate) arc_reasons: Vec<(u32, u32, u32)>,
    pub(crate) pool: Vec<Lit>,
    pub(crate) join_reasons: Vec<JoinReason>,
    pub(crate) joins: Rc<Vec<Join>>,
    queue: VecDeque<u32>,
    queued: Vec<bool>,
    pub(crate) loads: Loads,
}

impl Engine {
    pub(crate) fn new(nodes: usize, earliest: Ticks, latest: Ticks) -> Self {
        let mut engine = Self {
            values: vec![],
            levels: vec![],
            reasons: vec![],
            trail: vec![],
            positions: vec![],
            marks: vec![],
            head: 0,
            clauses: Clauses::default(),
            bounds: (0..2 * nodes).map(|b| if b % 2 == 0 { earliest } else { -latest }).collect(),
            latest: (0..2 * nodes as u32).collect(),
            entries: vec![],
            arcs: vec![],
            outgoing: vec![vec![]; nodes],
            incoming: vec![vec![]; nodes],
            guarded: vec![],
            arc_reasons: vec![],
            pool: vec![],
            join_reasons: vec![],
            joins: Rc::default(),
            queue: VecDeque::new(),
            queued: vec![false; 2 * nodes],
            loads: Loads::default(),
        };
        engine.entries = (0..2 * nodes as u32).map(|b| root_entry(b, engine.bounds[b as usize])).collect();
        let yes = engine.variable();
        debug_assert_eq!(yes, TRUE);
        engine.assign(TRUE, Reason::None);
        engine
    }

    pub(crate) fn nodes(&self) -> usize {
        self.outgoing.len()
    }

    /// A fresh variable, as its positive literal.
    pub(crate) fn variable(&mut self) -> Lit {
        let lit = Lit::positive(self.levels.len());
        self.values.extend([0, 0]);
        self.levels.push(0);
        self.positions.push(0);
        self.reasons.push(Reason::None);
        self.guarded.extend([vec![], vec![]]);
        self.clauses.grow();
        lit
    }

    pub(crate) fn is_true(&self, lit: Lit) -> bool {
        self.values[lit.index()] == 1
    }

    pub(crate) fn is_false(&self, lit: Lit) -> bool {
        self.values[lit.index()] == 2
    }

    pub(crate) fn is_free(&self, lit: Lit) -> bool {
        self.values[lit.index()] == 0
    }

    pub(crate) fn level(&self) -> u32 {
        self.marks.len() as u32
    }

    pub(crate) fn assign(&mut self, lit: Lit, reason: Reason) {
        self.values[lit.index()] = 1;
        self.values[(!lit).index()] = 2;
        let v = lit.variable();
        self.levels[v] = self.level();
        self.reasons[v] = reason;
        self.positions[v] = self.trail.len() as u32;
        self.trail.push(lit);
    }

    pub(crate) fn decide(&mut self, lit: Lit) {
        self.marks.push(Mark {
            trail: self.trail.len(),
            entries: self.entries.len(),
            arc_reasons: self.arc_reasons.len(),
            pool: self.pool.len(),
            join_reasons: self.join_reasons.len(),
        });
        self.assign(lit, Reason::None);
    }

    /// Undo everything above `level`, telling `freed` of each literal.
    pub(crate) fn backtrack(&mut self, level: u32, mut freed: impl FnMut(Lit)) {
        if self.level() <= level {
            return;
        }
        self.queue.drain(..).for_each(|b| self.queued[b as usize] = false);
        self.loads.settle();
        let mark = self.marks[level as usize];
        self.marks.truncate(level as usize);
        for lit in self.trail.drain(mark.trail..).rev() {
            self.values[lit.index()] = 0;
            self.values[(!lit).index()] = 0;
            freed(lit);
        }
        self.restore_bounds(mark.entries);
        self.head = self.trail.len();
        self.arc_reasons.truncate(mark.arc_reasons);
        self.pool.truncate(mark.pool);
        self.join_reasons.truncate(mark.join_reasons);
    }

    fn restore_bounds(&mut self, keep: usize) {
        while self.entries.len() > keep
            && let Some(entry) = self.entries.pop()
        {
            let b = entry.bound as usize;
            self.latest[b] = entry.previous;
            self.bounds[b] = self.entries[entry.previous as usize].value;
        }
    }

    /// What holds at the root needs no reason.
    pub(crate) fn forget_root_reasons(&mut self) {
        for lit in &self.trail {
            self.reasons[lit.variable()] = Reason::None;
        }
    }

    /// Tighten a bound; `Err` when it passes its opposite.
    pub(crate) fn tighten(&mut self, bound: u32, value: Ticks, cause: Cause) -> Result<(), Conflict> {
        let b = bound as usize;
        if value <= self.bounds[b] {
            return Ok(());
        }
        let depth = match cause {
            Cause::Arc(_, source) => self.entries[source as usize].depth + 1,
            Cause::Root | Cause::Join(_) => 0,
        };
        let entry = self.entries.len() as u32;
        self.entries.push(Entry { bound, value, previous: self.latest[b], cause, depth });
        self.latest[b] = entry;
        self.bounds[b] = value;
        if depth as usize > self.nodes() {
            return Err(self.explain_cycle(entry));
        }
        let slack = value + self.bounds[b ^ 1];
        if slack > 0 {
            return Err(self.explain_sum(entry, self.latest[b ^ 1], slack - 1));
        }
        self.enqueue(bound);
        Ok(())
    }

    pub(crate) fn enqueue(&mut self, bound: u32) {
        if !std::mem::replace(&mut self.queued[bound as usize], true) {
            self.queue.push_back(bound);
        }
    }

    /// Everything that follows from what is assigned, or why it cannot be.
    pub(crate) fn propagate(&mut self) -> Result<(), Conflict> {
        loop {
            if let Some(&lit) = self.trail.get(self.head) {
                self.head += 1;
                self.loads.touch_literal(lit);
                self.propagate_clauses(lit)?;
                self.propagate_guarded(lit)?;
            } else if let Some(bound) = self.queue.pop_front() {
                self.queued[bound as usize] = false;
                self.propagate_bound(bound)?;
            } else if !self.propagate_loads()? {
                return Ok(());
            }
        }
    }
}

fn root_entry(bound: u32, value: Ticks) -> Entry {
    Entry { bound, value, previous: u32::MAX, cause: Cause::Root, depth: 0 }
}
