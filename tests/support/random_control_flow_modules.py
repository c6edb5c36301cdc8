"""Modules of random control flow: parameters of many shapes, results in nested tuples; arguments for them."""

from random import Random

import numpy as np
from hypothesis import strategies as st
from phlox.hlo import F32, PRED, S32, Layout, Shape, TupleShape, leaves
from phlox.xla_builder import XlaBuilder
from random_control_flow import COMPLEX_CONSTANTS, ControlFlowProgram, stating_layouts
from random_programs import CONSTANTS


@st.composite
def control_flow_modules(draw):
    return control_flow_module(draw(st.integers(0, 2**32)), draw(st.integers(3, 30)))


def control_flow_module(seed, steps):
    """A module with results that are computed, repeated, parameters or constants, in nested tuples."""
    random = Random(seed)
    program = ControlFlowProgram(random, XlaBuilder("random"))
    sizes = ControlFlowProgram.SIZES
    shapes = [Shape(S32), Shape(PRED), Shape(F32)]
    size = random.choice(sizes)
    for _ in range(random.randint(3, 7)):
        rank = random.choice((1, 1, 2, 2, 2, 3))
        dimensions = tuple(random.choice((size, *sizes)) for _ in range(rank))
        shape = Shape(random.choice(ControlFlowProgram.TYPES), dimensions)
        if shape.size > ControlFlowProgram.LARGEST:
            continue
        if rank > 1 and random.random() < 0.2:
            shape = Shape(shape.element_type, dimensions, Layout(tuple(range(rank))))
        shapes.extend([shape] * random.choice((1, 1, 2)))
    program.pool = [program.b.parameter(shape, f"p{n}") for n, shape in enumerate(shapes)]
    if random.random() < 0.3:
        pair = program.b.parameter(TupleShape((Shape(S32, (size,)), Shape(F32, (size,)))), "pair")
        program.pool.extend(program.b.GetTupleElement(pair, index) for index in range(2))
    own = list(program.pool)
    program.grow(steps)
    results = [value for value in program.pool[len(own) :] if random.random() < 0.4] or [program.pool[-1]]
    if random.random() < 0.3:
        results.append(random.choice(results))
    if random.random() < 0.3:
        results.insert(0, random.choice(own))
    if random.random() < 0.2:
        results = [program.b.Tuple(results[: len(results) // 2]), *results[len(results) // 2 :]]
    root = results[0] if len(results) == 1 and random.random() < 0.5 else program.b.Tuple(results)
    return stating_layouts(program.b.build_module(root), random)


def module_arguments(module, seed):
    """Values for the leaves of the parameters: small integers and special values, in the memory order of the parameter."""
    generator = np.random.default_rng(seed)
    values = []
    for parameter in module.entry.parameters:
        for shape in leaves(parameter.shape):
            constants = COMPLEX_CONSTANTS if shape.element_type.kind == "complex" else CONSTANTS[shape.element_type.kind]
            special = generator.choice(np.array(constants), shape.dimensions)
            low = 0 if shape.element_type.kind == "unsigned" else -4
            ordinary = generator.integers(low, 5, shape.dimensions)
            value = np.where(generator.random(shape.dimensions) < 0.3, special, ordinary).astype(shape.dtype)
            values.append(np.array(value, order="C" if shape.is_row_major else "F"))
    return values
