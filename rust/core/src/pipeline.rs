//! Pipeline schedules: when each pass of each stage runs, event by event, and the closed form where stages are equal.

use crate::plan::Schedule;
use crate::units::Seconds;

/// One pass of one virtual stage: chunk `c` of stage `r` is virtual stage `c * stages + r`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StageTime {
    /// Forward pass of a micro-batch.
    pub forward: Seconds,
    /// Backward pass, with what it computes again.
    pub backward: Seconds,
    /// Sending the output on to the next virtual stage (and as long for its gradient back).
    pub send: Seconds,
}

/// When a pipelined step ends, by physical stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// When the last pass of each stage ends.
    pub end: Vec<Seconds>,
    /// How long each stage computes.
    pub busy: Vec<Seconds>,
    /// When the last backward pass of each stage begins.
    pub last_backward: Vec<Seconds>,
}

/// A pass in a stage's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Whether it is a backward pass.
    pub backward: bool,
    /// Chunk of the stage.
    pub chunk: usize,
    /// Micro-batch.
    pub micro_batch: usize,
}

/// Runs `micro_batches` through `times` (one entry per virtual stage, `stages` of them on distinct devices).
///
/// A pass starts when the stage is free and its input has arrived; passes of a stage run in the schedule's order;
/// transfers overlap with work. Exact for these rules, whatever the stage times.
///
/// Two equal stages, 3 micro-batches, forward 1 s and backward 2 s: `(3 + 2 - 1) * 3 s`.
/// ```
/// use dielet_core::{pipeline::{run, StageTime}, plan::Schedule, units::Seconds};
/// let stage = StageTime { forward: Seconds(1.0), backward: Seconds(2.0), send: Seconds(0.0) };
/// let timeline = run(&[stage; 2], 2, 3, Schedule::OneForwardOneBackward);
/// assert_eq!(timeline.step(), Seconds(12.0));
/// ```
pub fn run(times: &[StageTime], stages: usize, micro_batches: usize, schedule: Schedule) -> Timeline {
    let chunks = times.len() / stages;
    let orders: Vec<Vec<Pass>> =
        (0..stages).map(|stage| order(schedule, stage, stages, chunks, micro_batches)).collect();
    let mut simulation = Simulation::new(times, stages, micro_batches);
    let mut next = vec![0; stages];
    let mut moved = true;
    while moved {
        moved = false;
        for stage in 0..stages {
            while let Some(&pass) = orders[stage].get(next[stage]) {
                if !simulation.try_run(stage, pass) {
                    break;
                }
                next[stage] += 1;
                moved = true;
            }
        }
    }
    debug_assert!(orders.iter().zip(&next).all(|(order, &done)| order.len() == done), "schedule deadlocks");
    simulation.timeline
}

impl Timeline {
    /// When the last stage ends.
    pub fn step(&self) -> Seconds {
        self.end.iter().fold(Seconds::ZERO, |latest, &end| latest.max(end))
    }
}

struct Simulation<'a> {
    times: &'a [StageTime],
    stages: usize,
    micro_batches: usize,
    /// End of each forward and backward pass; NaN until it ran.
    done: [Vec<f64>; 2],
    timeline: Timeline,
}

impl<'a> Simulation<'a> {
    fn new(times: &'a [StageTime], stages: usize, micro_batches: usize) -> Self {
        let unknown = vec![f64::NAN; times.len() * micro_batches];
        let zeros = vec![Seconds::ZERO; stages];
        let timeline = Timeline { end: zeros.clone(), busy: zeros.clone(), last_backward: zeros };
        Self { times, stages, micro_batches, done: [unknown.clone(), unknown], timeline }
    }

    fn try_run(&mut self, stage: usize, pass: Pass) -> bool {
        let at = pass.chunk * self.stages + stage;
        let Some(ready) = self.ready(at, pass) else { return false };
        let start = self.timeline.end[stage].max(Seconds(ready));
        let duration = if pass.backward { self.times[at].backward } else { self.times[at].forward };
        let end = start + duration;
        self.timeline.end[stage] = end;
        self.timeline.busy[stage] += duration;
        if pass.backward {
            self.timeline.last_backward[stage] = start;
        }
        self.done[usize::from(pass.backward)][at * self.micro_batches + pass.micro_batch] = end.value();
        true
    }

    /// When the pass's input is there; `None` while its producer has not run.
    fn ready(&self, at: usize, pass: Pass) -> Option<f64> {
        let ended = |backward: bool, at: usize| {
            let end = self.done[usize::from(backward)][at * self.micro_batches + pass.micro_batch];
            (!end.is_nan()).then_some(end)
        };
        match (pass.backward, at) {
            (false, 0) => Some(0.0),
            (false, _) => Some(ended(false, at - 1)? + self.times[at - 1].send.value()),
            (true, _) if at + 1 == self.times.len() => ended(false, at),
            (true, _) => Some(ended(true, at + 1)? + self.times[at].send.value()),
        }
    }
}

/// The order of passes on a stage.
pub fn order(
    schedule: Schedule,
    stage: usize,
    stages: usize,
    chunks: usize,
    micro_batches: usize,
) -> Vec<Pass> {
    let total = chunks * micro_batches;
    let forward = |index| pass_at(false, index, stages, chunks, micro_batches);
    let backward = |index| pass_at(true, index, stages, chunks, micro_batches);
    let warm_up = match schedule {
        Schedule::Gpipe => total,
        Schedule::OneForwardOneBackward if chunks == 1 => (stages - stage - 1).min(total),
        // Narayanan et al., SC 2021, section 2.2 and the schedule of Megatron-LM.
        Schedule::OneForwardOneBackward => (2 * (stages - stage - 1) + (chunks - 1) * stages).min(total),
    };
    let mut passes: Vec<Pass> = (0..warm_up).map(forward).collect();
    for index in warm_up..total {
        passes.extend([forward(index), backward(index - warm_up)]);
    }
    passes.extend((total - warm_up..total).map(backward));
    passes
}

/// Chunks alternate every `stages` micro-batches; the backward pass takes chunks from the last.
fn pass_at(backward: bool, index: usize, stages: usize, chunks: usize, micro_batches: usize) -> Pass {
    if chunks == 1 {
        return Pass { backward, chunk: 0, micro_batch: index };
    }
    let round = stages.min(micro_batches);
    let (block, within) = (index / (round * chunks), index % (round * chunks));
    let chunk = within / round;
    let chunk = if backward { chunks - 1 - chunk } else { chunk };
    Pass { backward, chunk, micro_batch: block * round + within % round }
}

/// Step time of equal stages without transfers: `(m v + p - 1)(f + b)` with f and b the times of one of v chunks.
///
/// Source: Narayanan et al., SC 2021, section 2.2 (bubble fraction `(p - 1) / (v m)`).
/// ```
/// use dielet_core::{pipeline::equal_stages, units::Seconds};
/// assert_eq!(equal_stages(4, 2, 8, Seconds(1.5)), Seconds(28.5));
/// ```
pub fn equal_stages(stages: u64, chunks: u64, micro_batches: u64, forward_and_backward: Seconds) -> Seconds {
    forward_and_backward * (micro_batches * chunks + stages - 1) as f64
}

/// Micro-batch chunks whose activations a stage keeps at once, in chunks of `1/v` of its segments.
///
/// 1F1B keeps `min(m, p - i)` micro-batches on stage i; interleaved `min(m v, 2 (p - i - 1) + (v - 1) p + 1)`
/// chunks; GPipe all. Source: Korthikanti et al., 2022, section 4.2.3; Narayanan et al., SC 2021.
/// ```
/// use dielet_core::{pipeline::in_flight, plan::Schedule::OneForwardOneBackward};
/// assert_eq!(in_flight(OneForwardOneBackward, 0, 8, 1, 64), 8);
/// assert_eq!(in_flight(OneForwardOneBackward, 7, 8, 1, 64), 1);
/// assert_eq!(in_flight(OneForwardOneBackward, 0, 8, 3, 64), 31);
/// ```
pub fn in_flight(schedule: Schedule, stage: u64, stages: u64, chunks: u64, micro_batches: u64) -> u64 {
    let total = micro_batches * chunks;
    match (schedule, chunks) {
        (Schedule::Gpipe, _) => total,
        (Schedule::OneForwardOneBackward, 1) => total.min(stages - stage),
        (Schedule::OneForwardOneBackward, _) => {
            total.min(2 * (stages - stage - 1) + (chunks - 1) * stages + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stage(forward: f64, backward: f64) -> StageTime {
        StageTime { forward: Seconds(forward), backward: Seconds(backward), send: Seconds(0.0) }
    }

    proptest! {
        #[test]
        fn equal_stages_meet_their_closed_form(p in 1usize..7, v in 1usize..4, rounds in 1usize..5, gpipe: bool) {
            let (v, gpipe) = if p == 1 { (1, gpipe) } else { (v, gpipe && v == 1) };
            let schedule = if gpipe { Schedule::Gpipe } else { Schedule::OneForwardOneBackward };
            let step = run(&vec![stage(1.0, 2.0); p * v], p, p * rounds, schedule).step();
            let closed = equal_stages(p as u64, v as u64, (p * rounds) as u64, Seconds(3.0));
            prop_assert!((step - closed).value().abs() < 1e-9, "{step} {closed}");
        }

        #[test]
        fn no_schedule_beats_its_bottleneck(
            times in prop::collection::vec((0.1f64..3.0, 0.1f64..3.0), 1..6), m in 1usize..9, gpipe: bool,
        ) {
            let stages: Vec<StageTime> = times.iter().map(|&(f, b)| stage(f, b)).collect();
            let schedule = if gpipe { Schedule::Gpipe } else { Schedule::OneForwardOneBackward };
            let step = run(&stages, stages.len(), m, schedule).step().value();
            let pass = |s: &StageTime| s.forward.value() + s.backward.value();
            let through: f64 = stages.iter().map(pass).sum();
            let bottleneck = stages.iter().map(pass).fold(0.0, f64::max);
            prop_assert!(step >= through.max(m as f64 * bottleneck) - 1e-9);
            prop_assert!(step <= through * m as f64 + 1e-9);
        }

        #[test]
        fn kept_activations_are_those_of_the_schedule(p in 1usize..6, v in 1usize..4, rounds in 1usize..4) {
            let v = if p == 1 { 1 } else { v };
            let m = p * rounds;
            for stage in 0..p {
                let (mut now, mut most) = (0i64, 0i64);
                for pass in order(Schedule::OneForwardOneBackward, stage, p, v, m) {
                    now += if pass.backward { -1 } else { 1 };
                    most = most.max(now);
                }
                let kept = in_flight(Schedule::OneForwardOneBackward, stage as u64, p as u64, v as u64, m as u64);
                prop_assert_eq!(most as u64, kept);
            }
        }
    }
}
