//! Ops through which everything goes: they cut a schedule into segments that share no time.
//!
//! A separator comes after or before every other op, and no tensor that may travel jumps over it. So all ops and
//! transfers of earlier segments end before it starts, and those of later ones start after it ends.

use super::instance::Instance;
use super::reach::Reach;

/// Separators in order and the segment of every other op: segment `k` lies before separator `k`.
#[derive(Debug)]
pub(crate) struct Segments {
    pub(crate) separators: Vec<usize>,
    /// Ops strictly inside each segment, topologically; one more segment than separators.
    pub(crate) inside: Vec<Vec<usize>>,
    /// Segment of an op, or of the segment that a separator ends.
    pub(crate) segment_of: Vec<usize>,
    pub(crate) is_separator: Vec<bool>,
}

impl Segments {
    pub(crate) fn new(instance: &Instance) -> Self {
        let reach = Reach::new(instance);
        let candidates = ordered_with_all(instance, &reach);
        let all = Self::cut(instance, candidates);
        let kept = all.not_jumped(instance);
        Self::cut(instance, kept)
    }

    /// Separators must be in topological order.
    fn cut(instance: &Instance, separators: Vec<usize>) -> Self {
        let mut is_separator = vec![false; instance.ops()];
        for &op in &separators {
            is_separator[op] = true;
        }
        let mut inside = vec![vec![]; separators.len() + 1];
        let mut segment_of = vec![0; instance.ops()];
        // An op comes after the last separator among its ancestors; sources come first.
        for &op in &instance.topological {
            let after = |e: &super::instance::Edge| segment_of[e.op] + usize::from(is_separator[e.op]);
            let segment = instance.inputs[op].iter().map(after).max().unwrap_or(0);
            segment_of[op] = segment;
            if !is_separator[op] {
                inside[segment].push(op);
            }
        }
        Self { separators, inside, segment_of, is_separator }
    }

    /// The segment in which an edge lies; `None` when it jumps a separator.
    pub(crate) fn segment_of_edge(&self, from: usize, to: usize) -> Option<usize> {
        let first = self.segment_of[from] + usize::from(self.is_separator[from]);
        (first == self.segment_of[to]).then_some(first)
    }

    fn not_jumped(&self, instance: &Instance) -> Vec<usize> {
        let mut jumped = vec![false; self.separators.len()];
        for net in &instance.nets {
            for &v in &net.consumers {
                if instance.group_of[net.producer] != instance.group_of[v] {
                    let first = self.segment_of[net.producer] + usize::from(self.is_separator[net.producer]);
                    jumped[first..self.segment_of[v].max(first)].fill(true);
                }
            }
        }
        let kept = self.separators.iter().zip(jumped).filter(|(_, jumped)| !jumped);
        kept.map(|(&op, _)| op).collect()
    }
}

fn ordered_with_all(instance: &Instance, reach: &Reach) -> Vec<usize> {
    let mut descendants = vec![0; instance.ops()];
    let ancestors: Vec<usize> =
        (0..instance.ops()).map(|op| reach.ancestors(op, |a| descendants[a] += 1)).collect();
    let all = |&op: &usize| ancestors[op] + descendants[op] + 1 == instance.ops();
    instance.topological.iter().copied().filter(all).collect()
}
