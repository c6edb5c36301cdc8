"""Kernels of users: what they compute among the compiler's, for which devices they have code, and what is wrong with them."""

import re
import traceback

import numpy as np
import phlox
import pytest
from gpu_backends import AMD_ARCHITECTURES, DEVICES, PTX_ARCHITECTURES, backend_or_skip, processor_backend, target
from kernel_of_five import BODY_IN_PTX, FIVE
from opencl_device import REVERSE, REVERSE_DYNAMIC, opencl_driver, spirv
from phlox.backends.gpu.backend import program_of
from phlox.gpu import DeviceCodeError, SharedMemoryError, kernel
from phlox.hlo import F32, Shape, parse_module
from ptx_assembler import assemble, find_ptxas

# Each row in reverse, by way of the block's memory.
ROWS = """
declare i32 @phlox.block.x()
declare i32 @phlox.thread.x()
declare i32 @phlox.threads.x()
declare void @phlox.barrier()
declare ptr @phlox.shared()
define void @reverse(ptr %x, ptr %y) {
  %block = call i32 @phlox.block.x()
  %thread = call i32 @phlox.thread.x()
  %threads = call i32 @phlox.threads.x()
  %row = call ptr @phlox.shared()
  %begin = mul i32 %block, %threads
  %number = add i32 %begin, %thread
  %source = getelementptr float, ptr %x, i32 %number
  %value = load float, ptr %source
  %here = getelementptr float, ptr %row, i32 %thread
  store float %value, ptr %here
  call void @phlox.barrier()
  %last = sub i32 %threads, 1
  %other = sub i32 %last, %thread
  %there = getelementptr float, ptr %row, i32 %other
  %found = load float, ptr %there
  %target = getelementptr float, ptr %y, i32 %number
  store float %found, ptr %target
  ret void
}
"""
PTX = f""".version 7.2
.target sm_80
.address_size 64
.visible .entry five(.param .u64 x, .param .u64 y) {{
{BODY_IN_PTX}
}}
"""
reverse = kernel(
    "reverse",
    result=lambda x: x,
    grid=lambda x: x.shape[0],
    block=lambda x: x.shape[1],
    shared_bytes=lambda x: 4 * x.shape[1],
    llvm=ROWS,
)
WITHOUT_MEMORY_MODEL = re.sub(rb"\x0e\x00\x03\x00.{8}", b"", spirv(REVERSE), flags=re.DOTALL)
X = np.arange(640, dtype=np.float32).reshape(10, 64)
ONE = np.zeros(1, np.int32)


def five(**changed):
    """A kernel that writes a 5, but for what is changed."""
    return kernel(**{"entry": "five", "result": (np.int32, 1), "grid": 1, "block": 1, "llvm": FIVE, **changed})


def program(function, *arguments, architecture):
    module = parse_module(phlox.jit(function).lower(*arguments).module.as_text(metadata=True))
    return program_of(module, target(architecture))


# --- what they compute ---


@pytest.mark.parametrize("name", DEVICES)
def test_among_the_kernels_of_the_compiler(name):
    backend_or_skip(name)

    @phlox.jit(backend=name)
    def f(x):
        return 2 * reverse(x + 1) + reverse(x)

    np.testing.assert_array_equal(f(X), 2 * (X[:, ::-1] + 1) + X[:, ::-1])


@pytest.mark.parametrize("name", DEVICES)
def test_outside_of_jitted_functions(name):
    backend_or_skip(name)
    found = reverse(phlox.device_put(X, name))
    assert isinstance(found, phlox.DeviceArray)
    np.testing.assert_array_equal(found, X[:, ::-1])
    with phlox.device(name):
        found = reverse(X)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, X[:, ::-1])


OF_A_TABLE = """
@table = private unnamed_addr constant [2 x i32] [i32 3, i32 4]
@counts = global i32 5
define void @of_a_table(ptr %x, ptr %y) {
  %four = load i32, ptr getelementptr (i32, ptr @table, i64 1)
  %five = load i32, ptr @counts
  %sum = add i32 %four, %five
  store i32 %sum, ptr %y
  ret void
}"""


@pytest.mark.parametrize("name", ["opencl", "fibers", "gfx90a", "sm_80"])
def test_variables_of_a_module(name, emulated):
    backend = backend_or_skip(name) if name in DEVICES else emulated(name)
    of_a_table = kernel("of_a_table", result=lambda x: x, grid=1, block=1, llvm=OF_A_TABLE)
    assert backend.compile(parse_module(phlox.jit(lambda x: of_a_table(x)).lower(ONE).as_text()))(ONE)[0] == 9


def test_on_a_processor():
    """Each array is a parameter there, too, where the compiler's kernels have vectors of addresses."""
    executable = processor_backend().compile(parse_module(phlox.jit(lambda x: reverse(x + 1)).lower(X).as_text()))
    np.testing.assert_array_equal(executable(X)[0], X[:, ::-1] + 1)


@pytest.mark.parametrize("name", DEVICES)
def test_in_loops_and_in_order(name):
    """The arrays of a loop lie elsewhere in each round."""
    backend_or_skip(name)

    def f(x, count):
        return phlox.fori_loop(0, count, lambda i, x: reverse(x) + x[:, :1], x)

    expected = X
    for _ in range(5):
        expected = expected[:, ::-1] + expected[:, :1]
    np.testing.assert_array_equal(phlox.jit(f, backend=name)(X, 5), expected)


@pytest.mark.parametrize("name", DEVICES)
def test_scalars_and_several_results(name):
    backend_or_skip(name)
    ends = kernel(
        "ends",
        result=lambda x, scale: [(x.dtype, ()), Shape(F32, (1, 1))],
        grid=1,
        block=1,
        llvm=lambda x, scale: (
            f"""
define void @ends(ptr %x, ptr %scale, ptr %first, ptr %last) {{
  %a = load float, ptr %x
  %factor = load float, ptr %scale
  %scaled = fmul float %a, %factor
  store float %scaled, ptr %first
  %place = getelementptr float, ptr %x, i32 {x.shape[0] - 1}
  %b = load float, ptr %place
  store float %b, ptr %last
  ret void
}}"""
        ),
    )
    first, last = phlox.jit(lambda x, scale: ends(x, scale + 1), backend=name)(X[3], np.float32(2))
    assert first == 3 * X[3, 0] and isinstance(first, np.float32)
    np.testing.assert_array_equal(last, X[3:4, -1:])


def test_a_grid_of_three_dimensions():
    backend_or_skip("opencl")
    names = [f"phlox.{kind}.{axis}" for kind in ("thread", "block", "threads", "blocks") for axis in "xyz"]
    lines = [f"  %{name} = call i32 @{name}()" for name in names]
    for axis, above in zip("zyx", (None, "z", "y")):  # the number of the thread among all
        size, own, before = f"threads.{axis}", f"thread.{axis}", "0" if above is None else f"%sum.{above}"
        lines += [
            f"  %wide.{axis} = mul i32 %phlox.block.{axis}, %phlox.{size}",
            f"  %index.{axis} = add i32 %wide.{axis}, %phlox.{own}",
            f"  %count.{axis} = mul i32 %phlox.blocks.{axis}, %phlox.{size}",
            f"  %scaled.{axis} = mul i32 {before}, %count.{axis}",
            f"  %sum.{axis} = add i32 %scaled.{axis}, %index.{axis}",
        ]
    text = "\n".join([
        *[f"declare i32 @{name}()" for name in names],
        "define void @number(ptr %y) {",
        *lines,
        "  %place = getelementptr i32, ptr %y, i32 %sum.x",
        "  store i32 %sum.x, ptr %place",
        "  ret void",
        "}",
    ])  # fmt: skip
    number = kernel("number", result=(np.int32, (4 * 3 * 5 * 2 * 3 * 2,)), grid=(2, 3, 5), block=(4, 3, 2), llvm=text)
    np.testing.assert_array_equal(phlox.jit(lambda: number(), backend="opencl")(), np.arange(720))


def test_spirv_and_the_shared_memory_of_the_launch():
    opencl_driver()
    sizes = {"result": lambda x: x, "grid": 10, "block": 64}
    own = kernel("reverse", opencl=spirv(REVERSE), **sizes)
    asked = kernel("reverse", opencl=spirv(REVERSE_DYNAMIC), shared_bytes=256, **sizes)
    np.testing.assert_array_equal(phlox.jit(lambda x: own(x), backend="opencl")(X), X[:, ::-1])
    np.testing.assert_array_equal(phlox.jit(lambda x: asked(x), backend="opencl")(X), X[:, ::-1])
    text = kernel("reverse", opencl=REVERSE, **sizes)  # LLVM assembly of the family's own
    np.testing.assert_array_equal(phlox.jit(lambda x: text(x), backend="opencl")(X), X[:, ::-1])


def test_the_text_of_a_program_is_complete():
    module = parse_module(phlox.jit(lambda x: reverse(x)).lower(X).as_text())
    assert parse_module(module.as_text()).as_text() == module.as_text()
    backend_or_skip("opencl")
    (found,) = phlox.backends.registry.get_backend("opencl").compile(module)(X)
    np.testing.assert_array_equal(found, X[:, ::-1])


# --- code for devices that are not here ---


@pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("architecture", PTX_ARCHITECTURES)
def test_ptx_of_assembly_for_all_families(architecture):
    (made,) = program(lambda x: reverse(x), X, architecture=architecture).custom_kernels
    (resources,) = assemble(made.code, architecture).values()
    assert not resources.spill_bytes and not resources.stack_bytes
    assert b"bar.sync" in made.code and made.launch_bytes == 256


@pytest.mark.parametrize("architecture", AMD_ARCHITECTURES)
def test_code_objects_of_assembly_for_all_families(architecture):
    (made,) = program(lambda x: reverse(x), X, architecture=architecture).custom_kernels
    assert made.code.startswith(b"\x7fELF") and made.declared_bytes == 256


def test_a_plan_launches_it_once_its_operands_are_there():
    plan = program(lambda x: reverse(x + 1), X, architecture="sm_80").plan.as_text()
    launches = [line for line in plan.splitlines() if line.startswith("launch")]
    assert launches[1] == "launch reverse.0, 10 blocks of 64 threads, 256 bytes in common: temporary 0, result 0"
    assert len(launches) == 2


def test_a_family_has_code_of_its_own():
    both = five(cuda=PTX)
    (made,) = program(lambda x: both(x), ONE, architecture="sm_80").custom_kernels
    assert made.code == PTX.encode() and made.entry == "five"
    (other,) = program(lambda x: both(x), ONE, architecture="gfx942").custom_kernels
    assert other.code.startswith(b"\x7fELF")


def test_equal_calls_are_one_and_others_are_not():
    def f(x, y):
        return reverse(x), reverse(y), reverse(x[:5])

    made = program(f, X, X + 1, architecture="sm_80")
    assert [one.name for one in made.custom_kernels] == ["reverse.0", "reverse.1"]


@pytest.mark.parametrize("has_effects", [False, True])
def test_a_kernel_whose_result_nobody_needs(has_effects):
    unneeded = five(has_side_effect=has_effects)

    def f(x):
        unneeded(x)
        return x + 1

    assert len(program(f, ONE, architecture="sm_80").custom_kernels) == has_effects


# --- what is wrong ---


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize(("codes", "families"), [({"cuda": PTX, "opencl": b"x"}, "cuda, opencl"), ({"rocm": b"x"}, "rocm")])
def test_other_backends_say_for_which_there_is_code(backend, codes, families):
    one = five(llvm=None, **codes)
    with pytest.raises(NotImplementedError, match=f"kernel 'five' has code for {families}, and runs on GPUs alone"):
        phlox.jit(lambda x: one(x), backend=backend)(ONE)


def test_a_family_without_code():
    one = five(llvm=None, cuda=PTX, opencl=b"x")
    with pytest.raises(NotImplementedError, match="kernel 'five' has no code for rocm; it has some for cuda, opencl"):
        program(lambda x: one(x), ONE, architecture="gfx942")


@pytest.mark.parametrize(
    ("architecture", "changed", "message"),
    [
        ("sm_80", {"entry": "six"}, "no kernel 'six' in its code, which has five"),
        ("sm_80", {"llvm": "define void @five(ptr %x, ptr %y {"}, r"does not take the code of the kernel 'five'(.|\n)*1:34"),
        ("sm_80", {"llvm": "define void @five(ptr %x) {\n  ret void\n}"}, "'five' takes 1 pointers; 2 arrays and results"),
        ("sm_80", {"llvm": "declare i32 @phlox.grid()\n" + FIVE}, "'five' calls phlox.grid, which is not defined; there are"),
        ("sm_80", {"llvm": FIVE.replace("store i32 5", "store i32 %z")}, "use of undefined value '%z'"),
        ("gfx942", {"rocm": "five"}, r"a code object \(bytes\), or LLVM assembly is required for rocm"),
        ("sm_80", {"cuda": PTX, "entry": "six"}, "no kernel 'six' in its code, which has five"),
        ("sm_80", {"cuda": PTX.replace(", .param .u64 y", "")}, "'five' takes 1 pointers; 2 arrays and results"),
        ("", {"opencl": b"five"}, r"SPIR-V module \(bytes\), SPIR-V as text, or LLVM assembly is required for opencl"),
        ("", {"opencl": b"\x03\x02\x23\x07nonsense"}, r"'five' is taken as a SPIR-V module \(bytes\): it is whole words"),
        ("", {"opencl": spirv(REVERSE)}, "no kernel 'five' in its code, which has reverse"),
        (
            "",
            {"opencl": spirv(REVERSE), "entry": "reverse", "shared_bytes": 4},
            "takes 2 pointers; 2 arrays and results and shared",
        ),
    ],
)
def test_code_that_is_not_that_of_the_kernel(architecture, changed, message):
    one = five(**changed)

    def users_function(x):
        return one(x)

    with pytest.raises(DeviceCodeError, match=message) as raised:
        program(users_function, ONE, architecture=architecture)
    assert "return one(x)" in "".join(traceback.format_exception(raised.value))


def test_code_that_ends_llvm():
    """LLVM ends its process where it has no instruction for something."""
    text = FIVE.replace("  ret", "  %z = call i32 @llvm.amdgcn.workitem.id.x()\n  store i32 %z, ptr %y\n  ret")
    one = five(llvm="declare i32 @llvm.amdgcn.workitem.id.x()\n" + text)
    with pytest.raises(DeviceCodeError, match="LLVM does not take the code of the kernel 'five': .*amdgcn"):
        program(lambda x: one(x), ONE, architecture="sm_80")


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"opencl": WITHOUT_MEMORY_MODEL, "entry": "reverse"}, DeviceCodeError, "does not take code: CL_"),
        ({"block": 1 << 20}, DeviceCodeError, "blocks of 1,048,576 threads; .* has at most"),
        (
            {"opencl": spirv(REVERSE_DYNAMIC), "entry": "reverse", "shared_bytes": 1 << 30},
            SharedMemoryError,
            r"'reverse' needs 1,073,741,824 bytes of shared memory; .* has \d",
        ),
    ],
)
def test_what_a_device_refuses(changed, error, message):
    opencl_driver()
    one = five(**changed)

    def users_function(x):
        return one(x)

    with pytest.raises(error, match=message) as raised:
        phlox.jit(users_function, backend="opencl")(ONE)
    assert "return one(x)" in "".join(traceback.format_exception(raised.value))
    np.testing.assert_array_equal(phlox.jit(lambda x: x + 1, backend="opencl")(ONE), [1])


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"grid": 1.5}, TypeError, "grid requires integers, got 1.5"),
        ({"grid": (1, 2, 3, 4)}, ValueError, "grid has one to three sizes"),
        ({"grid": -1}, ValueError, "grid is between 0 and"),
        ({"block": 0}, ValueError, "block is between 1 and"),
        ({"shared_bytes": -1}, ValueError, "shared_bytes is between 0 and"),
        ({"result": 3}, TypeError, "a result is a phlox.hlo.Shape, a pair"),
        ({"llvm": b"text"}, TypeError, "llvm is LLVM assembly as text"),
        ({"llvm": None, "cuda": 3}, TypeError, "cuda is text or bytes of code, got 3"),
        ({"llvm": None}, TypeError, "code is required, as one of llvm, cuda, rocm, opencl"),
        ({"entry": ""}, TypeError, "the name of the kernel"),
    ],
)
def test_what_does_not_describe_a_kernel(changed, error, message):
    with pytest.raises(error, match=message):
        phlox.jit(lambda x: five(**changed)(x)).lower(ONE)


def test_a_config_that_does_not_describe_a_kernel():
    text = phlox.jit(lambda x: five()(x)).lower(ONE).as_text()
    module = parse_module(re.sub(r'backend_config="(\\.|[^"])*"', 'backend_config="{}"', text))
    with pytest.raises(ValueError, match="backend_config does not describe a kernel"):
        program_of(module, target("sm_80"))
