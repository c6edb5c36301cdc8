"""Bytes as the texts whose characters have their numbers: so they lie among the program's characters."""

from __future__ import annotations


def bytes_of_text(text: str) -> bytes:
    """The bytes whose numbers are the code points of a text: what bytes are among the program's characters."""
    return text.encode("latin-1")


def text_of_bytes(value: bytes) -> str:
    return value.decode("latin-1")
