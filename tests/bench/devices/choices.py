"""The constants of `phlox.backends.gpu.choices`, and tables of tiles: which of some values is the fastest, program by program.

A row is a constant and a program. Each value is put in the constant's place while the program is compiled; where the code is
the same as with another value it is not timed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import phlox
from phlox.backends.gpu import choices
from phlox.backends.gpu.kernels import matrix_divisions, product_tiles
from phlox.backends.gpu.kernels.matrix_divisions import Division
from phlox.backends.gpu.kernels.product_tiles import Tile
from phlox.hlo import parse_module

from ..limits.contenders import leaves
from ..limits.measuring import compare
from .bench import Bench
from .cases import Case, Row, Sizes, floats, places, some
from .chapters import moving, ordering
from .chapters.products import multiplied
from .contenders import waiting_for
from .timing import times_of

Make = Callable[[Bench], Case]


@dataclass(frozen=True)
class Choice:
    """A constant of a module, values for it, and programs by name. What stands there now is a value, too."""

    name: str
    values: tuple[Any, ...]
    programs: tuple[tuple[str, Make], ...]
    module: Any = choices

    @property
    def present(self) -> Any:
        return getattr(self.module, self.name)


@contextmanager
def replaced(choice: Choice, value: Any):
    present = choice.present
    setattr(choice.module, choice.name, value)
    try:
        yield
    finally:
        setattr(choice.module, choice.name, present)


def measured(choice: Choice, make: Make, bench: Bench) -> dict[str, Any]:
    case, memory = make(bench), bench.backend.memory
    module = case.module or phlox.jit(case.function, **case.options).lower(*case.arguments).module
    buffers = [memory.share(one) for one in case.arguments]
    expected = list(leaves(case.reference()))
    values = [choice.present, *[value for value in choice.values if value != choice.present]]
    contenders: dict[str, Any] = {}
    codes: dict[Any, str] = {}
    same, errors = {}, {}
    for value in values:
        name = text_of(value)
        try:
            with replaced(choice, value):
                executable = bench.backend.compile(module)
            code = executable.program.code, executable.as_text("plan")
            if code in codes:
                same[name] = codes[code]
                continue
            result, *_ = executable.execute(buffers)  # others say whether places were inside
            compare(name, list(leaves(case.sample(memory.read(result)))), "NumPy", expected, case.tolerance)
        except Exception as error:
            errors[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            if bench.is_lost():
                break
            continue
        codes[code] = name
        contenders[name] = partial(executable.execute, buffers), waiting_for(bench.name)
    record: dict[str, Any] = {"present": text_of(choice.present), "same": same, "errors": errors, "times": {}}
    if len(contenders) > 1:
        record["times"] = {name: seconds for name, (seconds, _) in times_of(contenders, bench.turns).items()}
    return record


def text_of(value: Any) -> str:
    match value:
        case Division():
            form = f"{value.rows}x{value.columns} by {value.warp_rows}x{value.warp_columns}, {value.stages} stages"
            return f"{form}, grouped" if value.is_grouped else form
        case Tile():
            return f"{value.rows}x{value.columns}x{value.terms}"
        case (one,):
            return text_of(one)
        case tuple():
            return "the table"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def rows_of(words: Sequence[str], sizes: Sizes) -> Iterator[tuple[str, Row]]:
    """Rows that have one of the words in their names; of no words, all."""
    for choice in all_choices(sizes):
        for name, make in choice.programs:
            row = Row(f"{choice.name}: {name}", None, partial(measured, choice, make))
            if not words or any(word.lower() in row.name.lower() for word in words):
                yield choice.module.__name__.rpartition(".")[2], row


def verdict(record: dict[str, Any]) -> str:
    """The fastest value, and what it saves."""
    if "error" in record:
        return f"failed: {record['error']}"
    times, present = record["times"], record["present"]
    if not times:
        return f"failed with {len(record['errors'])} values" if record["errors"] else "the same code with all of them"
    best = min(times, key=lambda name: times[name])
    if best == present or present not in times:
        return f"{best} is the fastest"
    return f"{best} instead of {present}: {1 - times[best] / times[present]:.1%} less"


def line(record: dict[str, Any]) -> str:
    parts = [f"{name}: {seconds * 1e6:,.1f} us" for name, seconds in record.get("times", {}).items()]
    wrong = [f"{name}: {error}" for name, error in record.get("errors", {}).items()]
    return "\n    ".join([f"{record['row']}: {verdict(record)}", *["; ".join(parts)] * bool(parts), *wrong])


def as_text(chapters: list[tuple[str, list[dict[str, Any]]]]) -> str:
    """What is the fastest, in a line each."""
    return "\n".join(f"{record['row']:60} {verdict(record)}" for _, records in chapters for record in records)


def markdown(device: str, chapters: list[tuple[str, list[dict[str, Any]]]]) -> str:
    lines = [
        "# Choices on a device",
        "",
        f"Measured by `python -m tests.bench.devices --choices` on {device}; the first value is the present one.",
        "",
        "| | times | |",
        "|---|---|---|",
    ]
    for _, records in chapters:
        for record in records:
            times = "; ".join([f"{name}: {seconds * 1e6:,.1f} us" for name, seconds in record.get("times", {}).items()])
            lines.append(f"| {record['row']} | {times} | {verdict(record)} |")
    return "\n".join(lines) + "\n"


# --- The programs ---


_SUMS_IN_ORDER = """HloModule m
add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}}
ENTRY e {{
  x = f32[{limit}] parameter(0)
  i = s32[{count},1] parameter(1)
  u = f32[{count}] parameter(2)
  ROOT r = f32[{limit}] scatter(x, i, u), update_window_dims={{}}, inserted_window_dims={{0}},
    scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, indices_are_sorted=true, to_apply=add
}}"""


def sums_in_order(limit: int, count: int, bench: Bench) -> Case:
    """Sums of segments, whose elements lie side by side."""
    x, u = np.zeros(limit, np.float32), floats(count)
    i = np.sort(places(limit, count, 1, dtype=np.int32), axis=0)

    def reference() -> np.ndarray:
        total = x.astype(np.float64)
        np.add.at(total, i[:, 0], u)
        return total

    module = parse_module(_SUMS_IN_ORDER.format(limit=limit, count=count))
    return Case(None, (x, i, u), module=module, reference=reference, tolerance=1e-4)


def sums_of(shape: tuple[int, ...], axis: int, bench: Bench) -> Case:
    x = floats(*shape)

    def total(x):
        return x.sum(axis=axis)

    return Case(total, (x,), reference=lambda: total(x.astype(np.float64)), tolerance=1e-4)


def rows_alone(function: Callable[..., Any], shape: tuple[int, int], bench: Bench) -> Case:
    x = floats(*shape)
    seen = some(len(x))
    reference = lambda: function(x[seen].astype(np.float64))  # noqa: E731
    return Case(function, (x,), reference=reference, sample=lambda result: result[seen], tolerance=1e-4)


def sorted_lines(count: int, columns: int, bench: Bench) -> Case:
    x = floats(max(1, count // columns), columns)
    return Case(ordering.sorted_rows, (x,), reference=lambda: np.sort(x, axis=1), tolerance=0)


def of_halves(count: int, bench: Bench) -> Case:
    x, y = (floats(count, dtype=np.float16, seed=seed) for seed in range(2))
    return Case(lambda x, y: x + y, (x, y), reference=lambda: x + y, tolerance=2e-3)


def product_of(rows: int, terms: int, columns: int, bench: Bench) -> Case:
    x, y = floats(rows, terms), floats(terms, columns, seed=1)
    return Case(lambda x, y: x @ y, (x, y), reference=lambda: x.astype(np.float64) @ y, tolerance=1e-4)


_SENT = """HloModule m
ge {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GE
}}
add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}}
ENTRY e {{
  x = f32[{size},{size}] parameter(0)
  s = f32[{places},{places}] parameter(1)
  z = f32[] constant(0)
  ROOT r = f32[{size},{size}] select-and-scatter(x, s, z), window={{size={side}x{side} stride={stride}x{stride}}}, select=ge,
    scatter=add
}}"""


def pooled(side: int, stride: int, size: int, bench: Bench) -> Case:
    """The gradient of a maximum over windows."""
    count = (size - side) // stride + 1
    x, sent = floats(size, size), floats(count, count, seed=1)

    def reference() -> np.ndarray:
        windows = np.lib.stride_tricks.sliding_window_view(x, (side, side))[::stride, ::stride]
        best = windows.reshape(count, count, -1).argmax(axis=2)
        starts = stride * np.arange(count)
        total = np.zeros((size, size))
        np.add.at(total, (starts[:, None] + best // side, starts + best % side), sent)
        return total

    module = parse_module(_SENT.format(size=size, places=count, side=side, stride=stride))
    return Case(None, (x, sent), module=module, reference=reference, tolerance=1e-5)


def all_choices(sizes: Sizes) -> list[Choice]:
    count, many = sizes.elements, sizes.records[-1]
    scale = 64 if sizes.is_tiny else 1

    def named(**programs: Make) -> tuple[tuple[str, Make], ...]:
        return tuple((name.replace("_", " "), make) for name, make in programs.items())

    lines = named(
        axpy=moving.of_elements(moving.axpy, 2), halves=partial(of_halves, count), chain=moving.of_elements(moving.chain, 1)
    )  # fmt: skip
    few_halves = tuple((f"{number:,} halves", partial(of_halves, number)) for number in (count // 64, count // 16, count // 4))
    gathers = named(narrow_rows=partial(moving.gathers, 16), wide_rows=partial(moving.gathers, 1024))
    softmaxes = tuple(
        (f"softmax of rows of {width}", partial(rows_alone, moving.softmax, (count // 4 // width, width)))
        for width in ((64,) if sizes.is_tiny else (64, 256, 1024, 4096, 16384))
    )
    reductions = tuple(
        (f"sums of {' x '.join(map(str, shape))}, axis {axis}", partial(sums_of, shape, axis))
        for shape in ((1000 // scale, 1000 // scale), (10, 1_000_000 // scale), (1_000_000 // scale, 10), (count,))
        for axis in range(len(shape))
    )
    counts = tuple(
        (f"{updates:,} at {limit:,}", partial(ordering.sums_at, limit, 0, False, updates))
        for limit in ((10, 100) if sizes.is_tiny else (10, 256, 1000, 4000))
        for updates in sizes.records
    )
    segments = tuple(
        (f"{many:,} in order at {many // length:,}", partial(sums_in_order, many // length, many))
        for length in (4, 16, 64, 512)
    )
    sorts = tuple(
        (f"rows of {width:,}, {total:,} in all", partial(sorted_lines, total, width))
        for total in sizes.records
        for width in ((256, 4096) if sizes.is_tiny else (4096, 16384, 65536, total))
    )
    split = tuple(
        (f"{rows} x {terms} by {terms} x {columns}", partial(product_of, rows, terms, columns))
        for rows, terms, columns in (
            ((16, 128, 16),) if sizes.is_tiny else ((64, 100_000, 64), (256, 8192, 256), (512, 512, 512), (1024, 1024, 1024))
        )
    )
    side = sizes.products[0]

    def products(*kinds: str) -> tuple[tuple[str, Make], ...]:
        return tuple((f"{side} x {side}, {kind}", partial(multiplied, kind, side, "nn")) for kind in kinds)

    pools = tuple(
        (f"windows of {side} x {side} every {stride}", partial(pooled, side, stride, 16 if sizes.is_tiny else 2048))
        for side, stride in ((2, 2), (3, 2), (3, 1), (5, 1))
    )
    table = matrix_divisions.WARP_DIVISIONS
    grouped = matrix_divisions.GROUPED_WARP_DIVISIONS
    of_sizes = tuple(
        (f"{size} x {size}, bf16", partial(multiplied, "bf16", size, "nn"))
        for size in ((32,) if sizes.is_tiny else (1024, 1536, 2048))
    )
    of_units = products("bf16", "tf32", "int8")
    wide_groups = [
        *[replace(grouped[0], stages=stages) for stages in (3, 4)],
        *[replace(grouped[1], stages=stages) for stages in (3, 4, 5, 6)],
        Division(256, 128, 16, 1, 4, is_grouped=True),
        Division(64, 256, 4, 1, 4, is_grouped=True),
        Division(64, 128, 4, 1, 6, is_grouped=True),
        Division(192, 128, 12, 1, 4, is_grouped=True),
    ]
    narrow_warps = [replace(one, stages=stages) for one in table for stages in (2, 3, 4)]
    return [
        Choice("GROUPED_WARP_DIVISIONS", tuple((one,) for one in wide_groups), of_units, matrix_divisions),
        Choice("TILES", tuple((one,) for one in product_tiles.TILES), products("f32"), product_tiles),
        Choice("BUSY_BLOCKS", (56, 112, 132, 264), of_sizes),
        Choice("WARP_DIVISIONS", tuple((one,) for one in narrow_warps), products("f64"), matrix_divisions),
        Choice("BYTES_AHEAD", (4, 8, 16, 32, 64), lines),
        Choice("VECTORS_OF_ROW", (1, 2, 4, 8), softmaxes),
        Choice("THREADS_OF_ROWS", (64, 128, 256, 512), softmaxes),
        Choice("RESIDENT_THREADS", (1024, 1536, 2048), softmaxes),
        Choice("FEW_REGISTERS", (0, 16, 32), softmaxes),
        Choice("BYTES_BEHIND_OTHERS", (16, 32, 64, 128), gathers),
        Choice("MOST_VECTORS_AHEAD", (1, 2, 4, 8), lines + gathers),
        Choice("THREADS_OF_VECTORS", (1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20), few_halves),
        Choice("MOST_COST_OF_VECTORS", (100.0, 200.0, 400.0, 800.0), lines[-1:]),
        Choice("LARGEST_TEAM", (256, 512, 1024), softmaxes[-1:]),
        Choice("COPY_BYTES", (4 << 10, 8 << 10, 16 << 10, 32 << 10), counts),
        Choice("MOST_COPIES", (1, 2, 4, 8, 16, 32), counts),
        Choice("COPY_BLOCKS", (132, 264, 528), counts),
        Choice("COPY_THREADS", (256, 512, 1024), counts),
        Choice("COPY_LEAST_IN_BLOCK", (1, 4, 16), counts),
        Choice("COPY_LEAST_UPDATES", (64, 512, 4096, 32768), counts),
        Choice("COPY_LEAST_ITEMS", (1 << 14, 1 << 30), counts),  # the larger one: no copies
        Choice("MANY_ITEMS", (8, 16, 32, 64), segments),
        Choice("FEW_ITEMS", (4, 8, 16), segments),
        Choice("MOST_PLACES", (1, 4, 9, 100), pools),
        Choice("MERGED_RECORDS", (0, 1 << 18, 1 << 20, 1 << 22, 1 << 24), sorts),
        Choice("MERGED_TILES", (0, 1, 2, 4, 8), sorts),
        Choice("THREADS_OF_REDUCTION", (1 << 15, 1 << 16, 1 << 17, 1 << 18), reductions),
        Choice("LEAST_ELEMENTS", (4, 8, 16, 32), reductions),
        Choice("BUSY_TILES", (64, 132, 256, 528), split),
        Choice("LEAST_TERMS_OF_PART", (64, 128, 256, 512), split),
        Choice("MULTIPLY_ADDS_OF_ROUND", (64, 128, 256, 512), split),
    ]
