//! A tier as its file writes it: every figure with its source.

use serde::{Deserialize, Serialize};

use super::{FabricError, Protocol, Tier, Topology, TreeShape};
use crate::spec::Sourced;
use crate::units::{BytesPerSecond, JoulesPerBit, Seconds};

/// One tier in a file; [`TierSpec::tier`] makes the tier of it.
///
/// ```
/// # use dielet_core::fabric::{Topology, TierSpec};
/// let text = r#"
///     name = "wafer"
///     members = 24
///     topology = "mesh"
///     shape = [4, 6]
///     bandwidth = "750 GB/s"
///     latency = "20 ns"
///     energy = "1 pJ/bit"
///     bulk = { launch = "30 us", step = "1 us", efficiency = 0.8 }
/// "#;
/// let spec: TierSpec = dielet_core::spec::parse(text, "mine.toml").unwrap();
/// assert_eq!(spec.tier().unwrap().topology, Topology::Mesh { rows: 4, cols: 6 });
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierSpec {
    /// What people call it.
    pub name: String,
    /// Units of the tier below that it joins; left out for any number (outermost tier only).
    pub members: Option<Sourced<u64>>,
    /// How they are joined.
    pub topology: Kind,
    /// Rows and columns of a mesh; sizes of a torus, of the lowest digit first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<u64>>,
    /// Links of a graph: member, member, parallel links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Sourced<Vec<(u32, u32, u32)>>>,
    /// One direction, of a member's port (switch) or of one link (all others).
    pub bandwidth: Sourced<BytesPerSecond>,
    /// Of one hop.
    pub latency: Sourced<Seconds>,
    /// Of a bit over one hop.
    pub energy: Sourced<JoulesPerBit>,
    /// Equal ports that a member's bandwidth is made of; 1 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<Sourced<u64>>,
    /// Rate of a rank's own share through its memory, where that is not hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy: Option<Sourced<BytesPerSecond>>,
    /// Shape of reduction trees; `binary` if left out.
    #[serde(default)]
    pub tree: TreeShape,
    /// The library's way with large messages.
    pub bulk: ProtocolSpec,
    /// Its way with small ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_latency: Option<ProtocolSpec>,
    /// Reduction by the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_switch: Option<ProtocolSpec>,
}

/// The topology's name in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Every member on one switch.
    Switch,
    /// A ring of links.
    Ring,
    /// A link between every two.
    Full,
    /// Rows and columns.
    Mesh,
    /// Rings in up to three dimensions.
    Torus,
    /// Links one by one.
    Graph,
}

/// [`Protocol`] with its sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtocolSpec {
    /// Once a collective.
    pub launch: Sourced<Seconds>,
    /// In every step.
    pub step: Sourced<Seconds>,
    /// Share of the wire rate.
    pub efficiency: Sourced<f64>,
}

impl ProtocolSpec {
    fn protocol(&self) -> Protocol {
        Protocol { launch: self.launch.value, step: self.step.value, efficiency: self.efficiency.value }
    }
}

impl TierSpec {
    /// The tier without its sources. A mesh or torus without a shape gets one from the machine that it is put into.
    pub fn tier(&self) -> Result<Tier, FabricError> {
        Ok(Tier {
            name: self.name.clone(),
            members: self.members.as_ref().map(|members| members.value),
            topology: self.topology()?,
            bandwidth: self.bandwidth.value,
            latency: self.latency.value,
            energy: self.energy.value,
            ports: self.ports.as_ref().map_or(1, |ports| ports.value),
            copy: self.copy.as_ref().map(|copy| copy.value),
            tree: self.tree,
            bulk: self.bulk.protocol(),
            low_latency: self.low_latency.as_ref().map(ProtocolSpec::protocol),
            in_switch: self.in_switch.as_ref().map(ProtocolSpec::protocol),
        })
    }

    fn topology(&self) -> Result<Topology, FabricError> {
        let shape = self.shape.as_deref();
        let links = self.links.as_ref().map(|links| links.value.clone());
        match (self.topology, shape, links) {
            (Kind::Switch, None, None) => Ok(Topology::Switch),
            (Kind::Ring, None, None) => Ok(Topology::Ring),
            (Kind::Full, None, None) => Ok(Topology::Full),
            (Kind::Mesh, None, None) => Ok(Topology::Mesh { rows: 1, cols: 1 }),
            (Kind::Torus, None, None) => Ok(Topology::Torus { dims: vec![1, 1] }),
            (Kind::Mesh, Some(&[rows, cols]), None) if rows > 0 && cols > 0 => {
                Ok(Topology::Mesh { rows, cols })
            }
            (Kind::Torus, Some(dims @ ([_] | [_, _] | [_, _, _])), None) if !dims.contains(&0) => {
                Ok(Topology::Torus { dims: dims.to_vec() })
            }
            (Kind::Graph, None, Some(links)) => Ok(Topology::Graph { links }),
            _ => Err(self.ill_shaped()),
        }
    }

    fn ill_shaped(&self) -> FabricError {
        let (key, problem) = match self.topology {
            Kind::Mesh => ("shape", "a mesh has `shape = [rows, columns]`, both at least 1, and no `links`"),
            Kind::Torus => {
                ("shape", "a torus has a `shape` of one to three sizes of at least 1, and no `links`")
            }
            Kind::Graph => {
                ("links", "a graph has `links = [[member, member, parallel links], ..]` and no `shape`")
            }
            Kind::Switch | Kind::Ring | Kind::Full => {
                ("shape", "only a mesh or torus has a shape, only a graph links")
            }
        };
        let value = self.shape.as_ref().map_or_else(|| "none".to_owned(), |shape| format!("{shape:?}"));
        FabricError::Value { tier: self.name.clone(), key, value, problem }
    }
}
