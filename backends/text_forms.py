"""The forms in which an executable shows what runs: its optimized module, a device's plan, code as text."""

from __future__ import annotations

from collections.abc import Callable


def text_in_form(form: str, forms: dict[str, Callable[[], str]]) -> str:
    """The text in one of the forms that there are, which are functions that make it.

    Raises ValueError, which names them, for any other.

    >>> text_in_form("hlo", {"hlo": lambda: "HloModule m", "llvm": lambda: "define void @m()"})
    'HloModule m'
    """
    if form not in forms:
        raise ValueError(f"as_text: one of {', '.join(map(repr, forms))} is required, {form!r} given")
    return forms[form]()
