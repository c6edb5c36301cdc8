"""The records of lines, sorted in memory: by digits where many are ordered by a number, else by merging tiles."""

from __future__ import annotations

from ....hlo import Instruction
from .. import choices
from ..frame import Frame
from ..values import Leaf, Stored
from .sort_merge import merge_tiles, merged_bytes
from .sort_order import Lines, SortedRecords, SortOrder
from .sort_radix import RadixSort, WriteRecord, radix_sort
from .sort_tile import tile_size


def _radix(order: SortOrder, lines: Lines, bits: int | None) -> RadixSort | None:
    """The sort by digits of numbers of so many bits, None where another way is better."""
    if bits is None:
        return None
    radix = RadixSort(order, lines, bits)
    is_merged = radix.total <= choices.MERGED_RECORDS and lines.size <= tile_size(order) * choices.MERGED_TILES * radix.digits
    return None if is_merged else radix


def sorted_bytes(order: SortOrder, lines: Lines, bits: int | None) -> int:
    """The memory that it takes."""
    radix = _radix(order, lines, bits)
    return merged_bytes(order, lines) if radix is None else radix.scratch_bytes


def sorted_records(
    frame: Frame, instruction: Instruction, key: tuple, lines: Lines, records: SortedRecords, inputs: list[Leaf]
) -> list[Stored]:
    """The records of all lines, sorted, one line after the other, in the memory of an instruction."""
    radix = _radix(records.order, lines, records.key_bits)
    if radix is None:
        return merge_tiles(frame, instruction, key, lines, records, inputs)
    return radix_sort(frame, instruction, key, radix, records, inputs)


def write_sorted(
    frame: Frame,
    instruction: Instruction,
    key: tuple,
    lines: Lines,
    records: SortedRecords,
    inputs: list[Leaf],
    outputs: list[Stored],
    write: WriteRecord,
) -> bool:
    """Sort lines and write what becomes of their records at once; False, with nothing done, where that is not better."""
    radix = _radix(records.order, lines, records.key_bits)
    if radix is None or lines.inner > 1:  # neighbours in a line are none in the results
        return False
    radix_sort(frame, instruction, key, radix, records, inputs, outputs, write)
    return True
