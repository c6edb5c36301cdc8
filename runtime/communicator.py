"""Communication between the devices of one run, which are threads of this process.

A collective operation is a rendezvous: each participant contributes its operands, the last one to come combines them all, in
the order of the group, and each takes its own result. So what is computed does not depend on which thread comes first.

All waiting goes through `Communicator.wait_until`, which therefore knows at any time who waits for whom: when every device that
has not ended waits, and none can go on, that is a deadlock, and each of them is told.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Device = tuple[int, int]  # the numbers of replica and partition
Combine = Callable[[list[Any]], Sequence[Any]]


class DeadlockError(RuntimeError):
    """Every device that has not ended waits for another. The message says where each waits, and for whom."""

    __module__ = "phlox.runtime"  # where users find it


class CommunicationError(RuntimeError):
    """What other devices do does not fit, or one of them has failed, so that it cannot be waited for."""

    __module__ = "phlox.runtime"  # where users find it


@dataclass(eq=False)
class Rendezvous:
    """One meeting of participants: what each has contributed, and then what each gets.

    ``kind`` says what is done; it must be the same for all that meet.
    """

    place: str
    kind: Hashable
    participants: tuple[Device, ...]
    contributions: dict[Device, Any] = field(default_factory=dict)
    results: Sequence[Any] | None = None


@dataclass(frozen=True)
class _Wait:
    place: str
    is_over: Callable[[], bool]
    missing: Callable[[], Iterable[Device]]


_threads = threading.local()


def raise_if_run_has_failed() -> None:
    """Raise CommunicationError where this thread is a device and another device of its run has failed.

    For waits that are not the communicator's own.
    """
    communicator = getattr(_threads, "communicator", None)
    if communicator is not None:
        with communicator.condition:
            communicator._check()


class Communicator:
    """What connects the devices of one run: ``replica_count`` times ``partition_count`` of them.

    >>> alone = Communicator(1, 1)
    >>> meeting = alone.contribute((0, 0), "sum", ((0, 0),), "all-reduce", 5, lambda values: [sum(values)])
    >>> alone.take((0, 0), meeting)
    5
    """

    def __init__(self, replica_count: int, partition_count: int = 1) -> None:
        self.replica_count, self.partition_count = replica_count, partition_count
        self.devices = [(r, p) for r in range(replica_count) for p in range(partition_count)]
        self.condition = threading.Condition()
        self.first_error: BaseException | None = None
        self._waiting: dict[Device, _Wait] = {}
        self._ended: set[Device] = set()
        self._failure: str | None = None
        self._deadlock: str | None = None
        self._visits: dict[Hashable, int] = {}
        self._meetings: dict[Hashable, Rendezvous] = {}

    @contextmanager
    def device(self, device: Device) -> Iterator[None]:
        """While the context lasts, this thread is the device; at the end, the device has ended."""
        _threads.communicator = self
        try:
            yield
        except BaseException as error:
            self.end(device, error)
            raise
        else:
            self.end(device)
        finally:
            _threads.communicator = None

    def name(self, device: Device) -> str:
        """How messages call the device."""
        replica, partition = device
        if self.partition_count == 1:
            return f"replica {replica}"
        return f"partition {partition}" if self.replica_count == 1 else f"replica {replica}, partition {partition}"

    def contribute(
        self,
        device: Device,
        key: Hashable,
        participants: tuple[Device, ...],
        place: str,
        value: Any,
        combine: Combine,
        kind: Hashable = None,
    ) -> Rendezvous:
        """Bring this device's value to the meeting; does not wait.

        Devices meet that come with the same key and participants, as often as each other. ``combine(values)`` gets the values
        in the participants' order and returns the results in the same order. Raises CommunicationError where another
        participant has come with another kind.
        """
        with self.condition:
            self._check()
            visits = (device, key, participants)
            number = self._visits[visits] = self._visits.get(visits, 0) + 1
            meeting_key = (key, participants, number)
            meeting = self._meetings.setdefault(meeting_key, Rendezvous(place, kind, participants))
            if meeting.kind != kind:
                other = ", ".join(map(self.name, meeting.contributions))
                raise CommunicationError(
                    f"{self.name(device)} comes with {place}, but it meets {other} with {meeting.place}: what they do differs"
                )
            meeting.contributions[device] = value
            if len(meeting.contributions) < len(participants):
                return meeting
            del self._meetings[meeting_key]
        # The last one to come works while the others wait, without the lock.
        results = combine([meeting.contributions[participant] for participant in participants])
        with self.condition:
            meeting.results = results
            self.condition.notify_all()
        return meeting

    def take(self, device: Device, meeting: Rendezvous, place: str | None = None) -> Any:
        """This device's result, when all participants have come.

        Raises DeadlockError where they never will, CommunicationError where one of them has failed.
        """

        def missing() -> list[Device]:
            return [other for other in meeting.participants if other not in meeting.contributions]

        if meeting.results is None:
            self.wait_until(device, place or meeting.place, lambda: meeting.results is not None, missing)
        assert meeting.results is not None
        return meeting.results[meeting.participants.index(device)]

    def wait_until(
        self, device: Device, place: str, is_over: Callable[[], bool], missing: Callable[[], Iterable[Device]] = tuple
    ) -> None:
        """Block this device's thread until ``is_over()``, which is asked with ``condition`` held, whenever that is notified.

        ``place`` says where it waits and ``missing()`` for whom, for the report. Whoever makes ``is_over`` true notifies
        ``condition``. Raises DeadlockError and CommunicationError.
        """
        with self.condition:
            while not is_over():
                self._check()
                self._waiting[device] = _Wait(place, is_over, missing)
                self._find_deadlock()
                if self._deadlock is None:
                    self.condition.wait()
                self._waiting.pop(device, None)

    def end(self, device: Device, error: BaseException | None = None) -> None:
        """The device has ended, with an error or without: nobody needs to wait for it any more."""
        with self.condition:
            self._ended.add(device)
            if error is not None:
                self.first_error = self.first_error or error
                self.fail(f"{self.name(device)} has ended with {type(error).__name__}: {error}")
            self._find_deadlock()

    def fail(self, reason: str) -> None:
        """Make all that wait, or will, raise CommunicationError with this reason; the first reason counts."""
        with self.condition:
            self._failure = self._failure or reason
            self.condition.notify_all()

    def _check(self) -> None:
        if self._deadlock is not None:
            raise DeadlockError(self._deadlock)
        if self._failure is not None:
            raise CommunicationError(self._failure)

    def _find_deadlock(self) -> None:
        """With the condition held: whether anyone can still go on."""
        waits = self._waiting
        if self._failure or self._deadlock or not waits or len(waits) + len(self._ended) < len(self.devices):
            return
        if not any(wait.is_over() for wait in waits.values()):
            self._deadlock = self._report()
            self.condition.notify_all()

    def _report(self) -> str:
        lines = ["deadlock: every device that has not ended waits for ever"]
        for device in self.devices:
            wait = self._waiting.get(device)
            if wait is None:
                lines.append(f"  {self.name(device)} has ended")
                continue
            names = ", ".join(map(self.name, wait.missing()))
            lines.append(f"  {self.name(device)} waits in {wait.place}" + (f" for {names}" if names else ""))
        return "\n".join(lines)
