//! A technology at a geometry: what the user set, the file's defaults for the rest, and whether all of it is in range.

use super::driver::{Load, Transceiver};
use super::response::Channel;
use super::technology::{Technology, TechnologyError, WireSpec};
use crate::units::{Dimension, Farads, LENGTH, Meters, Ohms};
use crate::wire::{
    Capacitance, Dielectric, Geometry, Metal, Planes, capacitance, resistance, self_inductance,
};

/// What the user sets; the technology fills the rest.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Choice {
    /// Wire pitch.
    pub pitch: Option<Meters>,
    /// Wire length.
    pub length: Option<Meters>,
    /// Signal layers.
    pub layers: Option<u32>,
    /// Width, otherwise half the pitch.
    pub width: Option<Meters>,
    /// Thickness, otherwise by the stack of the pitch.
    pub thickness: Option<Meters>,
    /// Distance to the plane, likewise.
    pub height: Option<Meters>,
    /// Planes, otherwise the technology's.
    pub planes: Option<Planes>,
    /// A grounded wire between every two signals.
    pub shielded: bool,
}

impl Choice {
    /// The first thing that only wires can have, if any was set.
    pub fn geometry(&self) -> Option<&'static str> {
        let Self { pitch, length, layers, width, thickness, height, planes, shielded } = *self;
        let lengths = [("pitch", pitch), ("length", length), ("width", width), ("thickness", thickness)];
        let set = lengths.into_iter().chain([("height", height)]).find(|(_, value)| value.is_some());
        let other = layers.map(|_| "layers").or(planes.map(|_| "planes")).or(shielded.then_some("shields"));
        set.map(|(name, _)| name).or(other)
    }
}

/// A wire technology with every number decided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Design {
    /// Wires and length.
    pub channel: Channel,
    /// Driver and receiver.
    pub transceiver: Transceiver,
    /// Pitch of the pads.
    pub pad_pitch: Meters,
    /// Signal layers.
    pub layers: u32,
    /// Share of the wires that carry a signal.
    pub signal_fraction: f64,
    /// Whether pitch, length and layers are what the technology is offered at.
    pub offered: bool,
}

/// Smallest and largest lengths that a wire of a chip, wafer or board can have.
const PITCH: (f64, f64) = (20e-9, 1e-3);
const LENGTH_LIMIT: (f64, f64) = (1e-6, 0.5);
const CROSS_SECTION: (f64, f64) = (5e-9, 1e-3);

impl Design {
    /// Decides every number of a wire technology.
    pub fn of(technology: &Technology, choice: &Choice) -> Result<Self, TechnologyError> {
        let (Some(wire), Some(transceiver)) = (&technology.wire, &technology.transceiver) else {
            let what = choice.geometry().unwrap_or("geometry");
            return Err(TechnologyError::NoGeometry { name: technology.name.clone(), what });
        };
        let geometry = geometry(wire, choice)?;
        let length = within("wire length", choice.length.unwrap_or(wire.length.value), LENGTH_LIMIT)?;
        let layers = choice.layers.unwrap_or(wire.layers.value);
        check_layers(layers)?;
        let shields = if choice.shielded { 0.5 } else { 1.0 };
        Ok(Self {
            channel: Channel {
                wire: geometry,
                metal: metal(wire),
                dielectric: Dielectric {
                    permittivity: wire.permittivity.value,
                    loss_tangent: wire.loss_tangent.value,
                },
                length,
                shielded: choice.shielded,
            },
            transceiver: transceiver.values(),
            pad_pitch: wire.pad_pitch.as_ref().map_or(geometry.pitch(), |pad| pad.value),
            layers,
            signal_fraction: wire.signal_percent.value / 100.0 * shields,
            offered: offered(wire, geometry.pitch(), length, layers),
        })
    }

    /// The same design at another pitch and length, its cross-section by the stack of the pitch.
    #[must_use]
    pub fn at(&self, pitch: Meters, length: Meters, layers: u32, wire: &WireSpec) -> Self {
        let mut moved = *self;
        let stack = Geometry::of_pitch(pitch);
        moved.channel.wire = Geometry {
            thickness: wire.thickness.as_ref().map_or(stack.thickness, |t| t.value),
            height: wire.height.as_ref().map_or(stack.height, |h| h.value),
            planes: self.channel.wire.planes,
            ..stack
        };
        moved.channel.length = length;
        moved.layers = layers;
        moved.pad_pitch = wire.pad_pitch.as_ref().map_or(pitch, |pad| pad.value);
        moved.offered = offered(wire, pitch, length, layers);
        moved
    }

    /// Capacitance of the wire.
    pub fn capacitance(&self) -> Capacitance {
        capacitance(&self.channel.wire, &self.channel.dielectric)
    }

    /// The wire as its driver sees it.
    pub fn load(&self, c: &Capacitance) -> Load {
        let Channel { wire, metal, dielectric, length, shielded } = &self.channel;
        let l = length.value();
        let pads = self.transceiver.pad_resistance * 2.0;
        // Behind grounded neighbours a wire is alone: mu0 eps over all of its capacitance.
        let inductance = if *shielded {
            crate::wire::MU0 * dielectric.eps() / c.total().value()
        } else {
            self_inductance(c, dielectric).value()
        };
        Load {
            resistance: Ohms(resistance(metal, wire).value() * l) + pads,
            capacitance: Farads(c.total().value() * l),
            inductance: inductance * l,
            length: *length,
        }
    }
}

fn offered(wire: &WireSpec, pitch: Meters, length: Meters, layers: u32) -> bool {
    // A thousandth of slack: 2 um computed from 1 um + 1 um must stay inside 2 um .. 10 um.
    let inside = |[low, high]: [Meters; 2], x: Meters| x >= low * 0.999 && x <= high * 1.001;
    inside(wire.pitch_range.value, pitch)
        && inside(wire.length_range.value, length)
        && layers <= wire.layers_max.value
}

fn metal(wire: &WireSpec) -> Metal {
    Metal {
        resistivity: wire.resistivity.value,
        mean_free_path: wire.mean_free_path.value,
        specularity: wire.specularity.value,
        reflectivity: wire.reflectivity.value,
        barrier: wire.barrier.value,
    }
}

fn geometry(wire: &WireSpec, choice: &Choice) -> Result<Geometry, TechnologyError> {
    let pitch = within("wire pitch", choice.pitch.unwrap_or(wire.pitch.value), PITCH)?;
    let stack = Geometry::of_pitch(pitch);
    let width = choice.width.unwrap_or(stack.width);
    let thickness = choice.thickness.or(wire.thickness.as_ref().map(|t| t.value)).unwrap_or(stack.thickness);
    let height = choice.height.or(wire.height.as_ref().map(|h| h.value)).unwrap_or(stack.height);
    let barrier = wire.barrier.value.value();
    within("wire width", width, (CROSS_SECTION.0.max(2.5 * barrier), 0.99 * pitch.value()))?;
    Ok(Geometry {
        width,
        spacing: pitch - width,
        thickness: within(
            "wire thickness",
            thickness,
            (CROSS_SECTION.0.max(2.5 * barrier), CROSS_SECTION.1),
        )?,
        height: within("distance to the plane", height, CROSS_SECTION)?,
        planes: choice.planes.unwrap_or(wire.planes.value),
    })
}

fn check_layers(layers: u32) -> Result<(), TechnologyError> {
    if (1..=64).contains(&layers) {
        return Ok(());
    }
    let (low, high) = ("1".to_owned(), "64".to_owned());
    let remedy = "give the number of signal layers";
    Err(TechnologyError::Range { what: "a number of layers", value: layers.to_string(), low, high, remedy })
}

fn within(what: &'static str, value: Meters, (low, high): (f64, f64)) -> Result<Meters, TechnologyError> {
    const LENGTHS: Dimension = LENGTH;
    if (low..=high).contains(&value.value()) {
        return Ok(value);
    }
    let text = |v: f64| LENGTHS.format(v);
    let remedy = "no wire has this; check the number and its unit";
    Err(TechnologyError::Range { what, value: text(value.value()), low: text(low), high: text(high), remedy })
}
