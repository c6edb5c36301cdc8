"""Functions whose results are not decided by their arguments: random numbers, time, input.

They are called when the program runs, every time (`host_call`). The shapes of what they return are found by a trial on a copy
of their state. `meaning` is what a call of one is while a function is traced.
"""

from __future__ import annotations

import builtins
import contextvars
import datetime
import functools
import gc
import glob
import io
import locale
import logging
import os
import pathlib
import platform
import random
import secrets
import shutil
import socket
import sys
import tempfile
import threading
import time
import types
import uuid
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ... import hlo
from ...runtime.clocks import clock_target
from ..outside.paths import Called, Fixed
from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.attributes import class_of
from ..recording.callables import callable_name
from ..recording.current_trace import current_trace, set_current_trace
from ..recording.errors import StaleCapture, TracerError
from ..recording.intervals import note_interval
from ..recording.trace import Trace
from .again import once
from .host_call import call_when_run
from .leaves import RANDOM_GENERATORS
from .random_generators import from_outside, method_of_generator
from .random_methods import make_generator, make_later
from .trials import is_integer, results_of_trial

_CLOCKS = {
    time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic, time.monotonic_ns, time.process_time,
    time.process_time_ns, time.thread_time, time.thread_time_ns,
}  # fmt: skip
_READ = _CLOCKS | {
    os.getpid, os.getppid, os.getloadavg, threading.get_ident,
    np.load, np.loadtxt, np.genfromtxt, np.fromfile,
}  # fmt: skip
RETURN_NOTHING = {
    time.sleep, np.save, np.savetxt, os.makedirs, os.mkdir, os.remove, os.rename, os.replace, os.rmdir, os.unlink,
    shutil.rmtree,
}  # fmt: skip
_MAKE_SEEDS = {
    np.random.SeedSequence, np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64,
}  # fmt: skip
_MAKE_GENERATORS = {np.random.default_rng, np.random.Generator, np.random.RandomState, random.Random}
# What these return is looked at before each call, as everything is that is read from outside.
_LOOKED_AT = {
    os.getenv, os.getcwd, os.listdir, os.path.exists, os.path.isfile, os.path.isdir, os.path.getsize, os.path.getmtime,
    os.path.abspath, os.path.realpath, os.path.islink, os.path.lexists, os.path.getctime, os.path.expanduser,
    os.path.expandvars, glob.glob, shutil.which, tempfile.gettempdir, socket.gethostname, platform.node, sys.getrecursionlimit,
    np.geterr, np.get_printoptions, locale.getlocale, gc.isenabled, pathlib.Path.cwd, pathlib.Path.home,
}  # fmt: skip
# The same for methods, of objects whose others (None: all others) are refused.
_LOOKED_AT_METHODS: dict[type, tuple[set[str], set[str] | None]] = {
    type(os.environ): ({"get", "__getitem__", "__contains__"}, None),
    contextvars.ContextVar: ({"get"}, None),
    logging.Logger: ({"isEnabledFor", "getEffectiveLevel", "hasHandlers"}, set()),
    pathlib.Path: (
        {"read_text", "read_bytes", "exists", "is_file", "is_dir", "resolve", "absolute"},
        {"write_text", "write_bytes", "mkdir", "touch", "unlink", "rename", "replace", "rmdir", "iterdir", "glob", "stat"},
    ),
}  # fmt: skip
_REFUSED = {
    builtins.input, sys.getsizeof, os.urandom, os.putenv, os.chdir, secrets.token_bytes, secrets.token_hex, secrets.randbelow,
    secrets.choice, secrets.randbits, uuid.uuid1, uuid.uuid4, time.ctime, time.localtime, time.gmtime, time.strftime,
}  # fmt: skip
# Functions of np.random that are no methods, but call these of the generator behind it.
_OF_NUMPY = {np.random.seed: "seed", np.random.ranf: "random_sample", np.random.sample: "random_sample"}
_IN_MEMORY = (io.StringIO, io.BytesIO)
_FUNCTIONS = frozenset({types.FunctionType, types.MethodType, types.BuiltinFunctionType})
_WITHOUT_STATE = frozenset({type(None), types.ModuleType, list, dict, set, str, tuple, TracedArray})  # whose methods have none


def meaning(function: Any, given: Iterable[Any] = ()) -> Callable[..., Any] | None:
    """What is called in place of this function while a function is traced; None where that is the function itself.

    given: its arguments. What is done with a stream in memory that the traced function has made is done nowhere else.

    >>> meaning(np.sqrt), meaning(time.time) is None
    (None, False)
    """
    if method_of_generator(function) is not None:
        return function
    if isinstance(function, weakref.ref):
        return functools.partial(_refer, function)
    if type(function) in _FUNCTIONS:
        for name in ("stdout", "stderr"):
            if is_method_of_stream(function, name, "write"):
                return functools.partial(_write, name)
            if is_method_of_stream(function, name, "flush"):
                return functools.partial(_flush, name)
    holder = getattr(function, "__self__", None)
    if type(holder) not in _WITHOUT_STATE and (found := _meaning_of_method(function, holder)) is not None:
        return found
    try:
        hash(function)
    except TypeError:
        return None
    if function in _OF_NUMPY:
        return meaning(getattr(np.random.rand.__self__, _OF_NUMPY[function]))
    if function is builtins.open:
        return _open
    if function in _LOOKED_AT:
        return functools.partial(look, function)
    if (function in _READ or function in RETURN_NOTHING) and any(map(_is_own_stream, given)):
        return None
    if function in _READ:
        return functools.partial(_read, function)
    if function in RETURN_NOTHING:
        return functools.partial(_do, function)
    if function in _MAKE_SEEDS:
        return functools.partial(make_later, function)
    if function in _MAKE_GENERATORS:
        return functools.partial(make_generator, function)
    return functools.partial(_refuse, function) if function in _REFUSED else None


def _is_own_stream(value: Any) -> bool:
    trace = current_trace()
    return class_of(type(value)) in _IN_MEMORY and trace is not None and id(value) in trace.program.made_objects


def _meaning_of_method(function: Any, holder: Any) -> Callable[..., Any] | None:
    if isinstance(holder, RANDOM_GENERATORS):
        trace = current_trace()
        return trace and getattr(from_outside(trace, holder, Fixed(holder, type(holder).__name__)), function.__name__)
    for kind, (looked_at, refused) in _LOOKED_AT_METHODS.items():
        if isinstance(holder, kind):
            if function.__name__ in looked_at:
                return functools.partial(look, function)
            if kind is pathlib.Path and function.__name__ == "open":
                return functools.partial(_open, holder)
            return functools.partial(_refuse, function) if refused is None or function.__name__ in refused else None
    is_date = isinstance(holder, type) and issubclass(holder, datetime.date) and function.__name__ in ("now", "utcnow", "today")
    is_file = isinstance(holder, io.IOBase) and not isinstance(holder, _IN_MEMORY)
    is_refused = is_date or is_file or isinstance(holder, np.random.BitGenerator)
    return functools.partial(_refuse, function) if is_refused else None


def is_method_of_stream(function: Any, name: str, method: str) -> bool:
    """Whether this is the method of ``sys.stdout`` or ``sys.stderr``; in notebooks that is a function."""
    return type(function) in _FUNCTIONS and getattr(getattr(sys, name), method, None) == function


def writes_to_standard_stream(function: Any) -> bool:
    return is_method_of_stream(function, "stdout", "write") or is_method_of_stream(function, "stderr", "write")


def _read(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    trace = current_trace()
    if trace is None:
        return function(*args, **kwargs)
    if function in _CLOCKS and not args and not kwargs and (clock := clock_target(function)) is not None:
        return _read_clock(trace, clock, function.__name__.endswith("_ns"))
    example = results_of_trial(function, args, kwargs)
    kinds, message = _kinds(example), f"{callable_name(function)} returns another kind of value"

    number = type(example) if type(example) in (int, float) else None
    form = (example.shape, example.dtype) if type(example) is np.ndarray else None

    def read(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        if type(found) is np.ndarray and (found.shape, found.dtype) == form:
            return found
        if type(found) is not number and _kinds(found) != kinds:
            raise StaleCapture(message)
        return found

    trace.add_error_flag(hlo.constant(False, hlo.PRED), StaleCapture, message)  # so that calls go through Python
    return call_when_run(read, example, args, kwargs, named=function)


def _read_clock(trace: Trace, clock: str, as_nanoseconds: bool) -> TracedArray:
    """What the function of `time` gives, rounded as there."""
    moment = hlo.custom_call(custom_call_target=clock, shape=hlo.Shape(hlo.S64), custom_call_has_side_effect=True)
    if as_nanoseconds:
        found = TracedArray.from_instruction(trace, moment, weak_type=True)
        note_interval(trace, found, (0, 2**62))
        return found
    second = hlo.constant(np.int64(10**9))
    whole = hlo.convert(hlo.divide(moment, second), hlo.F64)
    parts = hlo.divide(hlo.convert(moment, hlo.F64), hlo.constant(np.float64(1e9)))
    is_whole = hlo.eq(hlo.remainder(moment, second), 0)
    return TracedArray.from_instruction(trace, hlo.select(is_whole, whole, parts), weak_type=True)


def look(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What the function returns now, which is guarded. Its arguments are known."""
    trace = current_trace()
    if trace is None or trace.program.surroundings is None:
        return function(*args, **kwargs)
    args, kwargs = pytree.tree_map(_known, (args, kwargs))
    set_current_trace(None)
    try:
        found = function(*args, **kwargs)
    finally:
        set_current_trace(trace)
    return trace.program.surroundings.convert(found, Called(function, *args, **kwargs))


def _refer(reference: weakref.ref) -> Any:
    """What a weak reference refers to, which is looked at where it stands outside."""
    trace = current_trace()
    is_outside = trace is not None and trace.program.surroundings is not None
    return look(reference) if is_outside and trace.program.surroundings.place_of(reference) is not None else reference()


def _known(value: Any) -> Any:
    """An argument as Python has it. Raises ConcretizationError for one that the program computes."""
    return value.__index__() if is_integer(value) else value.item() if isinstance(value, TracedArray) else value


def _open(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
    """A file that is read is one in memory, with the contents that it has at each call."""
    if current_trace() is None:
        return open(file, mode, *args, **kwargs)
    if not set(mode) <= set("rbtU") or isinstance(file, int):
        _refuse(builtins.open)
    contents = look(_contents, file, mode, *args, **kwargs)
    made = io.BytesIO(contents) if "b" in mode else io.StringIO(contents)
    current_trace().program.made_objects[id(made)] = made, current_trace()
    return made


def _contents(file: Any, mode: str, *args: Any, **kwargs: Any) -> str | bytes:
    with open(file, mode, *args, **kwargs) as opened:
        return opened.read()


def _do(function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    call_when_run(functools.partial(once, function), None, args, kwargs, named=function)


def _write(name: str, text: str) -> Any:
    """What a standard stream writes: to what it is at the call."""

    def write(text: str) -> int:
        once(getattr(sys, name).write, text)
        return len(text)

    return call_when_run(write, int, (text,))


def _flush(name: str) -> None:
    call_when_run(lambda: getattr(sys, name).flush(), None)


def _refuse(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if current_trace() is None:
        return function(*args, **kwargs)
    raise TracerError(
        f"{callable_name(function)} is called in a traced function. What it returns differs from call to call, and is no "
        "array or number, which compiled code could take when it runs. Call it outside and pass what it returns, or wrap what "
        "is done with it in a function that returns arrays or numbers, and call that by "
        "phlox.host_call(function, result_shapes, *args)"
    )


def _kinds(value: Any) -> Any:
    leaves, structure = pytree.flatten(value)
    return structure, [(type(leaf), np.shape(leaf), getattr(leaf, "dtype", None)) for leaf in leaves]
