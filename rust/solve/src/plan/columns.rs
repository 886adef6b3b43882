//! Many plans priced at once: columns in, columns out.

use std::ops::Range;

use dielet_core::graph::Model;
use dielet_core::plan::Plan;
use dielet_core::price::utilisation;
use dielet_core::system::System;
use dielet_core::verdict::Reason;
use rayon::prelude::*;

use super::{FieldColumn, Table};

/// One entry a plan; not a number where it cannot run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PriceColumns {
    /// Time of a step.
    pub step_s: Vec<f64>,
    /// Memory of the fullest device.
    pub peak_bytes: Vec<f64>,
    /// Model FLOPs per second over the dense peak.
    pub mfu: Vec<f64>,
    /// Why the plan cannot run.
    pub reason: Vec<Option<Reason>>,
}

impl PriceColumns {
    fn with_capacity(rows: usize) -> Self {
        Self {
            step_s: Vec::with_capacity(rows),
            peak_bytes: Vec::with_capacity(rows),
            mfu: Vec::with_capacity(rows),
            reason: Vec::with_capacity(rows),
        }
    }

    fn push(&mut self, [step_s, peak_bytes, mfu]: [f64; 3], reason: Option<Reason>) {
        self.step_s.push(step_s);
        self.peak_bytes.push(peak_bytes);
        self.mfu.push(mfu);
        self.reason.push(reason);
    }

    fn append(mut self, mut other: Self) -> Self {
        self.step_s.append(&mut other.step_s);
        self.peak_bytes.append(&mut other.peak_bytes);
        self.mfu.append(&mut other.mfu);
        self.reason.append(&mut other.reason);
        self
    }
}

/// The prices of plans that differ from `base` in the fields given, one plan a row; all columns are equally long. Each is equal
/// to [`price`](super::price()) bit for bit.
///
/// Threads take one contiguous part of the rows each and share nothing, so the answer does not depend on how many
/// there are.
pub fn price_columns(model: &Model, system: &System, base: &Plan, fields: &[FieldColumn]) -> PriceColumns {
    let rows = fields.iter().map(FieldColumn::rows).min().unwrap_or(1);
    let part = rows.div_ceil(rayon::current_num_threads()).max(1);
    let parts: Vec<PriceColumns> = (0..rows.div_ceil(part))
        .into_par_iter()
        .map(|index| part_columns(model, system, base, fields, index * part..rows.min((index + 1) * part)))
        .collect();
    parts.into_iter().reduce(PriceColumns::append).unwrap_or_default()
}

fn part_columns(
    model: &Model,
    system: &System,
    base: &Plan,
    fields: &[FieldColumn],
    rows: Range<usize>,
) -> PriceColumns {
    let mut table = Table::new(model, system);
    let mut columns = PriceColumns::with_capacity(rows.len());
    for row in rows {
        let mut plan = *base;
        for field in fields {
            field.set(&mut plan, row);
        }
        match table.quote(&plan) {
            Ok(quote) => {
                let mfu = utilisation(system, &plan, quote.model_flops, quote.step);
                columns.push([quote.step.value(), quote.peak_memory.value(), mfu], None);
            }
            Err(reason) => columns.push([f64::NAN; 3], Some(reason)),
        }
    }
    columns
}
