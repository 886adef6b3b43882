//! Systems: devices, the fabric that joins them, price and power.
//!
//! ```toml
//! name = "dgx1-v100"
//! summary = "NVIDIA DGX-1, ..."
//! device = "v100-sxm2-16gb"      # a file of `devices/`
//! price = "3.06 USD/h"           # per device
//! overhead_power = "137 W"       # per device: host, network, cooling in the box
//! [[tiers]]                      # innermost first, see `fabric::TierSpec`
//! ```
//!
//! A named fabric is a file with `name`, `summary` and one `[tier]`, which takes the place of a system's innermost
//! tier and keeps its number of devices.

use serde::{Deserialize, Serialize};

use crate::device::Device;
use crate::fabric::{Fabric, FabricError, Kind, Tier, TierSpec};
use crate::link::TierFigures;
use crate::spec::{self, Confidence, Sourced, SpecError};
use crate::units::{DollarsPerSecond, Meters, SquareMeters, Watts};

/// Why a system cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SystemError {
    /// The file is refused.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Its fabric is refused.
    #[error("{origin}: {fault}")]
    Fabric {
        /// The file.
        origin: String,
        /// Why.
        fault: FabricError,
    },
    /// The device file is another device's.
    #[error("{origin}: `device = {stated}`, but the device given is `{given}`")]
    Device {
        /// The file.
        origin: String,
        /// In the system's file.
        stated: String,
        /// In the device's file.
        given: String,
    },
}

/// A machine of any number of equal devices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct System {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub summary: String,
    /// Its devices.
    pub device: Device,
    /// Per device and time.
    pub price: Option<Sourced<DollarsPerSecond>>,
    /// Drawn per device beside the device itself: hosts, switches, fans.
    pub overhead_power: Option<Sourced<Watts>>,
    /// The tiers with their sources, innermost first.
    pub tiers: Vec<TierSpec>,
    /// What prices communication.
    #[serde(skip)]
    pub fabric: Fabric,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SystemSpec {
    name: String,
    summary: String,
    device: String,
    price: Option<Sourced<DollarsPerSecond>>,
    overhead_power: Option<Sourced<Watts>>,
    tiers: Vec<TierSpec>,
}

/// Edge of a square die behind one port of a tier: a side for each link of a mesh, torus or graph, two for each of
/// a ring's links, all four for a port of a switch; `share` of it, since memory takes the rest.
///
/// Worked: 500 mm2 and half of a side in a mesh: 11.2 mm.
///
/// ```
/// use dielet_core::{fabric::Kind, system::edge_of_port, units::SquareMeters};
/// let edge = edge_of_port(SquareMeters(500e-6), Kind::Mesh, 0.5);
/// assert!((edge.value() - 11.18e-3).abs() < 1e-5);
/// ```
pub fn edge_of_port(die: SquareMeters, kind: Kind, share: f64) -> Meters {
    let sides = match kind {
        Kind::Mesh | Kind::Torus | Kind::Graph | Kind::Full => 1.0,
        Kind::Ring => 2.0,
        Kind::Switch => 4.0,
    };
    Meters(die.value().sqrt() * sides * share)
}

/// A named tier that may take the place of a system's innermost one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FabricSpec {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub summary: String,
    /// The tier; `members` are left to the system.
    pub tier: TierSpec,
}

impl FabricSpec {
    /// The same tier on other wires: their bandwidth, latency and energy, the library's constants as they were.
    #[must_use]
    pub fn on_link(&self, name: &str, kind: Option<Kind>, figures: &TierFigures, source: &str) -> Self {
        fn derived<T>(value: T, source: &str) -> Sourced<T> {
            Sourced { value, source: source.to_owned(), confidence: Confidence::Derived }
        }
        let topology = kind.unwrap_or(self.tier.topology);
        let shape = if topology == self.tier.topology { self.tier.shape.clone() } else { None };
        Self {
            name: name.to_owned(),
            summary: format!("{} on wires: {source}", self.name),
            tier: TierSpec {
                name: name.to_owned(),
                topology,
                shape,
                bandwidth: derived(figures.bandwidth, source),
                latency: derived(figures.latency, source),
                energy: derived(figures.energy, source),
                ..self.tier.clone()
            },
        }
    }

    /// A named fabric from the text of its file; `origin` names the file in errors.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, SystemError> {
        let spec: Self = spec::parse(text, origin)?;
        let in_file = |fault| SystemError::Fabric { origin: origin.to_owned(), fault };
        spec.tier.tier().map_err(in_file)?;
        Ok(spec)
    }
}

impl System {
    /// A system from the text of its file and of its device's; `origin` names the system's file in errors.
    pub fn from_toml(text: &str, device: Device, origin: &str) -> Result<Self, SystemError> {
        let SystemSpec { name, summary, device: stated, price, overhead_power, tiers } =
            spec::parse(text, origin)?;
        if stated != device.name {
            let (origin, given) = (origin.to_owned(), device.name);
            return Err(SystemError::Device { origin, stated, given });
        }
        let in_file = |fault| SystemError::Fabric { origin: origin.to_owned(), fault };
        let plain: Vec<Tier> = tiers.iter().map(TierSpec::tier).collect::<Result<_, _>>().map_err(in_file)?;
        let fabric = Fabric::new(plain).map_err(in_file)?;
        Ok(Self { name, summary, device, price, overhead_power, tiers, fabric })
    }

    /// The name of the device that a system's file asks for.
    pub fn device_name(text: &str, origin: &str) -> Result<String, SystemError> {
        Ok(spec::parse::<SystemSpec>(text, origin)?.device)
    }

    /// The same machine with another innermost tier and as many devices in it.
    pub fn with_fabric(&self, fabric: &FabricSpec, origin: &str) -> Result<Self, SystemError> {
        let in_file = |fault| SystemError::Fabric { origin: origin.to_owned(), fault };
        let tier = fabric.tier.tier().map_err(in_file)?;
        let replaced = self.fabric.with_innermost(tier).map_err(in_file)?;
        let members = self.tiers[0].members.clone().or_else(|| fabric.tier.members.clone());
        let mut tiers = self.tiers.clone();
        tiers[0] = TierSpec { members, shape: replaced.tiers()[0].topology.shape(), ..fabric.tier.clone() };
        Ok(Self {
            name: format!("{} on {}", self.name, fabric.name),
            tiers,
            fabric: replaced,
            ..self.clone()
        })
    }
}
