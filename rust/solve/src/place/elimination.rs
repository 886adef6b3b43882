//! Smallest sum of tables over shared variables, by variable elimination (non-serial dynamic programming).

use super::instance::{NEVER, Ticks};

/// Larger joined tables are not worth their memory.
const MOST_CELLS: usize = 1 << 16;

/// A cost for each assignment of its variables (ascending); the first variable varies slowest.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) scope: Vec<usize>,
    pub(crate) cost: Vec<Ticks>,
}

/// All assignments of `width` variables with `values` each, in table order.
pub(crate) fn states(width: usize, values: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..values.pow(width as u32)).map(move |cell| digits(cell, width, values))
}

fn digits(mut cell: usize, width: usize, values: usize) -> Vec<usize> {
    let mut state = vec![0; width];
    for digit in state.iter_mut().rev() {
        (*digit, cell) = (cell % values, cell / values);
    }
    state
}

impl Table {
    /// Cost under values of all variables, of which it picks its own.
    fn at(&self, values: usize, of: &dyn Fn(usize) -> usize) -> Ticks {
        self.cost[self.scope.iter().fold(0, |cell, &v| cell * values + of(v))]
    }
}

/// The smallest total and an assignment that has it; `None` when tables would grow too large.
pub(crate) fn eliminate(
    mut tables: Vec<Table>,
    variables: usize,
    values: usize,
) -> Option<(Ticks, Vec<usize>)> {
    let mut open: Vec<usize> = (0..variables).collect();
    let mut chosen: Vec<(usize, Table)> = vec![];
    while !open.is_empty() {
        let width = |v: usize| neighbours(&tables, v).len();
        let k = (0..open.len()).min_by_key(|&k| width(open[k]))?;
        let variable = open.remove(k);
        let scope = neighbours(&tables, variable);
        if values.checked_pow(scope.len() as u32).is_none_or(|cells| cells > MOST_CELLS) {
            return None;
        }
        let (involved, rest): (Vec<Table>, Vec<Table>) =
            tables.into_iter().partition(|table| table.scope.contains(&variable));
        let (cost, choice) = minimise_out(&involved, variable, &scope, values);
        tables = rest;
        tables.push(Table { scope: scope.clone(), cost });
        chosen.push((variable, Table { scope, cost: choice }));
    }
    let total = tables.iter().map(|table| table.cost[0]).sum::<Ticks>();
    Some((total, back_substitute(&chosen, variables, values)))
}

/// Other variables of the tables with `variable`.
fn neighbours(tables: &[Table], variable: usize) -> Vec<usize> {
    let involved = tables.iter().filter(|table| table.scope.contains(&variable));
    let mut all: Vec<usize> = involved.flat_map(|table| table.scope.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    all.retain(|&v| v != variable);
    all
}

fn minimise_out(
    tables: &[Table],
    variable: usize,
    scope: &[usize],
    values: usize,
) -> (Vec<Ticks>, Vec<Ticks>) {
    let best = |state: Vec<usize>| {
        let of = |value: usize| {
            let pick = |v: usize| {
                if v == variable { value } else { state[scope.iter().position(|&s| s == v).unwrap_or(0)] }
            };
            let sum: Ticks =
                tables.iter().map(|table| table.at(values, &pick)).fold(0, Ticks::saturating_add);
            sum.min(NEVER)
        };
        (0..values).map(|value| (of(value), value as Ticks)).min().unwrap_or((NEVER, 0))
    };
    states(scope.len(), values).map(best).unzip()
}

fn back_substitute(chosen: &[(usize, Table)], variables: usize, values: usize) -> Vec<usize> {
    let mut assignment = vec![0; variables];
    for (variable, table) in chosen.iter().rev() {
        assignment[*variable] = table.at(values, &|v| assignment[v]) as usize;
    }
    assignment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_two_tables() {
        let a = Table { scope: vec![0, 1], cost: vec![5, 1, 2, 7] };
        let b = Table { scope: vec![1, 2], cost: vec![3, 9, 8, 3] };
        assert_eq!(eliminate(vec![a, b], 3, 2), Some((4, vec![0, 1, 1])));
    }
}
