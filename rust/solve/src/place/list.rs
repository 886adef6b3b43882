//! List scheduling with communication: a heuristic, first schedules for the exact search.
//!
//! Ops in order of decreasing upward rank (longest path to the end, transfers weighted by a factor), each on the
//! device where it ends first (HEFT, Topcuoglu et al. 2002); then local search over devices and order.

use super::instance::{Instance, NEVER, Ticks};
use super::local_search::{Search, WARM, improve};
use super::plan::{Decoder, Plan};
use super::problem::{PlaceError, Problem};
use super::schedule::Schedule;

/// Weights of a transfer in the rank: as if every edge were cut, every other, or none.
const FACTORS: [f64; 3] = [1.0, 0.5, 0.0];

/// Evaluations of local search for a schedule wanted at once.
const EVALUATIONS: usize = 6_000;

/// A good schedule, soon, without proof: list scheduling, then a short local search.
/// `None` when no placement was found that fits the memory (there may be one).
pub fn list_schedule(problem: &Problem) -> Result<Option<Schedule>, PlaceError> {
    let instance = Instance::new(problem)?;
    let plan = first_plan(&instance).map(|plan| {
        let budget = (EVALUATIONS * 64 / instance.ops().max(64)).max(200);
        improve(&instance, plan, &Search { evaluations: budget, seed: 1, heat: WARM }, &|| false)
    });
    Ok(plan.map(|plan| plan.schedule(&instance, problem)))
}

/// The best of the list schedules, or of everything on one device.
pub(crate) fn first_plan(instance: &Instance) -> Option<Plan> {
    let listed = FACTORS.iter().filter_map(|&factor| heft(instance, &priority_order(instance, factor)));
    let alone = (0..instance.devices).filter_map(|d| one_device(instance, d));
    let packed = pack(instance).map(|device| decoded(instance, &device, &priority_order(instance, 0.5)));
    listed.chain(alone).chain(packed).min_by_key(|plan| plan.makespan)
}

fn decoded(instance: &Instance, device: &[usize], order: &[usize]) -> Plan {
    let mut decoder = Decoder::new(instance);
    decoder.decode(device, order);
    decoder.plan(device)
}

fn one_device(instance: &Instance, d: usize) -> Option<Plan> {
    let groups = instance.groups.len();
    let fits = instance.fits(instance.group_memory.iter().sum(), d);
    let may = (0..groups).all(|g| instance.may(g, d));
    (fits && may).then(|| decoded(instance, &vec![d; groups], &instance.topological))
}

/// Largest groups first, each on the device with most memory left.
pub(crate) fn pack(instance: &Instance) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..instance.groups.len()).collect();
    order.sort_by(|&a, &b| instance.group_memory[b].total_cmp(&instance.group_memory[a]));
    let mut used = vec![0.0; instance.devices];
    let mut device = vec![0; instance.groups.len()];
    for group in order {
        let left = |d: usize| instance.capacity[d] - used[d];
        let d = instance.choices(group).max_by(|&a, &b| left(a).total_cmp(&left(b)).then(b.cmp(&a)))?;
        used[d] += instance.group_memory[group];
        if !instance.fits(used[d], d) {
            return None;
        }
        device[group] = d;
    }
    Some(device)
}

/// Topological order by decreasing upward rank.
pub(crate) fn priority_order(instance: &Instance, factor: f64) -> Vec<usize> {
    let rank = upward_rank(instance, factor);
    let mut position = vec![0; instance.ops()];
    instance.topological.iter().enumerate().for_each(|(at, &op)| position[op] = at);
    let mut order = instance.topological.clone();
    order.sort_by(|&a, &b| rank[b].total_cmp(&rank[a]).then(position[a].cmp(&position[b])));
    order
}

fn upward_rank(instance: &Instance, factor: f64) -> Vec<f64> {
    let mut rank = vec![0.0_f64; instance.ops()];
    for &op in instance.topological.iter().rev() {
        let after = |edge: &super::instance::Edge| rank[edge.op] + factor * mean_move(instance, edge.tensor);
        let rest = instance.outputs[op].iter().map(after).fold(0.0, f64::max);
        rank[op] = rest + mean_time(instance, op);
    }
    rank
}

fn mean_time(instance: &Instance, op: usize) -> f64 {
    let times: Vec<Ticks> = instance.choices(instance.group_of[op]).map(|d| instance.times[op][d]).collect();
    times.iter().sum::<Ticks>() as f64 / times.len().max(1) as f64
}

fn mean_move(instance: &Instance, tensor: usize) -> f64 {
    let pairs = (instance.devices * (instance.devices - 1)).max(1);
    instance.moves[tensor].iter().sum::<Ticks>() as f64 / pairs as f64
}

/// Each op in turn where it ends first; the first op of a group decides for all.
fn heft(instance: &Instance, order: &[usize]) -> Option<Plan> {
    let mut device = vec![usize::MAX; instance.groups.len()];
    let mut used = vec![0.0; instance.devices];
    let mut decoder = Decoder::new(instance);
    for &op in order {
        let group = instance.group_of[op];
        if device[group] == usize::MAX {
            let bytes = instance.group_memory[group];
            let fits = |d: &usize| instance.fits(used[*d] + bytes, *d);
            device[group] = earliest(&decoder, op, instance.choices(group).filter(fits), &device)?;
            used[device[group]] += bytes;
        }
        decoder.place(op, device[group], &device);
    }
    Some(decoder.plan(&device))
}

fn earliest(
    decoder: &Decoder,
    op: usize,
    choices: impl Iterator<Item = usize>,
    device: &[usize],
) -> Option<usize> {
    let mut best = (NEVER, None);
    for d in choices {
        let finish = decoder.clone().place(op, d, device);
        if finish < best.0 {
            best = (finish, Some(d));
        }
    }
    best.1
}
