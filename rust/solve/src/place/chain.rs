//! Modules solved for the states of their boundary, joined by dynamic programming over the separators.
//!
//! Times of segments add up, so the step is the sum of the modules and the separators' own times. States are solved
//! lazily: the cheapest chain by bounds is refined until all its modules are exact, which proves it.

use super::bound::lower_bound;
use super::elimination::{Table, eliminate, states};
use super::exact::{Effort, Exact, minimise};
use super::instance::{Instance, NEVER, Ticks};
use super::module::{Module, Part, modules};
use super::parallel::parallel_map;
use super::plan::{Plan, Sent};
use super::separator::Segments;
use super::symmetry::{canonical, interchangeable_all};
use std::collections::BTreeMap;

/// Growth of the effort on a module that was not solved.
const GROWTH: u64 = 4;

/// What is known of one module in one state.
struct Entry {
    part: Part,
    bound: Ticks,
    plan: Option<Plan>,
    conflicts: u64,
}

impl Entry {
    fn exact(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.makespan <= self.bound)
    }
}

/// Which module and which (canonical) state.
type Key = (usize, Vec<usize>);

pub(crate) struct Chain<'a> {
    instance: &'a Instance,
    segments: Segments,
    modules: Vec<Module>,
    /// Groups of the separators: the variables.
    variables: Vec<usize>,
    symmetric: bool,
    entries: BTreeMap<Key, Entry>,
    solved: BTreeMap<Vec<Ticks>, (Ticks, Option<Plan>)>,
    explored: u64,
    pruned: BTreeMap<&'static str, u64>,
}

/// Whether the parts are smaller than the whole: a part has at most two separators a segment.
fn worthwhile(segments: &Segments, modules: &[Module]) -> bool {
    let full = |module: &&Module| module.segments.iter().any(|&k| !segments.inside[k].is_empty());
    let largest = modules.iter().filter(full).map(|module| module.segments.len()).max().unwrap_or(1);
    modules.iter().filter(full).count() > 1 || segments.separators.len() > 2 * largest
}

impl<'a> Chain<'a> {
    /// The decomposition of an instance; `None` where there is nothing to cut.
    pub(crate) fn new(instance: &'a Instance) -> Option<Self> {
        let segments = Segments::new(instance);
        let modules = modules(instance, &segments)?;
        if !worthwhile(&segments, &modules) {
            return None;
        }
        let mut variables: Vec<usize> = segments.separators.iter().map(|&op| instance.group_of[op]).collect();
        variables.sort_unstable();
        variables.dedup();
        let symmetric = interchangeable_all(instance);
        let (entries, solved, pruned) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Some(Self { instance, segments, modules, variables, symmetric, entries, solved, explored: 0, pruned })
    }

    /// The smallest sum, or the best until the effort is spent.
    pub(crate) fn minimise(mut self, effort: &Effort) -> Option<Exact> {
        let mut best = Exact { plan: None, lower_bound: 0, explored: 0, pruned: BTreeMap::new() };
        loop {
            let (bound, state) = self.join(|entry| entry.bound)?;
            best.lower_bound = best.lower_bound.max(bound);
            let open: Vec<Key> = self.keys(&state).filter(|key| !self.entries[key].exact()).collect();
            if open.is_empty() {
                best.plan = Some(self.plan(&state)?);
                break;
            }
            if (effort.stop)() || open.iter().all(|key| self.entries[key].conflicts > effort.conflicts) {
                break;
            }
            self.refine(&open, effort);
        }
        if best.plan.is_none() {
            best.plan = self.best_plan();
        }
        best.explored = self.explored;
        best.pruned = self.pruned;
        Some(best)
    }

    /// The cheapest chain of the plans at hand.
    fn best_plan(&mut self) -> Option<Plan> {
        let cost = |entry: &Entry| entry.plan.as_ref().map_or(NEVER, |plan| plan.makespan);
        let (value, state) = self.join(cost)?;
        if value < NEVER { self.plan(&state) } else { None }
    }

    fn variable(&self, group: usize) -> usize {
        self.variables.binary_search(&group).unwrap_or(0)
    }

    /// Smallest sum of `cost` over all states of the separators, and devices of the variables.
    fn join(&mut self, cost: impl Fn(&Entry) -> Ticks) -> Option<(Ticks, Vec<usize>)> {
        let devices = self.instance.devices;
        let mut tables = self.own_times();
        for m in 0..self.modules.len() {
            let boundary = self.modules[m].boundary.clone();
            if devices.checked_pow(boundary.len() as u32)? > 1 << 12 {
                return None;
            }
            let scope = boundary.iter().map(|&g| self.variable(g)).collect();
            let costs = states(boundary.len(), devices).map(|state| self.cost(m, &boundary, &state, &cost));
            tables.push(Table { scope, cost: costs.collect() });
        }
        eliminate(tables, self.variables.len(), devices)
    }

    fn cost(
        &mut self,
        m: usize,
        boundary: &[usize],
        state: &[usize],
        cost: impl Fn(&Entry) -> Ticks,
    ) -> Ticks {
        if boundary.iter().zip(state).any(|(&g, &d)| !self.instance.may(g, d)) {
            return NEVER;
        }
        cost(self.entry(m, state))
    }

    /// Times of the separators themselves, by the device of their group.
    fn own_times(&self) -> Vec<Table> {
        let devices = self.instance.devices;
        let times = |op: usize| (0..devices).map(move |d| (op, d));
        let cost = |(op, d): (usize, usize)| {
            if self.instance.may(self.instance.group_of[op], d) { self.instance.times[op][d] } else { NEVER }
        };
        let table = |&op: &usize| Table {
            scope: vec![self.variable(self.instance.group_of[op])],
            cost: times(op).map(cost).collect(),
        };
        self.segments.separators.iter().map(table).collect()
    }

    fn key(&self, m: usize, state: &[usize]) -> Key {
        (m, if self.symmetric { canonical(state) } else { state.to_vec() })
    }

    fn entry(&mut self, m: usize, state: &[usize]) -> &Entry {
        let key = self.key(m, state);
        let Self { instance, segments, modules, entries, solved, .. } = self;
        entries.entry(key).or_insert_with_key(|key| {
            let part = modules[m].part(instance, segments, &key.1);
            let (bound, plan) = match solved.get(&part.instance.signature()) {
                Some((bound, plan)) => (*bound, plan.clone()),
                None => (lower_bound(&part.instance), None),
            };
            Entry { part, bound, plan, conflicts: 0 }
        })
    }

    fn state_of(&self, m: usize, state: &[usize]) -> Vec<usize> {
        self.modules[m].boundary.iter().map(|&g| state[self.variable(g)]).collect()
    }

    fn keys<'b>(&'b self, state: &'b [usize]) -> impl Iterator<Item = Key> + 'b {
        (0..self.modules.len()).map(move |m| self.key(m, &self.state_of(m, state)))
    }

    /// Work on the open entries, equal ones once.
    fn refine(&mut self, open: &[Key], effort: &Effort) {
        let mut unique: BTreeMap<Vec<Ticks>, Key> = BTreeMap::new();
        for key in open {
            unique.entry(self.entries[key].part.instance.signature()).or_insert_with(|| key.clone());
        }
        let jobs: Vec<(Vec<Ticks>, Key)> = unique.into_iter().collect();
        let entries = &self.entries;
        let results = parallel_map(&jobs, effort.stop, |(_, key), stop| {
            let entry = &entries[key];
            let conflicts =
                if entry.conflicts == 0 { Effort::FIRST } else { entry.conflicts.saturating_mul(GROWTH) };
            minimise(&entry.part.instance, &Effort { conflicts, stop, incumbent: entry.plan.as_ref() })
        });
        for ((signature, _), exact) in jobs.into_iter().zip(results) {
            self.record(&signature, exact);
        }
    }

    fn record(&mut self, signature: &[Ticks], exact: Exact) {
        self.explored += exact.explored;
        exact.pruned.iter().for_each(|(reason, count)| *self.pruned.entry(reason).or_default() += count);
        for entry in self.entries.values_mut().filter(|e| e.part.instance.signature() == signature) {
            entry.bound = entry.bound.max(exact.lower_bound);
            entry.conflicts =
                if entry.conflicts == 0 { Effort::FIRST } else { entry.conflicts.saturating_mul(GROWTH) };
            let better = |plan: &Plan| entry.plan.as_ref().is_none_or(|old| plan.makespan < old.makespan);
            if let Some(plan) = exact.plan.as_ref().filter(|plan| better(plan)) {
                entry.plan = Some(plan.clone());
            }
        }
        self.solved.insert(signature.to_vec(), (exact.lower_bound, exact.plan));
    }

    /// The plans of the modules set one after the other.
    fn plan(&self, state: &[usize]) -> Option<Plan> {
        let instance = self.instance;
        let mut plan = Plan {
            device: vec![0; instance.groups.len()],
            start: vec![0; instance.ops()],
            sent: vec![],
            makespan: 0,
        };
        self.variables.iter().zip(state).for_each(|(&group, &d)| plan.device[group] = d);
        let starts = self.segment_starts(state)?;
        for (m, key) in self.keys(state).enumerate() {
            self.insert(m, &self.entries[&key], &self.state_of(m, state), &starts, &mut plan)?;
        }
        for (k, &op) in self.segments.separators.iter().enumerate() {
            let time = instance.times[op][plan.device[instance.group_of[op]]];
            plan.start[op] = starts[k + 1] - time;
        }
        plan.makespan = (0..instance.ops())
            .map(|op| plan.start[op] + instance.times[op][plan.device_of(instance, op)])
            .max()?;
        Some(plan)
    }

    /// Start of each segment: after the separator before it.
    fn segment_starts(&self, state: &[usize]) -> Option<Vec<Ticks>> {
        let mut length = vec![0; self.segments.inside.len()];
        for (m, key) in self.keys(state).enumerate() {
            let entry = &self.entries[&key];
            let plan = entry.plan.as_ref()?;
            for &k in &self.modules[m].segments {
                length[k] = Module::span(&self.segments, &entry.part, &plan.start, plan.makespan, k).1;
            }
        }
        let mut starts = vec![0];
        for (k, &op) in self.segments.separators.iter().enumerate() {
            let device = state[self.variable(self.instance.group_of[op])];
            starts.push(starts[k] + length[k] + self.instance.times[op][device]);
        }
        Some(starts)
    }

    fn insert(
        &self,
        m: usize,
        entry: &Entry,
        state: &[usize],
        starts: &[Ticks],
        plan: &mut Plan,
    ) -> Option<()> {
        let local = entry.plan.as_ref()?;
        let relabel = self.relabel(state);
        for (l, &group) in entry.part.groups.iter().enumerate() {
            plan.device[group] = relabel[local.device[l]];
        }
        for &k in &self.modules[m].segments {
            let (from, length) = Module::span(&self.segments, &entry.part, &local.start, local.makespan, k);
            let shift = starts[k] - from;
            for (l, &op) in entry.part.ops.iter().enumerate() {
                if !self.segments.is_separator[op] && self.segments.segment_of[op] == k {
                    plan.start[op] = local.start[l] + shift;
                }
            }
            for sent in &local.sent {
                let Some(tensor) = entry.part.tensors[sent.tensor] else { continue };
                let producer = self.instance.nets[tensor].producer;
                let segment =
                    self.segments.segment_of[producer] + usize::from(self.segments.is_separator[producer]);
                if segment == k && sent.start <= from + length {
                    let (from, to) = (relabel[sent.from], relabel[sent.to]);
                    plan.sent.push(Sent { tensor, from, to, start: sent.start + shift });
                }
            }
        }
        Some(())
    }

    /// Device of each label of the canonical state.
    fn relabel(&self, state: &[usize]) -> Vec<usize> {
        let devices = self.instance.devices;
        if !self.symmetric {
            return (0..devices).collect();
        }
        let mut labels: Vec<usize> = vec![];
        for d in state.iter().copied().chain(0..devices) {
            if !labels.contains(&d) {
                labels.push(d);
            }
        }
        labels
    }
}
