"""The programs of `tests/programs` decorated beside undecorated: `python -m tests.bench.whole_programs [--larger] [NAME ...]`.

A NAME is the beginning of a program's. One line for each: seconds of the first call, microseconds of a call undecorated and
decorated, the shortest of some, in turn, on one core, and how many times as fast that is. In the end how many are how fast, and
those that are slower. `--larger` calls with arrays, lists and texts ten times as long, square matrices three times as wide, and
leaves out what takes none of these, raises with larger ones, or takes more than `LIMIT` seconds undecorated. Left out are, too,
programs that raise, and those that do not run yet. All of them take half an hour.
"""

import contextlib
import copy
import gc
import io
import math
import os
import sys
import time
import warnings

os.environ |= {"PHLOX_CACHE": "0", "PHLOX_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

import numpy as np
import phlox

from tests.programs.comparison import TimeLimitError, time_limit
from tests.programs.not_yet import NOT_YET
from tests.programs.registry import PROGRAMS

LIMIT, LIMIT_OF_FIRST_CALLS = 5.0, 60.0
LEAST_SECONDS, LEAST_ROUNDS = 0.1, 5
# What is slower than this is slower, and not another measurement.
SLOWER = 1 / 1.2
# How many times as fast as undecorated a group of programs is at least, from the fastest on.
GROUPS = {"10 times and more": 10, "2 to 10 times": 2, "1.2 to 2 times": 1.2, "as fast": SLOWER, "slower": 0}


def larger(value):
    """An argument that is larger; others as they are."""
    if isinstance(value, np.ndarray) and value.size and value.ndim:
        is_square = value.ndim == 2 and value.shape[0] == value.shape[1]
        return np.tile(value, (3, 3)) if is_square else np.concatenate([value] * 10)
    return copy.deepcopy(value * 10) if isinstance(value, (str, list)) and len(value) > 1 else value


class Calls:
    """Calls of a program with new arguments each."""

    def __init__(self, program, makes_larger):
        self.program, self.makes_larger = program, makes_larger

    def arguments(self):
        given = self.program.arguments_of(1)
        return tuple(map(larger, given)) if self.makes_larger else given

    def seconds(self, function):
        """What a call takes. Raises what the call raises."""
        if self.program.reset:
            self.program.reset()
        arguments = self.arguments()
        start = time.perf_counter()
        function(*arguments)
        return time.perf_counter() - start

    def times(self):
        """Of the first call, of one undecorated and of one decorated. Raises what a call raises, and TimeLimitError."""
        function = self.program.function
        with time_limit(LIMIT):
            self.seconds(function)
        jitted = phlox.jit(function)
        with time_limit(LIMIT_OF_FIRST_CALLS):
            first = self.seconds(jitted)
            shortest, rounds, end = [math.inf, math.inf], LEAST_ROUNDS, time.perf_counter() + LEAST_SECONDS
            while rounds > 0 or time.perf_counter() < end:
                shortest = [min(known, self.seconds(one)) for known, one in zip(shortest, (function, jitted))]
                rounds -= 1
        return first, *shortest


def times_of(name, makes_larger):
    """What `Calls.times` gives; None for a program that is left out."""
    calls = Calls(PROGRAMS[name], makes_larger)
    if makes_larger and not any(map(is_enlarged, PROGRAMS[name].arguments_of(1))):
        return None
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return calls.times()
        except (Exception, TimeLimitError):
            return None


def is_enlarged(value):
    return larger(value) is not value


def main(arguments):
    wanted = tuple(word for word in arguments if word != "--larger")
    names = [name for name in PROGRAMS if name not in NOT_YET and (not wanted or name.startswith(wanted))]
    phlox.jit(lambda: 1.0)()  # What the first function of a process pays for.
    gc.disable()
    print(f"{'program':52} {'first':>6} {'plain':>9} {'jit':>9} {'faster':>7}")
    ratios = {}
    for name in names:
        gc.collect()
        found = times_of(name, "--larger" in arguments)
        if found is not None:
            first, plain, jitted = found
            ratios[name] = plain / jitted
            print(f"{name:52} {first:6.2f} {plain * 1e6:9.1f} {jitted * 1e6:9.1f} {ratios[name]:7.2f}", flush=True)
    most = math.inf
    for group, least in GROUPS.items():
        print(f"{sum(least <= ratio < most for ratio in ratios.values()):5} {group}")
        most = least
    mean = math.exp(sum(map(math.log, ratios.values())) / max(len(ratios), 1))
    print(f"{mean:.1f} times as fast in the geometric mean of {len(ratios)}; left out are {len(names) - len(ratios)}")
    for ratio, name in sorted((ratio, name) for name, ratio in ratios.items() if ratio < SLOWER):
        print(f"{name:52} {ratio:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
