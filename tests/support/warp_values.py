"""Values of LLVM's types in the registers of all threads at once, as NumPy has them: integers as words, of 64 bits each."""

import numpy as np
from llvmlite import ir


def bits_of(type_):
    return 64 if isinstance(type_, ir.PointerType) else type_.width


def scalar_of(type_):
    return type_.element if isinstance(type_, ir.VectorType) else type_


def wrapped(value, type_):
    bits = bits_of(type_)
    value = np.asarray(value, np.uint64)
    return value if bits == 64 else value & np.uint64((1 << bits) - 1)


def signed(value, bits):
    sign = np.uint64(1 << (bits - 1))
    return ((value ^ sign) - sign).astype(np.int64) if bits == 64 else (value ^ sign).astype(np.int64) - (1 << (bits - 1))


def dtype_of(type_):
    if isinstance(type_, ir.IntType):
        return np.dtype(f"u{max(1, type_.width // 8)}")
    if isinstance(type_, ir.PointerType):
        return np.dtype(np.uint64)
    return {"half": np.dtype(np.float16), "float": np.dtype(np.float32), "double": np.dtype(np.float64)}[str(type_)]


def sum_of_products(one, other, total):
    """Of the bytes of two words, which have signs, and a number."""
    bytes_ = [
        np.ascontiguousarray(word.astype(np.uint32)).view(np.int8).reshape(-1, 4).astype(np.int64) for word in (one, other)
    ]
    return wrapped((total.astype(np.int64) + (bytes_[0] * bytes_[1]).sum(axis=1)).astype(np.uint64), ir.IntType(32))


def permuted(high, low, selector):
    """Bytes of two words: numbers 0 to 3 are those of the second one."""
    assert not (selector & np.uint64(0xF8F8F8F8)).any()
    both = high << np.uint64(32) | low
    value = np.zeros_like(low)
    for byte in range(4):
        place = selector >> np.uint64(8 * byte) & np.uint64(7)
        value |= (both >> (np.uint64(8) * place) & np.uint64(255)) << np.uint64(8 * byte)
    return value
