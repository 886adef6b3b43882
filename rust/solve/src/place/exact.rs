//! Smallest makespan of an instance with its bound: heuristics from above, clause learning to the proof.

use super::bound::lower_bound;
use super::instance::{Instance, Ticks};
use super::learn::{Effort, Solver, Verdict};
use super::list::first_plan;
use super::local_search::{Search, improve};
use super::plan::Plan;
use std::collections::BTreeMap;

/// Result in ticks.
pub(crate) struct Exact {
    pub(crate) plan: Option<Plan>,
    pub(crate) lower_bound: Ticks,
    pub(crate) explored: u64,
    pub(crate) pruned: BTreeMap<&'static str, u64>,
}

/// Local search evaluations before the proof starts, per op.
const WARM_UP: usize = 40;

/// The optimum, or the best until `stop`.
pub(crate) fn minimise(instance: &Instance, stop: &dyn Fn() -> bool) -> Exact {
    let warm = Search { evaluations: WARM_UP * instance.ops(), seed: 1 };
    let first = first_plan(instance).map(|plan| improve(instance, plan, &warm, stop));
    let bound = lower_bound(instance);
    let mut exact = Exact { plan: first, lower_bound: bound, explored: 0, pruned: BTreeMap::new() };
    prove(instance, &mut exact, stop);
    exact
}

/// Everything one after the other with every transfer: no schedule needs longer.
fn horizon(instance: &Instance) -> Ticks {
    let slowest = |g: usize, op: usize| instance.choices(g).map(|d| instance.times[op][d]).max().unwrap_or(0);
    let ops: Ticks = (0..instance.ops()).map(|op| slowest(instance.group_of[op], op)).sum();
    let moves: Ticks = instance.moves.iter().map(|m| m.iter().max().unwrap_or(&0) * instance.devices as Ticks).sum();
    ops + moves
}

fn prove(instance: &Instance, exact: &mut Exact, stop: &dyn Fn() -> bool) {
    let value = exact.plan.as_ref().map_or_else(|| horizon(instance) + 1, |plan| plan.makespan);
    if exact.lower_bound >= value {
        return;
    }
    let mut solver = Solver::new(instance, value - 1);
    if let Some(plan) = &exact.plan {
        solver.remember(plan);
    }
    let effort = Effort { conflicts: u64::MAX, stop };
    loop {
        match solver.next(&effort) {
            Verdict::Plan(plan) => {
                solver.remember(&plan);
                exact.plan = Some(plan);
            }
            Verdict::Exhausted => {
                exact.lower_bound = exact.plan.as_ref().map_or(Ticks::MAX, |plan| plan.makespan);
                break;
            }
            Verdict::Spent => break,
        }
        if exact.plan.as_ref().is_some_and(|plan| plan.makespan <= exact.lower_bound) {
            break;
        }
    }
    exact.explored += solver.conflicts;
    *exact.pruned.entry("conflict").or_default() += solver.conflicts;
}
