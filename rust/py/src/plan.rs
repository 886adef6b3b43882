//! The search over workers: counts of devices in, columns out.

use dielet_core::plan::Plan;
use dielet_solve::plan::{Column, Counts, Kind, Request, workers};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pythonize::pythonize;
use serde::Serialize;

use crate::error::{Class, Error, read};
use crate::model::Model;
use crate::system::System;

/// A plan with the word for what splits its workers.
#[derive(Serialize)]
struct Named {
    kind: Kind,
    plan: Plan,
}

/// The best worker of each size at each device count.
///
/// Returns a dict: `columns` (per size: `mp`, `step_s` and `plan`, an index into `plans` or -1, and `why`, the
/// verdict where there is none), `plans` and `counts`.
#[pyfunction]
#[pyo3(name = "workers")]
#[allow(clippy::needless_pass_by_value)] // pyo3 hands arguments over
pub(crate) fn workers_py<'py>(
    py: Python<'py>,
    model: &Model,
    system: &System,
    request: &Bound<'py, PyAny>,
    devices: PyReadonlyArray1<'py, u64>,
) -> Result<Bound<'py, PyDict>, Error> {
    let request: Request = read(request, Class::Plan, "request")?;
    let devices = devices.as_array().to_vec();
    let (columns, counts) = py.detach(|| workers(&model.0, &system.0, &request, &devices));
    answer(py, &columns, &counts)
}

fn answer<'py>(py: Python<'py>, columns: &[Column], counts: &Counts) -> Result<Bound<'py, PyDict>, Error> {
    let mut plans: Vec<Named> = Vec::new();
    let list = PyList::empty(py);
    for column in columns {
        list.append(table(py, column, &mut plans)?)?;
    }
    let answer = PyDict::new(py);
    answer.set_item("columns", list)?;
    answer.set_item("plans", pythonize(py, &plans).map_err(PyErr::from)?)?;
    answer.set_item("counts", pythonize(py, counts).map_err(PyErr::from)?)?;
    Ok(answer)
}

fn table<'py>(py: Python<'py>, column: &Column, plans: &mut Vec<Named>) -> Result<Bound<'py, PyDict>, Error> {
    let mut steps = Vec::with_capacity(column.best.len());
    let mut indices: Vec<i64> = Vec::with_capacity(column.best.len());
    let why = PyList::empty(py);
    for outcome in &column.best {
        match outcome {
            Ok(best) => {
                steps.push(best.step.value());
                indices.push(plans.len() as i64);
                plans.push(Named { kind: Kind::of(&best.plan), plan: best.plan });
                why.append(py.None())?;
            }
            Err(infeasible) => {
                steps.push(f64::NAN);
                indices.push(-1);
                why.append(pythonize(py, infeasible).map_err(PyErr::from)?)?;
            }
        }
    }
    let table = PyDict::new(py);
    table.set_item("mp", column.mp)?;
    table.set_item("step_s", steps.into_pyarray(py))?;
    let indices: Bound<'py, PyArray1<i64>> = indices.into_pyarray(py);
    table.set_item("plan", indices)?;
    table.set_item("why", why)?;
    Ok(table)
}
