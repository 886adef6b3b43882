"""How fast a sweep is: link figures of a million geometries, S-parameters of ten thousand at 200 frequencies.

Run on one core: taskset -c 0 python benchmarks/link.py
"""

import time

import numpy as np

from dielet.technology import load_technology

GEOMETRIES = 1_000_000
SWEPT = 10_000
FREQUENCIES = 200


def main() -> None:
    rng = np.random.default_rng(0)
    pitch = rng.uniform(2e-6, 10e-6, GEOMETRIES)
    length = rng.uniform(50e-6, 500e-6, GEOMETRIES)
    layers = np.ones(GEOMETRIES, dtype=np.uint32)
    handle = load_technology("si-if")
    start = time.process_time()
    handle.sweep(pitch, length, layers)
    print(f"{GEOMETRIES} geometries to link figures: {time.process_time() - start:.2f} s (target 2 s)")
    start = time.process_time()
    handle.response(pitch[:SWEPT], length[:SWEPT], np.geomspace(1e8, 1e11, FREQUENCIES))
    print(f"{SWEPT} geometries at {FREQUENCIES} frequencies: {time.process_time() - start:.2f} s (target 10 s)")


if __name__ == "__main__":
    main()
