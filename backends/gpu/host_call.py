"""Instructions that the host evaluates, on what the device has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...hlo import Evaluator, Instruction, Shape, array_leaves
from ...hlo.evaluation import evaluate_instruction
from ...hlo.tracebacks import keep_frames_of_users, raised_within
from ...runtime import current_environment
from ..arguments import flatten, pack
from .drivers.driver import Device


def call_host(device: Device, instruction: Instruction, operands: Sequence[int], results: Sequence[int]) -> None:
    """Evaluate an instruction whose operands' arrays are at these addresses, and leave its results' arrays at those.

    What it raises tells of the instruction's line in the user's program."""
    places, arrays = iter(operands), []
    for operand in instruction.operands:
        for shape in array_leaves(operand.shape):
            array, in_memory = _array_in_layout(shape)
            device.read(in_memory.ctypes.data, next(places), in_memory.nbytes)
            arrays.append(array if array.ndim else array[()])
    given = iter(arrays)
    values = tuple([pack(operand.shape, given) for operand in instruction.operands])
    try:
        with np.errstate(all="ignore"):
            found = evaluate_instruction(instruction, values, Evaluator(environment=current_environment()))
    except BaseException as error:
        raised_within(error, instruction.source)
        keep_frames_of_users(error)
        raise
    for value, shape, address in zip(flatten(found), array_leaves(instruction.shape), results, strict=True):
        array = np.asarray(value, shape.dtype)
        if array.shape != shape.dimensions:
            required = f"{shape.dtype} of shape {shape.dimensions}"
            raise TypeError(f"{instruction.opcode}: {required} is required, got an array of shape {array.shape}")
        target, in_memory = _array_in_layout(shape)
        target[...] = array
        device.write(address, in_memory.ctypes.data, in_memory.nbytes)


def _array_in_layout(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """An array of this shape, and the row-major one of its memory: what a custom call takes and returns may state a layout."""
    order = shape.minor_to_major[::-1]
    in_memory = np.empty([shape.dimensions[dimension] for dimension in order], shape.dtype)
    return in_memory.transpose(np.argsort(order)), in_memory
