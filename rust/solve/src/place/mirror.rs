//! The training step of a forward graph: backward is the mirror of forward.

use super::problem::{Op, Phase, Tensor};
use serde::{Deserialize, Serialize};

/// An op of a forward graph with the time of its backward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForwardOp {
    /// Name; forward and backward op share it and differ in phase.
    pub id: String,
    /// Seconds of the forward op on each device.
    pub forward_s: Vec<f64>,
    /// Seconds of the backward op on each device.
    pub backward_s: Vec<f64>,
    /// Bytes kept on its device for the whole step.
    pub memory_bytes: f64,
    /// Ops with the same group share a device.
    pub group: Option<usize>,
    /// The device it must run on.
    pub pin: Option<usize>,
}

/// Ops and tensors of one training step over a forward graph with `tensors` between `forward` ops.
///
/// Op `i` of the graph becomes ops `i` (forward) and `n + i` (backward), colocated. Backward mirrors
/// forward: the gradient of edge `(u, v)` has the size of `u`'s output and travels from `v`'s device
/// to `u`'s, one tensor per edge; the backward of `u` waits for all of them and for its own forward.
pub fn training_step(forward: &[ForwardOp], tensors: &[Tensor]) -> (Vec<Op>, Vec<Tensor>) {
    let n = forward.len();
    // Ungrouped ops get a group of their own beyond the given ones, so that backward finds forward.
    let free = forward.iter().filter_map(|op| op.group).max().map_or(0, |group| group + 1);
    let group = |i: usize, op: &ForwardOp| Some(op.group.unwrap_or(free + i));
    let half = |phase: Phase| {
        forward.iter().enumerate().map(move |(i, op)| Op {
            id: op.id.clone(),
            phase,
            time_s: if phase == Phase::Forward { op.forward_s.clone() } else { op.backward_s.clone() },
            memory_bytes: if phase == Phase::Forward { op.memory_bytes } else { 0.0 },
            group: group(i, op),
            pin: op.pin,
        })
    };
    let own = (0..n).map(|u| Tensor { producer: u, consumers: vec![n + u], bytes: 0.0 });
    let gradients = tensors.iter().flat_map(|tensor| {
        tensor.consumers.iter().map(move |&v| Tensor {
            producer: n + v,
            consumers: vec![n + tensor.producer],
            bytes: tensor.bytes,
        })
    });
    let all = tensors.iter().cloned().chain(own).chain(gradients).collect();
    (half(Phase::Forward).chain(half(Phase::Backward)).collect(), all)
}
