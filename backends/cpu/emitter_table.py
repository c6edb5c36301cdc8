"""Which function emits an operation; filled by those that have one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...hlo import Instruction

if TYPE_CHECKING:
    from .module_emitter import Leaf, ModuleEmitter, Values

EMITTERS: dict[str, Callable[[ModuleEmitter, Instruction, Values], list[Leaf]]] = {}
