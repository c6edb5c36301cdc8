"""NumPy's functions of records, `numpy.lib.recfunctions`, and fields of texts do the same with and without jit."""

import copy

import numpy as np
import pytest
from numpy.lib import recfunctions
from phlox.tracer import jit
from records import assert_same
from thinning import LEFT_TO_CI

PAIRS = [("x", "f8"), ("n", "i4")]
PEOPLE = [("name", "U6"), ("age", "i4"), ("weight", "f8")]


def pairs():
    return np.array([(3.0, 1), (1.0, 2), (2.0, 3), (1.0, 2), (-1.0, 5)], PAIRS)


def people():
    rows = [("ann", 30, 1.5), ("bob", 10, 2.5), ("cyd", 20, 0.5), ("bob", 50, 0.25), ("", 5, 1.0)]
    return np.array(rows, PEOPLE)


def of_bytes():
    return np.array([(b"b", 1), (b"abc", 2), (b"b", 3)], [("key", "S3"), ("n", "i2")])


def swapped():
    return np.array([(1, 2.5, 1 + 2j, "ä"), (3, 4.5, 3j, "zz")], [("a", ">i4"), ("b", ">f8"), ("c", ">c16"), ("t", ">U2")])


def dated():
    return np.array([(1.0, "2020-01-01", b"\x01"), (2.0, "2021-01-01", b"\x02")], [("x", "f8"), ("t", "M8[D]"), ("v", "V1")])


def nested():
    a = np.zeros(3, [("p", [("x", "f8"), ("tag", "U2")]), ("v", "f8", (2,))])
    a["p"]["x"], a["p"]["tag"], a["v"] = [1, 0, 1], ["b", "a", "a"], [[1, 2], [3, 4], [1, 2]]
    return a


# --- functions that move records ---


def moved(a):
    return (
        np.repeat(a, 2), a.repeat([1, 0, 2, 1, 1]), np.tile(a, 2), np.roll(a, 1), np.delete(a, 1), np.insert(a, 1, a[3]),
        np.take(a, [0, 2]), a.take([[0, 1], [1, 0]]), a.compress(a["x"] > 1), np.extract(a["x"] > 1, a), np.resize(a, 7),
    )  # fmt: skip


def joined(a):
    return (
        np.stack([a, a], axis=1), np.vstack([a, a[::-1]]), np.concatenate([a, a[:1], pairs()]), np.append(a, a[1:]),
        np.append(a, np.array([(1.0, 2)], PAIRS)), np.hstack((a, a)),
    )  # fmt: skip


def chosen(a):
    return (
        np.where(a["x"] > 1, a, a[::-1]), np.where(a["x"] > 1, a, a[0]), np.choose(a["n"] % 2, [a, a[::-1]]),
        np.select([a["x"] > 2, a["n"] > 2], [a, a[::-1]], a[0]),
    )  # fmt: skip


def shaped(a):
    b = a[:4].reshape(2, 2)
    c, d = np.split(a, [2])
    c["x"] = 9
    return np.flip(b), np.flip(b, 1), b[:, None], np.expand_dims(b, 1), np.squeeze(b[None]), np.atleast_1d(a[0]), d, a, b.T


def distinct(a):
    some = a[a["x"] < 3]
    return (
        np.unique(a), np.unique(a, return_index=True, return_counts=True), np.unique(a, return_inverse=True), np.unique(some),
        np.isin(a, a[:2]), np.intersect1d(a, some), np.setdiff1d(a, some), np.union1d(a[:1], some), np.unique(a[:0]),
    )  # fmt: skip


def ordered(a):
    return np.argsort(a), np.argsort(a, order="n"), a.argsort(order=("n", "x")), a[np.lexsort((a["x"], a["n"]))], np.sort(a)


def as_python(a):
    found = [(x, n) for x, n in a.tolist()]
    return a.tolist(), a[0].item(), a.item(1), a[a["x"] > 1].tolist(), found, a[:4].reshape(2, 2).tolist()


def as_text(a):
    return str(a[0]), f"{a[1]}", str(a), repr(a), f"{a['x'][0]:.2f}"


def converted(a):
    b = a.astype([("x", "f4"), ("n", "i8")])
    b["x"] += 1
    return b, a.astype(a.dtype), a.astype([("y", "i8"), ("z", "f8")])


def viewed():
    a = np.zeros(3, [("x", "f8"), ("y", "f8")])
    a["y"] = 2
    b = a.view("f8")
    b[1:3] = 7
    return a, b, a.view(("f8", 2)), a.view([("u", "f8"), ("v", "f8")])


# --- assignments ---


def set_by_masks(a, t):
    a[a["x"] > 2] = (5 * t, 7)
    a[[1, 3]] = 0
    a[2:4] = [(t, 7), (1, 2)]
    a[a["n"] == 5] = a[0]
    a[4] = np.array([(8.0, 8)], PAIRS)[0]
    return a


def set_nested(a, t):
    a[a["p"]["x"] > 0] = ((t, "zz"), [4, 5])
    a["p"][1] = (7.0, "q")
    a["v"][a["v"] > 4] = 0
    return a, a["p"]["tag"]


def set_from_numbers(a):
    a[:] = np.arange(5)
    a[0] = 3
    return a


# --- other fields ---


def unstructured(a):
    b = np.ones(2, [("x", "f8"), ("v", "f8", (2,))])
    c = recfunctions.structured_to_unstructured(b)
    c[0] = 5
    both = recfunctions.structured_to_unstructured(a[["x", "n"]])
    return recfunctions.structured_to_unstructured(a), both.mean(axis=1), b, c, recfunctions.structured_to_unstructured(a, "f4")


def structured(x):
    u = recfunctions.unstructured_to_structured
    return u(x, np.dtype([("a", "f8"), ("b", "i4")])), u(x, names=["p", "q"]), u(x), u(x, np.dtype([("v", "f4", (2,))]))


def with_more(a, z):
    return (
        recfunctions.append_fields(a, "z", z, usemask=False),
        recfunctions.append_fields(a, ["z", "w"], [z, z > 1], dtypes=["f4", "?"], usemask=False),
        recfunctions.merge_arrays((a, z), flatten=True),
        recfunctions.merge_arrays((a, z)),
        recfunctions.merge_arrays((z, z * 2), asrecarray=True),
    )


def with_fewer(a):
    return (
        recfunctions.drop_fields(a, "x"), recfunctions.rename_fields(a, {"x": "y"}), recfunctions.repack_fields(a[["n"]]),
        recfunctions.require_fields(a, [("n", "i8"), ("q", "f8")]), recfunctions.stack_arrays((a, a), usemask=False),
        np.rec.array(a).x,
    )  # fmt: skip


# --- texts ---


def of_texts(a):
    return (
        a["name"], a["name"] == "bob", a["name"] != a["name"][::-1], "bob" == a["name"], a[a["name"] == "bob"]["weight"].sum(),
        a["name"] < "bob", a["name"] >= ["b", "bob", "d", "a", ""], a["name"] == "a longer name", a["age"] * 2, a["name"].shape,
    )  # fmt: skip


def texts_in_order(a):
    return (
        np.sort(a, order="name"), np.sort(a["name"]), np.argsort(a["name"]), np.unique(a["name"]),
        np.unique(a["name"], return_inverse=True), np.isin(a["name"], ["bob", "ann"]), a[np.lexsort((a["age"], a["name"]))],
        np.sort(a, order=["name", "age"])["age"],
    )  # fmt: skip


def texts_set(a, t):
    a["name"][0] = "zoe"
    a["name"][a["age"] > 25] = "much too long"
    a["name"][1:3] = ["p", "q"]
    a[4] = ("new", 4, t)
    a[a["weight"] < 0.4] = ("few", 1, 2.0)
    return a


def texts_one_by_one(a):
    found, longest = "", 0
    for person in a:
        if person["age"] > 10:
            found += person["name"] + ";"
            longest = max(longest, len(person["name"]))
    return found, longest, a[0]["name"], a["name"][1].upper(), [name for name in a["name"]], a["name"].tolist(), a.tolist()


def texts_as_keys(a):
    in_order = [str(person["name"]) for person in sorted(a, key=lambda person: person["name"])]
    by_name = {str(person["name"]): int(person["age"]) for person in a}
    heaviest = max(a, key=lambda person: person["weight"])
    return in_order, by_name, heaviest["name"], "bob" in a["name"], "zed" in a["name"], ", ".join(a["name"])


def texts_that_are_made(a):
    b = a.copy()
    for k in range(len(b)):
        b["name"][k] = b["name"][k].upper() + str(b["age"][k])
    sums = [(str(name), a["weight"][a["name"] == name].sum()) for name in sorted(set(str(one) for one in a["name"]))]
    return b, sums, a["name"] == a["name"][1] + "x", a["name"] == "b" + a["name"][1][1:], a["name"] < a["name"][2]


def of_lists(a):
    names = np.array(a["name"])
    names[0] = "new"
    chosen = np.where(a["age"] > 15, a["name"], "young")
    return np.array([a[0], a[2]]), np.array([a, a[::-1]]), np.array([a["name"], names]), isinstance(names, np.ndarray), chosen


def groups(a):
    sums = {}
    for person in a:
        sums[person["name"]] = sums.get(person["name"], 0.0) + person["weight"]
    names, rows = np.unique(a["name"], return_inverse=True)
    ages, columns = np.unique(a["age"] > 15, return_inverse=True)
    pivot = np.zeros((len(names), len(ages)))
    np.add.at(pivot, (rows, columns), a["weight"])
    return list(sums.items()), [a["weight"][a["name"] == name].mean() for name in names], pivot, len(names), np.ones(names.size)


def texts_made(x):
    a = np.zeros(3, [("name", "U5"), ("v", "f8")])
    a["v"], a["name"] = x, ["a", "b", "c"]
    b = np.array([("a", x[0]), ("b", x[1])], [("name", "U5"), ("v", "f8")])
    return a[a["v"] > 0]["name"], a, np.where(a["v"] > 0, a["name"], a["name"][::-1]), b, np.concatenate([a, b])


def bytes_in_fields(a):
    a["key"][1] = b"zz"
    return a["key"] == b"b", np.unique(a["key"]), a["n"].sum(), a[a["key"] != b"b"], np.sort(a)


def in_other_order(a):
    a["b"] += 1
    a["a"][0] = 7
    a["c"] *= 2
    return a["a"].sum(), a["b"] * 2, a["c"] + 1, a["t"] == "ä", a[::-1], a[a["a"] > 3]["b"].sum()


def beside_dates(a):
    a["x"] += 1
    return a, a[::-1], a[a["x"] > 2]


CASES = {
    moved: lambda: (pairs(),), joined: lambda: (pairs(),), chosen: lambda: (pairs(),), shaped: lambda: (pairs(),),
    distinct: lambda: (pairs(),), ordered: lambda: (pairs(),), as_python: lambda: (pairs(),), as_text: lambda: (pairs(),),
    converted: lambda: (pairs(),), viewed: lambda: (), set_by_masks: lambda: (pairs(), 2.5),
    set_nested: lambda: (nested(), 2.5), set_from_numbers: lambda: (pairs(),), unstructured: lambda: (pairs(),),
    structured: lambda: (np.arange(6.0).reshape(3, 2),), with_more: lambda: (pairs(), np.arange(5.0)),
    with_fewer: lambda: (pairs(),), of_texts: lambda: (people(),), texts_in_order: lambda: (people(),),
    texts_set: lambda: (people(), 2.5), texts_one_by_one: lambda: (people(),), groups: lambda: (people(),),
    texts_as_keys: lambda: (people(),), texts_that_are_made: lambda: (people(),), of_lists: lambda: (people(),),
   
    texts_made: lambda: (np.arange(3.0),), bytes_in_fields: lambda: (of_bytes(),), in_other_order: lambda: (swapped(),),
    beside_dates: lambda: (dated(),),
}  # fmt: skip


_SHORT = (beside_dates, set_from_numbers, of_texts)
_CASES = [pytest.param(one, marks=[] if one in _SHORT else LEFT_TO_CI, id=one.__name__) for one in CASES]


@pytest.mark.parametrize("function", _CASES)
def test_does_the_same(function):
    f = jit(function)
    for turn in (1, -1, 1):
        given = [one[::turn].copy() if isinstance(one, np.ndarray) else one for one in CASES[function]()]
        for_numpy, for_jit = copy.deepcopy(given), copy.deepcopy(given)
        expected, found = function(*for_numpy), f(*for_jit)
        assert_same(_without_order(found), _without_order(expected))
        assert_same(for_jit, for_numpy)
    assert f.cache_info().misses == 1


def _without_order(value):
    """Texts of one type, and arrays in the byte order of the processor."""
    if type(value) is tuple or type(value) is list:
        return type(value)(map(_without_order, value))
    if isinstance(value, str):
        return str(value)
    is_swapped = isinstance(value, np.ndarray) and value.dtype.names is None and value.dtype.kind in "biufc"
    return value.astype(value.dtype.newbyteorder("=")) if is_swapped else value
