//! Systems and named fabrics as immutable handles, and their collectives over arrays.

use std::sync::Arc;

use dielet_core::collective::{self, Algorithm, Collective, Operation};
use dielet_core::fabric::Group;
use dielet_core::system;
use dielet_core::units::{Bytes, Seconds};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pythonize::pythonize;

use crate::device::Device;
use crate::error::{Class, Error, read};

/// Devices, the fabric that joins them, price and power; checked once.
#[pyclass(frozen, module = "dielet._core")]
pub(crate) struct System(pub(crate) Arc<system::System>);

#[pymethods]
impl System {
    /// A system from the text of its file and its device; `origin` names the file in errors.
    #[staticmethod]
    fn from_toml(text: &str, device: &Device, origin: &str) -> Result<Self, Error> {
        let device = device.0.as_ref().clone();
        Ok(Self(Arc::new(system::System::from_toml(text, device, origin)?)))
    }

    /// The name of the device that a system's file asks for.
    #[staticmethod]
    fn device_name(text: &str, origin: &str) -> Result<String, Error> {
        Ok(system::System::device_name(text, origin)?)
    }

    /// The same machine with another innermost tier and as many devices in it.
    fn with_fabric(&self, fabric: &Fabric) -> Result<Self, Error> {
        Ok(Self(Arc::new(self.0.with_fabric(&fabric.0, &fabric.0.name)?)))
    }

    /// The system as a tree of dicts, every figure with its source.
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
    fn device(&self) -> Device {
        Device(Arc::new(self.0.device.clone()))
    }

    #[getter]
    fn capacity(&self) -> Option<u64> {
        self.0.fabric.capacity()
    }

    fn __repr__(&self) -> String {
        format!("System({:?})", self.0.name)
    }
}

/// A named tier that may take the place of a system's innermost one.
#[pyclass(frozen, module = "dielet._core")]
pub(crate) struct Fabric(pub(crate) Arc<system::FabricSpec>);

#[pymethods]
impl Fabric {
    /// A fabric from the text of its file; `origin` names the file in errors.
    #[staticmethod]
    fn from_toml(text: &str, origin: &str) -> Result<Self, Error> {
        Ok(Self(Arc::new(system::FabricSpec::from_toml(text, origin)?)))
    }

    /// The fabric as a tree of dicts, every figure with its source.
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

    fn __repr__(&self) -> String {
        format!("Fabric({:?})", self.0.name)
    }
}

/// Seconds, joules and algorithm of one operation for each message of a column.
///
/// The group has `size` ranks, `stride` ids apart, among `devices` devices; with `placed` false it is the first
/// `devices` devices as they are numbered. With an algorithm, its time and no other's (not a number where the fabric
/// does not allow it).
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // pyo3 hands arguments over
#[allow(clippy::too_many_arguments)] // the Python face names them
pub(crate) fn collective_columns<'py>(
    py: Python<'py>,
    system: &System,
    operation: &Bound<'py, PyAny>,
    bytes: PyReadonlyArray1<'py, f64>,
    devices: u64,
    size: u64,
    stride: u64,
    placed: bool,
    algorithm: Option<&Bound<'py, PyAny>>,
) -> Result<Columns<'py>, Error> {
    let operation: Operation = read(operation, Class::Plan, "operation")?;
    let algorithm = algorithm.map(|name| read(name, Class::Plan, "algorithm")).transpose()?;
    let fabric = &system.0.fabric;
    let group = if placed { fabric.group(devices, size, stride)? } else { fabric.first(devices)? };
    let messages = bytes.as_array();
    let priced = messages.iter().map(|&bytes| price(&group, operation, algorithm, Bytes(bytes)));
    columns(py, &priced.collect::<Vec<_>>())
}

fn price(group: &Group, operation: Operation, algorithm: Option<Algorithm>, bytes: Bytes) -> Collective {
    let best = collective::collective(group, operation, bytes);
    let Some(algorithm) = algorithm else { return best };
    let time = collective::time_by(group, operation, algorithm, bytes);
    Collective { seconds: time.unwrap_or(Seconds(f64::NAN)), algorithm, ..best }
}

type Columns<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyAny>);

fn columns<'py>(py: Python<'py>, priced: &[Collective]) -> Result<Columns<'py>, Error> {
    let seconds: Vec<f64> = priced.iter().map(|one| one.seconds.value()).collect();
    let joules: Vec<f64> = priced.iter().map(|one| one.energy.value()).collect();
    let algorithms: Vec<Algorithm> = priced.iter().map(|one| one.algorithm).collect();
    let algorithms = pythonize(py, &algorithms).map_err(PyErr::from)?;
    Ok((seconds.into_pyarray(py), joules.into_pyarray(py), algorithms))
}
