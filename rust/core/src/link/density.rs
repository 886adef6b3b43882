//! How many wires leave a die, and what they carry together.
//!
//! Densities count every wire, whichever way it drives, as the literature does; one direction is half of it.

use crate::units::{ArealBandwidth, BitsPerSecond, BytesPerSecond, EdgeBandwidth, Meters, SquareMeters};

/// Bits per second and length of edge: `layers / pitch * rate * signal fraction`.
///
/// `signal_fraction` is 1 where every wire carries a signal and 1/2 in an S-G-S bus.
///
/// Source: geometry. Worked: 4 layers at 4 um and 3.2 Gbit/s are 1000 wires/mm, 3200 Gbit/s/mm (Chen et al. 2024).
///
/// ```
/// use dielet_core::{link::density::edge_bandwidth, units::{BitsPerSecond, Meters}};
/// let density = edge_bandwidth(Meters(4e-6), 4.0, BitsPerSecond(3.2e9), 1.0);
/// assert!((density.value() / 3200e12 - 1.0).abs() < 1e-12);
/// ```
pub fn edge_bandwidth(
    pitch: Meters,
    layers: f64,
    rate: BitsPerSecond,
    signal_fraction: f64,
) -> EdgeBandwidth {
    EdgeBandwidth(layers / pitch.value() * rate.value() * signal_fraction)
}

/// Bits per second and area of die, pads in a square array: `rate * signal fraction / pitch^2`.
///
/// ```
/// use dielet_core::{link::density::areal_bandwidth, units::{BitsPerSecond, Meters}};
/// let density = areal_bandwidth(Meters(10e-6), BitsPerSecond(2e9), 1.0); // 10^4 pads/mm2
/// assert!((density.value() / 20e18 - 1.0).abs() < 1e-12);
/// ```
pub fn areal_bandwidth(pitch: Meters, rate: BitsPerSecond, signal_fraction: f64) -> ArealBandwidth {
    ArealBandwidth(rate.value() * signal_fraction / (pitch.value() * pitch.value()))
}

/// Pads of a square die: over its whole area, and in `rows` along its four sides.
///
/// `N_area = floor(sqrt(A)/p)^2`, `N_rows = rows * 4 floor(sqrt(A)/p)`.
///
/// Source: geometry. Worked: 4 mm2 at 10 um has 40 000 pads, 800 in one row.
///
/// ```
/// use dielet_core::{link::density::pads, units::{Meters, SquareMeters}};
/// assert_eq!(pads(SquareMeters(4e-6), Meters(10e-6), 1), (40_000, 800));
/// ```
pub fn pads(area: SquareMeters, pitch: Meters, rows: u64) -> (u64, u64) {
    // A side that is a whole number of pitches must not lose one to rounding.
    let side = (area.value().sqrt() / pitch.value() + 1e-9).floor() as u64;
    (side * side, rows * 4 * side)
}

/// What all four sides of a square die carry: `4 sqrt(A) * density`, both directions together.
///
/// Worked: 500 mm2 at 4 um and 2.2 Gbit/s: 89.4 mm of 250 wires/mm are 6.15 TB/s a layer (Pal et al. 2019).
///
/// ```
/// use dielet_core::link::density::{edge_bandwidth, perimeter_bandwidth};
/// use dielet_core::units::{BitsPerSecond, Meters, SquareMeters};
/// let density = edge_bandwidth(Meters(4e-6), 1.0, BitsPerSecond(2.2e9), 1.0);
/// let all = perimeter_bandwidth(SquareMeters(500e-6), density);
/// assert!((all.value() / 6.15e12 - 1.0).abs() < 1e-3);
/// ```
pub fn perimeter_bandwidth(area: SquareMeters, density: EdgeBandwidth) -> BytesPerSecond {
    BytesPerSecond(4.0 * area.value().sqrt() * density.value() / 8.0)
}

/// How much denser a pitch is than a reference along an edge: `reference / pitch`.
///
/// Worked: 10 um and 2 um against the 50 um of interposer bumps: 5 and 25.
///
/// ```
/// use dielet_core::{link::density::pitch_gain, units::Meters};
/// assert!((pitch_gain(Meters(2e-6), Meters(50e-6)) - 25.0).abs() < 1e-12);
/// ```
pub fn pitch_gain(pitch: Meters, reference: Meters) -> f64 {
    reference / pitch
}
