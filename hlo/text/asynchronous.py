"""The short spelling of asynchronous operations: ``add-start(x, y)``, ``add-done(...)``.

It stands for ``async-start(x, y), calls=...`` with a computation that does only the operation, and for ``async-done``.
Source: ``HloParserImpl::CreateInstruction`` (``xla/hlo/parser/hlo_parser.cc``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..instruction import Computation, Instruction, SourceLocation, make_instruction
from ..operation import OPERATIONS, Operation
from ..shape import AnyShape
from .lexer import unescaped

_HALVES = ("start", "update", "done")
# What is said of the start alone, and not of the operation that it starts.
_OF_THE_START = {
    "async_execution_thread", "control-predecessors", "output_to_operand_aliasing", "parameter_replication", "sharding",
}  # fmt: skip
# Of that, what is said of the operation where it is one of these.
_OF_OPERATIONS = {"custom-call": {"output_to_operand_aliasing"}, "fusion": {"output_to_operand_aliasing"}}
# What any instruction may say; the rest belongs to one operation, which is then the one that is started.
_OF_BOTH = {"backend_config", "frontend_attributes", "origin", "statistics"}


def short_spelling(opcode: str) -> tuple[Operation, str] | None:
    """The operation and the half of it, ``start``, ``update`` or ``done``, that this opcode is short for; None if it is not.

    >>> short_spelling("add-start"), short_spelling("add")
    ((<operation add>, 'start'), None)
    """
    name, _, half = opcode.rpartition("-")
    record = OPERATIONS.get(name)
    if half not in _HALVES or record is None or any(kind.stands_in_parentheses for kind in record.attributes.values()):
        return None
    return record, half


def started(
    record: Operation,
    operands: Iterable[Instruction],
    attributes: Mapping[str, object],
    shape: AnyShape | None,
    name: str,
    source: SourceLocation | None,
    annotations: Mapping[str, str],
) -> Instruction:
    """The async-start of one operation with these attributes. Raises ShapeError."""
    operands = tuple(operands)
    parameters = tuple(
        make_instruction("parameter", (), {"number": number}, operand.shape, "async_param")
        for number, operand in enumerate(operands)
    )
    result_shape = shape.elements[1] if shape is not None and shape.is_tuple and len(shape.elements) > 1 else None
    of_the_start = _OF_THE_START - _OF_OPERATIONS.get(record.opcode, set())
    inner = {key: text for key, text in annotations.items() if key not in of_the_start}
    outer = {key: text for key, text in annotations.items() if key in of_the_start or key in _OF_BOTH}
    outer |= {key: str(attributes[key]) for key in sorted(_OF_BOTH & attributes.keys())}
    operation = make_instruction(record.opcode, parameters, attributes, result_shape, "async_op", source, inner)
    thread = _spelled_thread(annotations)
    computation = Computation("async_wrapped", (*parameters, operation), operation, thread)
    return make_instruction("async-start", operands, {"calls": computation}, shape, name, source, outer)


def start_of(instruction: Instruction) -> Instruction | None:
    """The async-start that an async-update or async-done goes back to; None where other instructions stand between."""
    while instruction.opcode in ("async-update", "async-done"):
        (instruction,) = instruction.operands
    return instruction if instruction.opcode == "async-start" else None


def execution_thread(instruction: Instruction) -> str:
    """The thread that an asynchronous instruction names, or that of the computation that it starts; empty for the main one."""
    thread = _spelled_thread(instruction.annotations)
    if not thread and instruction.opcode == "async-start":
        return instruction.attributes["calls"].execution_thread
    return thread


def _spelled_thread(annotations: Mapping[str, str]) -> str:
    thread = annotations.get("async_execution_thread", "")
    return thread_name(unescaped(thread[1:-1]) if thread[:1] == '"' else thread)


def thread_name(name: str) -> str:
    """The name of an execution thread as a computation keeps it: empty for the main one."""
    return "" if name == "main" else name
