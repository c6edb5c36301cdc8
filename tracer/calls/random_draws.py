"""How methods of generators of random numbers become instructions that draw what NumPy or Python would draw.

`random_distributions`, `random_choices` and `random_of_python` have the methods: each is a function of a `Source` and of the
method's own arguments. What one cannot do without Python raises NotDrawn, before anything is drawn.
"""

from __future__ import annotations

import inspect
import math
import operator
import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ...runtime.bit_generators import is_drawn_natively
from ..recording.array import TracedArray, require_trace
from ..recording.operands import as_single_size, as_traced, require, shape_of

Method = Callable[..., Any]
_METHODS: dict[tuple[type, str], Method] = {}
GENERATOR, RANDOM_STATE, RANDOM = np.random.Generator, np.random.RandomState, random.Random
_NAMES = {GENERATOR: "numpy.random.Generator", RANDOM_STATE: "numpy.random.RandomState", RANDOM: "random.Random"}


class NotDrawn(Exception):
    """Python has to draw this."""


class Source(NamedTuple):
    """A generator: its type, and the number that the program knows it by."""

    kind: type
    handle: TracedArray

    @property
    def is_legacy(self) -> bool:
        """Whether it is one of those whose numbers stay what they were in NumPy's first versions."""
        return self.kind is RANDOM_STATE

    def draw(self, name: str, form: Form, element_type: hlo.ElementType, *parameters: hlo.Instruction) -> hlo.Instruction:
        """The numbers of a form, in one dimension; drawn when the program comes here."""
        if form.count == 0:
            return hlo.constant(np.zeros(0, element_type.dtype))
        trace = require_trace()
        stopped = hlo.ne(trace.read(trace.error_flag_storage()), 0)
        return hlo.custom_call(
            stopped, self.handle.instruction(trace), *parameters,
            shape=hlo.Shape(element_type, () if form.count is None else (form.count,)),
            custom_call_target=f"{_NAMES[self.kind]}.{name}", custom_call_has_side_effect=True,
        )  # fmt: skip


def drawn(kind: type, handle: TracedArray, name: str, args: tuple, kwargs: dict) -> Any:
    """What a method of a generator returns. Raises NotDrawn."""
    method = _METHODS.get((kind, name))
    if method is None or not is_drawn_natively(kind):
        raise NotDrawn
    try:
        bound = _signature(method).bind(Source(kind, handle), *args, **kwargs)
    except TypeError:  # NumPy says what is wrong with the arguments
        raise NotDrawn from None
    bound.apply_defaults()
    return method(*bound.args, **bound.kwargs)


# What draws the same numbers one after the other as into an array: not what keeps bits of one number for the next of an array.
_ONE_BY_ONE = frozenset({
    "random", "random_sample", "uniform", "normal", "standard_normal", "exponential", "standard_exponential", "standard_gamma",
    "gamma", "beta", "triangular", "binomial", "integers", "randint", "poisson", "logseries", "zipf", "laplace", "gumbel",
    "logistic", "rayleigh", "pareto", "power", "weibull", "standard_cauchy", "chisquare", "standard_t", "noncentral_chisquare",
    "f", "noncentral_f", "lognormal", "wald", "geometric", "vonmises", "rand", "randn",
})  # fmt: skip


class Repeated(NamedTuple):
    """A method to be called without a size, once for each element of an array of this size."""

    keywords: dict[str, Any]
    size: Any


def repeated(kind: type, name: str, args: tuple, kwargs: dict) -> Repeated | None:
    """The call of a method that draws numbers of a size that is known at run time only; None for any other."""
    method = _METHODS.get((kind, name))
    if name not in _ONE_BY_ONE or method is None or not is_drawn_natively(kind):
        return None
    try:
        bound = _signature(method).bind(None, *args, **kwargs)
    except TypeError:
        return None
    arguments = dict(bound.arguments)
    size = arguments.pop("size", arguments.pop("sizes", None))
    sizes = size if isinstance(size, (tuple, list)) else (size,)
    is_unknown = [isinstance(one, TracedArray) and not one.ndim and one.known_value is None for one in sizes]
    if not any(is_unknown) or arguments.get("out") is not None:
        return None
    arrays = [one for one in arguments.values() if isinstance(one, (TracedArray, np.ndarray))]
    if any([isinstance(one, (list, tuple)) for one in arguments.values()]) or any(map(shape_of, arrays)):
        return None
    if np.dtype(arguments.get("dtype", float)).itemsize < 4:
        return None
    trace = require_trace()
    for one, unknown in zip(sizes, is_unknown):
        if unknown and trace.may_become_known(one.recorded(trace)):
            one.__index__()  # raises ConcretizationError
    del arguments[next(iter(arguments))]
    return Repeated(arguments, sizes[0] if len(sizes) == 1 else tuple(sizes))


def choice_of_texts(kind: type, name: str, args: tuple, kwargs: dict) -> tuple[np.ndarray, dict[str, Any]] | None:
    """The texts, or dates, of which a call of ``choice`` chooses some, and its other arguments; None for any other call."""
    if name != "choice" or kind is RANDOM or not is_drawn_natively(kind):
        return None
    try:
        arguments = dict(_signature(_METHODS[kind, name]).bind(None, *args, **kwargs).arguments)
    except TypeError:
        return None
    arguments.pop("source")
    elements = arguments.pop("a")
    if isinstance(elements, (list, tuple)) and elements and all(type(one) is str for one in elements):
        elements = np.array(elements)
    is_known = type(elements) is np.ndarray and elements.ndim == 1 and elements.dtype.kind in "UM"
    return (elements, arguments) if is_known else None


@cache
def _signature(method: Method) -> inspect.Signature:
    return inspect.signature(method)


def methods(names: str | Sequence[str], *kinds: type) -> Callable[[Method], Method]:
    """Decorator: the function is the method of these names of these types, by default of both of NumPy's."""

    def register(method: Method) -> Method:
        each = [names] if isinstance(names, str) else names
        _METHODS.update({(kind, name): method for kind in kinds or (GENERATOR, RANDOM_STATE) for name in each})
        return method

    return register


def not_drawn() -> Any:
    """Raise NotDrawn."""
    raise NotDrawn


# --- sizes, parameters, results ---


class Form(NamedTuple):
    """The shape of what is drawn; whether it is one number, and no array."""

    shape: tuple[int, ...]
    is_number: bool

    @property
    def count(self) -> int | None:
        """How many numbers these are; None for one without dimensions."""
        return math.prod(self.shape) if self.shape else None

    def result(self, numbers: hlo.Instruction, is_python: bool = True) -> TracedArray:
        """What has been drawn, in this shape; one number is Python's or NumPy's."""
        numbers = hlo.reshape(numbers, self.shape) if self.shape else numbers
        return TracedArray.from_instruction(require_trace(), numbers, self.is_number and is_python, self.is_number)


def form_of(size: Any, *parameters: Any) -> Form:
    """The form of what is drawn with these parameters. Raises ConcretizationError for a size that is not known."""
    shapes = [shape_of(one) for one in parameters]
    if size is None:
        return Form(np.broadcast_shapes(*shapes), not any(shapes))
    found = tuple(map(_known_size, size)) if isinstance(size, (tuple, list)) else (_known_size(size),)
    try:
        fits = min(found, default=0) >= 0 and np.broadcast_shapes(found, *shapes) == found
    except ValueError:
        fits = False
    return Form(found, False) if fits else not_drawn()


def _known_size(value: Any) -> int:
    return as_single_size(value) if isinstance(value, (bool, np.bool_)) else known_integer(value)


def known_integer(value: Any) -> int:
    """An integer that has to be known. Raises ConcretizationError."""
    return operator.index(value) if isinstance(value, (int, np.integer, TracedArray)) else not_drawn()


def parameter(value: Any, kinds: str = "biuf") -> Any:
    """A parameter, of a dtype of these kinds: traced, or an array or a number that is known."""
    if isinstance(value, (list, tuple)):
        value = as_traced(value)
    if isinstance(value, TracedArray):
        return value if not value.is_dynamic and value.dtype.kind in kinds else not_drawn()
    is_one = isinstance(value, (int, float, np.ndarray, np.generic)) and np.asarray(value).dtype.kind in kinds
    return value if is_one else not_drawn()


def operand(value: Any, form: Form, dtype: Any) -> hlo.Instruction:
    """A parameter as the program takes it: a number, or an element for each number that is drawn."""
    traced = as_traced(value, np.dtype(dtype))
    if traced.shape:
        traced = np.broadcast_to(traced, form.shape).reshape(-1)
    return traced.instruction(require_trace())


def is_known(*values: Any) -> bool:
    """Whether none of these is traced."""
    return not any(isinstance(value, TracedArray) for value in values)


# --- what NumPy requires of parameters ---


class Constraint(NamedTuple):
    """What has to hold of a parameter, and what is said where it does not hold: of a number, and of elements of an array."""

    holds: Callable[[Any], Any]
    message: str
    message_of_array: str = ""

    def require(self, name: str, value: Any) -> None:
        """Raises ValueError, now or when the program runs."""
        message = self.message_of_array if shape_of(value) and self.message_of_array else self.message
        require(np.all(self.holds(as_float(value))), ValueError, message.replace("{}", name))


def as_float(value: Any) -> Any:
    """A parameter as f64."""
    return value.astype(np.float64) if isinstance(value, TracedArray) else np.asarray(value, np.float64)[()]


NOT_NEGATIVE = Constraint(lambda x: np.isnan(x) | ~np.signbit(x), "{} < 0")
