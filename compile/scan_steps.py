"""What a scan does to each element, and scans made of what combines two elements.

The computation of a scan works on slices. Where it does the same to each element of them, and to no other, the scan is as many
scans of scalars as a slice has elements, whose loops may be arranged in any way; ``elementwise_step`` is what they do.
"""

from __future__ import annotations

from ..hlo import TOKEN, Computation, Instruction, Shape, leaves, make_instruction
from ..hlo.instruction import callees_first, post_order
from ..hlo.operation import ELEMENTWISE, GIVEN, TUPLING
from .inlining import inlined, inlined_elementwise
from .memo import Memo
from .traversal import is_control_flow

# Traits of what computations on scalars hold besides.
_ON_SCALARS = frozenset({GIVEN, TUPLING})

_known: Memo[Computation, tuple[Computation | None]] = Memo()


def elementwise_step(scan: Instruction) -> Computation | None:
    """A scan's computation on scalars: (element of each input..., carry...) to (element of each output..., next carry...).

    None where an element of the outputs or carries depends on others than those at its own place.
    """
    computation = scan.attributes["to_apply"]
    known = _known.get(computation)
    if known is None:
        known = _known[computation] = (_elementwise_step(computation),)
    return known[0]


def _elementwise_step(computation: Computation) -> Computation | None:
    shapes = [*leaves(computation.shape), *(parameter.shape for parameter in computation.parameters)]
    dimensions = shapes[0].dimensions if shapes and not shapes[0].is_tuple else None
    if any(shape.is_tuple or shape.dimensions != dimensions or shape.dynamic_dimensions for shape in shapes):
        return None
    step = _on_scalars(computation, dimensions) if dimensions else computation
    return step if step is not None and _is_scalar(step) else None


def _on_scalars(computation: Computation, dimensions: tuple[int, ...]) -> Computation | None:
    values: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        opcode, operands = instruction.opcode, [values[operand] for operand in instruction.operands]
        shape = instruction.shape
        if opcode == "tuple":
            values[instruction] = make_instruction("tuple", operands)
        elif shape.is_tuple or shape.dimensions not in ((), dimensions):
            return None
        elif opcode == "constant" and not shape.rank:
            values[instruction] = instruction
        elif opcode == "parameter" or _is_elementwise(instruction):
            scalar = Shape(shape.element_type)
            values[instruction] = make_instruction(opcode, operands, instruction.attributes, scalar, source=instruction.source)
        elif opcode == "broadcast" and not instruction.operands[0].shape.rank:
            values[instruction] = operands[0]
        elif opcode == "map":
            callee = {"to_apply": instruction.attributes["to_apply"]}
            values[instruction] = make_instruction("call", operands, callee, source=instruction.source)
        else:
            return None
    return Computation(computation.name, tuple(dict.fromkeys(values.values())), values[computation.root])


def _is_elementwise(instruction: Instruction) -> bool:
    """Whether each element of the result is computed from those at its own place: also bits of a type as wide."""
    if instruction.opcode == "bitcast-convert":
        return instruction.operands[0].shape.dimensions == instruction.shape.dimensions
    return ELEMENTWISE in instruction.operation.traits


def _is_scalar(computation: Computation) -> bool:
    """Whether the computation, with what it calls, is one on scalars alone."""
    for inside in callees_first(computation):
        for instruction in inside.instructions:
            known = _is_elementwise(instruction) or is_control_flow(instruction)
            if not known and _ON_SCALARS.isdisjoint(instruction.operation.traits):
                return False
            if any(shape.rank or shape.element_type is TOKEN for shape in leaves(instruction.shape)):
                return False
    return True


def running_step(combiner: Computation, dimensions: tuple[int, ...]) -> Computation:
    """The computation of the scan that combines each slice of these dimensions with all before it.

    ``combiner`` takes N scalars of what is combined already and N elements; the step gives N outputs, which are the N carries.
    """
    count = len(combiner.parameters) // 2
    shapes = [Shape(parameter.shape.element_type, dimensions) for parameter in combiner.parameters[:count]]
    parameters = [
        make_instruction("parameter", (), {"number": number}, shape, name="x" if number < count else "carry")
        for number, shape in enumerate([*shapes, *shapes])
    ]
    totals = _combined(combiner, [*parameters[count:], *parameters[:count]])
    root = make_instruction("tuple", [*totals, *totals])
    instructions = dict.fromkeys([*parameters, *post_order(root, ())])
    return Computation(f"running_{combiner.name}", tuple(instructions), root)


def _combined(combiner: Computation, arguments: list[Instruction]) -> list[Instruction]:
    """The results of a combiner of scalars for each element of arrays."""
    if not arguments[0].shape.rank:
        result = inlined(combiner, arguments)
        if not result.shape.is_tuple:
            return [result]
        return [make_instruction("get-tuple-element", (result,), {"index": i}) for i in range(len(result.shape.elements))]
    results = []
    for root in combiner.root.operands if combiner.root.opcode == "tuple" else (combiner.root,):
        alone = Computation(combiner.name, tuple(dict.fromkeys([*combiner.parameters, *post_order(root, ())])), root)
        result = inlined_elementwise(alone, arguments)
        results.append(make_instruction("map", arguments, {"to_apply": alone}) if result is None else result)
    return results
