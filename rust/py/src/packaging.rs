//! Wafers: a packaging process as a handle, one wafer as a dict.

use dielet_core::packaging::packing::Outline;
use dielet_core::packaging::{self, PackagingSpec, WaferAsk};
use dielet_core::spec;
use dielet_core::units::{
    AREA, BIT_RATE, BitsPerSecond, DEFECTS, DefectDensity, Dimension, LENGTH, Meters, POWER, SquareMeters,
    VOLTAGE, Volts, Watts,
};
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Deserialize;

use crate::error::{Class, Error, read};
use crate::link::Given;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    die: String,
    gap: Option<Given>,
    usable_diameter: Option<Given>,
    substrate: Option<String>,
    reserve: Option<Given>,
    power: Option<Given>,
    power_limit: Option<Given>,
    regulator_efficiency: Option<f64>,
    external: Option<Given>,
    layers: Option<u32>,
    utilisation: Option<f64>,
    pads: Option<u64>,
    pillars: Option<u32>,
    pillar_yield: Option<f64>,
    defect_density: Option<Given>,
    #[serde(default)]
    spares: u64,
    supply: Option<Given>,
}

fn quantity(given: Option<&Given>, dimension: &Dimension) -> Result<Option<f64>, Error> {
    given.map(|given| given.value(dimension)).transpose()
}

/// `12mmx12mm` as two sides, `500mm2` as a square.
fn sides(text: &str) -> Result<(Meters, Meters), Error> {
    // The cut is the `x` that a unit stands before: no unit of length holds one.
    if let Some((width, height)) = text.split_once(['x', '\u{d7}']) {
        return Ok((Meters(LENGTH.parse(width)?), Meters(LENGTH.parse(height)?)));
    }
    let side = Meters(AREA.parse(text)?.sqrt());
    Ok((side, side))
}

impl Asked {
    fn ask(&self) -> Result<WaferAsk, Error> {
        let diameter = quantity(self.usable_diameter.as_ref(), &LENGTH)?.map(|d| Outline::Round(Meters(d)));
        let panel = self.substrate.as_deref().map(sides).transpose()?;
        Ok(WaferAsk {
            die: sides(&self.die)?,
            gap: quantity(self.gap.as_ref(), &LENGTH)?.map(Meters),
            outline: panel.map(|(width, height)| Outline::Rectangle(width, height)).or(diameter),
            reserve: SquareMeters(quantity(self.reserve.as_ref(), &AREA)?.unwrap_or(0.0)),
            power: quantity(self.power.as_ref(), &POWER)?.map(Watts),
            power_limit: quantity(self.power_limit.as_ref(), &POWER)?.map(Watts),
            regulator_efficiency: self.regulator_efficiency,
            external: quantity(self.external.as_ref(), &BIT_RATE)?.map(BitsPerSecond),
            layers: self.layers,
            utilisation: self.utilisation,
            pads: self.pads,
            pillars: self.pillars,
            pillar_yield: self.pillar_yield,
            defect_density: quantity(self.defect_density.as_ref(), &DEFECTS)?.map(DefectDensity),
            spares: self.spares,
            supply: quantity(self.supply.as_ref(), &VOLTAGE)?.map(Volts),
        })
    }
}

/// A packaging process, read and checked once.
#[pyclass(frozen, module = "dielet._core")]
pub(crate) struct Packaging(PackagingSpec);

#[pymethods]
impl Packaging {
    /// Reads a spec; `origin` names it in errors.
    #[staticmethod]
    fn from_toml(text: &str, origin: &str) -> Result<Self, Error> {
        Ok(Self(spec::parse(text, origin)?))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn summary(&self) -> &str {
        &self.0.summary
    }

    /// Every number with its source and confidence.
    fn to_dict<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Error> {
        Ok(pythonize(py, &self.0).map_err(PyErr::from)?)
    }

    /// Dies, yields, power and cost of one wafer.
    fn wafer<'py>(&self, py: Python<'py>, asked: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Error> {
        let ask = read::<Asked>(asked, Class::Spec, "wafer")?.ask()?;
        let report = py.detach(|| packaging::wafer(&self.0, &ask))?;
        Ok(pythonize(py, &report).map_err(PyErr::from)?)
    }
}
