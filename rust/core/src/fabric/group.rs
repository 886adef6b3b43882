//! A group of ranks, and what of every tier it uses.

use super::{Fabric, Lanes, MAX_TIERS, Pass, Protocol, Tier, Topology, TreeShape};
use crate::units::{BytesPerSecond, JoulesPerBit, Seconds};

/// A way over a tier: wire rate after sharing, before the library's efficiency, and hops.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Lane {
    /// One direction.
    pub rate: BytesPerSecond,
    /// Links one after the other.
    pub hops: f64,
}

/// The part of a group on one tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Which tier.
    pub level: usize,
    /// Units that take part inside one unit of the tier above.
    pub members: u64,
    /// Units that take part in all.
    pub units: u64,
    /// Neighbours on the group's ring that only this tier joins.
    pub edges: u64,
    /// Groups that share a unit's links at once.
    pub sharing: u64,
    /// A ring through all members.
    pub ring: Lane,
    /// The best pass that is no ring, with the wire rate of one link.
    pub pass: Option<(Pass, BytesPerSecond)>,
    /// A spanning chain, both directions at once.
    pub chain: Option<Lane>,
    /// All with all, out of a member.
    pub exchange: Lane,
    /// From a rank to the next.
    pub neighbour: Lane,
    /// Steps from the leaves to the root of a reduction tree.
    pub depth: f64,
    /// Latency of one hop.
    pub latency: Seconds,
    /// Energy of a bit over one hop.
    pub energy: JoulesPerBit,
    /// For large messages, then for small ones (the same where the tier has but one).
    pub protocols: [Protocol; 2],
    /// Reduction by the switch.
    pub in_switch: Option<Protocol>,
}

impl Span {
    /// Latency of one step over `hops` links.
    pub fn step(&self, protocol: usize, hops: f64) -> Seconds {
        self.protocols[protocol].step + self.latency * hops
    }

    /// Rate that the library reaches on a lane.
    pub fn rate(&self, protocol: usize, wire: BytesPerSecond) -> BytesPerSecond {
        wire * self.protocols[protocol].efficiency
    }
}

const UNUSED: Span = Span {
    level: 0,
    members: 1,
    units: 1,
    edges: 0,
    sharing: 1,
    ring: Lane { rate: BytesPerSecond(0.0), hops: 0.0 },
    pass: None,
    chain: None,
    exchange: Lane { rate: BytesPerSecond(0.0), hops: 0.0 },
    neighbour: Lane { rate: BytesPerSecond(0.0), hops: 0.0 },
    depth: 0.0,
    latency: Seconds(0.0),
    energy: JoulesPerBit(0.0),
    protocols: [Protocol { launch: Seconds(0.0), step: Seconds(0.0), efficiency: 1.0 }; 2],
    in_switch: None,
};

/// Ranks that communicate, with what they use of the fabric. A value: price with
/// [`collective`](crate::collective::collective).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    ranks: u64,
    spans: [Span; MAX_TIERS],
    used: usize,
    copy: Option<BytesPerSecond>,
    protocols: usize,
}

impl Group {
    pub(super) fn new(
        fabric: &Fabric,
        devices: u64,
        size: u64,
        stride: u64,
        spread: impl Fn(usize, u64, u64) -> Lanes,
    ) -> Self {
        let tiers = fabric.tiers();
        let mut group =
            Self { ranks: size, spans: [UNUSED; MAX_TIERS], used: 0, copy: tiers[0].copy, protocols: 1 };
        let mut units = size;
        for (level, tier) in tiers.iter().enumerate() {
            let outer = fabric.unit(level + 1);
            let last = level + 1 == tiers.len();
            let touched = if last { 1 } else { units_touched(devices, size, stride, outer).min(units) };
            let members = units.div_ceil(touched);
            if members > 1 {
                let unit = fabric.unit(level);
                let lanes = spread(level, members, (stride / unit).max(1));
                let place =
                    Place { level, devices, size, stride, unit, units, members, edges: units - touched };
                group.push(tier, &place, &lanes);
            }
            units = touched;
        }
        group.close_ring();
        group
    }

    fn push(&mut self, tier: &Tier, place: &Place, lanes: &Lanes) {
        self.spans[self.used] = place.span(tier, lanes);
        self.used += 1;
        if tier.low_latency.is_some() {
            self.protocols = 2;
        }
    }

    /// The outermost tier also joins the last rank with the first.
    fn close_ring(&mut self) {
        if let Some(outermost) = self.used.checked_sub(1) {
            self.spans[outermost].edges += 1;
        }
    }

    /// How many ranks.
    pub fn ranks(&self) -> u64 {
        self.ranks
    }

    /// The tiers that join ranks of the group, innermost first; none for a single rank.
    pub fn spans(&self) -> &[Span] {
        &self.spans[..self.used]
    }

    /// Rate at which a rank moves its own share, where that is not hidden.
    pub fn copy(&self) -> Option<BytesPerSecond> {
        self.copy
    }

    /// 2 where some tier has a way of its own with small messages, else 1.
    pub fn protocols(&self) -> usize {
        self.protocols
    }
}

/// Where a group lies in a tier.
struct Place {
    level: usize,
    devices: u64,
    size: u64,
    stride: u64,
    unit: u64,
    units: u64,
    members: u64,
    edges: u64,
}

impl Place {
    /// Groups that use one unit's links at once: as many as fit its devices, but of groups that straddle a border
    /// only those do that lie across one of its two borders, at most `stride` at each.
    fn sharing(&self) -> u64 {
        let here = self.devices.div_ceil(self.devices.div_ceil(self.unit));
        let groups = (here * self.units).div_ceil(self.size);
        groups.min(self.stride.saturating_mul(2)).max(1)
    }

    fn span(&self, tier: &Tier, lanes: &Lanes) -> Span {
        let sharing = self.sharing();
        // The unit with the fewest ranks drives the fewest ports.
        let ranks = (self.size / self.units).max(1);
        let part = |drives: u64| (1.0 / sharing as f64).min(drives as f64 / tier.ports as f64);
        let lane =
            |links: f64, hops: f64, drives: u64| Lane { rate: tier.bandwidth * (links * part(drives)), hops };
        let chain = (lanes.chain > 0.0).then(|| lane(lanes.chain, lanes.ring_hops, ranks));
        Span {
            level: self.level,
            members: self.members,
            units: self.units,
            edges: self.edges,
            sharing,
            ring: lane(lanes.ring, lanes.ring_hops, ranks),
            pass: lanes.pass.map(|pass| (pass, tier.bandwidth * part(ranks))),
            chain,
            exchange: lane(lanes.exchange, lanes.exchange_hops, ranks),
            neighbour: lane(lanes.neighbour, lanes.neighbour_hops, 1),
            depth: depth(tier, self.members),
            latency: tier.latency,
            energy: tier.energy,
            protocols: [tier.bulk, tier.low_latency.unwrap_or(tier.bulk)],
            in_switch: tier.in_switch,
        }
    }
}

/// A binary tree needs a way of its own between any two members, which only a switch gives; elsewhere the tree is the
/// chain along the ring, whose rate holds.
fn depth(tier: &Tier, members: u64) -> f64 {
    match (tier.tree, &tier.topology) {
        (TreeShape::Binary, Topology::Switch) => members.next_power_of_two().trailing_zeros().into(),
        _ => (members - 1) as f64,
    }
}

/// Units of `unit` devices that the worst placed group of `size` ranks, `stride` apart, touches among the first
/// `devices` devices.
///
/// Blocks of `size * stride` ids follow one another; within a block the groups start at its first `stride` ids. A
/// block's start modulo the unit is any multiple of `gcd(block, unit)`; the latest start reaches farthest.
fn units_touched(devices: u64, size: u64, stride: u64, unit: u64) -> u64 {
    if size == 1 || devices <= unit {
        return 1;
    }
    if stride >= unit {
        return size;
    }
    let block = size * stride;
    let grid = gcd(block, unit);
    let latest = if stride <= grid { unit - grid + stride - 1 } else { unit - 1 };
    let start = latest.min(devices - block + stride - 1);
    ((start + (size - 1) * stride) / unit + 1).min(size)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every group of the layout, id by id.
    fn counted(devices: u64, size: u64, stride: u64, unit: u64) -> u64 {
        let block = size * stride;
        let starts = (0..devices / block).flat_map(|b| (0..stride).map(move |a| a + b * block));
        let touched = |start: u64| {
            let mut units: Vec<u64> = (0..size).map(|rank| (start + rank * stride) / unit).collect();
            units.dedup();
            units.len() as u64
        };
        starts.map(touched).max().unwrap_or(1)
    }

    #[test]
    fn touched_units_bound_the_counted_ones_and_are_exact_where_groups_tile() {
        for unit in [1, 4, 6, 8, 16] {
            for (size, stride) in (1..20).flat_map(|size| (1..20).map(move |stride| (size, stride))) {
                for blocks in 1..5 {
                    let devices = size * stride * blocks;
                    let (bound, count) =
                        (units_touched(devices, size, stride, unit), counted(devices, size, stride, unit));
                    let layout = format!("{devices} devices, {size} ranks {stride} apart, units of {unit}");
                    assert!(bound >= count && bound <= count + 1, "{layout}: {bound} for {count}");
                    if (size * stride) % unit == 0 || unit % (size * stride) == 0 {
                        assert_eq!(bound, count, "{layout}");
                    }
                }
            }
        }
    }
}
