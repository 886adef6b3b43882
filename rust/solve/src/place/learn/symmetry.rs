//! Interchangeable devices: only one of the permutations is searched.

use super::literal::Lit;
use super::model::Model;
use crate::place::instance::Instance;

impl Model<'_> {
    /// In topological order of groups, a device is used only after the one before it in its class.
    pub(crate) fn break_symmetry(&mut self) {
        for class in device_classes(self.instance) {
            for pair in class.windows(2) {
                self.use_in_order(pair[0], pair[1]);
            }
        }
    }

    fn use_in_order(&mut self, earlier: usize, later: usize) {
        let mut before: Vec<Lit> = vec![];
        for group in group_order(self.instance) {
            let clause: Vec<Lit> = before.iter().copied().chain([!self.on[group][later]]).collect();
            self.require(&clause);
            before.push(self.on[group][earlier]);
        }
    }
}

fn group_order(instance: &Instance) -> Vec<usize> {
    let mut seen = vec![false; instance.groups.len()];
    let mut fresh = |g: &usize| !std::mem::replace(&mut seen[*g], true);
    instance.topological.iter().map(|&op| instance.group_of[op]).filter(|g| fresh(g)).collect()
}

/// Classes of devices that may be exchanged without changing the instance.
fn device_classes(instance: &Instance) -> Vec<Vec<usize>> {
    let mut classes: Vec<Vec<usize>> = vec![];
    for d in 0..instance.devices {
        match classes.iter_mut().find(|class| interchangeable(instance, class[0], d)) {
            Some(class) => class.push(d),
            None => classes.push(vec![d]),
        }
    }
    classes
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
