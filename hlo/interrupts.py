"""Exceptions that the handler of a signal raises: they are of no statement of the program that they end."""

from __future__ import annotations

import signal
import sys
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any


def not_of_a_signal(*kinds: type[BaseException]) -> tuple[type[BaseException], ...]:
    """What an except clause names that takes exceptions of these kinds for an answer, such as that something cannot be done.

    It takes none that the handler of a signal has raised. The clause asks when there is an exception: a try costs nothing.

    >>> try:
    ...     reply = int("twelve")
    ... except not_of_a_signal(Exception):
    ...     reply = None
    >>> reply is None
    True
    """
    error = sys.exception()
    return () if error is not None and is_of_a_signal(error) else kinds


def is_of_a_signal(error: BaseException) -> bool:
    """Whether a function that handles a signal raised this, wherever the program was then: it is to end the call.

    Python's own handler, which raises ``KeyboardInterrupt``, is no function with a frame; nothing takes that one for an error
    of the program.

    >>> is_of_a_signal(ValueError("of the program"))
    False
    """
    traceback, codes = error.__traceback__, None
    while traceback is not None:
        if codes is None:
            codes = {code for number in range(1, signal.NSIG) if (code := _code_of(signal.getsignal(number))) is not None}
        if traceback.tb_frame.f_code in codes:
            return True
        traceback = traceback.tb_next
    return False


def _code_of(handler: Any) -> CodeType | None:
    if not callable(handler):  # the system's own
        return None
    while isinstance(handler, partial):
        handler = handler.func
    if isinstance(handler, MethodType):
        handler = handler.__func__
    if not isinstance(handler, FunctionType):
        handler = type(handler).__call__
    return getattr(handler, "__code__", None)
