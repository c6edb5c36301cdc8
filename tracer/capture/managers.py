"""``with`` statements of the user's managers, whose methods see what the program raises when it runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from typing import Any

from ..recording.current_trace import current_trace
from .branches import decide, truth
from .distribution import truth_of
from .loops.generators import TracedGenerator
from .loops.pushed_rounds import around_yield
from .places import Names
from .special_methods import special_method
from .tries import Handler, leave_to_python, tried

Block = Callable[[Any], Any]


def with_(manager: Any, block: Block, names: Names) -> Any:
    """The way on which control goes on behind the statement; ``block`` takes what the manager gives for the name."""
    trace = current_trace()
    if trace is None:
        return _by_python(manager, block)
    if isinstance(manager, contextlib.suppress):
        caught = Handler(lambda: vars(manager)["_exceptions"], lambda error: None, False)
        return tried([(lambda: block(None), False)], [caught], lambda outcome: outcome, names, (block,))
    if (leave := special_method(manager, "__exit__")) is not None:
        return _by_methods(special_method(manager, "__enter__")(), leave, block, names)
    generator = getattr(manager, "gen", None)  # of one that `contextlib.contextmanager` has made
    if isinstance(generator, TracedGenerator) and not generator.has_begun:
        return around_yield(generator, block)
    if isinstance(generator, Generator) or isinstance(manager, contextlib.ExitStack):
        with handled_by_python():
            return _by_python(manager, block)
    return _by_python(manager, block)


@contextlib.contextmanager
def handled_by_python() -> Iterator[None]:
    """Errors that the program finds in what is recorded meanwhile are handled in a way that only Python knows."""
    trace = current_trace()
    known = 0 if trace is None else len(trace.program.error_messages)
    yield
    if trace is not None:
        leave_to_python(trace, range(known + 1, len(trace.program.error_messages) + 1))


def _by_python(manager: Any, block: Block) -> Any:
    with manager as value:
        return block(value)


def _by_methods(value: Any, leave: Callable[..., Any], block: Block, names: Names) -> Any:
    def handle(error: BaseException) -> None:
        def raise_again() -> None:
            raise error

        is_swallowed = truth_of(leave(type(error), error, None))
        known = truth(is_swallowed)
        if known is None:
            decide(is_swallowed, (None, raise_again))
        elif not known:
            raise_again()

    def go_on(outcome: Any) -> Any:
        leave(None, None, None)
        return outcome

    return tried([(lambda: block(value), False)], [Handler(None, handle, True)], go_on, names, (block,))
