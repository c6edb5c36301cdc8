"""Which types NumPy computes in, and which it returns.

NumPy's own resolver decides (`ufunc.resolve_dtypes`, `np.result_type`), so promotion is NEP 50's by construction:
Python's int, float and complex are *weak*, they adapt to the arrays that they meet. Each question is asked once and
remembered.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ... import hlo

DtypeClass = Any  # a dtype, or int, float, complex for weak operands

_resolved: dict[tuple, tuple[np.dtype, ...]] = {}
_loop_types: dict[tuple, tuple[hlo.ElementType, ...]] = {}


def scalar_class(value: Any) -> DtypeClass | None:
    """The class of a scalar or an ndarray: int, float or complex for Python's numbers, else the dtype. None for anything else.

    >>> scalar_class(3), scalar_class(np.float32(3)), scalar_class(True)
    (<class 'int'>, dtype('float32'), dtype('bool'))
    """
    kind = type(value)
    if kind in (int, float, complex):
        return kind
    if isinstance(value, (np.ndarray, np.generic)):
        return native(value.dtype)
    if kind is bool:
        return np.dtype(bool)
    for base in (int, float, complex):
        if isinstance(value, base):
            return base
    return None


def plain(operand: Any) -> Any:
    """A number of a subclass of one of Python's, as a member of an IntEnum, as Python's own."""
    if isinstance(operand, np.generic) or type(operand) in (bool, int, float, complex):
        return operand
    return next((base(operand) for base in (int, float, complex) if isinstance(operand, base)), operand)


def native(dtype: Any) -> np.dtype:
    """The dtype in this machine's byte order. Raises TypeError where XLA has no such type, and for arrays."""
    if isinstance(dtype, np.ndarray) or getattr(dtype, "element_type", None) is not None:
        raise TypeError("Cannot construct a dtype from an array")
    return hlo.element_type_of(dtype).dtype


def resolve(
    ufunc: np.ufunc,
    operands: tuple[DtypeClass, ...],
    outputs: tuple[np.dtype | None, ...] = (),
    dtype: Any = None,
    casting: str = "same_kind",
) -> tuple[np.dtype, ...]:
    """The dtypes in which a ufunc takes its operands and returns its results.

    operands: their classes. outputs: the dtypes of ``out=`` arrays, None for those not given. dtype: as the ufunc's
    argument of this name, or its ``signature``. Raises what NumPy raises: TypeError where there is no loop,
    UFuncTypeError where the casting rule forbids it.

    >>> resolve(np.add, (np.dtype(np.float32), float))[-1], resolve(np.true_divide, (int, int))[-1]
    (dtype('float32'), dtype('float64'))
    """
    key = (ufunc, operands, outputs, dtype if not isinstance(dtype, list) else tuple(dtype), casting)
    found = _resolved.get(key)
    if found is None:
        signature = _signature(ufunc, dtype)
        arguments = {"signature": signature} if signature is not None else {}
        wanted = (*operands, *(outputs or (None,) * ufunc.nout))
        if signature is not None or outputs or casting != "same_kind":
            _raise_as_called(ufunc, operands, outputs, dtype, casting)
        dtypes = ufunc.resolve_dtypes(wanted, casting=casting, **arguments)
        if any(result.hasobject for result in dtypes):
            # NumPy compares Python ints among each other as objects; traced ones are int64.
            wanted = tuple(np.dtype(np.int64) if kind is int else kind for kind in wanted)
            dtypes = ufunc.resolve_dtypes(wanted, casting=casting, **arguments)
        found = _resolved[key] = tuple(native(result) for result in dtypes)
    return found


def _raise_as_called(
    ufunc: np.ufunc, operands: tuple[DtypeClass, ...], outputs: tuple[np.dtype | None, ...], dtype: Any, casting: str
) -> None:
    """Raises what a call of such operands does: ``resolve_dtypes`` crashes where it would say that a number cannot be cast."""
    if ufunc.signature is not None or not any(isinstance(kind, type) for kind in operands):
        return
    given = [kind(1) if isinstance(kind, type) else np.empty(0, kind) for kind in operands]
    is_signature = isinstance(dtype, (tuple, list)) or isinstance(dtype, str) and "->" in dtype
    arguments: dict[str, Any] = {} if dtype is None else {"signature" if is_signature else "dtype": dtype}
    if outputs and (len(given) == 1 or any(isinstance(one, np.ndarray) for one in given)):
        arguments["out"] = tuple(None if kind is None else np.empty(0, kind) for kind in outputs)
    with np.errstate(all="ignore"):
        ufunc(*given, casting=casting, **arguments)


def loop_types(
    ufunc: np.ufunc,
    operands: tuple[DtypeClass, ...],
    outputs: tuple[np.dtype | None, ...] = (),
    dtype: Any = None,
    casting: str = "same_kind",
) -> tuple[hlo.ElementType, ...]:
    """As `resolve`, in element types."""
    plain = not outputs and dtype is None and casting == "same_kind"
    key = (ufunc, operands)
    found = _loop_types.get(key) if plain else None
    if found is None:
        found = tuple(hlo.element_type_of(kind) for kind in resolve(ufunc, operands, outputs, dtype, casting))
        if plain:
            _loop_types[key] = found
    return found


def _signature(ufunc: np.ufunc, dtype: Any) -> tuple | None:
    if dtype is None:
        return None
    if isinstance(dtype, (tuple, list)):
        return tuple(None if part is None else hlo.as_dtype(part) for part in dtype)
    if isinstance(dtype, str) and "->" in dtype:
        return tuple(np.dtype(character) for character in dtype.replace("->", ""))
    return (None,) * ufunc.nin + (hlo.as_dtype(dtype),) * ufunc.nout


def resolve_reduction(ufunc: np.ufunc, operand: np.dtype, dtype: Any = None) -> np.dtype:
    """The dtype in which ``ufunc.reduce`` combines an operand's elements: small integers are summed in int64 or uint64.

    >>> resolve_reduction(np.add, np.dtype(np.uint8)), resolve_reduction(np.maximum, np.dtype(np.uint8))
    (dtype('uint64'), dtype('uint8'))
    """
    key = (ufunc, operand, dtype)
    found = _resolved.get(key)
    if found is None:
        if dtype is not None:
            signature: tuple | None = (hlo.as_dtype(dtype), None, None)
            dtypes = ufunc.resolve_dtypes((None, operand, None), signature=signature, reduction=True, casting="unsafe")
        else:
            dtypes = ufunc.resolve_dtypes((None, operand, None), reduction=True)
        found = _resolved[key] = (native(dtypes[0]),)
    return found[0]


def result_dtype(classes: Iterable[DtypeClass]) -> np.dtype:
    """`np.result_type` of operands of these classes.

    >>> result_dtype([np.dtype(np.float32), float, int])
    dtype('float32')
    """
    key = ("result_type", *classes)
    found = _resolved.get(key)
    if found is None:
        arguments = [0 if c is int else 0.0 if c is float else 0j if c is complex else c for c in key[1:]]
        found = _resolved[key] = (native(np.result_type(*arguments)),)
    return found[0]


def require_casting(casting: str) -> None:
    """Raise ValueError, as NumPy does whatever is cast, where there is no such rule.

    >>> require_casting("safe")
    """
    np.can_cast(np.bool_, np.bool_, casting)


def require_cast(source: DtypeClass, target: np.dtype, casting: str = "same_kind", what: str = "array data") -> None:
    """Raise TypeError, as NumPy words it, unless the casting rule allows source to become target."""
    if isinstance(source, type):
        allowed = casting == "unsafe" or {int: "iufcV", float: "fcV", complex: "cV"}[source].find(target.kind) >= 0
        source = np.dtype(source)
    else:
        allowed = np.can_cast(source, target, casting)
    if not allowed:
        raise TypeError(f"Cannot cast {what} from {source!r} to {target!r} according to the rule '{casting}'")
