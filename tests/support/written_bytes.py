"""Which bytes of an emulated device's memory anybody has written: what is read of others is an error.

So it is, as in NVIDIA's compute-sanitizer (initcheck), with each load, whatever becomes of its value. Two kinds of accesses
take whole words, of which a part may be nobody's: atomic ones, of elements that are narrower (the rest is put back as it was),
and AMD's scalar loads, of as many words as there is an instruction for.
"""

from __future__ import annotations

import numpy as np


class UnwrittenError(Exception):
    """A kernel reads what nobody has written."""


class WrittenBytes:
    """A mark for each byte. Places are numbers of bytes."""

    def __init__(self, size: int) -> None:
        self.marks = np.zeros(size, np.uint8)
        self._views = {unit: self.marks.view(f"u{unit}") for unit in (1, 2, 4, 8)}

    def set(self, begin: int, size: int, is_written: bool = True) -> None:
        self.marks[begin : begin + size] = is_written

    def note(self, places: np.ndarray, size: int) -> None:
        """So many bytes from each place on are written."""
        view, unit, first = self._units(places, size)
        for number in range(size // unit):
            view[first + number] = _ALL[unit]

    def require(self, places: np.ndarray, size: int) -> None:
        """Raises UnwrittenError where one of so many bytes from a place on was never written."""
        view, unit, first = self._units(places, size)
        for number in range(size // unit):
            found = view[first + number]
            if (found != _ALL[unit]).any():
                self._refuse(places, first, found != _ALL[unit], size)

    def require_any(self, places: np.ndarray, size: int) -> None:
        """Likewise, where all of them were never written."""
        view, unit, first = self._units(places, size)
        found = view[first]
        for number in range(1, size // unit):
            found = found | view[first + number]
        if (found == 0).any():
            self._refuse(places, first, found == 0, size)

    def note_atomic(self, places: np.ndarray, size: int, reads: bool = True, writes: bool = False) -> None:
        """An access of words at once. Of a word that is combined with another one, what was nobody's stays so."""
        if reads:
            self.require_any(places, size)
        if writes:
            self.note(places, size)

    def _units(self, places, size):
        together = int(np.bitwise_or.reduce(places)) | size | 8 if places.size else 8
        unit = together & -together
        return self._views[unit], unit, places // unit

    def _refuse(self, places, first, wrong, size):
        which = np.flatnonzero(wrong)
        raise UnwrittenError(
            f"{which.size} of {places.size} threads read {size} bytes of which nobody has written some; the first one those at "
            f"byte {int(places[which[0]]):#x}"
        )


_ALL = {unit: np.array(int.from_bytes(b"\1" * unit, "little"), f"u{unit}") for unit in (1, 2, 4, 8)}
