"""The ways in which compiled code is forgotten; each function compiles something new, runs it, and lets go of it.

As a program: ``forgetting.py COUNT WAY ...`` goes each way so many times, and prints by how many bytes the process has grown.
"""

import gc
import sys

import numpy as np
import phlox
from phlox import jit, load_hlo
from phlox.client import Client, ComputationBuilder, LiteralUtil

X = np.arange(5.0)
TEXT = "HloModule m\nENTRY e {{ x = f64[5] parameter(0) c = f64[] constant({}) b = f64[5] broadcast(c), dimensions={{}} {} }}"
INTERACTIVE = "@jit\ndef f(x):\n    return np.sin(x) * {} + np.sum(x)\nassert f(X).shape == X.shape\n"
cells = {"jit": jit, "np": np, "X": X}
client = Client()


def wave(x):
    return np.sin(x) * 2 + np.sum(x)


cleared = jit(wave)


def clearing(number):
    cleared(X)
    cleared.cache_clear()


def dropping_functions(number):
    jit(lambda x: wave(x) + number)(X)


def dropping_loaded_modules(number):
    load_hlo(TEXT.format(number, "ROOT y = f64[5] add(x, b)"))(X)


def dropping_stages(number):
    lowered = jit(lambda x: wave(x) + number).lower(X)
    compiled = lowered.compile()
    compiled(X)
    assert compiled.as_text() and compiled.memory_analysis()


def dropping_executables_of_clients(number):
    parameter = LiteralUtil.CreateR1(X)
    builder = ComputationBuilder(client, "add")
    builder.Add(builder.Parameter(0, parameter.shape, "x"), builder.ConstantR0(float(number)))
    client.Execute(builder.Build(), [client.TransferToServer(parameter)])


def failing_compilations(number):
    long = 2**26
    broadcast = f"w = c64[{long}] broadcast(z), dimensions={{}} f = c64[{long}] fft(w), fft_type=FFT, fft_length={{{long}}}"
    try:
        load_hlo(TEXT.format(number, f"z = c64[] constant((1, 0)) {broadcast} ROOT y = c64[1] slice(f), slice={{[0:1]}}"))
    except NotImplementedError:
        return
    raise AssertionError("the compilation has not failed")


def failing_functions(number):
    @jit
    def fail(x):
        wave(x)
        raise ZeroDivisionError(number)

    try:
        fail(X)
    except ZeroDivisionError:
        return


def failing_calls(number):
    @jit
    def fail(x):
        return phlox.custom_call("phlox_forgetting", x, result=x)

    phlox.register_custom_call("phlox_forgetting", lambda x: 1 // 0)
    try:
        fail(X)
    except ZeroDivisionError:
        return


def redefining_interactively(number):
    exec(INTERACTIVE.format(number), cells)


def dropping_cycles(number):
    """A function that its own closure holds: only the collector of cycles finds it."""
    holder = []
    function = jit(lambda x: wave(x) + len(holder))
    holder.append(function)
    function(X)


def aliased_arguments(number):
    @jit
    def change(x, y):
        x += y
        return x + number

    a = X.copy()
    change(a, a)


WAYS = {f.__name__: f for f in (
    clearing, dropping_functions, dropping_loaded_modules, dropping_stages, dropping_executables_of_clients,
    failing_compilations, failing_functions, failing_calls, redefining_interactively, dropping_cycles, aliased_arguments,
)}  # fmt: skip


def resident_bytes():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("Rss:"))


if __name__ == "__main__":
    count = int(sys.argv[1])
    for way in sys.argv[2:] or WAYS:
        for number in range(count // 5):
            WAYS[way](number)
        gc.collect()
        before = resident_bytes()
        for number in range(count):
            WAYS[way](number)
        gc.collect()
        print(way, resident_bytes() - before, flush=True)
