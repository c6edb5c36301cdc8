"""Generators of random numbers in memory: where native code finds their state, and NumPy's own functions that draw from it.

A program gets the address of a generator's state as a number, its *handle*. That of a ``Generator`` is the address of its
``bitgen_t`` (``numpy/random/bitgen.h``): a pointer to a state, and functions of that which give the next bits. That of a
``RandomState`` is the address of its ``aug_bitgen_t``: a pointer to a ``bitgen_t``, and a normal number that is left over.
That of Python's ``Random`` is the address of an MT19937: a position, in 32 bits, and 624 words. Where these lie in the objects
is not said anywhere, so it is looked for, once, in objects whose state is known; where it is not found, or NumPy's extension
modules do not show their functions (on Windows), `is_drawn_natively` is false, and programs call the methods in Python.

NumPy's methods take a lock of the generator's, and let other threads run while they fill an array. A program that draws lets
none run meanwhile, so it need not take the lock: that nobody else holds it is enough, which a word of the lock tells.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import operator
import random
import struct
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .custom_calls import NativeTarget, register_family

# The names under which programs find where the word is, call what waits until nobody else holds the lock, and what lets their
# next look for interrupts find one.
PLACES_OF_LOCKS, WAIT, INTERRUPT = (f"numpy.random.c.{name}" for name in ("places_of_locks", "wait", "interrupt"))
# What waiting tells; an interrupt may end it before it tells anything.
IS_FREE, IS_OWN = 1, 2
# The prefix of the names under which programs call NumPy's functions, and one of the C library.
FUNCTIONS = "numpy.random.c."

_WORD = 8
_LEFT_OVER = 1.2345678901234567e-300  # a normal number that no generator draws


def is_drawn_natively(kind: type) -> bool:
    """Whether programs draw from generators of exactly this type without Python.

    >>> is_drawn_natively(dict)
    False
    """
    return _offset(kind) is not None


def handle_of(generator: Any) -> np.uint64:
    """What a program gets for a generator: the address of its state, or of the object where that is not known."""
    return np.uint64(id(generator) + offset_of(type(generator)))


def offset_of(kind: type) -> int:
    """How far behind the address of an object of this type its handle lies."""
    return _offset(kind) or 0


def generator_at(handle: int, kind: type) -> Any:
    """The generator of this type, which must be alive, whose handle this is."""
    return object_at(int(handle) - offset_of(kind))


def object_at(address: int) -> Any:
    """The Python object at an address, which must be alive."""
    return ctypes.cast(int(address), ctypes.py_object).value


@cache
def _offset(kind: type) -> int | None:
    look = _LOOKED_FOR.get(kind)
    return None if look is None else look()


def _words(value: Any) -> list[int]:
    """The memory of an object, without what lies outside of it."""
    count = type(value).__basicsize__ // _WORD
    return list((ctypes.c_uint64 * count).from_address(id(value)))


def _place(words: list[int], wanted: list[int]) -> int | None:
    """Where these words stand, None unless that is at exactly one place."""
    found = [at for at in range(len(words)) if words[at : at + len(wanted)] == wanted]
    return _WORD * found[0] if len(found) == 1 else None


def _bitgen(bit_generator: np.random.BitGenerator) -> list[int]:
    interface = bit_generator.ctypes
    functions = (interface.next_uint64, interface.next_uint32, interface.next_double)
    return [interface.state_address, *[ctypes.cast(one, ctypes.c_void_p).value or 0 for one in functions]]


def _in_generator() -> int | None:
    if _library() is None:
        return None
    generator = np.random.Generator(np.random.PCG64(1))
    found = _place(_words(generator), _bitgen(generator.bit_generator))
    return found if _has_places(generator, generator.bit_generator, found) else None


def _in_random_state() -> int | None:
    if _library() is None:
        return None
    bit_generator = np.random.MT19937(1)
    state = np.random.RandomState(bit_generator)
    known = state.get_state(legacy=False)
    state.set_state({**known, "has_gauss": 1, "gauss": _LEFT_OVER})
    bitgen = _place(_words(state), _bitgen(bit_generator))
    left_over = int(np.float64(_LEFT_OVER).view(np.uint64))
    found = None if bitgen is None else _place(_words(state), [id(state) + bitgen, 1, left_over])
    return found if _has_places(state, bit_generator, found) else None


def _in_random() -> int | None:
    generator = random.Random(1)
    *words, position = generator.getstate()[1]
    memory = struct.pack("=625I", position, *words)
    offset = ctypes.string_at(id(generator), type(generator).__basicsize__).find(memory)
    return None if offset < 0 else offset


_LOOKED_FOR: dict[type, Callable[[], int | None]] = {
    np.random.Generator: _in_generator,
    np.random.RandomState: _in_random_state,
    random.Random: _in_random,
}

# --- states ---

_bit_generator_of = operator.attrgetter("_bit_generator")  # which is public in a Generator alone
_STATE_BYTES = 2500  # of Python's generator
_LEFT_OVER_BYTES = 24  # of an ``aug_bitgen_t``
_BIT_GENERATORS = (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)


def places_of_state(generator: Any) -> list[tuple[int, int]] | None:
    """The addresses and sizes of the memory that holds the state of a generator; None where that is not known.

    >>> len(places_of_state(np.random.default_rng(1)))
    1
    """
    kind = type(generator)
    if not is_drawn_natively(kind):
        return None
    if kind is random.Random:
        return [(int(handle_of(generator)), _STATE_BYTES)]
    bit_generator = _bit_generator_of(generator)
    if type(bit_generator) not in _BIT_GENERATORS or not _is_put_back(type(bit_generator)):
        return None
    left_over = [(int(handle_of(generator)), _LEFT_OVER_BYTES)] if kind is np.random.RandomState else []
    return [*left_over, _state_of(bit_generator)]


def _state_of(bit_generator: np.random.BitGenerator) -> tuple[int, int]:
    """Where the state begins, to the end of the object, which holds all of it."""
    begin = bit_generator.ctypes.state_address
    return begin, id(bit_generator) + type(bit_generator).__basicsize__ - begin


@cache
def _is_put_back(kind: type) -> bool:
    """Whether numbers are drawn again where that memory is what it was."""
    generator = np.random.Generator(kind(1))
    generator.integers(10, dtype=np.int32)
    address, size = _state_of(generator.bit_generator)
    if not 0 < size < type(generator.bit_generator).__basicsize__:
        return False
    memory = ctypes.string_at(address, size)
    drawn = []
    for _ in range(2):
        drawn.append([generator.integers(10, size=3, dtype=np.int32).tolist(), generator.normal(size=1000).tolist()])
        ctypes.memmove(address, memory, size)
    return drawn[0] == drawn[1]


# --- the locks ---

KINDS_WITH_LOCKS = ("numpy.random.Generator", "numpy.random.RandomState")
# How far behind the lock the word lies that is 0 where nobody holds it; for each kind, how far behind the handle the address
# of the lock does.
_places_of_locks = (ctypes.c_int64 * (1 + len(KINDS_WITH_LOCKS)))()


def _has_places(generator: Any, bit_generator: np.random.BitGenerator, offset: int | None) -> bool:
    """Whether the lock is found; its places are taken down."""
    lock = bit_generator.lock
    of_lock = _place(_words(generator), [id(lock)])
    free = _words(lock)
    with lock:
        held = _words(lock)
    changed = [at for at, (word, other) in enumerate(zip(free, held)) if not word and other and at > 1]
    if offset is None or of_lock is None or not changed or _words(lock) != free:
        return False
    _places_of_locks[0] = _WORD * changed[0]
    kind = f"numpy.random.{type(generator).__name__}"
    _places_of_locks[1 + KINDS_WITH_LOCKS.index(kind)] = of_lock - offset
    return True


@ctypes.PYFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64)
def _wait(address: int, told: int) -> None:
    """Wait until nobody holds the lock, or this thread does, and write to the second address which of these it is."""
    try:
        lock = object_at(address)
        if getattr(lock, "_is_owned", bool)():
            ctypes.c_uint8.from_address(told).value = IS_OWN
            return
        with lock:
            pass
        ctypes.c_uint8.from_address(told).value = IS_FREE
    except KeyboardInterrupt:  # the program sends it again, as nothing is written: here it would come back at once
        return


# --- the functions ---


@cache
def _library() -> ctypes.CDLL | None:
    library = ctypes.CDLL(sys.modules[np.random.Generator.__module__].__file__)
    return library if hasattr(library, "random_standard_normal") and hasattr(library, "random_interval") else None


def function(name: str) -> Any:
    """A function of ``numpy/random/distributions.h``, or of the C library. Raises NotImplementedError where it is not found."""
    library = _library() if name.startswith("random_") else ctypes.CDLL(ctypes.util.find_library("m"))
    found = getattr(library, name, None)
    if found is None:
        raise NotImplementedError(f"the function {name!r}, which programs draw random numbers by, is not found in this process")
    return found


def _find(name: str) -> NativeTarget:
    if name == PLACES_OF_LOCKS:
        return NativeTarget(name, ctypes.addressof(_places_of_locks), _places_of_locks)
    if name == WAIT:
        return NativeTarget(name, ctypes.cast(_wait, ctypes.c_void_p).value or 0, _wait)
    found = ctypes.pythonapi.PyErr_SetInterrupt if name == INTERRUPT else function(name.removeprefix(FUNCTIONS))
    return NativeTarget(name, ctypes.cast(found, ctypes.c_void_p).value or 0, found)


register_family(FUNCTIONS, _find)
