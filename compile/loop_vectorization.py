"""Loops whose rounds do not need one another become operations on arrays.

Before: for i in range(n): y[i] = f(x[i], x[i + 1])      After: y[:n] = f(x[:n], x[1 : n + 1])
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from .. import hlo
from ..hlo import Computation, Instruction, Module, leaves, scalar_computation
from ..hlo.fast_math import has_fast_math
from ..hlo.operation import OPERATIONS
from .batching import Batch, Carried, Fixed, Initial, NotBatchedError, Read, Value, Varying, Written, moving_block, update_sizes
from .first_errors import first_error, keeps_first_error
from .loop_state import built_for, is_state, with_loops_replaced
from .pass_manager import module_pass
from .traversal import of_each_computation, runs_effects, users_of
from .trip_count import TripCount, known_trip_count, loop_invariant_elements

# Fewer rounds are not worth the vectors.
_LEAST_ROUNDS = 8
# No array becomes larger than this, or than those that the loop works on.
_MOST_BYTES = 64 << 20


@module_pass("vectorize-loops")
def vectorize_loops(module: Module) -> Module:
    """Replaces while loops by what they do in all rounds at once.

    Such a loop counts, and its number of rounds is known. What it changes are arrays, of which each round writes a block of its
    own and reads nothing that an earlier one has written; sums, products and extrema of integers, and extrema of floats, which
    are the same in any order; and values of which only those of the last round are left. Its computations are made one by one
    as they are written, so that no result changes. Where a module allows fast math, sums and products of floats count as being
    the same in any order.
    """
    return (_in_any_order if has_fast_math(module) else _in_order)(module)


@of_each_computation()
def _in_order(computation: Computation) -> Computation:
    return _with_vectorized_loops(computation, _OF_FLOATS)


@of_each_computation()
def _in_any_order(computation: Computation) -> Computation:
    return _with_vectorized_loops(computation, _OF_FLOATS | {"add", "multiply"})


def _with_vectorized_loops(computation: Computation, of_floats: Set[str]) -> Computation:
    return with_loops_replaced(computation, lambda loop: _vectorized(loop, of_floats))


class _Accumulation(NamedTuple):
    """Each round combines an element of the state with a term, if the predicate holds in it or there is none."""

    opcode: str
    term: Instruction
    predicate: Instruction | None
    unless: bool


def _vectorized(loop: Instruction, of_floats: Set[str]) -> Instruction | None:
    trips, init, body = known_trip_count(loop), loop.operands[0], loop.attributes["body"]
    if trips is None or trips.count < _LEAST_ROUNDS or init.opcode != "tuple" or body.root.opcode != "tuple":
        return None
    if runs_effects(body) or runs_effects(loop.attributes["condition"]):
        return None
    most_bytes = max(_MOST_BYTES, 4 * max(leaf.byte_size for leaf in leaves(loop.shape)))
    batch = Batch(trips.count, most_bytes)
    try:
        with built_for(loop):
            return _all_rounds(loop, trips, batch, of_floats)
    except NotBatchedError:
        return None


def _all_rounds(loop: Instruction, trips: TripCount, batch: Batch, of_floats: Set[str]) -> Instruction:
    init, body = loop.operands[0], loop.attributes["body"]
    unchanging = loop_invariant_elements(loop)
    (parameter,), users = body.parameters, users_of(body)
    errors = {leaf for leaf, root in enumerate(body.root.operands) if keeps_first_error(root, leaf, users)}
    known = {parameter: [_at_first(leaf, start, trips, unchanging, errors) for leaf, start in enumerate(init.operands)]}
    results: list[Value] = []
    for leaf, (root, start) in enumerate(zip(body.root.operands, init.operands)):
        if leaf in unchanging:
            results.append(Fixed(start))
        elif leaf == trips.index:
            results.append(Fixed(hlo.constant(trips.start + trips.step * trips.count, start.shape.element_type)))
        elif (accumulation := _accumulation(root, leaf, users, of_floats)) is not None:
            results.append(Fixed(_accumulated(batch, accumulation, start, known)))
        else:
            (value,) = batch.run([root], known)
            results.append(Fixed(first_error(batch, value, start)) if leaf in errors else value)
    for read in batch.reads:
        _require_as_found(batch, read, results[read.leaf])
    return hlo.tuple(*(_at_last(batch, leaf, value) for leaf, value in enumerate(results)))


def _at_first(leaf: int, start: Instruction, trips: TripCount, unchanging: set[int], errors: set[int]) -> Value:
    """The value of an element of the state at the beginning of each round."""
    if leaf in unchanging:
        return Fixed(start)
    if leaf in errors:
        return Fixed(hlo.constant(0, start.shape.element_type))
    if leaf == trips.index:
        numbers = hlo.iota(start.shape.with_dimensions((trips.count,)), 0)
        scaled = hlo.add(hlo.multiply(numbers, hlo.full_like(numbers, trips.step)), hlo.full_like(numbers, trips.start))
        return Varying(scaled, (trips.start, trips.step))
    return Initial(leaf, start) if start.shape.rank else Carried(leaf)


def _require_as_found(batch: Batch, read: Read, written: Value) -> None:
    """Raise NotBatchedError unless what is read has been written in no earlier round."""
    if type(written) is not Written or written.initial.leaf != read.leaf:
        raise NotBatchedError("an array of the last round is read")
    along, start, step = _way(batch, written)
    place = read.places[along]
    progression = place.progression if type(place) is Varying else None
    if progression is None or progression[1] != step or (progression[0] - start) // step < 0:
        raise NotBatchedError("a round may read what an earlier one has written")


def _way(batch: Batch, written: Written) -> tuple[int, int, int]:
    """The dimension in which the blocks lie side by side, the first one's place, and 1 or -1."""
    along, start, step = moving_block(batch, written.places, update_sizes(written))
    if step not in (1, -1):
        raise NotBatchedError("the blocks that are written do not lie side by side")
    return along, start, step


def _at_last(batch: Batch, leaf: int, value: Value) -> Instruction:
    """An element of the state behind the loop."""
    if type(value) is Fixed:
        return value.instruction
    if type(value) is Varying:
        _, *dimensions = value.instruction.shape.dimensions
        starts, limits = [batch.count - 1, *[0] * len(dimensions)], [batch.count, *dimensions]
        return hlo.reshape(hlo.slice(value.instruction, starts, limits), dimensions)
    if type(value) is not Written or value.initial.leaf != leaf:
        raise NotBatchedError("arrays change places")
    along, start, step = _way(batch, value)
    sizes = update_sizes(value)
    others = [size for dimension, size in enumerate(sizes) if dimension != along]
    rows = hlo.reshape(batch.rows(value.update, sizes), (batch.count, *others))
    block = hlo.transpose(rows, dimensions=(*range(1, along + 1), 0, *range(along + 1, len(sizes)))) if along else rows
    if step < 0:
        block = hlo.reverse(block, dimensions=(along,))
    places = [place.instruction for place in value.places]
    places[along] = hlo.constant(min(start, start + step * (batch.count - 1)), places[along].shape.element_type)
    return hlo.dynamic_update_slice(value.initial.instruction, block, *places)


# --- what all rounds contribute to ---

_OF_FLOATS = {"maximum", "minimum"}


def _accumulation(
    root: Instruction, leaf: int, users: dict[Instruction, list[Instruction]], of_floats: Set[str]
) -> _Accumulation | None:
    """What the body does to an element of the state, where it is this alone, and in any order the same."""

    def is_leaf(instruction: Instruction) -> bool:
        return is_state(instruction) and instruction.attributes["index"] == leaf

    combined, predicate, unless = root, None, False
    if root.opcode == "select":
        predicate, on_true, on_false = root.operands
        unless = is_leaf(on_true)
        combined, kept = (on_false, on_true) if unless else (on_true, on_false)
        if not is_leaf(kept) or users[combined] != [root]:
            return None
    if root.shape.is_tuple or len(users[root]) != 1:
        return None
    element_type = root.shape.element_type
    if combined.operation.identity(element_type) is None:
        return None
    if combined.opcode not in of_floats and (element_type.is_float or element_type.is_complex):
        return None
    states = [operand for operand in combined.operands if is_leaf(operand)]
    if len(states) != 1 or set(users[states[0]]) != {combined, root}:
        return None
    (term,) = (operand for operand in combined.operands if operand is not states[0])
    return _Accumulation(combined.opcode, term, predicate, unless)


def _accumulated(batch: Batch, accumulation: _Accumulation, start: Instruction, known: dict[Instruction, Value]) -> Instruction:
    """The element of the state behind the loop."""
    opcode, term, predicate, unless = accumulation
    dimensions, element_type = start.shape.dimensions, start.shape.element_type
    identity = OPERATIONS[opcode].identity(element_type)
    (value,) = batch.run([term], known)
    rows = batch.rows(value, dimensions)
    if predicate is not None:
        (holds,) = batch.run([predicate], known)
        neutral = hlo.full_like(rows, identity)
        rows = hlo.select(batch.rows(holds, dimensions), *((neutral, rows) if unless else (rows, neutral)))
    init = hlo.constant(identity, element_type)
    found = hlo.emit("reduce", rows, init, dimensions=(0,), to_apply=scalar_computation(opcode, element_type))
    return hlo.emit(opcode, start, found)
