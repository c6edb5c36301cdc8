"""Random numbers as programs draw them in Python: by the functions that native code calls, one by one."""

from __future__ import annotations

import ctypes
import random
from typing import Any

import numpy as np

from ..hlo import Shape
from ..hlo.ops.random_calls import KINDS, Draw, draw_of
from .bit_generators import function, generator_at
from .custom_calls import PythonTarget, register_family

_C_TYPES = {
    "f64": ctypes.c_double, "f32": ctypes.c_float, "s64": ctypes.c_int64, "u64": ctypes.c_uint64, "s32": ctypes.c_uint32,
    "u32": ctypes.c_uint32, "s16": ctypes.c_uint16, "u16": ctypes.c_uint16, "s8": ctypes.c_uint8, "u8": ctypes.c_uint8,
    "pred": ctypes.c_uint8,
}  # fmt: skip
_POINTER, _BOOL = ctypes.c_void_p, ctypes.c_bool
BINOMIAL_BYTES = 256  # at least a ``binomial_t``, which holds what is the same for many draws


def _find(name: str) -> PythonTarget | None:
    draw = draw_of(name)
    return None if draw is None else PythonTarget(name, _Drawing(draw))


class _Drawing:
    """What evaluates one kind of draw."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.__qualname__ = f"{draw.kind}, {draw.name}"

    def __call__(self, stopped: Any, handle: Any, *parameters: Any, shape: Shape) -> np.ndarray:
        result = np.zeros(shape.dimensions, shape.dtype)
        if not stopped and result.size:
            flat = result.reshape(-1)
            bitgen = int(handle)
            if self.draw.kind == "random.Random":
                _draw_by_methods(generator_at(handle, random.Random), self.draw, parameters, flat)
                return result[()]
            if self.draw.kind == "numpy.random.RandomState":
                bitgen = ctypes.c_uint64.from_address(bitgen).value
            if self.draw.is_bounded:
                _fill(bitgen, self.draw, parameters, flat)
            elif self.draw.is_each_bounded:
                _draw_each_bounded(bitgen, self.draw, parameters, flat)
            elif self.draw.name == "permutation":
                _permute(bitgen, flat)
            elif self.draw.is_distinct:
                _choose(bitgen, int(parameters[0]), flat, self.draw.name == "distinct")
            else:
                self._draw_each(bitgen, int(handle), parameters, flat)
        return result[()]

    def _draw_each(self, bitgen: int, handle: int, parameters: Any, flat: np.ndarray) -> None:
        draw = self.draw
        columns = [np.broadcast_to(np.ravel(one), flat.shape).tolist() for one in parameters]
        if draw.name in _OF_RANDOM_STATE or draw.name.startswith("legacy_"):
            method = getattr(generator_at(handle, np.random.RandomState), _OF_RANDOM_STATE.get(draw.name, draw.name[7:]))
            flat[:] = [method(*values) for values in zip(*columns)] if columns else [method() for _ in flat]
            return
        types = [_C_TYPES[one.name] for one in draw.parameters]
        one = _typed(f"random_{draw.name}", _C_TYPES[draw.result.name], [*types, *_MORE_TYPES.get(draw.name, ())])
        more = {"binomial": (ctypes.create_string_buffer(BINOMIAL_BYTES),)}.get(draw.name, ())
        flat[:] = [one(bitgen, *values, *more) for values in zip(*columns)] if columns else [one(bitgen) for _ in flat]


_OF_RANDOM_STATE = {"gauss": "standard_normal", "inverse_exponential": "standard_exponential"}
_MORE_TYPES = {"binomial": (_POINTER,)}


def _typed(name: str, result: Any, arguments: list[Any]) -> Any:
    address = ctypes.cast(function(name), _POINTER).value
    return ctypes.CFUNCTYPE(result, _POINTER, *arguments)(address)


def _fill(bitgen: int, draw: Draw, bounds: Any, flat: np.ndarray) -> None:
    word = _C_TYPES[draw.result.name]
    name = "bool" if draw.result.name == "pred" else f"uint{8 * ctypes.sizeof(word)}"
    fill = _typed(f"random_bounded_{name}_fill", None, [word, word, ctypes.c_ssize_t, _BOOL, _POINTER])
    masked = draw.kind == "numpy.random.RandomState"
    fill(bitgen, *[word(int(bound)).value for bound in bounds], flat.size, masked, flat.ctypes.data)


def _draw_each_bounded(bitgen: int, draw: Draw, bounds: Any, flat: np.ndarray) -> None:
    word, masked = _C_TYPES[draw.result.name], draw.kind == "numpy.random.RandomState"
    bits = 8 * ctypes.sizeof(word)
    left_over = (ctypes.c_int(0), ctypes.c_uint32(0)) if bits < 32 else ()
    name = {"pred": "buffered_bounded_bool", "s64": "bounded_uint64", "u64": "bounded_uint64"}.get(draw.result.name)
    one = _typed(
        f"random_{name or f'buffered_bounded_uint{bits}'}", word, [word, word, word, _BOOL, *[_POINTER] * len(left_over)]
    )
    columns = [np.broadcast_to(np.ravel(bound), flat.shape).tolist() for bound in bounds]
    drawn = []
    for first, last in zip(*columns):
        values = [word(number).value for number in (first, last, (1 << last.bit_length()) - 1)]
        drawn.append(one(bitgen, *values, masked, *map(ctypes.byref, left_over)))
    flat[:] = np.array(drawn, np.uint64).astype(flat.dtype)


def _permute(bitgen: int, flat: np.ndarray) -> None:
    """What `shuffle` does with the numbers from 0 on."""
    flat[:] = np.arange(flat.size)
    interval = _typed("random_interval", ctypes.c_uint64, [ctypes.c_uint64])
    for last in range(flat.size - 1, 0, -1):
        other = interval(bitgen, last)
        flat[last], flat[other] = flat[other], flat[last]


def _choose(bitgen: int, population: int, flat: np.ndarray, is_shuffled: bool) -> None:
    """Different integers, by Floyd's method; then exchanged as in `_permute`."""
    word = ctypes.c_uint64
    bounded = _typed("random_bounded_uint64", word, [word, word, word, _BOOL])
    chosen: set[int] = set()
    for place, last in enumerate(range(population - flat.size, population)):
        number = bounded(bitgen, 0, last, 0, False)
        flat[place] = last if number in chosen else number
        chosen.add(int(flat[place]))
    for last in range(flat.size - 1, 0, -1) if is_shuffled else ():
        other = bounded(bitgen, 0, last, 0, False)
        flat[last], flat[other] = flat[other], flat[last]


def _draw_by_methods(generator: random.Random, draw: Draw, parameters: Any, flat: np.ndarray) -> None:
    if draw.name == "random":
        flat[:] = [generator.random() for _ in flat]
    elif draw.name == "inverse_exponential":
        flat[:] = [generator.expovariate(1.0) for _ in flat]
    elif draw.name == "below":
        flat[:] = [generator.randrange(int(limit)) for limit in np.broadcast_to(np.ravel(parameters[0]), flat.shape)]
    else:
        order = list(range(flat.size))
        generator.shuffle(order)
        flat[:] = order


for _kind in KINDS:
    register_family(f"{_kind}.", _find)
