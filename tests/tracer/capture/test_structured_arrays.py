"""Arrays of records with numeric fields do the same with and without jit: as arguments, made inside, from outside."""

import copy

import numpy as np
import pytest
from numpy.lib import recfunctions
from phlox.tracer import jit
from records import assert_same

DTYPE = [("x", "f8"), ("v", "f8", (3,))]
MIXED = [("id", "i4"), ("x", "f8"), ("ok", "?"), ("c", "c8"), ("m", "f4", (2, 2))]
NESTED = [("p", [("x", "f8"), ("y", "f8")]), ("n", "i8")]


def bodies(x=(3, 1, 2, 0)):
    a = np.zeros(4, DTYPE)
    a["x"], a["v"] = x, np.arange(12).reshape(4, 3)
    return a


def mixed():
    a = np.zeros(4, MIXED)
    a["id"], a["x"], a["ok"], a["c"], a["m"] = range(4), [1, -1, 2, 0], [0, 1, 1, 0], 1 + 2j, np.arange(16).reshape(4, 2, 2)
    return a


def nested():
    a = np.zeros(4, NESTED)
    a["p"]["x"], a["p"]["y"], a["n"] = range(4), 3, 7
    return a


def field(a):
    return a["x"] * 2, a["v"].sum(), a["v"][:, 1], a.dtype.names, a.shape, a.ndim, a.size, a.itemsize, len(a), a.nbytes


def write(a):
    a["x"] += 1
    a["x"][1] = 9
    a["v"][:, 0] = a["x"]
    return a


def write_and_return_nothing(a):
    a["x"] -= a["v"].sum(axis=1)


def element(a, i):
    return a[i]["x"], a[i]["v"], a["x"][i], a[i], a[-1], tuple(a[0])


def write_element(a, i):
    a[i]["x"] = 7.5
    a[i]["v"][1] = 3
    a["v"][i, 2] = 1
    a[0] = a[i]
    a[1] = (1.0, [1, 2, 3])
    a[2:] = (2.0, (1, 1, 1))


def several_fields(a):
    return a[["x", "v"]], a[["x"]], a[["v", "x"]]["v"]


def under_a_mask(a):
    found = a[a["x"] > 1]
    return found, len(found), found["v"], np.sort(found, order="x")


def write_under_a_mask(a, b):
    a["x"][a["x"] > 1] = 0
    a["v"][a["x"] == 0] *= 2
    a[b["x"] > 1] = b[b["x"] > 1]
    a[[0, 1]] = a[[1, 0]]
    return a


def in_order(a):
    b = np.sort(a, order=["x", "v"])
    places = np.argsort(a, order="x", kind="stable")
    a.sort(order="v")
    return b, places, a[np.argsort(a["x"])], a[np.argmax(a["x"])]


def made(n):
    a = np.zeros(n, dtype=[("x", "f8"), ("v", "f8", (3,))])
    a["x"], a["v"][:, 1] = np.arange(n), 2
    return (
        a,
        np.ones((2, 3), dtype=[("x", "f8"), ("n", "i4")]),
        np.array([(1.0, 2), (3.0, 4)], dtype=[("x", "f8"), ("n", "i4")]),
    )


def made_of_traced(x):
    return np.array([(x[0], 1), (x[1], 2)], dtype=[("x", "f8"), ("n", "i4")])


def loops(a, n):
    for i in range(n):
        if a[i]["x"] > 1:
            a[i]["x"] *= 2
        a["v"][i] = i
    for _ in range(10):
        a["v"] += 0.5
        a["x"] += a["v"][:, 0] * 0.5
    total = 0.0
    for r in a:
        total += r["x"] * r["v"][1]
        r["x"] = 3.5
    i = 0
    while a["x"][i] > 0:
        a["x"][i] -= 1
        i = (i + 1) % 3
    return a, total, i


def copied(a):
    b = a.copy()
    b["x"] = 0
    c = a[1:3]
    c["x"] = 100
    d = np.empty_like(a)
    d[:] = a
    return b, a["x"].sum(), c, d, np.zeros_like(a), np.concatenate([a, b[:2]]), a[::-1]["x"]


def of_several_types(a):
    a["ok"][0] = True
    a["ok"] &= a["x"] > 0
    a["id"] += 1
    a["c"] *= 1j
    a["m"][:, 0, 1] = a["x"]
    return a["ok"].sum(), a["m"].sum(), a, a[2]["ok"], a["id"].dtype


def within_others(a):
    a["p"]["x"] += a["n"]
    return a["p"]["y"] * 2, a["p"], a[1]["p"]["x"]


def compared(a, b):
    return a == b, a != b, np.array_equal(a, b)


def attributes(a):
    r = a.view(np.recarray)
    r.x += 1
    return r.v.sum(), r


def from_arrays(x):
    r = np.rec.fromarrays([x, x > 1], names="x, ok")
    return r, r.x.sum()


def exchanged(a, b):
    a["x"], b["x"] = b["x"].copy(), a["x"].copy()
    kept = a[0].copy()
    a[0] = a[1]
    a[1] = kept


def cases(a, t):
    if t > 0:
        a["x"] = 1
    else:
        a["v"] = 2
    return a, isinstance(a, np.ndarray), type(a) is np.ndarray


def shapes(a):
    return a.reshape(2, 2), a.reshape(2, -1)["x"], a.T["x"], a[None]["x"], a[..., 1]["x"], a.flatten(), a[...]


def names(a):
    total = 0.0
    for name in a.dtype.names:
        total += a[name].sum()
    return total, [r["x"] for r in a], {name: a[name].sum() for name in a.dtype.names}


def of_ufuncs(a):
    np.add(a["x"], 1, out=a["x"])
    a["v"].sort(axis=1)
    np.multiply.at(a["x"], [0, 0], 2)
    return np.hypot(a["x"], a["v"][:, 0]), np.linalg.norm(a["v"], axis=1)


def changed_by_a_helper(a, i):
    set_record(a[i])
    return a


def set_record(r):
    r["x"] = 5
    r["v"][:] = 1


def of_empty(a):
    return a["x"].sum(), a, a.copy(), len(a)


def fields_under_a_mask(a):
    some = a[a["ok"] | (a["x"] > 1.5)]
    some["m"][:, 0] = 5
    some["ok"][1:] = False
    some["x"] *= 2
    return some, some["x"].mean(), some["ok"], some["c"].real, some["m"].sum(axis=(1, 2)), len(some), some[0]["id"], a["x"]


CASES = {
    fields_under_a_mask: lambda: (mixed(),),
    field: lambda: (bodies(),), write: lambda: (bodies(),), write_and_return_nothing: lambda: (bodies(),),
    element: lambda: (bodies(), 2), write_element: lambda: (bodies(), 2), several_fields: lambda: (bodies(),),
    under_a_mask: lambda: (bodies(),), write_under_a_mask: lambda: (bodies(), bodies((10, 1, 0, 4))),
    in_order: lambda: (bodies(),), made: lambda: (3,), made_of_traced: lambda: (np.arange(3.0),), loops: lambda: (bodies(), 3),
    copied: lambda: (bodies(),), of_several_types: lambda: (mixed(),), within_others: lambda: (nested(),),
    compared: lambda: (bodies(), bodies((3, 1, 2, 5))), attributes: lambda: (bodies(),),
    from_arrays: lambda: (np.arange(4.0),), exchanged: lambda: (bodies(), bodies((5, 6, 7, 8))), cases: lambda: (bodies(), 1),
    shapes: lambda: (bodies(),), names: lambda: (bodies(),), of_ufuncs: lambda: (bodies(),),
    changed_by_a_helper: lambda: (bodies(), 1), of_empty: lambda: (np.zeros(0, DTYPE),),
}  # fmt: skip


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_does_the_same(function):
    f = jit(function)
    for added in (0, 0.5, 0):
        given = CASES[function]()
        for one in given:
            if isinstance(one, np.ndarray) and one.dtype.names and "x" in one.dtype.names:
                one["x"] += added
        for_numpy, for_jit = copy.deepcopy(given), copy.deepcopy(given)
        expected, found = function(*for_numpy), f(*for_jit)
        assert_same(found, expected)
        assert_same(for_jit, for_numpy)
        assert [any(found is one for one in for_jit)] == [any(expected is one for one in for_numpy)]


LAYOUTS = {
    "strided": lambda: np.repeat(bodies(), 2)[::2],
    "reversed": lambda: bodies()[::-1],
    "aligned": lambda: np.ones(4, np.dtype([("x", "f4"), ("v", "f8", (3,))], align=True)),
    "packed": lambda: np.ones(4, [("n", "i1"), ("x", "f8"), ("v", "f8", (3,))]),
    "as attributes": lambda: bodies().view(np.recarray),
}


@pytest.mark.parametrize("function", [field, write, of_empty])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_however_it_lies(function, layout):
    for_numpy, for_jit = LAYOUTS[layout](), LAYOUTS[layout]()
    assert_same(jit(function)(for_jit), function(for_numpy))
    assert_same(for_jit, for_numpy)


OF_ALL_KINDS = np.dtype([("x", "f8"), ("n", "i4"), ("is_it", "?"), ("v", "f4", (2,)), ("s", [("p", "i2"), ("q", "f8")])])


@pytest.mark.parametrize("lies", [slice(None), slice(None, None, 2), slice(None, None, -1)], ids=str)
def test_fields_that_are_returned_are_views(lies):
    def parts(a):
        return a["x"], a["n"][::2], a["is_it"], a["v"], a["v"][1], a["s"]["q"], a["s"], a[1:], a[["x", "n"]], a[1]["v"]

    array = np.zeros(6, OF_ALL_KINDS)[lies]
    jitted = jit(parts)
    for _ in range(2):
        for found, expected in zip(jitted(array), parts(array), strict=True):
            assert np.shares_memory(found, expected) and found.ctypes.data == expected.ctypes.data
            assert found.dtype == expected.dtype and found.shape == expected.shape
            assert all(size == 1 or one == other for size, one, other in zip(found.shape, found.strides, expected.strides))


def test_a_field_in_one_dimension_is_a_copy_as_in_numpy():
    def write(a):
        a["x"].ravel()[0] = 5
        a["n"].reshape(-1)[1] = 6
        a["is_it"].ravel()[1] = True
        return a["x"].strides, a["x"].flags.c_contiguous

    for_numpy, for_jit = np.zeros(3, OF_ALL_KINDS), np.zeros(3, OF_ALL_KINDS)
    assert jit(write)(for_jit) == write(for_numpy)
    assert for_jit.tobytes() == for_numpy.tobytes()


def add(a, b):
    a["x"] += b["x"]
    return a


def test_two_names_for_one():
    f, one, other = jit(add), bodies(), bodies()
    for _ in range(2):
        assert_same(f(one, one), add(other, other))
        assert_same(f(one[1:], one[:-1]), add(other[1:], other[:-1]))
    assert_same(one, other)


BODIES = bodies()


def read_outside(x):
    return BODIES["x"].sum() + x


def write_outside(x):
    BODIES["x"][0] += x
    BODIES["v"][1] = 7.0


def test_from_outside(monkeypatch):
    f, g = jit(read_outside), jit(write_outside)
    other = np.zeros(7, [("v", "f8"), ("x", "i4", (3,))])
    other["x"] = 2
    for array in (bodies(), bodies((1, 1, 1, 1)), other, np.ones(3, DTYPE)):
        monkeypatch.setitem(globals(), "BODIES", array)
        for _ in range(2):
            assert f(1.0) == read_outside(1.0)
            array["x"] += 1
    for _ in range(3):
        expected = copy.deepcopy(array)
        monkeypatch.setitem(globals(), "BODIES", expected)
        write_outside(2.0)
        monkeypatch.setitem(globals(), "BODIES", array)
        g(2.0)
        assert_same(array, expected)
        array["v"] = 0


def test_one_code_for_all_contents():
    f = jit(element)
    for i in range(4):
        assert_same(f(bodies((i, 2, 3, 4)), i), element(bodies((i, 2, 3, 4)), i))
    assert f.cache_info().misses == 1


REFUSED = {
    "sum": lambda a: np.sum(a),
    "astype": lambda a: a.astype("f8"),
    "view": lambda a: a.view("i4"),
    "np.append": lambda a: np.append(a, 1),
    "np.char.upper|np.upper": lambda a: np.char.upper(np.zeros_like(a, [("t", "U2")])["t"]),
    "the field 't' of a structured array, of type datetime64": lambda a: np.zeros_like(a, [("t", "M8[s]")])["t"],
    "with the field 'y' of type object": lambda a: np.zeros_like(a, [("y", "O")]),
    "as records": lambda a: np.array([(r["x"], r["v"]) for r in a if r["x"] > 0], a.dtype),
    "usemask=False": lambda a: recfunctions.append_fields(a, "z", a["x"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_named(name):
    with pytest.raises(NotImplementedError, match=name):
        jit(REFUSED[name])(bodies())
