//! What a topology gives to `k` of its members: in bandwidths of one link and hops of one link.

use serde::{Deserialize, Serialize};

/// How the members of a tier are joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// Every member has one port of the tier's bandwidth on a non-blocking switch.
    Switch,
    /// Every member has a link to the one before and the one after.
    Ring,
    /// Every member has a link to every other.
    Full,
    /// Links to the neighbours in a row and a column.
    Mesh {
        /// Rows.
        rows: u64,
        /// Columns; the lowest digit of the id.
        cols: u64,
    },
    /// Rings in every dimension.
    Torus {
        /// Sizes, of the lowest digit first; at most three.
        dims: Vec<u64>,
    },
    /// Any links: two members and how many parallel links join them.
    Graph {
        /// Member, member, links between them.
        links: Vec<(u32, u32, u32)>,
    },
}

/// What `k` members, `apart` places from one to the next, get of a topology, all groups like theirs at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lanes {
    /// Links' worth of bandwidth into (and out of) every member along edge-disjoint rings.
    pub ring: f64,
    /// Links between neighbours on the ring.
    pub ring_hops: f64,
    /// The best pass that is no ring: per dimension, or directly to all.
    pub pass: Option<Pass>,
    /// Links' worth of bandwidth along a spanning chain or tree, both directions at once; 0 where it gains nothing.
    pub chain: f64,
    /// Links' worth of bandwidth out of every member when all exchange with all.
    pub exchange: f64,
    /// Links that the longest way of such an exchange takes.
    pub exchange_hops: f64,
    /// Links' worth of bandwidth from a rank to the next.
    pub neighbour: f64,
    /// Links from a rank to the next.
    pub neighbour_hops: f64,
}

/// A reduce-scatter or all-gather in `steps` steps that sends `volume` messages' worth over one link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pass {
    /// Steps one after the other.
    pub steps: f64,
    /// Links of one step.
    pub hops: f64,
    /// Time on the wire is `volume * message / link bandwidth`.
    pub volume: f64,
}

/// The part of a group along one dimension of a mesh or torus.
#[derive(Debug, Clone, Copy)]
struct Row {
    members: u64,
    apart: u64,
    closed: bool,
}

impl Row {
    /// Links' worth of bandwidth of a ring laid along the row.
    ///
    /// A closed row carries one ring in each direction. An open one is folded (out along every other member, back
    /// along the rest), which uses both directions of each link for one ring. Interleaved groups share the links.
    fn lanes(self) -> f64 {
        (if self.closed { 2.0 } else { 1.0 }) / self.apart as f64
    }

    /// Links between neighbours on that ring: a folded one skips a member.
    fn hops(self) -> f64 {
        (if self.closed || self.members == 2 { 1.0 } else { 2.0 }) * self.apart as f64
    }

    /// Load of the busiest link when all exchange with all, in messages: each member sends `1 / members` of its
    /// message to each. The middle link of an open row carries `floor(k^2 / 4) / k`; a ring halves it.
    fn load(self) -> f64 {
        let pairs = (self.members * self.members / 4) as f64 / self.members as f64;
        pairs * self.apart as f64 * if self.closed { 0.5 } else { 1.0 }
    }

    /// Links between the farthest two.
    fn span(self) -> f64 {
        let links = if self.closed { self.members / 2 } else { self.members - 1 };
        (links * self.apart) as f64
    }
}

impl Topology {
    /// Its name in specs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Ring => "ring",
            Self::Full => "full",
            Self::Mesh { .. } => "mesh",
            Self::Torus { .. } => "torus",
            Self::Graph { .. } => "graph",
        }
    }

    /// How many members it joins, where its shape fixes that.
    pub fn joined(&self) -> Option<u64> {
        match self {
            Self::Switch | Self::Ring | Self::Full | Self::Graph { .. } => None,
            Self::Mesh { rows, cols } => Some(rows * cols),
            Self::Torus { dims } => Some(dims.iter().product()),
        }
    }

    /// The sizes of a mesh or torus, as a file writes them.
    pub fn shape(&self) -> Option<Vec<u64>> {
        match self {
            Self::Mesh { rows, cols } => Some(vec![*rows, *cols]),
            Self::Torus { dims } => Some(dims.clone()),
            Self::Switch | Self::Ring | Self::Full | Self::Graph { .. } => None,
        }
    }

    /// The same kind of topology over another number of members; a graph stays as it is.
    pub(super) fn resized(&self, members: Option<u64>) -> Self {
        let Some(members) = members.filter(|&members| self.joined() != Some(members)) else {
            return self.clone();
        };
        match self {
            Self::Mesh { .. } => {
                let rows = near_root(members, 2);
                Self::Mesh { rows, cols: members / rows }
            }
            Self::Torus { dims } => Self::Torus { dims: squarish(members, dims.len()) },
            same => same.clone(),
        }
    }

    /// What `members` of `size` members, `apart` places from one to the next, get.
    pub(super) fn lanes(&self, size: u64, members: u64, apart: u64) -> Lanes {
        match self {
            // A graph is packed, not asked.
            Self::Switch | Self::Graph { .. } => switch(),
            Self::Full => full(members),
            Self::Ring => grid(&rows(&[size], true, members, apart)),
            Self::Mesh { rows: height, cols } => grid(&rows(&[*cols, *height], false, members, apart)),
            Self::Torus { dims } => grid(&rows(dims, true, members, apart)),
        }
    }
}

/// The largest divisor of `members` not above its `degree`-th root.
fn near_root(members: u64, degree: u32) -> u64 {
    let fits = |side: &u64| side.checked_pow(degree).is_some_and(|volume| volume <= members);
    (1..=members).take_while(fits).filter(|side| members.is_multiple_of(*side)).last().unwrap_or(1)
}

fn squarish(members: u64, dims: usize) -> Vec<u64> {
    let mut left = members;
    let mut sides: Vec<u64> = Vec::with_capacity(dims);
    for degree in (1..=dims).rev() {
        let side = if degree == 1 { left } else { near_root(left, degree as u32) };
        sides.push(side);
        left /= side;
    }
    sides
}

/// One port each: a ring, an exchange and a message all run at the port's rate.
fn switch() -> Lanes {
    Lanes {
        ring: 1.0,
        ring_hops: 1.0,
        pass: None,
        chain: 0.0,
        exchange: 1.0,
        exchange_hops: 1.0,
        neighbour: 1.0,
        neighbour_hops: 1.0,
    }
}

/// All pairs joined: one step over `k - 1` links at once, each with `1 / k` of the message.
fn full(members: u64) -> Lanes {
    let links = members.saturating_sub(1).max(1) as f64;
    let pass = Pass { steps: 1.0, hops: 1.0, volume: 1.0 / members as f64 };
    Lanes { ring: links, exchange: links, pass: Some(pass), ..switch() }
}

/// A group of `members`, `apart` places from one to the next, digit by digit over the dimensions.
fn rows(dims: &[u64], closes: bool, members: u64, apart: u64) -> Vec<Row> {
    let mut rows = Vec::with_capacity(dims.len());
    let (mut left, mut apart) = (members, apart);
    for (place, &size) in dims.iter().enumerate() {
        let last = place + 1 == dims.len();
        let room = if last { left } else { (size / apart.min(size)).max(1) };
        // Ranks that do not fill whole rows are spread evenly over the rows that they need.
        let needed = left.div_ceil(room);
        let here = if apart >= size && !last { 1 } else { left.div_ceil(needed) };
        if here > 1 {
            let closed = closes && here > 2 && here * apart == size;
            rows.push(Row { members: here, apart, closed });
        }
        left = if here > 1 { needed } else { left };
        apart = (apart / size).max(1);
    }
    rows
}

fn grid(rows: &[Row]) -> Lanes {
    let [row] = rows else { return box_of(rows) };
    let chain = if row.closed { 0.0 } else { 1.0 / row.apart as f64 };
    let others = (row.members - 1) as f64 / row.members as f64;
    Lanes {
        ring: row.lanes(),
        ring_hops: row.hops(),
        pass: None,
        chain,
        exchange: others / row.load(),
        exchange_hops: row.span(),
        neighbour: 1.0 / row.apart as f64,
        neighbour_hops: row.apart as f64,
    }
}

/// Two or more dimensions.
///
/// Rings: a mesh of two dimensions has a Hamiltonian cycle, used in both directions (with an odd number of members
/// one member is reached by a detour of two links); a torus of `d` dimensions splits into `d` of them.
fn box_of(rows: &[Row]) -> Lanes {
    let Some(shared) = rows.iter().map(|row| row.apart).max() else { return switch() };
    let members: u64 = rows.iter().map(|row| row.members).product();
    let torus = rows.iter().all(|row| row.closed);
    let cycles = if torus { rows.len() } else { 1 };
    let detour = !torus && members % 2 == 1;
    let load = rows.iter().map(|row| row.load()).fold(0.0, f64::max);
    Lanes {
        ring: 2.0 * cycles as f64 / shared as f64,
        ring_hops: shared as f64 * if detour { 2.0 } else { 1.0 },
        pass: Some(per_dimension(rows)),
        chain: 0.0,
        exchange: (members - 1) as f64 / members as f64 / load,
        exchange_hops: rows.iter().map(|row| row.span()).sum(),
        neighbour: 1.0 / shared as f64,
        neighbour_hops: shared as f64,
    }
}

/// A pass dimension by dimension, all dimensions at work at once: the message is cut into as many parts as there
/// are dimensions and part `p` takes them in the order `p, p + 1, ...`; a phase ends with its slowest part.
fn per_dimension(rows: &[Row]) -> Pass {
    let parts = rows.len();
    let mut pass = Pass { steps: 0.0, hops: 0.0, volume: 0.0 };
    for phase in 0..parts {
        let wire = (0..parts).map(|part| {
            let row = rows[(part + phase) % parts];
            let done: u64 = (0..phase).map(|before| rows[(part + before) % parts].members).product();
            (row.members - 1) as f64 / (row.members as f64 * row.lanes() * (parts as u64 * done) as f64)
        });
        pass.volume += wire.fold(0.0, f64::max);
        pass.steps += rows.iter().map(|row| (row.members - 1) as f64).fold(0.0, f64::max);
    }
    pass.hops = rows.iter().map(|row| row.hops()).fold(0.0, f64::max);
    pass
}
