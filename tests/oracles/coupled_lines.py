"""S-parameters of coupled lines by the matrix exponential of the full telegrapher's equations.

An oracle: no modes, no assumption that C and Z'Y' share eigenvectors.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

Array = NDArray[np.float64]
MU0 = 1.25663706212e-6
COPPER = 1.68e-8


def resistivity(w: float, t: float) -> float:
    """Copper with Fuchs-Sondheimer and Mayadas-Shatzkes scattering, as in the reference notes."""
    path, specular, reflected = 39e-9, 0.2, 0.3
    a = path / min(w, t) * reflected / (1 - reflected)
    grain = 1 / (1 - 1.5 * a + 3 * a**2 - 3 * a**3 * np.log(1 + 1 / a))
    return COPPER * (3 / 8 * (1 - specular) * path * (1 / w + 1 / t) + grain)


def resistance(w: float, t: float, frequency: float) -> float:
    """Of direct current, or of a shell one skin depth thick."""
    rho = resistivity(w, t)
    depth = np.sqrt(rho / (np.pi * frequency * MU0))
    if 2 * depth >= min(w, t):
        return float(rho / (w * t))
    return float(rho / (w * t - (w - 2 * depth) * (t - 2 * depth)))


def s_matrix(
    c: Array, inductance: Array, r: float, g: Array, length: float, frequency: float, z0: float
) -> NDArray[np.complex128]:
    """Ports 0..n-1 near, n..2n-1 far, from the chain matrix expm(-l [[0, Z], [Y, 0]])."""
    n = len(c)
    omega = 2 * np.pi * frequency
    z = r * np.eye(n) + 1j * omega * inductance
    y = g + 1j * omega * c
    zero = np.zeros((n, n))
    chain = expm(-length * np.block([[zero, z], [y, zero]]))
    a, b, cc, d = chain[:n, :n], chain[:n, n:], chain[n:, :n], chain[n:, n:]
    # (V2, I2) = chain (V1, I1) with I2 leaving; waves: V = a + b, Z0 I = a - b.
    one = np.eye(n)
    from_near = np.block([[a + b / z0, a - b / z0], [z0 * cc + d, z0 * cc - d]])
    into_far = np.block([[one, one], [-one, one]])
    # from_near @ (a1, b1) = into_far @ (a2, b2) with I2 = (b2 - a2) / Z0
    left = np.hstack([from_near[:, n:], -into_far[:, n:]])
    right = np.hstack([-from_near[:, :n], into_far[:, :n]])
    return np.linalg.solve(left, right)


def scattering(
    c: Array, eps: float, w: float, t: float, length: float, frequency: Array, z0: float = 50.0
) -> dict[str, Array]:
    """Loss of the middle line, near and far crosstalk from one neighbour, in dB."""
    inductance = MU0 * eps * np.linalg.inv(c)
    n, victim = len(c), len(c) // 2
    out: dict[str, list[float]] = {"loss": [], "near": [], "far": []}
    for f in frequency:
        g = 2 * np.pi * f * 0.001 * c
        s = s_matrix(c, inductance, resistance(w, t, f), g, length, f, z0)
        picked = (s[victim + n, victim], s[victim, victim + 1], s[victim + n, victim + 1])
        for name, value in zip(out, picked, strict=True):
            out[name].append(20 * np.log10(abs(value)))
    return {name: np.array(values) for name, values in out.items()}
