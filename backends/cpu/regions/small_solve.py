"""The region of small linear systems: elimination with the largest element of each column as its pivot, a row at a time.

The matrix and the right-hand sides lie side by side in scratch memory, each in rows of whole vectors; what an operation on rows
leaves in columns that are done with is not read again. NumPy is called for large systems, where that is no loss, and where a
pivot is so small that the order of the operations decides whether the matrix is singular.

A complex system is a real one of twice the size: below the real parts of the unknowns stand the imaginary ones.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ....hlo import Instruction, Shape, leaves
from ...llvm.arrays import Array
from ...llvm.index import Affine
from ...llvm.loops import carried_loop
from ...llvm.memory import element_address
from ...llvm.types import I1, I64, ComplexValue, RegisterValue, broadcast_lanes
from ..frame import Frame
from ..nest_samples import samples
from ..nests import Nest, emit_nest

# Unknowns, and right-hand sides; half of them where they are complex.
_MOST = 48
_VECTOR_BYTES = 64  # at most
# The LLVM type of a real number, its bytes, and the smallest pivots that are relied on, as a part of the largest element; how
# many real numbers make up one.
_DOUBLE, _FLOAT = (ir.DoubleType(), 8, 1e-12), (ir.FloatType(), 4, 1e-4)
_TYPES = {"f64": (*_DOUBLE, 1), "f32": (*_FLOAT, 1), "c128": (*_DOUBLE, 2), "c64": (*_FLOAT, 2)}


def is_small(instruction: Instruction) -> bool:
    """Whether this is a call of ``numpy.linalg.solve`` or ``inv`` that is emitted so."""
    if instruction.attributes.get("custom_call_target") not in ("numpy.linalg.solve", "numpy.linalg.inv"):
        return False
    result, *others = leaves(instruction.shape)
    shapes = [*(operand.shape for operand in instruction.operands), result]
    if len(others) != 1 or any(shape.element_type.name not in _TYPES for shape in shapes):
        return False
    same_type = len({shape.element_type for shape in shapes}) == 1
    *_, parts = _TYPES[result.element_type.name]
    small = all(0 < size * parts <= _MOST for shape in shapes for size in shape.dimensions)
    return same_type and small and shapes[0].rank == 2 and shapes[-1].rank in (1, 2)


def rows_bytes(instruction: Instruction) -> int:
    """The memory of the rows, whatever the vectors."""
    if not is_small(instruction):
        return 0
    shape = leaves(instruction.shape)[0]
    _, width, _, parts = _TYPES[shape.element_type.name]
    size = parts * instruction.operands[0].shape.dimensions[0]
    return size * sum(-(-width * columns // _VECTOR_BYTES) * _VECTOR_BYTES for columns in (size, _columns(shape)))


@samples(
    """
    a = f64[1,1] parameter(0)
    b = f64[1] parameter(1)
    y = (f64[1], pred[]) custom-call(a, b), custom_call_target="numpy.linalg.solve"
    ROOT x = f64[1] get-tuple-element(y), index=0
    """,
    """
    a = f64[9,9] parameter(0)
    b = f64[9,3] parameter(1)
    ROOT y = (f64[9,3], pred[]) custom-call(a, b), custom_call_target="numpy.linalg.solve"
    """,
    """
    a = f64[4,4] parameter(0)
    b = f64[4] parameter(1)
    z = f64[4,4] multiply(a, a)
    s = f64[4,4] subtract(z, z)
    ROOT y = (f64[4], pred[]) custom-call(s, b), custom_call_target="numpy.linalg.solve"
    """,
    """
    a = f32[3,3] parameter(0)
    ROOT y = (f32[3,3], pred[]) custom-call(a), custom_call_target="numpy.linalg.inv"
    """,
    """
    a = c128[5,5] parameter(0)
    b = c128[5,3] parameter(1)
    ROOT y = (c128[5,3], pred[]) custom-call(a, b), custom_call_target="numpy.linalg.solve"
    """,
    """
    a = c128[2,2] parameter(0)
    b = c128[2] parameter(1)
    ROOT y = (c128[2], pred[]) custom-call(a, b), custom_call_target="numpy.linalg.solve"
    """,
    """
    a = c64[3,3] parameter(0)
    ROOT y = (c64[3,3], pred[]) custom-call(a), custom_call_target="numpy.linalg.inv"
    """,
    tolerance=1e-4,
)
def small_solve(frame: Frame, instruction: Instruction, operands: list[Array], outputs: list[Array]) -> ir.Value:
    """The solution; returns whether the matrix may be singular, and NumPy has to be asked."""
    emit_nest(frame, instruction, _emit, list(operands), outputs, weight=200)
    return outputs[1].load(frame.builder, (), 1)


def _emit(nest: Nest) -> None:
    b, (matrix, *sides), (solution, singular) = nest.builder, nest.operands, nest.outputs
    rows = _Rows(b, nest.target.vector_bytes, nest.scratch, matrix, _columns(solution.shape))
    rows.fill_matrix(matrix)
    if sides:
        rows.fill_sides(sides[0])
    else:
        unknowns = matrix.shape.dimensions[0]
        carried_loop(b, 0, unknowns, 1, (), lambda row, _: rows.store(row, b.add(row, I64(rows.side)), rows.scalar(1)) or ())
    singular.store(b, (), rows.eliminate(), 1)
    rows.substitute()

    def hand_on(row: ir.Value, column: ir.Value) -> None:
        index = (Affine(row), Affine(column)) if solution.shape.rank == 2 else (Affine(row),)
        solution.store(b, index, rows.solution(row, column), 1)

    _each(b, solution.shape.dimensions[0], _columns(solution.shape), hand_on)


def _columns(shape: Shape) -> int:
    return shape.dimensions[1] if shape.rank == 2 else 1


def _each(b: ir.IRBuilder, rows: int, columns: int, body) -> None:
    carried_loop(b, 0, rows, 1, (), lambda row, _: carried_loop(b, 0, columns, 1, (), lambda c, _: body(row, c) or ()) and ())


class _Rows:
    """The matrix and the right-hand sides, in memory."""

    def __init__(self, b: ir.IRBuilder, vector_bytes: int, memory: ir.Value, matrix: Array, sides: int) -> None:
        self.b, self.memory, self.unknowns = b, memory, matrix.shape.dimensions[0]
        self.type, width, self.least, self.parts = _TYPES[matrix.shape.element_type.name]
        self.size = self.parts * self.unknowns
        self.lanes = max(1, vector_bytes // width)
        self.side = -(-self.size // self.lanes) * self.lanes  # where the right-hand sides begin
        self.vectors = self.side // self.lanes + -(-sides // self.lanes)
        self.stride = self.vectors * self.lanes
        zero = ir.Constant(ir.VectorType(self.type, self.lanes), None)
        _each(b, self.size, self.vectors, lambda row, number: self._store_vector(row, number, zero))

    def scalar(self, value: float) -> ir.Constant:
        return self.type(value)

    def _at(self, row: ir.Value, column: ir.Value) -> ir.Value:
        b = self.b
        return element_address(b, self.memory, b.add(b.mul(row, I64(self.stride)), column), self.type)

    def load(self, row: ir.Value, column: ir.Value) -> ir.Value:
        return self.b.load(self._at(row, column), typ=self.type)

    def store(self, row: ir.Value, column: ir.Value, value: ir.Value) -> None:
        self.b.store(value, self._at(row, column))

    def _vector(self, row: ir.Value, number: ir.Value) -> ir.Value:
        address = self._at(row, self.b.mul(number, I64(self.lanes)))
        return self.b.load(address, typ=ir.VectorType(self.type, self.lanes), align=4)

    def _store_vector(self, row: ir.Value, number: ir.Value, value: ir.Value) -> None:
        self.b.store(value, self._at(row, self.b.mul(number, I64(self.lanes))), align=4)

    def _fill(self, array: Array, put: Callable[[ir.Value, ir.Value, RegisterValue], None]) -> None:
        b, rank = self.b, array.shape.rank

        def element(row: ir.Value, column: ir.Value) -> None:
            index = (Affine(row), Affine(column)) if rank == 2 else (Affine(row),)
            put(row, column, array.load(b, index, 1))

        _each(b, self.unknowns, _columns(array.shape), element)

    def fill_matrix(self, matrix: Array) -> None:
        b, lower = self.b, I64(self.unknowns)

        def put(row: ir.Value, column: ir.Value, value: RegisterValue) -> None:
            if self.parts == 1:
                self.store(row, column, value)
                return
            row_below, column_behind = b.add(row, lower), b.add(column, lower)
            self.store(row, column, value.real)
            self.store(row, column_behind, b.fneg(value.imag))
            self.store(row_below, column, value.imag)
            self.store(row_below, column_behind, value.real)

        self._fill(matrix, put)

    def fill_sides(self, sides: Array) -> None:
        b, first = self.b, I64(self.side)

        def put(row: ir.Value, column: ir.Value, value: RegisterValue) -> None:
            for number, part in enumerate((value,) if self.parts == 1 else (value.real, value.imag)):
                self.store(b.add(row, I64(number * self.unknowns)), b.add(column, first), part)

        self._fill(sides, put)

    def solution(self, row: ir.Value, column: ir.Value) -> RegisterValue:
        b, place = self.b, self.b.add(column, I64(self.side))
        real = self.load(row, place)
        return real if self.parts == 1 else ComplexValue(real, self.load(b.add(row, I64(self.unknowns)), place))

    def _subtract(self, row: ir.Value, other: ir.Value, factor: ir.Value, first: ir.Value) -> None:
        """From a row that many times another one, from this vector on."""
        b = self.b
        factors = broadcast_lanes(b, factor, self.lanes)

        def step(number: ir.Value, _: list) -> tuple:
            value = b.fsub(self._vector(row, number), b.fmul(factors, self._vector(other, number)))
            self._store_vector(row, number, value)
            return ()

        carried_loop(b, first, self.vectors, 1, (), step, most=self.vectors)

    def _exchange(self, row: ir.Value, other: ir.Value) -> None:
        def step(number: ir.Value, _: list) -> tuple:
            one, two = self._vector(row, number), self._vector(other, number)
            self._store_vector(row, number, two)
            self._store_vector(other, number, one)
            return ()

        carried_loop(self.b, 0, self.vectors, 1, (), step)

    def _largest(self) -> ir.Value:
        """The largest size of an element of the matrix."""
        b = self.b

        def element(number: ir.Value, carried: list) -> list:
            value = self._size(self.load(b.udiv(number, I64(self.size)), b.urem(number, I64(self.size))))
            return [b.select(b.fcmp_ordered(">", value, carried[0]), value, carried[0])]

        return carried_loop(b, 0, self.size**2, 1, [self.scalar(0)], element)[0]

    def _size(self, value: ir.Value) -> ir.Value:
        return self.b.call(self.b.module.declare_intrinsic("llvm.fabs", [self.type]), [value])

    def eliminate(self) -> ir.Value:
        """Make the matrix upper triangular; whether a pivot is not large enough."""
        b = self.b
        least = b.fmul(self._largest(), self.scalar(self.least))

        def column(number: ir.Value, carried: list) -> list:
            def larger(row: ir.Value, found: list) -> list:
                value = self._size(self.load(row, number))
                is_larger = b.fcmp_ordered(">", value, found[0])
                return [b.select(is_larger, value, found[0]), b.select(is_larger, row, found[1])]

            following = b.add(number, I64(1))
            first = [self._size(self.load(number, number)), number]
            _, pivot = carried_loop(b, following, self.size, 1, first, larger, most=self.size)
            self._exchange(number, pivot)
            diagonal = self.load(number, number)
            inverse = b.fdiv(self.scalar(1), diagonal)

            def reduce(row: ir.Value, _: list) -> tuple:
                factor = b.fmul(self.load(row, number), inverse)
                self._subtract(row, number, factor, b.udiv(number, I64(self.lanes)))
                return ()

            carried_loop(b, following, self.size, 1, (), reduce, most=self.size)
            return [b.or_(carried[0], b.fcmp_ordered("<=", self._size(diagonal), least))]

        return carried_loop(b, 0, self.size, 1, [I1(0)], column, "columns")[0]

    def substitute(self) -> None:
        """Make the matrix the identity, and so the right-hand sides the solution."""
        b, first = self.b, I64(self.side // self.lanes)

        def unknown(number: ir.Value, _: list) -> tuple:
            row = b.sub(I64(self.size - 1), number)
            divisor = broadcast_lanes(b, self.load(row, row), self.lanes)

            def divide(place: ir.Value, _: list) -> tuple:
                self._store_vector(row, place, b.fdiv(self._vector(row, place), divisor))
                return ()

            carried_loop(b, first, self.vectors, 1, (), divide, most=self.vectors)

            def reduce(other: ir.Value, _: list) -> tuple:
                self._subtract(other, row, self.load(other, row), first)
                return ()

            carried_loop(b, I64(0), row, 1, (), reduce, most=self.size)
            return ()

        carried_loop(b, 0, self.size, 1, (), unknown, "unknowns")
