//! stub
#![allow(missing_docs)]
use crate::fabric::Group;
use crate::units::{Bytes, Joules, Seconds};
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    PointToPoint,
}
pub struct Collective {
    pub seconds: Seconds,
    pub energy: Joules,
}
pub fn collective(g: &Group, _op: Operation, bytes: Bytes) -> Collective {
    Collective {
        seconds: Seconds(2.0 * (g.size as f64 - 1.0) / g.size as f64 * bytes.value() / 120e9),
        energy: Joules(0.0),
    }
}
