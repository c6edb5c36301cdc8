"""The address spaces of a module's pointers, as a family numbers them.

Kernels are written with `ptr` for pointers to anything, and stack memory that is one. Before: what LLVM calls address space 0.
After: the family's generic pointers, and stack memory in its private space, cast to one.
"""

from __future__ import annotations

import re

from ..target import AddressSpaces

_TYPED = re.compile(r"(?:\[[^\[\]]*\]|<[^<>]*>|\b\w+)\*(?= )")
_GENERIC = re.compile(r"\bptr\b(?! addrspace\()")
_STACK = re.compile(r"^(\s*)(%\S+) = alloca ([^\n]+)$", re.MULTILINE)
_NAME = r'@(?:[\w$.-]+|"[^"\n]*")'
# A variable that states no address space, up to where it would; a text, or a name that may be that of a variable.
_VARIABLE = re.compile(rf"^(?!@llvm\.)({_NAME}) = ((?!external )(?:[a-z_]+ )*?)(?=(?:constant|global) )", re.MULTILINE)
_TEXT_OR_NAME = re.compile(rf'c"[^"\n]*"|{_NAME}(?! = )')
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


def with_variables_in(llvm_ir: str, space: int) -> str:
    """The LLVM assembly, whose global variables that state no address space are in this one, and cast where they are used.

    >>> print(with_variables_in("@x = internal constant i32 5\\n  %y = load i32, ptr @x", 1))
    @x = internal addrspace(1) constant i32 5
      %y = load i32, ptr addrspacecast (ptr addrspace(1) @x to ptr)
    """
    names = {found[1] for found in _VARIABLE.finditer(llvm_ir)}
    if not space or not names:
        return llvm_ir
    llvm_ir = _VARIABLE.sub(rf"\1 = \2addrspace({space}) ", llvm_ir)

    def cast(found: re.Match) -> str:
        return f"addrspacecast (ptr addrspace({space}) {found[0]} to ptr)" if found[0] in names else found[0]

    return _TEXT_OR_NAME.sub(cast, llvm_ir)
