//! Which ops precede which.

use super::instance::Instance;

/// Ancestors of each op as a bit set.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    words: usize,
    bits: Vec<u64>,
}

impl Reach {
    pub(crate) fn new(instance: &Instance) -> Self {
        let ops = instance.ops();
        let words = ops.div_ceil(64);
        let mut reach = Self { words, bits: vec![0; ops * words] };
        for &op in &instance.topological {
            for edge in &instance.inputs[op] {
                reach.inherit(op, edge.op);
            }
        }
        reach
    }

    fn inherit(&mut self, op: usize, parent: usize) {
        for w in 0..self.words {
            self.bits[op * self.words + w] |= self.bits[parent * self.words + w];
        }
        self.bits[op * self.words + parent / 64] |= 1 << (parent % 64);
    }

    /// Whether a path leads from `a` to `b`.
    pub(crate) fn before(&self, a: usize, b: usize) -> bool {
        self.bits[b * self.words + a / 64] >> (a % 64) & 1 == 1
    }

    /// Number of ancestors of `op`, each told to `visit`.
    pub(crate) fn ancestors(&self, op: usize, mut visit: impl FnMut(usize)) -> usize {
        let mut count = 0;
        for w in 0..self.words {
            let mut word = self.bits[op * self.words + w];
            while word != 0 {
                visit(w * 64 + word.trailing_zeros() as usize);
                word &= word - 1;
                count += 1;
            }
        }
        count
    }

    pub(crate) fn ordered(&self, a: usize, b: usize) -> bool {
        self.before(a, b) || self.before(b, a)
    }
}
