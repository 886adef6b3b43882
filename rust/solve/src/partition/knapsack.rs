//! Which ops to recompute: free enough memory at the least time. Exact.

/// What recomputing an op costs and frees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    /// Extra time.
    pub time: f64,
    /// Bytes freed.
    pub memory: f64,
}

/// Sorts items so that [`recompute`] may take them: the cheapest byte first, items that free nothing dropped.
pub fn by_rate<T>(items: &mut Vec<T>, item: impl Fn(&T) -> Item) {
    items.retain(|x| item(x).memory > 0.0);
    items.sort_by(|x, y| {
        let (a, b) = (item(x), item(y));
        (a.time / a.memory).total_cmp(&(b.time / b.memory)).then(b.memory.total_cmp(&a.memory))
    });
}

/// Total time of items, sorted by [`by_rate`], that together free at least `excess`, below `budget` if there are any.
///
/// The first such set that the search meets: to minimise, ask again with its time as the budget.
/// Depth-first, bounded by the fractional relaxation; equal items are taken in order, so that a row of equal layers
/// is one choice of how many.
///
/// ```
/// use dielet_solve::partition::knapsack::{Item, by_rate, recompute};
/// let mut items =
///     vec![Item { time: 3.0, memory: 4.0 }, Item { time: 2.0, memory: 3.0 }, Item { time: 2.5, memory: 3.0 }];
/// by_rate(&mut items, |&item| item);
/// // 5 bytes: {3, 2} frees 7 for 5.0, {2, 2.5} frees 6 for 4.5.
/// assert_eq!(recompute(&items, 5.0, 10.0), Some(5.0));
/// assert_eq!(recompute(&items, 5.0, 5.0), Some(4.5));
/// assert_eq!(recompute(&items, 5.0, 4.5), None);
/// ```
pub fn recompute(items: &[Item], excess: f64, budget: f64) -> Option<f64> {
    Cover { items, budget }.descend(0, excess, 0.0)
}

struct Cover<'a> {
    items: &'a [Item],
    budget: f64,
}

impl Cover<'_> {
    fn descend(&self, from: usize, excess: f64, time: f64) -> Option<f64> {
        if excess <= 0.0 {
            return (time < self.budget).then_some(time);
        }
        if time + greedy(self.items[from..].iter().copied(), excess).0 >= self.budget {
            return None;
        }
        let item = self.items[from];
        if let Some(found) = self.descend(from + 1, excess - item.memory, time + item.time) {
            return Some(found);
        }
        let others = self.items[from..].iter().position(|other| *other != item)?;
        self.descend(from + others, excess, time)
    }
}

/// Bounds on the least time to free `excess`, from one pass over items sorted by [`by_rate`]: with the last item taken
/// in part, and whole. Infinite if they cannot free that much.
pub fn greedy(items: impl Iterator<Item = Item>, mut excess: f64) -> (f64, f64) {
    let mut time = 0.0;
    if excess <= 0.0 {
        return (time, time);
    }
    for item in items {
        if item.memory >= excess {
            return (time + item.time * excess / item.memory, time + item.time);
        }
        excess -= item.memory;
        time += item.time;
    }
    (f64::INFINITY, f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn least_by_exhaustion(items: &[Item], excess: f64) -> f64 {
        let chosen =
            |set: u32| items.iter().enumerate().filter(move |(at, _)| set >> at & 1 == 1).map(|(_, i)| i);
        (0..1u32 << items.len())
            .filter(|&set| chosen(set).map(|item| item.memory).sum::<f64>() >= excess)
            .map(|set| chosen(set).map(|item| item.time).sum())
            .fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn the_least_time_is_that_of_exhaustion(
            amounts in prop::collection::vec((0u8..9, 0u8..9), 0..9), excess in 0u8..40,
        ) {
            let item = |&(time, memory): &(u8, u8)| Item { time: f64::from(time), memory: f64::from(memory) };
            let mut items: Vec<Item> = amounts.iter().map(item).collect();
            by_rate(&mut items, |&item| item);
            let least = least_by_exhaustion(&items, f64::from(excess));
            let (mut found, mut budget) = (None, 1e9);
            while let Some(time) = recompute(&items, f64::from(excess), budget) {
                (found, budget) = (Some(time), time);
            }
            prop_assert_eq!(found, least.is_finite().then_some(least));
            let (low, high) = greedy(items.iter().copied(), f64::from(excess));
            prop_assert!(low <= least && least <= high);
        }
    }
}
