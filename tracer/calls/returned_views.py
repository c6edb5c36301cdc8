"""Views of arrays of the caller's that a function returns: they share the memory of these, as NumPy's do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter, itemgetter, methodcaller
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ... import hlo
from ..recording.array import TracedArray
from ..recording.trace import Trace

Steps = tuple[Callable[[np.ndarray], np.ndarray], ...]


def steps_of_view(trace: Trace, view: TracedArray) -> Steps | None:
    """What makes the view of an array that lies as its root does; None for what is no such view of NumPy's.

    Nor is one without elements, or at places that the program computes, or one that reads complex numbers as others, but for
    their parts.
    """
    root = view.root
    if root.has_other_order or type(root) is not TracedArray or root.is_dynamic or view.is_dynamic:
        return None
    if not view.size:
        return None
    steps = _steps_between(_read(trace, view), root.recorded(trace))
    return None if steps is None else _as_it_lies(steps, root, view)


def _read(trace: Trace, view: TracedArray) -> hlo.Instruction:
    """What a view reads of the array that it is a view of, whatever was written to it."""
    if view.base is None or view.view_reader is None:
        return view.recorded(trace)
    whole = _read(trace, view.base)
    as_then = whole if view.base_shape in (None, whole.shape.dimensions) else hlo.reshape(whole, view.base_shape)
    return view.view_reader(trace, as_then)


def _steps_between(instruction: hlo.Instruction, whole: hlo.Instruction) -> Steps | None:
    """What NumPy does in the place of the instructions from the whole on; None where one does not just move elements."""
    steps: list[Callable[[np.ndarray], np.ndarray]] = []
    while instruction is not whole:
        if instruction.opcode not in _STEPS:
            return None
        if instruction.opcode == "convert" and not _reads_truths_as_bytes(instruction):
            return None
        if (index := _index_of(instruction, whole)) is not None:
            steps.append(itemgetter(index))
            instruction = instruction.operands[0].operands[0]
            continue
        if _is_diagonal(instruction):
            steps.append(_diagonal)
            instruction = instruction.operands[0].operands[0]
            continue
        steps.append(_STEPS[instruction.opcode](instruction))
        instruction = instruction.operands[0]
    return tuple(steps[::-1]) or (methodcaller("view"),)


def _as_it_lies(steps: Steps, root: TracedArray, view: TracedArray) -> Steps | None:
    """The steps, if they make views of an array that lies as the root does, and one that lies as this one at last."""
    item = root.dtype.itemsize
    # No element is read; NumPy knows no stride of some types' arrays.
    memory = np.empty(1, root.dtype if root.element_type.is_complex else f"V{item}")
    found = as_strided(memory, root.shape, [step * item for step in root.element_strides])
    for step in steps:
        try:
            made = step(found)
        except ValueError:  # of bytes that are no elements of another type in NumPy
            return None
        if made.base is None or made.base is not found.base and made.base is not found:
            return None  # reshaped, it is a copy
        found = made
    strides = [step * view.dtype.itemsize for step in view.element_strides]
    lies_so = all([size == 1 or one == other for size, one, other in zip(view.shape, found.strides, strides)])
    if found.shape != view.shape or not lies_so or view.is_writeable and not found.flags.writeable:
        return None
    return (*steps, _read_only) if found.flags.writeable and root.is_writeable and not view.is_writeable else steps


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _index_of(instruction: hlo.Instruction, whole: hlo.Instruction) -> int | slice | tuple[Any, ...] | None:
    """The index in the place of a slice and a reshape that leaves out dimensions of size 1, as of ``x[2]``."""
    if instruction.opcode != "reshape" or instruction.operands[0] is whole or instruction.operands[0].opcode != "slice":
        return None
    (part,) = instruction.operands
    left, index = list(instruction.shape.dimensions), []
    for size, bounds in zip(part.shape.dimensions, part.attributes["slice"]):
        if left and left[0] == size:
            left.pop(0)
            index.append(slice(*bounds))
        elif size == 1:
            index.append(bounds[0])
        else:
            return None
    if not instruction.shape.rank:
        return (*index, ...)  # an array, no scalar
    return None if left else _shortened(index, part.operands[0].shape.dimensions)


def _is_diagonal(instruction: hlo.Instruction) -> bool:
    """Whether this is the diagonal of the last two dimensions, square ones: each so many elements of both as one."""
    (one,) = instruction.operands[:1]
    if instruction.opcode != "slice" or one.opcode != "reshape" or one.operands[0].shape.rank < 2:
        return False
    *lead, rows, columns = one.operands[0].shape.dimensions
    bounds = [(0, size, 1) for size in lead] + [(0, rows * rows, rows + 1)]
    return rows == columns > 1 and one.shape.dimensions == (*lead, rows * rows) and [*instruction.attributes["slice"]] == bounds


def _diagonal(array: np.ndarray) -> np.ndarray:
    return np.einsum("...ii->...i", array)


def _shortened(index: Sequence[int | slice], sizes: Sequence[int]) -> int | slice | tuple[int | slice, ...]:
    """The same index without what takes all at its end, and not as a tuple where it is one: it costs half as much."""
    given = list(index)
    while len(given) > 1 and given[-1] == slice(0, sizes[len(given) - 1], 1):
        given.pop()
    return tuple(given) if len(given) > 1 else given[0]


def _sliced(instruction: hlo.Instruction) -> Callable[[np.ndarray], np.ndarray]:
    index = [slice(*one) for one in instruction.attributes["slice"]]
    return itemgetter(_shortened(index, instruction.operands[0].shape.dimensions))


def _transposed(instruction: hlo.Instruction) -> Callable[[np.ndarray], np.ndarray]:
    return methodcaller("transpose", *instruction.attributes["dimensions"])


def _reshaped(instruction: hlo.Instruction) -> Callable[[np.ndarray], np.ndarray]:
    return methodcaller("reshape", instruction.shape.dimensions)


def _reversed(instruction: hlo.Instruction) -> Callable[[np.ndarray], np.ndarray]:
    turned = instruction.attributes["dimensions"]
    return itemgetter(tuple([slice(None, None, -1 if d in turned else None) for d in range(instruction.shape.rank)]))


def _reads_truths_as_bytes(instruction: hlo.Instruction) -> bool:
    """Whether this reads truths as bytes, or bytes that are 0 and 1 as truths."""
    shapes = instruction.shape, instruction.operands[0].shape
    return {shape.element_type for shape in shapes} == {hlo.PRED, hlo.U8}


def _retyped(instruction: hlo.Instruction) -> Callable[[np.ndarray], np.ndarray]:
    """The same bytes as elements of another type, which may lie along a dimension more, or one less."""
    given, found = instruction.operands[0].shape, instruction.shape
    return partial(_view_as, found.dtype, found.rank - given.rank)


def _view_as(dtype: np.dtype, more: int, array: np.ndarray) -> np.ndarray:
    if more > 0:
        return array[..., None].view(dtype)
    return array.view(dtype) if more == 0 else array.view(dtype)[..., 0]


def _broadcast(instruction: hlo.Instruction) -> Callable[[np.ndarray], np.ndarray]:
    sizes, kept = instruction.shape.dimensions, instruction.attributes["dimensions"]
    if list(kept) != sorted(kept):
        return np.copy  # which is no view
    return partial(_broadcast_to, tuple([slice(None) if d in kept else None for d in range(len(sizes))]), sizes)


def _broadcast_to(index: tuple, sizes: tuple[int, ...], array: np.ndarray) -> np.ndarray:
    return np.broadcast_to(array[index], sizes)


_STEPS = {
    "slice": _sliced, "transpose": _transposed, "reshape": _reshaped, "reverse": _reversed, "broadcast": _broadcast,
    "bitcast-convert": _retyped, "convert": _retyped,
    "real": lambda instruction: attrgetter("real"), "imag": lambda instruction: attrgetter("imag"),
}  # fmt: skip
