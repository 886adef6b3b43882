//! Parameters on a device, by how their gradients are reduced.

use std::ops::AddAssign;

/// Parameters on a device, by how their gradients are reduced.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parameters {
    /// Reduced over all data-parallel ranks.
    pub dense: f64,
    /// Of experts: reduced over the ranks that hold the same experts.
    pub expert: f64,
    /// Of tables with sparse gradients.
    pub sparse: f64,
    /// Rows of those, in parameters, that a micro-batch touches.
    pub touched: f64,
    /// Of all of these, those whose gradients the tensor-parallel ranks add up as well.
    pub partial: f64,
}

impl Parameters {
    /// All of them.
    pub fn total(&self) -> f64 {
        self.dense + self.expert + self.sparse
    }

    /// As if there were `times` such sets.
    #[must_use]
    pub fn scaled(&self, times: f64) -> Self {
        let Self { dense, expert, sparse, touched, partial } = *self;
        Self {
            dense: dense * times,
            expert: expert * times,
            sparse: sparse * times,
            touched: touched * times,
            partial: partial * times,
        }
    }
}

impl AddAssign for Parameters {
    fn add_assign(&mut self, other: Self) {
        let Self { dense, expert, sparse, touched, partial } = other;
        self.dense += dense;
        self.expert += expert;
        self.sparse += sparse;
        self.touched += touched;
        self.partial += partial;
    }
}
