"""What stands outside, compared word by word: what native entries rely on."""

import collections
import gc
import sys

import numpy as np
import pytest
from phlox import jit
from phlox.backends.cpu.call.object_layout import dicts_have_versions
from phlox.backends.cpu.call.outside import words_hold, words_of

pytestmark = pytest.mark.skipif(words_of([]) is None, reason="the layout of this interpreter's objects is not known")


def test_items():
    holder = {f"name{number}": object() for number in range(5)}
    words = words_of([("item", holder, "name3", holder["name3"])])
    assert words_hold(words)
    kept, holder["name3"] = holder["name3"], object()
    assert not words_hold(words)
    holder["name3"] = kept
    assert words_hold(words)
    del holder["name3"]
    assert not words_hold(words)
    holder["name3"] = kept
    for number in range(100):  # the table moves
        holder[number] = number
    gc.collect()
    assert not words_hold(words) and words_hold(words_of([("item", holder, "name3", kept)]))


def test_absence():
    holder = {"a": 1}
    words = words_of([("absent", holder, "b")])
    assert words_hold(words)
    holder["b"] = 2
    assert not words_hold(words) and words_of([("absent", holder, "b")]) is None


def test_cells_and_functions():
    n = 1000

    def function(x=n):
        return n + x

    facts = [("cell", function.__closure__[0], n), ("function", function)]
    words = words_of(facts)
    assert words_hold(words)
    n = 2000
    assert not words_hold(words)
    words = words_of([("function", function)])
    function.__defaults__ = (3,)
    assert not words_hold(words)


def test_attributes_of_instances_are_left_to_python():
    class Holder:
        pass

    holder = Holder()
    holder.a = object()
    assert words_of([("item", vars(holder), "a", holder.a)]) is None


def test_calls_are_native_and_see_changes():
    scale, table = 2.0, np.ones(3)

    @jit(backend="cpu")
    def f(x):
        return x * scale + np.sqrt(table)

    x = np.arange(3.0)
    np.testing.assert_array_equal(f(x), 2 * x + 1)
    assert f.cache_info().entries[0].native
    hits = f.cache_info().hits
    f(x)
    assert f.cache_info().hits == hits
    scale = 3.0
    np.testing.assert_array_equal(f(x), 3 * x + 1)
    table = np.full(3, 4.0)
    np.testing.assert_array_equal(f(x), 3 * x + 2)
    scale = 2.0
    np.testing.assert_array_equal(f(x), 2 * x + 2)


@pytest.mark.skipif(not dicts_have_versions(), reason="dicts of this Python have no versions")
def test_dicts_that_are_gone_are_forgotten():
    def held(count):
        namespaces = [{"x": 1.5} for _ in range(count)]
        for names in namespaces:
            assert words_hold(words_of([("names", names, [("item", names, "x", names["x"])])]))

    def blocks(count):
        before = sys.getallocatedblocks()
        held(count)
        return sys.getallocatedblocks() - before

    held(6000)
    assert blocks(12000) < 1000


def test_items_behind_deleted_ones_and_in_another_order():
    holder = {number: object() for number in range(6)}
    del holder[1], holder[3]
    assert all(words_hold(words_of([("item", holder, key, value)])) for key, value in holder.items())
    assert words_of([("item", holder, 1, None)]) is None and words_of([("item", holder, 4.0, holder[4])]) is None
    ordered = collections.OrderedDict(holder)
    ordered.move_to_end(0)
    assert all(words_hold(words_of([("item", ordered, key, value)])) for key, value in ordered.items())
