"""Negations in kernels with barriers, written otherwise: Intel's compiler for processors takes what is computed from one for
the same in all threads, so that behind a barrier all of them have what the last one has.

Before: `fneg float %x`. After: the bits of `%x`, and a sign that is flipped by a mask which could differ between threads.
"""

from __future__ import annotations

import re

from .function_bodies import with_bodies

_NEGATION = re.compile(
    r"^ *(?P<result>%\S+) = fneg (?P<type>(?:<(?P<lanes>\d+) x )?(?P<scalar>half|float|double)>?) (?P<value>[^\n]+)$",
    re.MULTILINE,
)
_BITS = {"half": 16, "float": 32, "double": 64}
_BARRIER, _THREAD = "_Z7barrierj", "_Z12get_local_idj"
_ENTRY = f"""  %negations.thread = call i64 @{_THREAD}(i32 0)
  %negations.always = icmp ult i64 %negations.thread, {1 << 30}
"""


def without_negations(llvm_ir: str) -> str:
    """The LLVM assembly without ``fneg`` in functions that have barriers.

    >>> lines = "  %y = fneg float %x", "  call void @_Z7barrierj(i32 3)", "  ret void"
    >>> print(without_negations("\\n".join(["define void @k(float %x) {", "entry:", *lines, "}", ""])))
    define void @k(float %x) {
    entry:
      %negations.thread = call i64 @_Z12get_local_idj(i32 0)
      %negations.always = icmp ult i64 %negations.thread, 1073741824
      %negations.mask.0 = select i1 %negations.always, i32 -2147483648, i32 0
      %negations.bits.0 = bitcast float %x to i32
      %negations.flipped.0 = xor i32 %negations.bits.0, %negations.mask.0
      %y = bitcast i32 %negations.flipped.0 to float
      call void @_Z7barrierj(i32 3)
      ret void
    }
    <BLANKLINE>
    declare i64 @_Z12get_local_idj(i32)
    <BLANKLINE>
    """
    if "fneg" not in llvm_ir or _BARRIER not in llvm_ir:
        return llvm_ir
    changed = with_bodies(llvm_ir, _changed)
    if changed != llvm_ir and not re.search(rf'^declare\b[^\n]*@"?{_THREAD}"?\(', changed, re.MULTILINE):
        changed += f"\ndeclare i64 @{_THREAD}(i32)\n"
    return changed


def _changed(body: str) -> tuple[str, str]:
    if _BARRIER not in body or "fneg" not in body:
        return "", body
    count = 0

    def flipped(negation: re.Match) -> str:
        nonlocal count
        kind, bits = negation["type"], _BITS[negation["scalar"]]
        number, mask = f"i{bits}", f"i{bits} {-(1 << (bits - 1))}"
        if negation["lanes"]:
            number = f"<{negation['lanes']} x i{bits}>"
            mask = f"{number} splat ({mask})"
        nothing = "zeroinitializer" if negation["lanes"] else "0"
        lines = (
            f"  %negations.mask.{count} = select i1 %negations.always, {mask}, {number} {nothing}",
            f"  %negations.bits.{count} = bitcast {kind} {negation['value']} to {number}",
            f"  %negations.flipped.{count} = xor {number} %negations.bits.{count}, %negations.mask.{count}",
            f"  {negation['result']} = bitcast {number} %negations.flipped.{count} to {kind}",
        )
        count += 1
        return "\n".join(lines)

    return _ENTRY, _NEGATION.sub(flipped, body)
