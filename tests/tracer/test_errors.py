"""Errors of tracing: each names the variable, the line, and what to do."""

import base64
import decimal
import fractions
import re
import statistics
import sys
from types import SimpleNamespace

import numpy as np
import phlox
import pytest
from jitted_calls import compiled as compiled_with
from paths import ROOT
from phlox import jit
from phlox.tracer import ConcretizationError, LeakedArrayError, TracerError, cond, fori_loop
from phlox.tracer.calls import traced_function
from phlox.tracer.recording.errors import RecordedAgain, TooMuchRecorded


def compiled(function=None, **options):
    return compiled_with(function, **{"control_flow": "trace"} | options)


# What no user meets, but who builds compiled programs, code of kernels, or a command line, from parts.
OF_PARTS = {"CommandError", "NotBatchedError", "ProgramError", "TextError"}
FOLDERS = ("backends", "client", "compile", "gpu", "hlo", "runtime", "tracer", "xla_builder")


def test_each_error_stands_where_users_find_it_and_in_the_documents():
    documents = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("errors.md", "devices.md"))
    classes = re.compile(r"^class ((?!_)\w+(?:Error|Warning))\(", re.MULTILINE)
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    names = {name for path in files for name in classes.findall(path.read_text(encoding="utf-8"))} - OF_PARTS
    assert len(names) > 20
    for name in names:
        places = [one for one in (phlox, phlox.gpu, phlox.hlo, phlox.runtime) if name in one.__all__]
        assert places and getattr(places[0], name).__module__ == places[0].__name__, name
        assert f"{name}`" in documents, name


HERE = r"test_errors\.py:\d+"


@pytest.mark.parametrize(
    "use, purpose, hint",
    [
        (lambda x: 1 if x[0] > 0 else 2, "needs a bool", "np.where"),
        (lambda x: bool(x[0]), "needs a bool", "cond"),
        (lambda x: x[0] and 1, "needs a bool", "cond"),
        (lambda x: int(x[0]), "needs an int", "astype"),
        (lambda x: float(x[0]), "needs a float", "np functions"),
        (lambda x: complex(x[0]), "needs a complex", "astype"),
        (lambda x: range(x.astype(int)[0]), "needs an integer", "fori_loop"),
        (lambda x: np.asarray(x), "needs an ndarray", "zeros_like"),
        (lambda x: 3.0 in x, "`in`", "np.any"),
    ],
)
def test_contents_that_are_needed(use, purpose, hint):
    with pytest.raises(ConcretizationError) as caught:
        compiled(lambda argument: use(argument + 1))(np.ones(2))
    message = str(caught.value)
    assert purpose in message and hint in message and "test_errors.py" in message
    assert isinstance(caught.value, (TracerError, TypeError))


def test_arguments_are_called_by_their_names():
    def f(model):
        if model["rate"]:
            return 1

    with pytest.raises(
        ConcretizationError, match=r"argument model\['rate'\]\) is used .* at .*" + HERE + r" in .*f: `if model"
    ):
        compiled(f)({"rate": np.ones(1)})


def test_assigning_traced_values_into_an_ordinary_array():
    def f(x):
        table = np.zeros(2)
        table[0] = x[0]
        return table

    with pytest.raises(ConcretizationError, match="phlox.numpy.zeros"):
        compiled(f)(np.ones(2))


def test_floats_become_static_where_they_are_needed():
    """A float decides on a size: there is no bound that would hold for all of its values."""
    f = compiled(lambda x, end, step: x + np.zeros(int(np.ceil(end / step))))
    for end, step, size in ((1.0, 0.25, 4), (1.0, 0.5, 2), (2, 0.5, 4), (1.0, 0.25, 4)):
        assert f(1.0, end, step).shape == (size,)
    assert [entry.static_numbers for entry in f.cache_info().entries] == [
        ("end=1.0", "step=0.25"), ("end=1.0", "step=0.5"), ("end=2", "step=0.5"),
    ]  # fmt: skip
    with pytest.raises(ConcretizationError, match="argument x"):
        compiled(lambda x: np.zeros(int(x)))(np.array(3.5))
    assert compiled(lambda x: np.zeros(int(x)))(np.float64(3.5)).shape == (3,)


def test_integers_from_loops_and_arrays_do_not_become_static():
    with pytest.raises(ConcretizationError):
        compiled(lambda n, x: np.zeros(n + x.sum()))(3, np.ones(65, int))
    with pytest.raises(ConcretizationError):
        compiled(lambda n: fori_loop(0, n, lambda i, s: s + len(range(n + i)), 0))(3)


def test_integers_needed_inside_branches_and_nested_functions_become_static():
    def f(x, n):
        inner = compiled(lambda y: y * len(range(n)))
        return cond(x[0] > 0, lambda: inner(x), lambda: x + np.arange(n))

    jitted = compiled(f)
    np.testing.assert_array_equal(jitted(np.ones(2), 2), [2, 2])
    assert jitted.cache_info().entries[0].static_numbers == ("n=2",)


def test_truth_of_arrays_is_numpys_error():
    with pytest.raises(ValueError, match="truth value of an array"):
        compiled(lambda x: 1 if x > 0 else 0)(np.ones(2))


def test_iteration_over_a_scalar():
    with pytest.raises(TypeError, match="'float' object is not iterable"):
        compiled(lambda x: list(x))(1.0)


def test_leaked_arrays():
    leaked = SimpleNamespace()

    def f(x):
        leaked.array = x * 2
        return x

    jit(f, control_flow="trace")(np.ones(2))
    for use in (
        lambda: leaked.array + 1,
        lambda: compiled(lambda x: x + leaked.array)(np.ones(2)),
        lambda: compiled(lambda x: leaked.array)(1.0),
    ):
        with pytest.raises(
            LeakedArrayError, match="computed at .*" + HERE + r".*leaked.array = x \* 2.*outside of the function"
        ):
            use()


def test_arrays_leaked_from_loops_and_branches():
    def from_loop(x):
        kept = []

        def body(i, s):
            kept.append(s + i)
            return s

        fori_loop(0, 3, body, x)
        return kept[0]

    def from_branch(x):
        kept = []
        cond(x[0] > 0, lambda: kept.append(x + 1), lambda: None)
        return kept[0] * 2

    for f in (from_loop, from_branch):
        with pytest.raises(LeakedArrayError, match="Return it from that function"):
            compiled(f)(np.ones(2))


def test_arguments_leaked_between_functions():
    kept = SimpleNamespace()

    def first(x):
        kept.array = x
        return x

    jit(first, control_flow="trace")(np.ones(2))
    with pytest.raises(LeakedArrayError, match="argument x"):
        compiled(lambda y: y + kept.array)(np.ones(2))


@pytest.mark.parametrize(
    "value, match",
    [
        (np.matrix([[1.0]]), r"argument x\['v'\]\[0\] is a numpy.*matrix.*np.asarray"),
        (np.array([None]), r"argument x\['v'\]\[0\] has dtype object"),
        (np.zeros(1, np.longdouble), "float64"),
        (np.longdouble(1), "float64"),
        (np.polynomial.Polynomial([1.0]), None),
        (np.poly1d([1.0]), "neither an array, a number.*np.asarray"),
    ],
)
def test_arguments_that_cannot_be_traced(value, match):
    f = compiled(lambda x: x["v"][1])
    if match is None or getattr(value, "dtype", None) == np.dtype(np.longdouble) == np.dtype(np.float64):
        f({"v": [value, np.ones(1)]})  # an object is looked into; longdouble may be float64
        return
    with pytest.raises(TypeError, match=match):
        f({"v": [value, np.ones(1)]})
    assert f.cache_info().misses == 0


def test_results_that_are_no_arrays():
    with pytest.raises(TracerError, match=r"result\['f'\] of the function at .*" + HERE):
        compiled(lambda x: {"f": lambda: x})(np.ones(1))


@pytest.mark.parametrize("exception", [RuntimeError("a"), KeyError("k"), KeyboardInterrupt(), AssertionError(1)])
def test_exceptions_of_the_function_are_its_own(exception):
    @compiled
    def f(x):
        raise exception

    with pytest.raises(type(exception)) as caught:
        f(np.ones(1))
    assert caught.value is exception


def test_a_function_may_catch_tracing_errors():
    @compiled
    def f(x):
        try:
            return 1.0 if x[0] > 0 else 2.0
        except TypeError:
            return x + 1

    np.testing.assert_array_equal(f(np.ones(1)), [2])


def test_errors_inside_nested_functions_end_all_traces():
    inner = compiled(lambda x: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        compiled(lambda x: cond(x[0] > 0, lambda: inner(x), lambda: x))(np.ones(1))
    np.testing.assert_array_equal(compiled(lambda x: x * 2)(np.ones(1)), [2])
    np.testing.assert_array_equal(np.ones(1) * 2, [2])


def test_static_field_of_a_dataclass_must_be_hashable():
    import dataclasses

    @dataclasses.dataclass
    class Model:
        w: float
        names: list = dataclasses.field(metadata={"static": True})

    with pytest.raises(TracerError, match="argument m: the structure of a container .* hashable"):
        compiled(lambda m: m.w)(Model(1.0, ["a"]))


def test_functions_of_libraries_are_named():
    linalg = pytest.importorskip("scipy.linalg")
    optimize = pytest.importorskip("scipy.optimize")
    x = np.array([3.0, 1.0, 2.0])
    for function, name in [
        (lambda x: optimize.ridder(lambda t: t - x[0], 0, 5), "scipy.optimize.ridder"),
        (lambda x: optimize.dual_annealing(lambda t: ((t - x) ** 2).sum(), [(0, 1)] * 3).x, "scipy.optimize.dual_annealing"),
        (lambda x: linalg.sqrtm(np.outer(x, x)), "scipy.linalg.sqrtm"),
        (lambda x: statistics.NormalDist(x[0]).mean, "statistics.NormalDist"),
    ]:
        with pytest.raises((ConcretizationError, NotImplementedError), match=rf"phlox.host_call\({name}, ") as caught:
            jit(function)(x)
        message = str(caught.value)
        assert not isinstance(caught.value, ConcretizationError) or re.search(rf"is used .* at \S*{HERE}", message)


@pytest.mark.parametrize(
    "use", [lambda x: decimal.Decimal(x[0]), lambda x: base64.b64encode(x), lambda x: fractions.Fraction(x[0])]
)
def test_errors_of_libraries_say_what_to_do(use):
    with pytest.raises(TypeError) as caught:
        jit(use)(np.ones(2))
    assert "phlox.host_call(" in "".join([str(caught.value), *getattr(caught.value, "__notes__", ())])


def test_errors_of_users_have_none():
    def f(x):
        raise ValueError("mine")

    with pytest.raises(ValueError) as caught:
        jit(f)(np.ones(2))
    assert not hasattr(caught.value, "__notes__")


def test_what_is_hashed():
    with pytest.raises(TypeError, match="unhashable type: 'numpy.ndarray'"):
        jit(lambda x: {x: 1})(np.ones(2))
    with pytest.raises(ConcretizationError, match="needs a hash"):
        compiled(lambda x: {x[0]})(np.ones(2))
    assert compiled(lambda n: len({n, n + 1, 4}))(3) == 2


def test_branches_of_a_function_without_source():
    space = {}
    exec("def f(x):\n    return x if x > 0 else -x", space)
    with pytest.raises(ConcretizationError, match="The source of this function cannot be read.*IPython"):
        jit(space["f"])(1.0)


def test_recordings_that_find_out_something_without_end():
    def f(x):
        raise RecordedAgain  # as lists do whose elements are of another kind each time

    with pytest.raises(TracerError, match="f has been recorded 200 times") as caught:
        jit(f)(np.ones(2))
    assert caught.traceback[-1].name == "f"


def each_by_itself(x):
    found = []
    for k in range(40):
        found.append(x.reshape(-1, 1) @ np.ones((1, int(k) + 1)))
    return found


def test_rounds_that_are_unrolled_without_end(monkeypatch):
    assert len(jit(each_by_itself)(np.ones(2))) == 40
    monkeypatch.setattr(traced_function, "_MOST_RECORDED", 30)
    message = r"recorded.*the loop at .*test_errors.py.*one after the other.*40 rounds, unrolled as .*Fix: "
    with pytest.raises(TracerError, match=message):
        jit(each_by_itself)(np.ones(2))


def test_a_function_that_is_recorded_in_another_way_is_not_unrolled_without_end(monkeypatch):
    """The error that has ended the first way says more, also at the next call, which begins with the first way."""

    def f(x):
        total = 0.0
        for scale in (1.0, 2.0, 3.0):
            total += scale * x[0]
        return np.sum(x, axis=int(total))

    ends, record = [], traced_function._record

    def noted(*arguments):
        try:
            return record(*arguments)
        except BaseException as error:
            ends.append(type(error))
            raise

    monkeypatch.setattr(traced_function, "_record", noted)

    def give_up_rows(guessed_bounds):
        given_up = guessed_bounds.setdefault("rows", [])
        given_up.append(True)
        return len(given_up) == 1

    monkeypatch.setattr(traced_function, "give_up_rows", give_up_rows)
    monkeypatch.setattr(traced_function, "_MOST_BEHIND_FAILURE", -10_000)
    jitted = jit(f)
    for _ in range(2):
        with pytest.raises(ConcretizationError, match="used as axis"):
            jitted(np.ones(2))
    assert ends == [ConcretizationError, TooMuchRecorded] * 2


def test_errors_have_the_names_by_which_users_catch_them():
    for module in (phlox, phlox.gpu):
        classes = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Exception)]
        assert len(classes) > 5
        for one in classes:
            assert getattr(sys.modules[one.__module__], one.__name__) is one
            assert one.__module__ in ("phlox", "phlox.gpu")


NO_INTEGERS = [3.0, np.float64(3), np.ones(3), 2j, np.ones(2, int), np.bool_(True), np.array(2.5)]
USES_OF_INTEGERS = [
    lambda x: [i for i in range(x)],
    hex,
    lambda x: [1, 2, 3][x],
    lambda x: (1, 2, 3)[x],
    lambda x: [5] * (x if np.ndim(x) == 0 and type(x) is not np.ndarray else 2.0),
]


@pytest.mark.parametrize("use", USES_OF_INTEGERS, ids=range(len(USES_OF_INTEGERS)))
def test_what_is_no_integer_is_said_in_the_words_of_python(use):
    for value in NO_INTEGERS:
        with pytest.raises(Exception) as expected:
            use(value)
        with pytest.raises(type(expected.value), match=f"^{re.escape(str(expected.value))}$"):
            jit(lambda x: use(x))(value)


class Own:
    def __mul__(self, other):
        return NotImplemented


MISTAKES = [
    lambda x: Own() * x,
    lambda x: x < Own(),
    lambda x: len(x),
    lambda x: x | "a",
    lambda x: next(x),
    lambda x: ord(x),
    lambda x: round(x, x + 0.5),
    lambda x: sorted([x, "a", None]),
    lambda x: -None if x > 2 else "a" + x,
]


@pytest.mark.parametrize("use", MISTAKES, ids=range(len(MISTAKES)))
def test_errors_have_the_words_of_the_values(use):
    def told(x):
        try:
            use(x)
        except TypeError as error:
            return str(error)

    for value in (3.0, 3, np.float32(3)):
        assert jit(told)(value) == told(value)
        with pytest.raises(TypeError) as expected:
            use(value)
        with pytest.raises(TypeError, match=f"^{re.escape(str(expected.value))}$"):
            jit(lambda x: use(x))(value)


def test_arrays_are_not_called_and_have_no_attributes_of_others():
    def told(x):
        found = []
        for use in (lambda: x(1), lambda: setattr(x, "name", 1), lambda: x.name):
            try:
                use()
            except (TypeError, AttributeError) as error:
                found.append(str(error))
        return found

    for value in (np.ones(3), 2.0, np.float32(1)):
        assert jit(told)(value) == told(value)


@pytest.mark.parametrize("kind", [decimal.Decimal, fractions.Fraction])
def test_numbers_of_libraries_made_of_what_the_program_computes_are_refused(kind):
    with pytest.raises(TracerError, match=f"{kind.__name__} takes values"):
        jit(lambda x: float(kind(int(x))))(2.0)
