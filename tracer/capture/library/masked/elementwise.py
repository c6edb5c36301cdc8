"""Elementwise functions of masked arrays: those of `numpy.ma`, the operators, and NumPy's own ufuncs, whose rules differ."""

import numpy as np
from numpy.ma import MaskError, nomask

from .array import MaskedArray, either, fill_of, filled, getdata, getmask, getmaskarray, is_decided

_TINY = np.finfo(float).tiny


def _operands(*values):
    """The data; of Python's numbers, whose types adapt, beside plain numbers and for NumPy's ufuncs themselves."""
    return [
        getdata(value) if isinstance(value, MaskedArray) or np.ndim(value) or isinstance(value, np.generic) else value
        for value in values
    ]


def _cannot_divide(first, second):
    return np.absolute(first) * _TINY >= np.absolute(second)


def unary(ufunc, outside=None):
    def call(a):
        data, mask = getdata(a), getmask(a)
        result = ufunc(data)
        if outside is not None:
            mask = ~np.isfinite(result) | outside(data) | mask
        if mask is not nomask and np.can_cast(data.dtype, result.dtype, "same_kind"):
            result = np.where(mask, data.astype(result.dtype), result)
        return MaskedArray(result, mask, fill_of(a), is_decided=result.ndim == 0 or is_decided(a))

    return call


def _mask_of_two(a, b, shape):
    mask = either(getmask(a), getmask(b))
    return mask if mask is nomask else np.broadcast_to(mask, shape)


def binary(ufunc):
    def call(a, b):
        first, second = getdata(a), getdata(b)
        result = ufunc(*_operands(a, b)) if is_decided(a, b) else ufunc(first, second)
        mask = _mask_of_two(a, b, result.shape)
        if mask is not nomask and result.ndim:
            result = np.where(mask, first.astype(result.dtype), result)
        return MaskedArray(result, mask, fill_of(a, b), is_decided=result.ndim == 0 or is_decided(a, b))

    return call


def divided(ufunc):
    """Where there is no quotient, the result is masked, and zero or what is divided is put there."""

    def call(a, b):
        first, second = getdata(a), getdata(b)
        result = ufunc(first, second)
        mask = ~np.isfinite(result) | _cannot_divide(first, second) | getmask(a) | getmask(b)
        if result.ndim:
            result = np.where(mask, np.zeros((), result.dtype), result)
            kept = np.multiply(mask, first)
            if np.can_cast(kept.dtype, result.dtype, casting="safe"):
                result = result + kept
        return MaskedArray(result, mask, fill_of(a, b), is_decided=result.ndim == 0 or is_decided(a, b))

    return call


def compared(ufunc):
    """The operator, which leaves in masked elements what it finds; where one is masked, equality compares the masks."""

    def call(a, b):
        result = ufunc(*_operands(a, b)) if is_decided(a, b) else ufunc(getdata(a), getdata(b))
        mask = _mask_of_two(a, b, result.shape)
        if mask is not nomask and result.ndim and ufunc in (np.equal, np.not_equal):
            result = np.where(mask, ufunc(getmaskarray(a), getmaskarray(b)), result)
        return MaskedArray(result, mask, is_decided=result.ndim == 0 or is_decided(a, b))

    return call


def power(a, b, third=None):
    if third is not None:
        raise MaskError("3-argument power not supported.")
    first, second = getdata(a), getdata(b)
    result = np.power(first, second)
    mask = _mask_of_two(a, b, result.shape)
    if mask is not nomask:
        result = np.where(mask, first.astype(result.dtype), result)
    if result.dtype.kind in "fc":
        invalid = ~np.isfinite(result)
        mask = invalid if mask is nomask else mask | invalid
        fill = 1e20 if fill_of(a, b) is None else fill_of(a, b)
        result = np.where(invalid, np.asarray(fill).astype(result.dtype), result)
    return MaskedArray(result, mask, fill_of(a, b), is_decided=result.ndim == 0 or is_decided(a, b))


# --- the functions ---


def _not_above(limit):
    return lambda x: x <= limit


def _below(limit):
    return lambda x: x < limit


def _not_within(least, most):
    return lambda x: (x > most) | (x < least)


_OUTSIDE = {
    np.sqrt: _below(0.0), np.log: _not_above(0.0), np.log2: _not_above(0.0), np.log10: _not_above(0.0),
    np.tan: lambda x: np.absolute(np.cos(x)) < 1e-35, np.arcsin: _not_within(-1.0, 1.0), np.arccos: _not_within(-1.0, 1.0),
    np.arccosh: _below(1.0), np.arctanh: _not_within(-1.0 + 1e-15, 1.0 - 1e-15),
}  # fmt: skip
_UNARY = (
    np.absolute, np.arccos, np.arccosh, np.arcsin, np.arcsinh, np.arctan, np.arctanh, np.ceil, np.conjugate, np.cos, np.cosh,
    np.exp, np.fabs, np.floor, np.invert, np.log, np.log10, np.log2, np.logical_not, np.negative, np.positive, np.sin, np.sinh,
    np.sqrt, np.tan, np.tanh,
)  # fmt: skip
_BINARY = (
    np.add, np.arctan2, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.equal, np.greater, np.greater_equal, np.hypot,
    np.less, np.less_equal, np.logical_and, np.logical_or, np.logical_xor, np.multiply, np.not_equal, np.subtract,
)  # fmt: skip
_DIVISIONS = (np.true_divide, np.floor_divide, np.remainder, np.fmod)
FUNCTIONS = {
    **{ufunc: unary(ufunc, _OUTSIDE.get(ufunc)) for ufunc in _UNARY}, **{ufunc: binary(ufunc) for ufunc in _BINARY},
    **{ufunc: divided(ufunc) for ufunc in _DIVISIONS}, np.power: power,
}  # fmt: skip


# --- operators ---

_OPERATORS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "pow": np.power,
}  # fmt: skip
_COMPARISONS = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
# Those of an ndarray, for which `numpy.ma` has no rules.
_OPERATORS_OF_UFUNCS = {
    "mod": np.remainder, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "matmul": np.matmul,
}  # fmt: skip
_SIGNS = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}


def _of_operator(ufunc):
    """What is decided is, where it is no mask, a plain number or array, which knows no domains."""
    function, plain = FUNCTIONS[ufunc], binary(ufunc)
    return lambda a, b: plain(a, b) if is_decided(a, b) else function(a, b)


def _reflected(ufunc):
    function = _of_operator(ufunc)
    return lambda self, other: function(other, self)


def _in_place(ufunc, neutral):
    """Masked elements keep their data; so do those that the operand masks, and those that it cannot divide."""

    def method(self, other):
        given, mask = getdata(other), getmask(other)
        if ufunc in _DIVISIONS:
            mask = getmaskarray(other) | _cannot_divide(self.data, given)
        if mask is not nomask:
            if self.mask is nomask:
                self.begin_mask()
            own = self.mask
            own |= mask
        if self.mask is nomask:
            [given] = _operands(other)
        else:
            given = np.where(self.mask, np.asarray(neutral).astype(given.dtype), given)
        ufunc(self.data, given, out=self.data)
        return self

    return method


for _name, _ufunc in _OPERATORS.items():
    setattr(MaskedArray, f"__{_name}__", _of_operator(_ufunc))
    setattr(MaskedArray, f"__r{_name}__", _reflected(_ufunc))
for _name, _ufunc in _COMPARISONS.items():
    setattr(MaskedArray, f"__{_name}__", compared(_ufunc))
for _name, _ufunc, _neutral in (
    ("iadd", np.add, 0), ("isub", np.subtract, 0), ("imul", np.multiply, 1), ("itruediv", np.true_divide, 1),
):  # fmt: skip
    setattr(MaskedArray, f"__{_name}__", _in_place(_ufunc, _neutral))


# --- NumPy's ufuncs ---

_FILLS_OUTSIDE = {np.log: 1, np.log2: 1, np.log10: 1, np.arccosh: 1, **dict.fromkeys(_DIVISIONS, 1)}


def of_ufunc(self, ufunc, method, *inputs, **kwargs):
    """The data are what the ufunc makes of them, but outside of its domain, which is masked."""
    has_domain = ufunc in _OUTSIDE or ufunc in _DIVISIONS
    if method in ("reduce", "accumulate", "reduceat") and kwargs.get("out") is None:  # which know of no masks
        return MaskedArray(np.asarray(getattr(ufunc, method)(getdata(inputs[0]), *inputs[1:], **kwargs)), nomask)
    if method == "outer" and not kwargs and not has_domain:
        mask = np.logical_or.outer(*[getmaskarray(one) for one in inputs])
        return MaskedArray(ufunc.outer(*[getdata(one) for one in inputs]), mask, fill_of(*inputs))
    if method == "__call__" and [*kwargs] == ["out"] and isinstance(kwargs["out"][0], MaskedArray) and ufunc.nout == 1:
        return _put_into(kwargs["out"][0], of_ufunc(self, ufunc, method, *inputs))
    if method != "__call__" or kwargs or ufunc.nout > 1 or ufunc.signature is not None:
        spelling = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        raise NotImplementedError(
            f"np.{spelling} of masked arrays, with these arguments, is not implemented in traced functions"
        )
    data = [getdata(one) for one in inputs]
    result = ufunc(*_operands(*inputs))
    mask = getmaskarray(inputs[0])
    for one in inputs[1:]:
        mask = mask | getmaskarray(one)
    if has_domain and not is_decided(*inputs):
        # What is masked counts as outside of an interval, but not as what cannot be divided.
        outside = _OUTSIDE[ufunc](data[0]) | mask if ufunc in _OUTSIDE else _cannot_divide(*data)
        mask = mask | outside
        result = np.where(outside, np.asarray(_FILLS_OUTSIDE.get(ufunc, 0)).astype(result.dtype), result)
    return MaskedArray(result, mask, fill_of(*inputs), is_decided=is_decided(*inputs))


def _put_into(out, found):
    if out.mask is nomask:
        out.begin_mask()
    out.data[...], out.mask[...] = found.data, getmaskarray(found)
    return out


def _of_ufunc(ufunc):
    return lambda self, *other: of_ufunc(self, ufunc, "__call__", self, *other)


def _reflected_of_ufunc(ufunc):
    return lambda self, other: of_ufunc(self, ufunc, "__call__", other, self)


MaskedArray.__array_ufunc__ = of_ufunc
for _name, _ufunc in (_OPERATORS_OF_UFUNCS | _SIGNS).items():
    setattr(MaskedArray, f"__{_name}__", _of_ufunc(_ufunc))
for _name, _ufunc in _OPERATORS_OF_UFUNCS.items():
    setattr(MaskedArray, f"__r{_name}__", _reflected_of_ufunc(_ufunc))


def product(function, a, b):
    """``function``, a product of matrices: masked elements count as zero, and what is made of such alone is masked."""
    there = function(~getmaskarray(a), ~getmaskarray(b))
    return MaskedArray(function(filled(a, 0), filled(b, 0)), ~there)


MaskedArray.dot = lambda self, b: product(np.dot, self, b)
