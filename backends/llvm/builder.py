"""llvmlite's builder of LLVM IR, its integers and types of vectors: as they are, but made and printed in fewer steps.

All that is compiled is written instruction by instruction, and printed once. What is made here is of llvmlite's classes, has
their operands and attributes, but metadata for loads and stores only, and prints as they do.

>>> from llvmlite import ir
>>> function = ir.Function(ir.Module(), ir.FunctionType(ir.FloatType(), [ir.FloatType()]), "twice")
>>> builder = Builder(function.append_basic_block())
>>> str(builder.fadd(*function.args * 2, flags=("nnan",)))
'%".4" = fadd nnan float %".1", %".1"'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from llvmlite import ir

_VOID = ir.VoidType()
_NONE: Mapping[str, Any] = MappingProxyType({})
_PREDICATES = {">": "gt", "<": "lt", "==": "eq", "!=": "ne", ">=": "ge", "<=": "le"}
_SIGNED, _UNSIGNED = (
    {sign: name if name in ("eq", "ne") else prefix + name for sign, name in _PREDICATES.items()} for prefix in "su"
)
_ORDERED, _UNORDERED = (
    {name: name for name in ir.instructions.FCMPInstr.VALID_OP} | {sign: prefix + name for sign, name in _PREDICATES.items()}
    for prefix in "ou"
)


class _IntegerConstant(ir.Constant):
    """A constant whose text is its number, which may change until it is printed (see `memory.add_to_constant`)."""

    def __init__(self, type_: ir.IntType, number: int) -> None:
        self.type, self.constant = type_, number

    def get_reference(self) -> str:
        return str(self.constant)


class IntegerType(ir.IntType):
    """An integer type; called with a number, a constant of it."""

    _instance_cache: dict[int, ir.IntType] = {}

    def __call__(self, value: Any) -> ir.Constant:
        return _IntegerConstant(self, value) if type(value) is int else ir.Constant(self, value)


_I1 = IntegerType(1)
_VECTORS: dict[tuple[str, int], ir.VectorType] = {}


def vector_type(scalar: ir.Type, count: int) -> ir.VectorType:
    """The vector type, the same object each time, whose text is there once it has been printed."""
    key = str(scalar), count  # as types of one kind have one hash
    if key not in _VECTORS:
        _VECTORS[key] = ir.VectorType(scalar, count)
    return _VECTORS[key]


class _Undefined(ir.Constant):
    """Of vectors llvmlite's spells out every lane, and makes as many constants."""

    def __init__(self, type_: ir.Type) -> None:
        self.type, self.constant = type_, ir.Undefined

    def get_reference(self) -> str:
        return "undef"


_NOTHING: dict[str, ir.Constant] = {}


def undefined(type_: ir.Type) -> ir.Constant:
    """The constant of a type that may be anything, the same object each time."""
    key = str(type_)
    if key not in _NOTHING:
        _NOTHING[key] = _Undefined(type_)
    return _NOTHING[key]


def _number(scope: Any) -> str:
    """The name of what is given none: as `scope.register` names it."""
    used, numbers = scope._useset, scope._basenamemap
    while True:
        numbers[""] = number = numbers[""] + 1
        name = f".{number}"
        if name not in used:
            used.add(name)
            return name


class _Instruction(ir.Instruction):
    """An instruction; where nothing else is said, one that cannot have metadata."""

    metadata = _NONE

    # Those of llvmlite's classes, of which each calls its parent's, take longer than all else that is done here.
    def __init__(
        self,
        block: ir.Block,
        type_: ir.Type,
        opname: str,
        operands: Sequence[ir.Value],
        name: str = "",
        flags: Sequence[str] = (),
    ) -> None:
        self.parent, self.type, self.opname, self.operands, self.flags = block, type_, opname, operands, flags
        self._name = name = block.scope.register(name, deduplicate=True) if name else _number(block.scope)
        self._reference = super().get_reference() if '"' in name or "\\" in name else f'%"{name}"'

    def get_reference(self) -> str:
        return self._reference

    # llvmlite's spells out the operands, and theirs, each time one is used: a failing test would print for hours.
    def __repr__(self) -> str:
        return f"<{self.opname} {self._reference}>"


def _typed(values: Iterable[ir.Value]) -> str:
    return ", ".join([f"{value.type!s} {value.get_reference()}" for value in values])


class _Arithmetic(_Instruction):
    def __str__(self) -> str:
        flags = f" {' '.join(self.flags)}" if self.flags else ""
        left, *others = self.operands
        values = f"{left.get_reference()}, {others[0].get_reference()}" if others else left.get_reference()
        return f"{self._reference} = {self.opname}{flags} {self.type!s} {values}"


class _Cast(_Instruction, ir.instructions.CastInstr):
    def __str__(self) -> str:
        return f"{self._reference} = {self.opname} {_typed(self.operands)} to {self.type!s}"


class _IntegerComparison(_Instruction, ir.instructions.ICMPInstr):
    op: str

    def __str__(self) -> str:
        left, right = self.operands
        flags = "".join([f" {flag}" for flag in self.flags])
        values = f"{left.get_reference()}, {right.get_reference()}"
        return f"{self._reference} = {self.opname}{flags} {self.op} {left.type!s} {values}"


class _FloatComparison(_IntegerComparison, ir.instructions.FCMPInstr):
    pass


class _Select(_Instruction, ir.instructions.SelectInstr):
    def __str__(self) -> str:
        return f"{self._reference} = select {' '.join(self.flags)} {_typed(self.operands)}"


class _OfElements(_Instruction):
    def __str__(self) -> str:
        return f"{self._reference} = {self.opname} {_typed(self.operands)}"


class _ExtractElement(_OfElements, ir.instructions.ExtractElement):
    pass


class _InsertElement(_OfElements, ir.instructions.InsertElement):
    pass


class _ShuffleVector(_OfElements, ir.instructions.ShuffleVector):
    pass


class _Access(_Instruction):
    """A load or store, which may have metadata."""

    align: int | None

    def set_metadata(self, name: str, node: Any) -> None:
        self.metadata = {**self.metadata, name: node}

    def details(self) -> str:
        align = "" if self.align is None else f", align {self.align}"
        return align + "".join([f", !{name} {node.get_reference()}" for name, node in self.metadata.items()])


class _Load(_Access, ir.instructions.LoadInstr):
    def __str__(self) -> str:
        return f"{self._reference} = load {self.type!s}, {_typed(self.operands)}{self.details()}"


class _Store(_Access, ir.instructions.StoreInstr):
    def __str__(self) -> str:
        return f"store {_typed(self.operands)}{self.details()}"


class _Address(_Instruction, ir.instructions.GEPInstr):
    inbounds: bool
    source_etype: ir.Type
    pointer = property(lambda self: self.operands[0])
    indices = property(lambda self: self.operands[1:])

    def __str__(self) -> str:
        inbounds = " inbounds" if self.inbounds else ""
        return f"{self._reference} = getelementptr{inbounds} {self.source_etype!s}, {_typed(self.operands)}"


class _Phi(_Instruction, ir.instructions.PhiInstr):
    incomings: list[tuple[ir.Value, ir.Block]]

    def __str__(self) -> str:
        incomings = ", ".join([f"[{value.get_reference()}, {block.get_reference()}]" for value, block in self.incomings])
        return f"{self._reference} = phi {' '.join(self.flags)} {self.type!s} {incomings}"


class _Call(_Instruction, ir.CallInstr):
    """One that says nothing but what it calls."""

    cconv: str | None
    called_type: ir.FunctionType
    tail = ""
    fastmath = attributes = frozenset()
    arg_attributes = _NONE

    def __str__(self) -> str:
        function, *arguments = self.operands
        kind, convention = self.called_type, f"{self.cconv} " if self.cconv else ""
        result = kind if kind.var_arg else self.type
        text = f"call {convention}{result!s} {function.get_reference()}({_typed(arguments)})"
        return text if isinstance(self.type, ir.VoidType) else f"{self._reference} = {text}"


def _arithmetic(opname: str) -> Callable[..., ir.Value]:
    def emit(self: Builder, lhs: ir.Value, rhs: ir.Value, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        type_ = lhs.type
        if type_ is not rhs.type and type_ != rhs.type:
            raise ValueError(f"{opname} takes operands of one type, got {type_} and {rhs.type}")
        return self.put(_Arithmetic(self._block, type_, opname, (lhs, rhs), name, flags))

    return emit


def _cast(opname: str) -> Callable[..., ir.Value]:
    def emit(self: Builder, value: ir.Value, typ: ir.Type, name: str = "") -> ir.Value:
        same = value.type is typ or value.type == typ
        return value if same else self.put(_Cast(self._block, typ, opname, (value,), name))

    return emit


def _comparison(kind: type[_IntegerComparison], opname: str, predicates: Mapping[str, str]) -> Callable[..., ir.Value]:
    def emit(self: Builder, cmpop: str, lhs: ir.Value, rhs: ir.Value, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        if cmpop not in predicates:
            raise ValueError(f"{opname} does not compare by {cmpop!r}")
        lanes = lhs.type
        type_ = vector_type(_I1, lanes.count) if isinstance(lanes, ir.VectorType) else _I1
        made = kind(self._block, type_, opname, (lhs, rhs), name, flags)
        made.op = predicates[cmpop]
        return self.put(made)

    return emit


class Builder(ir.IRBuilder):
    """llvmlite's builder, faster. It attaches no debug information."""

    def put(self, instruction: Any) -> Any:
        """Insert an instruction here, and return it."""
        instructions, anchor = self._block.instructions, self._anchor
        if anchor == len(instructions):
            instructions.append(instruction)
        else:
            instructions.insert(anchor, instruction)
        self._anchor = anchor + 1
        return instruction

    add, sub, mul, udiv, sdiv, urem, srem = map(_arithmetic, ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem"))
    shl, lshr, ashr, and_, or_, xor = map(_arithmetic, ("shl", "lshr", "ashr", "and", "or", "xor"))
    fadd, fsub, fmul, fdiv, frem = map(_arithmetic, ("fadd", "fsub", "fmul", "fdiv", "frem"))
    trunc, zext, sext, fptrunc, fpext = map(_cast, ("trunc", "zext", "sext", "fptrunc", "fpext"))
    fptoui, uitofp, fptosi, sitofp = map(_cast, ("fptoui", "uitofp", "fptosi", "sitofp"))
    bitcast, addrspacecast, ptrtoint, inttoptr = map(_cast, ("bitcast", "addrspacecast", "ptrtoint", "inttoptr"))
    icmp_signed, icmp_unsigned = (_comparison(_IntegerComparison, "icmp", order) for order in (_SIGNED, _UNSIGNED))
    fcmp_ordered, fcmp_unordered = (_comparison(_FloatComparison, "fcmp", order) for order in (_ORDERED, _UNORDERED))

    def fneg(self, arg: ir.Value, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        return self.put(_Arithmetic(self._block, arg.type, "fneg", (arg,), name, flags))

    def select(self, cond: ir.Value, lhs: ir.Value, rhs: ir.Value, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        if lhs.type is not rhs.type and lhs.type != rhs.type:
            raise ValueError(f"select takes values of one type, got {lhs.type} and {rhs.type}")
        return self.put(_Select(self._block, lhs.type, "select", (cond, lhs, rhs), name, flags))

    def load(self, ptr: ir.Value, name: str = "", align: int | None = None, typ: ir.Type | None = None) -> ir.Value:
        if typ is None or not isinstance(ptr.type, ir.PointerType):
            return super().load(ptr, name, align, typ)
        made = _Load(self._block, typ, "load", (ptr,), name)
        made.align = align
        return self.put(made)

    def store(self, value: ir.Value, ptr: ir.Value, align: int | None = None) -> ir.Instruction:
        if not isinstance(ptr.type, ir.PointerType) or not ptr.type.is_opaque:
            return super().store(value, ptr, align)
        made = _Store(self._block, _VOID, "store", (value, ptr))
        made.align = align
        return self.put(made)

    def gep(
        self,
        ptr: ir.Value,
        indices: Sequence[ir.Value],
        inbounds: bool = False,
        name: str = "",
        source_etype: ir.Type | None = None,
    ) -> ir.Value:
        if source_etype is None:
            return super().gep(ptr, indices, inbounds, name)
        made = _Address(self._block, ptr.type, "getelementptr", (ptr, *indices), name)
        made.inbounds, made.source_etype = inbounds, source_etype
        return self.put(made)

    def extract_element(self, vector: ir.Value, idx: ir.Value, name: str = "") -> ir.Value:
        if not isinstance(vector.type, ir.VectorType) or not isinstance(idx.type, ir.IntType):
            return super().extract_element(vector, idx, name)
        return self.put(_ExtractElement(self._block, vector.type.element, "extractelement", (vector, idx), name))

    def insert_element(self, vector: ir.Value, value: ir.Value, idx: ir.Value, name: str = "") -> ir.Value:
        type_ = vector.type
        if not isinstance(type_, ir.VectorType) or value.type != type_.element or not isinstance(idx.type, ir.IntType):
            return super().insert_element(vector, value, idx, name)
        return self.put(_InsertElement(self._block, type_, "insertelement", (vector, value, idx), name))

    def shuffle_vector(self, vector1: ir.Value, vector2: ir.Value, mask: ir.Constant, name: str = "") -> ir.Value:
        type_, lanes = vector1.type, mask.type
        if not isinstance(type_, ir.VectorType) or vector2.type != type_ or not isinstance(lanes, ir.VectorType):
            return super().shuffle_vector(vector1, vector2, mask, name)
        made = vector_type(type_.element, lanes.count)
        return self.put(_ShuffleVector(self._block, made, "shufflevector", (vector1, vector2, mask), name))

    def phi(self, typ: ir.Type, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        made = _Phi(self._block, typ, "phi", (), name, flags)
        made.incomings = []
        return self.put(made)

    def call(self, fn: Any, args: Sequence[ir.Value], name: str = "", cconv: str | None = None, **others: Any) -> ir.Value:
        kind = fn.ftype if isinstance(fn, ir.Function) else fn.function_type
        if others or tuple([value.type for value in args]) != kind.args:
            return super().call(fn, args, name, cconv, **others)
        made = _Call(self._block, kind.return_type, "call", [fn, *args], name)
        made.called_type = kind
        made.cconv = fn.calling_convention if cconv is None and isinstance(fn, ir.Function) else cconv
        return self.put(made)
