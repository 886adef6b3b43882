//! Collectives: the time and energy of one operation by one group of ranks.
//!
//! Every algorithm is a formula of its own ([`formula`]); [`collective`] (or [`Prices`], for inner loops) applies those
//! that the group's tiers allow and takes the least, with the library's way for large and for small messages. Derivations: `docs/collectives.md`.

mod energy;
pub mod formula;
mod price;

use serde::{Deserialize, Serialize};

use crate::fabric::Group;
use crate::units::{Bytes, Joules, Seconds};
use price::Way;

/// What the ranks of a group do together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Everyone gets the sum; `bytes` is the message of each rank.
    AllReduce,
    /// Everyone gets all shards; `bytes` is the gathered result.
    AllGather,
    /// Everyone gets its shard of the sum; `bytes` is the whole input of each rank.
    ReduceScatter,
    /// Everyone sends a shard to everyone; `bytes` is what each rank holds in all, its own shard included.
    AllToAll,
    /// Every rank sends to the next; `bytes` is one message.
    PointToPoint,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::AllReduce, Self::AllGather, Self::ReduceScatter, Self::AllToAll, Self::PointToPoint];
}

/// How an operation is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Nothing to do: a single rank.
    None,
    /// One ring (or several link-disjoint ones) through all ranks.
    Ring,
    /// A double binary tree over the units of the outer tiers, chains or trees inside.
    Tree,
    /// Reduction and broadcast along one spanning chain or tree of links, both directions at once.
    Chain,
    /// Tier by tier: scatter inward, exchange outward, gather inward.
    Hierarchical,
    /// Dimension by dimension of a mesh or torus, all dimensions at work at once.
    PerDimension,
    /// Straight to every peer.
    Direct,
    /// Reduction and multicast by the switch.
    InSwitch,
}

/// Time and energy of one operation, with the algorithm that was the fastest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Collective {
    /// From the launch to the last rank's end.
    pub seconds: Seconds,
    /// The fastest that the tiers allow.
    pub algorithm: Algorithm,
    /// Of the links, for the whole group; for point to point of one message between the farthest neighbours.
    pub energy: Joules,
}

/// Time and energy of `operation` on `bytes` by the ranks of `group`, by the fastest algorithm.
///
/// Two ranks on one 25 GB/s link, 1 GB all-reduced: each sends and receives half of it twice.
/// ```
/// # use dielet_core::collective::{collective, Algorithm, Operation};
/// # use dielet_core::fabric::{Fabric, Protocol, Tier, Topology};
/// # use dielet_core::units::{Bytes, BytesPerSecond, JoulesPerBit, Seconds};
/// let bulk = Protocol { launch: Seconds(10e-6), step: Seconds(1e-6), efficiency: 1.0 };
/// let tier = Tier {
///     name: "link".to_owned(), members: Some(2), topology: Topology::Full, bandwidth: BytesPerSecond(25e9),
///     latency: Seconds(0.0), energy: JoulesPerBit(8e-12), ports: 1, copy: None, tree: Default::default(),
///     bulk, low_latency: None, in_switch: None,
/// };
/// let pair = Fabric::new(vec![tier]).unwrap().group(2, 2, 1).unwrap();
/// let sum = collective(&pair, Operation::AllReduce, Bytes(1e9));
/// assert_eq!(sum.algorithm, Algorithm::Ring);
/// assert!((sum.seconds.value() - 0.040012).abs() < 1e-9);
/// assert!((sum.energy.value() - 2.0 * 8e9 * 8e-12).abs() < 1e-9);
/// ```
pub fn collective(group: &Group, operation: Operation, bytes: Bytes) -> Collective {
    cheapest(price::ways(group, operation), bytes)
}

/// The time of one algorithm, where the group's tiers allow it; for comparison, [`collective`] takes the least.
pub fn time_by(group: &Group, operation: Operation, algorithm: Algorithm, bytes: Bytes) -> Option<Seconds> {
    let times = price::ways(group, operation).filter(|way| way.algorithm == algorithm);
    times.map(|way| way.line.at(bytes)).reduce(Seconds::min)
}

fn cheapest(ways: impl Iterator<Item = Way>, bytes: Bytes) -> Collective {
    let timed = ways.map(|way| (way.line.at(bytes), way));
    let best = timed.reduce(|best, next| if next.0 < best.0 { next } else { best });
    let nothing = Collective { seconds: Seconds::ZERO, algorithm: Algorithm::None, energy: Joules::ZERO };
    best.map_or(nothing, |(seconds, way)| Collective {
        seconds,
        algorithm: way.algorithm,
        energy: Joules(way.joules_per_byte * bytes.value()),
    })
}

/// The collectives of one group, worked out once: [`Prices::collective`] gives what [`collective`] gives, in some
/// nanoseconds. For inner loops.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    ways: [Vec<Way>; Operation::ALL.len()],
}

impl Prices {
    /// Of a group; ways that are nowhere the fastest are dropped.
    pub fn of(group: &Group) -> Self {
        Self {
            ways: Operation::ALL
                .map(|operation| undominated(&price::ways(group, operation).collect::<Vec<_>>())),
        }
    }

    /// Time and energy of one operation.
    pub fn collective(&self, operation: Operation, bytes: Bytes) -> Collective {
        cheapest(self.ways[operation as usize].iter().copied(), bytes)
    }
}

fn undominated(ways: &[Way]) -> Vec<Way> {
    let beaten = |place: usize, way: &Way| {
        let mut others = ways.iter().enumerate().filter(|&(other, _)| other != place);
        others.any(|(other, rival)| rival.line.below(way.line) && (other < place || rival.line != way.line))
    };
    ways.iter().enumerate().filter(|(place, way)| !beaten(*place, way)).map(|(_, way)| *way).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)] // the same arithmetic
    use super::*;
    use crate::fabric::{Fabric, Protocol, Tier, Topology, TreeShape};
    use crate::units::{BytesPerSecond, JoulesPerBit};

    fn tier(members: Option<u64>, rate: f64, step: f64) -> Tier {
        let bulk = Protocol { launch: Seconds(30e-6), step: Seconds(step), efficiency: 0.8 };
        Tier {
            name: "tier".to_owned(),
            members,
            topology: Topology::Switch,
            bandwidth: BytesPerSecond(rate),
            latency: Seconds(1e-7),
            energy: JoulesPerBit(1e-11),
            ports: 1,
            copy: None,
            tree: TreeShape::Chain,
            bulk,
            low_latency: Some(Protocol { launch: Seconds(5e-6), step: Seconds(step / 4.0), efficiency: 0.2 }),
            in_switch: None,
        }
    }

    #[test]
    fn prices_worked_out_once_are_the_same() {
        let fabric = Fabric::new(vec![tier(Some(8), 3e11, 2e-6), tier(None, 2e11, 9e-6)]).unwrap();
        for (size, stride) in [(1, 1), (8, 1), (64, 1), (8, 8), (12, 2)] {
            let group = fabric.group(64, size, stride).unwrap();
            let prices = Prices::of(&group);
            for operation in Operation::ALL {
                for exponent in 0..34 {
                    let bytes = Bytes(2.0_f64.powi(exponent));
                    let once = prices.collective(operation, bytes);
                    assert_eq!(once.seconds, collective(&group, operation, bytes).seconds);
                }
            }
        }
    }
}
