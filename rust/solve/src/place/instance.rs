//! The problem in whole ticks: what every search works on.
//!
//! Whole numbers make sums associative, so results do not depend on the order of evaluation. Where
//! all times are decimals the tick is a decimal too and nothing is rounded; otherwise the sum of all times
//! is 2^46 ticks or more, so rounding moves a makespan of thousands of tasks by less than 1e-10 relative.

use super::problem::{Links, PlaceError, Problem};

/// Whole ticks of time.
pub(crate) type Ticks = i64;

/// A time that forbids a device.
pub(crate) const NEVER: Ticks = i64::MAX / 4;

/// An input of an op: who makes it and which tensor it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) op: usize,
    pub(crate) tensor: usize,
}

/// A tensor in index form; consumers are sorted and distinct.
#[derive(Clone, Debug)]
pub(crate) struct Net {
    pub(crate) producer: usize,
    pub(crate) consumers: Vec<usize>,
}

/// Compiled form of a [`Problem`]: ticks, groups, adjacency, topological order.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) devices: usize,
    pub(crate) links: Links,
    pub(crate) overlap: bool,
    pub(crate) ticks_per_s: f64,
    /// `times[op][device]`.
    pub(crate) times: Vec<Vec<Ticks>>,
    /// `moves[tensor][from * devices + to]`.
    pub(crate) moves: Vec<Vec<Ticks>>,
    pub(crate) nets: Vec<Net>,
    pub(crate) inputs: Vec<Vec<Edge>>,
    pub(crate) outputs: Vec<Vec<Edge>>,
    pub(crate) topological: Vec<usize>,
    pub(crate) group_of: Vec<usize>,
    pub(crate) groups: Vec<Vec<usize>>,
    /// Devices each group may use, as bits.
    pub(crate) allowed: Vec<u64>,
    pub(crate) group_memory: Vec<f64>,
    pub(crate) capacity: Vec<f64>,
}

impl Instance {
    pub(crate) fn new(problem: &Problem) -> Result<Self, PlaceError> {
        problem.validate()?;
        let (group_of, groups) = groups(problem);
        let scale = Scale::of(problem);
        let nets = nets(problem);
        let (inputs, outputs) = adjacency(problem.ops.len(), &nets);
        let instance = Self {
            devices: problem.devices(),
            links: problem.links,
            overlap: problem.overlap,
            ticks_per_s: scale.per_s,
            times: problem.ops.iter().map(|op| op.time_s.iter().map(|&t| scale.ticks(t)).collect()).collect(),
            moves: problem.tensors.iter().map(|t| moves(problem, t.bytes, &scale)).collect(),
            topological: topological(problem, &inputs, &outputs)?,
            nets,
            inputs,
            outputs,
            allowed: groups.iter().map(|ops| allowed(problem, ops)).collect(),
            group_memory: groups
                .iter()
                .map(|ops| ops.iter().map(|&i| problem.ops[i].memory_bytes).sum())
                .collect(),
            group_of,
            groups,
            capacity: problem.memory_bytes.clone(),
        };
        instance.somewhere(problem)?;
        Ok(instance)
    }

    fn somewhere(&self, problem: &Problem) -> Result<(), PlaceError> {
        let nowhere = (0..self.groups.len()).find(|&g| self.allowed[g] == 0);
        nowhere.map_or(Ok(()), |g| {
            let op = problem.ops[self.groups[g][0]].id.clone();
            Err(PlaceError::Nowhere { op, devices: self.devices })
        })
    }

    pub(crate) fn seconds(&self, ticks: Ticks) -> f64 {
        ticks as f64 / self.ticks_per_s
    }

    pub(crate) fn ops(&self) -> usize {
        self.times.len()
    }

    pub(crate) fn move_ticks(&self, tensor: usize, from: usize, to: usize) -> Ticks {
        self.moves[tensor][from * self.devices + to]
    }

    /// Everything the makespan depends on, as numbers: equal for equal problems.
    pub(crate) fn signature(&self) -> Vec<Ticks> {
        let mut numbers = vec![self.devices as Ticks, self.ops() as Ticks];
        numbers.extend(self.times.iter().flatten());
        numbers.extend(self.group_of.iter().map(|&g| g as Ticks));
        numbers.extend(self.allowed.iter().map(|&bits| bits as Ticks));
        for (net, moves) in self.nets.iter().zip(&self.moves) {
            numbers.extend([net.producer as Ticks, net.consumers.len() as Ticks]);
            numbers.extend(net.consumers.iter().map(|&v| v as Ticks));
            numbers.extend(moves);
        }
        numbers
    }

    /// Whether `group` may run on `device`.
    pub(crate) fn may(&self, group: usize, device: usize) -> bool {
        self.allowed[group] >> device & 1 == 1
    }

    /// Devices a group may use, ascending.
    pub(crate) fn choices(&self, group: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.devices).filter(move |&d| self.may(group, d))
    }

    /// Whether `bytes` fit on a device, with the rounding the check allows.
    pub(crate) fn fits(&self, bytes: f64, device: usize) -> bool {
        bytes <= self.capacity[device] * (1.0 + 1e-12)
    }

    /// Shortest time of an op over the devices it may use.
    pub(crate) fn shortest(&self, op: usize) -> Ticks {
        self.choices(self.group_of[op]).map(|d| self.times[op][d]).min().unwrap_or(NEVER)
    }
}

struct Scale {
    per_s: f64,
}

impl Scale {
    /// Sums of ticks stay far below `i64` and exact in `f64`.
    const MOST: f64 = (1_u64 << 50) as f64;

    fn of(problem: &Problem) -> Self {
        let times = durations(problem);
        let total: f64 = times.iter().sum();
        let decimal = (0..=15).map(|k| 10_f64.powi(k)).take_while(|per_s| total * per_s < Self::MOST);
        let exact = |per_s: &f64| times.iter().all(|&t| whole(t * per_s));
        if let Some(per_s) = decimal.into_iter().find(exact) {
            return Self { per_s };
        }
        if total <= 0.0 || !total.is_finite() {
            return Self { per_s: 1.0 };
        }
        let per_s = 2_f64.powi((Self::MOST / total).log2().floor() as i32 - 1);
        Self { per_s }
    }

    fn ticks(&self, seconds: f64) -> Ticks {
        if seconds.is_finite() { (seconds * self.per_s).round() as Ticks } else { NEVER }
    }
}

fn whole(x: f64) -> bool {
    (x - x.round()).abs() <= 1e-13 * x.abs().max(1.0)
}

/// Every time that can occur in a schedule.
fn durations(problem: &Problem) -> Vec<f64> {
    let devices = problem.devices();
    let ops = problem.ops.iter().flat_map(|op| op.time_s.iter().copied());
    let pairs = (0..devices).flat_map(|s| (0..devices).filter(move |&d| d != s).map(move |d| (s, d)));
    let moves =
        pairs.flat_map(|(s, d)| problem.tensors.iter().map(move |t| problem.transfer_s(t.bytes, s, d)));
    ops.chain(moves).filter(|t| t.is_finite()).collect()
}

fn moves(problem: &Problem, bytes: f64, scale: &Scale) -> Vec<Ticks> {
    let devices = problem.devices();
    let pair = |k: usize| (k / devices, k % devices);
    let time = |(s, d): (usize, usize)| if s == d { 0 } else { scale.ticks(problem.transfer_s(bytes, s, d)) };
    (0..devices * devices).map(|k| time(pair(k))).collect()
}

fn nets(problem: &Problem) -> Vec<Net> {
    let net = |t: &super::problem::Tensor| {
        let mut consumers = t.consumers.clone();
        consumers.sort_unstable();
        consumers.dedup();
        Net { producer: t.producer, consumers }
    };
    problem.tensors.iter().map(net).collect()
}

fn adjacency(ops: usize, nets: &[Net]) -> (Vec<Vec<Edge>>, Vec<Vec<Edge>>) {
    let (mut inputs, mut outputs) = (vec![vec![]; ops], vec![vec![]; ops]);
    for (tensor, net) in nets.iter().enumerate() {
        for &op in &net.consumers {
            inputs[op].push(Edge { op: net.producer, tensor });
            outputs[net.producer].push(Edge { op, tensor });
        }
    }
    (inputs, outputs)
}

/// Kahn's order, smallest index first among the ready: stable under equal input.
fn topological(
    problem: &Problem,
    inputs: &[Vec<Edge>],
    outputs: &[Vec<Edge>],
) -> Result<Vec<usize>, PlaceError> {
    let mut waiting: Vec<usize> = inputs.iter().map(Vec::len).collect();
    let mut ready: std::collections::BTreeSet<usize> =
        (0..waiting.len()).filter(|&i| waiting[i] == 0).collect();
    let mut order = Vec::with_capacity(waiting.len());
    while let Some(op) = ready.pop_first() {
        order.push(op);
        for edge in &outputs[op] {
            waiting[edge.op] -= 1;
            if waiting[edge.op] == 0 {
                ready.insert(edge.op);
            }
        }
    }
    if order.len() == waiting.len() {
        return Ok(order);
    }
    let op = on_cycle(&waiting, inputs);
    Err(PlaceError::Cycle { op: problem.ops[op].id.clone() })
}

/// Walking back from a blocked op among blocked ops must come round.
fn on_cycle(waiting: &[usize], inputs: &[Vec<Edge>]) -> usize {
    let mut op = waiting.iter().position(|&w| w > 0).unwrap_or(0);
    for _ in 0..waiting.len() {
        op = inputs[op].iter().map(|edge| edge.op).find(|&p| waiting[p] > 0).unwrap_or(op);
    }
    op
}

fn groups(problem: &Problem) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut index = std::collections::BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = vec![];
    let mut group_of = Vec::with_capacity(problem.ops.len());
    for (i, op) in problem.ops.iter().enumerate() {
        let fresh = groups.len();
        let group = op.group.map_or(fresh, |name| *index.entry(name).or_insert(fresh));
        if group == fresh {
            groups.push(vec![]);
        }
        groups[group].push(i);
        group_of.push(group);
    }
    (group_of, groups)
}

fn allowed(problem: &Problem, ops: &[usize]) -> u64 {
    let may =
        |op: &super::problem::Op, d: usize| op.time_s[d].is_finite() && op.pin.is_none_or(|pin| pin == d);
    let every = |d: &usize| ops.iter().all(|&i| may(&problem.ops[i], *d));
    (0..problem.devices()).filter(every).map(|d| 1 << d).sum()
}
