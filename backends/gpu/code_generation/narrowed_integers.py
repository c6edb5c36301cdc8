"""Unsigned integers that were narrowed, or widened with their sign, and are widened, as masked ones: LLVM's SPIR-V target
makes wrong code of others, or none.
"""

from __future__ import annotations

import re

_FUNCTION = re.compile(r"^define\b[^{]*\{\n.*?^\}", re.MULTILINE | re.DOTALL)
_VECTOR = r"(?:<\d+ x )?i\d+>?"
_CAST = re.compile(rf"^ *(%\S+) = (trunc|sext) (?:nuw |nsw )*({_VECTOR}) (\S+) to {_VECTOR}$", re.MULTILINE)
_ZEXT = re.compile(
    rf"^ *(?P<result>%\S+) = zext (?:nneg )?(?P<type>{_VECTOR}) (?P<value>\S+) to (?P<wide>{_VECTOR})$", re.MULTILINE
)


def with_masks(llvm_ir: str) -> str:
    """The LLVM assembly, in which no zeros are put before what was truncated or sign-extended, but for truth values.

    >>> print(with_masks("define i16 @f(i32 %x) {\\n  %y = trunc i32 %x to i8\\n  %z = zext i8 %y to i16\\n  ret i16 %z\\n}"))
    define i16 @f(i32 %x) {
      %y = trunc i32 %x to i8
      %masked.0 = trunc i32 %x to i16
      %z = and i16 %masked.0, 255
      ret i16 %z
    }
    """
    is_concerned = " zext " in llvm_ir and (" trunc " in llvm_ir or " sext " in llvm_ir)
    return _FUNCTION.sub(_masked, llvm_ir) if is_concerned else llvm_ir


def _masked(function: re.Match) -> str:
    casts = {result: cast for result, *cast in _CAST.findall(function[0])}
    count = 0

    def masked(extension: re.Match) -> str:
        nonlocal count
        result, kind, value, wide = (extension[name] for name in ("result", "type", "value", "wide"))
        if value not in casts or _bits(kind) == 1:
            return extension[0]
        source, cast = kind, "zext"
        while value in casts and cast == "zext":  # what is in front of the lower bits does not matter
            opcode, source, value = casts[value]
            cast = "sext" if opcode == "sext" else "zext"
        lines = []
        if _bits(source) != _bits(wide):
            cast = "trunc" if _bits(source) > _bits(wide) else cast
            lines.append(f"  %masked.{count} = {cast} {source} {value} to {wide}")
            value = f"%masked.{count}"
            count += 1
        mask = str((1 << _bits(kind)) - 1)
        if wide.startswith("<"):
            mask = f"splat (i{_bits(wide)} {mask})"
        return "\n".join([*lines, f"  {result} = and {wide} {value}, {mask}"])

    return _ZEXT.sub(masked, function[0])


def _bits(kind: str) -> int:
    return int(kind.rpartition("i")[2].rstrip(">"))
