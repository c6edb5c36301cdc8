"""Calls of a compiled function, end to end, with kernels written by hand: guards, captured arrays, results."""

import gc
import pickle
import sys

import numpy as np
import pytest
from hand_written_kernels import (
    SUCCESS,
    Callable_,
    KernelError,
    add_kernel,
    array_pair,
    copy_kernel,
    f8,
    function,
    native,
    same,
    status_kernel,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from phlox.backends.cpu.call import (
    ArrayGuard,
    CallSignature,
    CheckedGuard,
    FunctionGuard,
    IdentityGuard,
    KeysGuard,
    MethodGuard,
    NumPyScalarGuard,
    Place,
    PythonScalarGuard,
    ResultSpec,
    SameGuard,
    SizeGuard,
    StaticGuard,
    Step,
    TypeGuard,
    ValueGuard,
    bind_entry,
    install_entry,
    remove_entries,
)

i4 = np.dtype("i4")


# Calls


@native
def test_add_reaches_the_kernel_without_a_python_frame():
    f = function(array_pair(), add_kernel(8))
    x, y = np.arange(8.0), np.linspace(-1, 1, 8)
    calls = []
    sys.setprofile(lambda frame, event, argument: calls.append(event) if event == "call" else None)
    result = f(x, y)
    sys.setprofile(None)
    assert not calls
    same(result, x + y)
    assert result.flags.owndata and result.flags.writeable and result.flags.c_contiguous
    assert f(*(x, y)) is not result
    same(f(*[x, y], **{}), x + y)
    assert not f.missed


@native
def test_chain_of_signatures():
    f = function(array_pair(8), add_kernel(8))
    assert f(np.ones(3), np.ones(3)) == "missed"
    install_entry(f, bind_entry(array_pair(3), *add_kernel(3)))
    install_entry(f, bind_entry(array_pair(0), *add_kernel(0)))
    for count in (8, 3, 0, 8):
        same(f(np.ones(count), np.arange(float(count))), np.ones(count) + np.arange(float(count)))
    assert f(np.ones(3), np.ones(8)) == "missed"
    assert len(f.missed) == 2
    remove_entries(f)
    assert f(np.ones(8), np.ones(8)) == "missed"
    install_entry(f, bind_entry(array_pair(3), *add_kernel(3)))
    same(f(np.ones(3), np.ones(3)), np.full(3, 2.0))
    assert f(np.ones(8), np.ones(8)) == "missed"


@native
def test_an_entry_is_installed_once():
    entry = bind_entry(array_pair(), *add_kernel(8))
    install_entry(Callable_(), entry)
    with pytest.raises(ValueError, match="not installed yet"):
        install_entry(Callable_(), entry)


class Subclass(np.ndarray):
    pass


def unaligned():
    return np.zeros(65, np.int8)[1:].view(f8)


MATRIX = np.arange(12.0).reshape(3, 4)
REFUSED_MATRICES = {
    "dtype": MATRIX.astype("f4"),
    "integer of the same size": MATRIX.astype("i8"),
    "byte order": MATRIX.astype(">f8"),
    "shape": MATRIX.reshape(4, 3),
    "rank": MATRIX.reshape(3, 4, 1),
    "lower rank": MATRIX.ravel(),
    "order": np.asfortranarray(MATRIX),
    "strides": np.zeros((3, 8))[:, ::2],
    "subclass": MATRIX.view(Subclass),
    "alignment": np.zeros(97, np.int8)[1:].view(f8).reshape(3, 4),
    "list": MATRIX.tolist(),
    "None": None,
    "scalar": 1.0,
    "type": np.ndarray,
    "masked": np.ma.array(MATRIX),
    "memoryview": memoryview(MATRIX),
}


@native
@pytest.mark.parametrize("name", REFUSED_MATRICES)
def test_array_guard_refuses(name):
    f = function(CallSignature((ArrayGuard(f8, (3, 4)),), results=(ResultSpec(f8, (3, 4)),)), copy_kernel(96))
    same(f(MATRIX), MATRIX)
    assert f(REFUSED_MATRICES[name]) == "missed"
    assert f.missed[0][0][0] is REFUSED_MATRICES[name]


@native
def test_array_guard_accepts_arrays_that_are_the_same_in_memory():
    f = function(CallSignature((ArrayGuard(f8, (3, 1)),), results=(ResultSpec(f8, (3, 1)),)), copy_kernel(24))
    column = np.arange(3.0).reshape(3, 1)
    for array in (column, np.asfortranarray(column), column.copy()[:, ::-1], pickle.loads(pickle.dumps(column))):
        same(f(array), column)
    column.flags.writeable = False
    same(f(column), column)
    assert pickle.loads(pickle.dumps(column)).dtype is not f8, "this test relies on unpickled arrays having their own dtype"


@native
def test_fortran_order():
    guard, result = ArrayGuard(f8, (3, 4), "F"), ResultSpec(f8, (3, 4), "F")
    f = function(CallSignature((guard,), results=(result,)), copy_kernel(96))
    copied = f(np.asfortranarray(MATRIX))
    same(copied, MATRIX)
    assert copied.flags.f_contiguous and not copied.flags.c_contiguous
    assert f(MATRIX) == "missed"


@native
def test_writeable_guard():
    f = function(CallSignature((ArrayGuard(f8, (8,), writeable=True),), result_structure="none"), status_kernel(0))
    x = np.ones(8)
    assert f(x) is None
    x.flags.writeable = False
    assert f(x) == "missed"


@native
@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.data())
def test_guard_accepts_exactly_what_numpy_says(data):
    shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)
    dtypes = st.sampled_from(["?", "i1", "u2", "i4", "f4", "f8", "c8", "c16"]).map(np.dtype)
    shape, dtype, order = data.draw(shapes), data.draw(dtypes), data.draw(st.sampled_from("CF"))
    f = function(CallSignature((ArrayGuard(dtype, shape, order),), result_structure="none"), SUCCESS)
    for _ in range(4):
        array = np.zeros(data.draw(st.one_of(st.just(shape), shapes)), data.draw(st.one_of(st.just(dtype), dtypes)))
        array = np.asarray(array, order=data.draw(st.sampled_from("CF")))
        array = array.transpose(data.draw(st.permutations(range(array.ndim))))
        contiguous = array.flags.c_contiguous if order == "C" else array.flags.f_contiguous
        fits = array.shape == shape and array.dtype == dtype and contiguous
        assert f(array) == (None if fits else "missed")


@native
def test_number_of_arguments():
    f = function(array_pair(), add_kernel(8))
    x = np.ones(8)
    for arguments in ((), (x,), (x, x, x)):
        assert f(*arguments) == "missed"
    with_none = function(CallSignature((), result_structure="none"), SUCCESS)
    assert with_none() is None
    assert with_none(x) == "missed"


@native
def test_keyword_names():
    guards = (ArrayGuard(f8, (8,)),) * 3
    signature = CallSignature(guards, keyword_names=("left", "right"), results=(ResultSpec(f8, (8,)),))
    f = function(signature, add_kernel(8))
    x, y, z = np.arange(8.0), np.ones(8), np.zeros(8)
    same(f(x, left=y, right=z), x + y)
    assert not f.missed
    assert f(x, right=y, left=z) == "missed"
    assert f(x, y, z) == "missed"
    assert f(x, y, right=z) == "missed"
    assert f(x, left=y) == "missed"
    assert f(x, left=y, other=z) == "missed"
    assert f(left=x, right=y) == "missed"
    assert f.missed[0] == ((x,), {"right": y, "left": z})
    without_names = function(array_pair(), add_kernel(8))
    assert without_names(x, y=y) == "missed"
    assert without_names(x, y, z=z) == "missed"


@native
@pytest.mark.parametrize(
    ("kind", "dtype", "accepted", "refused"),
    [
        (float, "f8", [0.0, -1.5, 1e300, float("inf")], [1, True, np.float64(1), 1j, "1", None]),
        (int, "i8", [0, -1, 2**63 - 1, -(2**63)], [2**63, -(2**63) - 1, 10**40, True, 1.0, np.int64(1)]),
        (bool, "?", [True, False], [1, 0, np.True_, None]),
        (complex, "c16", [0j, 1.5 - 2j], [1.0, np.complex128(1), 1]),
    ],
)
def test_python_scalars(kind, dtype, accepted, refused):
    dtype = np.dtype(dtype)
    signature = CallSignature((PythonScalarGuard(kind),), results=(ResultSpec(dtype, (1,)),))
    f = function(signature, copy_kernel(dtype.itemsize))
    for value in accepted:
        same(f(value), np.array([value], dtype))
    for value in refused:
        assert f(value) == "missed"
    assert not sys.exc_info()[0]


@native
def test_several_integers_have_memory_of_their_own():
    results = tuple(ResultSpec(np.dtype("i8"), ()) for _ in range(3))
    f = function(CallSignature((PythonScalarGuard(int),) * 3, results=results, result_structure="tuple"), copy_kernel(8, 8, 8))
    assert f(1, -2, 3) == (1, -2, 3)


NUMERIC = [np.dtype(name) for name in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")]


def extended_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    return [np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.int4)]


@native
@pytest.mark.parametrize("index", range(len(NUMERIC) + 3))
def test_numpy_scalars_in_and_out(index):
    dtype = (NUMERIC + extended_dtypes())[index] if index >= len(NUMERIC) else NUMERIC[index]
    signature = CallSignature((NumPyScalarGuard(dtype),), results=(ResultSpec(dtype, ()),))
    f = function(signature, copy_kernel(dtype.itemsize))
    for number in (0, 1, 3):
        scalar = np.array(number).astype(dtype)[()]
        result = f(scalar)
        assert type(result) is type(scalar)
        assert result == scalar
    assert f(np.array(1).astype(dtype)) == "missed", "a 0-d array is no scalar"
    assert f(1) == "missed"


@native
@pytest.mark.parametrize("index", range(len(NUMERIC) + 3))
def test_arrays_of_each_dtype(index):
    dtype = (NUMERIC + extended_dtypes())[index] if index >= len(NUMERIC) else NUMERIC[index]
    f = function(
        CallSignature((ArrayGuard(dtype, (2, 3)),), results=(ResultSpec(dtype, (2, 3)),)), copy_kernel(6 * dtype.itemsize)
    )
    array = np.arange(6).reshape(2, 3).astype(dtype)
    same(f(array), array)
    same(f(pickle.loads(pickle.dumps(array))), array)


@native
def test_static_arguments_are_compared_by_identity():
    mode, other = "wra" + "p".lower(), object()
    signature = CallSignature((StaticGuard(), ArrayGuard(f8, (8,)), StaticGuard()), results=(ResultSpec(f8, (8,)),))
    f = function(signature, copy_kernel(64), statics=(mode, np.ndarray))
    x = np.arange(8.0)
    same(f(mode, x, np.ndarray), x)
    assert f(other, x, np.ndarray) == "missed"
    assert f(mode, x, x) == "missed", "an instance of a static type is not that type"
    assert f(mode, mode, np.ndarray) == "missed"


@native
def test_static_none_and_static_type():
    f = function(CallSignature((StaticGuard(), StaticGuard()), result_structure="none"), SUCCESS, statics=(None, float))
    assert f(None, float) is None
    assert f(None, 1.0) == "missed"
    assert f(float, None) == "missed"


@native
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # NumPy 2.5 deprecates what this test does on purpose
def test_captured_arrays():
    captured = np.arange(8.0)
    guard = ArrayGuard(f8, (8,))
    around = [Place("object", key=captured, guard=guard, slot=1)]
    f = function(CallSignature((guard,), results=(ResultSpec(f8, (8,)),)), add_kernel(8), around=around)
    x = np.ones(8)
    same(f(x), captured + x)
    captured[:] = 100
    same(f(x), np.full(8, 101.0))
    captured.shape = (2, 4)
    assert f(x) == "missed"
    captured.shape = (8,)
    captured.dtype = "i8"
    assert f(x) == "missed"
    captured.dtype = f8
    captured.resize(4, refcheck=False)
    assert f(x) == "missed"
    captured.resize(8, refcheck=False)
    captured[:] = 1
    same(f(x), np.full(8, 2.0))


# Results


@native
def test_result_structures():
    guards = (ArrayGuard(f8, (8,)), ArrayGuard(i4, (2, 3)), NumPyScalarGuard(f8))
    results = (ResultSpec(f8, (8,)), ResultSpec(i4, (2, 3), "C"), ResultSpec(f8, ()))
    arguments = (np.arange(8.0), np.arange(6, dtype=i4).reshape(2, 3), np.float64(0.5))
    compiled = copy_kernel(64, 24, 8)
    f = function(CallSignature(guards, results=results, result_structure="tuple"), compiled)
    for actual, expected in zip(f(*arguments), arguments, strict=True):
        same(actual, expected)
    assert gc.is_tracked(f(*arguments))

    each = [Step("result", number) for number in range(3)]
    f = function(CallSignature(guards, results=results, result_structure="steps"), compiled, steps=[*each, Step("list", 3)])
    for actual, expected in zip(f(*arguments), arguments, strict=True):
        same(actual, expected)
    nested = [each[0], each[1], Step("tuple", 2), each[2], each[2], Step("dict", 2, ("a", "b")), Step("tuple", 2)]
    (first, second), rest = function(CallSignature(guards, results=results, result_structure="steps"), compiled, steps=nested)(
        *arguments
    )
    for actual, expected in zip((first, second, rest["a"]), arguments, strict=True):
        same(actual, expected)
    assert list(rest) == ["a", "b"] and rest["a"] is rest["b"]
    empty = function(CallSignature((), result_structure="tuple"), SUCCESS)
    assert empty() == ()


@native
def test_results_are_set_in_containers_and_objects_at_once():
    class Holder:
        pass

    first, second, table, holder = np.arange(8.0), np.arange(3.0), {}, Holder()
    guards, results = (ArrayGuard(f8, (8,)), ArrayGuard(f8, (3,))), (ResultSpec(f8, (8,)), ResultSpec(f8, (3,)))
    signature = CallSignature(guards, results=results, result_structure="steps")

    def setting(changed, key, number, how):
        return [Step("object", object=changed), Step("object", object=key), Step("result", number), Step(how)]

    steps = [*setting(table, "one", 0, "set item"), *setting(holder, "other", 1, "set attribute"), Step("result", 0)]
    f = function(signature, copy_kernel(64, 24), steps=steps)
    for _ in range(3):
        found = f(first, second)
        assert table["one"] is found and holder.other is not found
        same(found, first)
        same(holder.other, second)
    references = sys.getrefcount(found), sys.getrefcount(holder.other)
    assert references == (3, 2)  # with that of the call
    f = function(signature, copy_kernel(64, 24), steps=[*setting([0], 3, 0, "set item"), Step("result", 0)])
    with pytest.raises(IndexError, match="assignment index out of range"):
        f(first, second)


@native
def test_exception_of_a_function_that_is_called_with_results():
    def fail(*leaves):
        raise KernelError("structure")

    steps = [Step("result", 0), Step("object", object="another"), Step("call", 2, fail)]
    signature = CallSignature((), results=(ResultSpec(f8, (8,)),), result_structure="steps")
    f = function(signature, SUCCESS, steps=steps)
    with pytest.raises(KernelError, match="structure"):
        f()


@native
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2, 2), (1, 1), (1,) * 32, (2, 3, 4, 5)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_result_shapes(shape, order):
    f = function(CallSignature((), results=(ResultSpec(i4, shape, order),)), SUCCESS)
    expected = np.empty(shape, i4, order)
    result = f()
    assert (result.shape, result.strides, result.dtype) == (expected.shape, expected.strides, expected.dtype)


@native
def test_arguments_as_results():
    guards = (ArrayGuard(f8, (8,)), ArrayGuard(f8, (8,)))
    x, y = np.arange(8.0), np.ones(8)
    around = [Place("argument", index=0), Place("argument", index=1)]
    second = CallSignature(guards, result_structure="steps")
    f = function(second, SUCCESS, around=around, steps=[Step("place", 1)])
    assert f(x, y) is y
    signature = CallSignature(guards, results=(ResultSpec(f8, (8,)),), result_structure="steps")
    steps = [Step("place", 0), Step("result", 0), Step("place", 0), Step("tuple", 3)]
    f = function(signature, add_kernel(8), around=around, steps=steps)
    before = sys.getrefcount(x)
    first, total, last = f(x, y)
    assert first is x and last is x
    same(total, x + y)
    assert sys.getrefcount(x) == before + 2


@native
def test_python_numbers_as_results():
    dtypes = [np.dtype(name) for name in ("f8", "i8", "?")]
    results = tuple(ResultSpec(dtype, (), form="python") for dtype in dtypes)
    guards = (PythonScalarGuard(float), PythonScalarGuard(int), PythonScalarGuard(bool))
    f = function(CallSignature(guards, results=results, result_structure="tuple"), copy_kernel(8, 8, 1))
    for numbers in ((-0.5, -(1 << 63), True), (float("inf"), 7, False)):
        assert [(type(one), one) for one in f(*numbers)] == [(type(one), one) for one in numbers]


@native
def test_contents_of_arguments():
    array = ArrayGuard(f8, (8,), writeable=True)
    contents = ResultSpec(f8, (8,), form="contents", target=0)
    signature = CallSignature((array, array), results=(contents,), result_structure="steps")
    f = function(signature, add_kernel(8), steps=[Step("object", object=None)])
    x, y = np.arange(8.0), np.ones(8)
    assert f(x, y) is None
    same(x, np.arange(8.0) + 1)
    both = np.zeros(12)
    assert f(both[:8], both[4:]) == "missed"
    assert f(both[4:], both[:8]) == "missed"
    assert f(x, x) == "missed"
    whole = np.arange(16.0)
    assert f(whole[8:], whole[:8]) is None
    same(whole[8:], np.arange(8.0, 16.0) + np.arange(8.0))
    x.flags.writeable = False
    assert f(x, y) == "missed"


@native
def test_results_of_a_size_and_errors():
    number = PythonScalarGuard(int)
    hidden = ResultSpec(i4, (), form="hidden")
    results = (ResultSpec(f8, (4, 2), size=1), hidden, hidden)
    signature = CallSignature((ArrayGuard(f8, (4, 2)), number, number), results=results, result_structure="steps", errors=(2,))
    f = function(signature, copy_kernel(64, 4, 4), steps=[Step("result", 0)])
    x = np.arange(8.0).reshape(4, 2)
    for size in (4, 3, 0):
        found = f(x, size, 0)
        same(found, x[:size])
        assert found.flags.owndata and found.nbytes == 16 * size
    assert f(x, 4, 1) == "missed"


class Holder:
    def __init__(self, value):
        self.value = value

    def method(self):
        return self.value


HOLDER = Holder(2.5)
NAMESPACE = {"name": 3}


def cell_of(value):
    return (lambda: value).__closure__[0]


CELL = cell_of("contents")
IDENTITY = IdentityGuard(HOLDER)
# How a place is read of an argument, what it gives, and what has nothing there.
READINGS = {
    "tuple item": ([Place("tuple item", 0, 1)], ("a", HOLDER), ("a",), SizeGuard(tuple, 2)),
    "list item": ([Place("list item", 0, 0)], [HOLDER], [], TypeGuard(list)),
    "dict item": ([Place("dict item", 0, key="x")], {"x": HOLDER}, {"y": HOLDER}, TypeGuard(dict)),
    "item": ([Place("item", 0, key="x")], {"x": HOLDER}, {"y": HOLDER}, None),
    "attribute": ([Place("attribute", 0, key="value")], Holder(HOLDER), Holder, None),
    "read": ([Place("read", 0, key=lambda holder: vars(holder)["value"])], Holder(HOLDER), Holder(2), None),
    "nested": (
        [Place("attribute", 0, key="value"), Place("tuple item", 1, 0)], Holder((HOLDER,)), Holder(()), None,
    ),
}  # fmt: skip


@native
@pytest.mark.parametrize("name", READINGS)
def test_places(name):
    parts, value, without, guard = READINGS[name]
    if name == "nested":
        parts = [Place("attribute", 0, key="value", guard=TypeGuard(tuple)), parts[1]]
    *way, last = parts
    around = [Place("argument", guard=guard), *way, Place(last.source, last.holder, last.index, last.key, IDENTITY)]
    any_type = function(
        CallSignature((TypeGuard(type(value)),), result_structure="steps"), SUCCESS, around=around,
        steps=[Step("place", len(around) - 1)],
    )  # fmt: skip
    before = sys.getrefcount(HOLDER), sys.getrefcount(value)
    assert any_type(value) is HOLDER
    assert any_type(without) == "missed"
    assert (sys.getrefcount(HOLDER), sys.getrefcount(value)) == before


@native
def test_places_that_are_known_while_facts_hold():
    one, equal, other = float("2.5"), float("2.5"), float("3.5")
    namespace = {"before": None, "name": one}
    around = [
        Place("object", key=namespace),
        Place("dict item", 0, key="name", guard=ValueGuard(2.5), facts=[("item", namespace, "name", one)], known=one),
    ]
    f = function(CallSignature((), result_structure="steps"), SUCCESS, around=around, steps=[Step("place", 1)])
    before = sys.getrefcount(one)
    for _ in range(10):
        f()
    assert sys.getrefcount(one) == before
    for value in (equal, one):
        namespace["name"] = value
        assert f() is value
    namespace["name"] = other
    assert f() == "missed"
    namespace.update({f"name{number}": number for number in range(100)}, name=equal)  # in another table
    assert f() is equal
    del namespace["name"]
    assert f() == "missed"
    namespace["name"] = one
    assert f() is one


def made(default=2):
    def function(x=default):
        return x

    function.__defaults__ = DEFAULTS[default]
    return function


DEFAULTS = {2: (2,), 3: (3,)}


class Text(str):
    pass


@native
def test_guards_of_places():
    method = HOLDER.method
    fitting = {
        "value of a float": (ValueGuard(-0.0), -0.0, (0.0, 0, 1.0, None)),
        "value of an integer": (ValueGuard(1 << 40), int("1099511627776"), (1, 1 << 80, float(1 << 40), True)),
        "keys": (KeysGuard(("a", "b")), {"a": 1, "b": 2}, ({"b": 1, "a": 2}, {"a": 1}, {"a": 1, "b": 2, "c": 3}, [])),
        "method": (MethodGuard(Holder.method), method, (Holder.method, print, Holder(1).__init__)),
        "function": (FunctionGuard(made()), made(), (made(3), lambda: 1, method, print)),
        "identity": (IdentityGuard(HOLDER), HOLDER, (Holder(2.5), None)),
        "as good": (IdentityGuard("ab", "ab".__eq__), "".join("ab"), (Text("ab"), "abc", 1)),
        "checked": (CheckedGuard(lambda found: found == [1, 2]), [1, 2], ([1], None)),
        "checked, not by truth": (CheckedGuard(lambda found: found is HOLDER or 1), HOLDER, (2,)),
        "same": (SameGuard(0), NAMESPACE, (dict(NAMESPACE), None)),
        "other": (SameGuard(0, differs=True), None, (NAMESPACE,)),
    }
    for guard, value, others in fitting.values():
        around = [Place("object", key=NAMESPACE), Place("argument", index=0), Place("place", 1, guard=guard)]
        signature = CallSignature((StaticGuard(),), result_structure="steps")
        for other, expected in [(value, value), *[(other, "missed") for other in others]]:
            f = function(signature, SUCCESS, statics=(other,), around=around, steps=[Step("place", 1)])
            assert f(other) is expected or f(other) == expected == "missed"


@native
def test_what_python_raises_about_a_place_is_what_the_call_raises():
    def holds(found):
        raise OSError("unreadable")

    for last in (Place("read", 0, key=holds), Place("place", 0, guard=CheckedGuard(holds))):
        f = function(CallSignature((), result_structure="none"), SUCCESS, around=[Place("object", key=HOLDER), last])
        before = sys.getrefcount(HOLDER)
        with pytest.raises(OSError, match="unreadable"):
            f()
        assert sys.getrefcount(HOLDER) == before


@native
def test_data_of_places():
    guards = [ArrayGuard(f8, (8,)), PythonScalarGuard(int), NumPyScalarGuard(f8)]
    results = (ResultSpec(f8, (8,)), ResultSpec(np.dtype("i8"), (), form="python"), ResultSpec(f8, ()))
    around = [Place("argument", guard=TypeGuard(list))]
    around += [Place("list item", 0, number, guard=guard, slot=2 - number) for number, guard in enumerate(reversed(guards))]
    signature = CallSignature((TypeGuard(list),), results=results, result_structure="tuple")
    f = function(signature, copy_kernel(64, 8, 8), around=around)
    array, number, scalar = f([np.float64(0.5), -3, np.arange(8.0)])
    same(array, np.arange(8.0))
    assert (number, scalar) == (-3, 0.5)
    assert f([np.float64(0.5), 1 << 70, np.arange(8.0)]) == "missed"
    assert f([0.5, -3, np.arange(8.0)]) == "missed"
    cell = function(
        CallSignature((), result_structure="steps"), SUCCESS, around=[Place("cell", key=CELL)], steps=[Step("place", 0)]
    )
    assert cell() == "contents"
