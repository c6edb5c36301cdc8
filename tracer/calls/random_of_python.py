"""Methods of Python's ``random.Random``. Source of what is drawn: ``Lib/random.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import hlo
from ...runtime.bit_generators import is_drawn_natively
from ..recording.array import TracedArray, require_trace
from ..recording.function_tables import CHOICES
from ..recording.intervals import note_interval
from ..recording.operands import as_traced
from .random_choices import shuffle_list
from .random_draws import RANDOM, Form, Source, known_integer, methods, not_drawn, operand, parameter

_ONE = Form((), True)
_UP_TO = 2**62  # integers beyond are drawn by Python
_CONSTANTS = frozenset({str, bytes, type(None)})
_MOST_VALUES = 64  # what is done with one of several is done with each of them


@methods("random", RANDOM)
def random(source):
    return _ONE.result(source.draw("random", _ONE, hlo.F64))


@methods("uniform", RANDOM)
def uniform(source, a, b):
    a, b = _number(a), _number(b)
    return a + (b - a) * random(source)


@methods("expovariate", RANDOM)
def expovariate(source, lambd=1.0):
    rate = _number(lambd)
    if not isinstance(rate, TracedArray) and not rate:
        raise not_drawn()
    return _ONE.result(source.draw("inverse_exponential", _ONE, hlo.F64)) / rate


@methods("randint", RANDOM)
def randint(source, a, b):
    if isinstance(a, TracedArray) or isinstance(b, TracedArray):
        raise not_drawn()  # what is no integer
    return _between(source, known_integer(a), known_integer(b) + 1)


@methods("randrange", RANDOM)
def randrange(source, start, stop=None, step=1):
    if known_integer(step) != 1:
        raise not_drawn()
    return _between(source, 0, start) if stop is None else _between(source, start, stop)


@methods("_randbelow", RANDOM)
def below(source, n):
    numbers = source.draw("below", _ONE, hlo.U64, operand(parameter(n, "iu"), _ONE, np.uint64))
    return _ONE.result(hlo.convert(numbers, hlo.S64))


_BOUNDS = {"randint": ("a", "b"), "randrange": ("start", "stop", "step")}


def bounds_of_python(kind: type, name: str, args: tuple, kwargs: dict) -> tuple[Any, Any, int] | None:
    """Of a call that draws an integer between bounds that the program computes: these, and how many lie beyond the second."""
    names = _BOUNDS.get(name, ())
    given = dict(zip(names, args)) | kwargs
    if kind is not RANDOM or len(args) > len(names) or given.keys() - set(names) or not is_drawn_natively(kind):
        return None
    step, bounds = given.pop("step", 1), [given[one] for one in names if one in given]
    if not any(isinstance(one, TracedArray) for one in bounds) or not all(map(_is_integer, [step, *bounds])):
        return None
    if isinstance(step, TracedArray) or step != 1:
        return None
    if name == "randint":
        return (*bounds, 1) if len(bounds) == 2 else None
    return (0, *bounds, 0) if len(bounds) == 1 else (*bounds, 0)


def _is_integer(value: Any) -> bool:
    """Whether it is an integer that the program computes, or one that is known."""
    if isinstance(value, TracedArray):
        return value.is_scalar and value.dtype.kind == "i"
    return type(value) is int


def _number(value: Any) -> Any:
    """A number of Python's."""
    fits = value.weak_type if isinstance(value, TracedArray) else type(value) in (int, float)
    return value if fits else not_drawn()


def _between(source: Source, start: Any, stop: Any) -> Any:
    start, stop = known_integer(start), known_integer(stop)
    if not start < stop or max(-start, stop) > _UP_TO:
        raise not_drawn()  # Python says what is wrong
    made = start + _below(source, stop - start)
    note_interval(require_trace(), made, (start, stop - 1))
    return made


def _below(source: Source, count: int) -> TracedArray:
    numbers = source.draw("below", _ONE, hlo.U64, hlo.constant(count, hlo.U64))
    made = _ONE.result(hlo.convert(numbers, hlo.S64))
    note_interval(require_trace(), made, (0, count - 1))
    return made


@methods("choice", RANDOM)
def choice(source, seq):
    if isinstance(seq, range):
        return _between(source, 0, len(seq)) * seq.step + seq.start if len(seq) else not_drawn()
    is_array = isinstance(seq, (TracedArray, np.ndarray))
    if is_array and seq.ndim and not getattr(seq, "is_dynamic", False) and len(seq):
        return np.take(as_traced(parameter(seq, "biufc")), _below(source, len(seq)), 0, mode="clip")
    kinds = {type(one) for one in seq} if isinstance(seq, (list, tuple, str)) else set()
    if kinds and kinds <= _CONSTANTS and len(seq) <= _MOST_VALUES:
        position = _below(source, len(seq))
        return CHOICES[0](position, seq) if len(seq) > 1 else seq[0]
    if kinds not in ({int}, {float}) or kinds == {int} and not -_UP_TO <= min(seq) <= max(seq) <= _UP_TO:
        raise not_drawn()
    found = as_traced(np.array(seq))[_below(source, len(seq))]
    made = _ONE.result(found.instruction(require_trace()))
    if kinds == {int}:
        note_interval(require_trace(), made, (min(seq), max(seq)))
    return made


@methods("shuffle", RANDOM)
def shuffle(source, x):
    if isinstance(x, list):
        return shuffle_list(source, x)
    if not isinstance(x, TracedArray) or x.ndim != 1 or x.is_dynamic:
        raise not_drawn()
    form = Form(x.shape, False)
    x[...] = np.take(x, form.result(source.draw("permutation", form, hlo.S64)), 0, mode="clip")
