"""Numbers among the characters of a program, whose text Python makes: their formats, and their texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...calls.text_calls import shown_by

IN_USE = 2**30
PAYLOAD = 22  # bits of a number in one element
_LAST_CHARACTER = 0x10FFFF


def _within(begins: np.ndarray, ends: np.ndarray, size: int) -> np.ndarray:
    """Which of so many places lie in one of the ranges."""
    steps = np.zeros(size + 1, np.int64)
    np.add.at(steps, begins, 1)
    np.add.at(steps, ends, -1)
    return np.cumsum(steps)[:-1] > 0


class Formats:
    """The formats of numbers among characters, as (conversion, specification, type, whether it is Python's)."""

    def __init__(self) -> None:
        self.known: list[tuple[int, str, np.dtype, bool]] = []

    def number(self, *wanted: Any) -> int:
        if wanted not in self.known:
            self.known.append(wanted)
        return self.known.index(wanted)

    def texts(self, codes: np.ndarray, places: np.ndarray) -> list[str]:
        """The texts that begin at places, and have lengths, with those of the numbers among them."""
        begins, ends = places[:, 0], places.sum(axis=1)
        codes = codes[: ends.max(initial=0)]
        if codes.min(initial=0) < 0:
            codes = np.where(_within(begins, ends, len(codes)), codes, 0)  # between the texts there may be anything
        markers = np.flatnonzero((codes < 0) & (codes > -IN_USE))
        whole = text_of(self._without_numbers(codes, markers))
        pairs = zip(begins.tolist(), ends.tolist())
        if not len(markers):
            return [whole[begin:end] for begin, end in pairs]
        shown, found = self._shown(codes, markers), []
        first, last, markers = np.searchsorted(markers, begins), np.searchsorted(markers, ends), markers.tolist()
        for (begin, end), one, behind in zip(pairs, first.tolist(), last.tolist()):
            pieces = []
            for number in range(one, behind):
                pieces += (whole[begin : markers[number]], shown[number])
                begin = markers[number] + 4
            found.append("".join([*pieces, whole[begin:end]]))
        return found

    def text_of_bytes(self, elements: bytes) -> str:
        codes = np.frombuffer(elements, np.int32)
        return self.text_at(codes, 0, len(codes))

    def text_at(self, codes: np.ndarray, start: int, length: int) -> str:
        codes = codes[start : start + length]
        return self.texts(codes, np.array([[0, len(codes)]]))[0]

    def _without_numbers(self, codes: np.ndarray, markers: np.ndarray) -> np.ndarray:
        """What can be decoded, as long."""
        if codes.min(initial=0) >= 0 and codes.max(initial=0) <= _LAST_CHARACTER:
            return codes
        characters = np.where((codes < 0) | (codes > _LAST_CHARACTER), 0, codes)
        for k in range(1, 4):
            characters[markers + k] = 0
        return characters

    def _shown(self, codes: np.ndarray, markers: np.ndarray) -> list[str]:
        """The texts of the numbers at these places."""
        low, middle, high = (codes[markers + k].astype(np.uint64) for k in (1, 2, 3))
        bits = low | middle << np.uint64(PAYLOAD) | high << np.uint64(2 * PAYLOAD)
        kinds = -1 - codes[markers]
        shown: list[str] = [""] * len(markers)
        for kind in set(kinds.tolist()):
            own, (conversion, specification, dtype, is_weak) = np.flatnonzero(kinds == kind), self.known[kind]
            values = bits[own].view(dtype)[:: 8 // dtype.itemsize]
            # Of a float64 NumPy makes what Python does, and slower.
            is_weak |= dtype == np.float64 and specification != "" and conversion == -1
            text = shown_by(conversion, specification)
            for place, one in zip(own.tolist(), map(text, values.tolist() if is_weak else values)):
                shown[place] = one
        return shown


def text_of(codes: np.ndarray) -> str:
    return codes.tobytes().decode("utf-32-le", "surrogatepass")
