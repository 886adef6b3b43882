//! Stages with data and tensor parallelism and recompute, in the cost convention of Piper (`NeurIPS` 2021).
//!
//! A stage `S` on `d` replicas of tensor degree `t`, bandwidth `B`, `N` micro-batches in a batch, takes per
//! micro-batch
//!
//! ```text
//! sum p / d + [2 sum (c + s) / d + 4 (d-1) sum w / (d N)] / B
//! ```
//!
//! over its ops' times `p` and parameter bytes `w` and the bytes `c + s` (transfer and tensor resharding) of each
//! edge that leaves or enters it. An op may be recomputed in the backward pass: it then takes longer and holds less.
//! The stage holds `sum (a y + b)` bytes per device with `y = ceil((replicas from here to the end) / d)` micro-batches
//! in flight. The peer chooses the recomputed ops by a greedy knapsack; here the choice is exact.
//!
//! Since `y` looks at what follows, the search runs from the last stage to the first, over the reversed order.

use super::dag::Dag;
use super::ideal::{Bits, members};
use super::knapsack::{Item, by_rate, greedy, recompute};
use super::minimise::RELATIVE_TOLERANCE;
use super::search::{Entry, StageModel};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

/// One way to run an op: kept or recomputed activations.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mode {
    /// Time of a micro-batch.
    pub time: f64,
    /// Bytes for each micro-batch in flight.
    pub per_flight: f64,
    /// Bytes in any case.
    pub fixed: f64,
}

/// An op at one tensor degree.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharded {
    /// Modes: the fastest, and the leanest if another.
    pub modes: [Mode; 2],
    /// Bytes of parameters, for the data-parallel exchange.
    pub parameters: f64,
}

impl Sharded {
    /// What recomputing it costs and frees with `y` micro-batches in flight.
    fn recomputed(&self, y: f64) -> Item {
        let [kept, lean] = self.modes;
        let memory = (kept.per_flight - lean.per_flight) * y + kept.fixed - lean.fixed;
        Item { time: lean.time - kept.time, memory }
    }
}

/// A directed edge, with the bytes that cross it at each tensor degree of either end.
#[derive(Clone, Debug)]
pub struct HybridEdge {
    /// Earlier op.
    pub source: u32,
    /// Later op.
    pub sink: u32,
    /// Bytes sent, resharding at the source included, by position of the degree.
    pub leaving: Vec<f64>,
    /// Bytes received, resharding at the sink included.
    pub entering: Vec<f64>,
}

/// Ops, edges and machine. Ops are numbered so that every edge goes from a higher to a lower number.
#[derive(Clone, Debug)]
pub struct HybridProblem {
    /// Tensor degrees, ascending.
    pub degrees: Vec<u32>,
    /// By op, then by degree; `None` where the op has no such degree.
    pub ops: Vec<Vec<Option<Sharded>>>,
    /// Edges.
    pub edges: Vec<HybridEdge>,
    /// Devices.
    pub devices: u32,
    /// Bytes of a device.
    pub memory: f64,
    /// Bandwidth, B/s.
    pub bandwidth: f64,
    /// Micro-batches of a batch.
    pub micro_batches: u32,
}

/// Devices used, and the sum of data-parallel degrees, from this stage to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    devices: u32,
    replicas: u32,
}

/// How a stage is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Degrees {
    /// Data-parallel replicas.
    pub dp: u32,
    /// Tensor degree of each.
    pub tp: u32,
    /// Micro-batches in flight per replica.
    pub in_flight: u32,
}

/// The stage model over a [`HybridProblem`].
pub struct HybridModel<'a> {
    problem: &'a HybridProblem,
    /// Divisors of the number of micro-batches, ascending.
    replicas: Vec<u32>,
    /// Per op, its edges.
    edges_of: Vec<Vec<u32>>,
    /// Least device time of each op, whatever the degrees.
    device_time: Vec<f64>,
    total: f64,
}

/// A stage under construction.
pub struct HybridStage {
    sums: Vec<DegreeSums>,
    inside: Vec<bool>,
    blocks: Vec<usize>,
    /// Device time of the prefix and the stage.
    done: f64,
    most: Used,
    undo: Vec<DegreeSums>,
    /// Results of [`recompute`] for these blocks: many labels ask the same.
    known: RefCell<FxHashMap<(usize, u32, u32), Option<f64>>>,
    /// All ops that recompute helps, by time per byte, for a degree and a number in flight.
    rates: RefCell<FxHashMap<(usize, u32), Rates>>,
}

type Rates = Vec<(u32, Item)>;
/// Sums over a stage at one tensor degree.
#[derive(Clone, Copy, Debug, Default)]
struct DegreeSums {
    supported: bool,
    fastest: f64,
    parameters: f64,
    crossing: f64,
    /// Bytes per flight and fixed of the fastest modes, and of the leanest.
    kept: (f64, f64),
    lean: (f64, f64),
}

impl<'a> HybridModel<'a> {
    /// Prepares the lists.
    pub fn new(problem: &'a HybridProblem) -> Self {
        let mut edges_of = vec![Vec::new(); problem.ops.len()];
        for (edge, at) in problem.edges.iter().zip(0u32..) {
            edges_of[edge.source as usize].push(at);
            edges_of[edge.sink as usize].push(at);
        }
        let n = problem.micro_batches;
        let replicas = (1..=n.min(problem.devices)).filter(|d| n.is_multiple_of(*d)).collect();
        let device_time: Vec<f64> =
            problem.ops.iter().map(|op| least_device_time(op, &problem.degrees)).collect();
        Self { problem, replicas, edges_of, total: device_time.iter().sum(), device_time }
    }

    /// A valid lower bound: device time spread evenly.
    pub fn floor(&self) -> f64 {
        self.total / f64::from(self.problem.devices) * (1.0 - RELATIVE_TOLERANCE)
    }

    fn limit(&self) -> u32 {
        self.problem.micro_batches.min(self.problem.devices)
    }

    /// Time of a stage beside its ops' own: edges and the exchange of gradients, per micro-batch.
    fn exchange(&self, sums: &DegreeSums, d: u32) -> f64 {
        let (d, n) = (f64::from(d), f64::from(self.problem.micro_batches));
        (2.0 * sums.crossing.max(0.0) / d + 4.0 * (d - 1.0) * sums.parameters / (d * n))
            / self.problem.bandwidth
    }

    /// Least time of the stage on `d` replicas with `flights` in flight, if below `target`.
    fn time(&self, stage: &HybridStage, at: usize, d: u32, flights: u32, target: f64) -> Option<f64> {
        let sums = &stage.sums[at];
        let y = f64::from(flights);
        let fastest = sums.fastest / f64::from(d) + self.exchange(sums, d);
        if fastest >= target || sums.lean.0 * y + sums.lean.1 > self.problem.memory {
            return None;
        }
        if sums.kept.0 * y + sums.kept.1 <= self.problem.memory {
            return Some(fastest);
        }
        let mut known = stage.known.borrow_mut();
        let recomputed = || self.recomputed(stage, at, d, flights, target);
        *known.entry((at, d, flights)).or_insert_with(recomputed)
    }

    /// Least time of the stage where not all activations fit.
    fn recomputed(&self, stage: &HybridStage, at: usize, d: u32, flights: u32, target: f64) -> Option<f64> {
        let sums = &stage.sums[at];
        let fastest = sums.fastest / f64::from(d) + self.exchange(sums, d);
        let excess = sums.kept.0 * f64::from(flights) + sums.kept.1 - self.problem.memory;
        let budget = (target - fastest) * f64::from(d);
        let mut rates = stage.rates.borrow_mut();
        let sorted = rates.entry((at, flights)).or_insert_with(|| self.rates(at, f64::from(flights)));
        let inside = || sorted.iter().filter(|(v, _)| stage.inside[*v as usize]).map(|(_, item)| *item);
        let extra = match greedy(inside(), excess) {
            (least, _) if least >= budget => return None,
            (_, most) if most < budget => most,
            _ => recompute(&inside().collect::<Vec<Item>>(), excess, budget)?,
        };
        Some(fastest + extra / f64::from(d))
    }

    fn rates(&self, at: usize, y: f64) -> Vec<(u32, Item)> {
        let ops = self.problem.ops.iter().zip(0u32..);
        let mut items: Vec<_> =
            ops.filter_map(|(op, v)| op[at].as_ref().map(|op| (v, op.recomputed(y)))).collect();
        by_rate(&mut items, |&(_, item)| item);
        items
    }

    /// Why nothing fits.
    pub fn infeasible(&self) -> String {
        let last = self.problem.degrees.len() - 1;
        let leanest = |op: &Vec<Option<Sharded>>| {
            op[last].as_ref().map_or(f64::INFINITY, |op| op.modes[1].per_flight + op.modes[1].fixed)
        };
        let total: f64 = self.problem.ops.iter().map(leanest).sum();
        format!(
            "all ops recomputed hold {total:.4e} B with one micro-batch in flight, {} devices have {:.4e} B each, \
             and no cut into stages fits",
            self.problem.devices, self.problem.memory
        )
    }

    /// Bytes that a device of a stage holds: the fastest modes if they fit, else the limit's worth after recompute.
    pub fn memory(&self, blocks: &[usize], run: Degrees) -> f64 {
        let at = self.problem.degrees.iter().position(|&t| t == run.tp).unwrap_or(0);
        let y = f64::from(run.in_flight);
        let kept = |v: usize| {
            self.problem.ops[v][at].as_ref().map_or(0.0, |op| op.modes[0].per_flight * y + op.modes[0].fixed)
        };
        blocks.iter().map(|&v| kept(v)).sum::<f64>().min(self.problem.memory)
    }

    fn at_degree(
        &self,
        stage: &HybridStage,
        at: usize,
        used: Used,
        target: f64,
    ) -> Option<(Used, f64, Degrees)> {
        let sums = &stage.sums[at];
        let tp = self.problem.degrees[at];
        let most = ((self.problem.devices - used.devices) / tp).min(self.limit() - used.replicas);
        if !sums.supported || most == 0 {
            return None;
        }
        let fewest = sums.fastest / target;
        let start = self.replicas.partition_point(|&d| f64::from(d) < fewest);
        self.replicas[start..].iter().take_while(|&&dp| dp <= most).find_map(|&dp| {
            let in_flight = (used.replicas + dp).div_ceil(dp);
            let time = self.time(stage, at, dp, in_flight, target)?;
            let next = Used { devices: used.devices + dp * tp, replicas: used.replicas + dp };
            Some((next, time, Degrees { dp, tp, in_flight }))
        })
    }
}

fn least_device_time(op: &[Option<Sharded>], degrees: &[u32]) -> f64 {
    let at = |(sharded, &t): (&Option<Sharded>, &u32)| {
        sharded.as_ref().map(|s| s.modes[0].time.min(s.modes[1].time) * f64::from(t))
    };
    op.iter().zip(degrees).filter_map(at).fold(f64::INFINITY, f64::min)
}

impl StageModel for HybridModel<'_> {
    type Label = Used;
    type Choice = Degrees;
    type Mark = f64;
    type Stage = HybridStage;

    fn start(&self) -> Used {
        Used { devices: 0, replicas: 0 }
    }

    #[inline]
    fn dominates(&self, a: Used, b: Used) -> bool {
        a.devices <= b.devices && a.replicas <= b.replicas
    }

    fn stage(&self) -> HybridStage {
        HybridStage {
            sums: Vec::new(),
            inside: vec![false; self.problem.ops.len()],
            blocks: Vec::new(),
            done: 0.0,
            most: self.start(),
            undo: Vec::new(),
            known: RefCell::default(),
            rates: RefCell::default(),
        }
    }

    fn begin(&self, stage: &mut HybridStage, prefix: &Bits, from: &[Entry<Used, Degrees>], _target: f64) {
        stage.sums.clear();
        stage
            .sums
            .resize(self.problem.degrees.len(), DegreeSums { supported: true, ..DegreeSums::default() });
        stage.inside.fill(false);
        stage.blocks.clear();
        stage.undo.clear();
        stage.done = members(prefix).map(|v| self.device_time[v]).sum();
        let devices = from.iter().map(|e| self.problem.devices - e.label.devices).max().unwrap_or(0);
        let replicas = from.iter().map(|e| e.label.replicas).min().unwrap_or(0);
        stage.most = Used { devices, replicas };
    }

    fn push(&self, stage: &mut HybridStage, v: usize) {
        stage.undo.extend_from_slice(&stage.sums);
        for (at, sums) in stage.sums.iter_mut().enumerate() {
            let Some(op) = &self.problem.ops[v][at] else {
                sums.supported = false;
                continue;
            };
            let [kept, lean] = op.modes;
            sums.fastest += kept.time;
            sums.parameters += op.parameters;
            sums.kept = (sums.kept.0 + kept.per_flight, sums.kept.1 + kept.fixed);
            sums.lean.0 += lean.per_flight.min(kept.per_flight);
            sums.lean.1 += lean.fixed.min(kept.fixed);
            for &e in &self.edges_of[v] {
                let edge = &self.problem.edges[e as usize];
                let (own, other, theirs) = if edge.source as usize == v {
                    (edge.leaving[at], edge.sink, edge.entering[at])
                } else {
                    (edge.entering[at], edge.source, edge.leaving[at])
                };
                sums.crossing += if stage.inside[other as usize] { -theirs } else { own };
            }
        }
        stage.known.get_mut().clear();
        stage.done += self.device_time[v];
        stage.inside[v] = true;
        stage.blocks.push(v);
    }

    fn restore(&self, stage: &mut HybridStage, v: usize, mark: f64) {
        let from = stage.undo.len() - stage.sums.len();
        stage.sums.copy_from_slice(&stage.undo[from..]);
        stage.undo.truncate(from);
        stage.done = mark;
        stage.inside[v] = false;
        stage.blocks.pop();
    }

    fn mark(&self, stage: &HybridStage) -> f64 {
        stage.done
    }

    fn fits(&self, stage: &HybridStage, target: f64) -> bool {
        let flights = if stage.most.replicas > 0 { 2.0 } else { 1.0 };
        stage.sums.iter().zip(&self.problem.degrees).any(|(sums, t)| {
            let replicas = f64::from((stage.most.devices / t).min(self.limit()));
            sums.supported
                && sums.fastest < target * replicas
                && sums.lean.0 * flights + sums.lean.1 <= self.problem.memory
        })
    }

    fn extend(&self, stage: &HybridStage, used: Used, target: f64, emit: &mut dyn FnMut(Used, f64, Degrees)) {
        for at in 0..self.problem.degrees.len() {
            if let Some((next, time, degrees)) = self.at_degree(stage, at, used, target) {
                emit(next, time, degrees);
            }
        }
    }

    fn polish(&self, blocks: &[usize], run: Degrees, mut value: f64) -> f64 {
        let mut stage = self.stage();
        self.begin(&mut stage, &vec![0; self.problem.ops.len().div_ceil(64)], &[], value);
        for &v in blocks {
            self.push(&mut stage, v);
        }
        let at = self.problem.degrees.iter().position(|&t| t == run.tp).unwrap_or(0);
        while let Some(less) = self.time(&stage, at, run.dp, run.in_flight, value)
            && less < value
        {
            stage.known.get_mut().clear();
            value = less;
        }
        value
    }

    fn hopeless(&self, stage: &HybridStage, label: Used, target: f64) -> bool {
        let rest = self.total - stage.done;
        rest > f64::from(self.problem.devices - label.devices) * target + self.total * RELATIVE_TOLERANCE
    }
}

/// The reversed order of `edges` over `len` ops numbered so that edges go from higher to lower numbers.
pub fn reversed(len: usize, edges: &[HybridEdge]) -> Dag {
    Dag::new(len, edges.iter().map(|edge| (edge.sink, edge.source)))
}
