//! Lower bounds that need no search.

use super::instance::{Instance, Ticks};

/// The larger of the longest path and the mean load: neither counts a transfer.
pub(crate) fn lower_bound(instance: &Instance) -> Ticks {
    longest_path(instance).max(mean_load(instance))
}

fn longest_path(instance: &Instance) -> Ticks {
    let mut finish = vec![0; instance.ops()];
    for &op in &instance.topological {
        let ready = instance.inputs[op].iter().map(|e| finish[e.op]).max().unwrap_or(0);
        finish[op] = ready + instance.shortest(op);
    }
    finish.into_iter().max().unwrap_or(0)
}

fn mean_load(instance: &Instance) -> Ticks {
    let total: Ticks = (0..instance.ops()).map(|op| instance.shortest(op)).sum();
    let devices = instance.devices as Ticks;
    (total + devices - 1) / devices
}
