//! The model as an immutable handle.

use std::sync::Arc;

use dielet_core::graph;
use pyo3::prelude::*;
use pythonize::pythonize;

use crate::error::{Class, Error, read};

/// A model: a graph of ops over named axes, checked once.
#[pyclass(frozen, module = "dielet._core")]
pub(crate) struct Model(pub(crate) Arc<graph::Model>);

impl Model {
    fn checked(model: graph::Model) -> Result<Self, Error> {
        model.check()?;
        Ok(Self(Arc::new(model)))
    }
}

#[pymethods]
impl Model {
    /// A model from the dict tree that `to_dict` returns.
    #[staticmethod]
    fn from_dict(tree: &Bound<'_, PyAny>) -> Result<Self, Error> {
        let name = tree.get_item("name").and_then(|name| name.extract::<String>());
        let what = name.map_or_else(|_| "model".to_owned(), |name| format!("model `{name}`"));
        Self::checked(read(tree, Class::Model, &what)?)
    }

    /// The model as a tree of dicts and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, self.0.as_ref())?)
    }

    /// Parameters: all, those of looked-up tables, and those that one token uses.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.parameter_counts())?)
    }

    /// One row per op, as a dict of equal-length lists.
    fn op_table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.op_table())?)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn summary(&self) -> &str {
        &self.0.summary
    }

    #[getter]
    fn source(&self) -> &str {
        &self.0.source
    }

    #[getter]
    fn sample(&self) -> &str {
        &self.0.sample
    }

    #[getter]
    fn sequence(&self) -> u64 {
        self.0.sequence
    }

    #[getter]
    fn worker_batch(&self) -> u64 {
        self.0.worker_batch
    }

    #[getter]
    fn measured_batch(&self) -> Option<u64> {
        self.0.measured_batch
    }

    #[getter]
    fn forward_flops_per_sample(&self) -> f64 {
        self.0.forward_flops()
    }

    fn __len__(&self) -> usize {
        self.0.ops.len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __repr__(&self) -> String {
        let model = &self.0;
        let (ops, chain) = (model.ops.len(), model.segments.len());
        format!("<Model {}: {} parameters, {ops} ops in {chain} segments>", model.name, model.parameters())
    }
}
