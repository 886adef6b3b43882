//! Devices that may be exchanged without changing the instance.

use super::instance::Instance;

/// Classes of interchangeable devices.
pub(crate) fn device_classes(instance: &Instance) -> Vec<Vec<usize>> {
    let mut classes: Vec<Vec<usize>> = vec![];
    for d in 0..instance.devices {
        match classes.iter_mut().find(|class| interchangeable(instance, class[0], d)) {
            Some(class) => class.push(d),
            None => classes.push(vec![d]),
        }
    }
    classes
}

/// Whether every permutation of devices leaves the instance as it is.
pub(crate) fn interchangeable_all(instance: &Instance) -> bool {
    device_classes(instance).len() == 1
}

/// The state with devices renamed in order of first use.
pub(crate) fn canonical(state: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = vec![];
    let mut rename = |d: usize| {
        order.iter().position(|&o| o == d).unwrap_or_else(|| {
            order.push(d);
            order.len() - 1
        })
    };
    state.iter().map(|&d| rename(d)).collect()
}

fn interchangeable(instance: &Instance, a: usize, b: usize) -> bool {
    let swap = |d: usize| match d {
        d if d == a => b,
        d if d == b => a,
        d => d,
    };
    let pairs = || (0..instance.devices).flat_map(|s| (0..instance.devices).map(move |d| (s, d)));
    instance.capacity[a].total_cmp(&instance.capacity[b]).is_eq()
        && (0..instance.groups.len()).all(|g| instance.may(g, a) == instance.may(g, b))
        && instance.times.iter().all(|times| times[a] == times[b])
        && (0..instance.nets.len()).all(|t| {
            pairs().all(|(s, d)| instance.move_ticks(t, s, d) == instance.move_ticks(t, swap(s), swap(d)))
        })
}
