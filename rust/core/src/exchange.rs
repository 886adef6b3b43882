//! What the data-parallel copies of a rank exchange: gradients, copies of tied tables, weights updated in shares.

use crate::collective::Operation;
use crate::graph::Model;
use crate::parameters::Parameters;
use crate::plan::Plan;
use crate::reduction::{behind, exposed, gather_weights, reduce};
use crate::system::System;
use crate::travel::{Groups, Travel, travel};
use crate::units::{Bytes, Seconds};
use crate::worker::Content;

/// Under sequence parallelism a weight that every tensor-parallel rank holds has seen a share of the sequence on each:
/// gradients are added up once per step (as Megatron-LM does with those of its norms).
fn partial(plan: &Plan, groups: &Groups, parameters: &Parameters) -> Travel {
    let bytes = Bytes(parameters.partial * plan.precision.bytes().gradient);
    travel(groups.tensor.as_deref(), Operation::AllReduce, bytes)
}

/// First and last stage each hold a copy of a tied table and add up its gradients.
fn tied(plan: &Plan, groups: &Groups, copied: f64) -> Travel {
    let bytes = Bytes(copied * plan.precision.bytes().gradient);
    travel(groups.tied.as_deref(), Operation::AllReduce, bytes)
}

/// What the gradients and weights of a rank cost among the data-parallel ranks. Micro-batches play no part in it, but
/// for the rows that they touch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Exchange {
    /// Of the last micro-batch, where it sticks out.
    last: Travel,
    /// How long reductions run behind the last backward pass.
    hidden: Seconds,
    /// Of a micro-batch before it: gradients that are sharded are reduced after each.
    each: Travel,
    /// Weights that are updated in shares.
    gather: Travel,
    /// Weights whose gradient is spread over the tensor-parallel ranks.
    partial: Travel,
    /// Copies of tied tables.
    tied: Travel,
}

impl Exchange {
    /// Of a rank with this content, in a worker that holds `copied` parameters twice.
    pub fn new(
        model: &Model,
        system: &System,
        plan: &Plan,
        groups: &Groups,
        content: &Content,
        copied: f64,
    ) -> Self {
        let last = if model.overlap {
            exposed(plan, groups, &content.buckets)
        } else {
            behind(system, plan, groups, &content.parameters)
        };
        let from = |stage: u8, travel: fn(&Plan, &Groups, &Parameters) -> Travel| {
            if plan.sharding < stage { Travel::default() } else { travel(plan, groups, &content.parameters) }
        };
        let all = content.buckets.iter().map(|bucket| {
            let seconds = reduce(plan, groups, &bucket.parameters).seconds;
            seconds * bucket.count as f64
        });
        let hidden = if model.overlap && plan.sharding > 0 {
            all.sum::<Seconds>() - last.seconds
        } else {
            Seconds::ZERO
        };
        Self {
            last,
            hidden,
            each: from(1, reduce),
            gather: from(1, gather_weights),
            partial: partial(plan, groups, &content.parameters),
            tied: tied(plan, groups, copied),
        }
    }

    /// Reduction of gradients, as far as no backward pass hides it.
    pub fn reduction(&self, plan: &Plan, content: &Content) -> Travel {
        if plan.sharding < 2 {
            return self.last;
        }
        let before = (plan.micro_batches() - 1) as f64;
        let window = content.backward_and_again() * plan.time_chunks as f64;
        let beyond = (self.each.seconds - window).max(Seconds::ZERO);
        self.last + Travel { seconds: beyond, ..self.each } * before
    }

    /// Reduction, among tensor-parallel ranks, of gradients that saw a share of the sequence.
    pub fn partial(&self) -> Travel {
        self.partial
    }

    /// Reduction of the gradients of tied tables.
    pub fn tied(&self) -> Travel {
        self.tied
    }

    /// Weights updated in shares are gathered after the update (stages 1, 2) or before each pass, behind the pass
    /// before it (stage 3), where they share the links with the reductions: what hides one hides nothing of the other.
    pub fn weight_gather(&self, plan: &Plan, content: &Content) -> Travel {
        if plan.sharding < 3 {
            return self.gather;
        }
        let (gather, m) = (self.gather, plan.micro_batches() as f64);
        let beyond = |window: Seconds| (gather.seconds - window).max(Seconds::ZERO);
        let chunks = plan.time_chunks as f64;
        let (forward, backward) = (content.forward.total() * chunks, content.backward_and_again() * chunks);
        let before = backward - self.each.seconds.min(backward);
        let seconds = beyond(forward) * m + beyond(before) * (m - 1.0) + beyond(backward - self.hidden);
        Travel { seconds, energy: gather.energy * (2.0 * m) }
    }
}
