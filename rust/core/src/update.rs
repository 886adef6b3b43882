//! The optimizer's update of the weights: a stream through memory.

use crate::graph::Optimizer;
use crate::parameters::Parameters;
use crate::plan::Plan;
use crate::units::Bytes;

/// Bytes that the update moves.
///
/// Per parameter: read the gradient, read and write each state and the master weight (or the weight itself where there
/// is no master), write the working copy where there is one. Only touched rows of tables with sparse gradients are
/// updated. From sharding stage 1 on each data-parallel rank updates its share.
///
/// | precision, optimizer | bytes per parameter |
/// |---|---|
/// | fp32, momentum | 4 + 2 (4 + 4) = 20 |
/// | mixed, Adam | 2 + 2 (4 + 8) + 2 = 28 |
pub fn update_bytes(plan: &Plan, optimizer: Optimizer, parameters: &Parameters) -> Bytes {
    let bytes = plan.precision.bytes();
    let (kept, copy) = if bytes.master > 0.0 { (bytes.master, bytes.weight) } else { (bytes.weight, 0.0) };
    let each = bytes.gradient + 2.0 * (kept + bytes.state * optimizer.states()) + copy;
    let (data, expert) = match plan.sharding {
        0 => (1.0, 1.0),
        _ => (plan.data_ranks().size as f64, plan.expert_data_ranks().size as f64),
    };
    let touched = parameters.sparse.min(parameters.touched * plan.micro_batches() as f64);
    Bytes(each * ((parameters.dense + touched) / data + parameters.expert / expert))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Mapping, Precision, Recompute, Schedule};

    #[test]
    fn bytes_per_parameter_are_those_of_the_table() {
        let plan = Plan {
            dp: 1,
            tp: 1,
            pp: 1,
            cp: 1,
            ep: 1,
            placed: 1,
            virtual_stages: 1,
            micro_batch: 1,
            batch: 1,
            sequence: 0,
            time_chunks: 1,
            schedule: Schedule::Gpipe,
            recompute: Recompute::None,
            sharding: 0,
            sequence_parallel: false,
            dense_gradients: false,
            precision: Precision::Fp32,
            mapping: Mapping::DataInside,
        };
        let one = Parameters { dense: 1.0, ..Parameters::default() };
        let moved = |precision, optimizer| update_bytes(&Plan { precision, ..plan }, optimizer, &one).value();
        assert!((moved(Precision::Fp32, Optimizer::Momentum) - 20.0).abs() < 1e-12);
        assert!((moved(Precision::Mixed, Optimizer::Adam) - 28.0).abs() < 1e-12);
    }
}
