//! What travels among the ranks of a plan, and how long it takes.

use crate::collective::{Operation, collective};
use crate::plan::{Plan, Ranks};
use crate::system::System;
use crate::units::{Bytes, Seconds};

/// Time of a collective over `ranks`, while every other group of the plan does the same.
///
/// One rank costs nothing. The plan has been checked against the system's capacity, so its groups exist; one that
/// does not is never reached (infinite time).
pub fn travel_time(
    system: &System,
    plan: &Plan,
    ranks: Ranks,
    operation: Operation,
    bytes: Bytes,
) -> Seconds {
    if ranks.size < 2 || bytes <= Bytes::ZERO {
        return Seconds::ZERO;
    }
    let group = system.fabric.group(plan.devices(), ranks.size, ranks.stride);
    group.map_or(Seconds(f64::INFINITY), |group| collective(&group, operation, bytes).seconds)
}
