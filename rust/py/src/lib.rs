//! Conversions between Rust and Python, and nothing else.

mod error;
mod link;
mod model;
mod packaging;

use pyo3::prelude::*;

/// The Rust core of dielet.
#[pymodule(gil_used = false)]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::link::{Technology, compare_links, power_saving, roofline_gain, share_needed, wire_columns};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::packaging::Packaging;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("build_profile", if cfg!(debug_assertions) { "debug" } else { "release" })
    }
}
