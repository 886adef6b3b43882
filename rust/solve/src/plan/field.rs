//! The fields of a plan as columns of numbers.

use dielet_core::plan::{Mapping, Plan, Precision, Recompute, Schedule};

/// Beyond this no degree, batch or sequence makes sense, and products of them would not fit 64 bits.
const LARGEST: u64 = 1 << 24;

/// A field of a plan, set from a number: a count, 0 or 1 for a flag, a position among the choices for a word.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// As in [`Plan`].
    pub name: &'static str,
    /// The largest number that it takes.
    pub most: u64,
    set: fn(&mut Plan, u64),
}

const fn count(name: &'static str, set: fn(&mut Plan, u64)) -> Field {
    Field { name, most: LARGEST, set }
}

const fn flag(name: &'static str, set: fn(&mut Plan, u64)) -> Field {
    Field { name, most: 1, set }
}

const fn word(name: &'static str, choices: usize, set: fn(&mut Plan, u64)) -> Field {
    Field { name, most: choices as u64 - 1, set }
}

/// All of them.
pub const FIELDS: [Field; 18] = [
    count("dp", |plan, value| plan.dp = value),
    count("tp", |plan, value| plan.tp = value),
    count("pp", |plan, value| plan.pp = value),
    count("cp", |plan, value| plan.cp = value),
    count("ep", |plan, value| plan.ep = value),
    count("placed", |plan, value| plan.placed = value),
    count("virtual_stages", |plan, value| plan.virtual_stages = value),
    count("micro_batch", |plan, value| plan.micro_batch = value),
    count("batch", |plan, value| plan.batch = value),
    count("sequence", |plan, value| plan.sequence = value),
    count("time_chunks", |plan, value| plan.time_chunks = value),
    word("schedule", Schedule::ALL.len(), |plan, value| plan.schedule = Schedule::ALL[value as usize]),
    word("recompute", Recompute::ALL.len(), |plan, value| plan.recompute = Recompute::ALL[value as usize]),
    word("sharding", 4, |plan, value| plan.sharding = value as u8),
    flag("sequence_parallel", |plan, value| plan.sequence_parallel = value > 0),
    flag("dense_gradients", |plan, value| plan.dense_gradients = value > 0),
    word("precision", Precision::ALL.len(), |plan, value| plan.precision = Precision::ALL[value as usize]),
    word("mapping", Mapping::ALL.len(), |plan, value| plan.mapping = Mapping::ALL[value as usize]),
];

/// A field with a number for each row.
#[derive(Debug, Clone, Copy)]
pub struct FieldColumn<'a> {
    field: Field,
    values: &'a [u64],
}

/// Why a column cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// No field of that name.
    #[error("`{name}` is no column of a plan: use one of {}", names())]
    Unknown {
        /// As given.
        name: String,
    },
    /// A number too large.
    #[error("`{name}[{row}] = {value}` is out of range: at most {most}")]
    Value {
        /// The field.
        name: &'static str,
        /// Position of the number.
        row: usize,
        /// The number.
        value: u64,
        /// The largest that it may be.
        most: u64,
    },
}

fn names() -> String {
    FIELDS.map(|field| field.name).join(", ")
}

impl<'a> FieldColumn<'a> {
    /// Of the field with this name.
    pub fn new(name: &str, values: &'a [u64]) -> Result<Self, FieldError> {
        let field = FIELDS.into_iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| FieldError::Unknown { name: name.to_owned() })?;
        match values.iter().position(|&value| value > field.most) {
            Some(row) => {
                let Field { name, most, .. } = field;
                Err(FieldError::Value { name, row, value: values[row], most })
            }
            None => Ok(Self { field, values }),
        }
    }

    /// Sets the field to a row's number.
    #[inline]
    pub fn set(&self, plan: &mut Plan, row: usize) {
        (self.field.set)(plan, self.values[row]);
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.values.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            dp: 1,
            tp: 1,
            pp: 1,
            cp: 1,
            ep: 1,
            placed: 1,
            virtual_stages: 1,
            micro_batch: 1,
            batch: 1,
            sequence: 1,
            time_chunks: 1,
            schedule: Schedule::OneForwardOneBackward,
            recompute: Recompute::None,
            sharding: 0,
            sequence_parallel: false,
            dense_gradients: false,
            precision: Precision::Mixed,
            mapping: Mapping::DataInside,
        }
    }

    #[test]
    fn every_field_changes_the_plan_and_no_two_the_same_way() {
        // The largest value, or the smallest where the plan has the largest already.
        let set = |field: Field, value: u64| {
            let mut changed = plan();
            (field.set)(&mut changed, value);
            changed
        };
        let changed: Vec<Plan> = FIELDS
            .into_iter()
            .map(
                |field| if set(field, field.most) == plan() { set(field, 0) } else { set(field, field.most) },
            )
            .collect();
        for (index, one) in changed.iter().enumerate() {
            assert_ne!(*one, plan(), "{}", FIELDS[index].name);
            assert!(!changed[..index].contains(one), "{}", FIELDS[index].name);
        }
    }

    #[test]
    fn columns_out_of_range_name_row_and_limit() {
        let refusal = FieldColumn::new("sharding", &[0, 3, 9]).unwrap_err();
        assert_eq!(refusal.to_string(), "`sharding[2] = 9` is out of range: at most 3");
        assert!(matches!(FieldColumn::new("stages", &[]), Err(FieldError::Unknown { .. })));
    }
}
