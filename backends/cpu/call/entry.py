"""Entries: a signature bound to a kernel and to the objects of the process, and their chain on an instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from ....runtime.locks import new_lock
from . import lookup, made_records, native_functions, object_layout, outside, records, result_pool
from .call_signature import ArrayGuard, CallSignature, ResultSpec, StaticGuard
from .finishing import Step
from .places import Place, packed_size
from .vectorcall_type import get_entries, set_entries

_install_lock = new_lock()


class BoundEntry:
    """A signature that is ready to be installed on an instance.

    ``parts`` is what the instance takes over: the record, and what it relies on: the kernel (its owner), static objects,
    captured arrays, callables. All of it is immutable, or known to native code by the identity of an object that it keeps.
    """

    __slots__ = ("signature", "installed", "parts")

    def __init__(self, signature: CallSignature, record: records.Entry, references: Sequence[object]) -> None:
        self.signature = signature
        self.installed = False
        self.parts = (bytes(record), tuple(references))


def bind_entry(
    signature: CallSignature,
    kernel: int,
    owner: object,
    *,
    statics: Sequence[object] = (),
    facts: Sequence[outside.Fact] = (),
    around: Sequence[Place] = (),
    steps: Sequence[Step] = (),
    raise_error: Callable[[int], Any] | None = None,
    raise_found: Callable[[int], Any] | None = None,
    left_to_python: tuple[type[Exception], ...] = (),
    noting: tuple[ContextVar[Any], Callable[[list[Any]], None]] | None = None,
    put_back: Sequence[tuple[int, int]] = (),
) -> BoundEntry:
    """Binds a signature to a compiled kernel.

    kernel: the address of a function ``i32 (ptr arguments, ptr results)``: an array of pointers to the data of the arguments
        and places that have slots, and an array of pointers to the memory of the results. It returns 0, or a code for
        raise_error.
    owner: any object that keeps the kernel in memory.
    statics: the objects of the signature's StaticGuards, in the signature's order.
    facts: what has to stand outside, as `outside` has it.
    around: the places that are read at each call, as `places` has it.
    steps: what makes up what the call returns (result_structure "steps"), as `finishing` has it.
    raise_error: called with the kernel's code where that is not 0; it must raise. Without it such a code raises SystemError.
        Where the kernel has set a Python exception itself, that one stands and raise_error is not called.
    raise_found: called with the code of an error that the signature's ``errors`` tell of, an s64; it must raise. Without it
        Python takes such a call.
    left_to_python: where the kernel has set an exception of one of these classes Python takes the call, too.
    noting: a variable that is a new list while the kernel is run, and what is called with that where Python takes the call; no
        other entry is tried then.
    put_back: the addresses and sizes of memory outside that has its contents from before the call again where Python takes it.

    Compiles nothing. Raises TypeError or ValueError if an object does not suit the signature, RuntimeError if this interpreter
    takes no native entries.
    """
    reason = object_layout.unsupported_reason()
    if reason is not None:
        raise RuntimeError(f"native entries are not available: {reason}")
    if not kernel:
        raise ValueError("bind_entry requires the address of a kernel; given a null address")
    static_count = sum(isinstance(guard, StaticGuard) for guard in signature.arguments)
    if len(statics) != static_count:
        raise ValueError(f"bind_entry requires as many statics as the signature has, {static_count}; given {len(statics)}")
    if bool(steps) != (signature.result_structure == "steps"):
        raise TypeError(
            "bind_entry requires steps with result_structure 'steps' and only with it; "
            f"given {steps!r} with {signature.result_structure!r}"
        )

    builder = records.Builder(_pointers(signature, around))
    static_objects = iter(statics)
    slots = signature.argument_slots
    arguments = [
        builder.argument(guard, next(static_objects) if isinstance(guard, StaticGuard) else None, slot)
        for guard, slot in zip(signature.arguments, slots)
    ]
    results = [made_records.result_of(builder, result, _allocator(result)) for result in signature.results]
    words = outside.words_of(facts)
    if words is None:
        raise ValueError("bind_entry requires facts that memory can tell")
    variables = outside.variables_of(facts)
    # Another object could come to stand where they did.
    builder.references.extend([*facts, *variables])
    apart = _kept_apart(signature, around)
    places = [builder.place(place) for place in around]
    record = builder.entry(
        signature, kernel, arguments, places, apart, results, steps, words, variables, packed_size(around), put_back
    )
    record.hash = lookup.hash_of(signature, statics)
    record.error = builder.object(_no_error_function if raise_error is None else raise_error)
    record.found_error = None if raise_found is None else builder.object(raise_found)
    record.left_to_python = builder.object(left_to_python) if left_to_python else None
    record.noting, record.make_again = (None, None) if noting is None else map(builder.object, noting)
    return BoundEntry(signature, record, (owner, *builder.references))


def install_entry(instance: Any, entry: BoundEntry) -> None:
    """Makes the calls of `instance` that fit `entry` execute it; among few entries, before those that it has already.

    instance: of a type made by `make_vectorcall_type`; it keeps the entry alive from then on. An entry belongs to one instance.
    Safe while other threads call the instance. Raises as `set_entries` does, and ValueError if the instance has the entry.
    """
    with _install_lock:
        if entry.installed:
            raise ValueError("install_entry requires an entry that is not installed yet; given one that is")
        entries = lookup.with_entry(get_entries(instance), *entry.parts, _hash_in)
        set_entries(instance, native_functions.entry_address(), entries)
        entry.installed = True


def remove_entries(instance: Any) -> None:
    """Sends all further calls of `instance` to ``call_in_python``; calls that run keep what they need.

    Raises as `set_entries` does.
    """
    with _install_lock:
        set_entries(instance, None, ())


def _pointers(signature: CallSignature, around: Sequence[Place]) -> int:
    """How many data pointers there are: for arguments and places, and for the columns of containers, which have several."""
    slots = [slot for place in around if place.source == "entries" for slot in place.key.slots.values()]
    return max([len(signature.arguments) + len(around), *[slot + 1 for slot in slots]])


def _hash_in(record: bytes) -> int:
    return records.Entry.from_buffer_copy(record).hash


def _kept_apart(signature: CallSignature, around: Sequence[Place]) -> list[records.Apart]:
    """For each array that is changed in place, and each other array of the kernel's, that they have to lie apart."""
    guards = [*zip(signature.argument_slots, signature.arguments), *[(place.slot, place.guard) for place in around]]
    sizes = {slot: guard.nbytes for slot, guard in guards if isinstance(guard, ArrayGuard) and slot is not None}
    changed = {result.target for result in signature.results if result.target is not None}
    return [
        records.Apart(8 * slot, sizes[slot], 8 * other, sizes[other])
        for slot in changed
        for other in sizes
        if other != slot and (other not in changed or other > slot)
    ]


def _allocator(result: ResultSpec) -> int:
    if result.nbytes >= result_pool.POOLED_BYTES:
        return result_pool.pooled_empty_address()
    return object_layout.numpy_api_address("PyArray_Empty")


def _no_error_function(code: int) -> None:
    raise SystemError(f"a kernel ended with code {code}, and its entry was bound without an error function")
