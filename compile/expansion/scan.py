"""Scan as a loop over the steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...hlo import Builder, Instruction, Shape, TupleShape
from .table import expansion


@expansion("scan")
def expand_scan(b: Builder, scan: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """scan(x, init) -> while(step < size), whose body reads x at the step, and writes the outputs there in place."""
    attributes, count = scan.attributes, len(operands)
    (along,), carries = attributes["dimensions"], attributes["num_carries"]
    shapes = scan.shape.elements if scan.shape.is_tuple else (scan.shape,)
    outputs = list(shapes[: len(shapes) - carries])
    inputs, inits = operands[: count - carries], operands[count - carries :]
    if along and any(shape.rank == along + 1 for shape in (*(x.shape for x in inputs), *outputs)):
        return _along_the_first_dimension(b, scan, inputs, inits, outputs)
    steps = (inputs[0].shape if inputs else outputs[0]).dimensions[along]
    empty = [b.broadcast(b.constant(0, shape.element_type), shape.dimensions, ()) for shape in outputs]
    if not steps:
        return b.emit("tuple", *empty, *inits) if scan.shape.is_tuple else (*empty, *inits)[0]
    init = b.emit("tuple", b.constant(np.int64(0)), *inits, *inputs, *empty)
    state = init.shape
    c = Builder("scan_condition")
    condition = c.build(c.Lt(c.get_tuple_element(c.parameter(state, "state"), 0), c.constant(np.int64(steps))))
    body = _body(scan, state, along, steps, len(outputs))
    loop = b.emit("while", init, condition=condition, body=body)
    first_output = 1 + count
    results = [b.get_tuple_element(loop, first_output + number) for number in range(len(outputs))]
    results += [b.get_tuple_element(loop, 1 + number) for number in range(carries)]
    return b.emit("tuple", *results) if scan.shape.is_tuple else results[0]


def _along_the_first_dimension(
    b: Builder, scan: Instruction, inputs: Sequence[Instruction], inits: Sequence[Instruction], outputs: list[Shape]
) -> Instruction:
    """The scan between transposes: they make neighbours of the elements of a slice."""
    (along,) = scan.attributes["dimensions"]

    def to_front(rank: int) -> list[int]:
        return [along, *(d for d in range(rank) if d != along)]

    moved = [b.emit("transpose", x, dimensions=to_front(x.shape.rank)) for x in inputs]
    shapes = [shape.with_dimensions([shape.dimensions[d] for d in to_front(shape.rank)]) for shape in outputs]
    shapes += [init.shape for init in inits]
    shape = TupleShape(tuple(shapes)) if scan.shape.is_tuple else shapes[0]
    attributes = {**scan.attributes, "dimensions": (0,)}
    inner = b.emit("scan", *moved, *inits, shape=shape, **attributes)
    results = [inner]
    if scan.shape.is_tuple:
        results = [b.get_tuple_element(inner, number) for number in range(len(shapes))]
    for number, shape in enumerate(outputs):
        order = [*range(1, along + 1), 0, *range(along + 1, shape.rank)]
        results[number] = b.emit("transpose", results[number], dimensions=order)
    return b.emit("tuple", *results) if scan.shape.is_tuple else results[0]


def _body(scan: Instruction, state: TupleShape, along: int, steps: int, outputs: int):
    b, carries = Builder("scan_body"), scan.attributes["num_carries"]
    parameter = b.parameter(state, "state")
    step, *parts = (b.get_tuple_element(parameter, number) for number in range(len(state.elements)))
    before, inputs, arrays = parts[:carries], parts[carries : len(parts) - outputs], parts[len(parts) - outputs :]
    position = b.Sub(b.constant(np.int64(steps - 1)), step) if scan.attributes["is_reverse"] else step
    zero = b.constant(np.int64(0))

    def starts(shape: Shape) -> list[Instruction]:
        return [position if d == along else zero for d in range(shape.rank)]

    slices = []
    for x in inputs:
        sizes = [1 if d == along else size for d, size in enumerate(x.shape.dimensions)]
        row = b.DynamicSlice(x, starts(x.shape), sizes)
        slices.append(b.reshape(row, sizes[:along] + sizes[along + 1 :]))
    result = b.emit("call", *slices, *before, to_apply=scan.attributes["to_apply"])
    results = [result]
    if result.shape.is_tuple:
        results = [b.get_tuple_element(result, number) for number in range(len(result.shape.elements))]
    after = []
    for array, element in zip(arrays, results):
        sizes = [1 if d == along else size for d, size in enumerate(array.shape.dimensions)]
        after.append(b.DynamicUpdateSlice(array, b.reshape(element, sizes), starts(array.shape)))
    following = b.Add(step, b.constant(np.int64(1)))
    return b.build(b.emit("tuple", following, *results[outputs:], *inputs, *after))
