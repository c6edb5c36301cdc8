"""What a jitted function has become, told to its user: `JittedFunction.explain`."""

from __future__ import annotations

import html
import linecache
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ... import hlo
from ...compile.trip_count import known_trip_count
from ...hlo.drawing import module_svg
from ...hlo.operation import CONTROL_FLOW, GIVEN, TUPLING
from ...hlo.tracebacks import line_of
from ...runtime.host_functions import HostFunction
from ...runtime.source_lines import shown_line
from ..outside.guards import SameContents, SameFunction, SameKeys, SameLength, SameValue, short
from ..recording.errors import LeftToPython, SizeBeyondBound
from ..recording.program import ErrorMessage
from .cache import CacheEntry
from .specialization import Specialization

# What a section says of one subject: a title and lines.
Section = tuple[str, list[str]]


@dataclass(frozen=True)
class Explanation:
    """What a function was compiled for, and what became of it each time; notebooks draw the programs, too.

    ``forms`` has for each compiled form its signature and sections, ``drawings`` the program that runs.
    """

    heading: str
    forms: Sequence[tuple[str, list[Section]]]
    drawings: Sequence[hlo.Module]

    def __str__(self) -> str:
        blocks = [self.heading]
        for number, (signature, sections) in enumerate(self.forms, 1):
            rows = [(title if place == 0 else "", line) for title, lines in sections for place, line in enumerate(lines)]
            blocks.append("\n".join([f"{number}. {signature}", *[f"   {title:<12}{line}" for title, line in rows]]))
        return "\n\n".join(blocks)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        blocks = [f"<p>{html.escape(self.heading)}</p>"]
        for (signature, sections), module in zip(self.forms, self.drawings):
            rows = "".join(
                f'<tr style="vertical-align:top"><th style="text-align:left">{html.escape(title)}</th>'
                f'<td style="text-align:left"><pre style="margin:0">{html.escape(chr(10).join(lines))}</pre></td></tr>'
                for title, lines in sections
            )
            drawing = f'<div style="overflow:auto;max-height:40em">{module_svg(module)}</div>'
            blocks.append(
                f"<details open><summary><code>{html.escape(signature)}</code></summary><table>{rows}</table>"
                f"<details><summary>the program that runs</summary>{drawing}</details></details>"
            )
        return "".join(blocks)


def explanation(name: str, entries: Mapping[Specialization, CacheEntry], not_captured: str | None) -> Explanation:
    """All that there is to say of a function's compiled forms."""
    times = {0: "is not compiled yet: call it", 1: "is compiled for one form of call"}
    heading = f"{name} {times.get(len(entries), f'is compiled for {len(entries)} forms of call')}"
    if not_captured:
        heading += f"\nIts control flow is left to tracing: {not_captured}"
    forms = [(f"({entry.signature})", list(_sections(one, entry))) for one, entry in entries.items()]
    drawings = [getattr(one.executable, "optimized", one.recording.module) for one in entries]
    return Explanation(heading, forms, drawings)


def _sections(specialization: Specialization, entry: CacheEntry) -> Iterator[Section]:
    recording = specialization.recording
    recorded, runs = recording.module, getattr(specialization.executable, "optimized", recording.module)
    yield "why", [entry.reason]
    if entry.static_numbers:
        yield "static", [f"{', '.join(entry.static_numbers)}: their values decide shapes or the course of the function"]
    yield "calls", ["run native code at once" if entry.native else "go through Python to the native code"]
    yield "time", [f"traced in {_seconds(recording.trace_seconds)}, compiled in {_seconds(entry.compile_seconds)}"]
    loops = {**recording.unrolled_loops, **dict(_captured_loops(recorded))}
    subjects: dict[str, list[str]] = {
        "loops": [f"{_line(*place)}: {what}" for place, what in sorted(loops.items())],
        "branches": _branches(recorded, runs),
        "outside": _read_outside(specialization),
        "sets": sorted({f"{effect.path.text}: {_EFFECTS[effect.how]} behind each call" for effect in recording.effects}),
        "Python": _counted(_called_functions(recorded, recording.host_functions)),
        "raises": sorted(set(_raised(recording.error_messages))),
    }
    yield from ((title, lines) for title, lines in subjects.items() if lines)
    fusions = sum(one.opcode == "fusion" for one in _all(runs))
    yield "operations", [f"{_work(recorded)} recorded, {_work(runs)} run; fusions of several: {fusions}"]
    if hasattr(specialization.executable, "memory_analysis"):
        sizes = specialization.executable.memory_analysis()
        yield "memory", [", ".join(f"{kind} {_bytes(size)}" for kind, size in sizes.items())]


_EFFECTS = {
    "write": "set",
    "append": "appended to",
    "contents": "given other contents",
    "entries": "given other entries",
    "delete": "deleted",
}


def _all(module: hlo.Module) -> Iterator[hlo.Instruction]:
    """The instructions that run one by one, each computation's once."""
    pending, seen = [module.entry], set()
    while pending:
        computation = pending.pop()
        if computation in seen:
            continue
        seen.add(computation)
        for instruction in computation.instructions:
            yield instruction
            if instruction.has_trait(CONTROL_FLOW) or instruction.opcode == "call":
                pending += instruction.called_computations


def _captured_loops(module: hlo.Module) -> Iterator[tuple[tuple[str, int], str]]:
    for instruction in _all(module):
        if instruction.opcode == "while" and instruction.source:
            count = known_trip_count(instruction)
            rounds = "the program decides how many rounds" if count is None else f"{count.count} rounds"
            yield (instruction.source.file, instruction.source.line), f"a loop of the program, {rounds}"


def _branches(recorded: hlo.Module, runs: hlo.Module) -> list[str]:
    remaining = {_place(one) for one in _all(runs) if one.opcode == "conditional"}
    places = {_place(one) for one in _all(recorded) if one.opcode == "conditional" and one.source}
    ways = {True: "one of the sides runs", False: "both sides are computed, one is selected"}
    return [f"{place}: {ways[place in remaining]}" for place in sorted(places)]


def _read_outside(specialization: Specialization) -> list[str]:
    recording = specialization.recording
    read = {capture.path.text: capture.parameter.shape for capture in recording.captures if capture.path is not None}
    lines = [f"{text}: {shape}, read at each call" for text, shape in read.items()]
    for guard in recording.guards:
        text = guard.path.text
        if isinstance(guard, SameValue):
            lines.append(f"{text}: compiled for {short(guard.value)}")
        elif isinstance(guard, SameLength):
            lines.append(f"{text}: compiled for {guard.length} items")
        elif isinstance(guard, (SameContents, SameKeys)):
            lines.append(f"{text}: compiled for {'these keys' if isinstance(guard, SameKeys) else 'these contents'}")
        elif isinstance(guard, SameFunction):
            lines.append(f"{text}: compiled with this function")
    return list(dict.fromkeys(lines))


def _called_functions(module: hlo.Module, functions: Sequence[HostFunction]) -> Iterator[str]:
    names = {function.name for function in functions}
    for instruction in _all(module):
        if instruction.attributes.get("custom_call_target") in names:
            yield f"{_place(instruction)}: Python is called here"


def _raised(messages: Sequence[ErrorMessage]) -> Iterator[str]:
    for error, _, lines in messages:
        kind = error if isinstance(error, type) else type(error)
        if issubclass(kind, Exception) and kind not in (SizeBeyondBound, LeftToPython) and lines:
            code, _ = lines[-1]
            yield f"{_line(code.co_filename, line_of(lines[-1]))}: {kind.__name__}"


def _counted(lines: Iterable[str]) -> list[str]:
    return [line if count == 1 else f"{line} ({count} times)" for line, count in Counter(lines).items()]


def _work(module: hlo.Module) -> int:
    """How many operations there are that compute something."""
    return sum(one.operation.traits.isdisjoint({GIVEN, TUPLING}) for one in _all(module))


def _place(instruction: hlo.Instruction) -> str:
    source = instruction.source
    return _line(source.file, source.line) if source else "phlox"


def _line(file: str, line: int) -> str:
    """A line of the user's, with its text."""
    text = linecache.getline(file, line).strip()
    where = shown_line(file, line)
    return f"{where} `{text}`" if text else where


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def _bytes(size: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} GiB"
