//! Time of one pass, by what it is spent on.

use std::ops::AddAssign;

use crate::units::{Joules, Seconds};

/// Time of a pass of one micro-batch, by what it is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PassTime {
    /// Kernels.
    pub compute: Seconds,
    /// Collectives among tensor-parallel ranks.
    pub tensor: Seconds,
    /// Collectives among context-parallel ranks.
    pub context: Seconds,
    /// All-to-alls among expert-parallel ranks.
    pub expert: Seconds,
    /// Energy of the links, of this device's share.
    pub links: Joules,
}

impl PassTime {
    /// The sum.
    pub fn total(&self) -> Seconds {
        self.compute + self.tensor + self.context + self.expert
    }

    /// As if done `times` times.
    #[must_use]
    pub fn scaled(&self, times: f64) -> Self {
        let Self { compute, tensor, context, expert, links } = *self;
        Self {
            compute: compute * times,
            tensor: tensor * times,
            context: context * times,
            expert: expert * times,
            links: links * times,
        }
    }
}

impl AddAssign for PassTime {
    fn add_assign(&mut self, other: Self) {
        let Self { compute, tensor, context, expert, links } = other;
        self.compute += compute;
        self.tensor += tensor;
        self.context += context;
        self.expert += expert;
        self.links += links;
    }
}
