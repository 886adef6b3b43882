//! All that is known of one link, as one record.

use serde::Serialize;

use super::density::{edge_bandwidth, pads, pitch_gain};
use super::design::{Choice, Design};
use super::driver::Budget;
use super::eye::{Bench, Eye};
use super::figures::{Figures, figures};
use super::response::{Channel, Prepared, first_crossing};
use super::technology::{Published, Reference, Technology, TechnologyError};
use crate::spec::Sourced;
use crate::units::{BitsPerSecond, Hertz, JoulesPerBit, Meters, Ohms, Seconds, SquareMeters};

/// Pitch of interposer bumps, against which finer pitches are counted (40 to 50 um).
pub(super) const BUMP_PITCH: Meters = Meters(50e-6);
/// The limits of the 2017 abstract: loss above -2 dB, crosstalk below -15 dB.
const LOSS_LIMIT_DB: f64 = -2.0;
const CROSSTALK_LIMIT_DB: f64 = -15.0;

/// Parts of a total and the total, ready to print.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Split<T> {
    /// Driver chain and transmitting end.
    pub driver: T,
    /// Wire.
    pub wire: T,
    /// Receiving end and first stage.
    pub receiver: T,
}

impl<T: Copy> From<Budget<T>> for Split<T> {
    fn from(Budget { driver, wire, receiver }: Budget<T>) -> Self {
        Self { driver, wire, receiver }
    }
}

/// R, L, C of the wire and its cross-section.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct WireReport {
    pub r_ohm_per_m: f64,
    pub c_f_per_m: f64,
    pub c_coupling_f_per_m: f64,
    pub l_h_per_m: f64,
    pub z0_ohm: f64,
    pub width_m: f64,
    pub spacing_m: f64,
    pub thickness_m: f64,
    pub height_m: f64,
    pub planes: crate::wire::Planes,
    pub shielded: bool,
}

/// The buffer chain as it was sized.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct ChainReport {
    pub stages: f64,
    pub effort: f64,
    pub delay_s: f64,
    pub transmit_f: f64,
    pub receive_f: f64,
    pub driver_ohm: f64,
}

/// A published point of the same link and how far ours is from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Residual {
    pub pitch_m: f64,
    pub length_m: f64,
    pub published_latency_s: f64,
    pub latency_s: f64,
    pub latency_residual: f64,
    pub published_energy_j_per_bit: f64,
    pub energy_j_per_bit: f64,
    pub energy_residual: f64,
    pub fitted: bool,
    pub source: String,
}

/// Where loss and crosstalk cross the limits of the 2017 abstract; none up to 200 GHz is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Limits {
    pub loss_2db_hz: Option<f64>,
    pub crosstalk_15db_hz: Option<f64>,
    pub crosstalk_sum_15db_hz: Option<f64>,
}

/// All that is known of one link. What a technology does not state is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Report {
    pub technology: String,
    pub summary: String,
    pub source: String,
    pub pitch_m: Option<f64>,
    pub length_m: Option<f64>,
    pub layers: Option<u32>,
    pub latency_s: f64,
    pub latency_parts_s: Option<Split<Seconds>>,
    pub hop_latency_s: Option<f64>,
    pub energy_j_per_bit: f64,
    pub energy_parts_j_per_bit: Option<Split<JoulesPerBit>>,
    pub activity: Option<f64>,
    pub data_rate_bit_per_s_per_wire: f64,
    pub rate_limited_by: &'static str,
    pub settled_rate_bit_per_s: Option<f64>,
    pub eye_rate_bit_per_s: Option<f64>,
    pub eye: Option<Eye>,
    pub edge_bandwidth_bit_per_s_per_m: Option<f64>,
    pub areal_bandwidth_bit_per_s_per_m2: Option<f64>,
    pub device_bandwidth_bytes_per_s: Option<f64>,
    pub wires_per_m: Option<f64>,
    pub pitch_gain: Option<f64>,
    pub pads_area: Option<u64>,
    pub pads_edge: Option<u64>,
    pub merit: Option<f64>,
    pub merit_per_latency: Option<f64>,
    pub wire: Option<WireReport>,
    pub chain: Option<ChainReport>,
    pub limits: Option<Limits>,
    pub frequency_hz: Vec<f64>,
    pub insertion_loss_db: Vec<f64>,
    pub near_end_crosstalk_db: Vec<f64>,
    pub far_end_crosstalk_db: Vec<f64>,
    pub near_end_crosstalk_sum_db: Vec<f64>,
    pub far_end_crosstalk_sum_db: Vec<f64>,
    pub references: Vec<Residual>,
    pub in_range: bool,
    pub range_notes: Vec<String>,
}

/// How a report is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Geometry.
    pub choice: Choice,
    /// Frequencies of the sweep.
    pub frequencies: Vec<Hertz>,
    /// Impedance of the ports.
    pub reference: Ohms,
    /// Dielet whose pads are counted.
    pub die: Option<SquareMeters>,
}

/// Figures of merit: `(bit/s/mm) / (pJ/bit)` in Gbit, and that over the latency in ns.
///
/// No definition of the group's own figure could be read, so this one is stated: bandwidth per edge over energy per bit.
///
/// ```
/// use dielet_core::link::report::merit;
/// use dielet_core::units::{EdgeBandwidth, JoulesPerBit, Seconds};
/// // 200 Gbit/s/mm at 0.31 pJ/bit are 645
/// let (merit, _) = merit(EdgeBandwidth(200e12), JoulesPerBit(0.31e-12), Seconds(1e-9));
/// assert!((merit - 645.0).abs() < 0.5);
/// ```
pub fn merit(density: crate::units::EdgeBandwidth, energy: JoulesPerBit, latency: Seconds) -> (f64, f64) {
    let merit = density.value() / 1e12 / (energy.value() / 1e-12);
    (merit, merit / (latency.value() / 1e-9))
}

/// All that is known of a technology at a geometry.
pub fn report(technology: &Technology, ask: &Ask) -> Result<Report, TechnologyError> {
    if let (Some(published), None) = (&technology.published, ask.choice.geometry()) {
        return Ok(of_published(technology, published, ask));
    }
    let design = Design::of(technology, &ask.choice)?;
    let mut report = of_design(technology, &design, ask);
    sweep(&mut report, &design, ask);
    report.references = residuals(technology)?;
    Ok(report)
}

fn empty(technology: &Technology) -> Report {
    Report {
        technology: technology.name.clone(),
        summary: technology.summary.clone(),
        source: technology.source.clone(),
        pitch_m: None,
        length_m: None,
        layers: None,
        latency_s: 0.0,
        latency_parts_s: None,
        hop_latency_s: technology.hop_latency.as_ref().map(|hop| hop.value.value()),
        energy_j_per_bit: 0.0,
        energy_parts_j_per_bit: None,
        activity: None,
        data_rate_bit_per_s_per_wire: 0.0,
        rate_limited_by: "published",
        settled_rate_bit_per_s: None,
        eye_rate_bit_per_s: None,
        eye: None,
        edge_bandwidth_bit_per_s_per_m: None,
        areal_bandwidth_bit_per_s_per_m2: None,
        device_bandwidth_bytes_per_s: None,
        wires_per_m: None,
        pitch_gain: None,
        pads_area: None,
        pads_edge: None,
        merit: None,
        merit_per_latency: None,
        wire: None,
        chain: None,
        limits: None,
        frequency_hz: Vec::new(),
        insertion_loss_db: Vec::new(),
        near_end_crosstalk_db: Vec::new(),
        far_end_crosstalk_db: Vec::new(),
        near_end_crosstalk_sum_db: Vec::new(),
        far_end_crosstalk_sum_db: Vec::new(),
        references: Vec::new(),
        in_range: true,
        range_notes: Vec::new(),
    }
}

fn of_published(technology: &Technology, published: &Published, ask: &Ask) -> Report {
    let density = published.edge_bandwidth.as_ref().map(|density| density.value);
    let (energy, latency) = (published.energy.value, published.latency.value);
    let merits = density.map(|density| merit(density, energy, latency));
    let pitch = published.pitch.as_ref().map(|pitch| pitch.value);
    let counted = pitch.zip(ask.die).map(|(pitch, die)| pads(die, pitch, 1));
    Report {
        pitch_m: pitch.map(Meters::value),
        length_m: published.reach.as_ref().map(|reach| reach.value.value()),
        latency_s: latency.value(),
        energy_j_per_bit: energy.value(),
        data_rate_bit_per_s_per_wire: published.rate.value.value(),
        edge_bandwidth_bit_per_s_per_m: density.map(crate::units::EdgeBandwidth::value),
        areal_bandwidth_bit_per_s_per_m2: published.areal_bandwidth.as_ref().map(|areal| areal.value.value()),
        device_bandwidth_bytes_per_s: published.device_bandwidth.as_ref().map(|device| device.value.value()),
        pitch_gain: pitch.map(|pitch| pitch_gain(pitch, BUMP_PITCH)),
        pads_area: counted.map(|(area, _)| area),
        pads_edge: counted.map(|(_, edge)| edge),
        merit: merits.map(|(merit, _)| merit),
        merit_per_latency: merits.map(|(_, merit)| merit),
        ..empty(technology)
    }
}

fn of_design(technology: &Technology, design: &Design, ask: &Ask) -> Report {
    let figures = figures(design);
    let bench = Bench::new(&design.channel, &design.transceiver);
    let eye_rate = bench.limit(figures.rate);
    let rate = figures.rate.min(eye_rate);
    let pitch = design.channel.wire.pitch();
    let density = edge_bandwidth(pitch, f64::from(design.layers), rate, design.signal_fraction);
    let (latency, energy) = (figures.latency.total(), figures.energy.total());
    let (merit, merit_per_latency) = merit(density, energy, latency);
    let counted = ask.die.map(|die| pads(die, design.pad_pitch, u64::from(design.layers)));
    Report {
        pitch_m: Some(pitch.value()),
        length_m: Some(design.channel.length.value()),
        layers: Some(design.layers),
        latency_s: latency.value(),
        latency_parts_s: Some(figures.latency.into()),
        energy_j_per_bit: energy.value(),
        energy_parts_j_per_bit: Some(figures.energy.into()),
        activity: Some(design.transceiver.activity),
        data_rate_bit_per_s_per_wire: rate.value(),
        rate_limited_by: limited_by(&figures, design, rate),
        settled_rate_bit_per_s: Some(figures.settled_rate.value()),
        eye_rate_bit_per_s: Some(eye_rate.value()),
        eye: (rate > BitsPerSecond::ZERO).then(|| bench.eye(rate)),
        edge_bandwidth_bit_per_s_per_m: Some(density.value()),
        areal_bandwidth_bit_per_s_per_m2: Some(
            super::density::areal_bandwidth(design.pad_pitch, rate, design.signal_fraction).value(),
        ),
        wires_per_m: Some(f64::from(design.layers) / pitch.value()),
        pitch_gain: Some(pitch_gain(pitch, BUMP_PITCH)),
        pads_area: counted.map(|(area, _)| area),
        pads_edge: counted.map(|(_, edge)| edge),
        merit: Some(merit),
        merit_per_latency: Some(merit_per_latency),
        wire: Some(wire_report(&figures, design)),
        chain: Some(chain_report(design)),
        in_range: figures.in_range,
        range_notes: range_notes(technology, design),
        ..empty(technology)
    }
}

fn limited_by(figures: &Figures, design: &Design, rate: BitsPerSecond) -> &'static str {
    if rate < figures.rate {
        "eye"
    } else if design.transceiver.clock < figures.settled_rate {
        "clock"
    } else {
        "settling"
    }
}

fn wire_report(figures: &Figures, design: &Design) -> WireReport {
    let wire = &design.channel.wire;
    WireReport {
        r_ohm_per_m: figures.resistance.value(),
        c_f_per_m: figures.capacitance.value(),
        c_coupling_f_per_m: figures.coupling.value(),
        l_h_per_m: figures.inductance.value(),
        z0_ohm: (figures.inductance.value() / figures.capacitance.value()).sqrt(),
        width_m: wire.width.value(),
        spacing_m: wire.spacing.value(),
        thickness_m: wire.thickness.value(),
        height_m: wire.height.value(),
        planes: wire.planes,
        shielded: design.channel.shielded,
    }
}

fn chain_report(design: &Design) -> ChainReport {
    let (stages, effort) = design.transceiver.stages();
    ChainReport {
        stages,
        effort,
        delay_s: design.transceiver.chain_delay().value(),
        transmit_f: design.transceiver.transmit().value(),
        receive_f: design.transceiver.receive().value(),
        driver_ohm: design.transceiver.driver.value(),
    }
}

fn range_notes(technology: &Technology, design: &Design) -> Vec<String> {
    let mut notes = Vec::new();
    if !design.capacitance().in_range {
        notes.push(
            "the cross-section lies outside the fit of the capacitance; the nearest correction is used"
                .to_owned(),
        );
    }
    if let (false, Some(wire)) = (design.offered, &technology.wire) {
        let ([low, high], [short, long]) = (wire.pitch_range.value, wire.length_range.value);
        notes.push(format!(
            "{} is offered at pitches of {low} .. {high}, lengths of {short} .. {long}, up to {} layers",
            technology.name, wire.layers_max.value
        ));
    }
    notes
}

fn sweep(report: &mut Report, design: &Design, ask: &Ask) {
    let prepared = Prepared::new(&design.channel);
    for &frequency in &ask.frequencies {
        let at = prepared.at(frequency, ask.reference);
        report.frequency_hz.push(frequency.value());
        report.insertion_loss_db.push(at.insertion_loss_db);
        report.near_end_crosstalk_db.push(at.near_end_db);
        report.far_end_crosstalk_db.push(at.far_end_db);
        report.near_end_crosstalk_sum_db.push(at.near_end_sum_db);
        report.far_end_crosstalk_sum_db.push(at.far_end_sum_db);
    }
    report.limits = Some(limits(&design.channel, ask.reference));
}

/// Where loss and crosstalk of a channel first break the limits of the 2017 abstract.
pub fn limits(channel: &Channel, reference: Ohms) -> Limits {
    let prepared = Prepared::new(channel);
    let at = |f: f64| prepared.at(Hertz(f), reference);
    Limits {
        loss_2db_hz: first_crossing(|f| at(f).insertion_loss_db < LOSS_LIMIT_DB),
        crosstalk_15db_hz: first_crossing(|f| at(f).near_end_db > CROSSTALK_LIMIT_DB),
        crosstalk_sum_15db_hz: first_crossing(|f| at(f).near_end_sum_db > CROSSTALK_LIMIT_DB),
    }
}

fn residuals(technology: &Technology) -> Result<Vec<Residual>, TechnologyError> {
    technology.reference.iter().map(|point| residual(technology, point)).collect()
}

fn residual(technology: &Technology, reference: &Sourced<Reference>) -> Result<Residual, TechnologyError> {
    let point = &reference.value;
    let choice = Choice { pitch: Some(point.pitch), length: Some(point.length), ..Choice::default() };
    let ours = figures(&Design::of(technology, &choice)?);
    let (latency, energy) = (ours.latency.total(), ours.energy.total());
    Ok(Residual {
        pitch_m: point.pitch.value(),
        length_m: point.length.value(),
        published_latency_s: point.latency.value(),
        latency_s: latency.value(),
        latency_residual: latency / point.latency - 1.0,
        published_energy_j_per_bit: point.energy.value(),
        energy_j_per_bit: energy.value(),
        energy_residual: energy / point.energy - 1.0,
        fitted: point.fitted,
        source: reference.source.clone(),
    })
}
