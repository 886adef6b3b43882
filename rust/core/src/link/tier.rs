//! What a technology gives a tier of a fabric: bandwidth of a device in one direction, latency, energy.

use serde::Serialize;

use super::density::edge_bandwidth;
use super::design::{Choice, Design};
use super::figures::figures;
use super::technology::{Published, Technology, TechnologyError};
use crate::units::{BytesPerSecond, EdgeBandwidth, JoulesPerBit, Meters, Seconds};

/// The figures of a tier's links.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TierFigures {
    /// Per device, one direction, over all of its edge that serves the tier.
    #[serde(rename = "bandwidth_bytes_per_s")]
    pub bandwidth: BytesPerSecond,
    /// One hop: the link, and controller and router where the technology states them.
    #[serde(rename = "latency_s")]
    pub latency: Seconds,
    /// Of the link.
    #[serde(rename = "energy_j_per_bit")]
    pub energy: JoulesPerBit,
    /// Whether every formula and limit holds.
    pub in_range: bool,
}

/// Bandwidth per device and direction, latency and energy of a tier on a technology at a geometry.
///
/// `bandwidth = edge * density / 2`, `density = layers / pitch * rate * signal fraction`: half of the wires drive each way.
/// A technology that is published as a device's bandwidth (`NVLink`) gives that and needs no edge.
///
/// Worked: 89.4 mm of edge at 4 um, one layer, 2.2 Gbit/s: 3.07 TB/s each way, 6.15 TB/s both.
pub fn tier_figures(
    technology: &Technology,
    choice: &Choice,
    edge: Meters,
) -> Result<TierFigures, TechnologyError> {
    let hop = technology.hop_latency.as_ref().map_or(Seconds::ZERO, |hop| hop.value);
    if let (Some(published), None) = (&technology.published, choice.geometry()) {
        return Ok(from_published(published, edge, hop));
    }
    let design = Design::of(technology, choice)?;
    let figures = figures(&design);
    Ok(TierFigures {
        bandwidth: one_way(figures.edge_bandwidth, edge),
        latency: figures.latency.total() + hop,
        energy: figures.energy.total(),
        in_range: figures.in_range,
    })
}

fn one_way(density: EdgeBandwidth, edge: Meters) -> BytesPerSecond {
    BytesPerSecond(density.value() * edge.value() / 16.0)
}

fn from_published(published: &Published, edge: Meters, hop: Seconds) -> TierFigures {
    let by_pitch = || {
        let pitch = published.pitch.as_ref()?.value;
        Some(edge_bandwidth(pitch, 1.0, published.rate.value, 1.0))
    };
    let density = published.edge_bandwidth.as_ref().map(|density| density.value).or_else(by_pitch);
    let by_edge = density.map(|density| one_way(density, edge));
    let stated = published.device_bandwidth.as_ref().map(|bandwidth| bandwidth.value);
    TierFigures {
        bandwidth: stated.or(by_edge).unwrap_or(BytesPerSecond::ZERO),
        latency: published.latency.value + hop,
        energy: published.energy.value,
        in_range: true,
    }
}
