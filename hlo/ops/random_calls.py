"""Custom calls that draw random numbers from the generators of NumPy and Python: ``numpy.random.Generator.normal``.

The first operand says that nothing is to be drawn (an error was found before), and the result is zero; the second is the handle
of a generator (`phlox.runtime.bit_generators`), whose state goes on. The others are parameters of the distribution: scalars, or
arrays with an element for each of the result. Elements are drawn in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..element_type import F32, F64, PRED, S8, S16, S32, S64, U8, U16, U32, U64, ElementType
from ..errors import require
from ..shape import AnyShape, Shape

KINDS = ("numpy.random.Generator", "numpy.random.RandomState", "random.Random")

# By the name of a draw: the types of its parameters and of what is drawn. Each is the function ``random_<name>`` of
# ``numpy/random/distributions.h``, called once for each element.
_FUNCTIONS = {
    "standard_uniform": ":d", "standard_uniform_f": ":f", "standard_normal": ":d", "standard_normal_f": ":f",
    "standard_exponential": ":d", "standard_exponential_f": ":f", "standard_gamma": "d:d", "standard_gamma_f": "f:f",
    "standard_cauchy": ":d", "uniform": "dd:d", "normal": "dd:d", "exponential": "d:d", "gamma": "dd:d", "beta": "dd:d",
    "chisquare": "d:d", "f": "dd:d", "pareto": "d:d", "weibull": "d:d", "power": "d:d", "laplace": "dd:d", "gumbel": "dd:d",
    "logistic": "dd:d", "lognormal": "dd:d", "rayleigh": "d:d", "standard_t": "d:d", "noncentral_chisquare": "dd:d",
    "noncentral_f": "ddd:d", "wald": "dd:d", "vonmises": "dd:d", "triangular": "ddd:d", "poisson": "d:l",
    "negative_binomial": "dd:l", "logseries": "d:l", "geometric": "d:l", "zipf": "d:l", "binomial": "dl:l",
    "hypergeometric": "lll:l",
}  # fmt: skip
# Others: normal and exponential numbers as RandomState draws them; the numbers from 0 on in a random order; uniform numbers and
# integers below the parameter as Python's Random draws them; different integers below the parameter as Generator draws them,
# each order as likely, or as they come.
_OTHERS = {
    "gauss": ":d", "inverse_exponential": ":d", "permutation": ":l", "random": ":d", "below": "u:u", "distinct": "u:l",
    "distinct_in_order": "u:l",
}  # fmt: skip
# Distributions as RandomState draws them.
_LEGACY = {
    "legacy_standard_gamma": "d:d", "legacy_gamma": "dd:d", "legacy_chisquare": "d:d", "legacy_standard_t": "d:d",
    "legacy_pareto": "d:d", "legacy_weibull": "d:d", "legacy_power": "d:d", "legacy_lognormal": "dd:d", "legacy_beta": "dd:d",
}  # fmt: skip
_LETTERS = {"d": F64, "f": F32, "l": S64, "u": U64}
# Integers from the first parameter on, up to the second one behind it; by rejection of the bits, or, as RandomState does, of
# what is left of them under a mask. All elements have the same bounds, or each its own.
_BOUNDED_TYPES = (PRED, S8, S16, S32, S64, U8, U16, U32, U64)
_BOUNDED = {f"bounded_fill_{one.name}": one for one in _BOUNDED_TYPES}
_EACH_BOUNDED = {f"bounded_{one.name}": one for one in _BOUNDED_TYPES}


class Draw(NamedTuple):
    """What a draw takes and gives."""

    name: str
    kind: str
    parameters: tuple[ElementType, ...]
    result: ElementType

    @property
    def is_bounded(self) -> bool:
        """Whether all elements have the same two bounds."""
        return self.name in _BOUNDED

    @property
    def is_each_bounded(self) -> bool:
        """Whether each element has two bounds of its own."""
        return self.name in _EACH_BOUNDED

    @property
    def is_distinct(self) -> bool:
        """Whether all elements differ."""
        return self.name in ("permutation", "distinct", "distinct_in_order")


def draw_of(target: str) -> Draw | None:
    """The draw that a custom-call target names, None for other targets.

    >>> draw_of("numpy.random.Generator.poisson").result is S64
    True
    """
    kind, _, name = target.rpartition(".")
    if kind not in KINDS:
        return None
    if (bounded := _BOUNDED.get(name) or _EACH_BOUNDED.get(name)) is not None:
        return Draw(name, kind, (U64, U64), bounded)
    letters = _FUNCTIONS.get(name) or _OTHERS.get(name) or _LEGACY.get(name)
    if letters is None:
        return None
    parameters, result = letters.split(":")
    return Draw(name, kind, tuple([_LETTERS[letter] for letter in parameters]), _LETTERS[result])


def require_draw(draw: Draw, target: str, operands: Sequence[AnyShape], result: AnyShape) -> None:
    """Raise ShapeError where a draw has operands or a result that it cannot have."""
    types = (PRED, U64, *draw.parameters)
    words = f"custom-call: {target} takes ({', '.join(one.name for one in types)}) and returns {draw.result.name}[n]"
    given = f"({', '.join(map(str, operands))}) -> {result}"
    fits = isinstance(result, Shape) and result.element_type is draw.result and result.rank < 2 and len(operands) == len(types)
    for number, (wanted, operand) in enumerate(zip(types, operands)):
        fits = fits and isinstance(operand, Shape) and operand.element_type is wanted
        fits = fits and (operand.rank == 0 or number > 1 and not draw.is_bounded and operand.dimensions == result.dimensions)
    is_array = draw.is_distinct or draw.is_each_bounded
    require(fits and (not is_array or result.rank == 1), f"{words}, got {given}")
