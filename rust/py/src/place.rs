//! Placement: dict in, dict out.

use dielet_solve::place::{self, Answer, ForwardOp, Options, Placed, Problem, Schedule, Tensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::Serialize;
use std::cell::Cell;
use std::time::Instant;

#[derive(Serialize)]
struct Outcome {
    status: &'static str,
    reason: Option<String>,
    schedule: Option<Schedule>,
    proof: Option<dielet_solve::proof::Proof>,
    seconds: f64,
}

fn bad(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Ctrl-C, noticed while the interpreter is released; remembered, since Python forgets it once told.
struct Signals(Cell<bool>);

impl Signals {
    fn pressed(&self) -> bool {
        if !self.0.get() {
            self.0.set(Python::attach(|py| py.check_signals().is_err()));
        }
        self.0.get()
    }
}

fn outcome(answer: Answer, began: Instant) -> Outcome {
    let seconds = began.elapsed().as_secs_f64();
    match answer {
        Answer::Placed(placed) => {
            let Placed { schedule, proof } = *placed;
            let optimal = proof.stop == dielet_solve::proof::Stop::Optimal;
            let status = if optimal { "optimal" } else { "feasible" };
            Outcome { status, reason: None, schedule: Some(schedule), proof: Some(proof), seconds }
        }
        Answer::Infeasible(reason) => Outcome {
            status: "infeasible",
            reason: Some(reason.to_string()),
            schedule: None,
            proof: None,
            seconds,
        },
    }
}

/// Place `problem`; a dict with `status`, `schedule`, `proof`, `reason`, `seconds`.
#[pyfunction]
#[pyo3(signature = (problem, time_limit_s=None))]
pub(crate) fn place_solve<'py>(
    py: Python<'py>,
    problem: &Bound<'py, PyAny>,
    time_limit_s: Option<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let problem: Problem = depythonize(problem).map_err(bad)?;
    let began = Instant::now();
    let answer = py.detach(|| {
        let signals = Signals(Cell::new(false));
        place::place(&problem, &Options { time_limit_s }, &|| signals.pressed())
    });
    Ok(pythonize(py, &outcome(answer.map_err(bad)?, began))?)
}

/// Makespan in seconds of a schedule that keeps every constraint; `ValueError` names the first it breaks.
#[pyfunction]
pub(crate) fn place_check(problem: &Bound<'_, PyAny>, schedule: &Bound<'_, PyAny>) -> PyResult<f64> {
    let problem: Problem = depythonize(problem).map_err(bad)?;
    let schedule: Schedule = depythonize(schedule).map_err(bad)?;
    problem.validate().map_err(bad)?;
    place::check(&problem, &schedule).map_err(bad)
}

/// Ops and tensors of the training step of a forward graph.
#[pyfunction]
pub(crate) fn place_training_step<'py>(
    py: Python<'py>,
    ops: &Bound<'py, PyAny>,
    tensors: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let ops: Vec<ForwardOp> = depythonize(ops).map_err(bad)?;
    let tensors: Vec<Tensor> = depythonize(tensors).map_err(bad)?;
    Ok(pythonize(py, &place::training_step(&ops, &tensors))?)
}
