//! The optimizer's update of the weights: a stream through memory.

use crate::graph::{Model, Optimizer};
use crate::parameters::Parameters;
use crate::plan::{ElementBytes, Plan};
use crate::units::Bytes;

/// Bytes that the update moves.
///
/// A fused update reads the gradient, reads and writes each state and the master weight (or the weight itself where there
/// is no master), and writes the working copy where there is one. One kernel per operation moves more
/// (`unfused_bytes`). Only touched rows of tables with sparse gradients are updated. From sharding stage 1 on each
/// data-parallel rank updates its share.
///
/// | precision, optimizer | bytes per parameter, fused |
/// |---|---|
/// | fp32, momentum | 4 + 2 (4 + 4) = 20 |
/// | mixed, Adam | 2 + 2 (4 + 8) + 2 = 28 |
pub fn update_bytes(plan: &Plan, model: &Model, parameters: &Parameters) -> Bytes {
    let bytes = plan.precision.bytes();
    let each = if model.fused_update {
        fused_bytes(&bytes, model.optimizer)
    } else {
        unfused_bytes(&bytes, model.optimizer)
    };
    let (data, expert) = match plan.sharding {
        0 => (1.0, 1.0),
        _ => (plan.data_ranks().size as f64, plan.expert_data_ranks().size as f64),
    };
    let touched = parameters.sparse.min(parameters.touched * plan.micro_batches() as f64);
    Bytes(each * ((parameters.dense + touched) / data + parameters.expert / expert))
}

fn fused_bytes(bytes: &ElementBytes, optimizer: Optimizer) -> f64 {
    let (kept, copy) = if bytes.master > 0.0 { (bytes.master, bytes.weight) } else { (bytes.weight, 0.0) };
    bytes.gradient + 2.0 * (kept + bytes.state * optimizer.states()) + copy
}

/// Bytes per parameter of an update in separate element-wise kernels, all on 4-byte tensors: the norm of the gradient
/// (read), clipping and clearing it (read and write, write), and the optimizer's own:
///
/// | optimizer | kernels | bytes |
/// |---|---|---|
/// | plain | w += g | 12 |
/// | momentum | m *= a; m += g; w += m | 8 + 12 + 12 |
/// | Adagrad | v += g g; d = sqrt v; d += e; w += g / d | 12 + 8 + 8 + 16 |
/// | Adam | m *= a; m += g; v *= b; v += g g; d = sqrt v; d += e; w += m / d | 8 + 12 + 8 + 12 + 8 + 8 + 16 |
///
/// With a master copy the gradient is widened and unscaled and the weight narrowed first and last. Source: the
/// kernels that `torch.optim` of PyTorch 1.0 launches, counted; clipping as in `clip_grad_norm_`.
fn unfused_bytes(bytes: &ElementBytes, optimizer: Optimizer) -> f64 {
    let own = match optimizer {
        Optimizer::Sgd => 12.0,
        Optimizer::Momentum => 32.0,
        Optimizer::Adagrad => 44.0,
        Optimizer::Adam => 72.0,
    };
    let clip = 4.0 + 8.0 + bytes.gradient;
    let widen_and_narrow =
        if bytes.master > 0.0 { (bytes.gradient + 4.0) + 8.0 + (4.0 + bytes.weight) } else { 0.0 };
    own + clip + widen_and_narrow
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Precision;

    #[test]
    fn bytes_per_parameter_are_those_of_the_tables() {
        let moved = |precision: Precision, optimizer| fused_bytes(&precision.bytes(), optimizer);
        assert!((moved(Precision::Fp32, Optimizer::Momentum) - 20.0).abs() < 1e-12);
        assert!((moved(Precision::Mixed, Optimizer::Adam) - 28.0).abs() < 1e-12);
        assert!((unfused_bytes(&Precision::Fp32.bytes(), Optimizer::Adam) - 88.0).abs() < 1e-12);
    }
}
