//! Clauses with two watched literals (Moskewicz et al. 2001).

use super::engine::{Conflict, Engine, Reason};
use super::literal::Lit;

#[derive(Clone, Copy)]
struct Watch {
    clause: u32,
    /// Some other literal of the clause: when true, the clause need not be read.
    blocker: Lit,
}

pub(crate) struct Clause {
    pub(crate) lits: Vec<Lit>,
    learned: bool,
    /// Number of distinct decision levels when learned; low is useful.
    glue: u32,
}

#[derive(Default)]
pub(crate) struct Clauses {
    pub(crate) all: Vec<Clause>,
    watches: Vec<Vec<Watch>>,
    learned: usize,
}

impl Clauses {
    pub(crate) fn grow(&mut self) {
        self.watches.extend([vec![], vec![]]);
    }

    fn watch(&mut self, clause: u32) {
        let (a, b) = (self.all[clause as usize].lits[0], self.all[clause as usize].lits[1]);
        self.watches[(!a).index()].push(Watch { clause, blocker: b });
        self.watches[(!b).index()].push(Watch { clause, blocker: a });
    }

    pub(crate) fn push(&mut self, lits: Vec<Lit>, learned: bool, glue: u32) -> u32 {
        let clause = self.all.len() as u32;
        self.all.push(Clause { lits, learned, glue });
        self.learned += usize::from(learned);
        self.watch(clause);
        clause
    }

    /// Number of learned clauses kept.
    pub(crate) fn learned(&self) -> usize {
        self.learned
    }

    /// Forget the worse half of the learned clauses. Only at the root, where no clause is a reason.
    pub(crate) fn reduce(&mut self) {
        let mut glues: Vec<u32> = self.all.iter().filter(|c| c.learned).map(|c| c.glue).collect();
        glues.sort_unstable();
        let limit = glues.get(glues.len() / 2).copied().unwrap_or(0).max(2);
        self.all.retain(|c| !c.learned || c.glue < limit || c.glue <= 2);
        self.learned = self.all.iter().filter(|c| c.learned).count();
        self.watches.iter_mut().for_each(Vec::clear);
        (0..self.all.len()).for_each(|c| self.watch(c as u32));
    }
}

impl Engine {
    /// A clause of the model; literals fixed at the root are taken out. False when it is empty.
    pub(crate) fn clause(&mut self, lits: &[Lit]) -> bool {
        if lits.iter().any(|&lit| self.is_true(lit) || lits.contains(&!lit)) {
            return true;
        }
        let mut open: Vec<Lit> = lits.iter().copied().filter(|&lit| !self.is_false(lit)).collect();
        open.sort_unstable();
        open.dedup();
        match open.len() {
            0 => return false,
            1 => self.assign(open[0], Reason::None),
            _ => {
                self.clauses.push(open, false, 0);
            }
        }
        true
    }

    pub(crate) fn propagate_clauses(&mut self, lit: Lit) -> Result<(), Conflict> {
        let mut watches = std::mem::take(&mut self.clauses.watches[lit.index()]);
        let mut kept = 0;
        let mut failed = None;
        for k in 0..watches.len() {
            let watch = watches[k];
            if failed.is_none() && !self.is_true(watch.blocker) {
                match self.visit(watch.clause, !lit) {
                    Visit::Moved => continue,
                    Visit::Kept(blocker) => watches[k].blocker = blocker,
                    Visit::Failed => failed = Some(watch.clause),
                }
            }
            watches[kept] = watches[k];
            kept += 1;
        }
        watches.truncate(kept);
        self.clauses.watches[lit.index()] = watches;
        let lits = |c: u32| self.clauses.all[c as usize].lits.iter().map(|&l| !l).collect();
        failed.map_or(Ok(()), |clause| Err(lits(clause)))
    }

    fn visit(&mut self, clause: u32, lost: Lit) -> Visit {
        let Self { clauses, values, .. } = self;
        let lits = &mut clauses.all[clause as usize].lits;
        if lits[0] == lost {
            lits.swap(0, 1);
        }
        let first = lits[0];
        if values[first.index()] == 1 {
            return Visit::Kept(first);
        }
        if let Some(k) = (2..lits.len()).find(|&k| values[lits[k].index()] != 2) {
            lits.swap(1, k);
            let new = lits[1];
            clauses.watches[(!new).index()].push(Watch { clause, blocker: first });
            return Visit::Moved;
        }
        if values[first.index()] == 2 {
            return Visit::Failed;
        }
        self.assign(first, Reason::Clause(clause));
        Visit::Kept(first)
    }
}

enum Visit {
    Moved,
    Kept(Lit),
    Failed,
}
