"""Non-decreasing least squares: noise must not make a larger batch cheaper."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def pool_adjacent(level: Array) -> Array:
    """The non-decreasing levels nearest to `level` in least squares.

    Neighbours that fall are replaced by their mean, until none falls (pool adjacent violators).
    """
    pools: list[tuple[float, int]] = []
    for value in level.tolist():
        mean, count = value, 1
        while pools and pools[-1][0] > mean:
            previous, size = pools.pop()
            mean = (previous * size + mean * count) / (size + count)
            count += size
        pools.append((mean, count))
    means, counts = zip(*pools, strict=True)
    return np.repeat(np.array(means, dtype=np.float64), counts)
