"""Branches that depend on traced values: cond and switch.

Source of the semantics: Conditional in XLA's Operation Semantics; names and argument order are those of ``jax.lax``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import hlo
from ...compile.traversal import has_effects
from ...hlo.operation import GIVEN, TUPLING
from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import CarryTypeError
from ..recording.intervals import hull, interval_of_instruction, is_traced_integer, note_interval
from ..recording.operands import broadcast
from ..recording.trace import PackedInputs, Storage, Trace, identifier
from .bodies import (
    ValueType,
    computed_at,
    convert,
    function_place,
    integer,
    is_constant,
    outer_operand,
    predicate_of,
    promoted,
    results_of,
    traced_leaf,
    type_of,
)


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """``true_fun(*operands)`` if pred is true, otherwise ``false_fun(*operands)``; only one of them runs.

    Both must return the same structure, shapes and dtypes; Python numbers adapt to the other side's dtype. They may change the
    operands, and arrays of enclosing functions, in place. Raises CarryTypeError where the results do not agree.

    >>> cond(3 > 2, lambda x: x + 1, lambda x: x - 1, 10)
    11
    """
    outer = current_trace()
    if outer is None or isinstance(pred, (bool, np.bool_)):
        return true_fun(*operands) if pred else false_fun(*operands)
    predicate = predicate_of(outer, pred, "cond: pred")
    return _branches(outer, "cond", predicate, (true_fun, false_fun), operands, ("true", "false"))


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """``branches[index](*operands)``; only that branch runs.

    index: an integer, counted from the end where it is negative, as in a sequence; out of range it raises IndexError. Results:
    as for `cond`.

    >>> switch(1, [lambda x: x, lambda x: x * x, lambda x: -x], 7)
    49
    """
    branches = tuple(branches)
    if not branches:
        raise ValueError("switch: at least one branch is required")
    outer = current_trace()
    if outer is None or isinstance(index, (int, np.integer)):
        return branches[operator.index(index)](*operands)
    number = integer(outer, index, "switch")
    count = len(branches)
    value = number.instruction(outer)
    wrapped = hlo.select(hlo.lt(value, 0), hlo.add(value, count), value)
    outside = hlo.or_(hlo.lt(wrapped, 0), hlo.ge(wrapped, count))
    outer.add_error_flag(outside, IndexError, f"switch: the index is out of range for {count} branches")
    if count == 1:
        return branches[0](*operands)
    names = [str(position) for position in range(count)]
    return _branches(outer, "switch", hlo.convert(wrapped, hlo.S32), branches, operands, names)


def _branches(
    outer: Trace,
    name: str,
    selector: hlo.Instruction,
    functions: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
    names: Sequence[str],
) -> Any:
    recorded = Branches(outer, name)
    results: list[list[Any]] = []
    structure: pytree.Structure = None
    for function, branch_name in zip(functions, names):
        trace = recorded.begin(branch_name)
        with trace, trace.running:
            value = function(*operands)
            if not results:
                leaves, structure = pytree.flatten(value)
            else:
                try:
                    leaves = pytree.flatten_as(structure, value, "result")
                except pytree.StructureMismatch as mismatch:
                    raise CarryTypeError(
                        f"{name}: {mismatch.path} is {mismatch.required} in branch {names[0]}, {function_place(functions[0])}, "
                        f"and {mismatch.given} in branch {branch_name}, {function_place(function)}; all branches must return "
                        "the same structure"
                    ) from None
            paths = pytree.leaf_paths(structure, "result")
            arrays = [leaf if is_constant(leaf) else traced_leaf(leaf, path, name) for leaf, path in zip(leaves, paths)]
            results.append([leaf if is_constant(leaf) else (type_of(leaf), leaf.recorded(trace)) for leaf in arrays])
    types = _agreed_types(name, functions, names, results, pytree.leaf_paths(structure, "result"))
    kinds = [kind for kind in types if kind is not None]
    columns = [[leaf[1] for leaf, kind in zip(leaves, types) if kind is not None] for leaves in results]
    arrays = iter(recorded.choose(selector, columns, kinds))
    return pytree.unflatten(structure, [leaf if kind is None else next(arrays) for leaf, kind in zip(results[0], types)])


class Branches:
    """The branches of a Conditional that is being recorded, each in a trace of its own."""

    def __init__(self, outer: Trace, name: str) -> None:
        self.outer, self.name = outer, name
        self.inputs = PackedInputs()
        self.traces: list[Trace] = []

    def begin(self, name: str) -> Trace:
        """The trace of one more branch."""
        self.traces.append(Trace(identifier(f"{self.name}_{name}"), self.outer, self.inputs))
        self.traces[-1].is_branch = True
        return self.traces[-1]

    def choose(
        self, selector: hlo.Instruction, columns: Sequence[Sequence[hlo.Instruction]], kinds: Sequence[ValueType]
    ) -> list[TracedArray]:
        """The values of the branch that the selector chooses, of those in the branches' columns, as arrays of these kinds.

        What the branches have written outside is written as the chosen one has.
        """
        outer, traces = self.outer, self.traces
        written: dict[Storage, None] = {storage: None for trace in traces for storage in trace.written}
        own = columns
        columns = [
            [
                *[convert(trace, value, kind) for value, kind in zip(column, kinds)],
                *[trace.outside_value(storage) for storage in written],
            ]
            for trace, column in zip(traces, columns)
        ]
        if selector.shape.element_type is hlo.PRED and are_cheap(traces, columns):
            on_true, on_false = (_inlined(trace, column) for trace, column in zip(traces, columns))
            values = [
                one if one is other else hlo.select(broadcast(selector, one.shape.dimensions), one, other)
                for one, other in zip(on_true, on_false)
            ]
        else:
            values = self._conditional(selector, columns)
        for storage, value in zip(written, values[len(kinds) :]):
            outer.hand_on(storage, value)
        outer.outdated.update(*[trace.outdated for trace in traces])
        chosen = [
            TracedArray.from_instruction(outer, value, kind.weak_type, kind.is_scalar) for value, kind in zip(values, kinds)
        ]
        for array, *column in zip(chosen, *own):
            if is_traced_integer(array):
                found = [interval_of_instruction(trace, value) for trace, value in zip(traces, column)]
                note_interval(outer, array, hull(*found))
        return chosen

    def _conditional(self, selector: hlo.Instruction, columns: Sequence[Sequence[hlo.Instruction]]) -> list[hlo.Instruction]:
        roots = [trace.builder.emit("tuple", *column) for trace, column in zip(self.traces, columns)]
        operand = outer_operand(self.outer, [], self.inputs)
        built = [trace.build(root) for trace, root in zip(self.traces, roots)]
        if selector.shape.element_type is hlo.PRED:
            called: dict[str, Any] = {"true_computation": built[0], "false_computation": built[1]}
        else:
            called = {"branch_computations": built}
        conditional = hlo.conditional(selector, *[operand] * len(built), **called)
        return results_of(conditional, len(columns[0]))


def _agreed_types(
    name: str, functions: Sequence[Callable[..., Any]], names: Sequence[str], results: list[list[Any]], paths: list[str]
) -> list[ValueType | None]:
    """The type of each leaf of the branches' results, None for constants. Raises CarryTypeError where they do not agree."""
    types: list[ValueType | None] = []
    for position, path in enumerate(paths):
        column = [leaves[position] for leaves in results]
        agreed: ValueType | None = None
        for number, leaf in enumerate(column):
            if is_constant(leaf) or is_constant(column[0]):
                if type(leaf) is not type(column[0]) or leaf != column[0]:
                    raise CarryTypeError(
                        f"{name}: {path} is no array and must be the same in all branches, got {column[0]!r} and {leaf!r}"
                    )
                continue
            both = leaf[0] if number == 0 else promoted(agreed, leaf[0])
            if both is None:
                raise CarryTypeError(
                    f"{name}: {path} is {agreed} in branch {names[0]}, {function_place(functions[0])}, and "
                    f"{leaf[0]}{computed_at(leaf[1])} in branch {names[number]}, {function_place(functions[number])}. Fix: "
                    f"give all branches one shape and dtype, e.g. with .astype(np.{agreed.shape.dtype})"
                )
            agreed = both
        types.append(agreed)
    return types


# Both sides are computed where they have no more instructions than this, all of them on a few elements.
_CHEAP_INSTRUCTIONS, _CHEAP_ELEMENTS = 24, 16


def are_cheap(traces: Sequence[Trace], columns: Sequence[Sequence[hlo.Instruction]]) -> bool:
    """Whether computing all branches and choosing costs less than going the way of one."""
    made = [instruction for trace in traces for instruction in trace.builder.instructions]
    computed = [instruction for instruction in made if instruction.operation.traits.isdisjoint({GIVEN, TUPLING})]
    if len(computed) > _CHEAP_INSTRUCTIONS or any(one.called_computations or has_effects(one) for one in computed):
        return False
    values = [*computed, *[value for column in columns for value in column]]
    return all(
        not value.shape.is_tuple and not value.shape.dynamic_dimensions and value.shape.size <= _CHEAP_ELEMENTS
        for value in values
    )


def _inlined(trace: Trace, column: Sequence[hlo.Instruction]) -> list[hlo.Instruction]:
    """The column's values as instructions of the parent trace, which computes them too."""
    outer = trace.parent
    placed: dict[hlo.Instruction, hlo.Instruction] = {}
    for instruction in trace.builder.instructions:
        storage = trace.entries.get(instruction)
        if storage is not None:
            placed[instruction] = outer.read(storage)
        elif instruction.opcode != "parameter":
            operands = tuple([placed[operand] for operand in instruction.operands])
            placed[instruction] = outer.builder.append(instruction.with_operands(operands))
    return [placed[value] for value in column]
