//! Quantities as types, and the text that people write for them.
//!
//! k, M, G, T are powers of 1000 and Ki, Mi, Gi, Ti powers of 1024; `B` is byte, `b` and `bit` are bit; a
//! bandwidth is one direction; one multiply-add is 2 FLOP. A number without a unit is refused.

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a text is no quantity.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum QuantityError {
    /// The text does not start with a number.
    #[error("`{text}` is no {what}: it must start with a number, as in `{example}`")]
    Number {
        /// The text as given.
        text: String,
        /// What was expected.
        what: &'static str,
        /// A valid text.
        example: String,
    },
    /// The number stands alone.
    #[error("`{text}` has no unit: write the {what} as in `{example}`")]
    NoUnit {
        /// The text as given.
        text: String,
        /// What was expected.
        what: &'static str,
        /// A valid text.
        example: String,
    },
    /// The unit is unknown for this kind of quantity.
    #[error("`{text}` has the unit `{unit}`, which is no unit of {what}: use one of {known}")]
    UnknownUnit {
        /// The text as given.
        text: String,
        /// The unit found.
        unit: String,
        /// What was expected.
        what: &'static str,
        /// The accepted units.
        known: String,
    },
    /// The value is negative, infinite or not a number.
    #[error("`{text}` is out of range: the {what} must be finite and not negative")]
    Range {
        /// The text as given.
        text: String,
        /// What was expected.
        what: &'static str,
    },
}

/// A named kind of quantity: its units, the first of which is the SI base.
#[derive(Debug, Clone, Copy)]
pub struct Dimension {
    /// What people call it.
    pub what: &'static str,
    /// Unit and factor to the base.
    pub units: &'static [(&'static str, f64)],
}

impl Dimension {
    /// The value in base units of a text such as `900 GB/s`, `10um` or `1e3 s`.
    ///
    /// ```
    /// use dielet_core::units::LENGTH;
    /// assert_eq!(LENGTH.parse("10 um").unwrap(), LENGTH.parse("0.01mm").unwrap());
    /// assert!(LENGTH.parse("10").is_err());
    /// ```
    pub fn parse(&self, text: &str) -> Result<f64, QuantityError> {
        let trimmed = text.trim();
        let (number, unit) = self.split(trimmed)?;
        let factor = self.factor(trimmed, unit)?;
        // Dividing by the exact reciprocal keeps `10 um` and `0.01 mm` the same double.
        let value = if factor < 1.0 { number / (1.0 / factor).round() } else { number * factor };
        if value.is_finite() && value >= 0.0 {
            Ok(value)
        } else {
            Err(QuantityError::Range { text: trimmed.to_owned(), what: self.what })
        }
    }

    fn example(&self) -> String {
        format!("10 {}", self.units.get(1).unwrap_or(&self.units[0]).0)
    }

    fn split<'a>(&self, text: &'a str) -> Result<(f64, &'a str), QuantityError> {
        // The longest prefix that is a number: `1e3s` is 1000 s, `5e` is 5 in the (unknown) unit `e`.
        let ends = (1..=text.len()).rev().filter(|&end| text.is_char_boundary(end));
        let numeric = |head: &str| {
            head.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
                && head.ends_with(|c: char| c.is_ascii_digit() || c == '.')
        };
        for end in ends {
            if let Some(number) = numeric(&text[..end]).then(|| text[..end].parse().ok()).flatten() {
                return Ok((number, text[end..].trim()));
            }
        }
        Err(QuantityError::Number { text: text.to_owned(), what: self.what, example: self.example() })
    }

    fn factor(&self, text: &str, unit: &str) -> Result<f64, QuantityError> {
        if unit.is_empty() {
            let (text, example) = (text.to_owned(), self.example());
            return Err(QuantityError::NoUnit { text, what: self.what, example });
        }
        let known = self.units.iter().find(|(name, _)| *name == unit);
        known.map(|(_, factor)| *factor).ok_or_else(|| QuantityError::UnknownUnit {
            text: text.to_owned(),
            unit: unit.to_owned(),
            what: self.what,
            known: self.units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        })
    }

    /// A text with three or four digits in the largest unit that keeps the number at least 1.
    ///
    /// ```
    /// use dielet_core::units::TIME;
    /// assert_eq!(TIME.format(0.00474), "4.74 ms");
    /// ```
    pub fn format(&self, value: f64) -> String {
        let fits = |(_, factor): &&(&str, f64)| value.abs() >= *factor * 0.9995;
        // A dimension whose base is a bit counts in bits; elsewhere bits are another spelling of bytes.
        let bits = self.units[0].0.starts_with("bit/s");
        let alias = |name: &str| ["bit/s", "b/s", "/b"].iter().any(|end| name.ends_with(end));
        let decimal = |(name, _): &&(&str, f64)| {
            if bits { name.contains("bit") } else { !name.contains("iB") && !alias(name) }
        };
        let largest = self.units.iter().filter(decimal).filter(fits).max_by(|a, b| a.1.total_cmp(&b.1));
        let smallest = self.units.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let &(name, factor) =
            if value == 0.0 { &self.units[0] } else { largest.or(smallest).unwrap_or(&self.units[0]) };
        let scaled = value / factor;
        let digits = match scaled.abs() {
            size if size >= 100.0 => 0,
            size if size >= 10.0 => 1,
            _ => 2,
        };
        format!("{scaled:.digits$} {name}")
    }
}

macro_rules! quantities {
    ($($(#[$doc:meta])* $name:ident, $dimension:ident, $what:literal, [$($unit:literal = $factor:expr),+ $(,)?];)+) => {
        $(
            #[doc = concat!("Units of ", $what, "; the first is the base.")]
            pub const $dimension: Dimension = Dimension { what: $what, units: &[$(($unit, $factor)),+] };

            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
            pub struct $name(pub f64);

            impl $name {
                /// Nothing of it.
                pub const ZERO: Self = Self(0.0);
                /// The value in base units.
                #[inline]
                pub const fn value(self) -> f64 { self.0 }
                /// The larger of the two.
                #[must_use]
                #[inline]
                pub fn max(self, other: Self) -> Self { if other.0 > self.0 { other } else { self } }
                /// The smaller of the two.
                #[must_use]
                #[inline]
                pub fn min(self, other: Self) -> Self { if other.0 < self.0 { other } else { self } }
                /// A total order; no quantity is a NaN.
                #[inline]
                pub fn total_cmp(&self, other: &Self) -> Ordering { self.0.total_cmp(&other.0) }
            }
            impl Add for $name { type Output = Self; #[inline] fn add(self, other: Self) -> Self { Self(self.0 + other.0) } }
            impl AddAssign for $name { #[inline] fn add_assign(&mut self, other: Self) { self.0 += other.0; } }
            impl Sub for $name { type Output = Self; #[inline] fn sub(self, other: Self) -> Self { Self(self.0 - other.0) } }
            impl Mul<f64> for $name { type Output = Self; #[inline] fn mul(self, factor: f64) -> Self { Self(self.0 * factor) } }
            impl Div<f64> for $name { type Output = Self; #[inline] fn div(self, factor: f64) -> Self { Self(self.0 / factor) } }
            impl Div for $name { type Output = f64; #[inline] fn div(self, other: Self) -> f64 { self.0 / other.0 } }
            impl Sum for $name { fn sum<I: Iterator<Item = Self>>(parts: I) -> Self { parts.fold(Self::ZERO, Add::add) } }
            impl std::fmt::Display for $name {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(&$dimension.format(self.0)) }
            }
            impl std::str::FromStr for $name {
                type Err = QuantityError;
                fn from_str(text: &str) -> Result<Self, QuantityError> { $dimension.parse(text).map(Self) }
            }
            impl Serialize for $name {
                fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> { to.serialize_f64(self.0) }
            }
            // A spec carries its unit in the text of the value; a bare number is refused there.
            impl<'de> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    let text = String::deserialize(from)?;
                    text.parse().map_err(serde::de::Error::custom)
                }
            }
        )+
        /// Every dimension by the name that people use for it.
        pub const DIMENSIONS: &[&Dimension] = &[$(&$dimension),+];
    };
}

macro_rules! relations {
    ($($whole:ident = $rate:ident * $time:ident;)+) => { $(
        impl Div<$rate> for $whole { type Output = $time; #[inline] fn div(self, rate: $rate) -> $time { $time(self.0 / rate.0) } }
        impl Div<$time> for $whole { type Output = $rate; #[inline] fn div(self, time: $time) -> $rate { $rate(self.0 / time.0) } }
        impl Mul<$time> for $rate { type Output = $whole; #[inline] fn mul(self, time: $time) -> $whole { $whole(self.0 * time.0) } }
    )+ };
}

const KI: f64 = 1024.0;

quantities! {
    /// Time.
    Seconds, TIME, "time", ["s" = 1.0, "ms" = 1e-3, "us" = 1e-6, "ns" = 1e-9, "ps" = 1e-12, "min" = 60.0, "h" = 3600.0, "d" = 86400.0];
    /// Data volume.
    Bytes, SIZE, "size", ["B" = 1.0, "kB" = 1e3, "MB" = 1e6, "GB" = 1e9, "TB" = 1e12, "PB" = 1e15,
        "KiB" = KI, "MiB" = KI * KI, "GiB" = KI * KI * KI, "TiB" = KI * KI * KI * KI];
    /// Data rate, one direction.
    BytesPerSecond, BANDWIDTH, "bandwidth", ["B/s" = 1.0, "kB/s" = 1e3, "MB/s" = 1e6, "GB/s" = 1e9, "TB/s" = 1e12, "PB/s" = 1e15,
        "MiB/s" = KI * KI, "GiB/s" = KI * KI * KI,
        "kbit/s" = 125.0, "Mbit/s" = 125e3, "Gbit/s" = 125e6, "Tbit/s" = 125e9, "kb/s" = 125.0, "Mb/s" = 125e3, "Gb/s" = 125e6, "Tb/s" = 125e9];
    /// Work; one multiply-add is two.
    Flops, WORK, "work", ["FLOP" = 1.0, "MFLOP" = 1e6, "GFLOP" = 1e9, "TFLOP" = 1e12, "PFLOP" = 1e15];
    /// Rate of work.
    FlopsPerSecond, COMPUTE, "compute rate", ["FLOP/s" = 1.0, "GFLOP/s" = 1e9, "TFLOP/s" = 1e12, "PFLOP/s" = 1e15];
    /// Energy.
    Joules, ENERGY, "energy", ["J" = 1.0, "kJ" = 1e3, "MJ" = 1e6, "GJ" = 1e9, "TJ" = 1e12, "mJ" = 1e-3, "pJ" = 1e-12, "Wh" = 3600.0, "kWh" = 3.6e6, "MWh" = 3.6e9, "GWh" = 3.6e12];
    /// Energy per bit moved.
    JoulesPerBit, BIT_ENERGY, "energy per bit", ["J/bit" = 1.0, "pJ/bit" = 1e-12, "fJ/bit" = 1e-15, "pJ/b" = 1e-12, "fJ/b" = 1e-15];
    /// Energy per unit of work.
    JoulesPerFlop, WORK_ENERGY, "energy per FLOP", ["J/FLOP" = 1.0, "pJ/FLOP" = 1e-12, "fJ/FLOP" = 1e-15];
    /// Power.
    Watts, POWER, "power", ["W" = 1.0, "mW" = 1e-3, "kW" = 1e3, "MW" = 1e6];
    /// Money.
    Dollars, MONEY, "price", ["USD" = 1.0];
    /// Price of one device for one second.
    DollarsPerSecond, HIRE, "price per time", ["USD/s" = 1.0, "USD/h" = 1.0 / 3600.0];
    /// Length.
    Meters, LENGTH, "length", ["m" = 1.0, "mm" = 1e-3, "um" = 1e-6, "nm" = 1e-9, "cm" = 1e-2];
    /// Area.
    SquareMeters, AREA, "area", ["m2" = 1.0, "mm2" = 1e-6, "um2" = 1e-12, "cm2" = 1e-4];
    /// Frequency.
    Hertz, FREQUENCY, "frequency", ["Hz" = 1.0, "kHz" = 1e3, "MHz" = 1e6, "GHz" = 1e9];
    /// Data rate of one wire or lane.
    BitsPerSecond, BIT_RATE, "bit rate", ["bit/s" = 1.0, "Mbit/s" = 1e6, "Gbit/s" = 1e9, "Tbit/s" = 1e12, "Mb/s" = 1e6, "Gb/s" = 1e9, "Tb/s" = 1e12];
    /// Data rate per length of die edge, one direction.
    EdgeBandwidth, EDGE_BANDWIDTH, "bandwidth per edge", ["bit/s/m" = 1.0, "Gbit/s/mm" = 1e12, "Tbit/s/mm" = 1e15,
        "Gb/s/mm" = 1e12, "Tb/s/mm" = 1e15, "GB/s/mm" = 8e12, "TB/s/mm" = 8e15];
    /// Data rate per area of die, one direction.
    ArealBandwidth, AREAL_BANDWIDTH, "bandwidth per area", ["bit/s/m2" = 1.0, "Gbit/s/mm2" = 1e15, "Tbit/s/mm2" = 1e18, "GB/s/mm2" = 8e15];
    /// Resistance.
    Ohms, RESISTANCE, "resistance", ["ohm" = 1.0, "mohm" = 1e-3, "kohm" = 1e3];
    /// Resistivity.
    OhmMeters, RESISTIVITY, "resistivity", ["ohm m" = 1.0, "uohm cm" = 1e-8, "nohm m" = 1e-9];
    /// Capacitance.
    Farads, CAPACITANCE, "capacitance", ["F" = 1.0, "fF" = 1e-15, "pF" = 1e-12];
    /// Resistance per length.
    OhmsPerMeter, LINE_RESISTANCE, "resistance per length", ["ohm/m" = 1.0, "ohm/mm" = 1e3];
    /// Capacitance per length.
    FaradsPerMeter, LINE_CAPACITANCE, "capacitance per length", ["F/m" = 1.0, "pF/m" = 1e-12, "fF/mm" = 1e-12];
    /// Inductance per length.
    HenriesPerMeter, LINE_INDUCTANCE, "inductance per length", ["H/m" = 1.0, "nH/mm" = 1e-6];
    /// Voltage.
    Volts, VOLTAGE, "voltage", ["V" = 1.0, "mV" = 1e-3, "kV" = 1e3];
    /// Current.
    Amperes, CURRENT, "current", ["A" = 1.0, "mA" = 1e-3, "kA" = 1e3];
    /// Defects per area.
    DefectDensity, DEFECTS, "defect density", ["/m2" = 1.0, "/cm2" = 1e4, "/mm2" = 1e6];
    /// Price per area.
    DollarsPerSquareMeter, AREA_COST, "price per area", ["USD/m2" = 1.0, "USD/mm2" = 1e6];
    /// Power per area.
    WattsPerSquareMeter, HEAT_FLUX, "power per area", ["W/m2" = 1.0, "W/mm2" = 1e6, "W/cm2" = 1e4];
}

relations! {
    Bytes = BytesPerSecond * Seconds;
    Flops = FlopsPerSecond * Seconds;
    Joules = Watts * Seconds;
    Dollars = DollarsPerSecond * Seconds;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)] // equal texts must give the same double
    use super::*;

    #[test]
    fn one_gib_is_not_one_gb() {
        let ratio = SIZE.parse("1 GiB").unwrap() / SIZE.parse("1 GB").unwrap();
        assert!((ratio - 1.073_741_824).abs() < 1e-15);
    }

    #[test]
    fn spelling_does_not_matter() {
        let same = ["10um", "10 um", "0.01mm", " 10  um ", "1e1 um", "10000 nm"];
        for text in same {
            assert_eq!(LENGTH.parse(text).unwrap(), 1e-5, "{text}");
        }
        assert_eq!(TIME.parse("1e3s").unwrap(), 1000.0);
    }

    #[test]
    fn what_is_no_quantity_says_why() {
        for bad in ["", "10", "ten um", "10 parsec", "-3 um", "nan um", "inf um", "1e400 um"] {
            assert!(LENGTH.parse(bad).is_err(), "{bad}");
        }
        let message = TIME.parse("10").unwrap_err().to_string();
        assert_eq!(message, "`10` has no unit: write the time as in `10 ms`");
    }

    #[test]
    fn numbers_read_easily() {
        assert_eq!(Seconds(0.0123).to_string(), "12.3 ms");
        assert_eq!(Seconds(14760.0).to_string(), "4.10 h");
        assert_eq!(BytesPerSecond(9e11).to_string(), "900 GB/s");
        assert_eq!(Seconds(0.0).to_string(), "0.00 s");
    }
}
