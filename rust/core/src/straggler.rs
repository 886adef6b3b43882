//! Synchronous workers wait for the slowest: samples of unequal length make unequal work.

/// How much longer the slowest of `workers` takes than the mean, as a fraction.
///
/// `c / sqrt(b) * e(n)`
///
/// | symbol | argument | unit |
/// |---|---|---|
/// | c | `variation`: standard deviation over mean of the length of a sample | 1 |
/// | b | `samples` that each worker draws per step | 1 |
/// | n | `workers` | 1 |
/// | e(n) | expected largest of n standard normals, `quantile((n - 0.375) / (n + 0.25))` | 1 |
///
/// Assumes that samples are drawn independently and that work is proportional to length; the sum of b lengths is then
/// normal. Source of e(n): Blom, Statistical Estimates and Transformed Beta-Variables, 1958.
///
/// Eight workers that draw 128 sentences with variation 0.55: 0.55 / 11.3 x 1.424 = 6.9 %.
/// ```
/// let wait = dielet_core::straggler::wait(0.55, 128.0, 8);
/// assert!((wait - 0.0692).abs() < 1e-3);
/// assert_eq!(dielet_core::straggler::wait(0.55, 128.0, 1), 0.0);
/// ```
pub fn wait(variation: f64, samples: f64, workers: u64) -> f64 {
    if workers < 2 || variation == 0.0 {
        return 0.0;
    }
    let n = workers as f64;
    variation / samples.sqrt() * quantile((n - 0.375) / (n + 0.25))
}

/// Quantile of the standard normal for `p >= 1/2`, absolute error below 4.5e-4.
///
/// `t - (c0 + c1 t + c2 t^2) / (1 + d1 t + d2 t^2 + d3 t^3)` with `t = sqrt(-2 ln(1 - p))`.
/// Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.23.
fn quantile(p: f64) -> f64 {
    let t = (-2.0 * (1.0 - p).ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_largest_meets_tables() {
        // Expected largest of 2, 5, 10, 100 standard normals (Harter, Biometrika 48, 1961).
        for (n, expected) in [(2, 0.5642), (5, 1.1630), (10, 1.5388), (100, 2.5076)] {
            assert!((wait(1.0, 1.0, n) - expected).abs() < 0.03, "{n}: {}", wait(1.0, 1.0, n));
        }
    }

    #[test]
    fn more_workers_wait_longer() {
        let waits: Vec<f64> = (1..2000).map(|n| wait(0.5, 64.0, n)).collect();
        assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}
