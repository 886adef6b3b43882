//! Whether the degrees of a plan fit each other and a model.

use super::{Plan, Recompute, Schedule, divisible, split_divisors};
use crate::graph::{Model, Op, TensorRule, Work};
use crate::verdict::{Infeasible, Reason};

/// Beyond this product of degrees and sizes counts would not fit 64 bits.
const LARGEST: f64 = (1_u64 << 60) as f64;

/// Passes of a step that a schedule lays out one by one; a thousand stages of ten thousand micro-batches are fewer.
const MOST_PASSES: f64 = (1_u64 << 24) as f64;

impl Plan {
    /// Whether the degrees fit the model and each other.
    pub fn check(&self, model: &Model) -> Result<(), Infeasible> {
        self.check_numbers()?;
        self.check_model(model)
    }

    /// Whether degrees and batches fit each other.
    pub fn check_numbers(&self) -> Result<(), Infeasible> {
        self.check_counts()?;
        self.check_batch()?;
        self.check_schedule()
    }

    /// Whether the degrees fit the model; batch, micro-batch, recomputation, sharding and number format play no part.
    pub fn check_model(&self, model: &Model) -> Result<(), Infeasible> {
        self.check_time_chunks(model)?;
        self.check_measured(model)?;
        self.check_placed(model)?;
        self.check_stages(model)?;
        self.check_context(model)?;
        self.check_experts(model)?;
        self.check_split(model)
    }

    fn check_counts(&self) -> Result<(), Infeasible> {
        let counts = [
            self.placed,
            self.dp,
            self.tp,
            self.pp,
            self.cp,
            self.ep,
            self.virtual_stages,
            self.micro_batch,
            self.time_chunks,
        ];
        let least = counts.into_iter().min().unwrap_or(0);
        if least == 0 {
            return Err(Infeasible::new(Reason::Degree, 1.0, 0.0, "every degree at least 1".to_owned()));
        }
        if self.sharding > 3 {
            let nearest = "sharding 0, 1, 2 or 3".to_owned();
            return Err(Infeasible::new(Reason::Degree, f64::from(self.sharding), 3.0, nearest));
        }
        let product: f64 =
            counts.into_iter().chain([self.sequence.max(1)]).map(|count| count as f64).product();
        if product > LARGEST {
            let nearest = format!("degrees, micro-batch and sequence whose product is at most {LARGEST:e}");
            return Err(Infeasible::new(Reason::Degree, product, LARGEST, nearest));
        }
        Ok(())
    }

    fn check_batch(&self) -> Result<(), Infeasible> {
        let share = self.dp * self.micro_batch;
        if self.batch == 0 || !self.batch.is_multiple_of(share) {
            let nearest = (self.batch / share).max(1) * share;
            let nearest =
                format!("batch {nearest}, a multiple of dp {} x micro-batch {}", self.dp, self.micro_batch);
            return Err(Infeasible::new(Reason::Batch, share as f64, self.batch as f64, nearest));
        }
        let passes = self.micro_batches() as f64 * (self.time_chunks * self.pp * self.virtual_stages) as f64;
        if passes > MOST_PASSES {
            let most = ((MOST_PASSES / passes * self.micro_batches() as f64) as u64).max(1) * share;
            return Err(Infeasible::new(Reason::Batch, passes, MOST_PASSES, format!("batch at most {most}")));
        }
        Ok(())
    }

    fn check_schedule(&self) -> Result<(), Infeasible> {
        let m = self.micro_batches();
        if self.virtual_stages == 1 || (self.pp > 1 && m.is_multiple_of(self.pp)) {
            return Ok(());
        }
        let (needs, has, nearest) = match self.pp {
            1 => (2, 1, "virtual stages 1, or pp at least 2".to_owned()),
            pp => (pp, m, format!("virtual stages 1, or micro-batches a multiple of pp {pp} (now {m})")),
        };
        Err(Infeasible::new(Reason::Interleaving, needs as f64, has as f64, nearest))
    }

    fn check_time_chunks(&self, model: &Model) -> Result<(), Infeasible> {
        let divides = self.sequence.is_multiple_of(self.time_chunks);
        let schedule = self.schedule == Schedule::Gpipe;
        if self.time_chunks == 1 || (divides && schedule && model.steps_in_time()) {
            return Ok(());
        }
        let nearest =
            "time chunks 1, or a recurrent model, schedule gpipe and chunks that divide the sequence";
        let (needs, has) = (self.time_chunks as f64, self.sequence as f64);
        Err(Infeasible::new(Reason::TimeChunks, needs, has, nearest.to_owned()))
    }

    fn check_measured(&self, model: &Model) -> Result<(), Infeasible> {
        let split = self.tp * self.cp * self.ep;
        if model.measured_batch.is_some() && split > 1 {
            let nearest = "tp, cp and ep 1: measured ops can be placed and pipelined, not sharded".to_owned();
            return Err(Infeasible::new(Reason::Measured, split as f64, 1.0, nearest));
        }
        Ok(())
    }

    /// A placement runs one micro-batch of ops that stand once in the chain, whole.
    fn check_placed(&self, model: &Model) -> Result<(), Infeasible> {
        let repeat = model.segments.iter().map(|segment| segment.repeat).max().unwrap_or(1);
        let others = [self.tp, self.pp, self.cp, self.ep, self.virtual_stages, self.time_chunks];
        let most = others.into_iter().chain([self.micro_batches(), repeat]).max().unwrap_or(1);
        if self.placed == 1 || (most == 1 && self.recompute == Recompute::None) {
            return Ok(());
        }
        let nearest =
            "placed 1, or all other degrees, micro-batches and repeats of a segment 1, and no recomputation";
        Err(Infeasible::new(Reason::Placed, most.max(2) as f64, 1.0, nearest.to_owned()))
    }

    fn check_stages(&self, model: &Model) -> Result<(), Infeasible> {
        let stages = self.pp * self.virtual_stages;
        let layers = model.segments.iter().map(|segment| segment.repeat).sum::<u64>();
        if stages <= layers {
            return Ok(());
        }
        let nearest = format!("pp x virtual stages at most {layers}");
        Err(Infeasible::new(Reason::Stages, stages as f64, layers as f64, nearest))
    }

    /// A recurrence runs over the whole sequence on one device, and without a sequence there is nothing to split.
    fn check_context(&self, model: &Model) -> Result<(), Infeasible> {
        let recurrent = model.ops.iter().any(|op| matches!(op.work, Work::Recurrent { .. }));
        if self.cp == 1 || (model.sequence > 0 && !recurrent) {
            return Ok(());
        }
        let nearest = "cp 1: the model has no sequence that can be split".to_owned();
        Err(Infeasible::new(Reason::Context, self.cp as f64, 1.0, nearest))
    }

    fn check_experts(&self, model: &Model) -> Result<(), Infeasible> {
        let size = |op: &Op| op.axis("experts").map(|axis| op.axes[axis].size);
        let experts = model.ops.iter().filter_map(size).max().unwrap_or(1);
        if !(self.dp * self.cp).is_multiple_of(self.ep) || !experts.is_multiple_of(self.ep) {
            let nearest =
                format!("ep that divides dp x cp = {} and the {experts} experts", self.dp * self.cp);
            return Err(Infeasible::new(Reason::Experts, self.ep as f64, experts as f64, nearest));
        }
        Ok(())
    }

    fn check_split(&self, model: &Model) -> Result<(), Infeasible> {
        let fits = |tp| model.ops.iter().all(|op| split_divisors(op, tp).is_some());
        let Some(op) = model.ops.iter().find(|op| split_divisors(op, self.tp).is_none()) else {
            return Ok(());
        };
        let TensorRule::Split(axes) = &op.tensor else { return Ok(()) };
        let size: u64 = axes.iter().map(|&axis| divisible(&op.axes[axis])).product();
        let allowed = (1..=self.tp.min(size)).rev().find(|&tp| fits(tp)).unwrap_or(1);
        let names = axes.iter().map(|&axis| op.axes[axis].name.as_str()).collect::<Vec<_>>().join(" x ");
        let nearest = format!("tp {allowed}, which divides {names} = {size} of op `{}`", op.name);
        Err(Infeasible::new(Reason::Tensor, self.tp as f64, size as f64, nearest))
    }
}
