//! A schedule in ticks, and the decoder that makes one from devices and an order.

use super::instance::{Instance, NEVER, Ticks};
use super::problem::{Links, Problem};
use super::schedule::{OpSlot, Schedule, TransferSlot};
use super::timeline::{Timeline, common_gap};

/// A transfer in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) tensor: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) start: Ticks,
}

/// A schedule in ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Device of each group.
    pub(crate) device: Vec<usize>,
    /// Start of each op.
    pub(crate) start: Vec<Ticks>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) makespan: Ticks,
}

impl Plan {
    pub(crate) fn device_of(&self, instance: &Instance, op: usize) -> usize {
        self.device[instance.group_of[op]]
    }

    /// The same in seconds, with the problem's own durations.
    pub(crate) fn schedule(&self, instance: &Instance, problem: &Problem) -> Schedule {
        let slot = |op: usize| {
            let device = self.device_of(instance, op);
            let start_s = instance.seconds(self.start[op]);
            OpSlot { device, start_s, finish_s: start_s + problem.ops[op].time_s[device] }
        };
        let ops: Vec<OpSlot> = (0..self.start.len()).map(slot).collect();
        let mut transfers: Vec<TransferSlot> =
            self.sent.iter().map(|sent| transfer(sent, instance, problem)).collect();
        transfers.sort_by(|a, b| a.start_s.total_cmp(&b.start_s).then(a.tensor.cmp(&b.tensor)));
        let makespan_s = ops.iter().map(|slot| slot.finish_s).fold(0.0, f64::max);
        Schedule { ops, transfers, makespan_s }
    }
}

fn transfer(sent: &Sent, instance: &Instance, problem: &Problem) -> TransferSlot {
    let &Sent { tensor, from, to, start } = sent;
    let start_s = instance.seconds(start);
    let finish_s = start_s + problem.transfer_s(problem.tensors[tensor].bytes, from, to);
    TransferSlot { tensor, from, to, start_s, finish_s }
}

/// Turns devices and an order into a plan: each op in turn starts at the earliest gap of its device after its
/// inputs have come; a tensor is sent when its first consumer on a device is placed. Buffers are reused.
#[derive(Clone)]
pub(crate) struct Decoder<'a> {
    instance: &'a Instance,
    compute: Vec<Timeline>,
    network: Vec<Timeline>,
    arrival: Vec<Ticks>,
    finish: Vec<Ticks>,
    pub(crate) start: Vec<Ticks>,
    pub(crate) sent: Vec<Sent>,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(instance: &'a Instance) -> Self {
        let devices = instance.devices;
        let resources = match instance.links {
            Links::Delay => 0,
            Links::Serial => devices * devices,
            Links::Port => 2 * devices,
        };
        Self {
            instance,
            compute: vec![Timeline::default(); devices],
            network: vec![Timeline::default(); resources],
            arrival: vec![NEVER; instance.nets.len() * devices],
            finish: vec![0; instance.ops()],
            start: vec![0; instance.ops()],
            sent: vec![],
        }
    }

    /// Makespan of `order` (topological) with `device` per group.
    pub(crate) fn decode(&mut self, device: &[usize], order: &[usize]) -> Ticks {
        self.reset();
        let mut makespan = 0;
        for &op in order {
            let finish = self.place(op, device[self.instance.group_of[op]], device);
            makespan = makespan.max(finish);
        }
        makespan
    }

    pub(crate) fn reset(&mut self) {
        self.compute.iter_mut().chain(&mut self.network).for_each(Timeline::clear);
        self.arrival.fill(NEVER);
        self.sent.clear();
    }

    /// Place one op; its producers must be placed. Returns its end.
    pub(crate) fn place(&mut self, op: usize, on: usize, device: &[usize]) -> Ticks {
        let ready = self.ready(op, on, device);
        let length = self.instance.times[op][on];
        let start = self.compute[on].gap(ready, length);
        self.fix(op, on, start);
        start + length
    }

    /// When all inputs of an op are on its device; sends those that are not yet.
    pub(crate) fn ready(&mut self, op: usize, on: usize, device: &[usize]) -> Ticks {
        let instance = self.instance;
        let mut ready = 0;
        for edge in &instance.inputs[op] {
            let from = device[instance.group_of[edge.op]];
            ready = ready.max(if from == on {
                self.finish[edge.op]
            } else {
                self.receive(edge.tensor, from, on)
            });
        }
        ready
    }

    /// Put an op at a time, without looking.
    pub(crate) fn fix(&mut self, op: usize, on: usize, start: Ticks) {
        let length = self.instance.times[op][on];
        self.compute[on].occupy(start, length);
        self.start[op] = start;
        self.finish[op] = start + length;
    }

    /// Put a transfer at a time, without looking.
    pub(crate) fn fix_sent(&mut self, sent: &Sent) {
        let &Sent { tensor, from, to, start } = sent;
        let devices = self.instance.devices;
        let length = self.instance.move_ticks(tensor, from, to);
        match self.instance.links {
            Links::Delay => {}
            Links::Serial => self.network[from * devices + to].occupy(start, length),
            Links::Port if self.instance.overlap => {
                self.network[from].occupy(start, length);
                self.network[devices + to].occupy(start, length);
            }
            Links::Port => [from, to].iter().for_each(|&d| self.compute[d].occupy(start, length)),
        }
        self.arrival[tensor * devices + to] = start + length;
        self.sent.push(*sent);
    }

    fn receive(&mut self, tensor: usize, from: usize, to: usize) -> Ticks {
        let instance = self.instance;
        let slot = tensor * instance.devices + to;
        if self.arrival[slot] == NEVER {
            let ready = self.finish[instance.nets[tensor].producer];
            let length = instance.move_ticks(tensor, from, to);
            let start = self.send(from, to, ready, length);
            self.sent.push(Sent { tensor, from, to, start });
            self.arrival[slot] = start + length;
        }
        self.arrival[slot]
    }

    fn send(&mut self, from: usize, to: usize, ready: Ticks, length: Ticks) -> Ticks {
        let devices = self.instance.devices;
        match self.instance.links {
            Links::Delay => ready,
            Links::Serial => {
                let link = &mut self.network[from * devices + to];
                let start = link.gap(ready, length);
                link.occupy(start, length);
                start
            }
            Links::Port if self.instance.overlap => {
                both(&mut self.network, from, devices + to, ready, length)
            }
            Links::Port => both(&mut self.compute, from, to, ready, length),
        }
    }

    /// The plan of the last `decode`.
    pub(crate) fn plan(&self, device: &[usize]) -> Plan {
        let makespan = self.finish.iter().copied().max().unwrap_or(0);
        Plan { device: device.to_vec(), start: self.start.clone(), sent: self.sent.clone(), makespan }
    }
}

fn both(timelines: &mut [Timeline], a: usize, b: usize, ready: Ticks, length: Ticks) -> Ticks {
    let start = common_gap(&timelines[a], &timelines[b], ready, length);
    timelines[a].occupy(start, length);
    timelines[b].occupy(start, length);
    start
}
