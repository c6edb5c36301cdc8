"""The pool of threads that kernels hand pieces of their work to.

``i32 phlox.run_pieces(ptr function, ptr context, i64 count, i64 work, i64 checks, ptr scratch, i64 bytes)`` calls ``i32
function(ptr context, i64 number, ptr scratch)`` once for each number below the count, and returns when all these calls have;
in which order they come, and in which threads, is not said. ``work`` estimates what there is to do, in nanoseconds; with
``checks`` the caller looks for interrupts between its pieces. Each thread has so many ``bytes`` of scratch memory, the caller
those that it gives. It returns 0, or else what the check or a piece of the caller's did; no piece begins after that.

One region at a time has the workers: whoever finds the pool busy, another thread or a piece that has pieces itself, runs its
own alone, so that nothing ever waits for the pool.

Workers are started when a region first needs them. They spin for a short time after the last piece, and then give their memory
back and sleep. They block all signals and run no Python; where a piece asks whether to go on, a worker finds the answer in
``cancelled`` (`python_calls`). They compute with the caller's modes of rounding.

A fork waits until no worker runs a piece. The child has no workers, and starts its own.
"""

from __future__ import annotations

import ctypes
import functools
import os

from ...runtime.thread_count import thread_limit
from .call import python_calls
from .call.native_functions import load_for_good, python_call_addresses
from .call.object_layout import function_address
from .kept_code import kept_object_code
from .target import host_target
from .thread_pool_code import ARCHITECTURES, POINTERS, module_assembly

RUN_PIECES = "phlox.run_pieces"

_FORK_HOOKS = {"pause_workers": "before", "resume_workers": "after_in_parent", "forget_workers": "after_in_child"}


def unsupported_reason() -> str | None:
    """Why there is no pool, so that kernels run all pieces in the thread that calls them; None where there is one."""
    if os.name != "posix":
        return "this system has no POSIX threads"
    if _architecture() not in ARCHITECTURES:
        return f"the pool has no code for this processor, {_architecture()}"
    return None


def _architecture() -> str:
    return host_target().triple.partition("-")[0].replace("arm64", "aarch64")


def run_pieces_address() -> int:
    """The address of `RUN_PIECES`; loads the pool at first use, and starts nothing."""
    return _pool()[RUN_PIECES]


def worker_count() -> int:
    """How many workers this process has started."""
    if not _pool.cache_info().currsize or unsupported_reason() is not None:
        return 0
    return ctypes.CFUNCTYPE(ctypes.c_int64)(_pool()["worker_count"])()


@functools.cache
def _pool() -> dict[str, int]:
    """Loads the pool and gives the addresses of its functions."""
    pointers = {name: address for name, address in python_calls.variables().items() if name in POINTERS}
    pointers["PyThread_tss_set"] = function_address("PyThread_tss_set")
    pointers["check_interrupts"] = python_call_addresses()[python_calls.CHECK_INTERRUPTS]
    limit = thread_limit()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(limit))  # threads may read it while the interpreter ends
    pointers["thread_limit"] = ctypes.addressof(limit)
    is_there = unsupported_reason() is None
    names = (RUN_PIECES, *(("initialize", "worker_count", *_FORK_HOOKS) if is_there else ()))
    code = kept_object_code(module_assembly(_architecture() if is_there else None), host_target())
    addresses = load_for_good(code, pointers, names)
    if is_there:
        ctypes.CFUNCTYPE(None)(addresses["initialize"])()
        hooks = {when: ctypes.CFUNCTYPE(None)(addresses[name]) for name, when in _FORK_HOOKS.items()}
        os.register_at_fork(**hooks)
    return addresses
