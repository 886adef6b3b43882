//! When a resource that serves one task at a time is busy.

use super::instance::Ticks;

/// Busy intervals of one resource, in order, touching ones kept apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    busy: Vec<(Ticks, Ticks)>,
}

impl Timeline {
    pub(crate) fn clear(&mut self) {
        self.busy.clear();
    }

    /// Earliest start at or after `ready` with `length` free ticks.
    pub(crate) fn gap(&self, ready: Ticks, length: Ticks) -> Ticks {
        let mut start = ready;
        let first = self.busy.partition_point(|&(_, end)| end <= ready);
        for &(from, until) in &self.busy[first..] {
            if start + length <= from {
                break;
            }
            start = start.max(until);
        }
        start
    }

    pub(crate) fn occupy(&mut self, start: Ticks, length: Ticks) {
        let at = self.busy.partition_point(|&slot| slot <= (start, start + length));
        self.busy.insert(at, (start, start + length));
    }
}

/// Earliest common start of two resources.
pub(crate) fn common_gap(a: &Timeline, b: &Timeline, ready: Ticks, length: Ticks) -> Ticks {
    let mut start = ready;
    loop {
        let next = b.gap(a.gap(start, length), length);
        if next == start {
            return start;
        }
        start = next;
    }
}
