"""Products, factorizations and transforms: along the dimensions that are summed, zeros stand behind the sizes."""

from __future__ import annotations

from ... import hlo
from ...hlo import S32, Instruction, Shape
from ...hlo.window import WindowDimension
from ..expansion import EXPANSIONS
from .padder import Padded, Padder, Value, padded
from .reductions import places


@padded("dot")
def pad_dot(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    agreed = p.agreed(instruction, operands)
    attributes, sides, kept = instruction.attributes, [], []
    for number, name in enumerate(("lhs", "rhs")):
        sizes = {d: agreed.get((number, d), size) for d, size in operands[number].sizes.items()}
        sizes |= {d: size for (side, d), size in agreed.items() if side == number}
        value = Padded(operands[number].array, sizes)
        contracting = attributes[f"{name}_contracting_dimensions"]
        sides.append(p.masked(value, p.zero(value.array.shape), contracting))
        batch = attributes[f"{name}_batch_dimensions"]
        free = [d for d in range(value.array.shape.rank) if d not in batch and d not in contracting]
        kept.extend(sizes.get(d) for d in ((*batch, *free) if number == 0 else free))
    array = p.same(instruction, sides, instruction.shape.static())
    return Padded(array, {d: size for d, size in enumerate(kept) if size is not None})


@padded("convolution")
def pad_convolution(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    numbers, window = instruction.attributes["dim_labels"], instruction.attributes["window"]
    agreed = p.agreed(instruction, operands)
    lhs, rhs = (
        Padded(operand.array, {**operand.sizes, **{d: size for (side, d), size in agreed.items() if side == number}})
        for number, operand in enumerate(operands)
    )
    sizes = {}
    if numbers.input_batch in lhs.sizes:
        sizes[numbers.output_batch] = lhs.sizes[numbers.input_batch]
    if numbers.kernel_output_feature in rhs.sizes:
        sizes[numbers.output_feature] = rhs.sizes[numbers.kernel_output_feature]
    summed = [numbers.input_feature]
    for d, source, dimension in zip(numbers.output_spatial, numbers.input_spatial, window):
        if source in lhs.sizes:
            plain = dimension._replace(reversal=False) == WindowDimension(1)
            sizes[d] = lhs.sizes[source] if plain else places(p, dimension, lhs.sizes[source])
            summed.append(source)
    arrays = [
        p.masked(lhs, p.zero(lhs.array.shape), summed),
        p.masked(rhs, p.zero(rhs.array.shape), [numbers.kernel_input_feature]),
    ]
    return Padded(p.same(instruction, arrays, instruction.shape.static()), sizes)


@padded("cholesky", "fft")
def pad_leading(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    """What is before the sizes does not depend on what is behind them: so it is of the rows of a factor, and of a batch."""
    return Padded(p.same(instruction, [operands[0].array]), dict(operands[0].sizes))


@padded("triangular-solve")
def pad_triangular_solve(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    """Behind the sizes the matrix is the identity, and the right-hand sides are zero."""
    a, b = operands
    shape = a.array.shape
    side = shape.rank - 2 if instruction.attributes["left_side"] else shape.rank - 1
    for d in range(shape.rank - 1):
        mine, other = (d, d) if d < shape.rank - 2 else (shape.rank - 1, side)
        if mine in a.sizes and a.sizes[mine] is not b.sizes[other]:
            different = hlo.ne(a.sizes[mine], b.sizes[other])
            p.fail_if(different, f"{instruction!r}: dimensions that must be equal have different sizes")
    matrix, right = a.array, b.array
    inner = {d: a.sizes[d] for d in (shape.rank - 2, shape.rank - 1) if d in a.sizes}
    if inner:
        row, column = (hlo.iota(Shape(S32, shape.dimensions), d) for d in inner)
        one = hlo.full(shape, 1)
        zero = hlo.full(shape, 0)
        identity = hlo.select(hlo.eq(row, column), one, zero)
        matrix = hlo.select(p.valid(shape.dimensions, inner), matrix, identity)
        right = p.masked(b, p.zero(b.array.shape), [side])
    return Padded(p.same(instruction, [matrix, right]), dict(b.sizes))


@padded("batch-norm-inference", "batch-norm-training", "batch-norm-grad")
def pad_batch_norm(p: Padder, instruction: Instruction, operands: list[Padded]) -> Value:
    """As the operations that it is written as, which count the elements at run time."""
    shapes = [operand.shape for operand in instruction.operands]
    expanded = hlo.computation(
        instruction.opcode, shapes, lambda *parameters: EXPANSIONS[instruction.opcode](instruction, parameters)
    )
    return p.run(expanded, list(operands))
