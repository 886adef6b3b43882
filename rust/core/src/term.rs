//! A cost as a tree of named terms, or as the plain sum of the same tree.
//!
//! Every cost formula is written once, generic over [`Terms`]: the search instantiates it with [`Seconds`], an
//! answer with [`Breakdown`]. Both add the same numbers in the same order, so their totals are equal bit for bit.

use serde::Serialize;

use crate::units::Seconds;

/// Where a cost formula puts its terms.
pub trait Terms: Sized {
    /// One named time.
    fn leaf(name: &'static str, seconds: Seconds) -> Self;
    /// A named sum of its parts.
    fn node<const N: usize>(name: &'static str, parts: [Self; N]) -> Self;
    /// The total.
    fn seconds(&self) -> Seconds;
}

/// The total alone, without allocation.
impl Terms for Seconds {
    fn leaf(_: &'static str, seconds: Seconds) -> Self {
        seconds
    }

    fn node<const N: usize>(_: &'static str, parts: [Self; N]) -> Self {
        parts.into_iter().sum()
    }

    fn seconds(&self) -> Seconds {
        *self
    }
}

/// A named time and the parts that it is the sum of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Breakdown {
    /// What the time is spent on.
    pub name: &'static str,
    /// How long it takes.
    pub seconds: Seconds,
    /// What it consists of; empty for a leaf.
    pub parts: Vec<Breakdown>,
}

impl Terms for Breakdown {
    fn leaf(name: &'static str, seconds: Seconds) -> Self {
        Self { name, seconds, parts: Vec::new() }
    }

    fn node<const N: usize>(name: &'static str, parts: [Self; N]) -> Self {
        let seconds = parts.iter().map(|part| part.seconds).sum();
        // A term that costs nothing here explains nothing.
        let parts = parts.into_iter().filter(|part| part.seconds > Seconds::ZERO).collect();
        Self { name, seconds, parts }
    }

    fn seconds(&self) -> Seconds {
        self.seconds
    }
}

impl Breakdown {
    /// The largest leaf, which is what limits the step.
    pub fn largest(&self) -> &Breakdown {
        let candidates = self.parts.iter().map(Breakdown::largest);
        candidates.max_by(|a, b| a.seconds.total_cmp(&b.seconds)).unwrap_or(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost<T: Terms>() -> T {
        let parts = [0.1, 0.2, 0.3].map(|s| T::leaf("part", Seconds(s)));
        T::node(
            "all",
            [T::node("inner", parts), T::leaf("rest", Seconds(0.4)), T::leaf("none", Seconds(0.0))],
        )
    }

    #[test]
    fn sum_and_tree_agree_bit_for_bit() {
        let (sum, tree) = (cost::<Seconds>(), cost::<Breakdown>());
        assert_eq!(sum.value().to_bits(), tree.seconds.value().to_bits());
        assert_eq!(tree.parts.len(), 2);
        assert_eq!(tree.largest().name, "rest");
    }
}
