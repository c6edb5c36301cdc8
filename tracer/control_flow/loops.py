"""Loops and branches that depend on traced values: while_loop, fori_loop, cond, switch.

Outside of a traced function they are ordinary Python loops and calls, so that a function that uses them works undecorated.
Inside, they become While and Conditional. Functions given to them may use arrays from enclosing functions and change them in
place; what they read becomes a hidden input, what they change a hidden part of the loop's state.

Source of the semantics: While and Conditional in XLA's Operation Semantics; names and argument order are those of ``jax.lax``.
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
from ..recording.operands import as_traced
from ..recording.trace import PackedInputs, Storage, Trace, identifier
from .loop_state import (
    ValueType,
    computed_at,
    convert,
    copied_state,
    function_place,
    is_constant,
    outer_operand,
    outside_values,
    promoted,
    results_of,
    state_handles,
    traced_leaf,
    type_of,
    write_back,
)


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any) -> Any:
    """The state after ``state = body_fun(state)`` has been repeated for as long as ``cond_fun(state)`` holds.

    init: the first state, an array, a number or any container of these. Its structure, shapes and dtypes must stay the same; a
    Python number adapts to the dtype that the body gives it. The loop works on copies of the arrays in init, which body_fun
    may change in place. If an index runs out of range in the loop, it ends there and the call raises IndexError.

    Raises CarryTypeError, naming the element of the state, where the state does not keep its type.

    >>> while_loop(lambda s: s[1] < 100, lambda s: (s[0] + 1, s[1] * 2), (0, 1))
    (7, 128)
    """
    outer = current_trace()
    if outer is None:
        state = copied_state(init)
        while cond_fun(state):
            state = body_fun(state)
        return state
    return _Loop(outer, "while_loop", init, cond_fun, body_fun, function_place(body_fun)).run()


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init: Any) -> Any:
    """The state after ``state = body_fun(i, state)`` for i in ``range(lower, upper)``.

    lower, upper: integers, which may be traced. init and body_fun: as for `while_loop`; ``i`` behaves as a Python int.

    >>> fori_loop(0, 5, lambda i, total: total + i, 0)
    10
    """
    outer = current_trace()
    if outer is None:
        state = copied_state(init)
        for i in range(operator.index(lower), operator.index(upper)):
            state = body_fun(i, state)
        return state
    return counted_loop(outer, "fori_loop", lower, upper, body_fun, init, function_place(body_fun))


def counted_loop(
    outer: Trace, name: str, lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init: Any, place: str
) -> Any:
    """A loop whose counter runs from lower to below upper."""
    start, stop = _bound(outer, lower, name), _bound(outer, upper, name)

    def condition(state: Any) -> Any:
        trace = current_trace()
        limit = trace.constant(np.int64(stop)) if isinstance(stop, int) else trace.instruction_of(stop)
        below = trace.emit("compare", trace.instruction_of(state[0]), limit, direction="LT")
        return TracedArray.from_instruction(trace, below)

    def body(state: Any) -> Any:
        trace = current_trace()
        counter = trace.instruction_of(state[0])
        result = body_fun(state[0], state[1])
        following = trace.emit("add", counter, trace.constant(np.int64(1)))
        return TracedArray.from_instruction(trace, following, weak_type=True), result

    ends = isinstance(start, int) and isinstance(stop, int)
    loop = _Loop(outer, name, (start, init), condition, body, place, ("the loop counter", "state"), always_ends=ends)
    return loop.run()[1]


def _bound(outer: Trace, value: Any, name: str) -> Any:
    """A loop bound: a Python int, or a traced s64 that behaves as a Python int."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    if not isinstance(value, (TracedArray, np.ndarray)):
        raise TypeError(f"{name}: an integer is required as a bound, {type(value).__name__} given")
    array = as_traced(value)
    if array.shape or not array.element_type.is_integer:
        raise TypeError(f"{name}: an integer scalar is required as a bound, {array.element_type}{list(array.shape)} given")
    converted = outer.builder.convert(outer.instruction_of(array), hlo.S64)
    return TracedArray.from_instruction(outer, converted, weak_type=True)


class _Loop:
    """A While that is being recorded.

    It is recorded again with other types where a Python number in the state turns out to take on a dtype, and in another form
    where the condition changes something outside, which the condition of a While cannot.
    """

    def __init__(
        self,
        outer: Trace,
        name: str,
        init: Any,
        condition: Callable[[Any], Any],
        body: Callable[[Any], Any],
        place: str,
        prefixes: tuple[str, ...] = (),
        always_ends: bool = False,
    ) -> None:
        self.outer, self.name, self.place = outer, name, place
        self.condition, self.body, self.always_ends = condition, body, always_ends
        self.leaves, self.structure = pytree.flatten(init)
        self.paths = pytree.leaf_paths(self.structure, "state")
        if prefixes:  # the state is a tuple whose elements have names of their own
            self.paths = [
                path for prefix, child in zip(prefixes, self.structure[2]) for path in pytree.leaf_paths(child, prefix)
            ]
        self.traced = [index for index, leaf in enumerate(self.leaves) if not is_constant(leaf)]
        self.origins = [self.paths[index] + f" of {name}" for index in self.traced]
        arrays = [traced_leaf(self.leaves[index], self.paths[index], name) for index in self.traced]
        self.types = [type_of(array) for array in arrays]
        self.init = [outer.instruction_of(array) for array in arrays]

    def run(self) -> Any:
        """Record the loop; the last state."""
        condition_in_body = False
        while True:
            inputs = PackedInputs(
                [*(value.shape for value in self.types), *([hlo.Shape(hlo.PRED)] if condition_in_body else [])]
            )
            body = Trace(identifier(f"{self.name}_body"), self.outer, inputs)
            with body, body.running:
                roots = self._trace_body(body)
                if roots is not None and condition_in_body:
                    roots.append(self._trace_condition(body, self._handles_of(body, roots)))
            if roots is None:  # the types have changed
                continue
            condition = Trace(identifier(f"{self.name}_condition"), self.outer, inputs)
            with condition, condition.running:
                if condition_in_body:
                    test = condition.own_input(len(self.types))
                else:
                    test = self._trace_condition(condition, state_handles(condition, self.types, self.origins))
                flag = self.outer.root.error_flag
                if flag is not None and flag in body.written and not self.always_ends:
                    fine = condition.emit("compare", condition.read(flag), condition.constant(np.int32(0)), direction="EQ")
                    test = condition.emit("and", test, fine)
            if not condition.written:
                break
            condition_in_body = True
        init = [convert(self.outer, value, wanted) for value, wanted in zip(self.init, self.types)]
        if condition_in_body:
            init.append(self._trace_condition(self.outer, self._handles_of(self.outer, init)))
        root = body.emit("tuple", *roots, *outside_values(body, inputs))
        operand = outer_operand(self.outer, init, inputs)
        loop = self.outer.emit("while", operand, condition=condition.build(test), body=body.build(root))
        for storage in body.written:
            self.outer.write(storage, self.outer.builder.get_tuple_element(loop, inputs.storages[storage]))
        last = results_of(self.outer, loop, len(self.types))
        handles = [
            TracedArray.from_instruction(self.outer, value, kind.weak_type, kind.is_scalar)
            for value, kind in zip(last, self.types)
        ]
        return self._assemble(handles)

    def _assemble(self, handles: Sequence[Any]) -> Any:
        leaves = list(self.leaves)
        for index, handle in zip(self.traced, handles):
            leaves[index] = handle
        return pytree.unflatten(self.structure, leaves)

    def _handles_of(self, trace: Trace, values: Sequence[hlo.Instruction]) -> list[Any]:
        return [
            TracedArray.from_instruction(trace, value, kind.weak_type, kind.is_scalar, origin)
            for value, kind, origin in zip(values, self.types, self.origins)
        ]

    def _trace_condition(self, trace: Trace, handles: Sequence[Any]) -> hlo.Instruction:
        result = self.condition(self._assemble(handles))
        return predicate_of(trace, result, f"{self.name}: cond_fun")

    def _trace_body(self, body: Trace) -> list[hlo.Instruction] | None:
        """The instructions of the next state; None, with other ``types``, where Python numbers turn out to take on a dtype."""
        result = self.body(self._assemble(state_handles(body, self.types, self.origins)))
        try:
            leaves = pytree.flatten_as(self.structure, result, "state")
        except pytree.StructureMismatch as mismatch:
            raise CarryTypeError(
                f"{self.name}: {mismatch.path} enters the body as {mismatch.required} and leaves it as {mismatch.given}; the "
                f"body function, {self.place}, must return a state of the structure {pytree.structure_text(self.structure)}"
            ) from None
        for index, leaf in enumerate(leaves):
            if is_constant(self.leaves[index]) and leaf != self.leaves[index]:
                raise CarryTypeError(
                    f"{self.name}: {self.paths[index]} is {self.leaves[index]!r} and must stay that, but becomes {leaf!r}"
                )
        arrays = [traced_leaf(leaves[index], self.paths[index], self.name) for index in self.traced]
        values = [body.instruction_of(array) for array in arrays]
        wanted = list(self.types)
        for number, (array, value, old) in enumerate(zip(arrays, values, self.types)):
            new = type_of(array)
            both = promoted(old, new)
            if both is None:
                raise CarryTypeError(self._drift(number, old, new, value))
            wanted[number] = both
        if [(kind.shape, kind.weak_type) for kind in wanted] != [(kind.shape, kind.weak_type) for kind in self.types]:
            self.types = wanted
            return None
        return [convert(body, value, kind) for value, kind in zip(values, wanted)]

    def _drift(self, number: int, old: ValueType, new: ValueType, value: hlo.Instruction) -> str:
        if old.shape.dimensions != new.shape.dimensions:
            fix = "the shape must stay the same: start with an array of the final shape, or write into it in place"
        else:
            fix = (
                f"let the body return it with .astype(np.{old.shape.dtype}), or start with dtype {new.shape.dtype}, e.g. by "
                f".astype(np.{new.shape.dtype}) on the initial value"
            )
        return (
            f"{self.name}: {self.paths[self.traced[number]]} enters the body as {old} and leaves it as "
            f"{new}{computed_at(value)}; the body function is {self.place}. Fix: {fix}"
        )


def predicate_of(trace: Trace, value: Any, what: str) -> hlo.Instruction:
    """A condition as pred[], by Python's truth: nonzero is true. Raises TypeError unless it is one number."""
    array = traced_leaf(value, "the condition", what)
    if array.size != 1:
        raise TypeError(f"{what} must give one truth value, got {array.element_type}{list(array.shape)}; use np.any or np.all")
    instruction = trace.builder.reshape(trace.instruction_of(array), ())
    if instruction.shape.element_type is hlo.PRED:
        return instruction
    zero = trace.constant(np.zeros((), instruction.shape.dtype))
    return trace.emit("compare", instruction, zero, direction="NE")


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
    number = _bound(outer, index, "switch")
    count = len(branches)
    value = outer.instruction_of(number)
    zero, limit = outer.constant(np.int64(0)), outer.constant(np.int64(count))
    negative = outer.emit("compare", value, zero, direction="LT")
    wrapped = outer.emit("select", negative, outer.emit("add", value, limit), value)
    below, above = outer.emit("compare", wrapped, zero, direction="LT"), outer.emit("compare", wrapped, limit, direction="GE")
    outer.add_error_flag(outer.emit("or", below, above), IndexError, f"switch: the index is out of range for {count} branches")
    if count == 1:
        return branches[0](*operands)
    names = [str(position) for position in range(count)]
    return _branches(outer, "switch", outer.builder.convert(wrapped, hlo.S32), branches, operands, names)


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
            results.append([leaf if is_constant(leaf) else (type_of(leaf), trace.instruction_of(leaf)) for leaf in arrays])
        traces.append(trace)
    types = _agreed_types(name, functions, names, results, pytree.leaf_paths(structure, "result"))
    written: dict[Storage, None] = {storage: None for trace in traces for storage in trace.written}
    computations = []
    for trace, leaves in zip(traces, results):
        values = [convert(trace, leaf[1], kind) for leaf, kind in zip(leaves, types) if kind is not None]
        values += [trace.outside_value(storage) for storage in written]
        computations.append((trace, trace.emit("tuple", *values)))
    operand = outer_operand(outer, [], inputs)
    built = [trace.build(root) for trace, root in computations]
    if selector.shape.element_type is hlo.PRED:
        called: dict[str, Any] = {"true_computation": built[0], "false_computation": built[1]}
    else:
        called = {"branch_computations": built}
    conditional = outer.emit("conditional", selector, *[operand] * len(built), **called)
    kinds = [kind for kind in types if kind is not None]
    values = results_of(outer, conditional, len(kinds) + len(written))
    write_back(outer, list(written), values[len(kinds) :])
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
