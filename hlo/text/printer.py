"""Modules to HLO text, in the form in which XLA prints and reads it.

Source of the form: ``HloModule::ToString`` and ``HloInstruction::ToString`` (``xla/hlo/ir``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..attributes import CalledComputation, CalledComputations, LiteralValue, quoted
from ..element_type import ELEMENT_TYPES
from ..instruction import Computation, Instruction, Module
from ..shape import AnyShape
from .literals import literal_text
from .shapes import counted, full_shape_text
from .source_tables import metadata_text

_NOT_IN_NAMES = re.compile(r"[^\w.\-]", re.ASCII)
_SUFFIX = re.compile(r"\.[0-9]+$")
_REFERENCE = re.compile(r"%?([\w.\-]+)", re.ASCII)
# The words of the lexer, which cannot stand as names without a leading %.
_RESERVED = frozenset("HloModule ENTRY ROOT true false inf nan maximal replicated manual unknown unreduced".split())
_RESERVED |= frozenset("last_tile_dim_replicate shard_as shard_like error".split()) | ELEMENT_TYPES.keys()


def module_text(
    module: Module,
    *,
    names: str = "original",
    metadata: bool = False,
    literal: Callable[[Any, AnyShape], str] = literal_text,
) -> str:
    """The module in XLA's HLO text: called computations before their callers, the entry last.

    ``names`` is "original", for the instructions' own names made unique, or "canonical", for names that depend on the program
    alone, so that equal programs have equal text. ``metadata`` says whether source locations are printed, and ``literal``
    writes the value of a literal.

    >>> from phlox import hlo
    >>> with hlo.Builder("negation") as b:
    ...     module = b.build_module(hlo.negate(hlo.parameter(hlo.Shape(hlo.F32, (2, 3)), "x")))
    >>> print(module_text(module))
    HloModule negation, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{1,0}}
    <BLANKLINE>
    ENTRY %negation (x: f32[2,3]) -> f32[2,3] {
      %x = f32[2,3]{1,0} parameter(0)
      ROOT %negate = f32[2,3]{1,0} negate(%x)
    }
    <BLANKLINE>
    """
    if names not in ("original", "canonical"):
        raise ValueError(f"names must be 'original' or 'canonical', got {names!r}")
    printer = _Printer(module, names == "canonical", metadata, literal)
    return printer.text()


def entry_layout_text(module: Module) -> str:
    """The value of the header's ``entry_computation_layout``: shapes and layouts of parameters and result."""
    parameters = counted([full_shape_text(shape) for shape in module.entry.parameter_shapes])
    return f"{{({parameters})->{full_shape_text(module.entry.shape)}}}"


class _Named(NamedTuple):
    """What an attribute kind needs of a computation in order to print it."""

    name: str


class _Printer:
    def __init__(self, module: Module, canonical: bool, metadata: bool, literal: Callable[[Any, AnyShape], str]) -> None:
        self.module, self.canonical, self.metadata, self.literal = module, canonical, metadata, literal
        self.computations = module.computations()
        self.printed: dict[str, Instruction] = {}  # those of the computation that is being printed
        self.computation_names: dict[Computation, str] = {}
        self.names: dict[Instruction, str] = {}
        name_computation, name_instruction = unique_names(), unique_names()
        for computation in self.computations:
            wanted = "computation" if canonical else computation.name
            self.computation_names[computation] = name_computation(wanted)
            for instruction in computation.instructions:
                wanted = instruction.opcode if canonical else instruction.name or instruction.opcode
                self.names[instruction] = name_instruction(wanted)

    def text(self) -> str:
        attributes = {"entry_computation_layout": entry_layout_text(self.module), **self.module.attributes}
        name = "module" if self.canonical else valid_name(self.module.name)
        header = "".join(f", {key}={value}" for key, value in attributes.items())
        parts = [f"HloModule {name}{header}\n"]
        if self.metadata and self.module.source_tables:
            parts.append(f"{self.module.source_tables}\n")
        for computation in self.computations:
            parts.append(self.computation_text(computation))
        return "\n".join(parts)

    def computation_text(self, computation: Computation) -> str:
        parameters = counted([f"{self.names[p]}: {_bare(p.shape)}" for p in computation.parameters])
        entry = "ENTRY " if computation is self.module.entry else ""
        lines = [f"{entry}%{self.computation_names[computation]} ({parameters}) -> {_bare(computation.shape)} {{"]
        self.printed = {}
        for instruction in computation.instructions:
            root = "ROOT " if instruction is computation.root else ""
            lines.append(f"  {root}{self.instruction_text(instruction)}")
            self.printed[instruction.name] = instruction
        thread = computation.execution_thread
        return "\n".join(lines) + ("\n}\n" if not thread else f"\n}}, execution_thread={quoted(thread)}\n")

    def instruction_text(self, instruction: Instruction) -> str:
        inside = ["%" + self.names[operand] for operand in instruction.operands]
        behind = []
        for name, kind in instruction.operation.attributes.items():
            value = instruction.attributes[name]
            if kind.stands_in_parentheses:
                text = self.literal(value, instruction.shape) if isinstance(kind, LiteralValue) else kind.print(value)
                inside.append(text)
            elif kind.always_printed or isinstance(value, np.ndarray) or value != kind.default:
                behind.append(f", {kind.spelling or name}={kind.print(self._with_names(kind, value))}")
        for name, text in instruction.annotations.items():
            if name == "control-predecessors":
                text = self._control_predecessors(text)
            behind.append(f", {name}={text}" if text else "")
        if self.metadata and instruction.source is not None:
            behind.append(f", metadata={metadata_text(instruction.source, bool(self.module.source_tables))}")
        shape = full_shape_text(instruction.shape)
        return f"%{self.names[instruction]} = {shape} {instruction.opcode}({counted(inside)}){''.join(behind)}"

    def _with_names(self, kind: object, value: Any) -> Any:
        """Computations replaced by what carries the name they are printed under; any other value itself."""
        if isinstance(kind, CalledComputations):
            return tuple(_Named(self.computation_names[item]) for item in value)
        if isinstance(kind, CalledComputation):
            return _Named(self.computation_names[value])
        return value

    def _control_predecessors(self, text: str) -> str:
        """The list with the names under which the instructions are printed; left out are those no longer before it."""
        kept = [self.names[self.printed[name]] for name in _REFERENCE.findall(text) if name in self.printed]
        return "{" + ", ".join("%" + name for name in kept) + "}" if kept else ""


def _bare(shape: AnyShape) -> str:
    return str(shape.without_layout())


def valid_name(wanted: str) -> str:
    """The name with everything replaced by _ that a name in HLO text must not contain.

    >>> valid_name("<lambda>")
    '_lambda_'
    """
    name = _NOT_IN_NAMES.sub("_", wanted) or "_"
    if name in _RESERVED or not (name[0].isalpha() or name[0] == "_"):
        name = "_" + name
    return name


def unique_names() -> Callable[[str], str]:
    """A function that gives each call another valid name, the wanted one as long as it is free.

    >>> name = unique_names()
    >>> name("add"), name("add"), name("add.7"), name("add.7")
    ('add', 'add.1', 'add.7', 'add.2')
    """
    used: set[str] = set()
    counts: dict[str, int] = {}

    def name(wanted: str) -> str:
        wanted = valid_name(wanted)
        if wanted in used:
            base = _SUFFIX.sub("", wanted)
            number = counts.get(base, 0)
            while (result := f"{base}.{(number := number + 1)}") in used:
                pass
            counts[base] = number
        else:
            result = wanted
        used.add(result)
        return result

    return name
