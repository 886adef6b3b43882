//! An assignment of blocks to devices whose loads follow every move.

use super::load::LoadProblem;

/// Accelerators come first, then CPUs.
#[derive(Clone, Debug)]
pub struct Assignment<'a> {
    problem: &'a LoadProblem,
    nets_of: &'a [Vec<u32>],
    /// Device of each block; [`NONE`] while it has none.
    pub device: Vec<u32>,
    /// Load of each device.
    pub load: Vec<f64>,
    /// Bytes on each device.
    pub memory: Vec<f64>,
    /// Ends of a net on a device, net after net.
    ends: Vec<u16>,
    /// Ends of a net that are assigned.
    assigned: Vec<u16>,
}

/// No device yet.
pub const NONE: u32 = u32::MAX;

/// The nets of every block.
pub fn nets_of(problem: &LoadProblem) -> Vec<Vec<u32>> {
    let mut lists = vec![Vec::new(); problem.blocks.len()];
    for (net, e) in problem.nets.iter().zip(0u32..) {
        for &v in &net.ends {
            lists[v as usize].push(e);
        }
    }
    lists
}

impl<'a> Assignment<'a> {
    /// Nothing assigned.
    pub fn new(problem: &'a LoadProblem, nets_of: &'a [Vec<u32>]) -> Self {
        let devices = (problem.machine.accelerators + problem.machine.cpus) as usize;
        Self {
            problem,
            nets_of,
            device: vec![NONE; problem.blocks.len()],
            load: vec![0.0; devices],
            memory: vec![0.0; devices],
            ends: vec![0; devices * problem.nets.len()],
            assigned: vec![0; problem.nets.len()],
        }
    }

    /// Number of devices.
    pub fn devices(&self) -> usize {
        self.load.len()
    }

    /// Whether device `d` is a CPU.
    #[inline]
    pub fn is_cpu(&self, d: usize) -> bool {
        d >= self.problem.machine.accelerators as usize
    }

    /// Whether `d` may hold `v` at all.
    #[inline]
    pub fn admits(&self, v: usize, d: usize) -> bool {
        let block = &self.problem.blocks[v];
        self.is_cpu(d) || (block.supported && self.memory[d] + block.memory <= self.problem.machine.memory)
    }

    /// Puts unassigned `v` on `d`. A net is paid by an accelerator from the moment two devices hold ends of it.
    #[inline]
    pub fn put(&mut self, v: usize, d: usize) {
        let block = &self.problem.blocks[v];
        let devices = self.devices();
        self.device[v] = d as u32;
        self.memory[d] += block.memory;
        self.load[d] += if self.is_cpu(d) { block.cpu } else { block.accelerator };
        for &e in &self.nets_of[v] {
            let (e, row) = (e as usize, e as usize * devices);
            let (here, all) = (self.ends[row + d], self.assigned[e]);
            let cost = self.problem.nets[e].cost;
            if here == 0 && all > 0 {
                self.charge(d, cost);
                if let Some(owner) = (0..devices).find(|&o| self.ends[row + o] == all) {
                    self.charge(owner, cost);
                }
            }
            self.ends[row + d] += 1;
            self.assigned[e] += 1;
        }
    }

    /// Takes `v` off its device.
    #[inline]
    pub fn take(&mut self, v: usize) {
        let block = &self.problem.blocks[v];
        let (d, devices) = (self.device[v] as usize, self.devices());
        self.device[v] = NONE;
        self.memory[d] -= block.memory;
        self.load[d] -= if self.is_cpu(d) { block.cpu } else { block.accelerator };
        for &e in &self.nets_of[v] {
            let (e, row) = (e as usize, e as usize * devices);
            self.ends[row + d] -= 1;
            self.assigned[e] -= 1;
            let (here, all) = (self.ends[row + d], self.assigned[e]);
            let cost = self.problem.nets[e].cost;
            if here == 0 && all > 0 {
                self.charge(d, -cost);
                if let Some(owner) = (0..devices).find(|&o| self.ends[row + o] == all) {
                    self.charge(owner, -cost);
                }
            }
        }
    }

    #[inline]
    fn charge(&mut self, d: usize, cost: f64) {
        if !self.is_cpu(d) {
            self.load[d] += cost;
        }
    }

    /// The largest load.
    pub fn worst(&self) -> f64 {
        self.load.iter().copied().fold(0.0, f64::max)
    }
}
