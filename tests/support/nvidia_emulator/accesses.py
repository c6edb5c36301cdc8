"""Instructions that read and write memory, and change it atomically.

Source: NVIDIA's "PTX ISA" 8.1, "Data Movement and Conversion Instructions", "Parallel Synchronization and Communication
Instructions".
"""

from __future__ import annotations

import numpy as np

from . import floats
from .memory import LOCAL_WINDOW, SHARED_WINDOW, require_alignment
from .operations import DTYPES, bits_of_type, is_float

_SHARED, _LOCAL = np.uint64(SHARED_WINDOW), np.uint64(LOCAL_WINDOW)


def _spaces(running, addresses, space):
    """Parts of the threads that run, with the memory that each accesses, and their addresses there."""
    memories = running.memories
    if space != "generic":
        memory = memories[{"const": "global"}.get(space, space)]
        return [(slice(None), running, memory, addresses)]
    if (addresses < _SHARED).all():
        return [(slice(None), running, memories["global"], addresses)]
    kinds = np.where(addresses >= _LOCAL, 2, np.where(addresses >= _SHARED, 1, 0))
    found = []
    for kind, (name, begin) in enumerate((("global", np.uint64(0)), ("shared", _SHARED), ("local", _LOCAL))):
        which = np.flatnonzero(kinds == kind)
        if which.size:
            found.append((which, running.part(which), memories[name], addresses[which] - begin))
    return found


def _addresses(running, base, offset):
    addresses = base + np.uint64(offset & 0xFFFFFFFFFFFFFFFF) if offset else base
    return addresses if addresses.size == running.count else np.broadcast_to(addresses, running.count)


def load(space, size, count, offset, is_kept, is_strong):
    """A function that reads so many words of a size from each address."""

    def run(running, base):
        addresses = _addresses(running, base, offset)
        parts = _spaces(running, addresses, space)
        found = None
        for which, part, memory, there in parts:
            places = memory.places(there, size * count, part)
            if is_strong:
                memory.note_atomic(places, size * count, part)
                values = [memory.views[size][places // size + number] for number in range(count)]
            else:
                values = memory.read(places, size, count, part, is_kept)
            if len(parts) == 1:
                return values
            found = found or [np.zeros(running.count, f"u{size}") for _ in range(count)]
            for one, value in zip(found, values):
                one[which] = value
        return found

    return run


def store(space, size, count, offset, is_strong):
    def run(running, base, *values):
        addresses = _addresses(running, base, offset)
        for which, part, memory, there in _spaces(running, addresses, space):
            places = memory.places(there, size * count, part)
            taken = [one[which] if one.size == running.count else np.broadcast_to(one, part.count) for one in values]
            if is_strong:
                memory.note_atomic(places, size * count, part, reads=False, writes=True)
                for number, value in enumerate(taken):
                    memory.views[size][places // size + number] = value
            else:
                memory.write(places, size, taken, part)

    return run


# --- atomic operations ---


def _increment(old, given):
    return np.where(old >= given, old.dtype.type(0), old + old.dtype.type(1))


def _decrement(old, given):
    return np.where((old == 0) | (old > given), given, old - old.dtype.type(1))


def _exchange_if_equal(old, expected, new):
    return np.where(old == expected, new, old)


_FUNCTIONS = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "exch": lambda old, new: new, "cas": _exchange_if_equal, "inc": _increment, "dec": _decrement,
}  # fmt: skip


def _flushing_add(old, added):
    """Of f32 in the device's memory: subnormal numbers are zeros."""
    return floats.canonical(floats.flushed(floats.flushed(old) + floats.flushed(added)))


def _function(name, kind, space, keeps_subnormal):
    if name != "add" or "f" not in kind:
        if "f" in kind and name not in ("exch", "cas"):
            raise NotImplementedError(f"the atomic operation {name} of {kind}")
        return _FUNCTIONS[name]
    if kind == "f32":
        return floats.add if space == "shared" else _flushing_add
    if kind in ("bf16", "bf16x2"):
        return lambda old, added: floats.to_bf16(floats.from_bf16(old) + floats.from_bf16(added))
    if kind in ("f16", "f16x2") and not keeps_subnormal:
        raise NotImplementedError("an atomic addition of f16 without .noftz")
    return floats.add


def atomic_change(name, kind, space, count, offset, keeps_subnormal, in_block):
    """A function that changes a number at each address, one thread after the other, and returns what was there before.

    Words of several parts are changed part by part, and so are vectors.
    """
    dtype = DTYPES[kind]
    pair = 2 if kind.endswith("x2") else 1
    size = bits_of_type(kind) // 8
    function, in_order = _function(name, kind, space, keeps_subnormal), is_float(kind) or name == "cas"

    def run(running, base, *values):
        addresses = _addresses(running, base, offset)
        before = np.zeros((running.count * pair, count), dtype)
        for which, part, memory, there in _spaces(running, addresses, space):
            places = memory.places(there, size * count, part)
            memory.note_atomic(places, size * count, part, in_block, writes=name == "exch")
            view = memory.views[dtype.itemsize].view(dtype)
            for number in range(count):
                operands = [one for one in values] if name == "cas" else [values[number]]
                operands = [np.broadcast_to(one, running.count * pair).reshape(-1, pair)[which] for one in operands]
                for half in range(pair):
                    at = (places + number * size) // dtype.itemsize + half
                    found = _one_after_the_other(view, at, function, [one[:, half] for one in operands], in_order)
                    before[:, number].reshape(-1, pair)[which, half] = found
        return before[:, 0].copy()

    return run


def _one_after_the_other(view, places, function, operands, in_order):
    before = np.empty(places.size, view.dtype)
    # The last threads are first, as nothing may depend on the order; but sums of floats do, in their last bits.
    left = np.arange(places.size) if in_order else np.arange(places.size)[::-1]
    while left.size:  # one of each place at a time
        _, first = np.unique(places[left], return_index=True)
        now = left[first]
        before[now] = view[places[now]]
        view[places[now]] = function(before[now], *[one[now] for one in operands])
        left = np.delete(left, first)
    return before


# --- copies ---


def copy_later(size, target_offset, source_offset):
    """cp.async: what is copied arrives when a thread waits for it; bytes that are not read are zeros."""

    def run(running, target, source, read):
        target, source = _addresses(running, target, target_offset), _addresses(running, source, source_offset)
        read = np.broadcast_to(read, running.count)
        if (read > size).any():
            raise ValueError("a copy that reads more than it writes")
        data = np.zeros((running.count, size), np.uint8)
        device = running.memories["global"]
        for length in np.unique(read[read > 0]):
            which = np.flatnonzero(read == length)
            part, unit = running.part(which), 4 if length % 4 == 0 else 1
            require_alignment(source[which].astype(np.int64), size)
            places = device.places(source[which], unit, part)
            device.places(source[which] + length - np.uint64(1), 1, part)
            words = np.stack(device.read(places, unit, int(length) // unit, part), axis=1)
            data[which, :length] = words.view(np.uint8)
        shared = running.memories["shared"]
        running.copy_later(shared.places(target, size, running), data)

    return run
