//! Exact partition of a dataflow graph into pipeline stages.
//!
//! One search ([`search`]) over chains of order ideals serves three published cost conventions: compute plus cut
//! tensors on accelerators and CPUs ([`load`]), replicated stages on nodes of devices ([`replicate`]), and stages with
//! data and tensor parallelism and recompute ([`hybrid`]).

pub mod anneal;
pub mod answer;
pub mod arbitrary;
pub mod assign;
pub mod contract;
pub mod dag;
pub mod hybrid;
pub mod hybrid_input;
pub mod ideal;
pub mod inner;
pub mod knapsack;
pub mod load;
pub mod minimise;
pub mod pack;
pub mod reduce;
pub mod refute;
pub mod replicate;
pub mod search;
pub mod stage;

pub use answer::{Answer, PartitionError, StageReport};
pub use hybrid_input::{HybridInput, hybrid_partition};

use crate::proof::Proof;
use answer::{Kind, check_edges, check_numbers, topological_order};
use contract::{Contraction, ProfiledGraph};
use load::Machine;
use minimise::Optimum;
use refute::Verdict;
use replicate::{Levels, ReplicaOp, ReplicaProblem};
use search::Limits;

/// Splits `graph` into contiguous stages so that the largest load is smallest.
pub fn load_partition(
    graph: &ProfiledGraph,
    machine: Machine,
    contiguous: bool,
    limits: &Limits<'_>,
) -> Result<Answer, PartitionError> {
    if machine.accelerators + machine.cpus == 0 {
        return Err(PartitionError::NoDevice);
    }
    check_edges(graph.ops.len(), &graph.edges)?;
    for (at, op) in graph.ops.iter().enumerate() {
        let numbers = [("accelerator time", op.accelerator), ("CPU time", op.cpu), ("memory", op.memory)];
        check_numbers(at, &numbers)?;
        check_numbers(at, &[("transfer time", op.transfer)])?;
    }
    let contraction = contract::contiguous(graph, machine);
    let problem = &contraction.problem;
    let optimum = minimise::minimise(&problem.dag, &load::LoadModel::new(problem), problem.floor(), limits);
    if !contiguous {
        return Ok(arbitrary_partition(graph, &contraction, &optimum, limits));
    }
    let stages = optimum.stages.iter().map(|stage| StageReport {
        load: problem.load(&stage.blocks, stage.choice),
        memory_bytes: stage.blocks.iter().map(|&b| problem.blocks[b].memory).sum(),
        kind: stage.choice,
        replicas: 1,
        tensor: 1,
        ops: contraction.ops_of(&stage.blocks),
    });
    Ok(Answer::new(stages.collect(), optimum.proof, problem.blocks.len(), || problem.infeasible()))
}

/// Assigns colours to devices at will, starting from the contiguous `optimum`, or from anything that fits.
fn arbitrary_partition(
    graph: &ProfiledGraph,
    contraction: &Contraction,
    optimum: &Optimum<Kind>,
    limits: &Limits<'_>,
) -> Answer {
    let free = contract::arbitrary(graph, contraction.problem.machine);
    let problem = &free.problem;
    let Some(start) = start_of(&free, contraction, optimum, limits) else {
        let proof = Proof { explored: optimum.proof.explored, ..optimum.proof.clone() };
        return Answer::new(Vec::new(), proof, problem.blocks.len(), || problem.infeasible());
    };
    let assigned = arbitrary::assign(problem, &start, arbitrary::value_of(problem, &start), limits);
    let accelerators = problem.machine.accelerators;
    let stages = (0..accelerators + problem.machine.cpus).filter_map(|d| {
        let blocks: Vec<usize> = (0..assigned.device.len()).filter(|&v| assigned.device[v] == d).collect();
        let kind = if d < accelerators { Kind::Accelerator } else { Kind::Cpu };
        (!blocks.is_empty()).then(|| StageReport {
            load: problem.load(&blocks, kind),
            memory_bytes: blocks.iter().map(|&b| problem.blocks[b].memory).sum(),
            kind,
            replicas: 1,
            tensor: 1,
            ops: free.ops_of(&blocks),
        })
    });
    Answer::new(stages.collect(), assigned.proof, problem.blocks.len(), || problem.infeasible())
}

/// A first assignment of the blocks of `free`.
fn start_of(
    free: &Contraction,
    contraction: &Contraction,
    optimum: &Optimum<Kind>,
    limits: &Limits<'_>,
) -> Option<Vec<u32>> {
    if optimum.stages.is_empty() {
        return match refute::refute(&free.problem, f64::MAX, u64::MAX, limits, &mut 0) {
            Verdict::Found(device, _) => Some(device),
            Verdict::Impossible | Verdict::Open(_) => None,
        };
    }
    let (mut accelerators, mut cpus) = (0, free.problem.machine.accelerators);
    let mut of_op = vec![0; free.ops.iter().map(Vec::len).sum()];
    for stage in &optimum.stages {
        let next = if stage.choice == Kind::Cpu { &mut cpus } else { &mut accelerators };
        for op in contraction.ops_of(&stage.blocks) {
            of_op[op as usize] = *next;
        }
        *next += 1;
    }
    Some(free.ops.iter().map(|ops| of_op[ops[0] as usize]).collect())
}

/// Splits a chain or graph of `ops` into replicated stages so that the slowest takes least.
pub fn replica_partition(
    ops: &[ReplicaOp],
    edges: &[(u32, u32)],
    levels: Levels,
    limits: &Limits<'_>,
) -> Result<Answer, PartitionError> {
    if levels.total() == 0 {
        return Err(PartitionError::NoDevice);
    }
    check_edges(ops.len(), edges)?;
    for (at, op) in ops.iter().enumerate() {
        let numbers =
            [("compute time", op.compute), ("parameters", op.parameters), ("activation", op.activation)];
        check_numbers(at, &numbers)?;
    }
    let order = topological_order(ops.len(), edges)?;
    let problem = ReplicaProblem {
        ops: order.old.iter().map(|&old| ops[old as usize]).collect(),
        dag: order.dag(edges),
        levels,
    };
    let model = replicate::ReplicaModel::new(&problem);
    let optimum = minimise::minimise(&problem.dag, &model, problem.floor(), limits);
    let stages = optimum.stages.iter().map(|stage| StageReport {
        kind: Kind::Accelerator,
        replicas: stage.choice.nodes * stage.choice.devices,
        tensor: 1,
        load: stage.value,
        memory_bytes: stage.blocks.iter().map(|&v| problem.ops[v].parameters).sum(),
        ops: order.old_of(&stage.blocks),
    });
    Ok(Answer::new(stages.collect(), optimum.proof, ops.len(), || "the graph has no op".to_owned()))
}
