"""Numbers in texts that the program makes, in all formats, as the native call shows them."""

import io

import numpy as np
import pytest
from phlox import jit
from thinning import one_in

SPECIFICATIONS = [
    "", ".2f", ".0f", ".10f", "f", "e", ".3e", ".0e", ".4E", "g", ".3g", ".12G", "%", ".1%", "8.2f", "+.2f", " .3f",
    "-.1f", "<9.1f", ">12.3e", "^11.2f", "09.2f", "+010.3f", "6", ".3", ".17", "12.5", "3.0f", ",.2f", "_.1f", "*>9.1f",
    "=10.2f", "#.3g", "z.1f",
]  # fmt: skip
VALUES = [
    0.0, -0.0, 1.0, -1.5, 0.05, 2.5, 1e16, 1e-5, 123456.789, -99.995, 1e300, 5e-324, np.inf, -np.inf, np.nan, 2.0**-44,
]  # fmt: skip
INTEGER_SPECIFICATIONS = ["", "d", "3d", "03d", "+d", " d", "<6", "^7", ">5d", "06", ".1f", "8.3e", "g", "%", "x", ","]
INTEGERS = [0, 1, -1, 42, -999, 10**6, 2**53 + 1, 2**63 - 1, -(2**63)]


def lines_in(specification):
    """A function that puts numbers into a list of texts, and one that makes one text of them, in a loop."""
    namespace = {}
    source = f"""
def in_list(x):
    found = []
    for v in x:
        if v == v + 0 or v != v:
            found.append(f"<{{v:{specification}}}>")
    return found

def in_text(x):
    text = ""
    for v in x:
        text += f"({{v:{specification}}}) "
    return text
"""
    import linecache

    name = f"<lines in {specification!r}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), namespace)
    return namespace["in_list"], namespace["in_text"]


def attempt(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error), str(error)


def check(specification, calls):
    for function in lines_in(specification):
        compiled = jit(function)
        for values in calls:
            assert attempt(compiled, values) == attempt(function, values), specification


@pytest.mark.parametrize("specification", one_in(2, SPECIFICATIONS))
def test_floats_are_shown_as_python_shows_them(specification):
    rng = np.random.default_rng(0)
    first, second = np.array(VALUES * 4), rng.standard_normal(64) * 10.0 ** rng.integers(-20, 20, 64)
    check(specification, [first, second, first])
    with np.errstate(over="ignore"):
        check(specification, [first.astype(np.float32), second.astype(np.float32)])


@pytest.mark.parametrize("specification", SPECIFICATIONS[:6] + SPECIFICATIONS[13:20])
def test_floats_of_python_are_shown_as_python_shows_them(specification):
    function = lines_in(specification)[1]
    rng = np.random.default_rng(1)

    def of_python(x):
        return function([float(v) for v in x])

    compiled = jit(of_python)
    for values in (np.array(VALUES * 4), rng.standard_normal(64), rng.standard_normal(64) * 1e9):
        assert compiled(values) == of_python(values)


@pytest.mark.parametrize("specification", one_in(2, INTEGER_SPECIFICATIONS))
def test_integers_are_shown_as_python_shows_them(specification):
    for dtype in (np.int64, np.int32):
        values = np.array([value for value in INTEGERS if np.iinfo(dtype).min <= value <= np.iinfo(dtype).max] * 8, dtype)
        check(specification, [values, values[::-1].copy()])


def test_many_floats_have_the_digits_that_python_gives_them():
    def shown(x):
        text = ""
        for v in x:
            text += f"{v:.17g} {v:.3f} {v:e}\n"
        return text

    compiled, rng = jit(shown), np.random.default_rng(2)
    for _ in range(4):
        values = rng.integers(0, 2**63 - 1, 4000).view(np.float64)
        assert compiled(values) == shown(values)


def test_text_of_all_widths_of_characters():
    def shown(x):
        found = []
        for v in x:
            found.append(f"{v:.1f}€" if v > 1 else f"{v:.2f}😀" if v < -1 else f"{v:.1f}")
        return found

    compiled, rng = jit(shown), np.random.default_rng(3)
    for _ in range(3):
        values = rng.standard_normal(200)
        assert compiled(values) == shown(values)


def test_what_a_stream_says_of_its_writing():
    def written(x):
        out = io.StringIO()
        count = out.write(f"{x[0]:.2f};") + out.write("a" if x[1] > 0 else "no")
        for v in x:
            if v > 0:
                out.write(f"{v:.2f};")
        return out.getvalue(), count

    compiled, rng = jit(written), np.random.default_rng(4)
    for _ in range(3):
        values = rng.standard_normal(200)
        assert compiled(values) == written(values)


def test_texts_of_a_program_that_cannot_be_made():
    """What Python raises for a format comes out of the call."""

    def shown(x):
        text = ""
        for v in x:
            text += f"{v:.2q}"
        return text

    with pytest.raises(ValueError, match="format code 'q'"):
        jit(shown)(np.ones(200))


def test_integers_are_read_from_their_texts():
    def f(x):
        return [float(str(v)) for v in x], float(f"{x[0]}"), [int(str(v)) for v in x]

    x = np.array([0, -7, 2**53 + 1, -(2**53) - 3, 2**63 - 1, -(2**63)])
    decorated = jit(f)
    for values in (x, x[::-1].copy()):
        assert repr(decorated(values)) == repr(f(values))


def with_directives(x, k):
    lines = ["%.3f|%8.2f|%-8.2f|%08.2f|%+.1e|% g" % (v, v, v, v, v, v) for v in x]  # noqa: UP031
    return lines, "%d|%5d|%-5d|%05d|%+d|%s|%6s|%-6s" % (k, k, k, k, k, k, k, k), "%5.1f%% of %s" % (x[0], "all")  # noqa: UP031


def test_directives_show_what_formats_do():
    compiled = jit(with_directives)
    for k in (np.int64(42), np.int64(-7)):
        assert compiled(np.array(VALUES), k) == with_directives(np.array(VALUES), k)


@pytest.mark.parametrize("form", ["%d %d", "%z", "%", "%d"])
def test_directives_that_do_not_fit_raise_as_in_python(form):
    def shown(x):
        return form % ((x[0],) if form != "%d" else (x[0], x[1]))

    for function in (shown, jit(shown)):
        with pytest.raises((TypeError, ValueError)) as caught:
            function(np.ones(2))
        assert str(caught.value).startswith(("not ", "unsupported format", "incomplete format"))
