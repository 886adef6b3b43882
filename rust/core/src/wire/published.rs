//! Published closed forms for the capacitance of a wire in a bus, as multiples of the permittivity.
//!
//! They are the base that `capacitance` corrects, and stand in the docs beside it with their errors.

/// Capacitance over permittivity of one wire of a bus.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// To the planes, all together.
    pub ground: f64,
    /// To one neighbour.
    pub coupling: f64,
}

impl Split {
    /// To everything: ground and two neighbours.
    pub fn total(&self) -> f64 {
        self.ground + 2.0 * self.coupling
    }
}

/// Three lines over a plane; `w`, `s`, `t` are in units of h.
///
/// `C1/eps = 1.15 w + 2.80 t^0.222`, `Cc/eps = [0.03 w + 0.83 t - 0.07 t^0.222] s^-1.34`.
///
/// Fit range: w, t from 0.3 to 10, s from 0.5 to 10. The total is good to some per cent, its split is not.
/// Source: Sakurai and Tamaru 1983.
///
/// ```
/// use dielet_core::wire::published::sakurai;
/// // w = s = t = h = 1 um: 1.15 + 2.80 + 2 * 0.79 = 5.53, times 3.9 eps0 is 191 fF/mm
/// assert!((sakurai(1.0, 1.0, 1.0).total() - 5.53).abs() < 1e-9);
/// ```
pub fn sakurai(w: f64, s: f64, t: f64) -> Split {
    let side = t.powf(0.222);
    Split { ground: 1.15 * w + 2.80 * side, coupling: (0.03 * w + 0.83 * t - 0.07 * side) * s.powf(-1.34) }
}

/// Whether [`sakurai`] was fitted here.
pub fn sakurai_holds(w: f64, s: f64, t: f64) -> bool {
    let fitted = 0.3..=10.0;
    fitted.contains(&w) && fitted.contains(&t) && (0.5..=10.0).contains(&s)
}

/// A bus over one plane; `w`, `s`, `t` are in units of h.
///
/// `Cg/eps = w + 2.22 [s/(s+0.70)]^3.19 + 1.17 [s/(s+1.51)]^0.76 [t/(t+4.53)]^0.12`;
/// `Cc/eps = 1.14 (t/s) [1/(1+2.06 s)]^0.09 + 0.74 [w/(w+1.59 s)]^1.14 + 1.16 [w/(w+1.87 s)]^0.16 [1/(1+0.98 s)]^1.18`.
///
/// Source: Wong, Lee, Lu et al. 2000, structure 1 (also the interconnect part of the predictive technology model).
///
/// ```
/// use dielet_core::wire::published::wong_one_plane;
/// // w = s = t = h = 1 um: 184 fF/mm in oxide
/// assert!((wong_one_plane(1.0, 1.0, 1.0).total() * 3.9 * 8.854e-12 / 184e-12 - 1.0).abs() < 0.01);
/// ```
pub fn wong_one_plane(w: f64, s: f64, t: f64) -> Split {
    let ground = w
        + 2.22 * (s / (s + 0.70)).powf(3.19)
        + 1.17 * (s / (s + 1.51)).powf(0.76) * (t / (t + 4.53)).powf(0.12);
    let coupling = 1.14 * (t / s) * (1.0 + 2.06 * s).powf(-0.09)
        + 0.74 * (w / (w + 1.59 * s)).powf(1.14)
        + 1.16 * (w / (w + 1.87 * s)).powf(0.16) * (1.0 + 0.98 * s).powf(-1.18);
    Split { ground, coupling }
}

/// A bus between two planes; `w`, `s`, `t` are in units of h.
///
/// `Cg/eps = 2 {w + 2.04 [s/(s+0.54)]^1.77 [t/(t+4.53)]^0.07}`;
/// `Cc/eps = 1.14 (t/s) exp[-4s/(s+8.01)] + 2.37 [w/(w+0.31 s)]^0.28 [1/(1+8.96 s)]^0.76 exp[-2s/(s+6)]`.
///
/// Source: Wong, Lee, Lu et al. 2000, structure 2.
///
/// ```
/// use dielet_core::wire::published::wong_two_planes;
/// // w = s = t = h: 3.69 to the planes, 1.02 to each neighbour (over one plane 1.72)
/// let split = wong_two_planes(1.0, 1.0, 1.0);
/// assert!((split.ground - 3.685).abs() < 0.002 && (split.coupling - 1.019).abs() < 0.002);
/// ```
pub fn wong_two_planes(w: f64, s: f64, t: f64) -> Split {
    let ground = 2.0 * (w + 2.04 * (s / (s + 0.54)).powf(1.77) * (t / (t + 4.53)).powf(0.07));
    let coupling = 1.14 * (t / s) * (-4.0 * s / (s + 8.01)).exp()
        + 2.37
            * (w / (w + 0.31 * s)).powf(0.28)
            * (1.0 + 8.96 * s).powf(-0.76)
            * (-2.0 * s / (s + 6.0)).exp();
    Split { ground, coupling }
}
