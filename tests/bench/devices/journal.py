"""What was measured, written line by line in JSON as it is found: what ends early is not lost, and goes on from there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

Key = tuple[str, str]  # of a chapter and a row


class Journal:
    """The records of a file, in order, and what is added to it. ``begun`` is the row that has a begin and no record."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.records: dict[Key, dict[str, Any]] = {}
        self.facts: dict[str, Any] = {}
        self.begun: Key | None = None
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    self._read(json.loads(line))
                except ValueError:  # the last line of a process that was ended
                    continue

    def _read(self, entry: dict[str, Any]) -> None:
        if "facts" in entry:
            self.facts = entry["facts"]
        elif "begun" in entry:
            self.begun = tuple(entry["begun"])
        else:
            self.records[entry["chapter"], entry["row"]] = entry
            self.begun = None

    def _write(self, entry: dict[str, Any]) -> None:
        self._read(entry)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def tell(self, facts: dict[str, Any]) -> None:
        """Of the machine; said again where it is another one than before."""
        if facts != self.facts:
            self._write({"facts": facts})

    def begin(self, chapter: str, row: str) -> None:
        self._write({"begun": [chapter, row]})

    def add(self, chapter: str, record: dict[str, Any]) -> None:
        self._write({"chapter": chapter, **record})

    def chapters(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Titles, and the records of each."""
        found: dict[str, list[dict[str, Any]]] = {}
        for (chapter, _), record in self.records.items():
            found.setdefault(chapter, []).append(record)
        return list(found.items())
