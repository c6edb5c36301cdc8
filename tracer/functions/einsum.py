"""`np.einsum`, pair by pair through HLO's dot.

Source of the notation: NumPy's reference of einsum (implicit and explicit output, ellipsis, lists of integers in place
of letters).
"""

from __future__ import annotations

import operator
import string
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ... import hlo
from ..recording import promotion
from ..recording.array import TracedArray, require_trace
from ..recording.function_tables import implements
from ..recording.memory_order import in_axes_order, order_named, strides_told
from ..recording.operands import broadcast, class_of, convert, instruction_of, prepare, require_out, result, store
from ..recording.trace import Trace
from .matrix_products import contract
from .reductions import reduce_instruction

Instruction = hlo.Instruction


class Term(NamedTuple):
    """An operand with the label of each of its dimensions."""

    instruction: Instruction
    labels: str

    def size(self, label: str) -> int:
        return self.instruction.shape.dimensions[self.labels.index(label)]


@implements(np.einsum)
def einsum(*operands, out=None, optimize=False, dtype=None, order="K", casting="safe"):
    """Products of two operands at a time, the cheapest pair first; ``optimize`` decides nothing but how the result lies."""
    order = order_named(order)
    promotion.require_casting(casting)
    subscripts, arrays = arguments_of(operands)
    arrays = [prepare(one) for one in arrays]
    trace = require_trace(*arrays)
    strong = [np.dtype(class_of(one)) for one in arrays]  # Python's numbers do not adapt
    results = [] if out is None else [require_out(out).dtype]
    kind = promotion.native(dtype) if dtype is not None else promotion.result_dtype([*strong, *results])
    for one in arrays:
        promotion.require_cast(class_of(one), kind, casting, "iterator operand 0 dtype")
    element_type = hlo.element_type_of(kind)
    instructions = [instruction_of(trace, one, element_type) for one in arrays]
    inputs, output = labels_of(subscripts, [one.shape.rank for one in instructions])
    sizes = _label_sizes(inputs, instructions)
    if out is None and len(arrays) == 1 and isinstance(arrays[0], TracedArray) and arrays[0].element_type is element_type:
        if set(output) == set(inputs[0]) and output:
            return _view(arrays[0], inputs[0], output, sizes)
    terms = [_single(trace, Term(one, labels), sizes) for one, labels in zip(instructions, inputs)]
    while len(terms) > 1:
        first, second = _cheapest_pair(terms, output, sizes)
        others = [term for position, term in enumerate(terms) if position not in (first, second)]
        needed = set(output).union(*(term.labels for term in others))
        terms = [*others, _multiply(trace, terms[first], terms[second], needed)]
    found = result(trace, _arrange(terms[0], output, sizes))
    if out is None and found.ndim > 1:
        axes = _axes_of_result(arrays, inputs, output, optimize, order)
        found = found if axes is None else in_axes_order(found, axes)
    return store(out, found, casting)


# So many labels there may be in arrays of which NumPy makes an example of a result.
_MOST_LABELS = 12


def _axes_of_result(arrays: list, inputs: list[str], output: str, optimize: Any, order: str) -> list[int] | None:
    """In which order the axes of NumPy's result lie, the innermost one first: found by a call with two elements to a label."""
    letters = dict(zip(dict.fromkeys("".join(inputs)), string.ascii_letters))
    if len(letters) > _MOST_LABELS:
        return None
    examples = []
    for array, labels in zip(arrays, inputs):
        told = [step or 0 for step in strides_told(array)]
        inside = sorted(range(len(labels)), key=lambda axis: (abs(told[axis]), -axis))
        strides = [8 << inside.index(axis) if told[axis] else 0 for axis in range(len(labels))]
        examples.append(as_strided(np.zeros(2 ** len(labels)), [2] * len(labels), strides))
    subscripts = ",".join("".join(map(letters.__getitem__, labels)) for labels in inputs)
    subscripts += "->" + "".join(map(letters.__getitem__, output))
    if optimize is not False and len(arrays) > 2:
        sizes = [np.broadcast_to(0.0, one.shape if isinstance(one, TracedArray) else np.shape(one)) for one in arrays]
        optimize = np.einsum_path(subscripts, *sizes, optimize=optimize)[0]
    made = np.einsum(subscripts, *examples, optimize=optimize, order=order)
    return sorted(range(made.ndim), key=lambda axis: made.strides[axis])


@implements(np.einsum_path)
def einsum_path(*operands, optimize="greedy", einsum_call=False):
    """What NumPy says of arrays of these shapes."""
    subscripts, arrays = arguments_of(operands)
    shapes = [one.shape if isinstance(one, TracedArray) else np.shape(one) for one in arrays]
    return np.einsum_path(
        subscripts, *[np.broadcast_to(0.0, shape) for shape in shapes], optimize=optimize, einsum_call=einsum_call
    )


def _view(array: TracedArray, labels: str, output: str, sizes: dict[str, int]) -> TracedArray:
    """What neither sums nor multiplies is a view, of a diagonal where a label stands twice."""

    def read(trace: Trace, base: Instruction) -> Instruction:
        return _arrange(_single(trace, Term(base, labels), sizes), output, sizes)

    def write(trace: Trace, base: Instruction, value: Instruction) -> Instruction:
        dimensions = base.shape.dimensions
        order = sorted(range(len(output)), key=lambda one: labels.index(output[one]))
        turned = hlo.transpose(value, dimensions=order)
        spread = hlo.broadcast(turned, dimensions, [labels.index(output[one]) for one in order])
        for d, label in enumerate(labels):
            if labels.index(label) < d:
                positions = [hlo.iota(hlo.Shape(hlo.S64, dimensions), one) for one in (labels.index(label), d)]
                spread = hlo.select(hlo.eq(*positions), spread, base)
        return spread

    shape = tuple([sizes[label] for label in output])
    strides = [sum(step for one, step in zip(labels, array.element_strides) if one == label) for label in output]
    return TracedArray.view_of(array, shape, read, write, tuple(strides))


def arguments_of(operands: tuple) -> tuple[str, list]:
    """Subscripts as a string, from either of the two ways to call einsum."""
    if not operands:
        raise ValueError("No input operands")
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    arrays, lists = list(operands[: len(operands) // 2 * 2 : 2]), list(operands[1::2])
    last = operands[-1] if len(operands) % 2 else None
    letters = string.ascii_uppercase + string.ascii_lowercase  # in the order in which they are sorted

    def spelled(items: Any) -> str:
        outside = [item for item in items if item is not Ellipsis and not 0 <= operator.index(item) < len(letters)]
        if outside:
            raise ValueError("subscript is not within the valid range [0, 52)")
        return "".join("..." if item is Ellipsis else letters[item] for item in items)

    text = ",".join(spelled(items) for items in lists)
    return (text if last is None else f"{text}->{spelled(last)}"), arrays


def labels_of(subscripts: str, ranks: list[int]) -> tuple[list[str], str]:
    """A label for each dimension of each operand, and of the result; ellipses become labels of their own."""
    left, arrow, right = subscripts.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise ValueError(
            "fewer operands provided than specified in the einstein sum subscripts" if len(inputs) > len(ranks)
            else "more operands provided to einstein sum function than specified in the subscripts string"
        )  # fmt: skip
    hidden = [chr(0x100 + position) for position in range(max(ranks, default=0) + 1)]
    expanded, longest = [], 0
    for text, rank in zip(inputs, ranks):
        named = text.replace("...", "")
        wrong = next((letter for letter in named if letter not in string.ascii_letters), None)
        if wrong is not None:
            raise ValueError(f"invalid subscript {wrong!r} in einstein sum subscripts string, subscripts must be letters")
        free = rank - len(named)
        if free < 0:
            position = len(expanded)
            raise ValueError(
                f"einstein sum subscripts string contains too many subscripts for operand {position}: {text!r} has "
                f"{len(named)} labels, and the operand {rank} dimensions"
            )
        if free > 0 and "..." not in text:
            raise ValueError(
                "operand has more dimensions than subscripts given in einstein sum, but no '...' ellipsis provided to "
                f"broadcast the extra dimensions: {text!r} has {len(named)} labels, and the operand {rank} dimensions"
            )
        longest = max(longest, free if "..." in text else 0)
        expanded.append((text, free))
    # The last hidden labels belong to the last dimensions of every ellipsis: they broadcast against each other.
    labels = [text.replace("...", "".join(hidden[longest - free : longest])) for text, free in expanded]
    every = "".join(hidden[:longest])
    if arrow:
        output = right.replace("...", every)
        if len(set(output)) < len(output):
            raise ValueError("einstein sum subscripts string includes output subscript multiple times")
        unknown = set(output) - set("".join(labels)) - set(every)
        if unknown:
            raise ValueError(
                f"einstein sum subscripts string included output subscript '{min(unknown)}' which never appeared in an input"
            )
        if longest and "..." not in right:
            raise ValueError("output has ellipsis dimensions that the subscripts drop: '...' is required in the output")
        return labels, output
    counted = "".join(labels)
    return labels, every + "".join(sorted(label for label in set(counted) - set(every) if counted.count(label) == 1))


def _label_sizes(inputs: list[str], instructions: list[Instruction]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for labels, instruction in zip(inputs, instructions):
        for label, size in zip(labels, instruction.shape.dimensions):
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                raise ValueError(f"operands could not be broadcast together: label {label!r} has the sizes {known} and {size}")
    return sizes


def _single(trace: Trace, term: Term, sizes: dict[str, int]) -> Term:
    """The term with every label once (a repeated one takes a diagonal), and without dimensions that are broadcast."""
    instruction, labels = term
    for label in sorted(set(labels), key=labels.index):
        while labels.count(label) > 1:
            first, second = labels.index(label), labels.rindex(label)
            dimensions = instruction.shape.dimensions
            if dimensions[first] == dimensions[second]:
                array = np.diagonal(result(trace, instruction), 0, first, second)  # the diagonal becomes the last dimension
                instruction = array.instruction(trace)
                labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
            else:
                dropped = first if dimensions[first] == 1 else second
                instruction = hlo.reshape(instruction, dimensions[:dropped] + dimensions[dropped + 1 :])
                labels = labels[:dropped] + labels[dropped + 1 :]
    kept = [position for position, label in enumerate(labels) if instruction.shape.dimensions[position] == sizes[label]]
    if len(kept) < len(labels):
        instruction = hlo.reshape(instruction, [instruction.shape.dimensions[position] for position in kept])
        labels = "".join(labels[position] for position in kept)
    return Term(instruction, labels)


def _cheapest_pair(terms: list[Term], output: str, sizes: dict[str, int]) -> tuple[int, int]:
    """The two terms whose product adds least to what is held: the greedy order."""
    if len(terms) == 2:
        return 0, 1
    costs = []
    for first in range(len(terms)):
        for second in range(first + 1, len(terms)):
            needed = set(output).union(*(terms[i].labels for i in range(len(terms)) if i not in (first, second)))
            held = prod(sizes[label] for label in (set(terms[first].labels) | set(terms[second].labels)) & needed)
            freed = terms[first].instruction.shape.size + terms[second].instruction.shape.size
            work = prod(sizes[label] for label in set(terms[first].labels) | set(terms[second].labels))
            costs.append((held - freed, work, first, second))
    return min(costs)[2:]


def _sum_out(term: Term, labels: set[str]) -> Term:
    axes = tuple(position for position, label in enumerate(term.labels) if label in labels)
    if not axes:
        return term
    element_type = term.instruction.shape.element_type
    if element_type is hlo.PRED:
        summed = reduce_instruction(np.logical_or, term.instruction, axes)
    elif element_type.is_float and element_type.bits < 32:
        summed = convert(reduce_instruction(np.add, convert(term.instruction, hlo.F32), axes), element_type)
    else:
        summed = reduce_instruction(np.add, term.instruction, axes)
    return Term(summed, "".join(label for label in term.labels if label not in labels))


def _multiply(trace: Trace, lhs: Term, rhs: Term, needed: set[str]) -> Term:
    """The product of two terms, summed over all labels that nothing else needs."""
    lhs = _sum_out(lhs, set(lhs.labels) - set(rhs.labels) - needed)
    rhs = _sum_out(rhs, set(rhs.labels) - set(lhs.labels) - needed)
    common = [label for label in lhs.labels if label in rhs.labels]
    batch = [label for label in common if label in needed]
    contracting = [label for label in common if label not in needed]
    free_left = [label for label in lhs.labels if label not in common]
    free_right = [label for label in rhs.labels if label not in common]
    labels = "".join((*batch, *free_left, *free_right))
    if contracting:
        places = [
            tuple(tuple(term.labels.index(label) for label in group) for term in (lhs, rhs)) for group in (contracting, batch)
        ]
        return Term(contract(trace, lhs.instruction, rhs.instruction, places[0], places[1]), labels)
    shape = tuple((lhs if label in lhs.labels else rhs).size(label) for label in labels)
    spread = []
    for term in (lhs, rhs):
        order = sorted(range(len(term.labels)), key=lambda position: labels.index(term.labels[position]))
        instruction = term.instruction
        if order != sorted(order):
            instruction = hlo.transpose(instruction, dimensions=order)
        spread.append(hlo.broadcast_in_dim(instruction, shape, [labels.index(term.labels[position]) for position in order]))
    return Term(hlo.emit("and" if lhs.instruction.shape.element_type is hlo.PRED else "multiply", *spread), labels)


def _arrange(term: Term, output: str, sizes: dict[str, int]) -> Instruction:
    """The last term as the result: other labels summed, dimensions in order, broadcast ones filled in."""
    term = _sum_out(term, set(term.labels) - set(output))
    present = [label for label in output if label in term.labels]
    order = [term.labels.index(label) for label in present]
    instruction = term.instruction
    if order != sorted(order):
        instruction = hlo.transpose(instruction, dimensions=tuple(order))
    if len(present) < len(output):
        shape = tuple(sizes[label] for label in output)
        return broadcast(hlo.broadcast_in_dim(instruction, shape, [output.index(l) for l in present]), shape)
    return instruction
