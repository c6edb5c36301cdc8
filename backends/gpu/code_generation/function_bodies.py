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
