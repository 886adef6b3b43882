//! Driver chain, pads and receiver: when a bit arrives and what it costs.

use serde::Serialize;

use crate::units::{BitsPerSecond, Farads, JoulesPerBit, Meters, Ohms, Seconds, Volts};

/// ln 2, the time constants that a single pole takes to half its swing.
const HALF: f64 = std::f64::consts::LN_2;
/// A 10-90 % edge takes `ln 9 = 2.2` time constants and may fill 0.7 of the unit interval.
const RATE_TIMES_TAU: f64 = 0.7 / 2.197;

/// A plain parallel transceiver: tapered inverters, electrostatic protection, an inverter as receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transceiver {
    /// Supply, and swing on the wire.
    pub supply: Volts,
    /// Resistance of the last stage.
    pub driver: Ohms,
    /// Delay of an inverter that drives four of its kind.
    pub fan_out_delay: Seconds,
    /// Drain over gate capacitance of an inverter.
    pub parasitic: f64,
    /// Effort per stage that the chain aims at.
    pub effort: f64,
    /// Gate capacitance at the entry of the chain.
    pub input: Farads,
    /// Electrostatic protection, each end.
    pub protection: Farads,
    /// Pad or pillar, each end.
    pub pad: Farads,
    /// Pad or pillar with its contacts, each end.
    pub pad_resistance: Ohms,
    /// Gate of the receiver.
    pub gate: Farads,
    /// Charge drawn from the supply per bit over C V: 1 a full cycle each bit, 1/2 alternating, 1/4 random data.
    pub activity: f64,
    /// Short-circuit charge on top, as a share.
    pub short_circuit: f64,
    /// Data lanes that share a strobe; infinite without one.
    pub lanes_per_strobe: f64,
    /// Rate that the clock allows.
    pub clock: BitsPerSecond,
    /// Noise at the receiver, root mean square.
    pub noise: Volts,
    /// Offset of its threshold.
    pub offset: Volts,
}

/// The wire as the driver sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Resistance, the two pads included.
    pub resistance: Ohms,
    /// Capacitance to everything, neighbours quiet.
    pub capacitance: Farads,
    /// Inductance.
    pub inductance: f64,
    /// Length, for the record of a flight time.
    pub length: Meters,
}

/// A total by part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Budget<T> {
    /// The chain of inverters, and the load at the transmitting end.
    pub driver: T,
    /// The wire.
    pub wire: T,
    /// The load at the receiving end and the first stage there.
    pub receiver: T,
}

impl<T: Copy + std::ops::Add<Output = T>> Budget<T> {
    /// The sum of the parts.
    pub fn total(&self) -> T {
        self.driver + self.wire + self.receiver
    }
}

impl Transceiver {
    /// Delay of one inverter per unit of (effort + parasitic): FO4 over `4 + p`.
    fn unit_delay(&self) -> f64 {
        self.fan_out_delay.value() / (4.0 + self.parasitic)
    }

    /// Gate capacitance of the last stage: an inverter's `R C` is fixed by the node, `R C = unit delay / ln 2`.
    pub fn last_gate(&self) -> Farads {
        Farads(self.unit_delay() / HALF / self.driver.value())
    }

    /// Stages before the last, and the effort of each.
    ///
    /// `N = round(ln(F) / ln(effort))`, `f = F^(1/N)`, `F = C_last / C_in`.
    pub fn stages(&self) -> (f64, f64) {
        let growth = self.last_gate() / self.input;
        if growth <= 1.0 {
            return (0.0, 1.0);
        }
        let stages = (growth.ln() / self.effort.ln()).round().max(1.0);
        (stages, growth.powf(1.0 / stages))
    }

    /// Delay of the chain before the last stage: `N t0 (f + p)`.
    ///
    /// Source: Sutherland, Sproull, Harris 1999. Worked: `docs/fabric.md`.
    pub fn chain_delay(&self) -> Seconds {
        let (stages, effort) = self.stages();
        Seconds(stages * self.unit_delay() * (effort + self.parasitic))
    }

    /// Capacitance that switches inside the chain, its last gate included: `sum_i C_in f^i (f + p)`.
    pub fn chain_capacitance(&self) -> Farads {
        let (stages, effort) = self.stages();
        let grown = self.last_gate() - self.input;
        if stages < 0.5 {
            return Farads::ZERO;
        }
        // A geometric series: sum_i C_in f^i over the stages is (C_last - C_in) / (f - 1).
        grown * ((effort + self.parasitic) / (effort - 1.0))
    }

    /// Lumped capacitance at the transmitting end: drain, protection, pad.
    pub fn transmit(&self) -> Farads {
        self.last_gate() * self.parasitic + self.protection + self.pad
    }

    /// Lumped capacitance at the receiving end: protection, pad, gate.
    pub fn receive(&self) -> Farads {
        self.protection + self.pad + self.gate
    }

    /// First moment of the link: `Rs (Ctx + C + Crx) + R (C/2 + Crx)`.
    pub fn time_constant(&self, load: &Load) -> Seconds {
        let (ctx, crx) = (self.transmit().value(), self.receive().value());
        let (r, c) = (load.resistance.value(), load.capacitance.value());
        Seconds(self.driver.value() * (ctx + c + crx) + r * (c / 2.0 + crx))
    }

    /// Delay from the last stage's input to half the swing at the receiver.
    ///
    /// `t50 = (1.047 exp(-zeta/0.85) + 1.39 zeta) / wn`, `zeta = tau wn / 2`, `wn^-2 = L (C/2 + Crx)`: 0.69 tau where
    /// resistance rules, the flight time where it does not.
    ///
    /// Source: Ismail, Friedman, Neves 2000 (equivalent Elmore delay for RLC trees).
    pub fn wire_delay(&self, load: &Load) -> Seconds {
        let tau = self.time_constant(load).value();
        let crx = self.receive().value();
        let period = (load.inductance * (load.capacitance.value() / 2.0 + crx)).sqrt();
        if period == 0.0 {
            return Seconds(1.39 / 2.0 * tau);
        }
        let zeta = tau / (2.0 * period);
        Seconds((1.047 * (-zeta / 0.85).exp() + 1.39 * zeta) * period)
    }

    /// Latency by part. The wire's share is what the link takes beyond the same driver with both ends and no wire.
    pub fn latency(&self, load: &Load) -> Budget<Seconds> {
        let bare = self.driver.value() * (self.transmit() + self.receive()).value() * 1.39 / 2.0;
        let receiver_end = self.driver.value() * self.receive().value() * 1.39 / 2.0;
        Budget {
            driver: self.chain_delay() + Seconds(bare - receiver_end),
            wire: self.wire_delay(load) - Seconds(bare),
            receiver: self.fan_out_delay + Seconds(receiver_end),
        }
    }

    /// Energy per bit by part: `a V^2 C (1 + short circuit)(1 + strobe share)`.
    ///
    /// A strobe toggles every bit (activity 1/2), so it adds `(1/2) / a / lanes` of a data lane. The receiver's first
    /// stage drives four of its kind.
    pub fn energy(&self, load: &Load) -> Budget<JoulesPerBit> {
        let strobe = 0.5 / self.activity / self.lanes_per_strobe;
        let volts = self.supply.value();
        let scale = self.activity * volts * volts * (1.0 + self.short_circuit) * (1.0 + strobe);
        let of = |c: Farads| JoulesPerBit(scale * c.value());
        Budget {
            driver: of(self.chain_capacitance() + self.transmit()),
            wire: of(load.capacitance),
            receiver: of(self.receive() + self.gate * (4.0 + self.parasitic)),
        }
    }

    /// Rate at which a 10-90 % edge fills 0.7 of the unit interval: `0.32 / tau`.
    ///
    /// Worked: 100 ohm into 194 fF is 19 ps, 16 Gbit/s.
    pub fn settled_rate(&self, load: &Load) -> BitsPerSecond {
        BitsPerSecond(RATE_TIMES_TAU / self.time_constant(load).value())
    }
}
