"""What instructions that know only of values do, as functions of NumPy; the types of what they take and give.

Source: NVIDIA's "PTX ISA" 8.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import floats

DTYPES = {
    "pred": np.dtype(bool), "f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
    "f16x2": np.dtype(np.float16), "s16x2": np.dtype(np.int16), "u16x2": np.dtype(np.uint16), "bf16": np.dtype(np.uint16),
    "bf16x2": np.dtype(np.uint16), "tf32": np.dtype(np.uint32),
    **{f"{letter}{bits}": np.dtype(f"{kind}{bits // 8}") for letter, kind in (("b", "u"), ("u", "u"), ("s", "i"))
       for bits in (8, 16, 32, 64)},
}  # fmt: skip


def bits_of_type(name: str) -> int:
    return 32 if name.endswith("x2") or name == "tf32" else 1 if name == "pred" else 8 * DTYPES[name].itemsize


def is_float(name: str) -> bool:
    return "f" in name


def is_signed(name: str) -> bool:
    return name.startswith("s")


@dataclass(frozen=True)
class Operation:
    """``takes`` and ``gives`` are names of types: arrays have these when the function is called, and when it returns."""

    function: Callable
    takes: tuple[str, ...]
    gives: tuple[str, ...]


def operation(opcode: str) -> Operation | None:
    """What the instruction does; None if it is none of these."""
    name, *parts = opcode.split(".")
    made = _KINDS.get(name)
    return made(name, parts) if made is not None else None


# --- integers ---


def _divide(a, b):
    """Towards zero. A quotient by 0 is not said; devices give all ones."""
    zero = b == 0
    divisor = np.where(zero, b.dtype.type(1), b)
    quotient = a // divisor
    if a.dtype.kind == "i":
        quotient = quotient + ((quotient < 0) & (quotient * divisor != a)).astype(a.dtype)
        lowest = (a == np.iinfo(a.dtype).min) & (b == -1)
        quotient = np.where(lowest, a, quotient)
    return np.where(zero, ~a.dtype.type(0), quotient)


def _remainder(a, b):
    return np.where(b == 0, a, a - _divide(a, b) * b)


def _high(a, b):
    """The upper half of a product."""
    bits = 8 * a.dtype.itemsize
    if bits < 64:
        wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
        return (a.astype(wide) * b.astype(wide) >> wide.type(bits)).astype(a.dtype)
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    x, y = a.view(np.uint64), b.view(np.uint64)
    (low, high), (other_low, other_high) = [(one & mask, one >> half) for one in (x, y)]
    middle = high * other_low + (low * other_low >> half)
    other = low * other_high + (middle & mask)
    found = high * other_high + (middle >> half) + (other >> half)
    if a.dtype.kind == "i":
        found = found - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return found.view(a.dtype)


def _low(a, b):
    return a * b


def _wide(a, b):
    wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
    return a.astype(wide) * b.astype(wide)


def _shift(function):
    return lambda a, amount: function(a, np.minimum(amount, np.uint32(127)).astype(a.dtype))


def _funnel(parts):
    is_left, is_wrapped = parts[0] == "l", parts[1] == "wrap"

    def shift(low, high, amount):
        count = (amount & np.uint32(31) if is_wrapped else np.minimum(amount, np.uint32(32))).astype(np.uint64)
        both = high.astype(np.uint64) << np.uint64(32) | low
        return ((both << count) >> np.uint64(32) if is_left else both >> count).astype(np.uint32)

    return shift


def _permute(a, b, selector):
    """Bytes of two words, of which the first has numbers 0 to 3; 8 and more are signs of bytes."""
    both = b.astype(np.uint64) << np.uint64(32) | a
    found = np.uint32(0)
    for byte in range(4):
        select = selector >> np.uint32(4 * byte) & np.uint32(15)
        taken = (both >> (np.uint64(8) * (select & np.uint32(7))) & np.uint64(255)).astype(np.uint32)
        taken = np.where(select & np.uint32(8), np.uint32(255) * (taken >> np.uint32(7)), taken)
        found = found | taken << np.uint32(8 * byte)
    return found


def _extract(a, position, length):
    """A field of bits, with its sign, where the type has one; the sign's place is the number's end where that comes before."""
    bits = 8 * a.dtype.itemsize
    position, length = position & np.uint32(255), length & np.uint32(255)
    wide = a.astype(np.dtype(f"{a.dtype.kind}8"))
    begin = np.minimum(position, np.uint32(63)).astype(wide.dtype)
    moved = np.where(position >= bits, np.where(wide < 0, wide.dtype.type(-1 if a.dtype.kind == "i" else 0), 0), wide >> begin)
    count = np.minimum(length, np.uint32(bits)).astype(np.int64)
    if a.dtype.kind == "i":
        inside = np.minimum(count, np.maximum(bits - position.astype(np.int64), 1))
        away = (64 - np.maximum(inside, 1)).astype(np.int64)
        found = moved << away >> away
    else:
        mask = np.where(count >= 64, ~np.uint64(0), (np.uint64(1) << np.minimum(count, 63).astype(np.uint64)) - np.uint64(1))
        found = moved & mask
    return np.where(count == 0, wide.dtype.type(0), found).astype(a.dtype)


def _insert(a, b, position, length):
    unit = b.dtype.type
    bits = 8 * b.dtype.itemsize
    position, length = position & np.uint32(255), np.minimum(length & np.uint32(255), np.uint32(bits))
    ones = np.where(length >= bits, ~unit(0), (unit(1) << np.minimum(length, np.uint32(bits - 1)).astype(unit)) - unit(1))
    at = np.minimum(position, np.uint32(127)).astype(unit)
    return b & ~(ones << at) | (a & ones) << at


def _leading_zeros(a):
    bits = 8 * a.dtype.itemsize
    filled = a.copy()
    for distance in (1, 2, 4, 8, 16, 32):
        if distance < bits:
            filled |= filled >> a.dtype.type(distance)
    return (bits - np.bitwise_count(filled).astype(np.int64)).astype(np.uint32)


def _reversed_bits(a):
    found, bits = np.zeros_like(a), 8 * a.dtype.itemsize
    for place in range(bits):
        found |= (a >> a.dtype.type(place) & a.dtype.type(1)) << a.dtype.type(bits - 1 - place)
    return found


def _look_up(a, b, c, table):
    found = np.uint32(0)
    for place in range(8):
        both = [one if place >> at & 1 else ~one for one, at in ((a, 2), (b, 1), (c, 0))]
        chosen = np.where(table >> np.uint32(place) & np.uint32(1), ~np.uint32(0), np.uint32(0))
        found = found | both[0] & both[1] & both[2] & chosen
    return found


def _sum_of_products(parts):
    kinds = [DTYPES[f"{one[0]}8"] for one in parts[:2]]

    def add_up(a, b, c):
        values = [np.ascontiguousarray(one).view(kind).astype(np.int64).reshape(-1, 4) for one, kind in zip((a, b), kinds)]
        return (c.astype(np.int64) + (values[0] * values[1]).sum(axis=1)).astype(np.uint32)

    return add_up


def _add_with_carry(a, b, carry=None):
    found = a + b
    carried = found < a
    if carry is not None:
        more = found + carry.astype(found.dtype)
        carried = carried | (more < found)
        found = more
    return found, carried


def _subtract_with_borrow(a, b, borrow=None):
    found = a - b
    borrowed = a < b
    if borrow is not None:
        less = found - borrow.astype(found.dtype)
        borrowed = borrowed | (less > found)
        found = less
    return found, borrowed


# --- floats that NumPy does not have ---


def _of_bf16(function):
    """Of bits, computed in f32 and rounded; where that rounds twice, twice as many bits and two are enough to be right."""
    return lambda *values: floats.to_bf16(function(*[floats.from_bf16(one) for one in values]))


def _fma_of_bf16(a, b, c):
    """Rounded to odd before it is rounded to the nearest."""
    x, y, z = [floats.from_bf16(one).astype(np.float64) for one in (a, b, c)]
    product = x * y
    total = product + z
    back = total - product
    error = (product - (total - back)) + (z - back)
    odd = total.view(np.int64) & 1
    toward = np.where((error != 0) & np.isfinite(total) & (odd == 0), np.where((error > 0) == (total > 0), 1, -1), 0)
    total = (total.view(np.int64) + toward).view(np.float64)
    bits = total.view(np.uint64)
    narrow = total.astype(np.float32)
    inexact = (narrow.astype(np.float64) != total) & np.isfinite(narrow)
    beyond = np.abs(narrow.astype(np.float64)) > np.abs(total)
    cut = np.where(inexact & beyond, narrow.view(np.int32) - 1, narrow.view(np.int32))
    return floats.to_bf16(np.where(inexact, cut | 1, cut).view(np.float32) + np.zeros_like(bits, np.float32))


_ARITHMETIC = {
    "add": floats.add, "sub": floats.subtract, "mul": floats.multiply, "div": floats.divide, "fma": floats.multiply_add,
    "max": floats.maximum, "min": floats.minimum,
}  # fmt: skip
_OF_INTEGERS = {"add": np.add, "sub": np.subtract, "max": np.maximum, "min": np.minimum, "div": _divide, "rem": _remainder}


def _arithmetic(name, parts):
    kind, modifiers = parts[-1], set(parts[:-1])
    if not is_float(kind):
        return _of_integers(name, parts)
    if "sat" in modifiers or "relu" in modifiers or {"rz", "rm", "rp"} & modifiers:
        return None
    if "full" in modifiers or "approx" in modifiers:
        return Operation(floats.approximate_quotient, (kind, kind), (kind,)) if name == "div" and kind == "f32" else None
    if "ftz" in modifiers:
        return None
    function = _ARITHMETIC[name]
    if "NaN" in modifiers:
        function = {"max": floats.maximum_or_nan, "min": floats.minimum_or_nan}[name]
    if kind in ("bf16", "bf16x2"):
        function = _fma_of_bf16 if name == "fma" else _of_bf16(function)
    return Operation(function, (kind,) * (3 if name == "fma" else 2), (kind,))


def _of_integers(name, parts):
    kind = parts[-1]
    if "cc" in parts or name in ("addc", "subc"):
        function = _add_with_carry if name.startswith("add") else _subtract_with_borrow
        unsigned = f"u{bits_of_type(kind)}"
        return Operation(function, (unsigned, unsigned, *["pred"] * name.endswith("c")), (unsigned, "pred"))
    if name in ("mul", "mad"):
        form = parts[0]
        wide = f"{kind[0]}{2 * bits_of_type(kind)}" if form == "wide" else kind
        product = {"lo": _low, "hi": _high, "wide": _wide}[form]
        if name == "mul":
            return Operation(product, (kind, kind), (wide,))
        return Operation(lambda a, b, c: product(a, b) + c, (kind, kind, wide), (wide,))
    if "sat" in parts or name not in _OF_INTEGERS:
        return None
    return Operation(_OF_INTEGERS[name], (kind, kind), (kind,))


def _one(of_integers, of_floats):
    def made(name, parts):
        kind = parts[-1]
        function = of_floats if is_float(kind) else of_integers
        if kind in ("bf16", "bf16x2"):
            function = _SIGNS_OF_BF16[name]
        return None if function is None or "ftz" in parts else Operation(function, (kind,), (kind,))

    return made


_SIGNS_OF_BF16 = {"abs": lambda a: a & np.uint16(0x7FFF), "neg": lambda a: a ^ np.uint16(0x8000)}


def _approximate(name, parts):
    kind = parts[-1]
    if "rn" in parts and "ftz" not in parts:
        function = {"rcp": floats.reciprocal, "sqrt": floats.square_root}.get(name)
        return Operation(function, (kind,), (kind,)) if function else None
    if kind == "f32" and parts[0] == "approx" and name in floats.APPROXIMATIONS:
        if "ftz" in parts or name == "tanh":
            return Operation(floats.APPROXIMATIONS[name], (kind,), (kind,))
    if kind == "f64" and parts == ["approx", "ftz", "f64"] and name == "rcp":
        return Operation(floats.approximate_reciprocal_of_double, (kind,), (kind,))
    return None


def _same(count, function, result=None):
    return lambda name, parts: Operation(function, (parts[-1],) * count, (result or parts[-1],))


def _compare(name, parts):
    kind = parts[-1]
    if len(parts) != 2:
        return None
    if is_float(kind):
        function = floats.COMPARISONS[parts[0]]
        if kind in ("bf16", "bf16x2"):
            plain = function
            function = lambda a, b: plain(floats.from_bf16(a), floats.from_bf16(b))  # noqa: E731
    else:
        names = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
        function = (floats.COMPARISONS | {"ne": np.not_equal})[names.get(parts[0], parts[0])]
    if not kind.endswith("x2"):
        return Operation(function, (kind, kind), ("pred",))

    def pairs(a, b):
        found = function(a, b)
        return found[0::2].copy(), found[1::2].copy()

    return Operation(pairs, (kind, kind), ("pred", "pred"))


def _convert(name, parts):
    *modifiers, to, source = parts
    modifiers = set(modifiers)
    if "satfinite" in modifiers or "ftz" in modifiers or "relu" in modifiers or "sat" in modifiers:
        return None
    rounding = next((one for one in ("rni", "rzi", "rmi", "rpi") if one in modifiers), None)
    if modifiers - {"rn", "rna", "rni", "rzi", "rmi", "rpi"}:
        return None
    if to.endswith("x2"):  # the first is the upper half
        narrow = floats.to_bf16 if to == "bf16x2" else lambda a: a.astype(np.float16).view(np.uint16)
        return Operation(
            lambda high, low: narrow(high).astype(np.uint32) << np.uint32(16) | narrow(low), ("f32", "f32"), ("b32",)
        )
    if to == "tf32":
        return Operation(floats.to_tf32, ("f32",), ("b32",)) if "rna" in modifiers else None
    if to == "bf16":
        return Operation(floats.to_bf16, ("f32",), ("bf16",)) if source == "f32" else None
    if source == "bf16":
        return Operation(floats.from_bf16, ("bf16",), ("f32",)) if to == "f32" else None
    if is_float(source) and not is_float(to):
        return Operation(floats.to_integer(rounding, DTYPES[to]), (source,), (to,))
    if to == source and rounding:
        whole = floats.rounded(rounding)
        return Operation(lambda a: floats.canonical(whole(a)), (source,), (to,))
    dtype = DTYPES[to]
    if is_float(source):
        return Operation(lambda a: floats.canonical(a.astype(dtype)), (source,), (to,))
    if to == "f16":
        return Operation(lambda a: a.astype(np.float64).astype(dtype), (source,), (to,))
    return Operation(lambda a: a.astype(dtype), (source,), (to,))


def _logical(function, count=2):
    return lambda name, parts: Operation(function, (parts[-1],) * count, (parts[-1],))


def _shifted(function):
    return lambda name, parts: Operation(_shift(function), (parts[-1], "u32"), (parts[-1],))


_ABSOLUTE, _NEGATIVE = _one(np.abs, np.abs), _one(np.negative, np.negative)
_KINDS = {
    **dict.fromkeys(("add", "sub", "mul", "div", "fma", "max", "min", "rem", "mad", "addc", "subc"), _arithmetic),
    **dict.fromkeys(("rcp", "sqrt", "rsqrt", "ex2", "lg2", "tanh"), _approximate),
    "abs": _ABSOLUTE, "neg": _NEGATIVE, "and": _logical(np.bitwise_and), "or": _logical(np.bitwise_or),
    "xor": _logical(np.bitwise_xor), "not": _logical(np.invert, 1), "shl": _shifted(np.left_shift),
    "shr": _shifted(np.right_shift), "copysign": _same(2, floats.with_sign_of), "setp": _compare, "cvt": _convert,
    "popc": _same(1, lambda a: np.bitwise_count(a).astype(np.uint32), "u32"), "clz": _same(1, _leading_zeros, "u32"),
    "brev": _same(1, _reversed_bits),
    "bfe": lambda name, parts: Operation(_extract, (parts[-1], "u32", "u32"), (parts[-1],)),
    "bfi": lambda name, parts: Operation(_insert, (parts[-1], parts[-1], "u32", "u32"), (parts[-1],)),
    "prmt": lambda name, parts: Operation(_permute, ("b32",) * 3, ("b32",)) if parts == ["b32"] else None,
    "shf": lambda name, parts: Operation(_funnel(parts), ("b32", "b32", "u32"), ("b32",)),
    "lop3": lambda name, parts: Operation(_look_up, ("b32",) * 4, ("b32",)),
    "dp4a": lambda name, parts: Operation(_sum_of_products(parts), ("b32", "b32", "u32"), ("u32",)),
    "selp": lambda name, parts: Operation(lambda a, b, p: np.where(p, a, b), (parts[-1], parts[-1], "pred"), (parts[-1],)),
}  # fmt: skip
