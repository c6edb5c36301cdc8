"""The warning that a function is compiled again and again, with what is to blame for it."""

from __future__ import annotations

import re
from collections import Counter

from ...hlo.source_lines import warn_user

# Compilations of one function after which it warns, and then whenever there are four times as many.
_FIRST = 16


class RecompilationWarning(UserWarning):
    """A function is compiled again and again, as a shape, a static value, or something outside is another one each time; or
    each call traces it, and is made by Python."""

    __module__ = "phlox"  # where users find it


def warn_of_python(name: str, error: BaseException) -> None:
    """Warn that Python has made a call without the exception that has ended its recording."""
    message = (
        f"{name} is traced at each such call, which is then made by Python, as tracing it ends in what Python does not raise: "
        f"{type(error).__name__}: {error}"
    )
    warn_user(message, RecompilationWarning)


class Recompilations:
    """How often a function was compiled, for what reasons, and how long that took.

    A reason is what tells a call from those before: ``argument x: shape (3,) -> (4,)``, several of these with ``; `` between.
    """

    def __init__(self) -> None:
        self.count, self.seconds, self._next_warning = 0, 0.0, _FIRST
        self._subjects: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    def note(self, name: str, reason: str, seconds: float) -> None:
        """Take down a compilation of the function ``name``. Warns, at the user's line, where they are many."""
        self.count += 1
        self.seconds += seconds
        examples = {_subject(part): part for part in reversed(reason.split("; "))}
        self._subjects.update(examples.keys())
        self._examples |= examples
        if self.count == self._next_warning:
            self._next_warning *= 4
            self._warn(name)

    def _warn(self, name: str) -> None:
        subject, times = self._subjects.most_common(1)[0]
        message = (
            f"{name} has been compiled {self.count} times, which took {self.seconds:.2g} s; {times} times the reason was: "
            f"{subject}, at last {self._examples[subject]}. {_way_out(subject)}"
        )
        warn_user(message, RecompilationWarning)


def _subject(part: str) -> str:
    """What has changed: ``argument x: shape`` of ``argument x: shape (3,) -> (4,)``."""
    what, _, change = part.partition(": ")
    if change in ("new", "missing"):  # parts of containers, or arguments that may be left out
        return re.match(r"[^.\[]*", what)[0] + ": structure"
    facts = [fact for fact in _WAYS_OUT if change.startswith(fact)] if what.startswith("argument ") else []
    return f"{what}: {facts[0]}" if facts else what


# By the facts of arguments (`leaves.Leaf.facts`).
_WAYS_OUT = {
    "shape": "Each shape is compiled for: make arrays of a few sizes, padded, or slice a large one inside of the function.",
    "dtype": "Convert the argument to one dtype.",
    "values": "It is a Python integer, compiled for an interval of values: make it static, or a NumPy integer.",
    "structure": "Each length of a list, and each set of a dict's keys, is compiled for: pass an array, or the same keys.",
    "static value": "Its value is part of the code: leave it out of static_argnames, or call with few values.",
}


def _way_out(subject: str) -> str:
    if subject.startswith("argument"):
        return _WAYS_OUT.get(subject.partition(": ")[2], "Call it with arguments of one form.")
    return "What is read outside and is another one each time should be an argument of the function, or an array."
