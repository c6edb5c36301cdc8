"""Locks that survive a fork: the child, which has one thread, finds all of them free.

A lock that is held for a few steps is made new in the child: what it guards is consistent between any two steps of Python.
`compilation_lock` is held while LLVM works, which is not: a fork waits for it, and for llvmlite's own.

Locks are reentrant, for handlers of signals and finalizers that run, in the thread that holds one, between any two steps. None
is held while functions of the user run.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from contextlib import ExitStack, nullcontext

_short: weakref.WeakSet[threading.RLock | threading.Condition] = weakref.WeakSet()


def new_lock() -> threading.RLock:
    """A lock that is held for a few steps."""
    lock = threading.RLock()
    _short.add(lock)
    return lock


def new_condition() -> threading.Condition:
    """A condition whose lock is held for a few steps."""
    condition = threading.Condition()
    _short.add(condition)
    return condition


compilation_lock = threading.RLock()
_held = ExitStack()


def _before_fork() -> None:
    _held.enter_context(compilation_lock)
    llvmlite = sys.modules.get("llvmlite.binding.ffi")
    if llvmlite is not None:
        _held.enter_context(getattr(llvmlite.lib, "_lock", nullcontext()))


def _after_fork() -> None:
    _held.close()


def _after_fork_in_child() -> None:
    _after_fork()
    for lock in list(_short):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
