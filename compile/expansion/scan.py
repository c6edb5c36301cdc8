"""Scan as a loop over the steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import hlo
from ...hlo import Instruction, Shape, TupleShape
from .table import expansion


@expansion("scan")
def expand_scan(scan: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """scan(x, init) -> while(step < size), whose body reads x at the step, and writes the outputs there in place."""
    attributes, count = scan.attributes, len(operands)
    (along,), carries = attributes["dimensions"], attributes["num_carries"]
    shapes = scan.shape.elements if scan.shape.is_tuple else (scan.shape,)
    outputs = list(shapes[: len(shapes) - carries])
    inputs, inits = operands[: count - carries], operands[count - carries :]
    if along and any(shape.rank == along + 1 for shape in (*(x.shape for x in inputs), *outputs)):
        return _along_the_first_dimension(scan, inputs, inits, outputs)
    steps = (inputs[0].shape if inputs else outputs[0]).dimensions[along]
    empty = [hlo.full(shape, 0) for shape in outputs]
    if not steps:
        return hlo.tuple(*empty, *inits) if scan.shape.is_tuple else (*empty, *inits)[0]
    init = hlo.tuple(hlo.constant(np.int64(0)), *inits, *inputs, *empty)
    state = init.shape
    more = hlo.computation("scan_condition", [state], lambda state: hlo.lt(hlo.get_tuple_element(state, 0), steps))
    body = hlo.computation("scan_body", [state], lambda state: _step(scan, state, along, steps, len(outputs)))
    loop = hlo.while_(init, condition=more, body=body)
    first_output = 1 + count
    results = [hlo.get_tuple_element(loop, first_output + number) for number in range(len(outputs))]
    results += [hlo.get_tuple_element(loop, 1 + number) for number in range(carries)]
    return hlo.tuple(*results) if scan.shape.is_tuple else results[0]


def _along_the_first_dimension(
    scan: Instruction, inputs: Sequence[Instruction], inits: Sequence[Instruction], outputs: list[Shape]
) -> Instruction:
    """The scan between transposes: they make neighbours of the elements of a slice."""
    (along,) = scan.attributes["dimensions"]

    def to_front(rank: int) -> list[int]:
        return [along, *(d for d in range(rank) if d != along)]

    moved = [hlo.transpose(x, dimensions=to_front(x.shape.rank)) for x in inputs]
    shapes = [shape.with_dimensions([shape.dimensions[d] for d in to_front(shape.rank)]) for shape in outputs]
    shapes += [init.shape for init in inits]
    shape = TupleShape(tuple(shapes)) if scan.shape.is_tuple else shapes[0]
    attributes = {**scan.attributes, "dimensions": (0,)}
    inner = hlo.scan(*moved, *inits, shape=shape, **attributes)
    results = [inner]
    if scan.shape.is_tuple:
        results = [hlo.get_tuple_element(inner, number) for number in range(len(shapes))]
    for number, shape in enumerate(outputs):
        order = [*range(1, along + 1), 0, *range(along + 1, shape.rank)]
        results[number] = hlo.transpose(results[number], dimensions=order)
    return hlo.tuple(*results) if scan.shape.is_tuple else results[0]


def _step(scan: Instruction, state: Instruction, along: int, steps: int, outputs: int) -> Instruction:
    """The state after a step: its number, the carries, the inputs, the outputs as far as they are known."""
    carries = scan.attributes["num_carries"]
    step, *parts = (hlo.get_tuple_element(state, number) for number in range(len(state.shape.elements)))
    before, inputs, arrays = parts[:carries], parts[carries : len(parts) - outputs], parts[len(parts) - outputs :]
    position = hlo.subtract(steps - 1, step) if scan.attributes["is_reverse"] else step
    zero = hlo.constant(np.int64(0))

    def starts(shape: Shape) -> list[Instruction]:
        return [position if d == along else zero for d in range(shape.rank)]

    slices = []
    for x in inputs:
        sizes = [1 if d == along else size for d, size in enumerate(x.shape.dimensions)]
        row = hlo.dynamic_slice(x, *starts(x.shape), sizes=sizes)
        slices.append(hlo.reshape(row, sizes[:along] + sizes[along + 1 :]))
    result = hlo.call(*slices, *before, to_apply=scan.attributes["to_apply"])
    results = [result]
    if result.shape.is_tuple:
        results = [hlo.get_tuple_element(result, number) for number in range(len(result.shape.elements))]
    after = []
    for array, element in zip(arrays, results):
        sizes = [1 if d == along else size for d, size in enumerate(array.shape.dimensions)]
        after.append(hlo.dynamic_update_slice(array, hlo.reshape(element, sizes), *starts(array.shape)))
    return hlo.tuple(hlo.add(step, 1), *results[outputs:], *inputs, *after)
