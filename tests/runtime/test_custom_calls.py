"""Custom calls: native and Python targets, their errors, and what the optimizer may do with them."""

import ctypes
import re
import sys
import threading

import numpy as np
import phlox
import pytest
from gpu_backends import DEVICES, backend_or_skip
from llvmlite import binding, ir
from phlox import load_hlo, register_custom_call
from phlox.hlo import F32, S32, Shape, TupleShape
from phlox.runtime import find_target, unregister_custom_call
from phlox.runtime.call_attributes import call_attributes
from phlox.xla_builder import XlaBuilder

BACKENDS = ["reference", "cpu"]
both_backends = pytest.mark.parametrize("backend", BACKENDS)
FLOAT, POINTER, I64 = ir.FloatType(), ir.PointerType(), ir.IntType(64)
X = np.float32([1, 2])
Y = np.float32([[10, 20, 30], [40, 50, 60]])


@pytest.fixture
def register():
    """Registers targets for the time of the test."""
    names = []

    def make(name, target=None):
        names.append(name)
        return register_custom_call(name, target)

    yield make
    for name in set(names):
        unregister_custom_call(name)


def element(b, table, index, offset):
    """The address of an element of the array at this place in a table of pointers."""
    array = b.load(b.gep(table, [I64(index)], source_etype=POINTER), typ=POINTER)
    return b.gep(array, [I64(offset)], source_etype=FLOAT)


@pytest.fixture(scope="module")
def library():
    """Functions ``void name(void* out, void** in)``, compiled; their addresses by name.

    ``myfunc`` is the example of the semantics: out[0][0] = x[1] + y[1][0], the other elements are i. ``sum_and_product``
    returns a tuple, ``of_a_pair`` takes one. ``second_in_memory`` returns that element of its operand, ``count_up`` the numbers
    in the order of memory.
    """
    module = ir.Module("targets")
    module.triple = binding.get_process_triple()

    def begin(name):
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER, POINTER]), name)
        return ir.IRBuilder(function.append_basic_block()), *function.args

    b, out, ins = begin("myfunc")
    for i in range(1, 9):
        b.store(FLOAT(i), b.gep(out, [I64(i)], source_etype=FLOAT))
    both = b.load(element(b, ins, 0, 1), typ=FLOAT), b.load(element(b, ins, 1, 3), typ=FLOAT)
    b.store(b.fadd(*both), out)
    b.ret_void()
    b, out, ins = begin("sum_and_product")
    x, y = (b.load(element(b, ins, i, 0), typ=FLOAT) for i in range(2))
    b.store(b.fadd(x, y), element(b, out, 0, 0))
    b.store(b.fmul(x, y), element(b, out, 1, 0))
    b.ret_void()
    b, out, ins = begin("of_a_pair")
    pair = b.load(ins, typ=POINTER)
    b.store(b.fsub(b.load(element(b, pair, 0, 0), typ=FLOAT), b.load(element(b, pair, 1, 0), typ=FLOAT)), out)
    b.ret_void()
    b, out, ins = begin("second_in_memory")
    b.store(b.load(element(b, ins, 0, 1), typ=FLOAT), out)
    b.ret_void()
    b, out, ins = begin("count_up")
    for i in range(6):
        b.store(FLOAT(i), b.gep(out, [I64(i)], source_etype=FLOAT))
    b.ret_void()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine()
    engine = binding.create_mcjit_compiler(binding.parse_assembly(str(module)), machine)
    engine.finalize_object()
    names = ("myfunc", "sum_and_product", "of_a_pair", "second_in_memory", "count_up")
    yield {name: engine.get_function_address(name) for name in names}
    del engine


def program(target, operands, shape, backend, **options):
    b = XlaBuilder("f")
    parameters = [b.parameter(operand) for operand in operands]
    return load_hlo(b.build_module(b.CustomCall(target, parameters, shape, **options)).as_text(), backend)


# --- native targets ---


@both_backends
def test_the_example_of_the_semantics(register, library, backend):
    register("myfunc", library["myfunc"])
    f = program("myfunc", [Shape(F32, (2,)), Shape(F32, (2, 3))], Shape(F32, (3, 3)), backend)
    expected = np.arange(9, dtype=np.float32)
    expected[0] = 2 + 40
    np.testing.assert_array_equal(f(X, Y), expected.reshape(3, 3))


def test_native_code_calls_native_targets_directly(register, library):
    register("myfunc", library["myfunc"])
    shapes = [Shape(F32, (2,)), Shape(F32, (2, 3))]
    code = program("myfunc", shapes, Shape(F32, (3, 3)), "cpu").executable.llvm_ir()
    assert re.search(r"call void @\"?native_call\.0\"?\(", code)
    register("myfunc", lambda x, y: np.zeros((3, 3), np.float32))
    code = program("myfunc", shapes, Shape(F32, (3, 3)), "cpu").executable.llvm_ir()
    assert re.search(r"call i32 @\"?phlox\.call_python\"?\(", code)


@both_backends
def test_tuples(register, library, backend):
    scalar = Shape(F32)
    for name in ("sum_and_product", "of_a_pair"):
        register(name, library[name])
    f = program("sum_and_product", [scalar, scalar], TupleShape((scalar, Shape(F32, (1, 1)))), backend)
    total, product = f(np.float32(3), np.float32(5))
    assert total == 8 and product.tolist() == [[15]]
    f = program("of_a_pair", [TupleShape((scalar, Shape(F32, (1,))))], scalar, backend)
    assert f((np.float32(3), np.float32([5]))) == -2


@both_backends
def test_layouts_of_native_targets(register, library, backend):
    """Operands lie in memory as operand_layout_constraints say, results as their shape does."""
    for name in ("second_in_memory", "count_up"):
        register(name, library[name])
    text = """HloModule m
    ENTRY main {
      x = f32[2,3] parameter(0)
      rows = f32[] custom-call(x), custom_call_target="second_in_memory"
      columns = f32[] custom-call(x), custom_call_target="second_in_memory", operand_layout_constraints={f32[2,3]{0,1}}
      a = f32[2,3]{1,0} custom-call(), custom_call_target="count_up"
      b = f32[2,3]{0,1} custom-call(), custom_call_target="count_up"
      c = f32[2,3] add(a, b)
      ROOT r = (f32[], f32[], f32[2,3], f32[2,3]{0,1}) tuple(rows, columns, c, b)
    }"""
    rows, columns, c, b = load_hlo(text, backend)(Y)
    assert (rows, columns) == (20, 40)
    counted = np.arange(6, dtype=np.float32)
    np.testing.assert_array_equal(b, counted.reshape(3, 2).T)
    np.testing.assert_array_equal(c, counted.reshape(2, 3) + counted.reshape(3, 2).T)


@pytest.mark.parametrize("backend", [*BACKENDS, *DEVICES])
def test_layouts_of_functions_in_python(register, backend):
    """They are called with, and return, the elements, wherever these lie."""
    backend_or_skip(backend)
    register("halves", lambda x: (x / 2, x[0].copy()))
    text = """HloModule m
    ENTRY main {
      x = f32[2,3] parameter(0)
      t = (f32[2,3]{0,1}, f32[3]{0}) custom-call(x), custom_call_target="halves", operand_layout_constraints={f32[2,3]{0,1}}
      half = f32[2,3]{0,1} get-tuple-element(t), index=0
      first = f32[3]{0} get-tuple-element(t), index=1
      sum = f32[2,3]{1,0} add(half, x)
      ROOT r = (f32[2,3]{1,0}, f32[3]{0}) tuple(sum, first)
    }"""
    total, first = load_hlo(text, backend)(Y)
    np.testing.assert_array_equal(total, Y * 1.5)
    np.testing.assert_array_equal(first, Y[0])


def test_ctypes_functions_and_libraries(register):
    calls = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
    def callback(out, ins):
        calls.append(ctypes.c_float.from_address(ins[0]).value)
        ctypes.c_float.from_address(out).value = 7

    register("callback", callback)
    for backend in BACKENDS:
        assert program("callback", [Shape(F32)], Shape(F32), backend)(np.float32(2)) == 7
    assert calls == [2, 2]
    with pytest.raises(OSError):
        phlox.load_custom_calls("/no/such/library.so", ["f"])
    with pytest.raises(TypeError, match="a sequence of names is required"):
        phlox.load_custom_calls("library.so", "f")


def test_a_library_is_loaded_whole_or_not_at_all():
    library = ctypes.pythonapi._name
    if library is None:
        library = next((line.split()[-1] for line in open("/proc/self/maps", encoding="ascii") if "libc.so" in line), None)
        if library is None:
            pytest.skip("no shared library is at hand")
    with pytest.raises(AttributeError):
        phlox.load_custom_calls(library, {"test.abort": "abort", "test.missing": "no_function_has_this_name"})
    with pytest.raises(NotImplementedError):
        find_target("test.abort")
    phlox.load_custom_calls(library, {"test.abort": "abort"})
    assert "native" in repr(find_target("test.abort"))
    unregister_custom_call("test.abort")


# --- Python targets ---


@both_backends
def test_python_target(register, backend):
    seen = []

    @register("test.scale")
    def scale(x, pair, *, attributes, shape):
        seen.append((attributes, shape, x.flags.writeable))
        return x * attributes["factor"], pair[0]

    text = """HloModule m
    ENTRY main {
      x = f32[2] parameter(0)
      p = (s32[], f32[2]) parameter(1)
      ROOT c = (f32[2], s32[]) custom-call(x, p), custom_call_target="test.scale",
        api_version=API_VERSION_TYPED_FFI, backend_config={factor = 3.0 : f32}
    }"""
    scaled, n = load_hlo(text, backend)(X, (np.int32(4), X))
    np.testing.assert_array_equal(scaled, 3 * X)
    assert n == 4
    assert seen == [({"factor": 3.0}, TupleShape((Shape(F32, (2,)), Shape(S32))), False)]


@both_backends
def test_exceptions_pass_through(register, backend):
    class OwnError(Exception):
        pass

    error = OwnError("as it is")

    @register("test.fails")
    def fails(x):
        if x[0] < 0:
            raise error
        return x

    f = program("test.fails", [Shape(F32, (2,))], Shape(F32, (2,)), backend)
    for _ in range(3):
        error.__notes__ = []
        with pytest.raises(OwnError) as caught:
            f(-X)
        assert caught.value is error
        assert error.__notes__ == ["in the custom-call of 'test.fails', f32[2] -> f32[2]"]
        np.testing.assert_array_equal(f(X), X)


@both_backends
@pytest.mark.parametrize(
    ("result", "given"),
    [(np.float64([1, 2]), "f64[2]"), (np.float32(1), "f32[]"), ((X,), "(f32[2])"), (None, "token[]"), ("text", "type str")],
)
def test_another_result_names_both_shapes(register, backend, result, given):
    register("test.wrong", lambda x: result)
    f = program("test.wrong", [Shape(F32, (2,))], Shape(F32, (2,)), backend)
    message = "custom-call to 'test.wrong': a result of shape f32[2] is required, the function returned "
    with pytest.raises(TypeError, match=re.escape(message) + ".*" + re.escape(given)):
        f(X)


@both_backends
def test_a_target_that_is_not_registered(register, backend):
    register("test.known", lambda x: x)
    with pytest.raises(
        NotImplementedError, match=r"custom-call to 'test\.unknown'.*registered: .*test\.known.*phlox\.register_custom_call"
    ):
        program("test.unknown", [Shape(F32)], Shape(F32), backend)
    with pytest.raises(NotImplementedError, match="Python function of the process that dumped it"):
        program("xla_ffi_python_cpu_callback", [Shape(F32)], Shape(F32), backend)


@pytest.mark.parametrize("target", [1.5, "f", True, [1]])
def test_what_is_no_target(target):
    with pytest.raises(TypeError, match="a function or an address is required"):
        register_custom_call("test.bad", target)
    with pytest.raises(ValueError, match="an address is required"):
        register_custom_call("test.bad", 0)
    with pytest.raises(TypeError, match="a name"):
        register_custom_call(3, len)
    with pytest.raises(NotImplementedError):
        find_target("test.bad")


# --- effects ---

EFFECTS = """HloModule m
ENTRY main {
  x = f32[2] parameter(0)
  a = f32[2] custom-call(x), custom_call_target="test.count", custom_call_has_side_effect=EFFECT
  b = f32[2] custom-call(x), custom_call_target="test.count", custom_call_has_side_effect=EFFECT
  c = f32[2] custom-call(x), custom_call_target="test.count", custom_call_has_side_effect=EFFECT
  ROOT r = f32[2] add(a, b)
}"""


@pytest.mark.parametrize(("effect", "count"), [("true", 3), ("false", 1)])
def test_calls_with_effects_stay_and_others_are_merged(register, effect, count):
    calls = []
    register("test.count", lambda x: calls.append(1) or x)
    np.testing.assert_array_equal(load_hlo(EFFECTS.replace("EFFECT", effect), "cpu")(X), 2 * X)
    assert len(calls) == count


def test_threads(register):
    """Each call gets its own thread's operands."""
    register("test.thread", lambda x: x + np.float32(threading.get_ident() % 1000))
    f = program("test.thread", [Shape(F32, (2,))], Shape(F32, (2,)), "cpu")
    failures = []

    def run(value):
        for _ in range(100):
            if not np.array_equal(f(np.float32([value, value])), [value + threading.get_ident() % 1000] * 2):
                failures.append(value)

    threads = [threading.Thread(target=run, args=(value,)) for value in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# --- traced functions ---


def test_custom_call_in_a_traced_function(register):
    log = []

    @register("test.note")
    def note(x):
        log.append(float(x))
        return ()

    @register("test.split")
    def split(x):
        return np.floor(x), x - np.floor(x)

    @phlox.jit
    def f(x):
        whole, part = phlox.custom_call("test.split", x, result=(x, x))
        phlox.custom_call("test.note", part[0], result=(), has_side_effect=True)
        phlox.custom_call("test.note", whole[0], result=(), has_side_effect=True)
        return whole * 10 + part

    x = np.float32([1.5, 2.25])
    for _ in range(2):
        np.testing.assert_array_equal(f(x), np.float32([10.5, 20.25]))
    assert log == [0.5, 1.0] * 2
    whole, part = phlox.custom_call("test.split", x, result=(x, x))
    assert whole.tolist() == [1, 2] and part.tolist() == [0.5, 0.25]


def test_effects_in_nested_functions_and_loops(register):
    log = []
    register("test.note", lambda x: log.append(int(x)) or ())

    @phlox.jit
    def noted(i):
        phlox.custom_call("test.note", i, result=(), has_side_effect=True)

    @phlox.jit
    def f(x):
        noted(x[0])

        def body(i, total):
            noted(i)
            return total + i

        return phlox.fori_loop(0, 3, body, 0)

    assert f(np.int64([7, 8])) == 3
    assert log == [7, 0, 1, 2]


def test_what_is_no_result(register):
    register("test.same", lambda x: x)
    for result in (3, "f32", ((X,),)):
        with pytest.raises(TypeError, match="custom_call: result must"):
            phlox.custom_call("test.same", X, result=result)
    with pytest.raises(NotImplementedError, match=r"custom-call to 'test\.nothing'"):
        phlox.jit(lambda x: phlox.custom_call("test.nothing", x, result=x))(X)


# --- attributes ---


def test_attributes():
    assert call_attributes('{a = -1 : i32, b = [1, "x"], c = {d = true}, e = 1.5e0, f = 0x10 : i8, g, "h" = i}') == {
        "a": -1, "b": [1, "x"], "c": {"d": True}, "e": 1.5, "f": 16, "g": True, "h": "i",
    }  # fmt: skip
    assert call_attributes("") == call_attributes("{}") == {}
    assert call_attributes(r'"{\"a\": [1, 2]}"') == {"a": [1, 2]}
    assert call_attributes('"{a = 1 : i32}"') == {"a": 1}
    assert call_attributes('"text"') == {"backend_config": "text"}
    for bad in ("{a = }", "{a = 1", "{= 1}", "{a = 1} b", "{a ? 1}"):
        with pytest.raises(ValueError, match="backend_config"):
            call_attributes(bad)


# --- targets of dumps ---


@both_backends
def test_top_k(backend):
    text = """HloModule m
    ENTRY main {
      x = f32[2,4] parameter(0)
      ROOT t = (f32[2,2], s32[2,2]) custom-call(x), custom_call_target="TopK"
    }"""
    top = load_hlo(text, backend)
    values, indices = top(np.float32([[1, 3, 3, 2], [-1, -3, np.nan, -2]]))
    np.testing.assert_array_equal(values, np.float32([[3, 3], [np.nan, -1]]))
    np.testing.assert_array_equal(indices, [[1, 2], [2, 0]])
    # In total order: -0 is below 0, and a NaN with a sign below all numbers.
    indices = top(np.float32([[-0.0, 0.0, -1, -2], [-np.nan, -np.inf, -1, np.nan]]))[1]
    np.testing.assert_array_equal(indices, [[1, 0], [3, 2]])


@both_backends
def test_array_that_nobody_fills(backend):
    """Two such arrays are two, whatever was merged, and a loop writes into its own."""
    text = """HloModule m
    below { s = (s32[], f32[4]) parameter(0)
      k = s32[] get-tuple-element(s), index=0
      n = s32[] constant(4)
      ROOT l = pred[] compare(k, n), direction=LT }
    next { s = (s32[], f32[4]) parameter(0)
      k = s32[] get-tuple-element(s), index=0
      a = f32[4] get-tuple-element(s), index=1
      one = s32[] constant(1)
      v = f32[] convert(k)
      row = f32[1] reshape(v)
      b = f32[4] dynamic-update-slice(a, row, k)
      after = s32[] add(k, one)
      ROOT t = (s32[], f32[4]) tuple(after, b) }
    ENTRY main {
      x = f32[4] parameter(0)
      a = f32[4] custom-call(), custom_call_target="AllocateBuffer"
      b = f32[4] custom-call(), custom_call_target="AllocateBuffer"
      zero = s32[] constant(0)
      c = f32[4] dynamic-update-slice(b, x, zero)
      first = (s32[], f32[4]) tuple(zero, a)
      last = (s32[], f32[4]) while(first), condition=below, body=next
      d = f32[4] get-tuple-element(last), index=1
      ROOT t = (f32[4], f32[4]) tuple(c, d)
    }"""
    run = load_hlo(text, backend)
    for x in (np.float32([5, 6, 7, 8]), np.float32([9, 9, 9, 1])):
        copied, counted = run(x)
        np.testing.assert_array_equal(copied, x)
        np.testing.assert_array_equal(counted, [0, 1, 2, 3])
    with pytest.raises(ValueError, match="an array that nobody fills"):
        register_custom_call("AllocateBuffer", lambda: None)


@both_backends
def test_identities(backend):
    for target in ("Sharding", "SPMDFullToShardShape", "annotate_device_placement"):
        np.testing.assert_array_equal(program(target, [Shape(F32, (2, 3))], Shape(F32, (2, 3)), backend)(Y), Y)


def test_identities_are_no_calls():
    """Nothing of them is left in native code, even of one that is marked as having an effect; so none can be registered."""
    from cpu_passes import expand
    from phlox.hlo import parse_module

    text = """HloModule m
    ENTRY e { x = f32[2,3]{1,0} parameter(0)
      y = f32[2,3]{1,0} custom-call(x), custom_call_target="Sharding", custom_call_has_side_effect=true
      ROOT z = f32[2,3]{0,1} custom-call(y), custom_call_target="LayoutConstraint" }"""
    expanded = expand(parse_module(text))
    assert [instruction.opcode for instruction in expanded.entry.instructions] == ["parameter"]
    np.testing.assert_array_equal(load_hlo(text, "cpu")(Y), Y)
    with pytest.raises(ValueError, match="'Sharding' stands for its operand"):
        phlox.register_custom_call("Sharding", lambda x: -x)


def test_lapack_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    with pytest.raises(ImportError, match=r"custom-call to 'lapack_sgetrf_ffi': SciPy is required.*phlox\[linalg\]"):
        find_target("lapack_sgetrf_ffi")
    with pytest.raises(NotImplementedError, match="lapack_sunknown_ffi"):
        find_target("lapack_sunknown_ffi")
