"""``@jit``: a NumPy function, compiled for each form of call that it meets."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar, overload

from ...backends.registry import require_name
from ...hlo.tracebacks import for_users
from ...runtime.compile_budget import seconds_of
from ...runtime.determinism import require_truth
from ..outside.ownership import belongs_to_the_user
from ..recording.callables import callable_name, is_ordinary
from .jitted_function import JittedFunction

P = ParamSpec("P")
R = TypeVar("R")


@overload
def jit(function: Callable[P, R], /) -> JittedFunction[P, R]: ...


@overload
def jit(
    *,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    backend: str | None = None,
    control_flow: str = "source",
    tiered: bool = False,
    fastmath: bool = False,
    budget: str | float | timedelta | None = None,
    deterministic: bool | None = None,
) -> Callable[[Callable[P, R]], JittedFunction[P, R]]: ...


@for_users
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    backend: str | None = None,
    control_flow: str = "source",
    tiered: bool = False,
    fastmath: bool = False,
    budget: str | float | timedelta | None = None,
    deterministic: bool | None = None,
) -> Any:
    """Compile a function of NumPy arrays; usable as a decorator, with or without arguments, for functions and methods.

    Anything that can be called is a function here: bound methods, ``functools.partial(...)``, objects with ``__call__``.

    Arguments and results are arrays, numbers, or containers of these (`register_pytree`). Arrays and numbers are traced;
    ``str``, ``bool``, ``None``, dtype, type and enum arguments, dates, paths and slices are static, and so are Python numbers
    whose values the function turns out to need (an axis, a shape, ``range``). What the function reads from outside is read, or
    guarded, at each call, and what it sets there takes effect at each call (``docs/outside.md``); so it is with arguments that
    are objects.

    Loops, branches and calls of the user's own functions are captured from the source; see docs/control_flow.md.

    static_argnums, static_argnames: further parameters whose values are part of the key of the compiled code; hashable.
    backend: the name of a backend, or of a device, such as "cuda:1"; None means that of the arrays on a device that a call is
        given, else that of ``with phlox.device(...)``, the environment variable PHLOX_BACKEND, or "cpu" (``docs/devices.md``).
    control_flow: "source", or "trace" to leave loops and branches to Python, which runs them while the function is traced.
    tiered: whether calls for which there is no code yet run the function itself, while another thread compiles it.
    fastmath: whether a product that is added to something may be rounded together with the sum, where the processor has an
        instruction for that, and running sums and products, as loops make them, too, in another order; results differ from
        NumPy's in their last bits. On NVIDIA's GPUs products of matrices of f32 then use ten bits of their elements' fractions
        (TF32). Else each operation is rounded by itself, in the order in which it is written, as in NumPy.
    budget: how long tracing and compiling a form of call may take: a number of seconds, a text such as "300ms" or "2s", or a
        datetime.timedelta. The compiler gives up what makes code faster, and results stay the same; `JittedFunction.explain`
        says what was given up. Where that is not enough a `BudgetExceededWarning` says so. ValueError for other texts.
    deterministic: whether results on GPUs are the same from run to run, to the last bit: otherwise sums of floats at places
        that repeat, as `np.add.at` makes them, are added up as they come, which is much faster (``docs/gpu.md``). None means
        what `phlox.config` says, at first False. Results of the CPU backend always are. TypeError for what is no truth.

    Calls raise what the function raises while it is traced, TypeError for arguments that cannot be traced, and TracerError
    where the function cannot be traced as it is written.

    >>> import numpy as np
    >>> @jit(backend="reference")
    ... def norm(x, axis=-1):
    ...     return np.sqrt(np.sum(x * x, axis=axis))
    >>> norm(np.array([[3.0, 4.0], [6.0, 8.0]]))
    array([ 5., 10.])
    """
    seconds = None if budget is None else seconds_of(budget)
    require_truth(deterministic, "jit: deterministic")
    require_name(backend, "jit: the backend")
    if function is None:
        options: dict[str, Any] = {"static_argnums": static_argnums, "static_argnames": static_argnames}
        options |= {"tiered": tiered, "fastmath": fastmath, "budget": seconds, "deterministic": deterministic}
        return functools.partial(jit, **options, backend=backend, control_flow=control_flow)
    if control_flow not in ("source", "trace"):
        raise ValueError(f"jit: control_flow must be 'source' or 'trace', {control_flow!r} given")
    if isinstance(function, (classmethod, staticmethod)):
        raise TypeError(f"jit requires a function; put @{type(function).__name__} above @jit")
    if isinstance(function, str):
        raise TypeError(f"jit requires a function, {function!r} given: the types of arguments are those of each call")
    if not callable(function):
        raise TypeError(f"jit requires a function, {type(function).__name__} given")
    if isinstance(function, type) and belongs_to_the_user(function):
        raise TypeError(f"jit requires a function; {function.__name__!r} is a class: decorate its methods, or what uses it")
    if not is_ordinary(function):
        name = callable_name(function)
        if not inspect.isgeneratorfunction(function):
            raise TypeError(
                f"jit requires an ordinary function; {name!r} is a generator or a coroutine: decorate what it calls for its "
                "arrays instead"
            )
        raise TypeError(
            f"jit requires a function that returns; {name!r} is a generator, which is asked for one value after the other. "
            f"Fix: jit a function that goes over it, with which it is compiled: jit(lambda *args: list({name}(*args)))"
        )
    static = static_argnums, static_argnames
    return JittedFunction(function, *static, backend, control_flow, tiered, fastmath, seconds, deterministic)
