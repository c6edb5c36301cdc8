"""What AMD's instructions for matrices do: MFMA and WMMA, by the tables of AMD's documents, one formula for each.

Which element of a matrix each lane's registers hold is written here as the documents have it, and not as the kernels do. Sums
are computed in f64, or wrap.

Sources: "AMD Instinct MI300 Instruction Set Architecture", Matrix Arithmetic Instructions; AMD's lab notes "AMD matrix cores"
(mfma_f32_32x32x8f16, mfma_f64_16x16x4f64, and their figures); GPUOpen's "How to accelerate AI applications on RDNA 3 using
WMMA".
"""

import re

import ml_dtypes
import numpy as np

# By kind: how the bytes of a register are read.
_READ = {
    "f64": np.float64, "f32": np.float32, "xf32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8,
}  # fmt: skip
_MFMA = re.compile(r"llvm\.amdgcn\.mfma\.(f32|f64|i32)\.(\d+)x(\d+)x(\d+)\.?(bf16|xf32|f64|f32|f16|i8)(?:\.1k)?$")
_WMMA = re.compile(r"llvm\.amdgcn\.wmma\.(f32|i32)\.16x16x16\.(f16|bf16|iu8)\.")


def multiply(name, arguments):
    """The sums after the instruction; registers are arrays by thread, and vectors by thread and place."""
    if found := _MFMA.match(name):
        sums, side, _, terms, kind = found.groups()
        return _mfma(sums, int(side), int(terms), kind, arguments[:3])
    if found := _WMMA.match(name):
        return _wmma(*found.groups(), arguments)
    raise NotImplementedError(name)


def _elements(register, kind, lanes, count):
    """By wave, lane and number: the elements of an operand in a lane's register."""
    raw = np.ascontiguousarray(register)
    if raw.dtype == np.uint64:
        # Integers are as wide as their elements are together.
        raw = raw.reshape(len(raw), -1)
        size = count * np.dtype(_READ[kind]).itemsize // raw.shape[1]
        raw = np.ascontiguousarray(raw.astype(f"u{size}"))
    bytes_ = raw.reshape(len(raw), -1).view(np.uint8)
    values = np.ascontiguousarray(bytes_).view(_READ[kind])
    assert values.shape[1] == count
    if kind == "xf32":  # ten bits of the mantissa are used
        values = (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return values.reshape(-1, lanes, count)


def _mfma(sums, side, terms, kind, arguments):
    left, right, old = arguments
    lane = np.arange(64)
    each = terms // (64 // side)
    # "i = lane % side, k = each * (lane / side) + number": of A the row, of B the column.
    line = np.broadcast_to((lane % side)[:, None], (64, each))
    term = each * (lane // side)[:, None] + np.arange(each)
    factors = []
    for register in (left, right):
        values = _elements(register, kind, 64, each)
        matrix = np.zeros((len(values), side, terms), np.int64 if sums == "i32" else np.float64)
        matrix[:, line, term] = values
        factors.append(matrix)
    number = np.arange(side * side // 64)
    if sums == "f64":
        row = 4 * number + (lane // 16)[:, None]
    else:
        in_block = 64 // side * 4  # rows that four registers of all lanes have
        row = in_block * (number // 4) + 4 * (lane // side)[:, None] + number % 4
    column = np.broadcast_to((lane % side)[:, None], row.shape)
    return _added(factors, old, row, column, 64)


def _wmma(sums, kind, arguments):
    lane = np.arange(32)
    signs = [True, True]
    if kind == "iu8":
        *signs, clamp = (bool(arguments[place][0]) for place in (0, 2, 5))
        assert not clamp
        left, right, old = arguments[1], arguments[3], arguments[4]
    else:
        left, right, old = arguments
    factors = []
    for register, has_sign in zip((left, right), signs):
        values = _elements(register, "i8" if kind == "iu8" else kind, 32, 16)
        # Lanes 16 to 31 have to hold what lanes 0 to 15 do.
        raw = np.ascontiguousarray(values).view(np.uint8)
        assert (raw[:, :16] == raw[:, 16:]).all(), "not twice the same"
        values = values if has_sign else values.view(np.uint8)
        factors.append(values[:, :16].astype(np.int64 if sums == "i32" else np.float64))
    row = 2 * np.arange(8) + (lane // 16)[:, None]
    column = np.broadcast_to((lane % 16)[:, None], row.shape)
    return _added(factors, old, row, column, 32)


def _added(factors, old, row, column, lanes):
    total = factors[0] @ np.swapaxes(factors[1], 1, 2)
    products = total[:, row, column].reshape(old.shape)
    if old.dtype == np.uint64:
        return (old + products.astype(np.uint64)) & np.uint64(0xFFFFFFFF)
    return (old.astype(np.float64) + products).astype(old.dtype)
