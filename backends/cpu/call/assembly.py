"""Two notations for LLVM assembly that reads structs of other languages: fields by name, and pointers filled at load."""

from __future__ import annotations

import re

_FIELD = re.compile(r"(%\w+) = field (\w+) (%\w+), (\w+)")
_NAME = re.compile(r"\b(?:[A-Z]+_[A-Z0-9_]+|[A-Z][a-z]+_[A-Za-z_]+)\b")


def substitute(text: str, names: dict[str, int]) -> str:
    """Puts in the values of names, and a ``getelementptr`` and a ``load`` for each ``%x = field <type> <pointer>, <name>``.

    Names have the form ``NAME_IN_CAPITALS`` or ``Record_field``; others stay as they are.

    >>> print(substitute("%rank = field i32 %array, ARRAY_RANK", {"ARRAY_RANK": 24}))
    %rank.at = getelementptr i8, ptr %array, i64 24
      %rank = load i32, ptr %rank.at
    """
    text = _FIELD.sub(r"\1.at = getelementptr i8, ptr \3, i64 \4\n  \1 = load \2, ptr \1.at", text)
    return _NAME.sub(lambda match: str(names.get(match[0], match[0])), text)


def pointers(names: tuple[str, ...]) -> str:
    """Definitions of global pointers, null until the address they stand for is stored in them.

    >>> pointers(("malloc",))
    '@malloc = global ptr null\\n'
    """
    return "".join(f"@{name} = global ptr null\n" for name in names)
