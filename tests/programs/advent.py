"""Puzzles of December: grids, interpreters, memos, sets of places, permutations."""

import functools
import itertools
import math
from collections import Counter, deque
from functools import reduce
from itertools import permutations, product

import numpy as np

from .registry import program


def random_grid(rng, n, wall=0.3):
    g = [["#" if rng.random() < wall else "." for _ in range(n)] for _ in range(n)]
    g[0][0] = g[-1][-1] = "."
    return ["".join(r) for r in g]


@program(lambda rng: (random_grid(rng, 7),))
def maze_complex(lines):
    grid = {complex(x, y): c for y, row in enumerate(lines) for x, c in enumerate(row)}
    start, end = 0j, complex(len(lines[0]) - 1, len(lines) - 1)
    dist = {start: 0}
    todo = deque([start])
    while todo:
        p = todo.popleft()
        for d in (1, -1, 1j, -1j):
            q = p + d
            if grid.get(q) == "." and q not in dist:
                dist[q] = dist[p] + 1
                todo.append(q)
    return dist.get(end, -1), len(dist), max(dist.values())


@program(lambda rng: ([[int(c) for c in rng.integers(1, 10, 6)] for _ in range(6)],))
def cheapest_path(risk):
    import heapq

    h, w = len(risk), len(risk[0])
    best = {(0, 0): 0}
    queue = [(0, 0, 0)]
    while queue:
        cost, r, c = heapq.heappop(queue)
        if (r, c) == (h - 1, w - 1):
            return cost
        if cost > best[r, c]:
            continue
        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            rr, cc = r + dr, c + dc
            if 0 <= rr < h and 0 <= cc < w:
                new = cost + risk[rr][cc]
                if new < best.get((rr, cc), math.inf):
                    best[rr, cc] = new
                    heapq.heappush(queue, (new, rr, cc))
    return None


class Intcode:
    def __init__(self, memory, inputs=()):
        self.memory = list(memory) + [0] * 20
        self.ip = 0
        self.inputs = deque(inputs)
        self.outputs = []
        self.base = 0

    def address(self, offset):
        mode = self.memory[self.ip] // 10 ** (offset + 1) % 10
        value = self.memory[self.ip + offset]
        if mode == 0:
            return value
        if mode == 1:
            return self.ip + offset
        return self.base + value

    def run(self):
        m = self.memory
        while True:
            op = m[self.ip] % 100
            if op == 99:
                return self.outputs
            if op in (1, 2, 7, 8):
                a, b, c = (self.address(i) for i in (1, 2, 3))
                if op == 1:
                    m[c] = m[a] + m[b]
                elif op == 2:
                    m[c] = m[a] * m[b]
                elif op == 7:
                    m[c] = int(m[a] < m[b])
                else:
                    m[c] = int(m[a] == m[b])
                self.ip += 4
            elif op == 3:
                m[self.address(1)] = self.inputs.popleft()
                self.ip += 2
            elif op == 4:
                self.outputs.append(m[self.address(1)])
                self.ip += 2
            elif op in (5, 6):
                test = m[self.address(1)] != 0
                self.ip = m[self.address(2)] if test == (op == 5) else self.ip + 3
            elif op == 9:
                self.base += m[self.address(1)]
                self.ip += 2
            else:
                raise RuntimeError(f"unknown opcode {op} at {self.ip}")


COUNT = [3, 30, 101, 0, 30, 31, 4, 31, 101, -1, 30, 30, 1005, 30, 2, 4, 30, 99]
QUINE = [109, 1, 204, -1, 1001, 100, 1, 100, 1008, 100, 16, 101, 1006, 101, 0, 99]


@program(lambda rng: (np.array(COUNT), int(rng.integers(2, 6 + 2))))
def intcode(code, value):
    return Intcode(code.tolist(), [value]).run()


@program(lambda rng: ([int(v) for v in COUNT], [int(rng.integers(2, 6 + 2))]))
def intcode_list(code, values):
    machine = Intcode(code, values)
    out = machine.run()
    return out, machine.ip, machine.memory[:5]


@program(lambda rng: (int(rng.integers(20, 60)),))
def euler_mix(limit):
    """Problems 1, 2, 6, 9, 21 and 23 for small limits."""
    one = sum(n for n in range(limit) if n % 3 == 0 or n % 5 == 0)

    def fibs():
        a, b = 1, 2
        while a < limit * 100:
            yield a
            a, b = b, a + b

    two = sum(f for f in fibs() if f % 2 == 0)
    six = sum(range(limit)) ** 2 - sum(n * n for n in range(limit))
    nine = [
        (a, b, limit - a - b)
        for a in range(1, limit // 3)
        for b in range(a + 1, limit // 2)
        if a * a + b * b == (limit - a - b) ** 2
    ]

    def d(n):
        return sum(k for k in range(1, n // 2 + 1) if n % k == 0)

    abundant = [n for n in range(1, limit) if d(n) > n]
    sums = {a + b for a, b in itertools.combinations_with_replacement(abundant, 2) if a + b < limit}
    twentythree = sum(n for n in range(limit) if n not in sums)
    return one, two, six, nine, abundant, twentythree


@program(lambda rng: ([tuple(int(v) for v in rng.integers(-4, 5, 3)) for _ in range(6)],))
def cubes_life(start):
    """Sets of tuples, neighbours by product, Counter."""
    active = set(start)
    offsets = [d for d in product((-1, 0, 1), repeat=3) if any(d)]
    history = [len(active)]
    for _ in range(2):
        near = Counter((x + a, y + b, z + c) for x, y, z in active for a, b, c in offsets)
        active = {p for p, n in near.items() if n == 3 or n == 2 and p in active}
        history.append(len(active))
    return history


@program(lambda rng: ([[int(rng.integers(1, 50)) if i != j else 0 for j in range(6)] for i in range(6)],))
def travelling_by_permutations(d):
    n = len(d)
    best, tour = min((sum(d[a][b] for a, b in zip((0, *p), (*p, 0))), p) for p in permutations(range(1, n)))
    return best, tour


@program(
    lambda rng: (
        "".join(rng.choice(list("()[]{}<>"), 30)),
        [
            "".join("([{<"[i] for i in rng.integers(0, 4, 8)) + "".join(")]}>"[i] for i in rng.integers(0, 4, 3))
            for _ in range(5)
        ],
    )
)
def brackets(line, lines):
    pairs = dict(zip("([{<", ")]}>"))
    points = {")": 3, "]": 57, "}": 1197, ">": 25137}

    def check(text):
        stack = []
        for c in text:
            if c in pairs:
                stack.append(pairs[c])
            elif not stack or stack.pop() != c:
                return points[c], ""
        return 0, "".join(reversed(stack))

    scores = [check(l) for l in [line, *lines]]
    completions = sorted(reduce(lambda a, c: a * 5 + ")]}>".index(c) + 1, rest, 0) for s, rest in scores if rest)
    return sum(s for s, _ in scores), completions


@program(lambda rng: ([int(v) for v in rng.integers(1, 12, 9)], int(rng.integers(20, 40))))
def containers_memo(sizes, total):
    @functools.cache
    def ways(i, left):
        if left == 0:
            return 1
        if left < 0 or i == len(sizes):
            return 0
        return ways(i + 1, left - sizes[i]) + ways(i + 1, left)

    return ways(0, total)


@program(lambda rng: ([int(v) for v in rng.permutation(9)], 10))
def crab_cups(cups, moves):
    n = len(cups)
    cups = [c + 1 for c in cups]
    after = [0] * (n + 1)
    for a, b in zip(cups, cups[1:] + cups[:1]):
        after[a] = b
    current = cups[0]
    for _ in range(moves):
        a = after[current]
        b = after[a]
        c = after[b]
        after[current] = after[c]
        dest = current - 1 or n
        while dest in (a, b, c):
            dest = dest - 1 or n
        after[c] = after[dest]
        after[dest] = a
        current = after[current]
    out, x = "", after[1]
    while x != 1:
        out += str(x)
        x = after[x]
    return out


@program(
    lambda rng: (
        [
            f"{['inc', 'dec', 'jnz', 'cpy'][int(o)]} {'abcd'[int(a)]} {int(v)}"
            for o, a, v in zip(rng.integers(0, 3, 8), rng.integers(0, 4, 8), rng.integers(1, 5, 8))
        ],
    )
)
def assembler(lines):
    registers = dict.fromkeys("abcd", 0)
    registers["d"] = 3
    program = [line.split() for line in lines]
    ip = ticks = 0
    while ip < len(program) and ticks < 200:
        op, register, value = program[ip]
        match op:
            case "inc":
                registers[register] += int(value)
            case "dec":
                registers[register] -= int(value)
            case "jnz":
                if registers[register] > 3:
                    registers[register] //= 2
                    ip = max(ip - int(value), 0)
                    ticks += 1
                    continue
        ip += 1
        ticks += 1
    return registers, ticks


@program(lambda rng: (np.array([list(r) for r in random_grid(rng, 6, 0.5)]), 4))
def seats(grid, rounds):
    """A grid of characters as a NumPy array, neighbours counted by padding."""
    seat = grid == "#"
    full = np.zeros(seat.shape, bool)
    for _ in range(rounds):
        padded = np.pad(full.astype(int), 1)
        near = sum(
            padded[1 + a : 1 + a + len(seat), 1 + b : 1 + b + seat.shape[1]] for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b
        )
        new = np.where(full, near < 4, near == 0) & seat
        if (new == full).all():
            break
        full = new
    return full.sum(), [
        "".join("#" if c else "L" if s else "." for c, s in zip(r, q)) for r, q in zip(full.tolist(), seat.tolist())
    ]


@program(lambda rng: ([(int(a), int(a + b)) for a, b in zip(rng.integers(0, 60, 8), rng.integers(0, 9, 8))],))
def merge_ranges(ranges):
    merged = []
    for lo, hi in sorted(ranges):
        if merged and lo <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], hi))
        else:
            merged.append((lo, hi))
    gaps = [b[0] - a[1] - 1 for a, b in itertools.pairwise(merged)]
    return merged, sum(h - l + 1 for l, h in merged), max(gaps, default=None)


@program(lambda rng: (int(rng.integers(1000, 100000)),))
def digits(n):
    happy, seen = n, set()
    while happy != 1 and happy not in seen:
        seen.add(happy)
        happy = sum(int(c) ** 2 for c in str(happy))
    reverse = int(str(n)[::-1])
    romans = ""
    left = n % 4000
    for value, text in zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), "M CM D CD C XC L XL X IX V IV I".split()):
        while left >= value:
            romans += text
            left -= value
    factors = []
    m, p = n, 2
    while p * p <= m:
        while m % p == 0:
            factors.append(p)
            m //= p
        p += 1
    if m > 1:
        factors.append(m)
    return happy == 1, sorted(seen)[:3], reverse, romans, Counter(factors), f"{n:#x} {n:b}"
