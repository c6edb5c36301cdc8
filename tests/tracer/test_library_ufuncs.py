"""Ufuncs that are not NumPy's: those of scipy.special, which run the loops that SciPy runs, and give what it gives."""

import subprocess
import sys
import threading
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import phlox
import pytest
from phlox import hlo, jit
from phlox.hlo import parse_module
from phlox.runtime import find_target, ufunc_loops
from phlox.tracer.recording.function_tables import SPECIAL_KERNELS

special = pytest.importorskip("scipy.special")

REALS = np.array([0.0, -0.0, 1, -1, 0.5, 0.25, 2.5, 30.5, -3, 7, np.inf, -np.inf, np.nan, 1e-5])
INTEGERS = np.array([-2, -1, 0, 1, 2, 3, 5])
# SciPy's own loops of several parameters abort with some of these.
TAME = np.array([0.25, 0.5, 1, 2.5, 7, 30.5, np.nan])
# These read what nothing has written, ask for as much memory as there is, or do not end, unless the parameters make sense.
SENSIBLE = {
    "mathieu_a": (2, 0.5), "mathieu_sem": (2, 0.5, 30), "pbdv": (1.5, 0.5), "pbvv": (1.5, 0.5), "pro_cv": (0, 1, 1),
    "pro_ang1": (0, 1, 1, 0.5), "obl_ang1_cv": (0, 1, 1, 2, 0.5), "pro_rad1": (0, 1, 1, 1.5),
}  # fmt: skip
LEFT_OUT = ("mathieu", "obl_", "pro_", "pbdv", "pbvv")


def ufuncs_by_operands():
    """The ufuncs of scipy.special, by the types that their loops take."""
    found = defaultdict(list)
    for ufunc in {value for value in vars(special).values() if isinstance(value, np.ufunc)}:
        for types in ufunc.types if not ufunc.__name__.startswith(LEFT_OUT) else ():
            if "g" not in types:
                found[types.partition("->")[0]].append(ufunc)
    return {takes: sorted(ufuncs, key=lambda ufunc: ufunc.__name__) for takes, ufuncs in sorted(found.items())}


UFUNCS = ufuncs_by_operands()


def operands_of(takes, count=40):
    rng = np.random.default_rng(len(takes))

    def drawn(letter):
        values = rng.choice(INTEGERS if letter == "l" else REALS if len(takes) < 3 else TAME, count).astype(letter)
        if letter in "FD":
            values.imag = rng.choice(REALS, count)
        return values

    return list(map(drawn, takes))


def require_same(found, expected):
    found, expected = ((one if isinstance(one, tuple) else (one,)) for one in (found, expected))
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert type(one) is type(other) and one.dtype == other.dtype and one.shape == other.shape
        assert one.tobytes() == other.tobytes()


def check(function, *args, backends=("cpu", "reference")):
    expected = function(*args)
    for backend in backends:
        require_same(jit(function, backend=backend)(*args), expected)


@pytest.mark.parametrize("takes", UFUNCS)
def test_each_loop_gives_what_scipy_gives(takes):
    """NaN, infinities and signs of zeros to the last bit, but for those that have kernels of phlox's own."""
    operands = operands_of(takes)
    is_real = not set(takes) & set("FD")
    ufuncs = [ufunc for ufunc in UFUNCS[takes] if not is_real or ufunc.__name__ not in SPECIAL_KERNELS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns of floats in the place of integers
        expected = [ufunc(*operands) for ufunc in ufuncs]
        found = jit(lambda *operands: [ufunc(*operands) for ufunc in ufuncs])(*operands)
    for one, other in zip(found, expected):
        require_same(one, other)


def test_loops_whose_parameters_must_make_sense():
    x = np.ones(3)
    ufuncs = [getattr(special, name) for name in SENSIBLE]
    operands = [[x * one for one in given] for given in SENSIBLE.values()]
    found = jit(lambda operands: [ufunc(*own) for ufunc, own in zip(ufuncs, operands)])(operands)
    for one, ufunc, own in zip(found, ufuncs, operands, strict=True):
        require_same(one, ufunc(*own))


@pytest.mark.parametrize(
    "x",
    [0.5, 3, True, np.float32(2), np.array(1.5), np.arange(6), np.arange(6, dtype=np.int8),
     np.linspace(0, 1, 5, dtype=np.float16), np.zeros((0, 3)),
     np.linspace(0, 1, 12)[::2], np.linspace(0, 1, 6).reshape(2, 3).T, np.linspace(0, 9, 10_001)],
    ids=lambda x: f"{type(x).__name__}{getattr(x, 'dtype', '')}{np.shape(x)}",
)  # fmt: skip
def test_scalars_and_arrays(x):
    check(lambda x: special.j0(x), x)
    check(lambda x: special.airy(x), x)
    check(lambda x: special.betainc(x + 1, 2.5, special.ndtr(x)), x)


def test_broadcasting_and_numbers():
    x, y = np.linspace(0.5, 3, 4)[:, None], np.linspace(1, 2, 3)
    check(lambda x, y: special.jv(x, y), x, y)
    check(lambda x, y: special.hyp2f1(1, 2.5, x + 3, 0.25), x, y)
    check(lambda y: special.yn(2, y), y)  # of an integer and a float
    check(lambda y: (special.kv(1, 2.5), special.kv(y[0], y[1])), y)


def test_methods_of_ufuncs():
    x = np.linspace(0.5, 2, 6).reshape(2, 3)
    check(lambda x: special.rel_entr.reduce(x), x)  # from the identity on, which is 0
    check(lambda x: (special.rel_entr.reduce(x, axis=1, initial=2), special.owens_t.reduce(x, axis=1)), x)
    check(lambda x: (special.rel_entr.accumulate(x, axis=1), special.betaln.outer(x, x[0])), x)
    with pytest.raises(NotImplementedError, match="custom-call in a computation that is applied to each element"):
        jit(lambda x, i: special.j0.at(x, i))(x, np.array([0, 1]))


def test_results_are_written_where_they_are_wanted():
    def program(x, out, pair):
        special.gamma(x, out=out)
        special.fresnel(x, pair[0], pair[1])
        special.k0(x, out=out, where=x > 1.5)
        return special.gammainc(x, x, dtype=np.float32), special.i0(x, casting="safe"), special.jv.outer(x[:2], x)

    x = np.linspace(1, 2, 4)
    arguments, others = ((x, np.zeros(4), [np.zeros(4), np.zeros(4)]) for _ in range(2))
    require_same(jit(program)(*arguments), program(*others))
    np.testing.assert_array_equal(arguments[1], others[1])
    np.testing.assert_array_equal(arguments[2], others[2])


def test_types_that_no_loop_has():
    for x in (np.ones(2, np.complex64), np.array(["a"])):
        with pytest.raises(TypeError) as expected:
            special.j0(x)
        with pytest.raises(TypeError) as found:
            jit(lambda x: special.j0(x))(x)
        assert str(found.value) == str(expected.value)


def test_loops_branches_and_fusions():
    def program(x, n):
        total = 0.0
        for i in range(n):
            if x[i] > 0.5:
                total += special.j0(x[i]) * 2
            else:
                total -= special.ellipk(x[i])
        return total, (special.expi(x * 2 + 1) - x).sum(), special.zeta(x + 2), special.lambertw(x)

    x = np.linspace(0, 1, 7)
    expected, found = program(x, 7), jit(program)(x, 7)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_selected_elements():
    def program(x):
        return special.ndtri(x[x > 0])

    x = np.array([0.5, -1, 0.25, 0.75, -2])
    require_same(jit(program)(x), program(x))


def test_complex_numbers_of_functions_with_kernels():
    z = np.array([0.5 + 1j, -2 - 0.25j, 3])
    check(lambda z: (special.erf(z), special.erfc(z), special.psi(z), special.log1p(z), special.xlogy(z, z)), z)


def test_exceptions_of_loops_are_raised():
    x = np.array([1.0, 1e300])
    with pytest.raises(special.SpecialFunctionError) as expected:
        special.pbdv(x, x)
    for backend in ("cpu", "reference"):
        for count in (1, 20_000):  # the latter without the interpreter's lock
            with pytest.raises(special.SpecialFunctionError) as found:
                jit(lambda x, count=count: special.pbdv(np.tile(x, count), 1.5), backend=backend)(x)
            assert str(found.value) == str(expected.value)


def test_what_is_told_of_errors_is_not_lost():
    with special.errstate(all="raise"), pytest.raises(NotImplementedError, match="scipy.special.seterr"):
        jit(lambda x: special.gamma(x))(np.zeros(2))


def test_errors_in_floating_point_are_not_told():
    """SciPy's loops clear the processor's flags."""
    x = np.array([-1.0, 0, 1e308, 2])
    with np.errstate(all="raise"):
        check(lambda x: (special.i0(x), special.gamma(x), special.ndtri(x)), x)
        np.testing.assert_allclose(jit(lambda x: special.logit(x))(x), special.logit(x))


def test_other_threads_run_meanwhile():
    f, x = jit(lambda x: special.hyp2f1(0.5, 1.5, 2.5, x)), np.linspace(0, 0.9, 200_000)
    f(x)
    found = []
    threads = [threading.Thread(target=lambda: found.append(f(x))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = special.hyp2f1(0.5, 1.5, 2.5, x)
    for one in found:
        require_same(one, expected)


LOADING = """
import sys
import numpy as np
from phlox.backends.cpu.dynamic_shapes import executable_of
from phlox.backends.cpu.native_program import NativeProgram
assert "scipy" not in sys.modules
with open(sys.argv[1], "rb") as file:
    print(executable_of(NativeProgram.from_bytes(file.read()))(np.array([0.5, 1.5]))[0].tobytes().hex())
"""


def test_another_process_runs_the_program(tmp_path):
    program = jit(lambda x: special.k1(x)).lower(np.ones(2)).compile().executable.program
    path = tmp_path / "program"
    path.write_bytes(program.to_bytes())
    assert {name.partition(".k1")[0] for _, name in program.native_calls} == {"ufunc.scipy.special"}
    environment = {"PYTHONPATH": str(Path(phlox.__file__).parent.parent)}
    run = subprocess.run([sys.executable, "-c", LOADING, path], env=environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == special.k1(np.array([0.5, 1.5])).tobytes().hex()


TEXT = """
HloModule given
ENTRY main {
  n = f64[] parameter(0)
  x = f64[3] parameter(1)
  ROOT y = f64[3] custom-call(n, x), custom_call_target="ufunc.scipy.special.%s"
}
"""


def test_programs_as_text():
    f = phlox.load_hlo(TEXT % "jv.dd->d")
    x = np.array([0.5, 1.5, 2.5])
    require_same(f(np.float64(2), x), special.jv(2.0, x))
    with pytest.raises(hlo.HloError, match=r"takes \(f32, f32\), scalars or arrays of the dimensions of the results"):
        parse_module(TEXT % "jv.ff->f")
    with pytest.raises(NotImplementedError, match="scipy.special has no such loop"):
        phlox.load_hlo(TEXT % "jw.dd->d")(np.float64(2), x)
    with pytest.raises(NotImplementedError, match="the module nothing is not imported"):
        find_target("ufunc.nothing.f.d->d")


def test_where_loops_are_found_is_tried(monkeypatch):
    assert ufunc_loops.loops_can_be_called()
    memory = ufunc_loops.memory_of(special.jv)
    assert memory.nin == 2 and memory.ntypes == 4
    monkeypatch.setattr(ufunc_loops, "loops_can_be_called", lambda: False)
    with pytest.raises(NotImplementedError, match="where this build of NumPy keeps loops is not known"):
        jit(lambda x: special.y0(x) * 5)(np.ones(7))
    require_same(jit(lambda x: special.y0(x), backend="reference")(np.ones(7)), special.y0(np.ones(7)))


def test_ufuncs_of_python_functions_are_refused():
    add_one = np.frompyfunc(lambda x: x + 1, 1, 1)
    with pytest.raises((NotImplementedError, TypeError)):
        jit(lambda x: add_one(x))(np.ones(2))
