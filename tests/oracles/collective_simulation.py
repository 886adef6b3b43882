"""Collectives simulated send by send on explicit links: slow, obvious, and no formula of the core.

A network is a set of directed links with rates and a route per pair of ranks. A step is a set of sends that
start together; it ends when the busiest link has carried all that the routes put on it. A rank's shards are
sets of the contributions that they hold, so that a ring also proves that it computes what it should.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

Link = tuple[object, object]
Send = tuple[int, int, float]


@dataclass(frozen=True)
class Network:
    """Directed links and the way between two ranks; `delay` is paid by each step with its longest way."""

    rates: dict[Link, float]
    route: Callable[[int, int], list[Link]]
    delay: Callable[[int, int], float]

    def step(self, sends: Iterable[Send]) -> float:
        """Seconds of simultaneous sends; links are shared by all that pass."""
        load: dict[Link, float] = defaultdict(float)
        longest = 0.0
        for source, target, size in sends:
            longest = max(longest, self.delay(source, target))
            for link in self.route(source, target):
                load[link] += size
        return longest + max((size / self.rates[link] for link, size in load.items()), default=0.0)


def switch(ranks: int, rate: float, delay: float) -> Network:
    """A port in and a port out for every rank."""
    rates = {link: rate for rank in range(ranks) for link in ((rank, "hub"), ("hub", rank))}
    return Network(rates, lambda a, b: [(a, "hub"), ("hub", b)], lambda a, b: delay)


def nodes(ranks: int, width: int, inner: tuple[float, float], outer: tuple[float, float]) -> Network:
    """Ranks in nodes of `width`; inside every rank has a port, outside a node has one for all its ranks."""
    rates: dict[Link, float] = {}
    for rank in range(ranks):
        node = f"node {rank // width}"
        rates |= {(rank, "hub"): inner[0], ("hub", rank): inner[0]}
        rates |= {(node, "net"): outer[0], ("net", node): outer[0]}

    def route(a: int, b: int) -> list[Link]:
        if a // width == b // width:
            return [(a, "hub"), ("hub", b)]
        return [(f"node {a // width}", "net"), ("net", f"node {b // width}")]

    return Network(rates, route, lambda a, b: inner[1] if a // width == b // width else outer[1])


def _grid_links(sizes: tuple[int, ...], *, closed: bool) -> Iterable[Link]:
    for place in product(*(range(size) for size in sizes)):
        for axis, move in product(range(len(sizes)), (1, -1)):
            beside = place[axis] + move
            if closed:
                beside %= sizes[axis]
            if 0 <= beside < sizes[axis]:
                yield place, (*place[:axis], beside, *place[axis + 1 :])


def grid(sizes: tuple[int, ...], rate: float, delay: float, *, closed: bool) -> Network:
    """A mesh or torus, lowest digit first; a send goes dimension by dimension, the shorter way round."""

    def digits(rank: int) -> tuple[int, ...]:
        out = []
        for size in sizes:
            out.append(rank % size)
            rank //= size
        return tuple(out)

    def steps(a: int, b: int, size: int) -> list[int]:
        forward, back = (b - a) % size, (a - b) % size
        if not closed or size < 3:
            return [1] * (b - a) if b > a else [-1] * (a - b)
        return [1] * forward if forward <= back else [-1] * back

    def route(a: int, b: int) -> list[Link]:
        here, there, links = list(digits(a)), digits(b), []
        for axis, size in enumerate(sizes):
            for move in steps(here[axis], there[axis], size):
                before = tuple(here)
                here[axis] = (here[axis] + move) % size
                links.append((before, tuple(here)))
        return links

    rates = dict.fromkeys(_grid_links(sizes, closed=closed), rate)
    return Network(rates, route, lambda a, b: delay * len(route(a, b)))


def ring_pass(
    network: Network, rings: list[list[int]], message: float, *, gather: bool
) -> tuple[float, dict[tuple[int, int, int], frozenset[int]]]:
    """A reduce-scatter or all-gather on rings that work at once, each on an equal part of the message.

    Returns the seconds and the contributions in (ring, rank, shard).
    """
    held: dict[tuple[int, int, int], frozenset[int]] = {}
    for number, ring in enumerate(rings):
        for place, rank in enumerate(ring):
            for shard in range(len(ring)):
                # A gather starts with one finished shard a rank, a scatter with everyone's own contribution.
                own = frozenset(ring) if shard == place else frozenset()
                held[number, rank, shard] = own if gather else frozenset({rank})
    seconds = 0.0
    for turn in range(len(rings[0]) - 1):
        sends, moved = [], {}
        for number, ring in enumerate(rings):
            for place, rank in enumerate(ring):
                ahead = ring[(place + 1) % len(ring)]
                shard = (place - turn - (0 if gather else 1)) % len(ring)
                sends.append((rank, ahead, message / len(rings) / len(ring)))
                moved[number, ahead, shard] = held[number, rank, shard]
        for key, contributions in moved.items():
            held[key] = held[key] | contributions
        seconds += network.step(sends)
    return seconds, held


def ring_all_reduce(network: Network, rings: list[list[int]], message: float) -> float:
    """Scatter, then gather, checked to sum everything everywhere."""
    scatter, held = ring_pass(network, rings, message, gather=False)
    for number, ring in enumerate(rings):
        for place, rank in enumerate(ring):
            assert held[number, rank, place] == frozenset(ring), "a rank ends with its own shard of the sum"
    gather, held = ring_pass(network, rings, message, gather=True)
    assert all(contributions for contributions in held.values()), "every rank ends with every shard"
    return scatter + gather


def simultaneous_rings(network: Network, groups: list[list[int]], message: float) -> float:
    """A pass of several groups at once, each with its own message on one ring."""
    seconds = 0.0
    for _turn in range(len(groups[0]) - 1):
        pairs = [(ring[i], ring[(i + 1) % len(ring)], len(ring)) for ring in groups for i in range(len(ring))]
        seconds += network.step((a, b, message / size) for a, b, size in pairs)
    return seconds


def hierarchical_all_reduce(network: Network, ranks: int, width: int, message: float) -> float:
    """Scatter inside the nodes, all-reduce the shards between them, gather inside."""
    inside = [list(range(start, start + width)) for start in range(0, ranks, width)]
    across = [list(range(start, ranks, width)) for start in range(width)]
    inner = simultaneous_rings(network, inside, message)
    outer = simultaneous_rings(network, across, message / width)
    return 2 * (inner + outer)


def wave_pass(delays: list[float], rates: list[float], message: float) -> float:
    """A ring pass without common steps: a rank sends a shard as soon as it has it and its link is free."""
    ranks = len(delays)
    shard = message / ranks
    free = [0.0] * ranks
    ready = {(rank, rank): 0.0 for rank in range(ranks)}
    finished = 0.0
    for turn in range(ranks - 1):
        for rank in range(ranks):
            origin = (rank - turn) % ranks
            start = max(ready[rank, origin], free[rank])
            free[rank] = start + shard / rates[rank]
            ready[(rank + 1) % ranks, origin] = free[rank] + delays[rank]
            finished = max(finished, ready[(rank + 1) % ranks, origin])
    return finished


def all_to_all(network: Network, ranks: int, message: float) -> float:
    """All pairs at once: the time of the busiest link (and the longest way once)."""
    pairs = ((a, b) for a in range(ranks) for b in range(ranks) if a != b)
    return network.step((a, b, message / ranks) for a, b in pairs)


def torus_all_to_all(sizes: tuple[int, ...], rate: float, message: float) -> float:
    """As `all_to_all` on a torus, with flows between opposite members halved over both ways round."""
    ranks = 1
    for size in sizes:
        ranks *= size
    load: dict[tuple[int, int, int, int], float] = defaultdict(float)
    strides = [1]
    for size in sizes[:-1]:
        strides.append(strides[-1] * size)
    for source, target in product(range(ranks), repeat=2):
        here = source
        for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
            a, b = here // stride % size, target // stride % size
            ahead, back = (b - a) % size, (a - b) % size
            ways = [(1, ahead), (-1, back)] if ahead == back else [(1, ahead)] if ahead < back else [(-1, back)]
            for move, hops in ways:
                for hop in range(hops):
                    at = here + ((a + move * hop) % size - a) * stride
                    load[at, axis, move, 0] += message / ranks / len(ways)
            here += (b - a) * stride
    return max(load.values()) / rate


def chain_all_reduce(ranks: int, rate: float, delay: float, message: float, pieces: int) -> float:
    """Pieces flow up a chain of links, are summed, and flow back down while later ones still come up."""
    piece = message / pieces
    hop = delay + piece / rate
    up = [[0.0] * pieces for _ in range(ranks)]
    for rank in range(1, ranks):
        free = 0.0
        for number in range(pieces):
            start = max(up[rank - 1][number], free)
            free = start + hop
            up[rank][number] = free
    down = list(up[ranks - 1])
    for _rank in range(ranks - 1):
        free, arrived = 0.0, []
        for number in range(pieces):
            free = max(down[number], free) + hop
            arrived.append(free)
        down = arrived
    return down[-1]


def folded(members: list[int]) -> list[int]:
    """A ring along a row: out over every other member, back over the rest."""
    return members[::2] + members[1::2][::-1]


def serpentine(rows: int, cols: int) -> list[int]:
    """A cycle through a mesh with an even number of rows: down the first column, back in a serpentine."""
    back = []
    for row in reversed(range(rows)):
        line = [row * cols + col for col in range(1, cols)]
        back += line if (rows - 1 - row) % 2 == 0 else line[::-1]
    return [row * cols for row in range(rows)] + back


def per_dimension_pass(rows: int, cols: int, rate: float, delay: float, message: float, *, closed: bool) -> float:
    """Half the message takes rows first, half columns first; a phase ends with the slower half."""
    network = grid((cols, rows), rate, delay, closed=closed)
    lines = [[row * cols + col for col in range(cols)] for row in range(rows)]
    columns = [[row * cols + col for row in range(rows)] for col in range(cols)]

    def phase(groups: list[list[int]], part: float) -> float:
        if closed and len(groups[0]) > 2:
            return simultaneous_rings(network, groups + [ring[::-1] for ring in groups], part / 2)
        return simultaneous_rings(network, [folded(group) for group in groups], part)

    first = max(phase(lines, message / 2), phase(columns, message / 2))
    second = max(phase(columns, message / 2 / cols), phase(lines, message / 2 / rows))
    return first + second
