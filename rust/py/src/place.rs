//! Placement: dict in, dict out.

use dielet_core::plan::Plan;
use dielet_solve::place::{
    self, Answer, CriticalPath, ForwardOp, Options, Placed, Problem, Schedule, Tensor,
};
use dielet_solve::plan::placement_problem;
use dielet_solve::proof::{Proof, Stop};
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Serialize;
use std::cell::Cell;
use std::time::Instant;

use crate::error::{Class, Error, read};
use crate::model::Model;
use crate::price::Verdict;
use crate::system::System;

#[derive(Serialize)]
struct Outcome {
    status: &'static str,
    reason: Option<String>,
    schedule: Option<Schedule>,
    critical_path: Option<CriticalPath>,
    proof: Option<Proof>,
    gap: Option<f64>,
    serial_s: Option<f64>,
    speedup: Option<f64>,
    seconds: f64,
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

fn outcome(answer: Answer, problem: &Problem, began: Instant) -> Outcome {
    let seconds = began.elapsed().as_secs_f64();
    let serial_s = Some(problem.serial_s()).filter(|s| s.is_finite());
    let mut outcome = Outcome {
        status: "infeasible",
        reason: None,
        schedule: None,
        critical_path: None,
        proof: None,
        gap: None,
        serial_s,
        speedup: None,
        seconds,
    };
    match answer {
        Answer::Infeasible(why) => outcome.reason = Some(why.to_string()),
        Answer::Placed(placed) => {
            let Placed { schedule, proof } = *placed;
            outcome.status = if proof.stop == Stop::Optimal { "optimal" } else { "feasible" };
            outcome.critical_path = Some(place::critical_path(problem, &schedule));
            outcome.speedup = serial_s.map(|s| s / schedule.makespan_s).filter(|s| s.is_finite());
            outcome.gap = Some(proof.gap());
            outcome.proof = Some(proof);
            outcome.schedule = Some(schedule);
        }
    }
    outcome
}

/// Place `problem`; a dict with `status`, `schedule`, `proof`, `gap`, `serial_s`, `reason`, `seconds`.
#[pyfunction]
#[pyo3(signature = (problem, time_limit_s=None))]
pub(crate) fn place_solve<'py>(
    py: Python<'py>,
    problem: &Bound<'py, PyAny>,
    time_limit_s: Option<f64>,
) -> Result<Bound<'py, PyAny>, Error> {
    let problem: Problem = read(problem, Class::Model, "placement problem")?;
    let began = Instant::now();
    let answer = py.detach(|| {
        let signals = Signals(Cell::new(false));
        place::place(&problem, &Options { time_limit_s }, &|| signals.pressed())
    })?;
    Ok(pythonize(py, &outcome(answer, &problem, began)).map_err(PyErr::from)?)
}

/// Makespan in seconds of a schedule that keeps every constraint; an error names the first it breaks.
#[pyfunction]
pub(crate) fn place_check(problem: &Bound<'_, PyAny>, schedule: &Bound<'_, PyAny>) -> Result<f64, Error> {
    let problem: Problem = read(problem, Class::Model, "placement problem")?;
    let schedule: Schedule = read(schedule, Class::Plan, "schedule")?;
    problem.validate()?;
    Ok(place::check(&problem, &schedule)?)
}

/// Ops and tensors of the training step of a forward graph.
#[pyfunction]
pub(crate) fn place_training_step<'py>(
    py: Python<'py>,
    ops: &Bound<'py, PyAny>,
    tensors: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyAny>, Error> {
    let ops: Vec<ForwardOp> = read(ops, Class::Model, "ops")?;
    let tensors: Vec<Tensor> = read(tensors, Class::Model, "tensors")?;
    Ok(pythonize(py, &place::training_step(&ops, &tensors)).map_err(PyErr::from)?)
}

/// The problem of placing the ops of a model on the `placed` devices of a plan, or why the plan cannot run.
#[pyfunction]
pub(crate) fn place_model<'py>(
    py: Python<'py>,
    model: &Model,
    system: &System,
    plan: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyAny>, Error> {
    let plan: Plan = read(plan, Class::Plan, "plan")?;
    let verdict = py.detach(|| Verdict::from(placement_problem(&model.0, &system.0, &plan)));
    Ok(pythonize(py, &verdict).map_err(PyErr::from)?)
}
