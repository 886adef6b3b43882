//! An op under a plan: what of it one device holds and does, and what must travel.
//!
//! One rule serves every op. A tensor is whole on each tensor-parallel rank, split over them along a feature
//! axis, or split along the sequence. Where the reader wants another layout than the writer left, it is gathered;
//! where a split axis was summed over, partial results are reduced. The backward pass does the mirror: a gathered
//! input's gradient is reduced and scattered, a reduced output's gradient is gathered.

use crate::collective::Operation;
use crate::compute::{Gemm, Window};
use crate::graph::{Input, Model, Op, TensorRule, Weight, Work};
use crate::plan::{Plan, split_divisors};

/// How a tensor lies on the tensor-parallel ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// All of it on each.
    Whole,
    /// Shares of a feature axis.
    Split,
    /// Shares of the sequence.
    Sequence,
}

/// The group over which something transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Tensor-parallel ranks.
    Tensor,
    /// Context-parallel ranks.
    Context,
    /// Expert-parallel ranks.
    Expert,
}

/// A collective that an op needs, per micro-batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// Over which ranks.
    pub group: Group,
    /// What kind.
    pub operation: Operation,
    /// Elements, as the collective counts them.
    pub elements: f64,
    /// In the backward pass.
    pub backward: bool,
}

/// A parameter tensor's share on a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightShare {
    /// Parameters held.
    pub elements: f64,
    /// Parameters whose gradient a micro-batch touches.
    pub touched: f64,
    /// Held by expert-parallel ranks, hence reduced over fewer.
    pub expert: bool,
    /// Whole on every tensor-parallel rank, each of which sums its gradient over its share of the sequence.
    pub partial: bool,
}

/// What one device holds and does of an op, per micro-batch.
#[derive(Debug, Clone, PartialEq)]
pub struct OpShare {
    /// The GEMM of a contraction, of one time step if it is recurrent.
    pub gemm: Option<Gemm>,
    /// The window of a convolution.
    pub window: Option<Window>,
    /// Sequential repetitions (time steps of a recurrent op, else 1).
    pub steps: u64,
    /// How its output lies.
    pub layout: Layout,
    /// Elements of the output.
    pub output: f64,
    /// Elements of each input as read.
    pub inputs: Vec<f64>,
    /// Its parameters.
    pub weights: Vec<WeightShare>,
    /// What must travel.
    pub transfers: Vec<Transfer>,
}

/// Every op's share under a plan that passed [`Plan::check`], in the model's order.
pub fn shares(model: &Model, plan: &Plan) -> Vec<OpShare> {
    let mut all: Vec<OpShare> = Vec::with_capacity(model.ops.len());
    // A tensor that several ops want gathered is gathered once.
    let mut gathered: Vec<(usize, Layout)> = Vec::new();
    for op in &model.ops {
        let share = Sharder { model, plan, done: &all, op }.share(&mut gathered);
        all.push(share);
    }
    all
}

struct Sharder<'a> {
    model: &'a Model,
    plan: &'a Plan,
    done: &'a [OpShare],
    op: &'a Op,
}

impl Sharder<'_> {
    fn share(&self, gathered: &mut Vec<(usize, Layout)>) -> OpShare {
        let mut transfers = Vec::new();
        for input in &self.op.inputs {
            transfers.extend(self.context_transfers(input));
            let wanted = self.wanted(input);
            if self.plan.tp > 1 && !gathered.contains(&(input.op, wanted)) {
                let conversions = self.conversions(input, wanted);
                if !conversions.is_empty() {
                    gathered.push((input.op, wanted));
                }
                transfers.extend(conversions);
            }
        }
        let layout = self.layout();
        transfers.extend(self.output_transfers(layout));
        OpShare {
            gemm: self.gemm(layout),
            window: self.window(),
            steps: self.steps(),
            layout,
            output: self.elements(&self.op.output, layout),
            inputs: self.op.inputs.iter().map(|input| self.input_elements(input)).collect(),
            weights: self.op.weights.iter().map(|weight| self.weight_share(weight, layout)).collect(),
            transfers,
        }
    }

    fn split_axes(&self) -> &[usize] {
        match &self.op.tensor {
            TensorRule::Split(axes) => axes,
            TensorRule::Whole | TensorRule::Follow => &[],
        }
    }

    fn has_sequence(&self) -> bool {
        self.op.output.iter().any(|&axis| self.op.axes[axis].name == "sequence")
    }

    fn first_layout(&self) -> Layout {
        self.op.inputs.first().map_or(Layout::Whole, |input| self.done[input.op].layout)
    }

    /// The layout between split contractions. A recurrence runs over the whole sequence.
    fn outside(&self) -> Layout {
        let shared = self.plan.sequence_parallel && self.plan.tp > 1;
        let recurrent = matches!(self.op.work, Work::Recurrent { .. });
        if shared && self.has_sequence() && !recurrent { Layout::Sequence } else { Layout::Whole }
    }

    /// Whether every position of the output needs all of the input's sequence.
    fn spans_sequence(&self, input: &Input) -> bool {
        let named = |name| input.axes.iter().any(|&axis| self.op.axes[axis].name == name);
        named("key_sequence") && !named("sequence")
    }

    fn wanted(&self, input: &Input) -> Layout {
        match &self.op.tensor {
            TensorRule::Split(axes) if input.axes.iter().any(|axis| axes.contains(axis)) => Layout::Split,
            TensorRule::Split(_) => Layout::Whole,
            TensorRule::Whole if self.spans_sequence(input) => Layout::Whole,
            TensorRule::Whole => self.outside(),
            TensorRule::Follow => self.first_layout(),
        }
    }

    fn layout(&self) -> Layout {
        let split = self.split_axes().iter().any(|axis| self.op.output.contains(axis));
        match &self.op.tensor {
            TensorRule::Split(_) if split && self.plan.tp > 1 => Layout::Split,
            TensorRule::Split(_) | TensorRule::Whole => self.outside(),
            TensorRule::Follow => self.first_layout(),
        }
    }

    /// What the reader's layout costs: (forward, backward) operation per pair of layouts.
    fn conversions(&self, input: &Input, wanted: Layout) -> Vec<Transfer> {
        use Operation::{AllGather, AllReduce, ReduceScatter};
        let producer = &self.model.ops[input.op];
        if producer.work == Work::Data {
            return Vec::new();
        }
        let partial = matches!(self.op.tensor, TensorRule::Split(_)) || self.outside() == Layout::Sequence;
        let (forward, backward) = match (self.done[input.op].layout, wanted) {
            (Layout::Split, Layout::Split) | (Layout::Sequence, Layout::Sequence) => (None, None),
            // Every rank's share of the contraction, or of its rows, leaves a partial gradient of the whole input.
            (Layout::Whole, Layout::Whole) => (None, partial.then_some(AllReduce)),
            (_, Layout::Whole) => (Some(AllGather), partial.then_some(ReduceScatter)),
            (Layout::Whole, _) => (None, Some(AllGather)),
            (Layout::Split, Layout::Sequence) | (Layout::Sequence, Layout::Split) => {
                (Some(AllGather), Some(AllGather))
            }
        };
        let elements = self.whole_elements(producer);
        let transfer = |operation, backward| Transfer { group: Group::Tensor, operation, elements, backward };
        let forward = forward.map(|operation| transfer(operation, false));
        forward.into_iter().chain(backward.map(|operation| transfer(operation, true))).collect()
    }

    /// Partial sums over a split axis are reduced; experts' tokens travel.
    fn output_transfers(&self, layout: Layout) -> Vec<Transfer> {
        let split = self.split_axes();
        let partial = !split.is_empty() && !split.iter().any(|axis| self.op.output.contains(axis));
        let transfer =
            |group, operation, elements, backward| Transfer { group, operation, elements, backward };
        let whole = self.whole_elements(self.op);
        match &self.op.work {
            Work::Exchange if self.plan.ep > 1 => {
                let elements = self.elements(&self.op.output, layout);
                let both = [false, true];
                both.map(|back| transfer(Group::Expert, Operation::AllToAll, elements, back)).to_vec()
            }
            _ if !partial || self.plan.tp == 1 => Vec::new(),
            _ if layout == Layout::Sequence => vec![
                transfer(Group::Tensor, Operation::ReduceScatter, whole, false),
                transfer(Group::Tensor, Operation::AllGather, whole, true),
            ],
            _ => vec![transfer(Group::Tensor, Operation::AllReduce, whole, false)],
        }
    }

    /// Keys and values of the whole sequence are gathered over the context-parallel ranks.
    fn context_transfers(&self, input: &Input) -> Vec<Transfer> {
        if self.plan.cp == 1 || !self.spans_sequence(input) {
            return Vec::new();
        }
        let elements = self.elements(&input.axes, Layout::Split);
        let transfer =
            |operation, backward| Transfer { group: Group::Context, operation, elements, backward };
        vec![transfer(Operation::AllGather, false), transfer(Operation::ReduceScatter, true)]
    }

    fn steps(&self) -> u64 {
        let sequential = matches!(self.op.work, Work::Recurrent { .. });
        let sequence = self.op.axes.iter().position(|axis| axis.name == "sequence").filter(|_| sequential);
        sequence.map_or(1, |axis| self.extent(self.op, axis, Layout::Whole))
    }

    /// Window and stride of a convolution, from the sizes of what it reads and writes.
    fn window(&self) -> Option<Window> {
        let size = |name| self.op.axis(name).map(|axis| self.op.axes[axis].size);
        let (rows, columns) = (size("k_y")?, size("k_x")?);
        let producer = &self.model.ops[self.op.inputs.first()?.op];
        let read = producer.axis("y").map(|axis| producer.axes[axis].size)?;
        let stride = (read as f64 / size("y")? as f64).round().max(1.0) as u64;
        Some(Window { rows, columns, stride })
    }

    fn gemm(&self, layout: Layout) -> Option<Gemm> {
        let shape = self.op.shape()?;
        // Ops outside the split contractions see their share of the sequence; split ones see all of it.
        let layout = if self.split_axes().is_empty() { layout } else { Layout::Split };
        let recurrent = matches!(self.op.work, Work::Recurrent { .. });
        let size = |axes: &[usize]| -> u64 {
            let counted = axes.iter().filter(|&&axis| !(recurrent && self.op.axes[axis].name == "sequence"));
            counted.map(|&axis| self.extent(self.op, axis, layout)).product()
        };
        let grouped = shape.batch.iter().find(|&&axis| self.op.axes[axis].name == "experts");
        let (batch, m) = (size(&shape.batch), size(&shape.m));
        // Routed tokens of all expert-parallel ranks meet at the experts that are here, balanced.
        let m = grouped.map_or(m, |_| m.div_ceil(batch).max(1));
        Some(Gemm { batch, m, n: size(&shape.n), k: size(&shape.k) })
    }

    fn weight_share(&self, weight: &Weight, layout: Layout) -> WeightShare {
        let held = weight.axes.iter().map(|&axis| self.extent(self.op, axis, Layout::Split) as f64);
        let follows = self.op.tensor == TensorRule::Follow && self.first_layout() == Layout::Split;
        let share = if follows { self.plan.tp as f64 } else { 1.0 };
        let elements = weight.count as f64 * held.product::<f64>() / share;
        let touched = weight.sparse.filter(|_| !self.plan.dense_gradients).map_or(1.0, |sparse| {
            let rows = sparse.fixed + self.scaled(sparse.per_sample) * self.plan.micro_batch;
            rows.min(sparse.rows) as f64 / sparse.rows as f64
        });
        WeightShare {
            elements,
            touched: elements * touched,
            expert: self.op.expert_share(weight).is_some(),
            partial: layout == Layout::Sequence && self.split_axes().is_empty(),
        }
    }

    /// Elements of an input as read: after gathering, and each once even where a window overlaps.
    fn input_elements(&self, input: &Input) -> f64 {
        let producer = &self.model.ops[input.op];
        let layout =
            if self.wanted(input) == Layout::Whole { Layout::Whole } else { self.done[input.op].layout };
        let written = self.elements_of(producer, &producer.output, layout);
        written.min(self.elements(&input.axes, layout))
    }

    fn whole_elements(&self, op: &Op) -> f64 {
        self.elements_of(op, &op.output, Layout::Whole)
    }

    fn elements(&self, axes: &[usize], layout: Layout) -> f64 {
        self.elements_of(self.op, axes, layout)
    }

    fn elements_of(&self, op: &Op, axes: &[usize], layout: Layout) -> f64 {
        let product: f64 = axes.iter().map(|&axis| self.extent(op, axis, layout) as f64).product();
        let divided = match &op.tensor {
            TensorRule::Split(split) => split.iter().any(|axis| axes.contains(axis)),
            TensorRule::Whole | TensorRule::Follow => false,
        };
        // A reader that follows has no split axis of its own: the tensor is a share all the same.
        if layout == Layout::Split && !divided { product / self.plan.tp as f64 } else { product }
    }

    /// A length along the sequence as built, at the plan's sequence.
    fn scaled(&self, size: u64) -> u64 {
        (size * self.plan.sequence).checked_div(self.model.sequence).unwrap_or(size)
    }

    /// Size of an axis on one device.
    fn extent(&self, op: &Op, axis: usize, layout: Layout) -> u64 {
        let plan = self.plan;
        let named = &op.axes[axis];
        let pieces = plan.time_chunks * plan.cp * if layout == Layout::Sequence { plan.tp } else { 1 };
        match named.name.as_str() {
            "batch" => plan.micro_batch,
            "sequence" => self.scaled(named.size).div_ceil(pieces),
            "key_sequence" => self.scaled(named.size).div_ceil(plan.time_chunks),
            "experts" => named.size.div_ceil(plan.ep),
            _ if layout == Layout::Split => split_extent(op, axis, plan.tp),
            _ => named.size,
        }
    }
}

fn split_extent(op: &Op, axis: usize, tp: u64) -> u64 {
    let size = op.axes[axis].size;
    let divisors = split_divisors(op, tp).unwrap_or_default();
    let divisor = divisors.iter().find(|(split, _)| *split == axis).map_or(1, |&(_, by)| by);
    let whole = op.axes[axis].whole.min(size - 1);
    (size - whole) / divisor + whole
}
