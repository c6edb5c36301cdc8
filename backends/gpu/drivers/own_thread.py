"""Work that the thread does which asks for it: on a device that is a processor, to wake another one takes longer than a small
program. Source: the extension cl_intel_exec_by_local_thread, of queues whose commands have run when they were put there.
"""

from __future__ import annotations


class Asked:
    """What was asked of a queue, and whether all of it is done: then work may be done elsewhere, and is in order still.

    Safe to use from several threads at once: what one of them is asking for, others need not wait for yet.

    >>> asked = Asked()
    >>> last = asked.more()
    >>> asked.is_done
    False
    >>> asked.done_until(last)
    >>> asked.is_done
    True
    """

    def __init__(self) -> None:
        self.last = self._done = object()

    @property
    def is_done(self) -> bool:
        return self.last is self._done

    def more(self) -> object:
        """Something was put into the queue, or is being put there: it is ``last`` now."""
        last = self.last = object()
        return last

    def done_until(self, last: object) -> None:
        """Something was waited for that was put there after what was ``last``."""
        self._done = last
