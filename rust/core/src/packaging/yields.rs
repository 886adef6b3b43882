//! Which share of dies, bonds, substrates and systems works.

use crate::units::{DefectDensity, SquareMeters};

/// Faults per layer of a 300 mm wafer and unit of wiring utilisation (Pal et al., HPCA 2019: 0.403 reproduces its six
/// published layer yields).
pub const LAYER_FAULTS: f64 = 0.403;
/// Area of a 300 mm wafer.
pub const WAFER: SquareMeters = SquareMeters(0.070_685_834_705_770_35);

/// Yield of a die: negative binomial, `(1 + A D0 fc / alpha)^-alpha`.
///
/// Assumes defects clustered with the parameter alpha; alpha to infinity is Poisson. Source: Stapper 1989.
/// Worked: 500 mm2 at 0.1 /cm2 and alpha 2: (1 + 0.5/2)^-2 = 0.640.
///
/// ```
/// use dielet_core::{packaging::yields::die_yield, units::{DefectDensity, SquareMeters}};
/// let y = die_yield(SquareMeters(500e-6), DefectDensity(1e3), 1.0, 2.0);
/// assert!((y - 0.64).abs() < 1e-12);
/// ```
pub fn die_yield(area: SquareMeters, density: DefectDensity, critical: f64, alpha: f64) -> f64 {
    let faults = area.value() * density.value() * critical;
    if alpha.is_infinite() { (-faults).exp() } else { (1.0 + faults / alpha).powf(-alpha) }
}

/// Yield of the pads of a die: `(1 - (1-y)^k)^n`, a pad works when one of its k pillars does.
///
/// Source: geometry. Worked: 2050 pads at y = 0.9999 give 0.8146 with one pillar, 0.99998 with two (DAC 2021).
///
/// ```
/// use dielet_core::packaging::yields::bond_yield;
/// assert!((bond_yield(0.9999, 1, 2050) - 0.8146).abs() < 5e-5);
/// assert!((bond_yield(0.9999, 2, 2050) - 0.99998).abs() < 5e-6);
/// ```
pub fn bond_yield(pillar: f64, pillars: u32, pads: u64) -> f64 {
    let open = (1.0 - pillar).powi(pillars.cast_signed());
    (pads as f64 * (-open).ln_1p()).exp()
}

/// Yield of a substrate: `exp(-0.403 u layers A / A_wafer)`.
///
/// Range: passive wiring of 2 um and coarser on silicon. Source: the layer yields of Pal et al., HPCA 2019.
/// Worked: one layer at u = 10 % over a wafer: 0.9605.
///
/// ```
/// use dielet_core::packaging::yields::{WAFER, substrate_yield};
/// let y = |layers| substrate_yield(0.1, layers, WAFER);
/// assert!((y(1) - 0.9605).abs() < 1e-4 && (y(2) - 0.9226).abs() < 1e-4 && (y(4) - 0.8511).abs() < 1e-4);
/// ```
pub fn substrate_yield(utilisation: f64, layers: u32, area: SquareMeters) -> f64 {
    (-LAYER_FAULTS * utilisation * f64::from(layers) * (area / WAFER)).exp()
}

/// Chance that at least `needed` of `placed` work: `sum_{b <= placed - needed} C(placed, b) (1-y)^b y^(placed-b)`.
///
/// Assumes that dies fail independently and the network routes around them. Source: binomial law.
/// Worked: two of three at y = 0.9: 0.729 + 3 * 0.081 = 0.972.
///
/// ```
/// use dielet_core::packaging::yields::at_least;
/// assert!((at_least(2, 3, 0.9) - 0.972).abs() < 1e-12);
/// assert!((at_least(3, 3, 0.9) - 0.729).abs() < 1e-12);
/// ```
pub fn at_least(needed: u64, placed: u64, each: f64) -> f64 {
    if needed > placed {
        return 0.0;
    }
    if each >= 1.0 {
        return 1.0;
    }
    // Terms by their logarithm: 0.98^2000 alone would underflow far from the mean.
    let (good, bad) = (each.ln(), (-each).ln_1p());
    let mut ways = 0.0;
    let mut sum = 0.0;
    for faulty in 0..=placed - needed {
        let log = ways + faulty as f64 * bad + (placed - faulty) as f64 * good;
        sum += log.exp();
        ways += ((placed - faulty) as f64 / (faulty + 1) as f64).ln();
    }
    sum.min(1.0)
}
