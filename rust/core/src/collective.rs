//! Collectives: the time and energy of one operation by one group of ranks.
//!
//! Every algorithm is a formula of its own ([`formula`]); [`collective`] applies those that the group's tiers allow
//! and takes the least, with the library's way for large and for small messages. Derivations: `docs/collectives.md`.

mod energy;
pub mod formula;
mod price;

use serde::{Deserialize, Serialize};

use crate::fabric::Group;
use crate::units::{Bytes, Joules, Seconds};

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
    let Some((seconds, algorithm)) = price::fastest(group, operation, bytes) else {
        return Collective { seconds: Seconds::ZERO, algorithm: Algorithm::None, energy: Joules::ZERO };
    };
    Collective { seconds, algorithm, energy: energy::energy(group, operation, algorithm, bytes) }
}

/// The time of one algorithm, where the group's tiers allow it; for comparison, [`collective`] takes the least.
pub fn time_by(group: &Group, operation: Operation, algorithm: Algorithm, bytes: Bytes) -> Option<Seconds> {
    price::by(group, operation, algorithm, bytes)
}
