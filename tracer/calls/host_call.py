"""Calls of Python functions while the program runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ...hlo.tracebacks import Place, places_of_users, raised_at
from ...runtime.bit_generators import generator_at
from ...runtime.host_functions import HostFunction
from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.callables import callable_name
from ..recording.current_trace import current_trace
from ..recording.errors import LeftToPython, RaisedBehindChanges, StaleCapture
from ..recording.makers import GIVEN, function_of_leaves
from ..recording.trace import Trace
from .again import once
from .direct_calls import OF_DIRECT_CALLS, direct_call
from .leaves import PYTHON_SCALARS
from .random_generators import is_traced_generator, method_of_generator

_FALSE = np.bool_(False)
_PYTHON_TYPES = {**PYTHON_SCALARS, bool: np.bool_}


class _Result(NamedTuple):
    """One leaf of what a function is to return: a Python number, a NumPy scalar, or an array."""

    kind: type  # int, float, complex or bool; np.generic; np.ndarray
    shape: hlo.Shape

    def __str__(self) -> str:
        return self.kind.__name__ if self.kind in _PYTHON_TYPES else f"{self.shape.dtype}{list(self.shape.dimensions)}"


def host_call(function: Callable[..., Any], result_shapes: Any, *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)``, called by the interpreter each time that the compiled program comes here, in its order.

    For what cannot be traced: SciPy's functions, files, prints, random numbers. The function gets what it would get without
    jit: arrays (which it cannot write to), NumPy's scalars, Python's numbers, and all other arguments as they are.

    result_shapes: what it returns: anything with a ``shape`` and a ``dtype`` (an example, a `phlox.ShapeDtype`), a dtype for a
        scalar, ``int``, ``float``, ``complex``, ``bool`` or one of these numbers for a number, None for nothing, or a container
        of these.

    What the function raises comes out of the call as it is. Raises TypeError where the function returns something else than
    ``result_shapes`` says, or where that does not describe results.

    >>> import phlox
    >>> @phlox.jit
    ... def f(x):
    ...     return 2 * host_call(lambda x: x[::-1].copy(), x, x)
    >>> f(np.array([1.0, 2.0, 3.0]))
    array([6., 4., 2.])
    """
    trace, called = current_trace(), function
    if (method := method_of_generator(function)) is not None:
        generator, name = method
        called, args = functools.partial(call_method, name), (generator, *args)
    elif trace is not None and trace.program.surroundings is not None:
        called = trace.program.surroundings.functions.released(function)
    return call_when_run(functools.partial(once, called), result_shapes, args, kwargs, named=function)


def call_method(name: str, holder: Any, *args: Any, **kwargs: Any) -> Any:
    """What the method of this name returns."""
    return getattr(holder, name)(*args, **kwargs)


def call_when_run(
    function: Callable[..., Any],
    result_shapes: Any,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    named: Any = None,
    lines: Sequence[Place] | None = None,
    does_nothing: bool = False,
    has_effects: bool = True,
) -> Any:
    """As `host_call`, of what may be called once more where Python makes a call again.

    It is called as ``named`` is in messages; what it raises is shown as coming from these lines, by default the user's.
    does_nothing: whether all that it does is to raise, or to make something of the values. has_effects: whether it is called,
    too, where nobody needs what it returns.
    """
    kwargs, lines = kwargs or {}, places_of_users() if lines is None else lines
    leaves, structure = pytree.flatten(result_shapes)
    results = [_described(leaf) for leaf in leaves]
    name = callable_name(function if named is None else named)
    trace = current_trace()
    if trace is None:
        value = function(*args, **kwargs)
        _checked(name, value, structure, results)
        return value
    values, arguments = pytree.flatten((args, kwargs), is_traced_generator)
    given = [value for value in values if is_given(value)]
    traced = [value.handle if is_traced_generator(value) else value for value in given]
    kinds = list(map(kind_of_operand, traced))
    generators = {place: value.kind for place, value in enumerate(given) if is_traced_generator(value)}
    # Containers in them are made anew for each call.
    arguments_of = function_of_leaves(arguments, [GIVEN if is_given(value) else value for value in values])

    shapes = [result.shape for result in results]
    is_caught = trace.program.open_tries > 0
    if is_caught:  # whether the function has raised something that a handler may see
        shapes.append(hlo.Shape(hlo.PRED))

    def call(stopped: bool, *operands: Any) -> tuple[Any, ...]:
        if stopped:  # an error flag has been raised before
            return tuple([np.zeros(shape.dimensions, shape.dtype)[()] for shape in shapes])
        if generators:
            found = list(operands)
            for place, kind in generators.items():
                found[place] = generator_at(found[place], kind)
            operands = tuple(found)
        own_args, own_kwargs = arguments_of(*operands)
        try:
            value = function(*own_args, **own_kwargs)
            found = _checked(name, value, structure, results) if results or value is not None else ()
            return (*found, _FALSE) if is_caught else found
        except BaseException as error:
            if is_over(error):
                return (*[np.zeros(result.shape.dimensions, result.shape.dtype)[()] for result in results], np.bool_(True))
            raise

    def is_over(error: BaseException) -> bool:
        if is_caught and isinstance(error, Exception):
            return True
        raised_at(error, *lines)
        if host.raises_behind_changes and not isinstance(error, (StaleCapture, KeyboardInterrupt)):
            raise behind_changes(error) from None
        return False

    host = HostFunction(call, f"host_call of {name}", ["number", *kinds], does_nothing)
    returns = results[0].kind if structure is pytree.LEAF and not is_caught else None
    shape = results[0].shape if returns is np.ndarray else None
    if not generators and (not results or returns in OF_DIRECT_CALLS and (shape is None or shape.rank)):
        leaves_given = [GIVEN if is_given(value) else value for value in values]
        check = functools.partial(_checked, name, structure=structure, results=results)
        make = direct_call(function, arguments, leaves_given, check, returns, shape)
        host.direct, host.returns = (make, is_over), returns or bool
    trace.program.host_functions.append(host)
    stopped = hlo.ne(trace.read(trace.error_flag_storage()), 0)
    made = hlo.custom_call(
        stopped, *[value.instruction(trace) for value in traced], custom_call_target=host.name,
        shape=hlo.TupleShape(tuple(shapes)), custom_call_has_side_effect=has_effects,
    )  # fmt: skip
    if is_caught:
        trace.add_error_flag(hlo.get_tuple_element(made, len(results)), LeftToPython, f"{name} has raised an exception")
    return pytree.unflatten(structure, [_traced(trace, made, index, one) for index, one in enumerate(results)])


def _traced(trace: Trace, call: hlo.Instruction, index: int, result: _Result) -> TracedArray:
    element = hlo.get_tuple_element(call, index)
    is_weak = result.kind in _PYTHON_TYPES
    return TracedArray.from_instruction(trace, element, is_weak, is_scalar=result.kind is not np.ndarray)


def behind_changes(error: BaseException) -> RaisedBehindChanges:
    """What stands for an exception behind which Python makes the call."""
    return RaisedBehindChanges(lambda: error)


def kind_of_operand(value: TracedArray) -> str:
    """What a function gets of a traced value, as `HostFunction` has it."""
    return "number" if value.weak_type and not value.ndim else "scalar" if value.is_scalar else "array"


def is_given(value: Any) -> bool:
    """Whether the program gives this to the function."""
    return isinstance(value, TracedArray) or is_traced_generator(value)


def _described(leaf: Any) -> _Result:
    if isinstance(leaf, type) and leaf in _PYTHON_TYPES:
        return _Result(leaf, hlo.Shape(hlo.element_type_of(np.dtype(_PYTHON_TYPES[leaf]))))
    if type(leaf) in _PYTHON_TYPES:
        return _described(type(leaf))
    if isinstance(leaf, TracedArray):
        kind = np.generic if leaf.is_scalar else np.ndarray
        if leaf.weak_type:
            kind = {"pred": bool, "signed": int, "float": float, "complex": complex}[leaf.element_type.kind]
        return _Result(kind, hlo.Shape(leaf.element_type, leaf.shape))
    if isinstance(leaf, np.dtype) or isinstance(leaf, type) and issubclass(leaf, np.generic):
        return _Result(np.generic, hlo.Shape(hlo.element_type_of(np.dtype(leaf))))
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        kind = np.generic if isinstance(leaf, np.generic) else np.ndarray
        return _Result(kind, hlo.Shape(hlo.element_type_of(np.dtype(leaf.dtype)), tuple(leaf.shape)))
    what = "a result is described by what has a shape and a dtype, by a dtype or the type of a Python number"
    raise TypeError(f"host_call: {what}; {leaf!r} given")


def _checked(name: str, value: Any, structure: pytree.Structure, results: list[_Result]) -> tuple[Any, ...]:
    """The leaves of what a function has returned, as the program takes them."""
    if structure is pytree.LEAF:
        return (_checked_leaf(name, value, results[0]),)
    try:
        leaves = pytree.flatten_as(structure, value, "result")
    except pytree.StructureMismatch as mismatch:
        raise TypeError(
            f"host_call of {name}: {mismatch.path} must be {mismatch.required}, and the function returned {mismatch.given}"
        ) from None
    return tuple([_checked_leaf(name, leaf, one) for leaf, one in zip(leaves, results)])


def _checked_leaf(name: str, leaf: Any, result: _Result) -> Any:
    if result.kind in _PYTHON_TYPES:
        if type(leaf) is result.kind:
            return _PYTHON_TYPES[result.kind](leaf)  # OverflowError for an int beyond 64 bits
        given = type(leaf).__name__
    else:
        array = np.asarray(leaf)
        if array.dtype == result.shape.dtype and array.shape == result.shape.dimensions:
            return array[()]
        given = f"{array.dtype}{list(array.shape)}"
    raise TypeError(f"host_call of {name}: a result {result} is required, and the function returned {given}")
