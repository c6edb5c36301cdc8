"""Functions that call themselves, as textbooks write them: how deep they go the values decide."""

import math

import numpy as np

from .registry import program


@program(lambda rng: (rng.integers(0, 2, (6, 6)),))
def flood_fill(grid):
    left = grid.copy()
    rows, columns = left.shape

    def fill(i, j):
        if i < 0 or j < 0 or i >= rows or j >= columns or left[i, j] != 1:
            return 0
        left[i, j] = 2
        return 1 + fill(i + 1, j) + fill(i - 1, j) + fill(i, j + 1) + fill(i, j - 1)

    return [fill(i, j) for i in range(rows) for j in range(columns) if left[i, j] == 1]


@program(lambda rng: (rng.integers(0, 50, 12),), lambda found, x: np.array_equal(found, np.sort(x)))
def sort_in_place(x):
    a = x.copy()

    def sort(low, high):
        if low >= high:
            return
        pivot, i = a[high], low
        for j in range(low, high):
            if a[j] < pivot:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[high] = a[high], a[i]
        sort(low, i - 1)
        sort(i + 1, high)

    sort(0, len(a) - 1)
    return a


def greatest_divisor(a, b):
    return a if b == 0 else greatest_divisor(b, a % b)


def steps_to_one(n):
    if n == 1:
        return 0
    return 1 + steps_to_one(n // 2 if n % 2 == 0 else 3 * n + 1)


@program(lambda rng: (rng.integers(1, 30, 6),))
def recursions_on_numbers(x):
    divisor = 0
    for v in x:
        divisor = greatest_divisor(divisor, int(v))
    return [steps_to_one(int(v)) for v in x], divisor


@program(lambda rng: (rng.uniform(1, 10),))
def adaptive_simpson(factor):
    def f(x):
        return math.sin(x) * factor + x * x

    def simpson(a, b):
        return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))

    def integral(a, b, whole, tolerance):
        m = (a + b) / 2
        left, right = simpson(a, m), simpson(m, b)
        if abs(left + right - whole) < 15 * tolerance:
            return left + right + (left + right - whole) / 15
        return integral(a, m, left, tolerance / 2) + integral(m, b, right, tolerance / 2)

    return integral(0.0, 2.0, simpson(0.0, 2.0), 1e-6)


class Cell:
    def __init__(self, x, y, size):
        self.x, self.y, self.size = x, y, size
        self.mass, self.cx, self.cy = 0.0, 0.0, 0.0
        self.children, self.body = None, None

    def child_at(self, x, y):
        return self.children[(2 if y > self.y else 0) + (1 if x > self.x else 0)]

    def insert(self, x, y, m):
        if self.mass == 0.0 and self.children is None:
            self.body = (x, y, m)
        else:
            if self.children is None:
                h = self.size / 4
                self.children = [Cell(self.x + i * h, self.y + j * h, self.size / 2) for j in (-1, 1) for i in (-1, 1)]
                bx, by, bm = self.body
                self.body = None
                self.child_at(bx, by).insert(bx, by, bm)
            self.child_at(x, y).insert(x, y, m)
        total = self.mass + m
        self.cx = (self.cx * self.mass + x * m) / total
        self.cy = (self.cy * self.mass + y * m) / total
        self.mass = total

    def force(self, x, y, theta):
        if self.mass == 0.0:
            return 0.0, 0.0
        dx, dy = self.cx - x, self.cy - y
        distance = math.sqrt(dx * dx + dy * dy) + 0.05
        if self.children is None or self.size / distance < theta:
            pull = self.mass / distance**3
            return pull * dx, pull * dy
        fx = fy = 0.0
        for child in self.children:
            gx, gy = child.force(x, y, theta)
            fx += gx
            fy += gy
        return fx, fy


@program(lambda rng: (rng.uniform(-1, 1, (8, 2)), rng.uniform(1, 2, 8)))
def barnes_hut(places, masses):
    root = Cell(0.0, 0.0, 2.0)
    for (x, y), m in zip(places, masses):
        root.insert(x, y, m)
    return np.array([root.force(x, y, 0.5) for x, y in places])
