//! Energy of a collective: bits times hops times energy per bit and hop, tier by tier.

use super::formula::others;
use super::{Algorithm, Operation};
use crate::fabric::{Group, Span};

const BITS: f64 = 8.0;

/// Energy of the links per byte of message, for the whole group; for point to point of one message over the
/// costliest tier.
pub(super) fn joules_per_byte(group: &Group, operation: Operation, algorithm: Algorithm) -> f64 {
    let each = group.spans().iter().map(|span| {
        let messages = match operation {
            Operation::AllReduce => 2.0 * half(group, span, algorithm),
            Operation::AllGather | Operation::ReduceScatter => half(group, span, algorithm),
            Operation::AllToAll => exchanged(group, span),
            Operation::PointToPoint => span.neighbour.hops,
        };
        messages * BITS * span.energy.value()
    });
    if operation == Operation::PointToPoint { each.fold(0.0, f64::max) } else { each.sum() }
}

/// Messages' worth times hops that half an all-reduce sends over one tier.
fn half(group: &Group, span: &Span, algorithm: Algorithm) -> f64 {
    let stepped = |hops: f64| span.units as f64 * others(span.members) * hops;
    match algorithm {
        Algorithm::None => 0.0,
        Algorithm::Ring => span.edges as f64 * others(group.ranks()) * span.ring.hops,
        // The edges of a tree are those of the ring but for the closing one.
        Algorithm::Tree | Algorithm::Chain => {
            (span.units - span.units / span.members) as f64 * span.ring.hops
        }
        // Every rank sends once and receives once in the whole operation; one hop is in and out of the switch.
        Algorithm::InSwitch => 0.5 * group.ranks() as f64,
        Algorithm::Hierarchical | Algorithm::PerDimension | Algorithm::Direct => {
            stepped(span.pass.map_or(span.ring.hops, |(pass, _)| pass.hops))
        }
    }
}

/// Messages' worth times hops of an exchange: what leaves the units, over half of the longest way and half a link.
fn exchanged(group: &Group, span: &Span) -> f64 {
    group.ranks() as f64 * others(span.units) * (1.0 + span.exchange.hops) / 2.0
}
