"""Values of each kind, in expressions of many kinds: the same as undecorated, or an error that says what is missing."""

import collections  # noqa: F401
import copy  # noqa: F401
import functools  # noqa: F401
import itertools  # noqa: F401
import operator  # noqa: F401

import numpy as np
import pytest
from phlox import TracerError, jit
from thinning import one_in

# How a value of a kind is made of an array of integers.
KINDS = {
    "list that grows": "v = [int(a) for a in x if a > 1]",
    "list of floats": "v = [a * 0.5 for a in x if a > 1]",
    "list of pairs": "v = [(int(a), a * 0.5) for a in x if a > 1]",
    "set": "v = {int(a) for a in x}",
    "dict": "v = {}\n    for a in x: v[int(a)] = v.get(int(a), 0) + 1",
    "counter": "v = collections.Counter(x.tolist())",
    "selected elements": "v = x[x > 1]",
    "slice": "v = x[: x[0]]",
    "deque": "v = collections.deque()\n    for a in x:\n        if a > 1: v.append(int(a))",
    "list of numbers": "v = x.tolist()",
    "list of arrays": "v = [x * 1.0, x + 1, x - 1.5]",
    "integer": "v = int(x[0])",
    "integer of NumPy": "v = x[1]",
    "float": "v = float(x.mean())",
    "number or None": "v = None\n    if x[0] > 2: v = float(x[0])",
    "one of two lists": "v = [1, 2] if x[0] > 2 else [3, 4]",
    "text": "v = 'n=%d' % x[0]",
    "one of two texts": "v = 'abc' if x[0] > 2 else 'de'",
    "range": "v = range(int(x[0]))",
    "bool": "v = bool(x[0] > 2)",
    "array without dimensions": "v = np.array(x[0])",
    "view": "v = np.outer(x, x)[::2, 1]",
}
EXPRESSIONS = """
len(v); sum(v); max(v); min(v); sorted(v); list(v); tuple(v); set(v); np.array(v); np.sum(v); np.mean(v); np.max(v)
np.sort(v); np.cumsum(v); np.concatenate([v, v]); np.append(v, 3); np.diff(v); np.dot(v, v); np.zeros(len(v)); v[0]; v[-1]
v[1:]; v[::-1]; v * 2; v + v; v == v; v != v; v is v; v is None; v == None; v < 3; 2 in v; bool(v); str(v); repr(v); f"{v}"
any(v); all(v); not v; list(reversed(v)); list(enumerate(v)); list(zip(v, v)); [a for a in v if a]; {a: 1 for a in v}
copy.copy(v); copy.deepcopy(v); isinstance(v, list); isinstance(v, (int, np.integer)); isinstance(v, float)
isinstance(v, str); type(v); type(v).__name__; np.shape(v); np.ndim(v); np.size(v); np.isin(x, v); x[v]; np.median(v)
np.std(v); np.argmax(v); np.sqrt(v); abs(v); round(v); int(v); v ** 2; v / 2; v // 2; v % 2; np.prod(v); np.any(v); np.all(v)
np.tile(v, 2); np.stack([v, v]); np.vstack([v, v]); np.outer(v, v); np.column_stack([v, v]); np.linalg.norm(v)
np.interp(1.5, range(len(v)), v); np.flip(v); np.reshape(v, (-1, 1)); np.pad(v, 1); np.array_equal(v, v); np.maximum(v, 2)
np.add.reduce(v); np.add.accumulate(v); functools.reduce(lambda a, b: a + b, v); list(itertools.accumulate(v))
list(map(lambda a: a + 1, v)); next(iter(v)); v.copy(); v.count(2); v.index(2); v.pop(); v.append(7); v.sort()
list(v.items()); v.get(2, 0); v.most_common(1); v.sum(); v.shape; v.dtype; v.union({9}); v | {2}; v & {2}; v.upper(); v + "!"
"-".join(str(a) for a in v); print(v); print(*v); print(*v, sep=", "); [0] * len(v); [[0] * 3 for _ in range(len(v))]
v or [1]; v and 1; max(*v); np.r_[v, v]; np.c_[v, v]; np.hstack([v, [1, 2]]); np.array([v, v]); x + v; x[:, None] * v; v @ v
hex(v); bin(v); [1] * v; v * [1]; "abcdef"[v]; [10, 20, 30, 40, 50, 60][v]; {0: 1, 1: 2, 2: 3, 3: 4, 4: 5}[v]; 1 < v < 4
v >> 1; ~v; list(itertools.chain(v, v)); list(itertools.combinations(v, 2)); list(itertools.pairwise(v))
collections.Counter(v); collections.deque(v, maxlen=2); np.lexsort((v, v)); np.float64(v); (v, 1); [v, None]; {"a": v}
"""
VALUES = [np.array([3, 1, 4, 1, 5, 9, 2, 6]), np.array([2, 2, 0, 4, 1, 0, 1, 3]), np.array([4, 0, 0, 1, 1, 1, 2, 0])]
ALL = [part.strip() for line in EXPRESSIONS.strip().splitlines() for part in line.split("; ")]


def outcome(function, x, capsys):
    """What a call returns and prints, or the type of its error."""
    try:
        found = plain(function(x.copy()))
    except Exception as error:
        return error, capsys.readouterr().out
    return found, capsys.readouterr().out


def plain(value):
    """A value with its types, in a form that can be compared; floats to ten digits."""
    if isinstance(value, np.ndarray):
        return "array", value.dtype, value.shape, [plain(one) for one in value.ravel().tolist()]
    if isinstance(value, (float, np.floating)):
        return type(value), f"{value:.10g}"
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value), [plain(one) for one in value]
    if isinstance(value, dict):
        return type(value), [(plain(key), plain(one)) for key, one in value.items()]
    if isinstance(value, (set, frozenset)):
        return type(value), sorted(map(repr, map(plain, value)))
    return type(value), repr(value)


# What a value that may be None, and is where NumPy would make an array of objects, or no number at all, says.
_EXPLICIT = ("the value is None here", "an array or a number is required")


def cases():
    for number, expression in enumerate(ALL):
        for place, kind in enumerate(KINDS):
            yield kind, expression, number + place


CASES = [case[:2] for case in sorted(cases(), key=lambda case: case[2] % 7)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind, expression", [pytest.param(*p.values[0], marks=p.marks) for p in one_in(60, CASES, ci_step=2)])
def test_same_or_an_explicit_error(kind, expression, capsys, tmp_path):
    file = tmp_path / "written.py"
    file.write_text(f"def function(x):\n    {KINDS[kind]}\n    found = {expression}\n    return found, v\n")
    names = dict(globals())
    exec(compile(file.read_text(), str(file), "exec"), names)
    function = names["function"]
    expected = [outcome(function, x, capsys) for x in VALUES]
    if all(isinstance(found, (TypeError, AttributeError)) for found, _ in expected):
        return
    jitted = jit(function)
    for x, (wanted, printed) in zip(VALUES, expected):
        found, said = outcome(jitted, x, capsys)
        if isinstance(found, (TracerError, NotImplementedError)) or str(found).startswith(_EXPLICIT):
            return
        if isinstance(wanted, Exception) or isinstance(found, Exception):
            assert isinstance(wanted, Exception) and isinstance(found, Exception), (wanted, found)
            assert not isinstance(found, NameError), found
        else:
            assert (found, said) == (wanted, printed)
