//! What a cost convention tells the search, and what the search gives back.

use super::dag::Dag;
use super::ideal::Bits;
use crate::proof::Stop;
use std::collections::BTreeMap;

/// A prefix as a bit set, with the label, value and choice that reach it in one step.
pub type Seed<M> = (Vec<u64>, <M as StageModel>::Label, f64, <M as StageModel>::Choice);
/// All seeds, or why they are not known.
pub type Seeds<M> = Result<Vec<Seed<M>>, Stop>;

/// A stage's cost under one convention, maintained while blocks are added to it and taken away.
pub trait StageModel: Sized {
    /// What the stages so far have used.
    type Label: Copy;
    /// How a stage is run (its device kind, replicas), decided by the model.
    type Choice: Copy;
    /// Scalars that [`StageModel::restore`] puts back bit for bit.
    type Mark: Copy;
    /// The stage under construction.
    type Stage;

    /// The label of the empty prefix.
    fn start(&self) -> Self::Label;
    /// Whether everything reachable from `b` is reachable from `a`.
    fn dominates(&self, a: Self::Label, b: Self::Label) -> bool;
    /// A stage without blocks.
    fn stage(&self) -> Self::Stage;
    /// Empties `stage` and lets it begin after `prefix`.
    fn begin(
        &self,
        stage: &mut Self::Stage,
        prefix: &Bits,
        labels: &[Entry<Self::Label, Self::Choice>],
        target: f64,
    );
    /// Adds block `v`.
    fn push(&self, stage: &mut Self::Stage, v: usize);
    /// Takes the last block `v` away again.
    fn restore(&self, stage: &mut Self::Stage, v: usize, mark: Self::Mark);
    /// The scalars of `stage`.
    fn mark(&self, stage: &Self::Stage) -> Self::Mark;
    /// Says that `v` will not join the stage (until [`StageModel::readmit`]).
    fn exclude(&self, _stage: &mut Self::Stage, _v: usize) {}
    /// Takes [`StageModel::exclude`] back.
    fn readmit(&self, _stage: &mut Self::Stage, _v: usize) {}
    /// Whether some stage that holds these blocks may cost less than `target`.
    fn fits(&self, stage: &Self::Stage, target: f64) -> bool;
    /// Gives `emit` every way to run the stage after `label` below `target`: new label, stage value, choice.
    fn extend(
        &self,
        stage: &Self::Stage,
        label: Self::Label,
        target: f64,
        emit: &mut dyn FnMut(Self::Label, f64, Self::Choice),
    );
    /// Whether the blocks after `stage` need more than `label` leaves at `target`.
    fn hopeless(&self, stage: &Self::Stage, label: Self::Label, target: f64) -> bool;
    /// The least cost of a found stage, where [`StageModel::extend`] settles for less than the target.
    fn polish(&self, _blocks: &[usize], _choice: Self::Choice, value: f64) -> f64 {
        value
    }
    /// Prefixes that are reached without a chain of stages, for models with a composite first stage.
    fn seeds(&self, _dag: &Dag, _target: f64, _limits: &Limits<'_>, _counts: &mut Counts) -> Seeds<Self> {
        Ok(Vec::new())
    }
    /// Whether moving ready block `v` from a later stage into the stage that ends at `prefix` never makes a later
    /// stage dearer, whatever that stage is.
    fn absorbs(&self, _prefix: &Bits, _v: usize) -> bool {
        false
    }
}

/// One way to reach an ideal.
#[derive(Clone, Copy, Debug)]
pub struct Entry<L, C> {
    /// What it has used.
    pub label: L,
    /// Its dearest stage.
    pub value: f64,
    /// Its last stage.
    pub(super) last: f64,
    /// Ideal before the last stage, and which of its entries.
    pub(super) parent: (u32, u32),
    /// How the last stage is run; the empty ideal has none.
    pub(super) choice: Option<C>,
}

/// One stage of a found chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage<C> {
    /// Its blocks, ascending.
    pub blocks: Vec<usize>,
    /// How it is run.
    pub choice: C,
    /// What it costs.
    pub value: f64,
}

/// When to give up.
pub struct Limits<'a> {
    /// Polled regularly; a reason ends the search.
    pub stop: &'a dyn Fn() -> Option<Stop>,
    /// Bytes the search may hold.
    pub memory_bytes: Option<usize>,
}

impl Limits<'_> {
    /// No limit at all.
    pub fn none() -> Limits<'static> {
        Limits { stop: &|| None, memory_bytes: None }
    }
}

/// What a search for a chain below a target has found.
#[derive(Debug)]
pub enum Outcome<C> {
    /// A chain, with its dearest stage.
    Found(Vec<Stage<C>>, f64),
    /// There is none.
    Impossible,
    /// It ended before it knew.
    Stopped(Stop),
}

/// Visited and cut, summed over searches.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Stages visited (pairs of ideals).
    pub explored: u64,
    /// Ideals stored.
    pub ideals: u64,
    /// Stages with all their supersets cut since they cannot be below the target.
    pub stage: u64,
    /// Labels dropped since the rest cannot be run with what is left.
    pub remainder: u64,
    /// Ideals dropped since one more block in the stage is never worse.
    pub dominated: u64,
}

impl Counts {
    /// The cuts by name.
    pub fn pruned(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::from([("stage", self.stage), ("remainder", self.remainder), ("dominated", self.dominated)])
    }
}
