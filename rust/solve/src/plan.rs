//! The best way to run a data-parallel worker of M devices, at every device count.
//!
//! For each number of devices per worker the space is every micro-batch, tensor x pipeline split, schedule, piece
//! count of a wavefront and mapping, and a placement of single ops. All of it is priced; nothing is sampled.

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

pub use candidate::{Kind, candidates, relaxations};
pub use columns::{PriceColumns, price_columns};
pub use field::{FIELDS, Field, FieldColumn, FieldError};
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

/// Counts of a search; `priced + infeasible = space`, with every relaxation that was tried counted in.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Counts {
    /// Plans looked at.
    pub space: u64,
    /// Plans priced.
    pub priced: u64,
    /// Plans that cannot run, by reason.
    pub infeasible: BTreeMap<Reason, u64>,
}

impl Counts {
    fn note<T>(&mut self, outcome: &Result<T, Reason>) {
        self.space += 1;
        match outcome {
            Ok(_) => self.priced += 1,
            Err(reason) => *self.infeasible.entry(*reason).or_default() += 1,
        }
    }
}

/// The best worker for every `mp` of the request and every device count.
///
/// Counts below `mp` have no worker of that size. Ties are broken by the order of [`candidates`].
pub fn workers(model: &Model, system: &System, request: &Request, devices: &[u64]) -> (Vec<Column>, Counts) {
    let mut table = Table::new(model, system);
    let mut counts = Counts::default();
    let columns = request.mp.iter().map(|&mp| {
        let space = candidates(model, request, mp);
        let best = devices.iter().map(|&n| best_worker(&mut table, &mut counts, &space, mp, n)).collect();
        Column { mp, best }
    });
    (columns.collect(), counts)
}

fn best_worker(
    table: &mut Table,
    counts: &mut Counts,
    space: &[Plan],
    mp: u64,
    devices: u64,
) -> Result<Best, Infeasible> {
    let workers = devices / mp;
    if workers == 0 {
        let nearest = format!("at least {mp} devices");
        return Err(Infeasible::new(Reason::Devices, mp as f64, devices as f64, nearest));
    }
    let mut best: Result<Best, Refused> = Err(Refused { plan: None, reason: Reason::Degree });
    for candidate in space {
        let plan = Plan { dp: workers, batch: candidate.batch * workers, ..*candidate };
        let found = relaxed(table, counts, plan);
        let better = match (&best, &found) {
            (Ok(old), Ok(new)) => new.step < old.step,
            (Ok(_), Err(_)) => false,
            (Err(_), _) => true,
        };
        if better {
            best = found;
        }
    }
    best.map_err(|refused| refused.explain(table))
}

/// A plan that cannot run; none where there was nothing to try.
struct Refused {
    plan: Option<Plan>,
    reason: Reason,
}

impl Refused {
    /// With the numbers that clash and the nearest choice.
    fn explain(self, table: &Table) -> Infeasible {
        let nearest = "another number of devices per worker";
        let nothing = || Infeasible::new(self.reason, 1.0, 0.0, nearest.to_owned());
        self.plan.and_then(|plan| table.explain(&plan)).unwrap_or_else(nothing)
    }
}

/// The plan as it stands; if it does not fit in memory, the fastest of its relaxations that does.
fn relaxed(table: &mut Table, counts: &mut Counts, plan: Plan) -> Result<Best, Refused> {
    let mut price = |plan: Plan| {
        let outcome = table.quote(&plan).map(|quote| Best { plan, step: quote.step });
        counts.note(&outcome);
        outcome.map_err(|reason| Refused { plan: Some(plan), reason })
    };
    match price(plan) {
        Err(refused) if refused.reason == Reason::Memory => {
            let feasible = relaxations(&plan).filter_map(|plan| price(plan).ok());
            feasible.min_by(|a, b| a.step.total_cmp(&b.step)).ok_or(refused)
        }
        outcome => outcome,
    }
}
