"""Partitions by exhaustion: every chain of ideals, every device, every degree. Slow and obvious."""

import itertools
import math
from functools import cache


def ideals(n, edges):
    """All sets closed under predecessors, as frozensets."""
    before = [{a for a, b in edges if b == v} for v in range(n)]
    subsets = (frozenset(chosen) for size in range(n + 1) for chosen in itertools.combinations(range(n), size))
    return [chosen for chosen in subsets if all(before[v] <= chosen for v in chosen)]


def contracted(graph):  # noqa: C901
    """Classes of ops that must share a device, and the order among them (the four rules of Tarnawski et al.)."""
    ops = range(len(graph["colour"]))
    backward, edges = graph["backward"], graph["edges"]
    label = {v: graph["colour"][v] for v in ops}
    forward_colours = {label[v] for v in ops if not backward[v]}
    order = set()
    for u, v in edges:
        if not backward[u] and not backward[v]:
            order.add((u, v, False))
        elif backward[u] and backward[v] and not {label[u], label[v]} <= forward_colours:
            order.add((v, u, True))

    def arcs():
        return {(label[u], label[v]) for u, v, _ in order if label[u] != label[v]}

    def reaches(a, b):
        seen, todo = set(), [a]
        while todo:
            for x, y in arcs():
                if x == todo[-1] and y not in seen:
                    seen.add(y)
                    todo.insert(0, y)
            todo.pop()
        return b in seen

    for a, b in itertools.combinations(sorted(set(label.values())), 2):
        if reaches(a, b) and reaches(b, a):
            label = {v: a if x == b else x for v, x in label.items()}
    merged = True
    while merged:
        merged = False
        for c in sorted(set(label.values())):
            inside = [v for v in ops if label[v] == c]
            time = sum(graph["accelerator"][v] + graph["cpu"][v] for v in inside)
            meets = {(label[u], label[v], art) for u, v, art in order if (label[u] == c) != (label[v] == c)}
            crosses = any(backward[u] != backward[v] and label[v if backward[u] else u] == c for u, v in edges)
            if time < 1e-6 and len(meets) == 1 and not crosses:
                (a, b, _), *_ = meets
                into = b if a == c else a
                label = {v: into if x == c else x for v, x in label.items()}
                merged = True
                break
    return label, arcs()


def load(graph, part, kind, memory):
    """Load of one device that holds the ops ``part``."""
    if kind == "cpu":
        return sum(graph["cpu"][v] for v in part)
    if any(not graph["supported"][v] for v in part) or sum(graph["memory"][v] for v in part) > memory:
        return math.inf
    sent = {u for u, v in graph["edges"] if (u in part) != (v in part)}
    return sum(graph["accelerator"][v] for v in part) + sum(graph["transfer"][u] for u in sent)


def contiguous_load(graph, accelerators, cpus, memory):
    """Smallest largest load over chains of ideals."""
    label, arcs = contracted(graph)
    classes = sorted(set(label.values()))
    at = {c: i for i, c in enumerate(classes)}
    sets = ideals(len(classes), {(at[a], at[b]) for a, b in arcs})
    full = frozenset(range(len(classes)))

    @cache
    def cost(done, upto, kind):
        part = frozenset(v for v in label if at[label[v]] in upto - done)
        return load(graph, part, kind, memory)

    @cache
    def best(done, k, m):
        if done == full:
            return 0.0
        options = [math.inf]
        for upto in sets:
            if done < upto:
                if k:
                    options.append(max(cost(done, upto, "accelerator"), best(upto, k - 1, m)))
                if m:
                    options.append(max(cost(done, upto, "cpu"), best(upto, k, m - 1)))
        return min(options)

    return best(frozenset(), accelerators, cpus)


def any_load(graph, accelerators, cpus, memory):
    """Smallest largest load over all assignments of colours to devices."""
    colours = sorted(set(graph["colour"]))
    kinds = ["accelerator"] * accelerators + ["cpu"] * cpus
    best = math.inf
    for devices in itertools.product(range(len(kinds)), repeat=len(colours)):
        where = dict(zip(colours, devices, strict=True))
        parts = [frozenset(v for v, c in enumerate(graph["colour"]) if where[c] == d) for d in range(len(kinds))]
        worst = max(load(graph, part, kind, memory) for part, kind in zip(parts, kinds, strict=True))
        best = min(best, worst)
    return best


def replicas(graph, devices, nodes, inner, outer):  # noqa: C901
    """Smallest slowest stage of a replicated pipeline on nodes, with PipeDream's composite first stage."""
    n = len(graph["forward_ms"])
    compute = [(f + b) / 1000 for f, b in zip(graph["forward_ms"], graph["backward_ms"], strict=True)]
    weight, output, edges = graph["parameters_bytes"], graph["activation_bytes"], graph["edges"]
    sets = ideals(n, edges)
    full = frozenset(range(n))

    def crossing(ideal):
        return sum(output[u] for u in {u for u, v in edges if u in ideal and v not in ideal})

    def reduce_(c, w, bandwidth, r):
        return (c + 4 * (r - 1) * w / (bandwidth * r)) / r

    def sums(done, upto):
        return sum(compute[v] for v in upto - done), sum(weight[v] for v in upto - done)

    @cache
    def best(done, closed, group, taken):
        """`group` nodes are open with `taken` devices used in each; `closed` nodes are used up."""
        if done == full:
            return 0.0
        options = [math.inf]
        for upto in sets:
            if not done < upto:
                continue
            c, w = sums(done, upto)
            for g in [group] if group else range(1, nodes - closed + 1):
                for r in range(1, devices - taken + 1):
                    time = (reduce_(c, w, inner, r) + 4 * (g - 1) * (w / r) / (outer * g)) / g
                    if done:
                        time = max(time, 2 * crossing(done) / ((inner if group else outer) * r * g))
                    leaving = 2 * crossing(upto) / (r * g)
                    within = leaving / inner if group else 0.0
                    beyond = within if closed == 0 else leaving / outer
                    if upto == full:
                        options.append(time)
                        continue
                    options.append(max(time, beyond, best(upto, closed + g, 0, 0)))
                    if taken + r < devices:
                        options.append(max(time, within, best(upto, closed, g, taken + r)))
        return min(options)

    @cache
    def pipeline(done, upto, left):
        """Slowest stage of the inner pipeline that runs `upto - done` after `done` on `left` devices."""
        if done == upto:
            return 0.0
        options = [math.inf]
        for middle in sets:
            if done < middle <= upto:
                for r in range(1, left + 1):
                    time = reduce_(*sums(done, middle), inner, r)
                    if done:
                        time = max(time, 2 * crossing(done) / (inner * r), 2 * crossing(middle) / (inner * r))
                    options.append(max(time, pipeline(middle, upto, left - r)))
        return min(options)

    options = [best(frozenset(), 0, 0, 0)]
    for copies in range(2, nodes + 1):
        for upto in sets:
            if upto:
                w = sums(frozenset(), upto)[1]
                between = 4 * (copies - 1) * w / (outer * copies) / devices
                first = (pipeline(frozenset(), upto, devices) + between) / copies
                options.append(max(first, best(upto, copies, 0, 0)))
    return min(options)


def hybrid(problem):  # noqa: C901
    """Smallest slowest stage with data and tensor parallelism and an exact choice of recompute."""
    ops, edges = problem["ops"], problem["edges"]
    n, k = len(ops), problem["devices"]
    batch, bandwidth = problem["micro_batches"], problem["bandwidth"]
    sets = ideals(n, [(e["sink"], e["source"]) for e in edges])
    full = frozenset(range(n))

    def bytes_across(part, tp):
        total = 0.0
        for e in edges:
            if (e["source"] in part) != (e["sink"] in part):
                side = "source_reshard" if e["source"] in part else "sink_reshard"
                total += e["bytes"] + dict(e[side]).get(tp, 0.0)
        return total

    @cache
    def stage(part, tp, dp, flights):
        entries = [next((d for d in ops[v]["degrees"] if d["tp"] == tp), None) for v in part]
        if None in entries:
            return math.inf
        weight = sum(entry["parameters"] for entry in entries)
        shared = (2 * bytes_across(part, tp) / dp + 4 * (dp - 1) * weight / (dp * batch)) / bandwidth
        times = [math.inf]
        for modes in itertools.product(*(entry["modes"] for entry in entries)):
            held = sum(mode["per_flight"] * flights + mode["fixed"] for mode in modes)
            if held <= problem["memory"]:
                times.append(sum(mode["time"] for mode in modes) / dp + shared)
        return min(times)

    @cache
    def best(done, devices, replicas_):
        """`done` is the tail of the pipeline, run with `replicas_` replicas in all."""
        if done == full:
            return 0.0
        options = [math.inf]
        for upto in sets:
            if not done < upto:
                continue
            for tp in {d["tp"] for op in ops for d in op["degrees"]}:
                for dp in range(1, batch + 1):
                    used, total = devices + dp * tp, replicas_ + dp
                    if batch % dp == 0 and used <= k and total <= min(batch, k):
                        time = stage(upto - done, tp, dp, math.ceil(total / dp))
                        options.append(max(time, best(upto, used, total)))
        return min(options)

    return best(frozenset(), 0, 0)
