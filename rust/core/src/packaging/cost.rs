//! What a system on a substrate costs to make.

use serde::Serialize;

use super::spec::PackagingSpec;
use crate::units::{Dollars, SquareMeters};

/// Seconds of a year.
const YEAR: f64 = 365.25 * 86_400.0;

/// Cost of one good system, by part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Cost {
    pub dies_usd: f64,
    pub substrate_usd: f64,
    pub bonding_usd: f64,
    /// What failed systems add.
    pub scrap_usd: f64,
    pub total_usd: f64,
}

/// Cost of bonding one die: machine and operator time, `t (price / (life uptime) + wages / year)`.
///
/// Source: the cost model of CATCH (Graening et al. 2025).
pub fn bonding(spec: &PackagingSpec) -> Dollars {
    let machine = spec.machine_price.value.value() / (spec.machine_life.value.value() * spec.uptime.value);
    let operator = spec.operator_price.value.value() / YEAR;
    Dollars(spec.bond_time.value.value() * (machine + operator))
}

/// Cost of a good system: `(N A c / Y_die + A_sub c_sub + N bond) / Y_system`.
///
/// Dies are tested before bonding, so a bad one costs its silicon alone; a system that fails costs all of it.
pub fn system(
    spec: &PackagingSpec,
    dies: u64,
    die: SquareMeters,
    substrate: f64,
    die_yield: f64,
    system_yield: f64,
) -> Cost {
    let count = dies as f64;
    let dies_usd = count * die.value() * spec.die_price.value.value() / die_yield;
    let substrate_usd = substrate * spec.substrate_price.value.value();
    let bonding_usd = count * bonding(spec).value();
    let once = dies_usd + substrate_usd + bonding_usd;
    let total_usd = once / system_yield;
    Cost { dies_usd, substrate_usd, bonding_usd, scrap_usd: total_usd - once, total_usd }
}
