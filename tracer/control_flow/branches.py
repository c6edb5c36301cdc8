"""Branches that depend on traced values: cond and switch.

Source of the semantics: Conditional in XLA's Operation Semantics; names and argument order are those of ``jax.lax``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import hlo
from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import CarryTypeError
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
    inputs = PackedInputs()
    traces: list[Trace] = []
    results: list[list[Any]] = []
    structure: pytree.Structure = None
    for function, branch_name in zip(functions, names):
        trace = Trace(identifier(f"{name}_{branch_name}"), outer, inputs)
        with trace, trace.running:
            value = function(*operands)
            if not traces:
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
            results.append([leaf if is_constant(leaf) else (type_of(leaf), leaf.instruction(trace)) for leaf in arrays])
        traces.append(trace)
    types = _agreed_types(name, functions, names, results, pytree.leaf_paths(structure, "result"))
    written: dict[Storage, None] = {storage: None for trace in traces for storage in trace.written}
    computations = []
    for trace, leaves in zip(traces, results):
        values = [convert(trace, leaf[1], kind) for leaf, kind in zip(leaves, types) if kind is not None]
        values += [trace.outside_value(storage) for storage in written]
        computations.append((trace, trace.builder.emit("tuple", *values)))
    operand = outer_operand(outer, [], inputs)
    built = [trace.build(root) for trace, root in computations]
    if selector.shape.element_type is hlo.PRED:
        called: dict[str, Any] = {"true_computation": built[0], "false_computation": built[1]}
    else:
        called = {"branch_computations": built}
    conditional = hlo.conditional(selector, *[operand] * len(built), **called)
    kinds = [kind for kind in types if kind is not None]
    values = results_of(outer, conditional, len(kinds) + len(written))
    for storage, value in zip(written, values[len(kinds) :]):
        outer.write(storage, value)
    arrays = iter(
        [TracedArray.from_instruction(outer, value, kind.weak_type, kind.is_scalar) for value, kind in zip(values, kinds)]
    )
    return pytree.unflatten(structure, [leaf if kind is None else next(arrays) for leaf, kind in zip(results[0], types)])


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
