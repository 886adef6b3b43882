//! The placement problem as stated: ops, tensors, devices and links, and the ways to state it wrongly.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// More ops than any search here can order; larger graphs must be coarsened first.
pub const MAX_OPS: usize = 20_000;

/// More devices than a placement of single ops is meant for.
pub const MAX_DEVICES: usize = 64;

/// How transfers share the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Links {
    /// Transfers do not contend: a pure delay.
    Delay,
    /// One transfer at a time per ordered pair of devices.
    Serial,
    /// One send and one receive at a time per device.
    Port,
}

/// Which half of the training step an op belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Computes outputs.
    Forward,
    /// Computes gradients.
    Backward,
}

/// One op: runs once, on one device, without preemption.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Op {
    /// Name in messages and answers.
    pub id: String,
    /// Forward or backward.
    pub phase: Phase,
    /// Seconds on each device; infinity forbids the device.
    pub time_s: Vec<f64>,
    /// Bytes it keeps on its device for the whole step.
    pub memory_bytes: f64,
    /// Ops with the same group share a device.
    pub group: Option<usize>,
    /// The device it must run on.
    pub pin: Option<usize>,
}

/// One tensor: sent once to each other device that consumes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tensor {
    /// Index of the op that makes it.
    pub producer: usize,
    /// Indices of the ops that wait for it.
    pub consumers: Vec<usize>,
    /// Size.
    pub bytes: f64,
}

/// Ops on devices: place and order them so that the last op ends as soon as possible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Memory capacity of each device in bytes; its length is the number of devices.
    pub memory_bytes: Vec<f64>,
    /// The ops.
    pub ops: Vec<Op>,
    /// The tensors between them.
    pub tensors: Vec<Tensor>,
    /// Seconds before the first byte from device `s` arrives at `d`: `latency_s[s][d]`.
    pub latency_s: Vec<Vec<f64>>,
    /// Bytes per second from device `s` to `d`; infinity is allowed.
    pub bandwidth_bytes_per_s: Vec<Vec<f64>>,
    /// How transfers share links.
    pub links: Links,
    /// Whether a transfer runs beside compute; without, it occupies both devices (port links only).
    pub overlap: bool,
}

/// A placement problem that is not well stated.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PlaceError {
    /// No device.
    #[error("0 devices given; place needs at least 1")]
    NoDevices,
    /// Too many devices.
    #[error(
        "{devices} devices given; place handles at most {MAX_DEVICES}, use `dielet plan` or `dielet partition`"
    )]
    TooManyDevices {
        /// Number given.
        devices: usize,
    },
    /// No op.
    #[error("the graph has no ops; give at least one")]
    NoOps,
    /// Too many ops.
    #[error("the graph has {ops} ops; place handles at most {MAX_OPS}, merge ops first")]
    TooManyOps {
        /// Number given.
        ops: usize,
    },
    /// A number that must be a size or a time is not.
    #[error("{what} of {of} is {value}; it must be a number >= 0")]
    BadNumber {
        /// The quantity.
        what: &'static str,
        /// Whose.
        of: String,
        /// Its value.
        value: f64,
    },
    /// Bandwidth must be positive.
    #[error("bandwidth from device {from} to {to} is {value} B/s; it must be > 0")]
    BadBandwidth {
        /// Source device.
        from: usize,
        /// Destination device.
        to: usize,
        /// Its value.
        value: f64,
    },
    /// A vector or matrix has the wrong length.
    #[error("{what} has {has} entries for {needs} devices; give one per device")]
    WrongLength {
        /// The quantity.
        what: String,
        /// Entries given.
        has: usize,
        /// Number of devices.
        needs: usize,
    },
    /// A tensor names an op that does not exist.
    #[error("tensor {tensor} names op {op}, but there are {ops} ops; remove the edge or add the op")]
    UnknownOp {
        /// Index of the tensor.
        tensor: usize,
        /// Op index it names.
        op: usize,
        /// Number of ops.
        ops: usize,
    },
    /// The graph has a cycle.
    #[error("the graph has a cycle through op `{op}`; a dataflow graph must be acyclic")]
    Cycle {
        /// An op on the cycle.
        op: String,
    },
    /// A pinned or colocated op has no device left.
    #[error("op `{op}` can run on no device: forbidden times, pins and colocation exclude all {devices}")]
    Nowhere {
        /// The op.
        op: String,
        /// Number of devices.
        devices: usize,
    },
    /// A pin names a device that does not exist.
    #[error("op `{op}` is pinned to device {pin}, but there are {devices}; pins count from 0")]
    BadPin {
        /// The op.
        op: String,
        /// The device it names.
        pin: usize,
        /// Number of devices.
        devices: usize,
    },
    /// `overlap: false` is defined for port links only.
    #[error("no-overlap needs port links: a transfer then occupies both devices; use --links port")]
    NoOverlapNeedsPort,
}

impl PlaceError {
    /// Whether the graph is at fault, rather than the devices and links it is to run on.
    pub fn is_about_the_graph(&self) -> bool {
        match self {
            Self::NoOps
            | Self::TooManyOps { .. }
            | Self::BadNumber { .. }
            | Self::UnknownOp { .. }
            | Self::Cycle { .. }
            | Self::Nowhere { .. } => true,
            Self::NoDevices
            | Self::TooManyDevices { .. }
            | Self::BadBandwidth { .. }
            | Self::WrongLength { .. }
            | Self::BadPin { .. }
            | Self::NoOverlapNeedsPort => false,
        }
    }
}

impl Problem {
    /// Number of devices.
    pub fn devices(&self) -> usize {
        self.memory_bytes.len()
    }

    /// Seconds to move a tensor of `bytes` from device `from` to another device `to`:
    /// `t = latency + bytes / bandwidth` (linear cost of a message on an idle link).
    pub fn transfer_s(&self, bytes: f64, from: usize, to: usize) -> f64 {
        self.latency_s[from][to] + bytes / self.bandwidth_bytes_per_s[from][to]
    }

    /// Seconds if everything ran one after the other on the one best allowed device
    /// (memory aside); infinity when no device may run every op.
    pub fn serial_s(&self) -> f64 {
        (0..self.devices())
            .map(|d| self.ops.iter().map(|op| op.time_s[d]).sum::<f64>())
            .fold(f64::INFINITY, f64::min)
    }

    /// Every way in which the statement can be wrong, except cycles and impossible groups.
    pub fn validate(&self) -> Result<(), PlaceError> {
        self.validate_counts()?;
        self.validate_links()?;
        self.ops.iter().try_for_each(|op| self.validate_op(op))?;
        self.tensors.iter().enumerate().try_for_each(|(t, tensor)| self.validate_tensor(t, tensor))
    }

    fn validate_counts(&self) -> Result<(), PlaceError> {
        let devices = self.devices();
        match () {
            () if devices == 0 => Err(PlaceError::NoDevices),
            () if devices > MAX_DEVICES => Err(PlaceError::TooManyDevices { devices }),
            () if self.ops.is_empty() => Err(PlaceError::NoOps),
            () if self.ops.len() > MAX_OPS => Err(PlaceError::TooManyOps { ops: self.ops.len() }),
            () if !self.overlap && self.links != Links::Port => Err(PlaceError::NoOverlapNeedsPort),
            () => Ok(()),
        }
    }

    fn validate_links(&self) -> Result<(), PlaceError> {
        let devices = self.devices();
        for (d, &capacity) in self.memory_bytes.iter().enumerate() {
            non_negative("memory", &format!("device {d}"), capacity)?;
        }
        for (what, matrix) in [("latency", &self.latency_s), ("bandwidth", &self.bandwidth_bytes_per_s)] {
            length(what.into(), matrix.len(), devices)?;
            matrix
                .iter()
                .enumerate()
                .try_for_each(|(d, row)| length(format!("{what} from device {d}"), row.len(), devices))?;
        }
        for from in 0..devices {
            for to in (0..devices).filter(|&to| to != from) {
                finite("latency", &format!("link {from} to {to}"), self.latency_s[from][to])?;
                let value = self.bandwidth_bytes_per_s[from][to];
                if value.is_nan() || value <= 0.0 {
                    return Err(PlaceError::BadBandwidth { from, to, value });
                }
            }
        }
        Ok(())
    }

    fn validate_op(&self, op: &Op) -> Result<(), PlaceError> {
        let devices = self.devices();
        let of = format!("op `{}`", op.id);
        length(format!("time of {of}"), op.time_s.len(), devices)?;
        op.time_s.iter().try_for_each(|&time| non_negative("time", &of, time))?;
        finite("memory", &of, op.memory_bytes)?;
        match op.pin {
            Some(pin) if pin >= devices => Err(PlaceError::BadPin { op: op.id.clone(), pin, devices }),
            _ => Ok(()),
        }
    }

    fn validate_tensor(&self, t: usize, tensor: &Tensor) -> Result<(), PlaceError> {
        let ops = self.ops.len();
        let mut ends = tensor.consumers.iter().chain([&tensor.producer]);
        if let Some(&op) = ends.find(|&&op| op >= ops) {
            return Err(PlaceError::UnknownOp { tensor: t, op, ops });
        }
        finite("bytes", &format!("the output of op `{}`", self.ops[tensor.producer].id), tensor.bytes)
    }
}

fn non_negative(what: &'static str, of: &str, value: f64) -> Result<(), PlaceError> {
    if value >= 0.0 { Ok(()) } else { Err(PlaceError::BadNumber { what, of: of.into(), value }) }
}

fn finite(what: &'static str, of: &str, value: f64) -> Result<(), PlaceError> {
    non_negative(what, of, if value == f64::INFINITY { f64::NAN } else { value })
}

fn length(what: String, has: usize, needs: usize) -> Result<(), PlaceError> {
    if has == needs { Ok(()) } else { Err(PlaceError::WrongLength { what, has, needs }) }
}
