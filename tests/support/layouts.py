"""Samples of operations in which every array states a layout, with copies between layouts and a bitcast behind."""

import numpy as np
from comparisons import flattened
from environments import prepared_environment
from operation_checks import assert_agrees, is_tame, module_of
from phlox import hlo
from phlox.backends.arguments import contiguous
from phlox.backends.registry import get_backend
from phlox.hlo import Computation, Layout, Module, Shape, TupleShape, make_instruction
from retyped_samples import operand_shape
from sample_values import value_of


def in_some_layout(shape, random):
    """The shape, each of its arrays in a layout of its own, mostly not the row-major one."""
    if shape.is_tuple:
        return TupleShape(tuple(in_some_layout(element, random) for element in shape.elements))
    if shape.element_type is hlo.TOKEN:
        return shape
    return Shape(shape.element_type, shape.dimensions, Layout(tuple(int(d) for d in random.permutation(shape.rank))))


def copied(value, random):
    """An array, sometimes by way of a copy into another layout."""
    if value.shape.is_tuple or value.shape.element_type is hlo.TOKEN or random.random() < 0.5:
        return value
    return make_instruction("copy", [value], {}, in_some_layout(value.shape, random))


def arrays_in(value):
    """Instructions for the arrays in a value."""
    if not value.shape.is_tuple:
        return [] if value.shape.element_type is hlo.TOKEN else [value]
    parts = (make_instruction("get-tuple-element", [value], {"index": i}) for i in range(len(value.shape.elements)))
    return [array for part in parts for array in arrays_in(part)]


def module_in_layouts(cases, random):
    """The module that does each operation on the operands of its sample, all results as flat arrays of their bytes in memory.

    With it the shapes of these results, in their layouts.
    """
    parameters, instructions, results, shapes = [], [], [], []

    def emitted(root):
        instructions.extend(i for i in hlo.instruction.post_order(root, set(instructions)))
        return root

    for opcode, sample in cases:
        operands = []
        for operand in sample.operands:
            shape = in_some_layout(operand_shape(operand), random)
            parameters.append(make_instruction("parameter", (), {"number": len(parameters)}, shape))
            operands.append(copied(parameters[-1], random))
        plain = make_instruction(opcode, operands, sample.attributes, sample.shape)
        result = make_instruction(opcode, operands, sample.attributes, in_some_layout(plain.shape, random))
        for array in arrays_in(emitted(result)):
            array = copied(array, random)
            shapes.append(array.shape)
            flat = Shape(array.shape.element_type, (array.shape.size,))
            results.append(emitted(make_instruction("bitcast", [array], {}, flat)))
    root = emitted(make_instruction("tuple", results))
    return Module("layouts", Computation("main", tuple(instructions), root)), shapes


def check_in_layouts(cases, random, backend):
    """Run (opcode, sample) pairs in layouts, and compare with what they are, without, on the reference."""
    is_reference = backend == "reference"
    module, shapes = module_in_layouts(cases, random)
    hlo.verify(module)
    values = []
    for opcode, sample in cases:
        tame = is_reference or is_tame(opcode)
        values.append([value_of(operand, random, tame, nan=opcode != "sort") for operand in sample.operands])
    given = iter(flattened(tuple(value for operands in values for value in operands)))
    leaves = [leaf for parameter in module.entry.parameters for leaf in hlo.array_leaves(parameter.shape)]
    with prepared_environment(module).active():
        produced = get_backend(backend).compile(module)(*(contiguous(next(given), leaf) for leaf in leaves))
    environment = prepared_environment(module)
    found = iter(zip(produced, shapes, strict=True))
    for (opcode, sample), operands in zip(cases, values):
        alone, _ = module_of(opcode, [sample])
        for wanted in flattened(hlo.evaluate(alone.entry, *operands, environment=environment)):
            memory, shape = next(found)
            actual = elements_of(memory, shape)
            message = f"{opcode} of {[str(operand_shape(o)) for o in sample.operands]} {sample.attributes} -> {shape}"
            if is_reference:  # it may add in another order
                np.testing.assert_allclose(_wide(actual), _wide(wanted), rtol=1e-5, atol=1e-6, err_msg=message)
            else:
                assert_agrees(actual, wanted, operands, shape.element_type, opcode, message)


def elements_of(memory, shape):
    """The array whose bytes lie in flat memory as the shape says."""
    major_to_minor = shape.minor_to_major[::-1]
    sizes = [shape.dimensions[dimension] for dimension in major_to_minor]
    return np.asarray(memory).reshape(sizes).transpose(np.argsort(major_to_minor).astype(int))


def _wide(array):
    """As a type that NumPy computes with."""
    return array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)
