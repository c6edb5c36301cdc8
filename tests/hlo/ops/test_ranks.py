"""Operations on arrays of rank 0 to 5, with dimensions of size 0 and 1, in native code against the reference."""

import numpy as np
import pytest
from operation_checks import assert_equal
from phlox import hlo
from phlox.backends.registry import get_backend
from phlox.hlo import BF16, C64, F32, PRED, S32, U8, Shape, scalar_computation
from phlox.hlo.window import make_window
from phlox.xla_builder import XlaBuilder
from sample_values import value_of
from thinning import one_in_all

DIMENSIONS = (
    (), (1,), (0,), (19,), (1, 1), (0, 3), (3, 0), (5, 1), (1, 18), (2, 17), (1, 1, 1), (2, 0, 3), (2, 1, 5), (3, 2, 9),
    (1, 7, 1), (1, 1, 1, 1), (2, 3, 0, 2), (2, 1, 3, 1), (2, 3, 2, 5), (1, 1, 1, 1, 1), (2, 1, 0, 3, 1), (1, 2, 1, 3, 1),
    (2, 2, 3, 2, 3),
)  # fmt: skip
TYPES = (F32, S32, U8, PRED, BF16, C64)


def indices_of(dimensions, random):
    return [int(random.integers(-1, size + 2)) for size in dimensions]


def elementwise(b, x, random):
    element_type = x.shape.element_type
    yield b.emit("select", b.Compare(x, x, "EQ"), x, x)
    yield b.emit("not" if element_type is PRED else "negate", x)
    yield b.Add(x, x)
    yield b.ConvertElementType(x, C64 if element_type is C64 else F32)
    if element_type is not C64 and element_type is not PRED:
        yield b.Clamp(b.constant(0, element_type), x, b.constant(1, element_type))


def moved(b, x, random):
    dimensions, rank = x.shape.dimensions, x.shape.rank
    order = random.permutation(rank).tolist()
    yield b.Transpose(x, dimensions=order)
    yield b.Rev(x, dimensions=[d for d in range(rank) if d % 2 == 0])
    yield b.emit("reshape", x, shape=x.shape.with_dimensions((x.shape.size,)))
    yield b.emit("reshape", b.Transpose(x, dimensions=order), shape=x.shape.with_dimensions((1, *dimensions[::-1])))
    yield b.BroadcastInDim(x, (2, *dimensions, 1), range(1, rank + 1))
    yield b.Pad(x, b.constant(0, x.shape.element_type), padding=[(d % 2, 1, (d + 1) % 2) for d in range(rank)])
    yield b.Pad(
        x, b.constant(0, x.shape.element_type), padding=[(-min(size, d % 2), 1, 0) for d, size in enumerate(dimensions)]
    )
    starts = [b.constant(index, S32) for index in indices_of(dimensions, random)]
    yield b.DynamicSlice(x, starts, [max(size - 1, 0) for size in dimensions])
    yield b.emit("slice", x, slice=[(min(1, size), size, 2) for size in dimensions])
    update = b.emit("slice", x, slice=[(0, min(2, size), 1) for size in dimensions])
    yield b.DynamicUpdateSlice(x, update, starts)
    for d in range(rank):
        yield b.ConcatInDim([x, x, update] if all(size <= 2 for e, size in enumerate(dimensions) if e != d) else [x, x], d)


def reduced(b, x, random):
    element_type, rank = x.shape.element_type, x.shape.rank
    if element_type is C64:
        return
    opcode = {"pred": "or", "float": "maximum"}.get(element_type.kind, "add")
    combine, start = scalar_computation(opcode, element_type), b.constant(0, element_type)
    for d in range(rank):
        yield b.Reduce(x, start, combine, [d])
    yield b.Reduce(x, start, combine, range(rank))
    yield b.Reduce(x, start, combine, range(0, rank, 2))
    if rank and x.shape.size:
        window = make_window([min(size, 2) for size in x.shape.dimensions], None, [(0, 1)] * rank)
        yield b.emit("reduce-window", x, start, window=window, to_apply=combine)
        yield b.emit("reduce-window", x, start, window=make_window(x.shape.dimensions), to_apply=combine)


def indexed(b, x, random):
    dimensions, rank = x.shape.dimensions, x.shape.rank
    for d, size in enumerate(dimensions):
        if not size:
            continue
        positions = b.constant(random.integers(-1, size + 2, 3), S32)
        yield b.Gather(
            x, positions, offset_dims=[e for e in range(rank) if e != d], collapsed_slice_dims=(d,), start_index_map=(d,),
            index_vector_dim=1, slice_sizes=[1 if e == d else n for e, n in enumerate(dimensions)],
        )  # fmt: skip
        if x.shape.element_type in (S32, U8):
            updates = b.emit(
                "slice", b.ConcatInDim([x] * 3, d), slice=[(0, 3 if e == d else n, 1) for e, n in enumerate(dimensions)]
            )
            yield b.Scatter(
                x, positions, updates, scalar_computation("add", x.shape.element_type),
                update_window_dims=[e for e in range(rank) if e != d], inserted_window_dims=(d,),
                scatter_dims_to_operand_dims=(d,), index_vector_dim=1,
            )  # fmt: skip
    if rank and x.shape.element_type in (S32, U8, F32):
        tame = b.Select(b.Compare(x, x, "EQ"), x, b.BroadcastInDim(b.constant(1, x.shape.element_type), dimensions, ()))
        for d in range(rank):
            yield b.Sort(tame, dimension=d)


def iotas(b, x, random):
    if x.shape.element_type in (F32, S32):
        for d in range(x.shape.rank):
            yield b.Iota(x.shape, d)


@pytest.mark.parametrize(("rank", "family"), one_in_all(2, range(6), [elementwise, moved, reduced, indexed, iotas]))
def test_rank(rank, family):
    random = np.random.default_rng(rank)
    b = XlaBuilder("f")
    results, arguments = [], []
    for dimensions in (dimensions for dimensions in DIMENSIONS if len(dimensions) == rank):
        for element_type in TYPES if rank < 3 else TYPES[rank % 2 :: 2]:
            x = b.parameter(Shape(element_type, dimensions))
            made = list(family(b, x, random))
            arguments.append(value_of(x.shape, random))
            results += made
    if not results:
        return
    module = b.build_module(b.Tuple(results))
    hlo.verify(module)
    with np.errstate(all="ignore"):
        expected = hlo.evaluate(module.entry, *arguments)
    actual = get_backend("cpu").compile(module)(*arguments)
    for instruction, one, other in zip(results, actual, expected, strict=True):
        other = np.asarray(other)
        assert one.dtype == other.dtype and one.shape == other.shape == instruction.shape.dimensions, instruction
        parts = [(one.real, other.real), (one.imag, other.imag)] if other.dtype.kind == "c" else [(one, other)]
        for mine, wanted in parts:
            assert_equal(mine.astype(np.float64), wanted.astype(np.float64), repr(instruction))
