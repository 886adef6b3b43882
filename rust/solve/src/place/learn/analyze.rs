//! From a contradiction to the clause that forbids it.

use super::engine::{Conflict, Engine, Reason};
use super::literal::Lit;

/// A clause to learn: its first literal becomes true after a return to `level`.
pub(crate) struct Lesson {
    pub(crate) lits: Vec<Lit>,
    pub(crate) level: u32,
    pub(crate) glue: u32,
}

/// Marks reused between conflicts.
#[derive(Default)]
pub(crate) struct Analyzer {
    seen: Vec<bool>,
    marked: Vec<usize>,
}

impl Analyzer {
    /// First unique implication point of `conflict` (true literals that cannot hold together);
    /// `None` when it holds at the root. Calls `bump` for each variable met.
    pub(crate) fn learn(
        &mut self,
        engine: &Engine,
        conflict: &Conflict,
        mut bump: impl FnMut(usize),
    ) -> Option<Lesson> {
        self.seen.resize(engine.levels.len(), false);
        let level_of = |lit: Lit| engine.levels[lit.variable()];
        let top = conflict.iter().map(|&lit| level_of(lit)).max().unwrap_or(0);
        if top == 0 {
            return None;
        }
        let mut tail = vec![];
        let mut open = 0;
        let mut antecedents = conflict.clone();
        let mut at = engine.trail.len();
        let first = loop {
            for &lit in &antecedents {
                let v = lit.variable();
                if level_of(lit) == 0 || self.seen[v] {
                    continue;
                }
                self.seen[v] = true;
                self.marked.push(v);
                bump(v);
                if level_of(lit) == top { open += 1 } else { tail.push(!lit) }
            }
            at = (0..at).rev().find(|&k| {
                let lit = engine.trail[k];
                self.seen[lit.variable()] && level_of(lit) == top
            })?;
            let lit = engine.trail[at];
            open -= 1;
            if open == 0 {
                break !lit;
            }
            antecedents.clear();
            engine.antecedents(lit, &mut antecedents);
        };
        tail.retain(|&lit| !self.implied(engine, lit));
        for v in self.marked.drain(..) {
            self.seen[v] = false;
        }
        Some(lesson(engine, first, tail))
    }

    /// Whether a literal of the clause follows from its others by one clause.
    fn implied(&self, engine: &Engine, lit: Lit) -> bool {
        let Reason::Clause(clause) = engine.reasons[lit.variable()] else { return false };
        let lits = &engine.clauses.all[clause as usize].lits;
        lits.iter().all(|&l| {
            let v = l.variable();
            v == lit.variable() || self.seen[v] || engine.levels[v] == 0
        })
    }
}

fn lesson(engine: &Engine, first: Lit, mut tail: Vec<Lit>) -> Lesson {
    let level_of = |lit: &Lit| engine.levels[lit.variable()];
    // The second watch must be the last to be undone.
    tail.sort_unstable_by(|a, b| level_of(b).cmp(&level_of(a)).then(a.cmp(b)));
    let level = tail.first().map_or(0, level_of);
    let mut levels: Vec<u32> = tail.iter().map(level_of).collect();
    levels.dedup();
    let glue = levels.len() as u32 + 1;
    let lits = std::iter::once(first).chain(tail).collect();
    Lesson { lits, level, glue }
}

impl Engine {
    /// Literals that made `lit` true.
    fn antecedents(&self, lit: Lit, into: &mut Conflict) {
        match self.reasons[lit.variable()] {
            Reason::None => {}
            Reason::Clause(clause) => {
                let lits = &self.clauses.all[clause as usize].lits;
                into.extend(lits.iter().filter(|&&l| l != lit).map(|&l| !l));
            }
            Reason::Arc(reason) => self.explain_refuted(reason, lit, into),
            Reason::Join(reason) => {
                let mut seeds = vec![];
                self.explain_join(reason, &mut |entry, need| seeds.push((entry, need)), into);
                self.explain_bounds(&seeds, into);
            }
            Reason::Pool(start, length) => {
                into.extend_from_slice(&self.pool[start as usize..(start + length) as usize]);
            }
        }
    }
}
