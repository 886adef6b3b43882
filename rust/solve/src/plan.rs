//! The best way to run a data-parallel worker of M devices, at every device count.
//!
//! For each number of devices per worker the space is every micro-batch, tensor x pipeline split, schedule, piece
//! count of a wavefront and mapping, and a placement of single ops. Nothing is sampled: a plan is priced unless a lower
//! bound shows that another is faster.

mod candidate;
mod columns;
mod field;
mod placed;
mod price;
mod table;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use dielet_core::graph::Model;
use dielet_core::plan::{Plan, Precision};
use dielet_core::system::System;
use dielet_core::units::Seconds;
use dielet_core::verdict::{Infeasible, Reason};
use rayon::prelude::*;

pub use candidate::{Kind, candidates, relaxations};
pub use columns::{PriceColumns, price_columns};
pub use field::{FIELDS, Field, FieldColumn, FieldError};
pub use placed::placement_problem;
pub use price::{OpColumns, op_costs, price};
pub use table::{Quote, Table};

/// What is asked of a search over workers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Devices per worker, each searched for itself.
    pub mp: Vec<u64>,
    /// Samples per worker and step.
    pub worker_batch: u64,
    /// Tokens or time steps per sample.
    pub sequence: u64,
    /// Number formats.
    pub precision: Precision,
    /// Whether gradients of looked-up tables are dense.
    pub dense_gradients: bool,
    /// Tensor degrees that may be used; all where empty.
    pub tp: Vec<u64>,
    /// Pipeline degrees that may be used; all where empty.
    pub pp: Vec<u64>,
}

/// The best worker found at one device count.
#[derive(Debug, Clone, PartialEq)]
pub struct Best {
    /// How it runs.
    pub plan: Plan,
    /// Its step time.
    pub step: Seconds,
}

/// The best worker of `mp` devices at each device count, and what was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Devices per worker.
    pub mp: u64,
    /// One entry per device count: the best, or why the last candidate that was tried cannot run.
    pub best: Vec<Result<Best, Infeasible>>,
}

/// Counts of a search; `priced + pruned + infeasible = space`, with every relaxation that was tried counted in.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Counts {
    /// Plans looked at.
    pub space: u64,
    /// Plans priced.
    pub priced: u64,
    /// Plans that run, but not faster than one that was priced, by how that was seen.
    pub pruned: BTreeMap<&'static str, u64>,
    /// Plans that cannot run, by reason.
    pub infeasible: BTreeMap<Reason, u64>,
}

impl Counts {
    fn note(&mut self, outcome: &Result<Best, Refused>) {
        self.space += 1;
        match outcome {
            Ok(_) => self.priced += 1,
            Err(Refused::Slower) => *self.pruned.entry("bound").or_default() += 1,
            Err(Refused::Infeasible(_, reason)) => *self.infeasible.entry(*reason).or_default() += 1,
        }
    }

    fn add(&mut self, other: Self) {
        let Self { space, priced, pruned, infeasible } = other;
        self.space += space;
        self.priced += priced;
        for (how, count) in pruned {
            *self.pruned.entry(how).or_default() += count;
        }
        for (why, count) in infeasible {
            *self.infeasible.entry(why).or_default() += count;
        }
    }
}

/// Why a plan is no candidate for the best.
enum Refused {
    /// No step of it is as short as one that was priced.
    Slower,
    /// It cannot run.
    Infeasible(Plan, Reason),
}

/// The best worker for every `mp` of the request and every device count.
///
/// Counts below `mp` have no worker of that size. Ties are broken by the order of [`candidates`].
pub fn workers(model: &Model, system: &System, request: &Request, devices: &[u64]) -> (Vec<Column>, Counts) {
    let searched: Vec<(Column, Counts)> =
        request.mp.par_iter().map(|&mp| column(model, system, request, mp, devices)).collect();
    let (mut columns, mut counts) = (Vec::new(), Counts::default());
    for (column, counted) in searched {
        columns.push(column);
        counts.add(counted);
    }
    (columns, counts)
}

fn column(model: &Model, system: &System, request: &Request, mp: u64, devices: &[u64]) -> (Column, Counts) {
    let space = candidates(model, request, mp);
    let mut search = Search { table: Table::new(model, system), counts: Counts::default(), first: 0 };
    let best = devices.iter().map(|&n| search.best(&space, mp, n)).collect();
    (Column { mp, best }, search.counts)
}

/// A search over workers of one size.
struct Search<'a> {
    table: Table<'a>,
    counts: Counts,
    /// The best candidate of the device count before: likely good again, so that its price rules out most others.
    first: usize,
}

impl Search<'_> {
    fn best(&mut self, space: &[Plan], mp: u64, devices: u64) -> Result<Best, Infeasible> {
        let workers = devices / mp;
        if workers == 0 {
            let nearest = format!("at least {mp} devices");
            return Err(Infeasible::new(Reason::Devices, mp as f64, devices as f64, nearest));
        }
        let first = self.first.min(space.len());
        let order = (first..space.len().min(first + 1)).chain((0..space.len()).filter(|&at| at != first));
        let mut best: Option<(Best, usize)> = None;
        let mut refused: Option<Plan> = None;
        for at in order {
            let plan = Plan { dp: workers, batch: space[at].batch * workers, ..space[at] };
            let limit = best.as_ref().map_or(Seconds(f64::INFINITY), |(best, _)| best.step);
            match self.relaxed(plan, limit) {
                Ok(found) if best.as_ref().is_none_or(|(best, old)| (found.step, at) < (best.step, *old)) => {
                    best = Some((found, at));
                }
                Ok(_) | Err(Refused::Slower) => {}
                Err(Refused::Infeasible(plan, _)) => refused = Some(plan),
            }
        }
        let Some((best, at)) = best else { return Err(self.explain(refused)) };
        self.first = at;
        Ok(best)
    }

    /// With the numbers that clash and the nearest choice.
    fn explain(&self, refused: Option<Plan>) -> Infeasible {
        let nearest = "another number of devices per worker";
        let nothing = || Infeasible::new(Reason::Degree, 1.0, 0.0, nearest.to_owned());
        refused.and_then(|plan| self.table.explain(&plan)).unwrap_or_else(nothing)
    }

    /// The plan as it stands; if it does not fit in memory, the fastest of its relaxations that does.
    fn relaxed(&mut self, plan: Plan, limit: Seconds) -> Result<Best, Refused> {
        let outcome = self.price(plan, limit);
        let Err(Refused::Infeasible(_, Reason::Memory)) = outcome else { return outcome };
        let (mut best, mut limit) = (outcome, limit);
        for relaxation in relaxations(&plan) {
            match self.price(relaxation, limit) {
                Ok(found) if !best.as_ref().is_ok_and(|old| old.step <= found.step) => {
                    limit = limit.min(found.step);
                    best = Ok(found);
                }
                Err(Refused::Slower) if best.is_err() => best = Err(Refused::Slower),
                _ => {}
            }
        }
        best
    }

    /// The price of a plan, unless it cannot be as fast as `limit`.
    fn price(&mut self, plan: Plan, limit: Seconds) -> Result<Best, Refused> {
        let outcome = self.quote(&plan, limit);
        self.counts.note(&outcome);
        outcome
    }

    fn quote(&mut self, plan: &Plan, limit: Seconds) -> Result<Best, Refused> {
        let infeasible = |reason| Refused::Infeasible(*plan, reason);
        let ready = self.table.ready(plan).map_err(infeasible)?;
        if self.table.bound(plan, &ready).map_err(infeasible)? > limit {
            return Err(Refused::Slower);
        }
        let quote = self.table.finish(plan, &ready).map_err(infeasible)?;
        Ok(Best { plan: *plan, step: quote.step })
    }
}
