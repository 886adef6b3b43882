//! What people ask of a model before any plan: its parameters by use, and its ops as columns.

use serde::Serialize;

use super::{Model, Op, Work};

/// Parameters by use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ParameterCounts {
    /// All, a tied tensor once.
    pub total: u64,
    /// Of tables whose rows inputs look up (tokens, positions).
    pub embedding: u64,
    /// Those one token uses: of the experts only the ones it is routed to.
    pub active: u64,
    /// Active ones without tables that are only looked up: a table tied to the head takes part in a product.
    pub active_without_input_embedding: u64,
}

/// One row per op, as columns of equal length.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct OpTable {
    /// Unique name.
    pub name: Vec<String>,
    /// Kind of work.
    pub kind: Vec<&'static str>,
    /// The segment it stands in.
    pub segment: Vec<String>,
    /// How often that segment stands in the chain.
    pub repeat: Vec<u64>,
    /// Parameters of one repetition, a tied tensor where it is defined.
    pub parameters: Vec<u64>,
    /// Forward work of one sample and repetition.
    pub forward_flops: Vec<f64>,
    /// Elements of the output, of one sample.
    pub output_elements: Vec<u64>,
    /// GEMM rows, one sample (0 where it is no contraction).
    pub m: Vec<u64>,
    /// GEMM columns.
    pub n: Vec<u64>,
    /// GEMM depth.
    pub k: Vec<u64>,
}

impl Work {
    /// The name of the kind, as in a model's file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Contraction { .. } => "contraction",
            Self::Recurrent { .. } => "recurrent",
            Self::Elementwise { .. } => "elementwise",
            Self::Lookup => "lookup",
            Self::Exchange => "exchange",
            Self::View => "view",
            Self::Measured { .. } => "measured",
        }
    }
}

impl Op {
    /// Product of the sizes of some axes.
    pub fn extent(&self, axes: &[usize]) -> u64 {
        axes.iter().map(|&axis| self.axes[axis].size).product()
    }

    /// Its own parameters, without tensors tied to another op's.
    pub fn parameters(&self) -> u64 {
        self.weights.iter().filter(|weight| weight.tied.is_none()).map(|weight| weight.elements(self)).sum()
    }
}

impl Model {
    /// Parameters by use.
    pub fn parameter_counts(&self) -> ParameterCounts {
        let products = self.ops.iter().filter(|op| op.work != Work::Lookup).flat_map(|op| &op.weights);
        let tied: Vec<&str> = products.filter_map(|weight| weight.tied.as_deref()).collect();
        let only_looked_up = self.counted(|op, weight| {
            op.is_input_table(weight) && weight.tied.is_none() && !tied.contains(&weight.name.as_str())
        });
        let active = self.active_parameters();
        ParameterCounts {
            total: self.parameters(),
            embedding: self.embedding_parameters(),
            active,
            active_without_input_embedding: active - only_looked_up,
        }
    }

    /// One row per op.
    pub fn op_table(&self) -> OpTable {
        let mut table = OpTable::default();
        for (op, segment) in self.ops.iter().zip(self.segment_of_ops()) {
            let shape = op.shape().unwrap_or_default();
            let size = |axes: &[usize]| if op.shape().is_some() { op.extent(axes) } else { 0 };
            table.name.push(op.name.clone());
            table.kind.push(op.work.kind());
            table.segment.push(self.segments[segment].name.clone());
            table.repeat.push(self.segments[segment].repeat);
            table.parameters.push(op.parameters());
            table.forward_flops.push(op.forward_flops());
            table.output_elements.push(op.extent(&op.output));
            table.m.push(size(&shape.m));
            table.n.push(size(&shape.n));
            table.k.push(size(&shape.k));
        }
        table
    }
}
