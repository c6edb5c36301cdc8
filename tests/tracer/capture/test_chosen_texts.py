"""Short lists of texts, each of which the program chooses among known ones: loops go over them, whichever these are."""

from collections import Counter

import numpy as np
import pytest
from phlox import ConcretizationError, jit

from .test_keys import check

NAMES, SYMBOLS = ["H", "C", "O"], np.array(["H", "C", "O"])
CALLS = [(np.array(places),) for places in ([0, 1, 2, 1, 0, 2, 2, 1, 1], [2, 2, 2, 0, 2, 0, 2, 2, 2])]


def counted(k):
    symbols = SYMBOLS[k].tolist()
    counts = Counter(symbols)
    return counts, "".join(f"{name}{n}" for name, n in sorted(counts.items())), set(symbols)


def in_order(k):
    names = [NAMES[int(place)] for place in k]
    return sorted(names), max(names), min(names), "-".join(names), len(set(names)), names.count("C")


def in_order_within_tuples(k):
    pairs = [(place, "even" if place % 2 == 0 else "odd") for place in k.tolist()]
    return sorted(pairs), max(pairs), len(set(pairs)), sorted(("b" if place else "a", 1) for place in k.tolist())


def of_few(k):
    a, b, c = [NAMES[int(place)] for place in k[:3]]
    return sorted([a, b, c]), {a, b, c}, ", ".join((a, b, c)), Counter([a, b])


@pytest.mark.parametrize("function", [counted, in_order, in_order_within_tuples, of_few])
def test_lists_of_chosen_texts(function):
    check(function, CALLS)


def test_too_many_ways_are_refused():
    @jit
    def hashed(x):
        return hash(tuple([abs if value > 0 else len for value in x]))

    with pytest.raises(ConcretizationError, match="the ways in which 9 values come together"):
        hashed(np.linspace(-1, 1, 9))
