//! What one pass of one segment costs a device: time by kind, bytes kept, parameters, and what a boundary carries.

use std::ops::{AddAssign, Range};

use crate::collective::Operation;
use crate::compute::{Gemm, Window, contraction_time, convolution_time, stream_time};
use crate::device::MatrixUnit;
use crate::graph::{Model, Op, Save, Work};
use crate::plan::{ElementBytes, Plan, Recompute};
use crate::shard::{Group, OpShare, Travel, shares};
use crate::system::System;
use crate::travel::travel_time;
use crate::units::{Bytes, Flops, Seconds};

/// Time of a pass of one micro-batch, by what it is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PassTime {
    /// Kernels.
    pub compute: Seconds,
    /// Collectives among tensor-parallel ranks.
    pub tensor: Seconds,
    /// Collectives among context-parallel ranks.
    pub context: Seconds,
    /// All-to-alls among expert-parallel ranks.
    pub expert: Seconds,
}

impl PassTime {
    /// The sum.
    pub fn total(&self) -> Seconds {
        self.compute + self.tensor + self.context + self.expert
    }

    /// As if done `times` times.
    #[must_use]
    pub fn scaled(&self, times: f64) -> Self {
        let Self { compute, tensor, context, expert } = *self;
        Self {
            compute: compute * times,
            tensor: tensor * times,
            context: context * times,
            expert: expert * times,
        }
    }
}

impl AddAssign for PassTime {
    fn add_assign(&mut self, other: Self) {
        let Self { compute, tensor, context, expert } = other;
        self.compute += compute;
        self.tensor += tensor;
        self.context += context;
        self.expert += expert;
    }
}

/// Parameters on a device, by how their gradients are reduced.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parameters {
    /// Reduced over all data-parallel ranks.
    pub dense: f64,
    /// Of experts: reduced over the ranks that hold the same experts.
    pub expert: f64,
    /// Of tables with sparse gradients.
    pub sparse: f64,
    /// Rows of those, in parameters, that a micro-batch touches.
    pub touched: f64,
}

impl Parameters {
    /// All of them.
    pub fn total(&self) -> f64 {
        self.dense + self.expert + self.sparse
    }

    /// As if there were `times` such sets.
    #[must_use]
    pub fn scaled(&self, times: f64) -> Self {
        let Self { dense, expert, sparse, touched } = *self;
        Self {
            dense: dense * times,
            expert: expert * times,
            sparse: sparse * times,
            touched: touched * times,
        }
    }
}

impl AddAssign for Parameters {
    fn add_assign(&mut self, other: Self) {
        let Self { dense, expert, sparse, touched } = other;
        self.dense += dense;
        self.expert += expert;
        self.sparse += sparse;
        self.touched += touched;
    }
}

/// A tensor that another segment owns.
#[derive(Debug, Clone, PartialEq)]
pub struct Tied {
    /// Its name.
    pub name: String,
    /// Parameters on a device.
    pub elements: f64,
}

/// Costs of one instance of a segment under the sharding of a plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SegmentCost {
    /// Forward pass.
    pub forward: PassTime,
    /// Backward pass without what is computed again.
    pub backward: PassTime,
    /// What the backward pass computes again.
    pub again: PassTime,
    /// Work of the forward pass.
    pub flops: Flops,
    /// Work computed again.
    pub again_flops: Flops,
    /// Bytes that forward and backward pass move to and from device memory.
    pub traffic: Bytes,
    /// Parameters.
    pub parameters: Parameters,
    /// Parameters of tensors that other segments own.
    pub tied: Vec<Tied>,
    /// Names of the weight tensors that others may be tied to.
    pub owned: Vec<String>,
    /// Kept from forward to backward.
    pub saved: Bytes,
    /// Needed for a moment while the segment is computed again.
    pub transient: Bytes,
    /// What the boundary behind it carries.
    pub boundary: Bytes,
    /// The same between two repetitions.
    pub inner_boundary: Bytes,
}

/// Costs of every segment of a model; the plan has passed its checks.
pub fn costs(model: &Model, system: &System, unit: &MatrixUnit, plan: &Plan) -> Vec<SegmentCost> {
    let shares = shares(model, plan);
    let pricer = Pricer { model, system, unit, plan, shares: &shares, bytes: plan.precision.bytes() };
    (0..model.segments.len()).map(|segment| pricer.segment(segment)).collect()
}

/// Costs of one op on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct OpCost {
    /// Forward pass.
    pub forward: Seconds,
    /// Backward pass.
    pub backward: Seconds,
    /// Forward work.
    pub flops: Flops,
    /// Memory traffic of both passes.
    pub traffic: Bytes,
    /// Its output.
    pub output: Bytes,
    /// Kept for the backward pass; a tensor that several ops keep counts at each.
    pub saved: Bytes,
    /// Parameters.
    pub parameters: Parameters,
}

/// Costs of every op of a model by itself.
pub fn op_costs(model: &Model, system: &System, unit: &MatrixUnit, plan: &Plan) -> Vec<OpCost> {
    let shares = shares(model, plan);
    let pricer = Pricer { model, system, unit, plan, shares: &shares, bytes: plan.precision.bytes() };
    (0..model.ops.len()).map(|op| pricer.op(op)).collect()
}

struct Pricer<'a> {
    model: &'a Model,
    system: &'a System,
    unit: &'a MatrixUnit,
    plan: &'a Plan,
    shares: &'a [OpShare],
    bytes: ElementBytes,
}

impl Pricer<'_> {
    fn segment(&self, segment: usize) -> SegmentCost {
        let ops = self.model.ops_of(segment);
        let mut cost = SegmentCost::default();
        for op in ops.clone() {
            self.add_times(&mut cost, op);
            self.add_parameters(&mut cost, op);
        }
        let all = self.saved(ops.clone(), |_| true);
        cost.saved = match self.plan.recompute {
            Recompute::None => all,
            Recompute::Selective => self.saved(ops.clone(), |op| !op.selective),
            Recompute::Full => self.segment_input(segment),
        };
        cost.transient = if self.plan.recompute == Recompute::Full { all - cost.saved } else { Bytes::ZERO };
        cost.transient = cost.transient.max(Bytes::ZERO);
        cost.boundary = self.live(segment, false);
        cost.inner_boundary = self.live(segment, true);
        cost
    }

    fn op(&self, index: usize) -> OpCost {
        let mut sum = SegmentCost::default();
        self.add_parameters(&mut sum, index);
        OpCost {
            forward: self.forward(index),
            backward: self.backward(index),
            flops: self.flops(index),
            traffic: self.traffic(index) * 3.0,
            output: Bytes(self.shares[index].output * self.bytes.activation),
            saved: self.saved(index..index + 1, |_| true),
            parameters: sum.parameters,
        }
    }

    fn add_times(&self, cost: &mut SegmentCost, index: usize) {
        let (op, share) = (&self.model.ops[index], &self.shares[index]);
        let mut forward = PassTime { compute: self.forward(index), ..PassTime::default() };
        let mut backward = PassTime { compute: self.backward(index), ..PassTime::default() };
        for travel in &share.travels {
            self.add_travel(if travel.backward { &mut backward } else { &mut forward }, travel);
        }
        let again = match self.plan.recompute {
            Recompute::None => false,
            Recompute::Selective => op.selective,
            Recompute::Full => true,
        };
        let flops = self.flops(index);
        if again {
            cost.again += forward;
            cost.again_flops = Flops(cost.again_flops.value() + flops.value());
        }
        cost.forward += forward;
        cost.backward += backward;
        cost.flops = Flops(cost.flops.value() + flops.value());
        cost.traffic += self.traffic(index) * if again { 4.0 } else { 3.0 };
    }

    fn add_travel(&self, pass: &mut PassTime, travel: &Travel) {
        let (ranks, slot) = match travel.group {
            Group::Tensor => (self.plan.tensor_ranks(), &mut pass.tensor),
            Group::Context => (self.plan.context_ranks(), &mut pass.context),
            Group::Expert => (self.plan.expert_ranks(), &mut pass.expert),
        };
        let bytes = Bytes(travel.elements * self.bytes.activation);
        *slot += travel_time(self.system, self.plan, ranks, travel.operation, bytes);
    }

    fn flops(&self, index: usize) -> Flops {
        let density = match self.model.ops[index].work {
            Work::Contraction { density, .. } => density,
            _ => 1.0,
        };
        let share = &self.shares[index];
        share.gemm.map_or(Flops::ZERO, |gemm| gemm.flops() * (density * share.steps as f64))
    }

    /// Bytes of the operands that are in device memory: inputs, weights, output.
    fn operands(&self, index: usize) -> [Bytes; 3] {
        let (op, share) = (&self.model.ops[index], &self.shares[index]);
        let reads = op.inputs.iter().zip(&share.inputs);
        let inputs: f64 = reads.filter(|(input, _)| !self.model.ops[input.op].on_chip).map(|(_, n)| n).sum();
        let weights: f64 = share.weights.iter().map(|weight| weight.elements).sum();
        let output = if op.on_chip { 0.0 } else { share.output };
        [inputs, weights, output].map(|elements| Bytes(elements * self.bytes.activation))
    }

    fn traffic(&self, index: usize) -> Bytes {
        match self.model.ops[index].work {
            Work::Contraction { .. } | Work::Recurrent { .. } => self.operands(index).into_iter().sum(),
            Work::Elementwise { forward_passes, .. } => self.output_bytes(index) * forward_passes,
            Work::Lookup => self.output_bytes(index) * 2.0,
            _ => Bytes::ZERO,
        }
    }

    fn output_bytes(&self, index: usize) -> Bytes {
        let on_chip = self.model.ops[index].on_chip;
        Bytes(if on_chip { 0.0 } else { self.shares[index].output * self.bytes.activation })
    }

    /// Kernels that skip a masked part work on as many fewer rows.
    fn contraction(&self, gemm: Gemm, density: f64, window: Option<Window>, bytes: Bytes) -> Seconds {
        let gemm = Gemm { m: (gemm.m as f64 * density).ceil() as u64, ..gemm };
        window.map_or_else(
            || contraction_time(self.unit, gemm, bytes),
            |window| convolution_time(self.unit, gemm, window, bytes).0,
        )
    }

    fn stream(&self, bytes: Bytes) -> Seconds {
        if bytes > Bytes::ZERO { stream_time(&self.system.device, bytes) } else { Seconds::ZERO }
    }

    fn forward(&self, index: usize) -> Seconds {
        let share = &self.shares[index];
        let steps = share.steps as f64;
        match (&self.model.ops[index].work, share.gemm) {
            (Work::Contraction { density, .. }, Some(gemm)) => {
                self.contraction(gemm, *density, share.window, self.operands(index).into_iter().sum())
            }
            (Work::Recurrent { forward_passes, .. }, Some(gemm)) => {
                let [inputs, weights, output] = self.operands(index);
                let product = self.contraction(gemm, 1.0, None, (inputs + output) / steps + weights);
                (product + self.stream(self.gates(gemm) * *forward_passes)) * steps
            }
            (Work::Elementwise { forward_passes, .. }, _) => {
                self.stream(self.output_bytes(index) * *forward_passes)
            }
            (Work::Lookup, _) => self.stream(self.output_bytes(index) * 2.0),
            (Work::Measured { forward_s, .. }, _) => Seconds(*forward_s * self.measured_share()),
            _ => Seconds::ZERO,
        }
    }

    /// Measured times scale with the micro-batch.
    fn measured_share(&self) -> f64 {
        self.plan.micro_batch as f64 / self.model.measured_batch.unwrap_or(1) as f64
    }

    fn gates(&self, gemm: Gemm) -> Bytes {
        Bytes((gemm.m * gemm.n) as f64 * self.bytes.activation)
    }

    fn backward(&self, index: usize) -> Seconds {
        let (op, share) = (&self.model.ops[index], &self.shares[index]);
        let steps = share.steps as f64;
        match (&op.work, share.gemm) {
            (Work::Contraction { density, again }, Some(gemm)) => {
                let again = if *again { self.forward(index) } else { Seconds::ZERO };
                self.input_gradient(op, index, gemm, *density)
                    + self.other_gradient(index, gemm, *density)
                    + again
            }
            (Work::Recurrent { backward_passes, .. }, Some(gemm)) => {
                let [inputs, weights, output] = self.operands(index);
                let transposed = Gemm { n: gemm.k, k: gemm.n, ..gemm };
                let state = self.contraction(transposed, 1.0, None, (inputs + output) / steps + weights);
                let each = state + self.stream(self.gates(gemm) * *backward_passes);
                // The weight gradient sums over all time steps in one product.
                let all = Gemm { m: gemm.k, k: gemm.m * share.steps, ..gemm };
                each * steps + self.contraction(all, 1.0, None, inputs + weights + output)
            }
            (Work::Elementwise { backward_passes, .. }, _) => {
                self.stream(self.output_bytes(index) * *backward_passes)
            }
            (Work::Lookup, _) => self.stream(self.output_bytes(index) * 2.0) + self.fill(share),
            (Work::Measured { backward_s, .. }, _) => Seconds(*backward_s * self.measured_share()),
            _ => Seconds::ZERO,
        }
    }

    /// `dA = dC B^T`, unless the input is training data.
    fn input_gradient(&self, op: &Op, index: usize, gemm: Gemm, density: f64) -> Seconds {
        if self.model.ops[op.inputs[0].op].work == Work::Data {
            return Seconds::ZERO;
        }
        let transposed = Gemm { n: gemm.k, k: gemm.n, ..gemm };
        self.contraction(
            transposed,
            density,
            self.shares[index].window,
            self.operands(index).into_iter().sum(),
        )
    }

    /// `dB = A^T dC`: of the weight, or of the second input.
    fn other_gradient(&self, index: usize, gemm: Gemm, density: f64) -> Seconds {
        let transposed = Gemm { m: gemm.k, k: gemm.m, ..gemm };
        self.contraction(
            transposed,
            density,
            self.shares[index].window,
            self.operands(index).into_iter().sum(),
        )
    }

    /// A dense gradient of a looked-up table is cleared before rows are added to it.
    fn fill(&self, share: &OpShare) -> Seconds {
        let dense = share.weights.iter().filter(|weight| weight.touched >= weight.elements);
        self.stream(Bytes(dense.map(|weight| weight.elements).sum::<f64>() * self.bytes.gradient))
    }

    fn add_parameters(&self, cost: &mut SegmentCost, index: usize) {
        let op = &self.model.ops[index];
        for (weight, share) in op.weights.iter().zip(&self.shares[index].weights) {
            if let Some(name) = &weight.tied {
                cost.tied.push(Tied { name: name.clone(), elements: share.elements });
                continue;
            }
            cost.owned.push(weight.name.clone());
            let parameters = &mut cost.parameters;
            if weight.sparse.is_some() && !self.plan.dense_gradients {
                parameters.sparse += share.elements;
                parameters.touched += share.touched;
            } else if share.expert {
                parameters.expert += share.elements;
            } else {
                parameters.dense += share.elements;
            }
        }
    }

    /// Bytes kept by these ops, each tensor once.
    fn saved(&self, ops: Range<usize>, keeps: impl Fn(&Op) -> bool) -> Bytes {
        let mut tensors: Vec<usize> = Vec::new();
        let mut extra = 0.0;
        for index in ops {
            let op = &self.model.ops[index];
            for save in op.saves.iter().filter(|_| keeps(op)) {
                match save {
                    Save::Input(position) => tensors.push(op.inputs[*position].op),
                    Save::Output => tensors.push(index),
                    Save::Mask => extra += self.shares[index].output,
                    Save::Elements(times) => {
                        extra += times * self.shares[index].output * self.bytes.activation;
                    }
                }
            }
        }
        tensors.sort_unstable();
        tensors.dedup();
        let kept: f64 = tensors.iter().map(|&op| self.shares[op].output).sum();
        Bytes(extra + kept * self.bytes.activation)
    }

    /// Tensors that enter a segment from before it.
    fn segment_input(&self, segment: usize) -> Bytes {
        let ops = self.model.ops_of(segment);
        let read = self.model.ops[ops.clone()].iter().flat_map(|op| &op.inputs).map(|input| input.op);
        let mut entering: Vec<usize> = read.filter(|op| *op < ops.start).collect();
        entering.sort_unstable();
        entering.dedup();
        self.output_sum(&entering)
    }

    fn output_sum(&self, ops: &[usize]) -> Bytes {
        Bytes(ops.iter().map(|&op| self.shares[op].output).sum::<f64>() * self.bytes.activation)
    }

    /// Tensors that are alive behind a segment: written up to there and read later. Between two repetitions the
    /// segment's own output takes the place of what it read from the segment before.
    fn live(&self, segment: usize, between_repetitions: bool) -> Bytes {
        let ops = self.model.ops_of(segment);
        let (end, first_reader) = (ops.end, if between_repetitions { ops.start } else { ops.end });
        let last = ops.end - 1;
        let data = |op: usize| self.model.ops[op].work == Work::Data;
        let read = self.model.ops[first_reader..].iter().flat_map(|op| &op.inputs).map(|input| input.op);
        let before = if between_repetitions { ops.start } else { end };
        let mut alive: Vec<usize> = read.filter(|&op| op < before && !data(op)).collect();
        if between_repetitions {
            alive.retain(|&op| op + 1 != ops.start);
            alive.push(last);
        }
        alive.sort_unstable();
        alive.dedup();
        self.output_sum(&alive)
    }
}

/// Bytes that a stage boundary carries per device, and whether the tensor-parallel ranks each hold all of it: they
/// then send a share each and gather it on the other side.
pub fn scattered(plan: &Plan, boundary: Bytes) -> (Bytes, bool) {
    let whole = plan.tp > 1 && !plan.sequence_parallel;
    if whole { (boundary / plan.tp as f64, true) } else { (boundary, false) }
}

/// Time of a boundary between two stages.
pub fn boundary_time(system: &System, plan: &Plan, boundary: Bytes) -> Seconds {
    if plan.pp == 1 || boundary == Bytes::ZERO {
        return Seconds::ZERO;
    }
    let (share, gather) = scattered(plan, boundary);
    let send = travel_time(system, plan, plan.pipeline_ranks(), Operation::PointToPoint, share);
    if gather {
        send + travel_time(system, plan, plan.tensor_ranks(), Operation::AllGather, boundary)
    } else {
        send
    }
}
