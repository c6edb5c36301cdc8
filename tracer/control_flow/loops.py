"""Loops that depend on traced values: while_loop and fori_loop.

Source of the semantics: While in XLA's Operation Semantics; names and argument order are those of ``jax.lax``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ... import hlo
from ..recording import pytree
from ..recording.aliases import require_current_in_rounds
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.dynamic_array import cut
from ..recording.errors import CarryTypeError
from ..recording.guessed_bounds import LEAST_BOUND
from ..recording.intervals import CARRIED, note_carried, note_interval, require_carried
from ..recording.trace import PackedInputs, Storage, Trace, identifier
from .bodies import (
    ValueType,
    computed_at,
    convert,
    copied_state,
    function_place,
    integer,
    is_constant,
    outer_operand,
    predicate_of,
    promoted,
    results_of,
    state_handles,
    traced_leaf,
    type_of,
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
    return Loop(outer, "while_loop", init, cond_fun, body_fun, function_place(body_fun)).run()


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
    start, stop = integer(outer, lower, name), integer(outer, upper, name)

    def condition(state: Any) -> Any:
        trace = current_trace()
        limit = stop if isinstance(stop, int) else stop.instruction(trace)
        below = hlo.lt(state[0].instruction(trace), limit)
        return TracedArray.from_instruction(trace, below)

    def body(state: Any) -> Any:
        trace = current_trace()
        counter = state[0].instruction(trace)
        if isinstance(start, int) and isinstance(stop, int):
            note_interval(trace, state[0], (start, max(start, stop - 1)))
        result = body_fun(state[0], state[1])
        following = TracedArray.from_instruction(trace, hlo.add(counter, 1), weak_type=True)
        note_interval(trace, following, CARRIED)  # below a bound, or there is no further round
        return following, result

    ends = isinstance(start, int) and isinstance(stop, int)
    loop = Loop(outer, name, (start, init), condition, body, place, ("the loop counter", "state"), always_ends=ends)
    return loop.run()[1]


# A size that still grows when the loop is recorded for so many times has no bound that follows from the program.
_RECORDINGS = 4


class Loop:
    """A While that is being recorded; where it ``widens``, dtypes in its state meet as in arithmetic.

    Where it ``resizes`` arrays may leave a round with other sizes than they have entered it with, known at run time only then.
    The bound of one that grows in each round is guessed: ``guessed`` says at which place, by the array and the dimension.

    ``types`` says of the leaves of the state in what type they may leave a round, where that is known.

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
        widens: bool = False,
        resizes: bool = False,
        stops: bool = False,
        types: Sequence[ValueType | None] = (),
    ) -> None:
        self.outer, self.name, self.place = outer, name, place
        self.condition, self.body, self.always_ends, self.widens = condition, body, always_ends, widens
        self.resizes, self.stops, self.guessed = resizes, stops, {}
        self.changing: set[Storage] = set()
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
        if types:
            self.types = [self._together(own, types[index]) for own, index in zip(self.types, self.traced)]
        self.init = [array.recorded(outer) for array in arrays]
        for array in arrays:
            require_carried(array)
        self.recordings = 0

    def _together(self, own: ValueType, end: ValueType | None) -> ValueType:
        """The type that both have together; sizes are left to the rounds."""
        if end is None or own.shape.with_element_type(end.shape.element_type) != end.shape or any(own.shape.dynamic_dimensions):
            return own
        return promoted(own, end, self.widens) or own

    def run(self) -> Any:
        """Record the loop; the last state."""
        condition_in_body = False
        while True:
            inputs = PackedInputs(
                [*(value.shape for value in self.types), *([hlo.Shape(hlo.PRED)] if condition_in_body else [])]
            )
            body = Trace(identifier(f"{self.name}_body"), self.outer, inputs)
            body.repeats, body.changing = True, self.changing
            with body, body.running:
                roots = self._trace_body(body)
                if roots is not None and condition_in_body:
                    roots.append(self._trace_condition(body, self._handles_of(body, roots)))
            if roots is None:  # the types have changed
                continue
            condition = Trace(identifier(f"{self.name}_condition"), self.outer, inputs)
            condition.repeats, condition.changing = True, self.changing
            with condition, condition.running:
                if condition_in_body:
                    test = condition.own_input(len(self.types))
                else:
                    test = self._trace_condition(condition, self._entering(condition))
                flag = self.outer.program.error_flag
                if flag is not None and self._ends_at_errors(flag in body.written):
                    test = hlo.and_(test, hlo.eq(condition.read(flag), 0))
            changing = (body.taken_as_known | condition.taken_as_known) & (body.written.keys() | condition.written.keys())
            if changing:  # it has been taken for known what a later round changes
                self.changing |= changing
                continue
            if not condition.written:
                break
            condition_in_body = True
        require_current_in_rounds(body, inputs.storages.keys() | body.shared_read | condition.shared_read)
        init = [convert(self.outer, value, wanted) for value, wanted in zip(self.init, self.types)]
        if condition_in_body:
            init.append(self._trace_condition(self.outer, self._handles_of(self.outer, init)))
        root = body.builder.emit("tuple", *roots, *[body.outside_value(storage) for storage in inputs.storages])
        operand = outer_operand(self.outer, init, inputs)
        loop = hlo.while_(operand, condition=condition.build(test), body=body.build(root))
        for storage in body.written:
            write = self.outer.hand_on if storage in body.filled else self.outer.write
            write(storage, hlo.get_tuple_element(loop, inputs.storages[storage]))
        self.outer.outdated |= body.outdated | condition.outdated
        last = results_of(loop, len(self.types))
        handles = [
            TracedArray.from_instruction(self.outer, value, kind.weak_type, kind.is_scalar)
            for value, kind in zip(last, self.types)
        ]
        for handle in handles:
            note_carried(self.outer, handle)
        return self._assemble(handles)

    def _ends_at_errors(self, may_fail: bool) -> bool:
        if self.always_ends:
            return self.stops and may_fail
        return self.widens or may_fail

    def _entering(self, trace: Trace) -> list[TracedArray]:
        handles = state_handles(trace, self.types, self.origins)
        for handle in handles:
            note_interval(trace, handle, CARRIED)
        return handles

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
        result = self.body(self._assemble(self._entering(body)))
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
        values = [array.recorded(body) for array in arrays]
        for array in arrays:
            require_carried(array)
        wanted = list(self.types)
        for number, (array, value, old) in enumerate(zip(arrays, values, self.types)):
            new = type_of(array)
            both = promoted(old, new, self.widens, self.resizes)
            if both is not None:
                both = self._bounded(number, old, both, value)
            if both is None:
                raise CarryTypeError(self._drift(number, old, new, value))
            wanted[number] = both
        if [(kind.shape, kind.weak_type) for kind in wanted] != [(kind.shape, kind.weak_type) for kind in self.types]:
            self.types = wanted
            self.recordings += 1
            return None
        return [self._fitted(body, number, value, kind) for number, (value, kind) in enumerate(zip(values, wanted))]

    def _bounded(self, number: int, old: ValueType, new: ValueType, value: hlo.Instruction) -> ValueType | None:
        """The type with guessed bounds in dimensions that grow in each round; None where none may be guessed."""
        bounds = list(new.shape.dimensions)
        for d, bound in enumerate(bounds):
            if self.recordings > _RECORDINGS and bound > old.shape.dimensions[d] and (number, d) not in self.guessed:
                if not self.resizes:
                    return None
                self.guessed[number, d] = str(value.source)
            if (number, d) in self.guessed:
                guess = self.outer.program.guessed_bounds.setdefault(self.guessed[number, d], max(LEAST_BOUND, 2 * bound))
                bounds[d] = max(guess, old.shape.dimensions[d])
        dynamic = [new.shape.is_dynamic(d) for d in range(new.shape.rank)]
        return replace(new, shape=new.shape.with_dimensions(tuple(bounds), dynamic))

    def _fitted(self, body: Trace, number: int, value: hlo.Instruction, kind: ValueType) -> hlo.Instruction:
        """The value as it is carried; the call fails where a size is larger than the bound that was guessed for it."""
        for d in range(kind.shape.rank):
            if (number, d) in self.guessed and value.shape.dimensions[d] > kind.shape.dimensions[d]:
                value = body.builder.write(partial(cut, body, value, d, kind.shape.dimensions[d], self.guessed[number, d]))
        return convert(body, value, kind)

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
