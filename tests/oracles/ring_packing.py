"""The most link-disjoint directed rings through all members, as an integer program over all of them."""

from itertools import permutations

import numpy as np
from scipy.optimize import LinearConstraint, milp


def rings(members: int, links: list[tuple[int, int, int]]) -> int:
    """How many Hamiltonian cycles fit the links, each link once in each direction per parallel link."""
    free = np.zeros((members, members))
    for a, b, count in links:
        free[a, b] += count
        free[b, a] += count
    cycles = [(0, *rest) for rest in permutations(range(1, members))]
    uses = []
    for cycle in cycles:
        use = np.zeros_like(free)
        for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            use[a, b] += 1
        uses.append(use.ravel())
    matrix = np.array(uses).T
    best = milp(
        -np.ones(len(cycles)),
        integrality=np.ones(len(cycles)),
        constraints=LinearConstraint(matrix, ub=free.ravel()),
    )
    return round(-best.fun)
