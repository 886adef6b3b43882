//! Coupled lines as independent modes.
//!
//! With equal wires, `Z' = z I + j w mu0 eps C^-1` and `Y' = j w (1 - j tan d) C`, so `Z' Y'` is a polynomial of C and
//! shares its eigenvectors, which are real, orthogonal, and the same at every frequency. Mode m with the eigenvalue
//! `c_m` is the line `Z_m = z + j w mu0 eps / c_m`, `Y_m = j w (1 - j tan d) c_m`. When every port has the same termination the
//! modes do not mix there either.

use std::f64::consts::PI;

use num_complex::Complex64;

use crate::units::{Hertz, Meters};
use crate::wire::{Bus, Dielectric, Geometry, MU0, Metal, Series};

/// The modes of a bus: eigenvalues and eigenvectors of its capacitance matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Modes {
    /// Capacitance per length of each mode, F/m.
    pub capacitance: Vec<f64>,
    /// `vectors[line][mode]`, orthonormal.
    pub vectors: Vec<Vec<f64>>,
}

impl Modes {
    /// The modes of a bus, by Jacobi rotations.
    ///
    /// ```
    /// use dielet_core::{link::Modes, wire::Bus};
    /// // Two lines: the even mode charges only the ground, the odd mode sees the coupling twice.
    /// let pair = Bus { lines: 2, matrix: vec![150e-12, -50e-12, -50e-12, 150e-12] };
    /// let mut c = Modes::of(&pair).capacitance;
    /// c.sort_by(f64::total_cmp);
    /// assert!((c[0] - 100e-12).abs() < 1e-20 && (c[1] - 200e-12).abs() < 1e-20);
    /// ```
    pub fn of(bus: &Bus) -> Self {
        let n = bus.lines;
        let mut a = bus.matrix.clone();
        let mut v: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k / n == k % n))).collect();
        // Each sweep squares the off-diagonal rest; eight sweeps are far past double precision for a few lines.
        for _ in 0..8 {
            for p in 0..n {
                for q in p + 1..n {
                    rotate(&mut a, &mut v, n, p, q);
                }
            }
        }
        let capacitance = (0..n).map(|m| a[m * n + m]).collect();
        let vectors = v.chunks(n).map(<[f64]>::to_vec).collect();
        Self { capacitance, vectors }
    }

    /// How much of mode m passes from one line to another: `v[from][m] * v[to][m]`.
    pub fn weight(&self, from: usize, to: usize, mode: usize) -> f64 {
        self.vectors[from][mode] * self.vectors[to][mode]
    }

    /// The modes that reach a line at all, and their weights to each of `lines`.
    pub fn seen_from(&self, victim: usize, lines: &[usize]) -> Vec<(f64, Vec<f64>)> {
        let seen = (0..self.capacitance.len()).filter(|&m| self.vectors[victim][m].abs() > 1e-12);
        seen.map(|m| (self.capacitance[m], lines.iter().map(|&j| self.weight(j, victim, m)).collect()))
            .collect()
    }
}

/// One Jacobi rotation that zeroes `a[p][q]`.
fn rotate(a: &mut [f64], v: &mut [f64], n: usize, p: usize, q: usize) {
    let (apq, app, aqq) = (a[p * n + q], a[p * n + p], a[q * n + q]);
    if apq.abs() <= f64::EPSILON * 1e-3 * (app.abs() + aqq.abs()) {
        return;
    }
    let theta = (aqq - app) / (2.0 * apq);
    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    let s = t * c;
    for k in 0..n {
        let (x, y) = (a[k * n + p], a[k * n + q]);
        (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
    }
    for k in 0..n {
        let (x, y) = (a[p * n + k], a[q * n + k]);
        (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
        let (x, y) = (v[k * n + p], v[k * n + q]);
        (v[k * n + p], v[k * n + q]) = (c * x - s * y, s * x + c * y);
    }
}

/// What the modes of a link share: metal, dielectric and length.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    series: Series,
    dielectric: Dielectric,
    length: Meters,
}

/// One frequency of a [`Line`]: what does not depend on the mode.
#[derive(Debug, Clone, Copy)]
pub struct AtFrequency {
    /// Resistance per length.
    r: f64,
    /// `w mu0 eps`: over the mode's capacitance it is the reactance per length.
    x: f64,
    /// `j w (1 - j tan d)`.
    y: Complex64,
    length: f64,
}

/// A mode as a two-port: `gamma l` as hyperbolic functions, and the characteristic impedance.
#[derive(Debug, Clone, Copy)]
pub struct Chain {
    /// `cosh(gamma l)`, the A and D of the chain matrix.
    pub cosh: Complex64,
    /// `Zc sinh(gamma l)`, its B.
    pub b: Complex64,
    /// `sinh(gamma l) / Zc`, its C.
    pub c: Complex64,
}

impl Line {
    /// A line of some length.
    pub fn new(metal: &Metal, wire: &Geometry, dielectric: &Dielectric, length: Meters) -> Self {
        Self { series: Series::new(metal, wire), dielectric: *dielectric, length }
    }

    /// Prepares a frequency.
    pub fn at(&self, frequency: Hertz) -> AtFrequency {
        let omega = 2.0 * PI * frequency.value();
        AtFrequency {
            r: self.series.resistance(frequency).value(),
            x: omega * MU0 * self.dielectric.eps(),
            y: Complex64::new(omega * self.dielectric.loss_tangent, omega),
            length: self.length.value(),
        }
    }
}

impl AtFrequency {
    /// The chain matrix of the mode with capacitance `c`: `[[cosh gl, Zc sinh gl], [sinh gl / Zc, cosh gl]]`.
    ///
    /// Source: telegrapher's equations. Worked: a line without length is the unit matrix.
    ///
    /// ```
    /// use dielet_core::{link::Line, units::{Hertz, Meters}, wire::{Dielectric, Geometry, Metal}};
    /// let wire = Geometry::of_pitch(Meters(4e-6));
    /// let line = Line::new(&Metal::COPPER, &wire, &Dielectric::OXIDE, Meters(0.0));
    /// let chain = line.at(Hertz(1e9)).chain(193e-12);
    /// assert!((chain.cosh.re - 1.0).abs() < 1e-12 && chain.b.norm() < 1e-12);
    /// ```
    pub fn chain(&self, c: f64) -> Chain {
        let z = Complex64::new(self.r, self.x / c);
        let y = self.y * c;
        let gamma = (z * y).sqrt();
        let grow = (gamma * self.length).exp();
        let fall = grow.inv();
        let (cosh, sinh) = ((grow + fall) * 0.5, (grow - fall) * 0.5);
        // Zc = z / gamma; the product form needs no second root.
        let zc = z / gamma;
        Chain { cosh, b: zc * sinh, c: sinh / zc }
    }
}

impl Chain {
    /// `(S11, S21)` between two ports of impedance `z0`; the two-port is symmetric, so `S22 = S11`.
    ///
    /// `S21 = 2 / D`, `S11 = (B/Z0 - C Z0) / D`, `D = 2A + B/Z0 + C Z0`.
    pub fn scattering(&self, z0: f64) -> (Complex64, Complex64) {
        let (b, c) = (self.b / z0, self.c * z0);
        let inverse = (self.cosh * 2.0 + b + c).inv();
        ((b - c) * inverse, inverse * 2.0)
    }

    /// Voltage at the load over that of the source: `1 / [A + B Yl + Zs (C + D Yl) ]` with a shunt admittance `yt` at the
    /// transmitter: the source sees `Rs`, then `yt`.
    pub fn transfer(&self, source: f64, yt: Complex64, yl: Complex64) -> Complex64 {
        let voltage = self.cosh + self.b * yl;
        let current = self.c + self.cosh * yl + voltage * yt;
        (voltage + current * source).inv()
    }
}
