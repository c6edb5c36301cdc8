"""The tables of NumPy's names: none is left out, none of its parameters either, and what they say of each program is so."""

from __future__ import annotations

import ast
import inspect
import types

import numpy as np
import pytest
from numpy_names.comparison import compare
from numpy_names.page import PAGE, page
from numpy_names.table import CHAPTERS, FOLLOWED, every_row, rows

from .bench import numpy_functions_rows as measured

ROWS = {row.name: row for _, row in every_row()}
MODULES = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.polynomial": np.polynomial}
MODULES |= {
    f"np.polynomial.{name}": getattr(np.polynomial, name)
    for name in ("polynomial", "chebyshev", "legendre", "hermite", "hermite_e", "laguerre")
}
# What changes nothing in compiled code, or is the same for many functions and stands in the tables for some.
ANYWHERE = {"like", "device", "subok", "order", "casting", "overwrite_input", "kwargs", "kwds", "args"}

# What this NumPy says where a name or a keyword is of a later one.
ABSENT = ("unexpected keyword argument", "invalid keyword argument", "module 'numpy.")


def names_of_numpy():
    for prefix, module in MODULES.items():
        for name in module.__all__:
            if not isinstance(getattr(module, name, None), types.ModuleType):
                yield f"{prefix}.{name}"
    yield from ("np.lib.stride_tricks.as_strided", "np.lib.stride_tricks.sliding_window_view")
    yield from (f"x.{name}" for name in dir(np.ndarray) if not name.startswith("_"))


def is_scalar_type(name):
    found = getattr(np, name.removeprefix("np."), None)
    return isinstance(found, type) and issubclass(found, np.generic) and found not in (np.void, np.object_, np.str_, np.bytes_)


def test_no_name_is_left_out():
    missing = [name for name in names_of_numpy() if name not in ROWS and not is_scalar_type(name)]
    assert not missing, f"NumPy has these names, and tests/numpy_names/ does not: {', '.join(missing)}"


def test_what_is_said_elsewhere_is_said():
    for row in ROWS.values():
        if row.reason.startswith("see "):
            assert ROWS[row.reason.removeprefix("see ")].programs, row


def called_with(row):
    """The names of parameters that the programs give, and how many they give without a name."""
    names, most = set(), 0
    last = row.name.rpartition(".")[2]
    for program in row.programs:
        for node in ast.walk(ast.parse(program.text)):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == last:
                names |= {keyword.arg for keyword in node.keywords}
                most = max(most, len(node.args))
    return names, most


@pytest.mark.parametrize("chapter", [chapter for chapter in CHAPTERS if chapter not in ("ufuncs", "methods", "python")])
def test_no_parameter_is_left_out(chapter):
    left_out = {}
    for row in rows(chapter):
        function = np
        for part in row.name.split(".")[1:]:
            function = getattr(function, part, None)
        if not row.programs or isinstance(function, type) or not callable(function):
            continue
        names, most = called_with(row)
        parameters = [one for one in inspect.signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
        missing = [
            one.name for place, one in enumerate(parameters)
            if one.name not in names | ANYWHERE and (place >= most or one.kind is one.KEYWORD_ONLY)
        ]  # fmt: skip
        if missing:
            left_out[row.name] = missing
    assert not left_out


def test_the_page_is_written_from_the_tables():
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.numpy_names --write writes it"


def check(row, of_unknown_sizes, backend):
    for program in row.programs:
        found = compare(program.text, of_unknown_sizes, backend)
        if any(one.startswith("NumPy raises") and any(absent in one for absent in ABSENT) for one in found):
            continue  # of a later NumPy
        if not program.is_limited(of_unknown_sizes):
            assert not found, f"{program.text}: {found[0]}"
        else:
            assert found, f"{program.text} does what NumPy does, and is said to be {program.limit}"


@pytest.mark.parametrize("chapter", [chapter for chapter in CHAPTERS if chapter != "polynomials"])
def test_programs(chapter):
    """Each name's first program: all of them are `slow`."""
    for row in rows(chapter):
        check(row._replace(programs=row.programs[:1]), False, "reference")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.programs])
def test_every_program(name, backend):
    check(ROWS[name], False, backend)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("name", [row.name for chapter, row in every_row() if row.programs and chapter not in FOLLOWED])
def test_every_program_of_unknown_sizes(name, backend):
    check(ROWS[name], True, backend)


def test_calls_that_are_measured():
    """They run, and each name has one; most of the polynomials' aside."""
    left_out_here = {
        "np.broadcast", "np.einsum_path", "np.iterable", "np.isscalar", "np.linalg.LinAlgError", "np.may_share_memory",
        "np.row_stack", "np.shares_memory", "x.base", "x.device",
        "x.dtype", "x.flags", "x.getfield", "x.itemsize", "x.nbytes", "x.ndim", "x.resize", "x.setfield",
        "x.setflags", "x.size", "x.strides", "x.to_device",
    }  # fmt: skip
    assert {name for name in measured.left_out() if not name.startswith("np.polynomial.")} <= left_out_here
    with np.errstate(all="ignore"):
        for row in measured.rows([]):
            if row.size in (measured.SIZES[0], measured.MATRIX_SIZES[0]):
                row.function()(*row.arguments())
