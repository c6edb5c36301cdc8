"""What a program does with and without the decorator: values, types, effects, output, exceptions and times."""

import contextlib
import copy
import io
import numbers
import re
import signal
import time
import warnings
from typing import NamedTuple

import numpy as np
import phlox

# Of processor time, for each call. It ends what would never end; `tests/bench/whole_programs.py` measures how long calls take.
TIME_LIMIT = 60.0
# Two sets of arguments of the same shapes: what was baked in at the first call shows at the second.
SEEDS = (1, 2, 1)
# Relative to the largest finite number of the array, or to what is small beside numbers that people compute with.
TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4, "float16": 1e-2}
LEAST_SCALE = 1e-3
# In a line on an object of the caller's, when tracing is over.
LEFT = " is TracedArray instead of "
# Failures that nobody can take for a result.
LOUD = ("error", "time")


class TimeLimitError(BaseException):
    """Not an Exception: programs that catch exceptions must not catch it."""


class Outcome(NamedTuple):
    result: object
    arguments: tuple
    printed: str
    exception: BaseException | None
    seconds: float
    # Of processor time, which a loaded machine leaves alone; clocks of it are often coarse.
    processor_seconds: float
    outside: object = None


class Report(NamedTuple):
    """``verdict`` is empty where all calls did the same, else lines ``kind: text (call number)``.

    The kinds are ``error`` (an exception that the program does not raise), ``time`` (the limit was reached), ``exception`` (one
    that it raises is missing or another one), ``value``, ``dtype``, ``shape``, ``type``, ``argument`` (an effect on one),
    ``outside`` (one on what is read and written without being an argument), ``printed``, and ``leak`` (a traced value has been
    left in an argument or outside). After an error only leaks are looked for: it ends the program somewhere in the middle.
    """

    verdict: list[str]
    plain: list[Outcome]
    decorated: list[Outcome]


@contextlib.contextmanager
def time_limit(seconds):
    """Raises TimeLimitError after so many seconds of this process's time. For the main thread."""

    def handler(number, frame):
        raise TimeLimitError(f"a call takes more than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, handler)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def wait_for_threads(seconds=30.0):
    """Waits, but not longer than this, until the process does nothing: what was interrupted may go on in another thread."""
    end = time.perf_counter() + seconds
    busy = True
    while busy and time.perf_counter() < end:
        start = time.process_time()
        time.sleep(0.2)
        busy = time.process_time() - start > 0.05


def call(function, arguments, limit=None):
    """What the function does when it is called with the arguments, which it may change."""
    result = exception = None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start, start_of_processor = time.perf_counter(), time.process_time()
        try:
            with time_limit(limit) if limit else contextlib.nullcontext():
                result = function(*arguments)
        except (Exception, TimeLimitError) as error:
            exception = error
        seconds, processor_seconds = time.perf_counter() - start, time.process_time() - start_of_processor
    if isinstance(exception, TimeLimitError):
        wait_for_threads()
    return Outcome(result, arguments, printed.getvalue(), exception, seconds, processor_seconds)


def number_differences(expected, found, where):
    expected, found = np.asarray(expected), np.asarray(found)
    if expected.dtype != found.dtype:
        yield f"dtype: {where} has {found.dtype} instead of {expected.dtype}"
    if expected.shape != found.shape:
        yield f"shape: {where} has {found.shape} instead of {expected.shape}"
    elif expected.dtype.kind in "fc" and found.dtype.kind in "fcbiu":
        finite = np.isfinite(expected) & np.isfinite(found)
        scale = np.max(np.abs(expected[finite]), initial=LEAST_SCALE)
        far = np.abs(np.where(finite, found, 0) - np.where(finite, expected, 0)) > TOLERANCE[expected.dtype.name] * scale
        differs = np.where(finite, far, (found != expected) & ((found == found) | (expected == expected)))
        if differs.any():
            yield f"value: {where} differs in {np.count_nonzero(differs)} of {differs.size} numbers"
    elif not np.array_equal(expected, found):
        yield f"value: {where} differs in {np.count_nonzero(expected != found)} of {expected.size} numbers"


def differences(expected, found, where="the result"):
    """Lines that say where two values, containers or objects are not the same."""
    if type(expected) is not type(found):
        yield f"type: {where} is {type(found).__name__} instead of {type(expected).__name__}"
    plain = (np.ndarray, np.generic, numbers.Number)
    if isinstance(expected, plain) and isinstance(found, plain):
        yield from number_differences(expected, found, where)
    elif isinstance(expected, tuple | list) and isinstance(found, tuple | list):
        if len(expected) != len(found):
            yield f"shape: {where} has {len(found)} elements instead of {len(expected)}"
        else:
            for index, (one, other) in enumerate(zip(expected, found)):
                yield from differences(one, other, f"{where}[{index}]")
    elif isinstance(expected, dict) and isinstance(found, dict):
        if list(expected) != list(found):
            yield f"value: {where} has the keys {list(found)} instead of {list(expected)}"
        else:
            for key in expected:
                yield from differences(expected[key], found[key], f"{where}[{key!r}]")
    elif isinstance(expected, np.random.Generator) and isinstance(found, np.random.Generator):
        if expected.bit_generator.state != found.bit_generator.state:
            yield f"value: {where} is in another state"
    elif type(expected) is type(found):
        if hasattr(expected, "__dict__") and not callable(expected):
            yield from differences(vars(expected), vars(found), where)
        elif expected != found and not callable(expected):
            yield f"value: {where} is {found!r} instead of {expected!r}"


def first_line(text):
    return text.strip().partition("\n")[0]


def described(exception):
    return f"{type(exception).__name__}: {first_line(message(exception))}"


def message(exception):
    """The text of an exception; one that holds a traced value has none."""
    try:
        return str(exception)
    except phlox.TracerError as error:
        return f"{type(error).__name__}: {error}"


def first_other_lines(expected, found):
    """Of two texts, the first lines that are not the same."""
    lines = zip(expected.splitlines() + [""], found.splitlines() + [""])
    return next(((one, other) for one, other in lines if one != other), (expected, found))


def effect_differences(expected, found):
    """Lines that say which arguments, and what outside, two runs of a program left otherwise."""
    for number, (one, other) in enumerate(zip(expected.arguments, found.arguments)):
        for line in differences(one, other, f"argument {number}"):
            yield f"leak: {line}" if LEFT in line else f"argument: {line}"
    for line in differences(expected.outside, found.outside, "what is outside"):
        yield f"leak: {line}" if LEFT in line else f"outside: {line}"


def outcome_differences(expected, found):
    """Lines that say what another run of a program did otherwise."""
    effects = list(effect_differences(expected, found))
    if isinstance(found.exception, TimeLimitError):
        yield f"time: {found.exception}"
    elif found.exception is not None and (expected.exception is None or isinstance(found.exception, phlox.TracerError)):
        yield f"error: {described(found.exception)}"
        yield from (line for line in effects if kind(line) == "leak")
    else:
        if expected.exception is None:
            yield from differences(expected.result, found.result)
        elif found.exception is None:
            yield f"exception: no {described(expected.exception)}"
        elif (type(found.exception), message(found.exception)) != (type(expected.exception), message(expected.exception)):
            yield f"exception: {described(found.exception)} instead of {described(expected.exception)}"
        yield from effects
        if expected.printed != found.printed:
            one, other = first_other_lines(expected.printed, found.printed)
            yield f"printed: {other!r} instead of {one!r}"


def copied(value):
    """A deep copy, but for traced arrays that were left in it, which refuse to be copied."""
    with contextlib.suppress(phlox.TracerError):
        return copy.deepcopy(value)
    if type(value) in (tuple, list):
        return type(value)(map(copied, value))
    if type(value) is dict:
        return {key: copied(one) for key, one in value.items()}
    if not type(value).__module__.startswith("phlox.") and hasattr(value, "__dict__"):
        shallow = copy.copy(value)
        vars(shallow).update(copied(vars(value)))
        return shallow
    return value


def run_series(program, function, limit=None, expected=()):
    """The outcomes of a call for each of SEEDS, until one raises what the expected one did not."""
    reset, outside = program.reset or (lambda: None), program.outside or (lambda: None)
    reset()
    outcomes = []
    for number, seed in enumerate(SEEDS):
        outcome = call(function, program.arguments_of(seed), limit)
        # What is outside may be among the results and arguments, too, and changes with the next call.
        result, arguments, left = copied((outcome.result, outcome.arguments, outside()))
        outcomes.append(outcome._replace(result=result, arguments=arguments, outside=left))
        if expected and outcomes[-1].exception is not None and expected[number].exception is None:
            break
    reset()
    return outcomes


def compare(program, decorate=phlox.jit):
    """The report on what a program does when its function is decorated."""
    plain = run_series(program, program.function)
    decorated = run_series(program, decorate(program.function), TIME_LIMIT, plain)
    verdict = [
        f"{line} (call {number})"
        for number, (expected, found) in enumerate(zip(plain, decorated), 1)
        for line in outcome_differences(expected, found)
    ]
    return Report(verdict, plain, decorated)


def kind(line):
    """The kind of failure that a line of a verdict tells."""
    return line.partition(":")[0]


def reason(verdict):
    """What stands for a verdict in a list: its first line of the worst kind, without the places in the program."""
    line = next((line for line in verdict if kind(line) not in LOUD), verdict[0]).rpartition(" (call ")[0]
    needs = re.search(r" is used where (\w+ needs an? \w+)", line)
    if needs:
        return f"{kind(line)}: {needs[1]} and finds a traced value"
    line = re.sub(r" \((?:[^()]* )?at [^()]*:\d+ in (?:.*?`|\w+)\)| at /\S+:\d+ in .*?(?=[;:,]|$)", "", line)
    return line if len(line) <= 66 else line[:63].rstrip() + "..."
