"""Prints what each program does when it is decorated: `python -m tests.programs [--write] [NAME ...]`.

A NAME is a program's, a subject, or the beginning of one. The columns: seconds of the first call, microseconds of a call of the
undecorated and of the decorated function, how many times as fast the decorated one is, and the verdict. `--write` writes the
list of those that do not run yet.
"""

import statistics
import sys
import time
from pathlib import Path

import phlox

from .comparison import call, compare, kind, reason
from .not_yet import NOT_YET
from .registry import PROGRAMS

LIST = Path(__file__).with_name("not_yet.py")


def seconds_of_a_call(program, function, least=0.02):
    """The shortest of the calls that fit into the least time, each on arguments of its own."""
    shortest, end = float("inf"), time.perf_counter() + least
    while shortest == float("inf") or time.perf_counter() < end:
        shortest = min(shortest, call(function, program.arguments_of(1)).seconds)
    return shortest


def row(name, program):
    """One program's line of the table; its verdict, the seconds of the first call, and how many times as fast it is."""
    report = compare(program)
    plain = seconds_of_a_call(program, program.function)
    if report.verdict:
        print(f"{name:48} {report.first_call:7.2f} {plain * 1e6:9.0f} {'':9} {'':7}  {reason(report.verdict)}", flush=True)
        return report.verdict, report.first_call, None
    decorated = phlox.jit(program.function)
    call(decorated, program.arguments_of(1))
    fast = seconds_of_a_call(program, decorated)
    print(f"{name:48} {report.first_call:7.2f} {plain * 1e6:9.0f} {fast * 1e6:9.0f} {plain / fast:7.1f}  same", flush=True)
    return report.verdict, report.first_call, plain / fast


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
    wanted = tuple(word for word in arguments if word != "--write")
    chosen = {name: one for name, one in PROGRAMS.items() if not wanted or name.startswith(wanted)}
    print(f"{'program':48} {'first s':>7} {'plain us':>9} {'jit us':>9} {'faster':>7}  verdict")
    rows = {name: row(name, one) for name, one in chosen.items()}
    ratios = [ratio for _, _, ratio in rows.values() if ratio is not None]
    print(f"{len(ratios)} of {len(rows)} programs do the same")
    if ratios:
        first = statistics.median(seconds for _, seconds, ratio in rows.values() if ratio is not None)
        mean = statistics.geometric_mean(ratios)
        print(f"their first calls take {first:.2f} s in the median, later ones are {mean:.1f} times as fast")
    failures = [kind(verdict[0]) for verdict, _, _ in rows.values() if verdict]
    print(", ".join(f"{failures.count(one)} {one}" for one in dict.fromkeys(failures)))
    if "--write" in arguments:
        write({name: verdict for name, (verdict, _, _) in rows.items()})


main(sys.argv[1:])
