"""Loops over long lists of texts, and of tuples with texts in them, are loops of the program where their rounds are long."""

import heapq

import numpy as np
import pytest
from phlox import jit
from thinning import LEFT_TO_CI, left_to_ci

from ...support.undecorated import check

SIDES = ("buy", "sell", "hold")


def orders(count, seed=3):
    rng = np.random.default_rng(seed)
    return [(SIDES[int(rng.integers(3))], round(float(rng.normal(100, 1)), 1), int(rng.integers(1, 10))) for _ in range(count)]


def settled_through_heaps(orders):
    bids, asks, fills = [], [], []
    for side, price, amount in orders:
        if side == "hold":
            continue
        book, other, sign = (bids, asks, -1) if side == "buy" else (asks, bids, 1)
        while amount > 0 and other:
            best, offered = other[0]
            if side == "buy" and abs(best) > price or side == "sell" and abs(best) < price:
                break
            traded = min(offered, amount)
            fills.append((abs(best), traded))
            amount -= traded
            heapq.heappop(other)
            if traded < offered:
                heapq.heappush(other, (best, offered - traded))
        if amount:
            heapq.heappush(book, (sign * price, amount))
    return fills, [amount for *_, amount in bids], [price for price, *_ in asks]


def roots_by_kind(orders):
    totals = {"buy": 0.0, "sell": 0.0, "hold": 0.0}
    last = ""
    for side, price, amount in orders:
        x = price
        while x * x - price > 1e-6:
            x = 0.5 * (x + price / x)
        while x > amount:
            x -= amount
        totals[side] += x
        last = side.upper() if x > 1 else last
    return totals, last


def of_texts_alone(orders):
    x = orders[0][1]
    for side in [side for side, *_ in orders]:
        while x > 3.0:
            x = x / 2 if side == "buy" else x - 1.5
        while x < 50.0:
            x = x * 3 if side in ("sell", "hold") else x + len(side)
    return x


def left_early(orders):
    for side, price, amount in orders:
        while amount < price:
            amount += amount
        if side == "sell" and amount > 3 * price / 2:
            return side, amount
    return None


@pytest.mark.parametrize(
    "program", [pytest.param(settled_through_heaps, marks=LEFT_TO_CI), roots_by_kind, of_texts_alone, left_early]
)
def test_long_rounds(program):
    check(check(program, orders(40)), orders(40, seed=4))


def test_long_rounds_with_other_numbers():
    with_other_numbers = [(side, price + 0.5, 2 * amount) for side, price, amount in orders(40)]
    jitted = check(check(settled_through_heaps, orders(40)), with_other_numbers)
    assert jitted.cache_info().misses == 1


@left_to_ci
def test_a_record_more_is_no_round_more():
    def count(length):
        module = jit(settled_through_heaps).lower(orders(length)).module
        return sum(len(computation.instructions) for computation in module.computations())

    assert count(80) - count(40) < 40 * 12  # of the round there are more than a thousand


def test_short_rounds_know_the_text():
    @jit
    def summed(orders):
        total = {}
        for side, price, amount in orders:
            total[side] = total.get(side, 0.0) + price * amount
        return total

    assert "unrolled" in str((summed(orders(40)), summed.explain())[1])


def starred(x):
    found = []
    for v in x:
        if v > 0.5:
            found.append((v, 1, 2.0 * v))
    first, *rest = found
    return [c for *_, c in found], [(a, len(more)) for a, *more in found], sum(b for _, b, *_ in found), first, len(rest)


def starred_in_tuples(x):
    pairs = [((v, v + 1, 3.0), i) for i, v in enumerate(x)]
    return [a + b[-1] + i for (a, *b), i in pairs if a > 0.25]


@pytest.mark.parametrize("program", [starred, starred_in_tuples])
def test_targets_behind_a_star(program):
    check(program, np.linspace(0, 1, 40))


def test_too_few_for_a_star():
    def program(x):
        found = [(v,) for v in x if v > 0.5]
        return [a for a, b, *_ in found]

    with pytest.raises(ValueError, match="expected at least 2, got 1"):
        jit(program)(np.linspace(0, 1, 40))
