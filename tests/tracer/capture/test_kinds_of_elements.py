"""Short lists of which each element may be None, or a text, as the program decides: what hands the elements on takes them."""

import numpy as np
import pytest
from phlox import jit
from written_functions import written

from ...support.undecorated import check

X = np.array([1.0, -1.0, 2.0, -3.0, 0.5])
HANDED_ON = [
    "len(a)", "list(a)", "tuple(a)", "dict(enumerate(a))", "list(zip(a, x))", "list(zip(*[(v, 1) for v in a]))",
    "[i for i, v in enumerate(a) if v == other]", "[v == other for v in reversed(a)]", "next(iter(a)) == other",
    "list(map(lambda v: -1 if v == other else v, a))", "list(filter(lambda v: v != other, a))", "any(a)", "all(a)",
    "list(itertools.chain(a, [1.0]))", "list(itertools.islice(a, 1, 3))", "(lambda first, *rest: (first, len(rest)))(*a)",
    "collections.deque(a)[1] == other", "a.count(other)", "a.index(other)", "other in a", "'else' in a", "a + [other, 1]",
]  # fmt: skip
BY_KEY = [
    "max(a, key=lambda v: -9 if v is None else v)", "min(a, key=lambda v: -9 if v is None else v)",
    "sorted(a, key=lambda v: -9 if v is None else v)", "(a.sort(key=lambda v: v is None), a)[1]",
]  # fmt: skip
COMPUTED = [
    "np.array(a).sum()", "np.mean(a)", "np.sum(a)", "max(a)", "min(a)", "sum(a)", "sorted(a)",
]  # fmt: skip


def function_of(operation, other):
    source = f"""
import collections, itertools
import numpy as np
def program(x):
    other, a = {other!r}, [None] * len(x)
    for i in range(len(x)):
        a[i] = x[i] if x[i] > 0 else other
    return {operation}
"""
    return written(source, f"<{operation} of {other!r}>")["program"]


@pytest.mark.parametrize("other", [None, "no"])
@pytest.mark.parametrize("operation", HANDED_ON)
def test_elements_are_handed_on(operation, other):
    jitted = check(function_of(operation, other), X)
    check(jitted, -X)


@pytest.mark.parametrize("operation", BY_KEY)
def test_elements_that_may_be_none_are_compared_by_keys(operation):
    jitted = check(function_of(operation, None), X)
    check(jitted, -X)


@pytest.mark.parametrize("operation", COMPUTED)
def test_elements_that_are_there_are_computed_with(operation):
    jitted = check(function_of(operation, None), np.abs(X))
    with pytest.raises(TypeError):
        jitted(X)


def test_numpy_numbers_compared_with_texts_are_no_python_bools():
    def program(x, n):
        return x[0] == "no", x[0] != "no", "no" == x[0], x[0] == None, n == "no", float(x[0]) == "no"  # noqa: E711

    found = jit(program)(X, 3)
    assert list(map(type, found)) == list(map(type, program(X, 3)))
    assert found == program(X, 3)
