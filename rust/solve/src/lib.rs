//! Exact searches over the cost model of `dielet-core`, each with its proof.

pub mod partition;
pub mod place;
pub mod plan;
pub mod proof;
