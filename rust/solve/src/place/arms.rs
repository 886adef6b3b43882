//! A heavy arm with light ones beside it: solve the heavy one alone, then fit the light ones into its idle time.
//!
//! Leaving ops out can only shorten a schedule, so the optimum of the heavy arm bounds the whole; if the others fit
//! without delay, the bound is met. An auxiliary classifier beside the trunk of a network is such an arm.

use super::elimination::states;
use super::exact::{Effort, Exact, minimise};
use super::instance::{Instance, Ticks};
use super::local_search::Random;
use super::module::{inputs, outputs};
use super::neighbourhood::{ball, reorder};
use super::plan::{Decoder, Plan, Sent};
use super::separator::Segments;
use std::collections::BTreeMap;

/// Smaller instances are solved at once.
const FEWEST_OPS: usize = 30;

/// The heavy arm must hold this share of the work, or its bound is worth little.
const SHARE: f64 = 0.6;

/// Placements of the light arms tried one by one.
const MOST_PLACEMENTS: usize = 4_096;

/// The heavy arm may take this many times the effort on the whole: its bound serves all later rounds.
const ARM: u64 = 64;

/// Conflicts spent on fitting the light arms by reordering.
const SQUEEZE: u64 = 1_000;

/// Times this is tried, and ops freed each time.
const ATTEMPTS: usize = 12;
const FREED: usize = 16;

/// Bound from the heaviest arm, with a plan of everything when the others fit in.
pub(crate) fn heaviest_arm(instance: &Instance, effort: &Effort) -> Option<Exact> {
    let segments = Segments::new(instance);
    let kept = heavy(instance, &segments)?;
    let part = Restricted::new(instance, &kept);
    let conflicts = effort.conflicts.saturating_mul(ARM);
    let mut exact = minimise(&part.instance, &Effort { incumbent: None, conflicts, ..*effort });
    let bound = exact.lower_bound;
    // Worth fitting only around a plan that meets the bound.
    let plan = exact.plan.take().filter(|plan| plan.makespan <= bound);
    exact.plan = plan.and_then(|plan| {
        fit(instance, &part, &plan).or_else(|| squeeze(instance, &part, &plan, bound, effort))
    });
    Some(exact)
}

/// Separators and the ops of the heaviest arm, topologically; `None` when there is but one arm or none dominates.
fn heavy(instance: &Instance, segments: &Segments) -> Option<Vec<usize>> {
    if instance.ops() < FEWEST_OPS {
        return None;
    }
    let arm = arms(instance, segments);
    let mut work: BTreeMap<usize, Ticks> = BTreeMap::new();
    for op in (0..instance.ops()).filter(|&op| !segments.is_separator[op]) {
        *work.entry(arm[op]).or_default() += instance.shortest(op);
    }
    let (&heaviest, &most) = work.iter().max_by_key(|&(_, &time)| time)?;
    let total: Ticks = work.values().sum();
    if work.len() < 2 || (most as f64) < SHARE * total as f64 {
        return None;
    }
    let keep = |&op: &usize| segments.is_separator[op] || arm[op] == heaviest;
    Some(instance.topological.iter().copied().filter(keep).collect())
}

/// A label per op: equal for ops joined by edges or groups without passing a separator.
fn arms(instance: &Instance, segments: &Segments) -> Vec<usize> {
    let mut label: Vec<usize> = (0..instance.ops()).collect();
    let inner = |op: usize| !segments.is_separator[op];
    let edges = instance.nets.iter().flat_map(|net| net.consumers.iter().map(|&v| (net.producer, v)));
    let ties = instance.groups.iter().flat_map(|ops| ops.windows(2).map(|pair| (pair[0], pair[1])));
    for (a, b) in edges.chain(ties).filter(|&(a, b)| inner(a) && inner(b)) {
        let (a, b) = (root(&label, a), root(&label, b));
        label[a.max(b)] = a.min(b);
    }
    (0..label.len()).map(|op| root(&label, op)).collect()
}

fn root(label: &[usize], mut op: usize) -> usize {
    while label[op] != op {
        op = label[op];
    }
    op
}

/// An instance of some of the ops.
struct Restricted {
    instance: Instance,
    ops: Vec<usize>,
    groups: Vec<usize>,
    tensors: Vec<usize>,
}

impl Restricted {
    fn new(instance: &Instance, kept: &[usize]) -> Self {
        let local: BTreeMap<usize, usize> = kept.iter().enumerate().map(|(l, &op)| (op, l)).collect();
        let mut groups: Vec<usize> = kept.iter().map(|&op| instance.group_of[op]).collect();
        groups.sort_unstable();
        groups.dedup();
        let (mut nets, mut tensors) = (vec![], vec![]);
        for (tensor, net) in instance.nets.iter().enumerate() {
            let Some(&producer) = local.get(&net.producer) else { continue };
            let consumers: Vec<usize> = net.consumers.iter().filter_map(|v| local.get(v).copied()).collect();
            if !consumers.is_empty() {
                nets.push(super::instance::Net { producer, consumers });
                tensors.push(tensor);
            }
        }
        let at = |op: &usize| groups.binary_search(&instance.group_of[*op]).unwrap_or(0);
        let members =
            |g: &usize| instance.groups[*g].iter().filter_map(|op| local.get(op).copied()).collect();
        let part = Instance {
            times: kept.iter().map(|&op| instance.times[op].clone()).collect(),
            moves: tensors.iter().map(|&t| instance.moves[t].clone()).collect(),
            inputs: inputs(kept.len(), &nets),
            outputs: outputs(kept.len(), &nets),
            nets,
            topological: (0..kept.len()).collect(),
            group_of: kept.iter().map(at).collect(),
            allowed: groups.iter().map(|&g| instance.allowed[g]).collect(),
            group_memory: groups.iter().map(|&g| instance.group_memory[g]).collect(),
            groups: groups.iter().map(members).collect(),
            ..instance.clone()
        };
        Self { instance: part, ops: kept.to_vec(), groups, tensors }
    }
}

/// The plan of the part with the other ops in its gaps, if some placement of them delays nothing.
fn fit(instance: &Instance, part: &Restricted, plan: &Plan) -> Option<Plan> {
    let mut device = vec![usize::MAX; instance.groups.len()];
    part.groups.iter().zip(&plan.device).for_each(|(&g, &d)| device[g] = d);
    let open: Vec<usize> = (0..device.len()).filter(|&g| device[g] == usize::MAX).collect();
    let placements = instance.devices.checked_pow(open.len() as u32)?;
    if placements > MOST_PLACEMENTS {
        return None;
    }
    let fixed = Fixed::new(instance, part, plan);
    states(open.len(), instance.devices).find_map(|state| {
        open.iter().zip(&state).for_each(|(&g, &d)| device[g] = d);
        open.iter()
            .all(|&g| instance.may(g, device[g]))
            .then(|| fixed.complete(&device, plan.makespan))
            .flatten()
    })
}

/// As `fit`, but the tasks of the part may change their order, not their devices.
fn squeeze(
    instance: &Instance,
    part: &Restricted,
    plan: &Plan,
    limit: Ticks,
    effort: &Effort,
) -> Option<Plan> {
    let mut free = vec![true; instance.groups.len()];
    let mut known =
        Plan { device: vec![0; free.len()], start: vec![0; instance.ops()], sent: vec![], makespan: 0 };
    for (&group, &device) in part.groups.iter().zip(&plan.device) {
        (known.device[group], free[group]) = (device, false);
    }
    part.ops.iter().zip(&plan.start).for_each(|(&op, &start)| known.start[op] = start);
    let effort = Effort { conflicts: SQUEEZE, incumbent: None, ..*effort };
    let mut random = Random::new(1);
    (0..ATTEMPTS).find_map(|attempt| {
        if attempt > 0 && (effort.stop)() {
            return None;
        }
        // First only orders change, then the devices of a few ops of the part too.
        let mut open = free.clone();
        let near = if attempt == 0 { vec![] } else { ball(instance, FREED, &mut random) };
        for op in near {
            open[instance.group_of[op]] = true;
        }
        reorder(instance, &known, &open, limit, &effort)
    })
}

/// The tasks of the part, which stay where they are.
struct Fixed<'a> {
    instance: &'a Instance,
    start: BTreeMap<usize, Ticks>,
    sent: Vec<Sent>,
}

impl<'a> Fixed<'a> {
    fn new(instance: &'a Instance, part: &Restricted, plan: &Plan) -> Self {
        let start = part.ops.iter().copied().zip(plan.start.iter().copied()).collect();
        let sent = plan.sent.iter().map(|sent| Sent { tensor: part.tensors[sent.tensor], ..*sent }).collect();
        Self { instance, start, sent }
    }

    fn complete(&self, device: &[usize], makespan: Ticks) -> Option<Plan> {
        let mut decoder = Decoder::new(self.instance);
        decoder.reset();
        let on = |op: usize| device[self.instance.group_of[op]];
        self.start.iter().for_each(|(&op, &start)| decoder.fix(op, on(op), start));
        self.sent.iter().for_each(|sent| decoder.fix_sent(sent));
        for &op in &self.instance.topological {
            match self.start.get(&op) {
                Some(&start) if decoder.ready(op, on(op), device) > start => return None,
                Some(_) => {}
                None => {
                    decoder.place(op, on(op), device);
                }
            }
        }
        let plan = decoder.plan(device);
        (plan.makespan <= makespan).then_some(plan)
    }
}
