//! The smallest bottleneck: a heuristic chain from linear orders, then proof that no chain is below it.

use super::dag::Dag;
use super::search::{Counts, Limits, Outcome, Stage, StageModel, below};
use crate::proof::{Proof, Stop};

/// An improvement smaller than this part of the value is none (rounding of sums in another order).
pub const RELATIVE_TOLERANCE: f64 = 1e-9;

/// The best chain known and its certificate; no chain at all if `stages` is empty and the proof says optimal.
#[derive(Clone, Debug)]
pub struct Optimum<C> {
    /// The chain.
    pub stages: Vec<Stage<C>>,
    /// Value, bound, counts. The value is infinite without a chain.
    pub proof: Proof,
}

/// Minimises the dearest stage over all chains of ideals of `dag`. `floor` is any valid lower bound.
pub fn minimise<M: StageModel>(dag: &Dag, model: &M, floor: f64, limits: &Limits<'_>) -> Optimum<M::Choice> {
    let mut descent = Descent {
        model,
        limits,
        counts: Counts::default(),
        best: Best { stages: Vec::new(), value: f64::INFINITY },
        low: floor,
    };
    let mut stop = Stop::Optimal;
    for order in orders(dag) {
        stop = descent.lower(&Dag::chain(&order), floor);
        if descent.best.value.is_infinite() {
            break;
        }
    }
    if stop == Stop::Optimal {
        let from = if descent.best.value.is_finite() { floor } else { f64::MAX };
        stop = descent.lower(dag, from);
    } else {
        descent.low = floor;
    }
    let Descent { counts, best, low, .. } = descent;
    let lower_bound = if stop == Stop::Optimal { best.value } else { low.min(best.value) };
    let proof =
        Proof { value: best.value, lower_bound, explored: counts.explored, pruned: counts.pruned(), stop };
    Optimum { stages: best.stages, proof }
}

struct Best<C> {
    stages: Vec<Stage<C>>,
    value: f64,
}

struct Descent<'a, M: StageModel> {
    model: &'a M,
    limits: &'a Limits<'a>,
    counts: Counts,
    best: Best<M::Choice>,
    /// No chain of the present graph is below it.
    low: f64,
}

impl<M: StageModel> Descent<'_, M> {
    /// Lowers `best` until no chain of `dag` is below it. While nothing is known, targets grow from `floor` until one
    /// is met (low targets are refuted fast); then bisection to within [`COARSE`]; then from value to value.
    fn lower(&mut self, dag: &Dag, floor: f64) -> Stop {
        self.low = if floor < f64::MAX { floor } else { 0.0 };
        let known = self.best.value.is_finite();
        let mut target =
            if known { just_below(self.best.value) } else { next_target(floor, floor, f64::INFINITY) };
        while self.best.value > self.low {
            match below(dag, self.model, target, self.limits, &mut self.counts) {
                Outcome::Found(stages, value) => self.best = Best { stages, value },
                Outcome::Impossible if target >= just_below(self.best.value).min(f64::MAX) => break,
                Outcome::Impossible => self.low = target,
                Outcome::Stopped(stop) => return stop,
            }
            target = next_target(self.low, floor, self.best.value);
        }
        Stop::Optimal
    }
}

/// What is worth finding beside `value`.
fn just_below(value: f64) -> f64 {
    value * (1.0 - RELATIVE_TOLERANCE)
}

/// The target to try when none below `low` can be met and `best` has been.
fn next_target(low: f64, floor: f64, best: f64) -> f64 {
    if best.is_infinite() {
        return if low > 0.0 && low < FARTHEST.min(f64::MAX / floor) * floor {
            low * GROWTH
        } else {
            f64::MAX
        };
    }
    if best - low < COARSE * best { just_below(best) } else { 0.5 * (low + best) }
}

/// Factor between targets while none has been met.
const GROWTH: f64 = 1.25;
/// Multiple of the floor from which on targets no longer grow in steps.
const FARTHEST: f64 = 4.0;
/// Relative width at which bisection gives way to stepping from value to value.
const COARSE: f64 = 1e-3;

/// A few topological orders that differ in which branch they finish first.
fn orders(dag: &Dag) -> Vec<Vec<u32>> {
    vec![
        dag.order_by(|v, _| v),
        dag.order_by(|v, since| (usize::MAX - since, v)),
        dag.order_by(|v, since| (usize::MAX - since, u32::MAX - v)),
        dag.order_by(|v, since| (since, v)),
    ]
}
