"""The table of targets, as text and as a page."""

from __future__ import annotations

from typing import Any

from .cases import AT_MOST, COPY

Chapters = list[tuple[str, list[dict[str, Any]]]]
HEADINGS = ("", "phlox", "others", "rate", "reached", "")


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f} ms" if seconds >= 0.1 else f"{seconds * 1e6:,.1f} us"


def _amount(record: dict[str, Any], amount: float) -> str:
    if record["against"] == AT_MOST:
        return _time(amount)
    if record["against"] == COPY:
        return f"{amount:.0%} of copy"
    return f"{amount:.2f} x {record['against']}"


def _rate(record: dict[str, Any]) -> str:
    seconds = record.get("seconds")
    if not seconds:
        return ""
    if record.get("flops"):
        return f"{record['flops'] / seconds / 1e12:.1f} TFLOP/s"
    return f"{record['bytes'] / seconds / 1e9:,.0f} GB/s" if record.get("bytes") else ""


def verdict(record: dict[str, Any]) -> str:
    """Whether the target is met, or by how much it is missed, or why nothing says it."""
    if "error" in record:
        return f"failed: {record['error']}"
    if "against" not in record:
        return record.get("note", "")
    score = record.get("score")
    if score is None:
        text = f"not measured: no {record['unmeasured']}" if "unmeasured" in record else "not measured"
    else:
        text = "met" if score >= 1 else f"missed by {1 - score:.0%}"
    return "; ".join([text, *[record["note"] for _ in range(1) if record.get("note")], *record.get("errors", {}).values()])


def cells(record: dict[str, Any]) -> tuple[str, ...]:
    """One for each heading."""
    seconds, peers = record.get("seconds"), record.get("peers", {})
    others = ", ".join([f"{name} {_time(one)}" for name, one in peers.items()])
    reached = _amount(record, record["reached"]) if "reached" in record else ""
    return record["row"], _time(seconds) if seconds else "", others, _rate(record), reached, verdict(record)


def line(record: dict[str, Any]) -> str:
    name, ours, others, rate, reached, text = cells(record)
    return "  ".join([one for one in (f"{name:46}", f"{ours:>12}", others, rate, reached, text) if one])


def heading(title: str, records: list[dict[str, Any]]) -> str:
    """What is wanted of a chapter's rows, and how many targets are met, of those that were measured."""
    scores = [record["score"] for record in records if "score" in record and "error" not in record]
    failed = sum("error" in record for record in records)
    rest = sum("against" in record and "score" not in record and "error" not in record for record in records)
    wanted = dict.fromkeys(_amount(record, record["wanted"]) for record in records if "wanted" in record)
    text = f"{title}: {sum(score >= 1 for score in scores)} of {len(scores)} met ({' or '.join(wanted)} wanted)"
    return ", ".join([text, *[f"{failed} failed"] * bool(failed), *[f"{rest} not measured"] * bool(rest)])


def as_text(chapters: Chapters) -> str:
    """All of it, in columns as wide as they have to be."""
    lines = []
    for title, records in chapters:
        rows = [HEADINGS[:-1], *[cells(record)[:-1] for record in records]]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines.append(f"\n{heading(title, records)}")
        for row, text in zip(rows, [HEADINGS[-1], *map(verdict, records)]):
            aligned = [row[0].ljust(widths[0]), *[cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]]
            lines.append("  ".join([*aligned, text]).rstrip())
    return "\n".join(lines)


def described(facts: dict[str, Any]) -> str:
    """On what was measured, beside what."""
    peers = ", ".join([f"{name} {version}" for name, version in facts.get("peers", {}).items()])
    missing = "; ".join(facts.get("missing", {}).values())
    return "; ".join([one for one in (facts.get("device", "unknown"), peers and f"beside {peers}", missing) if one])


def markdown(facts: dict[str, Any], chapters: Chapters) -> str:
    lines = [
        "# Targets on a device",
        "",
        f"Measured by `python -m tests.bench.devices --targets` on {described(facts)}. Results are compared with NumPy's "
        "before and after they are timed.",
    ]
    for title, records in chapters:
        lines += ["", f"## {heading(title, records)}", "", "| " + " | ".join(HEADINGS) + " |"]
        lines.append("|---|" + "---:|" * (len(HEADINGS) - 2) + "---|")
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells(record)) + " |" for record in records]
    return "\n".join(lines) + "\n"
