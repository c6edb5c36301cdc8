"""A builder for kernels: what their indices are computed by is written once, and what is known of them is not computed.

Emitters compute indices as they go. LLVM looks at each number as at the tree of all that it is computed from: where nothing is
folded before, that takes it as long as all else that it does to a product by multiply-adds.

>>> from phlox.backends.llvm.types import I32
>>> function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [I32]), "f")
>>> b = KernelBuilder(function.append_basic_block("entry"))
>>> thread = b.below(function.args[0], 256)
>>> b.urem(thread, I32(256)) is thread, b.add(thread, I32(0)) is thread, b.udiv(thread, I32(256)).constant
(True, True, 0)
>>> b.mul(thread, I32(4)) is b.mul(thread, I32(4))
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ..llvm.builder import Builder
from ..llvm.types import I1

# What constants give, which are not negative; their lowest bits are the result.
_OF_CONSTANTS: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "udiv": lambda x, y: x // y,
    "urem": lambda x, y: x % y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "shl": lambda x, y: x << y,
    "lshr": lambda x, y: x >> y,
}
# With which constants at the right an operation gives its left operand, and with which zero.
_NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "udiv": 1, "or": 0, "xor": 0, "shl": 0, "lshr": 0}
_ANNULLING = {"mul": 0, "urem": 1, "and": 0}
_COMMUTATIVE = {"add", "mul", "and", "or", "xor"}
# Below which number a result is whose operands are below these.
_BOUNDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y - 1,
    "mul": lambda x, y: (x - 1) * (y - 1) + 1,
    "or": lambda x, y: 1 << max(x - 1, y - 1).bit_length(),
}
# The same where the right operand is a constant.
_BOUNDS_BY_CONSTANTS: dict[str, Callable[[int, int], int]] = {
    "udiv": lambda x, y: (x - 1) // y + 1,
    "urem": min,
    "and": lambda x, y: min(x, y + 1),
    "lshr": lambda x, y: (x - 1 >> y) + 1,
}


def _number_of(value: ir.Value) -> int | None:
    """A constant as it is without a sign."""
    if isinstance(value, ir.Constant) and isinstance(value.constant, int):
        return value.constant % (1 << value.type.width)
    return None


def _key(value: ir.Value) -> Any:
    number = _number_of(value)
    return value if number is None else (value.type.width, number)


def _arithmetic(opname: str, method: Callable[..., ir.Value]) -> Callable[..., ir.Value]:
    def emit(self: KernelBuilder, lhs: ir.Value, rhs: ir.Value, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        if not isinstance(lhs.type, ir.IntType):
            return method(self, lhs, rhs, name, flags)
        if opname in _COMMUTATIVE and isinstance(lhs, ir.Constant):
            lhs, rhs = rhs, lhs
        number = _number_of(rhs)
        if number is not None and (known := self._known(opname, lhs, number)) is not None:
            return known

        def make() -> ir.Value:
            return self._bounded(opname, method(self, lhs, rhs, name, flags))

        # A sum of 64 bits that is used twice is no longer part of an address: it takes registers, and more instructions.
        return make() if lhs.type.width > 32 else self._once((opname, _key(lhs), _key(rhs), *flags), make)

    return emit


def _cast(opname: str, method: Callable[..., ir.Value]) -> Callable[..., ir.Value]:
    def emit(self: KernelBuilder, value: ir.Value, typ: ir.Type, name: str = "") -> ir.Value:
        if not isinstance(value.type, ir.IntType):
            return method(self, value, typ, name)
        number = _number_of(value)
        if number is not None:
            return typ(number % (1 << typ.width))

        def make() -> ir.Value:
            made, bound = method(self, value, typ, name), self._bound(value)
            return self.below(made, bound) if bound is not None and bound <= 1 << typ.width else made

        return self._once((opname, value, typ.width), make)

    return emit


class KernelBuilder(Builder):
    """One that is told below which numbers a thread's and a block's are."""

    def __init__(self, block: ir.Block) -> None:
        super().__init__(block)
        self._entry = block
        self._made: dict[ir.Block, dict[Any, ir.Value]] = {}
        self._bounds: dict[ir.Value, int] = {}

    def below(self, number: ir.Value, bound: int) -> ir.Value:
        """The number, which is not negative and below the bound wherever it is used."""
        self._bounds[number] = bound
        return number

    def _once(self, key: Any, make: Callable[[], ir.Value]) -> ir.Value:
        """What was made of the same in this block, or in that which is before all others."""
        made = self._made.setdefault(self._block, {})
        found = made.get(key)
        if found is None and self._block is not self._entry:
            found = self._made.setdefault(self._entry, {}).get(key)
        if found is None:
            found = made[key] = make()
        return found

    def _bound(self, value: ir.Value) -> int | None:
        number = _number_of(value)
        return self._bounds.get(value) if number is None else number + 1

    def _known(self, opname: str, lhs: ir.Value, number: int) -> ir.Value | None:
        """The result of an operation by a constant, where it takes no instruction."""
        of = _number_of(lhs)
        if of is not None:
            has_result = number if opname in ("udiv", "urem") else number < lhs.type.width or opname not in ("shl", "lshr")
            if not has_result:
                return None
            return lhs.type(_OF_CONSTANTS[opname](of, number) % (1 << lhs.type.width))
        if _NEUTRAL.get(opname) == number or opname == "and" and number == (1 << lhs.type.width) - 1:
            return lhs
        if _ANNULLING.get(opname) == number:
            return lhs.type(0)
        if opname in ("udiv", "urem") and self._bounds.get(lhs, number + 1) <= number:
            return lhs if opname == "urem" else lhs.type(0)
        return None

    def _bounded(self, opname: str, made: ir.Value) -> ir.Value:
        lhs, rhs = made.operands
        x, y, number = self._bound(lhs), self._bound(rhs), _number_of(rhs)
        most = 1 << lhs.type.width
        bound = None
        if number and opname in _BOUNDS_BY_CONSTANTS:
            bound = _BOUNDS_BY_CONSTANTS[opname](most if x is None else x, number)
        elif x is not None and y is not None and opname in _BOUNDS:
            bound = _BOUNDS[opname](x, y)
        return made if bound is None or bound >= most else self.below(made, bound)

    add, sub, mul, udiv, urem = (_arithmetic(n, getattr(Builder, n)) for n in ("add", "sub", "mul", "udiv", "urem"))
    shl, lshr, and_, or_, xor = (_arithmetic(n.strip("_"), getattr(Builder, n)) for n in ("shl", "lshr", "and_", "or_", "xor"))
    zext, trunc = (_cast(n, getattr(Builder, n)) for n in ("zext", "trunc"))

    def icmp_unsigned(self, cmpop: str, lhs: ir.Value, rhs: ir.Value, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        if not isinstance(lhs.type, ir.IntType):
            return super().icmp_unsigned(cmpop, lhs, rhs, name, flags)
        x, y = self._bound(lhs), _number_of(rhs)
        if cmpop == "<" and x is not None and y is not None and x <= y:
            return I1(1)
        return super().icmp_unsigned(cmpop, lhs, rhs, name, flags)

    def gep(self, ptr: ir.Value, indices: Sequence[ir.Value], *rest: Any, **named: Any) -> ir.Value:
        """As `Builder.gep`."""
        return ptr if len(indices) == 1 and _number_of(indices[0]) == 0 else super().gep(ptr, indices, *rest, **named)
