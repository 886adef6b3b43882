//! Stage cost in the convention of Tarnawski et al. (`NeurIPS` 2020): compute plus cut tensors, accelerators and CPUs.
//!
//! An accelerator's load is the time of its blocks plus, once for each tensor that has an end inside and an end
//! outside, the time to move it. A CPU's load is the time of its blocks. Nothing overlaps.

use super::answer::Kind;
use super::dag::Dag;
use super::ideal::{Bits, members};
use super::minimise::RELATIVE_TOLERANCE;
use super::search::{Entry, StageModel};

/// What stays together on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Block {
    /// Time on an accelerator.
    pub accelerator: f64,
    /// Time on a CPU.
    pub cpu: f64,
    /// Bytes on an accelerator.
    pub memory: f64,
    /// Whether an accelerator can run it.
    pub supported: bool,
}

/// A tensor (or several with the same ends): the blocks it touches and the time to move it.
#[derive(Clone, Debug, PartialEq)]
pub struct Net {
    /// Blocks at its ends, ascending, at least two.
    pub ends: Vec<u32>,
    /// Time to move it between an accelerator and host memory.
    pub cost: f64,
}

/// The devices of the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Accelerators.
    pub accelerators: u32,
    /// Processors.
    pub cpus: u32,
    /// Bytes of one accelerator.
    pub memory: f64,
}

/// Blocks, precedence and nets of a max-load problem.
#[derive(Clone, Debug)]
pub struct LoadProblem {
    /// Time and memory of each block.
    pub blocks: Vec<Block>,
    /// Order of blocks.
    pub dag: Dag,
    /// Tensors between blocks; no two have the same ends.
    pub nets: Vec<Net>,
    /// Devices.
    pub machine: Machine,
}

impl LoadProblem {
    /// Load of a device of `kind` that holds `part`; infinite where it cannot.
    pub fn load(&self, part: &[usize], kind: Kind) -> f64 {
        let sum = |f: fn(&Block) -> f64| part.iter().map(|&v| f(&self.blocks[v])).sum::<f64>();
        match kind {
            Kind::Cpu => sum(|b| b.cpu),
            Kind::Accelerator if part.iter().any(|&v| !self.blocks[v].supported) => f64::INFINITY,
            Kind::Accelerator if sum(|b| b.memory) > self.machine.memory => f64::INFINITY,
            Kind::Accelerator => sum(|b| b.accelerator) + self.cut(part),
        }
    }

    fn cut(&self, part: &[usize]) -> f64 {
        let mut inside = vec![false; self.blocks.len()];
        for &v in part {
            inside[v] = true;
        }
        let crosses = |net: &&Net| {
            let held = net.ends.iter().filter(|&&v| inside[v as usize]).count();
            held > 0 && held < net.ends.len()
        };
        self.nets.iter().filter(crosses).map(|net| net.cost).sum()
    }
}

impl LoadProblem {
    /// A valid lower bound: all work spread evenly over accelerators and what the CPUs can relieve them of.
    pub fn floor(&self) -> f64 {
        let model = LoadModel::new(self);
        let (accelerators, cpus) = (f64::from(self.machine.accelerators), f64::from(self.machine.cpus));
        let (mut low, mut high) = (0.0, model.total.max(f64::MIN_POSITIVE));
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if accelerators * middle + model.relief(cpus * middle) < model.total {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl LoadProblem {
    /// Why nothing fits.
    pub fn infeasible(&self) -> String {
        let Machine { accelerators, memory, .. } = self.machine;
        let total: f64 = self.blocks.iter().map(|b| b.memory).sum();
        let largest = self.blocks.iter().map(|b| b.memory).fold(0.0, f64::max);
        if largest > memory {
            return format!(
                "ops that must share a device need {largest:.4e} B, an accelerator has {memory:.4e} B"
            );
        }
        let all = f64::from(accelerators) * memory;
        format!(
            "the graph needs {total:.4e} B, {accelerators} accelerators have {all:.4e} B, and cuts do not fit"
        )
    }
}

/// Accelerators and CPUs used so far.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    accelerators: u32,
    cpus: u32,
}

/// The stage model over a [`LoadProblem`].
pub struct LoadModel<'a> {
    problem: &'a LoadProblem,
    nets_of: Csr,
    ends: Vec<u16>,
    cost: Vec<f64>,
    /// Sum of the costs of a block's nets.
    exposed: Vec<f64>,
    total: f64,
    /// What sums of the same blocks in another order may differ by.
    rounding: f64,
    /// Blocks by accelerator time a unit of CPU time, best first: what a CPU relieves the accelerators of.
    relief: Vec<(f64, f64)>,
}

/// Adjacency in one array.
struct Csr {
    start: Vec<u32>,
    items: Vec<u32>,
}

impl Csr {
    fn new(lists: &[Vec<u32>]) -> Self {
        let mut start = vec![0];
        let mut items = Vec::new();
        for list in lists {
            items.extend_from_slice(list);
            start.push(items.len() as u32);
        }
        Self { start, items }
    }

    #[inline]
    fn of(&self, v: usize) -> &[u32] {
        &self.items[self.start[v] as usize..self.start[v + 1] as usize]
    }
}

/// A stage under construction.
pub struct LoadStage {
    sums: Sums,
    cpu_allowed: bool,
    /// Time of all blocks after the prefix.
    rest: f64,
    /// Largest accelerator time that the CPUs not yet used may take, by number of CPUs used.
    relief: Vec<f64>,
    inside: Vec<u16>,
    /// How many ends of a net are known to stay outside: the prefix counts one, an excluded block one.
    outside: Vec<u16>,
}

/// Scalars of a stage.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    accelerator: f64,
    cpu: f64,
    memory: f64,
    /// Nets with an end inside and an end outside.
    cut: f64,
    /// Those that stay cut whatever joins the stage.
    fixed: f64,
    unsupported: u32,
}

impl<'a> LoadModel<'a> {
    /// Prepares the arrays.
    pub fn new(problem: &'a LoadProblem) -> Self {
        let n = problem.blocks.len();
        let mut lists = vec![Vec::new(); n];
        let mut exposed = vec![0.0; n];
        for (e, net) in problem.nets.iter().enumerate() {
            for &v in &net.ends {
                lists[v as usize].push(e as u32);
                exposed[v as usize] += net.cost;
            }
        }
        let mut relief: Vec<_> = problem.blocks.iter().map(|b| (b.accelerator, b.cpu)).collect();
        let rate = |(accelerator, cpu): (f64, f64)| if cpu > 0.0 { accelerator / cpu } else { f64::INFINITY };
        relief.sort_by(|&a, &b| rate(b).total_cmp(&rate(a)));
        let total = problem.blocks.iter().map(|b| b.accelerator).sum();
        Self {
            problem,
            rounding: total * RELATIVE_TOLERANCE,
            total,
            nets_of: Csr::new(&lists),
            ends: problem.nets.iter().map(|net| net.ends.len() as u16).collect(),
            cost: problem.nets.iter().map(|net| net.cost).collect(),
            exposed,
            relief,
        }
    }

    /// Most accelerator time that a CPU can take over within `budget`: the fractional knapsack.
    fn relief(&self, mut budget: f64) -> f64 {
        let mut taken = 0.0;
        for &(accelerator, cpu) in &self.relief {
            if cpu <= budget {
                budget -= cpu;
                taken += accelerator;
            } else {
                return taken + accelerator * budget / cpu;
            }
        }
        taken
    }
}

impl StageModel for LoadModel<'_> {
    type Label = Used;
    type Choice = Kind;
    type Mark = Sums;
    type Stage = LoadStage;

    fn start(&self) -> Used {
        Used { accelerators: 0, cpus: 0 }
    }

    #[inline]
    fn dominates(&self, a: Used, b: Used) -> bool {
        a.accelerators <= b.accelerators && a.cpus <= b.cpus
    }

    fn stage(&self) -> LoadStage {
        let nets = self.cost.len();
        LoadStage {
            sums: Sums::default(),
            cpu_allowed: true,
            rest: 0.0,
            relief: Vec::new(),
            inside: vec![0; nets],
            outside: vec![0; nets],
        }
    }

    fn begin(&self, stage: &mut LoadStage, prefix: &Bits, from: &[Entry<Used, Kind>], target: f64) {
        stage.sums = Sums::default();
        stage.cpu_allowed = from.iter().any(|e| e.label.cpus < self.problem.machine.cpus);
        stage.inside.fill(0);
        stage.outside.fill(0);
        let mut done = 0.0;
        for v in members(prefix) {
            done += self.problem.blocks[v].accelerator;
            self.nets_of.of(v).iter().for_each(|&e| stage.outside[e as usize] = 1);
        }
        stage.rest = self.total - done;
        if stage.relief.is_empty() {
            let cpus = self.problem.machine.cpus;
            stage.relief = (0..=cpus).map(|used| self.relief(f64::from(cpus - used) * target)).collect();
        }
    }

    #[inline]
    fn push(&self, stage: &mut LoadStage, v: usize) {
        let block = &self.problem.blocks[v];
        let sums = &mut stage.sums;
        sums.accelerator += block.accelerator;
        sums.cpu += block.cpu;
        sums.memory += block.memory;
        sums.unsupported += u32::from(!block.supported);
        for &e in self.nets_of.of(v) {
            let e = e as usize;
            let cost = self.cost[e];
            stage.inside[e] += 1;
            if stage.inside[e] == 1 {
                sums.cut += cost;
                sums.fixed += if stage.outside[e] > 0 { cost } else { 0.0 };
            }
            if stage.inside[e] == self.ends[e] {
                sums.cut -= cost;
            }
        }
    }

    #[inline]
    fn restore(&self, stage: &mut LoadStage, v: usize, mark: Sums) {
        for &e in self.nets_of.of(v) {
            stage.inside[e as usize] -= 1;
        }
        stage.sums = mark;
    }

    #[inline]
    fn mark(&self, stage: &LoadStage) -> Sums {
        stage.sums
    }

    #[inline]
    fn exclude(&self, stage: &mut LoadStage, v: usize) {
        for &e in self.nets_of.of(v) {
            let e = e as usize;
            stage.outside[e] += 1;
            if stage.outside[e] == 1 && stage.inside[e] > 0 {
                stage.sums.fixed += self.cost[e];
            }
        }
    }

    #[inline]
    fn readmit(&self, stage: &mut LoadStage, v: usize) {
        for &e in self.nets_of.of(v) {
            stage.outside[e as usize] -= 1;
        }
    }

    #[inline]
    fn fits(&self, stage: &LoadStage, target: f64) -> bool {
        let s = &stage.sums;
        let accelerator =
            s.accelerator + s.fixed < target && s.memory <= self.problem.machine.memory && s.unsupported == 0;
        accelerator || (stage.cpu_allowed && s.cpu < target)
    }

    #[inline]
    fn extend(&self, stage: &LoadStage, used: Used, target: f64, emit: &mut dyn FnMut(Used, f64, Kind)) {
        let (s, machine) = (&stage.sums, &self.problem.machine);
        let load = s.accelerator + s.cut;
        if used.accelerators < machine.accelerators
            && load < target
            && s.memory <= machine.memory
            && s.unsupported == 0
        {
            emit(Used { accelerators: used.accelerators + 1, ..used }, load, Kind::Accelerator);
        }
        if used.cpus < machine.cpus && s.cpu < target {
            emit(Used { cpus: used.cpus + 1, ..used }, s.cpu, Kind::Cpu);
        }
    }

    #[inline]
    fn hopeless(&self, stage: &LoadStage, used: Used, target: f64) -> bool {
        let left = f64::from(self.problem.machine.accelerators - used.accelerators) * target;
        stage.rest - stage.sums.accelerator > left + stage.relief[used.cpus as usize] + self.rounding
    }

    fn absorbs(&self, prefix: &Bits, v: usize) -> bool {
        let gain = self.problem.blocks[v].accelerator;
        if gain >= self.exposed[v] {
            return true;
        }
        // Only nets that reach beyond `prefix` and `v` can become cut in a later stage.
        let beyond = |&&e: &&u32| {
            self.problem.nets[e as usize]
                .ends
                .iter()
                .any(|&u| u as usize != v && !super::ideal::contains(prefix, u as usize))
        };
        gain >= self.nets_of.of(v).iter().filter(beyond).map(|&e| self.cost[e as usize]).sum()
    }
}
