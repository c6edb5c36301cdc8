"""`docs/numpy_suite.md`, written from the outcomes of a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .differences import difference, left_out

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numpy_suite.md"
_HEAD = """\
# NumPy's own tests

NumPy {version}'s own test suite, with its functions, the methods of its arrays and generators, operators and assignments to
items replaced by jitted ones: each call is one of a jitted function. `python -m tests.numpy_suite --write` runs it, and
writes this page; {cases}

Tests that make no such call, and those that fail undecorated, too, do not count; nor do those that are about objects, texts,
dates and structures, files, warnings, or NumPy's own making. A call that is about these within another test is NumPy's. Where
NumPy returns a view of an argument, a jitted function returns a copy of some (see [outside.md](outside.md)): once this has
been compared, the test goes on with NumPy's view, so that what is asked of its memory is not counted.

{passed} of {counted} tests that count pass: {percent:.1f} %.
"""


def kind_of(test: str, found: Mapping[str, Any], known: Mapping[str, Any]) -> tuple[str, str]:
    """What a test counts as, and why: "passed", "failed", "left out" or "not counted"."""
    if not found["calls"] or found["outcome"] == "skipped":
        return "not counted", "without jitted calls"
    if found["outcome"] == "passed":
        return "passed", ""
    if known.get(test, {}).get("outcome") != "passed":
        return "not counted", "fails undecorated, too"
    if (reason := left_out(test, found["message"])) is not None:
        return "left out", reason
    return "failed", difference(test, found["message"]) or ""


def page(outcomes: Mapping[str, Any], known: Mapping[str, Any], at_most: int) -> str:
    kinds = {test: kind_of(test, found, known) for test, found in outcomes.items()}
    files: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: dict[str, list[str]] = defaultdict(list)
    for test, (kind, reason) in sorted(kinds.items()):
        files[test.partition("::")[0]][kind] += 1
        if kind == "failed":
            reasons[reason or "Without a reason that is known"].append(test.partition("::")[2])
    total: Counter[str] = sum(files.values(), Counter())
    counted = total["passed"] + total["failed"]
    cases = f"of each parametrized test it takes {at_most} cases, evenly spaced." if at_most else "all cases are taken."
    parts = [
        _HEAD.format(
            version=np.__version__, cases=cases, passed=total["passed"], counted=counted,
            percent=100 * total["passed"] / max(counted, 1),
        )
    ]  # fmt: skip
    parts.append("\n| file | passed | failed | left out |\n|---|---|---|---|\n")
    parts += [f"| `{file}` | {one['passed']} | {one['failed']} | {one['left out']} |\n" for file, one in files.items()]
    parts.append("\n## What fails\n")
    for reason, tests in sorted(reasons.items(), key=lambda item: (not item[0], -len(item[1]))):
        parts.append(f"\n{reason}: {', '.join(f'`{_escaped(test)}`' for test in tests)}.\n")
    return "".join(parts)


def _escaped(test: str) -> str:
    return test.replace("`", "'").replace("|", "/")[:90]
