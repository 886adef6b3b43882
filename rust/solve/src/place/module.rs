//! Segments that must be solved together because a group has ops in several: a problem of its own per boundary state.

use super::instance::{Edge, Instance, Net, Ticks};
use super::separator::Segments;
use std::collections::BTreeMap;

/// Segments tied by groups, and the groups of the separators at their ends.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) segments: Vec<usize>,
    /// Groups of the separators around the segments, ascending: the boundary whose devices are the state.
    pub(crate) boundary: Vec<usize>,
}

/// A module as an instance: its own ops, and separators without time pinned to their devices.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) instance: Instance,
    /// Global op of each local one.
    pub(crate) ops: Vec<usize>,
    /// Global group of each local one.
    pub(crate) groups: Vec<usize>,
    /// Global tensor of each local one; none for a barrier between segments.
    pub(crate) tensors: Vec<Option<usize>>,
}

/// The modules of `segments`; `None` when a group ties a segment to a separator beyond its ends.
pub(crate) fn modules(instance: &Instance, segments: &Segments) -> Option<Vec<Module>> {
    let mut first_segment: BTreeMap<usize, usize> = BTreeMap::new();
    let mut root: Vec<usize> = (0..segments.inside.len()).collect();
    let separated: std::collections::BTreeSet<usize> =
        segments.separators.iter().map(|&op| instance.group_of[op]).collect();
    for (k, inside) in segments.inside.iter().enumerate() {
        for &op in inside {
            let group = instance.group_of[op];
            if separated.contains(&group) {
                return None;
            }
            let &mut other = first_segment.entry(group).or_insert(k);
            unite(&mut root, other, k);
        }
    }
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    (0..root.len()).for_each(|k| members.entry(find(&root, k)).or_default().push(k));
    Some(members.into_values().map(|ks| module(instance, segments, ks)).collect())
}

fn find(root: &[usize], mut k: usize) -> usize {
    while root[k] != k {
        k = root[k];
    }
    k
}

fn unite(root: &mut [usize], a: usize, b: usize) {
    let (a, b) = (find(root, a), find(root, b));
    root[a.max(b)] = a.min(b);
}

/// Separators at the ends of segment `k`.
fn ends(segments: &Segments, k: usize) -> (Option<usize>, Option<usize>) {
    let begin = k.checked_sub(1).map(|k| segments.separators[k]);
    (begin, segments.separators.get(k).copied())
}

fn module(instance: &Instance, segments: &Segments, ks: Vec<usize>) -> Module {
    let ops = ks.iter().flat_map(|&k| {
        let (begin, end) = ends(segments, k);
        begin.into_iter().chain(end)
    });
    let mut boundary: Vec<usize> = ops.map(|op| instance.group_of[op]).collect();
    boundary.sort_unstable();
    boundary.dedup();
    Module { segments: ks, boundary }
}

impl Module {
    /// The module with its boundary groups on `state` (same order as `boundary`).
    pub(crate) fn part(&self, instance: &Instance, segments: &Segments, state: &[usize]) -> Part {
        let ops = self.ops(segments);
        let local: BTreeMap<usize, usize> = ops.iter().enumerate().map(|(l, &g)| (g, l)).collect();
        let (nets, moves, tensors) = self.nets(instance, segments, &local);
        let groups = groups_of(instance, &ops);
        let group_at: BTreeMap<usize, usize> = groups.iter().enumerate().map(|(l, &g)| (g, l)).collect();
        let time = |&op: &usize| {
            if segments.is_separator[op] { vec![0; instance.devices] } else { instance.times[op].clone() }
        };
        let pinned = |group: usize| match self.boundary.iter().position(|&b| b == group) {
            Some(at) => 1 << state[at],
            None => instance.allowed[group],
        };
        let part = Instance {
            devices: instance.devices,
            links: instance.links,
            overlap: instance.overlap,
            ticks_per_s: instance.ticks_per_s,
            times: ops.iter().map(time).collect(),
            moves,
            inputs: inputs(ops.len(), &nets),
            outputs: outputs(ops.len(), &nets),
            nets,
            // Ops are listed in time order of the segments, topologically inside each.
            topological: (0..ops.len()).collect(),
            group_of: ops.iter().map(|&op| group_at[&instance.group_of[op]]).collect(),
            groups: groups.iter().map(|&g| members(instance, g, &local)).collect(),
            allowed: groups.iter().map(|&g| pinned(g)).collect(),
            group_memory: vec![0.0; groups.len()],
            capacity: vec![f64::INFINITY; instance.devices],
        };
        Part { instance: part, ops, groups, tensors }
    }

    /// Separators and ops of the segments, in time order.
    fn ops(&self, segments: &Segments) -> Vec<usize> {
        let mut ops = vec![];
        for &k in &self.segments {
            let (begin, end) = ends(segments, k);
            ops.extend(begin.filter(|b| !ops.contains(b)));
            ops.extend(&segments.inside[k]);
            ops.extend(end);
        }
        ops
    }

    fn nets(
        &self,
        instance: &Instance,
        segments: &Segments,
        local: &BTreeMap<usize, usize>,
    ) -> (Vec<Net>, Vec<Vec<Ticks>>, Vec<Option<usize>>) {
        let (mut nets, mut moves, mut tensors) = (vec![], vec![], vec![]);
        for (tensor, net) in instance.nets.iter().enumerate() {
            let Some(&producer) = local.get(&net.producer) else { continue };
            let here = |v: &&usize| {
                let segment = segments.segment_of_edge(net.producer, **v);
                segment.is_some_and(|k| self.segments.contains(&k))
            };
            let consumers: Vec<usize> = net.consumers.iter().filter(here).map(|v| local[v]).collect();
            if !consumers.is_empty() {
                nets.push(Net { producer, consumers });
                moves.push(instance.moves[tensor].clone());
                tensors.push(Some(tensor));
            }
        }
        for pair in self.segments.windows(2) {
            let (end, begin) = (ends(segments, pair[0]).1, ends(segments, pair[1]).0);
            let (Some(end), Some(begin)) = (end, begin) else { continue };
            if end != begin {
                nets.push(Net { producer: local[&end], consumers: vec![local[&begin]] });
                moves.push(vec![0; instance.devices * instance.devices]);
                tensors.push(None);
            }
        }
        (nets, moves, tensors)
    }

    /// Time of the plan of a part spent inside segment `k`, and when it starts there.
    pub(crate) fn span(
        segments: &Segments,
        part: &Part,
        start: &[Ticks],
        makespan: Ticks,
        k: usize,
    ) -> (Ticks, Ticks) {
        let (begin, end) = ends(segments, k);
        let at = |op: usize| part.ops.iter().position(|&o| o == op).map(|l| start[l]);
        let from = begin.and_then(at).unwrap_or(0);
        (from, end.and_then(at).unwrap_or(makespan) - from)
    }
}

fn groups_of(instance: &Instance, ops: &[usize]) -> Vec<usize> {
    let mut groups: Vec<usize> = ops.iter().map(|&op| instance.group_of[op]).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

fn members(instance: &Instance, group: usize, local: &BTreeMap<usize, usize>) -> Vec<usize> {
    instance.groups[group].iter().filter_map(|op| local.get(op).copied()).collect()
}

pub(crate) fn inputs(ops: usize, nets: &[Net]) -> Vec<Vec<Edge>> {
    let mut inputs = vec![vec![]; ops];
    for (tensor, net) in nets.iter().enumerate() {
        net.consumers.iter().for_each(|&v| inputs[v].push(Edge { op: net.producer, tensor }));
    }
    inputs
}

pub(crate) fn outputs(ops: usize, nets: &[Net]) -> Vec<Vec<Edge>> {
    let mut outputs = vec![vec![]; ops];
    for (tensor, net) in nets.iter().enumerate() {
        net.consumers.iter().for_each(|&v| outputs[net.producer].push(Edge { op: v, tensor }));
    }
    outputs
}
