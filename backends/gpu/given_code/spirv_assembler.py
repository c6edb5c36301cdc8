"""An assembler for SPIR-V: the text that LLVM and SPIR-V Tools print, to the binary module that drivers take.

Numeric ids keep their values, names get the numbers that are left, in order. Source: "SPIR-V Specification" 1.6, 2.3 (physical
layout); the syntax is that of SPIR-V Tools ("SPIR-V Assembly language syntax").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from struct import pack
from typing import TypeVar

from .spirv_grammar import Enumeration, Instruction, Operand, enumerations, instructions, opencl_instructions
from .spirv_literals import BFLOAT16, FLOAT_TYPES, WORD, FloatType, IntegerType, number_words
from .spirv_module import MAGIC, string_words
from .spirv_tokens import Statement, Token, statements_of, tokens_of
from .text_places import TextError

# What LLVM's target writes; a comment that names the version (as SPIR-V Tools print one) has precedence.
_VERSION = (1, 4)
_VERSION_COMMENT = re.compile(r"^\s*;\s*Version:\s*(\d{1,2})\.(\d{1,2})\s*$", re.MULTILINE)
_ID = re.compile(r"%\w+", re.ASCII)
_NUMERIC_ID = re.compile(r"%[1-9]\d{0,9}", re.ASCII)
_MOST_ID = 0x3FFFFE  # by the specification's universal limits
_MOST_BITS = 4096  # of integers of any width, in drivers that have them
_OPENCL = "OpenCL.std"

_Entry = TypeVar("_Entry")


def assemble_spirv(text: str) -> bytes:
    """The binary module of SPIR-V's text.

    Raises TextError, with line and column, for instructions and names that are not known, missing and further operands, numbers
    that are none of their type, and ids that are not defined, or twice.

    >>> assemble_spirv("OpCapability Kernel")[20:].hex()
    '1100020006000000'
    """
    tokens = tokens_of(text)
    ids = _numbered(text, tokens)
    module = _Module(text, ids)
    for statement in statements_of(text, tokens):
        module.add(statement)
    module.check_ids()
    found = _VERSION_COMMENT.search(text)
    major, minor = map(int, found.groups()) if found else _VERSION
    words = [major << 16 | minor << 8, 0, max(ids.values(), default=0) + 1, 0, *module.words]
    return MAGIC + pack(f"<{len(words)}I", *words)


def _numbered(text: str, tokens: list[Token]) -> dict[str, int]:
    """The number of each id."""
    names: dict[str, int] = {}
    for token in tokens:
        if token.text.startswith("%"):
            if _ID.fullmatch(token.text) is None:
                raise TextError(text, token.place, f"an id is letters, digits and _ behind a %, got {token.text}")
            names[token.text] = int(token.text[1:]) if _NUMERIC_ID.fullmatch(token.text) else 0
            if names[token.text] > _MOST_ID:
                raise TextError(text, token.place, f"numeric ids are between 1 and {_MOST_ID:,}")
    taken, number = set(names.values()), 0
    for name, given in names.items():
        if not given:
            number += 1
            while number in taken:
                number += 1
            names[name] = number
    return names


class _Module:
    """The words of a module, and what its instructions so far say of its ids."""

    def __init__(self, text: str, ids: dict[str, int]) -> None:
        self.text, self.ids = text, ids
        self.words: list[int] = []
        self.defined: dict[str, Token] = {}
        self.used: dict[str, Token] = {}
        self.number_types: dict[str, IntegerType | FloatType] = {}
        self.types: dict[str, str] = {}  # of values
        self.sets: dict[str, str] = {}  # of extended instructions

    def add(self, statement: Statement) -> None:
        """An instruction."""
        known = _known(self.text, instructions(), statement.opcode, "instruction")
        writer = _Writer(self, statement, known)
        writer.write()
        if statement.result is not None:
            self._keep(statement, statement.result.text, writer.words)

    def _keep(self, statement: Statement, result: str, words: list[int]) -> None:
        """What later instructions need to know of the result."""
        match statement.opcode.text, words:
            case "OpTypeInt", [_, width, is_signed] if 0 < width <= _MOST_BITS:
                self.number_types[result] = IntegerType(width, is_signed == 1)
            case "OpTypeFloat", [_, width] if width in FLOAT_TYPES:
                self.number_types[result] = FLOAT_TYPES[width]
            case "OpTypeFloat", [_, 16, 0]:
                self.number_types[result] = BFLOAT16
            case "OpExtInstImport", _:
                self.sets[result] = statement.operands[0].text.strip('"')
            case _ if statement.operands:
                self.types[result] = statement.operands[0].text

    def check_ids(self) -> None:
        """Raise TextError where an id is used that nothing defines."""
        for name, token in self.used.items():
            if name not in self.defined:
                close = get_close_matches(name, self.defined, 1)
                raise TextError(self.text, token.place, f"{name} is not defined{_perhaps(close)}")


class _Writer:
    """One instruction: its tokens are taken one after another, as its operands ask for them."""

    def __init__(self, module: _Module, statement: Statement, instruction: Instruction) -> None:
        self.module, self.statement, self.instruction = module, statement, instruction
        self.rest = statement.operands[::-1]
        self.words: list[int] = []
        self.last = statement.opcode
        self.is_raw = False  # whether a raw word has come: what follows in the instruction is taken as it is

    def write(self) -> None:
        """Into the module."""
        takes_result = any("result" in operand.kinds for operand in self.instruction.operands)
        result, opcode = self.statement.result, self.statement.opcode
        if takes_result and result is None:
            raise self.wrong(opcode, f"{opcode.text} has a result: %name = {opcode.text} ...")
        if result is not None and not takes_result:
            raise self.wrong(result, f"{opcode.text} has no result")
        self.operands(self.instruction.operands)
        count = len(self.words) + 1
        if count > 0xFFFF:
            raise self.wrong(opcode, f"{opcode.text} has {count:,} words; an instruction has at most {0xFFFF:,}")
        trailing = self.raw() if self.rest and self.rest[-1].text.startswith("!") else []
        if self.rest:
            raise self.wrong(self.rest[-1], f"{self.takes()}; {self.rest[-1].text} is one more")
        self.module.words += [count << 16 | self.instruction.opcode, *self.words, *trailing]

    def operands(self, wanted: tuple[Operand, ...]) -> None:
        """The tokens for these operands."""
        for operand in wanted:
            if operand.kinds == ("result",):
                self.define()
                continue
            while True:
                if operand.quantifier and not self.rest:
                    break
                for kind in operand.kinds:
                    self.operand(kind)
                if operand.quantifier != "*":
                    break

    def operand(self, kind: str) -> None:
        """The token for an operand."""
        if self.rest and self.rest[-1].text.startswith("!"):
            self.words += self.raw()
            self.is_raw = True
        if self.is_raw:
            return
        if not self.rest:
            raise self.wrong(self.last, f"{self.takes()}; {_article(kind)} is missing behind {self.last.text}")
        self.last = token = self.rest.pop()
        match kind:
            case "id" | "type":
                self.words.append(self.use(token))
            case "string":
                self.words += string_words(self.string(token))
            case "integer" | "float":
                self.number(token, WORD if kind == "integer" else FLOAT_TYPES[32])
            case "number":
                self.number(token, self.type_of_constant(token))
            case "case":
                self.number(token, self.type_of_selector(token))
            case "extended":
                self.extended(token)
            case "operation":
                known = {name.removeprefix("Op"): one for name, one in instructions().items()}
                found = _known(self.module.text, known, token, "instruction")
                self.words.append(found.opcode)
                self.operands(tuple([one for one in found.operands if one.kinds[0] not in ("type", "result")]))
            case _:
                self.enumerant(token, kind, enumerations()[kind])

    def raw(self) -> list[int]:
        """The words of all tokens that are left, each by its own look."""
        words = []
        while self.rest:
            token = self.rest.pop()
            if token.text.startswith("%"):
                words.append(self.use(token))
            elif token.text.startswith('"'):
                words += string_words(self.string(token))
            else:
                is_float = not token.text.startswith("!") and re.fullmatch(r"[+-]?(0[xX][0-9a-fA-F]+|\d+)", token.text) is None
                type_ = FLOAT_TYPES[32] if is_float else IntegerType(32, token.text.startswith("-"))
                words += self.checked(token, token.text.removeprefix("!"), type_)
        return words

    def takes(self) -> str:
        """The operands of the instruction, in words."""
        spelled = " ".join([str(operand) for operand in self.instruction.operands if operand.kinds != ("result",)])
        return f"{self.statement.opcode.text} takes {spelled or 'nothing'}"

    def wrong(self, token: Token, message: str) -> TextError:
        """What is wrong at a token."""
        return TextError(self.module.text, token.place, message)

    # --- ids ---

    def define(self) -> None:
        result = self.statement.result
        assert result is not None
        self.words.append(self.id(result))
        before = self.module.defined.setdefault(result.text, result)
        if before is not result:
            line = self.module.text.count("\n", 0, before.place) + 1
            raise self.wrong(result, f"{result.text} is defined already, in line {line}")

    def use(self, token: Token) -> int:
        self.module.used.setdefault(token.text, token)
        return self.id(token)

    def id(self, token: Token) -> int:
        if not token.text.startswith("%"):
            raise self.wrong(token, f"an id is required, as %1 or %name, got {token.text}")
        return self.module.ids[token.text]

    # --- literals ---

    def string(self, token: Token) -> str:
        if not token.text.startswith('"'):
            raise self.wrong(token, f'a string is required, as "text", got {token.text}')
        return re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)

    def number(self, token: Token, type_: IntegerType | FloatType) -> None:
        self.words += self.checked(token, token.text, type_)

    def checked(self, token: Token, text: str, type_: IntegerType | FloatType) -> list[int]:
        try:
            return number_words(text, type_)
        except ValueError as error:
            raise self.wrong(token, f"{error}, got {token.text}") from None

    def type_of_constant(self, token: Token) -> IntegerType | FloatType:
        """That which the first operand names."""
        first = self.statement.operands[0]
        found = self.module.number_types.get(first.text)
        if found is None:
            raise self.wrong(first, f"{first.text} is no OpTypeInt or OpTypeFloat that stands before {token.text}")
        return found

    def type_of_selector(self, token: Token) -> IntegerType | FloatType:
        """That of the value which the first operand names."""
        first = self.statement.operands[0]
        found = self.module.number_types.get(self.module.types.get(first.text, ""))
        if not isinstance(found, IntegerType):
            raise self.wrong(first, f"{first.text} is no integer that stands before {token.text}")
        return found

    # --- names ---

    def extended(self, token: Token) -> None:
        """An instruction of a set, by its name, or, of any set, by its number."""
        if token.text.isdecimal():
            self.number(token, WORD)
            return
        name = self.statement.operands[1].text
        of_set = self.module.sets.get(name)
        if of_set != _OPENCL:
            raise self.wrong(token, f"names are known of {_OPENCL} alone; {name} is {of_set or 'no set of instructions'}")
        found = _known(self.module.text, opencl_instructions(), token, f"instruction of {_OPENCL}")
        self.words.append(found.opcode)
        self.instruction = self.instruction._replace(operands=(*self.instruction.operands[:-1], *found.operands))
        self.operands(found.operands)

    def enumerant(self, token: Token, kind: str, enumeration: Enumeration) -> None:
        """A name of a number, or a mask of such names, and what these are followed by."""
        names = token.text.split("|") if enumeration.is_mask else [token.text]
        place, found = token.place, {}
        for name in names:
            number, followed_by = _known(self.module.text, enumeration.values, Token(name, place), kind)
            found[number] = followed_by
            place += len(name) + 1
        self.words.append(sum(found))
        for number in sorted(found):
            self.operands(found[number])


def _known(text: str, table: Mapping[str, _Entry], token: Token, what: str) -> _Entry:
    """What a table has under a name."""
    found = table.get(token.text)
    if found is None:
        close = get_close_matches(token.text, table, 3)
        known = f"there are {', '.join(table)}" if len(table) <= 12 else f"{len(table)} names are known"
        raise TextError(text, token.place, f"{token.text} is no {what}{_perhaps(close) or f'; {known}'}")
    return found


def _perhaps(close: list[str]) -> str:
    return f"; is it {' or '.join(close)}?" if close else ""


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeioAEIO' else 'a'} {kind}"
