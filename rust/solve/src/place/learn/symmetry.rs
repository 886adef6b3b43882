//! Interchangeable devices: only one of the permutations is searched.

use super::literal::Lit;
use super::model::Model;
use crate::place::instance::Instance;
use crate::place::symmetry::device_classes;

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
