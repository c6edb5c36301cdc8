"""Queues, heaps, sorted lists and the standard library's iterators, as programs use them that schedule, search and count."""

import bisect
import functools
import heapq
import itertools
from collections import Counter, deque, namedtuple

import numpy as np

from .registry import program


def road_map(rng):
    lengths = rng.integers(1, 20, (12, 12)).astype(float)
    lengths[rng.random((12, 12)) < 0.6] = 0
    return lengths, 0


@program(road_map)
def dijkstra(lengths, start):
    n = len(lengths)
    distance, before = np.full(n, np.inf), np.full(n, -1)
    distance[start] = 0
    heap, seen = [(np.float64(0), start)], set()
    while heap:
        d, u = heapq.heappop(heap)
        if u in seen:
            continue
        seen.add(u)
        for v in range(n):
            if lengths[u, v] > 0 and d + lengths[u, v] < distance[v]:
                distance[v], before[v] = d + lengths[u, v], u
                heapq.heappush(heap, (distance[v], v))
    return distance, before, len(seen)


@program(road_map)
def spanning_tree(lengths, start):
    weights = np.where(lengths > 0, lengths, lengths.T)
    inside = np.zeros(len(weights), dtype=bool)
    heap, edges, total = [(np.float64(0), start, -1)], [], 0.0
    while heap and not inside.all():
        weight, u, parent = heapq.heappop(heap)
        if inside[u]:
            continue
        inside[u] = True
        total += weight
        if parent >= 0:
            edges.append((parent, u))
        for v in np.flatnonzero(weights[u]):
            if not inside[v]:
                heapq.heappush(heap, (weights[u, v], int(v), u))
    return total, edges


Customer = namedtuple("Customer", "number arrival service")


@program(lambda rng: (np.cumsum(rng.exponential(1.0, 40)), rng.exponential(1.5, 40)))
def bank(arrivals, services):
    """Two clerks and a queue: events in a heap, customers in a deque."""
    events = [(arrivals[i], i, "arrives") for i in range(len(arrivals))]
    heapq.heapify(events)
    waiting, free, waited, longest = deque(), 2, 0.0 * arrivals[0], 0
    while events:
        now, number, what = heapq.heappop(events)
        if what == "arrives":
            waiting.append(Customer(number, now, services[number]))
        else:
            free += 1
        longest = max(longest, len(waiting))
        if free > 0 and waiting:
            customer = waiting.popleft()
            free -= 1
            waited += now - customer.arrival
            heapq.heappush(events, (now + customer.service, customer.number, "leaves"))
    return waited / len(arrivals), longest


@program(lambda rng: (rng.integers(1, 60, 12),))
def huffman(counts):
    """Lengths of the codes."""
    heap = [(int(count), place) for place, count in enumerate(counts)]
    heapq.heapify(heap)
    parents, following = np.full(2 * len(counts) - 1, -1), len(counts)
    while len(heap) > 1:
        first, one = heapq.heappop(heap)
        second, other = heapq.heappop(heap)
        parents[one] = parents[other] = following
        heapq.heappush(heap, (first + second, following))
        following += 1
    depths = np.zeros(len(parents), dtype=int)
    for node in reversed(range(len(parents) - 1)):
        depths[node] = depths[parents[node]] + 1
    return depths[: len(counts)], int(np.sum(depths[: len(counts)] * counts))


@program(lambda rng: (rng.integers(0, 100, 60), 7))
def moving_median(x, width):
    window, medians = [], []
    for i, value in enumerate(x):
        bisect.insort(window, value)
        if i >= width:
            window.pop(bisect.bisect_left(window, x[i - width]))
        medians.append(window[len(window) // 2])
    return np.array(medians)


@program(lambda rng: (rng.random(50), 6))
def moving_average(x, width):
    recent, out = deque(maxlen=width), np.empty(len(x))
    for i, value in enumerate(x):
        recent.append(value)
        out[i] = sum(recent) / len(recent)
    return out, list(recent)


@program(lambda rng: (rng.integers(1, 9, 15),))
def counted_out(steps):
    circle, order = deque(range(len(steps))), []
    for step in steps:
        circle.rotate(-int(step))
        order.append(circle.popleft())
    return order


@program(lambda rng: (rng.random(40) < 0.6,))
def runs(bits):
    lengths = [(bool(value), len(list(group))) for value, group in itertools.groupby(bits)]
    longest = max((length for value, length in lengths if value), default=0)
    return [length for _, length in lengths], longest


@program(lambda rng: (rng.random((9, 2)),))
def closest_of_all(points):
    best, pair = np.inf, None
    for i, j in itertools.combinations(range(len(points)), 2):
        if (d := np.hypot(*(points[i] - points[j]))) < best:
            best, pair = d, (i, j)
    return best, pair


@program(lambda rng: (rng.integers(1, 30, 10), 60))
def fullest_box(weights, limit):
    best, chosen = 0, ()
    for three in itertools.combinations(weights, 3):
        if best < (total := functools.reduce(lambda a, b: a + b, three)) <= limit:
            best, chosen = total, three
    return best, chosen


@program(lambda rng: (rng.normal(size=60),))
def drawdown(returns):
    wealth = list(itertools.accumulate(returns, lambda total, r: total * (1 + 0.01 * r), initial=np.float64(1)))
    peaks = list(itertools.accumulate(wealth, max))
    losses = [1 - value / peak for value, peak in zip(wealth, peaks)]
    first = next((day for day, loss in enumerate(losses) if loss > 0.02), None)
    rises = sum(1 for before, value in itertools.pairwise(wealth) if value > before)
    return max(losses), first, rises


@program(lambda rng: (rng.integers(0, 6, (8, 2)),))
def order_of_tasks(pairs):
    """Tasks whose predecessors are done go behind the queue; those on a circle are left."""
    needs = [(a, b) for a, b in pairs.tolist() if a < b]
    missing = Counter(b for _, b in needs)
    ready, order = deque(task for task in range(6) if missing[task] == 0), []
    while ready:
        task = ready.popleft()
        order.append(task)
        for a, b in needs:
            if a == task:
                missing[b] -= 1
                if missing[b] == 0:
                    ready.append(b)
    return order, len(needs)


@program(lambda rng: (rng.integers(0, 40, 50), 3))
def most_frequent(values, k):
    counts = Counter(values.tolist())
    top = heapq.nlargest(k, counts.items(), key=lambda item: item[1])
    numbers, times = zip(*top)
    return list(numbers), sum(times)


@program(lambda rng: (rng.random(30),))
def records(x):
    best = ((x[0], 0),)
    for day, value in enumerate(x):
        if value > best[-1][0]:
            best += ((value, day),)
    return best, best[-1][1]
