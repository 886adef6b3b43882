//! Time of one op on one device: a roofline whose roof depends on the shape.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | `g, m, n, k` | batch and sizes of `C[m,n] += A[m,k] B[k,n]` | 1 |
//! | `a x b` | tile of C that one multiprocessor works on | 1 |
//! | `P` | multiprocessors | 1 |
//! | `F` | sustained rate: peak times ceiling | FLOP/s |
//! | `h, r, z` | feed, ramp and split of a rate | elements |
//! | `W` | memory bandwidth that streaming reaches | B/s |
//! | `o` | overhead of one kernel | s |
//!
//! The shape enters by structure, not by a table: tiles and waves are counted, the constants `F, h, r, z` are fitted
//! once per device and number format on GEMM measurements (`benchmarks/calibrate.py`), never on a network.

use crate::device::{Device, MatrixUnit, Number};
use crate::units::{Bytes, Flops, Seconds};

/// `batch` products `C[m,n] += A[m,k] B[k,n]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gemm {
    /// Independent products in one kernel.
    pub batch: u64,
    /// Rows of A and C.
    pub m: u64,
    /// Columns of B and C.
    pub n: u64,
    /// What is summed over.
    pub k: u64,
}

/// Tiles of C that kernels use, as logarithms to base 2 of their edges.
const TILES: [(u32, u32); 8] = [(8, 7), (7, 8), (7, 7), (7, 6), (6, 7), (6, 6), (5, 6), (6, 5)];

/// The least of K that a multiprocessor takes when tiles are split along K.
const LEAST_SPLIT: f64 = 128.0;

impl Gemm {
    /// The work: `2 g m n k`.
    ///
    /// ```
    /// # use dielet_core::compute::Gemm;
    /// assert_eq!(Gemm { batch: 1, m: 2, n: 3, k: 4 }.flops().value(), 48.0);
    /// ```
    pub fn flops(self) -> Flops {
        Flops(2.0 * self.batch as f64 * self.m as f64 * self.n as f64 * self.k as f64)
    }

    /// What must cross the memory bus: `e g (m k + k n) + e' g m n`, with `e` bytes of an operand element and `e'` of a
    /// result element. Assumes that each operand is read once (caches hold what tiles share).
    ///
    /// ```
    /// # use dielet_core::{compute::Gemm, device::Number};
    /// let traffic = Gemm { batch: 1, m: 2, n: 3, k: 4 }.traffic(Number::Fp16);
    /// assert_eq!(traffic.value(), 2.0 * (8.0 + 12.0) + 2.0 * 6.0);
    /// ```
    pub fn traffic(self, number: Number) -> Bytes {
        let [g, m, n, k] = [self.batch, self.m, self.n, self.k].map(|size| size as f64);
        Bytes(g * (number.bytes() * (m * k + k * n) + number.result_bytes() * m * n))
    }

    fn is_empty(self) -> bool {
        self.batch == 0 || self.m == 0 || self.n == 0 || self.k == 0
    }
}

/// Time of a GEMM kernel: multiplying and moving, overlapped, and the kernel's overhead.
///
/// `t = o + sqrt(t_multiply^2 + (traffic / W)^2) + t_convert`,
/// `t_multiply = min over tiles a x b of s (1 + h (1/a + 1/b)) 2 a b P / F`, with `T = g ceil(m/a) ceil(n/b)` tiles and
/// `s` the smaller of `ceil(T/P) (k + r)` (whole tiles in waves) and `max(T k / P, min(k, 128)) + r max(1, T/P) + z`
/// (tiles cut along K so that all multiprocessors work: split-K and stream-K).
///
/// Symbols as in [the module](self). `h (1/a + 1/b)` is the operand traffic of a tile over its work: small tiles feed
/// worse. `t_convert` is 0 but for formats whose first operand is scaled and converted in kernels of its own:
/// `c o + q g m k / W` with `c` kernels and `q` bytes per element.
///
/// The root of squares is a roofline with a rounded ridge: where multiplying and moving are equally long a kernel hides
/// only part of one behind the other, far from it the longer alone counts. With a free exponent the devices of
/// `docs/compute.md` ask for 1.8 to 3.6 (a sharp roofline is infinity); 2 serves them all. Never below the roofline.
///
/// Assumes that a kernel has the device for itself and that its operands come from memory. Fitted for m, n from 16 to
/// 32,768 and k from 512 to 16,384; errors per device in `docs/compute.md`.
///
/// Sources: tile and wave quantisation, NVIDIA "Matrix Multiplication Background User's Guide" (2020); work split
/// along K, Osama et al. "Stream-K", `PPoPP` 2023; roofline, Williams et al., CACM 2009.
///
/// ```
/// # use dielet_core::{compute::{gemm_time, Gemm}, device::{MatrixUnit, Number, WINOGRAD_TRANSFORM}, units::*};
/// let unit = MatrixUnit {
///     number: Number::Fp16, sustained: FlopsPerSecond(1e12), feed: 32.0, ramp: 100.0, split: 1000.0,
///     multiprocessors: 4, bandwidth: BytesPerSecond(1e12), kernel_overhead: Seconds(1e-6),
///     conversion_kernels: 0.0, conversion_bytes: 0.0, implicit_gemm: 1.0, winograd: 1.48 / 2.25,
/// };
/// // 256 x 256 x 400: the 128 x 128 tile gives 4 tiles, one wave of 500 steps with the ramp; feeding costs
/// // 32 (1/128 + 1/128) = 0.5 of multiplying, so 500 x 1.5 x 2 x 128 x 128 x 4 / 1e12 = 98.304 us. Moving
/// // 2 (256 x 400 + 400 x 256 + 256 x 256) B = 540,672 B takes 0.540672 us.
/// let time = gemm_time(&unit, Gemm { batch: 1, m: 256, n: 256, k: 400 });
/// let expected = 1e-6 + 98.304e-6_f64.hypot(0.540672e-6);
/// assert!((time.value() - expected).abs() < 1e-15);
/// ```
pub fn gemm_time(unit: &MatrixUnit, gemm: Gemm) -> Seconds {
    contraction_time(unit, gemm, gemm.traffic(unit.number))
}

/// [`gemm_time`] of an op whose traffic is not that of its GEMM: a convolution reads its input once and not once per
/// tap, a fused attention keeps its scores on the device.
pub fn contraction_time(unit: &MatrixUnit, gemm: Gemm, traffic: Bytes) -> Seconds {
    if gemm.is_empty() {
        return Seconds::ZERO;
    }
    let busy = overlapped(multiply_time(unit, gemm), traffic / unit.bandwidth);
    unit.kernel_overhead + busy + convert_time(unit, gemm)
}

/// Multiplying and moving at the same time; see [`gemm_time`].
fn overlapped(multiplying: Seconds, moving: Seconds) -> Seconds {
    Seconds((multiplying.0 * multiplying.0 + moving.0 * moving.0).sqrt())
}

/// The least over tiles of the time that the busiest multiprocessor multiplies; see [`gemm_time`].
fn multiply_time(unit: &MatrixUnit, gemm: Gemm) -> Seconds {
    let work = |&tile| tile_work(unit, gemm, tile);
    let fastest = TILES.iter().map(work).fold(f64::INFINITY, least);
    Seconds(fastest * 2.0 * count(unit.multiprocessors) / unit.sustained.value())
}

/// Multiply-adds (operand feed included) of the busiest multiprocessor with tiles of `2^a x 2^b`.
#[inline]
fn tile_work(unit: &MatrixUnit, gemm: Gemm, (a, b): (u32, u32)) -> f64 {
    let tiles = count(gemm.batch) * count(ceil_shift(gemm.m, a)) * count(ceil_shift(gemm.n, b));
    let (k, share) = (count(gemm.k), tiles / count(unit.multiprocessors));
    let whole = ceil(share) * (k + unit.ramp);
    let cut = most(share * k, least(k, LEAST_SPLIT)) + unit.ramp * most(share, 1.0) + unit.split;
    // a b (1 + h (1/a + 1/b)) = a b + h (a + b)
    let (rows, columns) = (count(1 << a), count(1 << b));
    least(whole, cut) * (rows * columns + unit.feed * (rows + columns))
}

fn convert_time(unit: &MatrixUnit, gemm: Gemm) -> Seconds {
    let elements = gemm.batch as f64 * gemm.m as f64 * gemm.k as f64;
    unit.kernel_overhead * unit.conversion_kernels + Bytes(unit.conversion_bytes * elements) / unit.bandwidth
}

// What follows keeps the loop over tiles free of calls and of the care that `f64` and `u64` take in general: counts
// fit in 63 bits and no value is a NaN.

fn ceil_shift(size: u64, log: u32) -> u64 {
    (size + (1 << log) - 1) >> log
}

#[inline]
fn count(size: u64) -> f64 {
    size.cast_signed() as f64
}

#[inline]
fn least(one: f64, other: f64) -> f64 {
    if one < other { one } else { other }
}

#[inline]
fn most(one: f64, other: f64) -> f64 {
    if one > other { one } else { other }
}

/// `f64::ceil` is a call where the target lacks the instruction. Adding and taking away 2^52 rounds to the nearest
/// integer; beyond that every double is one.
#[inline]
fn ceil(value: f64) -> f64 {
    const INTEGERS: f64 = 4_503_599_627_370_496.0;
    let nearest = (value + INTEGERS) - INTEGERS;
    nearest + f64::from(u8::from(nearest < value))
}

/// The window of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// Taps down.
    pub rows: u64,
    /// Taps across.
    pub columns: u64,
    /// Step of the window, down and across.
    pub stride: u64,
}

/// How a convolution is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// As one GEMM with `k = c_in k_y k_x`, never written out.
    ImplicitGemm,
    /// By minimal filtering `F(2x2, 3x3)`: 16 products instead of 36 for 4 outputs.
    Winograd,
}

/// Time of a convolution, and by which method: the faster of the implicit GEMM (`m = b y x, n = c_out,
/// k = c_in k_y k_x`, [`contraction_time`]) and, for FP32 with a 3x3 window of stride 1 only, Winograd's
/// `t = o + sqrt((t_multiply(16 g, m/4, n, k/9) / w)^2 + (traffic / W)^2)` with `w` the
/// device's share for it ([`WINOGRAD_TRANSFORM`](crate::device::WINOGRAD_TRANSFORM) where none was measured). An implicit
/// GEMM multiplies at the device's share for convolutions.
///
/// Assumes that transforms are fused with the products, so that traffic stays. Matrix units multiply faster than
/// transforms can feed them, hence FP32 only. Source: Lavin and Gray, CVPR 2016.
///
/// ```
/// # use dielet_core::{compute::*, device::{MatrixUnit, Number, WINOGRAD_TRANSFORM}, units::*};
/// let unit = MatrixUnit {
///     number: Number::Fp32, sustained: FlopsPerSecond(1e13), feed: 0.0, ramp: 0.0, split: 0.0,
///     multiprocessors: 1, bandwidth: BytesPerSecond(1e15), kernel_overhead: Seconds(0.0),
///     conversion_kernels: 0.0, conversion_bytes: 0.0, implicit_gemm: 1.0, winograd: 1.48 / 2.25,
/// };
/// let gemm = Gemm { batch: 1, m: 4096, n: 256, k: 9 * 256 };
/// let (by_gemm, method) = convolution_time(&unit, gemm, Window { rows: 3, columns: 3, stride: 2 }, Bytes(0.0));
/// assert_eq!(method, Method::ImplicitGemm);
/// let (time, method) = convolution_time(&unit, gemm, Window { rows: 3, columns: 3, stride: 1 }, Bytes(0.0));
/// assert_eq!(method, Method::Winograd);
/// assert!((by_gemm / time - 1.48).abs() < 1e-9);
/// ```
pub fn convolution_time(unit: &MatrixUnit, gemm: Gemm, window: Window, traffic: Bytes) -> (Seconds, Method) {
    if gemm.is_empty() {
        return (Seconds::ZERO, Method::ImplicitGemm);
    }
    let filtering = multiply_time(unit, gemm) / unit.implicit_gemm;
    let by_gemm =
        unit.kernel_overhead + overlapped(filtering, traffic / unit.bandwidth) + convert_time(unit, gemm);
    if unit.number != Number::Fp32 || window != (Window { rows: 3, columns: 3, stride: 1 }) {
        return (by_gemm, Method::ImplicitGemm);
    }
    let products = Gemm { batch: 16 * gemm.batch, m: gemm.m.div_ceil(4), n: gemm.n, k: gemm.k.div_ceil(9) };
    let multiplying = multiply_time(unit, products) / unit.winograd;
    let by_filter = unit.kernel_overhead + overlapped(multiplying, traffic / unit.bandwidth);
    if by_filter < by_gemm { (by_filter, Method::Winograd) } else { (by_gemm, Method::ImplicitGemm) }
}

/// Time of a kernel that only moves data (element-wise, norm, softmax, optimizer update): `t = o + V / W`.
///
/// `V` all bytes read and written. Assumes that arithmetic hides behind memory.
///
/// ```
/// # use dielet_core::{compute::stream_time, device::Device, units::*};
/// # let text = include_str!("../../../python/dielet/hardware/specs/devices/v100-sxm2-16gb.toml");
/// # let device = Device::from_toml(text, "v100-sxm2-16gb.toml").unwrap();
/// let once = stream_time(&device, Bytes(1e9));
/// let twice = stream_time(&device, Bytes(2e9));
/// assert!(((twice - once).value() - 1e9 / device.bandwidth().value()).abs() < 1e-12);
/// ```
pub fn stream_time(device: &Device, bytes: Bytes) -> Seconds {
    device.kernel_overhead.value + bytes / device.bandwidth()
}
