//! The formulas on the tiers of a group.

use super::formula::{in_switch, others, pipelined, ring_pass, stepped_pass, transfer};
use super::{Algorithm, Operation};
use crate::fabric::{Group, Span};
use crate::units::{Bytes, BytesPerSecond, Seconds};

/// Algorithms that may carry an operation out; the first of equals is taken.
fn candidates(operation: Operation) -> &'static [Algorithm] {
    use Algorithm::{Chain, Direct, Hierarchical, InSwitch, PerDimension, Ring, Tree};
    match operation {
        Operation::AllReduce => &[Ring, Direct, PerDimension, Hierarchical, InSwitch, Tree, Chain],
        Operation::AllGather | Operation::ReduceScatter => &[Ring, Direct, PerDimension, Hierarchical],
        Operation::AllToAll => &[Direct, Hierarchical],
        Operation::PointToPoint => &[Direct],
    }
}

/// The least time and its algorithm; none for a single rank.
pub(super) fn fastest(group: &Group, operation: Operation, bytes: Bytes) -> Option<(Seconds, Algorithm)> {
    let mut best: Option<(Seconds, Algorithm)> = None;
    for &algorithm in candidates(operation) {
        let Some(time) = by(group, operation, algorithm, bytes) else { continue };
        if best.is_none_or(|(least, _)| time < least) {
            best = Some((time, algorithm));
        }
    }
    best
}

/// The time of one algorithm, by the better of the library's two ways.
pub(super) fn by(group: &Group, operation: Operation, algorithm: Algorithm, bytes: Bytes) -> Option<Seconds> {
    if algorithm == Algorithm::InSwitch {
        return (operation == Operation::AllReduce).then(|| switched(group, bytes)).flatten();
    }
    let mut least: Option<Seconds> = None;
    for protocol in 0..group.protocols() {
        let time = View { group, protocol }.time(operation, algorithm, bytes)?;
        least = Some(least.map_or(time, |other| other.min(time)));
    }
    least
}

fn switched(group: &Group, bytes: Bytes) -> Option<Seconds> {
    let [span] = group.spans() else { return None };
    let way = span.in_switch?;
    Some(way.launch + in_switch(bytes, way.step + span.latency, span.ring.rate * way.efficiency))
}

/// A group under one of the library's ways.
#[derive(Clone, Copy)]
struct View<'a> {
    group: &'a Group,
    protocol: usize,
}

impl View<'_> {
    fn time(self, operation: Operation, algorithm: Algorithm, bytes: Bytes) -> Option<Seconds> {
        if self.group.spans().is_empty() || !candidates(operation).contains(&algorithm) {
            return None;
        }
        let body = match operation {
            Operation::AllReduce => self.all_reduce(algorithm, bytes)?,
            Operation::AllGather | Operation::ReduceScatter => {
                self.pass(algorithm, bytes)? + self.own_share(bytes)
            }
            Operation::AllToAll => self.all_to_all(algorithm, bytes)?,
            Operation::PointToPoint => self.point_to_point(bytes),
        };
        Some(self.launch() + body)
    }

    fn launch(self) -> Seconds {
        let launches = self.group.spans().iter().map(|span| span.protocols[self.protocol].launch);
        launches.fold(Seconds::ZERO, Seconds::max)
    }

    fn all_reduce(self, algorithm: Algorithm, bytes: Bytes) -> Option<Seconds> {
        match algorithm {
            Algorithm::Tree => Some(self.tree(bytes)),
            Algorithm::Chain => self.chain(bytes),
            _ => self.pass(algorithm, bytes).map(|half| half * 2.0 + self.own_share(bytes)),
        }
    }

    /// Half an all-reduce, on the wire.
    fn pass(self, algorithm: Algorithm, bytes: Bytes) -> Option<Seconds> {
        let spans = self.group.spans();
        Some(match (algorithm, spans) {
            (Algorithm::Ring, _) => self.ring(bytes),
            (Algorithm::Hierarchical, [_, _, ..]) => {
                spans.iter().map(|span| self.tier_pass(span, bytes)).sum()
            }
            (Algorithm::Direct, [span]) => self.stepped(span, bytes).filter(|_| single_step(span))?,
            (Algorithm::PerDimension, [span]) => self.stepped(span, bytes).filter(|_| !single_step(span))?,
            _ => return None,
        })
    }

    /// A rank's own share does not travel, but moves through its memory, once an operation.
    fn own_share(self, bytes: Bytes) -> Seconds {
        let share = bytes / self.group.ranks() as f64;
        self.group.copy().map_or(Seconds::ZERO, |copy| share / copy)
    }

    /// One ring through all tiers: every tier's edges add latency, the slowest sets the rate.
    fn ring(self, bytes: Bytes) -> Seconds {
        let spans = self.group.spans();
        let step = |span: &Span| span.step(self.protocol, span.ring.hops);
        let all: Seconds = spans.iter().map(|span| step(span) * span.edges as f64).sum();
        // A shard takes all edges but one; the innermost is the least that it can be spared.
        let around = all - spans.first().map_or(Seconds::ZERO, step);
        ring_pass(self.group.ranks(), bytes, around, self.ring_rate())
    }

    fn ring_rate(self) -> BytesPerSecond {
        let rates = self.group.spans().iter().map(|span| span.rate(self.protocol, span.ring.rate));
        rates.fold(BytesPerSecond(f64::INFINITY), BytesPerSecond::min)
    }

    /// A pass inside one tier: what a unit's ranks send in all is one message's worth.
    fn tier_pass(self, span: &Span, bytes: Bytes) -> Seconds {
        let around = span.step(self.protocol, span.ring.hops) * (span.members - 1) as f64;
        let ring = ring_pass(span.members, bytes, around, span.rate(self.protocol, span.ring.rate));
        self.stepped(span, bytes).map_or(ring, |other| other.min(ring))
    }

    fn stepped(self, span: &Span, bytes: Bytes) -> Option<Seconds> {
        let (pass, wire) = span.pass?;
        let step = span.step(self.protocol, pass.hops);
        Some(stepped_pass(pass.steps, pass.volume, bytes, step, span.rate(self.protocol, wire)))
    }

    /// Up and down a tree; over the two trees every member is an inner node once, so that its port carries the
    /// message up and down once each.
    fn tree(self, bytes: Bytes) -> Seconds {
        let spans = self.group.spans();
        let step = |span: &Span| span.step(self.protocol, span.ring.hops);
        let depth: Seconds = spans.iter().map(|span| step(span) * (2.0 * span.depth)).sum();
        let longest = spans.iter().map(step).fold(Seconds::ZERO, Seconds::max);
        pipelined(depth, longest, bytes * 2.0 / self.ring_rate())
    }

    /// Along a spanning chain of links the sum flows one way and the result the other at the same time.
    fn chain(self, bytes: Bytes) -> Option<Seconds> {
        let [span] = self.group.spans() else { return None };
        let lane = span.chain?;
        let step = span.step(self.protocol, 1.0);
        let depth = step * (2 * (span.members - 1)) as f64;
        Some(pipelined(depth, step, bytes / span.rate(self.protocol, lane.rate)))
    }

    fn all_to_all(self, algorithm: Algorithm, bytes: Bytes) -> Option<Seconds> {
        let spans = self.group.spans();
        let wire = match algorithm {
            Algorithm::Hierarchical if spans.len() < 2 => return None,
            Algorithm::Hierarchical => spans.iter().map(|span| self.tier_exchange(span, bytes)).sum(),
            _ => self.pairwise(bytes),
        };
        Some(wire + self.own_share(bytes))
    }

    /// A round per peer; every tier carries all that leaves a unit, and the busiest sets the time.
    fn pairwise(self, bytes: Bytes) -> Seconds {
        let ranks = self.group.ranks() as f64;
        let (mut rounds, mut busiest) = (Seconds::ZERO, Seconds::ZERO);
        for span in self.group.spans() {
            let peers = ranks / span.units as f64 * (span.members - 1) as f64;
            rounds += span.step(self.protocol, span.exchange.hops) * peers;
            let leaving = bytes * (ranks / span.units as f64 * others(span.units));
            busiest = busiest.max(leaving / span.rate(self.protocol, span.exchange.rate));
        }
        rounds + busiest
    }

    /// All ranks of a unit exchange with the other units at once.
    fn tier_exchange(self, span: &Span, bytes: Bytes) -> Seconds {
        let held = bytes * (self.group.ranks() as f64 / span.units as f64);
        let rounds = span.step(self.protocol, span.exchange.hops) * (span.members - 1) as f64;
        ring_pass(span.members, held, rounds, span.rate(self.protocol, span.exchange.rate))
    }

    /// The farthest neighbours set the time.
    fn point_to_point(self, bytes: Bytes) -> Seconds {
        let spans = self.group.spans().iter();
        let times = spans.map(|span| {
            let latency = span.step(self.protocol, span.neighbour.hops);
            transfer(bytes, latency, span.rate(self.protocol, span.neighbour.rate))
        });
        times.fold(Seconds::ZERO, Seconds::max)
    }
}

fn single_step(span: &Span) -> bool {
    span.pass.is_some_and(|(pass, _)| pass.steps <= 1.0)
}
