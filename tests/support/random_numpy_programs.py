"""Random programs of NumPy, written as data, so that one interpreter runs them on NumPy's arrays and on traced ones.

A program is a list of statements; each makes a value from earlier ones or writes into one. Views are common, so that writes are
seen through other names. Sums are of integers alone: everything else rounds correctly, and results have to be identical.
"""

import operator
import warnings
from random import Random

import numpy as np

DTYPES = [np.dtype(name) for name in ("?", "i1", "i4", "i8", "u1", "u4", "f4", "f4", "f8", "f2")]
SPECIAL = {"f": (0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.0), "i": (0, 1, -1, 100, -128), "u": (0, 1, 255, 128), "b": (0, 1)}
BINARY = (
    "add", "subtract", "multiply", "true_divide", "floor_divide", "remainder", "maximum", "minimum", "fmax", "fmin", "greater",
    "less_equal", "equal", "not_equal", "logical_and", "logical_or", "bitwise_and", "bitwise_xor", "left_shift", "right_shift",
    "copysign", "fmod", "heaviside",
)  # fmt: skip
UNARY = (
    "negative", "absolute", "sign", "floor", "rint", "isnan", "isfinite", "logical_not", "invert", "square", "sqrt",
)  # fmt: skip
REDUCTIONS = ("max", "min", "any", "all", "argmax", "argmin", "count_nonzero", "ptp")
IN_PLACE = ("iadd", "isub", "imul", "iand", "ior")
NUMBERS = (0, 1, 2, -1, 3, 0.5, -0.0, 2.5, True, np.float32(1.5), np.int8(3), np.float64(0.25), np.int64(7))


def random_array(random, generator):
    dtype = random.choice(DTYPES)
    shape = tuple(random.choice((0, 1, 1, 2, 3, 4, 7)) for _ in range(random.choice((0, 1, 1, 2, 2, 3))))
    ordinary = generator.integers(0, 2 if dtype.kind == "b" else 6, shape).astype(dtype)
    special = generator.choice(np.array(SPECIAL[dtype.kind]), shape).astype(dtype)
    return np.where(generator.random(shape) < 0.3, special, ordinary).astype(dtype)


def basic_index(random, shape):
    parts = []
    for size in shape:
        draw = random.random()
        if draw < 0.25 and size:
            parts.append(random.randrange(-size, size))
        elif draw < 0.35:
            parts.append(slice(None))
        else:
            start, stop = (random.choice((None, None, random.randint(-size - 2, size + 2))) for _ in range(2))
            parts.append(slice(start, stop, random.choice((None, None, 1, 2, -1, -2, 3))))
    parts = parts[: random.randint(0, len(parts))]
    if random.random() < 0.2:
        parts.insert(random.randint(0, len(parts)), None)
    if random.random() < 0.2:
        # What stands behind an ellipsis counts from the last dimension.
        parts = [Ellipsis, *(part if isinstance(part, slice) or part is None else slice(None) for part in parts)]
    return tuple(parts)


def advanced_index(random, shape):
    """Arrays of integers, also negative ones, for some dimensions."""
    parts = []
    length = random.choice((1, 2, 3))
    for size in shape:
        if not size or random.random() < 0.4:
            parts.append(slice(None, None, random.choice((None, -1, 2))))
        else:
            parts.append(np.array([random.randrange(-size, size) for _ in range(random.choice((1, length)))]))
    return tuple(parts)


class Writer:
    """Writes a program; the arrays decide which statements are possible."""

    def __init__(self, seed, count):
        self.random, self.generator = Random(seed), np.random.default_rng(seed)
        self.arrays = [random_array(self.random, self.generator) for _ in range(self.random.randint(1, 3))]
        self.values = [array.copy() for array in self.arrays]
        self.statements = []
        # The values whose order in memory is that of an argument, or of a view of one.
        self.known = set(range(len(self.arrays)))
        for _ in range(count):
            statement = getattr(self, self.random.choice(self.KINDS))()
            if statement is None:
                continue
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    run_statement(statement, self.values)
                except (TypeError, ValueError, IndexError, OverflowError):
                    continue
            if statement[0] in ("index", "transpose") and statement[1] in self.known:
                if isinstance(self.values[-1], np.ndarray) and self.values[-1].base is not None:
                    self.known.add(len(self.values) - 1)
            self.statements.append(statement)

    KINDS = (
        "binary", "binary", "with_number", "with_number", "unary", "view", "view", "view", "transposed", "reshaped", "assigned",
        "assigned", "assigned", "in_place", "in_place", "masked", "masked", "gathered", "scattered", "reduced", "reduced",
        "selected", "with_out", "with_where", "clipped", "joined", "converted", "broadcast", "summed", "added_at",
        "cumulated", "flat", "onto_itself", "onto_itself",
    )  # fmt: skip

    def pick(self, *checks):
        fitting = [n for n, value in enumerate(self.values) if all(check(value) for check in checks)]
        return fitting[-1 - min(int(self.random.expovariate(0.4)), len(fitting) - 1)] if fitting else None

    def array(self, *checks):
        return self.pick(lambda value: isinstance(value, np.ndarray), *checks)

    def partner(self, n):
        """A value that broadcasts with this one, maybe."""
        shape = np.shape(self.values[n])
        alike = [m for m, value in enumerate(self.values) if np.shape(value) == shape or np.ndim(value) == 0]
        return self.random.choice(alike) if alike and self.random.random() < 0.8 else self.pick()

    def binary(self):
        n = self.pick()
        return "binary", self.random.choice(BINARY), n, self.partner(n)

    def with_number(self):
        return "number", self.random.choice(BINARY[:20]), self.pick(), self.random.choice(NUMBERS), self.random.random() < 0.3

    def unary(self):
        return "unary", self.random.choice(UNARY), self.pick()

    def view(self):
        n = self.array()
        return None if n is None else ("index", n, basic_index(self.random, self.values[n].shape))

    def gathered(self):
        n = self.array(lambda value: value.ndim > 0)
        return None if n is None else ("index", n, advanced_index(self.random, self.values[n].shape))

    def transposed(self):
        n = self.array()
        if n is None:
            return None
        order = list(range(self.values[n].ndim))
        self.random.shuffle(order)
        return "transpose", n, tuple(order)

    def ordered(self, *checks):
        """An array whose order in memory is known to the trace: computed ones are row-major there, in NumPy not always."""
        fitting = [n for n in range(len(self.values)) if isinstance(self.values[n], np.ndarray)]
        fitting = [n for n in fitting if n in self.known or self.values[n].flags.c_contiguous]
        fitting = [n for n in fitting if all(check(self.values[n]) for check in checks)]
        return self.random.choice(fitting) if fitting else None

    def reshaped(self):
        n = self.ordered()
        if n is None:
            return None
        shape = [size for size in self.values[n].shape if size != 1]
        if self.random.random() < 0.5 and shape:
            shape = [-1] if self.values[n].size else [0]
        shape.insert(self.random.randint(0, len(shape)), 1)
        return "reshape", n, tuple(shape)

    def assigned(self):
        n = self.array()
        if n is None:
            return None
        index = basic_index(self.random, self.values[n].shape)
        if self.random.random() < 0.5:
            return "assign number", n, index, self.random.choice((0, 1, 3, 2.5, True))
        return "assign", n, index, self.pick(lambda value: np.can_cast(value.dtype, self.values[n].dtype, "same_kind"))

    def scattered(self):
        n = self.array(lambda value: value.ndim > 0)
        return None if n is None else ("assign number", n, advanced_index(self.random, self.values[n].shape), 5)

    def added_at(self):
        n = self.array(lambda value: value.ndim > 0 and value.dtype.kind in "iu" and value.flags.writeable)
        return None if n is None else ("add at", n, advanced_index(self.random, self.values[n].shape), 1)

    def onto_itself(self):
        """A fresh array of which the same array, or a view of it, is what is written, where, or both."""
        n = self.array(lambda value: value.ndim > 0 and value.size > 0)
        if n is None:
            return None
        order = list(range(len(self.values[n])))
        self.random.shuffle(order)
        return "onto itself", n, self.random.choice([*_ONTO_ITSELF]), np.array(order)

    def in_place(self):
        n = self.array()
        return None if n is None else ("in place", self.random.choice(IN_PLACE), n, self.partner(n))

    def masked(self):
        n = self.array(lambda value: value.dtype.kind != "b")
        if n is None:
            return None
        return "masked", n, self.random.choice((0, 1, 2)), self.random.choice((0, 1, 4))

    def _axes(self, n):
        rank = np.ndim(self.values[n])
        if not rank or self.random.random() < 0.3:
            return None
        return self.random.randrange(-rank, rank)

    def reduced(self):
        n = self.array()
        return None if n is None else ("reduce", self.random.choice(REDUCTIONS), n, self._axes(n), self.random.random() < 0.4)

    def summed(self):
        n = self.array(lambda value: value.dtype.kind in "iub")
        opcode = self.random.choice(("sum", "sum", "prod"))
        return None if n is None else ("reduce", opcode, n, self._axes(n), self.random.random() < 0.4)

    def cumulated(self):
        n = self.array(lambda value: value.dtype.kind in "iub")
        return None if n is None else ("cumulate", n, self._axes(n))

    def selected(self):
        n, condition = self.pick(), self.pick(lambda value: value.dtype.kind == "b")
        return None if condition is None else ("where", condition, n, self.partner(n))

    def with_out(self):
        n = self.array()
        if n is None:
            return None
        return "out", self.random.choice(("add", "multiply", "maximum", "greater")), self.partner(n), self.partner(n), n

    def with_where(self):
        n, condition = self.array(), self.pick(lambda value: value.dtype.kind == "b")
        if n is None or condition is None:
            return None
        return "out where", self.random.choice(("add", "multiply", "maximum")), self.partner(n), self.partner(n), n, condition

    def clipped(self):
        return "clip", self.pick(lambda value: value.dtype.kind != "b"), *sorted(self.random.sample((0, 1, 2, 3, 5), 2))

    def joined(self):
        n = self.array(lambda value: value.ndim > 0)
        return None if n is None else ("join", [n, self.partner(n), n], self.random.randrange(self.values[n].ndim))

    def converted(self):
        # Floats beyond the integers become anything, in NumPy: to floats and pred only.
        n = self.array()
        if n is None:
            return None
        kinds = "fb" if self.values[n].dtype.kind == "f" else "iufb"
        return "convert", n, self.random.choice([dtype for dtype in DTYPES if dtype.kind in kinds])

    def broadcast(self):
        n = self.array()
        return None if n is None else ("broadcast", n, (self.random.choice((1, 2, 3)), *self.values[n].shape))

    def flat(self):
        n = self.ordered(lambda value: value.size > 0)
        return None if n is None else ("ravel", n)


def run_statement(statement, values):
    """Appends what the statement makes; one that writes makes nothing."""
    kind, *rest = statement
    made = _EXECUTE[kind](values, *rest)
    if made is not None:
        values.append(made)


def _assign(values, n, index, number):
    values[n][index] = number


def _in_place(values, name, n, m):
    result = getattr(operator, name)(values[n], values[m])
    assert result is values[n] or not isinstance(values[n], np.ndarray)


def _positions(y):
    """Numbers of rows, the first or the last, that are made of the values themselves."""
    return (y.reshape(-1)[: len(y)] > 1) * (len(y) - 1)


# Each changes y, which is computed for it.
_ONTO_ITSELF = {
    "rows": lambda y, order: y.__setitem__(order, y),
    "rows by value": lambda y, order: y.__setitem__(_positions(y), y),
    "added": lambda y, order: np.add.at(y, order, y),
    "added by value": lambda y, order: np.add.at(y, _positions(y), y),
    "greatest": lambda y, order: np.maximum.at(y, order // 2, y),
    "moved up": lambda y, order: y.__setitem__(slice(1, None), y[:-1]),
    "moved down": lambda y, order: y.__setitem__(slice(None, -1), y[1:]),
    "reversed": lambda y, order: y.__setitem__(slice(None), y[::-1]),
    "reversed in place": lambda y, order: np.maximum(y, y[::-1], out=y),
    "gathered": lambda y, order: y.__setitem__(slice(None), y[order]),
    "put": lambda y, order: np.put(y, order, y),
}


def _onto_itself(values, n, name, order):
    y = np.roll(values[n], 1, axis=0)
    _ONTO_ITSELF[name](y, order)
    return y


def _masked(values, n, threshold, number):
    x = values[n]
    x[x > threshold] = number


_EXECUTE = {
    "binary": lambda v, name, n, m: getattr(np, name)(v[n], v[m]),
    "number": lambda v, name, n, number, left: getattr(np, name)(*((number, v[n]) if left else (v[n], number))),
    "unary": lambda v, name, n: getattr(np, name)(v[n]),
    "index": lambda v, n, index: v[n][index],
    "transpose": lambda v, n, order: v[n].transpose(order),
    "reshape": lambda v, n, shape: v[n].reshape(shape),
    "ravel": lambda v, n: v[n].ravel(),
    "assign": lambda v, n, index, m: _assign(v, n, index, v[m]),
    "assign number": _assign,
    "add at": lambda v, n, index, number: np.add.at(v[n], index, number),
    "in place": _in_place,
    "onto itself": _onto_itself,
    "masked": _masked,
    "reduce": lambda v, name, n, axis, keep: (
        getattr(np, name)(v[n], axis=axis, keepdims=keep) if name[:3] != "arg" or axis is not None else getattr(np, name)(v[n])
    ),
    "cumulate": lambda v, n, axis: np.cumsum(v[n], axis=axis),
    "where": lambda v, condition, n, m: np.where(v[condition], v[n], v[m]),
    "out": lambda v, name, n, m, out: (getattr(np, name)(v[n], v[m], out=v[out], casting="same_kind"), None)[1],
    "out where": lambda v, name, n, m, out, where: (getattr(np, name)(v[n], v[m], out=v[out], where=v[where]), None)[1],
    "clip": lambda v, n, low, high: np.clip(v[n], low, high),
    "join": lambda v, parts, axis: np.concatenate([v[n] for n in parts], axis=axis),
    "convert": lambda v, n, dtype: v[n].astype(dtype),
    "broadcast": lambda v, n, shape: np.broadcast_to(v[n], shape),
}


def run_program(statements, arrays):
    """All values that the program makes, after its last statement: writes show in earlier ones."""
    values = list(arrays)
    for statement in statements:
        run_statement(statement, values)
    return tuple(values)
