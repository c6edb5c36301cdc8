"""Repetitions become loops: the same values, and a program of the size of one round."""

import random

import numpy as np
import pytest
from cpu_passes import optimize
from phlox import jit
from phlox.compile.repetition import search_runs
from phlox.hlo import F64, S32, S64, Shape, evaluate, verify
from phlox.xla_builder import XlaBuilder


def rolled(module):
    result = optimize(module, ["roll-loops"])
    verify(result)
    return result


def loops_of(module):
    return [i for c in module.computations() for i in c.instructions if i.opcode == "while"]


# --- runs ---


def runs(text, least_count=3):
    found = []

    def stop_of(run):
        found.append((run.start, run.stop, run.period))
        return run.stop

    search_runs([ord(letter) for letter in text], least_count, stop_of)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("abcdefg", []),
        ("xyzabcabcabcabqrs", [(3, 14, 3)]),
        ("aaaaaa", [(0, 6, 1)]),
        ("abcdeabcdeabcde", [(0, 15, 5)]),
        ("abcabcxyabcabc", []),
        ("ababababab-cdecdecde", [(0, 10, 2), (11, 20, 3)]),
    ],
)
def test_runs(text, expected):
    assert runs(text) == expected


def test_a_run_that_is_not_taken_does_not_hide_a_longer_one():
    text = "aaaaaabcdef" * 5
    found = []

    def stop_of(run):
        found.append(run.period)
        return run.stop if run.period == 11 else None

    search_runs([ord(letter) for letter in text], 3, stop_of)
    assert found[-1] == 11


def test_the_search_takes_steps_in_proportion_to_the_sequence():
    class Counted(list):
        reads = 0

        def __getitem__(self, key):
            type(self).reads += 1
            return super().__getitem__(key)

    generator = random.Random(5)
    pieces = ["abcde" * 3, "ab" * 2, "xxxxxx", "abcxabcyabcz"]

    def reads(length):
        Counted.reads = 0
        text = "".join(generator.choice(pieces) for _ in range(length))
        search_runs(Counted(map(ord, text)), 50, lambda run: None)
        return Counted.reads / len(text)

    assert reads(4000) < 2 * reads(1000)


# --- random repetitions ---

VECTOR, MEMORY = Shape(S32, (4,)), Shape(S32, (64,))
OPCODES = ("add", "subtract", "multiply", "maximum", "xor", "constant", "slice", "update", "sum")


class RandomRepetition:
    """Rounds of random instructions that read what stands before them: in their round, up to three rounds back, outside."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.b = XlaBuilder(f"repetition_{seed}")
        self.fixed = [self.b.parameter(VECTOR) for _ in range(2)]
        self.memory = self.b.parameter(MEMORY)
        self.history = []
        self.reach = self.random.choice((1, 1, 2, 3))
        self.plan = [self.planned(number) for number in range(self.random.randint(4, 14))]

    def planned(self, number):
        choose = self.random
        opcode = choose.choice(OPCODES)
        operands = [self.planned_operand(number) for _ in range(2)]
        value = choose.choice([lambda k: 7, lambda k: 3 * k - 5, lambda k: k * k % 13])
        return opcode, operands, value, choose.choice([lambda k: 3, lambda k: k % 60, lambda k: (7 * k) % 59])

    def planned_operand(self, number):
        choose = self.random
        kind = choose.choice(("inside", "before", "fixed"))
        if kind == "inside" and number:
            return "inside", choose.randrange(number), 0
        if kind == "before":
            # The offset may be beyond the end of the plan, which is not known yet.
            return "before", choose.randrange(14), choose.randint(1, self.reach)
        return "fixed", choose.randrange(2), 0

    def operand(self, planned, inside):
        kind, number, back = planned
        if kind == "inside":
            return inside[number]
        if kind == "before" and len(self.history) >= back:
            return self.history[-back][number % len(self.plan)]
        return self.fixed[number % 2]

    def round(self, k):
        b, inside = self.b, []
        for opcode, operands, value, start in self.plan:
            first, second = (self.operand(operand, inside) for operand in operands)
            if opcode == "constant":
                inside.append(b.BroadcastInDim(b.constant(np.int32(value(k))), VECTOR.dimensions, ()))
            elif opcode == "slice":
                inside.append(b.Slice(self.memory, [start(k)], [start(k) + 4]))
            elif opcode == "update":
                self.memory = b.DynamicUpdateSlice(self.memory, first, [b.constant(np.int64(start(k)))])
                inside.append(first)
            elif opcode == "sum":
                parts = [b.Reshape(b.Slice(first, [number], [number + 1]), ()) for number in range(4)]
                total = b.Add(b.Add(parts[0], parts[1]), b.Xor(parts[2], parts[3]))
                inside.append(b.BroadcastInDim(total, VECTOR.dimensions, ()))
            else:
                inside.append(b.emit(opcode, first, second))
        self.history.append(inside)

    def module(self):
        count = self.random.randint(45, 60)
        for k in range(count):
            self.round(k)
        results = [self.memory, *self.history[-1]]
        for _ in range(self.random.choice((0, 0, 1, 5))):
            results.append(self.random.choice(self.random.choice(self.history)))
        return self.b.build_module(self.b.Tuple(results))


SEEDS = [range(20), range(20, 40), pytest.param(range(40, 400), marks=pytest.mark.slow)]


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_random_repetitions(seeds):
    values = np.random.default_rng(1)
    loops = 0
    for seed in seeds:
        module = RandomRepetition(seed).module()
        verify(module)
        result = rolled(module)
        arguments = [values.integers(-9, 9, shape.dimensions, np.int32) for shape in module.entry.parameter_shapes]
        for found, expected in zip(evaluate(result.entry, *arguments), evaluate(module.entry, *arguments), strict=True):
            np.testing.assert_array_equal(found, expected, err_msg=f"seed {seed}")
        loops += len(loops_of(result))
    assert loops >= len(seeds) // 2


# --- programs ---


def recurrence(x, count):
    for i in range(1, count):
        x[i] = x[i - 1] * 0.5 + i
    return x


def regression(x, count):
    matrix, target = x[:48].reshape(8, 6), x[48:56]
    w = x[:6]
    for _ in range(count):
        w = w - 0.01 * (matrix.T @ (1 / (1 + np.exp(-(matrix @ w))) - target))
    return w


def two_terms_back(x, count):
    before, now = x[:8], x[8:16]
    for _ in range(count):
        before, now = now, np.tanh(now - 0.3 * before)
    return now


def loops_in_loops(x, count):
    for _ in range(count // 4):
        for _ in range(20):
            x = np.sqrt(np.abs(x) + 0.5)
        x = np.sort(x)[::-1]
    return x


def collected(x, count):
    matrix, x, sums = x[:400].reshape(20, 20), x[:20], []
    for i in range(count):
        x = np.tanh(np.exp(-np.abs(x @ matrix)) + 0.1 * i)
        sums.append(np.sum(x))
    return np.stack(sums)


def table_of_constants(x, count):
    for i in range(count):
        x = np.cos(x) * [0.3, 0.1, 0.2][i % 3] + np.array([1.0, i * i % 7])[1]
    return x


@pytest.mark.parametrize(
    ("program", "counts"),
    [
        (recurrence, (150, 440)),
        (regression, (50, 100)),
        (two_terms_back, (700, 1400)),
        (loops_in_loops, (150, 300)),
        (collected, (150, 300)),
        (table_of_constants, (500, 1000)),
    ],
)
def test_unrolled_programs(program, counts):
    x = np.random.default_rng(2).standard_normal(450)
    compiled = [jit(lambda x, count=count: program(x, count)).compile(x) for count in counts]
    for one, count in zip(compiled, counts):
        np.testing.assert_allclose(one(x.copy()), program(x.copy(), count), rtol=1e-9)
        assert loops_of(one.executable.optimized)
    small, large = (one.executable.optimized.instruction_count() for one in compiled)
    # What is left over at the end differs, and what is collected is taken apart one by one.
    assert large < small + (3000 if program is collected else 250)


def test_rounds_that_differ_in_what_they_read_stay_apart():
    b = XlaBuilder("f")
    values = [b.parameter(Shape(F64, (3,))) for _ in range(200)]
    total = values[0]
    for value in values:
        total = b.Add(b.Mul(b.Cos(total), value), value)
    module = b.build_module(total)
    assert rolled(module) is module


@pytest.mark.parametrize(("size", "count"), [(1000, 1), (1 << 20, 0)])
def test_large_results_of_single_rounds_are_not_collected(size, count):
    b = XlaBuilder("f")
    x = b.parameter(Shape(F64, (size,)))
    values = [x]
    for _ in range(100):
        values.append(b.Sort(b.Sin(values[-1]), dimension=0))
    module = b.build_module(b.Tuple([values[20], values[-1]]))
    assert len(loops_of(rolled(module))) == count


def test_effects_stay_as_they_are():
    b = XlaBuilder("f")
    x = b.parameter(Shape(S32, (3,)))
    for _ in range(200):
        b.Outfeed(x)
    module = b.build_module(x)
    assert rolled(module) is module


def test_short_programs_stay_as_they_are():
    b = XlaBuilder("f")
    x = b.parameter(Shape(S64, (3,)))
    total = x
    for _ in range(100):
        total = b.Add(b.Mul(total, x), x)
    module = b.build_module(total)
    assert rolled(module) is module
