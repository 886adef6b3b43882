//! The worst eye that any data on the victim and its neighbours can leave, by peak distortion.

use num_complex::Complex64;
use serde::Serialize;

use super::driver::Transceiver;
use super::fft;
use super::modes::{Line, Modes};
use super::response::{Channel, LINES};
use crate::units::{BitsPerSecond, Hertz};

/// Samples per unit interval and unit intervals per window; their product is a power of two.
const SAMPLES: usize = 32;
const INTERVALS: usize = 64;
const POINTS: usize = SAMPLES * INTERVALS;
/// Q of a bit-error rate of 1e-15: `0.5 erfc(Q / sqrt 2)`.
pub const REQUIRED_Q: f64 = 7.941;

/// The worst eye at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Eye {
    /// Opening as a share of the swing when neighbours switch at the worst moment; negative where it is closed.
    pub opening: f64,
    /// The same when neighbours switch in step with the victim, as in a bus with one strobe.
    pub opening_in_step: f64,
    /// `(opening * V / 2 - offset) / noise`.
    pub q: f64,
    /// `0.5 erfc(Q / sqrt 2)`.
    pub bit_error_rate: f64,
}

/// A channel with its transceiver, prepared for many rates.
#[derive(Debug, Clone)]
pub struct Bench {
    line: Line,
    transceiver: Transceiver,
    /// Capacitance of each mode and its weights from every line to the victim.
    modes: Vec<(f64, Vec<f64>)>,
}

impl Bench {
    /// Finds the modes of a channel.
    pub fn new(channel: &Channel, transceiver: &Transceiver) -> Self {
        let lines: Vec<usize> = (0..LINES).collect();
        let modes = Modes::of(&channel.bus()).seen_from(LINES / 2, &lines);
        Self { line: channel.line(), transceiver: *transceiver, modes }
    }

    /// The worst eye at a rate.
    ///
    /// `eye = h(t) - sum_k!=0 |h(t + k UI)| - sum_lines max_u sum_k |x(u + k UI)|` at the best sampling time t, with h the
    /// victim's response to one bit and x its response to a bit on another line, which is in step where `u = t`. Every line
    /// of the bus aggresses at once. `q` and the error rate are those of the worst moment.
    ///
    /// Assumes linear drivers and bits as trapezoids with an edge of one FO4. Source: Casper, Haycock, Mooney 2002.
    pub fn eye(&self, rate: BitsPerSecond) -> Eye {
        let pulses = self.pulses(rate);
        let victim = LINES / 2;
        let of = |line: usize, phase: usize| Samples::of(&pulses[line], phase);
        let others = || (0..LINES).filter(|line| *line != victim);
        let best = |eye: &dyn Fn(usize) -> f64| (0..SAMPLES).map(eye).fold(f64::NEG_INFINITY, f64::max);
        let worst = |line: usize| (0..SAMPLES).map(|phase| of(line, phase).size).fold(0.0, f64::max);
        let alone = |phase: usize| of(victim, phase).cursor_less_rest();
        let crosstalk: f64 = others().map(worst).sum();
        let opening = best(&alone) - crosstalk;
        let in_step = |phase: usize| alone(phase) - others().map(|line| of(line, phase).size).sum::<f64>();
        let swing = self.transceiver.supply.value();
        let q = (opening * swing / 2.0 - self.transceiver.offset.value()) / self.transceiver.noise.value();
        Eye {
            opening,
            opening_in_step: best(&in_step),
            q,
            bit_error_rate: 0.5 * erfc(q / std::f64::consts::SQRT_2),
        }
    }

    /// The highest rate, up to a limit, at which the eye still gives the required Q; zero if none does.
    pub fn limit(&self, ceiling: BitsPerSecond) -> BitsPerSecond {
        let opens = |rate: f64| self.eye(BitsPerSecond(rate)).q >= REQUIRED_Q;
        // An eye need not close steadily as the rate grows: step down by 5 % from the ceiling to the first that opens.
        let steps = (0..120).map(|k| ceiling.value() * 0.95_f64.powi(k));
        let Some(open) = steps.into_iter().find(|&rate| opens(rate)) else { return BitsPerSecond::ZERO };
        let (mut low, mut high) = (open, (open / 0.95).min(ceiling.value()));
        for _ in 0..8 {
            let middle = f64::midpoint(low, high);
            if opens(middle) { low = middle } else { high = middle }
        }
        BitsPerSecond(low)
    }

    /// The victim's response to one bit on each line, at `POINTS` times.
    fn pulses(&self, rate: BitsPerSecond) -> Vec<Vec<f64>> {
        let mut spectra = vec![vec![Complex64::ZERO; POINTS]; LINES];
        let spacing = rate.value() / INTERVALS as f64;
        for k in 0..=POINTS / 2 {
            // At no frequency at all the chain matrix has no limit in floating point; a millionth of the grid does.
            let frequency = spacing * (k as f64).max(1e-6);
            let bit = self.bit(frequency, rate);
            for (line, value) in self.transfers(frequency).into_iter().enumerate() {
                spectra[line][k] = value * bit;
                spectra[line][(POINTS - k) % POINTS] = (value * bit).conj();
            }
        }
        spectra.into_iter().map(back_to_time).collect()
    }

    /// Transfer from every line's source to the victim's load.
    fn transfers(&self, frequency: f64) -> [Complex64; LINES] {
        let at = self.line.at(Hertz(frequency));
        let omega = 2.0 * std::f64::consts::PI * frequency;
        let yt = Complex64::new(0.0, omega * self.transceiver.transmit().value());
        let yl = Complex64::new(0.0, omega * self.transceiver.receive().value());
        let mut sums = [Complex64::ZERO; LINES];
        for (c, weights) in &self.modes {
            let transfer = at.chain(*c).transfer(self.transceiver.driver.value(), yt, yl);
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += transfer * *weight;
            }
        }
        sums
    }

    /// Spectrum of one bit, per sample of the window: a rectangle smoothed by the edge, delayed by one interval.
    fn bit(&self, frequency: f64, rate: BitsPerSecond) -> Complex64 {
        let turn = std::f64::consts::PI * frequency;
        let sinc = |x: f64| if x.abs() < 1e-9 { 1.0 } else { x.sin() / x };
        let interval = 1.0 / rate.value();
        let size = sinc(turn * interval) * sinc(turn * self.transceiver.fan_out_delay.value());
        Complex64::from_polar(size / INTERVALS as f64, -3.0 * turn * interval)
    }
}

fn back_to_time(mut spectrum: Vec<Complex64>) -> Vec<f64> {
    fft::inverse(&mut spectrum);
    spectrum.into_iter().map(|x| x.re).collect()
}

/// One pulse sampled once per unit interval.
#[derive(Debug, Clone, Copy)]
struct Samples {
    /// Sum of the magnitudes.
    size: f64,
    /// The largest sample.
    cursor: f64,
}

impl Samples {
    fn of(pulse: &[f64], phase: usize) -> Self {
        let samples = pulse.iter().skip(phase).step_by(SAMPLES);
        samples.fold(Self { size: 0.0, cursor: f64::NEG_INFINITY }, |sum, x| Self {
            size: sum.size + x.abs(),
            cursor: sum.cursor.max(*x),
        })
    }

    fn cursor_less_rest(&self) -> f64 {
        2.0 * self.cursor - self.size
    }
}

/// Complementary error function, relative error below 1.2e-7 (Press et al., Numerical Recipes, sec. 6.2).
pub fn erfc(x: f64) -> f64 {
    const C: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let t = 1.0 / (1.0 + 0.5 * x.abs());
    let series = C.iter().rev().fold(0.0, |sum, c| sum * t + c);
    let tail = t * (series - x * x).exp();
    if x >= 0.0 { tail } else { 2.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_rates_of_known_q() {
        for (q, rate) in [(7.03, 1e-12), (7.941, 1e-15), (8.76, 1e-18)] {
            let ours = 0.5 * erfc(q / std::f64::consts::SQRT_2);
            assert!((ours.log10() - f64::log10(rate)).abs() < 0.02, "{q}: {ours:e}");
        }
    }
}
