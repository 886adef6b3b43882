//! Smallest makespan of an instance with its bound: decomposition, heuristics from above, clause learning to the proof.

use super::arms::heaviest_arm;
use super::bound::lower_bound;
use super::chain::Chain;
use super::instance::{Instance, Ticks};
use super::learn::{self, Solver, Verdict};
use super::list::first_plan;
use super::local_search::{HOT, Search, WARM, improve};
use super::neighbourhood::polish;
use super::plan::Plan;
use std::collections::BTreeMap;

/// Result in ticks.
#[derive(Debug)]
pub(crate) struct Exact {
    pub(crate) plan: Option<Plan>,
    pub(crate) lower_bound: Ticks,
    pub(crate) explored: u64,
    pub(crate) pruned: BTreeMap<&'static str, u64>,
}

/// How far a search may go.
pub(crate) struct Effort<'a> {
    pub(crate) conflicts: u64,
    pub(crate) stop: &'a (dyn Fn() -> bool + 'a),
    /// A plan found before.
    pub(crate) incumbent: Option<&'a Plan>,
}

impl Effort<'_> {
    /// Conflicts of the first look at a module.
    pub(crate) const FIRST: u64 = 2_000;
}

/// Local search evaluations before the proof starts, per op: few for modules, which are proved at once.
const WARM_UP: [usize; 2] = [20, 200];

/// Ops from which plans are improved by windows between rounds.
const POLISH_FROM: usize = 24;

/// Ops above which good plans come from local search rather than from clause learning.
const LARGE: usize = 80;

/// Ops above which the pairs to order no longer fit a model; such instances are annealed only.
const MOST_ORDERED: usize = 700;

/// Walks on such instances, each twice as long as the one before.
const ANNEALINGS: u64 = 10;

/// Conflicts on windows per conflict of a round.
const WINDOWS: u64 = 4;

/// Annealing evaluations per conflict of a round.
const ANNEAL: usize = 10;

/// Conflicts of the first round from above; each round doubles.
const ROUND: u64 = 1_000;

/// The optimum, or the best within the effort.
pub(crate) fn minimise(instance: &Instance, effort: &Effort) -> Exact {
    let joined = Chain::new(instance).and_then(|chain| chain.minimise(effort));
    match joined {
        Some(exact) if fits(instance, &exact) => exact,
        Some(relaxed) => whole(instance, relaxed.lower_bound, effort),
        None => whole(instance, 0, effort),
    }
}

/// Modules ignore memory; their joint plan counts only when it fits.
fn fits(instance: &Instance, exact: &Exact) -> bool {
    let Some(plan) = &exact.plan else { return false };
    let mut used = vec![0.0; instance.devices];
    plan.device.iter().zip(&instance.group_memory).for_each(|(&d, bytes)| used[d] += bytes);
    (0..instance.devices).all(|d| instance.fits(used[d], d))
}

fn whole(instance: &Instance, bound: Ticks, effort: &Effort) -> Exact {
    let start = || {
        let first = effort.incumbent.cloned().or_else(|| first_plan(instance));
        first.map(|plan| warm_up(instance, plan, effort))
    };
    let bound = bound.max(lower_bound(instance));
    let mut exact = match heaviest_arm(instance, effort) {
        Some(exact) if exact.plan.is_some() => exact,
        Some(exact) => Exact { plan: start(), ..exact },
        None => Exact { plan: start(), lower_bound: 0, explored: 0, pruned: BTreeMap::new() },
    };
    exact.lower_bound = exact.lower_bound.max(bound);
    Proof::new(instance, &mut exact).run(effort);
    exact
}

/// A short walk for modules; for large instances a walk at each heat, each from the best so far.
fn warm_up(instance: &Instance, plan: Plan, effort: &Effort) -> Plan {
    let large = instance.ops() > LARGE;
    let evaluations = WARM_UP[usize::from(large)] * instance.ops();
    let heats: &[f64] = if large { &[HOT, HOT / 3.0, WARM] } else { &[WARM] };
    heats.iter().fold(plan, |plan, &heat| {
        improve(instance, plan, &Search { evaluations, seed: 1, heat }, effort.stop)
    })
}

/// Everything one after the other with every transfer: no schedule needs longer.
fn horizon(instance: &Instance) -> Ticks {
    let slowest = |g: usize, op: usize| instance.choices(g).map(|d| instance.times[op][d]).max().unwrap_or(0);
    let ops: Ticks = (0..instance.ops()).map(|op| slowest(instance.group_of[op], op)).sum();
    let moves: Ticks =
        instance.moves.iter().map(|m| m.iter().max().unwrap_or(&0) * instance.devices as Ticks).sum();
    ops + moves
}

/// Rounds from above (better plans) and from below (limits shown impossible), each longer than the last.
struct Proof<'a, 'b> {
    instance: &'a Instance,
    exact: &'b mut Exact,
    above: Option<Solver<'a>>,
    /// Whether the next annealing starts hot.
    hot: bool,
}

impl<'a, 'b> Proof<'a, 'b> {
    fn new(instance: &'a Instance, exact: &'b mut Exact) -> Self {
        Self { instance, exact, above: None, hot: false }
    }

    fn value(&self) -> Ticks {
        self.exact.plan.as_ref().map_or_else(|| horizon(self.instance) + 1, |plan| plan.makespan)
    }

    fn done(&self) -> bool {
        self.exact.lower_bound >= self.value()
    }

    fn run(mut self, effort: &Effort) {
        if self.instance.ops() > MOST_ORDERED {
            return self.anneal(effort);
        }
        let mut round = ROUND.min(effort.conflicts);
        while !self.done() {
            self.lower_value(round, effort);
            if self.done() || (effort.stop)() {
                break;
            }
            self.polish(round, effort);
            self.raise_bound(round, effort);
            if (effort.stop)() || self.exact.explored >= effort.conflicts {
                break;
            }
            round *= 2;
        }
    }

    /// Longer and longer walks, for instances too large to model the order of.
    fn anneal(self, effort: &Effort) {
        let mut evaluations = 10 * self.instance.ops();
        for round in 1..=ANNEALINGS {
            let Some(plan) = self.exact.plan.take() else { return };
            let heat = if round % 2 == 0 { HOT } else { WARM };
            let search = Search { evaluations, seed: round, heat };
            self.exact.plan = Some(improve(self.instance, plan, &search, effort.stop));
            self.exact.explored += evaluations as u64;
            if self.done() || (effort.stop)() {
                return;
            }
            evaluations *= 2;
        }
    }

    /// Annealing, then windows: for instances where clause learning alone is slow to find good plans.
    fn polish(&mut self, round: u64, effort: &Effort) {
        if self.done() || self.instance.ops() < POLISH_FROM {
            return;
        }
        let Some(plan) = self.exact.plan.take() else { return };
        let search = Search {
            evaluations: (round as usize).saturating_mul(ANNEAL),
            seed: round,
            heat: if self.hot { HOT } else { WARM },
        };
        self.hot = !self.hot;
        let plan = improve(self.instance, plan, &search, effort.stop);
        let bound = self.exact.lower_bound;
        let (plan, spent) =
            polish(self.instance, plan, bound, round, &Effort { conflicts: round * WINDOWS, ..*effort });
        self.exact.explored += spent;
        self.exact.plan = Some(plan);
    }

    fn lower_value(&mut self, conflicts: u64, effort: &Effort) {
        let limit = self.value() - 1;
        let mut solver = match self.above.take() {
            Some(mut solver) => {
                solver.lower_limit(limit);
                solver
            }
            None => Solver::new(self.instance, limit),
        };
        if let Some(plan) = &self.exact.plan {
            solver.remember(plan);
        }
        self.descend(&mut solver, conflicts, effort);
        self.above = Some(solver);
    }

    /// Better and better plans until the effort is spent or nothing is left; whether the limit was refuted.
    fn descend(&mut self, solver: &mut Solver, conflicts: u64, effort: &Effort) -> bool {
        let before = solver.conflicts;
        let refuted = loop {
            let spent = solver.conflicts - before;
            if spent >= conflicts || self.done() {
                break false;
            }
            match solver.next(&learn::Effort { conflicts: conflicts - spent, stop: effort.stop }) {
                Verdict::Plan(plan) => {
                    solver.remember(&plan);
                    self.exact.plan = Some(plan);
                }
                Verdict::Exhausted => {
                    self.exact.lower_bound = self.exact.lower_bound.max(solver.limit() + 1);
                    break true;
                }
                Verdict::Spent => break false,
            }
        };
        self.exact.explored += solver.conflicts - before;
        *self.exact.pruned.entry("conflict").or_default() += solver.conflicts - before;
        refuted
    }

    /// Bisect the gap: a limit that is refuted is a bound, a plan below it a better plan.
    fn raise_bound(&mut self, conflicts: u64, effort: &Effort) {
        let mut high = self.value();
        let close = self.value() / 2_000;
        while high - self.exact.lower_bound > close && !(effort.stop)() {
            let limit = self.exact.lower_bound + (high - self.exact.lower_bound) / 2;
            let mut solver = Solver::new(self.instance, limit);
            if let Some(plan) = &self.exact.plan {
                solver.remember(plan);
            }
            if !self.descend(&mut solver, conflicts / 4 + 1, effort) {
                high = limit.min(self.value());
            }
        }
    }
}
