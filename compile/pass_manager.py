"""Passes by name, lists of passes, and what the environment asks to see of them.

A pass is a function from Module to Module that returns the same object where nothing changed. Three environment variables
look inside: ``PHLOX_DUMP=directory`` writes the module after every pass that changed it, ``PHLOX_CHECK=1`` verifies it after
every pass, ``PHLOX_TIME=1`` prints to stderr where the time went.
"""

from __future__ import annotations

import inspect
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TypeAlias

from ..hlo import Module, VerificationError, verify

ModulePass: TypeAlias = Callable[[Module], Module]


@dataclass(frozen=True)
class Pass:
    """A pass and the name under which pipelines and the command line know it.

    ``is_optional`` says that programs may become much longer by it, so that it can be left out where time is short.
    """

    name: str
    run: ModulePass
    is_optional: bool = False

    @property
    def documentation(self) -> str:
        return inspect.getdoc(self.run) or ""


@dataclass(frozen=True)
class FixedPoint:
    """Passes that run one after another, again and again, until none of them changes anything.

    After ``rounds`` rounds it ends in any case: the program is correct at every step, so an early end costs only speed. It may
    end after the first round where time is short.
    """

    name: str
    passes: tuple[str | Pass, ...]
    rounds: int = 4


Step: TypeAlias = str | Pass | FixedPoint

PASSES: dict[str, Pass] = {}

# These stand at the beginning of a pipeline: the first takes any module, the others dynamic dimensions, no other pass does.
NORMALIZE_LAYOUTS = "normalize-layouts"
COMPACT_SELECTIONS = "compact-selections"
SEPARATE_SELECTIONS = "separate-selections"
PAD_DYNAMIC_DIMENSIONS = "pad-dynamic-dimensions"


def module_pass(name: str) -> Callable[[ModulePass], ModulePass]:
    """Decorator: this function is the pass with this name."""

    def register(function: ModulePass) -> ModulePass:
        if name in PASSES:
            raise ValueError(f"pass {name} is registered twice")
        PASSES[name] = Pass(name, function)
        return function

    return register


def run_steps(
    module: Module, steps: Iterable[Step], leaves_out: Callable[[str, Module], bool] | None = None
) -> Iterator[tuple[str, Module]]:
    """Each step's name, and the module after it; the same object where a step changed nothing.

    leaves_out: says whether an optional pass, or a further round, of this name is left out; it has the module before it.

    Raises ValueError for a name that no pass has; VerificationError where ``PHLOX_CHECK`` is set and a pass broke a rule of the
    language (the message names the pass).

    >>> from phlox import hlo
    >>> f = hlo.computation("f", [hlo.Shape(hlo.F32, (3,))], lambda x: hlo.negate(hlo.negate(x)))
    >>> after = run_steps(hlo.Module("f", f), ["simplify", "dce"])
    >>> {name: one.entry.root.opcode for name, one in after}
    {'simplify': 'parameter', 'dce': 'parameter'}
    """
    runner = _Runner()
    runner.begin(module)
    for step in steps:
        if isinstance(step, FixedPoint):
            module = _run_to_fixed_point(runner, module, step, leaves_out)
        else:
            step = _resolve(step)
            module = runner.run(step, module)
        yield step.name, module
    runner.finish(module)


def run_passes(module: Module, steps: Iterable[Step]) -> Module:
    """The module after all of the steps; see `run_steps`."""
    result = module
    for _, after in run_steps(module, steps):
        result = after
    return result


def _run_to_fixed_point(
    runner: _Runner, module: Module, group: FixedPoint, leaves_out: Callable[[str, Module], bool] | None
) -> Module:
    passes = [_resolve(step) for step in group.passes]
    unchanged = 0
    for number, current in enumerate(itertools.chain.from_iterable(itertools.repeat(passes, group.rounds))):
        if leaves_out is not None:
            if number >= len(passes) and leaves_out(f"{group.name} beyond one round", module):
                break
            if current.is_optional and leaves_out(current.name, module):
                unchanged += 1
                continue
        result = runner.run(current, module)
        unchanged = unchanged + 1 if result is module else 0
        module = result
        if unchanged == len(passes):
            break
    return module


def _resolve(step: str | Pass) -> Pass:
    if isinstance(step, Pass):
        return step
    found = PASSES.get(step)
    if found is None:
        raise ValueError(f"no pass is named {step!r}; there are {', '.join(sorted(PASSES))}")
    return found


_run_numbers = itertools.count()


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")


class _Runner:
    """Runs passes, and dumps, checks and times them as the environment asks."""

    def __init__(self) -> None:
        self.checks, self.times = _is_on("PHLOX_CHECK"), _is_on("PHLOX_TIME")
        self.directory = os.environ.get("PHLOX_DUMP", "")
        self.observed = bool(self.checks or self.times or self.directory)
        self.seconds: dict[str, list[float]] = {}
        self.number = next(_run_numbers) if self.directory else 0
        self.step = 0

    def begin(self, module: Module) -> None:
        if self.directory:
            self._dump(module, "before")

    def run(self, one: Pass, module: Module) -> Module:
        if not self.observed:
            return one.run(module)
        start = perf_counter()
        result = one.run(module)
        self.seconds.setdefault(one.name, []).append(perf_counter() - start)
        if result is not module:
            if self.directory:
                self._dump(result, one.name)
            if self.checks:
                try:
                    verify(result)
                except VerificationError as error:
                    raise VerificationError(f"after pass {one.name}: {error}") from error
        return result

    def finish(self, module: Module) -> None:
        if not self.times:
            return
        total = sum(map(sum, self.seconds.values()))
        lines = [f"phlox: {module.name}: {1e3 * total:.3f} ms in passes, {module.instruction_count()} instructions"]
        for name, seconds in sorted(self.seconds.items(), key=lambda item: -sum(item[1])):
            lines.append(f"  {1e3 * sum(seconds):9.3f} ms  {name}" + (f" ({len(seconds)} runs)" if len(seconds) > 1 else ""))
        print("\n".join(lines), file=sys.stderr)

    def _dump(self, module: Module, after: str) -> None:
        directory = Path(self.directory)
        directory.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^\w.-]", "_", module.name)
        path = directory / f"{self.number:04}.{name}.{self.step:02}.{after}.hlo"
        path.write_text(module.as_text(), encoding="utf-8")
        self.step += 1
