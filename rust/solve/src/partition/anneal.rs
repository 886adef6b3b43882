//! Better assignments by simulated annealing: blocks and small clusters of them change device.

use super::assign::{Assignment, nets_of};
use super::load::LoadProblem;
use super::search::Limits;

/// Moves of one run; with a fixed number of them an answer does not depend on the clock.
const MOVES: u64 = 2_500_000;
/// Temperatures at the start and at the end, as parts of the value.
const TEMPERATURES: (f64, f64) = (0.03, 2e-5);
/// Largest cluster that moves as one.
const CLUSTER: u64 = 6;

/// Anneals from `start` (device of each block) and gives the best assignment met, with its value.
pub fn anneal(problem: &LoadProblem, start: &[u32], seed: u64, limits: &Limits<'_>) -> (Vec<u32>, f64) {
    let nets = nets_of(problem);
    let mut state = Assignment::new(problem, &nets);
    for (v, &d) in start.iter().enumerate() {
        state.put(v, d as usize);
    }
    let mut run =
        Anneal { problem, nets: &nets, random: Random(seed), best: (start.to_vec(), state.worst()) };
    run.cool(&mut state, limits);
    run.best
}

struct Anneal<'a> {
    problem: &'a LoadProblem,
    nets: &'a [Vec<u32>],
    random: Random,
    best: (Vec<u32>, f64),
}

impl Anneal<'_> {
    fn cool(&mut self, state: &mut Assignment<'_>, limits: &Limits<'_>) {
        let scale = self.best.1;
        let mut energy = energy(state);
        let (hot, cold) = TEMPERATURES;
        let mut temperature = hot * scale;
        let mut moved = Vec::new();
        for step in 0..MOVES {
            if step % 1024 == 0 {
                if (limits.stop)().is_some() {
                    return;
                }
                temperature = scale * hot * (cold / hot).powf(step as f64 / MOVES as f64);
            }
            if !self.propose(state, &mut moved) {
                continue;
            }
            let new = self::energy(state);
            if new <= energy || self.random.unit() < ((energy - new) / temperature).exp() {
                energy = new;
                self.keep_best(state);
            } else {
                undo(state, &moved);
            }
        }
    }

    /// Moves a cluster; `moved` says where each block of it was. False if nothing could move.
    fn propose(&mut self, state: &mut Assignment<'_>, moved: &mut Vec<(usize, usize)>) -> bool {
        moved.clear();
        let seed = self.random.below(self.problem.blocks.len() as u64) as usize;
        let from = state.device[seed] as usize;
        let to = self.random.below(state.devices() as u64) as usize;
        if to == from {
            return false;
        }
        let swap = self.random.below(3) == 0;
        let size = if self.random.below(2) == 0 { 1 } else { 1 + self.random.below(CLUSTER) };
        self.shift(state, seed, to, size, moved);
        if swap {
            let other = self.random.below(self.problem.blocks.len() as u64) as usize;
            if state.device[other] as usize == to && !moved.iter().any(|&(v, _)| v == other) {
                self.shift(state, other, from, size, moved);
            }
        }
        let fits =
            (0..state.devices()).all(|d| state.is_cpu(d) || state.memory[d] <= self.problem.machine.memory);
        let supported = state.is_cpu(to) || moved.iter().all(|&(v, _)| self.problem.blocks[v].supported);
        if !(fits && supported) {
            undo(state, moved);
            moved.clear();
        }
        !moved.is_empty()
    }

    /// Moves `seed` and up to `size - 1` neighbours on its device to device `to`.
    fn shift(
        &mut self,
        state: &mut Assignment<'_>,
        seed: usize,
        to: usize,
        size: u64,
        moved: &mut Vec<(usize, usize)>,
    ) {
        let from = state.device[seed] as usize;
        let mut at = seed;
        for _ in 0..size {
            state.take(at);
            state.put(at, to);
            moved.push((at, from));
            let nets = &self.nets[at];
            if nets.is_empty() {
                break;
            }
            let net = nets[self.random.below(nets.len() as u64) as usize];
            let ends = &self.problem.nets[net as usize].ends;
            let next = ends[self.random.below(ends.len() as u64) as usize] as usize;
            if state.device[next] as usize != from {
                break;
            }
            at = next;
        }
    }

    fn keep_best(&mut self, state: &Assignment<'_>) {
        let worst = state.worst();
        if worst < self.best.1 * (1.0 - 1e-9) {
            self.best = (state.device.clone(), worst);
        }
    }
}

fn undo(state: &mut Assignment<'_>, moved: &[(usize, usize)]) {
    for &(v, from) in moved.iter().rev() {
        state.take(v);
        state.put(v, from);
    }
}

/// A smooth largest load: the 16-norm tells apart assignments that tie in the maximum.
fn energy(state: &Assignment<'_>) -> f64 {
    let worst = state.worst();
    if worst <= 0.0 {
        return 0.0;
    }
    let sum: f64 = state.load.iter().map(|load| (load / worst).powi(16)).sum();
    worst * sum.powf(1.0 / 16.0)
}

/// A splitmix64 sequence.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        super::ideal::key_of(self.0 as usize)
    }

    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
