//! A Boolean variable or its negation.

use std::ops::Not;

/// Variable `v` as `2v`, its negation as `2v + 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lit(u32);

/// True in every assignment: variable 0 is fixed at the root.
pub(crate) const TRUE: Lit = Lit(0);

impl Lit {
    pub(crate) fn positive(variable: usize) -> Self {
        Self((variable as u32) << 1)
    }

    pub(crate) fn variable(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn is_positive(self) -> bool {
        self.0 & 1 == 0
    }
}

impl Not for Lit {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}
