//! What a search knows about its answer: value, lower bound, counts and why it stopped.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The bound meets the value: nothing better exists.
    Optimal,
    /// The time limit was reached; value and bound are the best so far.
    TimeLimit,
    /// The memory limit was reached; value and bound are the best so far.
    MemoryLimit,
    /// The user stopped it; value and bound are the best so far.
    Interrupted,
}

/// The certificate of a minimisation: `lower_bound <= optimum <= value`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proof {
    /// Objective of the answer.
    pub value: f64,
    /// No answer is below this.
    pub lower_bound: f64,
    /// Search nodes visited.
    pub explored: u64,
    /// Search nodes cut, by reason.
    pub pruned: BTreeMap<&'static str, u64>,
    /// Why the search ended.
    pub stop: Stop,
}

impl Proof {
    /// Relative distance of value and bound, `(value - lower_bound) / value`; zero when the value is zero.
    ///
    /// ```
    /// use dielet_solve::proof::{Proof, Stop};
    /// let proof = Proof { value: 10.0, lower_bound: 9.0, explored: 1, pruned: Default::default(), stop: Stop::TimeLimit };
    /// assert!((proof.gap() - 0.1).abs() < 1e-12);
    /// ```
    pub fn gap(&self) -> f64 {
        if self.value > 0.0 { ((self.value - self.lower_bound) / self.value).max(0.0) } else { 0.0 }
    }
}
