//! A schedule: where and when each op runs and each tensor travels.

use serde::{Deserialize, Serialize};

/// When and where one op runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpSlot {
    /// Device.
    pub device: usize,
    /// Start in seconds.
    pub start_s: f64,
    /// End in seconds.
    pub finish_s: f64,
}

/// When one tensor travels between two devices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferSlot {
    /// Index of the tensor.
    pub tensor: usize,
    /// Source device.
    pub from: usize,
    /// Destination device.
    pub to: usize,
    /// Start in seconds.
    pub start_s: f64,
    /// End in seconds.
    pub finish_s: f64,
}

/// One slot per op, in the order of the problem's ops, and every transfer, in order of start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Slot of each op.
    pub ops: Vec<OpSlot>,
    /// Slots of the transfers.
    pub transfers: Vec<TransferSlot>,
    /// When the last op ends, in seconds.
    pub makespan_s: f64,
}
