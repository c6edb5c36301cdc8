"""Entries: a signature bound to a kernel and to the objects of the process, and their chain on an instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....runtime.locks import new_lock
from . import lookup, native_functions, object_layout, outside, records, result_pool
from .call_signature import ArgumentResult, CallSignature, ResultSpec, StaticGuard
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
    captures: Sequence[np.ndarray] = (),
    facts: Sequence[outside.Fact] = (),
    structure: Callable[[tuple[Any, ...]], Any] | None = None,
    raise_error: Callable[[int], Any] | None = None,
) -> BoundEntry:
    """Binds a signature to a compiled kernel.

    kernel: the address of a function ``i32 (ptr arguments, ptr results)``: an array of pointers to the data of the arguments
        (static ones left out) and of the captured arrays, and an array of pointers to the memory of the results (those that are
        arguments left out). It returns 0, or a code for raise_error.
    owner: any object that keeps the kernel in memory.
    statics, captures: the objects of the signature's StaticGuards, and its captured arrays, each in the signature's order.
    facts: what has to stand outside, as `outside` has it.
    structure: makes what the call returns of the tuple of results (result_structure "call").
    raise_error: called with the kernel's code where that is not 0, with the negative of the signature's error code where that
        is not; it must raise. Without it such a code raises SystemError.
        Where the kernel has set a Python exception itself, that one stands and raise_error is not called.

    Compiles nothing. Raises TypeError or ValueError if an object does not suit the signature, RuntimeError if this interpreter
    takes no native entries.
    """
    reason = object_layout.unsupported_reason()
    if reason is not None:
        raise RuntimeError(f"native entries are not available: {reason}")
    if not kernel:
        raise ValueError("bind_entry requires the address of a kernel; given a null address")
    static_count = sum(isinstance(guard, StaticGuard) for guard in signature.arguments)
    for kind, given, required in (("statics", statics, static_count), ("captures", captures, len(signature.captures))):
        if len(given) != required:
            raise ValueError(f"bind_entry requires as many {kind} as the signature has, {required}; given {len(given)}")
    for array in captures:
        if type(array) is not np.ndarray:
            raise TypeError(f"bind_entry requires captures to be of type numpy.ndarray; given {type(array)!r}")
    if (structure is not None) != (signature.result_structure == "call"):
        raise TypeError(
            "bind_entry requires structure, a callable, with result_structure 'call' and only with it; "
            f"given {structure!r} with {signature.result_structure!r}"
        )

    builder = records.Builder()
    static_objects = iter(statics)
    arguments = [
        builder.argument(guard, next(static_objects) if isinstance(guard, StaticGuard) else None)
        for guard in signature.arguments
    ]
    captured = [builder.array(guard, array) for guard, array in zip(signature.captures, captures)]
    results = [builder.result(result, _allocator(result)) for result in signature.results]
    if signature.has_error_code:
        results.append(builder.error_code())
    words = outside.words_of(facts)
    if words is None:
        raise ValueError("bind_entry requires facts that memory can tell")
    builder.references.extend(facts)
    record = builder.entry(signature, kernel, arguments, captured, results, words)
    record.hash = lookup.hash_of(signature, statics)
    record.structure = None if structure is None else builder.object(structure)
    record.error = builder.object(_no_error_function if raise_error is None else raise_error)
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


def _hash_in(record: bytes) -> int:
    return records.Entry.from_buffer_copy(record).hash


def _allocator(result: ResultSpec | ArgumentResult) -> int:
    if isinstance(result, ResultSpec) and result.nbytes >= result_pool.POOLED_BYTES:
        return result_pool.pooled_empty_address()
    return object_layout.numpy_api_address("PyArray_Empty")


def _no_error_function(code: int) -> None:
    raise SystemError(f"a kernel ended with code {code}, and its entry was bound without an error function")
