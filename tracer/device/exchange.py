"""Arrays of other libraries, and for them, without a copy: DLPack and the CUDA array interface.

A memory says by ``dlpack_device``, a type and a number (``DLDeviceType``), where DLPack knows it; by ``adopt(shape, address,
owner)``, which makes a buffer of memory that is another's, that it takes such; ``copy(target, source)`` changes what is shared;
by ``stream`` it says which stream its work is in, which ``wait_for(stream)`` and ``let_wait(stream)`` bring in order with
another one; ``wait_for_others()`` waits for all streams. One without the first shares nothing.

Sources: https://dmlc.github.io/dlpack/latest/c_api.html ("C API") and
https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html ("CUDA Array Interface (Version 3)").
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Any

import ml_dtypes
import numpy as np

from ... import hlo
from ...backends.registry import get_backend
from ..calls.array_memory import put_on_device
from ..calls.devices import devices, find_device
from ..recording.device_arrays import ArrayOnDevice, Device

CPU, CUDA, ROCM = 1, 2, 10  # DLDeviceType
_DEFAULT_STREAM = 1  # CUDA's for all threads, as DLPack and the CUDA array interface call it
_NO_ORDER = -1
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # DLDataTypeCode
_BFLOAT = 4


class _DLDevice(ctypes.Structure):
    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class _DLDataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device", _DLDevice), ("ndim", ctypes.c_int32), ("dtype", _DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


class _DLManagedTensor(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_DLManagedTensor))
_DLManagedTensor._fields_ = (("dl_tensor", _DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", _Deleter))

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))

_shared: dict[int, tuple[Any, ...]] = {}  # by the address of a tensor: what lives as long as its consumer needs it


@_Deleter
def _delete(tensor: Any) -> None:
    shared = _shared.pop(ctypes.addressof(tensor.contents), None)
    if shared is not None and (wait := shared[-1]) is not None:
        # What the consumer has asked for may still use the memory, in a stream that may be gone: nothing else may be put there.
        with suppress(RuntimeError):  # of a device that is lost
            wait()


def dlpack_device_of(device: Device) -> tuple[int, int]:
    """Type and number of a device as DLPack has them. Raises BufferError where it has none."""
    found = getattr(device.memory, "dlpack_device", None)
    if found is None:
        raise BufferError(f"DLPack does not know the memory of {device.name}; np.asarray(x) copies the array to the host")
    return tuple(found)


def capsule_of(
    array: ArrayOnDevice,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """The array as a DLPack capsule. Raises BufferError.

    stream: where the contents will be used, which waits for them; None: they are there; -1: the caller sees to it.
    """
    device_type, number = dlpack_device_of(array.device)
    if dl_device is not None and tuple(dl_device) != (device_type, number):
        raise BufferError(f"the array is on {array.device.name}, and is wanted on the DLPack device {tuple(dl_device)}")
    dtype = array.dtype
    code = _BFLOAT if dtype == ml_dtypes.bfloat16 else _CODES.get(dtype.kind)
    if code is None:
        raise BufferError(f"DLPack has no type for {dtype}")
    if stream == 0 and device_type == CUDA:
        raise BufferError("0 says not which stream of CUDA is meant: 1 is the default one of all threads, 2 that of a thread")
    is_copied = copy or array.base is not None  # a view's buffer is one already
    if copy is False and is_copied:
        raise BufferError("a view of an array on a device cannot be had without a copy; let copy be None")
    buffer = array.copy().buffer if is_copied else array.lend()
    let_wait = getattr(array.device.memory, "let_wait", None)
    if stream is None or let_wait is None:
        array.device.synchronize()
    elif stream != _NO_ORDER:
        let_wait(int(stream))
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    tensor = _DLManagedTensor(
        _DLTensor(buffer.address, _DLDevice(device_type, number), array.ndim, _DLDataType(code, dtype.itemsize * 8, 1), shape),
        None,
        _delete,
    )
    is_own = stream is not None and stream == getattr(array.device.memory, "stream", None)
    wait = None if is_own else getattr(array.device.memory, "wait_for_others", None)
    _shared[ctypes.addressof(tensor)] = tensor, shape, buffer, wait
    end = get_backend("cpu").capsule_end(_DLManagedTensor.deleter.offset)  # type: ignore[attr-defined]
    return _new(ctypes.addressof(tensor), b"dltensor", end)


def from_dlpack(x: Any, /, *, device: str | Device | None = None) -> ArrayOnDevice:
    """An array of another library, where it lies, without a copy; a copy on ``device`` where that is another one.

    x: anything with ``__dlpack__`` and ``__dlpack_device__``, in row-major order. Raises BufferError for what lies on no device
    of phlox's, or otherwise, and as `devices`.

    >>> import numpy as np
    >>> from_dlpack(np.arange(3))
    DeviceArray([0, 1, 2], device='cpu:0')
    """
    place = tuple(map(int, x.__dlpack_device__()))
    own = _device_at(place, None if device is None else find_device(device))
    if own is None:
        raise BufferError(f"the array is on the DLPack device {place}, which is none of {[one.name for one in devices()]}")
    capsule = x.__dlpack__(stream=getattr(own.memory, "stream", None)) if place[0] in (CUDA, ROCM) else x.__dlpack__()
    found = _adopted(own, capsule)
    wanted = own if device is None else find_device(device)
    return found if wanted.memory is own.memory else put_on_device(wanted, found.to_host())


def _device_at(place: tuple[int, int], preferred: Device | None) -> Device | None:
    """The device that DLPack knows so."""
    candidates = [*([] if preferred is None else [preferred]), *devices()]
    return next((one for one in candidates if getattr(one.memory, "dlpack_device", None) == place), None)


class _Borrowed:
    """What lives as long as an array of phlox's in its memory, and until that was used for the last time."""

    def __init__(self, device: Device, owner: Any) -> None:
        self.device, self.owner = device, owner

    def __del__(self) -> None:
        with suppress(RuntimeError):  # of a device that is lost: nothing is used there any more
            self.device.synchronize()


class _Consumed(_Borrowed):
    """A capsule's tensor, which is given back when nothing refers to this."""

    def __init__(self, device: Device, capsule: Any) -> None:
        if not _is_valid(id(capsule), b"dltensor"):
            raise BufferError("a DLPack capsule that nobody has taken is required")
        super().__init__(device, None)
        self.tensor = _DLManagedTensor.from_address(_pointer(id(capsule), b"dltensor"))
        _rename(capsule, b"used_dltensor")

    def __del__(self) -> None:
        tensor = getattr(self, "tensor", None)
        if tensor is not None:
            super().__del__()
            if tensor.deleter:
                tensor.deleter(ctypes.byref(tensor))


def _adopted(device: Device, capsule: Any) -> ArrayOnDevice:
    owner = _Consumed(device, capsule)
    tensor = owner.tensor.dl_tensor
    dimensions = tuple(tensor.shape[: tensor.ndim])
    if tensor.strides:
        _require_row_major(dimensions, tuple(tensor.strides[: tensor.ndim]))
    kind = tensor.dtype
    names = {code: name for name, code in _CODES.items()}
    if kind.lanes != 1 or kind.code not in (*names, _BFLOAT):
        raise BufferError(f"a DLPack type of code {kind.code} with {kind.lanes} lanes is none of NumPy's")
    dtype = np.dtype(ml_dtypes.bfloat16 if kind.code == _BFLOAT else f"{names[kind.code]}{kind.bits // 8}")
    return _from_memory(device, dimensions, dtype, (tensor.data or 0) + tensor.byte_offset, owner)


def _from_memory(device: Device, dimensions: tuple[int, ...], dtype: np.dtype, address: int, owner: Any) -> ArrayOnDevice:
    shape = hlo.Shape(hlo.element_type_of(dtype), dimensions)
    array = ArrayOnDevice.made(device, device.memory.adopt(shape, address, owner))
    array.lend()
    return array


def _require_row_major(dimensions: tuple[int, ...], strides: tuple[int, ...]) -> None:
    if 0 in dimensions:
        return  # there is nothing to lie anywhere
    step = 1
    for size, stride in zip(dimensions[::-1], strides[::-1]):
        if size > 1 and stride != step:
            raise BufferError("an array in row-major order is required; make a contiguous copy of it")
        step *= size


# --- the CUDA array interface ---


def cuda_interface_of(array: ArrayOnDevice) -> dict[str, Any]:
    """``__cuda_array_interface__``. Raises AttributeError for an array that is on no CUDA device."""
    if getattr(array.device.memory, "dlpack_device", (None,))[0] != CUDA:
        raise AttributeError(f"an array on {array.device.name} has no __cuda_array_interface__; 'cuda' has")
    array.block_until_ready()
    return {
        "shape": array.shape, "typestr": array.dtype.str, "data": (array.lend().address, False), "version": 3,
        "strides": None, "stream": None,
    }  # fmt: skip


def from_cuda_interface(x: Any) -> ArrayOnDevice:
    """An array of another library on a CUDA device, without a copy but of what may only be read."""
    interface = x.__cuda_array_interface__
    dtype, dimensions = np.dtype(interface["typestr"]), tuple(interface["shape"])
    if interface.get("strides") is not None:
        _require_row_major(dimensions, tuple(stride // dtype.itemsize for stride in interface["strides"]))
    if interface.get("mask") is not None:
        raise BufferError("an array with a mask cannot be taken; fill it")
    device = next((one for one in devices() if getattr(one.memory, "dlpack_device", (None,))[0] == CUDA), None)
    if device is None:
        raise BufferError("the array is on a CUDA device, and there is no backend 'cuda' here")
    address, is_read_only = interface["data"]
    if not address and 0 not in dimensions:
        raise BufferError(f"an array of the shape {dimensions} lies somewhere; its address is 0")
    # Those of earlier versions say nothing of it: what is not told otherwise works in the default one.
    stream = interface.get("stream") if interface.get("version", 0) >= 3 else _DEFAULT_STREAM
    wait_for = getattr(device.memory, "wait_for", None)
    if stream is not None and wait_for is not None:
        wait_for(stream)
    array = _from_memory(device, dimensions, dtype, address, _Borrowed(device, x))
    return array.copy() if is_read_only else array
