//! Independent verification of a schedule: every constraint, from the statement alone.
//!
//! Shares no code with the searches; works in seconds, on any schedule, ours or a user's.

use super::problem::{Links, Problem};
use super::schedule::{Schedule, TransferSlot};
use thiserror::Error;

/// Rounding allowed between times that should touch, relative to the makespan.
const SLACK: f64 = 1e-9;

/// A constraint that a schedule breaks.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Violation {
    /// Another number of ops.
    #[error("the schedule has {has} ops, the graph {needs}")]
    Count {
        /// Slots given.
        has: usize,
        /// Ops in the graph.
        needs: usize,
    },
    /// A device, op or tensor that does not exist, or is not allowed.
    #[error("{what} is on device {device}, which is not allowed")]
    Device {
        /// Op or transfer.
        what: String,
        /// Where it was put.
        device: usize,
    },
    /// An op or a transfer whose length differs from the stated time.
    #[error("{what} runs from {start_s} to {finish_s} s but takes {needs_s} s")]
    Duration {
        /// Op or transfer.
        what: String,
        /// Start.
        start_s: f64,
        /// End.
        finish_s: f64,
        /// Its stated time.
        needs_s: f64,
    },
    /// Something starts before what it waits for.
    #[error("{what} starts at {start_s} s, before {waits_for} ends at {ready_s} s")]
    Early {
        /// Op or transfer.
        what: String,
        /// Its start.
        start_s: f64,
        /// What it waits for.
        waits_for: String,
        /// When that is there.
        ready_s: f64,
    },
    /// An input was never sent to the device.
    #[error("op `{op}` on device {device} needs tensor {tensor}, which is never sent there")]
    Missing {
        /// Consumer.
        op: String,
        /// Its device.
        device: usize,
        /// The tensor.
        tensor: usize,
    },
    /// The same tensor travels twice to one device.
    #[error("tensor {tensor} is sent twice to device {device}")]
    SentTwice {
        /// The tensor.
        tensor: usize,
        /// Destination.
        device: usize,
    },
    /// Two things at once on one resource.
    #[error("{resource} runs {first} until {until_s} s and {second} from {from_s} s")]
    Overlap {
        /// Device, link or port.
        resource: String,
        /// The earlier one.
        first: String,
        /// Its end.
        until_s: f64,
        /// The later one.
        second: String,
        /// Its start.
        from_s: f64,
    },
    /// Colocated ops on different devices.
    #[error("ops `{first}` and `{second}` are colocated but on devices {a} and {b}")]
    Apart {
        /// One op.
        first: String,
        /// The other.
        second: String,
        /// Device of the one.
        a: usize,
        /// Device of the other.
        b: usize,
    },
    /// Too much memory on a device.
    #[error("device {device} needs {needs} B, has {has} B")]
    Memory {
        /// Device.
        device: usize,
        /// Bytes placed there.
        needs: f64,
        /// Its capacity.
        has: f64,
    },
    /// The stated makespan is not the last end.
    #[error("the makespan is {is_s} s, not {stated_s} s")]
    Makespan {
        /// Last end.
        is_s: f64,
        /// What the schedule states.
        stated_s: f64,
    },
}

/// Verify `schedule` against `problem` and return its makespan in seconds.
///
/// ```
/// use dielet_solve::place::*;
/// let op = |id: &str| Op { id: id.into(), phase: Phase::Forward, time_s: vec![1.0], memory_bytes: 0.0, group: None, pin: None };
/// let problem = Problem {
///     memory_bytes: vec![f64::INFINITY], ops: vec![op("a"), op("b")],
///     tensors: vec![Tensor { producer: 0, consumers: vec![1], bytes: 8.0 }],
///     latency_s: vec![vec![0.0]], bandwidth_bytes_per_s: vec![vec![1.0]], links: Links::Serial, overlap: true,
/// };
/// let slot = |start_s| OpSlot { device: 0, start_s, finish_s: start_s + 1.0 };
/// let schedule = Schedule { ops: vec![slot(0.0), slot(1.0)], transfers: vec![], makespan_s: 2.0 };
/// assert_eq!(check(&problem, &schedule), Ok(2.0));
/// ```
pub fn check(problem: &Problem, schedule: &Schedule) -> Result<f64, Violation> {
    let audit = Audit::new(problem, schedule)?;
    audit.slots()?;
    audit.transfers()?;
    audit.inputs()?;
    audit.groups()?;
    audit.memory()?;
    audit.resources()?;
    audit.makespan()
}

struct Audit<'a> {
    problem: &'a Problem,
    schedule: &'a Schedule,
    slack_s: f64,
}

/// Something that occupies a resource.
struct Busy {
    resource: String,
    what: String,
    start_s: f64,
    finish_s: f64,
}

impl<'a> Audit<'a> {
    fn new(problem: &'a Problem, schedule: &'a Schedule) -> Result<Self, Violation> {
        let (has, needs) = (schedule.ops.len(), problem.ops.len());
        if has != needs {
            return Err(Violation::Count { has, needs });
        }
        Ok(Self { problem, schedule, slack_s: SLACK * schedule.makespan_s.abs() })
    }

    fn op(&self, i: usize) -> String {
        format!("op `{}`", self.problem.ops[i].id)
    }

    fn duration(&self, what: String, start_s: f64, finish_s: f64, needs_s: f64) -> Result<(), Violation> {
        if start_s >= 0.0 && (finish_s - start_s - needs_s).abs() <= self.slack_s {
            return Ok(());
        }
        Err(Violation::Duration { what, start_s, finish_s, needs_s })
    }

    fn slots(&self) -> Result<(), Violation> {
        for (i, (op, slot)) in self.problem.ops.iter().zip(&self.schedule.ops).enumerate() {
            let allowed = op.time_s.get(slot.device).is_some_and(|time| time.is_finite())
                && op.pin.is_none_or(|pin| pin == slot.device);
            if !allowed {
                return Err(Violation::Device { what: self.op(i), device: slot.device });
            }
            self.duration(self.op(i), slot.start_s, slot.finish_s, op.time_s[slot.device])?;
        }
        Ok(())
    }

    fn transfers(&self) -> Result<(), Violation> {
        let mut sent = std::collections::BTreeSet::new();
        for slot in &self.schedule.transfers {
            self.transfer(slot)?;
            if !sent.insert((slot.tensor, slot.to)) {
                return Err(Violation::SentTwice { tensor: slot.tensor, device: slot.to });
            }
        }
        Ok(())
    }

    fn transfer(&self, slot: &TransferSlot) -> Result<(), Violation> {
        let what = format!("transfer of tensor {}", slot.tensor);
        let devices = self.problem.devices();
        let Some(tensor) = self.problem.tensors.get(slot.tensor).filter(|_| slot.to < devices) else {
            return Err(Violation::Device { what, device: slot.to });
        };
        let producer = self.schedule.ops[tensor.producer];
        if slot.from != producer.device || slot.to == slot.from {
            return Err(Violation::Device { what, device: slot.from });
        }
        if slot.start_s < producer.finish_s - self.slack_s {
            let waits_for = self.op(tensor.producer);
            return Err(Violation::Early {
                what,
                start_s: slot.start_s,
                waits_for,
                ready_s: producer.finish_s,
            });
        }
        let needs_s = self.problem.transfer_s(tensor.bytes, slot.from, slot.to);
        self.duration(what, slot.start_s, slot.finish_s, needs_s)
    }

    fn inputs(&self) -> Result<(), Violation> {
        for (t, tensor) in self.problem.tensors.iter().enumerate() {
            for &consumer in &tensor.consumers {
                let ready_s = self.arrival(t, consumer)?;
                let start_s = self.schedule.ops[consumer].start_s;
                if start_s < ready_s - self.slack_s {
                    let waits_for = format!("tensor {t} of {}", self.op(tensor.producer));
                    return Err(Violation::Early { what: self.op(consumer), start_s, waits_for, ready_s });
                }
            }
        }
        Ok(())
    }

    fn arrival(&self, tensor: usize, consumer: usize) -> Result<f64, Violation> {
        let device = self.schedule.ops[consumer].device;
        let producer = self.schedule.ops[self.problem.tensors[tensor].producer];
        if producer.device == device {
            return Ok(producer.finish_s);
        }
        let mut slots = self.schedule.transfers.iter();
        let slot = slots.find(|slot| slot.tensor == tensor && slot.to == device);
        let missing = || Violation::Missing { op: self.problem.ops[consumer].id.clone(), device, tensor };
        slot.map(|slot| slot.finish_s).ok_or_else(missing)
    }

    fn groups(&self) -> Result<(), Violation> {
        let mut first = std::collections::BTreeMap::new();
        for (i, op) in self.problem.ops.iter().enumerate() {
            let Some(group) = op.group else { continue };
            let &mut leader = first.entry(group).or_insert(i);
            let (a, b) = (self.schedule.ops[leader].device, self.schedule.ops[i].device);
            if a != b {
                let (first, second) = (self.problem.ops[leader].id.clone(), op.id.clone());
                return Err(Violation::Apart { first, second, a, b });
            }
        }
        Ok(())
    }

    fn memory(&self) -> Result<(), Violation> {
        for (device, &has) in self.problem.memory_bytes.iter().enumerate() {
            let placed = self.problem.ops.iter().zip(&self.schedule.ops);
            let needs: f64 =
                placed.filter(|(_, slot)| slot.device == device).map(|(op, _)| op.memory_bytes).sum();
            if needs > has * (1.0 + SLACK) {
                return Err(Violation::Memory { device, needs, has });
            }
        }
        Ok(())
    }

    fn resources(&self) -> Result<(), Violation> {
        let mut busy: Vec<Busy> = self.compute().chain(self.network()).collect();
        // A task of no length may touch another's ends, not sit inside: so it sorts before one that starts with it.
        busy.sort_by(|a, b| {
            let times = a.start_s.total_cmp(&b.start_s).then(a.finish_s.total_cmp(&b.finish_s));
            a.resource.cmp(&b.resource).then(times)
        });
        let clash = busy.windows(2).find(|pair| {
            pair[0].resource == pair[1].resource && pair[1].start_s < pair[0].finish_s - self.slack_s
        });
        clash.map_or(Ok(()), |pair| {
            Err(Violation::Overlap {
                resource: pair[0].resource.clone(),
                first: pair[0].what.clone(),
                until_s: pair[0].finish_s,
                second: pair[1].what.clone(),
                from_s: pair[1].start_s,
            })
        })
    }

    fn compute(&self) -> impl Iterator<Item = Busy> + '_ {
        self.schedule.ops.iter().enumerate().map(|(i, slot)| Busy {
            resource: format!("device {}", slot.device),
            what: self.op(i),
            start_s: slot.start_s,
            finish_s: slot.finish_s,
        })
    }

    fn network(&self) -> impl Iterator<Item = Busy> + '_ {
        self.schedule.transfers.iter().flat_map(|slot| {
            self.occupied(slot).into_iter().map(|resource| Busy {
                resource,
                what: format!("transfer of tensor {}", slot.tensor),
                start_s: slot.start_s,
                finish_s: slot.finish_s,
            })
        })
    }

    fn occupied(&self, slot: &TransferSlot) -> Vec<String> {
        let (from, to) = (slot.from, slot.to);
        match self.problem.links {
            Links::Delay => vec![],
            Links::Serial => vec![format!("link {from} to {to}")],
            Links::Port if self.problem.overlap => {
                vec![format!("send port {from}"), format!("receive port {to}")]
            }
            Links::Port => vec![format!("device {from}"), format!("device {to}")],
        }
    }

    fn makespan(&self) -> Result<f64, Violation> {
        let is_s = self.schedule.ops.iter().map(|slot| slot.finish_s).fold(0.0, f64::max);
        let stated_s = self.schedule.makespan_s;
        if (is_s - stated_s).abs() <= self.slack_s {
            return Ok(is_s);
        }
        Err(Violation::Makespan { is_s, stated_s })
    }
}
