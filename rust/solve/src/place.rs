//! Placement and schedule of a dataflow graph on a few devices, with the smallest makespan.
//!
//! A [`Problem`] is ops with a time on each device, tensors with bytes, and the links between devices.
//! A [`Schedule`] says where and when each op runs and each tensor travels; [`check()`] verifies one
//! independently of how it was found. [`list_schedule`] is a heuristic.

mod check;
mod instance;
mod list;
mod local_search;
mod mirror;
mod plan;
mod problem;
mod schedule;
mod timeline;

pub use check::{Violation, check};
pub use list::list_schedule;
pub use mirror::{ForwardOp, training_step};
pub use problem::{Links, Op, Phase, PlaceError, Problem, Tensor};
pub use schedule::{OpSlot, Schedule, TransferSlot};
