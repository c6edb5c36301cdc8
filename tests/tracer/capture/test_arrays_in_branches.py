"""Arrays that branches in loops change, hand on, exchange and replace: generated programs do what they do undecorated."""

import importlib.util
import random
import warnings

import numpy as np
import pytest
from phlox import jit

from ...support.undecorated import check

CONDITIONS = ["x[i] > y[j]", "x[j] < 1", "total > 3", "y[i] + x[i] > 1", "i % 2 == j % 3", "x.sum() > y.sum()"]
STATEMENTS = [
    "x[i] = y[j] + 1",
    "y[j] -= x[i] // 2",
    "x[i], x[j] = x[j], x[i]",
    "x[i] = x[j]; y[i] = x[i] * 2",
    "total += x[i]",
    "total += x.sum() % 5",
    "x[:] = y",
    "y[:] = x[::-1]",
    "x[:] = x + 1",
    "z = x + y; x[j] = z[i]",
    "old = x.copy(); x[i] = -1; total += old[i] + x[j]",
    "x[2:5] = y[i]",
]


def block(draw, depth, indent):
    lines = []
    for _ in range(draw.randint(1, 3)):
        if depth and draw.random() < 0.6:
            lines.append(f"{indent}if {draw.choice(CONDITIONS)}:")
            lines += block(draw, depth - 1, indent + "    ")
            if draw.random() < 0.5:
                lines.append(f"{indent}else:")
                lines += block(draw, depth - 1, indent + "    ")
        elif depth and draw.random() < 0.2:
            lines.append(f"{indent}for k in range(int(x[j] > 0) + 1):")
            lines += [f"{indent}    x[k] += y[i]; y[j] //= 2"]
        else:
            lines.append(indent + draw.choice(STATEMENTS))
    return lines


def program(seed, path):
    """A function of two arrays, which it changes in loops of so many rounds that they are captured."""
    draw = random.Random(seed)
    lines = ["import numpy as np", "def function(x, y):", "    total = 0", "    for i in range(len(x)):"]
    lines += ["        j = (3 * i + 1) % len(x)", *block(draw, 3, "        "), "        x[i] = min(x[i], 50)"]
    lines += ["        y[j] = max(y[j], -50)", "    return x * 2, y + x, total"]
    file = path / f"program{seed}.py"
    file.write_text("\n".join(lines))
    specification = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.function


@pytest.mark.parametrize("seed", range(24))
def test_as_undecorated(seed, tmp_path):
    function = program(seed, tmp_path)
    decorated = jit(function)
    for other in (1, 2):
        given = np.random.default_rng(other).integers(-4, 5, (2, 40))
        first, second = [given.copy() for _ in range(2)]
        for expected, found in zip(function(*first), decorated(*second)):
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(second, first)


def test_branches_that_change_an_array_do_not_copy_it():
    def scatter(x, places, limit):
        for i in range(len(places)):
            if places[i] > limit:
                x[places[i]] += 1
                if x[places[i]] > 3:
                    x[places[i]] = 0
                    x[places[i] - 1] += 2
            elif places[i] == 3:
                x[0] = 7
        return x.sum()

    def copies(size):
        compiled = jit(scatter).lower(np.zeros(size), np.zeros(100, int), 5).compile()
        text = compiled.executable.llvm_ir()
        return sum("memmove" in line and f"i64 {8 * size}," in line for line in text.splitlines())

    # The argument is copied once, as an error would leave it as it was.
    assert copies(12345) <= 1
    assert jit(scatter)(np.zeros(9), np.arange(9), 5) == scatter(np.zeros(9), np.arange(9), 5)


def a_view_or_nothing(values, rows, limit):
    try:
        first = np.nonzero(values > limit)[0][0]
        row = rows[:, first]
    except IndexError:
        row = None
    return row


def an_array_without_dimensions_or_a_number(values, rows, limit):
    x = np.asarray(values[0])
    if x > limit:
        return x + 1
    return np.where(x == 0, x, limit)


def the_only_one(values, rows, limit):
    kept = values[values > limit]
    if kept.size != 1:
        return kept.size
    return kept.item(), kept.item(-1), type(kept.item())


def warnings_left_out(values, rows, limit):
    if limit > 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = values + 1
    return values


@pytest.mark.parametrize(
    "function", [a_view_or_nothing, an_array_without_dimensions_or_a_number, the_only_one, warnings_left_out]
)
def test_one_of_two_kinds(function):
    jitted = jit(function)
    for limit in (0.5, 2.5, 3.5):
        check(jitted, np.arange(4.0), np.arange(12.0).reshape(3, 4), limit)
        check(jitted, np.arange(4.0)[::-1].copy(), np.arange(12.0).reshape(3, 4), limit)


def test_one_of_two_sizes_is_handed_on_as_large_as_it_is():
    """And not stretched to the other one's size, where it is one of two once more."""

    def grown(c):
        if len(c) == 1 and c[0] == 0:
            return c
        return np.full(len(c) + 1, 5.0)

    def twice(x):
        return grown(grown(np.zeros(1) + x[0]))

    def exchanged(x):
        one = x[:1] if x[0] == 0 else np.full(2, 5.0)
        return one if len(one) == 1 else np.full(len(one) + 1, 5.0)

    def in_rounds(x):
        found = np.zeros(1)
        for i in range(len(x)):
            found = grown(found.copy())
            found[0] += x[i]
        return found

    for function in (twice, exchanged, in_rounds):
        jitted = jit(function)
        for x in ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]):
            check(jitted, np.array(x))
