//! Placement through the public API: small cases by hand, and what must hold on random graphs.

use dielet_solve::place::{
    Answer, Links, Op, Options, Phase, PlaceError, Problem, Tensor, check, list_schedule, place,
};
use dielet_solve::proof::Stop;
use proptest::prelude::*;

fn op(id: usize, time_s: f64, devices: usize) -> Op {
    let time_s = vec![time_s; devices];
    Op { id: id.to_string(), phase: Phase::Forward, time_s, memory_bytes: 0.0, group: None, pin: None }
}

fn problem(times: &[f64], edges: &[(usize, usize)], devices: usize, links: Links) -> Problem {
    let tensor = |&(u, v): &(usize, usize)| Tensor { producer: u, consumers: vec![v], bytes: 1.0 };
    Problem {
        memory_bytes: vec![f64::INFINITY; devices],
        ops: times.iter().enumerate().map(|(i, &t)| op(i, t, devices)).collect(),
        tensors: edges.iter().map(tensor).collect(),
        latency_s: vec![vec![0.0; devices]; devices],
        bandwidth_bytes_per_s: vec![vec![1.0; devices]; devices],
        links,
        overlap: true,
    }
}

fn solve(problem: &Problem) -> f64 {
    let Ok(Answer::Placed(placed)) = place(problem, &Options::default(), &|| false) else { return f64::NAN };
    assert_eq!(placed.proof.stop, Stop::Optimal);
    check(problem, &placed.schedule).unwrap_or(f64::NAN)
}

#[test]
fn independent_ops_share_two_devices() {
    assert!((solve(&problem(&[3.0, 3.0, 2.0, 2.0, 2.0], &[], 2, Links::Delay)) - 6.0).abs() < 1e-9);
}

#[test]
fn a_chain_stays_on_one_device() {
    assert!((solve(&problem(&[1.0; 4], &[(0, 1), (1, 2), (2, 3)], 2, Links::Serial)) - 4.0).abs() < 1e-9);
}

#[test]
fn a_cycle_is_named() {
    let cyclic = problem(&[1.0; 2], &[(0, 1), (1, 0)], 2, Links::Delay);
    let fault = place(&cyclic, &Options::default(), &|| false).err();
    assert!(matches!(fault, Some(PlaceError::Cycle { .. })));
}

#[test]
fn an_interrupt_gives_the_best_so_far_with_its_bound() {
    let times: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 13 + 1)).collect();
    let edges: Vec<(usize, usize)> = (0..39).filter(|i| i % 3 > 0).map(|i| (i, i + 1)).collect();
    let answer = place(&problem(&times, &edges, 3, Links::Serial), &Options::default(), &|| true);
    let Ok(Answer::Placed(placed)) = answer else { panic!("a plan was expected") };
    assert!(placed.proof.lower_bound <= placed.proof.value);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_list_schedule_is_valid_and_not_below_the_optimum(
        times in prop::collection::vec(1.0_f64..9.0, 2..9),
        picks in prop::collection::vec((0_usize..8, 1_usize..8), 0..10),
        devices in 1_usize..4,
    ) {
        let n = times.len();
        let edges: Vec<(usize, usize)> =
            picks.into_iter().map(|(u, step)| (u, u + step)).filter(|&(_, v)| v < n).collect();
        let problem = problem(&times, &edges, devices, Links::Serial);
        let listed = list_schedule(&problem).unwrap().unwrap();
        let value = check(&problem, &listed).unwrap();
        prop_assert!(solve(&problem) <= value * (1.0 + 1e-9));
    }
}
