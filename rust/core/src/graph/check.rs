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
    /// A number of the model is out of range.
    #[error("model `{model}` has {what} {value}: it must be {range}")]
    Range {
        /// The model.
        model: String,
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
    /// A weight is tied to one that is not there.
    #[error("op `{op}` ties a weight to `{weight}`, which no op has: name a weight that is not tied itself")]
    Tie {
        /// The op.
        op: String,
        /// The name it gives.
        weight: String,
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
        let segments = self.segments.iter().fold(0, |sum: usize, segment| sum.saturating_add(segment.ops));
        if segments != self.ops.len() {
            return Err(GraphError::Segments { model: model(), segments, ops: self.ops.len() });
        }
        let mut names: Vec<&str> = self.ops.iter().map(|op| op.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(GraphError::Name { op: pair[0].to_owned() });
        }
        self.ops.iter().enumerate().try_for_each(|(index, op)| op.check(index))?;
        self.check_ties()?;
        self.check_numbers()
    }

    fn check_ties(&self) -> Result<(), GraphError> {
        let weights = || self.ops.iter().flat_map(|op| op.weights.iter().map(move |weight| (op, weight)));
        let mut own: Vec<&str> =
            weights().filter(|(_, w)| w.tied.is_none()).map(|(_, w)| w.name.as_str()).collect();
        own.sort_unstable();
        let loose = |tie: &&str| own.binary_search(tie).is_err();
        let fault = weights().find_map(|(op, w)| w.tied.as_deref().filter(loose).map(|tie| (op, tie)));
        fault.map_or(Ok(()), |(op, tie)| Err(GraphError::Tie { op: op.name.clone(), weight: tie.to_owned() }))
    }

    fn check_numbers(&self) -> Result<(), GraphError> {
        let repeats =
            self.segments.iter().map(|segment| ("a segment repeated", segment.repeat as f64, COUNT));
        let batches = [Some(self.worker_batch), self.measured_batch].into_iter().flatten();
        let numbers = [
            ("a length variation of", self.length_variation, AMOUNT),
            ("padding of", self.padding, AMOUNT),
            ("token streams of", self.token_streams as f64, COUNT),
            ("parameters of", self.parameter_extent().max(1.0), COUNT),
        ];
        let batches = batches.map(|batch| ("a batch of", batch as f64, COUNT));
        let fault = repeats.chain(batches).chain(numbers).find(|&(_, value, range)| !within(value, range));
        fault.map_or(Ok(()), |(what, value, range)| {
            Err(GraphError::Range { model: self.name.clone(), what, value, range })
        })
    }

    /// All parameters as a float, which no model is too large for.
    fn parameter_extent(&self) -> f64 {
        let repeats = self.segment_of_ops().into_iter().map(|s| self.segments[s].repeat as f64);
        let each = self.ops.iter().zip(repeats);
        each.map(|(op, n)| {
            n * op.weights.iter().map(|w| w.count as f64 * op.extent_float(&w.axes)).sum::<f64>()
        })
        .sum()
    }
}

const COUNT: &str = "at least 1 and below 2^53";
const AMOUNT: &str = "finite and not negative";
const SHARE: &str = "between 0 and 1";

fn within(value: f64, range: &str) -> bool {
    match range {
        SHARE => (0.0..=1.0).contains(&value),
        AMOUNT => value.is_finite() && value >= 0.0,
        _ => (1.0..9.0e15).contains(&value),
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
        let sizes = self.axes.iter().map(|axis| ("an axis of size", axis.size as f64, COUNT));
        // Tensors are counted in integers of 64 bits.
        let operands = self.weights.iter().map(|weight| &weight.axes);
        let operands = operands.chain(self.inputs.iter().map(|input| &input.axes)).chain([&self.output]);
        let tensors =
            operands.map(|axes| ("a tensor of as many elements as", self.extent_float(axes), COUNT));
        let kept = self.saves.iter().filter_map(|save| match save {
            Save::Elements(count) => Some(("kept elements", *count, AMOUNT)),
            Save::Input(_) | Save::Output | Save::Mask => None,
        });
        let mut numbers = sizes.chain(tensors).chain(kept).chain(self.work.numbers());
        let fault = numbers.find(|&(_, value, range)| !within(value, range));
        fault.map_or(Ok(()), |(what, value, range)| {
            Err(GraphError::Value { op: self.name.clone(), what, value, range })
        })
    }

    fn extent_float(&self, axes: &[usize]) -> f64 {
        axes.iter().map(|&axis| self.axes[axis].size as f64).product()
    }
}

impl Work {
    fn numbers(&self) -> Vec<(&'static str, f64, &'static str)> {
        match *self {
            Self::Contraction { density, .. } => vec![("density", density, SHARE)],
            Self::Recurrent { forward_passes, backward_passes }
            | Self::Elementwise { forward_passes, backward_passes } => {
                vec![("forward passes", forward_passes, AMOUNT), ("backward passes", backward_passes, AMOUNT)]
            }
            Self::Measured { forward_s, backward_s } => {
                vec![("a forward time of", forward_s, AMOUNT), ("a backward time of", backward_s, AMOUNT)]
            }
            Self::Data | Self::Lookup | Self::Exchange | Self::View => Vec::new(),
        }
    }
}
