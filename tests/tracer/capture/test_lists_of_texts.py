"""Lists of texts whose number the program decides: as results, and where several questions are asked of one list."""

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import pytest
from phlox import jit
from thinning import one_in

from ...support.native_calls import calls_noted


def lines_of(x):
    lines = []
    for k, v in enumerate(x):
        if v % 3:
            lines.append(f"{v}: line {k}")
    return lines


def floats(x):
    lines = []
    for v in x:
        if v % 2:
            lines.append(f"{v / 7:.3f} {v / 3} {v:>6}|{-v:06d}")
    return lines


def floats_of_python(x):
    lines = []
    for v in x.tolist():
        if v % 2:
            lines.append((f"{v / 7!r} {v!r:} {v / 3!s} {v:<8}", v / 2))
    return lines


def many_formats(x):
    lines = []
    for v in x:
        if v % 2:
            lines.append(f"{v / 3!r} {v!r:>5} {v!s:>5} {v:+,d} {v:x} {v:08} {v:<08} {v:^9} {v / 7:9.2f}")
            lines.append(f"{v / 7:.1%} {v > 300} {v > 9!r:>6}")
    return lines


def small_numbers(x):
    lines = []
    for v in x.astype(np.float32):
        if v > 200:
            lines.append(f"{v} {v / 7:.3f} {v.astype(np.int8)} {v.astype(np.uint64)} {v.astype(np.int16):>7}")
    return lines


def not_by_native_code(x):
    lines = []
    for v in x:
        if v % 2:
            lines.append(f"{np.array([v, v + 1])} {v!r}")
    return lines


def beside_others(x):
    pairs, by_kind = [], {"odd": [], "even": []}
    for k, v in enumerate(x):
        if v % 3:
            pairs.append((k, f"é{v}日", [v, 2 * v]))
        by_kind["odd" if v % 2 else "even"].append(f"{k}/{v}")
    return pairs, by_kind


class Point(NamedTuple):
    name: str
    value: object


def beside_values_of_several_kinds(x):
    found = []
    for k, v in enumerate(x):
        if v % 3:
            found.append(Point(f"{v}/{k}", None if v % 2 else k))
            found.append(Point(f"{v}:{k}", v / 2 if v % 2 else k))
    return found, found[-1].name, max(found, key=lambda point: point.name)


def with_lists(x):
    shared, found = [x[0]], []
    for v in x:
        if v % 3:
            found.append((f"{v}", shared, [v, f"{v}"]))
    shared.append(x[1])
    return found


def printed_between(x):
    lines = lines_of(x)
    print(lines, sorted(lines)[:2])
    lines.append(f"{x[0]}")
    print(*lines, sep=", ")
    return str(lines), f"{lines!r:>10}"


def twice_in_the_result(x):
    lines = lines_of(x)
    return lines, {"again": lines}, lines[:2], tuple(lines), lines[-1:], [lines, lines]


def longer_between_two_questions(x):
    lines = lines_of(x)
    first, greatest = sorted(lines), max(lines)
    if x[0] > 300:
        lines.append(f"0{x[0]}")
    lines.append(f"zz{x[1]}")
    return first, greatest, sorted(lines), max(lines), min(lines)


def changed_between_two_questions(x):
    lines = lines_of(x)
    first = sorted(lines), max(lines), sorted(lines, key=len)
    lines[0] = f"zz{x[0]}"
    return first, sorted(lines), max(lines), sorted(lines, key=len, reverse=True)


def asked_on_one_side(x):
    lines, found = lines_of(x), ""
    if x[0] > 300:
        found = max(lines)
    return found, sorted(lines, reverse=True), min(lines)


def asked_in_each_round(x):
    lines, greatest = [], []
    for v in x:
        if v % 3:
            lines.append(f"{v}!")
        if lines:
            greatest.append(max(lines) + sorted(lines)[0])
    return lines, greatest


def in_orders_of_their_own(x):
    lines = lines_of(x)
    by_end = sorted(lines, key=lambda line: line[::-1])
    return by_end, max(lines, key=len), min(lines, key=lambda line: line[-1]), max([], key=len, default="none")


def keys_of_other_texts(x):
    pairs = [(f"k{v % 5}", f"{v}") for v in x if v % 3]
    return sorted(pairs, key=lambda pair: pair[1]), sorted(pairs), max(pairs, key=lambda pair: pair[0]), pairs


def some_of_few(x):
    lines, others = ["first"], []
    for k, v in enumerate(x[:5]):
        if v % 3:
            lines.append(f"{k}: {v}")
        if v % 2:
            others.append((f"{v:>7}", v / 2 if k > 2 else int(v)))
            others.append((f"{v}", k))
        else:
            lines.append(f"{v}")
        if v == 301:
            lines.append("fixed")
    return lines, others, lines[1:], [lines]


FUNCTIONS = [
    some_of_few, lines_of, floats, floats_of_python, many_formats, small_numbers, not_by_native_code, beside_others,
    twice_in_the_result, longer_between_two_questions, changed_between_two_questions, asked_on_one_side, asked_in_each_round,
    in_orders_of_their_own, keys_of_other_texts, beside_values_of_several_kinds, with_lists, printed_between,
]  # fmt: skip


@pytest.mark.parametrize("count", one_in(2, [24, 5, 300]))
@pytest.mark.parametrize("function", FUNCTIONS)
def test_lists_of_texts(function, count, capfd):
    decorated, rng = jit(function), np.random.default_rng(3)
    for _ in range(5):
        x = rng.integers(110, 990, count)
        x[:2] = x[0] // 3 * 3 + 1, 301  # texts there are
        expected, said = function(x), capfd.readouterr()
        found = decorated(x)
        assert capfd.readouterr() == said
        assert found == expected
        assert repr(found) == repr(expected)


def test_one_list_stays_one():
    found = jit(twice_in_the_result)(np.arange(40))
    assert found[0] is found[1]["again"] is found[5][0] is found[5][1]


def test_lists_of_no_texts():
    decorated = jit(lines_of)
    for x in (np.arange(20), np.full(20, 3), np.arange(20)):
        assert decorated(x) == lines_of(x)


said = []


def says(x):
    for k, v in enumerate(x):
        if v % 3:
            said.append(f"{v}-{k}")
    return len(x)


def test_texts_that_are_appended_outside():
    decorated, expected = jit(says), []
    for k in range(4):
        said.clear()
        says(np.arange(k, k + 30))
        expected = said[:]
        said.clear()
        decorated(np.arange(k, k + 30))
        assert said == expected


def test_texts_of_numbers_of_several_types_that_some_ways_give():
    def lines(n, values):
        found = []
        for v in values:
            if n > v:
                if n <= 2:
                    found.append(f"{v}")
            else:
                if n:
                    break
                found.append(f"{n < 4}")
        return found

    decorated = jit(lines)
    for n in (3, 0, 4, -2):
        assert decorated(n, np.array([1, -1, 2, 5])) == lines(n, np.array([1, -1, 2, 5]))


@pytest.mark.parametrize("function", [lines_of, floats, floats_of_python, in_orders_of_their_own])
def test_no_python_makes_them(function):
    decorated, x = jit(function), np.arange(100, 140)
    decorated(x), decorated(x)
    with calls_noted() as called:
        found = decorated(x + 1)
        called = called[:]
    assert found == function(x + 1)
    assert called == []


def found_by_kind(values):
    found = defaultdict(list)
    for place, value in enumerate(values):
        kind, text = "none", ""
        if value > 5:
            kind, text = "large", f"got {value:.1f}"
        elif value > 3:
            kind, text = "middle", "middle"
        if kind != "none":
            found[kind].append((place, text))
    return dict(found)


def found_in_one_list(values):
    found = defaultdict(list)
    for value in values:
        if value > 3:
            found["large"].append(f"got {value:.1f}")
    return dict(found)


def caught(values):
    found = {}
    for value in values:
        try:
            if value > 5:
                raise ValueError(f"got {value:.1f}")
        except ValueError as error:
            found.setdefault("large", []).append(str(error))
    return found


@pytest.mark.parametrize("function", [found_by_kind, found_in_one_list, caught])
def test_texts_in_lists_that_a_dict_gets(function):
    decorated, values = jit(function), np.array([1, 4.0, 6, 3.5, 8])
    for case in (values, values * 2, values):
        assert decorated(case) == function(case)
