"""Cholesky factorization and triangular systems of matrices that a block of threads deals with.

Larger ones are made of these and of products (`compile.expansion.linear_algebra`). Of a batch, small ones share a block.
All threads wait for each other once for each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import prod

from llvmlite import ir

from ....hlo import ElementType, Instruction, Shape, component_type, scalar_computation
from ...llvm.arithmetic import constant, multiply_add, square_root
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine, Base, i64
from ...llvm.loops import carried_loop, counted_loop
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.types import I1, I32, I64, ComplexValue, RegisterValue, scalar_register_type, selected
from ..emitter_table import emits
from ..frame import Frame
from ..kernel import Grid, Kernel, wide
from ..values import Leaf, Values

_LARGEST = 64
_THREADS = 256
# A block's tile of elements of a matrix has so many columns.
_TILE = 16
# Systems with more right-hand sides have a thread for each of these, which computes so many unknowns at once.
_FEW_COLUMNS, _ROWS = 16, 8
_COLUMN_THREADS = 64


def _is_native_cholesky(cholesky: Instruction) -> bool:
    shape = cholesky.shape
    moderate = shape.dimensions[-1] <= _LARGEST or not shape.size
    return moderate and not cholesky.attributes["lower"] and shape.element_type.bits >= 32


def _is_native_solve(solve: Instruction) -> bool:
    shape, attributes = solve.shape, solve.attributes
    as_it_is = attributes["left_side"] and attributes["transpose_a"] == "NO_TRANSPOSE"
    moderate = shape.dimensions[-2] <= _LARGEST or not shape.size
    return as_it_is and moderate and shape.element_type.bits >= 32


@dataclass(frozen=True)
class _Algebra:
    """Real or complex numbers in registers."""

    builder: ir.IRBuilder
    element_type: ElementType

    @property
    def real(self) -> ir.Type:
        return scalar_register_type(component_type(self.element_type))

    def of_real(self, value: ir.Value) -> RegisterValue:
        return ComplexValue(value, constant(self.real, 0.0)) if self.element_type.is_complex else value

    def real_part(self, value: RegisterValue) -> ir.Value:
        return value.real if isinstance(value, ComplexValue) else value

    def conjugated(self, value: RegisterValue) -> RegisterValue:
        return ComplexValue(value.real, self.builder.fneg(value.imag)) if isinstance(value, ComplexValue) else value

    def without(self, total: RegisterValue, left: RegisterValue, right: RegisterValue) -> RegisterValue:
        """``total - left * right``."""
        b = self.builder
        if not isinstance(left, ComplexValue):
            return multiply_add(b, b.fneg(left), right, total)
        real = multiply_add(b, b.fneg(left.real), right.real, total.real)
        imag = multiply_add(b, b.fneg(left.real), right.imag, total.imag)
        return ComplexValue(multiply_add(b, left.imag, right.imag, real), multiply_add(b, b.fneg(left.imag), right.real, imag))

    def divided_by_real(self, value: RegisterValue, divisor: ir.Value) -> RegisterValue:
        if isinstance(value, ComplexValue):
            return ComplexValue(*(self.builder.fdiv(part, divisor) for part in value))
        return self.builder.fdiv(value, divisor)

    def quotient(self, value: RegisterValue, divisor: RegisterValue) -> RegisterValue:
        divide = scalar_computation("divide", self.element_type)
        return emit_scalar_computation(self.builder, divide, [value, divisor], 1)[0]

    def chosen(self, condition: ir.Value, value: RegisterValue, other: RegisterValue) -> RegisterValue:
        return selected(self.builder, condition, value, other)


class _Team:
    """The threads of a block that deal with one matrix of a batch, of several whose threads lie one behind the other.

    In the last block there may be more teams than matrices: these do with the last matrix what others do, and store nothing.
    """

    def __init__(self, kernel: Kernel, teams: int, size: int, batch: int) -> None:
        b = kernel.builder
        self.kernel, self.builder, self.size = kernel, b, size
        self.number, self.member = kernel.divided(kernel.thread(), size) if teams > 1 else (I32(0), kernel.thread())
        matrix = b.add(b.mul(wide(b, kernel.block()), I64(teams)), wide(b, self.number))
        self.has_matrix: ir.Value | None = None
        if batch % teams:
            self.has_matrix = b.icmp_unsigned("<", matrix, I64(batch))
            matrix = b.select(self.has_matrix, matrix, I64(batch - 1))
        self.matrix = matrix

    @contextmanager
    def elements(self, count: int, row: int) -> Iterator[tuple[ir.Value, ir.Value]]:
        """A loop of each thread over its elements of a matrix with rows of this length."""
        with _strided(self.builder, wide(self.builder, self.member), 0, count, self.size) as number:
            yield _row_and_column(self.kernel, number, row)

    def stores_if(self, condition: ir.Value) -> ir.Value:
        """The condition, of teams with a matrix of their own."""
        return condition if self.has_matrix is None else self.builder.and_(condition, self.has_matrix)


@contextmanager
def _strided(b: ir.IRBuilder, member: ir.Value, start: Base, stop: int, step: int) -> Iterator[ir.Value]:
    """A loop over a thread's part of the numbers from start to below stop.

    All threads go through it as often: of ``step`` neighbouring numbers, each has one.
    """
    first = b.udiv(start, I64(step)) if isinstance(start, ir.Value) else start // step
    with counted_loop(b, -(-stop // step), "strided", stop=I64(-(-stop // step)), start=first) as trip:
        number = b.add(b.mul(i64(trip), I64(step)), member)
        inside = b.and_(b.icmp_signed(">=", number, i64(start)), b.icmp_signed("<", number, I64(stop)))
        with b.if_then(inside):
            yield number


def _row_and_column(kernel: Kernel, number: ir.Value, row: int) -> tuple[ir.Value, ir.Value]:
    """Of an element of a matrix with rows of this length."""
    quotient, rest = kernel.divided(kernel.builder.trunc(number, I32), row)
    return wide(kernel.builder, quotient), wide(kernel.builder, rest)


def _teams(frame: Frame, size: int, batch: int, bytes_of_team: int) -> tuple[int, int]:
    """How many matrices a block deals with, and the threads for each."""
    threads = 32
    while threads < _THREADS and threads * 8 < size * size:
        threads *= 2
    return _in_block(frame, threads, min(batch, frame.target.shared_bytes // max(bytes_of_team, 1)))


def _in_block(frame: Frame, threads: int, most: int) -> tuple[int, int]:
    """How many teams of so many threads, at least, are in a block, so many at most; and the threads of each."""
    teams = max(1, min(_THREADS // threads, most))
    if frame.block_threads(teams * threads) > teams * threads:
        teams = 1 << (teams.bit_length() - 1)
        threads = frame.block_threads(teams * threads) // teams
    return teams, threads


@emits("cholesky", is_native=_is_native_cholesky)
def emit_cholesky(frame: Frame, cholesky: Instruction, values: Values) -> list[Leaf]:
    """The upper triangular factor of each matrix; NaN where there is none."""
    source, output = frame.stored(values[cholesky.operands[0]][0]), frame.output(cholesky)
    if not cholesky.shape.size:
        return [output]
    *batch_sizes, size, _ = cholesky.shape.dimensions
    batch, element_type = prod(batch_sizes), cholesky.shape.element_type
    # Odd rows lie in different banks. The diagonal lies behind the matrix.
    pitches = [
        pitch for pitch in (size | 1, size) if (size * pitch + size) * element_type.byte_size <= frame.target.shared_bytes
    ]
    pitch = pitches[0] if pitches else None
    elements = size if pitch is None else size * pitch + size
    teams, threads = _teams(frame, size, batch, elements * element_type.byte_size)
    grid = Grid((-(-batch // teams), 1, 1), (teams * threads, 1, 1))
    write = partial(_write_cholesky, element_type, batch, size, pitch, teams, threads)
    frame.launch("cholesky", (teams, threads), [source], [output], grid, write, cholesky.source)
    return [output]


def _write_cholesky(
    element_type: ElementType, batch: int, size: int, pitch: int | None, teams: int, threads: int,
    kernel: Kernel, bindings: list[Binding], arrays: list[Array],
) -> None:  # fmt: skip
    """Each row is taken out of all that follow, divided by its diagonal element alone; roots are drawn in the end."""
    b, algebra, team = kernel.builder, _Algebra(kernel.builder, element_type), _Team(kernel, teams, threads, batch)
    matrices = Shape(element_type, (batch, size, size))
    source, output = Array(bindings[0].pointer, matrices), Array(arrays[0].pointer, matrices)
    each = size if pitch is None else size * pitch + size
    shared = kernel.shared(teams * each * element_type.byte_size)
    own = Array(shared, Shape(element_type, (teams, each))).address(b, (Affine(wide(b, team.number)), Affine(0)))
    of_output = output.address(b, (Affine(team.matrix), Affine(0), Affine(0)))
    if pitch is None:
        work = Array(of_output, Shape(element_type, (size, size)))
    else:
        work = Array(own, Shape(element_type, (size, pitch)))
    diagonal = Array(own, Shape(element_type, (each,)))

    def place_of_diagonal(row: ir.Value) -> tuple[Affine]:
        return (Affine(b.add(row, I64(each - size))),)

    with team.elements(size * size, size) as (row, column):
        place = (Affine(row), Affine(column))
        work.store(b, place, source.load(b, (Affine(team.matrix), *place), 1), 1)
    kernel.barrier()
    tile = min(_TILE, threads // 2)
    first_row, first_column = (wide(b, part) for part in kernel.divided(team.member, tile))
    with counted_loop(b, size) as k:
        k = kernel.own(i64(k))
        pivot = algebra.real_part(work.load(b, (Affine(k), Affine(k)), 1))
        after = b.add(k, I64(1))
        with _strided(b, first_row, after, size, threads // tile) as row:
            factor = algebra.conjugated(work.load(b, (Affine(k), Affine(row)), 1))
            factor = algebra.divided_by_real(factor, pivot)
            with _strided(b, first_column, after, size, tile) as column, b.if_then(b.icmp_signed("<=", row, column)):
                place = (Affine(row), Affine(column))
                right = work.load(b, (Affine(k), Affine(column)), 1)
                work.store(b, place, algebra.without(work.load(b, place, 1), factor, right), 1)
        kernel.barrier()
    with team.elements(size, 1) as (row, _):
        diagonal.store(b, place_of_diagonal(row), work.load(b, (Affine(row), Affine(row)), 1), 1)
    kernel.barrier()

    def pivot_of(row: ir.Value) -> ir.Value:
        return algebra.real_part(diagonal.load(b, place_of_diagonal(row), 1))

    def is_positive(row: ir.Value, before: list[RegisterValue]) -> list[RegisterValue]:
        return [b.and_(before[0], b.fcmp_ordered(">", pivot_of(row), constant(algebra.real, 0.0)))]

    (has_factor,) = carried_loop(b, 0, size, 1, [I1(1)], is_positive, "pivots")
    zero, nan = (algebra.of_real(constant(algebra.real, value)) for value in (0.0, float("nan")))
    with team.elements(size * size, size) as (row, column):
        root = square_root(b, pivot_of(row))
        value = algebra.divided_by_real(work.load(b, (Affine(row), Affine(column)), 1), root)
        value = algebra.chosen(b.icmp_signed("==", row, column), algebra.of_real(root), value)
        value = algebra.chosen(has_factor, value, nan)
        value = algebra.chosen(b.icmp_signed("<=", row, column), value, zero)
        with b.if_then(team.stores_if(I1(1))):
            output.store(b, (Affine(team.matrix), Affine(row), Affine(column)), value, 1)


@emits("triangular-solve", is_native=_is_native_solve)
def emit_triangular_solve(frame: Frame, solve: Instruction, values: Values) -> list[Leaf]:
    """The unknowns of each system."""
    matrix, right = (frame.stored(values[operand][0]) for operand in solve.operands)
    output = frame.output(solve)
    if not solve.shape.size:
        return [output]
    *batch_sizes, size, columns = solve.shape.dimensions
    batch = prod(batch_sizes)
    if columns > _FEW_COLUMNS:
        in_shared = size * size * solve.shape.element_type.byte_size <= frame.target.shared_bytes
        grid = Grid((-(-columns // _COLUMN_THREADS), batch, 1), (_COLUMN_THREADS, 1, 1))
        if batch >= 1 << 16:  # more than the second dimension of a grid may have
            grid = Grid((batch * -(-columns // _COLUMN_THREADS), 1, 1), (_COLUMN_THREADS, 1, 1))
        write = partial(_write_solve_of_columns, solve, batch, in_shared)
        key = (tuple(sorted(solve.attributes.items())), in_shared)
        frame.launch("solve_columns", key, [matrix, right], [output], grid, write, solve.source)
        return [output]
    threads = min(_THREADS, -(-size * columns // 32) * 32)
    bytes_of_team = size * columns * solve.shape.element_type.byte_size
    teams, threads = _in_block(frame, threads, min(batch, frame.target.shared_bytes // bytes_of_team))
    grid = Grid((-(-batch // teams), 1, 1), (teams * threads, 1, 1))
    write = partial(_write_solve_of_few, solve, batch, teams, threads)
    key = (tuple(sorted(solve.attributes.items())), teams, threads)
    frame.launch("solve_few", key, [matrix, right], [output], grid, write, solve.source)
    return [output]


def _write_solve_of_few(
    solve: Instruction, batch: int, teams: int, threads: int, kernel: Kernel, bindings: list[Binding], arrays: list[Array]
) -> None:
    """An unknown that is known is moved to the right-hand side of all other equations at once."""
    b, element_type = kernel.builder, solve.shape.element_type
    algebra, team = _Algebra(b, element_type), _Team(kernel, teams, threads, batch)
    *_, size, columns = solve.shape.dimensions
    lower, unit = solve.attributes["lower"], solve.attributes["unit_diagonal"]
    matrix = Array(bindings[0].pointer, Shape(element_type, (batch, size, size)))
    right = Array(bindings[1].pointer, Shape(element_type, (batch, size, columns)))
    output = Array(arrays[0].pointer, right.shape)
    shared = Array(kernel.shared(teams * size * columns * element_type.byte_size), Shape(element_type, (teams, size, columns)))
    of_team, of_matrix = Affine(wide(b, team.number)), Affine(team.matrix)
    with team.elements(size * columns, columns) as (row, column):
        place = (Affine(row), Affine(column))
        shared.store(b, (of_team, *place), right.load(b, (of_matrix, *place), 1), 1)
    with counted_loop(b, size) as step:
        kernel.barrier()
        step = kernel.own(i64(step))
        known = step if lower else b.sub(I64(size - 1), step)
        divisor = None if unit else matrix.load(b, (of_matrix, Affine(known), Affine(known)), 1)
        with team.elements(size * columns, columns) as (row, column):
            unknown = shared.load(b, (of_team, Affine(known), Affine(column)), 1)
            if divisor is not None:
                unknown = algebra.quotient(unknown, divisor)
            place = (Affine(row), Affine(column))
            with b.if_then(b.icmp_signed(">" if lower else "<", row, known)):
                factor = matrix.load(b, (of_matrix, Affine(row), Affine(known)), 1)
                rest = algebra.without(shared.load(b, (of_team, *place), 1), factor, unknown)
                shared.store(b, (of_team, *place), rest, 1)
            with b.if_then(team.stores_if(b.icmp_signed("==", row, known))):
                output.store(b, (of_matrix, *place), unknown, 1)


def _write_solve_of_columns(
    solve: Instruction, batch: int, in_shared: bool, kernel: Kernel, bindings: list[Binding], arrays: list[Array]
) -> None:
    """Each thread solves for a column, some unknowns after the other: what it has found it reads again from the result."""
    b, element_type = kernel.builder, solve.shape.element_type
    algebra = _Algebra(b, element_type)
    *_, size, columns = solve.shape.dimensions
    lower, unit = solve.attributes["lower"], solve.attributes["unit_diagonal"]
    matrices = Array(bindings[0].pointer, Shape(element_type, (batch, size, size)))
    right = Array(bindings[1].pointer, Shape(element_type, (batch, size, columns)))
    output = Array(arrays[0].pointer, right.shape)
    block, groups = wide(b, kernel.block()), -(-columns // _COLUMN_THREADS)
    if kernel.grid.blocks[1] == batch:
        number, group = wide(b, kernel.block(1)), block
    else:
        number, group = b.udiv(block, I64(groups)), b.urem(block, I64(groups))
    column = b.add(b.mul(group, I64(_COLUMN_THREADS)), wide(b, kernel.thread()))
    square = Shape(element_type, (size, size))
    matrix = Array(matrices.address(b, (Affine(number), Affine(0), Affine(0))), square)
    if in_shared:
        copy = Array(kernel.shared(size * size * element_type.byte_size), square)
        with _strided(b, wide(b, kernel.thread()), 0, size * size, _COLUMN_THREADS) as element:
            place = tuple(map(Affine, _row_and_column(kernel, element, size)))
            copy.store(b, place, matrix.load(b, place, 1), 1)
        matrix = copy
        kernel.barrier()
    rows = _ROWS // 2 if element_type.is_complex else _ROWS

    def of_column(row: ir.Value) -> tuple[Affine, Affine, Affine]:
        return Affine(number), Affine(row), Affine(column)

    def solve_rows(first: ir.Value, count: int) -> None:
        numbers = [b.add(first, I64(offset)) for offset in range(count)]
        totals = [right.load(b, of_column(row), 1) for row in numbers]

        def take_out(known: ir.Value, totals: list[RegisterValue]) -> list[RegisterValue]:
            unknown = output.load(b, of_column(known), 1)
            factors = [matrix.load(b, (Affine(row), Affine(known)), 1) for row in numbers]
            return [algebra.without(total, factor, unknown) for total, factor in zip(totals, factors)]

        known = (I64(0), first) if lower else (b.add(first, I64(count)), I64(size))
        totals = carried_loop(b, *known, 1, totals, take_out, "known")
        order = list(range(count) if lower else reversed(range(count)))
        for done, place in enumerate(order):
            if not unit:
                divisor = matrix.load(b, (Affine(numbers[place]), Affine(numbers[place])), 1)
                totals[place] = algebra.quotient(totals[place], divisor)
            output.store(b, of_column(numbers[place]), totals[place], 1)
            for other in order[done + 1 :]:
                factor = matrix.load(b, (Affine(numbers[other]), Affine(numbers[place])), 1)
                totals[other] = algebra.without(totals[other], factor, totals[place])

    with b.if_then(b.icmp_unsigned("<", column, I64(columns))):
        whole, rest = divmod(size, rows)
        if whole:
            with counted_loop(b, whole) as step:
                first = b.mul(i64(step), I64(rows))
                solve_rows(first if lower else b.sub(I64(size - rows), first), rows)
        if rest:
            solve_rows(I64(whole * rows if lower else 0), rest)
