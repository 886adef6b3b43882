//! A packaging technology as its file states it: by published figures, or by wires and a transceiver.

use serde::{Deserialize, Serialize};

use crate::spec::{self, Sourced, SpecError};
use crate::units::{
    ArealBandwidth, BitsPerSecond, BytesPerSecond, EdgeBandwidth, Farads, JoulesPerBit, Meters, OhmMeters,
    Ohms, Seconds, Volts,
};
use crate::wire::Planes;

/// Why a technology cannot be used as asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TechnologyError {
    /// The file does not follow the schema.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Neither published figures nor a wire with a transceiver.
    #[error("{file}: `{name}` needs either a [published] table or a [wire] and a [transceiver] table")]
    Kind {
        /// The file.
        file: String,
        /// The technology.
        name: String,
    },
    /// A geometry was given for a technology that has none.
    #[error(
        "`{name}` is described by its published figures, so {what} cannot be set: leave it out, \
         or name a technology with wires (si-if, si-if-2017, on-die)"
    )]
    NoGeometry {
        /// The technology.
        name: String,
        /// What was asked.
        what: &'static str,
    },
    /// A value that no wire can have.
    #[error("{what} of {value} is outside {low} .. {high}: {remedy}")]
    Range {
        /// The quantity.
        what: &'static str,
        /// As given.
        value: String,
        /// Smallest.
        low: String,
        /// Largest.
        high: String,
        /// What to do.
        remedy: &'static str,
    },
}

/// A technology that is known by its figures alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Of one wire or lane, one direction.
    pub rate: Sourced<BitsPerSecond>,
    /// Transmitter and receiver together.
    pub energy: Sourced<JoulesPerBit>,
    /// From input to output of the link, without software.
    pub latency: Sourced<Seconds>,
    /// All wires that cross a length of edge, both directions.
    pub edge_bandwidth: Option<Sourced<EdgeBandwidth>>,
    /// All wires under an area.
    pub areal_bandwidth: Option<Sourced<ArealBandwidth>>,
    /// What one device has of it, one direction.
    pub device_bandwidth: Option<Sourced<BytesPerSecond>>,
    /// Bump or lane pitch.
    pub pitch: Option<Sourced<Meters>>,
    /// Longest link.
    pub reach: Option<Sourced<Meters>>,
}

/// The wires of a technology: the default geometry and its limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireSpec {
    /// Default distance from wire to wire.
    pub pitch: Sourced<Meters>,
    /// Smallest and largest pitch that the technology is offered at.
    pub pitch_range: Sourced<[Meters; 2]>,
    /// Default length.
    pub length: Sourced<Meters>,
    /// Shortest and longest link that it is offered at.
    pub length_range: Sourced<[Meters; 2]>,
    /// Default number of signal layers.
    pub layers: Sourced<u32>,
    /// Most metal layers.
    pub layers_max: Sourced<u32>,
    /// Wires of 100 that carry a signal; the rest are returns, strobes and spares.
    pub signal_percent: Sourced<f64>,
    /// Which planes the wires run over.
    pub planes: Sourced<Planes>,
    /// Wire thickness, where it does not follow the Si-IF stack of the pitch.
    pub thickness: Option<Sourced<Meters>>,
    /// Distance to the plane, likewise.
    pub height: Option<Sourced<Meters>>,
    /// Relative permittivity.
    pub permittivity: Sourced<f64>,
    /// Loss tangent.
    pub loss_tangent: Sourced<f64>,
    /// Bulk resistivity.
    pub resistivity: Sourced<OhmMeters>,
    /// Mean free path of electrons.
    pub mean_free_path: Sourced<Meters>,
    /// Specularity of the surface.
    pub specularity: Sourced<f64>,
    /// Reflectivity of grain borders.
    pub reflectivity: Sourced<f64>,
    /// Barrier on each side.
    pub barrier: Sourced<Meters>,
    /// Pitch of the pads where it is not that of the wires.
    pub pad_pitch: Option<Sourced<Meters>>,
}

/// A transceiver as a file states it; [`super::Transceiver`] documents the fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct TransceiverSpec {
    pub supply: Sourced<Volts>,
    pub driver: Sourced<Ohms>,
    pub fan_out_delay: Sourced<Seconds>,
    pub parasitic: Sourced<f64>,
    pub effort: Sourced<f64>,
    pub input: Sourced<Farads>,
    pub protection: Sourced<Farads>,
    pub pad: Sourced<Farads>,
    pub pad_resistance: Sourced<Ohms>,
    pub gate: Sourced<Farads>,
    pub activity: Sourced<f64>,
    pub short_circuit: Sourced<f64>,
    /// None: no strobe is counted.
    pub lanes_per_strobe: Option<Sourced<f64>>,
    /// None: only the wire limits the rate.
    pub clock: Option<Sourced<BitsPerSecond>>,
    pub noise: Sourced<Volts>,
    pub offset: Sourced<Volts>,
}

impl TransceiverSpec {
    /// The bare numbers.
    pub fn values(&self) -> super::Transceiver {
        super::Transceiver {
            supply: self.supply.value,
            driver: self.driver.value,
            fan_out_delay: self.fan_out_delay.value,
            parasitic: self.parasitic.value,
            effort: self.effort.value,
            input: self.input.value,
            protection: self.protection.value,
            pad: self.pad.value,
            pad_resistance: self.pad_resistance.value,
            gate: self.gate.value,
            activity: self.activity.value,
            short_circuit: self.short_circuit.value,
            lanes_per_strobe: self.lanes_per_strobe.as_ref().map_or(f64::INFINITY, |lanes| lanes.value),
            clock: self.clock.as_ref().map_or(BitsPerSecond(f64::INFINITY), |clock| clock.value),
            noise: self.noise.value,
            offset: self.offset.value,
        }
    }
}

/// A latency or energy that others measured on the same link, shown beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Pitch of the point.
    pub pitch: Meters,
    /// Length of the point.
    pub length: Meters,
    /// Published latency.
    pub latency: Seconds,
    /// Published energy.
    pub energy: JoulesPerBit,
    /// Whether constants of the file were fitted to it.
    pub fitted: bool,
}

/// A packaging technology.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Technology {
    /// Its name.
    pub name: String,
    /// One line about it.
    pub summary: String,
    /// Where to read on.
    pub source: String,
    /// Figures, where it is known by them.
    pub published: Option<Published>,
    /// Wires, where it is known by geometry.
    pub wire: Option<WireSpec>,
    /// Driver and receiver of the wires.
    pub transceiver: Option<TransceiverSpec>,
    /// Latency of a hop with controller and router, on top of the link.
    pub hop_latency: Option<Sourced<Seconds>>,
    /// Published points of the same link.
    #[serde(default)]
    pub reference: Vec<Sourced<Reference>>,
}

impl Technology {
    /// Reads a file's text; `origin` names it in errors.
    ///
    /// ```
    /// use dielet_core::link::Technology;
    /// let error = Technology::from_toml("name = 'x'\nsumary = 'y'", "x.toml").unwrap_err();
    /// assert_eq!(error.to_string(), "x.toml: unknown key `sumary`: did you mean `summary`?");
    /// ```
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, TechnologyError> {
        let technology: Self = spec::parse(text, origin)?;
        let wired = technology.wire.is_some() && technology.transceiver.is_some();
        if technology.published.is_some() == wired {
            return Err(TechnologyError::Kind { file: origin.to_owned(), name: technology.name });
        }
        Ok(technology)
    }
}
