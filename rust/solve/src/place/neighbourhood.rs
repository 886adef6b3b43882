//! Large neighbourhood search: free the ops of a time window, keep the rest, and let clause learning improve it.

use super::exact::Effort;
use super::instance::{Instance, Ticks};
use super::learn::{self, Solver, Verdict};
use super::local_search::Random;
use super::plan::Plan;

/// Conflicts for one neighbourhood.
const CONFLICTS: u64 = 300;

/// Neighbourhoods without success before the window grows.
const PATIENCE: usize = 12;

/// Ops freed at first, and at most.
const FEWEST: usize = 10;
const MOST: usize = 60;

/// Better plans from windows of `plan` until `conflicts` are spent or `bound` is met.
pub(crate) fn polish(
    instance: &Instance,
    mut plan: Plan,
    bound: Ticks,
    seed: u64,
    effort: &Effort,
) -> (Plan, u64) {
    let mut random = Random::new(seed);
    let (mut spent, mut width, mut failures) = (0, FEWEST, 0);
    while spent < effort.conflicts && plan.makespan > bound && !(effort.stop)() {
        let ops = if random.below(2) == 0 {
            window(instance, &plan, width, &mut random)
        } else {
            ball(instance, width, &mut random)
        };
        let free = groups_of(instance, &ops);
        let (better, conflicts) = improve_window(instance, &plan, &free, effort);
        // Building the model costs about as much as some conflicts.
        spent += conflicts + 20;
        match better {
            Some(better) => (plan, failures) = (better, 0),
            None => failures += 1,
        }
        if failures >= PATIENCE {
            (width, failures) = ((width * 3 / 2).min(MOST.min(instance.ops())), 0);
        }
    }
    (plan, spent)
}

/// The `width` ops that start nearest to a random op's start.
fn window(instance: &Instance, plan: &Plan, width: usize, random: &mut Random) -> Vec<usize> {
    let centre = plan.start[random.below(instance.ops())];
    let mut ops: Vec<usize> = (0..instance.ops()).collect();
    ops.sort_by_key(|&op| ((plan.start[op] - centre).abs(), op));
    ops.truncate(width);
    ops
}

/// The `width` ops nearest to a random op in the graph: what communicates moves together.
pub(crate) fn ball(instance: &Instance, width: usize, random: &mut Random) -> Vec<usize> {
    let mut ops = vec![random.below(instance.ops())];
    let mut seen = vec![false; instance.ops()];
    seen[ops[0]] = true;
    let mut next = 0;
    while next < ops.len() && ops.len() < width {
        let op = ops[next];
        let edges = instance.inputs[op].iter().chain(&instance.outputs[op]);
        let mut fresh: Vec<usize> = edges.map(|edge| edge.op).filter(|&op| !seen[op]).collect();
        // Which of many neighbours get in is left to chance.
        let turn = if fresh.is_empty() { 0 } else { random.below(fresh.len()) };
        fresh.rotate_left(turn);
        for op in fresh {
            if !std::mem::replace(&mut seen[op], true) {
                ops.push(op);
            }
        }
        next += 1;
    }
    ops.truncate(width);
    ops
}

fn groups_of(instance: &Instance, ops: &[usize]) -> Vec<bool> {
    let mut free = vec![false; instance.groups.len()];
    for &op in ops {
        free[instance.group_of[op]] = true;
    }
    free
}

fn improve_window(instance: &Instance, plan: &Plan, free: &[bool], effort: &Effort) -> (Option<Plan>, u64) {
    let mut solver = Solver::frozen(instance, plan.makespan - 1, plan, free);
    solver.remember(plan);
    let mut best = None;
    loop {
        let left = CONFLICTS.saturating_sub(solver.conflicts);
        match solver.next(&learn::Effort { conflicts: left, stop: effort.stop }) {
            Verdict::Plan(plan) => {
                solver.remember(&plan);
                best = Some(plan);
            }
            Verdict::Exhausted | Verdict::Spent => return (best, solver.conflicts),
        }
    }
}

/// A plan of at most `limit` with the devices of `plan`: only orders, and devices of `free` groups, change.
pub(crate) fn reorder(
    instance: &Instance,
    plan: &Plan,
    free: &[bool],
    limit: Ticks,
    effort: &Effort,
) -> Option<Plan> {
    let mut solver = Solver::placed(instance, limit, plan, free);
    solver.remember(plan);
    match solver.next(&learn::Effort { conflicts: effort.conflicts, stop: effort.stop }) {
        Verdict::Plan(plan) => Some(plan),
        Verdict::Exhausted | Verdict::Spent => None,
    }
}
