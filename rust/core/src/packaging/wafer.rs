//! A wafer of dies: how many, limited by what; yield, power, cost.

use serde::Serialize;

use super::cost::{self, Cost};
use super::packing::{Outline, Tile, pack, pack_rows};
use super::power::{current, edge_fed_drop, mesh, powered, sheet};
use super::spec::PackagingSpec;
use super::yields::{at_least, bond_yield, die_yield, substrate_yield};
use crate::link::density::pads;
use crate::units::{BitsPerSecond, DefectDensity, LENGTH, Meters, SquareMeters, Volts, Watts};

/// Why a wafer cannot be reckoned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WaferError {
    /// A value that no die or wafer can have.
    #[error("{what} of {value} is outside {range}: {remedy}")]
    Range {
        /// The quantity.
        what: &'static str,
        /// As given.
        value: String,
        /// What is accepted.
        range: &'static str,
        /// What to do.
        remedy: &'static str,
    },
}

/// What is asked of a wafer; the packaging's file gives what is none.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct WaferAsk {
    pub die: (Meters, Meters),
    pub gap: Option<Meters>,
    pub outline: Option<Outline>,
    /// Area kept for regulators and external I/O.
    pub reserve: SquareMeters,
    /// Power of one die; none leaves power out.
    pub power: Option<Watts>,
    /// What the whole may take; none leaves it to the cooling.
    pub power_limit: Option<Watts>,
    pub regulator_efficiency: Option<f64>,
    /// What one die sends and receives off the wafer.
    pub external: Option<BitsPerSecond>,
    pub layers: Option<u32>,
    pub utilisation: Option<f64>,
    pub pads: Option<u64>,
    pub pillars: Option<u32>,
    pub pillar_yield: Option<f64>,
    pub defect_density: Option<DefectDensity>,
    /// Dies that may fail without harm.
    pub spares: u64,
    pub supply: Option<Volts>,
}

/// Dies by each limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Limits {
    /// On one aligned grid.
    pub grid: u64,
    /// The proof of `grid`: no offset holds more.
    pub grid_bound: u64,
    /// In rows that slide freely.
    pub rows: u64,
    /// By area after what is kept free.
    pub area: u64,
    pub power: Option<u64>,
    pub cooling: Option<u64>,
    pub edge: Option<u64>,
}

/// Which share of each works.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Yields {
    pub die: f64,
    pub bond: f64,
    /// The bond with one pillar a pad.
    pub bond_single_pillar: f64,
    pub substrate: f64,
    pub system: f64,
    pub system_without_spares: f64,
}

/// A wafer as asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct WaferReport {
    pub dies: u64,
    pub limited_by: &'static str,
    pub limits: Limits,
    /// Rows and columns of the largest nearly square mesh of them.
    pub mesh: (u64, u64),
    pub r#yield: Yields,
    pub pads_per_die: u64,
    pub expected_bad_dies: f64,
    pub die_area_m2: f64,
    pub substrate_area_m2: f64,
    pub silicon_share: f64,
    pub power_w: Option<f64>,
    pub power_density_w_per_m2: Option<f64>,
    pub current_a: Option<f64>,
    pub supply_v: f64,
    pub edge_fed_drop_v: Option<f64>,
    pub cost: Cost,
    pub notes: Vec<String>,
}

/// Reckons a wafer: the fewest dies of all limits, and what follows from them.
///
/// `dies = min(packing, (A - reserve) / die, P eta / P_die, q A eta / P_die, edge bandwidth / external)`.
///
/// Worked: 700 mm2 modules of 270 W under 9.3 kW at 85 % are 29, limited by power, though 82 fit (HPCA 2019).
pub fn wafer(spec: &PackagingSpec, ask: &WaferAsk) -> Result<WaferReport, WaferError> {
    let outline = ask.outline.unwrap_or(Outline::Round(spec.usable_diameter.value));
    check(spec, ask, &outline)?;
    let limits = limits(spec, ask, &outline);
    let (dies, limited_by) = fewest(&limits);
    let (yields, pads_per_die, each) = yields(spec, ask, dies, &outline);
    let mut report = WaferReport {
        dies,
        limited_by,
        mesh: mesh(dies),
        limits,
        r#yield: yields,
        pads_per_die,
        expected_bad_dies: dies as f64 * (1.0 - each),
        die_area_m2: die_area(ask).value(),
        substrate_area_m2: outline.area(),
        silicon_share: dies as f64 * die_area(ask).value() / outline.area(),
        power_w: None,
        power_density_w_per_m2: None,
        current_a: None,
        supply_v: ask.supply.unwrap_or(spec.supply.value).value(),
        edge_fed_drop_v: None,
        cost: cost::system(spec, dies, die_area(ask), outline.area(), yields.die, yields.system),
        notes: Vec::new(),
    };
    feed(&mut report, spec, ask);
    Ok(report)
}

fn die_area(ask: &WaferAsk) -> SquareMeters {
    SquareMeters(ask.die.0.value() * ask.die.1.value())
}

fn limits(spec: &PackagingSpec, ask: &WaferAsk, outline: &Outline) -> Limits {
    let tile = Tile { width: ask.die.0, height: ask.die.1, gap: ask.gap.unwrap_or(spec.gap.value) };
    let grid = pack(&tile, outline);
    let rows = match outline {
        Outline::Round(diameter) => pack_rows(&tile, *diameter).dies,
        Outline::Rectangle(..) => grid.dies,
    };
    let efficiency = ask.regulator_efficiency.unwrap_or(spec.regulator_efficiency.value);
    let cooled = Watts(spec.cooling.value.value() * outline.area());
    let edge = spec.external_bandwidth.value.value() * outline.edge();
    let free = (outline.area() - ask.reserve.value()).max(0.0);
    Limits {
        grid: grid.dies,
        grid_bound: grid.bound,
        rows,
        area: (free / die_area(ask).value() + 1e-9).floor() as u64,
        power: ask.power.zip(ask.power_limit).map(|(die, limit)| powered(limit, efficiency, die)),
        cooling: ask.power.map(|die| powered(cooled, efficiency, die)),
        edge: ask.external.map(|external| (edge / external.value() + 1e-9).floor() as u64),
    }
}

/// The tightest limit; of equal ones the first named.
fn fewest(limits: &Limits) -> (u64, &'static str) {
    let named = [
        (Some(limits.grid.min(limits.area)), "area"),
        (limits.power, "power"),
        (limits.cooling, "cooling"),
        (limits.edge, "edge"),
    ];
    let set = named.into_iter().filter_map(|(dies, name)| dies.map(|dies| (dies, name)));
    set.min_by_key(|(dies, _)| *dies).unwrap_or((0, "area"))
}

/// The yields, the pads of a die, and the chance that a bonded die works.
fn yields(spec: &PackagingSpec, ask: &WaferAsk, dies: u64, outline: &Outline) -> (Yields, u64, f64) {
    let pads = ask.pads.unwrap_or_else(|| pads(die_area(ask), spec.pad_pitch.value, 1).1);
    let pillar = ask.pillar_yield.unwrap_or(spec.pillar_yield.value);
    let bond = bond_yield(pillar, ask.pillars.unwrap_or(spec.pillars.value), pads);
    let density = ask.defect_density.unwrap_or(spec.defect_density.value);
    let die = die_yield(die_area(ask), density, spec.critical_fraction.value, spec.clustering.value);
    let substrate = substrate_yield(
        ask.utilisation.unwrap_or(spec.utilisation.value),
        ask.layers.unwrap_or(spec.layers.value),
        SquareMeters(outline.area()),
    );
    // Among the dies that pass the test, the bad ones are `escape (1 - Y)` to `Y`.
    let passed_bad = spec.test_escape.value * (1.0 - die);
    let known_good = die / (die + passed_bad);
    let each = bond * spec.alignment_yield.value * known_good;
    let needed = dies.saturating_sub(ask.spares);
    let yields = Yields {
        die,
        bond,
        bond_single_pillar: bond_yield(pillar, 1, pads),
        substrate,
        system: substrate * at_least(needed, dies, each),
        system_without_spares: substrate * at_least(dies, dies, each),
    };
    (yields, pads, each)
}

fn feed(report: &mut WaferReport, spec: &PackagingSpec, ask: &WaferAsk) {
    let Some(die) = ask.power else { return };
    let efficiency = ask.regulator_efficiency.unwrap_or(spec.regulator_efficiency.value);
    let dies = die * report.dies as f64;
    let drawn = dies / efficiency;
    let amperes = current(dies, Volts(report.supply_v));
    let plane = sheet(spec.plane_resistivity.value, spec.plane_thickness.value);
    let drop = edge_fed_drop(plane, amperes);
    report.power_w = Some(drawn.value());
    report.power_density_w_per_m2 = Some(drawn.value() / report.substrate_area_m2);
    report.current_a = Some(amperes.value());
    report.edge_fed_drop_v = Some(drop.value());
    if drop.value() > 0.1 * report.supply_v {
        report.notes.push(format!(
            "fed from the edge, the middle would lose {drop} of {}: feed through the wafer or from the top, \
             or at a higher voltage with regulators on the wafer",
            Volts(report.supply_v)
        ));
    }
}

fn check(spec: &PackagingSpec, ask: &WaferAsk, outline: &Outline) -> Result<(), WaferError> {
    let sides = [("a die side", ask.die.0), ("a die side", ask.die.1)];
    for (what, side) in sides {
        inside(what, side.value(), 1e-4..=0.3, LENGTH.format(side.value()), "0.1 mm .. 300 mm")?;
    }
    let gap = ask.gap.unwrap_or(spec.gap.value);
    inside("a gap", gap.value(), 0.0..=0.1, LENGTH.format(gap.value()), "0 .. 100 mm")?;
    inside(
        "a substrate",
        outline.area().sqrt(),
        1e-3..=1.0,
        format!("{:.1} mm2", outline.area() * 1e6),
        "1 mm2 .. 1 m2",
    )?;
    let shares = [
        ("a regulator efficiency", ask.regulator_efficiency),
        ("a utilisation", ask.utilisation),
        ("a pillar yield", ask.pillar_yield),
    ];
    for (what, share) in shares {
        let share = share.unwrap_or(1.0);
        inside(what, share, f64::MIN_POSITIVE..=1.0, share.to_string(), "above 0 .. 1")?;
    }
    if let Some(power) = ask.power {
        inside("a die power", power.value(), 1e-6..=1e6, power.to_string(), "above 0 .. 1 MW")?;
    }
    Ok(())
}

fn inside(
    what: &'static str,
    value: f64,
    accepted: std::ops::RangeInclusive<f64>,
    text: String,
    range: &'static str,
) -> Result<(), WaferError> {
    if accepted.contains(&value) {
        return Ok(());
    }
    Err(WaferError::Range { what, value: text, range, remedy: "check the number and its unit" })
}
