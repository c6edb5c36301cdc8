"""Reductions.

Source of the semantics: "Reduce" and "Variadic Reduce" in XLA's Operation Semantics.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..attributes import CalledComputation, IntegerList
from ..builder import Builder, scalar_computation
from ..element_type import F32, F64, PRED, S32, U8
from ..operation import ACTUAL_SIZES, APPLIES, FOLDABLE, InvalidSample, Sample, operation
from ..shape import Shape, merged_dynamic_dimensions
from .constraints import one_or_tuple, require_dimensions, require_reduced, require_signature


@operation(
    "reduce", "*operands_and_init_values", builder="Reduce", traits={APPLIES, FOLDABLE}, dynamic=ACTUAL_SIZES,
    dimensions=IntegerList(), to_apply=CalledComputation(),
)  # fmt: skip
def reduce(*operands, dimensions, to_apply):
    """Reduce(operands..., init_values..., computation, dimensions): combines all elements along the dimensions into one.

    The computation takes N accumulators and N elements and returns the N new accumulators; the order in which elements are
    combined is not defined, and neither is how often an init value enters, so it should be an identity of the computation.
    The N operands have the same dimensions, the init values are scalars of their element types, and the dimensions to reduce
    are distinct. The results have the remaining dimensions, in order; there is a tuple of them where N is more than 1. Where
    there is nothing to combine, they are the init values.
    """
    arrays, scalars = require_reduced("reduce", operands)
    require_dimensions("reduce", "dimensions", dimensions, arrays[0].rank)
    require_signature("reduce", "to_apply", to_apply, scalars * 2, one_or_tuple(list(scalars)))
    kept = [dimension for dimension in range(arrays[0].rank) if dimension not in dimensions]
    dynamic = merged_dynamic_dimensions(arrays)
    dynamic = dynamic and tuple([dynamic[dimension] for dimension in kept])
    sizes = tuple([arrays[0].dimensions[dimension] for dimension in kept])
    return one_or_tuple([array.with_dimensions(sizes, dynamic) for array in arrays])


@reduce.evaluation
def _(*operands, dimensions, to_apply, run, shape):
    """One combining step for all results at once, over the reduced elements pairwise: a balanced tree."""
    count = len(operands) // 2
    kept = [d for d in range(np.ndim(operands[0])) if d not in dimensions]
    terms = prod(np.shape(operands[0])[d] for d in dimensions)
    results = shape.elements if shape.is_tuple else (shape,)
    columns = [
        np.transpose(array, (*dimensions, *kept)).reshape(terms, *result.dimensions)
        for array, result in zip(operands[:count], results)
    ]
    combine = _vectorized(to_apply, run)
    while len(columns[0]) > 1:
        half = len(columns[0]) // 2
        combined = combine([c[:half] for c in columns], [c[half : 2 * half] for c in columns])
        columns = [np.concatenate([new, old[2 * half :]]) for new, old in zip(combined, columns)]
    initial = [np.broadcast_to(init, result.dimensions) for init, result in zip(operands[count:], results)]
    if len(columns[0]) == 0:
        return tuple(initial) if shape.is_tuple else initial[0]
    combined = combine(initial, [c[0] for c in columns])
    return tuple(combined) if shape.is_tuple else combined[0]


def _vectorized(computation, run):
    """The scalar computation as a function on lists of arrays."""

    def combine(accumulators, elements):
        shape = np.shape(accumulators[0])
        flat = [np.ravel(a) for a in (*accumulators, *elements)]
        return [np.reshape(r, shape) for r in run.elementwise(computation, *flat)]

    return combine


@reduce.sampling
def _():
    for element_type in (F32, S32, F64, U8):
        for dimensions in ((0,), (1,), (2,), (0, 2), (0, 1, 2), ()):
            attributes = {"dimensions": dimensions, "to_apply": scalar_computation("add", element_type)}
            yield Sample([Shape(element_type, (4, 20, 35)), np.array(0, element_type.dtype)], attributes)
    for opcode, init in (("maximum", -np.inf), ("minimum", np.inf), ("multiply", 1)):
        attributes = {"dimensions": (1,), "to_apply": scalar_computation(opcode, F32)}
        yield Sample([Shape(F32, (5, 67)), np.float32(init)], attributes)
    for opcode, init in (("and", True), ("or", False)):
        attributes = {"dimensions": (0,), "to_apply": scalar_computation(opcode, PRED)}
        yield Sample([Shape(PRED, (7, 33)), np.bool_(init)], attributes)
    add = scalar_computation("add", F32)
    yield Sample([Shape(F32, (0, 3)), np.float32(0)], {"dimensions": (0,), "to_apply": add}, expected=np.zeros(3, np.float32))
    yield Sample([Shape(F32, (0, 3)), np.float32(0)], {"dimensions": (1,), "to_apply": add})
    # The example of "Reduce" in XLA's Operation Semantics: 1..6 in two rows, repeated four times, adds up to 84.
    cube = np.broadcast_to(np.arange(1, 7, dtype=np.float32).reshape(2, 3), (4, 2, 3))
    for dimensions, expected in (
        ((0,), [[4, 8, 12], [16, 20, 24]]),
        ((2,), [[6, 15]] * 4),
        ((0, 1), [20, 28, 36]),
        ((0, 1, 2), 84),
    ):
        expected = np.array(expected, np.float32)
        yield Sample([cube, np.float32(0)], {"dimensions": dimensions, "to_apply": add}, expected=expected)
    argmax = _argmax_computation()
    indices = np.broadcast_to(np.arange(37, dtype=np.int32), (5, 37))
    init_values = [np.float32(-np.inf), np.int32(0)]
    yield Sample([Shape(F32, (5, 37)), indices, *init_values], {"dimensions": (1,), "to_apply": argmax})
    yield Sample([Shape(F32, (5, 37)), indices, *init_values], {"dimensions": (0,), "to_apply": argmax})
    attributes = {"dimensions": (0,), "to_apply": add}
    yield InvalidSample([Shape(F32, (3,))], attributes, "N operands followed by N init values")
    yield InvalidSample([Shape(F32, (3,)), Shape(S32)], attributes, r"init value 0 must be f32\[\]")
    yield InvalidSample([Shape(F32, (3,)), Shape(F32, (1,))], attributes, "must be a scalar")
    yield InvalidSample([Shape(S32, (3,)), Shape(S32)], attributes, "to_apply must take")
    yield InvalidSample([Shape(F32, (3,)), Shape(F32)], {**attributes, "dimensions": (1,)}, "must be in")
    yield InvalidSample([Shape(F32, (3,)), Shape(F32)], {**attributes, "dimensions": (0, 0)}, "must be distinct")


def _argmax_computation():
    """The first position of the largest value, as JAX writes it."""
    b = Builder("argmax")
    best, best_index, value, index = (
        b.parameter(Shape(t), name) for t, name in ((F32, "a"), (S32, "i"), (F32, "b"), (S32, "j"))
    )
    larger, equal = (b.emit("compare", best, value, direction=direction) for direction in ("GT", "EQ"))
    earlier = b.emit("compare", best_index, index, direction="LT")
    keep = b.emit("or", larger, b.emit("and", equal, earlier))
    return b.build(b.emit("tuple", b.emit("select", keep, best, value), b.emit("select", keep, best_index, index)))
