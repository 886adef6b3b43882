//! The formulas over columns: one row per geometry, one column per figure.

use super::design::{Choice, Design};
use super::figures::{Figures, figures};
use super::response::{Channel, Prepared};
use super::technology::{Technology, TechnologyError};
use crate::units::{Hertz, Meters, Ohms};
use crate::wire::published::{sakurai, wong_one_plane, wong_two_planes};
use crate::wire::{Dielectric, Geometry, Metal, Planes, capacitance, resistance, self_inductance};

/// Named columns of equal length, in the order in which they are named.
pub type Columns = Vec<(&'static str, Vec<f64>)>;

/// Pitch, length and layers of a row.
pub type Row = (Meters, Meters, u32);

/// Every design of a sweep, each checked like a single one.
fn designs<'a>(
    technology: &'a Technology,
    rows: &'a [Row],
    shielded: bool,
) -> impl Iterator<Item = Result<Design, TechnologyError>> + 'a {
    rows.iter().map(move |&(pitch, length, layers)| {
        let (pitch, length, layers) = (Some(pitch), Some(length), Some(layers));
        Design::of(technology, &Choice { pitch, length, layers, shielded, ..Choice::default() })
    })
}

/// Link figures of each row.
pub fn sweep(technology: &Technology, rows: &[Row], shielded: bool) -> Result<Columns, TechnologyError> {
    const NAMES: [&str; 10] = [
        "r_ohm_per_m",
        "c_f_per_m",
        "c_coupling_f_per_m",
        "l_h_per_m",
        "latency_s",
        "energy_j_per_bit",
        "data_rate_bit_per_s_per_wire",
        "edge_bandwidth_bit_per_s_per_m",
        "areal_bandwidth_bit_per_s_per_m2",
        "in_range",
    ];
    let mut columns = NAMES.map(|_| Vec::with_capacity(rows.len()));
    for design in designs(technology, rows, shielded) {
        for (column, value) in columns.iter_mut().zip(row(&figures(&design?))) {
            column.push(value);
        }
    }
    Ok(NAMES.into_iter().zip(columns).collect())
}

fn row(figures: &Figures) -> [f64; 10] {
    [
        figures.resistance.value(),
        figures.capacitance.value(),
        figures.coupling.value(),
        figures.inductance.value(),
        figures.latency.total().value(),
        figures.energy.total().value(),
        figures.rate.value(),
        figures.edge_bandwidth.value(),
        figures.areal_bandwidth.value(),
        f64::from(u8::from(figures.in_range)),
    ]
}

/// Loss and crosstalk of each row at each frequency, row after row.
pub fn response(
    technology: &Technology,
    rows: &[Row],
    frequencies: &[Hertz],
    reference: Ohms,
    shielded: bool,
) -> Result<Columns, TechnologyError> {
    let each = designs(technology, rows, shielded).map(|design| design.map(|design| design.channel));
    Ok(channels(&each.collect::<Result<Vec<_>, _>>()?, frequencies, reference))
}

/// Loss and crosstalk of each channel at each frequency, channel after channel.
pub fn channels(channels: &[Channel], frequencies: &[Hertz], reference: Ohms) -> Columns {
    const NAMES: [&str; 5] = [
        "insertion_loss_db",
        "near_end_crosstalk_db",
        "far_end_crosstalk_db",
        "near_end_crosstalk_sum_db",
        "far_end_crosstalk_sum_db",
    ];
    let mut columns = NAMES.map(|_| Vec::with_capacity(channels.len() * frequencies.len()));
    for channel in channels {
        let prepared = Prepared::new(channel);
        for &frequency in frequencies {
            let at = prepared.at(frequency, reference);
            let values =
                [at.insertion_loss_db, at.near_end_db, at.far_end_db, at.near_end_sum_db, at.far_end_sum_db];
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
    }
    NAMES.into_iter().zip(columns).collect()
}

/// Resistance, inductance and capacitance of each cross-section, the published forms beside ours.
pub fn wires(wires: &[Geometry], dielectric: &Dielectric) -> Columns {
    const NAMES: [&str; 12] = [
        "r_ohm_per_m",
        "l_h_per_m",
        "c_f_per_m",
        "c_ground_f_per_m",
        "c_edge_f_per_m",
        "c_coupling_f_per_m",
        "c_second_f_per_m",
        "in_range",
        "sakurai_c_f_per_m",
        "sakurai_c_coupling_f_per_m",
        "wong_c_f_per_m",
        "wong_c_coupling_f_per_m",
    ];
    let mut columns = NAMES.map(|_| Vec::with_capacity(wires.len()));
    for wire in wires {
        columns.iter_mut().zip(section(wire, dielectric)).for_each(|(column, value)| column.push(value));
    }
    NAMES.into_iter().zip(columns).collect()
}

fn section(wire: &Geometry, dielectric: &Dielectric) -> [f64; 12] {
    let c = capacitance(wire, dielectric);
    let h = wire.height.value();
    let (w, s, t) = (wire.width.value() / h, wire.spacing.value() / h, wire.thickness.value() / h);
    let old = sakurai(w, s, t);
    let wong = match wire.planes {
        Planes::Below => wong_one_plane(w, s, t),
        Planes::Both => wong_two_planes(w, s, t),
    };
    let eps = dielectric.eps();
    [
        resistance(&Metal::COPPER, wire).value(),
        self_inductance(&c, dielectric).value(),
        c.total().value(),
        c.ground.value(),
        c.edge.value(),
        c.coupling.value(),
        c.second.value(),
        f64::from(u8::from(c.in_range)),
        eps * old.total(),
        eps * old.coupling,
        eps * wong.total(),
        eps * wong.coupling,
    ]
}
