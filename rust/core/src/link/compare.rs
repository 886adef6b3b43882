//! Links side by side.

use serde::Serialize;

use super::design::{Choice, Design};
use super::report::{Ask, Report, report};
use super::technology::{Technology, TechnologyError};

/// A link's figures over those of another; null where either does not state the figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Ratios {
    pub latency: Option<f64>,
    pub energy: Option<f64>,
    pub data_rate: Option<f64>,
    pub edge_bandwidth: Option<f64>,
    pub merit: Option<f64>,
    pub merit_per_latency: Option<f64>,
}

impl Ratios {
    /// Of a link over another.
    pub fn of(link: &Report, other: &Report) -> Self {
        let over = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a / b);
        let figure = |of: fn(&Report) -> f64| over(Some(of(link)), Some(of(other)));
        Self {
            latency: figure(|r| r.latency_s),
            energy: figure(|r| r.energy_j_per_bit),
            data_rate: figure(|r| r.data_rate_bit_per_s_per_wire),
            edge_bandwidth: over(link.edge_bandwidth_bit_per_s_per_m, other.edge_bandwidth_bit_per_s_per_m),
            merit: over(link.merit, other.merit),
            merit_per_latency: over(link.merit_per_latency, other.merit_per_latency),
        }
    }
}

/// Reports side by side, and each over that of `against`: a technology takes the geometry where it is offered at it, and
/// else its own defaults.
pub fn compare(
    technologies: &[&Technology],
    against: usize,
    ask: &Ask,
) -> Result<(Vec<Report>, Vec<Ratios>), TechnologyError> {
    let plain = Ask { choice: Choice::default(), ..ask.clone() };
    let offered =
        |technology: &Technology| Design::of(technology, &ask.choice).is_ok_and(|design| design.offered);
    let one = |technology: &&Technology| report(technology, if offered(technology) { ask } else { &plain });
    let reports = technologies.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    let ratios = reports.iter().map(|report| Ratios::of(report, &reports[against])).collect();
    Ok((reports, ratios))
}
