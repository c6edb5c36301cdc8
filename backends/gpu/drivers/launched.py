"""What was launched last on a device: errors of kernels turn up later, where something waits for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

_PROGRAMS = 3  # of which the launches are named
_KERNELS = 6  # of each


class Launched:
    """The kernels of the programs that ran last on a device.

    >>> launched = Launched()
    >>> launched.text()
    ''
    >>> launched.programs.append([("add_0", "f.py:3 in f"), ("dot_1", None), ("add_0", "f.py:3 in f")])
    >>> launched.text()
    '; launched last: add_0 (f.py:3 in f), dot_1'
    """

    def __init__(self) -> None:
        # Names and sources of launches, a list a program, of which each is the same object in every run.
        self.programs: deque[Sequence[tuple[str, object]]] = deque(maxlen=_PROGRAMS)

    def text(self) -> str:
        """The end of a message, empty where nothing was launched."""
        found: dict[str, None] = {}
        for program in reversed({id(one): one for one in self.programs}.values()):
            named = [f"{kernel} ({source})" if source else kernel for kernel, source in program]
            found |= dict.fromkeys(list(dict.fromkeys(named))[:_KERNELS])
        return f"; launched last: {', '.join(found)}" if found else ""
