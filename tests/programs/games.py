"""Algorithms and games as in programming courses: classes of structures, searches, puzzles, codes."""

import itertools
from collections import Counter
from dataclasses import dataclass

import numpy as np

from .registry import program

MOVES = np.array([(-1, 0), (0, 1), (1, 0), (0, -1)])


class Fenwick:
    def __init__(self, values):
        self.tree = np.zeros(len(values) + 1, dtype=np.int64)
        for i, v in enumerate(values):
            self.add(i, v)

    def add(self, i, delta):
        i += 1
        while i < len(self.tree):
            self.tree[i] += delta
            i += i & -i

    def prefix(self, i):
        total = 0
        while i > 0:
            total += self.tree[i]
            i -= i & -i
        return total

    def __getitem__(self, s):
        if isinstance(s, slice):
            return self.prefix(s.stop) - self.prefix(s.start)
        return self.prefix(s + 1) - self.prefix(s)


@program(lambda rng: (rng.permutation(20), rng.integers(0, 20, (10, 2))))
def counting_inversions(order, queries):
    """A tree of sums with slices as its interface."""
    tree = Fenwick([0] * len(order))
    inversions = 0
    for seen, v in enumerate(order):
        inversions += seen - tree.prefix(v + 1)
        tree.add(v, 1)
    sums = Fenwick(order)
    answers = []
    for a, b in queries:
        lo, hi = min(a, b), max(a, b)
        answers.append(sums[lo:hi])
    return inversions, answers, sums[3]


@program(lambda rng: (8, 100, rng.integers(0, 8, 2)))
def langtons_ant(n, steps, start):
    grid = np.zeros((n, n), dtype=bool)
    pos, heading = start.copy(), 0
    visits = Counter()
    for _ in range(steps):
        y, x = pos
        heading = (heading + (1 if not grid[y, x] else -1)) % 4
        grid[y, x] ^= True
        visits[int(y), int(x)] += 1
        pos = (pos + MOVES[heading]) % n
    place, most = max(visits.items(), key=lambda item: (item[1], item[0]))
    for row in grid:
        print("".join(".#"[int(v)] for v in row))
    return grid.sum(), place, most, len(visits)


@program(lambda rng: (rng.integers(0, 3, (3, 3)) % 3,))
def judge_noughts_and_crosses(board):
    """Lines as views and diagonals in a list; any and all of generators; early returns of texts."""
    lines = [*board, *board.T, board.diagonal(), np.fliplr(board).diagonal()]
    names = {1: "crosses", 2: "noughts"}
    crosses, noughts = (board == 1).sum(), (board == 2).sum()
    if abs(int(crosses) - int(noughts)) > 1:
        return "impossible"
    for player, name in names.items():
        if any((line == player).all() for line in lines):
            return f"{name} win"
    if (board == 0).any():
        return "unfinished"
    return "draw"


@program(lambda rng: (rng.integers(1, 60, 12), 100))
def pack_bins(items, capacity):
    """First fit and best fit, with bins that are lists of sums, compared."""
    results = {}
    order = np.sort(items)[::-1]
    for rule in ("first", "best"):
        bins = []
        for item in order:
            fits = [i for i, used in enumerate(bins) if used + item <= capacity]
            if not fits:
                bins.append(item)
            elif rule == "first":
                bins[fits[0]] += item
            else:
                target = max(fits, key=lambda i: bins[i])
                bins[target] += item
        results[rule] = bins
    bound = -(-int(items.sum()) // capacity)
    return {k: len(v) for k, v in results.items()}, bound, max(results["best"])


@dataclass(order=True)
class Hand:
    rank: int
    cards: tuple

    NAMES = ("high card", "pair", "two pairs", "three", "straight", "flush", "full house", "four")

    @classmethod
    def of(cls, numbers, suits):
        counts = np.bincount(numbers, minlength=13)
        pattern = np.sort(counts)[::-1][:2]
        straight = pattern[0] == 1 and numbers.max() - numbers.min() == 4
        flush = (suits == suits[0]).all()
        if pattern[0] == 4:
            rank = 7
        elif pattern[0] == 3 and pattern[1] == 2:
            rank = 6
        elif flush:
            rank = 5
        elif straight:
            rank = 4
        elif pattern[0] == 3:
            rank = 3
        else:
            rank = int((counts == 2).sum())
        return cls(rank, tuple(np.sort(numbers)[::-1].tolist()))


@program(lambda rng: (rng.permutation(52)[:10],))
def compare_hands(deck):
    """Ordered dataclasses are compared, their class has a table of names."""
    first, second = (Hand.of(part % 13, part // 13) for part in (deck[:5], deck[5:]))
    if first > second:
        winner = "first"
    elif first == second:
        winner = "nobody"
    else:
        winner = "second"
    return winner, Hand.NAMES[first.rank], second


@program(lambda rng: (rng.integers(0, 5, 4), rng.permutation(5)))
def mastermind(code, order):
    """All codes from itertools; those that contradict an answer are removed by a mask."""
    everything = np.array(list(itertools.product(range(5), repeat=4)))

    def answer(a, b):
        black = (a == b).sum(axis=-1)
        common = sum(np.minimum((a == c).sum(axis=-1), (b == c).sum(axis=-1)) for c in range(5))
        return 10 * black + common - black

    possible = np.ones(len(everything), bool)
    guess = order[:4]
    for turn in range(1, 11):
        reply = answer(guess, code)
        print(f"{turn}: {guess} -> {reply // 10} black, {reply % 10} white")
        if reply == 40:
            break
        possible &= answer(everything, guess) == reply
        guess = everything[np.argmax(possible)]
    return turn, possible.sum()
