//! Wires and links: one technology as a handle, one answer as a dict, a sweep as columns.

#![allow(clippy::needless_pass_by_value)] // PyO3 hands borrowed arrays over by value

use std::sync::Arc;

use dielet_core::fabric::Kind;
use dielet_core::link::density;
use dielet_core::link::response::Channel;
use dielet_core::link::{self, Ask, Choice};
use dielet_core::system::edge_of_port;
use dielet_core::units::{
    AREA, BitsPerSecond, Dimension, EdgeBandwidth, FREQUENCY, Hertz, JoulesPerBit, LENGTH, Meters, Ohms,
    RESISTANCE, SquareMeters,
};
use dielet_core::wire::{Dielectric, Geometry, Metal, Planes};
use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;
use serde::Deserialize;

use crate::error::{Class, Error, read};
use crate::system::Fabric;

/// A quantity as text with its unit, or as a float in SI.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Given {
    Si(f64),
    Text(String),
}

impl Given {
    pub(crate) fn value(&self, dimension: &Dimension) -> Result<f64, Error> {
        match self {
            Self::Si(value) => Ok(*value),
            Self::Text(text) => Ok(dimension.parse(text)?),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    pitch: Option<Given>,
    length: Option<Given>,
    layers: Option<u32>,
    width: Option<Given>,
    thickness: Option<Given>,
    height: Option<Given>,
    planes: Option<Planes>,
    #[serde(default)]
    shielded: bool,
    frequency: Option<Given>,
    frequency_to: Option<Given>,
    #[serde(default)]
    frequency_points: usize,
    reference: Option<Given>,
    die: Option<Given>,
}

fn lengths(given: Option<&Given>) -> Result<Option<Meters>, Error> {
    given.map(|given| given.value(&LENGTH).map(Meters)).transpose()
}

impl Asked {
    fn choice(&self) -> Result<Choice, Error> {
        Ok(Choice {
            pitch: lengths(self.pitch.as_ref())?,
            length: lengths(self.length.as_ref())?,
            layers: self.layers,
            width: lengths(self.width.as_ref())?,
            thickness: lengths(self.thickness.as_ref())?,
            height: lengths(self.height.as_ref())?,
            planes: self.planes,
            shielded: self.shielded,
        })
    }

    fn ask(&self) -> Result<Ask, Error> {
        let value = |given: &Option<Given>, dimension, default| {
            given.as_ref().map_or(Ok(default), |given| given.value(dimension))
        };
        let low = value(&self.frequency, &FREQUENCY, 0.1e9)?;
        let high = value(&self.frequency_to, &FREQUENCY, 100e9)?;
        let die = self.die.as_ref().map(|given| given.value(&AREA)).transpose()?;
        Ok(Ask {
            choice: self.choice()?,
            frequencies: link::response::spaced(Hertz(low), Hertz(high), self.frequency_points)?,
            reference: Ohms(value(&self.reference, &RESISTANCE, 50.0)?),
            die: die.map(SquareMeters),
        })
    }
}

/// A packaging technology, read and checked once.
#[pyclass(frozen, module = "dielet._core")]
pub(crate) struct Technology(link::Technology);

#[pymethods]
impl Technology {
    /// Reads a spec; `origin` names it in errors.
    #[staticmethod]
    fn from_toml(text: &str, origin: &str) -> Result<Self, Error> {
        Ok(Self(link::Technology::from_toml(text, origin)?))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn summary(&self) -> &str {
        &self.0.summary
    }

    #[getter]
    fn source(&self) -> &str {
        &self.0.source
    }

    /// Whether it is known by wires, whose geometry can be chosen.
    #[getter]
    fn has_geometry(&self) -> bool {
        self.0.wire.is_some()
    }

    /// Every number with its source and confidence.
    fn to_dict<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Error> {
        Ok(pythonize(py, &self.0).map_err(PyErr::from)?)
    }

    /// All that is known of a link at a geometry.
    fn report<'py>(&self, py: Python<'py>, asked: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Error> {
        let ask = read::<Asked>(asked, Class::Spec, "fabric")?.ask()?;
        let report = py.detach(|| link::report(&self.0, &ask))?;
        Ok(pythonize(py, &report).map_err(PyErr::from)?)
    }

    /// Bandwidth per device and direction, latency and energy of a tier whose device gives it `edge_m` of edge.
    fn tier<'py>(
        &self,
        py: Python<'py>,
        asked: &Bound<'py, PyAny>,
        edge_m: f64,
    ) -> Result<Bound<'py, PyAny>, Error> {
        let choice = read::<Asked>(asked, Class::Spec, "fabric")?.choice()?;
        let figures = link::tier_figures(&self.0, &choice, Meters(edge_m))?;
        Ok(pythonize(py, &figures).map_err(PyErr::from)?)
    }

    /// A fabric whose innermost links are these wires: `like` gives topology and the library's constants, `die_m2` and
    /// `share` the edge that serves the tier.
    #[pyo3(signature = (like, asked, name, die_m2=500e-6, share=0.5, topology=None))]
    fn fabric<'py>(
        &self,
        like: &Fabric,
        asked: &Bound<'py, PyAny>,
        name: &str,
        die_m2: f64,
        share: f64,
        topology: Option<&Bound<'py, PyAny>>,
    ) -> Result<Fabric, Error> {
        let choice = read::<Asked>(asked, Class::Spec, "fabric")?.choice()?;
        let kind = topology.map(|kind| read::<Kind>(kind, Class::Spec, "topology")).transpose()?;
        let port = edge_of_port(SquareMeters(die_m2), kind.unwrap_or(like.0.tier.topology), share);
        let figures = link::tier_figures(&self.0, &choice, port)?;
        Ok(Fabric(Arc::new(like.0.on_link(name, kind, &figures, name))))
    }

    /// Up to which frequency loss and crosstalk hold, by pitch and return path.
    #[pyo3(signature = (pitch_m, length_m=500e-6, reference_ohm=50.0))]
    fn limits<'py>(
        &self,
        py: Python<'py>,
        pitch_m: Vec<f64>,
        length_m: f64,
        reference_ohm: f64,
    ) -> Result<Bound<'py, PyAny>, Error> {
        let pitches: Vec<_> = pitch_m.into_iter().map(Meters).collect();
        let rows = py.detach(|| {
            link::benefit::limit_table(&self.0, &pitches, Meters(length_m), Ohms(reference_ohm))
        })?;
        Ok(pythonize(py, &rows).map_err(PyErr::from)?)
    }

    /// Link figures over columns of pitch, length and layers.
    #[pyo3(signature = (pitch_m, length_m, layers, shielded=false))]
    fn sweep<'py>(
        &self,
        py: Python<'py>,
        pitch_m: PyReadonlyArray1<'py, f64>,
        length_m: PyReadonlyArray1<'py, f64>,
        layers: PyReadonlyArray1<'py, u32>,
        shielded: bool,
    ) -> Result<Bound<'py, PyDict>, Error> {
        let (pitch, length, layers) = (pitch_m.as_array(), length_m.as_array(), layers.as_array());
        let rows = pitch.iter().zip(length).zip(layers);
        let rows = rows.map(|((pitch, length), layers)| (Meters(*pitch), Meters(*length), *layers));
        let rows: Vec<_> = rows.collect();
        let columns = py.detach(|| link::columns::sweep(&self.0, &rows, shielded))?;
        as_arrays(py, columns)
    }

    /// Loss and crosstalk in dB over columns of pitch and length (rows) and frequencies (columns).
    #[pyo3(signature = (pitch_m, length_m, frequency_hz, shielded=false, reference_ohm=50.0))]
    fn response<'py>(
        &self,
        py: Python<'py>,
        pitch_m: PyReadonlyArray1<'py, f64>,
        length_m: PyReadonlyArray1<'py, f64>,
        frequency_hz: PyReadonlyArray1<'py, f64>,
        shielded: bool,
        reference_ohm: f64,
    ) -> Result<Bound<'py, PyDict>, Error> {
        let rows: Vec<_> = pitch_m
            .as_array()
            .iter()
            .zip(length_m.as_array())
            .map(|(pitch, length)| (Meters(*pitch), Meters(*length), 1))
            .collect();
        let frequencies: Vec<_> = frequency_hz.as_array().iter().map(|f| Hertz(*f)).collect();
        let shape = [rows.len(), frequencies.len()];
        let columns = py.detach(|| {
            link::columns::response(&self.0, &rows, &frequencies, Ohms(reference_ohm), shielded)
        })?;
        let dict = PyDict::new(py);
        for (name, column) in columns {
            dict.set_item(name, column.into_pyarray(py).reshape(shape)?)?;
        }
        Ok(dict)
    }
}

/// Reports of technologies side by side and their ratios to one of them.
#[pyfunction]
pub(crate) fn compare_links<'py>(
    py: Python<'py>,
    technologies: Vec<PyRef<'py, Technology>>,
    against: usize,
    asked: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyAny>, Error> {
    let ask = read::<Asked>(asked, Class::Spec, "fabric")?.ask()?;
    let handles: Vec<_> = technologies.iter().map(|technology| &technology.0).collect();
    let compared = link::compare::compare(&handles, against.min(handles.len().saturating_sub(1)), &ask)?;
    Ok(pythonize(py, &compared).map_err(PyErr::from)?)
}

fn as_arrays(py: Python<'_>, columns: link::columns::Columns) -> Result<Bound<'_, PyDict>, Error> {
    let dict = PyDict::new(py);
    for (name, column) in columns {
        dict.set_item(name, column.into_pyarray(py))?;
    }
    Ok(dict)
}

/// Capacitance, resistance and inductance per length over columns of cross-sections, copper in oxide.
#[pyfunction]
#[pyo3(signature = (width_m, spacing_m, thickness_m, height_m, both_planes=false, permittivity=3.9))]
pub(crate) fn wire_columns<'py>(
    py: Python<'py>,
    width_m: PyReadonlyArray1<'py, f64>,
    spacing_m: PyReadonlyArray1<'py, f64>,
    thickness_m: PyReadonlyArray1<'py, f64>,
    height_m: PyReadonlyArray1<'py, f64>,
    both_planes: bool,
    permittivity: f64,
) -> Result<Bound<'py, PyDict>, Error> {
    let planes = if both_planes { Planes::Both } else { Planes::Below };
    let sides = width_m.as_array().into_iter().zip(spacing_m.as_array());
    let stack = thickness_m.as_array().into_iter().zip(height_m.as_array());
    let wires: Vec<_> = sides
        .zip(stack)
        .map(|((w, s), (t, h))| Geometry {
            width: Meters(*w),
            spacing: Meters(*s),
            thickness: Meters(*t),
            height: Meters(*h),
            planes,
        })
        .collect();
    let dielectric = Dielectric { permittivity, ..Dielectric::OXIDE };
    as_arrays(py, py.detach(|| link::columns::wires(&wires, &dielectric)))
}

/// Share of a system's power that a cheaper bit saves, of the share that moved bits before.
#[pyfunction]
pub(crate) fn power_saving(share: f64, old_j_per_bit: f64, new_j_per_bit: f64) -> f64 {
    link::benefit::power_saving(share, JoulesPerBit(old_j_per_bit), JoulesPerBit(new_j_per_bit))
}

/// Share of a system's power in links above which a cheaper bit saves at least `saving`.
#[pyfunction]
pub(crate) fn share_needed(saving: f64, old_j_per_bit: f64, new_j_per_bit: f64) -> f64 {
    link::benefit::share_needed(saving, JoulesPerBit(old_j_per_bit), JoulesPerBit(new_j_per_bit))
}

/// Roofline speed-up of a kernel whose intensity is a share of the machine's balance, when bandwidth grows by `gain`.
#[pyfunction]
pub(crate) fn roofline_gain(intensity: f64, gain: f64) -> f64 {
    link::benefit::roofline_gain(intensity, gain)
}

/// Bit rate over length of edge, all wires.
#[pyfunction]
#[pyo3(signature = (pitch_m, layers, rate_bit_per_s, signal_fraction=1.0))]
pub(crate) fn edge_bandwidth(pitch_m: f64, layers: u32, rate_bit_per_s: f64, signal_fraction: f64) -> f64 {
    let rate = BitsPerSecond(rate_bit_per_s);
    density::edge_bandwidth(Meters(pitch_m), f64::from(layers), rate, signal_fraction).value()
}

/// Bytes per second over the four sides of a square die, all wires.
#[pyfunction]
pub(crate) fn perimeter_bandwidth(area_m2: f64, pitch_m: f64, layers: u32, rate_bit_per_s: f64) -> f64 {
    let edge = EdgeBandwidth(edge_bandwidth(pitch_m, layers, rate_bit_per_s, 1.0));
    density::perimeter_bandwidth(SquareMeters(area_m2), edge).value()
}

/// Loss and crosstalk in dB of one cross-section over a column of frequencies, copper in oxide.
#[pyfunction]
#[pyo3(signature = (width_m, spacing_m, thickness_m, height_m, length_m, frequency_hz, both_planes=false, shielded=false, reference_ohm=50.0))]
#[allow(clippy::too_many_arguments)] // a cross-section has that many sides
pub(crate) fn bus_response<'py>(
    py: Python<'py>,
    width_m: f64,
    spacing_m: f64,
    thickness_m: f64,
    height_m: f64,
    length_m: f64,
    frequency_hz: PyReadonlyArray1<'py, f64>,
    both_planes: bool,
    shielded: bool,
    reference_ohm: f64,
) -> Result<Bound<'py, PyDict>, Error> {
    let wire = Geometry {
        width: Meters(width_m),
        spacing: Meters(spacing_m),
        thickness: Meters(thickness_m),
        height: Meters(height_m),
        planes: if both_planes { Planes::Both } else { Planes::Below },
    };
    let length = Meters(length_m);
    let channel = Channel { wire, metal: Metal::COPPER, dielectric: Dielectric::OXIDE, length, shielded };
    let frequencies: Vec<_> = frequency_hz.as_array().iter().map(|f| Hertz(*f)).collect();
    as_arrays(py, link::columns::channels(&[channel], &frequencies, Ohms(reference_ohm)))
}
