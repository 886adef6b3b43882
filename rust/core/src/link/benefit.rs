//! What a better link does to a system, by the plainest models there are; and the 2017 abstract checked with them.

use serde::Serialize;

use super::density::pitch_gain;
use super::design::{Choice, Design};
use super::report::{Limits, limits};
use super::technology::{Technology, TechnologyError};
use crate::units::{JoulesPerBit, Meters, Ohms};

/// Share of a system's power that a cheaper bit saves: `f (1 - E_new / E_old)`, f the share that moved bits before.
///
/// Worked: 10 pJ/bit to 0.3 pJ/bit saves 0.97 f, so 15 % needs f of 15.5 %.
///
/// ```
/// use dielet_core::{link::benefit::power_saving, units::JoulesPerBit};
/// let saved = power_saving(0.155, JoulesPerBit(10e-12), JoulesPerBit(0.3e-12));
/// assert!((saved - 0.150).abs() < 0.001);
/// ```
pub fn power_saving(share: f64, old: JoulesPerBit, new: JoulesPerBit) -> f64 {
    share * (1.0 - new / old)
}

/// Share of power in links above which a cheaper bit saves at least `saving`: `saving / (1 - E_new / E_old)`.
pub fn share_needed(saving: f64, old: JoulesPerBit, new: JoulesPerBit) -> f64 {
    saving / (1.0 - new / old)
}

/// Speed-up of a kernel by the roofline when the bandwidth grows by `gain`: `min(1, x gain) / min(1, x)`, with x its intensity
/// over the intensity at which it would be bound by arithmetic before.
///
/// ```
/// use dielet_core::link::benefit::roofline_gain;
/// assert_eq!((roofline_gain(0.04, 25.0), roofline_gain(0.5, 25.0)), (25.0, 2.0));
/// ```
pub fn roofline_gain(intensity: f64, gain: f64) -> f64 {
    (intensity * gain).min(1.0) / intensity.min(1.0)
}

/// How the current of a signal returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Return {
    /// A plane at the height of the default stack.
    Plane,
    /// That plane, and a grounded wire between every two signals.
    PlaneAndShields,
    /// No plane nearer than 20 um.
    Distant,
    /// No plane nearer than 20 um, but a grounded wire between every two signals.
    DistantAndShields,
}

impl Return {
    const ALL: [Self; 4] = [Self::Plane, Self::PlaneAndShields, Self::Distant, Self::DistantAndShields];

    fn choice(self, pitch: Meters, length: Meters) -> Choice {
        let distant = matches!(self, Self::Distant | Self::DistantAndShields);
        Choice {
            pitch: Some(pitch),
            length: Some(length),
            height: distant.then_some(Meters(20e-6)),
            shielded: matches!(self, Self::PlaneAndShields | Self::DistantAndShields),
            ..Choice::default()
        }
    }
}

/// Up to which frequency loss and crosstalk of the abstract hold at one pitch, and what the pitch gains.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Row {
    pub pitch_m: f64,
    pub length_m: f64,
    #[serde(rename = "return")]
    pub path: Return,
    pub limits: Limits,
    pub pitch_gain: f64,
    pub in_range: bool,
}

/// Loss and crosstalk limits of a wire technology at each pitch and return path.
pub fn limit_table(
    technology: &Technology,
    pitches: &[Meters],
    length: Meters,
    reference: Ohms,
) -> Result<Vec<Row>, TechnologyError> {
    let pairs = pitches.iter().flat_map(|pitch| Return::ALL.map(|path| (*pitch, path)));
    pairs.map(|(pitch, path)| row(technology, pitch, length, path, reference)).collect()
}

fn row(
    technology: &Technology,
    pitch: Meters,
    length: Meters,
    path: Return,
    reference: Ohms,
) -> Result<Row, TechnologyError> {
    let design = Design::of(technology, &path.choice(pitch, length))?;
    Ok(Row {
        pitch_m: pitch.value(),
        length_m: length.value(),
        path,
        limits: limits(&design.channel, reference),
        pitch_gain: pitch_gain(pitch, super::report::BUMP_PITCH),
        in_range: design.capacitance().in_range,
    })
}
