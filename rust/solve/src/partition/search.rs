//! Is there a chain of ideals whose every stage costs less than a target? The one search behind all conventions.
//!
//! A partition into stages is a chain of order ideals `{} = I0 < I1 < ... < Is = V`; stage `i` is `I(i) \ I(i-1)`.
//! Ideals are expanded in the order of their size, so each is expanded once, when all its labels (what the stages
//! so far have used: devices, processors, replicas) are known. From an ideal every larger one is visited once by
//! adding ready blocks one at a time; the visit is cut where no larger stage can be below the target.
//! Only ideals that are reached are stored: memory grows with the ideals that survive the bounds and not with
//! their pairs.

use super::dag::Dag;
use super::ideal::{IdealTable, contains, flip, key_of, members};
pub use super::stage::{Counts, Entry, Limits, Outcome, Seed, Seeds, Stage, StageModel};
use crate::proof::Stop;

/// Searches for a chain whose every stage costs less than `target`.
pub fn below<M: StageModel>(
    dag: &Dag,
    model: &M,
    target: f64,
    limits: &Limits<'_>,
    counts: &mut Counts,
) -> Outcome<M::Choice> {
    Search::new(dag, model, target, limits, counts).run()
}

/// A prefix as a bit set, with its labels.
pub type Prefix<M> = (Vec<u64>, Vec<<M as StageModel>::Label>);

/// Every prefix that a chain below `target` reaches, with its labels.
pub fn prefixes<M: StageModel>(
    dag: &Dag,
    model: &M,
    target: f64,
    limits: &Limits<'_>,
    counts: &mut Counts,
) -> Result<Vec<Prefix<M>>, Stop> {
    let mut search = Search::new(dag, model, target, limits, counts);
    match search.reach() {
        Some(stop) => Err(stop),
        None => Ok((0..search.table.len() as u32)
            .map(|id| {
                (search.table.get(id).to_vec(), search.entries[id as usize].iter().map(|e| e.label).collect())
            })
            .collect()),
    }
}

type Entries<M> = Vec<Entry<<M as StageModel>::Label, <M as StageModel>::Choice>>;

struct Search<'a, M: StageModel> {
    dag: &'a Dag,
    model: &'a M,
    target: f64,
    limits: &'a Limits<'a>,
    counts: &'a mut Counts,
    table: IdealTable,
    entries: Vec<Entries<M>>,
    by_size: Vec<Vec<u32>>,
    keys: Vec<u64>,
    visit: Visit,
    from: Entries<M>,
    stopped: Option<Stop>,
}

/// The ideal being visited and the ready blocks on the path to it.
struct Visit {
    parent: u32,
    bits: Vec<u64>,
    key: u64,
    size: usize,
    missing: Vec<u32>,
    ready: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;
/// Visits between two looks at the limits.
const POLL: u64 = 1 << 12;

impl<'a, M: StageModel> Search<'a, M> {
    fn new(dag: &'a Dag, model: &'a M, target: f64, limits: &'a Limits<'a>, counts: &'a mut Counts) -> Self {
        let n = dag.len();
        let table = IdealTable::new(n);
        let visit = Visit {
            parent: NOWHERE,
            bits: vec![0; table.words()],
            key: 0,
            size: 0,
            missing: vec![0; n],
            ready: Vec::new(),
        };
        Self {
            dag,
            model,
            target,
            limits,
            counts,
            table,
            entries: Vec::new(),
            by_size: vec![Vec::new(); n + 1],
            keys: (0..n).map(key_of).collect(),
            visit,
            from: Vec::new(),
            stopped: None,
        }
    }

    fn run(mut self) -> Outcome<M::Choice> {
        match self.reach() {
            Some(stop) => Outcome::Stopped(stop),
            None => self.answer(),
        }
    }

    /// Expands everything that can be reached; says why if it could not.
    fn reach(&mut self) -> Option<Stop> {
        let mut stage = self.model.stage();
        self.reach_empty();
        match self.model.seeds(self.dag, self.target, self.limits, self.counts) {
            Ok(seeds) => seeds.into_iter().for_each(|seed| self.plant(&seed)),
            Err(stop) => return Some(stop),
        }
        for size in 0..self.dag.len() {
            for at in 0..self.by_size[size].len() {
                let id = self.by_size[size][at];
                if self.is_dominated(id) {
                    self.counts.dominated += 1;
                } else {
                    self.expand(id, size, &mut stage);
                }
                if self.stopped.is_some() {
                    return self.stopped;
                }
            }
        }
        self.counts.ideals += self.table.len() as u64;
        None
    }

    fn reach_empty(&mut self) {
        let empty = vec![0; self.table.words()];
        let id = self.table.insert(0, &empty);
        self.by_size[0].push(id);
        let label = self.model.start();
        self.entries.push(vec![Entry { label, value: 0.0, last: 0.0, parent: (NOWHERE, 0), choice: None }]);
    }

    fn plant(&mut self, (bits, label, value, choice): &Seed<M>) {
        self.visit.bits.copy_from_slice(bits);
        self.visit.key = members(bits).fold(0, |key, v| key ^ self.keys[v]);
        self.visit.size = members(bits).count();
        let id = number(&mut self.table, &mut self.entries, &mut self.by_size, &self.visit);
        let entry =
            Entry { label: *label, value: *value, last: *value, parent: (0, 0), choice: Some(*choice) };
        keep(self.model, &mut self.entries[id as usize], entry);
    }

    fn must_stop(&self) -> Option<Stop> {
        let held = self.table.bytes()
            + self.entries.len() * size_of::<Entries<M>>()
            + self.entries.len() * 2 * size_of::<Entry<M::Label, M::Choice>>();
        if self.limits.memory_bytes.is_some_and(|limit| held > limit) {
            return Some(Stop::MemoryLimit);
        }
        (self.limits.stop)()
    }

    fn load(&mut self, id: u32, size: usize) {
        let visit = &mut self.visit;
        visit.parent = id;
        visit.bits.copy_from_slice(self.table.get(id));
        visit.key = self.table.key(id);
        visit.size = size;
        visit.ready.clear();
        for v in 0..self.dag.len() {
            let missing =
                self.dag.predecessors(v).iter().filter(|&&u| !contains(&visit.bits, u as usize)).count();
            visit.missing[v] = missing as u32;
            if missing == 0 && !contains(&visit.bits, v) {
                visit.ready.push(v as u32);
            }
        }
    }

    fn is_dominated(&mut self, id: u32) -> bool {
        let mut bits = self.table.get(id).to_vec();
        let key = self.table.key(id);
        (0..self.dag.len()).any(|v| {
            if contains(&bits, v)
                || !self.dag.predecessors(v).iter().all(|&u| contains(&bits, u as usize))
                || !self.model.absorbs(&bits, v)
            {
                return false;
            }
            flip(&mut bits, v);
            let larger = self.table.find(key ^ self.keys[v], &bits);
            flip(&mut bits, v);
            larger.is_some_and(|larger| self.covers(larger, id))
        })
    }

    fn covers(&self, larger: u32, id: u32) -> bool {
        let better = &self.entries[larger as usize];
        self.entries[id as usize]
            .iter()
            .all(|e| better.iter().any(|b| self.model.dominates(b.label, e.label)))
    }

    fn expand(&mut self, id: u32, size: usize, stage: &mut M::Stage) {
        self.load(id, size);
        self.from = std::mem::take(&mut self.entries[id as usize]);
        self.model.begin(stage, self.table.get(id), &self.from, self.target);
        let end = self.visit.ready.len();
        self.grow(stage, 0, end);
        self.entries[id as usize] = std::mem::take(&mut self.from);
    }

    /// Visits every ideal that adds at least one of the ready blocks `start..end` to the stage.
    fn grow(&mut self, stage: &mut M::Stage, start: usize, end: usize) {
        for i in start..end {
            let v = self.visit.ready[i] as usize;
            let mark = self.model.mark(stage);
            self.model.push(stage, v);
            self.counts.explored += 1;
            if self.counts.explored.is_multiple_of(POLL) {
                self.stopped = self.must_stop();
            }
            if self.stopped.is_some() {
                return;
            }
            if self.model.fits(stage, self.target) {
                let base = self.enter(v, i + 1..end);
                self.record(stage);
                self.grow(stage, base, self.visit.ready.len());
                self.leave(v, base);
            } else {
                self.counts.stage += 1;
            }
            self.model.restore(stage, v, mark);
            self.model.exclude(stage, v);
        }
        for i in start..end {
            let v = self.visit.ready[i] as usize;
            self.model.readmit(stage, v);
        }
    }

    /// Adds `v` to the visited ideal. Ready are then those that were `still_ready` and what `v` has made so; says
    /// where they begin.
    #[inline]
    fn enter(&mut self, v: usize, still_ready: std::ops::Range<usize>) -> usize {
        let visit = &mut self.visit;
        flip(&mut visit.bits, v);
        visit.key ^= self.keys[v];
        visit.size += 1;
        let base = visit.ready.len();
        visit.ready.extend_from_within(still_ready);
        for &next in self.dag.successors(v) {
            visit.missing[next as usize] -= 1;
            if visit.missing[next as usize] == 0 {
                visit.ready.push(next);
            }
        }
        base
    }

    #[inline]
    fn leave(&mut self, v: usize, base: usize) {
        let visit = &mut self.visit;
        flip(&mut visit.bits, v);
        visit.key ^= self.keys[v];
        visit.size -= 1;
        visit.ready.truncate(base);
        for &next in self.dag.successors(v) {
            visit.missing[next as usize] += 1;
        }
    }

    /// Stores the labels with which the ideal being visited is reached through the stage.
    fn record(&mut self, stage: &M::Stage) {
        let mut id = NOWHERE;
        for at in 0..self.from.len() {
            let from = self.from[at];
            let (model, target) = (self.model, self.target);
            model.extend(stage, from.label, target, &mut |label, value, choice| {
                if model.hopeless(stage, label, target) {
                    self.counts.remainder += 1;
                    return;
                }
                if id == NOWHERE {
                    id = number(&mut self.table, &mut self.entries, &mut self.by_size, &self.visit);
                }
                let parent = (self.visit.parent, at as u32);
                let entry =
                    Entry { label, value: from.value.max(value), last: value, parent, choice: Some(choice) };
                keep(model, &mut self.entries[id as usize], entry);
            });
        }
    }

    fn answer(self) -> Outcome<M::Choice> {
        let Some(&last) = self.by_size[self.dag.len()].first() else { return Outcome::Impossible };
        let ends = &self.entries[last as usize];
        let Some(best) = (0..ends.len()).min_by(|&a, &b| ends[a].value.total_cmp(&ends[b].value)) else {
            return Outcome::Impossible;
        };
        let mut stages = self.trace(last, best);
        for stage in &mut stages {
            stage.value = self.model.polish(&stage.blocks, stage.choice, stage.value);
        }
        let value = stages.iter().map(|stage| stage.value).fold(0.0, f64::max);
        Outcome::Found(stages, value)
    }

    fn trace(&self, mut id: u32, mut at: usize) -> Vec<Stage<M::Choice>> {
        let mut stages = Vec::new();
        while let Entry { parent: (parent, index), choice: Some(choice), last: value, .. } =
            self.entries[id as usize][at]
        {
            let before = self.table.get(parent);
            let blocks = members(self.table.get(id)).filter(|&v| !contains(before, v)).collect();
            stages.push(Stage { blocks, choice, value });
            (id, at) = (parent, index as usize);
        }
        stages.reverse();
        stages
    }
}

/// The number of the visited ideal, new or old.
fn number<L, C>(
    table: &mut IdealTable,
    entries: &mut Vec<Vec<Entry<L, C>>>,
    by_size: &mut [Vec<u32>],
    visit: &Visit,
) -> u32 {
    let id = table.insert(visit.key, &visit.bits);
    if id as usize == entries.len() {
        entries.push(Vec::new());
        by_size[visit.size].push(id);
    }
    id
}

/// Adds `new` unless something kept is at least as good; drops what it beats. Equal labels keep the lower value.
fn keep<M: StageModel>(model: &M, kept: &mut Entries<M>, new: Entry<M::Label, M::Choice>) {
    for old in kept.iter() {
        if model.dominates(old.label, new.label)
            && (old.value <= new.value || !model.dominates(new.label, old.label))
        {
            return;
        }
    }
    kept.retain(|old| !model.dominates(new.label, old.label));
    kept.push(new);
}
