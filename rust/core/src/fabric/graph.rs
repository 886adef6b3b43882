//! Tiers that are any graph of links: rings packed exactly, groups placed on the best sets of members.
//!
//! Everything is found once, when the fabric is built: for every set of members how many link-disjoint directed
//! rings it holds, and for every group size and stride the numbering of the members that is best for the groups.

use super::topology::Lanes;

/// Members of a graph tier at most: every set of them and every numbering is looked at.
pub const MAX_GRAPH_MEMBERS: u64 = 8;
const MOST: usize = MAX_GRAPH_MEMBERS as usize;

/// Rings that are tried before the packing stops at the best found, which is still a valid packing.
const PACKING_BUDGET: u32 = 200_000;

type Mask = usize;
/// Parallel links from a member to another; a link carries its full rate in each direction.
type Links = [[u32; MOST]; MOST];

/// What every set of members and every layout of groups gets.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Packing {
    members: usize,
    sets: Vec<Lanes>,
    /// By stride, then by group size.
    layouts: Vec<Vec<Option<Lanes>>>,
}

impl Packing {
    pub(super) fn new(members: u64, given: &[(u32, u32, u32)]) -> Result<Self, String> {
        let links = checked(members, given)?;
        let members = members as usize;
        let sets: Vec<Lanes> = (0..1 << members).map(|mask| set_lanes(&links, members, mask)).collect();
        let layouts = layouts(members, &sets);
        Ok(Self { members, sets, layouts })
    }

    /// Groups of `size` members, `apart` places from one to the next in the best numbering of the members.
    pub(super) fn placed(&self, size: u64, apart: u64) -> Lanes {
        let size = (size as usize).min(self.members);
        let apart = (apart as usize).min(self.members / size.max(1)).max(1);
        self.layouts[apart][size].unwrap_or(self.sets[(1 << size) - 1])
    }

    /// The first `size` members by number.
    pub(super) fn first(&self, size: u64) -> Lanes {
        self.sets[(1 << (size as usize).min(self.members)) - 1]
    }
}

fn checked(members: u64, given: &[(u32, u32, u32)]) -> Result<Links, String> {
    if !(2..=MAX_GRAPH_MEMBERS).contains(&members) {
        let remedy = "nest tiers, or use a switch, mesh or torus";
        return Err(format!("a graph joins 2 to {MAX_GRAPH_MEMBERS} members, not {members}: {remedy}"));
    }
    let mut links = Links::default();
    for &(a, b, count) in given {
        let (a, b) = (a as usize, b as usize);
        if a == b || a.max(b) >= members as usize || count == 0 {
            return Err(format!(
                "link [{a}, {b}, {count}] must join two different members below {members} at least once"
            ));
        }
        links[a][b] += count;
        links[b][a] += count;
    }
    let all = (1 << members) - 1;
    if connected(&links, all) { Ok(links) } else { Err("its links do not join all members".to_owned()) }
}

fn in_set(mask: Mask) -> impl Iterator<Item = usize> + Clone {
    (0..MOST).filter(move |member| mask >> member & 1 == 1)
}

fn connected(links: &Links, mask: Mask) -> bool {
    let mut reached = mask & mask.wrapping_neg();
    loop {
        let next = in_set(reached).fold(reached, |all, a| {
            in_set(mask).filter(|&b| links[a][b] > 0).fold(all, |all, b| all | 1 << b)
        });
        if next == reached {
            return reached == mask;
        }
        reached = next;
    }
}

/// What the set gets over the links among its own members.
///
/// Without a Hamiltonian cycle a ring follows a tour around a spanning tree (each link once in each direction, one
/// link's bandwidth), and a reduction followed by a broadcast over that tree uses both directions at once. A set that
/// its own links do not join borrows links of others; it gets one link's bandwidth shared by all such sets.
fn set_lanes(links: &Links, members: usize, mask: Mask) -> Lanes {
    let size = mask.count_ones() as usize;
    if size < 2 {
        return even(1.0, 1.0);
    }
    if !connected(links, mask) {
        return even((size as f64 / members as f64).min(0.5), 2.0);
    }
    let rings = ring_packing(links, mask);
    let (exchange, exchange_hops) = exchange(links, mask);
    let path = widest_path(links, mask);
    Lanes {
        ring: f64::from(rings.max(1)),
        ring_hops: if rings > 0 { 1.0 } else { 2.0 },
        pass: None,
        chain: 1.0,
        exchange,
        exchange_hops,
        neighbour: f64::from(path.max(1)),
        neighbour_hops: if path > 0 { 1.0 } else { 2.0 },
    }
}

fn even(links: f64, hops: f64) -> Lanes {
    Lanes {
        ring: links,
        ring_hops: hops,
        pass: None,
        chain: links,
        exchange: links,
        exchange_hops: hops,
        neighbour: links,
        neighbour_hops: hops,
    }
}

/// The most directed Hamiltonian cycles of the set that share no link in the same direction.
fn ring_packing(links: &Links, mask: Mask) -> u32 {
    let cycles = cycles(links, mask);
    let mut free = *links;
    let mut search = Search { cycles: &cycles, mask, best: 0, budget: PACKING_BUDGET };
    search.pack(&mut free, 0, 0);
    search.best
}

struct Search<'a> {
    cycles: &'a [Vec<usize>],
    mask: Mask,
    best: u32,
    budget: u32,
}

impl Search<'_> {
    /// Tries the cycles from `from` on, a cycle as often as its links allow.
    fn pack(&mut self, free: &mut Links, from: usize, packed: u32) {
        self.best = self.best.max(packed);
        for next in from..self.cycles.len() {
            if self.budget == 0 || packed + self.room(free) <= self.best {
                return;
            }
            let cycle = &self.cycles[next];
            if arcs(cycle).all(|(a, b)| free[a][b] > 0) {
                self.budget -= 1;
                arcs(cycle).for_each(|(a, b)| free[a][b] -= 1);
                self.pack(free, next, packed + 1);
                arcs(cycle).for_each(|(a, b)| free[a][b] += 1);
            }
        }
    }

    /// Every further cycle leaves and enters every member once.
    fn room(&self, free: &Links) -> u32 {
        let out = |a: usize| in_set(self.mask).map(|b| free[a][b]).sum::<u32>();
        let into = |a: usize| in_set(self.mask).map(|b| free[b][a]).sum::<u32>();
        in_set(self.mask).map(|a| out(a).min(into(a))).min().unwrap_or(0)
    }
}

fn arcs(cycle: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    cycle.iter().zip(cycle.iter().cycle().skip(1)).map(|(&a, &b)| (a, b))
}

/// All directed Hamiltonian cycles, from the lowest member.
fn cycles(links: &Links, mask: Mask) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    let Some(start) = in_set(mask).next() else { return found };
    walk(links, mask & !(1 << start), &mut vec![start], &mut |path: &[usize]| {
        if links[path[path.len() - 1]][start] > 0 {
            found.push(path.to_vec());
        }
        false
    });
    found
}

/// All paths over the members of `left`; `done` says whether to stop.
fn walk(links: &Links, left: Mask, path: &mut Vec<usize>, done: &mut impl FnMut(&[usize]) -> bool) -> bool {
    if left == 0 {
        return done(path);
    }
    let here = path[path.len() - 1];
    for next in in_set(left).filter(|&next| links[here][next] > 0) {
        path.push(next);
        let stop = walk(links, left & !(1 << next), path, done);
        path.pop();
        if stop {
            return true;
        }
    }
    false
}

/// The most parallel links that every step of some path through all members has; 0 without such a path.
fn widest_path(links: &Links, mask: Mask) -> u32 {
    let mut widths: Vec<u32> = links.iter().flatten().copied().filter(|&width| width > 0).collect();
    widths.sort_unstable();
    widths.dedup();
    let passable = |width: u32| {
        let wide = links.map(|row| row.map(|count| if count >= width { count } else { 0 }));
        in_set(mask).any(|start| walk(&wide, mask & !(1 << start), &mut vec![start], &mut |_| true))
    };
    widths.into_iter().rev().find(|&width| passable(width)).unwrap_or(0)
}

/// Bandwidth out of a member when all exchange with all, each flow spread evenly over its shortest ways; and the
/// longest of these.
fn exchange(links: &Links, mask: Mask) -> (f64, f64) {
    let mut load = [[0.0; MOST]; MOST];
    let mut farthest = 1.0_f64;
    for from in in_set(mask) {
        let distance = distances(links, mask, from);
        for to in in_set(mask).filter(|&to| to != from) {
            farthest = farthest.max(distance[to] as f64);
            spread(links, mask, &distance, to, 1.0, &mut load);
        }
    }
    let busiest =
        |a: usize, b: usize| if links[a][b] > 0 { load[a][b] / f64::from(links[a][b]) } else { 0.0 };
    let most = in_set(mask).flat_map(|a| in_set(mask).map(move |b| (a, b))).map(|(a, b)| busiest(a, b));
    (f64::from(mask.count_ones() - 1) / most.fold(0.0, f64::max), farthest)
}

fn distances(links: &Links, mask: Mask, from: usize) -> [usize; MOST] {
    let mut distance = [usize::MAX; MOST];
    distance[from] = 0;
    for round in 0..MOST {
        for a in in_set(mask).filter(|&a| distance[a] == round).collect::<Vec<_>>() {
            in_set(mask).filter(|&b| links[a][b] > 0).for_each(|b| distance[b] = distance[b].min(round + 1));
        }
    }
    distance
}

/// Sends `flow` back from `to` towards the source, by parts that follow the parallel links of the last steps.
fn spread(
    links: &Links,
    mask: Mask,
    distance: &[usize; MOST],
    to: usize,
    flow: f64,
    load: &mut [[f64; MOST]; MOST],
) {
    let before = in_set(mask).filter(|&a| links[a][to] > 0 && distance[a] + 1 == distance[to]);
    let ways: u32 = before.clone().map(|a| links[a][to]).sum();
    for a in before {
        let part = flow * f64::from(links[a][to]) / f64::from(ways);
        load[a][to] += part;
        spread(links, mask, distance, a, part, load);
    }
}

/// For every stride and size the best numbering: first the blocks of `stride` members (the groups inside), then
/// the groups themselves, each by its worst.
fn layouts(members: usize, sets: &[Lanes]) -> Vec<Vec<Option<Lanes>>> {
    let mut best: Vec<Vec<Option<(f64, Lanes)>>> = vec![vec![None; members + 1]; members + 1];
    permute(&mut (0..members).collect::<Vec<_>>(), 0, &mut |order: &[usize]| {
        for (apart, row) in best.iter_mut().enumerate().skip(1) {
            for (size, kept) in row.iter_mut().enumerate().take(members / apart + 1).skip(2) {
                let better = |found: &(f64, Lanes)| kept.is_none_or(|(score, _)| found.0 > score);
                if let Some(found) = layout(order, sets, size, apart).filter(better) {
                    *kept = Some(found);
                }
            }
        }
    });
    best.into_iter().map(|row| row.into_iter().map(|entry| entry.map(|(_, lanes)| lanes)).collect()).collect()
}

/// A score of a numbering for one stride and size, and what its worst group gets.
fn layout(order: &[usize], sets: &[Lanes], size: usize, apart: usize) -> Option<(f64, Lanes)> {
    let mask = |start: usize, step: usize, count: usize| {
        (0..count).fold(0, |mask, rank| mask | 1 << order[start + rank * step])
    };
    let blocks = (0..order.len() / apart).map(|block| sets[mask(block * apart, 1, apart)].ring);
    let inside = blocks.fold(f64::INFINITY, f64::min);
    let starts =
        (0..order.len() / (size * apart)).flat_map(|b| (0..apart).map(move |a| a + b * size * apart));
    let worst = starts.map(|start| sets[mask(start, apart, size)]).reduce(worse)?;
    // Rings decide; what else a set offers breaks ties.
    let score = 1e6 * inside + 1e3 * worst.ring + worst.neighbour + 1e-3 * worst.exchange;
    Some((score, worst))
}

fn worse(a: Lanes, b: Lanes) -> Lanes {
    Lanes {
        ring: a.ring.min(b.ring),
        ring_hops: a.ring_hops.max(b.ring_hops),
        pass: None,
        chain: a.chain.min(b.chain),
        exchange: a.exchange.min(b.exchange),
        exchange_hops: a.exchange_hops.max(b.exchange_hops),
        neighbour: a.neighbour.min(b.neighbour),
        neighbour_hops: a.neighbour_hops.max(b.neighbour_hops),
    }
}

fn permute(order: &mut Vec<usize>, fixed: usize, visit: &mut impl FnMut(&[usize])) {
    if fixed == order.len() {
        return visit(order);
    }
    for next in fixed..order.len() {
        order.swap(fixed, next);
        permute(order, fixed + 1, visit);
        order.swap(fixed, next);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)] // counts of links
    use super::*;

    /// The cube mesh of Volta: every GPU has six links.
    const CUBE_MESH: [(u32, u32, u32); 16] = [
        (0, 1, 1),
        (0, 2, 1),
        (0, 3, 2),
        (0, 4, 2),
        (1, 2, 2),
        (1, 3, 1),
        (1, 5, 2),
        (2, 3, 2),
        (2, 6, 1),
        (3, 7, 1),
        (4, 5, 1),
        (4, 6, 1),
        (4, 7, 2),
        (5, 6, 2),
        (5, 7, 1),
        (6, 7, 2),
    ];

    fn cube_mesh() -> Packing {
        Packing::new(8, &CUBE_MESH).unwrap()
    }

    #[test]
    fn rings_of_the_first_members_of_a_cube_mesh() {
        let packing = cube_mesh();
        let rings: Vec<f64> = (2..=8).map(|size| packing.first(size).ring).collect();
        assert_eq!(rings, [1.0, 2.0, 4.0, 1.0, 2.0, 4.0, 6.0]);
        assert_eq!(packing.first(5).ring_hops, 2.0, "five have no cycle: a tour around a tree");
    }

    #[test]
    fn four_pairs_find_four_double_links() {
        let pairs = cube_mesh().placed(2, 1);
        assert_eq!((pairs.ring, pairs.neighbour), (2.0, 2.0));
        assert_eq!(cube_mesh().placed(4, 1).ring, 4.0);
        assert_eq!(cube_mesh().placed(8, 1).ring, 6.0);
    }

    #[test]
    fn groups_across_pairs_are_placed_after_the_pairs() {
        let across = cube_mesh().placed(4, 2);
        assert!(across.ring >= 2.0, "{across:?}");
    }

    #[test]
    fn a_ring_of_links_packs_one_ring_each_way() {
        let links: Vec<_> = (0..6).map(|a| (a, (a + 1) % 6, 1)).collect();
        let packing = Packing::new(6, &links).unwrap();
        assert_eq!(packing.first(6).ring, 2.0);
        assert_eq!(packing.first(6).exchange, 5.0 / 4.5, "each link carries nine halves of a share");
    }

    #[test]
    fn what_is_no_graph_is_refused() {
        for bad in [vec![(0, 0, 1)], vec![(0, 9, 1)], vec![(0, 1, 0)], vec![(0, 1, 1)]] {
            assert!(Packing::new(4, &bad).is_err(), "{bad:?}");
        }
        assert!(Packing::new(9, &[(0, 1, 1)]).is_err());
    }
}
