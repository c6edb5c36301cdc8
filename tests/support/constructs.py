"""The modules of tests/data/constructs.txt and dumps.txt, by their names, and what cannot be done with them."""

import re
from typing import NamedTuple

from paths import DATA


class Construct(NamedTuple):
    text: str
    without: frozenset[str]


def _read():
    text = "".join((DATA / name).read_text(encoding="utf-8") for name in ("constructs.txt", "dumps.txt"))
    parts = re.split(r"^=== (.*)\n", text, flags=re.MULTILINE)[1:]
    found = {}
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        name, _, without = title.partition(" - ")
        assert name not in found, name
        found[name] = Construct(text, frozenset(without.split()))
    return found


CONSTRUCTS = _read()
