//! A link over a bus of wires: loss, crosstalk, eye, data rate, latency, energy, density.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | Z0 | reference impedance of the ports | ohm |
//! | gamma, Zc | propagation constant, characteristic impedance of a mode | 1/m, ohm |
//! | Rs | resistance of the driver's last stage | ohm |
//! | Ctx, Crx | lumped capacitance at the transmitting and receiving end | F |
//! | c, r, l | capacitance, resistance per length; length | F/m, ohm/m, m |
//! | f, p | effort of a stage, parasitic (drain over gate capacitance) | 1 |
//! | a | activity: charge drawn from the supply per bit over C V | 1 |
//! | UI | unit interval, one over the data rate | s |
//!
//! The wires are equal and the dielectric homogeneous, so `Z'Y'` and the capacitance matrix have the same eigenvectors
//! at every frequency ([`modes`]): the coupled lines fall apart into independent two-ports, exactly.

pub mod benefit;
pub mod columns;
pub mod compare;
pub mod density;
pub mod design;
pub mod driver;
pub mod eye;
mod fft;
pub mod figures;
pub mod modes;
pub mod report;
pub mod response;
pub mod technology;
pub mod tier;

pub use design::{Choice, Design};
pub use driver::{Budget, Transceiver};
pub use figures::{Figures, figures};
pub use modes::{Line, Modes};
pub use report::{Ask, Report, report};
pub use response::{Response, response};
pub use technology::{Technology, TechnologyError};
pub use tier::{TierFigures, tier_figures};
