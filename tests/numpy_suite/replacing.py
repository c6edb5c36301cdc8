"""NumPy's functions, methods and operators, and the jitted ones that stand for them in NumPy's tests."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy_names.table import every_row
from phlox import hlo, jit

# What a call is left to NumPy for: phlox has no arrays of these.
LEFT_OUT_KINDS = "OSUTMmV"
OPERATORS = {
    name: getattr(operator, name)
    for name in (
        "add sub mul truediv floordiv mod pow matmul lshift rshift and_ or_ xor eq ne lt le gt ge neg pos invert".split()
    )
}
IN_PLACE = {
    name: getattr(operator, name)
    for name in "iadd isub imul itruediv ifloordiv imod ipow ilshift irshift iand ior ixor imatmul".split()
}
# The names under which phlox has a method of generators, and of the module numpy.random.
DRAWS = frozenset(
    (
        "random integers standard_normal normal standard_exponential exponential uniform permutation permuted"
        " shuffle choice poisson binomial gamma standard_gamma beta chisquare f geometric gumbel hypergeometric"
        " laplace logistic lognormal logseries multinomial multivariate_normal negative_binomial"
        " noncentral_chisquare noncentral_f pareto power rayleigh standard_cauchy standard_t triangular vonmises"
        " wald weibull zipf dirichlet multivariate_hypergeometric bytes rand randn randint random_sample"
        " random_integers ranf sample tomaxint"
    ).split()
)


class Calls:
    """What the jitted functions did since this was made: how many calls there were, and what phlox refused."""

    def __init__(self) -> None:
        self.is_on = False
        self.count = 0
        self.refusals: list[str] = []
        self.left: set[str] = set()


calls = Calls()


def _leaves(value: Any, depth: int = 0) -> Iterator[Any]:
    if type(value) in (list, tuple) and depth < 40:
        for one in value:
            yield from _leaves(one, depth + 1)
    elif type(value) is dict:
        for one in value.values():
            yield from _leaves(one, depth + 1)
    elif type(value) is slice:
        yield from _leaves((value.start, value.stop, value.step))
    else:
        yield value


def _is_left_out(dtype: np.dtype) -> bool:
    return dtype.kind in LEFT_OUT_KINDS or dtype.char in "gG"


def reason_to_leave(arguments: tuple, keywords: dict[str, Any]) -> str | None:
    """Why a call is NumPy's own: what it is about has no meaning in compiled code."""
    within = {id(one) for value in (*arguments, *keywords.values()) if type(value) in (list, tuple) for one in _leaves(value)}
    for value in _leaves((arguments, keywords)):
        kind = type(value)
        if kind is np.ndarray or isinstance(value, np.generic):
            if _is_left_out(value.dtype):
                return "long double" if value.dtype.char in "gG" else "objects, texts, dates, structures"
        elif kind is str:
            if id(value) in within or _names_left_out_dtype(value):
                return "objects, texts, dates, structures"
        elif isinstance(value, np.dtype) or isinstance(value, type):
            try:
                if value not in (bool, int, float, complex) and _is_left_out(np.dtype(value)):
                    return "objects, texts, dates, structures"
            except TypeError:
                return "objects, texts, dates, structures"
        elif value is None or value is Ellipsis:
            if id(value) in within and value is None and any(type(one) is list for one in arguments):
                return "objects, texts, dates, structures"
        elif kind in (bool, float, complex):
            pass
        elif kind is int:
            if id(value) in within and not -(2**63) <= value < 2**64:
                return "objects, texts, dates, structures"
        elif isinstance(value, np.ndarray):
            return "subclasses of ndarray"
        elif (
            kind in (Function, Ufunc, np.random.Generator, np.random.RandomState, range)
            or callable(value)
            and not hasattr(value, "__array__")
        ):
            pass
        elif value is np._NoValue or isinstance(value, np._CopyMode):
            pass
        else:
            return "objects of other classes"
    return None


def _names_left_out_dtype(text: str) -> bool:
    try:
        return len(text) < 20 and _is_left_out(np.dtype(text))
    except (TypeError, ValueError, SyntaxError):
        return False


# What gives views. A jitted function returns copies of some, as docs/outside.md says under "Limits"; what a test then does
# with them, and asks of their memory, it does with NumPy's, where these hold the same.
_MAKE_VIEWS = frozenset(
    "array asarray asanyarray ascontiguousarray asfortranarray require astype atleast_1d atleast_2d atleast_3d broadcast_to"
    " broadcast_arrays diag diagonal diagflat expand_dims flip fliplr flipud moveaxis ravel reshape rollaxis rot90 squeeze"
    " swapaxes split array_split dsplit hsplit vsplit transpose matrix_transpose permute_dims view real imag nan_to_num unstack"
    " meshgrid trim_zeros sliding_window_view as_strided".split()
)


def _as_view(found: Any, function: Callable, arguments: tuple, keywords: dict[str, Any]) -> Any:
    """NumPy's view in place of a copy that holds the same."""
    theirs = function(*arguments, **keywords)
    if type(found) is type(theirs) and type(found) in (tuple, list) and len(found) == len(theirs):
        return type(found)(_view_or_copy(one, other, arguments) for one, other in zip(found, theirs))
    return _view_or_copy(found, theirs, arguments)


def _view_or_copy(found: Any, theirs: Any, arguments: tuple) -> Any:
    if not isinstance(found, np.ndarray) or type(theirs) is not np.ndarray:
        return found
    given = [one for one in _leaves(arguments) if isinstance(one, np.ndarray)]
    is_view = any(np.may_share_memory(theirs, one) and not np.may_share_memory(found, one) for one in given)
    are_alike = found.dtype == theirs.dtype and np.array_equal(found, theirs, equal_nan=found.dtype.kind in "fc")
    return theirs if is_view and are_alike else found


def run(function: Callable, jitted: Callable, arguments: tuple, keywords: dict[str, Any], name: str) -> Any:
    """The call, jitted, unless it is about what has no meaning in compiled code."""
    arguments, keywords = undone(arguments), undone(keywords)
    reason = reason_to_leave(arguments, keywords) if calls.is_on else "what a module does when it is imported"
    if reason is not None:
        calls.left.add(reason)
        return function(*arguments, **keywords)
    calls.count += 1
    said = tuple((key, value) for key, value in keywords.items() if type(value) is bool)
    if said:  # as programs write them: known
        jitted, keywords = _saying(function, said), {key: value for key, value in keywords.items() if type(value) is not bool}
    try:
        found = jitted(*arguments, **keywords)
        keywords |= dict(said)
        return _as_view(found, function, arguments, keywords) if name.rpartition(".")[2] in _MAKE_VIEWS else found
    except (NotImplementedError, hlo.HloError) as error:
        calls.refusals.append(f"{name}: {type(error).__name__}: {error}".partition("\n")[0])
        raise
    except TypeError as error:
        if type(error) is not TypeError:
            calls.refusals.append(f"{name}: {type(error).__name__}: {error}".partition("\n")[0])
        raise


@cache
def _saying(function: Callable, said: tuple[tuple[str, bool], ...]) -> Callable:
    further = dict(said)

    def call(*arguments, **keywords):
        return function(*arguments, **keywords, **further)

    return jit(call)


def undone(value: Any) -> Any:
    """The value with NumPy's functions in place of the jitted ones."""
    if type(value) in (Function, Ufunc):
        return value.function
    if type(value) in (list, tuple):
        found = [undone(one) for one in value]
        if any(one is not other for one, other in zip(found, value)):
            return type(value)(found)
    if type(value) is dict:
        return {key: undone(one) for key, one in value.items()}
    return value


def calling(function: Callable) -> Callable:
    def call(*arguments, **keywords):
        return function(*arguments, **keywords)

    call.__name__ = getattr(function, "__name__", "call")
    return jit(call)


class Function:
    """A function of NumPy's that is jitted when it is called."""

    def __init__(self, function: Callable, name: str) -> None:
        self.function, self.name = function, name
        self.jitted = calling(function)

    def __call__(self, /, *arguments, **keywords):
        return run(self.function, self.jitted, arguments, keywords, self.name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)

    @property
    def __class__(self):
        return type(self.function)

    @property
    def __doc__(self):
        return self.function.__doc__

    @property
    def __signature__(self):
        return inspect.signature(self.function)

    def __repr__(self) -> str:
        return repr(self.function)

    def __eq__(self, other: Any) -> bool:
        return self.function == undone(other)

    def __hash__(self) -> int:
        return hash(self.function)

    def __reduce__(self):
        return self.function.__reduce__()


class Ufunc(Function):
    """A ufunc, whose methods are jitted, too."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.function, name)
        if name in ("reduce", "accumulate", "reduceat", "outer", "at"):
            return replaced_method(self.function, name)
        return found


def method_caller(name: str) -> Callable:
    def call(of, *arguments, **keywords):
        return getattr(of, name)(*arguments, **keywords)

    call.__name__ = name
    return call


@cache
def _method(name: str) -> tuple[Callable, Callable]:
    plain = method_caller(name)
    return plain, jit(plain)


class Method:
    """A bound method that is jitted when it is called."""

    def __init__(self, of: Any, name: str) -> None:
        self.of, self.name = of, name

    def __call__(self, /, *arguments, **keywords):
        plain, jitted = _method(self.name)
        return run(plain, jitted, (self.of, *arguments), keywords, f"{type(self.of).__name__}.{self.name}")

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(self.of, self.name), name)

    def __eq__(self, other: Any) -> bool:
        return type(other) is Method and other.of is self.of and other.name == self.name

    def __hash__(self) -> int:
        return hash((id(self.of), self.name))

    def __reduce__(self):
        return getattr, (self.of, self.name)


def replaced_method(of: Any, name: str) -> Any:
    if isinstance(of, np.ufunc):
        key = (of, name)
        if key not in _UFUNC_METHODS:
            _UFUNC_METHODS[key] = Function(getattr(of, name), f"np.{of.__name__}.{name}")
        return _UFUNC_METHODS[key]
    return Method(of, name)


_UFUNC_METHODS: dict = {}


# These say what holds from then on, behind the call, too; a traced function refuses that.
# The other two ask where arrays lie, which a call that is passed copies of views cannot say.
_OF_STATE = {
    np.shares_memory, np.may_share_memory, np.seterr, np.seterrcall, np.setbufsize, np.set_printoptions, np.geterr,
    np.geterrcall, np.getbufsize, np.get_printoptions,
}  # fmt: skip


def _table() -> tuple[dict[int, Function], frozenset[str]]:
    """The jitted functions by the identity of NumPy's, and the names of the methods of arrays."""
    found: dict[int, Function] = {}
    methods = set()
    for _, row in every_row():
        if not row.programs:
            continue
        prefix, _, last = row.name.rpartition(".")
        if prefix == "x":
            methods.add(last)
            continue
        value = np
        for part in row.name.split(".")[1:]:
            value = getattr(value, part, None)
        if isinstance(value, np.ufunc):
            found[id(value)] = Ufunc(value, row.name)
        elif callable(value) and not isinstance(value, type) and value not in _OF_STATE:
            found[id(value)] = Function(value, row.name)
    return found, frozenset(name for name in methods if callable(getattr(np.ndarray, name, None)))


TABLE, METHODS = _table()


def replaced(value: Any) -> Any:
    """What stands for a value that a test reads by a name or an attribute."""
    try:
        return TABLE.get(id(value), value)
    except TypeError:
        return value


def attribute(of: Any, name: str) -> Any:
    """``of.name``, for NumPy's functions and the methods of arrays and generators the jitted one."""
    kind = type(of)
    if kind is np.ndarray and name in METHODS:
        return Method(of, name)
    if kind in (np.random.Generator, np.random.RandomState) and name in DRAWS:
        return Method(of, name)
    value = getattr(of, name)
    found = TABLE.get(id(value))
    if found is not None:
        return found
    if kind is not np.ndarray and type(getattr(value, "__self__", None)) is np.random.RandomState and name in DRAWS:
        return Method(value.__self__, name)
    return value


def _is_array(value: Any) -> bool:
    return type(value) is np.ndarray or isinstance(value, np.generic)


@cache
def _operator(name: str) -> tuple[Callable, Callable]:
    function = (OPERATORS | IN_PLACE)[name]
    return function, calling(function)


def operate(name: str, *operands: Any) -> Any:
    if not any(map(_is_array, operands)) or any(isinstance(one, (str, bytes)) for one in operands):
        return _operator(name)[0](*operands)
    return run(*_operator(name), operands, {}, name)


def get_item(of: Any, index: Any) -> Any:
    """Advanced indexing is jitted; basic indexing gives a view, which no function returns."""
    parts = index if type(index) is tuple else (index,)
    if type(of) is not np.ndarray or not any(type(part) in (list, np.ndarray) for part in parts):
        return of[index]
    return run(*_items("getitem"), (of, index), {}, "getitem")


def set_item(of: Any, index: Any, value: Any) -> None:
    if type(of) is not np.ndarray:
        of[index] = undone(value)
        return
    run(*_items("setitem"), (of, index, value), {}, "setitem")


def _set(of, index, value):
    of[index] = value


def _get(of, index):
    return of[index]


@cache
def _items(name: str) -> tuple[Callable, Callable]:
    plain = {"setitem": _set, "getitem": _get}[name]
    return plain, jit(plain)
