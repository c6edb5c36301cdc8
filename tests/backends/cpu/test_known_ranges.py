"""What is known of a loop's counter spares the code that moves indices into their arrays."""

import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest
from llvmlite import ir
from phlox import hlo, jit
from phlox.backends.cpu.backend import CpuBackend
from phlox.backends.cpu.target import host_target
from phlox.backends.llvm.known_ranges import decided_comparison, known_range, known_rounds, note_range, note_result
from phlox.backends.registry import get_backend
from phlox.hlo import parse_module

LOOP = """
HloModule sums

condition {{
  state = (TYPE[], f32[], f32[SIZE]) parameter(0)
  i = TYPE[] get-tuple-element(state), index=0
  limit = TYPE[] constant(LIMIT)
  ROOT goes_on = pred[] compare(i, limit), direction=DIRECTION
}}

body {{
  state = (TYPE[], f32[], f32[SIZE]) parameter(0)
  i = TYPE[] get-tuple-element(state), index=0
  sum = f32[] get-tuple-element(state), index=1
  x = f32[SIZE] get-tuple-element(state), index=2
  factor = TYPE[] constant(FACTOR)
  offset = TYPE[] constant(OFFSET)
  scaled = TYPE[] multiply(i, factor)
  place = TYPE[] add(scaled, offset)
  element = f32[1] dynamic-slice(x, place), dynamic_slice_sizes={{1}}
  scalar = f32[] reshape(element)
  weight = f32[] convert(i)
  product = f32[] multiply(scalar, weight)
  more = f32[] add(sum, product)
  step = TYPE[] constant(STEP)
  next = TYPE[] add(i, step)
  ROOT result = (TYPE[], f32[], f32[SIZE]) tuple(next, more, x)
}}

ENTRY main {{
  x = f32[SIZE] parameter(0)
  start = TYPE[] constant(START)
  zero = f32[] constant(0)
  state = (TYPE[], f32[], f32[SIZE]) tuple(start, zero, x)
  ROOT loop = (TYPE[], f32[], f32[SIZE]) while(state), condition=condition, body=body
}}
"""

CASES = [  # type, start, limit, direction, step, factor, offset, size, whether all places lie inside
    ("s64", 0, 100, "LT", 1, 1, 0, 100, True),
    ("s32", 0, 100, "LT", 1, 1, 0, 99, False),
    ("s64", 0, 100, "LT", 1, 1, -1, 100, False),
    ("s32", 3, 100, "LE", 2, 1, -3, 97, True),
    ("s64", 99, 0, "GE", -1, 1, 0, 100, True),
    ("s64", 99, -9, "GE", -1, 1, 0, 100, False),
    ("s32", 0, 100, "LT", 1, -1, 99, 100, True),
    ("u32", 0, 100, "LT", 1, 3, 1, 299, True),
    ("u64", 0, 100, "LT", 1, 3, 1, 298, False),
    ("u64", 1, 100, "LT", 1, 1, 2**64 - 1, 99, False),  # i - 1, that wraps
    ("s8", 0, 100, "LT", 1, 3, 0, 300, False),  # wraps
    ("u8", 0, 80, "LT", 1, 3, 0, 300, True),
]


@pytest.mark.parametrize("case", CASES)
def test_places_in_counting_loops(case):
    names = ("TYPE", "START", "LIMIT", "DIRECTION", "STEP", "FACTOR", "OFFSET", "SIZE")
    values = dict(zip(names, map(str, case)))
    text = re.sub("|".join(names), lambda found: values[found[0]], LOOP.format())
    module, backend, x = parse_module(text), CpuBackend(host_target()), np.random.default_rng(0).random(case[-2], np.float32)
    found, expected = (list(map(np.asarray, one.compile(module)(x))) for one in (backend, get_backend("reference")))
    assert [value.tolist() for value in found] == [value.tolist() for value in expected]
    assert ("select" not in backend._written(module).llvm_ir) == case[-1]


NESTED = """
HloModule triangle

inner_condition {{
  state = (TYPE[], f32[], TYPE[], TYPE[], f32[SIZE]) parameter(0)
  i = TYPE[] get-tuple-element(state), index=0
  count = TYPE[] get-tuple-element(state), index=2
  ROOT goes_on = pred[] compare(i, count), direction=DIRECTION
}}

inner_body {{
  state = (TYPE[], f32[], TYPE[], TYPE[], f32[SIZE]) parameter(0)
  i = TYPE[] get-tuple-element(state), index=0
  sum = f32[] get-tuple-element(state), index=1
  count = TYPE[] get-tuple-element(state), index=2
  first = TYPE[] get-tuple-element(state), index=3
  x = f32[SIZE] get-tuple-element(state), index=4
  place = TYPE[] OPCODE(first, i)
  offset = TYPE[] constant(OFFSET)
  moved = TYPE[] add(place, offset)
  element = f32[1] dynamic-slice(x, moved), dynamic_slice_sizes={{1}}
  scalar = f32[] reshape(element)
  half = f32[] constant(0.5)
  less = f32[] multiply(sum, half)
  more = f32[] add(less, scalar)
  one = TYPE[] constant(1)
  next = TYPE[] add(i, one)
  ROOT result = (TYPE[], f32[], TYPE[], TYPE[], f32[SIZE]) tuple(next, more, count, first, x)
}}

condition {{
  state = (TYPE[], f32[], f32[SIZE]) parameter(0)
  k = TYPE[] get-tuple-element(state), index=0
  limit = TYPE[] constant(30)
  ROOT goes_on = pred[] compare(k, limit), direction=LT
}}

body {{
  state = (TYPE[], f32[], f32[SIZE]) parameter(0)
  k = TYPE[] get-tuple-element(state), index=0
  sum = f32[] get-tuple-element(state), index=1
  x = f32[SIZE] get-tuple-element(state), index=2
  one = TYPE[] constant(1)
  zero = TYPE[] constant(0)
  following = TYPE[] add(k, one)
  end = TYPE[] constant(END)
  difference = TYPE[] subtract(MINUEND, SUBTRAHEND)
  count = TYPE[] maximum(difference, zero)
  start = (TYPE[], f32[], TYPE[], TYPE[], f32[SIZE]) tuple(zero, sum, count, FIRST, x)
  loop = (TYPE[], f32[], TYPE[], TYPE[], f32[SIZE]) while(start), condition=inner_condition, body=inner_body
  more = f32[] get-tuple-element(loop), index=1
  ROOT result = (TYPE[], f32[], f32[SIZE]) tuple(following, more, x)
}}

ENTRY main {{
  x = f32[SIZE] parameter(0)
  start = TYPE[] constant(0)
  zero = f32[] constant(0)
  state = (TYPE[], f32[], f32[SIZE]) tuple(start, zero, x)
  ROOT loop = (TYPE[], f32[], f32[SIZE]) while(state), condition=condition, body=body
}}
"""

NESTED_CASES = [  # type, relation, end, difference, first, opcode, offset, size, whether all places lie inside
    ("s64", "LT", 30, ("end", "following"), "following", "add", 0, 30, True),  # range(k + 1, end)
    ("s32", "LT", 30, ("end", "following"), "following", "add", -1, 30, True),
    ("s64", "LT", 30, ("end", "following"), "following", "add", 1, 30, False),
    ("s64", "LT", 30, ("end", "following"), "following", "add", 0, 29, False),
    ("s64", "LE", 30, ("end", "following"), "following", "add", 0, 30, False),
    ("s64", "LT", 30, ("end", "following"), "k", "add", 0, 30, False),  # one that begins elsewhere: 58, for what is known
    ("s64", "LT", 10, ("end", "k"), "k", "add", 0, 10, True),  # no round, from k = 10 on
    ("s64", "LT", 29, ("end", "k"), "end", "subtract", 0, 30, True),  # range(end, k, -1)
    ("s64", "LT", 29, ("end", "k"), "end", "subtract", -1, 29, True),
    ("s64", "LT", 29, ("end", "k"), "end", "subtract", -2, 28, False),
    ("s32", "LT", -1, ("k", "end"), "k", "subtract", 0, 30, True),  # range(k, -1, -1)
    ("s64", "LT", 30, ("k", "zero"), "zero", "add", 0, 29, True),  # range(k)
    ("s64", "LT", 30, ("k", "zero"), "zero", "add", 0, 28, False),
    ("s8", "LT", 127, ("end", "k"), "k", "add", 0, 127, True),
    ("s8", "LE", 127, ("end", "zero"), "zero", "subtract", 0, 9, None),  # never ends
]


@pytest.mark.parametrize("case", NESTED_CASES)
def test_places_in_loops_that_begin_or_end_where_another_one_is(case):
    kind, relation, end, difference, first, opcode, offset, size, is_inside = case
    values = dict(TYPE=kind, DIRECTION=relation, END=end, MINUEND=difference[0], SUBTRAHEND=difference[1], FIRST=first)
    values |= dict(OPCODE=opcode, OFFSET=offset, SIZE=size)
    text = re.sub("|".join(values), lambda found: str(values[found[0]]), NESTED.format())
    module, backend, x = parse_module(text), CpuBackend(host_target()), np.random.default_rng(0).random(size, np.float32)
    clamps = backend._written(module).llvm_ir.count("select") - 1  # beside the number of rounds
    assert (clamps == 0) == bool(is_inside)
    if is_inside is not None:
        found, expected = (list(map(np.asarray, one.compile(module)(x))) for one in (backend, get_backend("reference")))
        assert [value.tolist() for value in found] == [value.tolist() for value in expected]


def strided(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i, len(x), 3):
            total = 0.5 * total + x[j]
        for j in range(len(x) - 1, i, -2):
            total = 0.5 * total - x[j]
    return total


def intervals(x):
    total = 0.0
    for length in range(2, len(x)):
        for i in range(1, len(x) - length + 1):
            j = i + length - 1
            for k in range(i, j):
                total = 0.5 * total + x[k] * x[k + 1] - x[j] * x[i - 1]
    return total


def beyond(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i, len(x) + 2, 3):
            total = 0.5 * total + x[j]
    return total


@pytest.mark.parametrize("function, is_inside", [(strided, True), (intervals, True), (beyond, False)])
def test_nothing_checks_places_in_python_that_cannot_lie_outside(function, is_inside):
    compiled = jit(function, backend="cpu")
    for size in (0, 1, 2, 7, 12):
        x = np.random.default_rng(size).random(size)
        if is_inside:
            assert compiled(x) == function(x)
    code = compiled.compile(np.ones(12))
    assert (code.executable.assembly().count("cmov") <= code.as_text().count(" maximum(")) == is_inside
    if not is_inside:
        with pytest.raises(IndexError, match="out of bounds"):
            compiled(np.ones(12))


def downwards(x, limit):
    total = 0.0
    for i in range(1, len(x)):
        j = i - 1
        while j >= 0 and x[j] > limit:
            total = 0.5 * total + x[j + 1]
            j -= 1
    return total


def upwards(x, limit):
    total = 0.0
    for i in range(len(x)):
        j = i
        while j < len(x) and x[j] > limit:
            total = 0.5 * total + x[j]
            j += 2
    return total


def too_far(x, limit):
    total = 0.0
    for i in range(1, len(x)):
        j = i - 1
        while j >= 0 and x[j] > limit:
            total = 0.5 * total + x[j + 2]
            j -= 1
    return total


def places_are_checked(function, *arguments):
    """Whether the code makes the number of a place for an error, which is cut to 43 bits."""
    return "4398046511104" in jit(function, backend="cpu").compile(*arguments).executable.assembly()


@pytest.mark.parametrize("function", [downwards, upwards])
def test_places_that_a_condition_leaves_inside(function):
    compiled, x = jit(function, backend="cpu"), np.random.default_rng(0).random(12)
    for limit in (0.0, 0.3, 1.0):
        assert compiled(x, limit) == function(x, limit)


def test_what_a_condition_leaves_inside_is_not_checked():
    x = np.random.default_rng(0).random(12)
    assert not places_are_checked(downwards, x, 0.5)
    assert places_are_checked(too_far, x, 0.5)
    with pytest.raises(IndexError, match="out of bounds"):
        jit(too_far, backend="cpu")(x, 0.0)


RANGES = [(low, high) for low in range(-4, 5, 2) for high in (low, low + 1, low + 5)]
BINARY = [
    hlo.add, hlo.subtract, hlo.multiply, hlo.maximum, hlo.minimum, hlo.divide, hlo.remainder, hlo.shift_left, hlo.and_, hlo.or_,
    hlo.xor,
]  # fmt: skip


def known_result(function, *ranges):
    """What is known of an operation's result where its operands lie in ranges, and all results that there are."""
    grid = [axis.ravel() for axis in np.meshgrid(*[np.arange(low, high + 1) for low, high in ranges])]
    shapes = [hlo.Shape(hlo.S64, axis.shape) for axis in grid]
    computation = hlo.computation("f", shapes, function)
    registers, result = [SimpleNamespace() for _ in grid], SimpleNamespace()
    for register, bounds in zip(registers, ranges):
        note_range(register, *bounds)
    return computation.root, registers, result, hlo.evaluate(computation, *grid)


@pytest.mark.parametrize("function", BINARY, ids=lambda one: one.__name__)
def test_results_lie_between_what_is_known_of_them(function):
    for ranges in itertools.product(RANGES, RANGES):
        instruction, registers, result, values = known_result(function, *ranges)
        note_result(instruction, registers, result)
        low, high = known_range(result) or (values.min(), values.max())
        assert low <= values.min() and values.max() <= high, ranges


@pytest.mark.parametrize("direction", ["LT", "LE", "EQ", "NE", "GE", "GT"])
def test_comparisons_that_what_is_known_decides(direction):
    decided = set()
    for ranges in itertools.product(RANGES, RANGES):
        instruction, registers, _, values = known_result(lambda x, y: hlo.compare(x, y, direction=direction), *ranges)
        decided.add(found := decided_comparison(instruction, registers))
        assert found is None or (values == found).all(), ranges
    assert decided == {None, False, True}


UNKNOWN_LIMIT = """
HloModule counts

condition {
  state = (s64[], s64[]) parameter(0)
  i = s64[] get-tuple-element(state), index=0
  limit = s64[] get-tuple-element(state), index=1
  ROOT goes_on = pred[] compare(i, limit), direction=LT
}

body {
  state = (s64[], s64[]) parameter(0)
  i = s64[] get-tuple-element(state), index=0
  limit = s64[] get-tuple-element(state), index=1
  one = s64[] constant(1)
  next = s64[] add(i, one)
  ROOT result = (s64[], s64[]) tuple(next, limit)
}

ENTRY main {
  state = (s64[], s64[]) parameter(0)
  ROOT loop = (s64[], s64[]) while(state), condition=condition, body=body
}
"""


def test_rounds_are_known_where_counter_and_limit_are():
    """What lies in no register is None, as kernels have it."""
    loop = parse_module(UNKNOWN_LIMIT).entry.root
    start, limit = ir.Constant(ir.IntType(64), 3), ir.Constant(ir.IntType(64), 10)
    assert known_rounds(loop, [start, limit])[:4] == (0, 7, 3, 9)
    for initial in ([start, None], [None, limit], [None, None]):
        assert known_rounds(loop, initial) is None
