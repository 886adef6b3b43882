//! Everything that decides how a step runs.

mod check;

use serde::{Deserialize, Serialize};

use crate::device::Number;
use crate::graph::{Axis, Model, Op, TensorRule};

/// How training of a model is split over devices, and how a step of it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Data-parallel workers.
    pub dp: u64,
    /// Devices over which the axes of an op are split.
    pub tp: u64,
    /// Pipeline stages.
    pub pp: u64,
    /// Devices over which a sequence is split.
    pub cp: u64,
    /// Devices over which experts are split; divides `dp * cp`.
    pub ep: u64,
    /// Devices of a worker over which single ops are placed; 1 where they are not.
    pub placed: u64,
    /// Chunks of the model on each pipeline stage (interleaved schedule).
    pub virtual_stages: u64,
    /// Samples per forward pass.
    pub micro_batch: u64,
    /// Samples per step, of all workers.
    pub batch: u64,
    /// Tokens or time steps per sample.
    pub sequence: u64,
    /// Pieces of the sequence that are pipelined one after another (recurrent layers as a wavefront).
    pub time_chunks: u64,
    /// Order of forward and backward passes on a stage.
    pub schedule: Schedule,
    /// What is computed again in the backward pass instead of kept.
    pub recompute: Recompute,
    /// Stage of the sharding over data-parallel ranks: 1 optimizer, 2 and gradients, 3 and weights.
    pub sharding: u8,
    /// Whether tensor-parallel ranks split the sequence between the split contractions.
    pub sequence_parallel: bool,
    /// Whether gradients of looked-up tables are kept and reduced whole, untouched rows and all.
    pub dense_gradients: bool,
    /// Number formats.
    pub precision: Precision,
    /// Which groups are neighbours.
    pub mapping: Mapping,
}

/// Order of passes on a pipeline stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Schedule {
    /// All forward passes, then all backward passes.
    #[serde(rename = "gpipe")]
    Gpipe,
    /// One forward, one backward; interleaved over chunks where there are virtual stages.
    #[serde(rename = "1f1b")]
    OneForwardOneBackward,
}

/// What the backward pass computes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recompute {
    /// Nothing.
    None,
    /// The ops that the model marks (attention between queries and keys).
    Selective,
    /// Each segment from its input.
    Full,
}

/// Number formats of activations, weights, gradients and optimizer state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// All 4 bytes.
    Fp32,
    /// fp16 work and gradients, fp32 master weights and state.
    Mixed,
    /// bf16 work, gradients summed and reduced in fp32, fp32 master weights and state.
    Bf16,
    /// As bf16 with fp8 contractions.
    Fp8,
}

impl Schedule {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Gpipe, Self::OneForwardOneBackward];
}

impl Recompute {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Selective, Self::Full];
}

/// Bytes per element of each kind of tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ElementBytes {
    /// Activations.
    pub activation: f64,
    /// Weights.
    pub weight: f64,
    /// Gradients, kept and reduced.
    pub gradient: f64,
    /// Master copy of the weights.
    pub master: f64,
    /// Each optimizer state.
    pub state: f64,
}

impl Precision {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fp32, Self::Mixed, Self::Bf16, Self::Fp8];

    /// The format in which contractions multiply.
    pub const fn number(self) -> Number {
        match self {
            Self::Fp32 => Number::Fp32,
            Self::Mixed => Number::Fp16,
            Self::Bf16 => Number::Bf16,
            Self::Fp8 => Number::Fp8,
        }
    }

    /// Bytes per element (Rajbhandari et al., ZeRO, SC 2020, section 3.1 for mixed; Megatron-LM for bf16).
    pub const fn bytes(self) -> ElementBytes {
        let (activation, weight, gradient, master) = match self {
            Self::Fp32 => (4.0, 4.0, 4.0, 0.0),
            Self::Mixed => (2.0, 2.0, 2.0, 4.0),
            Self::Bf16 | Self::Fp8 => (2.0, 2.0, 4.0, 4.0),
        };
        ElementBytes { activation, weight, gradient, master, state: 4.0 }
    }
}

/// Which parallel groups are neighbours, from the innermost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mapping {
    /// Tensor, context, data, pipeline.
    #[serde(rename = "tp-cp-dp-pp")]
    DataInside,
    /// Tensor, pipeline, context, data: a worker's devices are neighbours.
    #[serde(rename = "tp-pp-cp-dp")]
    WorkerInside,
}

impl Mapping {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::DataInside, Self::WorkerInside];
}

/// Which ranks form a group: so many ranks that are `stride` device ids apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ranks {
    /// How many.
    pub size: u64,
    /// How far apart.
    pub stride: u64,
}

impl Plan {
    /// One device that does everything, for one sample.
    pub fn serial(model: &Model, precision: Precision) -> Self {
        Self {
            dp: 1,
            tp: 1,
            pp: 1,
            cp: 1,
            ep: 1,
            placed: 1,
            virtual_stages: 1,
            micro_batch: model.worker_batch,
            batch: model.worker_batch,
            sequence: model.sequence,
            time_chunks: 1,
            schedule: Schedule::OneForwardOneBackward,
            recompute: Recompute::None,
            sharding: 0,
            sequence_parallel: false,
            dense_gradients: false,
            precision,
            mapping: Mapping::DataInside,
        }
    }

    /// Devices in use.
    pub fn devices(&self) -> u64 {
        self.dp * self.mp()
    }

    /// Devices per data-parallel worker.
    pub fn mp(&self) -> u64 {
        self.tp * self.pp * self.cp * self.placed
    }

    /// Forward passes per worker and step.
    pub fn micro_batches(&self) -> u64 {
        self.batch / (self.dp * self.micro_batch)
    }

    /// The tensor-parallel group.
    pub fn tensor_ranks(&self) -> Ranks {
        Ranks { size: self.tp, stride: 1 }
    }

    /// The context-parallel group.
    pub fn context_ranks(&self) -> Ranks {
        Ranks { size: self.cp, stride: self.data_stride() }
    }

    /// The ranks that hold the same weights and different data.
    pub fn data_ranks(&self) -> Ranks {
        Ranks { size: self.dp * self.cp, stride: self.data_stride() }
    }

    /// The ranks among which tokens travel to their experts.
    pub fn expert_ranks(&self) -> Ranks {
        Ranks { size: self.ep, stride: self.data_stride() }
    }

    /// The ranks that hold the same experts.
    pub fn expert_data_ranks(&self) -> Ranks {
        Ranks { size: self.dp * self.cp / self.ep, stride: self.data_stride() * self.ep }
    }

    /// The devices over which a worker's ops are placed.
    pub fn placed_ranks(&self) -> Ranks {
        Ranks { size: self.placed, stride: 1 }
    }

    /// The stages of a pipeline.
    pub fn pipeline_ranks(&self) -> Ranks {
        let stride = match self.mapping {
            Mapping::DataInside => self.tp * self.placed * self.cp * self.dp,
            Mapping::WorkerInside => self.tp * self.placed,
        };
        Ranks { size: self.pp, stride }
    }

    /// First and last stage of a pipeline, priced half a pipeline apart, which crosses the same tiers.
    pub fn tied_ranks(&self) -> Ranks {
        Ranks { size: self.pp.min(2), stride: self.pipeline_ranks().stride * (self.pp / 2).max(1) }
    }

    fn data_stride(&self) -> u64 {
        match self.mapping {
            Mapping::DataInside => self.tp * self.placed,
            Mapping::WorkerInside => self.tp * self.placed * self.pp,
        }
    }
}

fn divisible(axis: &Axis) -> u64 {
    axis.size - axis.whole.min(axis.size - 1)
}

/// By how much each axis of a split op is divided among `tp` ranks; `None` where they do not divide it.
pub fn split_divisors(op: &Op, tp: u64) -> Option<Vec<(usize, u64)>> {
    let TensorRule::Split(axes) = &op.tensor else { return Some(Vec::new()) };
    let mut rest = tp;
    let mut divisors = Vec::with_capacity(axes.len());
    for &axis in axes {
        let by = gcd(divisible(&op.axes[axis]), rest);
        divisors.push((axis, by));
        rest /= by;
    }
    (rest == 1).then_some(divisors)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
