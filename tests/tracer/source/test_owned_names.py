"""What a part of a function alone holds: new values that no other name, container or call gets."""

import ast

import pytest
from phlox.tracer.source.owned_names import OwnedNames

CASES = {
    "x = []\nx.append(a)\ny = x[0] + len(x)": {"x", "y"},
    "x = [v for v in a]\ny = x": set(),
    "x = a\nx.append(1)": set(),
    "x = np.zeros(3)\nx[0] = a\ny = x[1:]": set(),
    "x = np.zeros(3)\nx[0] = x[1] + a": {"x"},
    "x = []\nfor v in a:\n    x += [v]": {"x"},
    "x = []\na.append(x)": set(),
    "x = []\nother(x)": set(),
    "x = sorted(a)\nif x:\n    x = list(x)": {"x"},
    "x = sorted(a)\nif a:\n    x = a": set(),
    "x = {}\ny = {1: x}": {"y"},
    "x = []\ny = max(x, key=len)": {"x"},
    "x = []\ny = max(x, a)": set(),
    "x = lambda: 1\nwith a as b:\n    x": set(),
}


@pytest.mark.parametrize("source", CASES)
def test_names_are_owned_that_hold_new_values(source):
    assert OwnedNames(ast.parse(source).body, (), (), (), {"a"}).names == CASES[source]


def test_what_calls_return_is_owned_where_all_that_is_returned_is():
    body = ast.parse("left = result\nleft.append(1)\nfound = []").body
    found, argument = (ast.parse(name, mode="eval").body for name in ("(left, found)", "a"))
    own = OwnedNames(body, (), [found], ["result"], {"a"})
    assert own.returns_own and own.names == {"left", "found", "result"}
    own = OwnedNames(body, (), [found, argument], ["result"], {"a"})
    assert not own.returns_own and own.names == {"found"}
    assert "found" not in OwnedNames(body, [ast.Name("found", ast.Load())], (), ["result"], {"a"}).names
