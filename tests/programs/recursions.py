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


@program(lambda rng: (int(rng.integers(1, 5)),), lambda found, first: (np.sort(found[1], axis=0) == [[1], [2], [3], [4]]).all())
def small_sudoku(first):
    board = np.zeros((4, 4), int)
    board[0, 0] = first

    def may_be(r, c, v):
        r0, c0 = r // 2 * 2, c // 2 * 2
        return not (v in board[r] or v in board[:, c] or v in board[r0 : r0 + 2, c0 : c0 + 2])

    def solve():
        for r in range(4):
            for c in range(4):
                if board[r, c] == 0:
                    for v in range(1, 5):
                        if may_be(r, c, v):
                            board[r, c] = v
                            if solve():
                                return True
                            board[r, c] = 0
                    return False
        return True

    return solve(), board
