"""What must be seen to before LLVM works: it ends the process where memory runs out, and does not look for interrupts."""

from __future__ import annotations

import _thread
import atexit
import mmap
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from llvmlite.binding import ffi

from ...hlo.interrupts import not_of_a_signal

Result = TypeVar("Result")

# What LLVM allocates for an empty module, and for each byte of assembly: two to three times what was measured.
_BASE_BYTES, _BYTES_PER_BYTE = 24 << 20, 60
# About half a second of work.
_LONG_ASSEMBLY = 1 << 18
# LLVM recurses, and a thread that compiles may have little stack.
_STACK_BYTES = 16 << 20


def require_memory(llvm_ir: str) -> None:
    """Raise MemoryError where there is not enough for LLVM to compile this assembly."""
    needed = _BASE_BYTES + _STACK_BYTES + _BYTES_PER_BYTE * len(llvm_ir)
    try:
        mmap.mmap(-1, needed).close()
    except not_of_a_signal(OSError) as error:  # TimeoutError, which handlers raise, is an OSError
        raise MemoryError(f"compiling {len(llvm_ir)} bytes of LLVM assembly takes up to {needed >> 20} MiB: {error}") from None


def run_interruptibly(llvm_ir: str, work: Callable[[], Result]) -> Result:
    """What ``work()``, which compiles this assembly, returns or raises.

    For the main thread, which handles signals, another one does it: what a handler raises in a finalizer of llvmlite's objects
    would be lost, and what takes long would not be ended. Where a handler raises an exception, the other thread is left
    alone: it drops its result when it has ended, and later compilations and the end of the process wait for it. A thread other
    than the main one may have little stack, and so lets one with enough do long work.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main and len(llvm_ir) < _LONG_ASSEMBLY:
        return work()
    outcomes: list[tuple[Result | None, BaseException | None]] = []
    # Neither an Event nor a Thread, which has one: a handler's exception can leave it locked, and the thread would wait for it.
    running = _thread.allocate_lock()
    running.acquire()

    def run() -> None:
        _at_work.add(running)  # not before: what a handler raises in between would leave it there for ever
        try:
            outcomes.append((work(), None))
        except BaseException as error:  # noqa: BLE001, it is raised in the thread that waits
            outcomes.append((None, error))
        _at_work.discard(running)
        running.release()

    free_lock()
    process = os.getpid()
    if not _start(run):
        return work()
    while not running.acquire(timeout=1.0):
        if os.getpid() != process:  # a handler has forked, and the child has this thread only
            return work()
    result, error = outcomes.pop()
    if error is not None:
        raise error
    return result  # type: ignore[return-value]


_at_work: set[_thread.LockType] = set()


def _start(run: Callable[[], None]) -> bool:
    try:
        with deep_stacks():
            _thread.start_new_thread(run, ())
    except RuntimeError:  # there can be no further thread
        return False
    return True


@contextmanager
def deep_stacks() -> Iterator[None]:
    """Around what starts threads for LLVM."""
    before = _thread.stack_size(_STACK_BYTES)
    try:
        yield
    finally:
        _thread.stack_size(before)


@atexit.register
def wait_for_all() -> None:
    """Wait for what is at work, as the end of the process does: LLVM cannot be left in the middle."""
    for running in list(_at_work):
        while running in _at_work:  # who waits for its result may take the lock first
            if running.acquire(timeout=0.1):
                running.release()


os.register_at_fork(before=wait_for_all)  # a child would find llvmlite's lock taken


def free_lock() -> None:
    """Take llvmlite's lock from this thread, which is in no function of LLVM's, and would keep it from those it waits for.

    An interrupt leaves it so at a step of functions that others, as Numba, have called while it is held.
    """
    lock = getattr(getattr(ffi.lib, "_lock", None), "_lock", None)
    is_held = getattr(lock, "_is_owned", None)
    while is_held is not None and is_held():
        lock.release()


class _SingleStep:
    """A method of llvmlite's lock, in a ``with`` statement without any step of Python in between.

    After such a step, the exception of a signal's handler would leave the lock to the main thread for ever.
    """

    def __init__(self, name: str) -> None:
        self._name, self._steps = name, getattr(ffi._LLVMLock, name)

    def __get__(self, lock: Any, owner: type) -> Callable[..., Any]:
        if lock is None or lock._cblist:  # functions that are to be called while it is held
            return self._steps.__get__(lock, owner)
        return getattr(lock._lock, self._name)


# Another version's lock may be made otherwise, and is left as it is.
if {"_lock", "_cblist"} <= vars(getattr(ffi.lib, "_lock", None) or object).keys():
    for _name in ("__enter__", "__exit__"):
        setattr(ffi._LLVMLock, _name, _SingleStep(_name))
