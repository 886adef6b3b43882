//! What a training step costs: pure functions of (model, system, plan).
//!
//! Floors, from the lowest: [`units`], [`term`]; then [`graph`], [`device`], [`wire`], [`pipeline`]; then
//! [`shard`], [`link`]; then
//! [`fabric`], [`compute`], [`activation`]; then [`collective`], [`travel`]; then [`op`], [`segment`], [`stage`]; then
//! [`reduction`], [`update`], [`worker`]; then [`exchange`], [`memory`]; then [`step`], [`price`]; beside them
//! [`projection`], [`packaging`]. Nothing points upward, and nothing here searches, reads files or knows Python.

pub mod activation;
pub mod collective;
pub mod compute;
pub mod device;
pub mod exchange;
pub mod fabric;
pub mod graph;
pub mod link;
pub mod memory;
pub mod op;
pub mod packaging;
pub mod parameters;
pub mod pass;
pub mod pipeline;
pub mod plan;
pub mod price;
pub mod projection;
pub mod reduction;
pub mod segment;
pub mod shard;
pub mod spec;
pub mod stage;
pub mod step;
pub mod straggler;
pub mod system;
pub mod term;
pub mod travel;
pub mod units;
pub mod update;
pub mod verdict;
pub mod wire;
pub mod worker;
