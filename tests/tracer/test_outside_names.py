"""What a function reads and sets by name: globals, variables of closures, defaults, helpers, modules."""

import types

import numpy as np
import pytest
from phlox import jit
from programs_outside import check, registry

PROGRAMS, program = registry()


def set_global(name, value):
    return lambda: globals().__setitem__(name, value)


# --- globals ---

NUMBER, TABLE, FLAG, TEXT, NOTHING = 2, np.array([1.0, 2.0, 3.0]), True, "double", None


def scale_by(x):
    return x * NUMBER


@program
def numbers(decorate):
    globals().update(NUMBER=2)

    @decorate
    def f(x):
        return x * NUMBER + 1 / NUMBER

    return f, [set_global("NUMBER", value) for value in (3, 4, 5, 2.5, 3.5, np.float32(2), True, 2)], lambda: NUMBER


@program
def in_the_body_of_a_class(decorate):
    globals().update(NUMBER=2)

    @decorate
    def f(x):
        own = 3

        class Scale:
            """Reads names of the function and of the module, and one of its own."""

            factor: types.FunctionType = NUMBER * own
            twice = 2 * factor

        return x * Scale.twice

    return f, [set_global("NUMBER", value) for value in (3, 4)], lambda: NUMBER


@program
def arrays(decorate):
    globals().update(TABLE=np.array([1.0, 2.0, 3.0]))

    @decorate
    def f(x):
        return np.sqrt(TABLE) * 2 + x, TABLE[0] * TABLE.sum()

    return f, [
        lambda: TABLE.__setitem__(0, 7.0), set_global("TABLE", np.array([4.0, 5.0, 6.0])), set_global("TABLE", np.ones((2, 3))),
        set_global("TABLE", np.ones((2, 3), np.float32)), set_global("TABLE", np.arange(12.0).reshape(2, 6)[:, ::2]),
        set_global("TABLE", 5.0), set_global("TABLE", np.array([1, 2, 3])),
    ], lambda: TABLE  # fmt: skip


@program
def decisions(decorate):
    globals().update(TABLE=np.array([6.0, 2.0, 3.0]), FLAG=True, TEXT="double", NOTHING=None)

    @decorate
    def f(x):
        y = x
        if TABLE[0] > 5:
            y = y + 1
        if FLAG:
            y = y * 3
        if TEXT == "double":
            y = y * 2
        return y if NOTHING is None else y - 1

    return f, [
        lambda: TABLE.__setitem__(0, 1.0), set_global("FLAG", False), set_global("TEXT", "no"), set_global("NOTHING", 1),
        set_global("FLAG", True), lambda: TABLE.__setitem__(0, 9.0),
    ], lambda: 0  # fmt: skip


@program
def shapes(decorate):
    globals().update(NUMBER=2, TABLE=np.array([0.5, 2.0]))

    @decorate
    def f(x):
        total = np.zeros(NUMBER)
        for i in range(int(np.ceil(TABLE[1] / TABLE[0]))):
            total += x[:NUMBER] * i
        return total

    return f, [set_global("NUMBER", 3), lambda: TABLE.__setitem__(1, 3.0), set_global("NUMBER", 1)], lambda: 0


@program
def sizes_of_results(decorate):
    globals().update(TABLE=np.array([1, 2, 0]))

    @decorate
    def f(x):
        return np.repeat(x, TABLE), np.repeat(x, TABLE[1]), np.arange(TABLE[0], TABLE[1] + 3)

    return f, [lambda: TABLE.__setitem__(1, 4), set_global("TABLE", np.array([2, 2, 2]))], lambda: TABLE


@program
def helpers(decorate):
    globals().update(NUMBER=2)

    @decorate
    def f(x):
        return scale_by(x) + 1

    def scale_otherwise():
        globals()["scale_by"] = lambda x: x - NUMBER

    original = scale_by
    return f, [
        set_global("NUMBER", 3), scale_otherwise, set_global("NUMBER", 4), set_global("scale_by", original),
        lambda: setattr(original, "__defaults__", None),
    ], lambda: 0  # fmt: skip


@program
def shadowed_and_deleted(decorate):
    globals().update(NUMBER=2)
    globals().pop("max", None)

    @decorate
    def f(x):
        return max(NUMBER, 3) * x

    return f, [
        set_global("max", lambda a, b: a + b), lambda: globals().pop("max"), lambda: globals().pop("NUMBER"),
        set_global("NUMBER", 7),
    ], lambda: 0  # fmt: skip


@program
def counted(decorate):
    globals().update(NUMBER=0)

    @decorate
    def f(x):
        global NUMBER
        NUMBER += 1
        return x * NUMBER

    return f, [set_global("NUMBER", 10)], lambda: NUMBER


@program
def set_in_a_branch(decorate):
    globals().update(TABLE=np.zeros(3), NUMBER=1.0)

    @decorate
    def f(x):
        global TABLE, NUMBER
        if x.sum() + NUMBER > 7:
            TABLE = TABLE + x
            NUMBER = NUMBER / 2
        else:
            NUMBER = NUMBER * 4
        return TABLE.sum()

    return f, [set_global("NUMBER", 3.0)], lambda: (TABLE, NUMBER)


@program
def written_in_place(decorate):
    globals().update(TABLE=np.zeros(3))

    @decorate
    def f(x):
        TABLE[:] = TABLE + 1
        TABLE[0] += x[1]
        return TABLE * 2

    return f, [lambda: TABLE.fill(5), set_global("TABLE", np.arange(3.0))], lambda: TABLE


@program
def modules(decorate):
    config = types.ModuleType("config")
    config.__file__ = __file__
    config.LR, config.W = 0.1, np.ones(3)

    @decorate
    def f(x):
        config.W = config.W - config.LR * x
        return config.W.sum()

    return f, [lambda: setattr(config, "LR", 0.2), lambda: setattr(config, "LR", 0.3)], lambda: (config.LR, config.W)


@program
def late(decorate):
    globals().update(TABLE=np.ones(3))

    @decorate
    def f(g):
        g[0] = 9
        return g.sum() + TABLE.sum()

    return lambda x: (f(TABLE), f(x)), [lambda: TABLE.fill(2)], lambda: TABLE


# --- closures ---


@program
def closures(decorate):
    n, w, on = 2, np.ones(3), True

    def change(new_n=None, new_w=None, new_on=None):
        nonlocal n, w, on
        n, w, on = n if new_n is None else new_n, w if new_w is None else new_w, on if new_on is None else new_on

    @decorate
    def f(x):
        return (x * n + np.exp(w)) * (2 if on else 3)

    return f, [
        lambda: change(3), lambda: change(4), lambda: change(new_w=np.zeros(3)), lambda: change(new_on=False),
        lambda: change(new_w=np.zeros((2, 3))),
    ], lambda: n  # fmt: skip


@program
def counting_closure(decorate):
    count, last = 0, None

    @decorate
    def f(x):
        nonlocal count, last
        count = count + 1
        last = x * count
        return last.sum()

    return f, [], lambda: (count, last)


@program
def two_closures_of_one_code(decorate):
    def make(k):
        @decorate
        def f(x):
            return x * k

        return f

    first, second = make(2), make(3)
    return lambda x: (first(x), second(x)), [], lambda: 0


@program
def functions_made_in_a_loop(decorate):
    made = [decorate(lambda x: x + k) for k in range(3)]  # noqa: B023
    return lambda x: [f(x) for f in made], [], lambda: 0


@program
def closures_that_share_a_variable(decorate):
    n = 1

    def read():
        return n * 10

    @decorate
    def f(x):
        nonlocal n
        n += 1
        return x + read()

    return f, [], lambda: n


@program
def recursion(decorate):
    depth = 3

    def power(x, n):
        return x if n == 0 else power(x * 2, n - 1)

    @decorate
    def f(x):
        return power(x, depth)

    def change():
        nonlocal depth
        depth = 1

    return f, [change], lambda: 0


@program
def defaults(decorate):
    table = np.ones(3)

    def helper(x, scale=2.0, *, w=table):
        return x * scale + np.sqrt(w)

    @decorate
    def f(x):
        return helper(x)

    def change():
        helper.__defaults__ = (3.0,)

    return f, [lambda: table.fill(4), change, lambda: helper.__kwdefaults__.update(w=np.zeros(3))], lambda: 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    try:
        check(PROGRAMS[name])
    finally:
        globals().pop("max", None)
        globals()["scale_by"] = lambda x: x * NUMBER


PERHAPS = 0.0


def set_on_some_ways(value):
    global PERHAPS
    if value < 0:
        PERHAPS = value
    if value < -2:
        PERHAPS *= 2
    return PERHAPS


def deleted_on_some_ways(value):
    global PERHAPS
    PERHAPS = 1.0
    if value < 0:
        del PERHAPS
    try:
        return PERHAPS
    except NameError as error:
        return str(error)


def deleted(value):
    global PERHAPS
    PERHAPS = value
    del PERHAPS
    return PERHAPS  # noqa: F821


def set_again(value):
    global PERHAPS
    if value < 0:
        PERHAPS = value
    PERHAPS = 5.0


@pytest.mark.parametrize("function", [set_on_some_ways, deleted_on_some_ways, deleted, set_again])
def test_global_names_that_are_bound_on_some_ways(function):
    def outcome(called, value):
        globals().pop("PERHAPS", None)
        try:
            found = called(value)
        except NameError as error:
            found = str(error)
        return found, globals().get("PERHAPS")

    jitted = jit(function)
    for value in (1.0, -1.0, -3.0, 2.0):
        assert outcome(jitted, value) == outcome(function, value)
