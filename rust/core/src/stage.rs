//! Which segments each pipeline stage holds, and what a stage costs.

use crate::graph::Model;
use crate::parameters::Parameters;
use crate::pass::PassTime;
use crate::pipeline::StageTime;
use crate::plan::Plan;
use crate::segment::{SegmentCost, boundary_time};
use crate::travel::{Groups, Travel};
use crate::units::{Bytes, Flops};

/// So many instances of a segment, in the order of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Position of the segment.
    pub segment: usize,
    /// Instances.
    pub count: u64,
}

/// The costs of one virtual stage.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StageCost {
    /// What it holds.
    pub runs: Vec<Run>,
    /// Forward pass of a micro-batch.
    pub forward: PassTime,
    /// Backward pass without recomputation.
    pub backward: PassTime,
    /// What the backward pass computes again.
    pub again: PassTime,
    /// Transfer to the next stage.
    pub send: Travel,
    /// Forward work.
    pub flops: Flops,
    /// Work computed again.
    pub again_flops: Flops,
    /// Memory traffic of both passes.
    pub traffic: Bytes,
    /// Parameters held.
    pub parameters: Parameters,
    /// Parameters that are copies of another stage's.
    pub copied: f64,
    /// Kept per micro-batch.
    pub saved: Bytes,
    /// Largest transient while computing again.
    pub transient: Bytes,
}

impl StageCost {
    /// As the schedule sees it.
    pub fn time(&self) -> StageTime {
        StageTime {
            forward: self.forward.total(),
            backward: self.backward.total() + self.again.total(),
            send: self.send.seconds,
        }
    }
}

/// Cuts the chain into `pp x virtual_stages` virtual stages and adds up what each costs.
pub fn stages(model: &Model, plan: &Plan, groups: &Groups, costs: &[SegmentCost]) -> Vec<StageCost> {
    let cut = cut(model, costs, plan.pp * plan.virtual_stages);
    let last = cut.len() - 1;
    let each = cut.into_iter().enumerate();
    each.map(|(index, runs)| stage(model, plan, groups, costs, runs, index == last)).collect()
}

fn stage(
    model: &Model,
    plan: &Plan,
    groups: &Groups,
    costs: &[SegmentCost],
    runs: Vec<Run>,
    last: bool,
) -> StageCost {
    let mut sum = StageCost::default();
    for run in &runs {
        let (cost, n) = (&costs[run.segment], run.count as f64);
        sum.forward += cost.forward.scaled(n);
        sum.backward += cost.backward.scaled(n);
        sum.again += cost.again.scaled(n);
        sum.flops = Flops(sum.flops.value() + cost.flops.value() * n);
        sum.again_flops = Flops(sum.again_flops.value() + cost.again_flops.value() * n);
        sum.traffic += cost.traffic * n;
        sum.parameters += cost.parameters.scaled(n);
        sum.saved += cost.saved * n;
        sum.transient = sum.transient.max(cost.transient);
    }
    sum.copied = copied(costs, &runs);
    sum.parameters.dense += sum.copied;
    sum.send =
        if last { Travel::default() } else { boundary_time(plan, groups, boundary(model, costs, &runs)) };
    sum.runs = runs;
    sum
}

/// Parameters of tied tensors whose owner is not on the stage; several uses on a stage share one copy.
fn copied(costs: &[SegmentCost], runs: &[Run]) -> f64 {
    let here = || runs.iter().map(|run| &costs[run.segment]);
    let owned = |name: &str| here().any(|cost| cost.owned.iter().any(|owner| owner == name));
    let mut seen: Vec<&str> = Vec::new();
    let mut elements = 0.0;
    for tied in here().flat_map(|cost| &cost.tied) {
        if !owned(&tied.name) && !seen.contains(&tied.name.as_str()) {
            seen.push(&tied.name);
            elements += tied.elements;
        }
    }
    elements
}

fn boundary(model: &Model, costs: &[SegmentCost], runs: &[Run]) -> Bytes {
    runs.last().map_or(Bytes::ZERO, |run| {
        let cost = &costs[run.segment];
        // A run that ends inside its segment's repetitions is followed by another instance of it.
        let all = run.count == model.segments[run.segment].repeat || run.count == 0;
        if all { cost.boundary } else { cost.boundary.max(cost.inner_boundary) }
    })
}

/// Equal blocks where one repeated segment divides evenly (what comes before joins the first stage, what comes after
/// the last, as trainers do); else the cut whose slowest stage is fastest.
pub fn cut(model: &Model, costs: &[SegmentCost], stages: u64) -> Vec<Vec<Run>> {
    even(model, stages).unwrap_or_else(|| balanced(model, costs, stages))
}

fn even(model: &Model, stages: u64) -> Option<Vec<Vec<Run>>> {
    let repeated: Vec<usize> = (0..model.segments.len()).filter(|&s| model.segments[s].repeat > 1).collect();
    let &[block] = repeated.as_slice() else { return None };
    let repeat = model.segments[block].repeat;
    if !repeat.is_multiple_of(stages) {
        return None;
    }
    let single = |segment| Run { segment, count: 1 };
    let mut cut = vec![vec![Run { segment: block, count: repeat / stages }]; stages as usize];
    cut[0].splice(0..0, (0..block).map(single));
    cut.last_mut()?.extend((block + 1..model.segments.len()).map(single));
    Some(cut)
}

/// Minimises the largest stage time over all contiguous cuts into exactly `stages` non-empty stages.
fn balanced(model: &Model, costs: &[SegmentCost], stages: u64) -> Vec<Vec<Run>> {
    let repeats = model.segments.iter().enumerate();
    let chain: Vec<usize> =
        repeats.flat_map(|(s, segment)| std::iter::repeat_n(s, segment.repeat as usize)).collect();
    let time = |segment: &usize| {
        let cost = &costs[*segment];
        (cost.forward.total() + cost.backward.total() + cost.again.total()).value()
    };
    let times: Vec<f64> = chain.iter().map(time).collect();
    let ends = min_max_cut(&times, stages as usize);
    let mut from = 0;
    ends.into_iter()
        .map(|end| {
            let runs = runs(&chain[from..end]);
            from = end;
            runs
        })
        .collect()
}

fn runs(chain: &[usize]) -> Vec<Run> {
    let same = chain.chunk_by(|a, b| a == b);
    same.map(|group| Run { segment: group[0], count: group.len() as u64 }).collect()
}

/// Ends of the parts of the contiguous cut into `parts` non-empty parts whose largest sum is smallest.
///
/// Dynamic program over prefixes: `best[j][i] = min over k of max(best[j-1][k], sum(k..i))`. The first grows with k
/// and the second falls, so the least is where they cross, and the crossing moves on with i.
fn min_max_cut(times: &[f64], parts: usize) -> Vec<usize> {
    let n = times.len();
    let prefix: Vec<f64> = std::iter::once(0.0)
        .chain(times.iter().scan(0.0, |sum, time| {
            *sum += time;
            Some(*sum)
        }))
        .collect();
    let mut best = prefix.clone();
    let mut choice = vec![vec![0; n + 1]; parts];
    for (part, chosen) in choice.iter_mut().enumerate().skip(1) {
        let before = best.clone();
        let mut from = part;
        for end in (part + 1)..=n {
            let slowest = |from: usize| before[from].max(prefix[end] - prefix[from]);
            while from + 1 < end && slowest(from + 1) <= slowest(from) {
                from += 1;
            }
            (best[end], chosen[end]) = (slowest(from), from);
        }
    }
    let mut ends = vec![n];
    for part in (1..parts).rev() {
        let end = ends[ends.len() - 1];
        ends.push(choice[part][end]);
    }
    ends.reverse();
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slowest(times: &[f64], ends: &[usize]) -> f64 {
        let starts = std::iter::once(&0).chain(ends);
        starts.zip(ends).map(|(&from, &to)| times[from..to].iter().sum()).fold(0.0, f64::max)
    }

    fn every_cut(n: usize, parts: usize) -> Vec<Vec<usize>> {
        if parts == 1 {
            return vec![vec![n]];
        }
        let firsts = (parts - 1)..n;
        let with = |last: usize| {
            every_cut(last, parts - 1).into_iter().map(move |mut ends| {
                ends.push(n);
                ends
            })
        };
        firsts.flat_map(with).collect()
    }

    proptest! {
        #[test]
        fn the_cut_is_the_best_of_all(times in prop::collection::vec(prop_oneof![Just(0.0), 0.0f64..10.0], 1..9), parts in 1usize..9) {
            let parts = parts.min(times.len());
            let ends = min_max_cut(&times, parts);
            prop_assert_eq!(ends.len(), parts);
            prop_assert!(ends.windows(2).all(|pair| pair[0] < pair[1]));
            let best = every_cut(times.len(), parts).iter().map(|e| slowest(&times, e)).fold(f64::INFINITY, f64::min);
            prop_assert!((slowest(&times, &ends) - best).abs() < 1e-9);
        }
    }
}
