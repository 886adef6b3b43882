//! Conversions between Rust and Python, and nothing else.

mod device;
mod error;
mod link;
mod model;
mod packaging;
mod partition;
mod pipeline;
mod place;
mod plan;
mod price;
mod projection;
mod quantity;
mod system;

use pyo3::prelude::*;

/// The Rust core of dielet.
#[pymodule(gil_used = false)]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::device::{Device, gemm_time_s, stream_time_s};
    #[pymodule_export]
    use super::link::{
        Technology, bus_response, compare_links, edge_bandwidth, perimeter_bandwidth, power_saving,
        roofline_gain, share_needed, wire_columns,
    };
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::packaging::Packaging;

    #[pymodule_export]
    use super::partition::{partition_hybrid, partition_load, partition_replicas};
    #[pymodule_export]
    use super::pipeline::pipeline_ends_s;
    #[pymodule_export]
    use super::place::{place_check, place_model, place_solve, place_training_step};
    #[pymodule_export]
    use super::plan::workers_py;
    #[pymodule_export]
    use super::price::{op_costs, plan_words, price, price_columns, serial_plan};
    #[pymodule_export]
    use super::projection::{
        crossover_batch_ratio, crossover_devices, dp_speedup, dp_speedup_limit, dp_speedup_under_hyperbola,
        epochs_over_minimum, hybrid_gain, hybrid_gain_under_hyperbola, hybrid_speedup, required_epochs_ratio,
        required_mp_speedup, training_time_s,
    };
    #[pymodule_export]
    use super::quantity::{format_quantity, parse_quantity};
    #[pymodule_export]
    use super::system::{Fabric, System, collective_columns};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("place_most_devices", dielet_solve::place::MAX_DEVICES)?;
        module.add("build_profile", if cfg!(debug_assertions) { "debug" } else { "release" })
    }
}
