"""Texts that the program makes in order, and found among others."""

import numpy as np
import pytest
from phlox import jit
from thinning import one_in

from ...support.native_calls import calls_noted


def compared(x):
    a, b = f"k{x[0]}", f"k{x[1]}"
    known = a < "k5", "k5" < a, a >= "k", "k" >= b, a > "", a <= a
    return a < b, a <= b, a > b, a >= b, *known, max(a, b), min(a, b, "k4")


def in_order(x):
    names = [f"p{v % 5}{v}" for v in x]
    return sorted(names), sorted(names, reverse=True), max(names), min(names)


def among_known_ones(x):
    names = ["zed", "ann", "p"] + [f"p{v}" for v in x]
    return sorted(names), max(names), min(names)


def in_an_order_of_their_own(x):
    names = [f"p{v}" for v in x]
    return sorted(names, key=len), max(names, key=len), sorted(names, key=lambda name: (name[1:3], len(name)), reverse=True)


def of_open_length(x):
    names = []
    for v in x:
        if v % 3:
            names.append(f"n{v * 7919 % 1000}")
    names.append("n")
    names.sort()
    return names, max(names), min(names), names.index("n"), names.count(names[1])


def pairs(x):
    both = [(f"k{v % 3}", int(v)) for v in x]
    return sorted(both), max(both), min(both)


def anagrams(x):
    text = ""
    for v in x:
        text += chr(97 + v % 26)
    return sorted(text) == sorted(text[::-1]), "".join(sorted(text)), max(text), min(text), list(text)[:2]


def made_in_two_ways(x):
    names, others = [], []
    for v in x:
        if v > 0:
            names.append(f"{v // 100}{v // 10 % 10}{v % 10}")
            others.append(f"{v // 10}{v % 10}")
    return f"{x[0] // 10}{x[0] % 10}" in names, names.count(others[1]), names.index(others[1]), names == others


def known_number_made_in_two_ways(x):
    names = [f"{v // 100}{v // 10 % 10}{v % 10}" for v in x]
    wanted = f"{x[1] // 10}{x[1] % 10}"
    return wanted in names, names.index(wanted), names.count(wanted), wanted == names[1]


@pytest.mark.parametrize("count", one_in(3, [3, 2, 24]))
@pytest.mark.parametrize(
    "function",
    [
        compared, in_order, among_known_ones, in_an_order_of_their_own, of_open_length, pairs, anagrams, made_in_two_ways,
        known_number_made_in_two_ways,
    ],
)  # fmt: skip
def test_texts_are_compared_by_their_characters(function, count):
    decorated, rng = jit(function), np.random.default_rng(1)
    for _ in range(5):
        x = rng.integers(110, 990, count)
        assert decorated(x) == function(x)


def test_no_python_brings_them_in_order():
    def f(x):
        names = sorted([f"p{v}" for v in x])
        return names, max(names), names.index(f"p{x[0]}")

    decorated, arguments, found = jit(f), [np.arange(k + 12, k, -1) for k in range(3)], []
    decorated(arguments[0])
    with calls_noted() as called:
        for x in arguments:
            found.append(decorated(x))
        called = called[:]
    assert found == [f(x) for x in arguments]
    assert called == []
