"""Ragged dot: sums of products over groups whose sizes are known only at run time.

Source of the semantics: ``RaggedDotDimensionNumbers`` in ``xla/xla_data.proto``, the shape inference of ``chlo.ragged_dot`` in
StableHLO, and ``jax.lax.ragged_dot_general``.
"""

from __future__ import annotations

import numpy as np

from ..attributes import IntegerList
from ..element_type import BF16, F32, F64, S32, S64, element_type_of
from ..errors import require
from ..operation import InvalidSample, Sample, operation
from ..shape import Shape
from .constraints import require_dimensions, require_kind
from .dot_dimensions import DotDimensions, dot_shape, sums_of_products


@operation(
    "ragged-dot", "lhs", "rhs", "group_sizes", builder="RaggedDot",
    lhs_batch_dimensions=IntegerList((), "lhs_batch_dims"), lhs_contracting_dimensions=IntegerList((), "lhs_contracting_dims"),
    rhs_batch_dimensions=IntegerList((), "rhs_batch_dims"), rhs_contracting_dimensions=IntegerList((), "rhs_contracting_dims"),
    lhs_ragged_dimensions=IntegerList(spelling="lhs_ragged_dims"), rhs_group_dimensions=IntegerList((), "rhs_group_dims"),
)  # fmt: skip
def ragged_dot(lhs, rhs, group_sizes, *, lhs_ragged_dimensions, rhs_group_dimensions, stated, **dimensions):
    """RaggedDot(lhs, rhs, group_sizes, dimension_numbers, preferred_element_type): a dot for each group of lhs.

    The ragged dimension of lhs consists of groups of these sizes, one after the other; what follows the last group belongs to
    none, and a negative size counts as 0. With batch dimensions b:

    - ragged rows, [b,m,k] x [g,b,k,n] -> [b,m,n]: the rows of group i by matrix i of rhs; those of no group are 0;
    - ragged contracting dimension, [b,m,k] x [b,k,n] -> [g,b,m,n]: result i sums over the terms of group i;
    - ragged batch dimension, [b,m,k] x [b,k,n] -> [b,m,n]: the dot of the whole arrays, whatever the groups.

    group_sizes is [g], or has the sizes of the dimensions of lhs that stand before the ragged one of its kind in front.
    """
    numbers = dot_dimensions(dimensions)
    whole = dot_shape("ragged-dot", lhs, rhs, numbers, stated)
    require_kind("ragged-dot", "group_sizes", group_sizes, ("signed", "unsigned"))
    require(len(lhs_ragged_dimensions) == 1, f"ragged-dot: lhs must have one ragged dimension, got {lhs_ragged_dimensions}")
    require_dimensions("ragged-dot", "lhs_ragged_dims", lhs_ragged_dimensions, lhs.rank)
    prefix = tuple(lhs.dimensions[d] for d in prefix_dimensions(numbers, lhs.rank, lhs_ragged_dimensions[0]))
    fits = group_sizes.rank == 1 or (group_sizes.rank > 1 and group_sizes.dimensions[:-1] == prefix)
    wanted = "[g]" + (f" or [{','.join(map(str, prefix))},g]" if prefix else "")
    require(fits, f"ragged-dot: group_sizes must be of shape {wanted}, got {group_sizes}")
    groups = group_sizes.dimensions[-1]
    (ragged,) = lhs_ragged_dimensions
    if ragged in numbers.lhs_batch or ragged in numbers.lhs_contracting:
        none = f"ragged-dot: rhs must have no group dimension where a batch or contracting dimension is ragged, got {rhs}"
        require(not rhs_group_dimensions, none)
        return whole.with_dimensions((groups, *whole.dimensions)) if ragged in numbers.lhs_contracting else whole
    one = len(rhs_group_dimensions) == 1
    require(one, f"ragged-dot: rhs must have one group dimension where rows are ragged, got {rhs_group_dimensions}")
    require_dimensions("ragged-dot", "rhs_group_dims", rhs_group_dimensions, rhs.rank)
    (group,) = rhs_group_dimensions
    free = group not in numbers.rhs_batch and group not in numbers.rhs_contracting
    require(free, f"ragged-dot: the group dimension {group} of rhs must be neither a batch nor a contracting dimension")
    same = rhs.dimensions[group] == groups
    require(same, f"ragged-dot: group_sizes is of {groups} groups, but dimension {group} of rhs {rhs} has another size")
    at = len(whole.dimensions) - len(numbers.rhs_free(rhs.rank)) + numbers.rhs_free(rhs.rank).index(group)
    return whole.with_dimensions((*whole.dimensions[:at], *whole.dimensions[at + 1 :]))


def dot_dimensions(attributes: dict) -> DotDimensions:
    """The part of the attributes that a dot has, too."""
    sides = ("lhs_batch", "lhs_contracting", "rhs_batch", "rhs_contracting")
    return DotDimensions(*(attributes[f"{side}_dimensions"] for side in sides))


def prefix_dimensions(numbers: DotDimensions, rank: int, ragged: int) -> list[int]:
    """The dimensions of lhs for each of whose indices the groups may be different."""
    if ragged in numbers.lhs_batch:
        return list(numbers.lhs_batch[: numbers.lhs_batch.index(ragged)])
    kind = numbers.lhs_contracting if ragged in numbers.lhs_contracting else numbers.lhs_free(rank)
    return [*numbers.lhs_batch, *kind[: kind.index(ragged)]]


@ragged_dot.evaluation
def _(lhs, rhs, group_sizes, *, lhs_ragged_dimensions, rhs_group_dimensions, shape, **dimensions):
    numbers, (ragged,) = dot_dimensions(dimensions), lhs_ragged_dimensions
    if ragged in numbers.lhs_batch:
        return sums_of_products(lhs, rhs, numbers, shape)
    # The bound need not be a value of a narrow type.
    wide = np.uint64 if element_type_of(group_sizes.dtype).kind == "unsigned" else np.int64
    sizes = np.clip(group_sizes.astype(wide), 0, lhs.shape[ragged]).astype(np.int64)
    ends, position = np.cumsum(sizes, axis=-1), np.arange(lhs.shape[ragged])
    # Of each group the elements along the ragged dimension, by the dimensions in front.
    inside = (position >= (ends - sizes)[..., np.newaxis]) & (position < ends[..., np.newaxis])
    prefix = prefix_dimensions(numbers, lhs.ndim, ragged) if sizes.ndim > 1 else []
    result = np.zeros(shape.dimensions, shape.dtype)
    for group in range(sizes.shape[-1]):
        member = inside[..., group, :]
        if ragged in numbers.lhs_contracting:
            of_rhs = dict(zip((*numbers.lhs_batch, *numbers.lhs_contracting), (*numbers.rhs_batch, *numbers.rhs_contracting)))
            left = np.where(_spread(member, (*prefix, ragged), lhs.ndim), lhs, np.zeros((), lhs.dtype))
            right_mask = _spread(member, [of_rhs[d] for d in (*prefix, ragged)], rhs.ndim)
            right = np.where(right_mask, rhs, np.zeros((), rhs.dtype))
            result[group] = sums_of_products(left, right, numbers, shape.with_dimensions(shape.dimensions[1:]))
            continue
        (at,) = rhs_group_dimensions
        without = [tuple(d - (d > at) for d in side) for side in (numbers.rhs_batch, numbers.rhs_contracting)]
        of_group = numbers._replace(rhs_batch=without[0], rhs_contracting=without[1])
        product = sums_of_products(lhs, np.take(rhs, group, axis=at), of_group, shape)
        order = (*numbers.lhs_batch, *numbers.lhs_free(lhs.ndim))
        rows = _spread(member, [order.index(d) for d in (*prefix, ragged)], result.ndim)
        result = np.where(rows, product, result)
    return result


def _spread(member: np.ndarray, dimensions: list[int] | tuple[int, ...], rank: int) -> np.ndarray:
    """The array along these dimensions of one of this rank, of size 1 in the others."""
    ordered = np.transpose(member, np.argsort(dimensions))
    sizes = iter(ordered.shape)
    return ordered.reshape([next(sizes) if d in dimensions else 1 for d in range(rank)])


@ragged_dot.sampling
def _():
    rows = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (1,),
            "lhs_ragged_dimensions": (0,), "rhs_group_dimensions": (0,)}  # fmt: skip
    sizes, few = np.array([3, 0, 6], np.int32), np.array([2, 1, 5], np.int64)
    x = np.arange(1, 6, dtype=np.float32).reshape(5, 1)
    factors = np.array([[[10]], [[100]]], np.float32)
    expected = np.array([[10], [20], [300], [400], [0]], np.float32)
    yield Sample([x, factors, np.array([2, 2], np.int32)], rows, expected=expected)
    for element_type in (F32, F64, BF16):
        yield Sample([Shape(element_type, (11, 5)), Shape(element_type, (3, 5, 7)), sizes], rows)
    yield Sample([Shape(BF16, (300, 5)), Shape(BF16, (3, 5, 7)), np.array([150, 20, 100])], rows, Shape(F32, (300, 7)))
    yield Sample([Shape(F32, (11, 5)), Shape(F32, (3, 5, 7)), np.array([3, -2, 100])], rows)
    yield Sample([Shape(F32, (0, 5)), Shape(F32, (3, 5, 7)), few], rows)
    yield Sample([Shape(F32, (4, 5)), Shape(F32, (0, 5, 7)), few[:0]], rows)
    batched = {"lhs_batch_dimensions": (0,), "rhs_batch_dimensions": (1,), "lhs_contracting_dimensions": (3,),
               "rhs_contracting_dimensions": (2,), "lhs_ragged_dimensions": (2,), "rhs_group_dimensions": (0,)}  # fmt: skip
    left, right = Shape(F32, (2, 3, 8, 5)), Shape(F32, (3, 2, 5, 4))
    yield Sample([left, right, few], batched)
    yield Sample([left, right, np.arange(18, dtype=np.int32).reshape(2, 3, 3) % 5], batched)
    terms = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,), "lhs_ragged_dimensions": (1,)}
    ones = np.ones((5, 2), np.float32)
    expected = np.array([[[3, 3]], [[7, 7]]], np.float32)
    yield Sample([x.T, ones, np.array([2, 2], np.int32)], terms, expected=expected)
    yield Sample([Shape(F32, (11, 300)), Shape(F32, (300, 7)), np.array([3, 130, 160])], terms)
    yield Sample([Shape(BF16, (11, 300)), Shape(BF16, (300, 7)), np.array([3, 130, 160])], terms, Shape(F32, (3, 11, 7)))
    several = {"lhs_batch_dimensions": (0,), "rhs_batch_dimensions": (2,), "lhs_contracting_dimensions": (1, 3),
               "rhs_contracting_dimensions": (1, 0), "lhs_ragged_dimensions": (3,)}  # fmt: skip
    left, right = Shape(F32, (2, 3, 4, 8)), Shape(F32, (8, 3, 2, 5))
    yield Sample([left, right, few], several)
    yield Sample([left, right, np.arange(24, dtype=np.int32).reshape(2, 3, 4) % 3], several)
    batch = {"lhs_batch_dimensions": (0,), "rhs_batch_dimensions": (0,), "lhs_contracting_dimensions": (2,),
             "rhs_contracting_dimensions": (1,), "lhs_ragged_dimensions": (0,)}  # fmt: skip
    yield Sample([Shape(F32, (8, 3, 5)), Shape(F32, (8, 5, 4)), few], batch)
    lhs, rhs, groups = Shape(F32, (11, 5)), Shape(F32, (3, 5, 7)), Shape(S32, (3,))
    yield InvalidSample([lhs, rhs, Shape(F32, (3,))], rows, "group_sizes must have a")
    yield InvalidSample([lhs, rhs, groups], rows | {"lhs_ragged_dimensions": ()}, "must have one ragged dimension")
    yield InvalidSample([lhs, rhs, groups], rows | {"lhs_ragged_dimensions": (2,)}, r"lhs_ragged_dims must be in \[0, 2\)")
    yield InvalidSample([lhs, rhs, groups], rows | {"rhs_group_dimensions": ()}, "must have one group dimension")
    yield InvalidSample([lhs, rhs, groups], rows | {"rhs_group_dimensions": (3,)}, r"rhs_group_dims must be in \[0, 3\)")
    yield InvalidSample([lhs, rhs, groups], rows | {"rhs_group_dimensions": (1,)}, "neither a batch nor a contracting")
    yield InvalidSample([lhs, rhs, Shape(S32, (4,))], rows, "group_sizes is of 4 groups")
    yield InvalidSample([lhs, rhs, Shape(S32, (11, 3))], rows, r"group_sizes must be of shape \[g\], got")
    yield InvalidSample([lhs, rhs, Shape(S32)], rows, r"group_sizes must be of shape \[g\], got")
    yield InvalidSample([lhs, Shape(F32, (3, 6, 7)), groups], rows, "must have the same size")
    left, right = Shape(F32, (19, 17, 11, 5)), Shape(F32, (3, 19, 5, 7))
    yield InvalidSample([left, right, Shape(S64, (19, 11, 3))], batched, r"of shape \[g\] or \[19,17,g\]")
    yield InvalidSample([Shape(F32, (11, 5)), Shape(F32, (5, 7)), groups], terms | {"rhs_group_dimensions": (1,)},
                        "must have no group dimension")  # fmt: skip
