"""Loops whose rounds do not need one another become operations on arrays."""

import math
import warnings

import numpy as np
import pytest
from phlox import hlo, jit
from phlox.compile.cost import vector_instructions
from phlox.compile.passes import run_named_passes

N = 140
X, Y = np.random.default_rng(0).normal(size=(2, N))
K = np.random.default_rng(1).integers(-5, 5, N)
TABLE = X.reshape(10, 14)[:, :14].repeat(8, 0).repeat(5, 1)  # 80 x 70


def forwards(x, y, k, table):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = 2 * x[i] + y[i] * i
    return out


def words(x, y, k, table):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        out[i] = x[i].view(np.int64) ^ k[i]
    return out


def backwards(x, y, k, table):
    out = np.zeros_like(x)
    for i in range(len(x) - 1, -1, -1):
        out[i] = x[i] - y[len(x) - 1 - i]
    return out


def some_of_them(x, y, k, table):
    out = x.copy()
    for i in range(3, len(x) - 7):
        out[i] = x[i - 3] + y[i + 7]
    return out


def strided_reads(x, y, k, table):
    out = np.zeros(len(x) // 2 - 1)
    for i in range(len(out)):
        out[i] = x[2 * i] - y[2 * i + 1] + x[-1 - 2 * i]
    return out


def in_place(x, y, k, table):
    for i in range(len(x)):
        x[i] *= y[i]
        x[i] += 1
    return x[3]


def reads_ahead(x, y, k, table):
    for i in range(len(x) - 1):
        x[i] = x[i + 1] - x[i]
    return x.copy()


def two_results(x, y, k, table):
    a, b = np.zeros_like(x), np.zeros(len(x), np.int32)
    for i in range(len(x)):
        t = x[i] * y[i]
        a[i] = np.sqrt(abs(t))
        b[i] = t > 0
    return a, b, t, i


def branches(x, y, k, table):
    out = np.zeros_like(x)
    for i in range(len(x)):
        if x[i] > y[i]:
            out[i] = x[i] - y[i]
        elif x[i] > 0:
            out[i] = -1
    return out


def branch_in_place(x, y, k, table):
    for i in range(len(x)):
        if x[i] < 0:
            x[i] = 0
    return x.copy()


def clipped(x, y, k, table):
    out = np.zeros_like(x)
    for i in range(len(x)):
        t = x[i]
        if t < -0.5:
            t = -0.5
        elif t > y[i]:
            t = y[i]
        out[i] = t
    return out


def counted(x, y, k, table):
    count, total, product, either, least = 0, 0, 1, False, 100
    for i in range(len(x)):
        if x[i] > y[i]:
            count += 1
        total += k[i] * i
        product *= 2 * k[i] + 1
        either |= k[i] > 4
        least = np.minimum(least, k[i])
    return count, total, product % 1000, either, least


def extrema(x, y, k, table):
    low, high = np.inf, x[0]
    for i in range(len(x)):
        low = np.minimum(low, x[i] - y[i])
        high = np.maximum(high, x[i] * y[i])
    return low, high


def stencil(x, y, k, table):
    out = np.zeros_like(table)
    for i in range(1, table.shape[0] - 1):
        for j in range(1, table.shape[1] - 1):
            out[i, j] = (table[i - 1, j] + table[i + 1, j] + table[i, j - 1] + table[i, j + 1]) * x[0]
    return out


def turned(x, y, k, table):
    out = np.zeros(table.shape[::-1])
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            out[j, i] = table[i, j] * x[i]
    return out


def distances(x, y, k, table):
    out = np.zeros((len(x), 70))
    for i in range(len(x)):
        for j in range(70):
            out[i, j] = np.sqrt((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2)
    return out


def rows(x, y, k, table):
    out = np.zeros_like(table)
    for i in range(len(table)):
        out[i] = table[i] * x[i] - table[-1 - i, ::-1]
    return out


def columns(x, y, k, table):
    out = np.zeros_like(table)
    for j in range(table.shape[1]):
        out[:, j] = table[:, j] - y[j]
    return out


def of_rows(x, y, k, table):
    out, largest = np.zeros(len(table)), np.zeros(len(table))
    for i in range(len(table)):
        largest[i] = table[i].max()
        out[i] = np.argmin(table[i])
    return out, largest


def other_types(x, y, k, table):
    a, b, c = x.astype(np.float16), x * 1j, np.zeros(len(x), np.uint8)
    for i in range(len(x)):
        a[i] *= 3
        b[i] = b[i] * b[i] + y[i]
        c[i] = k[i] + 7
    return a, b, c


def products(x, y, k, table):
    out = np.zeros((70, 70))
    for i in range(70):
        for j in range(70):
            for n in range(80):
                out[i, j] += table[n, i] * table[n, j]
    return out


def newton(x, y, k, table):
    out = np.zeros_like(x)
    for i in range(len(x)):
        root = 1.0
        for _ in range(100):
            root = 0.5 * (root + abs(x[i]) / root)
        out[i] = root
    return out


def of_two_loops(x, y, k, table):
    low, total = np.zeros(80), np.zeros(80, int)
    for i in range(80):
        least, count = table[i, 0], 0
        for j in range(70):
            least = np.minimum(least, table[i, j] * y[j])
            for n in range(70):
                if table[i, n] > table[i, j]:
                    count += j
        low[i], total[i] = least, count
    return low, total


def first_column(x, y, k, table):
    for i in range(80):
        for n in range(100):
            table[i, 0] = table[i, 0] * x[n] + 1
    return table.copy()


def neighbours(x, y, k, table):
    out = np.zeros_like(x)
    for i in range(len(x)):
        total, count = 0.0, 0
        for d in (-2, -1, 1, 3):
            if 0 <= i + d < len(x):
                total += x[i + d]
                count += 1
        out[i] = total / count
    return out


def checked(x, y, k, table):
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i] = math.sqrt(x[i] * x[i]) + 1 / (float(k[i]) ** 2 + 1) + math.log(abs(y[i]))
    return out


VECTORIZED = (
    neighbours, checked, words,
    # What stays of these is the inner loop, of all outer rounds side by side.
    products, newton, of_two_loops, first_column,
    forwards, backwards, some_of_them, strided_reads, in_place, reads_ahead, two_results, branches, branch_in_place, clipped,
    counted, extrema, stencil, turned, distances, rows, columns, of_rows, other_types,
)  # fmt: skip


def needs_the_last(x, y, k, table):
    out = x.copy()
    for i in range(1, len(x)):
        out[i] = out[i - 1] * 0.5 + x[i]
    return out


def needs_one_before(x, y, k, table):
    out = x.copy()
    for i in range(5, len(x)):
        out[i] = out[i - 5] + 1
    return out


def sum_of_floats(x, y, k, table):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


def running(x, y, k, table):
    out, total = np.zeros_like(k), 0
    for i in range(len(x)):
        total += k[i]
        out[i] = total
    return out


def until(x, y, k, table):
    out = np.zeros_like(x)
    for i in range(len(x)):
        if x[i] > 2:
            break
        out[i] = x[i]
    return out


def where_it_says(x, y, k, table):
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[k[i]] = x[i]
    return out


def everywhere(x, y, k, table):
    out = x.copy()
    for i in range(len(x)):
        out[i] = out.max() * 0.5
    return out


def always_the_first(x, y, k, table):
    out = x.copy()
    for i in range(len(x)):
        out[i] = out[0] + 1
    return out


def takes_turns(x, y, k, table):
    a, b = x.copy(), y.copy()
    for _ in range(1001):
        a, b = b, a + b
    return a, b


def every_other(x, y, k, table):
    out = x.copy()
    for i in range(0, len(x) - 2, 2):
        out[i] = y[i]
    return out


def upwards(x, y, k, table):
    out = table.copy()
    for i in range(1, len(table)):
        out[i] = out[i - 1] + table[i]
    return out


def one_place(x, y, k, table):
    out = x.copy()
    for i in range(len(x)):
        out[3] = out[3] + x[i]
    return out


def read_where_written_twice(x, y, k, table):
    out = x.copy()
    for i in range(len(x) - 1):
        out[i] = y[i]
        out[i + 1] = 1
    return out


def until_it_converges(x, y, k, table):
    out = np.zeros_like(x)
    for i in range(len(x)):
        root, last = 1.0, 0.0
        while abs(root - last) > 1e-9:
            root, last = 0.5 * (root + abs(x[i]) / root), root
        out[i] = root
    return out


def triangle(x, y, k, table):
    out = np.zeros(len(x))
    for i in range(len(x)):
        total = 0.0
        for j in range(i):
            total += x[j]
        out[i] = total
    return out


def running_rows(x, y, k, table):
    out = np.zeros_like(table)
    for i in range(80):
        for j in range(1, 70):
            out[i, j] = out[i, j - 1] + table[i, j]
    return out


def back_and_forth(x, y, k, table):
    out = x.copy()
    for i in range(len(x)):
        total = 0.0
        for n in range(100):
            total += out[n] * y[i]
        out[i] = total
    return out


def tells(x, y, k, table):
    out = np.zeros_like(x)
    for i in range(len(x)):
        if x[i] > 2:
            warnings.warn(f"{i} is large", stacklevel=1)
        out[i] = x[i]
    return out


def seldom_a_loop(x, y, k, table):
    out = x.copy()
    for i in range(len(x)):
        if x[i] > 2:
            total = 0.0
            for j in range(len(y)):
                total += y[j] * x[i]
            out[i] = total
    return out


def never_an_endless_loop(x, y, k, table):
    out, step = x.copy(), min(k.max(), 0)
    for i in range(len(x)):
        if x[i] > 100:
            n = 0
            while n < 3:
                n += step
            out[i] = n
    return out


def seldom_a_row(x, y, k, table):
    out = x.copy()
    for i in range(len(x)):
        if x[i] > 2:
            out[i] = np.sin(y * x[i]).max()
    return out


def seldom_much(x, y, k, table):
    out = x.copy()
    for i in range(len(x)):
        if x[i] > 2:
            out[i] = np.sin(np.exp(x[i])) + np.arctan(np.tanh(x[i]))
    return out


LEFT = (
    seldom_much, seldom_a_loop, never_an_endless_loop, seldom_a_row,
    until_it_converges, triangle, running_rows, back_and_forth, tells,
    needs_the_last, needs_one_before, sum_of_floats, running, until, where_it_says, everywhere, always_the_first, takes_turns,
    every_other, upwards, one_place, read_where_written_twice,
)  # fmt: skip


def simple(module):
    group = ("simplify", "fold-constants", "cse", "simplify-loops", "simplify-conditionals", "dce")
    return run_named_passes(module, ("inline-calls", "canonicalize", *group * 3))


def vectorized(module):
    group = ("sink-loop-updates", "vectorize-loops", "simplify", "cse", "simplify-loops", "dce")
    return run_named_passes(simple(module), group * 4)


DEPTHS = {
    products: 2, newton: 1, of_two_loops: 0, first_column: 1, until_it_converges: 2, triangle: 2, running_rows: 2,
    back_and_forth: 2, seldom_a_loop: 2, never_an_endless_loop: 2,
}  # fmt: skip


def depth_of_loops(computation):
    depths = [
        max(map(depth_of_loops, one.called_computations)) + (one.opcode == "while")
        for one in computation.instructions
        if one.opcode in ("while", "conditional")
    ]
    return max(depths, default=0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [*VECTORIZED, *LEFT], ids=lambda function: function.__name__)
def test_loops(function):
    arguments, mine, its = ([x.copy() for x in (X, Y, K, TABLE)] for _ in range(3))
    expected, found = parts(function(*its)), parts(jit(function)(*mine))
    for one, other in zip([*found, *mine], [*expected, *its], strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=1e-14 if np.asarray(other).dtype != np.float16 else 0)
    module = jit(function).lower(*arguments).module
    after = vectorized(module)
    hlo.verify(after)
    assert depth_of_loops(after.entry) == DEPTHS.get(function, int(function in LEFT))
    if function is not tells and function not in DEPTHS:  # the evaluation of HLO takes long for nests
        assert_same_bits(*(hlo.evaluate(one.entry, *arguments) for one in (simple(module), after)))


def parts(value):
    return list(value) if isinstance(value, tuple) else [value]


def assert_same_bits(before, after):
    if isinstance(before, (tuple, list)):
        for pair in zip(before, after, strict=True):
            assert_same_bits(*pair)
        return
    assert np.asarray(before).tobytes() == np.asarray(after).tobytes()


def test_large_arrays_are_not_made():
    def products(x):
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = (x * x[i]).max()
        return out

    assert depth_of_loops(vectorized(jit(products).lower(np.ones(20_000)).module).entry) == 1


def test_the_first_error_is_raised():
    def roots(x, y):
        out = np.zeros_like(x)
        for i in range(len(x)):
            out[i] = math.sqrt(x[i]) + 1 / float(y[i]) + math.log(x[i])
        return out

    jitted = jit(roots)
    for wrong, divisor in ((70, 71), (71, 70), (70, 70), (0, 139), (139, 0)):
        x, y = np.abs(X) + 1, np.abs(Y) + 1
        x[wrong], y[divisor] = -1, 0
        with pytest.raises((ValueError, ZeroDivisionError)) as expected:
            roots(x, y)
        with pytest.raises(expected.type, match=str(expected.value)):
            jitted(x, y)
    np.testing.assert_allclose(jitted(np.abs(X) + 1, np.abs(Y) + 1), roots(np.abs(X) + 1, np.abs(Y) + 1), rtol=1e-14)
    assert depth_of_loops(vectorized(jitted.lower(X, Y).module).entry) == 0


def test_work_in_branches():
    text = """
    nothing {
      p = () parameter(0)
      ROOT none = () tuple()
    }
    much {
      p = (s32[], f32[9]) parameter(0)
      n = s32[] get-tuple-element(p), index=0
      x = f32[9] get-tuple-element(p), index=1
      y = f32[9] negate(x)
      one = s32[] constant(1)
      m = s32[] add(n, one)
      ROOT next = (s32[], f32[9]) tuple(m, y)
    }
    go_on {
      p = (s32[], f32[9]) parameter(0)
      n = s32[] get-tuple-element(p), index=0
      limit = s32[] constant(5)
      ROOT c = pred[] compare(n, limit), direction=LT
    }
    ENTRY main {
      x = f32[9] parameter(0)
      which = pred[] parameter(1)
      none = () tuple()
      side = () conditional(which, none, none), true_computation=nothing, false_computation=nothing
      zero = s32[] constant(0)
      start = (s32[], f32[9]) tuple(zero, x)
      ROOT end = (s32[], f32[9]) while(start), condition=go_on, body=much
    }
    """
    # In each of five rounds nine negations, an addition and a comparison.
    assert vector_instructions(hlo.parse_module(text).entry) == 5 * 11
