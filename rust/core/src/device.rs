//! A device: what it can multiply, move and hold, each figure with its source.
//!
//! The file of a device (see `specs/README.md` of the package for how a number is written):
//!
//! ```toml
//! name = "v100-sxm2-16gb"
//! summary = "NVIDIA Tesla V100 SXM2, 16 GB"
//! memory = { value = "16 GiB", source = "..", confidence = "datasheet" }
//! memory_bandwidth = ..      # data sheet
//! memory_efficiency = ..     # fraction of it that a streaming kernel reaches
//! multiprocessors = ..       # what the tiles of a GEMM are dealt to
//! kernel_overhead = ..       # launch and drain of one kernel
//! power = ..                 # or static_power, energy_per_flop and energy_per_bit
//!
//! [rates.fp16]
//! peak = ..                  # dense
//! ceiling = ..               # fraction of the peak that the clock sustains
//! feed = ..                  # the other three shape the GEMM curve, see `compute`
//! ramp = ..
//! split = ..
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::spec::{self, Sourced, SpecError};
use crate::units::{Bytes, BytesPerSecond, FlopsPerSecond, JoulesPerBit, JoulesPerFlop, Seconds, Watts};

/// The element format that a matrix unit multiplies; sums are kept in FP32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Number {
    /// IEEE single, on the general-purpose units.
    Fp32,
    /// Single in memory, multiplied with 10 bits of mantissa.
    Tf32,
    /// IEEE half.
    Fp16,
    /// bfloat16.
    Bf16,
    /// Eight bits, either of the OCP formats; results are written in 16 bits.
    Fp8,
}

impl Number {
    /// All of them, from the widest.
    pub const ALL: [Self; 5] = [Self::Fp32, Self::Tf32, Self::Fp16, Self::Bf16, Self::Fp8];

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
            Self::Fp8 => "fp8",
        }
    }

    /// Bytes of one operand element in memory.
    pub const fn bytes(self) -> f64 {
        match self {
            Self::Fp32 | Self::Tf32 => 4.0,
            Self::Fp16 | Self::Bf16 => 2.0,
            Self::Fp8 => 1.0,
        }
    }

    /// Bytes of one result element in memory.
    pub const fn result_bytes(self) -> f64 {
        match self {
            Self::Fp8 => 2.0,
            other => other.bytes(),
        }
    }
}

/// Why a device cannot do what is asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No such number format.
    #[error("number format `{name}` is unknown: use one of fp32, tf32, fp16, bf16, fp8")]
    UnknownNumber {
        /// The name given.
        name: String,
    },
    /// The device has no rate for the format.
    #[error("device `{device}` has no rate for {number}: use one of {known}", number = number.name())]
    NoRate {
        /// The device.
        device: String,
        /// The format asked for.
        number: Number,
        /// Formats with a rate.
        known: String,
    },
}

impl std::str::FromStr for Number {
    type Err = DeviceError;

    fn from_str(name: &str) -> Result<Self, DeviceError> {
        let found = Self::ALL.into_iter().find(|number| number.name() == name);
        found.ok_or_else(|| DeviceError::UnknownNumber { name: name.to_owned() })
    }
}

/// How fast one number format is multiplied; the fields after `peak` are the constants of [`crate::compute`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Dense peak of the data sheet.
    pub peak: Sourced<FlopsPerSecond>,
    /// Fraction of the peak that the sustained clock and power allow.
    pub ceiling: Sourced<f64>,
    /// Elements of tile edge at which feeding operands costs as much as multiplying them.
    pub feed: Sourced<f64>,
    /// Elements of K that filling and draining one tile cost.
    pub ramp: Sourced<f64>,
    /// Elements of K that joining the parts of a split tile costs.
    pub split: Sourced<f64>,
    /// What it takes to bring the first operand into this format, where that is not part of the kernel before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversion: Option<Conversion>,
    /// How convolutions fare against GEMMs of their shape, where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convolution: Option<Convolution>,
}

/// Efficiency of convolution kernels, relative to GEMMs of the same shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Convolution {
    /// Share of the GEMM rate that an implicit GEMM reaches.
    pub implicit_gemm: Sourced<f64>,
    /// Share of the GEMM rate that the products of Winograd's method reach.
    pub winograd: Sourced<f64>,
}

/// Scaling and converting the first operand of a GEMM in kernels of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversion {
    /// Kernels launched before the GEMM.
    pub kernels: Sourced<f64>,
    /// Bytes read and written for each element.
    pub bytes_per_element: Sourced<f64>,
}

/// Share of the GEMM rate that is left when tiles are transformed on the way: Lavin and Gray measure 9.37 against 6.34
/// effective TFLOP/s of an implicit GEMM on all of VGG-E, FP32, batch 64 (arXiv:1509.09308, table 5; recalled), a
/// speedup of 1.48 where the products alone would give 2.25.
pub const WINOGRAD_TRANSFORM: f64 = 1.48 / 2.25;

/// A device as its file states it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// The name, equal to the file's.
    pub name: String,
    /// One line for lists.
    pub summary: String,
    /// Capacity of its own memory.
    pub memory: Sourced<Bytes>,
    /// Data-sheet bandwidth of that memory, reads and writes together.
    pub memory_bandwidth: Sourced<BytesPerSecond>,
    /// Fraction of the bandwidth that a streaming kernel reaches.
    pub memory_efficiency: Sourced<f64>,
    /// Units to which the tiles of a GEMM are dealt.
    pub multiprocessors: Sourced<u64>,
    /// Launch and drain of one kernel.
    pub kernel_overhead: Sourced<Seconds>,
    /// What the framework's host adds to every kernel of a training step, where it was measured to be slower than the
    /// device's own launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_overhead: Option<Sourced<Seconds>>,
    /// Rates by number format.
    pub rates: BTreeMap<Number, Rate>,
    /// Power under training load, where no finer figures are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<Sourced<Watts>>,
    /// Power without work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub static_power: Option<Sourced<Watts>>,
    /// Energy of one FLOP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_per_flop: Option<Sourced<JoulesPerFlop>>,
    /// Energy of one bit of memory traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_per_bit: Option<Sourced<JoulesPerBit>>,
}

/// What a device draws, in the finest form its file states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Power {
    /// The same whatever it does.
    Whole(Watts),
    /// By what it does.
    Parts {
        /// Without work.
        idle: Watts,
        /// Of one FLOP.
        per_flop: JoulesPerFlop,
        /// Of one bit of memory traffic.
        per_bit: JoulesPerBit,
    },
}

/// One number format on one device, flat: what the hot formulas of [`crate::compute`] read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatrixUnit {
    /// The format.
    pub number: Number,
    /// Sustained rate: peak times ceiling.
    pub sustained: FlopsPerSecond,
    /// See [`Rate::feed`].
    pub feed: f64,
    /// See [`Rate::ramp`].
    pub ramp: f64,
    /// See [`Rate::split`].
    pub split: f64,
    /// See [`Device::multiprocessors`].
    pub multiprocessors: u64,
    /// Memory bandwidth that streaming reaches.
    pub bandwidth: BytesPerSecond,
    /// See [`Device::kernel_overhead`].
    pub kernel_overhead: Seconds,
    /// See [`Conversion::kernels`]; 0 without.
    pub conversion_kernels: f64,
    /// See [`Conversion::bytes_per_element`]; 0 without.
    pub conversion_bytes: f64,
    /// See [`Convolution::implicit_gemm`]; 1 without.
    pub implicit_gemm: f64,
    /// See [`Convolution::winograd`]; [`WINOGRAD_TRANSFORM`] without.
    pub winograd: f64,
}

impl Device {
    /// A device from the text of its file; `origin` names the file in errors.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, SpecError> {
        let device: Self = spec::parse(text, origin)?;
        device.check(origin)?;
        Ok(device)
    }

    /// Memory bandwidth that a streaming kernel reaches.
    pub fn bandwidth(&self) -> BytesPerSecond {
        self.memory_bandwidth.value * self.memory_efficiency.value
    }

    /// The matrix unit for a number format.
    pub fn matrix_unit(&self, number: Number) -> Result<MatrixUnit, DeviceError> {
        let rate = self.rates.get(&number).ok_or_else(|| self.no_rate(number))?;
        let conversion = rate.conversion.as_ref();
        Ok(MatrixUnit {
            number,
            sustained: rate.peak.value * rate.ceiling.value,
            feed: rate.feed.value,
            ramp: rate.ramp.value,
            split: rate.split.value,
            multiprocessors: self.multiprocessors.value,
            bandwidth: self.bandwidth(),
            kernel_overhead: self.kernel_overhead.value,
            conversion_kernels: conversion.map_or(0.0, |it| it.kernels.value),
            conversion_bytes: conversion.map_or(0.0, |it| it.bytes_per_element.value),
            implicit_gemm: rate.convolution.as_ref().map_or(1.0, |it| it.implicit_gemm.value),
            winograd: rate.convolution.as_ref().map_or(WINOGRAD_TRANSFORM, |it| it.winograd.value),
        })
    }

    /// What it draws, or nothing where the file does not say.
    pub fn draw(&self) -> Option<Power> {
        let whole = self.power.as_ref().map(|power| Power::Whole(power.value));
        let parts = || {
            let (idle, per_flop, per_bit) =
                (self.static_power.as_ref()?, self.energy_per_flop.as_ref()?, self.energy_per_bit.as_ref()?);
            Some(Power::Parts { idle: idle.value, per_flop: per_flop.value, per_bit: per_bit.value })
        };
        whole.or_else(parts)
    }

    fn no_rate(&self, number: Number) -> DeviceError {
        let known = self.rates.keys().map(|known| known.name()).collect::<Vec<_>>().join(", ");
        DeviceError::NoRate { device: self.name.clone(), number, known }
    }

    fn check(&self, origin: &str) -> Result<(), SpecError> {
        let refuse = Refuse { origin };
        refuse.fraction("memory_efficiency", self.memory_efficiency.value)?;
        refuse.positive("memory", self.memory.value.0)?;
        refuse.positive("memory_bandwidth", self.memory_bandwidth.value.0)?;
        refuse.positive("multiprocessors", self.multiprocessors.value as f64)?;
        if self.rates.is_empty() {
            return Err(refuse.value(
                "rates",
                "{}",
                "give a rate for at least one of fp32, tf32, fp16, bf16, fp8",
            ));
        }
        self.rates.iter().try_for_each(|(number, rate)| refuse.rate(*number, rate))?;
        self.check_power(refuse)
    }

    fn check_power(&self, refuse: Refuse) -> Result<(), SpecError> {
        let parts =
            [self.static_power.is_some(), self.energy_per_flop.is_some(), self.energy_per_bit.is_some()];
        let stated = parts.iter().filter(|stated| **stated).count();
        match (&self.power, stated) {
            (Some(power), 1..) => {
                let why = "give either power, or static_power, energy_per_flop and energy_per_bit";
                Err(refuse.value("power", &power.value.to_string(), why))
            }
            (None, 1 | 2) => Err(refuse.value(
                "static_power, energy_per_flop, energy_per_bit",
                &format!("{stated} of 3"),
                "give all three or none",
            )),
            _ => Ok(()),
        }
    }
}

/// Makes the errors of one file.
#[derive(Clone, Copy)]
struct Refuse<'a> {
    origin: &'a str,
}

impl Refuse<'_> {
    fn value(self, key: &str, value: &str, problem: &str) -> SpecError {
        let [origin, key, value, problem] = [self.origin, key, value, problem].map(str::to_owned);
        SpecError::Value { origin, key, value, problem }
    }

    fn positive(self, key: &str, value: f64) -> Result<(), SpecError> {
        if value.is_finite() && value > 0.0 {
            return Ok(());
        }
        Err(self.value(key, &value.to_string(), "it must be greater than 0"))
    }

    fn not_negative(self, key: &str, value: f64) -> Result<(), SpecError> {
        if value.is_finite() && value >= 0.0 {
            return Ok(());
        }
        Err(self.value(key, &value.to_string(), "it must be 0 or more"))
    }

    fn fraction(self, key: &str, value: f64) -> Result<(), SpecError> {
        if value > 0.0 && value <= 1.0 {
            return Ok(());
        }
        Err(self.value(key, &value.to_string(), "a fraction is greater than 0 and at most 1"))
    }

    fn rate(self, number: Number, rate: &Rate) -> Result<(), SpecError> {
        let key = |field: &str| format!("rates.{}.{field}", number.name());
        self.positive(&key("peak"), rate.peak.value.0)?;
        self.fraction(&key("ceiling"), rate.ceiling.value)?;
        self.not_negative(&key("feed"), rate.feed.value)?;
        self.not_negative(&key("ramp"), rate.ramp.value)?;
        self.not_negative(&key("split"), rate.split.value)?;
        let Some(conversion) = &rate.conversion else { return Ok(()) };
        self.not_negative(&key("conversion.kernels"), conversion.kernels.value)?;
        self.not_negative(&key("conversion.bytes_per_element"), conversion.bytes_per_element.value)
    }
}
