//! The figures of a link without a frequency sweep: what a sweep over a million geometries computes.

use super::density::{areal_bandwidth, edge_bandwidth};
use super::design::Design;
use super::driver::Budget;
use crate::units::{
    ArealBandwidth, BitsPerSecond, EdgeBandwidth, FaradsPerMeter, HenriesPerMeter, JoulesPerBit,
    OhmsPerMeter, Seconds,
};
use crate::wire::resistance;

/// The figures of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Resistance of direct current.
    pub resistance: OhmsPerMeter,
    /// Capacitance to everything.
    pub capacitance: FaradsPerMeter,
    /// Capacitance to one neighbour.
    pub coupling: FaradsPerMeter,
    /// Inductance of the middle wire.
    pub inductance: HenriesPerMeter,
    /// Latency by part.
    pub latency: Budget<Seconds>,
    /// Energy by part.
    pub energy: Budget<JoulesPerBit>,
    /// What the settling of the wire allows.
    pub settled_rate: BitsPerSecond,
    /// What wire and clock allow, per wire.
    pub rate: BitsPerSecond,
    /// All wires that cross a length of edge.
    pub edge_bandwidth: EdgeBandwidth,
    /// All pads under an area.
    pub areal_bandwidth: ArealBandwidth,
    /// Geometry inside the fit, and pitch, length and layers as offered.
    pub in_range: bool,
}

/// The figures of a design: `rate = min(clock, 0.32 / tau)`, latency and energy by part, densities.
///
/// Source: `driver`, `density`, `crate::wire`. Worked in `docs/fabric.md`.
pub fn figures(design: &Design) -> Figures {
    let c = design.capacitance();
    let load = design.load(&c);
    let (channel, transceiver) = (&design.channel, &design.transceiver);
    let settled_rate = transceiver.settled_rate(&load);
    let rate = settled_rate.min(transceiver.clock);
    let (pitch, layers) = (channel.wire.pitch(), f64::from(design.layers));
    Figures {
        resistance: resistance(&channel.metal, &channel.wire),
        capacitance: c.total(),
        coupling: c.coupling,
        inductance: HenriesPerMeter(load.inductance / channel.length.value()),
        latency: transceiver.latency(&load),
        energy: transceiver.energy(&load),
        settled_rate,
        rate,
        edge_bandwidth: edge_bandwidth(pitch, layers, rate, design.signal_fraction),
        areal_bandwidth: areal_bandwidth(design.pad_pitch, rate, design.signal_fraction),
        in_range: c.in_range && design.offered,
    }
}
