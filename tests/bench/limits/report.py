"""The records of the rows as a table: in the terminal, and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from .contenders import PEERS

COLUMNS = ("phlox", *PEERS)


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}" if seconds * scale < 1000 else f"{seconds * scale:.0f} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def amount(value: float, quantity: str) -> str:
    """A measured value with its unit."""
    if quantity == "seconds":
        return duration(value)
    if quantity == "bytes":
        return f"{value / 1e6:.4g} MB"
    return f"{value:.2g}"


def cells(record: dict[str, Any]) -> list[str]:
    """phlox's own value, how many times as much the peers take, the rate with the part of the limit, and the verdict."""
    if "error" in record:
        return ["failed", *[""] * len(PEERS), "", record["error"]]
    medians, quantity = record["medians"], record["quantity"]
    ours = medians["phlox"]
    others = [f"{medians[name] / ours:.2f}" if name in medians and ours else "" for name in PEERS]
    return [amount(ours, quantity), *others, limit(record), verdict(record)]


def limit(record: dict[str, Any]) -> str:
    """The rate of the fastest turn that is nearer to its limit."""
    names = {"bandwidth": "GB/s", "peak": "GFLOP/s"}
    parts = record.get("limits", {})
    if not parts:
        return ""
    nearest = max(parts, key=parts.__getitem__)
    return f"{record[names[nearest]]:.3g} {names[nearest]}, {parts[nearest]:.0%}"


def verdict(record: dict[str, Any]) -> str:
    """Met, or each target that is missed with what is reached of it."""
    wanted = record["targets"]
    if not wanted:
        return ""
    missed = [shown(one, record.get("quantity", "seconds")) for one in wanted if one["score"] is not None and one["score"] < 1]
    unknown = [one["against"] for one in wanted if one["score"] is None]
    text = "missed: " + "; ".join(missed) if missed else "met" if len(unknown) < len(wanted) else ""
    return (text + (f" ({', '.join(unknown)}: not measured)" if unknown else "")).strip()


def shown(target: dict[str, Any], quantity: str) -> str:
    """A target that is missed, as ``1.9 of 6 x JAX``."""
    against, wanted, reached = target["against"], target["wanted"], target["reached"]
    if against == "at most":
        return f"{amount(reached, quantity)}, at most {amount(wanted, quantity)}"
    if against in ("bandwidth", "peak"):
        return f"{reached:.0%} of {against}, {wanted:.0%} wanted"
    return f"{reached:.2f} of {wanted:g} x {against}"


def worst(record: dict[str, Any]) -> float:
    """The least score of a row: below 1 it misses a target, and by this factor."""
    if "error" in record:
        return 0.0
    return min((one["score"] for one in record["targets"] if one["score"] is not None), default=math.inf)


def geometric_means(chapter: dict[str, Any]) -> list[dict[str, Any]]:
    """The targets for a chapter as a whole, of the rows that were measured against this contender."""
    found = []
    for against, wanted in chapter["mean"].items():
        ratios = [
            one["medians"][against] / one["medians"]["phlox"]
            for one in chapter["rows"]
            if "medians" in one and against in one["medians"]
        ]
        if ratios:
            reached = math.exp(sum(map(math.log, ratios)) / len(ratios))
            found.append({"against": against, "wanted": wanted, "reached": reached, "score": reached / wanted})
    return found


def mean_text(target: dict[str, Any]) -> str:
    met = "met" if target["score"] >= 1 else "missed"
    return f"geometric mean: {target['reached']:.2f} x {target['against']}, {target['wanted']:g} wanted: {met}"


def text_lines(title: str, record: dict[str, Any]) -> Iterator[str]:
    """One line of the terminal's table, and one for each peer that has failed."""
    value, *others, rate, result = cells(record)
    yield f"{title:58.58} {value:>9} {' '.join(f'{one:>7}' for one in others)}  {rate:22} {result}".rstrip()
    for name, error in record.get("errors", {}).items():
        yield f"    {name} is left out: {error[:110]}"


def text_header() -> str:
    return f"{'':58} {'phlox':>9} {' '.join(f'{name:>7}' for name in PEERS)}  {'rate, of the limit':22} target"


def summary(chapters: Iterable[dict[str, Any]]) -> str:
    scores = [worst(record) for chapter in chapters for record in chapter["rows"]]
    with_targets = [score for score in scores if score != math.inf]
    return f"{sum(score >= 1 for score in with_targets)} of {len(with_targets)} rows meet their targets"


def by_chapter(chapters: Iterable[dict[str, Any]]) -> Iterator[str]:
    """A table with a line for each chapter: how many times as long the peers take, in the geometric mean of its rows."""
    yield f"| | {' | '.join(PEERS)} | meet their targets |"
    yield f"|---|{'---:|' * len(PEERS)}---|"
    for chapter in chapters:
        rows = [row for row in chapter["rows"] if row.get("quantity") == "seconds"]
        means = []
        for name in PEERS:
            ratios = [row["medians"][name] / row["medians"]["phlox"] for row in rows if name in row["medians"]]
            means.append(f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}" if ratios else "")
        met = sum(worst(row) >= 1 for row in chapter["rows"])
        yield f"| {chapter['title']} | {' | '.join(means)} | {met} of {len(chapter['rows'])} |"


def markdown(result: dict[str, Any]) -> str:
    """The whole table as a page."""
    machine = result["machine"]
    memory = machine["limits"]["bytes per second by footprint"]
    lines = [
        "# Benchmarks",
        "",
        "phlox beside NumPy, SciPy, JAX, Numba, and what the machine can do. `python -m tests.bench.limits --markdown "
        + "docs/benchmarks.md` writes this page.",
        "",
        f"{machine['processor']}, {machine['limits']['threads']} threads. "
        + f"Memory: {min(memory.values(), default=0) / 1e9:.0f} GB/s. "
        + ", ".join(f"{unit} {peak / 1e9:.0f} GFLOP/s" for unit, peak in machine["limits"]["flops"].items())
        + f". {', '.join(f'{name} {version}' for name, version in machine['versions'].items())}.",
        "",
        "phlox: the median of one call. The others: how many times as long they take. The rate is that of the "
        + f"fastest turn, as the limit is. {summary(result['chapters'])}.",
        "",
        *by_chapter(result["chapters"]),
    ]
    for chapter in result["chapters"]:
        lines += ["", f"## {chapter['title']}", ""]
        lines += [f"| | {' | '.join(COLUMNS)} | rate, of the limit | target |", f"|---|{'---:|' * len(COLUMNS)}---|---|"]
        lines += [f"| {record['row']} | {' | '.join(cells(record))} |" for record in chapter["rows"]]
        lines += [line for target in geometric_means(chapter) for line in ("", mean_text(target))]
    return "\n".join(lines) + "\n"
