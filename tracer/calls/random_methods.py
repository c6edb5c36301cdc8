"""Calls of methods of generators of random numbers in traced functions, and generators that these make.

What `random_draws` has instructions for is drawn without Python; other methods are calls of Python on the generator, which has
then gone as far as the program has (docs/random_numbers.md).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ...runtime.bit_generators import handle_of, is_drawn_natively, object_at
from ..outside.paths import NewList
from ..recording import pytree
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.current_trace import current_trace
from ..recording.errors import TracerError
from ..recording.operands import store
from ..recording.trace import Trace
from . import random_choices, random_distributions  # noqa: F401  (importing them makes the methods known)
from .host_call import call_method, call_when_run
from .random_draws import NotDrawn, choice_of_texts, drawn, repeated
from .random_generators import LIBRARY, RandomGenerator, remember_example
from .random_of_python import bounds_of_python
from .random_results import described
from .trials import examples, results_of_trial

_OF_BYTES = {"bytes": "length", "randbytes": "n"}  # methods that return bytes, and the names of their number
# What takes any number of elements, with the functions of the library that do it.
_OF_ANY_LENGTH = {"shuffle": "shuffled", "permutation": "permutation", "permuted": "permutation"}
_IN_PLACE = {"shuffle"}  # methods that change their argument
_BETWEEN = {"integers", "randint"}  # whose upper bound is above the lower one


def call(generator: RandomGenerator, name: str, *args: Any, **kwargs: Any) -> Any:
    """What a method returns, which is called when the program runs."""
    if (several := repeated(generator.kind, name, args, kwargs)) is not None:
        one = {} if name in ("rand", "randn") else {"size": 1}
        example = _example_of(generator, name)(**examples(several.keywords, 1), **one)
        given = several.keywords, several.size, np.asarray(example).dtype
        return LIBRARY["one_by_one"](generator, name, *given)
    if _has_any_length(generator.kind, name, args, kwargs):
        return LIBRARY[_OF_ANY_LENGTH[name]](generator, *args)
    if (texts := choice_of_texts(generator.kind, name, args, kwargs)) is not None:
        return LIBRARY["chosen"](generator, *texts)
    if (bounds := bounds_of_python(generator.kind, name, args, kwargs)) is not None:
        by_python = partial(call_when_run, partial(call_method, name), 0, (generator, *args), kwargs)
        return LIBRARY["between"](generator, *bounds, by_python)
    try:
        return drawn(generator.kind, generator.handle, name, args, kwargs)
    except NotDrawn:
        pass
    if name in _IN_PLACE:
        if not isinstance(args[0], TracedArray):
            given = type(args[0]).__name__
            raise TracerError(
                f"{name} of a {given} in a traced function is done of an array, or a list: pass one of these, or shuffle "
                "positions, np.arange(n)"
            )
        args[0][...] = call_when_run(partial(_on_copy, name), args[0], (generator, *args), kwargs)
        return None
    if name in _OF_BYTES and len(args) + len(kwargs) == 1:
        return _bytes(generator, name, args[0] if args else kwargs[_OF_BYTES[name]])
    if name == "permuted" and (out := kwargs.get("out")) is not None:
        return store(out, call(generator, name, *args, **{**kwargs, "out": None}), "safe")
    results = described(generator.kind, name, args, kwargs)
    if results is None:
        results = _results_of_trial(_example_of(generator, name), name, args, kwargs)
    return call_when_run(partial(call_method, name), results, (generator, *args), kwargs)


RandomGenerator.call = call


def _has_any_length(kind: type, name: str, args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a method takes as many elements as the program decides, along the first axis, and nothing else."""
    if name not in _OF_ANY_LENGTH or len(args) != 1 or kwargs or not is_drawn_natively(kind):
        return False
    (elements,) = args
    if not isinstance(elements, TracedArray):
        return False
    if elements.is_dynamic:
        return True
    trace = require_trace(elements)
    is_count = name == "permutation" and not elements.ndim and elements.element_type.is_integer
    return is_count and elements.known_value is None and not trace.may_become_known(elements.recorded(trace))


def _example_of(generator: RandomGenerator, name: str) -> Callable[..., Any]:
    """The method of a generator of this type, for trials."""
    method = getattr(generator.example, name)
    return _between_examples(method) if name in _BETWEEN else method


def _results_of_trial(method: Callable[..., Any], name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    if name == "choice":  # whatever the probabilities are
        args = (*args[:3], None, *args[4:]) if len(args) > 3 else args
        kwargs = {name: value for name, value in kwargs.items() if name != "p"}
    if name == "permuted":
        return np.zeros_like(examples((args[0] if args else kwargs["x"],), 1)[0])
    return results_of_trial(method, args, kwargs)


def _between_examples(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method with bounds between which there is a number, in place of examples that are all the same."""

    def call(low: Any, high: Any = None, *args: Any, **kwargs: Any) -> Any:
        bounds = (np.ones_like(low), None) if high is None else (np.zeros_like(low), np.ones_like(high))
        return method(*bounds, *args, **kwargs)

    return call


def _bytes(generator: RandomGenerator, name: str, length: Any) -> Any:
    """As an array, whose bytes they are."""
    if isinstance(length, TracedArray):
        length = as_index(length, "as the number of bytes that are drawn")
    count = len(getattr(generator.example, name)(length))
    return call_when_run(partial(_as_array, name), np.zeros(count, np.uint8), (generator, length)).tobytes()


def _as_array(name: str, generator: Any, length: int) -> np.ndarray:
    return np.frombuffer(getattr(generator, name)(length), np.uint8)


def _on_copy(name: str, generator: Any, array: Any, *args: Any, **kwargs: Any) -> Any:
    changed = array.copy()
    getattr(generator, name)(changed, *args, **kwargs)
    return changed


def make_generator(kind: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The program makes a generator each time that it comes here, and keeps it until the call is over."""
    trace = current_trace()
    if trace is None:
        return kind(*args, **kwargs)
    if kind is np.random.default_rng and args and isinstance(args[0], np.random.Generator):
        return args[0]

    def make(kept: int, *args: Any, **kwargs: Any) -> np.uint64:
        generator = _made(kind, args, kwargs)
        object_at(kept).append(generator)
        return handle_of(generator)

    example = _made(kind, examples(args, 1), examples(kwargs, 1))
    remember_example(example)
    handle = call_when_run(make, np.uint64(0), (_kept_objects(trace), *args), kwargs, named=kind)
    return RandomGenerator(type(example), handle)


class _Seeded(NamedTuple):
    """A bit generator, or a sequence of seeds, of this type, which is made where a generator is made of it."""

    kind: Callable[..., Any]
    args: tuple
    kwargs: dict

    def spawn(self, n_children: int) -> list[Any]:
        """NumPy counts the children, which the program does not: a seed that is a number becomes known."""
        for one in (*self.args, *self.kwargs.values()):
            if isinstance(one, TracedArray) and not one.ndim:
                as_index(one, "as a seed that has children")  # raises ConcretizationError
        raise NotImplementedError(
            "SeedSequence.spawn of a seed that depends on traced values is not implemented. Fix: the children are "
            "np.random.SeedSequence(seed, spawn_key=(0,)), (1,) and so on"
        )


pytree.register_pytree(_Seeded, lambda made: (made[1:], made.kind), lambda kind, parts: _Seeded(kind, *parts))


def make_later(kind: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A bit generator, or a sequence of seeds; one that never changes is made at once."""
    if current_trace() is None:
        return kind(*args, **kwargs)
    is_traced = any(isinstance(one, TracedArray) for one in pytree.flatten((args, kwargs))[0])
    is_known = kind is np.random.SeedSequence and not is_traced and (kwargs or args and args[0] is not None)
    return kind(*args, **kwargs) if is_known else _Seeded(kind, args, kwargs)


def _made(kind: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    return kind(*map(_ready, args), **{name: _ready(value) for name, value in kwargs.items()})


def _ready(value: Any) -> Any:
    return _made(*value) if type(value) is _Seeded else value


def _kept_objects(trace: Trace) -> TracedArray:
    """The address of a list that lives as long as the call."""
    path = NewList()
    found = next((one for one in trace.program.captures.values() if one.path is not None and one.path.key == path.key), None)
    capture = found or trace.captured_number(None, hlo.U64, _address, path)
    return TracedArray(capture.storage, hlo.Shape(hlo.U64), is_scalar=True)


def _address(value: list) -> np.uint64:
    return np.uint64(id(value))
