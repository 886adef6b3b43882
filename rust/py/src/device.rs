//! The device as an immutable handle, and the time of its kernels over arrays.

use std::sync::Arc;

use dielet_core::compute::{self, Gemm};
use dielet_core::device::{self, Number};
use dielet_core::units::Bytes;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pythonize::pythonize;

use crate::error::Error;

/// A device, checked once.
#[pyclass(frozen, module = "dielet._core")]
pub(crate) struct Device(pub(crate) Arc<device::Device>);

#[pymethods]
impl Device {
    /// A device from the text of its file; `origin` names the file in errors.
    #[staticmethod]
    fn from_toml(text: &str, origin: &str) -> Result<Self, Error> {
        Ok(Self(Arc::new(device::Device::from_toml(text, origin)?)))
    }

    /// The device as a tree of dicts, every figure with its source.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, self.0.as_ref())?)
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
    fn numbers(&self) -> Vec<&'static str> {
        self.0.rates.keys().map(|number| number.name()).collect()
    }

    fn __repr__(&self) -> String {
        format!("Device({:?})", self.0.name)
    }
}

/// Seconds of each GEMM of four columns of equal length.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 hands arguments over
pub(crate) fn gemm_time_s<'py>(
    py: Python<'py>,
    device: &Device,
    number: &str,
    batch: PyReadonlyArray1<'py, u64>,
    m: PyReadonlyArray1<'py, u64>,
    n: PyReadonlyArray1<'py, u64>,
    k: PyReadonlyArray1<'py, u64>,
) -> Result<Bound<'py, PyArray1<f64>>, Error> {
    let unit = device.0.matrix_unit(number.parse::<Number>()?)?;
    let (batch, m, n, k) = (batch.as_array(), m.as_array(), n.as_array(), k.as_array());
    if [m.len(), n.len(), k.len()] != [batch.len(); 3] {
        return Err(PyValueError::new_err("batch, m, n and k must have the same length").into());
    }
    let time = |row| Gemm { batch: batch[row], m: m[row], n: n[row], k: k[row] };
    let seconds = (0..batch.len()).map(|row| compute::gemm_time(&unit, time(row)).value());
    Ok(seconds.collect::<Vec<_>>().into_pyarray(py))
}

/// Seconds of a kernel that moves this many bytes.
#[pyfunction]
pub(crate) fn stream_time_s(device: &Device, bytes: f64) -> f64 {
    compute::stream_time(&device.0, Bytes(bytes)).value()
}
