"""What must be seen to before LLVM works: it ends the process where memory runs out, and does not look for interrupts."""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from llvmlite.binding import ffi

Result = TypeVar("Result")

# What LLVM allocates for an empty module, and for each byte of assembly: two to three times what was measured.
_BASE_BYTES, _BYTES_PER_BYTE = 24 << 20, 60
# About half a second of work.
_LONG_ASSEMBLY = 1 << 18
# LLVM recurses, and a thread that compiles may have little stack.
_STACK_BYTES = 16 << 20


def require_memory(llvm_ir: str) -> None:
    """Raise MemoryError where there is not enough for LLVM to compile this assembly."""
    needed = _BASE_BYTES + _BYTES_PER_BYTE * len(llvm_ir)
    try:
        mmap.mmap(-1, needed).close()
    except OSError as error:
        raise MemoryError(f"compiling {len(llvm_ir)} bytes of LLVM assembly takes up to {needed >> 20} MiB: {error}") from None


def run_interruptibly(llvm_ir: str, work: Callable[[], Result]) -> Result:
    """What ``work()``, which compiles this assembly, returns or raises.

    In the main thread, which handles signals, another thread does what may take long. Where a handler raises an exception, that
    one is left alone: it drops its result when it has ended, and later compilations and the end of the process wait for it. A
    thread other than the main one may have little stack, and so lets one with enough work, too.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and len(llvm_ir) < _LONG_ASSEMBLY:
        return work()
    outcomes: list[tuple[Result | None, BaseException | None]] = []
    # Not an Event, which a handler's exception can leave locked: the thread would wait for it, and the end of the process, too.
    running = threading.Lock()
    running.acquire()

    def run() -> None:
        try:
            outcomes.append((work(), None))
        except BaseException as error:  # noqa: BLE001, it is raised in the thread that waits
            outcomes.append((None, error))
        running.release()

    process = os.getpid()
    if not _start(threading.Thread(target=run, name="phlox compilation")):
        return work()
    while not running.acquire(timeout=1.0):
        if os.getpid() != process:  # a handler has forked, and the child has this thread only
            return work()
    result, error = outcomes.pop()
    if error is not None:
        raise error
    return result  # type: ignore[return-value]


def _start(thread: threading.Thread) -> bool:
    before = threading.stack_size(_STACK_BYTES)
    try:
        thread.start()
    except RuntimeError:  # there can be no further thread
        return False
    finally:
        threading.stack_size(before)
    return True


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
