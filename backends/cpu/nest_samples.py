"""Small programs on which loop nests are tried, each in the file of its nest.

A test runs them on random numbers, in the memory that the nest asked for, compares the results with those of the reference
backend, and sees that the nest is the one that was emitted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ...hlo import Module, parse_module

EmitsNest = TypeVar("EmitsNest", bound=Callable[..., Any])


@dataclass(frozen=True)
class NestSample:
    """A program, of which this nest is a part; results may differ by ``tolerance``, as a part of the largest of them."""

    nest: Callable[..., Any]
    text: str
    tolerance: float

    @property
    def module(self) -> Module:
        return parse_module(self.text)


SAMPLES: list[NestSample] = []


def samples(*entries: str, calls: str = "", tolerance: float = 0.0) -> Callable[[EmitsNest], EmitsNest]:
    """Decorator: this function emits a nest of the programs with these instructions, which call the computations ``calls``."""

    def register(nest: EmitsNest) -> EmitsNest:
        SAMPLES.extend(NestSample(nest, f"{calls}\nENTRY main {{\n{entry}\n}}\n", tolerance) for entry in entries)
        return nest

    return register


def combining(opcode: str, shape: str, result: str = "", attributes: str = "") -> str:
    """The text of a computation that applies an operation to two arrays; its name is that of both, as in ``add_s32``."""
    return f"""{opcode}_{_as_name(shape)} {{
      x = {shape} parameter(0)
      y = {shape} parameter(1)
      ROOT z = {result or shape} {opcode}(x, y){attributes}
    }}
    """


def running_sum(shape: str) -> str:
    """The text of a computation for scans of sums, named as in ``running_sum_s32_5``."""
    return f"""running_sum_{_as_name(shape)} {{
      x = {shape} parameter(0)
      carry = {shape} parameter(1)
      sum = {shape} add(x, carry)
      ROOT both = ({shape}, {shape}) tuple(sum, sum)
    }}
    """


def _as_name(shape: str) -> str:
    return re.sub(r"\W+", "_", shape).strip("_")


def changing_sign(dimensions: str) -> str:
    """The text of a computation for scans: the first step takes the element, others change the carry's sign by it."""
    return f"""changing_sign_{dimensions} {{
      x = f32[{dimensions}] parameter(0)
      is_first = pred[{dimensions}] parameter(1)
      carry = f32[{dimensions}] parameter(2)
      bits = s32[{dimensions}] bitcast-convert(x)
      zero = s32[{dimensions}] xor(bits, bits)
      is_negative = pred[{dimensions}] compare(bits, zero), direction=LT
      other = f32[{dimensions}] negate(carry)
      chosen = f32[{dimensions}] select(is_negative, other, carry)
      following = f32[{dimensions}] select(is_first, x, chosen)
      ROOT both = (f32[{dimensions}], f32[{dimensions}]) tuple(following, following)
    }}
    """
