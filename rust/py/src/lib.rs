//! Conversions between Rust and Python, and nothing else.

mod device;
mod error;
mod model;
mod system;

use pyo3::prelude::*;

/// The Rust core of dielet.
#[pymodule(gil_used = false)]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::device::{Device, gemm_time_s, stream_time_s};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::system::{Fabric, System, collective_columns};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("build_profile", if cfg!(debug_assertions) { "debug" } else { "release" })
    }
}
