//! Conversions for `dielet_solve::partition`.

use dielet_solve::partition::contract::{ProfiledGraph, ProfiledOp};
use dielet_solve::partition::load::Machine;
use dielet_solve::partition::replicate::{Levels, ReplicaOp};
use dielet_solve::partition::{self, search::Limits};
use dielet_solve::proof::Stop;
use pyo3::prelude::*;
use pythonize::pythonize;
use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::error::{Class, Error, read};

/// Time between two looks at Python's pending signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs `search` without the interpreter; it ends at the time limit or when Python has a signal to deliver.
pub(crate) fn limited<T: Send>(
    py: Python<'_>,
    time_limit_s: Option<f64>,
    memory_limit_bytes: Option<usize>,
    search: impl FnOnce(&Limits<'_>) -> T + Send,
) -> T {
    py.detach(|| {
        let start = Instant::now();
        let looked = Cell::new(start);
        let stop = || {
            let now = Instant::now();
            if time_limit_s.is_some_and(|limit| (now - start).as_secs_f64() > limit) {
                return Some(Stop::TimeLimit);
            }
            if now - looked.get() < SIGNAL_INTERVAL {
                return None;
            }
            looked.set(now);
            let pressed = Python::attach(|py| py.check_signals().is_err());
            pressed.then_some(Stop::Interrupted)
        };
        search(&Limits { stop: &stop, memory_bytes: memory_limit_bytes })
    })
}

/// Columns of a profiled graph.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Columns {
    accelerator: Vec<f64>,
    cpu: Vec<f64>,
    memory: Vec<f64>,
    backward: Vec<bool>,
    colour: Vec<u32>,
    supported: Vec<bool>,
    transfer: Vec<f64>,
    edges: Vec<(u32, u32)>,
}

impl Columns {
    fn graph(self) -> Result<ProfiledGraph, Error> {
        let Self { accelerator, cpu, memory, backward, colour, supported, transfer, edges } = self;
        let len = accelerator.len();
        let lengths =
            [cpu.len(), memory.len(), backward.len(), colour.len(), supported.len(), transfer.len()];
        same_length(len, &lengths)?;
        let ops = (0..len).map(|v| ProfiledOp {
            accelerator: accelerator[v],
            cpu: cpu[v],
            memory: memory[v],
            backward: backward[v],
            colour: colour[v],
            supported: supported[v],
            transfer: transfer[v],
        });
        Ok(ProfiledGraph { ops: ops.collect(), edges })
    }
}

/// Contiguous or arbitrary partition for the smallest largest load.
#[pyfunction]
#[pyo3(signature = (columns, accelerators, cpus, memory, *, contiguous, time_limit_s, memory_limit_bytes))]
#[allow(clippy::too_many_arguments)] // the keywords of a Python function
pub(crate) fn partition_load(
    py: Python<'_>,
    columns: Columns,
    accelerators: u32,
    cpus: u32,
    memory: f64,
    contiguous: bool,
    time_limit_s: Option<f64>,
    memory_limit_bytes: Option<usize>,
) -> Result<Bound<'_, PyAny>, Error> {
    let graph = columns.graph()?;
    let machine = Machine { accelerators, cpus, memory };
    let answer = limited(py, time_limit_s, memory_limit_bytes, |limits| {
        partition::load_partition(&graph, machine, contiguous, limits)
    })?;
    Ok(pythonize(py, &answer).map_err(PyErr::from)?)
}

/// Columns of a graph of replicated stages.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ReplicaColumns {
    forward_ms: Vec<f64>,
    backward_ms: Vec<f64>,
    parameters_bytes: Vec<f64>,
    activation_bytes: Vec<f64>,
    edges: Vec<(u32, u32)>,
}

impl ReplicaColumns {
    fn ops(&self) -> Result<Vec<ReplicaOp>, Error> {
        let Self { forward_ms, backward_ms, parameters_bytes, activation_bytes, .. } = self;
        let len = forward_ms.len();
        let lengths = [backward_ms.len(), parameters_bytes.len(), activation_bytes.len()];
        same_length(len, &lengths)?;
        let op = |v: usize| {
            ReplicaOp::from_milliseconds(
                forward_ms[v] + backward_ms[v],
                parameters_bytes[v],
                activation_bytes[v],
            )
        };
        Ok((0..len).map(op).collect())
    }
}

fn same_length(len: usize, others: &[usize]) -> Result<(), Error> {
    if others.iter().all(|&other| other == len) {
        return Ok(());
    }
    let fault = format!("columns differ in length: {len} and {others:?}");
    Err(Error::Input { class: Class::Model, what: "partition problem".to_owned(), fault })
}

/// Replicated stages on `nodes` nodes of `devices` devices.
#[pyfunction]
#[pyo3(signature = (columns, devices, nodes, inner, outer, *, time_limit_s, memory_limit_bytes))]
#[allow(clippy::too_many_arguments)] // the keywords of a Python function
pub(crate) fn partition_replicas(
    py: Python<'_>,
    columns: ReplicaColumns,
    devices: u32,
    nodes: u32,
    inner: f64,
    outer: f64,
    time_limit_s: Option<f64>,
    memory_limit_bytes: Option<usize>,
) -> Result<Bound<'_, PyAny>, Error> {
    let ops = columns.ops()?;
    let edges = columns.edges;
    let levels = Levels { devices, nodes, inner, outer };
    let answer = limited(py, time_limit_s, memory_limit_bytes, |limits| {
        partition::replica_partition(&ops, &edges, levels, limits)
    })?;
    Ok(pythonize(py, &answer).map_err(PyErr::from)?)
}

/// Stages with data and tensor parallelism and recompute.
#[pyfunction]
#[pyo3(signature = (problem, *, time_limit_s, memory_limit_bytes))]
pub(crate) fn partition_hybrid<'py>(
    py: Python<'py>,
    problem: &Bound<'py, PyAny>,
    time_limit_s: Option<f64>,
    memory_limit_bytes: Option<usize>,
) -> Result<Bound<'py, PyAny>, Error> {
    let input: partition::HybridInput = read(problem, Class::Model, "partition problem")?;
    let answer =
        limited(py, time_limit_s, memory_limit_bytes, |limits| partition::hybrid_partition(&input, limits))?;
    Ok(pythonize(py, &answer).map_err(PyErr::from)?)
}
