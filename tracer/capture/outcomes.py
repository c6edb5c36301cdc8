"""The ways on which control may leave a block. None stands for its end."""

from __future__ import annotations

from typing import Any


class Jump:
    """A break or a continue; there is one object for each."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


BREAK, CONTINUE = Jump("break"), Jump("continue")


class Return:
    """A return statement with its value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value
