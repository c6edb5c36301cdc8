"""Arrays that lie in a backend's memory, as calls and traces know them: what NumPy does with them stands in `tracer.device`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from ... import hlo

# What makes a view of an array that lies in NumPy's order: applied one after the other.
Steps = tuple[Callable[[Any], Any], ...]


class MixedDevicesError(ValueError):
    """Arrays of several devices meet in one call, or an array and a function of another device."""

    __module__ = "phlox"  # where users find it


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a backend: ``name`` is that by which `phlox.device` knows it, ``backend`` makes its code."""

    name: str
    backend: Any

    @property
    def platform(self) -> str:
        """The name of its backend: ``"cuda"`` of ``"cuda:0"``."""
        return self.name.partition(":")[0]

    @property
    def memory(self) -> Any:
        return self.backend.memory

    @property
    def properties(self) -> Any:
        """What its driver tells of it; None where there is none."""
        return getattr(self.backend, "properties", None)

    @property
    def stream(self) -> int | None:
        """The address of the stream that all its work is in, for libraries that take one; None where there is none."""
        return getattr(self.memory, "stream", None)

    def synchronize(self) -> None:
        """Wait for all that was asked of it. Raises what went wrong meanwhile."""
        wait = getattr(self.memory, "synchronize", None)
        if wait is not None:
            wait()

    def __repr__(self) -> str:
        return f"<device {self.name}>"


class ArrayOnDevice:
    """An array in the memory of a device, or a view of one.

    ``base`` is the array that it is a view of, None where its memory is its own; applied to that, ``steps`` make it. The
    contents of an array are one of the device's buffers, which is never written to but replaced, so that what was asked for
    before still reads what it is to read; but for one that other libraries have, too (`lend`). A view computes its own buffer
    when it is read, once for each state of its base. ``form`` is the array's shape and dtype.
    """

    __slots__ = ("__weakref__", "_buffer", "form", "_kept", "_lent", "changes", "device", "is_writeable", "base", "steps")
    made: ClassVar[type[ArrayOnDevice]]  # the class of what calls return
    exist: ClassVar[bool] = False  # whether there has been any in this process

    def __init__(self, device: Device, buffer: Any, root: ArrayOnDevice | None = None, steps: Steps = ()) -> None:
        """An array with the contents of the buffer; or, where that is an ndarray of its form, the view of a root."""
        self.device, self._buffer = device, buffer if root is None else None
        self.base, self.steps = root, steps
        self.form = (buffer.shape.dimensions, np.dtype(buffer.shape.dtype)) if root is None else (buffer.shape, buffer.dtype)
        self.is_writeable = root is None or root.is_writeable and buffer.flags.writeable
        self.changes, self._kept, self._lent = 0, None, None
        ArrayOnDevice.exist = True

    @classmethod
    def of_form(cls, device: Device, buffer: Any, form: tuple[tuple[int, ...], np.dtype], is_writeable: bool) -> ArrayOnDevice:
        """As an array with the contents of the buffer, whose form is known."""
        array = cls.__new__(cls)
        array.device, array._buffer, array.form, array.is_writeable = device, buffer, form, is_writeable
        array.base, array.steps, array.changes, array._kept, array._lent = None, (), 0, None, None
        return array

    @classmethod
    def view_of(cls, array: ArrayOnDevice, steps: Steps) -> ArrayOnDevice:
        """What NumPy's view of the array is that these steps make; an array of its own where they copy."""
        root = array.root
        found = whole = array_like(root.shape, root.dtype)
        for step in array.steps:  # how a view lies decides what copies
            found = step(found)
        moving = []
        for step in steps:
            made = step(found)
            if made is not found:  # else it says what may be done with the view
                moving.append(step)
            found = made
        view = cls(array.device, found, root, (*array.steps, *moving))
        view.is_writeable = view.is_writeable and array.is_writeable
        return view if found.base is not None and np.may_share_memory(found, whole) or not found.size else view.computed_view()

    @property
    def buffer(self) -> Any:
        """Where its contents lie now, row-major, in the device's memory."""
        root, kept = self.base, self._kept
        if root is None:
            return self._buffer
        if kept is None or kept[0] != root.changes or root._lent is not None:
            changes = root.changes  # before it is read: what changes meanwhile is read again
            kept = self._kept = changes, self.computed_view()._buffer
        return kept[1]

    @property
    def has_buffer_alone(self) -> bool:
        """Whether nothing but this array refers to its buffer."""
        return self.base is None and self._lent is None and sys.getrefcount(self._buffer) == 2  # the slot's and the call's

    def computed_view(self) -> ArrayOnDevice:
        """A copy of the view, of its root's contents."""
        raise NotImplementedError

    def replace(self, buffer: Any) -> None:
        """Let the array have the contents of this buffer, which is nobody else's."""
        if self.root is not self:
            self.root.replace_part(self.steps, type(self)(self.device, buffer))
            return
        if self._lent is None:
            self._buffer = buffer
        else:
            self.device.memory.copy(self._buffer, buffer)
        self.changes += 1

    def lend(self) -> Any:
        """The buffer, which another library has from now on as long as the array lives: it may change the contents, and sees it
        when phlox changes them. That of a view is a copy of its contents as they are."""
        buffer = self.buffer
        self._lent = [*(self._lent or () if self.base is not None else ()), buffer]
        return buffer

    def replace_part(self, steps: Steps, contents: ArrayOnDevice) -> None:
        """Let the view that these steps make have other contents."""
        raise NotImplementedError

    def as_it_is(self, beside: ArrayOnDevice) -> ArrayOnDevice:
        """The array; where it shares memory with this other one, which will change, one with the contents that it has now."""
        if self.root is not beside.root or self.memory_place == beside.memory_place:
            return self
        return type(self)(self.device, self.buffer)

    @property
    def root(self) -> ArrayOnDevice:
        """The array whose memory it is: itself, or the one that it is a view of."""
        return self if self.base is None else self.base

    @property
    def state(self) -> tuple[int, int]:
        """What changes when its contents do."""
        return id(self.root), self.root.changes

    @property
    def memory_place(self) -> tuple[Any, ...]:
        """Equal for arrays that are the same part of the same memory."""
        return id(self.root), self.steps, self.shape, self.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.form[0]

    @property
    def dtype(self) -> np.dtype:
        return self.form[1]

    @property
    def is_scalar(self) -> bool:
        """Whether it stands for one of NumPy's scalars: `+=` makes another one."""
        return not self.shape and not self.is_writeable and self.base is None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def to_host(self) -> np.ndarray:
        """A copy of the contents, in the process's memory; waits for them."""
        return self.device.memory.read(self.buffer)


def array_like(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """An ndarray of this shape, row-major, of which no element is read, and that takes no memory before one is."""
    return np.empty(shape, dtype)


def row_major_shape(array: ArrayOnDevice, what: str) -> hlo.Shape:
    """The HLO shape that stands for it. Raises TypeError, which ``what`` begins, for a dtype that XLA has no type for."""
    try:
        return hlo.Shape(hlo.element_type_of(array.dtype), array.shape)
    except TypeError:
        raise TypeError(f"{what} has dtype {array.dtype}, which has no XLA element type") from None


def common_device(values: Sequence[Any], names: Callable[[], Iterable[str]]) -> Device | None:
    """The device of those of these values that lie on one; None where there are none. Raises MixedDevicesError.

    names: gives the name of each value in messages.
    """
    return one_device([value.device if isinstance(value, ArrayOnDevice) else None for value in values], names)


def one_device(devices: Sequence[Device | None], names: Callable[[], Iterable[str]]) -> Device | None:
    """The same of the devices of values, None for those that lie on none."""
    device = next((one for one in devices if one is not None), None)
    if device is None:
        return None
    memory = device.memory
    if all([one is None or one.memory is memory for one in devices]):
        return device
    found = [(name, one) for name, one in zip(names(), devices) if one is not None]
    name, other = next(pair for pair in found if pair[1].memory is not memory)
    raise MixedDevicesError(
        f"{found[0][0]} is on {device.name} and {name} on {other.name}; move one of them: phlox.device_put(x, {device.name!r})"
    )
