//! Nanoseconds a call of `collective` and a group, on one core: `cargo bench -p dielet-core --bench collective`.
#![allow(clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::time::Instant;

use dielet_core::collective::{Operation, Prices, collective};
use dielet_core::fabric::{Fabric, TierSpec};
use dielet_core::units::Bytes;

fn fabric(name: &str) -> Fabric {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/dielet/hardware/specs/systems/");
    let text = std::fs::read_to_string(format!("{folder}{name}.toml")).expect("a shipped system");
    let table: toml::Table = text.parse().expect("valid TOML");
    let tiers: Vec<TierSpec> = table["tiers"].clone().try_into().expect("tiers");
    Fabric::new(tiers.iter().map(|tier| tier.tier().expect("a tier")).collect()).expect("a fabric")
}

fn nanoseconds(mut call: impl FnMut(usize)) -> f64 {
    const CALLS: usize = 200_000;
    let rounds = (0..9).map(|_| {
        let start = Instant::now();
        (0..CALLS).for_each(&mut call);
        start.elapsed().as_secs_f64() * 1e9 / CALLS as f64
    });
    rounds.fold(f64::INFINITY, f64::min)
}

fn main() {
    for (name, devices) in
        [("dgx1-v100", 64), ("dgx-a100", 1024), ("dgx-h100", 8), ("si-if-waferscale-40", 40)]
    {
        let fabric = fabric(name);
        let group = fabric.group(devices, devices, 1).expect("a group");
        let grouping = nanoseconds(|_| {
            let _ = black_box(fabric.group(black_box(devices), devices, 1));
        });
        println!("{name}, {devices} devices: group {grouping:.0} ns");
        for operation in Operation::ALL {
            let price = nanoseconds(|call| {
                black_box(collective(black_box(&group), operation, Bytes(call as f64 * 1e4)));
            });
            let prices = Prices::of(&group);
            let once = nanoseconds(|call| {
                black_box(black_box(&prices).collective(operation, Bytes(call as f64 * 1e4)));
            });
            println!("    {operation:?}: {price:.0} ns, of prices worked out once {once:.0} ns");
        }
    }
}
