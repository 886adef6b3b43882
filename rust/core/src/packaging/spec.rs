//! A packaging process as its file states it: yields, limits and prices.

use serde::{Deserialize, Serialize};

use crate::spec::Sourced;
use crate::units::{
    DefectDensity, Dollars, DollarsPerSquareMeter, EdgeBandwidth, Meters, OhmMeters, Seconds, Volts,
    WattsPerSquareMeter,
};

/// A packaging process. Every number has its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackagingSpec {
    /// Its name.
    pub name: String,
    /// One line about it.
    pub summary: String,
    /// Usable diameter of the substrate.
    pub usable_diameter: Sourced<Meters>,
    /// Gap between dies.
    pub gap: Sourced<Meters>,
    /// Pitch of the pads.
    pub pad_pitch: Sourced<Meters>,
    /// Pillars per pad.
    pub pillars: Sourced<u32>,
    /// Yield of one pillar.
    pub pillar_yield: Sourced<f64>,
    /// Yield of placing a die.
    pub alignment_yield: Sourced<f64>,
    /// Metal layers of the substrate.
    pub layers: Sourced<u32>,
    /// Share of a layer that is wire.
    pub utilisation: Sourced<f64>,
    /// Defects of the die's process.
    pub defect_density: Sourced<DefectDensity>,
    /// Share of the die's area that a defect kills.
    pub critical_fraction: Sourced<f64>,
    /// Clustering of the defects.
    pub clustering: Sourced<f64>,
    /// Bad dies that pass the test before bonding, as a share of the bad ones.
    pub test_escape: Sourced<f64>,
    /// Supply of the dies.
    pub supply: Sourced<Volts>,
    /// Efficiency of the regulators.
    pub regulator_efficiency: Sourced<f64>,
    /// Resistivity of the power plane.
    pub plane_resistivity: Sourced<OhmMeters>,
    /// Thickness of the power plane.
    pub plane_thickness: Sourced<Meters>,
    /// What cooling takes off an area.
    pub cooling: Sourced<WattsPerSquareMeter>,
    /// Data rate out of the substrate, per length of its edge.
    pub external_bandwidth: Sourced<EdgeBandwidth>,
    /// Processed wafer area of the dies.
    pub die_price: Sourced<DollarsPerSquareMeter>,
    /// Processed area of the substrate, all layers.
    pub substrate_price: Sourced<DollarsPerSquareMeter>,
    /// Time of a bonder per die.
    pub bond_time: Sourced<Seconds>,
    /// Price of the bonding machines of a line.
    pub machine_price: Sourced<Dollars>,
    /// Life of a machine.
    pub machine_life: Sourced<Seconds>,
    /// Share of its life that a machine works.
    pub uptime: Sourced<f64>,
    /// Wages of the line's operator, per year.
    pub operator_price: Sourced<Dollars>,
}
