"""Elementary functions, inline or as calls of functions that all modules share.

A module that applies one or two of them holds their code inline. One that applies more calls them: it is compiled several
times as fast, and loops hand over several vectors at once, so that the calls cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ...hlo import Computation, Instruction, Module
from ...hlo.operation import ELEMENTWISE, GIVEN
from .builder import Builder, undefined
from .elementary import ELEMENTARY_FUNCTIONS, SHORT_FUNCTIONS
from .module import VECTORS_PER_CALL, SharedFunction, SharedFunctions, align_stack, declared, shared_functions_of
from .types import I32, ComplexValue, RegisterValue, flatten, type_suffix, unflatten

# Operations on complex numbers that are as long as an elementary function.
_COMPLEX_FUNCTIONS = ELEMENTARY_FUNCTIONS.keys() | {"abs", "divide"}
# So many applications stay inline; a complex one, or one in a reduction, which is unrolled, counts twice.
_INLINE_APPLICATIONS = 2
_WEIGHT_OF_COMPLEX = 2
_WEIGHT_IN_REDUCTION = 2


def is_called(instruction: Instruction) -> bool:
    """Whether the instruction applies an elementary function to real numbers that is worth a call."""
    return (
        instruction.opcode in ELEMENTARY_FUNCTIONS
        and instruction.opcode not in SHORT_FUNCTIONS
        and _element_type(instruction).is_float
    )


def _element_type(instruction: Instruction):
    return instruction.operands[0].shape.element_type


def has_many_applications(module: Module) -> bool:
    """Whether the module applies elementary functions so often that they are better called."""
    return sum(map(_weight, module.computations())) > _INLINE_APPLICATIONS


def _weight(computation: Computation) -> int:
    weight, reduces = 0, False
    for instruction in computation.instructions:
        if is_called(instruction):
            weight += 1
        elif instruction.opcode in _COMPLEX_FUNCTIONS and _element_type(instruction).is_complex:
            weight += _WEIGHT_OF_COMPLEX
        reduces |= instruction.opcode == "reduce"
    return weight * _WEIGHT_IN_REDUCTION if reduces else weight


def calls_on_vectors(module: ir.Module, computation: Computation) -> bool:
    """Whether the computation calls elementary functions of real numbers, and may do so for `VECTORS_PER_CALL` vectors."""
    shared = shared_functions_of(module)
    if shared is None or not shared.calls_elementary:
        return False
    instructions = [instruction for instruction in computation.instructions if not instruction.shape.is_tuple]
    return any(map(is_called, instructions)) and all(
        _is_indifferent_to_length(instruction) and not instruction.shape.element_type.is_complex for instruction in instructions
    )


def _is_indifferent_to_length(instruction: Instruction) -> bool:
    """Whether nothing is lost where vectors are several registers long."""
    return not {ELEMENTWISE, GIVEN}.isdisjoint(instruction.operation.traits) or instruction.opcode in ("broadcast", "slice")


def lanes_for_calls(module: ir.Module, computation: Computation, lanes: int, size: int) -> int:
    """The lanes of vectors along a dimension of this size: several registers where few overlap at the end."""
    return wide_lanes(lanes, size) if lanes > 1 and calls_on_vectors(module, computation) else lanes


def wide_lanes(lanes: int, size: int) -> int:
    """As lanes_for_calls, where there are calls."""
    if lanes == 1:
        return lanes
    wide = lanes * VECTORS_PER_CALL
    while wide > lanes and 8 * -(-size // wide) * wide > 9 * size:
        wide //= 2
    return wide


def apply(
    builder: ir.IRBuilder,
    name: str,
    function: Callable[..., RegisterValue],
    operands: tuple[RegisterValue, ...],
    like: RegisterValue,
) -> RegisterValue:
    """``function(builder, *operands)``, a value like ``like``: inline, or by a call of the function of this name."""
    shared = shared_functions_of(builder.module)
    if shared is None or not shared.calls_elementary:
        return function(builder, *operands)
    called = declared(builder.module, _shared(shared, name, function, operands, like))
    result = builder.call(called, flatten(operands))
    if not isinstance(like, ComplexValue):
        return result
    return ComplexValue(builder.extract_value(result, 0), builder.extract_value(result, 1))


def _shared(
    shared: SharedFunctions,
    name: str,
    function: Callable[..., RegisterValue],
    operands: tuple[RegisterValue, ...],
    like: RegisterValue,
) -> SharedFunction:
    registers = [register.type for register in flatten(operands)]
    result = ir.LiteralStructType([part.type for part in like]) if isinstance(like, ComplexValue) else like.type
    lanes = registers[0].count if isinstance(registers[0], ir.VectorType) else 1
    element = registers[0].element if lanes > 1 else registers[0]
    # Two vectors at a time hide each other's latencies, and find room in the registers.
    group = min(lanes, 2 * shared.vector_bytes // (4 if isinstance(element, ir.FloatType) else 8))

    def emit(body: ir.Function) -> None:
        if lanes > 1:
            align_stack(body, shared.vector_bytes)
        builder = Builder(body.append_basic_block("entry"))
        arguments = unflatten(body.args, operands)
        if lanes == group:
            value = function(builder, *arguments)
        else:
            value = _joined(
                builder,
                [
                    function(builder, *(vector_part(builder, argument, first, group) for argument in arguments))
                    for first in range(0, lanes, group)
                ],
            )
        if isinstance(value, ComplexValue):
            both = builder.insert_value(undefined(result), value.real, 0)
            value = builder.insert_value(both, value.imag, 1)
        builder.ret(value)

    suffix = ".".join(type_suffix(type_) for type_ in registers)
    return SharedFunction(f"phlox.{name}.{suffix}", ir.FunctionType(result, registers), emit)


def vector_part(builder: ir.IRBuilder, value: RegisterValue, first: int, count: int) -> RegisterValue:
    """Some consecutive lanes of a vector."""
    if isinstance(value, ComplexValue):
        return ComplexValue(*(vector_part(builder, part, first, count) for part in value))
    return builder.shuffle_vector(value, undefined(value.type), _lane_numbers(first, count))


def _joined(builder: ir.IRBuilder, parts: list[RegisterValue]) -> RegisterValue:
    """One vector of the lanes of several, a power of two of them."""
    if isinstance(parts[0], ComplexValue):
        return ComplexValue(*(_joined(builder, list(registers)) for registers in zip(*parts)))
    while len(parts) > 1:
        lanes = _lane_numbers(0, 2 * parts[0].type.count)
        parts = [builder.shuffle_vector(one, other, lanes) for one, other in zip(parts[::2], parts[1::2])]
    return parts[0]


def _lane_numbers(first: int, count: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(I32, count), list(range(first, first + count)))
