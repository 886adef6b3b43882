//! A model: a graph of ops over named axes.
//!
//! Work, bytes, parameters, GEMM shapes and what must travel all follow from the axes. The same representation
//! serves convolutional, recurrent and transformer networks; an op may instead carry measured times, and can then
//! be placed and pipelined but not sharded.

mod check;
mod shape;
mod table;

use serde::{Deserialize, Serialize};

pub use check::GraphError;
pub use shape::Shape;
pub use table::{OpTable, ParameterCounts};

/// A model as a chain of segments, each a sub-graph of ops that is repeated a number of times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The name people ask for.
    pub name: String,
    /// One line for a listing.
    pub summary: String,
    /// Where the definition comes from.
    pub source: String,
    /// What one sample is (`image`, `sentence pair`, `sequence`).
    pub sample: String,
    /// Time steps or tokens along the `sequence` axes as built; 0 for a model without one.
    pub sequence: u64,
    /// Tokens that a throughput in tokens counts, per time step of a sample (2 for source and target).
    pub token_streams: u64,
    /// Coefficient of variation of the length of a sample, which makes synchronous workers wait.
    #[serde(default)]
    pub length_variation: f64,
    /// Padding along the sequence, as a fraction of the tokens that count.
    #[serde(default)]
    pub padding: f64,
    /// Samples per data-parallel worker and step, where the user gives none.
    pub worker_batch: u64,
    /// How parameters are updated.
    pub optimizer: Optimizer,
    /// Whether the update is one kernel per tensor; otherwise one per arithmetic operation.
    #[serde(default = "yes")]
    pub fused_update: bool,
    /// Whether gradients are reduced while the backward pass still runs.
    #[serde(default = "yes")]
    pub overlap: bool,
    /// Samples for which measured times hold, if ops are measured.
    #[serde(default)]
    pub measured_batch: Option<u64>,
    /// The chain.
    pub segments: Vec<Segment>,
    /// All ops in topological order, segment after segment.
    pub ops: Vec<Op>,
}

fn yes() -> bool {
    true
}

/// A sub-graph that the chain repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// Its name, such as `block`.
    pub name: String,
    /// How often it stands in the chain.
    pub repeat: u64,
    /// How many ops it has; they follow those of the segment before.
    pub ops: usize,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Op {
    /// Unique name.
    pub name: String,
    /// What it does, and hence what it costs.
    pub work: Work,
    /// The axes it ranges over; everything below refers to them by position.
    pub axes: Vec<Axis>,
    /// The tensors it reads.
    #[serde(default)]
    pub inputs: Vec<Input>,
    /// Axes of the tensor it writes.
    pub output: Vec<usize>,
    /// Its parameters.
    #[serde(default)]
    pub weights: Vec<Weight>,
    /// How tensor parallelism splits it.
    #[serde(default)]
    pub tensor: TensorRule,
    /// What it keeps for the backward pass.
    #[serde(default)]
    pub saves: Vec<Save>,
    /// Selective recomputation drops what it keeps and runs it again in the backward pass.
    #[serde(default)]
    pub selective: bool,
    /// Its output never leaves the chip (fused kernels such as flash attention).
    #[serde(default)]
    pub on_chip: bool,
}

/// A named extent. `batch` is per sample; `sequence` and `key_sequence` follow the plan's sequence length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The field's word for it.
    pub name: String,
    /// Its size.
    pub size: u64,
    /// How much of the size every rank keeps whole when the axis is split (the key and value heads of a
    /// grouped projection once tensor parallelism exceeds them).
    #[serde(default)]
    pub whole: u64,
}

/// What an op does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Work {
    /// Training data enters here; costs nothing and needs no gradient.
    Data,
    /// A sum of products of the first input with the first weight, or with the second input.
    Contraction {
        /// Fraction of the products that is computed (causal attention in kernels that skip the masked half).
        #[serde(default = "one")]
        density: f64,
        /// Computed again in the backward pass by the kernel itself (flash attention).
        #[serde(default)]
        again: bool,
    },
    /// A contraction of each time step with the state that the step before left: sequential over `sequence`.
    Recurrent {
        /// Element-wise passes over the gates per step, forward.
        forward_passes: f64,
        /// The same, backward.
        backward_passes: f64,
    },
    /// A map, norm, pooling or softmax: limited by memory traffic.
    Elementwise {
        /// Reads and writes of the output's size, forward.
        forward_passes: f64,
        /// The same, backward.
        backward_passes: f64,
    },
    /// Rows of a table.
    Lookup,
    /// Tokens travel to their experts or back: an all-to-all of the output over the expert group.
    Exchange,
    /// A view of its inputs that costs nothing.
    View,
    /// Times measured by others at the model's `measured_batch`, in seconds.
    Measured {
        /// Forward time.
        forward_s: f64,
        /// Backward time.
        backward_s: f64,
    },
}

fn one() -> f64 {
    1.0
}

/// A tensor that an op reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Position of the op that wrote it.
    pub op: usize,
    /// The reader's axes over which it ranges.
    pub axes: Vec<usize>,
}

/// A parameter tensor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// Name, unique in the model but for tied tensors.
    pub name: String,
    /// The op's axes over which it ranges.
    pub axes: Vec<usize>,
    /// How many such tensors (scale and shift of a norm are 2).
    #[serde(default = "single")]
    pub count: u64,
    /// The tensor of that name is this one: it exists once on a stage that uses both.
    #[serde(default)]
    pub tied: Option<String>,
    /// Its gradient touches only some rows.
    #[serde(default)]
    pub sparse: Option<Sparse>,
}

fn single() -> u64 {
    1
}

/// The rows of a table that a step touches: `fixed + per_sample * batch`, at most all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sparse {
    /// Rows that each worker touches whatever its batch (sampled classes).
    pub fixed: u64,
    /// Rows per sample (tokens looked up).
    pub per_sample: u64,
    /// All rows of the table.
    pub rows: u64,
}

/// How tensor parallelism splits an op.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TensorRule {
    /// Every rank does all of it, or its share of the sequence.
    #[default]
    Whole,
    /// Each rank does its share of these axes, the first as far as it goes, then the next.
    Split(Vec<usize>),
    /// As its first input is split.
    Follow,
}

/// A tensor kept for the backward pass. A tensor kept by several ops of a segment counts once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Save {
    /// The input of this position.
    Input(usize),
    /// The output.
    Output,
    /// One byte per element of the output (a dropout mask).
    Mask,
    /// So many elements per element of the output (the gates of a cell).
    Elements(f64),
}

/// How parameters are updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Optimizer {
    /// Plain gradient descent: no state.
    Sgd,
    /// One momentum per parameter.
    Momentum,
    /// One accumulator per parameter.
    Adagrad,
    /// Two moments per parameter.
    Adam,
}

impl Optimizer {
    /// State tensors of the size of the parameters.
    pub fn states(self) -> f64 {
        match self {
            Self::Sgd => 0.0,
            Self::Momentum | Self::Adagrad => 1.0,
            Self::Adam => 2.0,
        }
    }
}

impl Model {
    /// Positions of the ops of a segment.
    pub fn ops_of(&self, segment: usize) -> std::ops::Range<usize> {
        let first = self.segments[..segment].iter().map(|s| s.ops).sum();
        first..first + self.segments[segment].ops
    }

    /// The segment of each op.
    pub fn segment_of_ops(&self) -> Vec<usize> {
        let each = self.segments.iter().enumerate();
        each.flat_map(|(index, segment)| std::iter::repeat_n(index, segment.ops)).collect()
    }

    /// Tokens of one sample that count at a sequence length, which includes padding (1 per sample for a model without
    /// a sequence).
    pub fn tokens_per_sample(&self, sequence: u64) -> f64 {
        let streams = (sequence * self.token_streams) as f64;
        if self.sequence == 0 { 1.0 } else { streams / (1.0 + self.padding) }
    }

    /// Whether every op needs of a time step only that step and the ones before, so that a sequence can run in
    /// pieces: no attention over another sequence, no layer that reads it from both ends.
    pub fn steps_in_time(&self) -> bool {
        let whole = |op: &Op| op.axis("key_sequence").is_some() || op.axis("direction").is_some();
        self.ops.iter().any(|op| matches!(op.work, Work::Recurrent { .. })) && !self.ops.iter().any(whole)
    }

    /// All parameters, a tied tensor once.
    pub fn parameters(&self) -> u64 {
        self.counted(|_, weight| weight.tied.is_none())
    }

    /// Parameters of tables whose rows inputs look up (tokens, positions).
    pub fn embedding_parameters(&self) -> u64 {
        self.counted(|op, weight| op.is_input_table(weight) && weight.tied.is_none())
    }

    /// Parameters that one token uses: of the experts only those it is routed to.
    pub fn active_parameters(&self) -> u64 {
        let routed = |op: &Op, weight: &Weight| op.expert_share(weight).is_some();
        let shared = self.counted(|op, weight| weight.tied.is_none() && !routed(op, weight));
        let repeats = self.segment_of_ops().into_iter().map(|s| self.segments[s].repeat);
        let active = |op: &Op, weight: &Weight| {
            op.expert_share(weight).map_or(0, |(top_k, experts)| weight.elements(op) / experts * top_k)
        };
        let each = self.ops.iter().zip(repeats);
        shared + each.map(|(op, n)| n * op.weights.iter().map(|w| active(op, w)).sum::<u64>()).sum::<u64>()
    }

    fn counted(&self, keep: impl Fn(&Op, &Weight) -> bool) -> u64 {
        let repeats = self.segment_of_ops().into_iter().map(|s| self.segments[s].repeat);
        let kept = |op: &Op| {
            let mine = op.weights.iter().filter(|weight| keep(op, weight));
            mine.map(|weight| weight.elements(op)).sum::<u64>()
        };
        self.ops.iter().zip(repeats).map(|(op, repeat)| repeat * kept(op)).sum()
    }

    /// Work of the forward pass of one sample at the sequence length as built.
    pub fn forward_flops(&self) -> f64 {
        let segments = self.segment_of_ops();
        let each = self.ops.iter().zip(segments);
        each.map(|(op, segment)| self.segments[segment].repeat as f64 * op.forward_flops()).sum()
    }
}

impl Weight {
    /// Number of parameters.
    pub fn elements(&self, op: &Op) -> u64 {
        self.count * self.axes.iter().map(|&axis| op.axes[axis].size).product::<u64>()
    }
}

impl Op {
    /// The position of an axis of that name.
    pub fn axis(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|axis| axis.name == name)
    }

    /// Whether inputs look up rows of this weight; a table with sampled classes is of an output layer.
    pub fn is_input_table(&self, weight: &Weight) -> bool {
        self.work == Work::Lookup && weight.sparse.is_none_or(|sparse| sparse.fixed == 0)
    }

    /// Experts a token uses and experts there are, for a weight that ranges over `experts`.
    pub fn expert_share(&self, weight: &Weight) -> Option<(u64, u64)> {
        let experts = self.axis("experts").filter(|axis| weight.axes.contains(axis))?;
        let top_k = self.axis("top_k").map_or(1, |axis| self.axes[axis].size);
        Some((top_k, self.axes[experts].size))
    }
}
