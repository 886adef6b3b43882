//! How many rectangles fit, exactly: on a round wafer by branch and bound over the offset of the grid.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use serde::Serialize;

use crate::units::Meters;

/// The substrate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outline {
    /// A wafer of this usable diameter.
    Round(Meters),
    /// A panel of this width and height.
    Rectangle(Meters, Meters),
}

impl Outline {
    /// Its area in m2.
    pub fn area(&self) -> f64 {
        match self {
            Self::Round(diameter) => std::f64::consts::PI * (diameter.value() / 2.0).powi(2),
            Self::Rectangle(width, height) => width.value() * height.value(),
        }
    }

    /// Its edge in m.
    pub fn edge(&self) -> f64 {
        match self {
            Self::Round(diameter) => std::f64::consts::PI * diameter.value(),
            Self::Rectangle(width, height) => 2.0 * (width.value() + height.value()),
        }
    }
}

/// A packing and the proof that it is the largest of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Packing {
    /// Dies that fit.
    pub dies: u64,
    /// No grid offset holds more than this; equal to `dies` when proven.
    pub bound: u64,
}

/// A die with the gap to its neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tile {
    /// Width.
    pub width: Meters,
    /// Height.
    pub height: Meters,
    /// Gap to the next die.
    pub gap: Meters,
}

/// Most dies on one aligned grid.
///
/// A round wafer: over all offsets of the grid, the dies whose four corners lie inside, maximised by branch and bound:
/// in a box of offsets no row holds more than at its best offset. A rectangle: `floor((W + g)/(w + g))` by rows.
///
/// Assumes dies in rows and columns, so that neighbours' wires run straight. Source: own.
/// Worked: 12 mm squares 0.1 mm apart on 282 mm: 385; a published layout of shifted rows holds 392.
///
/// ```
/// use dielet_core::packaging::packing::{Outline, Tile, pack};
/// use dielet_core::units::Meters;
/// let tile = Tile { width: Meters(12e-3), height: Meters(12e-3), gap: Meters(0.1e-3) };
/// let found = pack(&tile, &Outline::Round(Meters(282e-3)));
/// assert_eq!((found.dies, found.bound), (385, 385));
/// ```
pub fn pack(tile: &Tile, outline: &Outline) -> Packing {
    match outline {
        Outline::Rectangle(width, height) => {
            let along =
                |side: &Meters, die: Meters| ((*side + tile.gap) / (die + tile.gap) + 1e-9).floor() as u64;
            let dies = along(width, tile.width) * along(height, tile.height);
            Packing { dies, bound: dies }
        }
        Outline::Round(diameter) => Disc::new(tile, *diameter).best(),
    }
}

/// Most dies in rows that each slide freely: `max_y sum_rows floor((chord + g)/(w + g))`, by the same search over y.
///
/// Denser than the aligned grid, but wires between rows must jog.
///
/// ```
/// use dielet_core::packaging::packing::{Tile, pack_rows};
/// use dielet_core::units::Meters;
/// let tile = Tile { width: Meters(12e-3), height: Meters(12e-3), gap: Meters(0.1e-3) };
/// assert!(pack_rows(&tile, Meters(282e-3)).dies >= 385);
/// ```
pub fn pack_rows(tile: &Tile, diameter: Meters) -> Packing {
    let mut disc = Disc::new(tile, diameter);
    disc.sliding = true;
    disc.best()
}

/// Offsets closer than this are one: far below any placement accuracy.
const RESOLUTION: f64 = 1e-9;
/// Boxes that a search may open before it gives its bound instead of a proof.
const BOXES: usize = 200_000;

struct Disc {
    radius: f64,
    die: (f64, f64),
    step: (f64, f64),
    sliding: bool,
}

/// A box of grid offsets and the most dies that any of them can hold.
#[derive(Clone, Copy)]
struct Offsets {
    x: (f64, f64),
    y: (f64, f64),
    bound: u64,
}

// The queue gives the largest bound first; equal ones leave in the order of the heap, which is fixed.
impl PartialEq for Offsets {
    fn eq(&self, other: &Self) -> bool {
        self.bound == other.bound
    }
}
impl Eq for Offsets {}
impl PartialOrd for Offsets {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Offsets {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.cmp(&other.bound)
    }
}

impl Disc {
    fn new(tile: &Tile, diameter: Meters) -> Self {
        let (w, h, g) = (tile.width.value(), tile.height.value(), tile.gap.value());
        Self { radius: diameter.value() / 2.0, die: (w, h), step: (w + g, h + g), sliding: false }
    }

    /// Dies of a row at the offset x, whose corners may reach `half` to each side.
    fn row(&self, half: f64, x: (f64, f64)) -> u64 {
        if 2.0 * half < self.die.0 {
            return 0;
        }
        if self.sliding {
            return ((2.0 * half - self.die.0) / self.step.0 + 1e-12).floor() as u64 + 1;
        }
        // Dies sit at x + k step; any x of the interval may be chosen for a bound.
        let last = ((half - self.die.0 - x.0) / self.step.0 + 1e-12).floor();
        let first = ((-half - x.1) / self.step.0 - 1e-12).ceil();
        (last - first + 1.0).max(0.0) as u64
    }

    /// Upper bound over a box of offsets; the exact count when the box is a point.
    fn count(&self, x: (f64, f64), y: (f64, f64)) -> u64 {
        let first = ((-self.radius - y.1) / self.step.1).floor() as i64;
        let last = (self.radius / self.step.1).ceil() as i64;
        (first..=last).map(|j| self.row(self.reach(j as f64 * self.step.1, y), x)).sum()
    }

    /// Half chord of the row that starts at `base + y`, at the y that makes it longest.
    fn reach(&self, base: f64, y: (f64, f64)) -> f64 {
        // The row is widest when it straddles the middle: at the start -die/2, or as near as the box allows.
        let start = (-self.die.1 / 2.0).clamp(base + y.0, base + y.1);
        let far = start.abs().max((start + self.die.1).abs());
        let rest = self.radius * self.radius - far * far;
        if rest <= 0.0 { 0.0 } else { rest.sqrt() }
    }

    fn best(&self) -> Packing {
        // Mirror images hold as many, so half of the offsets in y do, and half in x.
        let whole = |step: f64, die: f64| (-die / 2.0, -die / 2.0 + step / 2.0);
        let (x, y) = (whole(self.step.0, self.die.0), whole(self.step.1, self.die.1));
        let mut best = self.symmetric();
        let mut open = BinaryHeap::from([Offsets { x, y, bound: self.count(x, y) }]);
        let mut opened = 0;
        while let Some(node) = open.pop() {
            if node.bound <= best || opened >= BOXES {
                return Packing { dies: best, bound: node.bound.max(best) };
            }
            opened += 1;
            for half in self.halves(&node) {
                let middle = (f64::midpoint(half.x.0, half.x.1), f64::midpoint(half.y.0, half.y.1));
                best = best.max(self.count((middle.0, middle.0), (middle.1, middle.1)));
                let wide = half.x.1 - half.x.0 > RESOLUTION || half.y.1 - half.y.0 > RESOLUTION;
                if half.bound > best && wide {
                    open.push(half);
                }
            }
        }
        Packing { dies: best, bound: best }
    }

    /// The best of the four layouts with a die or a gap in the middle of each axis.
    fn symmetric(&self) -> u64 {
        let die = |side: f64| -side / 2.0;
        let gap = |side: f64, step: f64| (step - side) / 2.0;
        let xs = [die(self.die.0), gap(self.die.0, self.step.0)];
        let ys = [die(self.die.1), gap(self.die.1, self.step.1)];
        let pairs = xs.into_iter().flat_map(|x| ys.map(|y| (x, y)));
        pairs.map(|(x, y)| self.count((x, x), (y, y))).max().unwrap_or(0)
    }

    fn halves(&self, node: &Offsets) -> [Offsets; 2] {
        let ((x0, x1), (y0, y1)) = (node.x, node.y);
        let across = !self.sliding && x1 - x0 > y1 - y0;
        let (xm, ym) = (f64::midpoint(x0, x1), f64::midpoint(y0, y1));
        let boxes = if across {
            [((x0, xm), (y0, y1)), ((xm, x1), (y0, y1))]
        } else {
            [((x0, x1), (y0, ym)), ((x0, x1), (ym, y1))]
        };
        boxes.map(|(x, y)| Offsets { x, y, bound: self.count(x, y) })
    }
}
