"""Lines of Python for instructions: what they read and write, and in which type."""

from __future__ import annotations

import re

import numpy as np

from .accesses import atomic_change, copy_later, load, store
from .matrices import load_matrices, multiply_matrices, multiply_together
from .memory import LOCAL_WINDOW, SHARED_WINDOW
from .operations import DTYPES, bits_of_type, is_signed, operation
from .warps import shuffle, vote

_INTEGER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|\d+)U?$")
_FLOAT = re.compile(r"0[fFdD]([0-9A-Fa-f]+)$")
_ADDRESS = re.compile(r"\[\s*([^\]+]+?)\s*(?:\+\s*(-?\d+))?\s*\]$")
_SPACES = ("global", "shared", "local", "param", "const")
_SPECIAL = {"%tid", "%ntid", "%ctaid", "%nctaid"}
# Memory is the same for all threads at any time, and what a product of a group of warps makes is there at once.
_NOTHING = {"fence", "membar", "nanosleep", "wgmma.fence.sync.aligned"}


class Lines:
    """Lines of one instruction, which it adds to, with the registers that it reads and writes."""

    def __init__(self, code, instruction):
        self.code, self.instruction = code, instruction
        self.text, self.reads, self.writes = [], [], []

    def unknown(self):
        return NotImplementedError(f"the instruction {self.instruction}")

    def source(self, operand: str, kind: str) -> str:
        """An operand as an array of this type."""
        code, dtype = self.code, DTYPES[kind]
        bits = bits_of_type(kind)
        if found := _FLOAT.match(operand):
            return code.constant(int(found[1], 16), dtype)
        if _INTEGER.match(operand):
            value = int(operand.rstrip("U"), 0)
            if dtype.kind == "f" and not kind.endswith("x2") and not operand.startswith("0x"):
                raise self.unknown()
            if kind.endswith("x2"):
                return f"x.full({code.constant(value, np.uint32)}).view({self._dtype(dtype)})"
            return code.constant(value, dtype)
        if operand.startswith("!"):
            return f"~{self.source(operand[1:], kind)}"
        storage = code.storage(operand)
        if storage is None:
            return code.constant(self._address_of(operand), dtype)
        self.reads.append(operand)
        name = code.local_name(operand)
        if kind == "pred" or storage == dtype:
            return name
        if bits > 8 * storage.itemsize:
            raise self.unknown()
        if bits < 8 * storage.itemsize:
            storage = np.dtype(f"u{bits // 8}")
            name = f"{name}.astype({self._dtype(storage)})"
        return name if storage == dtype else f"{name}.view({self._dtype(dtype)})"

    def _dtype(self, dtype):
        name = f"t_{dtype.kind}{dtype.itemsize}"
        self.code.names[name] = dtype
        return name

    def _address_of(self, name):
        code = self.code
        if name in code.parameters:
            return code.parameters[name][0]
        for places in (code.shared, code.local, code.global_addresses):
            if name in places:
                return places[name]
        raise NotImplementedError(f"{name} in the instruction {self.instruction}")

    def result(self, operand: str, expression: str, kind: str) -> None:
        """Write an array of this type to a register; of a wider one the rest are zeros, or the sign."""
        if operand == "_":
            self.text.append(expression)
            return
        code = self.code
        code.register(operand)
        storage, dtype = code.storage(operand), DTYPES[kind]
        if kind == "pred" or storage == dtype:
            pass
        elif 8 * storage.itemsize == bits_of_type(kind):
            expression = f"{expression}.view({self._dtype(storage)})"
        elif 8 * storage.itemsize > bits_of_type(kind):
            if is_signed(kind):
                wide = self._dtype(np.dtype(f"i{storage.itemsize}"))
                expression = f"{expression}.view({self._dtype(dtype)}).astype({wide}).view({self._dtype(storage)})"
            else:
                expression = (
                    f"{expression}.view({self._dtype(np.dtype(f'u{dtype.itemsize}'))})" if dtype.kind != "u" else expression
                )
                expression = f"{expression}.astype({self._dtype(storage)})"
        elif dtype.kind in "ui":  # bits of a register that are left over
            expression = f"{expression}.astype({self._dtype(storage)})"
        else:
            raise self.unknown()
        self.text.append(f"{code.local_name(operand)} = {expression}")
        self.writes.append(operand)

    def results(self, operands: list[str], expression: str, kinds) -> None:
        """Likewise several, which an expression gives."""
        names = [f"w{number}" for number in range(len(operands))]
        self.text.append(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {expression}")
        for operand, name, kind in zip(operands, names, kinds, strict=True):
            if operand != "_":
                self.result(operand, name, kind)

    def address(self, operand: str) -> tuple[str, int]:
        """The base as an array of addresses, and the offset."""
        found = _ADDRESS.match(operand)
        if found is None:
            raise self.unknown()
        base, offset = found[1], int(found[2] or 0)
        storage = self.code.storage(base)
        if storage is not None:
            self.reads.append(base)
            name = self.code.local_name(base)
            return (name if storage.itemsize == 8 else f"{name}.astype({self._dtype(np.dtype(np.uint64))})"), offset
        value = int(base, 0) if _INTEGER.match(base) else self._address_of(base)
        return self.code.constant(value, np.uint64), offset

    def named(self, function) -> str:
        return self.code.named(function)


def instruction_lines(code, instruction):
    """Lines of Python, and the names of the registers that they read and write. Raises NotImplementedError."""
    lines = Lines(code, instruction)
    name = instruction.opcode.split(".")[0]
    if instruction.opcode.startswith("fence.proxy.async"):
        return ["x.show_to_products()"], [], []
    if name in _NOTHING or instruction.opcode in _NOTHING:
        return [], [], []
    special = _SPECIALS.get(name)
    if special is not None:
        special(lines, instruction.opcode, list(instruction.operands))
    else:
        _of_values(lines, instruction.opcode, list(instruction.operands))
    return lines.text, lines.reads, lines.writes


def _of_values(lines, opcode, operands):
    found = operation(opcode)
    if found is None:
        raise lines.unknown()
    targets = operands[0].split("|")
    sources = [lines.source(one, kind) for one, kind in zip(operands[1:], found.takes)]
    if len(found.takes) != len(sources) + (opcode.startswith(("addc", "subc"))):
        raise lines.unknown()
    if opcode.startswith(("addc", "subc")):
        lines.reads.append("%carry")
        sources.append(lines.code.local_name("%carry"))
    call = f"{lines.named(found.function)}({', '.join(sources)})"
    if len(found.gives) == 1:
        lines.result(targets[0], call, found.gives[0])
    elif len(targets) == 2:
        lines.results(targets, call, found.gives)
    else:
        lines.code.register("%carry", np.dtype(bool))
        keeps = ".cc" in opcode
        lines.results([targets[0], "%carry" if keeps else "_"], call, found.gives)


def elements(operand: str) -> list[str]:
    """The parts of a vector of registers."""
    return [one.strip() for one in operand[1:-1].split(",")] if operand.startswith("{") else [operand]


# --- moves ---


def _move(lines, opcode, operands):
    kind = opcode.split(".")[-1]
    target, source = operands
    if target.startswith("{"):
        parts = elements(target)
        bits = bits_of_type(kind) // len(parts)
        lines.results(parts, f"x.parts({lines.source(source, kind)}, {bits})", [f"b{bits}"] * len(parts))
    elif source.startswith("{"):
        parts = elements(source)
        bits = bits_of_type(kind) // len(parts)
        values = [lines.source(one, f"b{bits}") for one in parts]
        lines.result(target, f"x.joined([{', '.join(values)}], {bits})", f"b{bits_of_type(kind)}")
    elif source.partition(".")[0] in _SPECIAL or source in ("%laneid", "%warpid"):
        lines.result(target, f"x.special({source!r})", "u32")
    elif source.startswith("%") and lines.code.storage(source) is None:
        raise lines.unknown()
    else:
        unsigned = kind if kind == "pred" else f"b{bits_of_type(kind)}"
        lines.result(target, f"x.full({lines.source(source, unsigned)})", unsigned)


def _convert_address(lines, opcode, operands):
    """cvta: addresses of a space are offsets in it, those without one lie in its window."""
    parts = opcode.split(".")
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "global": 0, "const": 0, "param": None}[parts[-2]]
    if window is None:
        raise lines.unknown()
    base = lines.code.constant(-window if parts[1] == "to" else window, np.uint64)
    lines.result(operands[0], f"x.full({lines.source(operands[1], 'u64')} + {base})", "u64")


# --- memory ---


def space_of(parts) -> str:
    return next((one.partition("::")[0] for one in parts if one.partition("::")[0] in _SPACES), "generic")


def _width(parts) -> int:
    return next((int(one[1:]) for one in parts if re.fullmatch(r"v[248]", one)), 1)


def _load(lines, opcode, operands):
    parts = opcode.split(".")
    kind, count, space = parts[-1], _width(parts), space_of(parts)
    targets = elements(operands[0])
    size = bits_of_type(kind) // 8
    if space == "param":
        found = _ADDRESS.match(operands[1])
        offset = int(found[2] or 0)
        for number, target in enumerate(targets):
            _load_parameter(lines, found[1], offset + number * size, target, kind)
        return
    base, offset = lines.address(operands[1])
    _note_size(lines, space, size)
    function = lines.named(load(space, size, count, offset, "nc" in parts, bool({"volatile", "relaxed", "acquire"} & {*parts})))
    lines.results(targets, f"{function}(x, {base})", [f"{'s' if is_signed(kind) else 'b'}{8 * size}"] * count)


def _note_size(lines, space, size):
    code = lines.code
    if space in ("shared", "generic"):
        code.least_shared_access = min(code.least_shared_access, size)
    if space in ("global", "generic", "const"):
        code.least_device_access = min(code.least_device_access, size)


def _load_parameter(lines, name, offset, target, kind):
    code, size = lines.code, bits_of_type(kind) // 8
    if name in code.parameters:
        lines.result(target, f"x.parameter({code.parameters[name][0] + offset}, {size})", f"b{8 * size}")
        return
    if code.storage(name) is not None and name.partition("@")[0].rpartition(".")[2].startswith("%"):  # one of several
        lines.result(target, f"x.parameter_at({lines.source(name, 'u64')}, {offset}, {size})", f"b{8 * size}")
        return
    register = f"{name}+{offset}"
    code.register(register, np.dtype(f"u{bits_of_type(kind) // 8}"))
    lines.result(target, f"x.full({lines.source(register, f'b{bits_of_type(kind)}')})", f"b{bits_of_type(kind)}")


def _store(lines, opcode, operands):
    parts = opcode.split(".")
    kind, space = parts[-1], space_of(parts)
    sources = elements(operands[1])
    size = bits_of_type(kind) // 8
    if space == "param":
        found = _ADDRESS.match(operands[0])
        for number, source in enumerate(sources):
            register = f"{found[1]}+{int(found[2] or 0) + number * size}"
            lines.code.register(register, np.dtype(f"u{size}"))
            lines.result(register, f"x.full({lines.source(source, f'b{8 * size}')})", f"b{8 * size}")
        return
    base, offset = lines.address(operands[0])
    _note_size(lines, space, size)
    function = lines.named(store(space, size, len(sources), offset, bool({"volatile", "relaxed", "release"} & {*parts})))
    values = [lines.source(one, f"b{8 * size}") for one in sources]
    lines.text.append(f"{function}(x, {base}, {', '.join(values)})")


def _atomic(lines, opcode, operands):
    parts = opcode.split(".")
    is_returned = parts[0] == "atom"
    target, rest = (operands[0], operands[1:]) if is_returned else ("_", operands)
    kind, space, count = parts[-1], space_of(parts), _width(parts)
    base, offset = lines.address(rest[0])
    name = next((one for one in parts if one in ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")), None)
    if name is None or (count > 1 and is_returned):
        raise lines.unknown()
    _note_size(lines, space, bits_of_type(kind) // 8)
    values = [lines.source(one, kind) for operand in rest[1:] for one in elements(operand)]
    function = lines.named(atomic_change(name, kind, space, count, offset, "noftz" in parts, "cta" in parts))
    lines.result(target, f"{function}(x, {base}, {', '.join(values)})", kind)


# --- warps ---


def _shuffle(lines, opcode, operands):
    _, _, mode, _ = opcode.split(".")
    targets = operands[0].split("|")
    value, amount, limit, mask = [lines.source(one, "b32") for one in operands[1:]]
    if operands[4] != "-1":
        raise lines.unknown()
    function = lines.named(shuffle(mode))
    lines.results([*targets, *["_"] * (2 - len(targets))], f"{function}(x, {value}, {amount}, {limit})", ("b32", "pred"))


def _vote(lines, opcode, operands):
    _, _, mode, kind = opcode.split(".")
    if operands[2] != "-1":
        raise lines.unknown()
    lines.result(operands[0], f"{lines.named(vote(mode))}(x, {lines.source(operands[1], 'pred')})", kind)


def _load_matrices(lines, opcode, operands):
    base, offset = lines.address(operands[1])
    if not opcode.startswith("ldmatrix.sync.aligned.m8n8.x4."):
        raise lines.unknown()
    function = lines.named(load_matrices(".trans" in opcode, offset))
    lines.code.least_shared_access = min(lines.code.least_shared_access, 4)
    lines.results(elements(operands[0]), f"{function}(x, {base})", ["b32"] * 4)


def _multiply_matrices(lines, opcode, operands):
    name = opcode.removeprefix("mma.sync.aligned.")
    kinds = name.split(".")[3:7]
    sources = []
    for operand, kind in zip(operands[1:], (kinds[1], kinds[2], kinds[3])):
        register = kind if kind in ("f64", "f32") else "b32"
        sources += [lines.source(one, register) for one in elements(operand)]
    result = kinds[0] if kinds[0] in ("f64", "f32") else "b32"
    targets = elements(operands[0])
    lines.results(targets, f"{lines.named(multiply_matrices(name))}(x, {', '.join(sources)})", [result] * len(targets))


def _multiply_together(lines, opcode, operands):
    if opcode.startswith("wgmma.wait_group"):
        lines.text.append(f"x.wait_for_products({int(operands[0])})")
        return
    if opcode.startswith("wgmma.commit_group"):
        lines.text.append("x.commit_products()")
        return
    if not opcode.startswith("wgmma.mma_async.sync.aligned."):
        raise lines.unknown()
    name = opcode.removeprefix("wgmma.mma_async.sync.aligned.")
    sums = elements(operands[0])
    kind = "f32" if ".f32." in name else "b32"
    flags = [int(one) for one in operands[4:]]
    sources = [lines.source(one, kind) for one in sums]
    sources += [lines.source(one, "b64") for one in operands[1:3]] + [lines.source(operands[3], "pred")]
    lines.results(sums, f"{lines.named(multiply_together(name, flags))}(x, {', '.join(sources)})", [kind] * len(sums))


def _copy(lines, opcode, operands):
    if "commit_group" in opcode:
        lines.text.append("x.commit_copies()")
    elif "wait" in opcode:
        lines.text.append(f"x.wait_for_copies({int(operands[0]) if operands else 0})")
    elif opcode.startswith(("cp.async.ca.shared.global", "cp.async.cg.shared.global")):
        target, at = lines.address(operands[0])
        source, from_ = lines.address(operands[1])
        size = int(operands[2])
        read = lines.source(operands[3], "u32") if len(operands) > 3 else lines.code.constant(size, np.uint32)
        lines.code.least_shared_access = min(lines.code.least_shared_access, 4)
        lines.text.append(f"{lines.named(copy_later(size, at, from_))}(x, {target}, {source}, {read})")
    else:
        raise lines.unknown()


_SPECIALS = {
    "mov": _move, "cvta": _convert_address, "ld": _load, "st": _store, "atom": _atomic, "red": _atomic, "shfl": _shuffle,
    "vote": _vote, "ldmatrix": _load_matrices, "mma": _multiply_matrices, "wgmma": _multiply_together, "cp": _copy,
}  # fmt: skip
