"""The address spaces of a module's pointers, as a family numbers them.

Kernels are written with `ptr` for pointers to anything, and stack memory that is one. Before: what LLVM calls address space 0.
After: the family's generic pointers, and stack memory in its private space, cast to one.
"""

from __future__ import annotations

import re

from ..target import AddressSpaces

_TYPED = re.compile(r"(?:\[[^\[\]]*\]|<[^<>]*>|\b\w+)\*(?= )")
_GENERIC = re.compile(r"\bptr\b(?! addrspace)")
_STACK = re.compile(r"^(\s*)(%\S+) = alloca ([^\n]+)$", re.MULTILINE)
# The types of arguments in the names of LLVM's intrinsics.
_MANGLED = re.compile(r"(@\"?llvm\.[\w.]*?[.\d])p0\b")


def with_address_spaces(llvm_ir: str, spaces: AddressSpaces) -> str:
    """The LLVM assembly, whose pointers have the family's address spaces.

    >>> print(with_address_spaces("  %x = alloca i8, align 4\\n  store i8 0, ptr %x", AddressSpaces(4)))
      %x.private = alloca i8, align 4
      %x = addrspacecast ptr %x.private to ptr addrspace(4)
      store i8 0, ptr addrspace(4) %x
    """
    if spaces.generic == spaces.private:
        return llvm_ir
    generic = f"ptr addrspace({spaces.generic})" if spaces.generic else "ptr"
    llvm_ir = _TYPED.sub("ptr", llvm_ir)
    if spaces.generic:
        llvm_ir = _GENERIC.sub(generic, llvm_ir)
        while (renamed := _MANGLED.sub(rf"\1p{spaces.generic}", llvm_ir)) != llvm_ir:
            llvm_ir = renamed
    suffix = f", addrspace({spaces.private})" if spaces.private else ""
    private = f"ptr addrspace({spaces.private})" if spaces.private else "ptr"

    def moved(found: re.Match) -> str:
        indentation, name, rest = found.groups()
        inner = f'{name[:-1]}.private"' if name.endswith('"') else f"{name}.private"
        lines = f"{inner} = alloca {rest}{suffix}", f"{name} = addrspacecast {private} {inner} to {generic}"
        return "\n".join([indentation + line for line in lines])

    return _STACK.sub(moved, llvm_ir)
