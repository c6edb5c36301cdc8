"""Products of arrays whose sizes are known at run time only: zeros stand behind the sizes that are summed over."""

from __future__ import annotations

from string import ascii_letters
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, Sizes, dynamic, same_value, valid
from ..recording.function_tables import implements_dynamic
from ..recording.operands import normalize_axis, one_or_several, prepare, zero_dimensional
from .broadcasting import as_array, dimensions_of, fail_if, with_bound


def _contracted(a: Any, b: Any, of_a: int, of_b: int) -> tuple[TracedArray, TracedArray]:
    """The two, padded, with equal bounds along these dimensions, and zeros behind the sizes along the first's.

    ValueError is raised when the program runs where the sizes differ.
    """
    trace = require_trace(a, b)
    sizes = [one.sizes(trace) if isinstance(one, DynamicArray) else {} for one in (a, b)]
    bounds = [dimensions_of(one)[d] for one, d in ((a, of_a), (b, of_b))]
    first, second = (own.get(d, hlo.constant(np.int32(bound))) for own, d, bound in zip(sizes, (of_a, of_b), bounds))
    is_dynamic = [d in own for own, d in zip(sizes, (of_a, of_b))]
    if not any(is_dynamic) and bounds[0] != bounds[1]:
        raise ValueError(f"matmul: sizes {bounds[0]} and {bounds[1]} of the dimensions that are summed over differ")
    if any(is_dynamic) and not same_value(first, second):
        fail_if(trace, hlo.ne(first, second), "matmul: the sizes of the dimensions that are summed over differ")
    common = min(bound for bound, known in zip(bounds, is_dynamic) if known) if any(is_dynamic) else bounds[0]
    results = []
    for one, d, bound, size in ((a, of_a, bounds[0], first), (b, of_b, bounds[1], second)):
        padded = with_bound(one.padded(trace) if isinstance(one, DynamicArray) else one, d, bound, common)
        if any(is_dynamic):
            inside = valid(trace, padded.shape, {d: size})
            padded = np.where(inside, padded, np.zeros((), padded.dtype)[()])
        results.append(padded)
    return results[0], results[1]


@implements_dynamic(np.matmul)
def matmul(a, b, out=None, **arguments):
    """Stacks of matrices as an einsum."""
    a, b = as_array(prepare(a)), as_array(prepare(b))
    if arguments.keys() - {"casting", "dtype", "order", "subok"}:
        raise NotImplementedError("np.matmul with axes= of an array whose size is known at run time only is not implemented")
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    if arguments.get("dtype") is not None:
        a, b = (one.astype(arguments["dtype"], casting=arguments.get("casting", "same_kind")) for one in (a, b))
    if a.ndim > 2 or b.ndim > 2:
        of_a, of_b = "...ij" if a.ndim > 1 else "j", "...jk" if b.ndim > 1 else "j"
        return np.einsum(f"{of_a},{of_b}->...{'i' * (a.ndim > 1)}{'k' * (b.ndim > 1)}", a, b)
    trace = require_trace(a, b)
    sizes: Sizes = {}
    if isinstance(a, DynamicArray) and a.ndim == 2 and 0 in a.sizes(trace):
        sizes[0] = a.sizes(trace)[0]
    if isinstance(b, DynamicArray) and b.ndim == 2 and 1 in b.sizes(trace):
        sizes[a.ndim - 1] = b.sizes(trace)[1]
    x, y = _contracted(a, b, a.ndim - 1, 0)
    return dynamic(trace, np.matmul(x, y), sizes)


@implements_dynamic(np.dot, np.ndarray.dot)
def dot(a, b, out=None):
    a, b = as_array(prepare(a)), as_array(prepare(b))
    if not a.ndim or not b.ndim:
        return a * b
    return tensordot(a, b, (-1, -2)) if b.ndim > 2 or a.ndim > 2 and b.ndim > 1 else matmul(a, b)


@implements_dynamic(np.inner)
def inner(a, b, /):
    a, b = as_array(prepare(a)), as_array(prepare(b))
    if not a.ndim or not b.ndim:
        return a * b
    return matmul(a, b) if a.ndim == b.ndim == 1 else tensordot(a, b, (-1, -1))


@implements_dynamic(np.vdot)
def vdot(a, b, /):
    a, b = (np.ravel(as_array(prepare(one))) for one in (a, b))
    return matmul(_conjugated(a), b)


def _conjugated(a: TracedArray) -> TracedArray:
    """Bools stay bools, of which NumPy makes integers where it conjugates them."""
    return np.conj(a) if a.element_type.is_complex else a


@implements_dynamic(np.vecdot)
def vecdot(a, b, out=None, axis=-1, keepdims=False, dtype=None, **arguments):
    if arguments.keys() - {"casting", "order", "subok"}:
        raise NotImplementedError("np.vecdot with axes= where sizes are known at run time only")
    product = np.multiply(_conjugated(as_array(prepare(a))), as_array(prepare(b)), dtype=dtype, **arguments)
    return np.sum(product, axis=axis, dtype=product.dtype, keepdims=keepdims)


@implements_dynamic(np.linalg.multi_dot)
def multi_dot(arrays, *, out=None):
    """From left to right: what takes least arithmetic depends on the sizes."""
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    product, *others = arrays
    for one in others:
        product = product @ one
    return product


def _contracted_in_stacks(
    subscripts: str, a: Any, b: Any, dtype: Any = None, casting: str = "same_kind", **arguments: Any
) -> Any:
    if arguments.keys() - {"order", "subok"}:
        raise NotImplementedError("np.matvec and np.vecmat with axes= where sizes are known at run time only")
    return np.einsum(subscripts, as_array(prepare(a)), as_array(prepare(b)), dtype=dtype, casting=casting)


if hasattr(np, "matvec"):

    @implements_dynamic(np.matvec)
    def matvec(a, b, out=None, **arguments):
        return _contracted_in_stacks("...ij,...j->...i", a, b, **arguments)

    @implements_dynamic(np.vecmat)
    def vecmat(a, b, out=None, **arguments):
        return _contracted_in_stacks("...i,...ij->...j", np.conj(as_array(prepare(a))), b, **arguments)


@implements_dynamic(np.outer)
def outer(a, b, out=None):
    return np.ravel(as_array(a))[:, None] * np.ravel(as_array(b))[None, :]


@implements_dynamic(np.tensordot, np.linalg.tensordot)
def tensordot(a, b, axes=2):
    """As a contraction with a letter for each dimension."""
    a, b = as_array(prepare(a)), as_array(prepare(b))
    if isinstance(axes, int):
        of_a, of_b = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        of_a, of_b = map(one_or_several, axes)
    of_a, of_b = ([normalize_axis(one, array.ndim) for one in own] for own, array in ((of_a, a), (of_b, b)))
    if len(of_a) != len(of_b):
        raise ValueError("shape-mismatch for sum")
    labels = [*ascii_letters[: a.ndim]], [*ascii_letters[a.ndim : a.ndim + b.ndim]]
    for one, other in zip(of_a, of_b):
        labels[1][other] = labels[0][one]
    rest = [label for label in (*labels[0], *labels[1]) if labels[0].count(label) + labels[1].count(label) == 1]
    found = np.einsum(f"{''.join(labels[0])},{''.join(labels[1])}->{''.join(rest)}", a, b)
    return found if rest else zero_dimensional(found)
