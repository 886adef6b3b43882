//! Exact searches over the cost model of `dielet-core`, each with its proof.
