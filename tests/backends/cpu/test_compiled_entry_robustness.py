"""Calls of a compiled function: errors, leaks, refused input, threads."""

import ctypes
import gc
import pickle
import sys
import threading
import tracemalloc
import types

import numpy as np
import pytest
from hand_written_kernels import (
    SUCCESS,
    Base,
    Callable_,
    KernelError,
    add_kernel,
    array_pair,
    copy_kernel,
    f8,
    function,
    kernel,
    load_kernel,
    native,
    raise_error,
    same,
    status_kernel,
)
from phlox.backends.cpu.call import (
    ArrayGuard,
    CallSignature,
    Container,
    Leaf,
    Numbers,
    NumPyScalarGuard,
    Place,
    PythonScalarGuard,
    ResultSpec,
    Rows,
    Shared,
    SizeGuard,
    StaticGuard,
    Step,
    bind_entry,
    install_entry,
    make_vectorcall_type,
    remove_entries,
)

# Errors


@native
def test_kernel_status_is_raised():
    results = (ResultSpec(f8, (8,)), ResultSpec(f8, ()))
    signature = CallSignature((ArrayGuard(f8, (8,)),), results=results, result_structure="tuple")
    x = np.ones(8)
    for status in (1, 77, -5):
        f = function(signature, status_kernel(status), raise_error=raise_error)
        before = sys.getrefcount(x)
        with pytest.raises(KernelError) as caught:
            f(x)
        assert caught.value.args == (status,)
        del caught
        assert sys.getrefcount(x) == before


@native
def test_error_functions_that_do_not_raise():
    f = function(CallSignature((), result_structure="none"), status_kernel(1), raise_error=lambda code: code)
    with pytest.raises(SystemError, match="returned instead of raising"):
        f()
    f = function(CallSignature((), result_structure="none"), status_kernel(12))
    with pytest.raises(SystemError, match="code 12"):
        f()


@native
def test_exception_set_by_the_kernel_stands():
    text = """
    @interrupt = global ptr null
    define i32 @kernel(ptr %arguments, ptr %results) {
      %function = load ptr, ptr @interrupt
      %nothing = call ptr %function()
      ret i32 1
    }
    """
    no_memory = ctypes.cast(ctypes.pythonapi.PyErr_NoMemory, ctypes.c_void_p).value
    kernel = load_kernel(text, interrupt=no_memory)
    f = function(CallSignature((), result_structure="none"), (kernel, None), raise_error=raise_error)
    with pytest.raises(MemoryError):
        f()


@native
@pytest.mark.parametrize("position", [0, 1, 2])
def test_failed_allocation(position):
    results = [ResultSpec(f8, (8,)), ResultSpec(f8, ()), ResultSpec(f8, (1000,))]
    results.insert(position, ResultSpec(f8, (2**55,)))
    f = function(CallSignature((), results=tuple(results), result_structure="tuple"), SUCCESS)
    before = sys.getrefcount(f8)
    for _ in range(10):
        with pytest.raises(MemoryError):
            f()
    assert sys.getrefcount(f8) == before


@native
def test_exception_of_miss():
    class Failing:
        def call_in_python(self, *args):
            raise KernelError(args)

    f = make_vectorcall_type(Failing)()
    install_entry(f, bind_entry(array_pair(), *add_kernel(8)))
    with pytest.raises(KernelError, match="7"):
        f(7)


@native
@pytest.mark.parametrize("kind, container", [("set item", dict), ("set attribute", types.SimpleNamespace)])
def test_steps_that_set(kind, container):
    class Failing:
        def __setitem__(self, key, value):
            raise KernelError(key)

        __setattr__ = __setitem__

    def setting(holder):
        steps = [Step("object", object=holder), Step("object", object=key), Step("place", 0), Step(kind), Step("place", 0)]
        return function(signature, copy_kernel(64), around=[Place("argument", index=0)], steps=steps)

    x, key = np.arange(8.0), "".join(["na", "me"])
    signature = CallSignature((ArrayGuard(f8, (8,)),), results=(ResultSpec(f8, (8,)),), result_structure="steps")
    good, failing = container(), Failing()
    f, g = setting(good), setting(failing)
    assert f(x) is x
    assert (good if isinstance(good, dict) else vars(good))[key] is x
    with pytest.raises(KernelError, match=key):
        g(x)
    counts = [sys.getrefcount(item) for item in (good, failing, key, x)]
    for _ in range(50):
        f(x)
        with pytest.raises(KernelError):
            g(x)
    assert [sys.getrefcount(item) for item in (good, failing, key, x)] == counts


@native
def test_steps_that_set_take_three_objects():
    signature = CallSignature((ArrayGuard(f8, (8,)),), results=(ResultSpec(f8, (8,)),), result_structure="steps")
    steps = [Step("result", 0), Step("result", 0), Step("set item"), Step("result", 0)]
    with pytest.raises(ValueError, match="more objects than there are"):
        function(signature, copy_kernel(64), steps=steps)


@native
def test_no_leaks():
    x, y = np.arange(8.0), np.ones(8)
    results = (ResultSpec(f8, (8,)), ResultSpec(f8, ()))
    tuple_signature = CallSignature((ArrayGuard(f8, (8,)),) * 2, results=results, result_structure="tuple")
    steps_signature = CallSignature((ArrayGuard(f8, (8,)),) * 2, results=results, result_structure="steps")
    around = [Place("argument", index=1), Place("attribute", 0, key="shape"), Place("tuple item", 1, 0)]
    steps = [Step("result", 1), Step("place", 2), Step("place", 0), Step("result", 0)]
    good = copy_kernel(64, 8)
    functions = [
        function(array_pair(), add_kernel(8)),
        function(tuple_signature, good),
        function(steps_signature, good, around=around, steps=[*steps, Step("drop"), Step("dict", 3, tuple("abc"))]),
        function(steps_signature, good, around=around, steps=[*steps, Step("list", 3), Step("tuple", 2)]),
        function(tuple_signature, status_kernel(3), raise_error=raise_error),
        function(steps_signature, good, around=around, steps=[*steps, Step("call", 1, raise_error), Step("tuple", 4)]),
        function(CallSignature((ArrayGuard(f8, (8,)),) * 2, result_structure="none"), SUCCESS),
    ]

    class Quiet(Base):
        def call_in_python(self, *args):
            return None

    missing = make_vectorcall_type(Quiet)()
    install_entry(missing, bind_entry(array_pair(3), *add_kernel(3)))
    functions.append(missing)

    def run(count):
        for _ in range(count):
            for f in functions:
                try:
                    f(x, y)
                except KernelError:
                    pass

    run(50)
    gc.collect()
    counts = [sys.getrefcount(item) for item in (x, y, f8, None, raise_error, list)]
    tracemalloc.start()
    try:
        run(50)
        gc.collect()
        start, _ = tracemalloc.get_traced_memory()
        run(1000)
        gc.collect()
        end, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert end - start < 20_000, "7000 calls that leak one small object each would leave far more"
    after = [sys.getrefcount(item) for item in (x, y, f8, None, raise_error, list)]
    assert all(abs(now - before) < 50 for now, before in zip(after, counts)), (counts, after)


@native
@pytest.mark.parametrize("fails_at", [None, 0, 1, 2])
def test_elements_that_are_made_until_one_fails(fails_at):
    made = []

    def element(*parts):
        if len(made) == fails_at:
            raise KernelError("an element")
        made.append(parts)
        return list(parts)

    i8 = np.dtype("i8")
    number = Leaf((Numbers(0, "number", i8),))
    inner = Container("call", (number, Leaf((), None, ("constant",)), Container("tuple", (number,))), element)
    shared = Shared("mark", 4, 0, Container("pieces", (number,)))
    rows = Rows(Container("tuple", (number, inner, shared)), 1, 0, None, 3)
    results = (ResultSpec(i8, (4,)), ResultSpec(i8, (), form="hidden"))
    signature = CallSignature((ArrayGuard(i8, (4,)), PythonScalarGuard(int)), results=results, result_structure="steps")
    f = function(
        signature,
        copy_kernel(32, 8),
        steps=[Step("list", 0), Step("rows", object=rows), Step("part", object=shared), Step("tuple", 2)],
    )
    given = np.array([1, 3, 1, 0])

    def run(count):
        for _ in range(count):
            made.clear()
            try:
                found, first = f(given, 3)
            except KernelError:
                assert fails_at is not None
            else:
                assert fails_at is None
                assert found == [(k, [k, "constant", (k,)], [given[k]]) for k in (1, 3, 1)]
                assert found[0][2] is found[2][2] is first

    run(50)
    gc.collect()
    tracemalloc.start()
    try:
        run(10)
        gc.collect()
        start, _ = tracemalloc.get_traced_memory()
        run(1000)
        made.clear()
        gc.collect()
        end, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert end - start < 10_000


# Validation


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ArrayGuard("f8", (1,)), TypeError, "numpy.dtype"),
        (lambda: ArrayGuard(np.dtype(">f8"), (1,)), TypeError, "native byte order"),
        (lambda: ArrayGuard(np.dtype("M8[s]"), (1,)), TypeError, "numeric"),
        (lambda: ArrayGuard(np.dtype(object), (1,)), TypeError, "numeric"),
        (lambda: ArrayGuard(np.dtype([("a", "f8")]), (1,)), TypeError, "numeric"),
        (lambda: ArrayGuard(f8, (-1,)), ValueError, "non-negative"),
        (lambda: ArrayGuard(f8, [1]), ValueError, "non-negative"),
        (lambda: ArrayGuard(f8, (1,), "A"), ValueError, "order"),
        (lambda: ResultSpec(f8, (1,) * 65), ValueError, "rank"),
        (lambda: PythonScalarGuard(str), TypeError, "float, int, bool or complex"),
        (lambda: NumPyScalarGuard(np.dtype("U3")), TypeError, "numeric"),
        (lambda: CallSignature((1,), result_structure="none"), TypeError, "argument guards"),
        (lambda: ResultSpec(f8, (), form="new array"), ValueError, "form"),
        (lambda: ResultSpec(f8, (1,), form="python"), TypeError, "without dimensions"),
        (lambda: ResultSpec(np.dtype("f4"), (), form="python"), TypeError, "f64, s64, s32, c128 or pred"),
        (lambda: ResultSpec(f8, (1,), form="hidden"), ValueError, "no dimensions"),
        (lambda: ResultSpec(f8, (1,), form="contents"), ValueError, "target"),
        (lambda: ResultSpec(f8, (), size=1), ValueError, "new arrays"),
        (lambda: SizeGuard(dict, 1), TypeError, "tuples or lists"),
        (lambda: Place("nowhere"), ValueError, "source"),
        (lambda: Place("argument", index=-1), ValueError, "negative"),
        (lambda: CallSignature((), results=(ResultSpec(f8, (2,), size=0),)), ValueError, "hidden result of int32"),
        (lambda: CallSignature((), results=(ResultSpec(f8, (), form="hidden"),)), ValueError, "'steps'"),
        (lambda: CallSignature((StaticGuard(),), result_structure="none", slots=(0,)), ValueError, "slots"),
        (lambda: CallSignature((), keyword_names=("a",), result_structure="none"), ValueError, "one name per argument"),
        (lambda: CallSignature((), result_structure="list"), ValueError, "result_structure"),
        (lambda: CallSignature(()), ValueError, "requires 1 results; given 0"),
        (lambda: CallSignature((), results=(3,)), TypeError, "ResultSpec"),
    ],
)
def test_signatures_are_checked(make, error, message):
    with pytest.raises(error, match=message):
        make()


@native
def test_bound_objects_are_checked():
    none = CallSignature((), result_structure="none")
    with pytest.raises(ValueError, match="null address"):
        bind_entry(none, 0, None)
    with pytest.raises(ValueError, match="statics"):
        bind_entry(none, *SUCCESS, statics=(1,))
    with pytest.raises(TypeError, match="steps"):
        bind_entry(none, *SUCCESS, steps=[Step("object")])
    steps = CallSignature((), result_structure="steps")
    with pytest.raises(ValueError, match="they leave 2"):
        bind_entry(steps, *SUCCESS, steps=[Step("object"), Step("object")])
    with pytest.raises(ValueError, match="more objects than there are"):
        bind_entry(steps, *SUCCESS, steps=[Step("tuple", 1)])


@native
def test_many_arguments_and_results():
    results = tuple(ResultSpec(np.dtype("i8"), () if index % 2 else (1,)) for index in range(300))
    f = function(
        CallSignature((PythonScalarGuard(int),) * 300, results=results, result_structure="tuple"), copy_kernel(*[8] * 300)
    )
    assert [int(np.ravel(item)[0]) for item in f(*range(300))] == list(range(300))


def test_signatures_can_be_pickled():
    signature = array_pair()
    assert pickle.loads(pickle.dumps(signature)) == signature


@native
def test_unpickled_signature_takes_the_same_calls():
    f = function(pickle.loads(pickle.dumps(array_pair())), add_kernel(8))
    same(f(np.ones(8), np.ones(8)), np.full(8, 2.0))


# Threads


SPIN = """
  %flag = load ptr, ptr %arguments
  br label %wait
wait:
  %turn = phi i64 [ 0, %0 ], [ %next, %again ]
  %value = load atomic i64, ptr %flag seq_cst, align 8
  %set = icmp ne i64 %value, 0
  br i1 %set, label %done, label %again
again:
  %next = add i64 %turn, 1
  %tired = icmp eq i64 %next, 20000000000
  br i1 %tired, label %failed, label %wait
done:
  ret i32 0
failed:
  ret i32 1
"""


@native
def test_released_gil_lets_other_threads_run():
    flag = np.zeros(1, np.int64)
    signature = CallSignature((ArrayGuard(flag.dtype, (1,)),), result_structure="none", release_gil=True)
    f = function(signature, kernel(SPIN), raise_error=raise_error)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(f(flag)))
    thread.start()
    # The kernel waits for this store, which needs the lock that it has released.
    flag[0] = 1
    thread.join()
    assert answers == [None]


@native
@pytest.mark.parametrize("release_gil", [False, True])
def test_concurrent_calls(release_gil):
    count = 1000
    guard = ArrayGuard(f8, (count,))
    f = function(CallSignature((guard, guard), results=(ResultSpec(f8, (count,)),), release_gil=release_gil), add_kernel(count))
    wrong = []

    def work(seed):
        x = np.full(count, float(seed))
        for repeat in range(200):
            if not (f(x, x) == 2 * seed).all():
                wrong.append((seed, repeat))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and not f.missed


@native
def test_entries_are_installed_while_other_threads_call():
    f = Callable_()
    compiled = {count: add_kernel(count) for count in range(1, 9)}
    stop, wrong = threading.Event(), []

    def work():
        x = np.ones(4)
        while not stop.is_set():
            result = f(x, x)
            if not isinstance(result, str) and not (result == 2).all():
                wrong.append(result)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        for count, code in compiled.items():
            install_entry(f, bind_entry(array_pair(count), *code))
        remove_entries(f)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
