"""Calls of ``numpy.linalg`` that go to NumPy's own loops, without Python (see `phlox.runtime.linear_algebra`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from ...hlo import F64, Instruction, Shape, leaves
from ...hlo.ops.known_calls import NUMPY_FAILURES
from ...hlo.shape import element_strides
from ...runtime.call_attributes import call_attributes
from ...runtime.linear_algebra import CLEAR_FLAG, INVALID, TEST_FLAG, Loop, loop_of
from ..llvm.arrays import Array
from ..llvm.index import Affine
from ..llvm.loops import carried_loop
from ..llvm.memory import copy_memory, element_address, fill_memory, pointer_table, stack_memory
from ..llvm.types import DOUBLE, I1, I8, I32, I64, POINTER
from .frame import Frame

_ALIGNMENT = 64
# Sizes that are the smaller one of two.
_SMALLER = {"p": ("m", "n"), "k": ("m", "n")}
# What follows from other sizes, and from the rank: how many sums of squares there are.
_SUMS_OF_SQUARES = (1, 0)


class LoopCall(NamedTuple):
    """How a call is made: the loop, and the letters of the last dimensions of each array that goes in or comes out.

    ``sizes`` names the operand and the dimension of each size that is known at run time only, ``result_sizes`` the results'.
    """

    function: str
    loop: Loop
    takes: list[tuple[str, ...]]
    gives: list[tuple[str, ...]]
    sizes: list[list[int]]
    result_sizes: list[list[int]]


def loop_call(instruction: Instruction) -> LoopCall | None:
    """How the call of a function of ``numpy.linalg`` is made without Python, None where it is not."""
    module, _, function = instruction.attributes.get("custom_call_target", "").rpartition(".")
    if module != "numpy.linalg":
        return None
    attributes = call_attributes(instruction.attributes["backend_config"])
    sizes, result_sizes = attributes.pop("sizes", []), attributes.pop("result_sizes", [])
    shapes = [operand.shape for operand in instruction.operands[: len(instruction.operands) - bool(sizes)]]
    name = _ufunc(function, shapes, attributes, bool(sizes))
    loop = None if name is None else loop_of(name, shapes[0].dtype)
    if loop is None:
        return None
    results = leaves(instruction.shape)
    results = results[: len(results) - (function in NUMPY_FAILURES) - bool(result_sizes)]
    takes, gives = list(loop.parts[: len(shapes)]), list(loop.parts[-len(results) :])
    if function == "qr":
        takes, gives = takes[:1], [*gives[1:], ("m" if name == "qr_complete" else "k", "n")]
    elif function == "lstsq":
        del takes[2:]  # the tolerance is no array
        if shapes[1].rank == 1:
            takes[1], gives[0] = takes[1][:1], gives[0][:1]
    call = LoopCall(function, loop, takes, gives, sizes, result_sizes)
    return call if _fits(call, shapes[: len(takes)], results) else None


def _ufunc(function: str, shapes: Sequence[Shape], attributes: dict[str, Any], is_dynamic: bool) -> str | None:
    """The name of the ufunc that does this."""
    triangle = "lo" if attributes.get("UPLO", "L").upper() == "L" else "up"
    match function, attributes:
        case (("det" | "eig" | "eigvals" | "inv" | "lstsq" | "slogdet"), _):
            return function
        case (("eigh" | "eigvalsh"), _):
            return f"{function}_{triangle}"
        case "solve", _:
            return "solve1" if shapes[1].rank == 1 else "solve"
        case "svd", {"hermitian": True}:
            return None
        case "svd", {"compute_uv": False}:
            return "svd"
        case "svd", _:
            return "svd_f" if attributes.get("full_matrices", True) else "svd_s"
        case "qr", {"mode": "reduced"}:
            return "qr_reduced"
        case "qr", {"mode": "r"}:
            return "qr_r_raw"
        case "qr", {"mode": "complete"} if not is_dynamic:
            rows, columns = shapes[0].dimensions[-2:]
            return "qr_complete" if rows > columns else "qr_reduced"
    return None


def _fits(call: LoopCall, shapes: Sequence[Shape], results: Sequence[Shape]) -> bool:
    """Whether the arrays are such that the loop takes them as they lie, and none is empty."""
    arrays = list(zip([*shapes, *results], [*call.takes, *call.gives]))
    stacks = {shape.dimensions[: shape.rank - len(letters)] for shape, letters in arrays if shape.rank >= len(letters)}
    dtypes = [shape.dtype for shape, _ in arrays]
    first, *others = call.loop.dtypes
    wanted = [first] * len(arrays) if call.function == "qr" else [first, *others]
    if call.function == "lstsq":
        del wanted[2]
    return (
        all(shape.size > 0 and shape.rank >= len(letters) and shape.is_row_major for shape, letters in arrays)
        and dtypes == wanted
        and len(stacks - {()}) <= 1
        and all(d >= shapes[number].rank - len(call.takes[number]) for number, d in call.sizes)
    )


def scratch_bytes(instruction: Instruction) -> int:
    """Memory for a matrix that a loop writes into, and for the factors of its reflections."""
    call = loop_call(instruction)
    if call is None or call.function != "qr":
        return 0
    return sum(map(_aligned, _reflections(instruction.operands[0].shape)))


def _reflections(shape: Shape) -> tuple[int, int]:
    """The bytes of a stack of matrices, and of the factors of their reflections."""
    rows, columns = shape.dimensions[-2:]
    return shape.byte_size, shape.byte_size // max(rows, columns)


def emit_loop_call(frame: Frame, call: LoopCall, operands: list[Array], outputs: list[Array], scratch: ir.Value | None) -> None:
    """Call the loop, where none of the sizes `is_empty`."""
    _Emission(frame, call, operands, outputs).emit(scratch)


def is_empty(frame: Frame, call: LoopCall, operands: list[Array]) -> ir.Value:
    """Whether one of the sizes that are known at run time only is 0."""
    b = frame.builder
    found: ir.Value = I1(0)
    for size in _known_at_run_time(b, call, operands):
        found = b.or_(found, b.icmp_signed("==", size, I64(0)))
    return found


def _known_at_run_time(b: ir.IRBuilder, call: LoopCall, operands: list[Array]) -> list[ir.Value]:
    return [b.sext(operands[-1].load(b, (Affine(I64(number)),), 1), I64) for number in range(len(call.sizes))]


class _Emission:
    """A call, while its code is emitted."""

    def __init__(self, frame: Frame, call: LoopCall, operands: list[Array], outputs: list[Array]) -> None:
        self.frame, self.call, self.b = frame, call, frame.builder
        self.operands, self.outputs = operands[: len(call.takes)], outputs[: len(call.gives)]
        self.tolerance = operands[2] if call.function == "lstsq" and len(operands) - bool(call.sizes) > 2 else None
        self.further = outputs[len(call.gives) :]
        self.sizes = self._sizes(operands)
        arrays = zip([*self.operands, *self.outputs], [*call.takes, *call.gives])
        self.count = max(_count(array.shape, letters) for array, letters in arrays)

    def _sizes(self, operands: list[Array]) -> dict[str, ir.Value]:
        """The size for each letter: the smallest, where a program that has found an error goes on with different ones."""
        b = self.b
        at_run_time = dict(zip(map(tuple, self.call.sizes), _known_at_run_time(b, self.call, operands)))
        sizes: dict[str, ir.Value] = {"nrhs": I64(1)} if self.call.function == "lstsq" else {}
        for number, (array, letters) in enumerate(zip(self.operands, self.call.takes)):
            dimensions = range(array.shape.rank - len(letters), array.shape.rank)
            for letter, d in zip(letters, dimensions):
                size = at_run_time.get((number, d), I64(array.shape.dimensions[d]))
                is_first = letter not in sizes or letter == "nrhs"
                sizes[letter] = size if is_first else self._extreme("<", sizes[letter], size)
        for letter, (one, other) in _SMALLER.items():
            if one in sizes and other in sizes:
                sizes[letter] = self._extreme("<", sizes[one], sizes[other])
        return sizes

    def _extreme(self, order: str, one: ir.Value, other: ir.Value) -> ir.Value:
        return self.b.select(self.b.icmp_signed(order, one, other), one, other)

    def emit(self, scratch: ir.Value | None) -> None:
        b, call = self.b, self.call
        if call.function in NUMPY_FAILURES:
            self._of_flag(CLEAR_FLAG)
        if call.function == "qr":
            self._qr(scratch)
        else:
            arrays = [*self.operands, *self.outputs]
            if call.function == "lstsq":
                arrays.insert(2, self._tolerance())
            self._run(call.loop, arrays)
        if call.function in NUMPY_FAILURES:
            self.further[-1].store(b, (), b.icmp_signed("!=", self._of_flag(TEST_FLAG), I32(0)), 1)
        for number, place in enumerate(call.result_sizes):
            self.further[0].store(b, (Affine(I64(number)),), b.trunc(self._result_size(*place), I32), 1)

    def _run(self, loop: Loop, arrays: Sequence[Array]) -> None:
        """Call a loop on arrays that lie as their shapes say."""
        b = self.b
        letters = list(dict.fromkeys(letter for part in loop.parts for letter in part))
        between, within = [], []
        for array, part in zip(arrays, loop.parts, strict=True):
            width, strides = array.shape.element_type.byte_size, element_strides(array.shape)
            inner = strides[max(0, array.shape.rank - len(part)) :]
            inner = (*inner, *[1] * (len(part) - len(inner)))  # of one right-hand side
            size = array.shape.byte_size // self.count if _count(array.shape, part) > 1 else 0
            between.append(I64(size))
            within += [I64(width * stride) for stride in inner]
        table = pointer_table(b, [array.pointer for array in arrays])
        sizes = self._numbers([I64(self.count), *[self.sizes[letter] for letter in letters]])
        strides_at = self._numbers([*between, *within])
        signature = ir.FunctionType(ir.VoidType(), [POINTER] * 4)
        function = self.frame.module.native_function(loop.name, signature)
        b.call(function, [table, sizes, strides_at, ir.Constant(POINTER, None)])

    def _numbers(self, values: Sequence[ir.Value]) -> ir.Value:
        b = self.b
        with b.goto_entry_block():
            table = stack_memory(b, 8 * len(values), 8)
        for number, value in enumerate(values):
            b.store(value, element_address(b, table, I64(number), I64))
        return table

    def _of_flag(self, name: str) -> ir.Value:
        return self.b.call(self.frame.module.native_function(name, ir.FunctionType(I32, [I32])), [I32(INVALID)])

    def _result_size(self, number: int, dimension: int) -> ir.Value:
        b, letters = self.b, self.call.gives[number]
        if self.call.function == "lstsq" and (number, dimension) == _SUMS_OF_SQUARES:
            rank = b.sext(self.outputs[2].load(b, (), 1), I64)
            has_full_rank = b.icmp_signed("==", rank, self.sizes["n"])
            is_overdetermined = b.icmp_signed(">", self.sizes["m"], self.sizes["n"])
            return b.select(b.and_(has_full_rank, is_overdetermined), self.sizes["nrhs"], I64(0))
        return self.sizes[letters[dimension - (self.outputs[number].shape.rank - len(letters))]]

    def _tolerance(self) -> Array:
        """Singular values that are smaller, as parts of the largest one, count as 0."""
        if self.tolerance is not None:
            return self.tolerance
        b, most = self.b, self._extreme(">", self.sizes["m"], self.sizes["n"])
        return self.frame.in_memory(b.fmul(b.sitofp(most, DOUBLE), DOUBLE(np.finfo(float).eps)), Shape(F64))

    def _qr(self, scratch: ir.Value) -> None:
        """The reflections that make the matrix triangular, and their product."""
        b, (matrix,) = self.b, self.operands
        size, _ = _reflections(matrix.shape)
        copy_memory(b, scratch, matrix.pointer, size)
        *stack, rows, columns = matrix.shape.dimensions
        behind = b.gep(scratch, [I64(_aligned(size))], source_etype=I8)
        reflected = Array(scratch, matrix.shape)
        factors = Array(behind, Shape(matrix.shape.element_type, (*stack, min(rows, columns))))
        reflections = loop_of("qr_r_raw", matrix.shape.dtype)
        assert reflections is not None
        self._run(reflections, [reflected, factors])
        if self.call.loop.name != reflections.name:
            self._run(self.call.loop, [reflected, factors, self.outputs[0]])
        self._copy_upper_triangle(reflected, self.outputs[-1])

    def _copy_upper_triangle(self, source: Array, target: Array) -> None:
        b, width = self.b, target.shape.element_type.byte_size
        (source_rows, columns), rows = source.shape.dimensions[-2:], target.shape.dimensions[-2]
        fill_memory(b, target.pointer, 0, target.shape.byte_size)

        def copy_rest(matrix: ir.Value, row: ir.Value) -> None:
            first = b.add(b.mul(row, I64(columns)), row)
            addresses = [
                b.gep(
                    array.pointer,
                    [b.mul(b.add(b.mul(matrix, I64(count * columns)), first), I64(width))],
                    source_etype=I8,
                )
                for array, count in ((target, rows), (source, source_rows))
            ]
            copy_memory(b, *addresses, b.mul(b.sub(I64(columns), row), I64(width)))

        def each(matrix: ir.Value, _: list) -> tuple:
            carried_loop(b, 0, min(rows, columns), 1, (), lambda row, _: copy_rest(matrix, row) or ())
            return ()

        carried_loop(b, 0, self.count, 1, (), each, "matrices")


def _count(shape: Shape, letters: Sequence[str]) -> int:
    """How many matrices, or whatever has the sizes of these letters, an array holds."""
    return math.prod(shape.dimensions[: max(0, shape.rank - len(letters))])


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
