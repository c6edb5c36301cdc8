"""The environment that a program runs in.

Operations with effects reach it through ``run.environment`` in their evaluations (see hlo.Evaluator), on every backend: native
code calls the evaluation of such an operation back. Each thread has an environment of its own while it runs a program.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(eq=False)
class Environment:
    """The outside world of one running program.

    ``replica`` and ``partition`` are the program's numbers among the copies of it that run at the same time.
    """

    replica: int = 0
    partition: int = 0

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


_threads = threading.local()
_process_environment = Environment()


def current_environment() -> Environment:
    """The environment of this thread; the one of the process where none is active."""
    return getattr(_threads, "environment", None) or _process_environment
