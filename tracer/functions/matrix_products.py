"""Products of matrices and vectors as HLO's dot: `np.matmul` and its relatives."""

from __future__ import annotations

import operator
import re
from typing import Any

import numpy as np

from ... import hlo
from ..recording import promotion
from ..recording.array import TracedArray, require_trace
from ..recording.function_tables import CONTRACTIONS, implements
from ..recording.operands import (
    as_strong,
    as_traced,
    broadcast,
    broadcast_shapes,
    class_of,
    instruction_of,
    prepare,
    require_out,
    result,
    store,
)
from ..recording.trace import Trace

Instruction = hlo.Instruction


def contract(
    trace: Trace,
    lhs: Instruction,
    rhs: Instruction,
    contracting: tuple[tuple[int, ...], tuple[int, ...]],
    batch: tuple[tuple[int, ...], tuple[int, ...]] = ((), ()),
) -> Instruction:
    """The sum of products over the contracting dimensions: batch dimensions first, then the others of lhs, then those of rhs.

    Booleans are combined by "or" of "and", as NumPy's matmul does; floats of 16 bits are summed in f32.
    """
    element_type = lhs.shape.element_type
    numbers = dict(
        lhs_contracting_dimensions=contracting[0], rhs_contracting_dimensions=contracting[1],
        lhs_batch_dimensions=batch[0], rhs_batch_dimensions=batch[1],
    )  # fmt: skip
    if element_type is hlo.PRED:
        product = hlo.dot(hlo.convert(lhs, hlo.S32), hlo.convert(rhs, hlo.S32), **numbers)
        return hlo.convert(product, hlo.PRED)
    if element_type.is_float and element_type.bits < 32:
        return hlo.convert(hlo.dot(lhs, rhs, hlo.F32, **numbers), element_type)
    of_vectors = contracting[0] == contracting[1] and batch[0] == batch[1] == tuple(range(len(batch[0])))
    if element_type.is_complex and of_vectors and lhs.shape.rank == rhs.shape.rank == len(contracting[0]) + len(batch[0]):
        # Real and imaginary parts, which take turns in memory, are multiplied and summed in vectors by a reduction alone.
        add = hlo.scalar_computation("add", element_type)
        return hlo.reduce(hlo.multiply(lhs, rhs), hlo.constant(0, element_type), dimensions=contracting[0], to_apply=add)
    return hlo.dot(lhs, rhs, **numbers)


def operands_of(
    a: Any, b: Any, ufunc: Any = None, dtype: Any = None, casting: str = "same_kind"
) -> tuple[Trace, Instruction, Instruction]:
    """Both operands in the dtype in which they are multiplied."""
    if ufunc is None:
        a, b = as_strong(a), as_strong(b)
        kind = promotion.result_dtype([a.dtype_class, b.dtype_class])
    else:
        a, b = prepare(a), prepare(b)
        kind = promotion.resolve(ufunc, (class_of(a), class_of(b)), (), dtype, casting)[0]
    trace = require_trace(a, b)
    element_type = hlo.element_type_of(kind)
    return trace, instruction_of(trace, a, element_type), instruction_of(trace, b, element_type)


def _mismatch(name: str, signature: str, got: int, wanted: int) -> ValueError:
    return ValueError(
        f"{name}: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature {signature} (size {got} is "
        f"different from {wanted})"
    )


def matmul_instruction(trace: Trace, lhs: Instruction, rhs: Instruction) -> Instruction:
    """NumPy's matmul of operands of one type; leading dimensions broadcast."""
    for position, operand in enumerate((lhs, rhs)):
        if operand.shape.rank == 0:
            raise ValueError(
                f"matmul: Input operand {position} does not have enough dimensions (has 0, gufunc core with signature "
                "(n?,k),(k,m?)->(n?,m?) requires 1)"
            )
    left, right = lhs.shape.dimensions, rhs.shape.dimensions
    inner, row = left[-1], right[-2] if len(right) > 1 else right[0]
    if inner != row:
        raise _mismatch("matmul", "(n?,k),(k,m?)->(n?,m?)", row, inner)
    if len(right) == 1:
        return contract(trace, lhs, rhs, ((len(left) - 1,), (0,)))
    if len(right) == 2:  # no batch on the right: the left's leading dimensions are rows
        return contract(trace, lhs, rhs, ((len(left) - 1,), (0,)))
    if len(left) == 1:
        return contract(trace, lhs, rhs, ((0,), (len(right) - 2,)))  # its dimensions: those of the right, in order
    return _batched(trace, lhs, rhs)


def _batched(trace: Trace, lhs: Instruction, rhs: Instruction) -> Instruction:
    """The product of stacks of matrices; their leading dimensions are broadcast to common batch dimensions."""
    left, right = lhs.shape.dimensions, rhs.shape.dimensions
    lead = broadcast_shapes(left[:-2], right[:-2])
    count = len(lead)
    lhs = hlo.reshape(lhs, (*(1,) * (count - len(left) + 2), *left)) if len(left) < count + 2 else lhs
    rhs = hlo.reshape(rhs, (*(1,) * (count - len(right) + 2), *right)) if len(right) < count + 2 else rhs
    lhs = broadcast(lhs, (*lead, *left[-2:]))
    rhs = broadcast(rhs, (*lead, *right[-2:]))
    every = tuple(range(count))
    return contract(trace, lhs, rhs, ((count + 1,), (count,)), (every, every))


def _contraction(ufunc: np.ufunc):
    """Decorator: the function contracts operands of one type; casting, ``out=`` and ``dtype=`` are dealt with here."""

    def declare(emit):
        def call(a, b, out=None, dtype=None, casting="same_kind", axes=None, axis=None, keepdims=False):
            if axes is not None or axis not in (None, -1) or keepdims:
                return _with_axes(ufunc, a, b, out, {"dtype": dtype, "casting": casting}, axes, axis, keepdims)
            if out is not None:
                (out,) = out if isinstance(out, tuple) else (out,)
                out = require_out(out)
                promotion.resolve(ufunc, (class_of(prepare(a)), class_of(prepare(b))), (out.dtype,), dtype, casting)
            trace, lhs, rhs = operands_of(a, b, ufunc, dtype, casting)
            product = result(trace, emit(trace, lhs, rhs))
            return product if out is None else store(out, _repeated(product, out, _ranks_of_cores(ufunc, a, b)[-1]))

        CONTRACTIONS[ufunc] = call
        return emit

    return declare


def _with_axes(
    ufunc: np.ufunc, a: Any, b: Any, out: Any, arguments: dict[str, Any], axes: Any, axis: Any, keepdims: bool
) -> TracedArray:
    """The contraction of operands whose axes are moved to where it has them."""
    *operands, found = _ranks_of_cores(ufunc, a, b)
    if found and (keepdims or axes is None):
        raise TypeError(f"{ufunc.__name__}: axis and keepdims can only be used with a single shared core dimension")
    if axes is None:
        axes = [(-1 if axis is None else axis,)] * (len(operands) + keepdims)
    elif axis is not None:
        raise TypeError("cannot specify both 'axis' and 'axes'")
    kept = operands[0] if keepdims else found
    given = _axes_of_each(ufunc, axes, (*operands, kept))
    moved = [np.moveaxis(as_traced(one), own, tuple(range(-len(own), 0))) for one, own in zip((a, b), given)]
    product = CONTRACTIONS[ufunc](*moved, **arguments)
    if keepdims:
        product = np.expand_dims(product, -1)
    if kept:
        own = given[len(operands)] if len(given) > len(operands) else tuple(range(-kept, 0))
        product = np.moveaxis(product, tuple(range(-kept, 0)), own)
    return store(out, _repeated(product, out, kept))


def _ranks_of_cores(ufunc: np.ufunc, a: Any, b: Any) -> list[int]:
    """How many core dimensions the operands and the result have: of matmul's vectors one less, and so of its result."""
    named, of_result = _core_dimensions(ufunc)
    short = [part for one, part in zip((a, b), named) if np.ndim(one) < len(part)]
    missing = {name for part in short for name in part if name.endswith("?")}
    return [sum(name not in missing for name in part) for part in (*named, of_result)]


def _core_dimensions(ufunc: np.ufunc) -> tuple[list[list[str]], list[str]]:
    """The names of the core dimensions of the operands, and of the result."""
    operands, (found,) = (
        [part.split(",") if part else [] for part in re.findall(r"\(([^)]*)\)", side)] for side in ufunc.signature.split("->")
    )
    return operands, found


def _axes_of_each(ufunc: np.ufunc, axes: Any, counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """``axes=`` as a tuple for each operand, and for the result where it is given."""
    if not isinstance(axes, list):
        raise TypeError("axes should be a list.")
    is_complete = len(axes) == len(counts) or len(axes) == len(counts) - 1 and not _core_dimensions(ufunc)[1]
    if not is_complete:
        raise ValueError(
            f"axes should be a list with an entry for all {len(counts)} inputs and outputs; entries for outputs can only be "
            "omitted if none of them has core axes."
        )
    given = [one if isinstance(one, tuple) else (one,) for one in axes]
    for number, (whole, one, count) in enumerate(zip(axes, given, counts)):
        if len(one) != count:
            said = f"{len(one)} dimensions are specified by axes tuple" if whole is one else "the axes item is a single integer"
            what = f"{ufunc.__name__}: operand {number} has {count} core dimensions, but {said}."
            raise np.exceptions.AxisError(what)
    return [tuple(operator.index(position) for position in one) for one in given]


def _repeated(product: TracedArray, out: Any, core: int) -> TracedArray:
    """The result repeated along the further dimensions of ``out=``."""
    (out,) = out if isinstance(out, tuple) else (out,)
    if out is None or np.ndim(out) <= product.ndim or product.shape[product.ndim - core :] != out.shape[out.ndim - core :]:
        return product
    return np.broadcast_to(product, out.shape)


_contraction(np.matmul)(matmul_instruction)


def conjugated(operand: Instruction) -> Instruction:
    return hlo.conjugate(operand)


def _with_rank(operand: Instruction, least: int, ufunc: str) -> None:
    if operand.shape.rank < least:
        raise ValueError(f"{ufunc}: an operand does not have enough dimensions (has {operand.shape.rank}, requires {least})")


@_contraction(np.vecdot)
def _(trace, lhs, rhs):
    _with_rank(lhs, 1, "vecdot")
    _with_rank(rhs, 1, "vecdot")
    left, right = lhs.shape.dimensions, rhs.shape.dimensions
    if left[-1] != right[-1]:
        raise _mismatch("vecdot", "(n),(n)->()", right[-1], left[-1])
    lead = broadcast_shapes(left[:-1], right[:-1])
    lhs, rhs = broadcast(conjugated(lhs), (*lead, left[-1])), broadcast(rhs, (*lead, left[-1]))
    every = tuple(range(len(lead)))
    return contract(trace, lhs, rhs, ((len(lead),), (len(lead),)), (every, every))


if hasattr(np, "matvec"):

    @_contraction(np.matvec)
    def _(trace, lhs, rhs):
        _with_rank(lhs, 2, "matvec")
        _with_rank(rhs, 1, "matvec")
        if lhs.shape.dimensions[-1] != rhs.shape.dimensions[-1]:
            raise _mismatch("matvec", "(m,n),(n)->(m)", rhs.shape.dimensions[-1], lhs.shape.dimensions[-1])
        column = hlo.reshape(rhs, (*rhs.shape.dimensions, 1))
        product = _batched(trace, lhs, column)
        return hlo.reshape(product, product.shape.dimensions[:-1])

    @_contraction(np.vecmat)
    def _(trace, lhs, rhs):
        _with_rank(lhs, 1, "vecmat")
        _with_rank(rhs, 2, "vecmat")
        if lhs.shape.dimensions[-1] != rhs.shape.dimensions[-2]:
            raise _mismatch("vecmat", "(n),(n,m)->(m)", rhs.shape.dimensions[-2], lhs.shape.dimensions[-1])
        sizes = lhs.shape.dimensions
        row = hlo.reshape(conjugated(lhs), (*sizes[:-1], 1, sizes[-1]))
        product = _batched(trace, row, rhs)
        return hlo.reshape(product, (*product.shape.dimensions[:-2], product.shape.dimensions[-1]))


@implements(np.linalg.matmul)
def linalg_matmul(x1, x2, /):
    return np.matmul(as_traced(x1), x2)


@implements(np.linalg.vecdot)
def linalg_vecdot(x1, x2, /, *, axis=-1):
    return np.vecdot(np.moveaxis(as_traced(x1), axis, -1), np.moveaxis(as_traced(x2), axis, -1))
