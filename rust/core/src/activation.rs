//! Activations: what is kept for the backward pass, and what is alive between segments.

use std::ops::Range;

use crate::graph::{Model, Op, Save, Work};
use crate::shard::OpShare;
use crate::units::Bytes;

/// Tensors of a model under a plan, in bytes.
pub struct Activations<'a> {
    /// The model.
    pub model: &'a Model,
    /// Every op's share.
    pub shares: &'a [OpShare],
    /// Bytes of an element.
    pub element: f64,
}

impl Activations<'_> {
    /// Bytes kept by these ops, each tensor once. Under selective recomputation the marked ops keep only what they
    /// start from: inputs that unmarked ops wrote.
    pub fn saved(&self, ops: Range<usize>, selective: bool) -> Bytes {
        let mut tensors: Vec<usize> = Vec::new();
        let mut extra = 0.0;
        for index in ops {
            let op = &self.model.ops[index];
            let dropped = |written: &Op| selective && op.selective && written.selective;
            for save in &op.saves {
                match save {
                    Save::Input(position) => {
                        let writer = op.inputs[*position].op;
                        if !dropped(&self.model.ops[writer]) {
                            tensors.push(writer);
                        }
                    }
                    _ if dropped(op) => {}
                    Save::Output => tensors.push(index),
                    Save::Mask => extra += self.shares[index].output,
                    Save::Elements(times) => extra += times * self.shares[index].output * self.element,
                }
            }
        }
        Bytes(extra) + self.sum(tensors)
    }

    /// Tensors that enter a segment from before it.
    pub fn entering(&self, segment: usize) -> Bytes {
        let ops = self.model.ops_of(segment);
        let read = self.model.ops[ops.clone()].iter().flat_map(|op| &op.inputs).map(|input| input.op);
        self.sum(read.filter(|op| *op < ops.start).collect())
    }

    /// Tensors that are alive behind a segment: written up to there and read later.
    pub fn alive_behind(&self, segment: usize) -> Bytes {
        let end = self.model.ops_of(segment).end;
        self.sum(self.read_from(end).filter(|&op| op < end).collect())
    }

    /// The same between two repetitions, where the segment's own output takes the place of what it read from the
    /// segment before.
    pub fn alive_between(&self, segment: usize) -> Bytes {
        let ops = self.model.ops_of(segment);
        let passing = self.read_from(ops.start).filter(|&op| op + 1 < ops.start);
        self.sum(passing.chain([ops.end - 1]).collect())
    }

    /// What ops from a position on read, training data aside.
    fn read_from(&self, position: usize) -> impl Iterator<Item = usize> {
        let read = self.model.ops[position..].iter().flat_map(|op| &op.inputs).map(|input| input.op);
        read.filter(|&op| self.model.ops[op].work != Work::Data)
    }

    fn sum(&self, mut tensors: Vec<usize>) -> Bytes {
        tensors.sort_unstable();
        tensors.dedup();
        Bytes(tensors.iter().map(|&op| self.shares[op].output).sum::<f64>() * self.element)
    }
}
