"""Signals whose handler raises."""

import gc
import signal
import traceback

import pytest


class Interrupt(BaseException):
    """What the handler of a signal raises."""


def interrupt(after, function, *arguments, error=Interrupt, handled=None):
    """Call the function, and raise the error in this thread after so many seconds; the call must end by it.

    ``handled`` is a list to which the handler adds something first. No collector runs meanwhile: an exception that comes in one
    of its callbacks (Hypothesis has one) is dropped by the interpreter. The signal comes again later, so that an exception that
    is lost fails the test and does not hang it.
    """
    handled, raised = [] if handled is None else handled, []

    def handler(number, frame):
        handled.append(number)
        raised.append(error())
        raise raised[-1]

    before, collects = signal.signal(signal.SIGALRM, handler), gc.isenabled()
    gc.disable()
    try:
        with pytest.raises(error):
            signal.setitimer(signal.ITIMER_REAL, after, 30)
            function(*arguments)
            signal.pause()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if collects:
            gc.enable()
    assert len(handled) == 1, "an exception was lost behind\n" + "".join(traceback.format_tb(raised[0].__traceback__))
