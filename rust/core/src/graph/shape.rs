//! The GEMM that a contraction is, from its axes.

use super::{Op, Work};

/// Axes of a contraction `C[batch, m, n] = sum over k of A[batch, m, k] B[batch, k, n]`, by position.
///
/// An axis of A and B is summed over (k) unless the output has it too (batch); an axis of A alone is m, of B
/// alone n. `experts`, which only the weight has, counts as batch: each token meets one expert's matrix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    /// Independent products.
    pub batch: Vec<usize>,
    /// Rows.
    pub m: Vec<usize>,
    /// Columns.
    pub n: Vec<usize>,
    /// Summed over.
    pub k: Vec<usize>,
}

impl Op {
    /// The operands' axes of a contraction; `None` for other work.
    pub fn operands(&self) -> Option<(&[usize], &[usize])> {
        if !matches!(self.work, Work::Contraction { .. } | Work::Recurrent { .. }) {
            return None;
        }
        let a = &self.inputs.first()?.axes;
        let b =
            self.weights.first().map(|w| &w.axes).or_else(|| self.inputs.get(1).map(|input| &input.axes))?;
        Some((a, b))
    }

    /// The GEMM's axes of a contraction; `None` for other work.
    pub fn shape(&self) -> Option<Shape> {
        let (a, b) = self.operands()?;
        let mut shape = Shape::default();
        for axis in 0..self.axes.len() {
            let grouped = self.axes[axis].name == "experts";
            match (a.contains(&axis), b.contains(&axis), self.output.contains(&axis)) {
                (true, true, true) => shape.batch.push(axis),
                (_, true, _) if grouped => shape.batch.push(axis),
                (true, true, false) => shape.k.push(axis),
                (true, false, _) => shape.m.push(axis),
                (false, true, _) => shape.n.push(axis),
                (false, false, _) => {}
            }
        }
        Some(shape)
    }

    /// `2 * product of all axes`, of which grouping axes count once: the forward FLOPs of one sample.
    ///
    /// Each token of a grouped contraction meets one expert, so `experts` multiplies nothing.
    pub fn forward_flops(&self) -> f64 {
        let density = if let Work::Contraction { density, .. } = self.work { density } else { 1.0 };
        let size = |axes: &[usize]| -> f64 {
            let counted = axes.iter().map(|&axis| &self.axes[axis]).filter(|axis| axis.name != "experts");
            counted.map(|axis| axis.size as f64).product()
        };
        self.shape().map_or(0.0, |s| 2.0 * density * size(&s.batch) * size(&s.m) * size(&s.n) * size(&s.k))
    }
}
