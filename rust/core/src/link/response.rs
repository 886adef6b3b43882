//! Loss and crosstalk of the middle line against frequency.

use num_complex::Complex64;

use super::modes::{Line, Modes};
use super::technology::TechnologyError;
use crate::units::{Hertz, Meters, Ohms};
use crate::wire::{Bus, Dielectric, Geometry, Metal, capacitance};

/// Wires of the bus that is solved; the middle one is the victim.
pub const LINES: usize = 5;

/// A length of bus between equal ports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Channel {
    /// Cross-section.
    pub wire: Geometry,
    /// Metal.
    pub metal: Metal,
    /// Dielectric.
    pub dielectric: Dielectric,
    /// Length.
    pub length: Meters,
    /// Whether a grounded wire stands between every two signals.
    pub shielded: bool,
}

impl Channel {
    /// The bus of signals that is solved.
    pub fn bus(&self) -> Bus {
        let c = capacitance(&self.wire, &self.dielectric);
        if self.shielded { Bus::shielded(&c, LINES) } else { Bus::open(&c, LINES) }
    }

    /// What its modes share.
    pub fn line(&self) -> Line {
        Line::new(&self.metal, &self.wire, &self.dielectric, self.length)
    }
}

/// Above it the quasi-static picture of a wire is no longer one.
const FREQUENCY_LIMIT: f64 = 1e12;

/// Frequencies in equal ratios from one to another; both must be positive and in order.
pub fn spaced(from: Hertz, to: Hertz, points: usize) -> Result<Vec<Hertz>, TechnologyError> {
    let (low, high) = (from.value(), to.value());
    if !(low > 0.0 && high >= low && high <= FREQUENCY_LIMIT && points <= 100_000) {
        return Err(TechnologyError::Range {
            what: "a frequency range",
            value: format!("{from} .. {to} in {points} points"),
            low: "above 0 Hz".to_owned(),
            high: "1000 GHz and 100000 points".to_owned(),
            remedy: "give it as in `0.1GHz..100GHz`",
        });
    }
    let step = (high / low).ln() / (points.max(2) - 1) as f64;
    Ok((0..points).map(|k| Hertz(low * (step * k as f64).exp())).collect())
}

/// Magnitudes in dB at one frequency; losses are negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Response {
    /// `|S21|` of the middle line.
    pub insertion_loss_db: f64,
    /// `|S11|` of the middle line.
    pub return_loss_db: f64,
    /// Near end, one neighbour aggressing.
    pub near_end_db: f64,
    /// Far end, one neighbour aggressing.
    pub far_end_db: f64,
    /// Near end, the power sum of both neighbours.
    pub near_end_sum_db: f64,
    /// Far end, the power sum of both neighbours.
    pub far_end_sum_db: f64,
}

/// A channel prepared for many frequencies.
#[derive(Debug, Clone)]
pub struct Prepared {
    line: Line,
    /// Capacitance of each mode that reaches the victim, its weight to the victim itself and to one neighbour.
    modes: Vec<(f64, f64, f64)>,
}

impl Prepared {
    /// Finds the modes of a channel.
    pub fn new(channel: &Channel) -> Self {
        let victim = LINES / 2;
        let seen = Modes::of(&channel.bus()).seen_from(victim, &[victim, victim + 1]);
        let modes = seen.into_iter().map(|(c, weights)| (c, weights[0], weights[1])).collect();
        Self { line: channel.line(), modes }
    }

    /// Loss and crosstalk at one frequency, every port terminated in `z0`.
    pub fn at(&self, frequency: Hertz, z0: Ohms) -> Response {
        let at = self.line.at(frequency);
        let mut sums = [Complex64::ZERO; 4];
        for &(c, own, neighbour) in &self.modes {
            let (s11, s21) = at.chain(c).scattering(z0.value());
            for (sum, part) in sums.iter_mut().zip([s21 * own, s11 * own, s11 * neighbour, s21 * neighbour]) {
                *sum += part;
            }
        }
        let [through, reflected, near, far] = sums.map(|s| s.norm_sqr());
        Response {
            insertion_loss_db: decibel(through),
            return_loss_db: decibel(reflected),
            near_end_db: decibel(near),
            far_end_db: decibel(far),
            near_end_sum_db: decibel(2.0 * near),
            far_end_sum_db: decibel(2.0 * far),
        }
    }
}

/// Loss and crosstalk of a channel at one frequency.
///
/// `S21 = sum_m v_m^2 S21_m`, `NEXT = sum_m v_m u_m S11_m`, `FEXT = sum_m v_m u_m S21_m` over the modes m, with v and u the parts
/// of victim and neighbour in the mode.
///
/// Assumes ideal planes and equal wires; ports between line and plane. Source: coupled telegrapher's equations.
/// Worked: at 2 um pitch over 500 um the weak-coupling formula `2 w l sqrt(LC) (Cm/C + Lm/L)/4` gives -23.7 dB of near-end
/// crosstalk at 10 GHz; the full solution -23.4 dB.
///
/// ```
/// use dielet_core::link::response::{Channel, response};
/// use dielet_core::units::{Hertz, Meters, Ohms};
/// use dielet_core::wire::{Dielectric, Geometry, Metal};
/// let channel = Channel {
///     wire: Geometry::of_pitch(Meters(2e-6)), metal: Metal::COPPER, dielectric: Dielectric::OXIDE,
///     length: Meters(500e-6), shielded: false,
/// };
/// let at = response(&channel, Hertz(10e9), Ohms(50.0));
/// assert!((at.near_end_db + 23.4).abs() < 0.3 && (at.insertion_loss_db + 0.80).abs() < 0.05);
/// ```
pub fn response(channel: &Channel, frequency: Hertz, z0: Ohms) -> Response {
    Prepared::new(channel).at(frequency, z0)
}

fn decibel(power: f64) -> f64 {
    10.0 * power.log10()
}

/// Up to where the limits are sought.
const SEARCH_HZ: (f64, f64) = (0.1e9, 200e9);

/// The lowest frequency at which a limit is broken: steps of 1 %, then bisection.
pub(super) fn first_crossing(broken: impl Fn(f64) -> bool) -> Option<f64> {
    let steps = std::iter::successors(Some(SEARCH_HZ.0), |f| Some(f * 1.01));
    let high = steps.take_while(|f| *f <= SEARCH_HZ.1).find(|&f| broken(f))?;
    let (mut low, mut high) = (high / 1.01, high);
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if broken(middle) { high = middle } else { low = middle }
    }
    Some(high)
}
