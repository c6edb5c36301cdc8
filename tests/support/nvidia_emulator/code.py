"""Kernels as blocks of instructions without branches, each of which becomes a Python function over the registers of threads.

A function is given the registers that its block reads before it writes them, and returns those that other blocks read. What
calls hand over is in registers, too: functions do not call themselves. So is the block that a function returns to.
"""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass, field

import numpy as np

from .instructions import instruction_lines
from .text import Function, Instruction, Module, read_body, type_of_register

_STORAGE = {"pred": np.dtype(bool), **{f"{kind}{bits}": np.dtype(f"u{bits // 8}") for kind in "busf" for bits in (16, 32, 64)}}
_WHOLE_WARPS = ("shfl", "vote", "match", "redux", "mma", "ldmatrix", "bar", "barrier", "elect")
_ENDS = ("bra", "brx", "ret", "exit", "call", "trap", "bar", "barrier")
LANES, GROUP = 32, 128  # threads of a warp, and of a group of warps


@dataclass
class Block:
    """``together`` is how many threads, a warp or a group of these, have to be here before any goes on."""

    instructions: list[Instruction]
    end: tuple
    together: int = 1
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    function: object = None
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()


class KernelCode:
    """A kernel and what it calls. ``registers`` are types by number, ``variables`` where memory of a block or thread begins."""

    def __init__(self, module: Module, name: str, addresses: dict[str, int]) -> None:
        self.kernel = read_body(module.functions[name])
        self.module, self.global_addresses = module, addresses
        self.parameters = {}
        self.parameter_bytes = 0
        for number, one in enumerate(self.kernel.parameters):
            at = -(-self.parameter_bytes // one.align) * one.align
            self.parameters[f"{name}.argument{number}"] = at, one
            self.parameter_bytes = at + one.size
        self.names: dict[str, object] = {"np": np}
        self.registers: dict[str, tuple[int, np.dtype]] = {}
        self.blocks: list[Block] = []
        self._entries: dict[str, int] = {}
        self._constants: dict[tuple, str] = {}
        self.shared, self.local = {}, {}
        self.shared_bytes = self.local_bytes = 0
        self.dynamic_names = []
        self.least_shared_access = self.least_device_access = 8
        functions = self._called()
        self._lay_out(functions)
        for one in functions:
            self._entries[one.name] = len(self.blocks)
            self._divide(one)
        self._resolve()
        self._find_registers_between_blocks()

    # --- what there is ---

    def _called(self) -> list[Function]:
        found, waiting = [], [self.kernel]
        while waiting:
            function = waiting.pop()
            if function in found:
                continue
            found.append(read_body(function))
            for one in function.instructions:
                if one.opcode.startswith("call"):
                    name = one.operands[1] if one.operands[0].startswith("(") else one.operands[0]
                    if name not in self.module.functions:
                        raise NotImplementedError(f"a call of {name}")
                    waiting.append(self.module.functions[name])
        return found

    def _lay_out(self, functions: list[Function]) -> None:
        """Memory of the block, of which what has no size comes last, and of a thread."""
        used = " ".join([function.body for function in functions])
        words = set(re.findall(r"[\w$]+", used))
        variables = [one for one in self.module.variables.values() if one.name in words]
        variables += [one for function in functions for one in function.variables.values()]
        for one in variables:
            places = {"shared": self.shared, "local": self.local}.get(one.space)
            if places is None:
                continue
            if one.space == "shared" and not one.size:
                self.dynamic_names.append(one)
                continue
            size = self.shared_bytes if one.space == "shared" else self.local_bytes
            places[one.name] = at = -(-size // one.align) * one.align
            if one.space == "shared":
                self.shared_bytes = at + one.size
            else:
                self.local_bytes = at + one.size
        for one in self.dynamic_names:
            self.shared[one.name] = self.dynamic_begin = -(-self.shared_bytes // one.align) * one.align

    # --- blocks ---

    def _divide(self, function: Function) -> None:
        instructions, labels = _with_branches_for_guards(function)
        begins = {0, *labels.values()}
        begins |= {number + 1 for number, one in enumerate(instructions) if one.opcode.split(".")[0] in _ENDS}
        order = sorted(one for one in begins if one < len(instructions))
        first = len(self.blocks)
        numbers = {begin: first + number for number, begin in enumerate(order)}
        places = {name: numbers.get(at) for name, at in labels.items()}
        for begin, after in zip(order, [*order[1:], len(instructions)]):
            inside, last = instructions[begin:after], instructions[after - 1]
            following = numbers.get(after)
            kind = last.opcode.split(".")[0]
            if kind in _ENDS:
                end, inside = self._end(function, last, kind, places, following), inside[:-1]
            else:
                end = ("go", following)
            together = max([_together(one) for one in instructions[begin:after]], default=1)
            self.blocks.append(Block(inside, end, together))

    def _end(self, function, last, kind, places, following):
        if kind == "bra":
            target = places[last.operands[0]]
            return ("go", target) if last.guard is None else ("branch", *last.guard, target, following)
        if kind == "brx":
            return "table", last.operands[0], [places[one] for one in function.targets[last.operands[1]]]
        if kind == "call":
            name = last.operands[1] if last.operands[0].startswith("(") else last.operands[0]
            return "call", name, following
        if kind in ("bar", "barrier"):
            if last.opcode not in ("bar.sync", "barrier.sync.aligned", "barrier.cta.sync.aligned") or last.operands != ("0",):
                raise NotImplementedError(f"the instruction {last}")
            return "barrier", following
        if kind == "ret" and not function.is_kernel:
            return "return", function.name
        return ("trap",) if kind == "trap" else ("exit",)

    def _resolve(self) -> None:
        for block in self.blocks:
            if block.end[0] == "call":
                _, name, following = block.end
                number = self.register(f"{name}.return", np.dtype(np.int64))
                block.end = "call", number, self._entries[name], following
            elif block.end[0] == "return":
                block.end = "return", self.register(f"{block.end[1]}.return", np.dtype(np.int64))

    def _find_registers_between_blocks(self) -> None:
        for block in self.blocks:
            seen = set()
            for one in block.instructions:
                text, reads, writes = instruction_lines(self, one)
                block.lines += [f"{line}  # {one}" for line in text]
                block.reads += [name for name in dict.fromkeys(reads) if name not in seen and name not in block.reads]
                seen |= set(writes)
            block.writes = sorted(seen)
            if block.end[0] in ("branch", "table") and block.end[1] not in seen and block.end[1] not in block.reads:
                block.reads.append(block.end[1])
        between = {name for block in self.blocks for name in block.reads}
        for block in self.blocks:
            block.writes = [name for name in block.writes if name in between]
            block.inputs = tuple([self.registers[name][0] for name in block.reads])
            block.outputs = tuple([self.registers[name][0] for name in block.writes])

    def compiled(self, block: Block):
        """The block's function."""
        if block.function is None:
            results = [self.local_name(name) for name in block.writes]
            if block.end[0] in ("branch", "table"):
                results.append(self.local_name(block.end[1]))
            text = f"def block({', '.join(['x', *map(self.local_name, block.reads)])}):\n"
            text += "".join([f" {line}\n" for line in block.lines])
            text += f" return ({', '.join(results)}{',' if results else ''})\n"
            scope, name = {}, f"<{self.kernel.name} {len(linecache.cache)}>"
            linecache.cache[name] = len(text), None, text.splitlines(True), name  # so that errors say which instruction it is
            exec(compile(text, name, "exec"), self.names, scope)
            block.function = scope["block"]
        return block.function

    # --- names in the functions ---

    def register(self, name: str, storage: np.dtype | None = None) -> int:
        if name not in self.registers:
            if storage is None:
                storage = self.storage(name)
            self.registers[name] = len(self.registers), storage
        return self.registers[name][0]

    def storage(self, name: str) -> np.dtype | None:
        """The type of a register's array; None if it is no register."""
        if name in self.registers:
            return self.registers[name][1]
        function = self.module.functions.get(name.rpartition(".%")[0] or name.partition("@")[0].rpartition(".")[0])
        kind = type_of_register(function, name) if function is not None else None
        return None if kind is None else _STORAGE[kind]

    def local_name(self, name: str) -> str:
        return f"v{self.register(name)}"

    def constant(self, value: int, dtype) -> str:
        """The name of an array of one number, given as bits."""
        dtype = np.dtype(dtype)
        key = value, dtype.str
        if key not in self._constants:
            bits = np.array([value & (1 << 8 * dtype.itemsize) - 1], f"u{dtype.itemsize}")
            self._constants[key] = self.named(bits.astype(bool) if dtype.kind == "b" else bits.view(dtype), "K")
        return self._constants[key]

    def named(self, value: object, letter: str = "f") -> str:
        name = f"{letter}{len(self.names)}"
        self.names[name] = value
        return name


def _together(instruction: Instruction) -> int:
    name = instruction.opcode.split(".")[0]
    return GROUP if name == "wgmma" else LANES if name in _WHOLE_WARPS else 1


def _with_branches_for_guards(function: Function) -> tuple[list[Instruction], dict[str, int]]:
    """What is executed under a condition, with a branch around it."""
    found, places = [], []
    labels = {}
    for one in function.instructions:
        places.append(len(found))
        if one.guard is not None and one.opcode.split(".")[0] != "bra":
            register, is_negated = one.guard
            after = f"after {len(found)}"
            found.append(Instruction("bra", (after,), (register, not is_negated)))
            found.append(Instruction(one.opcode, one.operands))
            labels[after] = len(found)
        else:
            found.append(one)
    places.append(len(found))
    return found, labels | {name: places[at] for name, at in function.labels.items()}
