"""What is changed, printed and drawn before an exception has happened when it is raised, as without jit, and nothing else."""

import contextlib
import copy
import io
import random
import types

import numpy as np
import pytest
from phlox import TracerError, host_call, jit

OUTSIDE = types.SimpleNamespace()
TABLE = np.zeros(3)


def clear():
    OUTSIDE.__dict__.clear()
    OUTSIDE.__dict__.update(count=0, log=[], options={}, generator=np.random.default_rng(5))
    TABLE[:] = 0
    np.random.seed(1)


def outside():
    drawn = OUTSIDE.generator.bit_generator.state["state"], np.random.get_state()[1:3]
    return OUTSIDE.count, OUTSIDE.log, OUTSIDE.options, TABLE, drawn


def at_once(x, i):
    x += 1
    raise ValueError("at once")


def key_error(x, i):
    x += 1
    OUTSIDE.log.append(x[0])
    return {}["absent"]


def place(x, i):
    x += 1
    x[i] = 5
    x *= 2


def place_read(x, i):
    TABLE[1] += 1
    value = x[i]
    TABLE[2] += value
    return value


def user_error(x, i):
    OUTSIDE.count += 1
    OUTSIDE.log.append(x[1])
    if i > 5:
        raise KeyError("large")
    OUTSIDE.count += 1
    OUTSIDE.options["last"] = x.sum()


def message_of_values(x, i):
    OUTSIDE.count += 1
    if i > 5:
        raise ValueError(f"{i} is large beside {x[0]:.2f}")
    return x


def in_a_loop(x, i):
    for k in range(len(x) + 300):
        x[k % 3] += k
        OUTSIDE.count += 1
        if x[k % 3] > 60 * i:
            raise RuntimeError("too large")


def in_a_while_loop(x, i):
    while True:
        x += 1
        OUTSIDE.count += 2
        if x[0] > i:
            raise RuntimeError("never ends otherwise")


def singular(x, i):
    x += 1
    inverse = np.linalg.inv(np.eye(3) * (i < 5))
    x += 1
    return inverse


def on_both_sides(x, i):
    x += 1
    if i > 5:
        OUTSIDE.count += 1
        raise ValueError("large")
    else:
        OUTSIDE.log.append(x[0])
        raise KeyError("small")


def an_array_where_it_raises_alone(x, i):
    if i > 5:
        x[0] = 7
        raise ValueError("large")
    return x[1]


def a_list_where_it_raises_alone(x, i):
    for value in x:
        if i > 5:
            OUTSIDE.log.append(value)
            TABLE[[0, 1][i]]  # noqa: B018


def a_number_where_it_raises_alone(x, i):
    if i > 5:
        OUTSIDE.count += 1
        if x[2] > 1:
            raise ValueError("large")
        raise KeyError("small")


def drawn_where_it_raises_alone(x, i):
    if i > 5:
        value = OUTSIDE.generator.normal()
        print("drawn", value)
        raise ValueError("large")


def asserted(x, i):
    x[0] = 9
    assert i < 5, "too large"
    x[1] = 9


def in_a_helper(x, i):
    def helper(y):
        TABLE[0] += 1
        y[i] = 3
        TABLE[0] += 1

    OUTSIDE.options["begun"] = True
    helper(x)
    OUTSIDE.options["ended"] = True


def printed_before(x, i):
    x += 1
    print("changed", x[0])
    raise RuntimeError("at once")


def printed(x, i):
    for k in range(12):
        print(k, x[0])
        x[k % i] += 1
    print("behind")


def drawn(x, i):
    x += np.random.rand(3)
    x[i] = OUTSIDE.generator.normal()
    x += np.random.rand()
    OUTSIDE.generator.shuffle(x)


def own_generator(x, i):
    generator = np.random.default_rng(int(i))
    x += generator.normal(size=3)
    print("so far")
    x[i] = generator.random()


def host_calls(x, i):
    x[0] = host_call(lambda: OUTSIDE.log.append("called") or 3.0, float)
    x[i] = 1
    host_call(OUTSIDE.log.append, None, "called behind")


FUNCTIONS = [value for value in list(globals().values()) if getattr(value, "__module__", "") == __name__]
FUNCTIONS = [function for function in FUNCTIONS if function.__code__.co_varnames[:2] == ("x", "i")]


def told(function, arguments):
    text, result = io.StringIO(), None
    with contextlib.redirect_stdout(text):
        try:
            result = function(*arguments)
        except Exception as error:
            result = type(error), error.args
    return repr((result, arguments, copy.deepcopy(outside()), text.getvalue()))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_all_that_comes_before_has_happened(function, backend):
    found = []
    for called in (function, jit(function, backend=backend)):
        clear()
        found.append([told(called, (np.arange(3.0), np.int64(i))) for i in (2, 9, 2)])
    assert found[1] == found[0]


def test_what_cannot_be_traced_changes_nothing():
    @jit
    def f(x):
        x += 1
        return hash(x[0])

    x = np.ones(3)
    with pytest.raises(TypeError, match="hash"):
        f(x)
    np.testing.assert_array_equal(x, 1)


def test_an_error_of_tracing_alone_is_told():
    @jit
    def f(x):
        OUTSIDE.count = 7
        return memoryview(x)

    with pytest.raises((TypeError, TracerError)):
        f(np.ones(3))


def test_stages_raise_what_the_function_raises():
    def f(x, i):
        x += 1
        x[i] = 3

    def g(x):
        x += 1
        raise KeyError("mine")

    x = np.ones(3)
    compiled = jit(f).lower(x, np.int64(1)).compile()
    with pytest.raises(IndexError):
        compiled(x, np.int64(7))
    with pytest.raises(KeyError, match="mine"):
        jit(g).lower(x)
    np.testing.assert_array_equal(x, 1)


def fill(x, generator, k):
    values = []
    for i in range(len(x)):
        x[i] = generator.random()
        if x[i] > 0.3:
            values.append(x[i])
    x[k] = values[k]
    return values


GENERATORS = {
    "Random": lambda: random.Random(3),
    "RandomState": lambda: np.random.RandomState(3),
    **{
        kind.__name__: lambda kind=kind: np.random.Generator(kind(3))
        for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
    },
}


@pytest.mark.parametrize("name", GENERATORS)
def test_a_native_call_that_python_makes_again_draws_the_same_numbers(name):
    """The index is out of range for some of the calls; the numbers that were drawn before are drawn once."""
    one, other = GENERATORS[name](), GENERATORS[name]()
    f = jit(fill)
    for k in (0, 0, 1, 6, 0, 2, 7, 0, 5, 5, 5):
        outcomes = []
        for function, generator in ((fill, one), (f, other)):
            x = np.zeros(8)
            try:
                outcomes.append((function(x, generator, k), x.tolist(), generator.random()))
            except IndexError as error:
                outcomes.append((str(error), x.tolist(), generator.random()))
        assert outcomes[0] == outcomes[1], k
    assert f.cache_info().misses == 1 and f.cache_info().entries[0].native
