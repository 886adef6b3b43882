//! What one op costs one device, per micro-batch: kernels, transfers, traffic.

use crate::compute::{Gemm, Window, contraction_time, convolution_time, stream_time};
use crate::device::MatrixUnit;
use crate::graph::{Model, Op, Work};
use crate::parameters::Parameters;
use crate::pass::PassTime;
use crate::plan::{ElementBytes, Plan};
use crate::shard::{Group, OpShare, Transfer, shares};
use crate::system::System;
use crate::travel::{Groups, travel};
use crate::units::{Bytes, Flops, Seconds};

/// Costs of one op on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct OpCost {
    /// Forward pass.
    pub forward: PassTime,
    /// Backward pass.
    pub backward: PassTime,
    /// Forward work.
    pub flops: Flops,
    /// Memory traffic of the forward pass; the backward pass moves twice as much.
    pub traffic: Bytes,
    /// Its output.
    pub output: Bytes,
    /// Parameters that it owns.
    pub parameters: Parameters,
}

/// Prices the ops of a model under a plan.
pub struct OpPricer<'a> {
    model: &'a Model,
    system: &'a System,
    unit: MatrixUnit,
    host: Seconds,
    plan: &'a Plan,
    /// Every op's share.
    pub shares: Vec<OpShare>,
    bytes: ElementBytes,
    groups: &'a Groups,
}

impl<'a> OpPricer<'a> {
    /// For a plan that passed its checks.
    pub fn new(
        model: &'a Model,
        system: &'a System,
        unit: &MatrixUnit,
        plan: &'a Plan,
        groups: &'a Groups,
    ) -> Self {
        let host = system.device.host_overhead.as_ref().map_or(Seconds::ZERO, |overhead| overhead.value);
        let unit = MatrixUnit { kernel_overhead: unit.kernel_overhead + host, ..*unit };
        let (shares, bytes) = (shares(model, plan), plan.precision.bytes());
        Self { model, system, unit, host, plan, shares, bytes, groups }
    }

    /// Costs of the op at a position.
    pub fn cost(&self, index: usize) -> OpCost {
        let mut forward = PassTime { compute: self.forward(index), ..PassTime::default() };
        let mut backward = PassTime { compute: self.backward(index), ..PassTime::default() };
        for transfer in &self.shares[index].transfers {
            self.add_transfer(if transfer.backward { &mut backward } else { &mut forward }, transfer);
        }
        OpCost {
            forward,
            backward,
            flops: self.flops(index),
            traffic: self.traffic(index),
            output: Bytes(self.shares[index].output * self.bytes.activation),
            parameters: self.parameters(index),
        }
    }

    fn parameters(&self, index: usize) -> Parameters {
        let mut sum = Parameters::default();
        for (weight, share) in self.model.ops[index].weights.iter().zip(&self.shares[index].weights) {
            if weight.tied.is_some() {
                continue;
            }
            sum.partial += if share.partial { share.elements } else { 0.0 };
            if weight.sparse.is_some() && !self.plan.dense_gradients {
                sum.sparse += share.elements;
                sum.touched += share.touched;
            } else if share.expert {
                sum.expert += share.elements;
            } else {
                sum.dense += share.elements;
            }
        }
        sum
    }

    fn add_transfer(&self, pass: &mut PassTime, transfer: &Transfer) {
        let (group, slot) = match transfer.group {
            Group::Tensor => (&self.groups.tensor, &mut pass.tensor),
            Group::Context => (&self.groups.context, &mut pass.context),
            Group::Expert => (&self.groups.expert, &mut pass.expert),
        };
        let bytes = Bytes(transfer.elements * self.bytes.activation);
        let cost = travel(group.as_deref(), transfer.operation, bytes);
        *slot += cost.seconds;
        pass.links += cost.energy;
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
            || contraction_time(&self.unit, gemm, bytes),
            |window| convolution_time(&self.unit, gemm, window, bytes).0,
        )
    }

    fn stream(&self, bytes: Bytes) -> Seconds {
        if bytes > Bytes::ZERO { stream_time(&self.system.device, bytes) + self.host } else { Seconds::ZERO }
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
        Bytes((gemm.batch * gemm.m * gemm.n) as f64 * self.bytes.activation)
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
                each * steps
                    + self.contraction(all, 1.0, None, inputs + output + self.gradient_traffic(index))
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
        let [inputs, _, output] = self.operands(index);
        let traffic = inputs + output + self.gradient_traffic(index);
        self.contraction(transposed, density, self.shares[index].window, traffic)
    }

    /// Weight gradients are written, and read as well where micro-batches add up.
    fn gradient_traffic(&self, index: usize) -> Bytes {
        let passes = if self.plan.micro_batches() * self.plan.time_chunks > 1 { 2.0 } else { 1.0 };
        let weights: f64 = self.shares[index].weights.iter().map(|weight| weight.elements).sum();
        Bytes(weights * self.bytes.gradient * passes)
    }

    /// A dense gradient of a looked-up table is cleared before rows are added to it.
    fn fill(&self, share: &OpShare) -> Seconds {
        let dense = share.weights.iter().filter(|weight| weight.touched >= weight.elements);
        self.stream(Bytes(dense.map(|weight| weight.elements).sum::<f64>() * self.bytes.gradient))
    }
}
