//! What a training step costs: pure functions of (model, system, plan).
//!
//! Floors, from the lowest: [`units`]; then graph, device, wire, pipeline; then shard and link; then fabric,
//! compute, memory; then collective; then step. Nothing points upward, and nothing here searches, reads files or
//! knows Python.

pub mod compute;
pub mod device;
pub mod graph;
pub mod link;
pub mod packaging;
pub mod pipeline;
pub mod plan;
pub mod spec;
pub mod term;
pub mod units;
pub mod verdict;
pub mod wire;
