"""Products of vectors and matrices, as HLO's dot, and norms."""

from __future__ import annotations

import operator
import re
from typing import Any

import numpy as np

from ... import hlo
from ..recording import promotion
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.function_tables import CONTRACTIONS, implements
from ..recording.memory_order import is_contiguous
from ..recording.operands import (
    as_strong,
    as_traced,
    broadcast,
    broadcast_shapes,
    class_of,
    instruction_of,
    known_number,
    normalize_axis,
    one_or_several,
    prepare,
    require_out,
    result,
    store,
    zero_dimensional,
)
from ..recording.trace import Trace
from .shape_manipulation import reshaped
from .ufunc_calls import outer as ufunc_outer

Instruction = hlo.Instruction
_NO_VALUE = np._NoValue


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


def _operands(
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


# --- matmul and its relatives ---


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
            trace, lhs, rhs = _operands(a, b, ufunc, dtype, casting)
            return store(out, _repeated(result(trace, emit(trace, lhs, rhs)), out, len(_core_dimensions(ufunc)[1])))

        CONTRACTIONS[ufunc] = call
        return emit

    return declare


def _with_axes(
    ufunc: np.ufunc, a: Any, b: Any, out: Any, arguments: dict[str, Any], axes: Any, axis: Any, keepdims: bool
) -> TracedArray:
    """The contraction of operands whose axes are moved to where it has them."""
    named, of_result = _core_dimensions(ufunc)
    # matmul's vectors have one dimension less, and so has the result.
    short = [part for one, part in zip((a, b), named) if np.ndim(one) < len(part)]
    missing = {name for part in short for name in part if name.endswith("?")}
    *operands, found = (sum(name not in missing for name in part) for part in (*named, of_result))
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


def _conjugated(trace: Trace, operand: Instruction) -> Instruction:
    return hlo.conjugate(operand)


def _with_rank(trace: Trace, operand: Instruction, least: int, ufunc: str) -> None:
    if operand.shape.rank < least:
        raise ValueError(f"{ufunc}: an operand does not have enough dimensions (has {operand.shape.rank}, requires {least})")


@_contraction(np.vecdot)
def _(trace, lhs, rhs):
    _with_rank(trace, lhs, 1, "vecdot")
    _with_rank(trace, rhs, 1, "vecdot")
    left, right = lhs.shape.dimensions, rhs.shape.dimensions
    if left[-1] != right[-1]:
        raise _mismatch("vecdot", "(n),(n)->()", right[-1], left[-1])
    lead = broadcast_shapes(left[:-1], right[:-1])
    lhs, rhs = broadcast(_conjugated(trace, lhs), (*lead, left[-1])), broadcast(rhs, (*lead, left[-1]))
    every = tuple(range(len(lead)))
    return contract(trace, lhs, rhs, ((len(lead),), (len(lead),)), (every, every))


if hasattr(np, "matvec"):

    @_contraction(np.matvec)
    def _(trace, lhs, rhs):
        _with_rank(trace, lhs, 2, "matvec")
        _with_rank(trace, rhs, 1, "matvec")
        if lhs.shape.dimensions[-1] != rhs.shape.dimensions[-1]:
            raise _mismatch("matvec", "(m,n),(n)->(m)", rhs.shape.dimensions[-1], lhs.shape.dimensions[-1])
        column = hlo.reshape(rhs, (*rhs.shape.dimensions, 1))
        product = _batched(trace, lhs, column)
        return hlo.reshape(product, product.shape.dimensions[:-1])

    @_contraction(np.vecmat)
    def _(trace, lhs, rhs):
        _with_rank(trace, lhs, 1, "vecmat")
        _with_rank(trace, rhs, 2, "vecmat")
        if lhs.shape.dimensions[-1] != rhs.shape.dimensions[-2]:
            raise _mismatch("vecmat", "(n),(n,m)->(m)", rhs.shape.dimensions[-2], lhs.shape.dimensions[-1])
        sizes = lhs.shape.dimensions
        row = hlo.reshape(_conjugated(trace, lhs), (*sizes[:-1], 1, sizes[-1]))
        product = _batched(trace, row, rhs)
        return hlo.reshape(product, (*product.shape.dimensions[:-2], product.shape.dimensions[-1]))


@implements(np.linalg.matmul)
def linalg_matmul(x1, x2, /):
    return np.matmul(as_traced(x1), x2)


@implements(np.linalg.vecdot)
def linalg_vecdot(x1, x2, /, *, axis=-1):
    return np.vecdot(np.moveaxis(as_traced(x1), axis, -1), np.moveaxis(as_traced(x2), axis, -1))


# --- dot and its relatives ---


@implements(np.dot)
def dot(a, b, out=None):
    trace, lhs, rhs = _operands(a, b)
    left, right = lhs.shape.dimensions, rhs.shape.dimensions
    if out is not None:
        out, rank = require_out(out), len(left) + len(right) - (2 if left and right else 0)
        if out.dtype != lhs.shape.dtype or out.ndim != rank or not is_contiguous(out, "C"):
            raise ValueError(
                "output array is not acceptable (must have the right datatype, number of dimensions, and be a C-Array)"
            )
    if not left or not right:
        return store(out, np.multiply(as_strong(a), as_strong(b)), "safe")
    row = 0 if len(right) == 1 else len(right) - 2
    if left[-1] != right[row]:
        raise ValueError(
            f"shapes {_text(left)} and {_text(right)} not aligned: {left[-1]} (dim {len(left) - 1}) != {right[row]} (dim {row})"
        )
    return store(out, result(trace, contract(trace, lhs, rhs, ((len(left) - 1,), (row,)))), "safe")


def _text(shape: tuple[int, ...]) -> str:
    return str(shape).replace(" ", "")


@implements(np.vdot)
def vdot(a, b, /):
    trace, lhs, rhs = _operands(np.ravel(as_traced(a)), np.ravel(as_traced(b)))
    if lhs.shape.dimensions != rhs.shape.dimensions:
        raise ValueError("cannot reshape array: vdot needs operands of the same size")
    return result(trace, contract(trace, _conjugated(trace, lhs), rhs, ((0,), (0,))))


@implements(np.inner)
def inner(a, b, /):
    trace, lhs, rhs = _operands(a, b)
    left, right = lhs.shape.dimensions, rhs.shape.dimensions
    if not left or not right:
        return np.multiply(as_strong(a), as_strong(b))
    if left[-1] != right[-1]:
        raise ValueError(
            f"shapes {_text(left)} and {_text(right)} not aligned: {left[-1]} (dim {len(left) - 1}) != {right[-1]} (dim "
            f"{len(right) - 1})"
        )
    return result(trace, contract(trace, lhs, rhs, ((len(left) - 1,), (len(right) - 1,))))


@implements(np.outer)
def outer(a, b, out=None):
    return store(out, ufunc_outer(np.multiply, np.ravel(as_traced(a)), np.ravel(as_traced(b))), "same_kind")


@implements(np.linalg.outer)
def linalg_outer(x1, x2, /):
    x1, x2 = as_traced(x1), as_traced(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x1.ndim=} and {x2.ndim=}.")
    return outer(x1, x2)


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a, b, axes=2):
    """The axes must be known while tracing."""
    trace, lhs, rhs = _operands(a, b)
    ranks = lhs.shape.rank, rhs.shape.rank
    if isinstance(axes, (tuple, list)):
        left, right = map(one_or_several, axes)
    else:
        count = as_index(axes, "as a number of axes")
        left, right = tuple(range(ranks[0] - count, ranks[0])), tuple(range(count))
    if len(left) != len(right):
        raise ValueError("shape-mismatch for sum")
    left = tuple(normalize_axis(axis, ranks[0]) for axis in left)
    right = tuple(normalize_axis(axis, ranks[1]) for axis in right)
    if any(lhs.shape.dimensions[i] != rhs.shape.dimensions[j] for i, j in zip(left, right)):
        raise ValueError("shape-mismatch for sum")
    return TracedArray.from_instruction(trace, contract(trace, lhs, rhs, (left, right)), is_scalar=False)


@implements(np.kron)
def kron(a, b):
    a, b = as_strong(a), as_strong(b)
    rank = max(a.ndim, b.ndim)
    if a.ndim == 0 or b.ndim == 0:
        return np.multiply(a, b)
    left, right = ((1,) * (rank - one.ndim) + one.shape for one in (a, b))
    spread_left = reshaped(a, tuple(size for own in left for size in (own, 1)))
    spread_right = reshaped(b, tuple(size for own in right for size in (1, own)))
    return np.multiply(spread_left, spread_right).reshape([i * j for i, j in zip(left, right)])


@implements(np.trace)
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return np.sum(np.diagonal(as_traced(a), offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


@implements(np.linalg.trace)
def linalg_trace(x, /, *, offset=0, dtype=None):
    return trace(x, offset, -2, -1, dtype)


@implements(np.cross)
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = as_traced(a), as_traced(b)
    if not a.ndim or not b.ndim:
        raise ValueError("At least one array has zero dimension")
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError(
            f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {a.shape[-1]} and {b.shape[-1]} "
            "dimensional instead."
        )

    def parts(one: TracedArray) -> list:
        return [one[..., i] for i in range(one.shape[-1])]

    x, y = parts(a), parts(b)
    third = x[0] * y[1] - x[1] * y[0]
    if len(x) == len(y) == 2:
        return zero_dimensional(third)
    kind = promotion.result_dtype([a.dtype_class, b.dtype_class])
    x, y = (one if len(one) == 3 else [*one, np.zeros_like(one[0], dtype=kind)] for one in (x, y))
    product = np.stack(np.broadcast_arrays(x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], third), axis=-1)
    return np.moveaxis(product, -1, axisc)


@implements(np.linalg.cross)
def linalg_cross(x1, x2, /, *, axis=-1):
    x1, x2 = as_traced(x1), as_traced(x2)
    first, second = [one.shape[normalize_axis(axis, one.ndim)] for one in (x1, x2)]
    if first != 3 or second != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {first} and {second} dimensional instead."
        )
    return cross(x1, x2, axis=axis)


@implements(np.linalg.matrix_power)
def matrix_power(a, n):
    """The exponent must be known while tracing; a negative one takes the inverse."""
    a = as_traced(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    n = as_index(n, "as an exponent")
    if n < 0:
        return matrix_power(np.linalg.inv(a), -n)
    if n == 0:
        return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype, like=a), a.shape)
    power, square = None, a
    while n:
        n, bit = divmod(n, 2)
        if bit:
            power = square if power is None else power @ square
        square = square @ square if n else square
    return power


@implements(np.linalg.multi_dot)
def multi_dot(arrays, *, out=None):
    """Multiplied in the order of least arithmetic.

    Source: the dynamic program for matrix-chain multiplication (Cormen et al., "Introduction to Algorithms").
    """
    matrices = [as_traced(one) for one in arrays]
    if len(matrices) < 2:
        raise ValueError("Expecting at least two arrays.")
    first, last = matrices[0].ndim == 1, matrices[-1].ndim == 1
    matrices[0] = matrices[0].reshape(1, -1) if first else matrices[0]
    matrices[-1] = matrices[-1].reshape(-1, 1) if last else matrices[-1]
    if any(one.ndim != 2 for one in matrices):
        raise np.linalg.LinAlgError("array must be two-dimensional")
    sizes = [matrices[0].shape[0], *(one.shape[1] for one in matrices)]
    best: dict[tuple[int, int], tuple[int, Any]] = {(i, i): (0, None) for i in range(len(matrices))}
    for length in range(1, len(matrices)):
        for i in range(len(matrices) - length):
            j = i + length
            costs = [(best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            best[i, j] = min(costs)

    def multiply(i: int, j: int) -> TracedArray:
        if i == j:
            return matrices[i]
        k = best[i, j][1]
        return multiply(i, k) @ multiply(k + 1, j)

    product = multiply(0, len(matrices) - 1)
    if out is not None and require_out(out).dtype != product.dtype:
        raise ValueError(
            "output array is not acceptable (must have the right datatype, number of dimensions, and be a C-Array): it is "
            f"{out.dtype}, and the product {product.dtype}"
        )
    return store(out, product[0 if first else slice(None), 0 if last else slice(None)])


# --- norms ---


@implements(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    x = as_traced(x)
    ord = known_number(ord)
    if x.dtype.kind in "iub":
        x = x.astype(np.float64)
    if axis is None and (ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1)):
        total = np.sqrt(_sum_of_squares(x, None))
        return total.reshape((1,) * x.ndim) if keepdims else total
    axes = (
        tuple(range(x.ndim))
        if axis is None
        else tuple(normalize_axis(one, x.ndim) for one in (axis if isinstance(axis, tuple) else (axis,)))
    )
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _sum_of_squares(x: TracedArray, axes: Any, keepdims: bool = False) -> TracedArray:
    if not x.element_type.is_complex:
        return np.sum(x * x, axis=axes, keepdims=keepdims)
    return np.sum(x.real * x.real + x.imag * x.imag, axis=axes, keepdims=keepdims)


def _vector_norm(x: TracedArray, ord: Any, axes: tuple[int, ...], keepdims: bool) -> TracedArray:
    if ord is None or ord == 2:
        return np.sqrt(_sum_of_squares(x, axes, keepdims))
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord == np.inf:
        return abs(x).max(axis=axes, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return abs(x).min(axis=axes, keepdims=keepdims)
    if ord == 0:
        return np.sum((x != 0).astype(x.real.dtype), axis=axes, keepdims=keepdims)
    if ord == 1:
        return np.sum(abs(x), axis=axes, keepdims=keepdims)
    return np.power(np.sum(abs(x) ** ord, axis=axes, keepdims=keepdims), 1 / ord)


def _matrix_norm(x: TracedArray, ord: Any, axes: tuple[int, ...], keepdims: bool) -> TracedArray:
    row, column = axes
    if row == column:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "fro", "f"):
        return np.sqrt(_sum_of_squares(x, axes, keepdims))
    if ord in (1, -1, np.inf, -np.inf):
        sums = np.sum(abs(x), axis=row if abs(ord) == 1 else column, keepdims=True)
        if ord > 0:
            return np.max(sums, axis=axes, keepdims=keepdims, initial=0)
        return np.min(sums, axis=axes, keepdims=keepdims)
    if ord in (2, -2, "nuc"):
        values = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), compute_uv=False)
        if ord == 2 and not values.shape[-1]:
            reduced = np.sum(values, axis=-1)
        else:
            reduced = {2: np.max, -2: np.min, "nuc": np.sum}[ord](values, axis=-1)
        return np.expand_dims(reduced, tuple(sorted(axes))) if keepdims else reduced
    raise ValueError("Invalid norm order for matrices.")


@implements(np.linalg.vector_norm)
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    x = as_traced(x)
    if x.dtype.kind in "iub":
        x = x.astype(np.float64)
    axes = (
        tuple(range(x.ndim))
        if axis is None
        else tuple(normalize_axis(one, x.ndim) for one in (axis if isinstance(axis, tuple) else (axis,)))
    )
    return _vector_norm(x, known_number(ord), axes, keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return norm(x, ord, (-2, -1), keepdims)
