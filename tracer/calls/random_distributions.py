"""Methods of NumPy's generators that draw from distributions: of floats, and of counts.

Source of what is drawn, and of what is required: ``numpy/random/_generator.pyx``, ``mtrand.pyx`` and ``_common.pyx``.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.memory_order import is_contiguous
from ..recording.operands import as_traced, require, shape_of, store
from .random_draws import (
    GENERATOR,
    NOT_NEGATIVE,
    RANDOM_STATE,
    Constraint,
    Method,
    Source,
    as_float,
    form_of,
    methods,
    not_drawn,
    operand,
    parameter,
)

_POSITIVE = Constraint(lambda x: ~(x <= 0), "{} <= 0")
_A_NUMBER = Constraint(lambda x: ~np.isnan(x), "{} must not be NaN")
_ABOVE_1 = Constraint(lambda x: x > 1, "{} <= 1 or {} is NaN", "{} <= 1 or {} contains NaNs")
_0_TO_1 = Constraint(
    lambda x: (x >= 0) & (x <= 1), "{} < 0, {} > 1 or {} is NaN", "{} < 0, {} > 1 or {} contains NaNs"
)  # fmt: skip
_ABOVE_0_TO_1 = Constraint(lambda x: (x > 0) & (x <= 1), "{} <= 0, {} > 1 or {} contains NaNs")
_0_TO_BELOW_1 = Constraint(
    lambda x: (x >= 0) & (x < 1), "{} < 0, {} >= 1 or {} is NaN", "{} < 0, {} >= 1 or {} contains NaNs"
)  # fmt: skip
_RATE = Constraint(lambda x: x >= 0, "{} < 0 or {} is NaN", "{} < 0 or {} contains NaNs")
LARGEST_RATE = 2.0**63 - 10 * 2.0**31.5  # of Poisson's distribution
_NO_LARGE_RATE = Constraint(lambda x: x <= LARGEST_RATE, "{} value too large")


class _Parameter(NamedTuple):
    name: str
    default: Any
    constraints: tuple[Constraint, ...]


def _given(name: str, *constraints: Constraint) -> _Parameter:
    return _Parameter(name, inspect.Parameter.empty, constraints)


def _require(parameters: Sequence[_Parameter], values: Sequence[Any]) -> None:
    for one, value in zip(parameters, values):
        for constraint in one.constraints:
            constraint.require(one.name, value)


class _Distribution(NamedTuple):
    """A method that takes parameters of type f64 and a size, and draws each number by one function of NumPy's."""

    draw: str
    element_type: hlo.ElementType
    parameters: tuple[_Parameter, ...]

    @property
    def __signature__(self) -> inspect.Signature:
        empty, either = inspect.Parameter.empty, inspect.Parameter.POSITIONAL_OR_KEYWORD
        all_of_them = [_Parameter("source", empty, ()), *self.parameters, _Parameter("size", None, ())]
        return inspect.Signature([inspect.Parameter(one.name, either, default=one.default) for one in all_of_them])

    def __call__(self, source: Source, *args: Any) -> Any:
        *values, size = args
        values = [parameter(value) for value in values]
        form = form_of(size, *values)
        _require(self.parameters, values)
        operands = [operand(value, form, np.float64) for value in values]
        return form.result(source.draw(self.draw, form, self.element_type, *operands))


_LOC, _SCALE = _Parameter("loc", 0.0, ()), _Parameter("scale", 1.0, (NOT_NEGATIVE,))
_IN_BOTH = {
    "laplace": (_LOC, _SCALE), "gumbel": (_LOC, _SCALE), "logistic": (_LOC, _SCALE),
    "poisson": (_Parameter("lam", 1.0, (_RATE, _NO_LARGE_RATE)),), "logseries": (_given("p", _0_TO_BELOW_1),),
    "zipf": (_given("a", _ABOVE_1),),
}  # fmt: skip
_IN_GENERATOR = {
    "normal": (_LOC, _SCALE), "exponential": (_SCALE,), "rayleigh": (_SCALE,), "gamma": (_given("shape", NOT_NEGATIVE), _SCALE),
    "beta": (_given("a", _POSITIVE), _given("b", _POSITIVE)), "pareto": (_given("a", _POSITIVE),),
    "power": (_given("a", _POSITIVE),), "weibull": (_given("a", NOT_NEGATIVE),), "standard_cauchy": (),
    "chisquare": (_given("df", _POSITIVE),), "standard_t": (_given("df", _POSITIVE),),
    "noncentral_chisquare": (_given("df", _POSITIVE), _given("nonc", NOT_NEGATIVE)),
    "f": (_given("dfnum", _POSITIVE), _given("dfden", _POSITIVE)),
    "noncentral_f": (_given("dfnum", _POSITIVE), _given("dfden", _POSITIVE), _given("nonc", NOT_NEGATIVE)),
    "lognormal": (_Parameter("mean", 0.0, ()), _Parameter("sigma", 1.0, (NOT_NEGATIVE,))),
    "wald": (_given("mean", _POSITIVE), _given("scale", _POSITIVE)), "geometric": (_given("p", _ABOVE_0_TO_1),),
    "vonmises": (_given("mu"), _given("kappa", NOT_NEGATIVE)),
}  # fmt: skip
_IN_RANDOM_STATE = {
    name: _IN_GENERATOR[name]
    for name in ("gamma", "chisquare", "standard_t", "pareto", "weibull", "power", "lognormal", "beta")
} | {"standard_gamma": (_given("shape", NOT_NEGATIVE),)}  # fmt: skip
# Those of a Generator's methods that have a function of their own here, or none.
_OF_OTHERS = {
    "standard_gamma": (_given("shape", NOT_NEGATIVE),), "triangular": (_given("left"), _given("mode"), _given("right")),
    "binomial": (_given("n", NOT_NEGATIVE), _given("p", _0_TO_1)),
    "hypergeometric": (_given("ngood", NOT_NEGATIVE), _given("nbad", NOT_NEGATIVE), _given("nsample", NOT_NEGATIVE)),
    "negative_binomial": (_given("n", _A_NUMBER, _POSITIVE), _given("p", _ABOVE_0_TO_1)),
}  # fmt: skip
_COUNTS = {"poisson", "logseries", "zipf", "geometric"}

_TABLES = (("", _IN_BOTH, ()), ("", _IN_GENERATOR, (GENERATOR,)), ("legacy_", _IN_RANDOM_STATE, (RANDOM_STATE,)))

for _prefix, _table, _kinds in _TABLES:
    for _name, _parameters in _table.items():
        methods(_name, *_kinds)(_Distribution(_prefix + _name, hlo.S64 if _name in _COUNTS else hlo.F64, _parameters))


def require_parameters(name: str, *values: Any) -> None:
    """Raises ValueError, perhaps when the program runs, where NumPy's Generator does for parameters of a distribution."""
    _require(next(table[name] for table in (_OF_OTHERS, _IN_GENERATOR, _IN_BOTH) if name in table), values)


def require_triangle(left: Any, mode: Any, right: Any) -> None:
    """Raises ValueError, perhaps when the program runs, unless the mode lies between the others, which differ."""
    for holds, message in ((left <= mode, "left > mode"), (mode <= right, "mode > right"), (left != right, "left == right")):
        require(np.all(holds), ValueError, message)


def _standard(source: Source, draw: str, size: Any, dtype: Any = np.float64, out: Any = None, *parameters: Any) -> Any:
    """Numbers of f64, or of f32 by a function for these."""
    element_type = {np.float64: hlo.F64, np.float32: hlo.F32}.get(np.dtype(dtype).type)
    if element_type is None or out is not None and not _may_be_filled(out, element_type, size, bool(parameters)):
        raise not_drawn()
    is_reversed = out is not None and not is_contiguous(out, "C")
    form = form_of(size if out is None else out.shape[::-1] if is_reversed else out.shape, *parameters)
    operands = [operand(one, form, element_type.dtype) for one in parameters]
    numbers = source.draw(draw + ("_f" if element_type is hlo.F32 else ""), form, element_type, *operands)
    found = form.result(hlo.convert(numbers, hlo.F64) if form.is_number else numbers)
    return found if out is None else store(out, found.T if is_reversed else found)


def _may_be_filled(out: Any, element_type: hlo.ElementType, size: Any, has_parameters: bool) -> bool:
    """Whether an array can be filled in the order of its memory. NumPy says what is wrong with others."""
    if not isinstance(out, TracedArray) or out.is_dynamic or out.element_type != element_type or not out.is_writeable:
        return False
    if size is not None and form_of(size).shape != out.shape:
        return False
    return is_contiguous(out, "C") or not has_parameters and is_contiguous(out, "F")


@methods("random", GENERATOR)
def random(source, size=None, dtype=np.float64, out=None):
    return _standard(source, "standard_uniform", size, dtype, out)


@methods("standard_normal", GENERATOR)
def standard_normal(source, size=None, dtype=np.float64, out=None):
    return _standard(source, "standard_normal", size, dtype, out)


@methods("standard_exponential", GENERATOR)
def standard_exponential(source, size=None, dtype=np.float64, method="zig", out=None):
    return _standard(source, "standard_exponential" if method == "zig" else not_drawn(), size, dtype, out)


@methods("standard_gamma", GENERATOR)
def standard_gamma(source, shape, size=None, dtype=np.float64, out=None):
    shape = parameter(shape)
    NOT_NEGATIVE.require("shape", shape)
    return _standard(source, "standard_gamma", size, dtype, out, shape)


@methods(["random_sample", "random"], RANDOM_STATE)
def random_sample(source, size=None):
    return _standard(source, "standard_uniform", size)


@methods("rand", RANDOM_STATE)
def rand(source, *sizes):
    return random_sample(source, sizes or None)


@methods("standard_normal", RANDOM_STATE)
def standard_normal_by_pairs(source, size=None):
    return _standard(source, "gauss", size)


@methods("randn", RANDOM_STATE)
def randn(source, *sizes):
    return standard_normal_by_pairs(source, sizes or None)


@methods("standard_exponential", RANDOM_STATE)
def standard_exponential_by_inversion(source, size=None):
    return _standard(source, "inverse_exponential", size)


@methods("normal", RANDOM_STATE)
def normal_by_pairs(source, loc=0.0, scale=1.0, size=None):
    return _scaled(standard_normal_by_pairs, source, size, parameter(scale), parameter(loc))


@methods("exponential", RANDOM_STATE)
def exponential_by_inversion(source, scale=1.0, size=None):
    return _scaled(standard_exponential_by_inversion, source, size, parameter(scale))


def _scaled(draw: Method, source: Source, size: Any, scale: Any, *loc: Any) -> Any:
    form = form_of(size, scale, *loc)
    NOT_NEGATIVE.require("scale", scale)
    numbers = draw(source, None if form.is_number else form.shape) * as_traced(scale, np.dtype(np.float64))
    for one in loc:
        numbers = numbers + as_traced(one, np.dtype(np.float64))
    return form.result(numbers.instruction(require_trace()))


@methods("uniform")
def uniform(source, low=0.0, high=1.0, size=None):
    low, high = parameter(low), parameter(high)
    form = form_of(size, low, high)
    span = as_float(high) - as_float(low)
    is_array = shape_of(span) or source.is_legacy
    message = "Range exceeds valid bounds" if is_array else "high - low range exceeds valid bounds"
    require(np.all(np.isfinite(span)), OverflowError, message)
    if not source.is_legacy:
        NOT_NEGATIVE.require("high - low", span)
    return form.result(source.draw("uniform", form, hlo.F64, *[operand(one, form, np.float64) for one in (low, span)]))


@methods("triangular")
def triangular(source, left, mode, right, size=None):
    values = [parameter(one) for one in (left, mode, right)]
    form = form_of(size, *values)
    require_triangle(*map(as_float, values))
    return form.result(source.draw("triangular", form, hlo.F64, *[operand(one, form, np.float64) for one in values]))


@methods("binomial", GENERATOR)
def binomial(source, n, p, size=None):
    n, p = parameter(n, "iu"), parameter(p)
    form = form_of(size, n, p)
    NOT_NEGATIVE.require("n", n)
    _0_TO_1.require("p", p)
    return form.result(source.draw("binomial", form, hlo.S64, operand(p, form, np.float64), operand(n, form, np.int64)))
