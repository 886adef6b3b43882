//! A hybrid partition problem as files state it, checked and numbered for the search.

use super::answer::{
    Answer, Kind, Order, PartitionError, StageReport, check_edges, check_numbers, topological_order,
};
use super::hybrid::{HybridEdge, HybridModel, HybridProblem, Mode, Sharded, reversed};
use super::minimise;
use super::search::Limits;
use serde::Deserialize;
use std::collections::BTreeSet;

/// An op of a hybrid pipeline: what it costs at each tensor degree.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HybridOp {
    /// Entries by tensor degree.
    pub degrees: Vec<HybridDegree>,
}

/// An op at one tensor degree.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HybridDegree {
    /// Tensor degree.
    pub tp: u32,
    /// One or two modes, such as kept and recomputed activations.
    pub modes: Vec<Mode>,
    /// Bytes of parameters.
    pub parameters: f64,
}

/// An edge of a hybrid pipeline. Resharding is in bytes, by `(tensor degree, bytes)`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HybridEdgeInput {
    /// Earlier op.
    pub source: u32,
    /// Later op.
    pub sink: u32,
    /// Bytes sent.
    pub bytes: f64,
    /// Resharding at the source.
    pub source_reshard: Vec<(u32, f64)>,
    /// Resharding at the sink.
    pub sink_reshard: Vec<(u32, f64)>,
}

/// A hybrid partition problem as read from a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HybridInput {
    /// Ops.
    pub ops: Vec<HybridOp>,
    /// Edges.
    pub edges: Vec<HybridEdgeInput>,
    /// Devices.
    pub devices: u32,
    /// Bytes of a device.
    pub memory: f64,
    /// Bandwidth, B/s.
    pub bandwidth: f64,
    /// Micro-batches of a batch.
    pub micro_batches: u32,
}

/// Splits a graph into stages with data and tensor parallelism and recompute.
pub fn hybrid_partition(input: &HybridInput, limits: &Limits<'_>) -> Result<Answer, PartitionError> {
    if input.devices == 0 || input.micro_batches == 0 {
        return Err(PartitionError::NoDevice);
    }
    let edges: Vec<_> = input.edges.iter().map(|edge| (edge.sink, edge.source)).collect();
    check_edges(input.ops.len(), &edges)?;
    let order = topological_order(input.ops.len(), &edges)?;
    let problem = hybrid_problem(input, &order)?;
    let dag = reversed(problem.ops.len(), &problem.edges);
    let model = HybridModel::new(&problem);
    let optimum = minimise::minimise(&dag, &model, model.floor(), limits);
    let stages = optimum.stages.iter().rev().map(|stage| StageReport {
        kind: Kind::Accelerator,
        replicas: stage.choice.dp,
        tensor: stage.choice.tp,
        load: stage.value,
        memory_bytes: model.memory(&stage.blocks, stage.choice),
        ops: order.old_of(&stage.blocks),
    });
    Ok(Answer::new(stages.collect(), optimum.proof, input.ops.len(), || model.infeasible()))
}

fn hybrid_problem(input: &HybridInput, order: &Order) -> Result<HybridProblem, PartitionError> {
    let degrees: BTreeSet<u32> =
        input.ops.iter().flat_map(|op| op.degrees.iter().map(|entry| entry.tp)).collect();
    let degrees: Vec<u32> = degrees.into_iter().collect();
    let mut ops = Vec::with_capacity(input.ops.len());
    for &old in &order.old {
        ops.push(sharded(&input.ops[old as usize], old as usize, &degrees)?);
    }
    let reshard =
        |list: &[(u32, f64)], tp: u32| list.iter().find(|(t, _)| *t == tp).map_or(0.0, |(_, bytes)| *bytes);
    let edges = input.edges.iter().map(|edge| HybridEdge {
        source: order.new[edge.source as usize],
        sink: order.new[edge.sink as usize],
        leaving: degrees.iter().map(|&t| edge.bytes + reshard(&edge.source_reshard, t)).collect(),
        entering: degrees.iter().map(|&t| edge.bytes + reshard(&edge.sink_reshard, t)).collect(),
    });
    let edges = edges.collect();
    let HybridInput { devices, memory, bandwidth, micro_batches, .. } = *input;
    Ok(HybridProblem { degrees, ops, edges, devices, memory, bandwidth, micro_batches })
}

fn sharded(op: &HybridOp, at: usize, degrees: &[u32]) -> Result<Vec<Option<Sharded>>, PartitionError> {
    let mut by_degree = vec![None; degrees.len()];
    for entry in &op.degrees {
        let modes = match entry.modes[..] {
            [only] => [only, only],
            [a, b] if (b.time, b.per_flight) < (a.time, a.per_flight) => [b, a],
            [a, b] if b.per_flight >= a.per_flight && b.fixed >= a.fixed => [a, a],
            [a, b] => [a, b],
            _ => return Err(PartitionError::Modes { op: at, modes: entry.modes.len() }),
        };
        for mode in modes {
            let numbers = [("time", mode.time), ("memory", mode.per_flight), ("memory", mode.fixed)];
            check_numbers(at, &numbers)?;
        }
        check_numbers(at, &[("parameters", entry.parameters)])?;
        if let Some(slot) = degrees.iter().position(|&t| t == entry.tp) {
            by_degree[slot] = Some(Sharded { modes, parameters: entry.parameters });
        }
    }
    Ok(by_degree)
}
