"""PTX as LLVM prints it, taken apart: variables, functions, and their instructions.

Source: NVIDIA's "PTX ISA" 8.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LINE = re.compile(r"\s*\.(version|target|address_size|file)\b[^\n]*\n")
_FUNCTION = re.compile(
    r"\s*(?:\.(?:visible|weak|extern)\s+)?\.(?P<kind>entry|func)\s*(?:\((?P<result>[^)]*)\))?\s*(?P<name>[\w$]+)\s*"
    r"\((?P<parameters>[^)]*)\)(?P<rest>[^{;]*)(?P<end>[{;])"
)
_VARIABLE = re.compile(
    r"(?:\.(?:visible|weak|extern)\s+)*\.(?P<space>global|const|shared|local|param)\s+(?:\.align\s+(?P<align>\d+)\s+)?"
    r"\.(?P<type>\w+)\s+(?:\.ptr\s+(?:\.\w+\s+)?(?:\.align\s+(?P<pointed>\d+)\s+)?)?(?P<name>[\w$]+)"
    r"\s*(?:\[(?P<count>\d*)\])?\s*(?:=\s*(?P<values>.*))?$",
    re.DOTALL,
)
_LABEL = re.compile(r"([$\w]+):(?!:)")
_GUARD = re.compile(r"@(!?)([%\w]+)\s+")
_NAME = re.compile(r"%?[A-Za-z_$][\w$]*")
_NUMBERED = re.compile(r"(%?[A-Za-z_$]+)(\d+)$")
_CALL = re.compile(r"\bcall(?:\.uni)?\s+(?:\((\w*)\),\s*)?([\w$]+),\s*\(([^)]*)\)")
_BRACE = re.compile("[{}]")
_BLANK = re.compile(r"\s*")


@dataclass(frozen=True)
class Variable:
    """Memory with a name. ``pointed`` is how what a parameter points to is aligned, ``data`` what is there, if anything is."""

    name: str
    space: str
    size: int
    align: int
    pointed: int = 1
    data: bytes | None = None


@dataclass(frozen=True)
class Instruction:
    """``guard`` is the register that says whether it is executed, and whether it does so by being false."""

    opcode: str
    operands: tuple[str, ...]
    guard: tuple[str, bool] | None = None

    def __str__(self) -> str:
        return f"{self.opcode} {', '.join(self.operands)}"


@dataclass
class Function:
    """A function, or a kernel. Registers have the name of the function before theirs, and types such as ``b32`` or ``pred``."""

    name: str
    is_kernel: bool
    parameters: tuple[Variable, ...]
    body: str
    most_threads: int | None = None
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    targets: dict[str, list[str]] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)


@dataclass
class Module:
    variables: dict[str, Variable]
    functions: dict[str, Function]


def parse_module(text: str) -> Module:
    """The module of PTX text; bodies of functions stay text until `read_body`."""
    text = _COMMENT.sub("", text.rstrip("\0"))
    module, at = Module({}, {}), 0
    while (at := _BLANK.match(text, at).end()) < len(text):
        if line := _LINE.match(text, at):
            at = line.end()
        elif found := _FUNCTION.match(text, at):
            at = found.end()
            if found["end"] == "{":
                body, at = _until_closed(text, at)
                parameters = tuple([_variable(one) for one in found["parameters"].split(",") if one.strip()])
                limit = re.search(r"\.maxntid\s+([\d, ]+)", found["rest"])
                sizes = [int(one) for one in limit[1].split(",")] if limit else []
                most = sizes[0] * sizes[1] * sizes[2] if len(sizes) == 3 else None
                module.functions[found["name"]] = Function(found["name"], found["kind"] == "entry", parameters, body, most)
        else:
            end = text.index(";", at)
            variable = _variable(text[at:end])
            module.variables[variable.name] = variable
            at = end + 1
    return module


def _until_closed(text: str, at: int) -> tuple[str, int]:
    begin, depth = at, 1
    for brace in _BRACE.finditer(text, at):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return text[begin : brace.start()], brace.end()
    raise ValueError("a function without an end")


def _variable(text: str) -> Variable:
    found = _VARIABLE.match(text.strip())
    if found is None:
        raise NotImplementedError(f"the directive {text.strip()[:80]!r}")
    unit = int(found["type"][1:]) // 8
    count = int(found["count"] or 0) if found["count"] is not None else 1
    data = None
    if found["values"] is not None:
        numbers = [int(one, 0) for one in re.findall(r"-?(?:0x[0-9A-Fa-f]+|\d+)", found["values"])]
        data = b"".join((number & (1 << 8 * unit) - 1).to_bytes(unit, "little") for number in numbers)
    return Variable(found["name"], found["space"], count * unit, int(found["align"] or unit), int(found["pointed"] or 1), data)


# --- bodies ---


class _Scope:
    def __init__(self, number: int, callee: str | None = None) -> None:
        self.suffix = f"@{number}" if number else ""
        self.names: set[str] = set()
        self.prefixes: set[str] = set()
        self.call: dict[str, str] = {}


def read_body(function: Function) -> Function:
    """The function with its instructions."""
    if function.instructions:
        return function
    scopes, count = [_Scope(0)], 0
    text, at, end = function.body, 0, len(function.body)
    own = {one.name: f"{function.name}.argument{number}" for number, one in enumerate(function.parameters)}
    own["func_retval0"] = f"{function.name}.result0"
    while (at := _BLANK.match(text, at).end()) < end:
        if text[at] == "{":
            count += 1
            scopes.append(_Scope(count))
            call = _CALL.search(_until_closed(text, at + 1)[0])
            scopes[-1].call = _names_of_call(call) if call else {}
            at += 1
        elif text[at] == "}":
            scopes.pop()
            at += 1
        elif label := _LABEL.match(text, at):
            at = label.end()
            function.labels[label[1]] = len(function.instructions)
        else:
            stop = text.index(";", at)
            _statement(function, text[at:stop].strip(), scopes, own)
            at = stop + 1
    return function


def _names_of_call(call: re.Match[str]) -> dict[str, str]:
    arguments = [one.strip() for one in call[3].split(",")]
    names = {name: f"{call[2]}.argument{number}" for number, name in enumerate(arguments)}
    return names | ({call[1]: f"{call[2]}.result0"} if call[1] else {})


def _statement(function: Function, text: str, scopes: list[_Scope], own: dict[str, str]) -> None:
    if text.startswith(".reg"):
        _, kind, names = text.split(None, 2)
        for name in names.split(","):
            name, _, many = name.strip().partition("<")
            if many:
                scopes[-1].prefixes.add(name)
            else:
                scopes[-1].names.add(name)
            function.registers[f"{function.name}.{name}{scopes[-1].suffix}"] = kind[1:]
    elif text.startswith(".branchtargets"):
        label = list(function.labels)[-1]
        function.targets[label] = [one.strip() for one in text.removeprefix(".branchtargets").split(",")]
        del function.labels[label]
    elif text.startswith((".local", ".shared")):
        variable = _variable(text)
        function.variables[variable.name] = variable
    elif not text.startswith((".param", ".pragma", ".loc")):
        guard = None
        if found := _GUARD.match(text):
            guard, text = (_renamed(found[2], function, scopes, own), found[1] == "!"), text[found.end() :]
        opcode, rest = [*text.split(None, 1), ""][:2]
        operands = [_NAME.sub(lambda name: _renamed(name[0], function, scopes, own), one) for one in _split(rest)]
        if opcode.startswith("call"):
            operands = _split(rest)
        function.instructions.append(Instruction(opcode, tuple(operands), guard))


def _renamed(name: str, function: Function, scopes: list[_Scope], own: dict[str, str]) -> str:
    numbered = _NUMBERED.match(name)
    for scope in reversed(scopes):
        if name in scope.names or (numbered and numbered[1] in scope.prefixes):
            return f"{function.name}.{name}{scope.suffix}"
        if name in scope.call:
            return scope.call[name]
    return own.get(name, name)


def _split(text: str) -> list[str]:
    """Operands, between commas that are in no brackets."""
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "{[(":
            depth += 1
        elif letter in "}])":
            depth -= 1
        elif letter == "," and not depth:
            parts.append(text[begin:at].strip())
            begin = at + 1
    last = text[begin:].strip()
    return [*parts, last] if last else parts


def type_of_register(function: Function, name: str) -> str | None:
    """The type of a register with its full name, None if it is none."""
    if (kind := function.registers.get(name)) is not None:
        return kind
    head, at, suffix = name.partition("@")
    numbered = _NUMBERED.match(head.rpartition(".")[2])
    if numbered is None:
        return None
    return function.registers.get(f"{head[: len(head) - len(numbered[2])]}{at}{suffix}")
