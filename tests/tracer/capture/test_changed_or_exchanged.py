"""One side of a branch changes a container in place, the other one gives its name another one, of all types of containers."""

import collections
from typing import NamedTuple

import numpy as np
import pytest
from phlox import TracerError, jit
from thinning import one_in


class Box:
    def __init__(self, v):
        self.v = v

    def __repr__(self):
        return f"Box({self.v})"


class Pair(NamedTuple):
    first: object
    second: int


SOURCES = {
    "changed first": "g = {old}\nif x > 0:\n    {change}\nelse:\n    g = {new}\nreturn g",
    "changed twice": "g = {old}\nif x > 0:\n    g = {new}\nelse:\n    {change}\n    {change}\nreturn g",
    "another name": "g = {old}\nh = g\nif x > 0:\n    {change}\nelse:\n    g = {new}\nreturn g, h",
    "attribute": "o = Box({old})\nif x > 0:\n    g = o.v\n    {change}\nelse:\n    o.v = {new}\nreturn o",
    "item": "o = [{old}]\nif x > 0:\n    g = o[0]\n    {change}\nelse:\n    o[0] = {new}\nreturn o",
    "returned": "g = {old}\nif x > 0:\n    {change}\n    return g\nreturn {new}",
    "made there": "if x > 0:\n    g = {old}\n    {change}\nelse:\n    g = {new}\nreturn g",
    "conditional": "g = {old}\nh = {new}\nk = g if x > 0 else h\n{change}\nreturn k if x < 3 else g",
    "caught": (
        "g = {old}\ntry:\n    {change}\n    if x > 0: raise ValueError\n    g = {new}\nexcept ValueError:\n    pass\nreturn g"
    ),
    "branches": (
        "g = {old}\nif x > 0:\n    if n > 5:\n        {change}\n    else:\n        g = {new}\nelse:\n    {change}\nreturn g"
    ),
}
CONTAINERS = {
    "set": ("{7}", "g.add(n)", "{3}"),
    "set with a known element": ("{7}", "g.add(4)", "{3}"),
    "set that is emptied": ("{7, 8}", "g.clear()", "{3}"),
    "list": ("[7]", "g.append(n)", "[3]"),
    "dict": ("{7: 1}", "g[n] = 5", "{3: 2}"),
    "defaultdict": ("collections.defaultdict(int, {7: 1})", "g[n] += 3", "collections.defaultdict(int, {7: 2})"),
    "defaultdict of one key": ("collections.defaultdict(int, {7: 1})", "g[7] += n", "collections.defaultdict(int, {7: 2})"),
    "Counter": ("collections.Counter([1, 2])", "g[n] += 3", "collections.Counter([5])"),
    "OrderedDict": ("collections.OrderedDict({7: 1})", "g[n] = 5", "collections.OrderedDict({7: 2})"),
    "OrderedDict of one key": ("collections.OrderedDict({7: 1})", "g[7] = 5", "collections.OrderedDict({7: 2})"),
    "deque": ("collections.deque([1])", "g.append(n)", "collections.deque([4])"),
    "deque that gets shorter": ("collections.deque([1, 2])", "g.popleft()", "collections.deque([4])"),
    "deque of a length": ("collections.deque([1], 1)", "g.append(n)", "collections.deque([4], 1)"),
    "deque of another length": ("collections.deque([1], 1)", "g.append(n)", "collections.deque([4, 5], 2)"),
    "tuple of a set": ("({1}, 2)", "g[0].add(n)", "({2}, 1)"),
    "tuple of a deque": ("(collections.deque([1]), 2)", "g[0].append(n)", "(collections.deque([2]), 1)"),
    "named tuple of a list": ("Pair([1], 2)", "g.first.append(n)", "Pair([3], 1)"),
    "named tuple of a set": ("Pair({1}, 2)", "g.first.add(n)", "Pair({3}, 1)"),
    "list of a set": ("[{1}]", "g[0].add(n)", "[{2}]"),
    "object": ("Box(1)", "g.v = n", "Box(3)"),
    "object with a set": ("Box({1})", "g.v.add(n)", "Box({3})"),
    "set or None": ("{1}", "g.add(n)", "None"),
    "deque or None": ("collections.deque([1])", "g.append(n)", "None"),
    "defaultdict or a number": ("collections.defaultdict(int)", "g[n] += 1", "7"),
}
# Which name holds what is known in all of these.
KNOWN = {"changed first", "changed twice", "returned", "made there", "attribute"}


def _function(tmp_path, source, container):
    old, change, new = CONTAINERS[container]
    body = SOURCES[source].replace("{old}", old).replace("{change}", change).replace("{new}", new)
    text = "def f(x, n):\n    " + body.replace("\n", "\n    ") + "\n"
    path = tmp_path / "program.py"
    path.write_text(text)
    names = {"collections": collections, "np": np, "Box": Box, "Pair": Pair, "__name__": __name__}
    exec(compile(text, str(path), "exec"), names)
    return names["f"]


@pytest.mark.parametrize("container", one_in(4, CONTAINERS))
@pytest.mark.parametrize("source", SOURCES)
def test_each_side_leaves_what_it_leaves_in_python(tmp_path, source, container):
    function = _function(tmp_path, source, container)
    traced = jit(function)
    for args in [(1.0, 5), (-1.0, 5), (4.0, 8), (1.0, 2), (-2.0, 8)]:
        expected = function(*args)
        try:
            result = traced(*args)
        except (TracerError, NotImplementedError):
            assert source not in KNOWN
            return
        assert repr(result) == repr(expected)
