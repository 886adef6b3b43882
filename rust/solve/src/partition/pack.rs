//! Can the work be packed at all? Max-load without tensors: identical accelerators and one pool of CPU time.
//!
//! Accelerators are filled one after the other, each with the largest item left (or that item goes to the CPU), and
//! only by sets to which no item can be added and in which none can be swapped for a larger one that is left (either
//! would only make room elsewhere). Items of equal costs are one kind with a count. A branch ends where the time wasted
//! exceeds what there is to waste, or where more items are left than the accelerators can hold even of the smallest;
//! what was refuted once is remembered.

use super::load::LoadProblem;
use super::search::Limits;
use rustc_hash::FxHashMap;

/// Answer to a packing question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packed {
    /// It can be done.
    Possible,
    /// It cannot.
    Impossible,
    /// The nodes or a limit ran out.
    Open,
}

/// Whether accelerators of `capacity` time each and CPUs of `cpu` time in all can take every block, through at most
/// `nodes` nodes. Memory and tensors are left out, so that "impossible" holds with them too.
pub fn pack(
    problem: &LoadProblem,
    capacity: f64,
    cpu: f64,
    nodes: u64,
    limits: &Limits<'_>,
    explored: &mut u64,
) -> Packed {
    let kinds = kinds(problem);
    let counts = kinds.iter().map(|kind| kind.count).collect();
    let mut by_relief: Vec<usize> = (0..kinds.len()).collect();
    by_relief.sort_by(|&a, &b| kinds[b].rate().total_cmp(&kinds[a].rate()));
    let slack = 1e-12 * capacity;
    let mut pack = Pack {
        kinds,
        by_relief,
        capacity: capacity + slack,
        nodes,
        limits,
        explored,
        refuted: FxHashMap::default(),
        open: false,
        counts,
        taken: Vec::new(),
    };
    let possible = pack.fill(problem.machine.accelerators, cpu + slack);
    match (possible, pack.open) {
        (true, _) => Packed::Possible,
        (false, true) => Packed::Open,
        (false, false) => Packed::Impossible,
    }
}

struct Kind {
    accelerator: f64,
    cpu: f64,
    count: u32,
}

impl Kind {
    fn rate(&self) -> f64 {
        if self.cpu > 0.0 { self.accelerator / self.cpu } else { f64::INFINITY }
    }
}

/// Blocks that take time on either device, grouped by their times, longest first.
fn kinds(problem: &LoadProblem) -> Vec<Kind> {
    let mut times: Vec<(f64, f64)> = problem.blocks.iter().map(|b| (b.accelerator, b.cpu)).collect();
    times.retain(|&(accelerator, cpu)| accelerator > 0.0 && (cpu > 0.0 || problem.machine.cpus == 0));
    times.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let mut kinds: Vec<Kind> = Vec::new();
    for (accelerator, cpu) in times {
        match kinds.last_mut() {
            Some(last) if (last.accelerator, last.cpu) == (accelerator, cpu) => last.count += 1,
            _ => kinds.push(Kind { accelerator, cpu, count: 1 }),
        }
    }
    kinds
}

struct Pack<'a> {
    kinds: Vec<Kind>,
    by_relief: Vec<usize>,
    capacity: f64,
    nodes: u64,
    limits: &'a Limits<'a>,
    explored: &'a mut u64,
    /// Most CPU time with which the counts left could not be packed on a number of accelerators.
    refuted: FxHashMap<(u32, Vec<u32>), f64>,
    open: bool,
    counts: Vec<u32>,
    /// Items on the accelerator being filled, without the first.
    taken: Vec<u32>,
}

impl Pack<'_> {
    /// Whether what is left fits on `devices` empty accelerators and `cpu` time.
    fn fill(&mut self, devices: u32, cpu: f64) -> bool {
        let Some(largest) = self.counts.iter().position(|&count| count > 0) else { return true };
        if self.waste(devices, cpu) < 0.0
            || !self.holds_enough(devices, cpu)
            || self.is_refuted(devices, cpu)
            || !self.may_go_on()
        {
            return false;
        }
        self.counts[largest] -= 1;
        let room = self.capacity - self.kinds[largest].accelerator;
        let outer = std::mem::replace(&mut self.taken, vec![0; self.kinds.len()]);
        let mut possible = devices > 0 && room >= 0.0 && self.complete(largest, room, devices - 1, cpu);
        self.taken = outer;
        if !possible && self.kinds[largest].cpu <= cpu {
            possible = self.fill(devices, cpu - self.kinds[largest].cpu);
        }
        self.counts[largest] += 1;
        if !possible && !self.open {
            let known = self.refuted.entry((devices, self.counts.clone())).or_insert(cpu);
            *known = known.max(cpu);
        }
        possible
    }

    /// Adds items of kinds from `from` on to an accelerator with `room` left, in every maximal way.
    fn complete(&mut self, from: usize, room: f64, devices: u32, cpu: f64) -> bool {
        let fits = |kind: &Kind, count: u32| count > 0 && kind.accelerator <= room;
        let next = (from..self.kinds.len()).find(|&kind| fits(&self.kinds[kind], self.counts[kind]));
        let Some(kind) = next else {
            let maximal = (0..from).all(|kind| !fits(&self.kinds[kind], self.counts[kind]));
            return maximal && !self.swaps(room) && self.fill(devices, cpu);
        };
        if !self.may_go_on() {
            return false;
        }
        let time = self.kinds[kind].accelerator;
        let all = self.counts[kind];
        let most = all.min((room / time) as u32);
        for taken in (0..=most).rev() {
            self.counts[kind] = all - taken;
            self.taken[kind] = taken;
            let rest = room - f64::from(taken) * time;
            // What neither smaller items here nor the other devices can take is too much; fewer here make it worse.
            if self.waste(devices, cpu) + self.fillable(kind + 1).min(rest) < 0.0 {
                break;
            }
            if self.complete(kind + 1, rest, devices, cpu) {
                self.counts[kind] = all;
                self.taken[kind] = 0;
                return true;
            }
        }
        self.counts[kind] = all;
        self.taken[kind] = 0;
        false
    }

    /// Whether an item on the present accelerator can be swapped for a larger one that is left.
    fn swaps(&self, room: f64) -> bool {
        (0..self.kinds.len()).filter(|&kind| self.taken[kind] > 0).any(|kind| {
            let item = &self.kinds[kind];
            (0..kind).any(|other| {
                let larger = &self.kinds[other];
                self.counts[other] > 0
                    && larger.accelerator > item.accelerator
                    && larger.accelerator - item.accelerator <= room
                    && larger.cpu >= item.cpu
            })
        })
    }

    /// Whether `devices` accelerators can hold as many items as no CPU with `cpu` time can take.
    fn holds_enough(&self, devices: u32, cpu: f64) -> bool {
        let (mut room, mut most, mut items) = (self.capacity, 0, 0);
        for (kind, &count) in self.kinds.iter().zip(&self.counts).rev() {
            if kind.cpu > cpu {
                items += count;
                let fit = ((room / kind.accelerator) as u32).min(count);
                most += fit;
                room = if fit < count { 0.0 } else { room - f64::from(fit) * kind.accelerator };
            }
        }
        items <= devices * most
    }

    /// Time of all items left of kinds from `from` on.
    fn fillable(&self, from: usize) -> f64 {
        (from..self.kinds.len()).map(|kind| f64::from(self.counts[kind]) * self.kinds[kind].accelerator).sum()
    }

    /// Accelerator time that may be wasted: what the devices and the CPUs (work split at will) hold beyond what is left.
    fn waste(&self, devices: u32, mut cpu: f64) -> f64 {
        let mut held = f64::from(devices) * self.capacity;
        for &kind in &self.by_relief {
            let Kind { accelerator, cpu: time, .. } = self.kinds[kind];
            let count = f64::from(self.counts[kind]);
            if time * count > cpu {
                held += accelerator * cpu / time;
                break;
            }
            cpu -= time * count;
            held += accelerator * count;
        }
        held - self.fillable(0)
    }

    fn is_refuted(&self, devices: u32, cpu: f64) -> bool {
        self.refuted.get(&(devices, self.counts.clone())).is_some_and(|&known| cpu <= known)
    }

    fn may_go_on(&mut self) -> bool {
        *self.explored += 1;
        self.nodes = self.nodes.saturating_sub(1);
        if self.nodes == 0 || (self.explored.is_multiple_of(1024) && (self.limits.stop)().is_some()) {
            self.open = true;
        }
        !self.open
    }
}
