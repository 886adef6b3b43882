//! The loop: propagate, learn from contradictions, decide, restart; each schedule found tightens the limit.

use super::analyze::{Analyzer, Lesson};
use super::decide::Memory;
use super::engine::{Cause, Conflict, Reason};
use super::joins::Joins;
use super::literal::TRUE;
use super::model::Model;
use crate::place::instance::{Instance, Ticks};
use crate::place::plan::{Plan, Sent};

/// Conflicts between restarts, times the Luby sequence.
const RESTART: u64 = 100;

/// Learned clauses kept before the first reduction.
const KEEP: usize = 4_000;

/// How far one call may go.
pub(crate) struct Effort<'a> {
    pub(crate) conflicts: u64,
    pub(crate) stop: &'a (dyn Fn() -> bool + 'a),
}

/// What one call found.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// A better plan; the limit is now one tick below its makespan.
    Plan(Plan),
    /// No plan within the limit exists.
    Exhausted,
    /// The effort was spent.
    Spent,
}

/// A search for plans with makespan up to a limit.
pub(crate) struct Solver<'a> {
    model: Model<'a>,
    limit: Ticks,
    memory: Memory,
    analyzer: Analyzer,
    pub(crate) conflicts: u64,
    restarts: u64,
    until_restart: u64,
    keep: usize,
}

impl<'a> Solver<'a> {
    pub(crate) fn new(instance: &'a Instance, limit: Ticks) -> Self {
        Self::with(instance, limit, Joins::All)
    }

    fn with(instance: &'a Instance, limit: Ticks, joins: Joins) -> Self {
        let model = Model::new(instance, limit, joins);
        let memory = preferences(&model, limit);
        Self {
            model,
            limit,
            memory,
            analyzer: Analyzer::default(),
            conflicts: 0,
            restarts: 0,
            until_restart: RESTART,
            keep: KEEP,
        }
    }

    /// With the devices of `plan` for all but the `free` groups.
    pub(crate) fn placed(instance: &'a Instance, limit: Ticks, plan: &Plan, free: &[bool]) -> Self {
        let mut solver = Self::with(instance, limit, Joins::Ends);
        for (group, &device) in plan.device.iter().enumerate().filter(|&(group, _)| !free[group]) {
            let lit = solver.model.on[group][device];
            solver.model.require(&[lit]);
        }
        solver.model.root();
        solver
    }

    /// And with the order of `plan` among ops of groups that are not free.
    pub(crate) fn frozen(instance: &'a Instance, limit: Ticks, plan: &Plan, free: &[bool]) -> Self {
        let mut solver = Self::placed(instance, limit, plan, free);
        let kept = |node: usize| node < instance.ops() && !free[instance.group_of[node]];
        for k in 0..solver.model.pairs.len() {
            let pair = solver.model.pairs[k];
            if kept(pair.first) && kept(pair.second) {
                let first = (plan.start[pair.first], pair.first) < (plan.start[pair.second], pair.second);
                let lit = if first { pair.before } else { pair.after };
                if plan.device_of(instance, pair.first) == plan.device_of(instance, pair.second) {
                    solver.model.require(&[lit]);
                }
            }
        }
        solver.model.root();
        solver
    }

    /// Plans of this makespan and below are looked for.
    pub(crate) fn limit(&self) -> Ticks {
        self.limit
    }

    /// Prefer the choices of `plan`.
    pub(crate) fn remember(&mut self, plan: &Plan) {
        let model = &self.model;
        for (lits, &device) in model.on.iter().zip(&plan.device) {
            for (d, &lit) in lits.iter().enumerate().filter(|(_, lit)| lit.variable() != TRUE.variable()) {
                self.memory.remember(if d == device { lit } else { !lit });
            }
        }
        for pair in model.pairs.iter().filter(|pair| pair.first.max(pair.second) < plan.start.len()) {
            let first = plan.start[pair.first] <= plan.start[pair.second];
            self.memory.remember(if first { pair.before } else { !pair.before });
            self.memory.remember(if first { !pair.after } else { pair.after });
        }
    }

    /// The next better plan, or the proof that there is none.
    pub(crate) fn next(&mut self, effort: &Effort) -> Verdict {
        if !self.model.consistent {
            return Verdict::Exhausted;
        }
        let last = self.conflicts.saturating_add(effort.conflicts);
        let mut steps = 0_u32;
        loop {
            steps = steps.wrapping_add(1);
            if self.conflicts >= last || (steps.is_multiple_of(128) && (effort.stop)()) {
                self.restart();
                return Verdict::Spent;
            }
            match self.model.engine.propagate() {
                Err(conflict) => {
                    if !self.learn(&conflict) {
                        self.model.consistent = false;
                        return Verdict::Exhausted;
                    }
                }
                Ok(()) => match self.model.next_decision(&self.memory) {
                    Some(lit) => self.model.engine.decide(lit),
                    None => return Verdict::Plan(self.accept()),
                },
            }
        }
    }

    fn restart(&mut self) {
        let memory = &mut self.memory;
        self.model.engine.backtrack(0, |lit| memory.remember(lit));
    }

    /// False when the contradiction holds at the root.
    fn learn(&mut self, conflict: &Conflict) -> bool {
        self.conflicts += 1;
        let Self { model, memory, analyzer, .. } = self;
        let Some(Lesson { lits, level, glue }) = analyzer.learn(&model.engine, conflict, |v| memory.bump(v))
        else {
            return false;
        };
        memory.decay();
        model.engine.backtrack(level, |lit| memory.remember(lit));
        let first = lits[0];
        if lits.len() == 1 {
            model.engine.assign(first, Reason::None);
        } else {
            let clause = model.engine.clauses.push(lits, true, glue);
            model.engine.assign(first, Reason::Clause(clause));
        }
        self.maintain();
        true
    }

    fn maintain(&mut self) {
        self.until_restart -= 1;
        if self.until_restart > 0 {
            return;
        }
        self.restarts += 1;
        self.until_restart = RESTART * luby(self.restarts);
        self.restart();
        if self.model.engine.clauses.learned() > self.keep {
            self.keep += self.keep / 10;
            // Root literals never need a reason, so clauses may go.
            self.model.engine.forget_root_reasons();
            self.model.engine.clauses.reduce();
        }
    }

    fn accept(&mut self) -> Plan {
        let plan = self.plan();
        self.lower_limit(plan.makespan - 1);
        plan
    }

    /// Look only for plans of at most `limit` from now on; what was learned stays true.
    pub(crate) fn lower_limit(&mut self, limit: Ticks) {
        if limit >= self.limit {
            return;
        }
        self.restart();
        self.limit = limit;
        let bound = 2 * self.model.end() as u32 + 1;
        self.model.consistent &= self.model.engine.tighten(bound, -limit, Cause::Root).is_ok();
    }

    fn plan(&self) -> Plan {
        let model = &self.model;
        let instance = model.instance;
        let device: Vec<usize> = (0..instance.groups.len()).map(|g| model.device(g)).collect();
        let start: Vec<Ticks> = (0..instance.ops()).map(|op| model.start(op)).collect();
        let ends = (0..start.len()).map(|op| start[op] + instance.times[op][device[instance.group_of[op]]]);
        let makespan = ends.max().unwrap_or(0);
        let sent = self.sent(&device, &start);
        Plan { device, start, sent, makespan }
    }

    fn sent(&self, device: &[usize], start: &[Ticks]) -> Vec<Sent> {
        let instance = self.model.instance;
        let at = |op: usize| device[instance.group_of[op]];
        if !self.model.moves.is_empty() {
            let present = self.model.moves.iter().filter(|m| self.model.engine.is_true(m.present));
            let sent = present.map(|m| {
                let from = at(instance.nets[m.tensor].producer);
                Sent { tensor: m.tensor, from, to: m.to, start: self.model.start(m.node) }
            });
            return sent.collect();
        }
        let mut sent = vec![];
        for (tensor, net) in instance.nets.iter().enumerate() {
            let from = at(net.producer);
            let end = start[net.producer] + instance.times[net.producer][from];
            let to = |d: &usize| *d != from && net.consumers.iter().any(|&v| at(v) == *d);
            sent.extend((0..instance.devices).filter(to).map(|to| Sent { tensor, from, to, start: end }));
        }
        sent
    }
}

/// Groups with the least slack first.
fn preferences(model: &Model, limit: Ticks) -> Memory {
    let mut memory = Memory::new(model.engine.levels.len());
    for (lits, ops) in model.on.iter().zip(&model.instance.groups) {
        let slack = |&op: &usize| -model.engine.bounds[2 * op + 1] - model.engine.bounds[2 * op];
        let least = ops.iter().map(slack).min().unwrap_or(0).max(0);
        let weight = 1.0 - least as f64 / limit.max(1) as f64;
        for lit in lits {
            memory.prefer(lit.variable(), weight);
        }
    }
    memory
}

/// 1, 1, 2, 1, 1, 2, 4, ... (Luby, Sinclair and Zuckerman 1993).
fn luby(i: u64) -> u64 {
    let i = i + 1;
    let k = 64 - i.leading_zeros();
    if i == (1 << k) - 1 { 1 << (k - 1) } else { luby(i - (1 << (k - 1))) }
}
