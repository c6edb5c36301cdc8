"""A function, written anew and compiled: with its own globals, closure cells, defaults, names and line numbers."""

from __future__ import annotations

import ast
import types
from typing import Any

from .expressions import HELPERS, located
from .names import PART, NotCapturable, bound_names, children, marked_nodes, nodes_of_scope, suspends
from .plainer import plainer
from .reading import definition_of
from .recursion import as_loop
from .recursive_expressions import Own
from .statements import PREFIX, rewrite

_FUTURE_FLAGS = 0x1FF0000  # of code objects: from __future__ import ...
# What sees the frame that it is called from, whose names would be those of a block.
_LOOKS_AT_FRAMES = {"locals", "eval", "exec", "_getframe", "currentframe"}
_DOES_SO_WITHOUT_ARGUMENTS = {"vars", "dir"}
_FACTORY, _FUNCTION = PREFIX + "factory", PREFIX + "function"

# By identity: code objects of two files may be equal. Each entry keeps its code alive.
_made: dict[int, tuple[types.CodeType, types.CodeType | str]] = {}
_loops: dict[int, tuple[types.CodeType, types.CodeType | str]] = {}
_new: dict[int, types.CodeType] = {}
_functions: set[int] = set()  # those of these that are no blocks


def rewritten(function: types.FunctionType, helpers: Any) -> types.FunctionType:
    """The function whose control flow and calls go through the helpers; itself where it is one, or where none can be made."""
    code = function.__code__
    if id(code) in _new:
        return function
    known = _made.get(id(code))
    if known is None:
        known = _made[id(code)] = code, _compiled(function)
    return function if isinstance(known[1], str) else _with_code(function, known[1], helpers)


def _with_code(function: types.FunctionType, new: types.CodeType, helpers: Any) -> types.FunctionType:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells[HELPERS] = types.CellType(helpers)
    closure = tuple([cells[name] for name in new.co_freevars])
    made = types.FunctionType(new, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
    made.__dict__.update(function.__dict__ | {"__wrapped__": function})
    return made


def rewritten_as_loop(function: types.FunctionType, helpers: Any, own: Own) -> types.FunctionType:
    """The same, where a function that calls itself is a loop (`recursion.py`). Raises NotCapturable where that cannot be."""
    known = _loops.get(id(function.__code__))
    if known is None:
        known = _loops[id(function.__code__)] = function.__code__, _compiled(function, own)
    if isinstance(known[1], str):
        raise NotCapturable(known[1])
    return _with_code(function, known[1], helpers)


def is_rewritten(code: types.CodeType) -> bool:
    return id(code) in _new


def is_function_of_user(code: types.CodeType) -> bool:
    """Whether this is the code of a function that has been written anew, and none of its blocks."""
    return id(code) in _functions


def reason_against(function: types.FunctionType) -> str | None:
    """Why a function stays as it is, None if it does not, or has not been looked at."""
    _, found = _made.get(id(function.__code__), (None, None))
    return found if isinstance(found, str) else None


def _compiled(function: types.FunctionType, own: Own | None = None) -> types.CodeType | str:
    """The new code, or why there is none; as a loop where it is said what the function's calls of itself look like."""
    code = function.__code__
    try:
        node = definition_of(code, function.__globals__)
        _check(node, names_in(code))
        if isinstance(node, ast.Lambda):
            node = _as_definition(node)
        own = own and own.with_parameters(node.args)
        _strip(node)
        node.body = plainer(node.body)
        if own is not None:
            as_loop(node, own)
        _declare_globals(node, _variables_in(code))
        rewrite(node)
        node.name = _FUNCTION  # not its own, which would hide the global name that a recursion uses
        module = _factory(node, code)
        compiled = compile(module, code.co_filename, "exec", code.co_flags & _FUTURE_FLAGS, dont_inherit=True)
        new = _find(compiled, _FUNCTION)
    except NotCapturable as reason:
        return str(reason)
    except RecursionError:
        return "it is nested too deeply"
    if not set(new.co_freevars) <= {*code.co_freevars, HELPERS}:
        return f"{code.co_filename} has changed since it was imported"
    new = _renamed(new, code.co_qualname).replace(co_name=code.co_name)
    _remember(new)
    _functions.add(id(new))
    return new


def names_in(code: types.CodeType) -> set[str]:
    """All names that a function and those inside use, of variables and of attributes."""
    names = {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return names.union(*[names_in(one) for one in code.co_consts if isinstance(one, types.CodeType)])


def _check(node: ast.AST, names: set[str]) -> None:
    if isinstance(node, ast.AsyncFunctionDef):
        raise NotCapturable("it is a coroutine")
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    if isinstance(node, ast.Lambda) and suspends(marked_nodes(body)):
        raise NotCapturable("it is a generator written as a lambda")
    if names.isdisjoint(_LOOKS_AT_FRAMES | _DOES_SO_WITHOUT_ARGUMENTS):
        return
    for inner in nodes_of_scope(body):
        kind = type(inner)
        name = inner.id if kind is ast.Name else inner.attr if kind is ast.Attribute else None
        if name in _LOOKS_AT_FRAMES and (kind is ast.Name or name not in ("eval", "exec", "locals")):
            raise NotCapturable(f"it uses {name}, which looks at the frame of the function")
        if kind is ast.Call and not inner.args and isinstance(inner.func, ast.Name):
            if inner.func.id in _DOES_SO_WITHOUT_ARGUMENTS:
                raise NotCapturable(f"it uses {inner.func.id}(), which looks at the frame of the function")


def _as_definition(node: ast.Lambda) -> ast.FunctionDef:
    returned = ast.copy_location(ast.Return(node.body), node.body)
    made = ast.FunctionDef(f"{PREFIX}lambda", node.args, [returned], [], None)
    return ast.copy_location(made, node)


def _strip(node: ast.FunctionDef) -> None:
    """Leave out what the function has already: decorators, defaults, annotations. Of defaults only the number counts."""
    node.decorator_list, node.returns, node.type_params = [], None, []
    arguments = node.args
    arguments.defaults = [ast.copy_location(ast.Constant(None), default) for default in arguments.defaults]
    arguments.kw_defaults = [default and ast.copy_location(ast.Constant(None), default) for default in arguments.kw_defaults]
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    for argument in every:
        if argument is not None:
            argument.annotation = None


def _variables_in(code: types.CodeType) -> set[str]:
    """The names of variables of a function, and of those inside."""
    names = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return names.union(*[_variables_in(one) for one in code.co_consts if isinstance(one, types.CodeType)])


def _declare_globals(node: ast.FunctionDef, variables: set[str]) -> None:
    """Let bodies of classes read global names as functions do: Python looks for others past what a dict of globals does."""
    for inner in ast.walk(node):
        if not isinstance(inner, ast.ClassDef):
            continue
        names = [one for one in nodes_of_scope(inner.body) if isinstance(one, ast.Name)]
        bound = {one.id for one in names if not isinstance(one.ctx, ast.Load)} | bound_names(inner.body) | variables
        read = {one.id for one in names if not one.id.startswith("__")} - bound
        if read:
            first = isinstance(inner.body[0], ast.Expr) and isinstance(inner.body[0].value, ast.Constant)  # its docstring
            inner.body.insert(int(first), ast.copy_location(ast.Global(sorted(read)), inner.body[0]))


def _factory(node: ast.FunctionDef, code: types.CodeType) -> ast.Module:
    """A module in which the function has its free variables around it, and its class, by which names are mangled."""
    names = [HELPERS, *[name for name in code.co_freevars if name not in (HELPERS, "__class__")]]
    inner: ast.stmt = node
    *_, around, _name = ("", "", *code.co_qualname.split("."))
    if around not in ("", "<locals>"):
        # Leading underscores do not count when names are mangled, and keep the name apart from those that the function uses.
        inner = ast.ClassDef(f"{'_' * 9}{around}", [], [], [node], [])
        inner.type_params = []
        ast.copy_location(inner, node)
        _mangle(node, around)
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    factory = ast.FunctionDef(_FACTORY, arguments, [inner], [], None)
    factory.type_params = []
    return ast.Module([located(factory, node)], [])


_ATTRIBUTE_HELPERS = ("getattr", "setattr", "delattr")


def _mangle(node: ast.AST, owner: str) -> None:
    """Names of attributes that are private to a class, as they are where they are strings."""
    for inner in children(node):
        _mangle(inner, inner.name if isinstance(inner, ast.ClassDef) else owner)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _ATTRIBUTE_HELPERS:
        return
    if isinstance(node.func.value, ast.Name) and node.func.value.id == HELPERS:
        name = node.args[1].value
        if name.startswith("__") and not name.endswith("__") and owner.strip("_"):
            node.args[1].value = f"_{owner.lstrip('_')}{name}"


def _find(compiled: types.CodeType, name: str) -> types.CodeType:
    """The code of the function inside of the factory."""
    for constant in compiled.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_name == name and constant.co_qualname.startswith(_FACTORY):
                return constant
            found = _find(constant, name)
            if found is not None:
                return found
    return None


def _renamed(code: types.CodeType, qualname: str) -> types.CodeType:
    """The code with the names that it has in the source; blocks and parts of expressions have those of their function."""
    own = code.co_qualname

    def named(constant: Any) -> Any:
        if isinstance(constant, types.CodeType):
            inside = constant.co_qualname.removeprefix(own)
            return _renamed(constant, qualname if _is_part(constant) else qualname + inside)
        is_name = isinstance(constant, str) and constant.startswith(_FACTORY) and constant.startswith(own)
        return qualname + constant.removeprefix(own) if is_name else constant

    name = qualname.rpartition(".")[2] if _is_part(code) else code.co_name
    made = code.replace(co_consts=tuple(map(named, code.co_consts)), co_qualname=qualname, co_name=name)
    if not _is_part(code):
        _functions.add(id(made))
    return made


def _is_part(code: types.CodeType) -> bool:
    return code.co_name.startswith(PREFIX) or PART in code.co_varnames


def _remember(code: types.CodeType) -> None:
    _new[id(code)] = code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _remember(constant)
