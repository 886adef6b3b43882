//! What makes a model wrong, in one sentence each.

use super::{Model, Op, Save, TensorRule, Work};

/// Why a model cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// There is nothing to train.
    #[error("model `{model}` has no ops: give at least one")]
    Empty {
        /// The model.
        model: String,
    },
    /// The chain does not cover the ops.
    #[error("the segments of model `{model}` hold {segments} ops but it has {ops}: make them equal")]
    Segments {
        /// The model.
        model: String,
        /// Ops in the segments.
        segments: usize,
        /// Ops in the list.
        ops: usize,
    },
    /// An op reads a later op.
    #[error(
        "op `{op}` reads op {input}, which is not before it: list ops in topological order, without cycles"
    )]
    Order {
        /// The reader.
        op: String,
        /// What it reads.
        input: usize,
    },
    /// A reference to an axis or input that is not there.
    #[error("op `{op}` refers to {what} {index}, but has only {count}")]
    Reference {
        /// The op.
        op: String,
        /// Axis or input.
        what: &'static str,
        /// The reference.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A number is out of range.
    #[error("op `{op}` has {what} {value}: it must be {range}")]
    Value {
        /// The op.
        op: String,
        /// The number's name.
        what: &'static str,
        /// The number.
        value: f64,
        /// What is allowed.
        range: &'static str,
    },
    /// Two ops share a name.
    #[error("two ops are named `{op}`: names must differ")]
    Name {
        /// The name.
        op: String,
    },
    /// A contraction lacks its second operand.
    #[error("op `{op}` is a contraction with neither a weight nor a second input: give one")]
    Operand {
        /// The op.
        op: String,
    },
}

impl Model {
    /// The first fault, if any.
    pub fn check(&self) -> Result<(), GraphError> {
        let model = || self.name.clone();
        if self.ops.is_empty() {
            return Err(GraphError::Empty { model: model() });
        }
        let segments = self.segments.iter().map(|segment| segment.ops).sum();
        if segments != self.ops.len() {
            return Err(GraphError::Segments { model: model(), segments, ops: self.ops.len() });
        }
        let mut names: Vec<&str> = self.ops.iter().map(|op| op.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(GraphError::Name { op: pair[0].to_owned() });
        }
        self.ops.iter().enumerate().try_for_each(|(index, op)| op.check(index))
    }
}

impl Op {
    fn check(&self, index: usize) -> Result<(), GraphError> {
        if let Some(input) = self.inputs.iter().find(|input| input.op >= index) {
            return Err(GraphError::Order { op: self.name.clone(), input: input.op });
        }
        self.check_references()?;
        self.check_numbers()?;
        let contraction = matches!(self.work, Work::Contraction { .. } | Work::Recurrent { .. });
        if contraction && (self.inputs.is_empty() || (self.weights.is_empty() && self.inputs.len() < 2)) {
            return Err(GraphError::Operand { op: self.name.clone() });
        }
        Ok(())
    }

    fn check_references(&self) -> Result<(), GraphError> {
        let split = match &self.tensor {
            TensorRule::Split(axes) => axes.as_slice(),
            TensorRule::Whole | TensorRule::Follow => &[],
        };
        let inputs = self.inputs.iter().flat_map(|input| &input.axes);
        let weights = self.weights.iter().flat_map(|weight| &weight.axes);
        let axes = self.output.iter().chain(split).chain(inputs).chain(weights);
        let fault = |what, index, count| GraphError::Reference { op: self.name.clone(), what, index, count };
        if let Some(&index) = axes.into_iter().find(|&&axis| axis >= self.axes.len()) {
            return Err(fault("axis", index, self.axes.len()));
        }
        let saved = self.saves.iter().find_map(|save| match save {
            Save::Input(index) if *index >= self.inputs.len() => Some(*index),
            _ => None,
        });
        saved.map_or(Ok(()), |index| Err(fault("input", index, self.inputs.len())))
    }

    fn check_numbers(&self) -> Result<(), GraphError> {
        let positive = "at least 1 and below 2^53";
        let sizes = self.axes.iter().map(|axis| ("an axis of size", axis.size as f64, positive));
        let amount = "finite and not negative";
        let numbers = match self.work {
            Work::Contraction { density, .. } => vec![("density", density, "between 0 and 1")],
            Work::Recurrent { forward_passes, backward_passes }
            | Work::Elementwise { forward_passes, backward_passes } => {
                vec![("forward passes", forward_passes, amount), ("backward passes", backward_passes, amount)]
            }
            Work::Measured { forward_s, backward_s } => {
                vec![("a forward time of", forward_s, amount), ("a backward time of", backward_s, amount)]
            }
            Work::Data | Work::Lookup | Work::Exchange | Work::View => Vec::new(),
        };
        let fault = sizes.chain(numbers).find(|&(_, value, range)| match range {
            "between 0 and 1" => !(0.0..=1.0).contains(&value),
            "finite and not negative" => !(value.is_finite() && value >= 0.0),
            _ => !(1.0..9.0e15).contains(&value),
        });
        fault.map_or(Ok(()), |(what, value, range)| {
            Err(GraphError::Value { op: self.name.clone(), what, value, range })
        })
    }
}
