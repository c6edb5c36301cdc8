"""Blocks that a loop computes are computed where they are written: a launch less, and nothing in between."""

from __future__ import annotations

from ...compile.in_place import update_of
from ...compile.pass_manager import Pass
from ...compile.traversal import transform_computations
from ...compile.update_fusion import with_updates_fused
from ...hlo import Instruction, Module


def fuse_updates(module: Module) -> Module:
    """Lets a loop whose result is only written into an array write there itself."""
    return transform_computations(module, lambda computation: with_updates_fused(computation, _may_move))


FUSE_UPDATES = Pass("fuse-updates", fuse_updates)


def _may_move(block: Instruction, update: Instruction) -> bool:
    """Not what goes through tiles, whose threads write neighbouring elements, nor what is written in place itself."""
    if update_of(block) is not None:
        return False
    return not any(one.opcode == "transpose" for one in block.attributes["calls"].instructions)
