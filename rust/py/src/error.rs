//! The one place where an error of the core becomes a Python exception.
//!
//! A binding returns `Result<_, Error>` and uses `?`. A new error enum of a core crate is one more variant of
//! [`Error`] and one more arm of [`Error::class`], which has no catch-all.

use dielet_core::device::DeviceError;
use dielet_core::fabric::FabricError;
use dielet_core::graph::GraphError;
use dielet_core::link::TechnologyError;
use dielet_core::packaging::WaferError;
use dielet_core::spec::SpecError;
use dielet_core::system::SystemError;
use dielet_core::units::QuantityError;
use dielet_solve::partition::PartitionError;
use dielet_solve::place::{PlaceError, Violation};
use dielet_solve::plan::FieldError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use serde::de::DeserializeOwned;

/// Whatever a binding may fail with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A model that cannot be used.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A technology or geometry that cannot be used.
    #[error(transparent)]
    Technology(#[from] TechnologyError),
    /// A wafer that cannot be.
    #[error(transparent)]
    Wafer(#[from] WaferError),
    /// A file of a device, system, fabric or technology that cannot be used.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A device that lacks what is asked of it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A system or fabric that cannot be used.
    #[error(transparent)]
    System(#[from] SystemError),
    /// A group of devices that the fabric does not have.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// A column that holds no plans.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A text that is no quantity.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// A task graph or devices that cannot be placed.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A graph or machine that cannot be partitioned.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// A schedule that breaks a constraint.
    #[error(transparent)]
    Schedule(#[from] Violation),
    /// A Python object that has not the fields asked for.
    #[error("{what}: {fault}")]
    Input {
        /// The exception to raise.
        class: Class,
        /// What was being read, and where in it.
        what: String,
        /// The fault that serde found.
        fault: String,
    },
    /// An exception that Python raised itself.
    #[error("{0}")]
    Python(#[from] PyErr),
}

/// The classes of `dielet.errors`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code)] // each is raised by some binding
pub(crate) enum Class {
    /// `ModelError`
    Model,
    /// `SpecError`
    Spec,
    /// `PlanError`
    Plan,
    /// `FileError`
    File,
}

impl Class {
    fn of(self, py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
        static CLASSES: [PyOnceLock<Py<PyType>>; 4] = [const { PyOnceLock::new() }; 4];
        let name = match self {
            Self::Model => "ModelError",
            Self::Spec => "SpecError",
            Self::Plan => "PlanError",
            Self::File => "FileError",
        };
        CLASSES[self as usize].import(py, "dielet.errors", name)
    }
}

impl Error {
    fn class(&self) -> Option<Class> {
        match self {
            Self::Graph(_) => Some(Class::Model),
            Self::Spec(_) | Self::Device(_) | Self::Quantity(_) => Some(Class::Spec),
            Self::Technology(_) | Self::Wafer(_) => Some(Class::Spec),
            Self::System(_) => Some(Class::Spec),
            Self::Fabric(_) | Self::Field(_) | Self::Schedule(_) => Some(Class::Plan),
            Self::Place(fault) if fault.is_about_the_graph() => Some(Class::Model),
            Self::Place(_) | Self::Partition(PartitionError::NoDevice) => Some(Class::Plan),
            Self::Partition(_) => Some(Class::Model),
            Self::Input { class, .. } => Some(*class),
            Self::Python(_) => None,
        }
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let (text, class) = (error.to_string(), error.class());
        match (error, class) {
            (Error::Python(raised), _) => raised,
            (_, Some(class)) => Python::attach(|py| match class.of(py) {
                Ok(class) => Self::from_type(class.clone(), (text,)),
                Err(missing) => missing,
            }),
            (_, None) => PyRuntimeError::new_err(text),
        }
    }
}

/// A Rust value from a Python dict tree; a fault names the path to it, as in ``ops[3].work``.
pub(crate) fn read<T: DeserializeOwned>(
    from: &Bound<'_, PyAny>,
    class: Class,
    what: &str,
) -> Result<T, Error> {
    let mut reader = pythonize::Depythonizer::from_object(from);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { String::new() } else { format!(", `{path}`") };
        Error::Input { class, what: format!("{what}{place}"), fault: error.into_inner().to_string() }
    })
}
