//! What one pass of one segment costs a device: time by kind, bytes kept, parameters, and what a boundary carries.

use crate::activation::Activations;
use crate::collective::Operation;
use crate::device::MatrixUnit;
use crate::graph::Model;
use crate::op::{OpCost, OpPricer};
use crate::parameters::Parameters;
use crate::pass::PassTime;
use crate::plan::{Plan, Recompute};
use crate::system::System;
use crate::travel::{Groups, Travel, travel};
use crate::units::{Bytes, Flops};

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
pub fn costs(
    model: &Model,
    system: &System,
    unit: &MatrixUnit,
    plan: &Plan,
    groups: &Groups,
) -> Vec<SegmentCost> {
    let pricer = OpPricer::new(model, system, unit, plan, groups);
    (0..model.segments.len()).map(|segment| cost(model, plan, &pricer, segment)).collect()
}

fn cost(model: &Model, plan: &Plan, pricer: &OpPricer, segment: usize) -> SegmentCost {
    let mut cost = SegmentCost::default();
    for index in model.ops_of(segment) {
        let again = match plan.recompute {
            Recompute::None => false,
            Recompute::Selective => model.ops[index].selective,
            Recompute::Full => true,
        };
        cost.add(&pricer.cost(index), again);
        for (weight, share) in model.ops[index].weights.iter().zip(&pricer.shares[index].weights) {
            match &weight.tied {
                Some(name) => cost.tied.push(Tied { name: name.clone(), elements: share.elements }),
                None => cost.owned.push(weight.name.clone()),
            }
        }
    }
    cost.add_activations(model, plan, pricer, segment);
    cost
}

impl SegmentCost {
    fn add(&mut self, op: &OpCost, again: bool) {
        self.forward += op.forward;
        self.backward += op.backward;
        self.flops = Flops(self.flops.value() + op.flops.value());
        self.parameters += op.parameters;
        self.traffic += op.traffic * if again { 4.0 } else { 3.0 };
        if again {
            self.again += op.forward;
            self.again_flops = Flops(self.again_flops.value() + op.flops.value());
        }
    }

    fn add_activations(&mut self, model: &Model, plan: &Plan, pricer: &OpPricer, segment: usize) {
        let element = plan.precision.bytes().activation;
        let activations = Activations { model, shares: &pricer.shares, element };
        let ops = model.ops_of(segment);
        self.saved = match plan.recompute {
            Recompute::None => activations.saved(ops, false),
            Recompute::Selective => {
                let kept = activations.saved(ops.clone(), true);
                self.transient = activations.saved(ops, false) - kept;
                kept
            }
            Recompute::Full => {
                let entering = activations.entering(segment);
                self.transient = (activations.saved(ops, false) - entering).max(Bytes::ZERO);
                entering
            }
        };
        self.boundary = activations.alive_behind(segment);
        self.inner_boundary = activations.alive_between(segment);
    }
}

/// Bytes that a stage boundary carries per device, and whether the tensor-parallel ranks each hold all of it: they
/// then send a share each and gather it on the other side.
pub fn scattered(plan: &Plan, boundary: Bytes) -> (Bytes, bool) {
    let whole = plan.tp > 1 && !plan.sequence_parallel;
    if whole { (boundary / plan.tp as f64, true) } else { (boundary, false) }
}

/// Time of a boundary between two stages.
pub fn boundary_time(plan: &Plan, groups: &Groups, boundary: Bytes) -> Travel {
    if plan.pp == 1 || boundary == Bytes::ZERO {
        return Travel::default();
    }
    let (share, gather) = scattered(plan, boundary);
    let send = travel(groups.pipeline.as_deref(), Operation::PointToPoint, share);
    if gather { send + travel(groups.tensor.as_deref(), Operation::AllGather, boundary) } else { send }
}
