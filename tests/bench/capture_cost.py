"""What it costs that control flow is captured: rewriting functions, and tracing them, beside tracing them as they are.

Of rewriting, beside what Python needs to parse and to compile the same source, and in milliseconds; the functions are those of
`tests.programs`, and dense ones of some lengths. Of tracing, beside ``jit(control_flow="trace")``. The figures are processor
time, the least of the repetitions, in which both take turns::

    python -m tests.bench.capture_cost [--only PART_OF_A_NAME] [--repetitions N]
"""

from __future__ import annotations

import argparse
import ast
import inspect
import linecache
import statistics
import textwrap
import time
import types
from itertools import count

import numpy as np
from phlox import jit
from phlox.runtime.garbage import rare_collections
from phlox.tracer.source.rewriting import _compiled

from tests.programs.registry import PROGRAMS

LINES = """        a{k} = np.sin(x[i]) * y[i, {k}] + table["w{k}"] - total
        if a{k} > 0.5 and x[i] < {k}:
            total += a{k} * x[i - 1]
        found.append((a{k}, x[i] ** 2 + y[i, i]))
        y[i, {k}] = max(a{k}, total, x[{k}]) if total < 3 else -a{k}
"""
numbers = count()


def helper(x, y):
    return x * 0.5 + y


class Holder:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def step(self):
        self.x = self.x + self.y


NAMES = {"np": np, "helper": helper, "Holder": Holder}


def function_of(parameters, body):
    """A function that has this source."""
    source = f"def made({parameters}):\n{body}"
    file = f"<made {next(numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = dict(NAMES)
    exec(compile(source, file, "exec"), space)
    return space["made"]


def dense(lines):
    """A function of that many lines, each with some 25 nodes of the syntax tree."""
    body = "".join(LINES.format(k=k) for k in range(lines // 5))
    return function_of("x, y, table, n", f"    total, found = 0.0, []\n    for i in range(n):\n{body}    return total, found\n")


# What stands 100 times in a function of two arrays, and what is before it.
TRACED = {
    "arithmetic": ("x = x * 0.5 + y - x", ""),
    "calls of helpers": ("x = helper(x, y)", ""),
    "calls of methods": ("held.step()", "held = Holder(x, y)"),
    "np.sin": ("x = np.sin(x)", ""),
    "np.where": ("x = np.where(x, x, y)", ""),
    "x.reshape": ("x = x.reshape(-1)", ""),
    "x.sum": ("s = x.sum()", ""),
    "x[1]": ("s = x[1]", ""),
    "x[1:]": ("s = x[1:]", ""),
    "x[1] = y[1]": ("x[1] = y[1]", "x = x.copy()"),
    "x += y": ("x += y", "x = x.copy()"),
    "d[k] = d[k] + d[l]": ("d['x'] = d['x'] + d['y']", "d = {'x': x, 'y': y}"),
    "dict displays": ("d = {'x': x, 'y': y}", ""),
    "list displays": ("l = [x, y]", ""),
    "items of lists": ("s = l[1]", "l = [x, y]"),
    "l.append": ("l.append(x)", "l = []"),
    "tuples": ("x, y = y, x", ""),
    "attributes": ("held.x = held.x + held.y", "held = Holder(x, y)"),
    "x.shape[0] + len(x)": ("n = x.shape[0] + len(x)", ""),
    "known conditions": ("x = x + y if n and y is not None else x - y", "n = 3"),
    "statements with if": ("if n: x = x + y", "n = 3"),
    "one long expression": (
        "x = np.sqrt(x * x + y * y) + np.exp(-x) * np.where(x > y, x, y) - np.dot(x, y) * (x[1:] - x[:-1]).sum()",
        "",
    ),
}


def repeated(line, before):
    return function_of("x, y", "".join(f"    {one}\n" for one in [before or "pass", *[line] * 100, "return x"]))


ARGUMENTS = np.ones(100), np.ones(100)


def least_of_turns(contenders, repetitions):
    """Milliseconds of each."""
    least = [float("inf")] * len(contenders)
    for _ in range(repetitions):
        for place, work in enumerate(contenders):
            start = time.process_time()
            work()
            least[place] = min(least[place], 1e3 * (time.process_time() - start))
    return least


def cost_of_rewriting(function, repetitions):
    """Milliseconds of Python for the source, and of rewriting."""
    source = textwrap.dedent(inspect.getsource(function))
    with rare_collections():  # as in a first call
        return least_of_turns([lambda: compile(ast.parse(source), "", "exec"), lambda: _compiled(function)], repetitions)


def cost_of_tracing(function, repetitions):
    """Milliseconds of tracing it as it is, and captured."""
    contenders = [jit(function, control_flow="trace"), jit(function)]
    return least_of_turns([lambda one=one: one.lower(*ARGUMENTS) for one in contenders], repetitions)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="what has this in its name")
    parser.add_argument("--repetitions", type=int, default=7)
    options = parser.parse_args()
    functions = [(f"rewriting {lines} dense lines", dense(lines)) for lines in (10, 30, 100)]
    for title, function in [one for one in functions if options.only in one[0]]:
        python, rewriting = cost_of_rewriting(function, options.repetitions)
        print(f"{title:32s} {rewriting:6.2f} ms {rewriting / python:6.2f} of Python", flush=True)
    if options.only in "rewriting programs":
        costs = [
            cost_of_rewriting(program.function, 3)
            for program in PROGRAMS.values()
            if isinstance(program.function, types.FunctionType) and not program.function.__closure__
        ]
        times, ratios = [rewriting for _, rewriting in costs], [rewriting / python for python, rewriting in costs]
        print(
            f"{'rewriting programs, median':32s} {statistics.median(times):6.2f} ms {statistics.median(ratios):6.2f} of Python"
        )
        print(f"{'rewriting programs, the longest':32s} {max(times):6.2f} ms")
    for title, lines in TRACED.items():
        if options.only in (title := f"tracing {title}"):
            plain, captured = cost_of_tracing(repeated(*lines), options.repetitions)
            print(f"{title:32s} {captured:6.2f} ms {captured / plain:6.2f} of tracing it as it is", flush=True)


if __name__ == "__main__":
    main()
