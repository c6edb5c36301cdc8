"""What a jitted function has become, told to its user: `JittedFunction.explain`."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, ModuleType

from ... import hlo
from ...compile.trip_count import known_trip_count
from ...hlo.drawing import module_svg
from ...hlo.operation import CONTROL_FLOW, GIVEN, TUPLING
from ...hlo.tracebacks import line_of
from ...runtime.host_functions import HostFunction
from ..outside.guards import (
    Distinct,
    Guard,
    SameAs,
    SameClass,
    SameContents,
    SameErrorHandling,
    SameForm,
    SameFunction,
    SameKeys,
    SameLength,
    SameMethod,
    SameNames,
    SameObject,
    SameState,
    SameType,
    SameValue,
    short,
)
from ..outside.paths import MISSING
from ..recording.errors import LeftToPython, SizeBeyondBound
from ..recording.program import ErrorMessage
from .cache import CacheEntry
from .explained_memory import copies_told, counted, fusions_told, memory_told, sharing_told, shown_place
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
                f'<div style="{_ROW}"><b style="flex:0 0 6em">{html.escape(title)}</b><div style="{_LINES}">'
                f"{''.join(map(_html_line, lines))}</div></div>"
                for title, lines in sections
            )
            drawing = f'<div style="overflow:auto;max-height:40em">{module_svg(module)}</div>'
            blocks.append(
                f"<details open><summary><code>{html.escape(signature)}</code></summary>{rows}"
                f"<details><summary>the program that runs</summary>{drawing}</details></details>"
            )
        return "".join(blocks)


# A title, and beside it, or below it where there is no room, lines that are broken rather than moved sideways.
_ROW = "display:flex;flex-wrap:wrap;margin:.2em 0;text-align:left"
_LINES = "flex:1 1 16em;min-width:0;overflow-wrap:anywhere"


def _html_line(line: str) -> str:
    """A line, with the user's source in it as code."""
    parts = html.escape(line).split("`")
    code = [f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts)]
    return f'<div style="padding-left:1em;text-indent:-1em">{"".join(code)}</div>'


def explanation(name: str, entries: Mapping[Specialization, CacheEntry], not_captured: str | None) -> Explanation:
    """All that there is to say of a function's compiled forms."""
    times = {0: "is not compiled yet: call it", 1: "is compiled for one form of call"}
    heading = f"{name} {times.get(len(entries), f'is compiled for {len(entries)} forms of call')}"
    if not_captured:
        heading += f"\nIts control flow is left to tracing: {not_captured}"
    forms, drawings = [], []
    for specialization, entry in entries.items():
        compiled = [(specialization, f"({entry.signature})", list(_of_entry(specialization, entry)))]
        for same, variant in specialization.variants.items():
            sharing = sharing_told(specialization, same)
            compiled.append((variant, f"({entry.signature}), where {sharing}", [("why", [f"{sharing}, and one is changed"])]))
        for one, signature, first in compiled:
            forms.append((signature, [*first, *_sections(one)]))
            drawings.append(getattr(one.executable, "optimized", one.recording.module))
    return Explanation(heading, forms, drawings)


def _of_entry(specialization: Specialization, entry: CacheEntry) -> Iterator[Section]:
    yield "why", [entry.reason]
    if entry.static_numbers:
        yield "static", [f"{', '.join(entry.static_numbers)}: their values decide shapes or the course of the function"]
    yield "calls", ["run native code at once" if entry.native else "go through Python to the native code"]
    traced, compiled = _seconds(specialization.recording.trace_seconds), _seconds(entry.compile_seconds)
    yield "time", [f"traced in {traced}, compiled in {compiled}"]


def _sections(specialization: Specialization) -> Iterator[Section]:
    recording = specialization.recording
    recorded, runs = recording.module, getattr(specialization.executable, "optimized", recording.module)
    loops = {**recording.unrolled_loops, **dict(_captured_loops(recorded, runs))}
    subjects: dict[str, list[str]] = {
        "loops": [f"{shown_place(*place)}: {what}" for place, what in sorted(loops.items())],
        "branches": _branches(recorded, runs),
        "outside": _read_outside(specialization),
        "sets": sorted({f"{effect.path.text}: {_EFFECTS[effect.how]} behind each call" for effect in recording.effects}),
        "Python": counted(_called_functions(recorded, recording.host_functions)),
        "raises": sorted(set(_raised(recording.error_messages))),
    }
    yield from ((title, lines) for title, lines in subjects.items() if lines)
    yield "operations", [f"{_work(recorded)} recorded, {_work(runs)} run"]
    memory = {"fused": fusions_told(runs), "copies": copies_told(specialization), "memory": memory_told(specialization)}
    yield from ((title, lines) for title, lines in memory.items() if lines)
    if given_up := getattr(specialization.executable, "given_up", ()):
        yield "given up", [*given_up]


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


def _captured_loops(recorded: hlo.Module, runs: hlo.Module) -> Iterator[tuple[tuple[str, int], str]]:
    remaining = {_place(one) for one in _all(runs) if one.opcode == "while" and one.source}
    for instruction in _all(recorded):
        if instruction.opcode == "while" and instruction.source:
            count = known_trip_count(instruction)
            rounds = "the program decides how many rounds" if count is None else f"{count.count} rounds"
            becomes = "" if _place(instruction) in remaining else "; the compiler needs no loop for them"
            yield (instruction.source.file, instruction.source.line), f"a loop of the program, {rounds}{becomes}"


def _branches(recorded: hlo.Module, runs: hlo.Module) -> list[str]:
    remaining = {_place(one) for one in _all(runs) if one.opcode == "conditional"}
    places = {_place(one) for one in _all(recorded) if one.opcode == "conditional" and one.source}
    ways = {True: "one of the sides runs", False: "both sides are computed, one is selected"}
    return [f"{place}: {ways[place in remaining]}" for place in sorted(places)]


def _read_outside(specialization: Specialization) -> list[str]:
    recording = specialization.recording
    read = {capture.path.text: capture.parameter.shape for capture in recording.captures if capture.path is not None}
    lines = [f"{text}: {shape}, read at each call" for text, shape in read.items()]
    lines += [line for guard in recording.guards if (line := _guard_told(guard)) is not None]
    return list(dict.fromkeys(lines))


def _guard_told(guard: Guard) -> str | None:
    """What a form was compiled for; None for what is read at each call, and for modules: of these the names count."""
    text = guard.path.text
    match guard:
        case SameValue(value=value):
            return f"{text}: compiled for {short(value)}"
        case SameForm(form=form):
            return f"{text}: compiled for {short(form)}"
        case SameLength(length=length):
            return f"{text}: compiled for {length} items"
        case SameContents() | SameState():
            return f"{text}: compiled for these contents"
        case SameKeys():
            return f"{text}: compiled for these keys"
        case SameFunction() | SameMethod():
            return f"{text}: compiled with this function"
        case SameNames():
            return f"{text}: compiled with this {', '.join(guard.held)}"
        case SameClass():
            return f"class {text}: compiled with its methods"
        case SameObject(value=value):
            is_library = value is MISSING or isinstance(value, (ModuleType, BuiltinFunctionType, type))
            return None if is_library else f"{text}: compiled for this object"
        case SameType():
            return f"{text}: compiled for this class"
        case SameErrorHandling(value=kinds) if kinds:
            return f"np.seterr: compiled with errors for {', '.join(sorted(kinds))}"
        case SameAs(other=other):
            return f"{text}: compiled for the same object as {other.text}"
        case Distinct(other=other):
            return f"{text}: compiled for another object than {other.text}"
    return None


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
            yield f"{shown_place(code.co_filename, line_of(lines[-1]))}: {kind.__name__}"


def _work(module: hlo.Module) -> int:
    """How many operations there are that compute something."""
    return sum(one.operation.traits.isdisjoint({GIVEN, TUPLING}) for one in _all(module))


def _place(instruction: hlo.Instruction) -> str:
    source = instruction.source
    return shown_place(source.file, source.line) if source else "phlox"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"
