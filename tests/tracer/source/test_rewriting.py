"""Rewritten functions do what their originals do, with their lines, names and cells; what cannot be rewritten says why."""

import ast
import itertools
import linecache
import os
import time
import traceback
import types

import pytest
from phlox import jit
from phlox.tracer.capture import helpers
from phlox.tracer.source import rewriting
from phlox.tracer.source.names import bound_names, read_names
from phlox.tracer.source.reading import definition_of
from phlox.tracer.source.rewriting import reason_against, rewritten

from . import constructs

# Files that are written one after the other are of different times, however coarse the clock.
SECONDS = itertools.count(1)


def outcome(function, arguments):
    """What a call returns, or raises and at which lines of the constructs."""
    try:
        return "returned", function(*arguments)
    except Exception as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == constructs.__file__]
        return "raised", type(error), str(error), frames[-1].lineno, frames[-1].name


def anew(function):
    made = rewritten(function, helpers)
    assert made is not function, reason_against(function)
    return made


@pytest.mark.parametrize("function, calls", constructs.CASES, ids=lambda one: getattr(one, "__name__", ""))
def test_constructs(function, calls):
    made = anew(function)
    for arguments in calls:
        start = constructs.TOTAL
        expected = outcome(function, arguments)
        constructs.TOTAL = start
        assert outcome(made, arguments) == expected


def test_what_describes_a_function_stays():
    for function, _ in constructs.CASES:
        made = anew(function)
        assert made.__wrapped__ is function and made.__globals__ is function.__globals__
        for name in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__"):
            assert getattr(made, name) == getattr(function, name)
        assert made.__code__.co_filename == function.__code__.co_filename


def test_blocks_have_the_name_of_their_function():
    def names(code):
        yield code.co_qualname
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from names(constant)

    for function, _ in constructs.CASES:
        assert not [name for name in names(anew(function).__code__) if "_phlox" in name]


def test_closure_cells_are_shared():
    count = 1

    def read(n):
        for _ in range(n):
            if count > 5:
                return "large"
        return count

    made = anew(read)
    assert made(2) == 1
    count = 7
    assert made(2) == "large"
    assert {id(cell) for cell in read.__closure__} <= {id(cell) for cell in made.__closure__}


def test_private_names_and_super():
    made = constructs.Derived(1)
    for kind in (constructs.Base, constructs.Derived):
        assert anew(kind.bump)(made, 2) == made.start


def test_rewriting_happens_once():
    made = anew(constructs.fibonacci)
    assert made.__code__ is anew(constructs.fibonacci).__code__
    assert rewritten(made, helpers) is made


@pytest.mark.parametrize(
    "source, reason",
    [
        ("async def f():\n    await g()", "coroutine"),
        ("def f():\n    return eval('1')", "eval"),
        ("def f(x):\n    return locals()", "locals"),
        ("def f():\n    for i in x:\n        try:\n            yield 1\n        finally:\n            break", "finally"),
    ],
)
def test_what_stays_as_it_is_says_why(source, reason, tmp_path):
    path = tmp_path / "some.py"
    path.write_text(source)
    space = {}
    exec(compile(source, str(path), "exec"), space)
    assert rewritten(space["f"], helpers) is space["f"]
    assert reason in reason_against(space["f"])


def test_functions_without_source():
    space = {}
    exec("def f(x):\n    return x if x else 0", space)
    assert rewritten(space["f"], helpers) is space["f"]
    assert "cannot be read" in reason_against(space["f"])


def test_a_source_that_has_changed(tmp_path):
    path = tmp_path / "changed.py"
    path.write_text("def f(x):\n    return x if x else 0\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    path.write_text("\n\n\ndef g(x):\n    return x\n")
    linecache.checkcache(str(path))
    assert rewritten(space["f"], helpers) is space["f"]
    assert "changed" in reason_against(space["f"])


def imported(path, text):
    """The functions of a file with this text, imported anew."""
    path.write_text(text)
    os.utime(path, (later := time.time() + next(SECONDS), later))
    space = {}
    exec(compile(text, str(path), "exec"), space)
    return space


FIRST = "def f(x):\n    return x if x else 0\n\ndef g(x):\n    return x or 10\n"
SECOND = "def f(x):\n    return x if x else 1\n\ndef g(x):\n    return x or 11\n"


def test_a_module_that_is_imported_again(tmp_path):
    path = tmp_path / "again.py"
    old = imported(path, FIRST)
    assert anew(old["f"])(0) == 0
    new = imported(path, SECOND)
    assert anew(new["f"])(0) == 1 and anew(new["g"])(0) == 11
    assert rewritten(old["g"], helpers) is old["g"] and "changed since" in reason_against(old["g"])


def test_a_file_that_has_changed_since_it_was_read(tmp_path):
    path = tmp_path / "changed.py"
    old = imported(path, FIRST)
    assert anew(old["f"])(0) == 0
    imported(path, SECOND)
    assert anew(old["g"])(0) == 10


def test_a_file_that_has_changed_before_it_was_read(tmp_path):
    path = tmp_path / "changed.py"
    old = imported(path, FIRST)
    imported(path, SECOND)
    assert rewritten(old["f"], helpers) is old["f"] and "changed since" in reason_against(old["f"])


def test_a_file_that_is_saved_again_or_deleted(tmp_path):
    path = tmp_path / "saved.py"
    old = imported(path, FIRST)
    imported(path, FIRST)
    assert anew(old["f"])(0) == 0
    path.unlink()
    assert anew(old["g"])(0) == 10


def test_notebook_cells():
    source = "def f(x):\n    if x:\n        return 1\n    return 2\n"
    linecache.cache["<cell 1>"] = (len(source), None, source.splitlines(True), "<cell 1>")
    space = {}
    exec(compile(source, "<cell 1>", "exec"), space)
    assert anew(space["f"])(0) == 2


def test_lambdas_of_one_line():
    first, second, third = lambda x: x or 1, lambda x: x or 2, lambda y: y or 3
    assert [anew(one)(0) for one in (first, second, third)] == [1, 2, 3]


def test_notes_on_the_nodes_of_the_syntax_tree_do_not_matter():
    """Libraries that print tracebacks note a node's parent on it, and Python shares nodes such as Load among all trees."""
    noted = ast.parse("x").body[0].value.ctx
    noted.parent = noted
    try:
        function = lambda x: x + 1 if x else x  # noqa: E731
        assert rewritten(function, helpers) is not function
        assert reason_against(function) is None
    finally:
        del noted.parent


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    return 1\n\n\nrest = f()",
        "def f(a,\n  b\n):\n    return a\nrest = 1",
        "@decorated(\n    1\n)\n@decorated(2)\ndef f():\n    # here\n# there\n    return 1\nrest = 2",
        "def f():\n    '''A text\nthat goes on\n'''\n    return 1",
        "def f():\n    return max(1,\n2)",
        "class C:\n    x = 1\n\n    def f(self):\n        def g(): return 1\n        return g\n\n    def h(self): pass",
        "if True:\n\tdef f():\n\t\treturn 1\n\n\n\t# the end\n\n\trest = 1",
        "def f(): return 1; rest = 2\ndef g(): pass",
        "x = 1; f = lambda: (\n  x)",
        "async def f():\n    return 1\nrest = 3",
        "def f():\n    if x:\n        return 1\n    return \\\n2\nrest = 1",
    ],
)
def test_a_definition_is_that_of_its_file(source):
    file = f"<{source}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    codes, found = [compile(source, file, "exec")], []
    while not found:
        code = codes.pop()
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        found = [one for one in codes if one.co_name in ("f", "<lambda>")]
    nodes = (node for node in ast.walk(ast.parse(source)) if getattr(node, "name", "") == "f" or isinstance(node, ast.Lambda))
    [own] = nodes
    assert ast.dump(definition_of(found[0], {}), include_attributes=True) == ast.dump(own, include_attributes=True)


@pytest.mark.parametrize(
    "source, names",
    [
        ("[x for x in x]", "x"),
        ("sum(body.mass for body in bodies)", "sum bodies"),
        ("{key: value for key, value in pairs.items() if key in wanted}", "pairs wanted"),
        ("[a for b in x for a in b if a > c]", "x c"),
        ("[[x for x in row] for row in table]", "table"),
        ("[x for x in a] + x", "a x"),
        ("[i for i in numbers for x[0] in i]", "numbers x"),
    ],
)
def test_names_of_a_comprehension_are_not_read_around_it(source, names):
    assert read_names([ast.parse(source, mode="eval")]) == set(names.split())


def test_a_comprehension_binds_names_of_its_expressions_alone():
    assert bound_names([ast.parse("[(last := f(v)) for v in x if (seen := v)]", mode="eval")]) == {"last", "seen"}


def test_a_decorated_function_is_the_one_that_was_decorated(tmp_path):
    path = tmp_path / "decorated.py"
    decorated = jit(imported(path, FIRST)["g"])
    imported(path, SECOND)
    linecache.checkcache(str(path))  # as who shows a traceback
    assert decorated(0) == 10 and "left to tracing" not in str(decorated.explain())


def test_functions_are_written_anew_when_they_are_first_called(monkeypatch):
    def look(code, module_globals):
        looked_at.append(code.co_name)
        return definition_of(code, module_globals)

    looked_at = []
    monkeypatch.setattr(rewriting, "definition_of", look)

    @jit
    def first(x):
        return x + 1 if x else x

    @jit
    def second(x):
        return first(x)

    assert looked_at == []
    second(2.0)
    assert looked_at == ["second", "first"]
    assert "first" in str(first.explain()) and looked_at == ["second", "first"]
