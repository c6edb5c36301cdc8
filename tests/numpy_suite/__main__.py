"""How NumPy's own tests end with jitted functions: ``python -m tests.numpy_suite [options] [PART ...]``.

A part is a file of tests as it is called below ``numpy`` (``lib/tests/test_histograms.py``), perhaps with the name of a test
behind ``::``; without any it is all files but those that are about what has no meaning in compiled code. Tests that fail
undecorated, too, and those that call nothing that is jitted, do not count.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from .differences import LEFT_OUT_FILES
from .page import PAGE, kind_of, page

ROOT = Path(__file__).resolve().parents[2]
NUMPY = Path(np.__file__).parent
FOLDERS = ("_core", "lib", "linalg", "fft", "random", "polynomial")
Outcomes = dict[str, dict[str, Any]]


def files() -> list[str]:
    """The files of tests that count."""
    left = {name for names in LEFT_OUT_FILES.values() for name in names.split()}
    found = [
        path for folder in FOLDERS for path in sorted((NUMPY / folder / "tests").glob("test_*.py")) if path.stem not in left
    ]
    return [path.relative_to(NUMPY).as_posix() for path in found]


def run(parts: list[str], options: list[str], is_jitted: bool = True) -> Outcomes:
    """What becomes of the tests, by their names."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "outcomes.json"
        environment = {**os.environ, "PHLOX_SUITE_OUTCOMES": str(target)}
        environment["NPY_AVAILABLE_MEM"] = "2 GB"  # tests that ask for more are skipped
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "tests" / "support")])
        if not is_jitted:
            environment["PHLOX_SUITE_UNDECORATED"] = "1"
        command = [
            sys.executable, "-m", "pytest", "-c", os.devnull, f"--rootdir={NUMPY}", "-p", "no:cacheprovider",
            "-p", "numpy_suite.plugin", "-q", "--tb=no", "--no-header", "--no-summary", "-W", "ignore",
            *options, *(str(NUMPY / part) for part in parts),
        ]  # fmt: skip
        ended = subprocess.run(command, env=environment, capture_output=True, text=True)
        if not target.exists():
            raise RuntimeError(f"pytest has ended with {ended.returncode}:\n{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}")
        return json.loads(target.read_text())


def report(outcomes: Outcomes, known: Outcomes) -> str:
    """What failed and why, and how many of those that count have passed."""
    counts: Counter[str] = Counter()
    lines = []
    for test, found in sorted(outcomes.items()):
        kind, reason = kind_of(test, found, known)
        counts[f"{kind}: {reason}" if reason else kind] += 1
        if kind == "failed":
            said = " ".join((found["refusals"] or [found["message"]])[0].split())[:300]
            lines.append(f"{test}\n    {said}\n    {reason or 'NO REASON IS KNOWN'}")
    lines += [f"{number:6} {what}" for what, number in counts.most_common()]
    passed, failed = (sum(number for what, number in counts.items() if what.startswith(kind)) for kind in ("passed", "failed"))
    lines.append(f"{passed} of {passed + failed} that count pass: {100 * passed / max(passed + failed, 1):.1f} %")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.numpy_suite", description=__doc__)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--at-most", type=int, default=0, help="so many cases of each test, evenly spaced; 0: all")
    parser.add_argument("--seconds", type=int, default=120, help="after so many a test is ended")
    parser.add_argument("--outcomes", type=Path, help="a file, JSON, that outcomes are added to")
    parser.add_argument("--only-report", action="store_true", help="run nothing: what the outcomes in the file say")
    parser.add_argument("--write", action="store_true", help="write docs/numpy_suite.md")
    arguments = parser.parse_args()
    options = [f"--at-most={arguments.at_most}", f"--seconds={arguments.seconds}"]
    outcomes: Outcomes = {}
    known: Outcomes = {}
    if arguments.outcomes and arguments.outcomes.exists():
        found_before = json.loads(arguments.outcomes.read_text())
        outcomes, known = found_before["jitted"], found_before["undecorated"]
    for part in () if arguments.only_report else arguments.parts or files():
        found = run([part], options)
        failed = [test for test, one in found.items() if one["outcome"] == "failed" and one["calls"]]
        if failed:
            known |= run([part], options, is_jitted=False)
        outcomes |= found
        passed = sum(one["outcome"] == "passed" and one["calls"] > 0 for one in found.values())
        print(f"{part}: {passed} passed, {len(failed)} failed", file=sys.stderr, flush=True)
        if arguments.outcomes:
            arguments.outcomes.write_text(json.dumps({"jitted": outcomes, "undecorated": known}))
    print(report(outcomes, known))
    if arguments.write:
        PAGE.write_text(page(outcomes, known, arguments.at_most), encoding="utf-8")


if __name__ == "__main__":
    main()
