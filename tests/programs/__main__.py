"""Prints what each program does when it is decorated: `python -m tests.programs [--write] [--numba] [NAME ...]`.

A NAME is a program's, a subject, or the beginning of one. The columns: seconds of processor time of the first call, and of the
longer one of the others (which should compile nothing); microseconds of a call of the function undecorated and decorated, how
many times as fast it is; with `--numba` how many times as fast as Numba, where that takes the same source; and the verdict.
Short functions, and programs that raise, say nothing about speed, and are not timed. `--write` writes the list of those that do
not run yet.
"""

import os
import statistics
import sys
import time
from pathlib import Path

import phlox

from .comparison import TIME_LIMIT, call, compare, kind, reason
from .not_yet import NOT_YET
from .registry import PROGRAMS

LIST = Path(__file__).with_name("not_yet.py")
OPTIONS = ("--write", "--numba")
os.environ["PHLOX_CACHE"] = "0"  # first calls are those of a first process


def seconds_of_calls(program, functions, least=0.05, rounds=5):
    """For each function the shortest of so many calls, or of those that fit into the least time, in turn, on new arguments."""
    shortest, end = [float("inf")] * len(functions), time.perf_counter() + least
    while rounds > 0 or time.perf_counter() < end:
        for number, function in enumerate(functions):
            shortest[number] = min(shortest[number], call(function, program.arguments_of(1)).seconds)
        rounds -= 1
    return shortest


def compiled(program, decorate):
    """The function, decorated and called; None where the decorator does not take it."""
    try:
        function = decorate(program.function)
    except TypeError:  # Numba takes only what is a function to Python
        return None
    return None if call(function, program.arguments_of(1), TIME_LIMIT).exception else function


def row(name, program, numba):
    """Prints one program's line; returns its verdict, the seconds of its calls, and how many times as fast it is."""
    report = compare(program)
    first, *others = (outcome.processor_seconds for outcome in report.decorated)
    columns = [f"{name:52}", f"{first:6.2f}"]
    if report.verdict:
        print(*columns, " " * 35, reason(report.verdict), flush=True)
        return report.verdict, first, None, None
    if name.startswith("short_") or any(outcome.exception for outcome in report.plain):
        print(*columns, f"{max(others):6.2f}", " " * 31, "same", flush=True)
        return [], first, None, None
    functions = [program.function, compiled(program, phlox.jit), numba and compiled(program, numba.njit)]
    plain, jitted, *rest = seconds_of_calls(program, [one for one in functions if one])
    columns += [f"{max(others):6.2f}", f"{plain * 1e6:8.0f}", f"{jitted * 1e6:8.0f}", f"{plain / jitted:6.1f}"]
    columns += [f"{rest[0] / jitted:6.1f}" if rest else " " * 6, "same"]
    print(*columns, flush=True)
    return [], first, plain / jitted, rest[0] / jitted if rest else None


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write(verdicts):
    """The list of the programs that do not run yet, with what is known of those that were not tried."""
    known = {name: line for name, line in NOT_YET.items() if name in PROGRAMS and name not in verdicts}
    known |= {name: reason(verdict) for name, verdict in verdicts.items() if verdict}
    lines = [f"    {quoted(name)}: {quoted(known[name])},\n" for name in sorted(known)]
    text = LIST.read_text(encoding="utf-8")
    LIST.write_text(text[: text.index("NOT_YET = {")] + "NOT_YET = {\n" + "".join(lines) + "}\n", encoding="utf-8")


def main(arguments):
    # Only where it is asked for: importing it takes long.
    numba = __import__("numba") if "--numba" in arguments else None
    wanted = tuple(word for word in arguments if word not in OPTIONS)
    chosen = {name: one for name, one in PROGRAMS.items() if not wanted or name.startswith(wanted)}
    phlox.jit(lambda: 1.0)()  # What the first function of a process pays for.
    print(f"{'program':52} {'first':>6} {'others':>6} {'plain':>8} {'jit':>8} {'faster':>6} {'Numba':>6} verdict")
    rows = {name: row(name, one, numba) for name, one in chosen.items()}
    same = [row for row in rows.values() if not row[0]]
    print(f"{len(same)} of {len(rows)} programs do the same")
    if same:
        _, first, ratios, beside_numba = zip(*same)
        ratios, beside_numba = ([ratio for ratio in column if ratio] for column in (ratios, beside_numba))
        print(f"first calls take {statistics.median(first):.2f} s in the median, {max(first):.2f} s at most")
        if ratios:
            mean = statistics.geometric_mean(ratios)
            print(f"{mean:.1f} times as fast as undecorated in the geometric mean of {len(ratios)}")
            slower = sorted((one[2], name) for name, one in rows.items() if one[2] and one[2] < 1)
            print(f"{len(slower)} are slower:", ", ".join(f"{name} {ratio:.2f}" for ratio, name in slower))
        if beside_numba:
            mean = statistics.geometric_mean(beside_numba)
            print(f"{mean:.1f} times as fast as with Numba, which takes {len(beside_numba)} of them")
    failures = [kind(verdict[0]) for verdict, *_ in rows.values() if verdict]
    print(", ".join(f"{failures.count(one)} {one}" for one in dict.fromkeys(failures)))
    if "--write" in arguments:
        write({name: verdict for name, (verdict, *_) in rows.items()})


main(sys.argv[1:])
