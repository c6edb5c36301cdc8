"""Kernels without loops, for LLVM's fastest generation of code, which takes one instruction after another as it is.

What the usual one finds out before that is written into the assembly: in which address space each pointer points, and that
what arguments point to stays as it is. Before: pointers that were cast to `ptr`. After: those that they were cast from.
"""

from __future__ import annotations

import re

_ARGUMENT = re.compile(r'ptr addrspace\(\d+\) ([^,%]*)(%"[^"]+")')
_CAST = re.compile(r'\s+(%"[^"]+") = addrspacecast (?:ptr|\[[^\]]*\]) (addrspace\(\d+\))\*? (\S+) to ptr$')
_ADDRESS = re.compile(r'\s+(%"[^"]+") = getelementptr [^%]*ptr (%"[^"]+"), [^<]*$')  # vectors of indices make several
_ACCESS = re.compile(r'\s+(?:%"[^"]+" = load|store) (?!atomic |volatile ).*, ptr (%"[^"]+"), align \d+$')
_POINTER = re.compile(r'\bptr (%"[^"]+")')
# A number of metadata that no one else uses.
_NOTHING = (1 << 30) - 1
# What is in loops, and memory of a thread's own.
_OTHERS = (" = phi ", " = alloca ")


def is_straight(llvm_ir: str) -> bool:
    """Whether the assembly has neither loops nor memory of a thread's own."""
    return not any(other in llvm_ir for other in _OTHERS)


def straight_code(llvm_ir: str) -> str | None:
    """Straight assembly with the address spaces of all pointers in registers; None where some are used in another way.

    >>> print(straight_code('''define void @f(ptr addrspace(1) noalias %"x", ptr addrspace(1) noalias %"y") {
    ...   %".1" = addrspacecast ptr addrspace(1) %"x" to ptr
    ...   %".2" = addrspacecast ptr addrspace(1) %"y" to ptr
    ...   %".3" = getelementptr float, ptr %".1", i64 5
    ...   %".4" = load float, ptr %".3", align 4
    ...   store float %".4", ptr %".2", align 4
    ... }'''))
    define void @f(ptr addrspace(1) noalias %"x", ptr addrspace(1) noalias %"y") {
      %".3" = getelementptr float, ptr addrspace(1) %"x", i64 5
      %".4" = load float, ptr addrspace(1) %".3", align 4, !invariant.load !1073741823
      store float %".4", ptr addrspace(1) %"y", align 4
    }
    !1073741823 = !{}
    """
    functions, lines = [], []
    for line in llvm_ir.split("\n"):
        if line.startswith("define "):
            functions.append(lines)
            lines = []
        lines.append(line)
    made = [_with_spaces(lines) for lines in [*functions[1:], lines]]
    if not functions or None in made:
        return None
    return "\n".join([line for lines in [functions[0], *made] for line in lines] + [f"!{_NOTHING} = !{{}}"])


def _with_spaces(lines: list[str]) -> list[str] | None:
    """The lines of a function, and what follows it."""
    apart = {name for attributes, name in _ARGUMENT.findall(lines[0]) if "noalias" in attributes}
    spaces: dict[str, tuple[str, str]] = {}  # of pointers, and what they are in it
    origins: dict[str, str] = {}
    written: set[str] = set()
    made: list[str] = []
    loads: list[tuple[int, str]] = []
    for line in lines:
        if "ptr" not in line:
            made.append(line)
            continue
        if (cast := _CAST.match(line)) is not None:
            name, space, of = cast.groups()
            spaces[name], origins[name] = (space, of), of
            continue
        used = [name for name in _POINTER.findall(line) if name in spaces]
        if used:
            base, address, access = used[0], _ADDRESS.match(line), _ACCESS.match(line)
            if len(used) > 1 or base not in (address and address[2], access and access[1]):
                return None
            space, of = spaces[base]
            line = line.replace(f"ptr {base}", f"ptr {space} {of}")
            if address is not None:
                spaces[address[1]], origins[address[1]] = (space, address[1]), origins[base]
            elif line.lstrip().startswith("store"):
                written.add(origins[base])
            else:
                loads.append((len(made), origins[base]))
        made.append(line)
    for number, origin in loads:
        if origin in apart and origin not in written:
            made[number] += f", !invariant.load !{_NOTHING}"
    return made
