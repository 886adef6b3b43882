//! From the geometry of a wire to its resistance, capacitance, inductance and conductance per length.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | w, s, t | width, gap to the neighbour, thickness | m |
//! | h | distance to the metal plane below (and above, if there is one) | m |
//! | rho | resistivity | ohm m |
//! | lambda | mean free path of electrons | m |
//! | p, R | specularity of the surface, reflectivity of grain borders | 1 |
//! | b | thickness of the barrier on each side | m |
//! | delta | skin depth | m |
//! | eps, tan d | permittivity and loss tangent of the dielectric | F/m, 1 |
//!
//! The dielectric is homogeneous, the planes are ideal, the wires of a bus are equal. Then the inductance matrix is
//! `mu0 eps C^-1`, and capacitance over permittivity depends on `w/h`, `s/h`, `t/h` alone.

mod capacitance;
mod coefficients;
pub mod published;

pub use capacitance::{Bus, Capacitance, FIT, Fit, capacitance, self_inductance};

use crate::units::{Hertz, Meters, OhmMeters, OhmsPerMeter};

/// Permeability of vacuum, H/m (CODATA 2018).
pub const MU0: f64 = 1.256_637_062_12e-6;
/// Permittivity of vacuum, F/m (CODATA 2018).
pub const EPS0: f64 = 8.854_187_812_8e-12;

/// Which metal planes a bus has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Planes {
    /// One plane, h below the wires.
    Below,
    /// Two planes, h below and h above the wires.
    Both,
}

/// The cross-section of a bus of equal wires.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geometry {
    /// Width of a wire.
    pub width: Meters,
    /// Gap between neighbours.
    pub spacing: Meters,
    /// Thickness of the metal.
    pub thickness: Meters,
    /// Distance to the plane.
    pub height: Meters,
    /// The planes.
    pub planes: Planes,
}

impl Geometry {
    /// The default Si-IF stack of a wire pitch: `w = s = p/2`; t is 1 um up to a pitch of 2 um and rises linearly to
    /// 2 um at 4 um and above; `h = t` up to 1.5 um; one plane below.
    ///
    /// ```
    /// use dielet_core::{units::Meters, wire::Geometry};
    /// let wire = Geometry::of_pitch(Meters(3e-6));
    /// assert_eq!((wire.thickness, wire.height), (Meters(1.5e-6), Meters(1.5e-6)));
    /// ```
    pub fn of_pitch(pitch: Meters) -> Self {
        let half = pitch / 2.0;
        let thickness = Meters((pitch.value() / 2.0).clamp(1e-6, 2e-6));
        let height = thickness.min(Meters(1.5e-6));
        Self { width: half, spacing: half, thickness, height, planes: Planes::Below }
    }

    /// Distance from wire to wire.
    pub fn pitch(&self) -> Meters {
        self.width + self.spacing
    }
}

/// What a wire is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metal {
    /// Bulk resistivity at the working temperature.
    pub resistivity: OhmMeters,
    /// Mean free path of electrons.
    pub mean_free_path: Meters,
    /// Share of electrons that the surface reflects like a mirror.
    pub specularity: f64,
    /// Share of electrons that a grain border reflects.
    pub reflectivity: f64,
    /// Thickness of the barrier on both side walls and the bottom and top; it carries no current.
    pub barrier: Meters,
}

impl Metal {
    /// Damascene copper at 20 C: rho 16.8 nohm m, lambda 39 nm, p 0.2, R 0.3, no barrier counted.
    pub const COPPER: Self = Self {
        resistivity: OhmMeters(1.68e-8),
        mean_free_path: Meters(39e-9),
        specularity: 0.2,
        reflectivity: 0.3,
        barrier: Meters(0.0),
    };
}

/// What lies between the wires.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dielectric {
    /// Relative permittivity.
    pub permittivity: f64,
    /// Loss tangent, constant over frequency.
    pub loss_tangent: f64,
}

impl Dielectric {
    /// Silicon dioxide.
    pub const OXIDE: Self = Self { permittivity: 3.9, loss_tangent: 0.001 };

    /// Absolute permittivity, F/m.
    pub fn eps(&self) -> f64 {
        self.permittivity * EPS0
    }
}

/// Resistivity in a narrow wire: surface and grain-border scattering summed by Matthiessen's rule.
///
/// `rho/rho0 = 1 + 3/8 (1-p) lambda (1/w + 1/t) + [1/(1 - 1.5a + 3a^2 - 3a^3 ln(1 + 1/a)) - 1]`,
/// `a = lambda/D * R/(1-R)`, grain size `D = min(w, t)`.
///
/// Range: the first-order surface term holds for w, t above about lambda. Source: Fuchs 1938, Sondheimer 1952;
/// Mayadas and Shatzkes 1970, eq. 9.
///
/// Worked by hand for 1 um x 1 um copper: surface 3/8 * 0.8 * 0.039 * 2 = 2.3 %, `a` = 0.0167 and the borders 2.5 %.
///
/// ```
/// use dielet_core::{units::Meters, wire::{Metal, effective_resistivity}};
/// let rho = effective_resistivity(&Metal::COPPER, Meters(1e-6), Meters(1e-6));
/// assert!((rho.value() / 1.68e-8 - 1.048).abs() < 0.001);
/// ```
pub fn effective_resistivity(metal: &Metal, width: Meters, thickness: Meters) -> OhmMeters {
    let (w, t, lambda) = (width.value(), thickness.value(), metal.mean_free_path.value());
    let surface = 0.375 * (1.0 - metal.specularity) * lambda * (1.0 / w + 1.0 / t);
    let a = lambda / w.min(t) * metal.reflectivity / (1.0 - metal.reflectivity);
    let borders = if a > 0.0 {
        1.0 / (1.0 - 1.5 * a + 3.0 * a * a - 3.0 * a.powi(3) * (1.0 / a).ln_1p()) - 1.0
    } else {
        0.0
    };
    metal.resistivity * (1.0 + surface + borders)
}

/// Resistance per length for direct current: `rho_eff / ((w - 2b)(t - 2b))`.
///
/// Assumes a barrier on all four sides. Source: geometry.
///
/// ```
/// use dielet_core::{units::Meters, wire::{Geometry, Metal, resistance}};
/// let r = resistance(&Metal::COPPER, &Geometry::of_pitch(Meters(2e-6))); // 17.6 ohm/mm at 1 um x 1 um
/// assert!((r.value() / 17.6e3 - 1.0).abs() < 0.002);
/// ```
pub fn resistance(metal: &Metal, wire: &Geometry) -> OhmsPerMeter {
    let (w, t, b) = (wire.width.value(), wire.thickness.value(), metal.barrier.value());
    let rho = effective_resistivity(metal, wire.width, wire.thickness).value();
    OhmsPerMeter(rho / ((w - 2.0 * b) * (t - 2.0 * b)))
}

/// Skin depth `sqrt(rho / (pi f mu0))`.
///
/// ```
/// use dielet_core::{units::{Hertz, OhmMeters}, wire::skin_depth};
/// let delta = skin_depth(OhmMeters(1.72e-8), Hertz(10e9)); // 0.66 um at 10 GHz
/// assert!((delta.value() / 0.66e-6 - 1.0).abs() < 0.01);
/// ```
pub fn skin_depth(resistivity: OhmMeters, frequency: Hertz) -> Meters {
    Meters((resistivity.value() / (std::f64::consts::PI * frequency.value() * MU0)).sqrt())
}

/// Resistance per length at a frequency: the current flows in a shell one skin depth thick.
///
/// `R(f) = rho / (w t - (w - 2 delta)(t - 2 delta))`, and R of direct current where `2 delta` exceeds w or t.
///
/// Assumes an even shell, so it misses crowding toward the plane and at the corners
/// (`docs/fabric.md` gives the error against a filament solver). Source: textbook.
///
/// ```
/// use dielet_core::{units::{Hertz, Meters}, wire::{Geometry, Metal, resistance, resistance_at}};
/// let wire = Geometry::of_pitch(Meters(10e-6));
/// let ratio = resistance_at(&Metal::COPPER, &wire, Hertz(30e9)) / resistance(&Metal::COPPER, &wire);
/// assert!(ratio > 1.8 && ratio < 2.2); // 0.38 um deep in 2 um x 5 um
/// ```
pub fn resistance_at(metal: &Metal, wire: &Geometry, frequency: Hertz) -> OhmsPerMeter {
    Series::new(metal, wire).resistance(frequency)
}

/// The series resistance of a wire, prepared for many frequencies.
#[derive(Debug, Clone, Copy)]
pub struct Series {
    resistivity: OhmMeters,
    inner: (f64, f64),
    direct: f64,
}

impl Series {
    /// Prepares a wire.
    pub fn new(metal: &Metal, wire: &Geometry) -> Self {
        let b = metal.barrier.value();
        Self {
            resistivity: effective_resistivity(metal, wire.width, wire.thickness),
            inner: (wire.width.value() - 2.0 * b, wire.thickness.value() - 2.0 * b),
            direct: resistance(metal, wire).value(),
        }
    }

    /// Resistance per length at a frequency, as [`resistance_at`].
    pub fn resistance(&self, frequency: Hertz) -> OhmsPerMeter {
        let twice = 2.0 * skin_depth(self.resistivity, frequency).value();
        let (w, t) = self.inner;
        if twice >= w.min(t) {
            return OhmsPerMeter(self.direct);
        }
        OhmsPerMeter(self.resistivity.value() / (w * t - (w - twice) * (t - twice)))
    }
}
