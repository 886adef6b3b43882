//! Conflict-driven search over placement and order: clause learning on difference constraints.
//!
//! Booleans say where a group runs and which of two tasks on one resource goes first. True ones activate arcs
//! `start[v] >= start[u] + weight`; the earliest and latest starts follow by propagation. A contradiction is
//! explained by the literals on the critical path, resolved to a clause (first unique implication point,
//! Marques-Silva and Sakallah 1999), learned, and never repeated (lazy clause generation,
//! Ohrimenko, Stuckey and Codish 2009).

mod analyze;
mod bounds;
mod clauses;
mod decide;
mod engine;
mod joins;
mod literal;
mod load;
mod model;
mod pairs;
mod search;
mod symmetry;

pub(crate) use search::{Effort, Solver, Verdict};
