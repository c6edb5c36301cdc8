"""What a compiled form does with memory, in words: which arrays it copies, and why; what it computes in one go."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Iterable, Iterator

from ... import hlo
from ...compile import memory_plan as plans
from ...compile.aliasing import Value
from ...compile.memory_plan import Copy, MemoryPlan, writer_of
from ...compile.traversal import control_flow_computations
from ...hlo.operation import GIVEN, HOST_CALL
from ...runtime.source_lines import shown_line
from .recorded_function import Recording
from .shared_memory import Place
from .specialization import Sharing, Specialization

_MOST_LINES = 24

_REASONS = {
    plans.CONSTANT: "it is a constant of the program",
    plans.RETURNED: "its former contents are returned, too",
    plans.NEXT_ROUND: "each round begins with its former contents",
    plans.HANDED_ON: "its former contents go on under another name",
    plans.TWO_PLACES: "each round writes a new array, and the last one may not have written where the result belongs",
    plans.ELSEWHERE: "the new contents belong in another place",
}


def copies_told(specialization: Specialization) -> list[str] | None:
    """Each copy that there is at a call, and why; None where the backend does not say."""
    plan = memory_plan_of(specialization)
    if plan is None:
        return None
    recording = specialization.recording
    lines = [*_made_contiguous(recording), *(_told(one, recording) for one in plan.copies), *_written_back(recording, plan)]
    for same in specialization.variants:
        lines += _shared(specialization, same)
    return counted(lines) or ["none"]


def memory_plan_of(specialization: Specialization) -> MemoryPlan | None:
    ask = getattr(specialization.executable, "memory_plan", None)
    return None if ask is None else ask()


def memory_told(specialization: Specialization) -> list[str]:
    """Bytes of arguments, results and temporaries, and how far these share their memory."""
    executable = specialization.executable
    if not hasattr(executable, "memory_analysis"):
        return []
    lines = [", ".join(f"{kind} {as_bytes(size)}" for kind, size in executable.memory_analysis().items())]
    plan = memory_plan_of(specialization)
    if plan is not None and plan.arena_bytes:
        one = "1 temporary array" if plan.temporaries == 1 else f"{plan.temporaries} temporary arrays"
        together = ", together" if plan.temporaries > 1 else ""
        parts = [f"{one} of {as_bytes(plan.separate_bytes)}{together}"] if plan.temporaries else []
        parts += [f"{as_bytes(plan.working_bytes)} of working memory"] if plan.working_bytes else []
        lines.append(f"{', and '.join(parts)}, in an arena of {as_bytes(plan.arena_bytes)}")
    if plan is not None and plan.over_arguments:
        names = ", ".join(_name_of(specialization.recording, number) for number in plan.over_arguments)
        lines.append(f"written where they lie: {names}")
    return lines


def fusions_told(module: hlo.Module) -> list[str]:
    """The operations that are computed in one go, with the lines that they come from."""
    return counted(
        _fusion_told(instruction)
        for computation in reversed(control_flow_computations(module))
        for instruction in computation.instructions
        if instruction.opcode == "fusion"
    )


def _fusion_told(fusion: hlo.Instruction) -> str:
    inside = fusion.attributes["calls"].instructions
    opcodes = Counter(one.opcode for one in inside if not one.has_trait(GIVEN) and one.opcode not in ("tuple", "broadcast"))
    names = ", ".join(name if count == 1 else f"{count} {name}" for name, count in sorted(opcodes.items()))
    places = dict.fromkeys((one.source.file, one.source.line) for one in inside if one.source and one.source.file)
    first, *others = sorted(places) or [("", 0)]
    where = shown_place(*first) + "".join(f", {shown_line(*place)}" for place in others)
    return f"{where}: {names or 'broadcast'} in one loop, for {fusion.shape.without_layout()}"


def counted(lines: Iterable[str]) -> list[str]:
    """Each line once, with the number of times; not too many."""
    found = [line if count == 1 else f"{line} ({count} times)" for line, count in Counter(lines).items()]
    return found if len(found) <= _MOST_LINES else [*found[:_MOST_LINES], f"and {len(found) - _MOST_LINES} more"]


# --- copies ---


def _told(copy: Copy, recording: Recording) -> str:
    array = f"{copy.shape.without_layout()}, {as_bytes(copy.shape.byte_size)},"
    if copy.number >= 0:
        array = f"{_name_of(recording, copy.number)}, {array}"
    where = "" if copy.writer.opcode == "copy" else f"{_place(copy.writer)}: "  # which is no line of the user's
    when = "" if copy.before is None else f" before the loop at {_place(copy.before, line_only=True)}"
    rounds = "" if copy.loop is None else f" in each round of {_place(copy.loop, line_only=True)}"
    return f"{where}{array} is copied{when}{rounds}: {_reason(copy, recording)}"


def _reason(copy: Copy, recording: Recording) -> str:
    if copy.reason == plans.READ_LATER:
        reader, writer = copy.reader, copy.writer
        is_here = reader.source and writer.source and reader.source.line == writer.source.line
        return f"its former contents are read {'once more there' if is_here else f'later, at {_place(reader)}'}"
    if copy.writer.opcode == "copy" and copy.loop is None and copy.reason in (plans.ARGUMENT, plans.CONSTANT):
        return "what is returned is an array of its own"
    if copy.reason != plans.ARGUMENT:
        return _REASONS[copy.reason]
    if copy.number in _changed(recording).values():
        return "it is changed at the end of the call, all at once"
    return "the caller keeps it as it is"


def _changed(recording: Recording) -> dict[int, int]:
    """The parameters that the function changes, by the number of the result with the new contents."""
    parameters = [*recording.mutated, *[len(recording.leaves) + index for index in recording.mutated_captures]]
    return dict(enumerate(parameters, recording.result_count))


def _written_back(recording: Recording, plan: MemoryPlan) -> Iterator[str]:
    module = recording.module
    for result, number in _changed(recording).items():
        value = Value(module.entry.root, result if module.entry.root.shape.is_tuple else 0)
        shape = hlo.leaves(module.entry.shape)[value.leaf]
        if number in plan.over_arguments or not shape.rank:
            continue
        yield (
            f"{_place(writer_of(value))}: {_name_of(recording, number)} gets its new contents, {shape.without_layout()}, "
            f"{as_bytes(shape.byte_size)}, at the end of the call: {_why_at_the_end(recording, number)}"
        )


def _why_at_the_end(recording: Recording, number: int) -> str:
    if recording.error_messages:
        return "the call may end with an exception before it is complete"
    if number >= len(recording.leaves):
        return "it is an array from outside"
    leaf = recording.leaves[number]
    if leaf.convert is not None or not leaf.shape.is_row_major:
        return "it does not lie row by row"
    for computation in recording.module.computations():
        for instruction in computation.instructions:
            if instruction.opcode == "while" or instruction.has_trait(HOST_CALL):
                what = "loop" if instruction.opcode == "while" else "call of Python"
                return f"an interrupt in the {what} at {_place(instruction, line_only=True)} must not leave it half changed"
    return "its former contents are needed until the new ones are complete"


def _made_contiguous(recording: Recording) -> Iterator[str]:
    for leaf in recording.leaves:
        if leaf.kind == "array" and leaf.convert is not None:
            size = as_bytes(leaf.shape.byte_size)
            yield f"argument {leaf.path}, {leaf.shape.without_layout()}, {size}, is copied before the call: not contiguous"


def _shared(specialization: Specialization, same: Sharing) -> Iterator[str]:
    """What a call copies whose arrays share memory in part, one of which is changed."""
    parameters = specialization.recording.module.entry.parameters
    for members in _memories(same).values():
        (first, place), *_ = members
        size = as_bytes(place.size * parameters[first].shape.element_type.byte_size)
        names = " and ".join(_name_of(specialization.recording, number) for number, _ in members)
        yield f"where {names} share part of their memory, {size}, that is copied before the call, and back behind it"


def sharing_told(specialization: Specialization, same: Sharing) -> str:
    """Which arguments and arrays from outside are one, or share memory."""
    recording = specialization.recording
    one = [
        f"{_name_of(recording, number)} is {_name_of(recording, first)}"
        for number, first in enumerate(same)
        if not isinstance(first, Place) and first != number
    ]
    memories = _memories(same).values()
    parts = [f"{' and '.join(_name_of(recording, number) for number, _ in members)} share memory" for members in memories]
    return " and ".join([*one, *parts])


def _memories(same: Sharing) -> dict[int, list[tuple[int, Place]]]:
    """The memory that arrays share in part: their numbers, and where they lie."""
    found: dict[int, list[tuple[int, Place]]] = {}
    for number, place in enumerate(same):
        if isinstance(place, Place):
            found.setdefault(place.memory, []).append((number, place))
    return found


def _name_of(recording: Recording, number: int) -> str:
    if number < len(recording.leaves):
        path = recording.leaves[number].path
        return path if " " in path else f"argument {path}"  # the memory of several
    return recording.captures[number - len(recording.leaves)].path.text


# --- places and sizes ---


def _place(instruction: hlo.Instruction, line_only: bool = False) -> str:
    source = instruction.source
    if not source or not source.file:
        return "phlox"
    return shown_line(source.file, source.line) if line_only else shown_place(source.file, source.line)


def shown_place(file: str, line: int) -> str:
    """A line of the user's, with its text."""
    text = linecache.getline(file, line).strip()
    where = shown_line(file, line)
    return f"{where} `{text}`" if text else where


def as_bytes(size: int) -> str:
    """A number of bytes, short."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} GiB"
