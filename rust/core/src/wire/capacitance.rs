//! Capacitance of a bus: a base form times our correction, fitted to a field solver on half of a grid of geometries.
//!
//! Over one plane the base is Wong et al.; between two planes it is the field's own limit: parallel plates, and a
//! coupling that dies as `exp(-pi s / H)` in a slot of height H. The logarithm of the correction is a polynomial of
//! degree four in `ln(w/h)`, `ln(s/h)`, `ln(t/h)`. `docs/fabric.md` has the errors on the half that was held out.

use super::coefficients::{DEGREE, ONE_PLANE, TERMS, TWO_PLANES};
use super::published::wong_one_plane;
use super::{Dielectric, Geometry, MU0, Planes};
use crate::units::{FaradsPerMeter, HenriesPerMeter};

/// The box of ratios on which a correction was fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// `w/h`.
    pub width: (f64, f64),
    /// `s/h`.
    pub spacing: (f64, f64),
    /// `t/h`.
    pub thickness: (f64, f64),
    /// `t/w` and `t/s`.
    pub aspect: (f64, f64),
}

/// Fit ranges over one plane and between two.
pub const FIT: [Fit; 2] = [
    Fit { width: (0.04, 8.0), spacing: (0.04, 8.0), thickness: (0.02, 3.2), aspect: (0.15, 4.0) },
    Fit { width: (0.16, 8.0), spacing: (0.16, 5.0), thickness: (0.02, 3.2), aspect: (0.15, 4.0) },
];

impl Fit {
    /// The range of a set of planes.
    pub fn of(planes: Planes) -> &'static Self {
        match planes {
            Planes::Below => &FIT[0],
            Planes::Both => &FIT[1],
        }
    }

    fn clamp(&self, [w, s, t]: [f64; 3]) -> [f64; 3] {
        let (w, s) = (w.clamp(self.width.0, self.width.1), s.clamp(self.spacing.0, self.spacing.1));
        let low = self.aspect.0 * w.max(s);
        let high = self.aspect.1 * w.min(s);
        [w, s, t.max(low).min(high).clamp(self.thickness.0, self.thickness.1)]
    }

    /// Whether the ratios lie inside; the rounding of a unit conversion does not throw one out.
    pub fn holds(&self, ratios: [f64; 3]) -> bool {
        self.clamp(ratios).iter().zip(ratios).all(|(clamped, given)| (clamped / given - 1.0).abs() < 1e-9)
    }
}

/// Capacitance per length of an inner wire of a bus, by partner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacitance {
    /// To the planes, for a wire with neighbours on both sides.
    pub ground: FaradsPerMeter,
    /// To the planes, for the outermost wire.
    pub edge: FaradsPerMeter,
    /// To the planes, for the wire beside the outermost.
    pub beside_edge: FaradsPerMeter,
    /// To one neighbour.
    pub coupling: FaradsPerMeter,
    /// Between the outermost wire and its neighbour.
    pub edge_coupling: FaradsPerMeter,
    /// To the wire behind one neighbour.
    pub second: FaradsPerMeter,
    /// Whether the geometry lies inside the fit; outside, the correction of the nearest edge is used.
    pub in_range: bool,
}

impl Capacitance {
    /// To everything: `Cg + 2 Cc + 2 Cs`.
    pub fn total(&self) -> FaradsPerMeter {
        self.ground + (self.coupling + self.second) * 2.0
    }
}

/// Capacitance per length of a wire in a bus of equal wires.
///
/// `C/eps = base(w/h, s/h, t/h) * exp(polynomial(ln w/h, ln s/h, ln t/h))`
///
/// Range: [`FIT`]; `in_range` says whether the geometry is inside. Source: own fit (`benchmarks/fit_wire.py`).
/// Worked against the field solver at 2 um pitch, t = h = 1 um: 186 fF/mm in all, 53.8 fF/mm to each neighbour.
///
/// ```
/// use dielet_core::{units::Meters, wire::{Dielectric, Geometry, capacitance}};
/// let c = capacitance(&Geometry::of_pitch(Meters(2e-6)), &Dielectric::OXIDE);
/// assert!((c.total().value() / 186.2e-12 - 1.0).abs() < 0.02);
/// assert!((c.coupling.value() / 53.8e-12 - 1.0).abs() < 0.02);
/// ```
pub fn capacitance(wire: &Geometry, dielectric: &Dielectric) -> Capacitance {
    let h = wire.height.value();
    let ratios = [wire.width.value() / h, wire.spacing.value() / h, wire.thickness.value() / h];
    let fit = Fit::of(wire.planes);
    let [ground, coupling, edge, second, beside, outermost] = corrections(wire.planes, fit.clamp(ratios));
    let (base_ground, base_coupling, decay) = base(wire.planes, ratios);
    let eps = dielectric.eps();
    let (ground, coupling) = (base_ground * ground, base_coupling * coupling);
    Capacitance {
        ground: FaradsPerMeter(eps * ground),
        edge: FaradsPerMeter(eps * ground * edge),
        beside_edge: FaradsPerMeter(eps * ground * beside),
        coupling: FaradsPerMeter(eps * coupling),
        edge_coupling: FaradsPerMeter(eps * coupling * outermost),
        second: FaradsPerMeter(eps * coupling * second * decay),
        in_range: fit.holds(ratios),
    }
}

/// Ground, coupling, and how the second neighbour's share decays, over eps.
fn base(planes: Planes, [w, s, t]: [f64; 3]) -> (f64, f64, f64) {
    match planes {
        Planes::Below => {
            let split = wong_one_plane(w, s, t);
            (split.ground, split.coupling, 1.0)
        }
        Planes::Both => {
            let decay = std::f64::consts::PI / (2.0 + t);
            (2.0 * (w + t / 4.0), (1.0 + t / s) * (-decay * s).exp(), (-decay * (s + w)).exp())
        }
    }
}

fn corrections(planes: Planes, ratios: [f64; 3]) -> [f64; 6] {
    let table = match planes {
        Planes::Below => &ONE_PLANE,
        Planes::Both => &TWO_PLANES,
    };
    let basis = monomials(ratios.map(f64::ln));
    table.map(|row| row.iter().zip(&basis).map(|(a, b)| a * b).sum::<f64>().exp())
}

fn monomials(x: [f64; 3]) -> [f64; TERMS] {
    let powers = x.map(|v| [1.0, v, v * v, v * v * v, v * v * v * v]);
    let mut terms = [0.0; TERMS];
    let mut next = 0;
    for i in 0..=DEGREE {
        for j in 0..=DEGREE - i {
            for k in 0..=DEGREE - i - j {
                terms[next] = powers[0][i] * powers[1][j] * powers[2][k];
                next += 1;
            }
        }
    }
    terms
}

/// The capacitance matrix of `lines` equal signal wires, row by row, in F/m.
#[derive(Debug, Clone, PartialEq)]
pub struct Bus {
    /// Signal wires.
    pub lines: usize,
    /// Row-major, symmetric, `lines * lines`.
    pub matrix: Vec<f64>,
}

impl Bus {
    /// Every wire of the bus carries a signal.
    ///
    /// ```
    /// use dielet_core::{units::Meters, wire::{Bus, Dielectric, Geometry, capacitance}};
    /// let c = capacitance(&Geometry::of_pitch(Meters(4e-6)), &Dielectric::OXIDE);
    /// let bus = Bus::open(&c, 5);
    /// assert_eq!(bus.matrix[5 + 2], -c.coupling.value()); // row 1, column 2: two inner wires
    /// ```
    pub fn open(wire: &Capacitance, lines: usize) -> Self {
        let at = |row: usize, column: usize| {
            if row == column { diagonal(wire, row, lines) } else { -mutual(wire, row, column, lines) }
        };
        let matrix = (0..lines * lines).map(|k| at(k / lines, k % lines)).collect();
        Self { lines, matrix }
    }

    /// Signals with a grounded wire between every two and outside (S-G-S): the shields belong to the return, so the
    /// matrix is the open one of `2 lines + 1` wires without the rows and columns of the shields.
    pub fn shielded(wire: &Capacitance, lines: usize) -> Self {
        let all = Self::open(wire, 2 * lines + 1);
        let at = |row: usize, column: usize| all.matrix[(2 * row + 1) * all.lines + 2 * column + 1];
        let matrix = (0..lines * lines).map(|k| at(k / lines, k % lines)).collect();
        Self { lines, matrix }
    }
}

/// Capacitance between two wires of a bus.
fn mutual(wire: &Capacitance, row: usize, column: usize, lines: usize) -> f64 {
    let outermost = row.min(column) == 0 || row.max(column) + 1 == lines;
    match row.abs_diff(column) {
        1 if outermost => wire.edge_coupling.value(),
        1 => wire.coupling.value(),
        2 => wire.second.value(),
        _ => 0.0,
    }
}

fn diagonal(wire: &Capacitance, row: usize, lines: usize) -> f64 {
    let ground = match row.min(lines - 1 - row) {
        0 => wire.edge,
        1 => wire.beside_edge,
        _ => wire.ground,
    };
    let others = (0..lines).filter(|column| *column != row);
    ground.value() + others.map(|column| mutual(wire, row, column, lines)).sum::<f64>()
}

/// External inductance per length of the middle wire of an open bus of five: `mu0 eps (C^-1)_mm`.
///
/// By symmetry the five unknown potentials are three (middle, neighbours, outer wires), solved by elimination.
/// Range: as [`capacitance`]; the current in the metal itself adds up to 50 nH/m at low frequency.
///
/// ```
/// use dielet_core::{units::Meters, wire::{Dielectric, Geometry, capacitance, self_inductance}};
/// let c = capacitance(&Geometry::of_pitch(Meters(2e-6)), &Dielectric::OXIDE);
/// let l = self_inductance(&c, &Dielectric::OXIDE);
/// assert!((l.value() / 0.292e-6 - 1.0).abs() < 0.02); // 0.292 nH/mm
/// ```
pub fn self_inductance(wire: &Capacitance, dielectric: &Dielectric) -> HenriesPerMeter {
    let (cc, cs) = (-wire.coupling.value(), -wire.second.value());
    let (ce, outer) = (-wire.edge_coupling.value(), diagonal(wire, 0, 5));
    let next = diagonal(wire, 1, 5) + cs - ce * ce / outer;
    let across = cc - ce * cs / outer;
    let middle = diagonal(wire, 2, 5) - 2.0 * cs * cs / outer - 2.0 * across * across / next;
    HenriesPerMeter(MU0 * dielectric.eps() / middle)
}
