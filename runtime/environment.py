"""The environment that a program runs in.

Operations with effects reach it through ``run.environment`` in their evaluations (see hlo.Evaluator), on every backend: native
code calls the evaluation of such an operation back. Each thread has an environment of its own while it runs a program.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from ..hlo import Instruction
from ..hlo.shape import AnyShape
from .channels import Channels
from .communicator import Communicator, Device, Rendezvous
from .custom_calls import find_target
from .queues import HostQueue
from .random_state import RandomState


@dataclass(eq=False)
class Environment:
    """The outside world of one running program.

    ``replica`` and ``partition`` are the program's numbers among the copies of it that run at the same time. Random numbers
    depend on the ``seed``, and differ from environment to environment without one. ``infeed`` and ``outfeed`` are the queues to
    and from the host, ``channels`` what send and recv go through; environments may share them. The ``communicator`` connects
    the devices of a run; there is none where the program runs on one device.
    """

    replica: int = 0
    partition: int = 0
    seed: int | None = None
    infeed: HostQueue = field(default_factory=lambda: HostQueue("infeed"))
    outfeed: HostQueue = field(default_factory=lambda: HostQueue("outfeed"))
    channels: Channels = field(default_factory=Channels)
    communicator: Communicator | None = None
    random_state: RandomState = field(init=False)
    _begun: dict[int, tuple[Instruction, Rendezvous]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.random_state = RandomState(self.seed)

    @property
    def replica_count(self) -> int:
        return self.communicator.replica_count if self.communicator is not None else 1

    @property
    def partition_count(self) -> int:
        return self.communicator.partition_count if self.communicator is not None else 1

    @property
    def device_count(self) -> int:
        return self.replica_count * self.partition_count

    def exchange(
        self,
        instruction: Instruction,
        channel_id: int | None,
        participants: tuple[Device, ...],
        kind: Hashable,
        value: Any,
        combine: Callable[[list[Any]], Sequence[Any]],
    ) -> Any:
        """This device's part of ``combine(values of all participants)``; waits for them.

        Executions of one instruction meet, and, of those with a channel id, all that have the same.
        """
        if self.communicator is None or len(participants) == 1:
            return combine([value])[0]
        meeting = self._contribute(self.communicator, instruction, channel_id, participants, kind, value, combine)
        return self.communicator.take((self.replica, self.partition), meeting)

    def begin_exchange(
        self,
        start: Instruction,
        instruction: Instruction,
        channel_id: int | None,
        participants: tuple[Device, ...],
        kind: Hashable,
        value: Any,
        combine: Callable[[list[Any]], Sequence[Any]],
    ) -> int:
        """As exchange, for a program on several devices, without waiting: the number that finish_exchange takes.

        ``start`` is the instruction that begins it, for `begun`. The number is the least above 0 that none begun has.
        """
        assert self.communicator is not None
        meeting = self._contribute(self.communicator, instruction, channel_id, participants, kind, value, combine)
        number = next(number for number in count(1) if number not in self._begun)
        self._begun[number] = start, meeting
        return number

    @property
    def begun(self) -> dict[int, Instruction]:
        """The numbers and starts of the exchanges that were begun and not finished, the oldest first."""
        return {number: start for number, (start, _) in self._begun.items()}

    def finish_exchange(self, number: int, done: Instruction) -> Any:
        """This device's part of what was begun, when it is there; ``done`` is the instruction that waits for it."""
        assert self.communicator is not None
        _, meeting = self._begun.pop(number)
        return self.communicator.take((self.replica, self.partition), meeting, _place(done))

    def _contribute(
        self,
        communicator: Communicator,
        instruction: Instruction,
        channel_id: int | None,
        participants: tuple[Device, ...],
        kind: Hashable,
        value: Any,
        combine: Callable[[list[Any]], Sequence[Any]],
    ) -> Rendezvous:
        key = instruction if channel_id is None else ("channel", channel_id)
        device = (self.replica, self.partition)
        return communicator.contribute(device, key, participants, _place(instruction), value, combine, kind)

    def custom_call(
        self, name: str, operands: tuple[Any, ...], operand_shapes: Sequence[AnyShape], shape: AnyShape, backend_config: str
    ) -> Any:
        """The result of the registered function of this name; see `phlox.runtime.custom_calls`."""
        return find_target(name).prepared(operand_shapes, shape, backend_config)(operands)

    def trace(self, tag: str, value: Any) -> None:
        """Print a value of the running program to standard output."""
        print(f"{tag}: {value}", flush=True)

    @contextmanager
    def active(self) -> Iterator[Environment]:
        """While the context lasts, programs that this thread runs run in this environment.

        >>> with Environment(replica=3).active():
        ...     current_environment().replica
        3
        """
        outer = getattr(_threads, "environment", None)
        _threads.environment = self
        try:
            yield self
        finally:
            _threads.environment = outer


def _place(instruction: Instruction) -> str:
    """An instruction as messages call it."""
    name = f" %{instruction.name}" if instruction.name else ""
    return f"{instruction.opcode}{name}" + (f" ({instruction.source})" if instruction.source else "")


_threads = threading.local()
_process_environment = Environment()


def current_environment() -> Environment:
    """The environment of this thread; the one of the process where none is active."""
    return getattr(_threads, "environment", None) or _process_environment
