"""A module of kernels as several modules, which LLVM may compile at the same time, and their PTX as one text.

>>> text = '''
... declare i32 @"half"(i32)
... @"table" = internal global i32 3
... define ptx_kernel void @"f"() {
...   %x = load i32, ptr @"table"
...   ret void
... }
... define ptx_kernel void @"g"() {
...   %x = call i32 @"half"(i32 3)
...   ret void
... }
... '''
>>> [('"f"' in part, '"g"' in part, "table" in part, "half" in part) for part in kernel_parts(text, "ptx_kernel", 1)]
[(True, False, True, False), (False, True, False, True)]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from ..kernel import IS_PLAIN
from .straight_code import is_straight

# What stands in a module as llvmlite prints it, at the beginnings of lines.
_ENTITY = re.compile(r'^(?:(?P<kind>define|declare)\b[^@\n]*)?@"(?P<name>[^"]+)"', re.MULTILINE)
_METADATA = re.compile(r"^!", re.MULTILINE)
_REFERENCE = re.compile(r'@"([^"]+)"')
# A part has kernels of so many characters at least: each module takes some ms by itself.
_PART_LENGTH = 20_000
_PTX_HEADER = re.compile(r"\A.*?^\.address_size \d+\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class _Entity:
    """A global value: its text, and what it refers to."""

    text: str
    uses: frozenset[str]
    is_declared: bool
    is_kernel: bool

    @property
    def form(self) -> tuple[bool, bool]:
        """Whether it is plain, and straight: kernels of one form are compiled in one way."""
        is_plain = IS_PLAIN in self.text.partition("\n")[0]
        return is_plain, is_plain and is_straight(self.text)


def kernel_parts(llvm_ir: str, calling_convention: str, least: int = _PART_LENGTH) -> list[str]:
    """Modules for some of the kernels each, with what these refer to. What several have gets a name of its own in each.

    How kernels are divided depends on them alone, and so does what becomes of them. Plain ones are apart from others,
    and among them those without loops.
    """
    if llvm_ir.count(f"define {calling_convention} ") < 2:
        return [llvm_ir]
    entities: dict[str, _Entity] = {}
    found = list(_ENTITY.finditer(llvm_ir))
    metadata = _METADATA.search(llvm_ir)
    end = len(llvm_ir) if metadata is None else metadata.start()
    for one, following in zip(found, [*[other.start() for other in found[1:]], end]):
        text = llvm_ir[one.start() : following]
        is_kernel = one["kind"] == "define" and f" {calling_convention} " in one.group()
        entities[one["name"]] = _Entity(text, frozenset(_REFERENCE.findall(text)), one["kind"] == "declare", is_kernel)
    groups: list[list[str]] = []
    for form in ((False, False), (True, False), (True, True)):
        length = least
        for name, entity in entities.items():
            if entity.is_kernel and entity.form == form:
                if length >= least:
                    groups.append([])
                    length = 0
                groups[-1].append(name)
                length += len(entity.text)
    if len(groups) < 2:
        return [llvm_ir]
    head, tail = llvm_ir[: found[0].start()], llvm_ir[end:]
    reached = [_reached(group, entities) for group in groups]
    owners = Counter(chain.from_iterable(reached))
    common = {name for name, count in owners.items() if count > 1 and not entities[name].is_declared}
    parts = []
    for number, names in enumerate(reached):
        text = "".join([entity.text for name, entity in entities.items() if name in names])
        parts.append(head + _renamed(text, common & names, number) + tail)
    return parts


def joined_ptx(texts: Iterable[str]) -> str:
    """The texts as one, which has the header of the first."""
    first, *others = texts
    return first + "".join([_PTX_HEADER.sub("", text) for text in others])


def _reached(names: list[str], entities: dict[str, _Entity]) -> set[str]:
    found, waiting = set(names), list(names)
    while waiting:
        new = (entities[waiting.pop()].uses & entities.keys()) - found
        found |= new
        waiting += new
    return found


def _renamed(text: str, names: set[str], number: int) -> str:
    """The text, in which these names end with the number."""
    if not names:
        return text
    return _REFERENCE.sub(lambda found: f'@"{found[1]}.{number}"' if found[1] in names else found[0], text)
