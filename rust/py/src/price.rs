//! One plan priced, with its explanation; many plans priced, as columns.

use std::collections::BTreeSet;

use dielet_core::plan::{Mapping, Plan, Precision, Recompute, Schedule};
use dielet_core::verdict::{Infeasible, Reason};
use dielet_solve::plan::{self, FieldColumn, PriceColumns};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;
use serde::Serialize;

use crate::error::{Class, Error, read};
use crate::model::Model;
use crate::system::System;

/// What a verdict looks like from Python.
#[derive(Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum Verdict<T> {
    /// It runs.
    Feasible(T),
    /// It does not.
    Infeasible(Infeasible),
}

impl<T> From<Result<T, Infeasible>> for Verdict<T> {
    fn from(outcome: Result<T, Infeasible>) -> Self {
        match outcome {
            Ok(answer) => Self::Feasible(answer),
            Err(why) => Self::Infeasible(why),
        }
    }
}

/// The plan of one device that does everything, as a dict to change.
#[pyfunction]
pub(crate) fn serial_plan<'py>(
    py: Python<'py>,
    model: &Model,
    precision: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyAny>, Error> {
    let precision: Precision = read(precision, Class::Plan, "precision")?;
    Ok(pythonize(py, &Plan::serial(&model.0, precision)).map_err(PyErr::from)?)
}

/// The price of a plan with its breakdown, or why it cannot run, as a dict.
#[pyfunction]
pub(crate) fn price<'py>(
    py: Python<'py>,
    model: &Model,
    system: &System,
    plan: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyAny>, Error> {
    let plan: Plan = read(plan, Class::Plan, "plan")?;
    let verdict = py.detach(|| Verdict::from(plan::price(&model.0, &system.0, &plan)));
    Ok(pythonize(py, &verdict).map_err(PyErr::from)?)
}

/// The words that a plan's fields take, in the order of their numbers in `price_columns`, as a dict of lists.
#[pyfunction]
pub(crate) fn plan_words(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let words = PyDict::new(py);
    words.set_item("schedule", pythonize(py, &Schedule::ALL)?)?;
    words.set_item("recompute", pythonize(py, &Recompute::ALL)?)?;
    words.set_item("precision", pythonize(py, &Precision::ALL)?)?;
    words.set_item("mapping", pythonize(py, &Mapping::ALL)?)?;
    Ok(words)
}

/// Prices of plans that differ from `base` in equally long columns of numbers (words by their position in
/// `plan_words`), as a dict of arrays; `reason` is 0 for plans that run, else a position in
/// `reasons` plus 1.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 hands arguments over
pub(crate) fn price_columns<'py>(
    py: Python<'py>,
    model: &Model,
    system: &System,
    base: &Bound<'py, PyAny>,
    columns: Vec<(String, PyReadonlyArray1<'py, u64>)>,
) -> Result<Bound<'py, PyDict>, Error> {
    let base: Plan = read(base, Class::Plan, "plan")?;
    let fields = columns
        .iter()
        .map(|(name, values)| Ok(FieldColumn::new(name, values.as_slice().map_err(PyErr::from)?)?));
    let fields: Vec<FieldColumn> = fields.collect::<Result<_, Error>>()?;
    let priced = py.detach(|| plan::price_columns(&model.0, &system.0, &base, &fields));
    answer(py, priced)
}

fn answer(py: Python<'_>, priced: PriceColumns) -> Result<Bound<'_, PyDict>, Error> {
    let reasons: BTreeSet<Reason> = priced.reason.iter().flatten().copied().collect();
    let reasons: Vec<Reason> = reasons.into_iter().collect();
    let number = |reason: &Option<Reason>| {
        reason.map_or(0, |reason| reasons.partition_point(|&known| known < reason) as u8 + 1)
    };
    let numbers: Vec<u8> = priced.reason.iter().map(number).collect();
    let answer = PyDict::new(py);
    answer.set_item("step_s", priced.step_s.into_pyarray(py))?;
    answer.set_item("peak_bytes", priced.peak_bytes.into_pyarray(py))?;
    answer.set_item("mfu", priced.mfu.into_pyarray(py))?;
    answer.set_item("reason", numbers.into_pyarray(py))?;
    answer.set_item("reasons", pythonize(py, &reasons).map_err(PyErr::from)?)?;
    Ok(answer)
}

/// What each op costs one device, as a dict of equal-length lists.
#[pyfunction]
pub(crate) fn op_costs<'py>(
    py: Python<'py>,
    model: &Model,
    system: &System,
    plan: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyAny>, Error> {
    let plan: Plan = read(plan, Class::Plan, "plan")?;
    let verdict = py.detach(|| Verdict::from(plan::op_costs(&model.0, &system.0, &plan)));
    Ok(pythonize(py, &verdict).map_err(PyErr::from)?)
}
