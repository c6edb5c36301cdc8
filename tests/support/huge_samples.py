"""Compiles the samples of operations with huge dimensions; run as a program, under a limit of memory.

Arguments: a number that takes the place of each dimension in turn, and opcodes. Prints each program whose outcome is none of
those that are allowed.
"""

import resource
import sys

import numpy as np
from phlox import hlo
from phlox.backends.registry import get_backend
from phlox.hlo import OPERATIONS, Computation, HloError, Module, Shape, ShapeError, TupleShape, make_instruction
from retyped_samples import operand_shape

# They wait for others.
WAITING = {"infeed", "recv", "recv-done", "send-done"}
LIMIT = 6 << 30


def enlarged(shape, old, new):
    """The shape with another size for each dimension of one size."""
    if shape is None:
        return None
    if shape.is_tuple:
        return TupleShape(tuple(enlarged(element, old, new) for element in shape.elements))
    dimensions = tuple(new if size == old else size for size in shape.dimensions)
    return Shape(shape.element_type, dimensions, shape.layout, shape.dynamic_dimensions)


def enlarged_value(value, old, new):
    """As enlarged, for an attribute: sizes may stand in it too."""
    if type(value) is int:
        return new if value == old else value
    return tuple(enlarged_value(element, old, new) for element in value) if type(value) is tuple else value


def sizes(shape):
    return {size for leaf in hlo.leaves(shape) for size in leaf.dimensions if size > 1}


def huge_modules(opcode, huge):
    for sample in OPERATIONS[opcode].samples():
        shapes = [operand_shape(o) for o in sample.operands]
        for old in sorted(set().union(*map(sizes, shapes), sizes(sample.shape) if sample.shape else ())):
            for attributes in (sample.attributes, {n: enlarged_value(v, old, huge) for n, v in sample.attributes.items()}):
                operands = [
                    make_instruction("parameter", (), {"number": number}, enlarged(shape, old, huge))
                    for number, shape in enumerate(shapes)
                ]
                try:
                    root = make_instruction(opcode, operands, attributes, enlarged(sample.shape, old, huge))
                except ShapeError:
                    continue
                yield Module(f"{opcode} with {old} -> {huge}", Computation("main", (*operands, root), root))


def outcome(module, backend):
    """None if all is well. A program that cannot run is called, with arrays that take no memory."""
    try:
        hlo.verify(module)
        executable = get_backend(backend).compile(module)
        memory = executable.memory_analysis()
        if memory["results"] + memory["temporaries"] > LIMIT:
            shapes = [leaf for parameter in module.entry.parameters for leaf in hlo.array_leaves(parameter.shape)]
            executable(*(np.broadcast_to(np.zeros((), shape.dtype), shape.dimensions) for shape in shapes))
            return "the call of a program that has no room returned"
    except (MemoryError, HloError, NotImplementedError):
        return None
    except ValueError as error:
        return None if "contiguous" in str(error) else repr(error)
    except Exception as error:  # noqa: BLE001
        return repr(error)
    return None


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    for opcode in sys.argv[2:]:
        for module in huge_modules(opcode, int(sys.argv[1])) if opcode not in WAITING else ():
            for backend in ("cpu", "reference"):
                found = outcome(module, backend)
                if found is not None:
                    print(f"{backend}: {found}\n{module}")
