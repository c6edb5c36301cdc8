"""`DeviceArray`: what NumPy does with an array, done where the array lies."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ... import hlo
from ..calls.array_memory import put_on_device
from ..calls.devices import find_device
from ..calls.jit import jit
from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.device_arrays import ArrayOnDevice, array_like
from ..recording.function_tables import SEQUENCES
from ..recording.object_operands import is_none_or_text
from ..recording.operators import require_matrix
from .exchange import capsule_of, cuda_interface_of, dlpack_device_of
from .memory_facts import FIXED, INSTEAD, Flags, fixed, missing, set_writeable, strides_of
from .placement import device_put
from .views import PARTS, ViewAs, computed, item, shares_memory, write

# Functions that ask for shapes and dtypes alone; and those that make texts and files of contents.
_OF_FORMS = frozenset({np.shape, np.ndim, np.size, np.result_type, np.iscomplexobj, np.isrealobj, np.common_type, np.can_cast})
_PARTS = frozenset({np.real, np.imag})
_OF_MEMORY = frozenset({np.shares_memory, np.may_share_memory})
_ON_HOST = frozenset({np.array_repr, np.array_str, np.array2string, np.save, np.savez, np.savez_compressed, np.savetxt})


class DeviceArray(NDArrayOperatorsMixin, ArrayOnDevice):
    """An array in the memory of a device; made by `phlox.device_put` and by calls of jitted functions with such arrays.

    It is used as an ndarray is. Operators, NumPy's functions and methods run compiled functions on the device, one a call, and
    return further arrays there, of no dimensions where NumPy returns scalars; views are views, and assignments change the
    array. The elements lie row-major. Contents come to the host by ``np.asarray(x)``, ``float(x)``, ``x.tolist()`` and the
    like, and where the array is printed; these wait for them.

    >>> import numpy as np, phlox
    >>> x = phlox.device_put(np.arange(3.0), "cpu")
    >>> x[1:] += 1
    >>> x + 1
    DeviceArray([1., 3., 4.], device='cpu:0')
    """

    __slots__ = ()

    # --- NumPy's protocols ---

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array on a device cannot be had as an ndarray without a copy; let copy be None")
        found = self.to_host()
        return found if dtype is None else found.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        outputs = kwargs.get("out", ())
        for value in (*inputs, *outputs) if outputs else inputs:
            if type(value) not in _NEVER_ANOTHERS and _is_anothers(value):
                return NotImplemented
        if len(outputs) == 1:
            kwargs["out"] = outputs[0]
        return _eager(ufunc if method == "__call__" else getattr(ufunc, method)).call_in_python(*inputs, **kwargs)

    def __array_function__(self, function: Callable, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for kind in types:
            if kind is not DeviceArray and issubclass(kind, TracedArray):
                return NotImplemented
        if function in _OF_FORMS:
            return function(*map(_form, args), **{name: _form(value) for name, value in kwargs.items()})
        if function in _PARTS:
            return getattr(args[0], function.__name__)
        if function in _OF_MEMORY:
            return shares_memory(*args[:2])
        if function in _ON_HOST:
            return function(*map(_contents, args), **{name: _contents(value) for name, value in kwargs.items()})
        return _eager(function)(*args, **kwargs)

    # --- views and elements ---

    def computed_view(self) -> ArrayOnDevice:
        """What a view has as an array of its own, which the program that reads it takes."""
        return computed(self.root, self.steps)

    def replace_part(self, steps: Any, contents: Any) -> None:
        """Set the part of the root that these steps lead to."""
        write(self.root, steps, contents)

    def __getitem__(self, index: Any) -> Any:
        if current_trace() is not None:
            return _in_trace(self)[index]
        found = item(index, self.shape)
        if found is None:
            return _get(self, _as_index(index))
        if self.is_scalar and found.index:
            return DeviceArray(self.device, self.buffer)[found.index]  # an array of NumPy's that is no view
        if not isinstance(found(array_like(self.shape, self.dtype)), np.ndarray):
            return computed(self.root, (*self.steps, found))  # NumPy's is a scalar
        return self.view_of(self, (found,))

    def __setitem__(self, index: Any, value: Any) -> None:
        if current_trace() is not None:
            _in_trace(self)[index] = value
            return
        if not self.is_writeable:
            raise ValueError("assignment destination is read-only")
        found = item(index, self.shape)
        if found is not None:
            write(self.root, (*self.steps, found), value)
        else:
            _set(self, _as_index(index), value)

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[index] for index in range(self.shape[0]))

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    @property
    def flat(self) -> Any:
        """As `numpy.ndarray.flat`."""
        return Flat(self) if current_trace() is None else _in_trace(self).flat

    @flat.setter
    def flat(self, value: Any) -> None:
        _set_flat(self, value)

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.ndarray.view`."""
        given = (*args, *kwargs.values())
        if (
            current_trace() is not None
            or self.is_scalar
            or len(given) != 1
            or kwargs.keys() - {"dtype"}
            or not _is_dtype(*given)
        ):
            return _eager_method("view").call_in_python(self, *args, **kwargs)
        return self.view_of(self, (ViewAs(np.dtype(*given)),))

    # --- its memory ---

    @property
    def strides(self) -> tuple[int, ...]:
        """As `numpy.ndarray.strides`, of elements in row-major order: those of views, too."""
        return strides_of(self)

    @property
    def flags(self) -> Flags:
        """As `numpy.ndarray.flags`, of elements in row-major order."""
        return Flags(self)

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """As `numpy.ndarray.setflags`; elements are aligned in any case."""
        if uic or align is not None and not align:
            raise ValueError("an array on a device is aligned, and nobody else's copy")
        if write is not None:
            set_writeable(self, write)

    def to_device(self, device: Any, /, *, stream: None = None) -> Any:
        """The array on a device, as `phlox.device_put`: itself where it lies there."""
        if stream is not None:
            raise ValueError("a stream is not taken: what is asked of a device is in order")
        return device_put(self, device)

    # --- to the host ---

    def item(self, *index: Any) -> Any:
        """An element as a Python number; raises as ndarray's does."""
        return self.to_host().item(*index)

    def tolist(self) -> Any:
        """As `numpy.ndarray.tolist`, of a copy in the host's memory."""
        return self.to_host().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """As `numpy.ndarray.tobytes`, of a copy in the host's memory."""
        return self.to_host().tobytes(order)

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """As `numpy.ndarray.tofile`, of a copy in the host's memory."""
        self.to_host().tofile(fid, sep, format)

    def dump(self, file: Any) -> None:
        """As `numpy.ndarray.dump`: a pickle in a file, of the contents and the device's name."""
        if hasattr(file, "write"):
            file.write(self.dumps())
        else:
            Path(file).write_bytes(self.dumps())

    def dumps(self) -> bytes:
        """As `numpy.ndarray.dumps`: a pickle of the contents and the device's name."""
        return pickle.dumps(self)

    def __bool__(self) -> bool:
        return bool(self.to_host())

    def __int__(self) -> int:
        return int(self.to_host())

    def __float__(self) -> float:
        return float(self.to_host())

    def __complex__(self) -> complex:
        return complex(self.to_host())

    def __index__(self) -> int:
        return operator.index(self.to_host())

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.to_host()[()], digits)  # of an ndarray an error, as ndarray's

    def __hash__(self) -> int:
        if not self.is_scalar:
            raise TypeError(f"unhashable type: {type(self).__name__!r}")
        return hash(self.to_host()[()])

    def __repr__(self) -> str:
        text = np.array2string(self.to_host(), separator=", ", prefix="DeviceArray(")
        dtype = "" if self.dtype in (np.float64, np.int64, np.bool_, np.complex128) else f", dtype={self.dtype}"
        return f"DeviceArray({text}{dtype}, device={self.device.name!r})"

    def __str__(self) -> str:
        return str(self.to_host())

    def __format__(self, specification: str) -> str:
        host = self.to_host()
        return format(host if host.ndim else host[()], specification)

    def block_until_ready(self) -> DeviceArray:
        """Wait until the contents are there; returns the array. Raises what went wrong on the device meanwhile."""
        if self.buffer is not None:  # a view is asked for
            self.device.synchronize()
        return self

    # --- copies ---

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        return _from_host, (self.to_host(), self.device.name)

    # --- other libraries ---

    def __dlpack__(self, **options: Any) -> Any:
        return capsule_of(self, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack_device_of(self.device)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return cuda_interface_of(self)


ArrayOnDevice.made = DeviceArray


class Flat:
    """As `numpy.flatiter`: the elements of an array, row-major."""

    __slots__ = ("_rest", "base")

    def __init__(self, array: DeviceArray) -> None:
        self.base, self._rest = array, iter(array.reshape(-1))

    def __iter__(self) -> Flat:
        return self

    def __next__(self) -> Any:
        return next(self._rest)

    def __len__(self) -> int:
        return self.base.size

    def __getitem__(self, index: Any) -> Any:
        return _get_of_flat(self.base, _as_index(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        _set_of_flat(self.base, _as_index(index), value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.base.__array__(dtype, copy).reshape(-1)


def _from_host(array: np.ndarray, device: str) -> Any:
    """A pickled array: on the device of this name."""
    return put_on_device(find_device(device), array)


# --- compiled functions, one for each function of NumPy's ---


_NEVER_ANOTHERS = frozenset({DeviceArray, np.ndarray, bool, int, float, complex})


def _is_anothers(value: Any) -> bool:
    """Whether another operand knows what to do: traced arrays, and what has its own `__array_ufunc__`."""
    if isinstance(value, (DeviceArray, np.ndarray, np.generic)):
        return False
    return hasattr(value, "__array_ufunc__")


def _form(value: Any) -> Any:
    return array_like(value.shape, value.dtype) if isinstance(value, DeviceArray) else value


def _is_dtype(given: Any) -> bool:
    return given is not None and not (isinstance(given, type) and issubclass(given, np.ndarray))


def _contents(value: Any) -> Any:
    return value.to_host() if isinstance(value, DeviceArray) else value


@lru_cache(maxsize=1024)
def _eager(function: Callable) -> Callable:
    """The function, compiled; where the arrays lie."""

    def call(*operands: Any, **options: Any) -> Any:  # which messages name
        operands, options = pytree.tree_map(_in_trace, (operands, options))
        return function(*operands, **options)

    return _for_any_form(call, getattr(function, "__name__", type(function).__name__))


def _for_any_form(function: Callable, name: str) -> Callable:
    """The function, compiled for whatever arrays the user works with, which is no reason to warn."""
    function.__name__ = function.__qualname__ = name
    function.is_for_any_form = True
    return jit(function, control_flow="trace")


def _as_index(index: Any) -> Any:
    """An index with lists as arrays."""
    parts = index if isinstance(index, tuple) else (index,)
    found = tuple([np.asarray(part, None if len(part) else np.intp) if isinstance(part, list) else part for part in parts])
    return found if isinstance(index, tuple) else found[0]


def _of_flat(function: Callable) -> Callable:
    """A function that is given ``array.flat`` in the place of the array."""
    return _for_any_form(lambda array, *given: function(_in_trace(array).flat, *map(_in_trace, given)), "flat")


_get, _set = _eager(operator.getitem), _eager(operator.setitem)
_get_of_flat, _set_of_flat = _of_flat(operator.getitem), _of_flat(operator.setitem)
_set_flat = _for_any_form(lambda array, value: setattr(_in_trace(array), "flat", _in_trace(value)), "flat")

_METHODS = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "byteswap", "choose", "clip", "compress", "conj",
    "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot", "fill", "flatten", "max", "mean", "min", "nonzero",
    "partition", "prod", "put", "ravel", "repeat", "reshape", "round", "searchsorted", "sort", "squeeze", "std", "sum",
    "swapaxes", "take", "trace", "transpose", "var",
)  # fmt: skip
_ATTRIBUTES = ("T", "mT", "real", "imag")


def _method(name: str) -> Callable:
    def method(self: DeviceArray, *args: Any, **kwargs: Any) -> Any:
        return _eager_method(name).call_in_python(self, *args, **kwargs)

    method.__name__, method.__qualname__, method.__doc__ = name, f"DeviceArray.{name}", f"As `numpy.ndarray.{name}`."
    return method


@cache
def _eager_method(name: str) -> Callable:
    def call(array: Any, *args: Any, **kwargs: Any) -> Any:
        array, args, kwargs = pytree.tree_map(_in_trace, (array, args, kwargs))
        return getattr(array, name)(*args, **kwargs)

    return _for_any_form(call, name)


def _attribute(name: str) -> property:
    get = _for_any_form(lambda array: getattr(_in_trace(array), name), name)
    doc = f"As `numpy.ndarray.{name}`."
    if name not in PARTS:
        return property(get, doc=doc)
    set_ = _for_any_form(lambda array, value: setattr(_in_trace(array), name, _in_trace(value)), name)

    def part(array: DeviceArray) -> Any:
        if current_trace() is not None or array.is_scalar:
            return get(array)
        if array.dtype.kind == "c":
            return array.view_of(array, (PARTS[name],))
        found = get(array)
        found.is_writeable = name == "real" and array.is_writeable  # zeros, which NumPy lets nobody change
        return found

    return property(part, set_, doc=doc)


# The ufuncs of operators, by the names of these without underscores; the first ones have reflected ones, too.
_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "matmul": np.matmul, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "lshift": np.left_shift, "rshift": np.right_shift,
    "and": np.bitwise_and, "xor": np.bitwise_xor, "or": np.bitwise_or,
}  # fmt: skip
_COMPARISONS = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_EQUALITIES = {"eq": np.equal, "ne": np.not_equal}


def _operator(name: str, ufunc: np.ufunc, is_reflected: bool = False) -> Callable:
    """An operator: what NumPy's way from it to the ufunc, and back to `__array_ufunc__`, ends in, without that way."""
    by_ufunc, call = getattr(NDArrayOperatorsMixin, name), None

    def operate(self: DeviceArray, other: Any) -> Any:
        nonlocal call
        if type(other) not in _NEVER_ANOTHERS:
            return by_ufunc(self, other)
        if call is None:
            call = _eager(ufunc).call_in_python
        return call(other, self) if is_reflected else call(self, other)

    operate.__name__ = name
    return operate


def _equality(name: str, ufunc: np.ufunc) -> Callable:
    """``==`` or ``!=``: no number equals None, or a text."""
    compare, of_numbers = _operator(name, ufunc), getattr(operator, name)

    def operate(self: DeviceArray, other: Any) -> Any:
        if not is_none_or_text(other) or current_trace() is not None:
            return compare(self, other)
        if self.is_scalar:
            return of_numbers(np.float64(), other)
        return put_on_device(self.device, np.full(self.shape, name == "__ne__"))

    operate.__name__ = name
    return operate


def _in_place(name: str) -> Callable:
    """An operator such as ``+=``: a scalar stays what it is, and the name stands for another one, as in NumPy."""
    change, make = getattr(NDArrayOperatorsMixin, name), getattr(NDArrayOperatorsMixin, name.replace("__i", "__", 1))

    def operate(self: DeviceArray, other: Any) -> Any:
        if name == "__imatmul__":
            require_matrix(self, other)
        return (make if self.is_scalar else change)(self, other)

    operate.__name__ = name
    return operate


_IN_PLACE = (
    "__iadd__", "__isub__", "__imul__", "__imatmul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__ilshift__",
    "__irshift__", "__iand__", "__ixor__", "__ior__",
)  # fmt: skip
for _name, _ufunc in (_BINARY | _COMPARISONS).items():
    setattr(DeviceArray, f"__{_name}__", _operator(f"__{_name}__", _ufunc))
for _name, _ufunc in _EQUALITIES.items():
    setattr(DeviceArray, f"__{_name}__", _equality(f"__{_name}__", _ufunc))
for _name, _ufunc in _BINARY.items():
    setattr(DeviceArray, f"__r{_name}__", _operator(f"__r{_name}__", _ufunc, is_reflected=True))
for _name in _IN_PLACE:
    setattr(DeviceArray, _name, _in_place(_name))
for _name in _METHODS:
    setattr(DeviceArray, _name, _method(_name))
for _name in _ATTRIBUTES:
    setattr(DeviceArray, _name, _attribute(_name))
for _name in INSTEAD:
    setattr(DeviceArray, _name, missing(_name))
for _name in FIXED:
    setattr(DeviceArray, _name, fixed(_name, getattr(DeviceArray, _name)))


def _in_trace(array: Any) -> Any:
    """What stands for an array on a device where a traced function meets it; anything else, and elsewhere, itself."""
    trace = current_trace()
    if trace is None or not isinstance(array, DeviceArray):
        return array
    return TracedArray(trace.captured(array).storage, hlo.Shape(hlo.element_type_of(array.dtype), array.shape), is_scalar=False)


SEQUENCES[DeviceArray] = _in_trace
