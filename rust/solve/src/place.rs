//! Placement and schedule of a dataflow graph on a few devices, with the smallest makespan.
//!
//! A [`Problem`] is ops with a time on each device, tensors with bytes, and the links between devices.
//! A [`Schedule`] says where and when each op runs and each tensor travels; [`check()`] verifies one
//! independently of how it was found. [`list_schedule`] is a heuristic.

// Counts become ticks in signatures and loads; all are far below 2^63.
#![allow(clippy::cast_possible_wrap)]

mod arms;
mod bound;
mod chain;
mod check;
mod critical;
mod elimination;
mod exact;
mod instance;
mod learn;
mod list;
mod local_search;
mod mirror;
mod module;
mod neighbourhood;
mod parallel;
mod plan;
mod problem;
mod reach;
mod schedule;
mod separator;
mod solve;
mod symmetry;
mod timeline;

pub use check::{Violation, check};
pub use critical::{CriticalPath, critical_path};
pub use list::list_schedule;
pub use mirror::{ForwardOp, training_step};
pub use problem::{Links, MAX_DEVICES, MAX_OPS, Op, Phase, PlaceError, Problem, Tensor};
pub use schedule::{OpSlot, Schedule, TransferSlot};
pub use solve::{Answer, Infeasible, Options, Placed, place};
