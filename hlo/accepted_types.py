"""Which element types an operation's operands may have, found by trying its samples with every type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .attributes import CalledComputation, CalledComputations
from .element_type import ELEMENT_TYPES, ElementType
from .errors import HloError
from .instruction import Computation, Instruction, make_instruction
from .operation import Operation, Sample
from .shape import AnyShape, Shape, TupleShape, leaves, shape_of

_GROUPS = {
    "integers": ("signed", "unsigned"),
    "floats": ("float",),
    "complex numbers": ("complex",),
}


def accepted_types(record: Operation) -> dict[str, list[ElementType]]:
    """For each operand that is an array, by its name, the element types that occur in programs that keep the constraints.

    Tried are the samples, with each element type that occurs in one replaced by each other one, in operands, stated result and
    called computations alike.

    >>> from phlox.hlo import OPERATIONS
    >>> accepted_types(OPERATIONS["complex"])
    {'real': [f32, f64], 'imag': [f32, f64]}
    """
    found: dict[str, set[ElementType]] = {}
    for sample in _different_in_type(record.samples()):
        shapes = [operand_shape(operand) for operand in sample.operands]
        names = operand_names(record, len(shapes))
        for old in {leaf.element_type for shape in shapes for leaf in leaves(shape)}:
            concerned = {name for name, shape in zip(names, shapes) if not shape.is_tuple and shape.element_type is old}
            for new in ELEMENT_TYPES.values():
                if all(new in found.get(name, ()) for name in concerned):
                    continue
                if any(_is_accepted(record, sample, shapes, old, new, result_too) for result_too in (False, True)):
                    for name in concerned:
                        found.setdefault(name, set()).add(new)
    every = list(ELEMENT_TYPES.values())
    named = operand_names(record, len(record.operand_names))
    return {name: sorted(found[name], key=every.index) for name in named if name in found}


def in_words(element_types: Iterable[ElementType]) -> str:
    """A list of element types, those of a kind together where they are all there.

    >>> in_words(t for t in ELEMENT_TYPES.values() if t.is_integer or t.name in ("f32", "pred"))
    'pred, integers, f32'
    """
    remaining = list(element_types)
    words = []
    for element_type in remaining:
        group = next((name for name, kinds in _GROUPS.items() if element_type.kind in kinds), None)
        members = [t for t in ELEMENT_TYPES.values() if group is not None and t.kind in _GROUPS[group]]
        word = group if members and all(member in remaining for member in members) else element_type.name
        if word not in words:
            words.append(word)
    return ", ".join(words)


def operand_names(record: Operation, count: int) -> list[str]:
    """A name for each of so many operands: a variadic operand's name stands for all of its own."""
    names = [name.removeprefix("*") for name in record.operand_names]
    return (names + names[-1:] * count)[:count]


def operand_shape(operand: Any) -> AnyShape:
    """The shape of a sample's operand, which is a shape or a value."""
    return operand if isinstance(operand, Shape | TupleShape) else shape_of(operand)


def _different_in_type(samples: Iterable[Sample]) -> Iterator[Sample]:
    """One of the samples for each combination of the operands' types and the called computations' number."""
    seen = set()
    for sample in samples:
        shapes = (*(operand_shape(operand) for operand in sample.operands), sample.shape or TupleShape())
        key = tuple(tuple(leaf.element_type.name for leaf in leaves(shape)) for shape in shapes)
        if key not in seen:
            seen.add(key)
            yield sample


def _is_accepted(
    record: Operation, sample: Sample, shapes: list[AnyShape], old: ElementType, new: ElementType, result_too: bool
) -> bool:
    """Whether the sample is valid with ``new`` for ``old``; ``result_too``: and for every type of a stated result."""

    def replaced(shape: AnyShape, all_types: bool = False) -> AnyShape:
        if shape.is_tuple:
            return TupleShape(tuple(replaced(element, all_types) for element in shape.elements))
        return shape.with_element_type(new) if all_types or shape.element_type is old else shape

    try:
        operands = [make_instruction("parameter", (), {"number": 0}, replaced(shape)) for shape in shapes]
        attributes = {name: _retyped(record, name, value, replaced) for name, value in sample.attributes.items()}
        stated = None if sample.shape is None else replaced(sample.shape, result_too)
        make_instruction(record.opcode, operands, attributes, stated)
    except (HloError, TypeError, NotImplementedError):
        return False
    return True


def _retyped(record: Operation, name: str, value: Any, replaced: Any) -> Any:
    kind = record.attributes.get(name)
    if isinstance(kind, CalledComputations):
        return tuple(_retyped_computation(computation, replaced) for computation in value or ())
    if isinstance(kind, CalledComputation) and value is not None:
        return _retyped_computation(value, replaced)
    return value


def _retyped_computation(computation: Computation, replaced: Any) -> Computation:
    """The computation on other element types. Raises HloError or TypeError where it cannot be."""
    values: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        operands = [values[operand] for operand in instruction.operands]
        attributes = {key: _retyped(instruction.operation, key, v, replaced) for key, v in instruction.attributes.items()}
        stated = replaced(instruction.shape) if instruction.operation.wants_stated_shape else None
        if instruction.opcode == "constant" and not stated.is_tuple:
            with np.errstate(all="ignore"):
                attributes["literal"] = np.asarray(attributes["literal"]).astype(stated.dtype)
        values[instruction] = make_instruction(instruction.opcode, operands, attributes, stated, instruction.name)
    return Computation(computation.name, tuple(values.values()), values[computation.root])
