//! What a schedule's makespan hangs on: one chain of tasks without slack.

use super::problem::{Links, Problem};
use super::schedule::{Schedule, TransferSlot};
use serde::Serialize;

/// Ops and transfers of one critical chain, by their index in the schedule, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CriticalPath {
    /// Indices into `Schedule::ops`.
    pub ops: Vec<usize>,
    /// Indices into `Schedule::transfers`.
    pub transfers: Vec<usize>,
}

/// Rounding allowed between an end and the start that waits for it, relative to the makespan.
const SLACK: f64 = 1e-9;

#[derive(Clone, Copy)]
enum Task {
    Op(usize),
    Transfer(usize),
}

/// One chain from time zero to the makespan, each task starting when the one before ends: an input first, else
/// whatever held the resource.
pub fn critical_path(problem: &Problem, schedule: &Schedule) -> CriticalPath {
    let last = (0..schedule.ops.len())
        .max_by(|&a, &b| schedule.ops[a].finish_s.total_cmp(&schedule.ops[b].finish_s));
    let mut path = CriticalPath::default();
    let mut task = last.map(Task::Op);
    // A chain visits no task twice; the limit guards against cycles among tasks without length.
    for _ in 0..schedule.ops.len() + schedule.transfers.len() {
        let Some(at) = task else { break };
        match at {
            Task::Op(op) => path.ops.push(op),
            Task::Transfer(transfer) => path.transfers.push(transfer),
        }
        task = before(problem, schedule, at, &path);
    }
    path.ops.reverse();
    path.transfers.reverse();
    path
}

fn start(schedule: &Schedule, task: Task) -> f64 {
    match task {
        Task::Op(op) => schedule.ops[op].start_s,
        Task::Transfer(transfer) => schedule.transfers[transfer].start_s,
    }
}

/// The task that ends when `task` starts and that it waited for.
fn before(problem: &Problem, schedule: &Schedule, task: Task, path: &CriticalPath) -> Option<Task> {
    let at = start(schedule, task);
    let slack = SLACK * schedule.makespan_s;
    let touches = |finish_s: f64| (finish_s - at).abs() <= slack;
    let op = |&i: &usize| touches(schedule.ops[i].finish_s) && !path.ops.contains(&i);
    let transfer = |&k: &usize| touches(schedule.transfers[k].finish_s) && !path.transfers.contains(&k);
    let inputs = || (0..schedule.ops.len()).filter(|&i| feeds_op(problem, schedule, i, task));
    let arrivals = || (0..schedule.transfers.len()).filter(|&k| feeds_transfer(problem, schedule, k, task));
    let neighbours = || (0..schedule.ops.len()).filter(|&i| shares_op(problem, schedule, i, task));
    let queue = || (0..schedule.transfers.len()).filter(|&k| shares_transfer(problem, schedule, k, task));
    let first = arrivals().find(transfer).map(Task::Transfer).or_else(|| inputs().find(op).map(Task::Op));
    first
        .or_else(|| neighbours().find(op).map(Task::Op))
        .or_else(|| queue().find(transfer).map(Task::Transfer))
}

/// Whether op `i` hands its output to `task` without a transfer between.
fn feeds_op(problem: &Problem, schedule: &Schedule, i: usize, task: Task) -> bool {
    match task {
        Task::Transfer(k) => problem.tensors[schedule.transfers[k].tensor].producer == i,
        Task::Op(op) => {
            let here = schedule.ops[op].device == schedule.ops[i].device;
            here && problem.tensors.iter().any(|t| t.producer == i && t.consumers.contains(&op))
        }
    }
}

fn feeds_transfer(problem: &Problem, schedule: &Schedule, k: usize, task: Task) -> bool {
    let Task::Op(op) = task else { return false };
    let slot = &schedule.transfers[k];
    slot.to == schedule.ops[op].device && problem.tensors[slot.tensor].consumers.contains(&op)
}

fn shares_op(problem: &Problem, schedule: &Schedule, i: usize, task: Task) -> bool {
    let device = schedule.ops[i].device;
    match task {
        Task::Op(op) => op != i && schedule.ops[op].device == device,
        Task::Transfer(k) => !problem.overlap && ends(&schedule.transfers[k]).contains(&device),
    }
}

fn shares_transfer(problem: &Problem, schedule: &Schedule, k: usize, task: Task) -> bool {
    let slot = &schedule.transfers[k];
    let Task::Transfer(other) = task else {
        let Task::Op(op) = task else { return false };
        return !problem.overlap && ends(slot).contains(&schedule.ops[op].device);
    };
    let against = &schedule.transfers[other];
    match problem.links {
        Links::Delay => false,
        Links::Serial => (slot.from, slot.to) == (against.from, against.to),
        Links::Port if problem.overlap => slot.from == against.from || slot.to == against.to,
        Links::Port => ends(slot).iter().any(|d| ends(against).contains(d)),
    }
}

fn ends(slot: &TransferSlot) -> [usize; 2] {
    [slot.from, slot.to]
}
