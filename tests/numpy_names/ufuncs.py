"""Programs for each ufunc of NumPy: operands that it takes, all keywords of a call, and each method with all of its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

# Those of dates aside.
UFUNCS = {
    name: found for name in sorted(np.__all__) if isinstance(found := getattr(np, name), np.ufunc) and found is not np.isnat
}
INTEGER_OPERANDS = {
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.bitwise_count, np.invert, np.left_shift, np.right_shift, np.gcd, np.lcm,
}  # fmt: skip
_CONTRACTIONS = {np.matmul: "{0}(g, a), {0}(l, g), {0}(g, x), {0}(x, v[:4])", np.vecdot: "{0}(x, y), {0}(v, w)"}
_CONTRACTIONS |= {
    getattr(np, name): text
    for name, text in (("matvec", "{0}(g, a[0]), {0}(l, g)"), ("vecmat", "{0}(a[0], g), {0}(x[:, :3], l[0])"))
    if hasattr(np, name)
}


def programs(ufunc: np.ufunc, name: str) -> Iterator[str]:
    if ufunc in _CONTRACTIONS:
        yield _CONTRACTIONS[ufunc].format(name)
        first = _CONTRACTIONS[ufunc].format(name).split("), ")[0] + ")"
        yield f"o = np.zeros_like({first}); {first[:-1]}, out=o); o"
        yield f"{first[:-1]}, dtype=np.float32, casting='same_kind', order='K', subok=True)"
        if ufunc is np.matmul:
            yield f"{name}(x, y.T, axes=[(0, 1), (0, 1), (0, 1)]) ## refused of unknown sizes"
        if ufunc is np.vecdot:
            yield f"{name}(x, y, axis=0), {name}(x, y, keepdims=True)"
        return
    integers = ufunc in INTEGER_OPERANDS
    operands = ("j", "t[:4]") if integers else ("x", "j") if ufunc is np.ldexp else ("x", "y")
    if ufunc in (np.power, np.float_power):
        operands = ("p", "y")
    if ufunc in (np.arcsin, np.arccos, np.arctanh, np.sqrt, np.log, np.log2, np.log10):
        operands = ("p",)
    given = ", ".join(operands[: ufunc.nin])
    call = f"{name}({given})"
    scalars = ", ".join(f"{one[0]}[{'0' if '[' in one else '0, 0'}]" for one in operands[: ufunc.nin])
    yield f"{call}, {name}({scalars})"
    if ufunc.nout == 1:
        yield f"o = np.zeros_like({call}); {name}({given}, out=o); o"
        yield f"o = np.zeros_like({call}); {name}({given}, o); o"
        yield f"o = np.zeros_like({call}); {name}({given}, out=(o,), where=b, casting='same_kind', order='C', subok=True); o"
    else:
        yield f"o, r = {call}; o[...] = 0; r[...] = 0; {name}({given}, out=(o, r)), o, r"
        options = "casting='same_kind', order='C', subok=True"
        yield f"o, r = {call}; o[...] = 0; r[...] = 0; {name}({given}, o, r, where=b, {options}); o, r"
    if not integers and ufunc not in (np.ldexp, np.frexp) and any(types.startswith("f" * ufunc.nin) for types in ufunc.types):
        as_float = ", ".join([f"f{'' if k == 0 else ' + 1'}" for k in range(ufunc.nin)])
        signature = f"{'f' * ufunc.nin}->{_out(ufunc)}"
        yield f"{name}({as_float}), {name}({as_float}, dtype=np.float64), {name}({as_float}, signature='{signature}')"
    if ufunc.nin == 2 and ufunc.nout == 1:
        line, table = ("t", "j") if integers else ("v", "p")
        # NumPy's vector code combines elements for these two in an order that depends on the processor.
        is_in_order = ufunc not in (np.ldexp, np.power, np.arctan2)
        if is_in_order:
            yield f"{name}.reduce({line}), {name}.reduce({table}, axis=1), {name}.reduce({table}, axis=0, keepdims=True)"
            yield f"o = {name}.reduce({table}, axis=0) * 0; {name}.reduce({table}, axis=0, dtype=None, out=o); o"
            yield f"{name}.accumulate({line}), {name}.accumulate({table}, axis=1)"
            yield f"o = {name}.accumulate({table}, 1) * 0; {name}.accumulate({table}, axis=1, dtype=None, out=o); o"
            yield f"{name}.reduceat({line}, [0, 2, 1]), {name}.reduceat({table}, [0, 2], axis=1)"
        if is_in_order and ufunc.identity is not None:
            yield f"{name}.reduce({table}, axis=(0, 1)), {name}.reduce({table}, axis=None, where=b)"
        if ufunc in (np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.bitwise_and, np.bitwise_or):
            yield f"{name}.reduce({table}, axis=0, initial=1, where=b)"
        second = "t" if ufunc is np.ldexp else "t" if integers else "w"
        yield f"{name}.outer({line}, {second}), {name}.outer({table}, {second}).shape"
        if not any(types.endswith("->?") for types in ufunc.types) and ufunc is not np.ldexp:
            yield f"{name}.at({line}, [0, 2, 0], 2); {line}"
            yield f"{name}.at({line}, k, {second}); {line}"
            yield f"{name}.at({table}, b, 2); {table}"
            yield f"{name}.at({table}, ([0, 2], [1, 1]), 3); {table}"


def _out(ufunc: np.ufunc) -> str:
    return next(types for types in ufunc.types if types.startswith("f" * ufunc.nin + "->")).partition("->")[2]
