//! Precedence among blocks, in arrays.

use std::collections::BTreeSet;

/// A directed acyclic graph over `0..len`; blocks are numbered in a topological order.
#[derive(Clone, Debug)]
pub struct Dag {
    successors: Vec<Vec<u32>>,
    predecessors: Vec<Vec<u32>>,
}

impl Dag {
    /// From edges `(before, after)` with `before < after`; duplicates and self-loops are dropped.
    pub fn new(len: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut successors = vec![Vec::new(); len];
        let mut predecessors = vec![Vec::new(); len];
        let mut edges: Vec<_> = edges.into_iter().filter(|(before, after)| before < after).collect();
        edges.sort_unstable();
        edges.dedup();
        for (before, after) in edges {
            successors[before as usize].push(after);
            predecessors[after as usize].push(before);
        }
        Self { successors, predecessors }
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.successors.len()
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.successors.is_empty()
    }

    /// Blocks that directly need `v`.
    pub fn successors(&self, v: usize) -> &[u32] {
        &self.successors[v]
    }

    /// Blocks that `v` directly needs.
    pub fn predecessors(&self, v: usize) -> &[u32] {
        &self.predecessors[v]
    }

    /// The chain that visits the blocks in `order`: the same blocks with all freedom removed.
    pub fn chain(order: &[u32]) -> Self {
        let mut successors = vec![Vec::new(); order.len()];
        let mut predecessors = vec![Vec::new(); order.len()];
        for pair in order.windows(2) {
            successors[pair[0] as usize].push(pair[1]);
            predecessors[pair[1] as usize].push(pair[0]);
        }
        Self { successors, predecessors }
    }

    /// A topological order that picks, among the ready blocks, the one with the smallest `priority` of
    /// (block, position at which it became ready).
    pub fn order_by<P: Ord>(&self, mut priority: impl FnMut(u32, usize) -> P) -> Vec<u32> {
        let mut missing: Vec<usize> = self.predecessors.iter().map(Vec::len).collect();
        let mut ready: Vec<(P, u32)> = Vec::new();
        let mut order = Vec::with_capacity(self.len());
        for v in 0..self.len() as u32 {
            if missing[v as usize] == 0 {
                ready.push((priority(v, 0), v));
            }
        }
        while let Some(best) = (0..ready.len()).min_by(|&a, &b| ready[a].cmp(&ready[b])) {
            let (_, v) = ready.swap_remove(best);
            order.push(v);
            for &next in self.successors(v as usize) {
                missing[next as usize] -= 1;
                if missing[next as usize] == 0 {
                    ready.push((priority(next, order.len()), next));
                }
            }
        }
        order
    }
}

/// Position of each used vertex in a topological order (ties by number); what lies on or behind a cycle comes last,
/// in its own order. Unused vertices get `u32::MAX`.
pub fn topological_rank(used: &BTreeSet<u32>, successors: &[Vec<u32>]) -> Vec<u32> {
    let mut missing = vec![0u32; successors.len()];
    for &v in successors.iter().flatten() {
        missing[v as usize] += 1;
    }
    let mut ready: BTreeSet<u32> = used.iter().copied().filter(|&v| missing[v as usize] == 0).collect();
    let mut rank = vec![u32::MAX; successors.len()];
    let mut next = 0;
    while let Some(v) = ready.pop_first() {
        rank[v as usize] = next;
        next += 1;
        for &w in &successors[v as usize] {
            missing[w as usize] -= 1;
            if missing[w as usize] == 0 {
                ready.insert(w);
            }
        }
    }
    for &v in used {
        if rank[v as usize] == u32::MAX {
            rank[v as usize] = next;
            next += 1;
        }
    }
    rank
}

/// Strongly connected components of an arbitrary graph, as one representative per vertex, and a topological rank
/// of the components (Tarjan 1972, iterative).
pub fn components(len: usize, successors: &[Vec<u32>]) -> Vec<u32> {
    Tarjan::new(len).run(successors)
}

struct Tarjan {
    index: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
    stack: Vec<u32>,
    component: Vec<u32>,
    next: u32,
}

const UNSEEN: u32 = u32::MAX;

impl Tarjan {
    fn new(len: usize) -> Self {
        Self {
            index: vec![UNSEEN; len],
            low: vec![0; len],
            on_stack: vec![false; len],
            stack: Vec::new(),
            component: vec![UNSEEN; len],
            next: 0,
        }
    }

    fn run(mut self, successors: &[Vec<u32>]) -> Vec<u32> {
        for root in 0..self.index.len() as u32 {
            if self.index[root as usize] == UNSEEN {
                self.visit(root, successors);
            }
        }
        self.component
    }

    fn open(&mut self, v: u32) {
        self.index[v as usize] = self.next;
        self.low[v as usize] = self.next;
        self.next += 1;
        self.stack.push(v);
        self.on_stack[v as usize] = true;
    }

    fn visit(&mut self, root: u32, successors: &[Vec<u32>]) {
        let mut path = vec![(root, 0usize)];
        self.open(root);
        while let Some(&mut (v, ref mut at)) = path.last_mut() {
            if let Some(&w) = successors[v as usize].get(*at) {
                *at += 1;
                if self.index[w as usize] == UNSEEN {
                    self.open(w);
                    path.push((w, 0));
                } else if self.on_stack[w as usize] {
                    self.low[v as usize] = self.low[v as usize].min(self.index[w as usize]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                self.low[parent as usize] = self.low[parent as usize].min(self.low[v as usize]);
            }
            if self.low[v as usize] == self.index[v as usize] {
                self.close(v);
            }
        }
    }

    fn close(&mut self, v: u32) {
        while let Some(w) = self.stack.pop() {
            self.on_stack[w as usize] = false;
            self.component[w as usize] = v;
            if w == v {
                break;
            }
        }
    }
}
