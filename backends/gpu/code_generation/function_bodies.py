"""The functions of LLVM assembly, for rewrites that change what one does and need something at its beginning."""

from __future__ import annotations

import re
from collections.abc import Callable

_FUNCTION = re.compile(r"^(?P<head>define\b[^{]*\{\n\S+:[^\n]*\n)(?P<body>.*?)^\}", re.MULTILINE | re.DOTALL)


def with_bodies(llvm_ir: str, change: Callable[[str], tuple[str, str]]) -> str:
    """The assembly with other functions: ``change(body)`` gives what comes first in one, and what comes then.

    >>> print(with_bodies("define void @f() {\\nentry:\\n  ret void\\n}\\n", lambda body: ("  call void @g()\\n", body)))
    define void @f() {
    entry:
      call void @g()
      ret void
    }
    <BLANKLINE>
    """
    return _FUNCTION.sub(lambda found: found["head"] + "".join(change(found["body"])) + "}", llvm_ir)


def from_memory(name: str, place: str, bits: int | str, value: int | str) -> str:
    """Assembly for the beginning of a function: an integer, read from where compilers do not know what is stored.

    >>> print(from_memory("%one", "%place", 32, 1), end="")
      %place = alloca i32
      store volatile i32 1, ptr %place
      %one = load volatile i32, ptr %place
    """
    return (
        f"  {place} = alloca i{bits}\n"
        f"  store volatile i{bits} {value}, ptr {place}\n"
        f"  {name} = load volatile i{bits}, ptr {place}\n"
    )
