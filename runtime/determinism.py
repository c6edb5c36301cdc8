"""Whether results on a device are to be the same, to the last bit, from run to run: the setting of the process."""

from __future__ import annotations

import os

_VARIABLE = "PHLOX_DETERMINISTIC"


class _Determinism:
    """``is_asked_for`` is the setting, at first that of the environment variable; None before anybody has asked."""

    __slots__ = ("is_asked_for",)

    def __init__(self) -> None:
        self.is_asked_for: bool | None = None

    def __bool__(self) -> bool:
        """Raises ValueError where the environment variable is neither 0 nor 1."""
        if self.is_asked_for is None:
            text = os.environ.get(_VARIABLE, "0")
            if text not in ("0", "1"):
                raise ValueError(f"{_VARIABLE} must be 0 or 1, {text!r} given")
            self.is_asked_for = text == "1"
        return self.is_asked_for


determinism = _Determinism()


def require_truth(given: bool | None, name: str) -> None:
    """Raise TypeError, which the name begins, for what is neither true, false nor None."""
    if given is not None and not isinstance(given, bool):
        raise TypeError(f"{name} requires True or False, {type(given).__name__} given")
