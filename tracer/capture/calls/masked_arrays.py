"""`numpy.ma`: its functions are those of `..library.masked` while a function is traced, and its arrays are of that class."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...outside.guards import SameForm
from ...outside.paths import MISSING, Derived, Path
from ...recording import pytree
from ...recording.current_trace import current_trace
from ...recording.operands import has_traced
from ..library.masked.array import MaskedArray, shown
from ..library.masked.functions import BY_NAME
from ..library.masked.products import accumulate, outer_of_ufunc, reduce
from ..outside.surroundings import Surroundings
from ..texts.deferred import Deferred
from .dispatch import call
from .meanings import MEANINGS, implements
from .users_functions import captured


def _followed(function: Callable) -> Callable:
    def run(*args: Any, **kwargs: Any) -> Any:
        return call(function, *args, **kwargs)

    return run


def _by_source(function: types.FunctionType) -> Callable:
    def run(*args: Any, **kwargs: Any) -> Any:
        return captured(function)(*args, **kwargs)

    return run


def _of_known_values(name: str, original: Callable) -> Callable:
    def run(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if has_traced(given) or any(isinstance(one, MaskedArray) for one in given):
            raise NotImplementedError(f"np.ma.{name} is not implemented in traced functions")
        return original(*args, **kwargs)

    return run


# What NumPy itself writes in terms of the others.
_FOLLOWED = {
    "append", "apply_over_axes", "compress_cols", "compress_nd", "compress_rowcols", "compress_rows", "flatnotmasked_edges",
    "flatten_mask", "in1d", "intersect1d", "isin", "mask_cols", "mask_rowcols", "mask_rows", "notmasked_edges", "setdiff1d",
    "setxor1d", "union1d",
}  # fmt: skip
# What makes no masked arrays.
_LEFT = {"MAError", "MaskError", "MaskType", "default_fill_value", "maximum_fill_value", "minimum_fill_value"}

for _name, _original in vars(np.ma).items():
    if _name.startswith("_") or isinstance(_original, types.ModuleType) or not callable(_original) or _name in _LEFT:
        continue
    if vars(np).get(_name) is _original:  # which asks its arguments
        continue
    _function = _by_source(_original) if _name in _FOLLOWED else BY_NAME.get(_name)
    MEANINGS[_original] = _of_known_values(_name, _original) if _function is None else _followed(_function)


for _name, _method in (("reduce", reduce), ("accumulate", accumulate), ("outer", outer_of_ufunc)):
    MEANINGS[vars(vars(np.ma.core)["_MaskedBinaryOperation"])[_name]] = _followed(_method)


@implements(shown)
def text_of_array(convert: Callable[[Any], str], data: Any, mask: Any, fill: Any) -> Any:
    return Deferred(shown, convert, data, mask, fill)


# --- from outside ---

# One object of each, which is equal to itself inside of tuples.
_NANS: dict[str, Any] = {}


def _about(array: Any) -> Any:
    """What code is made for of a masked array: its fill value, whether its mask is hard, and whether it has one."""
    if type(array) is not np.ma.MaskedArray or array.dtype.names is not None:
        return None
    fill = vars(array).get("_fill_value")
    if fill is not None:
        fill = fill.item()
        fill = fill if fill == fill else _NANS.setdefault(repr(fill), fill)
    return fill, array.hardmask, array.mask is not np.ma.nomask


def _data_of(array: Any) -> Any:
    return MISSING if _about(array) is None else array.data


def _mask_of(array: Any) -> Any:
    about = _about(array)
    return MISSING if about is None or not about[2] else array.mask


def _taken_apart(array: np.ma.MaskedArray) -> tuple[tuple[Any, ...], Any]:
    about = _about(array)
    if about is None:
        raise NotImplementedError("masked arrays of records are not implemented")
    return (array.data, array.mask) if about[2] else (array.data,), about


def _put_together(about: tuple[Any, bool, bool], parts: tuple[Any, ...]) -> Any:
    fill, is_hard, has_mask = about
    data, mask = parts if has_mask else (parts[0], np.ma.nomask)
    if current_trace() is None:
        return np.ma.array(data, mask=mask, fill_value=fill, hard_mask=is_hard)
    return call(MaskedArray, data, mask, fill, is_hard, is_outside=True)


pytree.register_pytree(np.ma.MaskedArray, _taken_apart, _put_together)


def _from_outside(surroundings: Surroundings, array: np.ma.MaskedArray, path: Path) -> Any:
    """What the traced function sees of a masked array that it reads from outside."""
    about = _about(array)
    if about is None or array.dtype.kind not in "biufc":
        return surroundings.opaque(array, path)

    def make() -> Any:
        surroundings.guard(SameForm(path, _about, about))
        parts, _ = _taken_apart(array)
        read = zip(parts, (_data_of, _mask_of))
        return _put_together(about, tuple([surroundings.handle(part, Derived(path, how)) for part, how in read]))

    return surroundings.in_parts(array, path, make)


Surroundings.masked = staticmethod(_from_outside)
