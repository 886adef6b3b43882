//! The formulas on the tiers of a group.

use super::energy::joules_per_byte;
use super::formula::{Line, in_switch, others, pipelined, ring_pass, stepped_pass, transfer};
use super::{Algorithm, Operation};
use crate::fabric::{Group, Span};
use crate::units::{BytesPerSecond, Seconds};

/// One way to carry an operation out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Way {
    pub(super) algorithm: Algorithm,
    pub(super) line: Line,
    pub(super) joules_per_byte: f64,
}

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

/// Every way that the group's tiers allow, by each of the library's protocols; none for a single rank.
pub(super) fn ways(group: &Group, operation: Operation) -> impl Iterator<Item = Way> + '_ {
    candidates(operation).iter().flat_map(move |&algorithm| {
        let joules_per_byte = joules_per_byte(group, operation, algorithm);
        let lines = (0..group.protocols()).map(move |protocol| View { group, protocol });
        lines.filter_map(move |view| view.line(operation, algorithm)).map(move |line| Way {
            algorithm,
            line,
            joules_per_byte,
        })
    })
}

/// A group under one of the library's ways.
#[derive(Clone, Copy)]
struct View<'a> {
    group: &'a Group,
    protocol: usize,
}

impl View<'_> {
    fn line(self, operation: Operation, algorithm: Algorithm) -> Option<Line> {
        if self.group.spans().is_empty() {
            return None;
        }
        if algorithm == Algorithm::InSwitch {
            return self.switched();
        }
        let body = match operation {
            Operation::AllReduce => self.all_reduce(algorithm)?,
            Operation::AllGather | Operation::ReduceScatter => self.pass(algorithm)? + self.own_share(),
            Operation::AllToAll => self.all_to_all(algorithm)?,
            Operation::PointToPoint => self.point_to_point(),
        };
        Some(Line::latency(self.launch()) + body)
    }

    fn launch(self) -> Seconds {
        let launches = self.group.spans().iter().map(|span| span.protocols[self.protocol].launch);
        launches.fold(Seconds::ZERO, Seconds::max)
    }

    fn switched(self) -> Option<Line> {
        let [span] = self.group.spans() else { return None };
        let way = span.in_switch?;
        let line = in_switch(way.step + span.latency, span.ring.rate * way.efficiency);
        Some(Line::latency(way.launch) + line)
    }

    fn all_reduce(self, algorithm: Algorithm) -> Option<Line> {
        match algorithm {
            Algorithm::Tree => Some(self.tree()),
            Algorithm::Chain => self.chain(),
            _ => self.pass(algorithm).map(|half| half * 2.0 + self.own_share()),
        }
    }

    /// Half an all-reduce, on the wire.
    fn pass(self, algorithm: Algorithm) -> Option<Line> {
        match (algorithm, self.group.spans()) {
            (Algorithm::Ring, _) => Some(self.ring()),
            (Algorithm::Hierarchical, spans @ [_, _, ..]) => Some(
                spans.iter().map(|span| self.tier_pass(span)).fold(Line::default(), |sum, line| sum + line),
            ),
            (Algorithm::Direct, [span]) => self.stepped(span).filter(|_| single_step(span)),
            (Algorithm::PerDimension, [span]) => self.stepped(span).filter(|_| !single_step(span)),
            _ => None,
        }
    }

    /// A rank's own share does not travel, but moves through its memory, once an operation.
    fn own_share(self) -> Line {
        let share = 1.0 / self.group.ranks() as f64;
        self.group.copy().map_or(Line::default(), |copy| Line::wire(share, copy))
    }

    /// One ring through all tiers: every tier's edges add latency, the slowest sets the rate.
    fn ring(self) -> Line {
        let spans = self.group.spans();
        let step = |span: &Span| span.step(self.protocol, span.ring.hops);
        let all: Seconds = spans.iter().map(|span| step(span) * span.edges as f64).sum();
        // A shard takes all edges but one; the innermost is the least that it can be spared.
        let around = all - spans.first().map_or(Seconds::ZERO, step);
        ring_pass(self.group.ranks(), around, self.ring_rate())
    }

    fn ring_rate(self) -> BytesPerSecond {
        let rates = self.group.spans().iter().map(|span| span.rate(self.protocol, span.ring.rate));
        rates.fold(BytesPerSecond(f64::INFINITY), BytesPerSecond::min)
    }

    /// A pass inside one tier: what a unit's ranks send in all is one message's worth.
    fn tier_pass(self, span: &Span) -> Line {
        let around = span.step(self.protocol, span.ring.hops) * (span.members - 1) as f64;
        let ring = || ring_pass(span.members, around, span.rate(self.protocol, span.ring.rate));
        self.stepped(span).unwrap_or_else(ring)
    }

    fn stepped(self, span: &Span) -> Option<Line> {
        let (pass, wire) = span.pass?;
        let step = span.step(self.protocol, pass.hops);
        Some(stepped_pass(pass.steps, pass.volume, step, span.rate(self.protocol, wire)))
    }

    /// Up and down a tree; over the two trees every member is an inner node once, so that its port carries the
    /// message up and down once each.
    fn tree(self) -> Line {
        let spans = self.group.spans();
        let step = |span: &Span| span.step(self.protocol, span.ring.hops);
        let depth: Seconds = spans.iter().map(|span| step(span) * (2.0 * span.depth)).sum();
        let longest = spans.iter().map(step).fold(Seconds::ZERO, Seconds::max);
        pipelined(depth, longest, 2.0, self.ring_rate())
    }

    /// Along a spanning chain of links the sum flows one way and the result the other at the same time.
    fn chain(self) -> Option<Line> {
        let [span] = self.group.spans() else { return None };
        let lane = span.chain?;
        let step = span.step(self.protocol, 1.0);
        let depth = step * (2 * (span.members - 1)) as f64;
        Some(pipelined(depth, step, 1.0, span.rate(self.protocol, lane.rate)))
    }

    fn all_to_all(self, algorithm: Algorithm) -> Option<Line> {
        let spans = self.group.spans();
        let wire = match algorithm {
            Algorithm::Hierarchical if spans.len() < 2 => return None,
            Algorithm::Hierarchical => spans
                .iter()
                .map(|span| self.tier_exchange(span))
                .fold(Line::default(), |sum, line| sum + line),
            _ => self.pairwise(),
        };
        Some(wire + self.own_share())
    }

    /// A round per peer; every tier carries all that leaves a unit, and the busiest sets the time.
    fn pairwise(self) -> Line {
        let ranks = self.group.ranks() as f64;
        let (mut rounds, mut busiest) = (Seconds::ZERO, Line::default());
        for span in self.group.spans() {
            let peers = ranks / span.units as f64 * (span.members - 1) as f64;
            rounds += span.step(self.protocol, span.exchange.hops) * peers;
            let leaving = ranks / span.units as f64 * others(span.units);
            busiest = busiest.above(Line::wire(leaving, span.rate(self.protocol, span.exchange.rate)));
        }
        Line::latency(rounds) + busiest
    }

    /// All ranks of a unit exchange with the other units at once.
    fn tier_exchange(self, span: &Span) -> Line {
        let held = self.group.ranks() as f64 / span.units as f64;
        let rounds = span.step(self.protocol, span.exchange.hops) * (span.members - 1) as f64;
        let wire = Line::wire(held * others(span.members), span.rate(self.protocol, span.exchange.rate));
        Line::latency(rounds) + wire
    }

    /// The farthest neighbours set the time.
    fn point_to_point(self) -> Line {
        let lines = self.group.spans().iter().map(|span| {
            let latency = span.step(self.protocol, span.neighbour.hops);
            transfer(latency, span.rate(self.protocol, span.neighbour.rate))
        });
        lines.fold(Line::default(), Line::above)
    }
}

fn single_step(span: &Span) -> bool {
    span.pass.is_some_and(|(pass, _)| pass.steps <= 1.0)
}
