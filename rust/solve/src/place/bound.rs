//! Lower bounds that need no search.

use super::instance::{Instance, NEVER, Ticks};

/// The larger of the longest path (with transfers that pins force) and the mean load.
pub(crate) fn lower_bound(instance: &Instance) -> Ticks {
    longest_path(instance).max(mean_load(instance))
}

/// Longest path when each edge on its own takes its best pair of devices.
fn longest_path(instance: &Instance) -> Ticks {
    let devices = instance.devices;
    let mut finish = vec![NEVER; instance.ops() * devices];
    let mut longest = 0;
    for &op in &instance.topological {
        let group = instance.group_of[op];
        for d in instance.choices(group) {
            let ready = instance.inputs[op].iter().map(|edge| {
                let arrival = |s: usize| {
                    finish[edge.op * devices + s]
                        + if s == d { 0 } else { instance.move_ticks(edge.tensor, s, d) }
                };
                let other = instance.group_of[edge.op];
                let sources = instance.choices(other).filter(|&s| other != group || s == d);
                sources.map(arrival).min().unwrap_or(NEVER)
            });
            finish[op * devices + d] = ready.max().unwrap_or(0) + instance.times[op][d];
        }
        longest = longest.max(finish[op * devices..(op + 1) * devices].iter().copied().min().unwrap_or(0));
    }
    longest
}

fn mean_load(instance: &Instance) -> Ticks {
    let total: Ticks = (0..instance.ops()).map(|op| instance.shortest(op)).sum();
    let devices = instance.devices as Ticks;
    (total + devices - 1) / devices
}
