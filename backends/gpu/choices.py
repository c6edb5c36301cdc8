"""Numbers that timing on a device decides: from where on one way of computing is the faster one, and how work is divided.

They are read when a program is compiled, as ``choices.NAME``, so that ``python -m tests.bench.devices --choices`` can time what
lies beside each. Most were found by counting bytes and instructions.
"""

from __future__ import annotations

# --- How many neighbouring elements a thread computes at once (kernels/vectors.py) ---

# What costs more, in cheap instructions, is computed one element a thread: its code would be as many times as long.
MOST_COST_OF_VECTORS = 400.0
# Bytes that a thread waits for at once, so that all threads of a processor keep its memory busy: of the H200's 4.2 TB/s with a
# latency of 0.7 us, 22 KB a processor, of 2048 threads 11 bytes each; and where the place of one load is what another one
# brings, of which threads wait for one at a time, several times as many.
BYTES_AHEAD, BYTES_BEHIND_OTHERS = 16, 64
MOST_VECTORS_AHEAD = 4
THREADS_OF_VECTORS = 1 << 18  # keep a device busy

# --- Loops and reductions as one launch (loop_groups.py) ---

# What moves more bytes by itself takes longer than its launch, some microseconds.
MOST_BYTES_TOGETHER = 16 << 20

# --- Rows in registers (kernels/rows.py) ---

# Vectors that a thread holds of a row: few where rows are short, so that more threads wait for memory.
VECTORS_OF_ROW = 4
THREADS_OF_ROWS, LARGEST_TEAM = 128, 1024
# Threads of a processor at once, so that some wait for memory while others compute: those whose rows take no more registers.
RESIDENT_THREADS, FEW_REGISTERS = 1536, 16

# --- Reductions by teams of threads (kernels/reduction.py) ---

# So many threads keep a device busy, and each has so many elements at least before another one helps it.
THREADS_OF_REDUCTION = 1 << 17
LEAST_ELEMENTS = 8
# Of several values that are reduced together, which LLVM does not do: so many vectors are loaded before they are combined.
VECTORS_OF_REDUCTION = 4

# --- Many updates of few elements, combined in copies that blocks have (kernels/scatter_copies.py) ---

# Blocks of as many threads as share their copies, and as many of them as large devices run at once.
COPY_THREADS, COPY_BLOCKS = 1024, 264
COPY_LEAST_ITEMS = 1 << 14
# The memory for the copies, and how many there are at most.
COPY_BYTES, MOST_COPIES = 16 << 10, 8
# How many updates an element has in each block at least, as all elements of all copies go to the device's memory; and in all,
# so that there are many blocks: others meet seldom enough there.
COPY_LEAST_IN_BLOCK, COPY_LEAST_UPDATES = 4, 512

# --- Updates in the order of their places, combined in runs (kernels/scatter_sorted.py) ---

# Items of a thread: those of one sector of the cache, or more where runs are so long and threads many.
FEW_ITEMS, MANY_ITEMS, LEAST_THREADS_OF_MANY = 8, 32, 1 << 15

# --- Windows that select an element (kernels/window.py) ---

# An element that so many places of the window reach is looked for at all of them; others are sent what they get.
MOST_PLACES = 4

# --- Sorts (kernels/sort_lines.py) ---

# By its instructions and bytes, merging runs takes about as long as a digit where a device has little to do, else three times
# as long: of no more records than these in all, lines of no more tiles than these for each digit are merged.
MERGED_RECORDS, MERGED_TILES = 1 << 20, 2

# --- Products (kernels/product_parts.py, kernels/matrix_divisions.py, which has the tiles) ---

# So many tiles keep a device busy. A part has so many terms at least, and the parts take so much memory at most.
BUSY_TILES = 256
LEAST_TERMS_OF_PART = 256
MOST_BYTES_OF_PARTS = 64 << 20
# Of tiles by multiply-adds (kernels/tiled_product.py), the code of so many for each thread is written out, in a loop over the
# terms of a tile: more of it takes as much longer to compile as it is longer. The largest tile's is written out as a whole.
MULTIPLY_ADDS_OF_ROUND = 256
# So many blocks keep a device busy: about as many as there are processors of blocks (AMD's data sheets of MI210, MI300X and
# RX 7900 XTX).
BUSY_BLOCKS_OF = {"gfx90a": 96, "gfx942": 256, "gfx1100": 96}
BUSY_BLOCKS = 112  # of NVIDIA's devices
