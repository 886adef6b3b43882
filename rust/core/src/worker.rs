//! The devices of one data-parallel worker: what each holds, how long it works, and when it ends.

use crate::graph::Model;
use crate::parameters::Parameters;
use crate::pass::PassTime;
use crate::pipeline::{StageTime, Timeline, in_flight, run};
use crate::plan::Plan;
use crate::reduction::{Bucket, buckets};
use crate::segment::SegmentCost;
use crate::stage::{StageCost, stages};
use crate::travel::Groups;
use crate::units::{Bytes, Flops, Joules, Seconds};

/// What a device of a worker holds, and does for one micro-batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Content {
    /// What it holds.
    pub parameters: Parameters,
    /// Copies of tensors that another stage owns, in parameters.
    pub copied: f64,
    /// Kept from forward to backward pass.
    pub saved: Bytes,
    /// Of the segment that is computed again.
    pub transient: Bytes,
    /// Gradients in the order in which the last backward pass completes them.
    pub buckets: Vec<Bucket>,
    /// Forward pass.
    pub forward: PassTime,
    /// Backward pass.
    pub backward: PassTime,
    /// What is computed again.
    pub again: PassTime,
    /// Energy of its sends to the next stage and back.
    pub sends: Joules,
}

impl Content {
    /// Backward pass with what it computes again.
    pub fn backward_and_again(&self) -> Seconds {
        self.backward.total() + self.again.total()
    }

    /// Work of a micro-batch.
    pub fn busy(&self) -> Seconds {
        self.forward.total() + self.backward_and_again()
    }
}

/// When the devices of a worker work.
#[derive(Debug, Clone, PartialEq)]
pub enum Course {
    /// A pipeline of these virtual stages.
    Pipeline(Vec<StageTime>),
    /// One micro-batch of ops placed one by one: when each device ends.
    Placement(Vec<Seconds>),
}

/// When the last of the ranks with equal content ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct End {
    /// Position of the content.
    pub content: usize,
    /// When its last pass ends.
    pub end: Seconds,
    /// When it would end if transfers took no time.
    pub free_end: Seconds,
}

/// The devices of one worker: the part of a plan's price that depends neither on the data-parallel degree nor on how
/// many micro-batches there are (one, or several).
#[derive(Debug, Clone, PartialEq)]
pub struct Worker {
    /// Each different content once, in the order of the ranks.
    pub contents: Vec<Content>,
    /// Position of each rank's content.
    pub ranks: Vec<usize>,
    /// The first rank of each content, which keeps the most: micro-batches in flight fall along a pipeline.
    pub fullest: Vec<usize>,
    /// When they work.
    pub course: Course,
    /// Work of a forward pass.
    pub flops: Flops,
    /// Work computed again.
    pub again_flops: Flops,
    /// Memory traffic of a micro-batch.
    pub traffic: Bytes,
    /// Parameters that are copies of another rank's.
    pub copied: f64,
}

impl Worker {
    /// Cuts the chain into pipeline stages.
    pub fn pipelined(model: &Model, plan: &Plan, groups: &Groups, costs: &[SegmentCost]) -> Self {
        let stages = stages(model, plan, groups, costs);
        let times = stages.iter().map(StageCost::time).collect();
        let content = |rank: usize| {
            let chunks: Vec<&StageCost> = stages.iter().skip(rank).step_by(plan.pp as usize).collect();
            stage_content(plan, &chunks, costs)
        };
        let total = |of: fn(&StageCost) -> f64| stages.iter().map(of).sum::<f64>();
        let work = [total(|stage| stage.flops.value()), total(|stage| stage.again_flops.value())].map(Flops);
        let traffic = Bytes(total(|stage| stage.traffic.value()));
        Self::new((0..plan.pp as usize).map(content), Course::Pipeline(times), work, traffic)
    }

    /// A worker from what its devices hold, its work forward and again, and its memory traffic.
    pub fn new(
        each: impl Iterator<Item = Content>,
        course: Course,
        [flops, again_flops]: [Flops; 2],
        traffic: Bytes,
    ) -> Self {
        let (mut contents, mut ranks, mut fullest) = (Vec::<Content>::new(), Vec::new(), Vec::new());
        for content in each {
            // Equal stages are neighbours, so the newest is the likeliest.
            let known = contents.iter().rposition(|known| *known == content);
            if known.is_none() {
                fullest.push(ranks.len());
                contents.push(content);
            }
            ranks.push(known.unwrap_or(contents.len() - 1));
        }
        let copied = ranks.iter().map(|&content: &usize| contents[content].copied).sum();
        Self { contents, ranks, fullest, course, flops, again_flops, traffic, copied }
    }

    /// How often each device runs its content in a step.
    pub fn passes(&self, plan: &Plan) -> f64 {
        match self.course {
            // A wavefront runs the pieces of a sequence like micro-batches.
            Course::Pipeline(_) => (plan.micro_batches() * plan.time_chunks) as f64,
            Course::Placement(_) => 1.0,
        }
    }

    /// Activations that a rank keeps for all micro-batches in flight.
    pub fn kept(&self, plan: &Plan, rank: usize) -> Bytes {
        let saved = self.contents[self.ranks[rank]].saved;
        let Course::Pipeline(_) = self.course else { return saved };
        let passes = plan.micro_batches() * plan.time_chunks;
        let chunks = in_flight(plan.schedule, rank as u64, plan.pp, plan.virtual_stages, passes);
        saved * (chunks as f64 / plan.virtual_stages as f64)
    }

    /// Runs the schedule. Ranks of equal content differ only in when they end: the latest of each decides.
    pub fn ends(&self, plan: &Plan) -> Vec<End> {
        let Timeline { end, free_end } = self.timeline(plan);
        let nothing = |content| End { content, end: Seconds::ZERO, free_end: Seconds::ZERO };
        let mut latest: Vec<End> = (0..self.contents.len()).map(nothing).collect();
        for (rank, &content) in self.ranks.iter().enumerate() {
            if end[rank] > latest[content].end {
                latest[content] = End { content, end: end[rank], free_end: free_end[rank] };
            }
        }
        latest
    }

    fn timeline(&self, plan: &Plan) -> Timeline {
        match &self.course {
            Course::Pipeline(times) => {
                let passes = plan.micro_batches() * plan.time_chunks;
                run(times, plan.pp as usize, passes as usize, plan.schedule)
            }
            // Waiting for an input and waiting for a transfer are not told apart.
            Course::Placement(ends) => Timeline { end: ends.clone(), free_end: ends.clone() },
        }
    }
}

fn stage_content(plan: &Plan, chunks: &[&StageCost], costs: &[SegmentCost]) -> Content {
    let mut content = Content {
        copied: chunks.iter().map(|chunk| chunk.copied).sum(),
        saved: chunks.iter().map(|chunk| chunk.saved).sum(),
        transient: chunks.iter().map(|chunk| chunk.transient).fold(Bytes::ZERO, Bytes::max),
        buckets: buckets(plan, chunks, costs),
        ..Content::default()
    };
    for chunk in chunks {
        content.parameters += chunk.parameters;
        content.forward += chunk.forward;
        content.backward += chunk.backward;
        content.again += chunk.again;
        // The output forward and its gradient back.
        content.sends += chunk.send.energy * 2.0;
    }
    content
}
