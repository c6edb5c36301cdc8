"""Small whole programs with control flow on values: decorated they do what they do undecorated."""

import math

import numpy as np
import pytest
from phlox.tracer import ConcretizationError, jit

from ...support.undecorated import assert_alike, check

RNG = np.random.default_rng(5)
PROGRAMS = []


def program(*calls):
    def add(function):
        PROGRAMS.append((function, calls))
        return function

    return add


@program((2.0,), (5.0,), (np.float64(7.0),), (np.float32(1.0),))
def clip(x):
    if x > 3:
        return x * 0 + 3
    return x


@program((np.arange(0, 99, 3.0), 33.0), (np.arange(0, 99, 3.0), 34.0))
def binary_search(a, value):
    lo, hi = 0, len(a) - 1
    while lo <= hi:
        mid = (lo + hi) // 2
        if a[mid] == value:
            return mid
        elif a[mid] < value:
            lo = mid + 1
        else:
            hi = mid - 1
    return -1


@program((np.arange(500.0),), (np.arange(5.0),), (-np.arange(300.0),))
def sum_with_jumps(x):
    s = 0
    for i in range(len(x)):
        if x[i] < 0:
            continue
        if x[i] > 90:
            break
        s += x[i]
    else:
        return s, "all"[:3]
    return s, "all"[:3]


@program((1.0,), (np.float64(3.0),), (np.float32(3.0),))
def newton(x):
    error, n = 1.0, 0
    while error > 1e-6 and n < 50:
        y = x - (x * x - 2) / (2 * x)
        error = abs(y - x)
        x = y
        n += 1
    return x, n


@program((20,), (7,))
def heat(n):
    u = np.zeros(n)
    u[n // 2] = 1
    for _ in range(200):
        before = u.copy()
        u[1:-1] = before[1:-1] + 0.1 * (before[2:] - 2 * before[1:-1] + before[:-2])
    return u


@program((np.ones(6) * 0.1, np.ones(6)), (np.arange(5.0) / 9, np.zeros(5)))
def swapped(u, v):
    for _ in range(301):
        v[1:-1] = (u[2:] + u[:-2]) / 2
        u, v = v, u
    return u.sum()


@program((RNG.normal(size=300),), (np.zeros(300),))
def position_of_the_largest(x):
    best = where = None
    for i, value in enumerate(x):
        if best is None or value > best:
            best, where = value, i
    return where, best


@program((np.arange(100), 5), (np.arange(100), 500))
def contains(x, wanted):
    for y in x:
        if y == wanted:
            return True
    return False


@program((RNG.normal(size=(10, 11)), RNG.normal(size=(11, 9))))
def product(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


@program((np.eye(5) * 9 + np.ones((5, 5)), np.arange(5.0)))
def jacobi(a, b):
    d = np.diag(a)
    r = a - np.diagflat(d)
    x = np.zeros(len(b))
    rounds = 0
    while True:
        new = (b - r @ x) / d
        rounds += 1
        if np.max(np.abs(new - x)) < 1e-9 or rounds >= 200:
            break
        x = new
    return new, rounds


@program((3, 5.0), (-1, 2.0), (0, 1.0))
def nested_branches(n, x):
    if n > 0:
        kind = 1
        if x > 4:
            x = x * 2
        else:
            return x, kind
    elif n < 0:
        kind = -1
    else:
        return x + 1, 0
    return x - n, kind


@program((RNG.integers(0, 9, 40), 3), (np.arange(40), 50))
def conditional_expressions(x, k):
    total = 0
    for value in x:
        total += value if value % 2 and value > k else -value if not value or 2 < value <= 5 else 0
    return total


@program((12, 18), (17, 5), (0, 4))
def greatest_common_divisor(a, b):
    while b:
        a, b = b, a % b
    return a


@program((27,), (1,), (6,))
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@program((RNG.normal(size=(30, 3)), RNG.normal(size=(30, 3))))
def rows_together(a, b):
    total, count = np.zeros(3), 0
    for x, y in zip(a, b):
        if x @ y > 0:
            total += x * y
            count += 1
    return total, count


@program((np.arange(60.0).reshape(20, 3),))
def rows_changed_in_place(a):
    for k, row in enumerate(a):
        row -= row.mean()
        row[0] = k
    return a[::2]


@program((50, 0.3), (10, 0.9))
def int_becomes_float(n, p):
    s = 0
    for _ in range(n):
        s = s * p + 1
    return s


@program((np.float64(0.3),), (np.float64(0.8),))
def helper_functions(x):
    def inner(y, *, scale=2.0):
        if y > 1:
            return y / scale
        return y * scale

    return helper(inner(x)) + max(x, 0.5) + min(x, 0.5, 0.4)


def helper(x):
    for _ in range(40):
        x = x * 3.9 * (1 - x) if x < 1 else x - 1
    return x


class Counter:
    def __init__(self, start):
        self.value, self.history = start, [0.0, 0.0]

    def advance(self, x):
        if x > 0.5:
            self.value += x
        self.history[1] = self.history[0]
        self.history[0] = x
        return self


@program((RNG.random(40),))
def objects_with_state(x):
    counter = Counter(0.0)
    for value in x:
        counter.advance(value)
    return counter.value, counter.history


@program((RNG.random(40),))
def dicts_with_state(x):
    found = {"sum": 0.0, "largest": -1.0}
    for value in x:
        found["sum"] += value
        if value > found["largest"]:
            found["largest"] = value
    return found


@program((np.arange(6.0),), (np.array([3.0, 1.0]),))
def concrete_sizes(x):
    dt = 0.1
    steps = int(np.ceil(1.0 / dt))
    grid = np.linspace(0, 1, steps)
    table = np.zeros((steps, len(x)))
    for k in range(steps):
        table[k] = x * grid[k]
    half = np.arange(4)[1:3]
    return table[: half[1]], np.array([x[0], x[1], 2]), np.asarray([1, 2.5]) * x[1]


@program((np.array([3, 1, 2, 9]), 2), (np.arange(4), 7))
def none_compared_and_used(x, wanted):
    found = None
    for i in range(len(x)):
        if x[i] == wanted:
            found = i
    same = found == 2, found != 2, found is not None
    if found is not None:
        x[found] = -1
        return same, x[found] + abs(found)
    return same, x[0]


@program((np.float64(9.0),), (np.float64(0.5),))
def condition_that_binds(x):
    y, rounds = -1.0, 0
    while (y := x / 2) > 0.01 and rounds < 100:
        x -= y
        rounds += 1
    return x, y, rounds


@program((3, 0.5), (5, 0.25))
def repeated_lists(n, x):
    flags = [True] * (n + 1)
    flags[1] = False
    return flags, len([None] * n), math.erf(x)


@program((1.0, 0.01), (2.0, 0.5))
def lists_that_grow(y, dt):
    ys, steps = [y], []
    for k in range(200):
        y = y - dt * y
        ys.append(y)
        steps.append((k, np.array([k * dt, y])))
    return np.array(ys), steps[-1], len(steps), np.array([pair for _, pair in steps]), ys[1:4], ys[-1] < ys[0]


@program((7, np.arange(3.0)), (2, np.ones(2)))
def grids(n, x):
    rows, columns = np.mgrid[0:n, 0:3]
    return rows * columns + x[0], np.r_[x, 1.0, x[::-1]], np.c_[x, x]


@program((np.eye(2),), (np.ones((2, 2)) - 1e-3 * np.eye(2),))
def cholesky_with_jitter(a):
    jitter = 0.0
    while True:
        try:
            lower = np.linalg.cholesky(a + jitter * np.eye(2))
            break
        except np.linalg.LinAlgError:
            jitter = 10 * jitter if jitter else 1e-6
    return lower, jitter


@program((np.arange(3), 1), (np.arange(3), 9))
def changes_before_an_error(x, i):
    n = 0
    try:
        n = 1
        x[0] = 5
        x[i] = 7
        n = 2
    except ValueError:
        n = -1
    except (IndexError, KeyError):
        n += 10
    else:
        n += 1000
    finally:
        n += 100
    return n


class OutOfStock(Exception):
    pass


def order(stock, count):
    if count > stock:
        raise OutOfStock("too many")
    return stock - count


@program((np.arange(300) % 5,), (np.ones(50, int),))
def exceptions_in_a_loop(orders):
    stock, refused = 10, 0
    for count in orders:
        try:
            stock = order(stock, count)
        except OutOfStock:
            refused += 1
    return stock, refused


@pytest.mark.parametrize("function, calls", PROGRAMS, ids=lambda one: getattr(one, "__name__", ""))
def test_programs(function, calls):
    jitted = function
    for arguments in calls:
        jitted = check(jitted, *arguments)


def test_the_reference_backend_agrees():
    for function, calls in PROGRAMS[:4]:
        check(function, *calls[0], backend="reference")


def test_loops_do_not_grow_with_their_trip_counts():
    sizes = []
    for n in (100, 10_000):

        def f(x, n=n):
            for _ in range(n):
                x = np.cos(x) + x[::-1]
            return x

        sizes.append(len(jit(f).lower(np.ones(3)).as_text()))
    assert sizes[1] < sizes[0] + 50


def test_exceptions_of_the_user():
    class Unhappy(Exception):
        pass

    @jit
    def f(x):
        if x < 0:
            raise Unhappy("negative", 3)
        for _ in range(100):
            assert x < 100, "too large"
            x = x + 1
        return x

    assert f(-0.0) == 100.0
    with pytest.raises(Unhappy) as caught:
        f(-1.0)
    assert caught.value.args == ("negative", 3) and caught.traceback[-1].path.name == "test_captured_programs.py"
    with pytest.raises(AssertionError, match="^too large$"):
        f(50.0)
    assert f(-0.0) == 100.0


def test_exceptions_with_values_in_their_messages():
    @jit
    def f(x, n):
        for i in range(n):
            if x[i] < 0:
                raise ValueError(f"number {i} is {x[i]:.1f}", n)
            assert x[i] < 9, f"{x[i]} is too large"
        return x.sum()

    assert f(np.ones(3), 3) == 3.0
    with pytest.raises(ValueError) as caught:
        f(np.array([1.0, 2.0, -3.0]), 3)
    assert caught.value.args == ("number 2 is -3.0", 3)
    with pytest.raises(AssertionError, match="^9.5 is too large"):
        f(np.array([1.0, 9.5, -3.0]), 3)

    @jit
    def g(x):
        raise KeyError(f"always {x}")

    for x in (1.5, 2.5):
        with pytest.raises(KeyError, match=f"always {x}"):
            g(x)


def test_names_that_may_be_unbound():
    @jit
    def f(n, x):
        for i in range(n):
            y = x * i
        return y

    assert f(3, 2.0) == 4.0
    with pytest.raises(UnboundLocalError, match="'y'"):
        f(0, 2.0)


def test_recursion_on_a_traced_value():
    def down(x):
        return x if x < 1 else down(x - 1)

    check(down, np.float64(3))
    check(fibonacci, 7)


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def test_control_flow_can_be_left_to_tracing():
    @jit(control_flow="trace")
    def f(x):
        return 1 if x > 0 else 2

    with pytest.raises(ConcretizationError):
        f(1.0)
    with pytest.raises(ValueError, match="control_flow"):
        jit(control_flow="no")(clip)


def test_what_is_not_captured_says_so():
    @jit
    def f(x):
        return x + len(locals())

    assert f(1.0) == 2.0
    assert "locals" in f.cache_info().not_captured and "control flow" in str(f.cache_info())
    assert halved.cache_info().not_captured is None


def test_callables_of_all_kinds():
    import functools

    class Model:
        def __init__(self):
            self.w = np.arange(3.0)

        def __call__(self, x):
            return self.w * x if x > 0 else self.w

        def method(self, x):
            return -x if x > 0 else x

    model = Model()
    for function in (model, model.method, functools.partial(nested_branches, 2), functools.lru_cache(lambda: 3)):
        arguments = () if isinstance(function, functools._lru_cache_wrapper) else (2.0,)
        assert_alike(jit(function)(*arguments), function(*arguments))


def test_builtins_and_math():
    def f(x, n):
        return (
            int(x), float(n), bool(n), round(x), round(x, 1), abs(-x), isinstance(x, float), isinstance(n, int), type(n) is int,
            math.floor(x), math.sqrt(x), max(n, 2), min(3.0, x), sum([x, n]), any([x > 3, n > 3]), all([x > 0, n > 3]),
            sorted([x, 0.5, 2.0])[1], x in (1.0, 2.5), n not in [4], not n, len(range(5)),
        )  # fmt: skip

    jitted = jit(f)
    for x, n in ((2.5, 3), (0.75, 0), (3.0, 7)):
        found, expected = jitted(x, n), f(x, n)
        assert found == expected and list(map(type, found)) == list(map(type, expected))
    with pytest.raises(ValueError, match="math domain error"):
        jitted(-1.0, 2)


def test_printing(capsys):
    def f(x, n):
        print("begins", n, x, sep="; ")
        for i in range(n):
            if x[i] > 1:
                print(f"{i}: {x[i]:.2f} {x!r:>5}", end="|")
        text = f"sum {x.sum():{n}.3f}"
        print(text + "!", f"{x[0]} {n}", str(n), [x[0], n], np.zeros(2))

    jitted = jit(f)
    for x, n in ((np.array([1.0, 2.0, 3.0]), 3), (np.array([4.0, 0.0, 3.0]), 2)):
        jitted(x, n)
        found = capsys.readouterr().out
        f(x, n)
        assert found == capsys.readouterr().out != ""


def test_objects_of_others_are_used_once_a_round():
    import random

    def f(x):
        source = random.Random(3)
        for _ in range(200):
            x = x * 0.5 + source.random()
        return x

    check(f, 1.0)
    drawn = jit(lambda x, source: source.random() if x > 0 else 1.0, static_argnames="source")
    source, same = random.Random(3), random.Random(3)
    assert [drawn(x, source) for x in (1.0, -1.0, 2.0)] == [same.random(), 1.0, same.random()]


@jit
def halved(x):
    return x / 2 if x > 1 else x


def test_python_integers_that_grow_beyond_64_bits():
    @jit
    def factorial(n):
        total = 1
        for i in range(1, n):
            total *= i
        return total

    @jit
    def fibonacci_number(n):
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        return a

    @jit
    def powers(x):
        numbers = np.zeros(200)
        power = 1
        for i in range(200):
            power *= 3
            numbers[i] = x * power
        return numbers

    assert factorial(20) == math.factorial(19) and fibonacci_number(90) == 2880067194370816120
    assert factorial(30) == math.factorial(29) and fibonacci_number(100) == 354224848179261915075
    with pytest.raises(OverflowError, match="beyond 64 bits"):
        powers(1.0)


def test_what_is_changed_in_place_on_one_side_only():
    outside = np.zeros(3)

    def f(x):
        values, table = [1.0, 2.0], {"a": 1.0}
        if x > 0:
            values[0] += x
            table["a"] = x
        else:
            values += [3.0]
            del values[0]
        return values, table

    check(f, 1.0)
    check(f, -1.0)

    @jit
    def g(x):
        if x > 0:
            outside[0] = 1
        return x

    g(-1.0)
    assert not outside.any()
    g(1.0)
    assert outside.any()


def test_jitted_functions_inside_of_loops():
    def f(x):
        for _ in range(100):
            x = halved(x) + 0.75
        return x

    check(f, 3.0)


def test_few_rounds_whose_numbers_decide_on_sizes_are_unrolled():
    """Arrays of a size that is known at run time only would take the time of their bounds."""

    def transformed(x):
        y, places = x * 1, np.arange(81)
        for i in range(4):
            rest = 3 ** (3 - i)
            parts = np.transpose(np.reshape(y, (3**i, 3, rest)), axes=(1, 0, 2))
            turns = np.exp(-2j * np.pi * np.arange(3)[:, None] * places[None, : 3**i] / 3 ** (i + 1))
            turned = np.reshape(parts * np.repeat(np.reshape(turns, (3, 3**i, 1)), rest, axis=2), (3, 27))
            y[:] = np.reshape(np.exp(-2j * np.pi * np.outer(np.arange(3), np.arange(3)) / 3) @ turned, (81,))
        return y

    x = np.random.default_rng(1).normal(size=81) + 0j
    assert "while" not in jit(transformed).lower(x).as_text()
    np.testing.assert_allclose(jit(transformed)(x), np.fft.fft(x))
