"""Loops over lists of lists that arrays, and other loops, have given: loops of the program, whatever made the lists."""

from collections import defaultdict

import numpy as np
import pytest
from phlox import jit
from thinning import one_in

TABLE = np.random.default_rng(3).integers(0, 9, (40, 2))


def of_an_array(table):
    total = 0
    for a, b in table.tolist():
        if a != b:
            total += a * b
    return total, type(total).__name__


def of_a_deep_array(table):
    total = 0
    for (a, b), (c, _) in np.stack([table, table + 1], 1).tolist():
        total += a * b - c
    return total


def of_zip(table):
    total = 0.0
    for a, b in [list(pair) for pair in zip(table[:, 0], table[:, 1])]:
        total += a * b
    return total


def of_several_types(table):
    rows = []
    for a, b in table:
        rows.append([a, b * 0.5, a < b])
    total = 0.0
    for a, b, holds in rows:
        if holds:
            total += a * b
    return total


def changed(table):
    rows, total = table.tolist(), 0
    for k in range(3):
        for row in rows:
            row[0] += k
            total += row[0] * row[1]
    return total, rows[7], rows[-1]


def as_keys(table):
    neighbours = defaultdict(list)
    for a, b in table.tolist():
        if a != b:
            neighbours[a].append(b)
            neighbours[b].append(a)
    return {key: sorted(some) for key, some in neighbours.items()}


def of_another_name(table):
    rows = []
    for a, b in table:
        row = [a, b, a + b]
        row.sort()
        rows.append(row)
    best = rows[0]
    for row in rows:
        if row[0] > best[0]:
            best = row
    return best, rows[3]


def of_no_rows(table):
    return table[:0].tolist(), table[:, :0].tolist(), table[0].tolist(), table[:1, :1].tolist()


@pytest.mark.parametrize(
    "function",
    one_in(4, [of_zip, of_an_array, of_a_deep_array, of_several_types, of_another_name, changed, as_keys, of_no_rows]),
    ids=lambda function: function.__name__,
)
def test_a_loop_of_the_program(function):
    decorated = jit(function)
    for table in TABLE, TABLE[::-1].copy():
        assert decorated(table) == function(table)
    assert "unrolled as a loop of the program fails" not in str(decorated.explain())
