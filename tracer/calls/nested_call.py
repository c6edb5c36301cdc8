"""Calls of a jitted function inside another traced function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import hlo
from ...compile.traversal import has_effects
from ..capture.calls.recursions import entered
from ..capture.journals import journal
from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.intervals import INT64, Interval, interval_of, is_traced_integer, note_interval
from ..recording.trace import Storage, Trace, identifier


def call_in_trace(function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record the function's computation and a ``call`` of it; the result as the function returns it.

    What the function takes from its arguments and from outside become the call's operands; what it changes in place, and sets
    elsewhere, further results. Arguments that it returns are the caller's arrays themselves.
    """
    outer = current_trace()
    surroundings = outer.program.surroundings
    followed = function if surroundings is None else entered(surroundings, function)
    with Trace(identifier(name), parent=outer) as inner, inner.running, journal(stays=True) as changed:
        result = followed(*args, **kwargs)
        places = [place for place, _ in changed.values()]
        leaves, structure = pytree.flatten((result, [place.get() for place in places]))
        roots = []
        made: dict[int, int] = {}
        intervals: dict[int, Interval] = {}
        for position, leaf in enumerate(leaves):
            if isinstance(leaf, TracedArray) and not _belongs_outside(leaf, inner):
                made[position] = len(roots)
                intervals[position] = interval_of(inner, leaf) if is_traced_integer(leaf) else INT64
                roots.append(leaf.recorded(inner))
        written = list(inner.written)
        roots.extend(inner.written.values())
    if not roots and not any(map(has_effects, inner.builder.instructions)):
        return result
    root = roots[0] if len(roots) == 1 else inner.builder.emit("tuple", *roots)
    operands = [outer.read(storage) for storage in inner.outside]
    call = hlo.call(*operands, to_apply=inner.build(root))
    results = [call] if len(roots) == 1 else [hlo.get_tuple_element(call, index) for index in range(len(roots))]
    for storage, result in zip(written, results[len(made) :]):
        outer.write(storage, result)
    handles: dict[Storage | int, TracedArray] = {}
    for position, index in made.items():
        leaf = leaves[position]
        identity = leaf.storage if leaf.storage is not None else id(leaf)
        if identity not in handles:
            handles[identity] = TracedArray.from_instruction(outer, results[index], leaf.weak_type, leaf.is_scalar)
            note_interval(outer, handles[identity], intervals[position])
        leaves[position] = handles[identity]
    result, held = pytree.unflatten(structure, leaves)
    for place, value in zip(places, held):
        place.set(value)
    return result


def _belongs_outside(array: Any, inner: Trace) -> bool:
    return array.storage is not None and array.storage.trace is not inner
