//! Fabrics: what joins the devices, tier by tier, and what a group of ranks gets of it.
//!
//! A tier joins `members` units of the tier below it (devices, for the innermost). Device ids are mixed-radix
//! numbers over the tiers, so ids that differ in the lowest digit share the innermost tier. A group is `size` ranks,
//! `stride` ids apart; [`Fabric::group`] says what of every tier it uses and with how many other groups it shares
//! the links. See `docs/collectives.md` for the derivations.

mod graph;
mod group;
mod spec;
mod topology;

use serde::{Deserialize, Serialize};

use crate::units::{BytesPerSecond, JoulesPerBit, Seconds};
pub use graph::MAX_GRAPH_MEMBERS;
use graph::Packing;
pub use group::{Group, Lane, Span};
pub use spec::{Kind, ProtocolSpec, TierSpec};
pub use topology::{Lanes, Pass, Topology};

/// Tiers of a fabric at most; a group is a value of fixed size.
pub const MAX_TIERS: usize = 4;

/// How a communication library drives a tier: the time of a message of `m` bytes over a wire of rate `beta` and
/// latency `alpha` is `launch + steps (step + hops alpha) + m / (efficiency beta)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Protocol {
    /// Paid once a collective: kernel launch, rendezvous, filling of the pipeline.
    pub launch: Seconds,
    /// Paid in every step at the end points: software, flags, memory fences.
    pub step: Seconds,
    /// Share of the wire rate that a large message reaches, in (0, 1].
    pub efficiency: f64,
}

/// How the library builds a reduction tree inside a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeShape {
    /// Double binary tree, on a switch: depth `ceil(log2 k)`.
    #[default]
    Binary,
    /// A chain, as NCCL builds it among the devices of one node: depth `k - 1`.
    Chain,
}

/// One level of a fabric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tier {
    /// What people call it, such as `nvlink`.
    pub name: String,
    /// Units of the tier below that it joins; none means any number (outermost tier only).
    pub members: Option<u64>,
    /// How they are joined.
    pub topology: Topology,
    /// One direction; of a whole member for a switch, of one link for everything else.
    pub bandwidth: BytesPerSecond,
    /// Of one hop: one link, or in and out of the switch.
    pub latency: Seconds,
    /// Of one bit over one hop.
    pub energy: JoulesPerBit,
    /// Equal ports that make up a member's bandwidth; one rank drives at most one (a node's network cards).
    pub ports: u64,
    /// Rate at which a rank moves its own share through its memory, if that is not hidden.
    pub copy: Option<BytesPerSecond>,
    /// Shape of reduction trees.
    pub tree: TreeShape,
    /// The library's way with large messages.
    pub bulk: Protocol,
    /// Its way with small ones: less latency, less bandwidth.
    pub low_latency: Option<Protocol>,
    /// Reduction by the switch itself, where it can.
    pub in_switch: Option<Protocol>,
}

/// Why a fabric or a group cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FabricError {
    /// No tier at all, or too many.
    #[error("a fabric has 1 to {MAX_TIERS} tiers, not {count}")]
    Tiers {
        /// As given.
        count: usize,
    },
    /// Only the outermost tier may join any number.
    #[error("tier `{tier}` has no `members`: only the outermost tier joins any number; state how many")]
    Unbounded {
        /// Its name.
        tier: String,
    },
    /// A value out of range.
    #[error("tier `{tier}`: `{key} = {value}` is out of range: {problem}")]
    Value {
        /// Its name.
        tier: String,
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// What would be right.
        problem: &'static str,
    },
    /// The topology joins another number of members than the tier.
    #[error("tier `{tier}` has {members} members, but its {topology} joins {joined}")]
    Members {
        /// Its name.
        tier: String,
        /// As stated.
        members: u64,
        /// The topology's name.
        topology: &'static str,
        /// As the topology has it.
        joined: u64,
    },
    /// A graph that is none.
    #[error("tier `{tier}`: {problem}")]
    Graph {
        /// Its name.
        tier: String,
        /// What is wrong.
        problem: String,
    },
    /// More devices than the fabric joins.
    #[error("{devices} devices do not fit: the fabric joins {capacity}")]
    TooManyDevices {
        /// As asked.
        devices: u64,
        /// As it is.
        capacity: u64,
    },
    /// A group that reaches beyond the devices in use.
    #[error(
        "a group of {size} ranks, {stride} apart, does not fit {devices} devices; all three are at least 1"
    )]
    Group {
        /// Devices in use.
        devices: u64,
        /// Ranks.
        size: u64,
        /// Ids between neighbouring ranks.
        stride: u64,
    },
}

/// The tiers, innermost first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fabric {
    tiers: Vec<Tier>,
    #[serde(skip)]
    packings: Vec<Option<Packing>>,
}

impl Fabric {
    /// A fabric from its tiers, innermost first. Graph tiers are packed here, once.
    pub fn new(tiers: Vec<Tier>) -> Result<Self, FabricError> {
        if tiers.is_empty() || tiers.len() > MAX_TIERS {
            return Err(FabricError::Tiers { count: tiers.len() });
        }
        for (level, tier) in tiers.iter().enumerate() {
            tier.check()?;
            if level + 1 < tiers.len() && tier.members.is_none() {
                return Err(FabricError::Unbounded { tier: tier.name.clone() });
            }
        }
        let packings = tiers.iter().map(Tier::packing).collect::<Result<_, _>>()?;
        Ok(Self { tiers, packings })
    }

    /// The tiers, innermost first.
    pub fn tiers(&self) -> &[Tier] {
        &self.tiers
    }

    /// Devices that it joins; none means any number.
    pub fn capacity(&self) -> Option<u64> {
        self.tiers.iter().try_fold(1_u64, |units, tier| Some(units.saturating_mul(tier.members?)))
    }

    /// Devices in one member of a tier: 1 for the innermost.
    pub fn unit(&self, level: usize) -> u64 {
        self.tiers[..level].iter().fold(1, |units, tier| units.saturating_mul(tier.members.unwrap_or(1)))
    }

    /// What `size` ranks, `stride` ids apart, get of the fabric while all groups like theirs among the first
    /// `devices` devices communicate at once.
    ///
    /// Sizes need not divide the tiers: the worst placed of the groups is priced, spread evenly over the units that
    /// it touches. In a graph tier the groups are the best partition of the members.
    pub fn group(&self, devices: u64, size: u64, stride: u64) -> Result<Group, FabricError> {
        let spread = |level: usize, members: u64, apart: u64| {
            let tier = &self.tiers[level];
            match &self.packings[level] {
                Some(packing) => packing.placed(members, apart),
                None => tier.topology.lanes(tier.members.unwrap_or(members), members, apart),
            }
        };
        self.group_with(devices, size, stride, spread)
    }

    /// The group of the first `devices` devices in the order of their ids, as a benchmark takes them: in a graph
    /// tier no better set is looked for.
    pub fn first(&self, devices: u64) -> Result<Group, FabricError> {
        let spread = |level: usize, members: u64, apart: u64| {
            let tier = &self.tiers[level];
            match &self.packings[level] {
                Some(packing) => packing.first(members),
                None => tier.topology.lanes(tier.members.unwrap_or(members), members, apart),
            }
        };
        self.group_with(devices, devices, 1, spread)
    }

    fn group_with(
        &self,
        devices: u64,
        size: u64,
        stride: u64,
        spread: impl Fn(usize, u64, u64) -> Lanes,
    ) -> Result<Group, FabricError> {
        let fits = size >= 1 && stride >= 1 && size.checked_mul(stride).is_some_and(|span| span <= devices);
        if !fits {
            return Err(FabricError::Group { devices, size, stride });
        }
        if let Some(capacity) = self.capacity().filter(|&capacity| devices > capacity) {
            return Err(FabricError::TooManyDevices { devices, capacity });
        }
        Ok(Group::new(self, devices, size, stride, spread))
    }

    /// The same machine with another innermost tier: as many devices in it as before, in the new tier's topology
    /// (a mesh or torus takes the most square shape of that many).
    pub fn with_innermost(&self, tier: Tier) -> Result<Self, FabricError> {
        let mut tiers = self.tiers.clone();
        let members = tiers[0].members.or(tier.members);
        let topology = tier.topology.resized(members);
        tiers[0] = Tier { members, topology, ..tier };
        Self::new(tiers)
    }
}

impl Tier {
    fn check(&self) -> Result<(), FabricError> {
        let bad = |key, value: String, problem| {
            Err(FabricError::Value { tier: self.name.clone(), key, value, problem })
        };
        if self.members == Some(0) {
            return bad("members", "0".to_owned(), "at least 1, or leave the key out for any number");
        }
        if self.bandwidth.value() <= 0.0 {
            return bad("bandwidth", self.bandwidth.to_string(), "above 0");
        }
        if self.ports == 0 {
            return bad("ports", "0".to_owned(), "at least 1");
        }
        if let Some(copy) = self.copy.filter(|copy| copy.value() <= 0.0) {
            return bad("copy", copy.to_string(), "above 0");
        }
        let ways = [Some(self.bulk), self.low_latency, self.in_switch];
        let share = |way: &Protocol| way.efficiency > 0.0 && way.efficiency <= 1.0;
        if let Some(way) = ways.into_iter().flatten().find(|way| !share(way)) {
            return bad("efficiency", way.efficiency.to_string(), "above 0, at most 1");
        }
        if self.in_switch.is_some() && self.topology != Topology::Switch {
            return bad("in_switch", self.topology.name().to_owned(), "only a switch reduces by itself");
        }
        self.check_members()
    }

    fn check_members(&self) -> Result<(), FabricError> {
        let Some(joined) = self.topology.joined() else { return Ok(()) };
        let members = self.members.unwrap_or(0);
        if joined == members {
            return Ok(());
        }
        let (tier, topology) = (self.name.clone(), self.topology.name());
        Err(FabricError::Members { tier, members, topology, joined })
    }

    fn packing(&self) -> Result<Option<Packing>, FabricError> {
        let Topology::Graph { links } = &self.topology else { return Ok(None) };
        let members = self.members.unwrap_or(0);
        let packed = Packing::new(members, links);
        packed.map(Some).map_err(|problem| FabricError::Graph { tier: self.name.clone(), problem })
    }
}
