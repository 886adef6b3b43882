//! Properties of the time of one op: what physics promises for every shape and every device.

use dielet_core::compute::{Gemm, Window, contraction_time, convolution_time, gemm_time};
use dielet_core::device::{MatrixUnit, Number};
use dielet_core::units::{BytesPerSecond, FlopsPerSecond, Seconds};
use proptest::prelude::*;

fn number() -> impl Strategy<Value = Number> {
    prop::sample::select(Number::ALL.to_vec())
}

prop_compose! {
    fn unit()(
        number in number(), sustained in 1e12..3e15, feed in 0.0..60.0, ramp in 0.0..600.0,
        split in 0.0..4000.0, multiprocessors in 1_u64..200, bandwidth in 1e11..1e13,
        overhead in 0.0..2e-5, kernels in 0.0..5.0, bytes in 0.0..10.0,
    ) -> MatrixUnit {
        MatrixUnit {
            number, sustained: FlopsPerSecond(sustained), feed, ramp, split, multiprocessors,
            bandwidth: BytesPerSecond(bandwidth), kernel_overhead: Seconds(overhead),
            conversion_kernels: kernels, conversion_bytes: bytes, implicit_gemm: 1.0, winograd: 1.48 / 2.25,
        }
    }
}

prop_compose! {
    fn gemm()(batch in 1_u64..64, m in 1_u64..40_000, n in 1_u64..40_000, k in 1_u64..40_000) -> Gemm {
        Gemm { batch, m, n, k }
    }
}

fn scaled(unit: MatrixUnit, factor: f64) -> MatrixUnit {
    MatrixUnit {
        sustained: unit.sustained * factor,
        bandwidth: unit.bandwidth * factor,
        kernel_overhead: unit.kernel_overhead / factor,
        ..unit
    }
}

fn close(one: Seconds, other: Seconds) -> bool {
    (one / other - 1.0).abs() < 1e-12
}

proptest! {
    #[test]
    fn more_compute_bandwidth_or_a_shorter_overhead_never_slows(unit in unit(), gemm in gemm(), gain in 1.0..10.0) {
        let before = gemm_time(&unit, gemm);
        let richer = [
            MatrixUnit { sustained: unit.sustained * gain, ..unit },
            MatrixUnit { bandwidth: unit.bandwidth * gain, ..unit },
            MatrixUnit { kernel_overhead: unit.kernel_overhead / gain, ..unit },
        ];
        for after in richer {
            prop_assert!(gemm_time(&after, gemm) <= before);
        }
    }

    #[test]
    fn rates_times_c_and_overheads_over_c_divide_time_by_c(unit in unit(), gemm in gemm(), c in 0.1..10.0) {
        prop_assert!(close(gemm_time(&scaled(unit, c), gemm) * c, gemm_time(&unit, gemm)));
    }

    #[test]
    fn nothing_beats_the_roofline(unit in unit(), gemm in gemm()) {
        let time = gemm_time(&unit, gemm) * (1.0 + 1e-12);
        prop_assert!(time >= gemm.flops() / unit.sustained + unit.kernel_overhead);
        prop_assert!(time >= gemm.traffic(unit.number) / unit.bandwidth + unit.kernel_overhead);
    }

    #[test]
    fn a_larger_product_never_takes_less(unit in unit(), gemm in gemm(), more in 1_u64..5_000) {
        let before = gemm_time(&unit, gemm);
        let larger = [
            Gemm { batch: gemm.batch + more, ..gemm },
            Gemm { m: gemm.m + more, ..gemm },
            Gemm { n: gemm.n + more, ..gemm },
            Gemm { k: gemm.k + more, ..gemm },
        ];
        for after in larger {
            prop_assert!(gemm_time(&unit, after) >= before);
        }
    }

    #[test]
    fn two_kernels_are_never_faster_than_one_of_twice_the_batch(unit in unit(), gemm in gemm()) {
        let twice = Gemm { batch: 2 * gemm.batch, ..gemm };
        prop_assert!(gemm_time(&unit, twice) <= gemm_time(&unit, gemm) * 2.0 * (1.0 + 1e-12));
    }

    #[test]
    fn an_empty_product_takes_no_time(unit in unit(), gemm in gemm()) {
        prop_assert_eq!(gemm_time(&unit, Gemm { m: 0, ..gemm }), Seconds::ZERO);
    }

    #[test]
    fn winograd_only_helps_and_never_beats_its_count_of_products(
        unit in unit(), gemm in gemm(), stride in 1_u64..3, rows in 1_u64..6,
    ) {
        let gemm = Gemm { k: 9 * gemm.k, ..gemm };
        let traffic = gemm.traffic(unit.number);
        let (time, _) = convolution_time(&unit, gemm, Window { rows, columns: 3, stride }, traffic);
        let direct = contraction_time(&unit, gemm, traffic);
        prop_assert!(time <= direct);
        prop_assert!(time * (1.0 + 1e-12) >= gemm.flops() / (unit.sustained * 2.25));
        if unit.number != Number::Fp32 || stride != 1 || rows != 3 {
            prop_assert_eq!(time, direct);
        }
    }
}
