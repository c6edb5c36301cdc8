"""Complements beside extrema of integers, written otherwise: Intel's compiler for processors makes wrong code of loops that
carry ``max(carry, x)`` and compute ``~x``, which reads registers that it has not set.

Before: ``xor i32 %x, -1``. After: the same with ones from memory, of which no compiler knows that they are.
"""

from __future__ import annotations

import re

from .function_bodies import from_memory, with_bodies

_NAME = r'%(?:"[^"]*"|[\w.$-]+)'
# Of two numbers that are no constants: what loops carry, in registers or in memory that becomes such.
EXTREMUM = re.compile(
    rf"^ *(?P<condition>{_NAME}) = icmp [su][gl][te] i(?P<bits>32|64) (?P<left>{_NAME}), (?P<right>{_NAME})\n"
    rf" *(?P<result>{_NAME}) = select +i1 (?P=condition), i(?P=bits) "
    r"(?:(?P=left), i(?P=bits) (?P=right)|(?P=right), i(?P=bits) (?P=left))$",
    re.MULTILINE,
)
_COMPLEMENT = re.compile(
    rf"^(?P<before> *(?P<result>{_NAME}) = (?P<opcode>xor|sub|add) i(?P<bits>32|64) (?:(?P<operand>{_NAME}), )?)"
    rf"(?P<constant>-1|1)(?P<behind>, {_NAME})?$",
    re.MULTILINE,
)
_DIFFERENCE_OR_PRODUCT = re.compile(rf"^ *({_NAME}) = (?:sub|mul) ", re.MULTILINE)
_SUBTRAHEND = re.compile(rf"= sub i\d+ [^\n,]+, ({_NAME})$", re.MULTILINE)


def without_complements_beside_extrema(llvm_ir: str) -> str:
    """The LLVM assembly whose complements no compiler knows, in functions that have extrema.

    >>> print(without_complements_beside_extrema('''define void @k(i32 %x, i32 %y, ptr %z) {
    ... entry:
    ...   %above = icmp sgt i32 %x, %y
    ...   %most = select i1 %above, i32 %x, i32 %y
    ...   %not = xor i32 %most, -1
    ...   store i32 %not, ptr %z
    ...   ret void
    ... }'''))
    define void @k(i32 %x, i32 %y, ptr %z) {
    entry:
      %ones.place.32 = alloca i32
      store volatile i32 -1, ptr %ones.place.32
      %ones.32 = load volatile i32, ptr %ones.place.32
      %above = icmp sgt i32 %x, %y
      %most = select i1 %above, i32 %x, i32 %y
      %not = xor i32 %most, %ones.32
      store i32 %not, ptr %z
      ret void
    }
    """
    return with_bodies(llvm_ir, _changed) if EXTREMUM.search(llvm_ir) and _COMPLEMENT.search(llvm_ir) else llvm_ir


def _changed(body: str) -> tuple[str, str]:
    if not EXTREMUM.search(body):
        return "", body
    decreased, subtracted = set(_DIFFERENCE_OR_PRODUCT.findall(body)), set(_SUBTRAHEND.findall(body))
    read: dict[str, str] = {}  # names and values of numbers, by their bits

    def hidden(part: re.Match) -> str:
        if not _is_complement(part, decreased, subtracted):
            return part[0]
        name = "ones" if part["constant"] == "-1" else "one"
        read[f"{name}.{part['bits']}"] = part["constant"]
        return f"{part['before']}%{name}.{part['bits']}{part['behind'] or ''}"

    body = _COMPLEMENT.sub(hidden, body)
    entry = "".join(
        from_memory(f"%{name}.{bits}", f"%{name}.place.{bits}", bits, constant)
        for (name, _, bits), constant in [(key.partition("."), value) for key, value in read.items()]
    )
    return entry, body


def _is_complement(part: re.Match, decreased: set[str], subtracted: set[str]) -> bool:
    """Whether it is one, or becomes one: ``x ^ -1``, ``-1 - x``, ``y - x - 1``, ``-x - 1``, ``y - (x + 1)``.

    decreased: the names of differences and products; subtracted: what is taken from something.
    """
    opcode, constant, operand = part["opcode"], part["constant"], part["operand"]
    if opcode == "xor" or operand is None:
        return constant == "-1" and opcode != "add"
    if (opcode, constant) in (("add", "-1"), ("sub", "1")):
        return operand in decreased
    return part["result"] in subtracted
