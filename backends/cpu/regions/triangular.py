"""The regions of triangular matrices: Cholesky factorization, and systems with many right-hand sides.

Both compute a row of the result from the rows before it: what is subtracted from a few vectors of the row stays in registers
while the rows before are read, each along its columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from ....hlo import ElementType, Instruction, scalar_computation
from ...llvm.arithmetic import constant, multiply_add, square_root
from ...llvm.arrays import Array
from ...llvm.index import Affine, Base, Index, add_base, i64, multiply_base
from ...llvm.loops import carried_loop, counted_loop, loop_nest
from ...llvm.pieces import in_one_piece, independent_loop, independent_loops
from ...llvm.reductions import in_groups
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.types import I1, I64, ComplexValue, RegisterValue, broadcast_lanes, lane_numbers, register_bytes, register_type
from ..nest_samples import samples
from ..nests import Nest, emits_nest
from ..target import WIDEST_VECTOR_BYTES, Target
from ..vectors import combined_lanes, tail_mask

# Larger matrices are better divided, so that most of the work is in products; but for a system with few right-hand sides, where
# it is in reading the matrix, and copying its parts would double it.
_LARGEST_SIZE = 256
_FEW_COLUMNS = 7
_LARGEST_SOLVED_SIZE = 512
# Vectors of a row that are computed together: so many terms a scalar serves.
_VECTORS = 4
# Rows and vectors of the unknowns that are computed together, by the number of registers: what is subtracted stays in them.
_BLOCKS = {32: (6, 4), 16: (4, 2)}
_COMPLEX_BLOCKS = {32: (3, 2), 16: (2, 1)}

# What is done with some columns: (first index, lanes; the mask of those that count).
Visit = Callable[[list[Affine], "ir.Value | None"], None]


def is_native_cholesky(cholesky: Instruction) -> bool:
    """Whether the factor is an upper triangle of moderate size, of a type that the code computes in."""
    shape = cholesky.shape
    moderate = shape.dimensions[-1] <= _LARGEST_SIZE or not shape.size
    return moderate and not cholesky.attributes["lower"] and shape.element_type.bits >= 32


def is_native_triangular_solve(solve: Instruction) -> bool:
    """Whether the system is a x = b, of a type that the code computes in, and of moderate size.

    A transposed matrix is better read as it lies than transposed first where there is one right-hand side alone.
    """
    (size, columns), shape = solve.operands[1].shape.dimensions[-2:], solve.shape
    if not solve.attributes["left_side"] or shape.element_type.bits < 32:
        return False
    if solve.attributes["transpose_a"] != "NO_TRANSPOSE":
        return columns == 1
    return size <= _LARGEST_SOLVED_SIZE or columns <= _FEW_COLUMNS or not shape.size


def panel_bytes(solve: Instruction) -> int:
    """Memory for the unknowns of as many columns as are solved for together."""
    size, columns = solve.shape.dimensions[-2:]
    return size * _VECTORS * WIDEST_VECTOR_BYTES if columns > 1 else 0


@dataclass(frozen=True)
class _Rows:
    """Rows of matrices of one element type, some vectors at a time; a loop along them takes at most ``most`` steps."""

    builder: ir.IRBuilder
    element_type: ElementType
    lanes: int
    most: int

    def visit(self, start: Base, stop: Base, visit: Visit) -> None:
        """Cover the columns from start to before stop: several vectors at a time, then one, masked at the end."""
        b, lanes = self.builder, self.lanes
        wide = lanes * _VECTORS
        if isinstance(start, int) and isinstance(stop, int):
            middle: Base = start + (stop - start) // wide * wide
        else:
            length = b.sub(i64(stop), i64(start))
            middle = b.sub(i64(stop), b.srem(length, I64(wide)))

        def several(first: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
            visit([self._vector(add_base(b, first, number * lanes)) for number in range(_VECTORS)], None)
            return carried

        def one(first: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
            mask = None
            if lanes > 1:
                numbers = b.add(broadcast_lanes(b, first, lanes), lane_numbers(I64, lanes))
                mask = b.icmp_signed("<", numbers, broadcast_lanes(b, i64(stop), lanes))
            visit([self._vector(first)], mask)
            return carried

        carried_loop(b, start, middle, wide, [], several, "columns", -(-self.most // wide))
        carried_loop(b, middle, stop, lanes, [], one, "columns", _VECTORS)

    def _vector(self, first: Base) -> Affine:
        return Affine(first, int(self.lanes > 1))

    def subtracted(
        self,
        values: list[RegisterValue],
        start: Base,
        stop: Base,
        factor: Callable[[Affine], RegisterValue],
        row: Callable[[Affine], list[RegisterValue]],
    ) -> list[RegisterValue]:
        """The vectors without ``factor(m) * row(m)`` for m from start to before stop; the factor is a scalar."""
        b = self.builder

        def step(number: ir.Value, totals: list[RegisterValue]) -> list[RegisterValue]:
            scalar = factor(Affine(number))
            negative = broadcast_lanes(b, self.negated(scalar), self.lanes)
            return [self.multiply_add(negative, value, total) for value, total in zip(row(Affine(number)), totals)]

        return carried_loop(b, start, stop, 1, values, step, "terms", self.most)

    def negated(self, value: RegisterValue) -> RegisterValue:
        if isinstance(value, ComplexValue):
            return ComplexValue(*(self.builder.fneg(part) for part in value))
        return self.builder.fneg(value)

    def multiply_add(self, left: RegisterValue, right: RegisterValue, total: RegisterValue) -> RegisterValue:
        b = self.builder
        if not isinstance(left, ComplexValue):
            return multiply_add(b, left, right, total)
        real = multiply_add(b, left.real, right.real, total.real)
        imag = multiply_add(b, left.real, right.imag, total.imag)
        return ComplexValue(multiply_add(b, b.fneg(left.imag), right.imag, real), multiply_add(b, left.imag, right.real, imag))

    def spread(self, value: float) -> RegisterValue:
        """The real number in every lane."""
        part = register_type(self.element_type, self.lanes)
        number = constant(part, value)
        return ComplexValue(number, constant(part, 0.0)) if self.element_type.is_complex else number


def _rows(builder: ir.IRBuilder, target: Target, element_type: ElementType, columns: int, size: int) -> _Rows:
    lanes = target.lanes(register_bytes(element_type), columns)
    return _Rows(builder, element_type, lanes, max(columns, size))


@samples(
    """
    a = f32[3,9,9] parameter(0)
    b = f32[3,9,20] parameter(1)
    ROOT x = f32[3,9,20] triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE
    """,
    """
    a = c64[9,9] parameter(0)
    b = c64[9,1] parameter(1)
    ROOT x = c64[9,1] triangular-solve(a, b), left_side=true, lower=false, transpose_a=ADJOINT
    """,
    # Blocks of rows, from the last one on, in several vectors of columns and in one.
    """
    a = f64[2,15,15] parameter(0)
    b = f64[2,15,45] parameter(1)
    ROOT x = f64[2,15,45] triangular-solve(a, b), left_side=true, lower=false, transpose_a=NO_TRANSPOSE
    """,
    """
    a = f32[30,30] parameter(0)
    b = f32[30,1] parameter(1)
    ROOT x = f32[30,1] triangular-solve(a, b), left_side=true, lower=false, transpose_a=NO_TRANSPOSE
    """,
    tolerance=1e-4,
)
@emits_nest(
    "triangular-solve",
    is_native=is_native_triangular_solve,
    scratch=panel_bytes,
    own=panel_bytes,
    divides=lambda solve: solve.shape.dimensions[-1] > 1,
)
def emit_triangular_solve(nest: Nest) -> None:
    """Solve ``matrix x = right`` into the output."""
    builder, target, solve = nest.builder, nest.target, nest.instruction
    (matrix, right), (output,) = nest.operands, nest.outputs
    b, attributes = builder, solve.attributes
    *batch_sizes, size, columns = solve.shape.dimensions
    if not solve.shape.size:
        return
    element_type = solve.shape.element_type
    if attributes["transpose_a"] != "NO_TRANSPOSE":
        _solve_transposed(b, target, solve, matrix, right, output)
        return
    if columns > 1:
        _solve_in_blocks(nest)
        return
    rows = _rows(b, target, element_type, size, size)
    divide, subtract = (scalar_computation(opcode, element_type) for opcode in ("divide", "subtract"))
    with loop_nest(b, batch_sizes) as batch, counted_loop(b, size) as step:
        # Rows are known from the first on, or from the last.
        row = step if attributes["lower"] else add_base(b, multiply_base(b, step, -1), size - 1)
        known = (0, row) if attributes["lower"] else (add_base(b, row, 1), size)
        place = (*batch, Affine(row), Affine(0))
        product = _row_times_vector(rows, matrix, output, (*batch, Affine(row)), batch, *known)
        (value,) = emit_scalar_computation(b, subtract, [right.load(b, place, 1), product], 1)
        if not attributes["unit_diagonal"]:
            diagonal = matrix.load(b, (*batch, Affine(row), Affine(row)), 1)
            (value,) = emit_scalar_computation(b, divide, [value, diagonal], 1)
        output.store(b, place, value, 1)


def _solve_in_blocks(nest: Nest) -> None:
    """Solve for a few vectors of columns at a time, and in these for a block of rows after the other.

    The unknowns that are known lie side by side in a panel, since rows of the result that are a power of two apart would take
    each other's place in the cache.
    """
    b, target, solve = nest.builder, nest.target, nest.instruction
    (matrix, right), (output,), attributes = nest.operands, nest.outputs, solve.attributes
    *batch_sizes, size, columns = solve.shape.dimensions
    element_type = solve.shape.element_type
    rows = _rows(b, target, element_type, columns, size)
    lanes = rows.lanes
    height, most = (_COMPLEX_BLOCKS if element_type.is_complex else _BLOCKS)[target.vector_registers]
    divide, lower = scalar_computation("divide", element_type), attributes["lower"]

    def solve_columns(batch: Index, columns: list[Affine], mask: ir.Value | None) -> None:
        panel = Array(nest.own, solve.shape.with_dimensions((size, len(columns) * lanes)))
        lane_steps = int(lanes > 1)

        def of_panel(row: Affine) -> list[Index]:
            return [(row, Affine(number * lanes, lane_steps)) for number in range(len(columns))]

        def block(first: Base, count: int) -> None:
            numbers = [Affine(add_base(b, first, number)) for number in range(count)]
            known = (0, first) if lower else (add_base(b, first, count), size)
            values = [right.load(b, (*batch, row, column), lanes, mask) for row in numbers for column in columns]
            in_rows = [matrix.seen_from(b, (*batch, row, Affine(0))) for row in numbers]

            def factor(row: int, m: Affine) -> RegisterValue:
                scalar = in_rows[row].load(b, (*[Affine(0)] * (len(batch) + 1), m), 1)
                return broadcast_lanes(b, rows.negated(scalar), lanes)

            def step(number: ir.Value, totals: list[RegisterValue]) -> list[RegisterValue]:
                unknowns = [panel.load(b, place, lanes) for place in of_panel(Affine(number))]
                parts = zip(range(count), in_groups(totals, len(columns)))
                factors = [(factor(row, Affine(number)), part) for row, part in parts]
                return [rows.multiply_add(f, x, total) for f, part in factors for x, total in zip(unknowns, part)]

            of_rows = in_groups(carried_loop(b, *known, 1, values, step, "terms", size), len(columns))
            order = list(range(count) if lower else reversed(range(count)))
            for done, row in enumerate(order):
                if not attributes["unit_diagonal"]:
                    diagonal = broadcast_lanes(b, matrix.load(b, (*batch, numbers[row], numbers[row]), 1), lanes)
                    of_rows[row] = [emit_scalar_computation(b, divide, [x, diagonal], lanes)[0] for x in of_rows[row]]
                for place, column, value in zip(of_panel(numbers[row]), columns, of_rows[row]):
                    panel.store(b, place, value, lanes)
                    output.store(b, (*batch, numbers[row], column), value, lanes, mask)
                for other in order[done + 1 :]:
                    f = factor(other, numbers[row])
                    of_rows[other] = [rows.multiply_add(f, x, total) for x, total in zip(of_rows[row], of_rows[other])]

        blocks, rest = divmod(size, height)
        if blocks:
            with counted_loop(b, blocks) as number:
                first = multiply_base(b, number, height)
                block(first if lower else add_base(b, multiply_base(b, first, -1), size - height), height)
        if rest:
            block(blocks * height if lower else 0, rest)

    with independent_loops(b, batch_sizes) as batch:
        strips, left = divmod(columns, most * lanes)
        if strips:
            with independent_loop(b, strips) as number:
                first = multiply_base(b, number, most * lanes)
                places = [Affine(add_base(b, first, part * lanes), int(lanes > 1)) for part in range(most)]
                solve_columns(batch, places, None)
        vectors, rest = divmod(left, lanes)
        if vectors:
            with independent_loop(b, vectors) as number:
                first = add_base(b, multiply_base(b, number, lanes), strips * most * lanes)
                solve_columns(batch, [Affine(first, int(lanes > 1))], None)
        if rest:
            with in_one_piece(b):
                solve_columns(batch, [Affine(columns - rest, 1)], tail_mask(lanes, rest))


def _solve_transposed(
    builder: ir.IRBuilder, target: Target, solve: Instruction, matrix: Array, right: Array, output: Array
) -> None:
    """Solve ``matrix^T x = right``, or with its adjoint, for one column.

    An unknown that is known is moved to the right-hand side of all other equations: a row of the matrix as it lies in memory.
    """
    b, attributes = builder, solve.attributes
    *batch_sizes, size, _ = solve.shape.dimensions
    element_type = solve.shape.element_type
    rows = _rows(b, target, element_type, size, size)
    divide = scalar_computation("divide", element_type)
    conjugate = attributes["transpose_a"] == "ADJOINT"
    with loop_nest(b, batch_sizes) as batch:

        def taken(array: Array, row: Index, first: Affine, lanes: int, mask: ir.Value | None) -> RegisterValue:
            value = array.load(b, (*row, first), lanes, mask)
            return _conjugated(b, value) if conjugate else value

        def copy(columns: list[Affine], mask: ir.Value | None) -> None:
            for place in columns:
                index = (*batch, place, Affine(0))
                output.store(b, index, right.load(b, index, rows.lanes, mask), rows.lanes, mask)

        rows.visit(0, size, copy)
        with counted_loop(b, size) as step:
            # The last unknown of a lower matrix stands alone in its equation, and the first of an upper one.
            row = add_base(b, multiply_base(b, step, -1), size - 1) if attributes["lower"] else step
            others = (0, row) if attributes["lower"] else (add_base(b, row, 1), size)
            place = (*batch, Affine(row), Affine(0))
            unknown = output.load(b, place, 1)
            if not attributes["unit_diagonal"]:
                diagonal = taken(matrix, (*batch, Affine(row)), Affine(row), 1, None)
                (unknown,) = emit_scalar_computation(b, divide, [unknown, diagonal], 1)
                output.store(b, place, unknown, 1)
            negative = broadcast_lanes(b, rows.negated(unknown), rows.lanes)

            def subtract(columns: list[Affine], mask: ir.Value | None) -> None:
                for column in columns:
                    index = (*batch, column, Affine(0))
                    value = taken(matrix, (*batch, Affine(row)), column, rows.lanes, mask)
                    rest = rows.multiply_add(negative, value, output.load(b, index, rows.lanes, mask))
                    output.store(b, index, rest, rows.lanes, mask)

            rows.visit(*others, subtract)


def _row_times_vector(
    rows: _Rows, matrix: Array, vector: Array, row: Index, batch: Index, start: Base, stop: Base
) -> RegisterValue:
    """The sum over m from start to before stop of ``matrix[row, m] * vector[m, 0]``, by whole vectors of m."""
    b = rows.builder
    wide = rows.lanes * _VECTORS
    length = b.sub(i64(stop), i64(start))
    middle = b.sub(i64(stop), b.srem(length, I64(wide)))

    def add(first: Base, totals: list[RegisterValue], mask: ir.Value | None) -> list[RegisterValue]:
        results = []
        for number, total in enumerate(totals):
            m = Affine(add_base(b, first, number * rows.lanes), int(rows.lanes > 1))
            left, right = matrix.load(b, (*row, m), rows.lanes, mask), vector.load(b, (*batch, m, Affine(0)), rows.lanes, mask)
            results.append(rows.multiply_add(left, right, total))
        return results

    zeros = [rows.spread(0.0)] * _VECTORS
    most = -(-rows.most // wide)
    totals = carried_loop(b, start, middle, wide, zeros, lambda first, totals: add(first, totals, None), "terms", most)

    def rest(first: ir.Value, totals: list[RegisterValue]) -> list[RegisterValue]:
        mask = None
        if rows.lanes > 1:
            numbers = b.add(broadcast_lanes(b, first, rows.lanes), lane_numbers(I64, rows.lanes))
            mask = b.icmp_signed("<", numbers, broadcast_lanes(b, i64(stop), rows.lanes))
        return [*add(first, totals[:1], mask), *totals[1:]]

    totals = carried_loop(b, middle, stop, rows.lanes, totals, rest, "terms", _VECTORS)
    sum_of = scalar_computation("add", rows.element_type)
    while len(totals) > 1:
        totals = [emit_scalar_computation(b, sum_of, pair, rows.lanes)[0] for pair in zip(totals[::2], totals[1::2])]
    return combined_lanes(
        b, totals, rows.lanes, lambda low, high, lanes: emit_scalar_computation(b, sum_of, [*low, *high], lanes)
    )[0]


@samples(
    """
    x = f64[3,40,21] parameter(0)
    a = f64[3,21,21] dot(x, x), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={1}
    ROOT u = f64[3,21,21] cholesky(a), lower=false
    """,
    # No factors.
    """
    a = f64[4,3,3] parameter(0)
    minus = f64[4,3,3] negate(a)
    square = f64[4,3,3] multiply(a, minus)
    ROOT u = f64[4,3,3] cholesky(square), lower=false
    """,
    tolerance=1e-12,
)
@emits_nest("cholesky", is_native=is_native_cholesky)
def emit_cholesky(nest: Nest) -> None:
    """The upper triangular factor u of each matrix, u^H u = matrix, row by row; NaN where there is none."""
    b, target, (matrix,), (output,) = nest.builder, nest.target, nest.operands, nest.outputs
    *batch_sizes, size, _ = output.shape.dimensions
    if not output.shape.size:
        return
    rows = _rows(b, target, output.shape.element_type, size, size)
    with loop_nest(b, batch_sizes) as batch:

        def factor_row(number: ir.Value, failed: list[RegisterValue]) -> list[RegisterValue]:
            row = Affine(number)
            root, has_none = _pivot(rows, batch, row, matrix, output)
            rows.visit(0, number, lambda columns, mask: _fill(rows, output, (*batch, row), columns, mask, 0.0))
            diagonal = ComplexValue(root, constant(root.type, 0.0)) if rows.element_type.is_complex else root
            output.store(b, (*batch, row, row), diagonal, 1)
            divisor = broadcast_lanes(b, root, rows.lanes)

            def factor_columns(columns: list[Affine], mask: ir.Value | None) -> None:
                values = [matrix.load(b, (*batch, row, column), rows.lanes, mask) for column in columns]
                values = rows.subtracted(
                    values,
                    0,
                    number,
                    lambda m: _conjugated(b, output.load(b, (*batch, m, row), 1)),
                    lambda m: [output.load(b, (*batch, m, column), rows.lanes, mask) for column in columns],
                )
                for column, value in zip(columns, values):
                    if isinstance(value, ComplexValue):
                        quotient: RegisterValue = ComplexValue(*(b.fdiv(part, divisor) for part in value))
                    else:
                        quotient = b.fdiv(value, divisor)
                    output.store(b, (*batch, row, column), quotient, rows.lanes, mask)

            rows.visit(b.add(number, I64(1)), size, factor_columns)
            return [b.or_(failed[0], has_none)]

        (failed,) = carried_loop(b, 0, size, 1, [I1(0)], factor_row, "rows")
        with b.if_then(failed, likely=False), counted_loop(b, size) as number:
            place = (*batch, Affine(number))
            rows.visit(number, size, lambda columns, mask: _fill(rows, output, place, columns, mask, float("nan")))


def _pivot(rows: _Rows, batch: Index, row: Affine, matrix: Array, output: Array) -> tuple[ir.Value, ir.Value]:
    """The diagonal element of a row, and whether there is none because the matrix is not positive definite."""
    b = rows.builder
    place = (*batch, row, row)

    def step(number: ir.Value, total: list[RegisterValue]) -> list[RegisterValue]:
        value = output.load(b, (*batch, Affine(number), row), 1)
        (rest,) = total
        for part in value if isinstance(value, ComplexValue) else (value,):
            rest = multiply_add(b, b.fneg(part), part, rest)
        return [rest]

    diagonal = matrix.load(b, place, 1)
    real = diagonal.real if isinstance(diagonal, ComplexValue) else diagonal
    (rest,) = carried_loop(b, 0, row.base, 1, [real], step, "terms", rows.most)
    is_positive = b.fcmp_ordered(">", rest, constant(rest.type, 0.0))
    root = square_root(b, b.select(is_positive, rest, constant(rest.type, float("nan"))))
    return root, b.not_(is_positive)


def _fill(rows: _Rows, output: Array, place: Index, columns: list[Affine], mask: ir.Value | None, number: float) -> None:
    for column in columns:
        output.store(rows.builder, (*place, column), rows.spread(number), rows.lanes, mask)


def _conjugated(builder: ir.IRBuilder, value: RegisterValue) -> RegisterValue:
    return ComplexValue(value.real, builder.fneg(value.imag)) if isinstance(value, ComplexValue) else value
