"""Warnings that the user's functions give: they are given when the program runs, as often as the code says.

Those of NumPy, and of what is followed besides, are left out.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from ...hlo.source_lines import belongs_to_a_library
from ...hlo.tracebacks import frames_of_users
from ..calls.again import once
from ..recording.current_trace import current_trace
from .calls.meanings import MADE_BY_PYTHON, implements
from .texts.deferred import call_later

_PACKAGE = __name__.partition(".")[0]


class _Place(NamedTuple):
    file: str
    line: int
    module: str


class _Thread(threading.local):
    def __init__(self) -> None:
        self.recorders = 0
        self.filters: list[Any] = []  # that traced functions have put in front of the others


_thread = _Thread()


def _place(frame: FrameType) -> _Place:
    return _Place(frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__", "<string>"))


@implements(warnings.warn)
def warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **others: Any) -> None:
    """Besides the text and the category, the lines are kept that the warning may be about: `stacklevel` says which."""
    if current_trace() is None:
        return _warn_in_python(message, category, stacklevel, source, **others)
    if _comes_from_a_library() or _thread.recorders:
        return None
    if others:
        raise NotImplementedError(f"warnings.warn with {', '.join(others)} is not implemented in compiled functions")
    is_made = isinstance(message, Warning)
    kind = type(message) if is_made else category or UserWarning
    if _is_ignored(kind):
        return None
    lines = [_place(frame) for frame in frames_of_users()]

    def warn_now(*parts: Any) -> None:
        once(_give, kind(*parts) if is_made else parts[0], kind, stacklevel, lines)

    warn_now.__name__ = "warn"
    return call_later(warn_now, *(message.args if is_made else [message]))


def _warn_in_python(message: Any, category: Any = None, stacklevel: int = 1, *_: Any, **__: Any) -> None:
    once(_give, message, category or UserWarning, stacklevel, [])


MADE_BY_PYTHON[warnings.warn] = _warn_in_python


def _give(message: Any, kind: type[Warning], level: int, lines: list[_Place]) -> None:
    """The warning, about the line that the level says; those of the function's callers are the ones of this call."""
    if level > len(lines):
        lines = [*lines, *map(_place, frames_of_users())]
    place = lines[max(level, 1) - 1] if level <= len(lines) else _Place("<sys>", 0, "sys")
    module = sys.modules.get(place.module)
    registry = {} if module is None else vars(module).setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, kind, place.file, place.line, place.module, registry)


def _comes_from_a_library() -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    return frame is not None and belongs_to_a_library(frame.f_code.co_filename)


def _is_ignored(kind: type[Warning]) -> bool:
    """Whether a filter that the function itself has set says so."""
    for one in warnings.filters:
        if not any(one is other for other in _thread.filters):
            continue
        action, message, category, module, line = one
        if not issubclass(kind, category):
            continue
        if action != "ignore" or message is not None or module is not None or line:
            raise NotImplementedError(
                "a warning for which the compiled function has a filter of its own, other than one that ignores a category, "
                "is not implemented. Fix: set the filter outside of the function"
            )
        return True
    return False


def _filter(original: Callable[..., None]) -> Callable[..., None]:
    @implements(original)
    def filter_(action: str, *args: Any, **kwargs: Any) -> None:
        if current_trace() is None:
            return original(action, *args, **kwargs)
        if action == "error":
            raise NotImplementedError(
                f'warnings.{original.__name__}("error") is not implemented in compiled functions, whose operations give no '
                'warnings. Fix: with np.errstate(all="raise"), and except FloatingPointError'
            )
        original(action, *args, **kwargs)
        _thread.filters = [one for one in _thread.filters if one in warnings.filters]
        _thread.filters += warnings.filters[:1]

    return filter_


for _original in (warnings.simplefilter, warnings.filterwarnings):
    _filter(_original)


class _Recorded(list):
    """What was recorded in a compiled function, where it is not known what NumPy would have warned of."""

    def _refuse(self, *args: Any) -> Any:
        raise NotImplementedError(
            "what warnings.catch_warnings(record=True) has recorded in a compiled function is not known: NumPy gives no "
            "warnings there. Fix: record them around the call of the function, or use np.errstate"
        )

    __len__ = __iter__ = __getitem__ = __bool__ = __contains__ = __eq__ = __repr__ = pop = copy = _refuse  # type: ignore
    __hash__ = None  # type: ignore[assignment]


class _Recorder(warnings.catch_warnings):
    def __enter__(self) -> Any:
        super().__enter__()
        _thread.recorders += 1
        return _Recorded()

    def __exit__(self, *exc_info: Any) -> None:
        _thread.recorders -= 1
        super().__exit__(*exc_info)


@implements(warnings.catch_warnings)
def catch_warnings(*args: Any, record: bool = False, **kwargs: Any) -> Any:
    made = _Recorder if record and current_trace() is not None else warnings.catch_warnings
    return made(*args, record=record, **kwargs)
