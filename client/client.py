"""The client: moves data to and from a backend, and executes computations there.

Source: "Getting started" and "Moving data into and out of XLA" of XLA's compiler preview of 2017. The service runs in the same
process: a client stands for one backend and the data that it holds, which lie in the backend's memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..backends.arguments import check_sizes
from ..backends.device_memory import Buffer, in_layout, to_device
from ..backends.registry import Executable, compile_for_buffers, get_backend
from ..hlo import TOKEN, Shape, TupleShape, array_leaves, compatible, leaves, shape_of
from ..hlo.shape import AnyShape
from ..runtime import current_environment
from ..runtime.locks import new_lock
from .computation import Computation
from .global_data import GlobalData
from .literal import Literal, LiteralUtil
from .shapes import require_shape


@dataclass
class ExecutionProfile:
    """How long an execution took; given to Execute, which fills it.

    Times are wall clock: ``compile_time_ms`` in milliseconds, 0 where the computation had been compiled before
    (``compilation_cache_hit``); ``compute_time_ns`` in nanoseconds, of the computation alone, and
    ``compute_and_transfer_time_ns`` with what was done to bring arguments and results into their layouts.
    """

    compilation_cache_hit: bool = False
    compile_time_ms: float = 0.0
    compute_time_ns: int = 0
    compute_and_transfer_time_ns: int = 0


@dataclass(frozen=True)
class ComputationInstance:
    """One execution for ExecuteParallel: the arguments of Execute."""

    computation: Computation
    arguments: Sequence[GlobalData] = ()
    shape_with_output_layout: AnyShape | None = None
    execution_profile: ExecutionProfile | None = None


class Client:
    """Executes computations on one backend.

    backend: its name; None means the environment variable PHLOX_BACKEND, or the native one. ``backend`` of a client is the
        backend itself.

    Safe to use from several threads at once. Raises as `phlox.backends.registry.get_backend`.
    """

    def __init__(self, backend: str | None = None) -> None:
        self.backend = get_backend(backend)
        self._memory = self.backend.memory
        self._executables: WeakKeyDictionary[Computation, Executable] = WeakKeyDictionary()
        self._lock = new_lock()

    @property
    def platform(self) -> str:
        """The name of the backend."""
        return self.backend.name

    def __repr__(self) -> str:
        return f"<client of backend {self.platform}>"

    # --- data ---

    def TransferToServer(self, literal: Literal | Any) -> GlobalData:
        """A copy of the literal that the client holds. An array, or a tuple of arrays, is taken as the literal of it.

        >>> client = Client("reference")
        >>> client.TransferToServer(np.float32([1, 2, 3]))
        <data f32[3]>
        """
        if not isinstance(literal, Literal):
            literal = Literal(literal)
        shape = literal.shape
        leaves_with_arrays = zip(array_leaves(shape), literal.arrays(), strict=True)
        return GlobalData(self, shape, tuple([to_device(self._memory, array, leaf) for leaf, array in leaves_with_arrays]))

    def TransferToServerInProcess(self, array: np.ndarray) -> GlobalData:
        """The array itself, without a copy where the backend computes on the memory of the process and the array is contiguous.

        It must not be changed for as long as the data is used. Raises TypeError for what no element type holds.
        """
        if not isinstance(array, np.ndarray):
            raise TypeError(f"TransferToServerInProcess: an array is required, got {type(array).__name__}")
        buffer = self._memory.share(array)
        return GlobalData(self, buffer.shape, (buffer,))

    def Transfer(self, data: GlobalData, shape_with_layout: AnyShape | None = None) -> Literal:
        """A copy of the data as a literal, in this layout where one is given.

        Raises ValueError for data of another client or unregistered data, and where the shape is not the data's; TypeError for
        a token, which has no value.
        """
        self._require_data("Transfer", data)
        if any(leaf.element_type is TOKEN for leaf in leaves(data.shape)):
            raise TypeError(f"Transfer: a token has no value to transfer, got {data!r}")
        literal = LiteralUtil.CreateFromShape(_shape_in_layout("Transfer", data.shape, shape_with_layout))
        for buffer, array in zip(data.buffers, literal.arrays(), strict=True):
            self._memory.read(buffer, array)
        return literal

    def TransferInProcess(self, data: GlobalData, destination: np.ndarray) -> None:
        """Copies the data into this array, which must have its dtype and shape. Raises TypeError or ValueError."""
        self._require_data("TransferInProcess", data)
        if not isinstance(destination, np.ndarray):
            raise TypeError(f"TransferInProcess: the destination must be an array, got {type(destination).__name__}")
        if not compatible(shape_of(destination), data.shape) or not destination.flags.writeable:
            given = f"{destination.dtype} of shape {destination.shape}{'' if destination.flags.writeable else ', read-only'}"
            raise ValueError(f"TransferInProcess: the destination must be an array {data.shape} to write to, got {given}")
        self._memory.read(data.buffers[0], destination)

    def TransferToInfeed(self, literal: Literal | Any) -> None:
        """Sends the literal to the computations that this thread executes, whose Infeed takes one after the other.

        It goes into the queue ``infeed`` of the thread's environment (`phlox.runtime`), and waits while that is full. Raises
        TimeoutError where it stays so, and `phlox.runtime.QueueClosedError` where it is closed.
        """
        literal = literal if isinstance(literal, Literal) else Literal(literal)
        current_environment().infeed.put(literal.value)

    def TransferFromOutfeed(self, shape_with_layout: AnyShape | None = None) -> Literal:
        """The next value that Outfeed of a computation has sent, in this shape and layout where one is given; waits for it.

        Raises as TransferToInfeed, and ValueError where the value is of another shape; it is gone then.
        """
        literal = Literal(current_environment().outfeed.get())
        return literal.Relayout(_shape_in_layout("TransferFromOutfeed", literal.shape, shape_with_layout))

    def Unregister(self, data: GlobalData) -> None:
        """Lets go of the data; using it afterwards raises ValueError."""
        self._require_data("Unregister", data)
        data.release()

    def DeconstructTuple(self, data: GlobalData) -> list[GlobalData]:
        """The elements of a tuple, which stays as it is; no buffer is copied. Raises TypeError for an array."""
        self._require_data("DeconstructTuple", data)
        if not data.shape.is_tuple:
            raise TypeError(f"DeconstructTuple: a tuple is required, got {data.shape}")
        buffers = iter(data.buffers)
        return [
            GlobalData(self, element, tuple([next(buffers) for _ in array_leaves(element)])) for element in data.shape.elements
        ]

    def GetShape(self, data: GlobalData) -> AnyShape:
        self._require_data("GetShape", data)
        return data.shape

    # --- execution ---

    def Execute(
        self,
        computation: Computation,
        arguments: Sequence[GlobalData] = (),
        shape_with_output_layout: AnyShape | None = None,
        execution_profile: ExecutionProfile | None = None,
    ) -> GlobalData:
        """Runs the computation on this data, and holds the result.

        The computation is compiled when the client first executes it. shape_with_output_layout is the result's shape, in the
        layout that it is to have, the backend's where none is given; execution_profile is filled with how long it took.
        Arguments in other layouts than the parameters', and results that are to have another, are copied by way of the host.

        Raises TypeError for anything but a computation and data, ValueError for arguments that are not its parameters in number
        and shape, NotImplementedError for an operation that the backend lacks.
        """
        if not isinstance(execution_profile, ExecutionProfile | None):
            raise TypeError(f"Execute: an ExecutionProfile, or None, is required, got {type(execution_profile).__name__}")
        started = time.perf_counter_ns()
        buffers = self._argument_buffers(computation, arguments)
        shape = _shape_in_layout(
            f"Execute: computation {computation.name}", computation.hlo_computation.shape, shape_with_output_layout
        )
        executable, was_compiled, compile_time = self._executable(computation)
        launched = time.perf_counter_ns()
        results = executable.execute(buffers)
        finished = time.perf_counter_ns()
        if shape_with_output_layout is None:
            data = GlobalData(self, _shape_of_buffers(shape, iter(results)), tuple(results))
        else:
            laid_out = [in_layout(self._memory, buffer, leaf) for buffer, leaf in zip(results, array_leaves(shape))]
            data = GlobalData(self, _shape_of_buffers(shape, iter(laid_out), in_its_layouts=True), tuple(laid_out))
        if execution_profile is not None:
            execution_profile.compilation_cache_hit, execution_profile.compile_time_ms = was_compiled, compile_time / 1e6
            execution_profile.compute_time_ns = finished - launched
            execution_profile.compute_and_transfer_time_ns = time.perf_counter_ns() - started - compile_time
        return data

    def ExecuteAndTransfer(
        self,
        computation: Computation,
        arguments: Sequence[GlobalData] = (),
        shape_with_output_layout: AnyShape | None = None,
        execution_profile: ExecutionProfile | None = None,
    ) -> Literal:
        """As Execute, then Transfer of the result."""
        return self.Transfer(self.Execute(computation, arguments, shape_with_output_layout, execution_profile))

    def ExecuteParallel(self, computations: Iterable[ComputationInstance]) -> list[GlobalData]:
        """Runs all of them at the same time, each on a thread of its own, and holds their results, in order.

        They run in the environment (`phlox.runtime`) of the calling thread. Raises what the first of them raises that fails,
        after all have ended; TypeError for anything but instances.
        """
        from concurrent.futures import ThreadPoolExecutor  # here, since few programs need it and it loads slowly

        instances = list(computations)
        for number, instance in enumerate(instances):
            if not isinstance(instance, ComputationInstance):
                given = type(instance).__name__
                raise TypeError(f"ExecuteParallel: ComputationInstances are required, got {given} as number {number}")
        if not instances:
            return []
        environment = current_environment()

        def execute(instance: ComputationInstance) -> GlobalData:
            options = instance.shape_with_output_layout, instance.execution_profile
            with environment.active():
                return self.Execute(instance.computation, instance.arguments, *options)

        with ThreadPoolExecutor(len(instances)) as threads:
            futures = [threads.submit(execute, instance) for instance in instances]
        return [future.result() for future in futures]

    def _executable(self, computation: Computation) -> tuple[Executable, bool, int]:
        """What the backend makes of the computation, whether it had been made, and the nanoseconds that it took."""
        with self._lock:
            known = self._executables.get(computation)
            if known is not None:
                return known, True, 0
            started = time.perf_counter_ns()
            executable = self._executables[computation] = compile_for_buffers(self.backend, computation.module)
            return executable, False, time.perf_counter_ns() - started

    def _argument_buffers(self, computation: Computation, arguments: Sequence[GlobalData]) -> list[Buffer]:
        if not isinstance(computation, Computation):
            raise TypeError(f"Execute: a Computation, as ComputationBuilder.Build makes it, is required, got {computation!r}")
        place, parameters = f"Execute: computation {computation.name}", computation.hlo_computation.parameters
        if isinstance(arguments, str) or not isinstance(arguments, Sequence):
            given = f"data {arguments.shape}" if isinstance(arguments, GlobalData) else type(arguments).__name__
            raise TypeError(f"{place}: a sequence of arguments is required, got {given}")
        if len(arguments) != len(parameters):
            count = f"{len(parameters)} argument{'s' * (len(parameters) != 1)}"
            raise ValueError(f"{place} takes {count}, {computation.GetProgramShape()}; {len(arguments)} given")
        buffers: list[Buffer] = []
        for number, (parameter, data) in enumerate(zip(parameters, arguments)):
            name = f"{place}, argument {number}" + (f" ({parameter.name})" if parameter.name else "")
            self._require_data(name, data)
            _require_fit(name, parameter.shape, data.shape)
            expected = array_leaves(parameter.shape)
            buffers.extend(in_layout(self._memory, buffer, leaf) for buffer, leaf in zip(data.buffers, expected, strict=True))
        return buffers

    def _require_data(self, what: str, data: Any) -> None:
        if not isinstance(data, GlobalData):
            raise TypeError(f"{what}: data that TransferToServer or Execute returned is required, got {type(data).__name__}")
        if data.client is not self:
            raise ValueError(f"{what}: data of this client is required, {data!r} is held by another one")


def _require_fit(what: str, required: AnyShape, given: AnyShape) -> None:
    """Raise ValueError unless data of the one shape can be given for a parameter of the other."""
    if compatible(required, given):
        return
    same_kind = required.is_tuple == given.is_tuple
    if same_kind and required.is_tuple and len(required.elements) == len(given.elements):
        for number, (element, given_element) in enumerate(zip(required.elements, given.elements)):
            _require_fit(f"{what}, element {number}", element, given_element)
    elif (
        same_kind and not required.is_tuple and required.has_dynamic_dimensions and required.element_type is given.element_type
    ):
        check_sizes(what, required, given.dimensions)
    else:
        raise ValueError(f"{what}: {required} is required, got data {given}")


def _shape_of_buffers(shape: AnyShape, buffers: Iterator[Buffer], in_its_layouts: bool = False) -> AnyShape:
    """The shape of a result, as its buffers are: its dynamic dimensions have sizes. The layouts may be those of the shape."""
    if shape.is_tuple:
        return TupleShape(tuple([_shape_of_buffers(element, buffers, in_its_layouts) for element in shape.elements]))
    if shape.element_type is TOKEN:
        return shape
    held = next(buffers).shape
    return Shape(held.element_type, held.dimensions, shape.layout) if in_its_layouts else held


def _shape_in_layout(what: str, shape: AnyShape, shape_with_layout: AnyShape | None) -> AnyShape:
    """The shape in the layout asked for; ValueError where that is of another shape."""
    if shape_with_layout is None:
        return shape
    require_shape(f"{what}: the shape with the layout", shape_with_layout)
    if not compatible(shape, shape_with_layout):
        raise ValueError(f"{what}: the result is {shape}, which cannot be had as {shape_with_layout}")
    return shape_with_layout


class ClientLibrary:
    """One client for each backend."""

    _clients: dict[str, Client] = {}
    _lock = new_lock()

    @classmethod
    def ClientLibraryOrDie(cls, backend: str | None = None) -> Client:
        """The client of this backend (None: the environment variable PHLOX_BACKEND, or the native one), always the same.

        >>> ClientLibrary.ClientLibraryOrDie() is ClientLibrary.ClientLibraryOrDie()
        True
        """
        current = get_backend(backend)
        with cls._lock:
            client = cls._clients.get(current.name)
            if client is None or client.backend is not current:  # the name has been registered again
                client = cls._clients[current.name] = Client(current.name)
            return client
