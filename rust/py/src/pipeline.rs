//! The timeline of a pipeline schedule.

use dielet_core::pipeline::{StageTime, run};
use dielet_core::plan::Schedule;
use dielet_core::units::Seconds;
use pyo3::prelude::*;

use crate::error::{Class, Error, read};

/// When a step of `micro_batches` ends on each of `stages` devices, in seconds.
///
/// `forward`, `backward` and `send` have one entry per virtual stage, a multiple of `stages`; virtual stage `i` is on
/// device `i % stages`. With more than one a device, micro-batches are a multiple of `stages`.
#[pyfunction]
pub(crate) fn pipeline_ends_s(
    forward: Vec<f64>,
    backward: Vec<f64>,
    send: Vec<f64>,
    stages: usize,
    micro_batches: usize,
    schedule: &Bound<'_, PyAny>,
) -> Result<Vec<f64>, Error> {
    let schedule: Schedule = read(schedule, Class::Plan, "schedule")?;
    let each = forward.len();
    let whole = stages > 0 && each > 0 && each.is_multiple_of(stages);
    let rounds = each <= stages || micro_batches.is_multiple_of(stages.max(1));
    if !whole || !rounds || backward.len() != each || send.len() != each {
        let what = "forward, backward, send".to_owned();
        let fault =
            format!("give each of them one entry per virtual stage, and whole rounds of {stages} stages");
        return Err(Error::Input { class: Class::Plan, what, fault });
    }
    let times = forward.into_iter().zip(backward).zip(send);
    let times: Vec<StageTime> = times
        .map(|((forward, backward), send)| StageTime {
            forward: Seconds(forward),
            backward: Seconds(backward),
            send: Seconds(send),
        })
        .collect();
    Ok(run(&times, stages, micro_batches, schedule).end.into_iter().map(Seconds::value).collect())
}
