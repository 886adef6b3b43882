//! What many plans of one model on one system share, kept: plans of a search differ in few respects at a time.
//!
//! | part of a price | depends on |
//! |---|---|
//! | groups, checks against the model ([`Layout`]) | degrees, mapping, schedule |
//! | costs of segments | sharding of ops, micro-batch, recomputation, groups inside an op |
//! | worker | those, the cut and the group of the pipeline |
//! | ends | worker, micro-batches |
//! | exchanges | worker, layout, whether anything is sharded over data-parallel ranks |
//!
//! The rest is a closed form over these. Each part is a key and a number in a list, so that the next part's key is a
//! few words long.

use std::hash::Hash;
use std::rc::Rc;

use dielet_core::exchange::Exchange;
use dielet_core::fabric::Group;
use dielet_core::graph::Model;
use dielet_core::plan::{Mapping, Plan, Precision, Recompute, Schedule};
use dielet_core::segment::{SegmentCost, costs};
use dielet_core::step::{Case, check_capacity};
use dielet_core::system::System;
use dielet_core::travel::Groups;
use dielet_core::units::{Bytes, Flops, Seconds};
use dielet_core::verdict::{Infeasible, Reason};
use dielet_core::worker::{End, Worker};
use rustc_hash::FxHashMap;

use super::placed;

/// A plan's price in the few numbers that a search compares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quote {
    /// Time of a step.
    pub step: Seconds,
    /// Memory of the fullest device.
    pub peak_memory: Bytes,
    /// Work of forward and backward pass of all devices.
    pub model_flops: Flops,
}

/// Numbers of the parts of a plan's price, and its memory.
pub(super) struct Ready {
    layout: u32,
    worker: u32,
    ends: u32,
    peak_memory: Bytes,
}

/// Prices plans of one model on one system.
pub struct Table<'a> {
    model: &'a Model,
    system: &'a System,
    layouts: Kept<LayoutKey, Layout>,
    inside: Distinct<[Option<Box<Group>>; 3]>,
    chains: Distinct<[Option<Box<Group>>; 2]>,
    costs: Kept<CostKey, Rc<[SegmentCost]>>,
    workers: Kept<WorkerKey, Result<Worker, Reason>>,
    ends: Kept<EndKey, Vec<End>>,
    exchanges: Kept<ExchangeKey, Vec<Exchange>>,
}

/// Which ranks form groups, what they get of the fabric, and whether the model can be split so.
struct Layout {
    checked: Result<(), Reason>,
    groups: Groups,
    /// Number of the groups inside an op: layouts with the same price it the same.
    inside: u32,
    /// Number of the groups between stages or placed ops.
    chain: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct LayoutKey {
    degrees: [u64; 6],
    virtual_stages: u64,
    sequence: u64,
    time_chunks: u64,
    /// Micro-batches, where ops are placed.
    placed_passes: u64,
    schedule: Schedule,
    mapping: Mapping,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct CostKey {
    inside: u32,
    degrees: [u64; 3],
    micro_batch: u64,
    sequence: u64,
    time_chunks: u64,
    recompute: Recompute,
    sequence_parallel: bool,
    dense_gradients: bool,
    precision: Precision,
    /// Gradients of several passes add up.
    several: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct WorkerKey {
    costs: u32,
    chain: u32,
    pp: u64,
    placed: u64,
    virtual_stages: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct EndKey {
    worker: u32,
    passes: u64,
    schedule: Schedule,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ExchangeKey {
    worker: u32,
    layout: u32,
    sharded: bool,
    /// Micro-batches, where they touch rows of a table each.
    touching: u64,
}

impl<'a> Table<'a> {
    /// An empty table.
    pub fn new(model: &'a Model, system: &'a System) -> Self {
        Self {
            model,
            system,
            layouts: Kept::default(),
            inside: Distinct::default(),
            chains: Distinct::default(),
            costs: Kept::default(),
            workers: Kept::default(),
            ends: Kept::default(),
            exchanges: Kept::default(),
        }
    }

    /// The price of a plan, equal to [`price`](super::price()) bit for bit, or why it cannot run.
    pub fn quote(&mut self, plan: &Plan) -> Result<Quote, Reason> {
        let ready = self.ready(plan)?;
        self.finish(plan, &ready)
    }

    /// All of a plan's price but what is exchanged among data-parallel ranks, or why it cannot run.
    pub(super) fn ready(&mut self, plan: &Plan) -> Result<Ready, Reason> {
        plan.check_numbers().map_err(|infeasible| infeasible.reason)?;
        let layout = self.layout(plan);
        self.layouts[layout].checked?;
        let worker = self.worker(plan, layout)?;
        let peak_memory = self.case(plan, layout, worker)?.peak_memory();
        if peak_memory > self.system.device.memory.value {
            return Err(Reason::Memory);
        }
        let ends = self.ends(plan, layout, worker)?;
        Ok(Ready { layout, worker, ends, peak_memory })
    }

    /// What no step of the plan is shorter than.
    pub(super) fn bound(&self, plan: &Plan, ready: &Ready) -> Result<Seconds, Reason> {
        Ok(self.case(plan, ready.layout, ready.worker)?.bound(&self.ends[ready.ends]))
    }

    /// The rest of the price.
    pub(super) fn finish(&mut self, plan: &Plan, ready: &Ready) -> Result<Quote, Reason> {
        let Ready { layout, worker, ends, peak_memory } = *ready;
        let exchanges = self.exchanges(plan, layout, worker)?;
        let case = self.case(plan, layout, worker)?;
        let [model_flops, _] = case.flops();
        Ok(Quote { step: case.time(&self.ends[ends], &self.exchanges[exchanges]), peak_memory, model_flops })
    }

    /// Why a plan cannot run, with numbers and remedy; nothing if it can.
    pub fn explain(&self, plan: &Plan) -> Option<Infeasible> {
        super::price(self.model, self.system, plan).err()
    }

    fn case<'b>(&'b self, plan: &'b Plan, layout: u32, worker: u32) -> Result<Case<'b>, Reason> {
        let worker = self.workers[worker].as_ref().map_err(|reason| *reason)?;
        Ok(Case {
            model: self.model,
            system: self.system,
            plan,
            groups: &self.layouts[layout].groups,
            worker,
        })
    }

    fn layout(&mut self, plan: &Plan) -> u32 {
        let key = LayoutKey {
            degrees: [plan.dp, plan.tp, plan.pp, plan.cp, plan.ep, plan.placed],
            virtual_stages: plan.virtual_stages,
            sequence: plan.sequence,
            time_chunks: plan.time_chunks,
            placed_passes: if plan.placed > 1 { plan.micro_batches() } else { 1 },
            schedule: plan.schedule,
            mapping: plan.mapping,
        };
        let Self { model, system, inside, chains, .. } = self;
        self.layouts.number(key, || {
            let checked = plan.check_model(model).and_then(|()| check_capacity(system, plan));
            let checked = checked.map_err(|infeasible| infeasible.reason);
            let groups = if checked.is_ok() { Groups::new(system, plan) } else { Groups::default() };
            let inside = inside.number([&groups.tensor, &groups.context, &groups.expert].map(Clone::clone));
            let chain = chains.number([groups.pipeline.clone(), groups.placed.clone()]);
            Layout { checked, groups, inside, chain }
        })
    }

    fn costs(&mut self, plan: &Plan, layout: u32) -> Result<u32, Reason> {
        let key = CostKey {
            inside: self.layouts[layout].inside,
            degrees: [plan.tp, plan.cp, plan.ep],
            micro_batch: plan.micro_batch,
            sequence: plan.sequence,
            time_chunks: plan.time_chunks,
            recompute: plan.recompute,
            sequence_parallel: plan.sequence_parallel,
            dense_gradients: plan.dense_gradients,
            precision: plan.precision,
            several: plan.micro_batches() * plan.time_chunks > 1,
        };
        let Self { model, system, layouts, .. } = self;
        self.costs.try_number(key, || {
            let unit = system.device.matrix_unit(plan.precision.number()).map_err(|_| Reason::Precision)?;
            Ok(costs(model, system, &unit, plan, &layouts[layout].groups).into())
        })
    }

    fn worker(&mut self, plan: &Plan, layout: u32) -> Result<u32, Reason> {
        let costs = self.costs(plan, layout)?;
        let chain = self.layouts[layout].chain;
        let Plan { pp, placed, virtual_stages, .. } = *plan;
        let key = WorkerKey { costs, chain, pp, placed, virtual_stages };
        let Self { model, system, layouts, .. } = self;
        let (groups, costs) = (&layouts[layout].groups, &self.costs[costs]);
        Ok(self.workers.number(key, || {
            if plan.placed == 1 {
                return Ok(Worker::pipelined(model, plan, groups, costs));
            }
            let unit = system.device.matrix_unit(plan.precision.number()).map_err(|_| Reason::Precision)?;
            placed::worker(model, system, &unit, plan, groups).map_err(|infeasible| infeasible.reason)
        }))
    }

    fn ends(&mut self, plan: &Plan, layout: u32, worker: u32) -> Result<u32, Reason> {
        let key = EndKey { worker, passes: plan.micro_batches() * plan.time_chunks, schedule: plan.schedule };
        if let Some(number) = self.ends.known(&key) {
            return Ok(number);
        }
        let ends = self.case(plan, layout, worker)?.worker.ends(plan);
        Ok(self.ends.number(key, || ends))
    }

    fn exchanges(&mut self, plan: &Plan, layout: u32, worker: u32) -> Result<u32, Reason> {
        let case = self.case(plan, layout, worker)?;
        let touches = case.worker.contents.iter().any(|content| content.parameters.touched > 0.0);
        let touching = if touches { plan.micro_batches() } else { 0 };
        let key = ExchangeKey { worker, layout, sharded: plan.sharding > 0, touching };
        if let Some(number) = self.exchanges.known(&key) {
            return Ok(number);
        }
        let exchanges = case.exchanges();
        Ok(self.exchanges.number(key, || exchanges))
    }
}

/// Values by key, each computed once and numbered.
struct Kept<K, V> {
    numbers: FxHashMap<K, u32>,
    values: Vec<V>,
}

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self { numbers: FxHashMap::default(), values: Vec::new() }
    }
}

impl<K: Eq + Hash, V> Kept<K, V> {
    fn known(&self, key: &K) -> Option<u32> {
        self.numbers.get(key).copied()
    }

    fn number(&mut self, key: K, value: impl FnOnce() -> V) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.values.push(value());
            self.values.len() as u32 - 1
        })
    }

    fn try_number<E>(&mut self, key: K, value: impl FnOnce() -> Result<V, E>) -> Result<u32, E> {
        match self.known(&key) {
            Some(number) => Ok(number),
            None => value().map(|value| self.number(key, || value)),
        }
    }
}

impl<K, V> std::ops::Index<u32> for Kept<K, V> {
    type Output = V;
    fn index(&self, number: u32) -> &V {
        &self.values[number as usize]
    }
}

/// Different values, numbered; few enough to look through.
struct Distinct<T>(Vec<T>);

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: PartialEq> Distinct<T> {
    fn number(&mut self, value: T) -> u32 {
        let known = self.0.iter().position(|known| *known == value);
        known.unwrap_or_else(|| {
            self.0.push(value);
            self.0.len() - 1
        }) as u32
    }
}
