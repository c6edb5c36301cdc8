"""How large the tiles of a product are computed by multiply-adds: what keeps a device busy, and fits into registers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .product import Product

THREADS = 256
SIDE = 16  # threads along rows and along columns of a tile


@dataclass(frozen=True)
class Tile:
    """How many rows, columns and terms a block takes at once."""

    rows: int
    columns: int
    terms: int


# From the one that reads least to the one of which there are most.
TILES = tuple([
    Tile(*sizes)
    for sizes in (
        (128, 128, 8), (128, 64, 16), (64, 128, 16), (64, 64, 16), (32, 64, 16), (64, 32, 16), (16, 128, 16), (128, 16, 16),
        (32, 32, 16),
    )
])  # fmt: skip
LARGEST_TILE = TILES[0]
_SMALLEST_TILE = Tile(16, 16, 16)
_LEAST_TERMS = 8
_BUSY_BLOCKS = 128
_MOST_SUM_BYTES = 256  # of a thread


def tile_for(product: Product, element_bytes: int, parts: int = 1, registers: int | None = None) -> Tile:
    """The largest tile of which the result has enough to keep a device busy, whose sums fit into registers.

    Where there are just so many registers, all that may be in them does.
    """
    batches, rows, columns, _ = product.sizes
    for tile in TILES:
        tiles = parts * batches * -(-rows // tile.rows) * -(-columns // tile.columns)
        is_half_empty = tile.rows >= 2 * max(16, rows) or tile.columns >= 2 * max(16, columns)
        fits = tile.rows * tile.columns * element_bytes <= THREADS * _MOST_SUM_BYTES
        if not fits or tiles < _BUSY_BLOCKS or is_half_empty:
            continue
        for fitting in (tile, replace(tile, terms=_LEAST_TERMS)):
            if registers is None or registers_of(fitting, element_bytes) <= registers:
                return fitting
    return _SMALLEST_TILE


def registers_of(tile: Tile, element_bytes: int) -> int:
    """How many a thread needs, of 32 bits: for its sums, for what it fetches, and for its rows and columns of all terms of a
    tile, as LLVM may load these before it multiplies any.
    """
    lines = tile.rows + tile.columns
    elements = tile.rows * tile.columns // THREADS + lines * tile.terms // THREADS + lines // SIDE * tile.terms
    return elements * -(-element_bytes // 4)
