"""Functions of SciPy that call a function many times (`quad`, `curve_fit`, `minimize` by gradients): the program calls them.

They get a function with what the program has computed in the place of the traced values that it sees around it.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...calls.host_call import call_when_run
from ...recording.array import TracedArray
from ...recording.callables import bound_cells, callable_name
from ..outside.namespaces import Namespace
from ..outside.surroundings import current_surroundings
from ..places import where_made

# What makes a value of those that the program has computed.
_Maker = Callable[[Sequence[Any]], Any]
_F64 = np.dtype(np.float64)


def with_functions(
    function: Callable[..., Any], key: tuple[str, str], args: tuple, kwargs: dict[str, Any]
) -> Callable[..., Any] | None:
    """What to call in the place of such a function that is given traced values, or functions that see some; None for others.

    key: the names of its module, and of it.
    """
    described = _RESULTS.get(key)
    if described is None or not _sees_traced([*args, *kwargs.values()]):
        return None
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    further = bound.arguments.get("args", ())
    for one in further if type(further) is tuple else (further,):
        if not isinstance(one, _SEEN):
            raise NotImplementedError(
                f"{callable_name(function)} with a {type(one).__name__} in args=, which the function may change: the program "
                "calls it where it runs. Fix: hand over numbers and arrays"
            )
    results = described(bound.arguments)
    return None if results is None else lambda *args, **kwargs: _called(function, args, kwargs, results)


def _called(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], described: Any) -> Any:
    found: list[TracedArray] = []
    name = callable_name(function)
    arguments = _parts([*args], found, name), {key: _made_of(value, found, name) for key, value in kwargs.items()}

    def call(*values: Any) -> Any:
        own, named = ([part(values) for part in arguments[0]], {key: part(values) for key, part in arguments[1].items()})
        result = function(*own, **named)
        if type(described) is not dict:
            return result
        return {key: _as_described(result[key], like) for key, like in described.items()}

    result = call_when_run(call, described, tuple(found), named=function)
    if type(described) is not dict:
        return result
    from scipy.optimize import OptimizeResult  # it is there, as one of its functions is called  # noqa: PLC0415

    return OptimizeResult(result)


def _as_described(value: Any, like: Any) -> Any:
    if isinstance(like, np.ndarray):
        return np.asarray(value, like.dtype)
    return like.type(value) if isinstance(like, np.dtype) else like(value)


# --- functions and what they see ---


def _cells_of(function: types.FunctionType) -> dict[str, types.CellType]:
    return {name: cell for name, cell in bound_cells(function).items() if name != "_phlox"}


def _sees_traced(values: Iterable[Any], seen: frozenset[int] = frozenset()) -> bool:
    """Whether there are traced values among these, or in what functions among them see around them."""
    for value in values:
        if isinstance(value, TracedArray):
            return True
        if id(value) in seen:
            continue
        parts: Iterable[Any] = ()
        if type(value) is types.FunctionType:
            parts = [*[cell.cell_contents for cell in _cells_of(value).values()], *(value.__defaults__ or ())]
            parts += (value.__kwdefaults__ or {}).values()
        elif type(value) in (list, tuple):
            parts = list(value)
        elif type(value) is dict:
            parts = list(value.values())
        elif type(value) is types.MethodType:
            parts = list(getattr(value.__self__, "__dict__", {}).values())
        if _sees_traced(parts, seen | {id(value)}):
            return True
    return False


def _parts(values: Iterable[Any], found: list[TracedArray], name: str) -> list[_Maker]:
    return [_made_of(value, found, name) for value in values]


def _made_of(value: Any, found: list[TracedArray], name: str) -> _Maker:
    """What makes this value anew, of which traced ones are put to those that are ``found``."""
    if isinstance(value, TracedArray):
        found.append(value)
        place = len(found) - 1
        return lambda values: values[place]
    if type(value) in (list, tuple):
        kind, parts = type(value), _parts(value, found, name)
        return lambda values: kind([part(values) for part in parts])
    if type(value) is dict:
        items = {key: _made_of(part, found, name) for key, part in value.items()}
        return lambda values: {key: part(values) for key, part in items.items()}
    if type(value) is types.FunctionType:
        return _function_made_of(value, found, name)
    holder = getattr(value, "__self__", value)
    if _sees_traced([value]) or where_made(holder) is not None:
        what = callable_name(value) if callable(value) else f"a {type(value).__name__}"
        raise NotImplementedError(f"{name} of {what}, which may see what the program computes, or change it. Fix: a function")
    return lambda values: value


def _function_made_of(function: types.FunctionType, found: list[TracedArray], name: str) -> _Maker:
    surroundings = current_surroundings()
    released = function if surroundings is None else surroundings.functions.released(function)
    if not isinstance(function.__globals__, Namespace) or not isinstance(released, types.FunctionType):
        return lambda values: released
    cells: dict[str, _Maker] = {}
    outside = {id(cell) for cell in released.__closure__ or ()} - {id(cell) for cell in function.__closure__ or ()}
    for variable, cell in _cells_of(released).items():
        if id(cell) in outside:
            continue
        held = cell.cell_contents
        if variable in _variables_set(released.__code__) or held is function or not isinstance(held, _SEEN):
            raise NotImplementedError(
                f"{name} of a function that sets {variable!r}, calls itself, or sees a container or an object there, which it "
                "may change: the program calls it where it runs. Fix: let it compute what it returns from its arguments and "
                "from numbers and arrays alone"
            )
        cells[variable] = _made_of(held, found, name)
    of_defaults = _parts(released.__defaults__ or (), found, name)
    keywords = {key: _made_of(value, found, name) for key, value in (released.__kwdefaults__ or {}).items()}

    def make(values: Sequence[Any]) -> types.FunctionType:
        closure = [
            types.CellType(cells[variable](values)) if variable in cells else cell
            for variable, cell in zip(released.__code__.co_freevars, released.__closure__ or ())
        ]
        defaults = tuple([part(values) for part in of_defaults])
        made = types.FunctionType(released.__code__, released.__globals__, released.__name__, defaults, tuple(closure))
        made.__kwdefaults__ = {key: part(values) for key, part in keywords.items()}
        return made

    return make


# What such a function may see around it: nothing that it could change.
_SEEN = (
    TracedArray, int, float, complex, str, bytes, tuple, type(None), np.ndarray, np.generic, np.dtype, np.ufunc, type,
    types.FunctionType, types.BuiltinFunctionType, types.ModuleType,
)  # fmt: skip


def _variables_set(code: types.CodeType) -> set[str]:
    """The variables of functions around that a function, or one in it, sets."""
    found = {one.argval for one in dis.get_instructions(code) if one.opname in ("STORE_DEREF", "DELETE_DEREF")}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _variables_set(constant) & set(constant.co_freevars)
    return found & set(code.co_freevars)


# --- results: what they are like, by the arguments; None where a function is not called so ---


def _vector(*sizes: int) -> Any:
    return np.empty(sizes, _F64)


def _size(value: Any) -> int:
    if isinstance(value, TracedArray) and value.is_dynamic:
        raise NotImplementedError("SciPy's functions of functions, with arrays whose sizes are known at run time only")
    return sum(map(_size, value)) if type(value) in (list, tuple) else int(np.prod(np.shape(value)))


def _of_quad(given: dict[str, Any]) -> Any:
    return None if given["full_output"] or given["complex_func"] or given["weight"] else (float, float)


def _of_odeint(given: dict[str, Any]) -> Any:
    return None if given["full_output"] else _vector(_size(given["t"]), _size(given["y0"]))


def _of_curve_fit(given: dict[str, Any]) -> Any:
    if given["full_output"]:
        return None
    if given["p0"] is None:
        parameters = list(inspect.signature(given["f"]).parameters.values())
        if any(one.kind is one.VAR_POSITIONAL for one in parameters):
            return None
        count = len(parameters) - 1
    else:
        count = _size(given["p0"])
    return _vector(count), _vector(count, count)


_BY_GRADIENTS = ("bfgs", "cg", "l-bfgs-b", "slsqp", "tnc")


def _of_minimize(given: dict[str, Any]) -> Any:
    method = given["method"]
    if method is None:
        method = "slsqp" if given["constraints"] else "bfgs" if given["bounds"] is None else "l-bfgs-b"
    if type(method) is not str or method.lower() not in _BY_GRADIENTS:
        return None
    count = _size(given["x0"])
    return {"x": _vector(count), "fun": _F64, "jac": _vector(count), "nit": int, "nfev": int, "status": int, "success": bool}


def _of_solve_ivp(given: dict[str, Any]) -> Any:
    if given["t_eval"] is None or given["events"] is not None or given["dense_output"]:
        return None
    count = _size(given["t_eval"])
    return {"t": _vector(count), "y": _vector(_size(given["y0"]), count), "nfev": int, "status": int, "success": bool}


def _of_least_squares(given: dict[str, Any]) -> Any:
    return {"x": _vector(_size(given["x0"])), "cost": _F64, "optimality": _F64, "nfev": int, "status": int, "success": bool}


def _of_fsolve(given: dict[str, Any]) -> Any:
    return None if given["full_output"] else _vector(_size(given["x0"]))


def _of_root(given: dict[str, Any]) -> Any:
    count = _size(given["x0"])
    return {"x": _vector(count), "fun": _vector(count), "success": bool}


def _of_root_scalar(given: dict[str, Any]) -> Any:
    is_bracketed = given["bracket"] is not None and given["method"] in (None, "bisect", "brenth", "brentq", "ridder")
    return {"root": float if is_bracketed else _F64, "iterations": int, "function_calls": int, "converged": bool}


_RESULTS: dict[tuple[str, str], Callable[[dict[str, Any]], Any]] = {
    ("scipy.integrate._quadpack_py", "quad"): _of_quad,
    ("scipy.integrate._odepack_py", "odeint"): _of_odeint,
    ("scipy.integrate._ivp.ivp", "solve_ivp"): _of_solve_ivp,
    ("scipy.optimize._minpack_py", "curve_fit"): _of_curve_fit,
    ("scipy.optimize._minpack_py", "fsolve"): _of_fsolve,
    ("scipy.optimize._minimize", "minimize"): _of_minimize,
    ("scipy.optimize._lsq.least_squares", "least_squares"): _of_least_squares,
    ("scipy.optimize._root", "root"): _of_root,
    ("scipy.optimize._root_scalar", "root_scalar"): _of_root_scalar,
}
