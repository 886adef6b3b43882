//! Pipeline schedules: when each stage ends, pass by pass, and the closed form where stages are equal.

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

/// When each physical stage ends a pipelined step.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// When the last pass of each stage ends.
    pub end: Vec<Seconds>,
    /// The same if transfers took no time.
    pub free_end: Vec<Seconds>,
}

impl Timeline {
    /// When the last stage ends.
    pub fn step(&self) -> Seconds {
        self.end.iter().fold(Seconds::ZERO, |latest, &end| latest.max(end))
    }
}

/// Runs `micro_batches` through `times` (one entry per virtual stage, `stages` of them on distinct devices).
///
/// A pass starts when the stage is free and its input has arrived; passes of a stage run in the schedule's order;
/// transfers overlap with work. Exact for these rules, whatever the stage times.
///
/// Forward pass `a` of stage `i` is put in tick `a + i`, backward pass `k` in tick `k + lag(i)`, forward before backward
/// within a tick. With the lags used here that is each stage's order, and every input comes from the tick before (in
/// 1F1B without virtual stages the gradient comes from the next stage in the same tick), so that one sweep over ticks
/// and stages computes all ends.
///
/// Two equal stages, 3 micro-batches, forward 1 s and backward 2 s: `(3 + 2 - 1) * 3 s`.
/// ```
/// use dielet_core::{pipeline::{run, StageTime}, plan::Schedule, units::Seconds};
/// let stage = StageTime { forward: Seconds(1.0), backward: Seconds(2.0), send: Seconds(0.0) };
/// let timeline = run(&[stage; 2], 2, 3, Schedule::OneForwardOneBackward);
/// assert_eq!(timeline.step(), Seconds(12.0));
/// ```
pub fn run(times: &[StageTime], stages: usize, micro_batches: usize, schedule: Schedule) -> Timeline {
    let mut sweep = Sweep::new(times, stages, micro_batches, schedule);
    // From the first backward pass of all stages to the last forward pass of the first; never with all forward first.
    let from = sweep.lag[0].min(sweep.total);
    (0..from).for_each(|tick| sweep.tick(tick));
    let steady = sweep.steady(from, sweep.total);
    (steady..sweep.lag[0] + sweep.total).for_each(|tick| sweep.tick(tick));
    let lane = |lane: usize| sweep.clock.iter().map(|clock| Seconds(clock[lane])).collect();
    Timeline { end: lane(0), free_end: lane(1) }
}

/// Clocks that advance alike to this share of their value are taken to advance so for ever: rounding aside they do,
/// and ends are off by no more than this share for each period up to there (the recurrence never widens a difference).
const ALIKE: f64 = 1e-13;

/// With transfers, and as if they took no time: two independent sums that a processor adds side by side.
type Lanes = [f64; 2];

struct Sweep<'a> {
    times: &'a [StageTime],
    stages: usize,
    /// Passes of a stage in each direction.
    total: usize,
    /// Chunk of each forward pass.
    chunk: Vec<usize>,
    /// Tick of each stage's first backward pass; falls along the stages.
    lag: Vec<usize>,
    /// Whether a gradient arrives in the tick in which it was sent.
    same_tick: bool,
    /// When each stage is free.
    clock: Vec<Lanes>,
    /// When each stage's latest forward pass ended.
    forward: Vec<Lanes>,
}

impl<'a> Sweep<'a> {
    fn new(times: &'a [StageTime], stages: usize, micro_batches: usize, schedule: Schedule) -> Self {
        let chunks = times.len() / stages;
        let total = chunks * micro_batches;
        Self {
            times,
            stages,
            total,
            // Chunks alternate every `stages` micro-batches.
            chunk: (0..total).map(|pass| pass / stages % chunks).collect(),
            lag: (0..stages).map(|stage| lag(schedule, stage, stages, chunks, total)).collect(),
            same_tick: schedule == Schedule::OneForwardOneBackward && chunks == 1,
            clock: vec![[0.0; 2]; stages],
            forward: vec![[0.0; 2]; stages],
        }
    }

    fn tick(&mut self, tick: usize) {
        let before_first = self.forward[self.stages - 1];
        let mut behind = self.clock[0];
        for stage in (0..self.stages).rev() {
            let before = self.clock[stage];
            let mut now = before;
            if let Some(&chunk) = self.chunk.get(tick.wrapping_sub(stage)) {
                let at = chunk * self.stages + stage;
                let written = if stage == 0 { before_first } else { self.forward[stage - 1] };
                let ready = if at == 0 { [0.0; 2] } else { arrival(written, self.times[at - 1].send) };
                now = ended(now, ready, self.times[at].forward);
                self.forward[stage] = now;
            }
            if let Some(&chunk) = self.chunk.get(tick.wrapping_sub(self.lag[stage])) {
                // The backward pass takes chunks from the last.
                let at = self.times.len() - (chunk + 1) * self.stages + stage;
                let last = at + 1 == self.times.len();
                let ready = if last { [0.0; 2] } else { arrival(behind, self.times[at].send) };
                now = ended(now, ready, self.times[at].backward);
            }
            self.clock[stage] = now;
            behind = if self.same_tick { now } else { before };
        }
    }

    /// Runs the ticks in which every stage does one forward and one backward pass, and returns the first tick after
    /// what it ran: as soon as all clocks have advanced alike since an earlier tick with the same chunks, the periods
    /// that are left are added at once.
    fn steady(&mut self, from: usize, to: usize) -> usize {
        let period = self.times.len();
        let mut tick = from;
        let (mut seen, mut seen_at) = (self.clocks(), from);
        while tick < to {
            self.tick(tick);
            tick += 1;
            let whole = self.same_tick || tick - seen_at == period;
            if let Some(advance) = self.advance_since(&seen).filter(|_| whole) {
                let times = (to - tick) / (tick - seen_at);
                self.advance(advance.map(|lane| lane * times as f64));
                return tick + times * (tick - seen_at);
            }
            if tick - seen_at == period {
                (seen, seen_at) = (self.clocks(), tick);
            }
        }
        tick
    }

    fn clocks(&self) -> Vec<Lanes> {
        self.clock.iter().chain(&self.forward).copied().collect()
    }

    /// By how much all clocks have advanced, if alike.
    fn advance_since(&self, seen: &[Lanes]) -> Option<Lanes> {
        let lanes = [0, 1];
        let advance = lanes.map(|lane| self.clock[0][lane] - seen[0][lane]);
        let alike = |now: &Lanes, then: &Lanes| {
            lanes.iter().all(|&lane| (now[lane] - then[lane] - advance[lane]).abs() <= ALIKE * now[lane])
        };
        let mut pairs = self.clock.iter().chain(&self.forward).zip(seen);
        pairs.all(|(now, then)| alike(now, then)).then_some(advance)
    }

    fn advance(&mut self, advance: Lanes) {
        for clock in self.clock.iter_mut().chain(&mut self.forward) {
            *clock = [clock[0] + advance[0], clock[1] + advance[1]];
        }
    }
}

/// Tick of a stage's first backward pass: its warm-up passes and its own number, so that in a tick it runs one
/// forward, one backward (Narayanan et al., SC 2021, section 2.2, and the schedule of Megatron-LM).
fn lag(schedule: Schedule, stage: usize, stages: usize, chunks: usize, total: usize) -> usize {
    let last = stages - 1;
    match schedule {
        Schedule::Gpipe => total + 2 * last - stage,
        Schedule::OneForwardOneBackward if chunks == 1 => last,
        Schedule::OneForwardOneBackward => 2 * last - stage + (chunks - 1) * stages,
    }
}

#[inline]
fn arrival([sent, free]: Lanes, send: Seconds) -> Lanes {
    [sent + send.value(), free]
}

#[inline]
fn ended(clock: Lanes, ready: Lanes, duration: Seconds) -> Lanes {
    let later = |lane: usize| if clock[lane] > ready[lane] { clock[lane] } else { ready[lane] };
    [later(0) + duration.value(), later(1) + duration.value()]
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

    /// A pass in a stage's order.
    #[derive(Clone, Copy)]
    struct Pass {
        backward: bool,
        chunk: usize,
        micro_batch: usize,
    }

    /// The order of passes on a stage, as the schedules are published.
    fn order(
        schedule: Schedule,
        stage: usize,
        stages: usize,
        chunks: usize,
        micro_batches: usize,
    ) -> Vec<Pass> {
        let total = chunks * micro_batches;
        let forward = |index| pass_at(false, index, stages, chunks);
        let backward = |index| pass_at(true, index, stages, chunks);
        let warm_up = match schedule {
            Schedule::Gpipe => total,
            Schedule::OneForwardOneBackward if chunks == 1 => (stages - stage - 1).min(total),
            Schedule::OneForwardOneBackward => (2 * (stages - stage - 1) + (chunks - 1) * stages).min(total),
        };
        let mut passes: Vec<Pass> = (0..warm_up).map(forward).collect();
        for index in warm_up..total {
            passes.extend([forward(index), backward(index - warm_up)]);
        }
        passes.extend((total - warm_up..total).map(backward));
        passes
    }

    fn pass_at(backward: bool, index: usize, stages: usize, chunks: usize) -> Pass {
        if chunks == 1 {
            return Pass { backward, chunk: 0, micro_batch: index };
        }
        let (block, within) = (index / (stages * chunks), index % (stages * chunks));
        let chunk = within / stages;
        let chunk = if backward { chunks - 1 - chunk } else { chunk };
        Pass { backward, chunk, micro_batch: block * stages + within % stages }
    }

    /// Runs every pass as soon as its producer has run, in any order that works out.
    struct Events<'a> {
        times: &'a [StageTime],
        stages: usize,
        micro_batches: usize,
        /// End of each forward and backward pass; NaN until it ran.
        done: [Vec<f64>; 2],
        end: Vec<f64>,
    }

    impl<'a> Events<'a> {
        fn run(times: &'a [StageTime], stages: usize, micro_batches: usize, schedule: Schedule) -> Vec<f64> {
            let unknown = vec![f64::NAN; times.len() * micro_batches];
            let done = [unknown.clone(), unknown];
            let mut events = Self { times, stages, micro_batches, done, end: vec![0.0; stages] };
            let chunks = times.len() / stages;
            let mut orders: Vec<std::vec::IntoIter<Pass>> = (0..stages)
                .map(|stage| order(schedule, stage, stages, chunks, micro_batches).into_iter())
                .collect();
            let mut moved = true;
            while moved {
                moved = false;
                for (stage, order) in orders.iter_mut().enumerate() {
                    while order.as_slice().first().is_some_and(|&pass| events.try_run(stage, pass)) {
                        order.next();
                        moved = true;
                    }
                }
            }
            assert!(orders.iter().all(|order| order.len() == 0), "the schedule deadlocks");
            events.end
        }

        fn try_run(&mut self, stage: usize, pass: Pass) -> bool {
            let at = pass.chunk * self.stages + stage;
            let Some(ready) = self.ready(at, pass) else { return false };
            let time = self.times[at];
            let duration = if pass.backward { time.backward } else { time.forward };
            let end = self.end[stage].max(ready) + duration.value();
            self.end[stage] = end;
            self.done[usize::from(pass.backward)][at * self.micro_batches + pass.micro_batch] = end;
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

    fn alike(ends: &[Seconds], others: &[f64]) -> bool {
        ends.iter().zip(others).all(|(end, other)| (end.value() / other - 1.0).abs() < 1e-11)
    }

    proptest! {
        #[test]
        fn a_sweep_over_ticks_meets_the_events(
            times in prop::collection::vec((0.1f64..3.0, 0.1f64..3.0, 0.0f64..2.0), 24),
            p in 1usize..7, v in 1usize..5, m in 1usize..40, gpipe: bool, equal: bool,
        ) {
            let v = if p == 1 { 1 } else { v };
            let m = if v == 1 { m } else { m.div_ceil(3) * p };
            let stage = |&(f, b, s): &(f64, f64, f64)| StageTime { send: Seconds(s), ..stage(f, b) };
            let times = times.iter().cycle().step_by(if equal { 24 } else { 1 });
            let times: Vec<StageTime> = times.take(p * v).map(stage).collect();
            let schedule = if gpipe { Schedule::Gpipe } else { Schedule::OneForwardOneBackward };
            let timeline = run(&times, p, m, schedule);
            prop_assert!(alike(&timeline.end, &Events::run(&times, p, m, schedule)));
            let free: Vec<StageTime> = times.iter().map(|t| StageTime { send: Seconds::ZERO, ..*t }).collect();
            prop_assert!(alike(&timeline.free_end, &Events::run(&free, p, m, schedule)));
        }
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
