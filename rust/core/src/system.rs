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
use crate::fabric::{Fabric, FabricError, Tier, TierSpec};
use crate::spec::{self, Sourced, SpecError};
use crate::units::{DollarsPerSecond, Watts};

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
