"""Result shapes of many instructions, each kind of use inferred once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .operation import Operation
from .shape import AnyShape

_LONGEST = 64  # uses with more operands are seldom alike
_MOST = 20_000  # uses that are remembered


class KnownUses:
    """What a function of operation, operands' shapes, attributes and stated shape gave for the uses seen before.

    Shapes and attributes are told apart by identity, which is exact, whatever they hold, as long as they are kept here.
    ``others`` are known to begin with: they are those of a function that gives the same shapes.
    """

    def __init__(
        self,
        infer: Callable[[Operation, tuple[AnyShape, ...], dict[str, Any], AnyShape | None], AnyShape],
        others: KnownUses | None = None,
    ) -> None:
        self._infer = infer
        self._results: dict[tuple[object, ...], AnyShape] = {} if others is None else others._results
        self._kept: list[object] = [] if others is None else others._kept

    def shape(
        self, operation: Operation, operands: tuple[AnyShape, ...], attributes: dict[str, Any], stated: AnyShape | None
    ) -> AnyShape:
        """What the function gives, or gave before. Raises what it raises."""
        if (result := self._results.get(_key(operation, operands, attributes, stated))) is not None:
            return result
        result = self._infer(operation, operands, attributes, stated)
        self.note(operation, operands, attributes, stated, result)
        return result

    def note(
        self,
        operation: Operation,
        operands: tuple[AnyShape, ...],
        attributes: dict[str, Any],
        stated: AnyShape | None,
        result: AnyShape,
    ) -> None:
        """Remember what a function has given that gives the same shapes."""
        if len(self._results) == _MOST:
            self._results.clear()
            self._kept.clear()
        if len(operands) <= _LONGEST:
            self._results[_key(operation, operands, attributes, stated)] = result
            self._kept += (attributes, stated, *operands)


def _key(
    operation: Operation, operands: tuple[AnyShape, ...], attributes: dict[str, Any], stated: AnyShape | None
) -> tuple[object, ...]:
    return (operation.opcode, id(attributes) if attributes else 0, id(stated), *map(id, operands))
