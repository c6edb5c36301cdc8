"""Negated integers beside arithmetic shifts, written otherwise: Intel's compiler for processors takes ``-x >> 31`` for
``x > 0 ? -1 : 0``, which it is not where ``x`` is the least integer.

Before: ``sub i32 0, %x``. After: the same with a zero from memory, of which no compiler knows that it is one.
"""

from __future__ import annotations

import re

from .function_bodies import from_memory, with_bodies

_TYPE = r"(?:<(?P<lanes>\d+) x )?i(?P<bits>\d+)>?"
_NEGATION = re.compile(
    rf"^(?P<before> *%\S+ = sub (?P<type>{_TYPE})) (?:0|zeroinitializer|splat \(i\d+ 0\)),(?P<behind> .+)$", re.MULTILINE
)
_PRODUCT = re.compile(
    rf"^(?P<result> *%\S+) = mul (?P<type>{_TYPE})(?P<value> [^,\n]+), (?:-1|splat \(i\d+ -1\))$", re.MULTILINE
)
_SHIFT = re.compile(r"= ashr (?:exact )?((?:<\d+ x )?i\d+>?) ")


def without_shifted_negations(llvm_ir: str) -> str:
    """The LLVM assembly whose negations no compiler knows, in functions that shift integers of their type.

    >>> print(without_shifted_negations('''define i32 @f(i32 %x) {
    ... entry:
    ...   %y = sub i32 0, %x
    ...   %z = ashr i32 %y, 31
    ...   ret i32 %z
    ... }'''))
    define i32 @f(i32 %x) {
    entry:
      %shifted.place.32 = alloca i32
      store volatile i32 0, ptr %shifted.place.32
      %shifted.zero.32 = load volatile i32, ptr %shifted.place.32
      %y = sub i32 %shifted.zero.32, %x
      %z = ashr i32 %y, 31
      ret i32 %z
    }
    """
    return with_bodies(llvm_ir, _changed) if " ashr " in llvm_ir else llvm_ir


def _changed(body: str) -> tuple[str, str]:
    types = set(_SHIFT.findall(body))
    zeros: dict[str, str] = {}  # what makes them, by their names

    def zero(part: re.Match) -> str:
        bits, lanes = part["bits"], part["lanes"]
        name = f"%shifted.zero.{bits}"
        zeros[name] = from_memory(name, f"%shifted.place.{bits}", bits, 0)
        if not lanes:
            return name
        one, vector = f"%shifted.one.{lanes}x{bits}", f"%shifted.zero.{lanes}x{bits}"
        zeros[vector] = (
            f"  {one} = insertelement {part['type']} poison, i{bits} {name}, i64 0\n"
            f"  {vector} = shufflevector {part['type']} {one}, {part['type']} poison, <{lanes} x i32> zeroinitializer\n"
        )
        return vector

    def negated(part: re.Match) -> str:
        return f"{part['before']} {zero(part)},{part['behind']}" if part["type"] in types else part[0]

    def multiplied(part: re.Match) -> str:
        kind = part["type"]
        return f"{part['result']} = sub {kind} {zero(part)},{part['value']}" if kind in types else part[0]

    body = _PRODUCT.sub(multiplied, _NEGATION.sub(negated, body))
    return "".join(zeros.values()), body
