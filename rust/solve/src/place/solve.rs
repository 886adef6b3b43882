//! The exact answer to a problem, or the best found with a valid bound.

use super::check::check;
use super::exact::{Effort, Exact, minimise};
use super::instance::Instance;
use super::problem::{PlaceError, Problem};
use super::schedule::Schedule;
use crate::proof::{Proof, Stop};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Limits of a search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Seconds after which the best so far is returned.
    pub time_limit_s: Option<f64>,
}

/// A schedule and how good it is known to be.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The schedule.
    pub schedule: Schedule,
    /// Its certificate; the value is the makespan in seconds.
    pub proof: Proof,
}

/// Why no schedule exists, or none was found.
#[derive(Clone, Debug, PartialEq)]
pub enum Infeasible {
    /// All memory together is too small.
    Memory {
        /// Bytes the ops keep.
        needs: f64,
        /// Bytes all devices have.
        has: f64,
    },
    /// One colocated group fits no device it may use.
    Group {
        /// An op of the group.
        op: String,
        /// Bytes the group keeps.
        needs: f64,
        /// Bytes of its largest device.
        has: f64,
    },
    /// The sizes do not pack although their sum fits: proved by search.
    Packing {
        /// Bytes the ops keep.
        needs: f64,
        /// Bytes all devices have.
        has: f64,
    },
    /// No placement was found within the limit; there may be one.
    Unknown {
        /// Bytes the ops keep.
        needs: f64,
        /// Bytes all devices have.
        has: f64,
    },
}

impl std::fmt::Display for Infeasible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory { needs, has } => write!(
                f,
                "the ops need {needs:.0} B, the devices have {has:.0} B together: {:.0} B missing",
                needs - has
            ),
            Self::Group { op, needs, has } => write!(
                f,
                "op `{op}` and what is colocated with it need {needs:.0} B, the largest device it may use has \
                 {has:.0} B: {:.0} B missing",
                needs - has
            ),
            Self::Packing { needs, has } => {
                write!(
                    f,
                    "the ops need {needs:.0} B of {has:.0} B, but no placement packs them into the devices"
                )
            }
            Self::Unknown { needs, has } => {
                write!(f, "no placement of {needs:.0} B into {has:.0} B was found in time; there may be one")
            }
        }
    }
}

/// What a search says.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A schedule with its proof.
    Placed(Box<Placed>),
    /// No schedule.
    Infeasible(Infeasible),
}

/// Place and order the ops so that the last ends as soon as possible.
///
/// `interrupted` is polled often; once true, the best so far is returned with its bound.
pub fn place(
    problem: &Problem,
    options: &Options,
    interrupted: &dyn Fn() -> bool,
) -> Result<Answer, PlaceError> {
    let instance = Instance::new(problem)?;
    if let Some(reason) = too_large(&instance, problem) {
        return Ok(Answer::Infeasible(reason));
    }
    let clock = Clock::new(options, interrupted);
    let exact = minimise(&instance, &Effort { conflicts: u64::MAX, stop: &|| clock.stop(), incumbent: None });
    Ok(answer(problem, &instance, exact, &clock))
}

/// Why the search stopped early, if it did.
struct Clock<'a> {
    deadline: Option<Instant>,
    interrupted: &'a dyn Fn() -> bool,
    reason: Cell<Option<Stop>>,
}

impl<'a> Clock<'a> {
    fn new(options: &Options, interrupted: &'a dyn Fn() -> bool) -> Self {
        let limit = options.time_limit_s.and_then(|s| Duration::try_from_secs_f64(s).ok());
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        Self { deadline, interrupted, reason: Cell::new(None) }
    }

    fn stop(&self) -> bool {
        if self.reason.get().is_none() {
            if (self.interrupted)() {
                self.reason.set(Some(Stop::Interrupted));
            } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.reason.set(Some(Stop::TimeLimit));
            }
        }
        self.reason.get().is_some()
    }
}

fn too_large(instance: &Instance, problem: &Problem) -> Option<Infeasible> {
    let (needs, has) = (total(&instance.group_memory), total(&instance.capacity));
    if needs > has * (1.0 + 1e-12) {
        return Some(Infeasible::Memory { needs, has });
    }
    (0..instance.groups.len()).find_map(|g| {
        let needs = instance.group_memory[g];
        let largest = instance.choices(g).map(|d| instance.capacity[d]).fold(0.0, f64::max);
        let op = || problem.ops[instance.groups[g][0]].id.clone();
        (needs > largest * (1.0 + 1e-12)).then(|| Infeasible::Group { op: op(), needs, has: largest })
    })
}

fn total(bytes: &[f64]) -> f64 {
    bytes.iter().sum()
}

fn answer(problem: &Problem, instance: &Instance, exact: Exact, clock: &Clock) -> Answer {
    let Exact { plan, lower_bound, explored, pruned } = exact;
    let Some(plan) = plan else {
        let (needs, has) = (total(&instance.group_memory), total(&instance.capacity));
        let stopped = clock.reason.get().is_some();
        let reason =
            if stopped { Infeasible::Unknown { needs, has } } else { Infeasible::Packing { needs, has } };
        return Answer::Infeasible(reason);
    };
    let schedule = plan.schedule(instance, problem);
    debug_assert_eq!(check(problem, &schedule).err(), None);
    let optimal = lower_bound >= plan.makespan;
    let value = schedule.makespan_s;
    let lower_bound = if optimal { value } else { instance.seconds(lower_bound).min(value) };
    let stop = if optimal { Stop::Optimal } else { clock.reason.get().unwrap_or(Stop::TimeLimit) };
    Answer::Placed(Box::new(Placed { schedule, proof: Proof { value, lower_bound, explored, pruned, stop } }))
}
