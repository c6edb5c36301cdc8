"""The samples of an operation with other element types: what the record accepts beyond the types that its samples name.

A sample that holds f32 and s32 gives one candidate for each type that f32, and for each that s32 may become, throughout the
sample: in operands, in the stated shape, in literals and in called computations. The record's shape function says which of the
candidates are programs.
"""

import numpy as np
from phlox.hlo import (
    OPERATIONS,
    Computation,
    Shape,
    ShapeError,
    TupleShape,
    element_type_of,
    leaves,
    make_instruction,
    shape_of,
)
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.hlo.operation import Sample
from phlox.hlo.ops import numerics

ARRAY_TYPES = [element_type for element_type in ELEMENT_TYPES.values() if element_type.dtype is not None]


def retyped_shape(shape, source, target):
    """The shape with ``target`` in the place of ``source``."""
    if shape is None:
        return None
    if shape.is_tuple:
        return TupleShape(tuple(retyped_shape(element, source, target) for element in shape.elements))
    return shape.with_element_type(target) if shape.element_type is source else shape


def retyped_value(value, source, target):
    """The array or tuple of arrays, converted; a shape as by retyped_shape."""
    if value is None:
        return None
    if isinstance(value, (Shape, TupleShape)):
        return retyped_shape(value, source, target)
    if isinstance(value, tuple):
        return tuple(retyped_value(element, source, target) for element in value)
    array = np.asarray(value)
    if element_type_of(array.dtype) is not source:
        return value
    return numerics.convert(array, target)


def retyped_attribute(value, source, target):
    if isinstance(value, Computation):
        return retyped_computation(value, source, target)
    if isinstance(value, tuple) and value and all(isinstance(element, Computation) for element in value):
        return tuple(retyped_computation(element, source, target) for element in value)
    if isinstance(value, (np.ndarray, np.generic)):
        return retyped_value(value, source, target)
    return value


def retyped_computation(computation, source, target):
    """The computation on the other type; raises ShapeError where an instruction in it does not take that."""
    made = {}
    for instruction in computation.instructions:
        attributes = {name: retyped_attribute(value, source, target) for name, value in instruction.attributes.items()}
        operands = [made[operand] for operand in instruction.operands]
        made[instruction] = make_instruction(
            instruction.opcode, operands, attributes, retyped_shape(instruction.shape, source, target)
        )
    return Computation(computation.name, tuple(made.values()), made[computation.root])


def operand_shape(operand):
    return operand if isinstance(operand, (Shape, TupleShape)) else shape_of(operand)


def retyped(record, sample, source, target):
    """The sample with another type; None where the operation does not take it."""
    try:
        attributes = {name: retyped_attribute(value, source, target) for name, value in sample.attributes.items()}
        operands = [retyped_value(operand, source, target) for operand in sample.operands]
        stated = retyped_shape(sample.shape, source, target)
        parameters = [
            make_instruction("parameter", (), {"number": n}, operand_shape(operand)) for n, operand in enumerate(operands)
        ]
        make_instruction(record.opcode, parameters, attributes, stated)
    except ShapeError:
        return None
    return Sample(operands, attributes, stated)


def types_in(sample):
    """The element types of the operands and the stated result, each once."""
    shapes = [leaf for operand in sample.operands for leaf in leaves(operand_shape(operand))]
    if sample.shape is not None:
        shapes += leaves(sample.shape)
    return list(dict.fromkeys(shape.element_type for shape in shapes if shape.element_type.dtype is not None))


def signature(sample):
    """What tells samples of one operation apart for this purpose: the types and the ranks, not the sizes."""
    shapes = [leaf for operand in sample.operands for leaf in leaves(operand_shape(operand))]
    stated = leaves(sample.shape) if sample.shape is not None else []
    return tuple(shape.element_type for shape in (*shapes, *stated))


def retyped_samples(opcode, of_each=1, types=ARRAY_TYPES):
    """Samples whose types none of the operation's own has: at most ``of_each`` of each combination; new are ``types``.

    The smaller samples that still have elements are preferred.
    """
    record = OPERATIONS[opcode]
    own = record.samples()

    def weight(sample):
        sizes = [leaf.size for operand in sample.operands for leaf in leaves(operand_shape(operand))]
        return (not all(sizes), sum(sizes) <= len(sizes), sum(sizes))

    known = {signature(sample): of_each for sample in own}
    found = []
    for sample in sorted(own, key=weight):
        for source in types_in(sample):
            for target in types:
                changed = retyped(record, sample, source, target)
                if changed is not None and known.get(signature(changed), 0) < of_each:
                    known[signature(changed)] = known.get(signature(changed), 0) + 1
                    found.append(changed)
    return found
