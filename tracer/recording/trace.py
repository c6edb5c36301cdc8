"""Recording: a trace is one HLO computation that grows while the user's function runs.

Loop bodies, branches and called functions are traces of their own with a parent. What they take from outside (values of
outer traces, captured arrays, the error flag) becomes a hidden input of their computation; what they write into outside
storage becomes a hidden output. `control_flow` and `calls` connect these to the instruction that runs the computation.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ... import hlo
from ...compile.traversal import has_effects
from ...hlo.inference import KnownUses
from ...hlo.operation import EFFECTFUL, ELEMENTWISE
from ...hlo.source_lines import user_location
from ...hlo.tracebacks import places_of_users
from . import error_codes
from .aliases import note_change, require_current
from .current_trace import current_trace, set_current_trace
from .errors import ChangedCopyError, LeakedArrayError
from .ndarrays import array_form
from .program import Capture, ErrorMessage, Program


class Storage:
    """A value that can be rebound: the memory behind one array and all views of it.

    ``instruction`` is the value as ``trace``, to which it belongs, sees it; traces inside that one read and write it through
    `Trace.read` and `Trace.write`. ``origin`` names it for messages, where it has a name: ``argument x['w']``. Others than the
    traced function see what becomes of one that ``is_from_outside``. One that ``is_copy`` stands for another one, which would
    have to change with it. ``has_other_order``: see `byte_order`.
    """

    __slots__ = (
        "trace", "instruction", "origin", "bases", "copies", "apart", "rounds", "is_copy", "is_from_outside", "has_other_order",
    )  # fmt: skip

    def __init__(self, trace: Trace, instruction: hlo.Instruction, origin: str = "") -> None:
        self.trace, self.instruction, self.origin = trace, instruction, origin
        self.is_copy = self.is_from_outside = self.has_other_order = False
        # Those that this one may be, those that may be this one, and those that it cannot be (recording/aliases.py).
        self.bases: frozenset[Storage] | None = None
        self.copies: frozenset[Storage] | None = None
        self.apart: frozenset[Storage] = frozenset()
        self.rounds: Any = None  # the number of rounds of the loop that has left this, where the program decides it

    @property
    def may_be_another(self) -> bool:
        return self.bases is not None or self.copies is not None

    def __repr__(self) -> str:
        return f"<storage {self.origin or self.instruction!r}>"


class PackedInputs:
    """The one tuple that computations share as their parameter: a While's body and condition, a Conditional's branches.

    Its first elements have the ``own`` shapes (the loop state); each outside storage that is used adds one behind them.
    """

    def __init__(self, own: Iterable[hlo.Shape] = ()) -> None:
        self.shapes: list[hlo.Shape] = [shape.without_layout() for shape in own]
        self.own_count = len(self.shapes)
        self.storages: dict[Storage, int] = {}

    def slot(self, storage: Storage, shape: hlo.Shape) -> int:
        """The index of this storage in the tuple."""
        found = self.storages.get(storage)
        if found is None:
            found = self.storages[storage] = len(self.shapes)
            self.shapes.append(shape.without_layout())
        return found

    @property
    def shape(self) -> hlo.TupleShape:
        return hlo.TupleShape(tuple(self.shapes))


# What instructions have that are alike: operation, attributes, shape and name.
_Alike = tuple[hlo.Operation, dict[str, Any], hlo.shape.AnyShape, str]


class RecordingBuilder(hlo.Builder):
    """A builder that infers the shapes of instructions that are alike once, of all computations of a program.

    Instructions are alike that apply an operation, with equal attributes, to the same shapes; these are told apart by identity,
    which is exact as long as they are kept here. So that what follows is alike, too, equal shapes are one object.
    """

    def __init__(self, name: str, parent: RecordingBuilder | None) -> None:
        super().__init__(name, user_location)
        self._alike: dict[tuple, _Alike] = {} if parent is None else parent._alike
        self._kept: list[tuple[hlo.shape.AnyShape, ...]] = [] if parent is None else parent._kept
        self._shapes: dict[hlo.shape.AnyShape, hlo.shape.AnyShape] = {} if parent is None else parent._shapes
        self.inferred = KnownUses(hlo.Operation.infer_shape) if parent is None else parent.inferred
        self.recorded: list[int] = [0] if parent is None else parent.recorded  # how many instructions, dropped ones among them

    def append(self, instruction: hlo.Instruction) -> hlo.Instruction:
        self.recorded[0] += 1
        self.instructions.append(instruction)
        return instruction

    def emit(self, opcode: str, *operands: hlo.Instruction, shape: hlo.shape.AnyShape | None = None, **details: Any) -> Any:
        shapes = tuple([operand.shape for operand in operands])
        key = (opcode, shape, *map(id, shapes), *details.items())
        try:
            alike = self._alike.get(key)
        except TypeError:  # literals, and what is in lists, cannot be looked up
            key = None if opcode == "constant" else _with_tuples(key)
            alike = None if key is None else self._alike.get(key)
        if alike is not None:
            return self._again(alike, operands)
        made = super().emit(opcode, *operands, shape=shape, **details)
        self.inferred.note(made.operation, shapes, made.attributes, made.shape, made.shape)
        if key is not None:
            self._alike[key] = made.operation, made.attributes, made.shape, made.name
            self._kept.append(shapes)
        return made

    def canonical(self, made: hlo.Instruction) -> hlo.Instruction:
        """The instruction with the one object of its shape."""
        shape = self._shapes.setdefault(made.shape, made.shape)
        if shape is made.shape:
            return made
        return hlo.Instruction(made.operation, made.operands, made.attributes, shape, made.name, made.source, made.annotations)

    def constant(self, value: Any, element_type: hlo.ElementType | None = None) -> hlo.Instruction:
        """As of any builder."""
        kind = type(value)
        if kind not in (int, float, bool, np.float64, np.int64):
            return super().constant(value, element_type)
        key = ("constant", kind, repr(value), element_type)
        alike = self._alike.get(key)
        if alike is not None:
            return self._again(alike, ())
        made = super().constant(value, element_type)
        self._alike[key] = made.operation, made.attributes, made.shape, made.name
        return made

    def _again(self, alike: _Alike, operands: tuple[hlo.Instruction, ...]) -> hlo.Instruction:
        operation, attributes, shape, name = alike
        return self.append(hlo.Instruction(operation, operands, attributes, shape, name, user_location()))


def _with_tuples(key: tuple) -> tuple | None:
    """The key with tuples for lists, None where that cannot be looked up, either."""
    key = tuple([(part[0], tuple(part[1])) if type(part) is tuple and type(part[1]) is list else part for part in key])
    try:
        hash(key)
    except TypeError:
        return None
    return key


class Trace:
    """One computation being recorded; ``with trace, trace.running:`` makes it the thread's current one.

    ``running`` is a lock because the interpreter leaves locks whenever an exception comes, while an interrupt may also come at
    the first line of ``__exit__``.

    ``parent`` is the trace that was current around it (None for the outermost, ``root``). With ``inputs`` the computation
    takes one tuple, otherwise separate parameters. ``finished`` once the ``with`` block is left, by an exception too.
    """

    def __init__(self, name: str, parent: Trace | None = None, inputs: PackedInputs | None = None) -> None:
        self.builder = RecordingBuilder(name, None if parent is None else parent.builder)
        self.name, self.parent, self.inputs = name, parent, inputs
        self.narrowed: dict[hlo.Instruction, tuple[int, int]] = {}  # the parent's integers, where this computation runs
        self.root: Trace = self if parent is None else parent.root
        self.program: Program = Program() if parent is None else parent.program
        self.finished = False
        self.outside: dict[Storage, hlo.Instruction] = {}  # outside storage as it was on entry
        self.written: dict[Storage, hlo.Instruction] = {}  # outside storage that was written, as it is now
        self.outdated: set[Storage] = set()  # those that may be others, which have been changed
        self.filled: set[Storage] = set()  # those that get a row in each round: no change of what the rows may be
        self.shared_read: set[Storage] = set()  # those that may be others, of traces around, which have been read
        self.entries: dict[hlo.Instruction, Storage] = {}  # the values of ``outside``, the other way round
        # Of a loop's body or condition: outside storage whose first value was taken for all, and that which the loop changes.
        self.repeats = self.is_branch = False
        self.taken_as_known: set[Storage] = set()
        self.changing: set[Storage] = set()
        self.write_logs: list[dict[Storage, hlo.Instruction]] = []
        self.loops: Any = None  # for capture/loops/settled.py
        self._packed: hlo.Instruction | None = None
        self.enclosing: Trace | None = None
        self.running = threading.Lock()
        if inputs is not None:
            # The tuple grows while its users are recorded; `build` puts one of the final shape in its place.
            self._packed = self.builder.emit("parameter", shape=inputs.shape, number=0)

    def __enter__(self) -> Trace:
        self.enclosing = current_trace()
        set_current_trace(self)
        return self

    def __exit__(self, *exception: object) -> None:
        set_current_trace(self.enclosing)
        self.finished = True

    def __repr__(self) -> str:
        return f"<{'finished ' if self.finished else ''}trace {self.name}>"

    # --- values ---

    @property
    def around_branches(self) -> Trace:
        """This trace, or the innermost one around it that is no branch of a condition."""
        return self.parent.around_branches if self.is_branch else self

    def read(self, storage: Storage) -> hlo.Instruction:
        """The storage's current value as an instruction of this trace. Raises LeakedArrayError."""
        if storage.bases is not None or storage.copies is not None:
            require_current(self, storage)
        if storage.trace is self:
            if self.finished:
                raise LeakedArrayError(storage)
            return storage.instruction
        if self.finished:
            raise LeakedArrayError(storage)
        return self.written.get(storage) or self.outside.get(storage) or self._take_in(storage)

    def write(self, storage: Storage, instruction: hlo.Instruction) -> None:
        """Rebind the storage to an instruction of this trace, of the same shape. Raises LeakedArrayError, and
        ChangedCopyError."""
        if storage.is_copy:
            raise ChangedCopyError(
                "an array is changed in place that a recursion hands on, or goes on with behind a call of itself, and others "
                "may have it, too. Fix: hand on the whole array, and positions (sort(a, low, high)), or copy it first"
            )
        if storage.bases is not None or storage.copies is not None:
            note_change(self, storage)
        self.hand_on(storage, instruction)

    def hand_on(self, storage: Storage, instruction: hlo.Instruction) -> None:
        """As `write`, of what an inner trace has written, and noted that it has."""
        for log in self.write_logs:
            log.setdefault(storage, self.read(storage))
        if storage.trace is self and not self.finished:
            storage.instruction = instruction
        else:
            self.read(storage)  # outside storage that is written is an input too: a loop that runs zero times leaves it alone
            self.written[storage] = instruction

    @contextmanager
    def logging_writes(self, log: dict[Storage, hlo.Instruction]) -> Iterator[None]:
        """Collects the storages to which this trace writes meanwhile, with what they held before."""
        self.write_logs.append(log)
        try:
            yield
        finally:
            self.write_logs.pop()

    def outside_value(self, storage: Storage) -> hlo.Instruction:
        """The value of outside storage at the end of this trace, which may be finished."""
        return self.written.get(storage) or self.outside.get(storage) or self._take_in(storage)

    def _take_in(self, storage: Storage) -> hlo.Instruction:
        if self.parent is None:
            raise LeakedArrayError(storage)
        shape = self.parent.read(storage).shape.without_layout()
        if self.inputs is None:
            instruction = self.builder.parameter(shape)
        else:
            # Not checked by the shape function, because the tuple's shape is not complete yet.
            record, attributes = hlo.OPERATIONS["get-tuple-element"], {"index": self.inputs.slot(storage, shape)}
            made = hlo.Instruction(record, (self._packed,), attributes, shape, "", user_location())
            instruction = self.builder.append(made)
        self.outside[storage], self.entries[instruction] = instruction, storage
        return instruction

    def own_input(self, index: int) -> hlo.Instruction:
        """Element ``index`` of the tuple that this computation takes."""
        return hlo.get_tuple_element(self._packed, index)

    def interval_of_input(self, instruction: hlo.Instruction) -> tuple[int, int] | None:
        """The interval in which an integer of this trace lies, where it has been noted here or where it comes from."""
        for trace, here in self._seen_from(instruction):
            narrowed = next((known for outside, known in trace.narrowed.items() if trace._is_computed_as(here, outside)), None)
            found = trace.program.intervals.get(here)
            if narrowed is not None and found is not None:
                return max(narrowed[0], found[0]), min(narrowed[1], found[1])
            if narrowed is not None or found is not None:
                return narrowed or found
        return None

    def _seen_from(self, instruction: hlo.Instruction) -> Iterator[tuple[Trace, hlo.Instruction]]:
        """The instruction, and what it is in the traces that it comes from."""
        trace: Trace | None = self
        while trace is not None:
            yield trace, instruction
            storage = trace.entries.get(instruction) if trace.parent is not None else None
            if storage is None:
                return
            trace, instruction = trace.parent, trace.parent.read(storage)

    def _is_computed_as(self, here: hlo.Instruction, outside: hlo.Instruction, depth: int = 4) -> bool:
        """Whether an instruction of this trace is one of its parent, or computed of such ones as another of it is."""
        storage = self.entries.get(here)
        if storage is not None:
            return self.parent.read(storage) is outside
        if here.opcode != outside.opcode or here.shape != outside.shape or not depth:
            return False
        if here.opcode == "constant":
            return not here.shape.rank and here.attributes["literal"] == outside.attributes["literal"]
        is_elementwise = ELEMENTWISE in here.operation.traits and here.attributes == outside.attributes
        return is_elementwise and all(self._is_computed_as(*pair, depth - 1) for pair in zip(here.operands, outside.operands))

    # --- captured arrays ---

    def capture(self, array: np.ndarray) -> hlo.Instruction:
        """A concrete array as an instruction of this trace: a hidden parameter of the outermost computation."""
        return self.read(self.capture_storage(array))

    def capture_storage(self, array: np.ndarray) -> Storage:
        """The storage that stands for a concrete array; the same one for the same array. The array is kept alive."""
        return self.captured(array).storage

    def captured(self, array: np.ndarray) -> Capture:
        """As `capture_storage`."""
        root, program = self.root, self.program
        found = program.captures.get(id(array))
        if found is not None:
            if found.is_unchanged():
                return found
            program.replaced_captures.append(found)
        shape, convert = array_form(array, "an array that the traced function uses")
        storage = Storage(root, root.builder.parameter(shape, "captured"), "a captured array")
        storage.is_from_outside = True
        storage.has_other_order = not array.dtype.isnative
        made = program.captures[id(array)] = Capture(array, storage, convert)
        return made

    def captured_number(self, number: Any, element_type: hlo.ElementType, convert: Callable | None, path: Any) -> Capture:
        """A hidden parameter for a number that is found at the path at each call."""
        return self.captured_input(hlo.Shape(element_type), path, number, convert)

    def captured_input(self, shape: hlo.Shape, path: Any, found: Any = None, convert: Callable | None = None) -> Capture:
        """A hidden parameter for what the path reads at each call."""
        root = self.root
        storage = Storage(root, root.builder.parameter(shape, "captured"), path.text)
        made = self.program.captures[id(storage)] = Capture(found, storage, convert, path)
        return made

    def sources(self, instruction: hlo.Instruction) -> frozenset[hlo.Instruction] | None:
        """The parameters of the outermost computation that an instruction of this trace is computed from.

        None where it depends on something else that is not known before the call: the state of a loop, random numbers.
        """
        found = self.program.found_sources
        pending: list[tuple[Trace, hlo.Instruction]] = [(self, instruction)]
        while pending:
            trace, current = pending[-1]
            if current in found:
                pending.pop()
                continue
            needed = trace._direct_sources(current)
            missing = [(owner, one) for owner, one in needed if one not in found]
            if missing:
                pending.extend(missing)
                continue
            if trace.parent is None and current.opcode == "parameter":
                found[current] = frozenset([current])
            elif trace.parent is not None and current is trace._packed or _brings_in(current):
                found[current] = None
            else:
                found[current] = _union([found[one] for _, one in needed])
        return found[instruction]

    def _direct_sources(self, instruction: hlo.Instruction) -> list[tuple[Trace, hlo.Instruction]]:
        """What an instruction is computed from at once, each with its trace."""
        storage = self.entries.get(instruction) if self.parent is not None else None
        if storage is not None:
            return [(self.parent, self.parent.read(storage))]
        return [(self, operand) for operand in instruction.operands]

    def depends_on_outside_alone(self, instruction: hlo.Instruction) -> bool:
        """Whether a value is computed from arrays and numbers from outside, whose contents can become known."""
        sources = self.sources(instruction)
        return bool(sources) and len(self.program.paths_of(sources)) == len(sources)

    def may_become_known(self, instruction: hlo.Instruction) -> bool:
        """Whether a value is computed from numbers of Python's that a caller gives, and from what is outside."""
        sources = self.sources(instruction)
        others = (sources or frozenset()) - self.program.python_numbers
        return bool(sources) and len(self.program.paths_of(others)) == len(others)

    # --- errors ---

    def add_error_flag(
        self,
        predicate: hlo.Instruction,
        exception_type: type[Exception],
        message: str,
        value: hlo.Instruction | None = None,
    ) -> None:
        """Let the compiled call raise ``exception_type(message)`` if the predicate is true when it runs.

        The predicate is a pred[] of this trace. The first one that is true wins. The traceback has the user's lines. The value,
        an integer, is what the message has in the place of ``{}``.
        """
        self._flag(predicate, (exception_type, message, places_of_users()), value)

    def add_raise(self, predicate: hlo.Instruction, error: Exception) -> None:
        """Let the compiled call raise this exception, as the user wrote it, if the predicate is true when it runs."""
        places = places_of_users(error.__traceback__)
        self._flag(predicate, (error.with_traceback(None), "", places))

    def _flag(self, predicate: hlo.Instruction, entry: ErrorMessage, value: hlo.Instruction | None = None) -> None:
        self.program.error_messages.append(entry)
        storage = self.error_flag_storage()
        flag = self.read(storage)
        is_first = hlo.and_(hlo.eq(flag, 0), predicate)
        raised: Any = len(self.program.error_messages)
        if value is not None:
            raised = error_codes.with_value(raised, value)
        self.write(storage, hlo.select(is_first, raised, flag))
        if self.program.regions:
            self.program.regions[-1].add(self, [len(self.program.error_messages)])

    def error_flag_storage(self) -> Storage:
        """The error flag; for those, too, who have to see what an earlier round of a loop, recorded later on, has found."""
        root, program = self.root, self.program
        if program.error_flag is None:
            program.error_flag = Storage(root, root.builder.constant(np.int64(0)), "error flag")
        return program.error_flag

    # --- the end ---

    def build(self, root: hlo.Instruction) -> hlo.Computation:
        """The recorded computation, without what neither its root nor an effect needs.

        Where computations share their inputs, to be called after all of them have been recorded.
        """
        needed = {root}
        for made in reversed(self.builder.instructions):
            if made in needed or has_effects(made):
                needed.add(made)
                needed.update(made.operands)
        kept = [made for made in self.builder.instructions if made in needed or made.opcode == "parameter"]
        computation = hlo.Computation(self.name, tuple(kept), root)
        if self._packed is None or self._packed.shape == self.inputs.shape:
            return computation
        packed, whole = self._packed, hlo.make_instruction("parameter", (), {"number": 0}, self.inputs.shape)

        def transform(instruction: hlo.Instruction, operands: tuple[hlo.Instruction, ...]) -> hlo.Instruction:
            if instruction is packed:
                return whole
            return instruction if operands == instruction.operands else instruction.with_operands(operands)

        return hlo.rebuild(computation, transform)


def identifier(text: str) -> str:
    """The text as a name for HLO text: letters, digits and underscores."""
    return re.sub(r"\W+", "_", text).strip("_") or "f"


def _union(sets: Sequence[frozenset | None]) -> frozenset | None:
    """The union, as one of the sets where it is one of them."""
    whole: frozenset = frozenset()
    for one in sets:
        if one is None:
            return None
        if not one <= whole:
            whole = one if whole <= one else whole | one
    return whole


def _brings_in(instruction: hlo.Instruction) -> bool:
    """Whether a value holds what the program meets while it runs: random numbers, what the host returns."""
    if instruction.opcode == "rng-bit-generator":  # of a state that is another one at each call
        return True
    if not has_effects(instruction):
        return False
    if EFFECTFUL in instruction.operation.traits:
        return bool(hlo.leaves(instruction.shape))
    return any(_brings_in(one) for called in instruction.called_computations for one in called.instructions)
