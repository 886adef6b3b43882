//! From dies to a system on a wafer: how many fit, how many work, what feeds and cools them, what it costs.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | A, D0, fc | die area, defect density, share of the area that a defect kills | m2, 1/m2, 1 |
//! | alpha | clustering of defects | 1 |
//! | y, k, n | yield of a pillar, pillars per pad, pads of a die | 1 |
//! | u | share of a metal layer that is wire | 1 |
//! | eta | efficiency of the voltage regulators | 1 |

pub mod cost;
pub mod packing;
pub mod power;
pub mod spec;
pub mod wafer;
pub mod yields;

pub use spec::PackagingSpec;
pub use wafer::{WaferAsk, WaferError, WaferReport, wafer};
