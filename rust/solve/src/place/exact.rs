//! Smallest makespan of an instance with its bound: decomposition, heuristics from above, clause learning to the proof.

use super::arms::heaviest_arm;
use super::bound::lower_bound;
use super::chain::Chain;
use super::instance::{Instance, Ticks};
use super::learn::{self, Solver, Verdict};
use super::list::first_plan;
use super::local_search::{Search, improve};
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

/// Local search evaluations before the proof starts, per op.
const WARM_UP: usize = 40;

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
    let warm = Search { evaluations: WARM_UP * instance.ops(), seed: 1 };
    let start = || {
        let first = effort.incumbent.cloned().or_else(|| first_plan(instance));
        first.map(|plan| improve(instance, plan, &warm, effort.stop))
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
}

impl<'a, 'b> Proof<'a, 'b> {
    fn new(instance: &'a Instance, exact: &'b mut Exact) -> Self {
        Self { instance, exact, above: None }
    }

    fn value(&self) -> Ticks {
        self.exact.plan.as_ref().map_or_else(|| horizon(self.instance) + 1, |plan| plan.makespan)
    }

    fn done(&self) -> bool {
        self.exact.lower_bound >= self.value()
    }

    fn run(mut self, effort: &Effort) {
        let mut round = ROUND.min(effort.conflicts);
        while !self.done() {
            self.search_above(round, effort);
            if self.done() || (effort.stop)() {
                break;
            }
            self.search_below(round, effort);
            if (effort.stop)() || self.exact.explored >= effort.conflicts {
                break;
            }
            round *= 2;
        }
    }

    fn search_above(&mut self, conflicts: u64, effort: &Effort) {
        let limit = self.value() - 1;
        let mut solver = match self.above.take() {
            Some(solver) if solver.limit() <= limit => solver,
            _ => Solver::new(self.instance, limit),
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
    fn search_below(&mut self, conflicts: u64, effort: &Effort) {
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
