//! What can be fed and cooled.

use crate::units::{Amperes, Meters, OhmMeters, Ohms, Volts, Watts};

/// Whole dies that a power limit allows: `floor(P eta / P_die)`.
///
/// `eta` is the efficiency of the regulators, whose heat counts. Source: Pal et al., HPCA 2019.
/// Worked: 9.3 kW, 0.85, 270 W: 29.28, so 29.
///
/// ```
/// use dielet_core::{packaging::power::powered, units::Watts};
/// let dies = |limit| powered(Watts(limit), 0.85, Watts(270.0));
/// assert_eq!([dies(9300.0), dies(7600.0), dies(5850.0)], [29, 23, 18]);
/// ```
pub fn powered(limit: Watts, efficiency: f64, die: Watts) -> u64 {
    // A limit that is a whole number of dies must not lose one to rounding.
    (limit.value() * efficiency / die.value() + 1e-9).floor() as u64
}

/// The largest mesh of at most `dies` whose sides differ by at most one.
///
/// Worked: 21 NPUs that the power allows become a 4 x 5 mesh of 20 (FRED, ISCA 2025).
///
/// ```
/// use dielet_core::packaging::power::mesh;
/// assert_eq!((mesh(21), mesh(25), mesh(3)), ((4, 5), (5, 5), (1, 2)));
/// ```
pub fn mesh(dies: u64) -> (u64, u64) {
    let mut side = dies.isqrt();
    if side * (side + 1) <= dies {
        side += 1;
        return (side - 1, side);
    }
    (side, side)
}

/// Current of a system: `P / V`.
pub fn current(power: Watts, supply: Volts) -> Amperes {
    Amperes(power.value() / supply.value())
}

/// Resistance of a square of metal: `rho / t`.
pub fn sheet(resistivity: OhmMeters, thickness: Meters) -> Ohms {
    Ohms(resistivity.value() / thickness.value())
}

/// Voltage lost at the middle of a square that is fed from its four edges: `0.0737 Rs I`.
///
/// Assumes an even current density; 0.0737 is the peak of Poisson's equation on the unit square.
/// Worked: 290 A in 2 um of copper (9 mohm a square): 0.19 V.
///
/// ```
/// use dielet_core::{packaging::power::edge_fed_drop, units::{Amperes, Ohms}};
/// assert!((edge_fed_drop(Ohms(9e-3), Amperes(290.0)).value() - 0.192).abs() < 0.001);
/// ```
pub fn edge_fed_drop(sheet: Ohms, current: Amperes) -> Volts {
    Volts(0.0737 * sheet.value() * current.value())
}
