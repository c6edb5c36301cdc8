"""What a traced function sees of a generator of random numbers: the program knows it by its handle."""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ...runtime.bit_generators import handle_of
from ..outside.paths import Path
from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.errors import TracerError
from ..recording.trace import Trace

# By their type: generators to try calls on. One of NumPy's and Python's own types may be in any state.
EXAMPLES: dict[type, Any] = {}


class RandomGenerator:
    """A generator of random numbers, of the type ``kind``, as a traced function sees it.

    ``handle`` is the number that the program knows it by (`phlox.runtime.bit_generators`), ``path`` where it is found at a
    call, None for one that the function makes. ``call`` is `random_methods.call`.
    """

    call: Callable[..., Any]

    def __init__(self, kind: type, handle: TracedArray, path: Path | None = None) -> None:
        self.kind, self.handle, self.path = kind, handle, path

    @property
    def __class__(self) -> type:
        """So that ``isinstance`` says what it says of the generator."""
        return self.kind

    @property
    def example(self) -> Any:
        """A generator of this type, in some state."""
        return EXAMPLES[self.kind]

    def __getattr__(self, name: str) -> Any:
        if name == "spawn":
            raise NotImplementedError(
                "Generator.spawn is not implemented. Fix: np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,))), "
                "(1,) and so on, or phlox.random.Generator(seed).split(n)"
            )
        if not callable(getattr(self.example, name)):
            raise TracerError(
                f"{name} of a generator of random numbers is not known while a function is traced: wrap what is done with it "
                "in a function that returns arrays or numbers, and call that by phlox.host_call(function, result_shapes, *args)"
            )
        return functools.partial(self.call, name)

    def __repr__(self) -> str:
        return f"<{self.kind.__name__} of a traced function>"


pytree.register_pytree(
    RandomGenerator, lambda generator: ((generator.handle,), generator.kind), lambda kind, parts: RandomGenerator(kind, *parts)
)


def number_below(generator: RandomGenerator, count: Any) -> Any:
    """An integer below a count as Python's generators draw it, which is at least 1."""
    return generator.call("_randbelow", count)


# Functions of the captured library `capture.library.draws`, by their names; `capture.drawn_arrays` puts them here.
LIBRARY: dict[str, Callable[..., Any]] = {}


def is_traced_generator(value: Any) -> bool:
    """Whether this stands for a generator in a traced function."""
    return type(value) is RandomGenerator


def method_of_generator(function: Any) -> tuple[RandomGenerator, str] | None:
    """The generator and the name of a method of one that a traced function sees, None for other functions."""
    is_one = type(function) is functools.partial and is_traced_generator(getattr(function.func, "__self__", None))
    return (function.func.__self__, function.args[0]) if is_one else None


def name_of_method(function: Any) -> str | None:
    """The name of a method of a generator that a traced function sees, None for other functions."""
    found = method_of_generator(function)
    return None if found is None else found[1]


def from_outside(trace: Trace, generator: Any, path: Path) -> RandomGenerator:
    """What stands for a generator that is found at this path at each call."""
    generators = trace.program.generators
    found = generators.get(path.key)
    if found is None:
        remember_example(generator)
        capture = trace.captured_number(None, hlo.U64, handle_of, path)
        handle = TracedArray(capture.storage, hlo.Shape(hlo.U64), is_scalar=True)
        found = generators[path.key] = RandomGenerator(type(generator), handle, path)
    return found


def remember_example(generator: Any) -> None:
    """Keep a copy of a generator where there is none of its type; of a ``RandomState`` one that can be seeded again."""
    kind = type(generator)
    if kind not in EXAMPLES or kind is np.random.RandomState and not _can_be_seeded(EXAMPLES[kind]):
        is_copied = not isinstance(generator, random.SystemRandom)
        EXAMPLES[kind] = copy.deepcopy(generator) if is_copied else generator


def _can_be_seeded(generator: np.random.RandomState) -> bool:
    return generator.get_state(legacy=False)["bit_generator"] == "MT19937"
