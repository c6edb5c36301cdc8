"""Custom calls of ufuncs of libraries, by the loop that they run: ``ufunc.scipy.special.jv.dd->d``.

Behind the module and the name of the ufunc stand the types of the loop as ``ufunc.types`` spells them: NumPy's letters. The
operands have the dimensions of the results, or are scalars, which are taken for each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..element_type import ElementType, element_type_of
from ..errors import require
from ..shape import AnyShape, leaves

PREFIX = "ufunc."


class UfuncCall(NamedTuple):
    """The loop of a ufunc that a custom call runs, and what it takes and gives."""

    module: str
    ufunc: str
    types: str
    takes: tuple[ElementType, ...]
    gives: tuple[ElementType, ...]

    @property
    def target(self) -> str:
        """The name of the custom call's target."""
        return f"{PREFIX}{self.module}.{self.ufunc}.{self.types}"


@lru_cache(maxsize=4096)
def ufunc_call_of(target: str) -> UfuncCall | None:
    """The loop that a custom-call target names, None for other targets.

    >>> ufunc_call_of("ufunc.scipy.special.fresnel.d->dd").gives
    (f64, f64)
    """
    name, _, types = target.removeprefix(PREFIX).rpartition(".")
    module, _, ufunc = name.rpartition(".")
    takes, arrow, gives = types.partition("->")
    if not target.startswith(PREFIX) or not (module and takes and arrow and gives):
        return None
    try:
        return UfuncCall(
            module, ufunc, types, *[tuple([element_type_of(np.dtype(one)) for one in part]) for part in (takes, gives)]
        )
    except TypeError:
        return None


def require_ufunc_call(call: UfuncCall, operands: Sequence[AnyShape], result: AnyShape) -> None:
    """Raise ShapeError where a call has operands or results that the loop does not take or give."""
    results = leaves(result)
    fits = len(operands) == len(call.takes) and len(results) == len(call.gives) and result.is_tuple == (len(call.gives) > 1)
    for shape, kind in zip([*operands, *results], [*call.takes, *call.gives]):
        fits = fits and not shape.is_tuple and shape.element_type is kind
        fits = fits and (shape.dimensions == results[0].dimensions or shape in operands and not shape.rank)
    takes, gives = (", ".join([kind.name for kind in kinds]) for kinds in (call.takes, call.gives))
    words = (
        f"custom-call: {call.target} takes ({takes}), scalars or arrays of the dimensions of the results, and returns ({gives})"
    )
    require(fits, f"{words}, got ({', '.join(map(str, operands))}) -> {result}")
