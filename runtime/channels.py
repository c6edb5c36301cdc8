"""Channels between computations that run at the same time, in threads of one process, and between them and the host.

The four instructions of a transfer run in this order, whatever the order of the threads (the section "Scheduling of channel
instructions" of XLA's Operation Semantics): recv before the transfer of what was sent, send before recv-done, recv before
recv-done, send before send-done. A send only offers its data; send-done waits until somebody receives it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any

from ..hlo import compatible, shape_of
from ..hlo.shape import AnyShape
from .locks import new_condition
from .queues import DEFAULT_TIMEOUT, QueueClosedError, owned, wait_until


@dataclass(eq=False)
class _Channel:
    """Transfer n is that of the n-th send and the n-th recv; its data waits here from the one to the other."""

    sent: int = 0
    posted: int = 0
    data: dict[int, Any] = field(default_factory=dict)


class Channels:
    """The channels of one environment, made when they are first used; safe to use from several threads at once.

    A channel's key is its number, or, of a transfer to or from the host that has one, the name of its rendezvous. Waits end
    after ``timeout`` seconds, None for no end.

    >>> import numpy as np
    >>> channels = Channels()
    >>> channels.send("samples", np.float32(2))
    >>> channels.recv("samples")
    np.float32(2.0)
    """

    def __init__(self, timeout: float | None = DEFAULT_TIMEOUT) -> None:
        self.timeout = timeout
        self._channels: dict[Hashable, _Channel] = {}
        self._changed = new_condition()
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<channels {', '.join(map(repr, self._channels)) or 'none used'}{', closed' * self._is_closed}>"

    # --- the host ---

    def send(self, channel: int | str, value: Any) -> None:
        """Send a copy of the value to the program's next receive on the channel, or to one after it; does not wait.

        Raises QueueClosedError where the channels are closed.
        """
        self.start_send(channel, value, "the host")

    def recv(self, channel: int | str, timeout: float | None | EllipsisType = ...) -> Any:
        """What the program sends on the channel; waits for it.

        Raises QueueClosedError where the channels are closed, TimeoutError after ``timeout`` seconds.
        """
        number = self.start_recv(channel, "the host")
        try:
            return self._take(channel, number, None, "the host", timeout)
        except BaseException:
            self._withdraw(channel, number)
            raise

    def close(self) -> None:
        """End all transfers: whoever waits, or begins to, gets QueueClosedError."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def clear(self) -> None:
        """Forget all transfers that were begun, and open the channels again; for use after a program has failed."""
        with self._changed:
            self._channels.clear()
            self._is_closed = False
            self._changed.notify_all()

    # --- the program ---

    def start_send(self, channel: int | str, value: Any, who: str = "a send") -> int:
        """Offer a copy of the value; returns the transfer's number."""
        value = owned(value, f"channel {channel!r}")
        with self._changed:
            self._require_open(channel, who)
            state = self._channel(channel)
            number, state.sent = state.sent, state.sent + 1
            state.data[number] = value
            self._changed.notify_all()
            return number

    def finish_send(self, channel: int | str, number: int) -> None:
        """Wait until somebody receives the transfer."""
        with self._changed:
            state = self._channel(channel)
            purpose = f"send-done waits for a recv, {state.posted} began and {state.sent} sends"
            self._wait(channel, lambda: state.posted > number, ..., purpose)

    def start_recv(self, channel: int | str, who: str = "a recv") -> int:
        """Make ready to receive; returns the transfer's number."""
        with self._changed:
            self._require_open(channel, who)
            state = self._channel(channel)
            number, state.posted = state.posted, state.posted + 1
            self._changed.notify_all()
            return number

    def finish_recv(self, channel: int | str, number: int, shape: AnyShape) -> Any:
        """Wait for the transfer's data. Raises TypeError where it has another shape."""
        return self._take(channel, number, shape, "recv-done", ...)

    def _take(self, channel: int | str, number: int, shape: AnyShape | None, who: str, timeout: Any) -> Any:
        with self._changed:
            state = self._channel(channel)
            wanted = "data" if shape is None else f"data of shape {shape}"
            self._wait(channel, lambda: number in state.data, timeout, f"{who} waits for {wanted}")
            value = state.data.pop(number)
        if shape is not None and not compatible(shape_of(value), shape):
            raise TypeError(f"channel {channel!r}: the recv takes {shape}, but {shape_of(value)} was sent")
        return value

    def _withdraw(self, channel: int | str, number: int) -> None:
        """Take back the last receive, where no later one has been begun."""
        with self._changed:
            state = self._channel(channel)
            if state.posted == number + 1 and state.sent <= number:
                state.posted = number

    def _channel(self, channel: int | str) -> _Channel:
        return self._channels.setdefault(channel, _Channel())

    def _require_open(self, channel: int | str, who: str) -> None:
        if self._is_closed:
            raise QueueClosedError(f"channel {channel!r}: the channels are closed; {who} cannot begin")

    def _wait(self, channel: int | str, condition: Callable[[], bool], timeout: Any, purpose: str) -> None:
        timeout = self.timeout if timeout is ... else timeout
        if not wait_until(self._changed, lambda: self._is_closed or condition(), timeout):
            raise TimeoutError(f"channel {channel!r}: {purpose}; nothing happened for {timeout:g} seconds")
        if not condition():
            raise QueueClosedError(f"channel {channel!r}: the channels were closed; {purpose}")
