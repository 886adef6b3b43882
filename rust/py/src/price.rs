//! One plan priced, with its explanation; many plans priced, as columns.

use dielet_core::plan::{Plan, Precision};
use dielet_core::verdict::Infeasible;
use dielet_solve::plan;
use pyo3::prelude::*;
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
