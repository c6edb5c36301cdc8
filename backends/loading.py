"""HLO text as a function of NumPy arrays.

The text may come from anywhere: from phlox, or dumped by XLA (``jax.jit(f).lower(...).compiler_ir("hlo").as_hlo_text()``).
"""

from __future__ import annotations

import cmath
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import hlo
from ..hlo.shape import array_of_value
from ..hlo.text.parser import parse_module
from ..hlo.tracebacks import for_users
from ..runtime import run_on_devices
from .arguments import check_sizes, contiguous, named_leaves, pack
from .module_signature import native_call
from .registry import get_backend, make_callable_type

LARGEST_DEVICE_COUNT = 1024  # each is a thread


@for_users
def load_hlo(text_or_path: str | os.PathLike[str], backend: str | None = "cpu") -> LoadedModule:
    """The module that this HLO text, or the file at this path, holds, as a function of arrays.

    text_or_path: HLO text, or a path. A string is a path if it is a single line that names a file, or contains neither a brace
        nor a parenthesis and does not start as an HLO module does.
    backend: the name of the backend that compiles the module; None means the environment variable PHLOX_BACKEND.

    Raises hlo.HloSyntaxError, with line and column, for text that cannot be read, and a file that is not UTF-8; OSError for a
    file that cannot be opened; hlo.HloError where the program breaks a rule of the language; NotImplementedError for an
    operation that the backend lacks.

    >>> double = load_hlo('''
    ... HloModule double
    ...
    ... ENTRY main {
    ...   x = f32[3] parameter(0)
    ...   ROOT y = f32[3] add(x, x)
    ... }''', backend="reference")
    >>> double(np.float32([1, 2, 3]))
    array([2., 4., 6.], dtype=float32)
    """
    return LoadedModule(read_module(text_or_path), backend)


def read_module(text_or_path: str | os.PathLike[str], fill_elided: int | None = None) -> hlo.Module:
    """The module that this HLO text, or the file at this path, holds; raises as load_hlo does.

    With a seed, ``fill_elided``, constants whose values the text leaves out have random values.
    """
    if isinstance(text_or_path, str) and not _is_path(text_or_path):
        name, text = "<text>", text_or_path
    elif isinstance(text_or_path, str | os.PathLike):
        name, text = str(text_or_path), _decoded(Path(text_or_path).read_bytes(), str(text_or_path))
    else:
        raise TypeError(f"HLO text (str) or a path is required, {type(text_or_path).__name__} given")
    fill = None if fill_elided is None else partial(_random_array, np.random.default_rng([fill_elided, 1]))
    module = parse_module(text, name, fill)
    hlo.verify(module)
    return module


def _is_path(text: str) -> bool:
    if not text.strip() or "\n" in text or "\0" in text:
        return False
    try:
        if Path(text).is_file():
            return True
    except OSError:  # no file has a name as long as this
        return False
    is_code = any(bracket in text for bracket in "({") and not text.endswith((".hlo", ".txt"))
    return not is_code and not text.lstrip().startswith(("HloModule", "ENTRY", "//", "/*", "%"))


def _decoded(data: bytes, name: str) -> str:
    """The text of a file, without its byte order mark. Raises hlo.HloSyntaxError where it is not UTF-8."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise hlo.HloSyntaxError(f"byte {error.start} is not UTF-8", line, column, "", name) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


class LoadedModuleBase:
    """A compiled HLO module, called with one array for each entry parameter.

    An argument is anything that ``np.asarray`` accepts if the dtype is the parameter's; a Python scalar is converted where its
    value fits; a tuple-shaped parameter takes a tuple. Dynamic dimensions (``f32[<=10]``) take and return arrays of any size
    within the bound. Byte order and memory order do not matter; a masked array is refused, as its mask would be lost. The
    result is an array (a NumPy scalar for rank 0), or, for a tuple root, a tuple, nested as the shape is. Calls with the exact
    arrays, in the layouts of the parameters, and NumPy scalars for rank 0 run without Python in between.

    A module whose header says ``replica_count`` or ``num_partitions`` runs on as many devices as their product, each a
    thread of this process. A call gives all of them the same arguments and returns a tuple of the devices' results;
    `run_replicas` gives each its own. See docs/replicas.md.

    ``module`` is the HLO module and ``executable`` what the backend made of it.
    """

    def __init__(self, module: hlo.Module, backend: str | None = None) -> None:
        if module.device_count > LARGEST_DEVICE_COUNT:
            limit = f"at most {LARGEST_DEVICE_COUNT} devices are possible"
            raise NotImplementedError(f"module {module.name}: {limit}, {module.device_count} required")
        self.module = module
        self.executable = get_backend(backend).compile(module)
        # Calls with the exact arrays bypass Python, where the executable can.
        install = getattr(self.executable, "install", None)
        native = native_call(module) if install is not None and module.device_count == 1 else None
        if native is not None:
            signature, steps = native
            install(self, signature, steps=steps)

    @for_users
    def call_in_python(self, *arguments: Any, **named: Any) -> Any:
        """A call by way of Python: one that the native call does not take."""
        if named:
            raise TypeError(f"module {self.module.name} takes its arguments by position, not {', '.join(named)} by name")
        leaves = self._leaves(arguments)
        if self.device_count > 1:
            return self._run_on_devices([leaves] * self.device_count)
        return self._packed(leaves)

    @for_users
    def run_replicas(self, arguments: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        """The results of all devices, given the arguments of each.

        arguments: a sequence of ``device_count`` sequences, each as the module is called with. Device i is partition
            ``i % partition_count`` of replica ``i // partition_count``.

        Raises ValueError for another number of them, and the first error that a device raises; runtime.DeadlockError where all
        devices that have not ended wait for one another.

        >>> total = load_hlo('''
        ... HloModule total, replica_count=2
        ...
        ... add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }
        ...
        ... ENTRY main {
        ...   x = f32[2] parameter(0)
        ...   ROOT y = f32[2] all-reduce(x), replica_groups={}, to_apply=add
        ... }''')
        >>> total.run_replicas([[np.float32([1.0, 2.5])], [np.float32([3.0, 5.25])]])
        (array([4.  , 7.75], dtype=float32), array([4.  , 7.75], dtype=float32))
        """
        arguments = list(arguments)
        if len(arguments) != self.device_count:
            counts = f"replica_count {self.module.replica_count} times num_partitions {self.module.partition_count}"
            raise ValueError(
                f"module {self.module.name} runs on {self.device_count} devices ({counts}): arguments for each are required, "
                f"{len(arguments)} given"
            )
        leaves = []
        for number, own in enumerate(arguments):
            if not isinstance(own, Sequence):
                raise TypeError(f"device {number}: a sequence of arguments is required, {type(own).__name__} given")
            try:
                leaves.append(self._leaves(own))
            except (TypeError, ValueError) as error:
                raise type(error)(f"device {number}: {error}") from None
        return self._run_on_devices(leaves)

    @property
    def device_count(self) -> int:
        """The number of devices that the module runs on: replicas times partitions."""
        return self.module.device_count

    def _run_on_devices(self, leaves: Sequence[Sequence[np.ndarray]]) -> tuple[Any, ...]:
        arguments = [[own] for own in leaves]
        return tuple(run_on_devices(self._packed, arguments, self.module.replica_count, self.module.partition_count))

    def _packed(self, leaves: Sequence[np.ndarray]) -> Any:
        return _structured(self.module.entry.shape, self.executable(*leaves))

    def _leaves(self, arguments: Sequence[Any]) -> list[np.ndarray]:
        """The arrays in the arguments of one device, checked."""
        entry = self.module.entry
        if len(arguments) != len(entry.parameters):
            shapes = ", ".join(map(str, entry.parameter_shapes))
            plural = "s" * (len(entry.parameters) != 1)
            raise TypeError(
                f"module {self.module.name} takes {len(entry.parameters)} argument{plural} ({shapes}), {len(arguments)} given"
            )
        leaves: list[np.ndarray] = []
        for number, (parameter, argument) in enumerate(zip(entry.parameters, arguments)):
            name = f"module {self.module.name}, parameter {number}" + (f" ({parameter.name})" if parameter.name else "")
            leaves.extend(_leaf_arrays(name, parameter.shape, argument))
        return leaves

    def as_text(self) -> str:
        """The module as HLO text."""
        return self.module.as_text()

    def __repr__(self) -> str:
        parameters = ", ".join(map(str, self.module.entry.parameter_shapes))
        return f"<loaded HLO module {self.module.name}: ({parameters}) -> {self.module.entry.shape}>"


if TYPE_CHECKING:

    class LoadedModule(LoadedModuleBase):
        """What type checkers see."""

        def __call__(self, *arguments: Any, **named: Any) -> Any: ...

else:
    LoadedModule = make_callable_type(LoadedModuleBase)


def _structured(shape: hlo.Shape | hlo.TupleShape, results: tuple[Any, ...]) -> Any:
    return pack(shape, iter(results))


def _leaf_arrays(name: str, shape: hlo.Shape | hlo.TupleShape, value: Any) -> list[np.ndarray]:
    if not shape.is_tuple:
        if shape.element_type is not hlo.TOKEN:
            return [_leaf_array(name, shape, value)]
        if value is not None:
            raise TypeError(f"{name}: None is required for a token, {type(value).__name__} given")
        return []
    if not isinstance(value, tuple | list):
        raise TypeError(f"{name}: a tuple {shape} is required, {type(value).__name__} given")
    if len(value) != len(shape.elements):
        raise ValueError(f"{name}: a tuple of {len(shape.elements)}, {shape}, is required, a tuple of {len(value)} given")
    arrays = []
    for number, (element_shape, element) in enumerate(zip(shape.elements, value)):
        arrays.extend(_leaf_arrays(f"{name}, element {number}", element_shape, element))
    return arrays


def _leaf_array(name: str, shape: hlo.Shape, value: Any) -> np.ndarray:
    if shape.element_type.dtype is None:
        raise NotImplementedError(f"{name}: parameters of element type {shape.element_type} cannot be given as arrays")
    if type(value) in (bool, int, float, complex) and shape.rank == 0:
        return _scalar_array(name, shape, value)
    array = array_of_value(name, value)
    if array.dtype != shape.dtype and array.dtype.newbyteorder("=") != shape.dtype:
        raise TypeError(f"{name}: {shape} is required (dtype {shape.dtype}), dtype {array.dtype} given")
    if array.shape != shape.dimensions:
        check_sizes(name, shape, array.shape)
    return contiguous(array, shape)


_SCALAR_KINDS = {bool: "pred", int: "signed", float: "float", complex: "complex"}
_KIND_ORDER = ("pred", "unsigned", "signed", "float", "complex")


def _scalar_array(name: str, shape: hlo.Shape, value: bool | int | float | complex) -> np.ndarray:
    """A Python scalar as the parameter's type, if that type is of the scalar's kind or a wider one and the value fits."""
    kind = "unsigned" if type(value) is int and value >= 0 else _SCALAR_KINDS[type(value)]
    element_type = shape.element_type
    fits = _KIND_ORDER.index(kind) <= _KIND_ORDER.index(element_type.kind)
    if fits and element_type.is_integer:
        limit = 2 ** (element_type.bits - (element_type.kind == "signed"))
        fits = (0 if element_type.kind == "unsigned" else -limit) <= value < limit
    if fits:
        try:
            array = np.asarray(value)
            with np.errstate(over="ignore"):
                array = (np.asarray(float(value)) if array.dtype == object else array).astype(shape.dtype)
            # A finite value that becomes infinite has not fitted.
            if element_type.kind not in ("float", "complex") or np.isfinite(array) == cmath.isfinite(value):
                return array
        except OverflowError:  # an integer beyond all floats
            pass
    raise TypeError(f"{name}: {shape} is required, the Python {type(value).__name__} {value!r} does not fit it")


def random_arguments(module: hlo.Module, seed: int = 0) -> list[Any]:
    """One argument for each entry parameter, as LoadedModule takes them, drawn from a seeded generator.

    Floats and complex numbers come from the standard normal distribution, integers from 0 to 9, predicates are either. A
    dynamic dimension has a size from 1 to its bound.
    """
    generator = np.random.default_rng(seed)
    return [
        pack(parameter.shape, (_random_array(generator, leaf) for _, leaf in named_leaves("", parameter.shape)))
        for parameter in module.entry.parameters
    ]


def _random_array(generator: np.random.Generator, shape: hlo.Shape) -> np.ndarray:
    kind, dimensions = shape.element_type.kind, shape.dimensions
    if shape.dynamic_dimensions:
        sizes = ((size, shape.is_dynamic(d)) for d, size in enumerate(shape.dimensions))
        dimensions = tuple([int(generator.integers(1, size + 1)) if dynamic and size else size for size, dynamic in sizes])
    if kind == "pred":
        values = generator.integers(0, 2, dimensions)
    elif kind in ("signed", "unsigned"):
        bits = shape.element_type.bits - (kind == "signed")
        values = generator.integers(0, min(10, 2**bits), dimensions)
    elif kind == "float":
        values = generator.standard_normal(dimensions)
    elif kind == "complex":
        values = generator.standard_normal(dimensions) + 1j * generator.standard_normal(dimensions)
    else:
        raise NotImplementedError(f"no random values of element type {shape.element_type}")
    return np.asarray(values).astype(shape.dtype)
