//! Texts such as `900 GB/s`, and what they mean.

use dielet_core::units::{DIMENSIONS, Dimension};
use pyo3::prelude::*;

use crate::error::{Class, Error};

fn dimension(what: &str) -> Result<&'static Dimension, Error> {
    DIMENSIONS.iter().find(|dimension| dimension.what == what).copied().ok_or_else(|| {
        let known: Vec<&str> = DIMENSIONS.iter().map(|dimension| dimension.what).collect();
        let fault = format!("no such kind of quantity; use one of {}", known.join(", "));
        Error::Input { class: Class::Spec, what: format!("`{what}`"), fault }
    })
}

/// The SI value of a text such as `10 um`, which must be a quantity of the kind `what` (`time`, `size`, ...).
#[pyfunction]
pub(crate) fn parse_quantity(text: &str, what: &str) -> Result<f64, Error> {
    Ok(dimension(what)?.parse(text)?)
}

/// A text of three digits for an SI value of the kind `what`.
#[pyfunction]
pub(crate) fn format_quantity(value: f64, what: &str) -> Result<String, Error> {
    Ok(dimension(what)?.format(value))
}
