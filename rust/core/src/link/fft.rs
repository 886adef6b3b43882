//! The radix-2 Fourier transform that turns a transfer function into a pulse.

use std::f64::consts::PI;

use num_complex::Complex64;

/// Inverse transform in place, without the factor 1/n; the length is a power of two.
pub(super) fn inverse(data: &mut [Complex64]) {
    let n = data.len();
    for i in 1..n {
        let j = i.reverse_bits() >> (usize::BITS - n.trailing_zeros());
        if i < j {
            data.swap(i, j);
        }
    }
    let mut span = 1;
    while span < n {
        let step = Complex64::from_polar(1.0, PI / span as f64);
        for block in data.chunks_mut(2 * span) {
            butterfly(block, span, step);
        }
        span *= 2;
    }
}

fn butterfly(block: &mut [Complex64], span: usize, step: Complex64) {
    let mut turn = Complex64::ONE;
    for k in 0..span {
        let (even, odd) = (block[k], block[k + span] * turn);
        (block[k], block[k + span]) = (even + odd, even - odd);
        turn *= step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_sum_it_stands_for() {
        let signal: Vec<_> =
            (0..16).map(|k| Complex64::new(f64::from(k * k % 7), f64::from(k % 3))).collect();
        let mut fast = signal.clone();
        inverse(&mut fast);
        for (t, value) in fast.iter().enumerate() {
            let turn = |k: usize| Complex64::from_polar(1.0, 2.0 * PI * (k * t) as f64 / 16.0);
            let slow: Complex64 = signal.iter().enumerate().map(|(k, x)| x * turn(k)).sum();
            assert!((slow - value).norm() < 1e-12);
        }
    }
}
