"""Extrema of integers, of which a block has very many: Intel's compiler for processors ends the process over them, in a pass
that brings what is combined one after the other into another order.

Before: ``select i1 %above, i32 %x, i32 %y``. After: the same by way of memory, where that order is what it is.
"""

from __future__ import annotations

import re

from .complements import EXTREMUM
from .function_bodies import with_bodies

MOST = 64  # that a block may have: with 250 the process was ended, with 160 not
_BLOCK = re.compile(r"(?m)^(?=\S+:)")


def without_many_extrema(llvm_ir: str, most: int = MOST) -> str:
    """The LLVM assembly in which no block has more of them in registers.

    >>> print(without_many_extrema('''define void @k(i32 %x, i32 %y, ptr %z) {
    ... entry:
    ...   %above = icmp sgt i32 %x, %y
    ...   %most = select i1 %above, i32 %x, i32 %y
    ...   store i32 %most, ptr %z
    ...   ret void
    ... }''', most=0))
    define void @k(i32 %x, i32 %y, ptr %z) {
    entry:
      %extremum.place.32 = alloca i32
      %above = icmp sgt i32 %x, %y
      %extremum.0 = select i1 %above, i32 %x, i32 %y
      store volatile i32 %extremum.0, ptr %extremum.place.32
      %most = load volatile i32, ptr %extremum.place.32
      store i32 %most, ptr %z
      ret void
    }
    """
    if sum(1 for _ in EXTREMUM.finditer(llvm_ir)) <= most:
        return llvm_ir
    return with_bodies(llvm_ir, lambda body: _changed(body, most))


def _changed(body: str, most: int) -> tuple[str, str]:
    used: dict[str, None] = {}
    count = 0

    def by_memory(part: re.Match) -> str:
        nonlocal count
        bits = part["bits"]
        used[bits] = None
        name, place = f"%extremum.{count}", f"%extremum.place.{bits}"
        count += 1
        written = part[0].replace(f"{part['result']} = select", f"{name} = select")
        return (
            f"{written}\n  store volatile i{bits} {name}, ptr {place}\n  {part['result']} = load volatile i{bits}, ptr {place}"
        )

    blocks = _BLOCK.split(body)
    many = [sum(1 for _ in EXTREMUM.finditer(block)) > most for block in blocks]
    body = "".join([EXTREMUM.sub(by_memory, block) if one else block for block, one in zip(blocks, many)])
    return "".join(f"  %extremum.place.{bits} = alloca i{bits}\n" for bits in used), body
