"""Code that users give: what is read of its kernels before a driver is asked, and what is wrong with it."""

import re
import struct
import subprocess

import numpy as np
import phlox
import pytest
from gpu_backends import AMD_ARCHITECTURES, target
from kernel_of_five import BODY_IN_PTX, FIVE
from phlox.backends.gpu.backend import program_of
from phlox.backends.gpu.given_code.elf_kernels import arguments_of, elf_kernels
from phlox.backends.gpu.given_code.message_pack import unpacked
from phlox.backends.gpu.given_code.parameters import ARRAY
from phlox.backends.gpu.given_code.ptx_text import ptx_kernels
from phlox.backends.gpu.given_code.reading import with_version
from phlox.backends.gpu.given_code.text_places import TextError
from phlox.gpu import DeviceCodeError, DriverTooOldError, kernel
from ptx_assembler import find_ptxas

# Takes two arrays, and has others beside it: a function, and kernels that take something else.
PTX = f"""// .entry commented(.param .u64 x)
.version 7.8
.target sm_80, debug /* as
those before sm_90 */
.address_size 64
.func (.reg .u32 %r) helper(.reg .u32 %a) {{ add.u32 %r, %a, 1; ret; }}
.visible .entry five(.param .u64 x, .param .u64 .ptr .global .align 4 y) {{
{BODY_IN_PTX}
}}
.visible .entry sized(.param .u64 x, .param .align 4 .b8 y[12], .param .u32 n) {{ ret; }}
.entry none
{{ ret; }}
"""
TAKES = {"five": [ARRAY, ARRAY], "sized": [ARRAY, ".param .align 4 .b8 y[12]", ".param .u32 n"], "none": []}
HIP_ARGUMENTS = [
    {".value_kind": "global_buffer", ".size": 8, ".offset": 0, ".address_space": "global"},
    {".value_kind": "by_value", ".size": 4, ".offset": 8},
    {".value_kind": "hidden_block_count_x", ".size": 4, ".offset": 16},
    {".value_kind": "hidden_hostcall_buffer", ".size": 8, ".offset": 96},
]
ONE = np.zeros(1, np.int32)


def compile_five(architecture, **changed):
    one = kernel(**{"entry": "five", "result": (np.int32, 1), "grid": 1, "block": 1, **changed})
    return program_of(phlox.hlo.parse_module(phlox.jit(lambda x: one(x)).lower(ONE).as_text()), target(architecture))


def cubin(folder, architecture):
    if find_ptxas() is None:
        pytest.skip("ptxas is not installed")
    source, made = folder / "five.ptx", folder / "five.cubin"
    source.write_text(PTX.replace("sm_80, debug", architecture))
    subprocess.run([find_ptxas(), f"-arch={architecture}", str(source), "-o", str(made)], check=True)
    return made.read_bytes()


def code_object(architecture):
    def f(x):
        return np.sort(x), x.sum(axis=0)

    module = phlox.hlo.parse_module(phlox.jit(f).lower(np.ones((64, 100), np.float32)).as_text())
    return program_of(module, target(architecture)).code


# --- what is read ---


def test_what_kernels_of_ptx_take():
    assert ptx_kernels(PTX, "sm_90") == TAKES


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_what_kernels_of_cubins_take(architecture, tmp_path):
    found = elf_kernels(cubin(tmp_path, architecture))
    assert found == TAKES | {"sized": [ARRAY, "12 bytes", "4 bytes"]}


@pytest.mark.parametrize("architecture", AMD_ARCHITECTURES[::2])
def test_what_kernels_of_code_objects_take(architecture):
    """Beside another reader of their notes."""
    pytest.importorskip("elftools", reason="pyelftools, which reads code objects, is not installed")
    from amd_emulator.notes import kernels_of  # which needs it
    from code_object_reader import read_elf  # likewise

    code = code_object(architecture)
    kinds = {name: [one[".value_kind"] for one in of.get(".args", [])] for name, of in kernels_of(read_elf(code)).items()}
    assert elf_kernels(code) == {name: [ARRAY] * of.count("global_buffer") for name, of in kinds.items()}


def test_code_objects_of_users_are_checked():
    made = compile_five("gfx90a", llvm=FIVE).custom_kernels[0]
    assert compile_five("gfx90a", rocm=made.code, entry=made.entry).custom_kernels[0].code == made.code
    with pytest.raises(DeviceCodeError, match=f"no kernel 'five' in its code, which has {made.entry}"):
        compile_five("gfx90a", rocm=made.code)
    with pytest.raises(DeviceCodeError, match="'custom_kernel' takes 2 pointers; 3 arrays and results were given"):
        compile_five("gfx90a", rocm=made.code, entry=made.entry, result=[(np.int32, 1)] * 2)


def test_cubins_of_users_are_checked(tmp_path):
    code = cubin(tmp_path, "sm_80")
    assert compile_five("sm_80", cuda=code).custom_kernels[0].code == code
    with pytest.raises(DeviceCodeError, match="no kernel 'helper' in its code, which has "):
        compile_five("sm_80", cuda=code, entry="helper")
    with pytest.raises(DeviceCodeError, match="'five' takes 2 pointers; 3 arrays and results were given"):
        compile_five("sm_80", cuda=code, result=[(np.int32, 1)] * 2)
    with pytest.raises(DeviceCodeError, match="parameter 2 of the kernel 'sized' is 12 bytes; it is given a pointer"):
        compile_five("sm_80", cuda=code, entry="sized", result=[(np.int32, 1)] * 2)


def test_files_that_are_cut_short():
    """Wherever they end, nothing but ValueError comes of it."""
    code = code_object("gfx90a")
    for size in range(0, len(code), 97):
        with pytest.raises(ValueError, match=r"no (whole )?ELF file"):
            elf_kernels(code[:size])
    with pytest.raises(DeviceCodeError, match=r"'five' is taken as a code object \(bytes\): it is no whole ELF file"):
        compile_five("gfx90a", rocm=code[:200])


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\xc0", None), (b"\xff", -1), (b"\x7f", 127), (b"\xd1\xff\x00", -256), (b"\xcf" + b"\0" * 7 + b"\5", 5),
        (b"\xcb" + struct.pack(">d", 1.5), 1.5), (b"\xa3abc", "abc"), (b"\xd9\x20" + b"x" * 32, "x" * 32),
        (b"\xc4\x02ab", b"ab"),
        (b"\xdc\x00\x02\xc2\x90", [False, []]), (b"\xde\x00\x01\xa1k\x81\x01\x02", {"k": {1: 2}}),
    ],
)  # fmt: skip
def test_message_pack(data, value):
    """The examples of its specification's formats."""
    assert unpacked(data) == value
    for size in range(len(data)):
        with pytest.raises(ValueError, match="no whole MessagePack value"):
            unpacked(data[:size])


def test_hidden_arguments_are_the_drivers():
    """What hipcc's code objects have behind those that are given."""
    assert arguments_of({".args": HIP_ARGUMENTS}) == [ARRAY, "by_value of 4 bytes"]
    assert arguments_of({}) == []


# --- what is wrong ---


@pytest.mark.parametrize(
    ("architecture", "text", "message"),
    [
        ("sm_75", PTX, "line 3, column 9: the code is for sm_80, and not for sm_75"),
        ("sm_100", PTX.replace("sm_80", "sm_90a"), "line 3, column 9: the code is for sm_90a, and not for sm_100"),
        ("sm_120", PTX.replace("sm_80", "sm_100f"), "the code is for sm_100f, and not for sm_120"),
        ("sm_80", PTX.replace(".version 7.8", ""), "line 1, column 1: PTX begins with the version of its language"),
        ("sm_80", PTX.replace(".target", "// .target"), "line 2, column 1: PTX names behind its version the architecture"),
    ],
)
def test_ptx_that_a_device_does_not_run(architecture, text, message):
    with pytest.raises(TextError, match=re.escape(message)):
        ptx_kernels(text, architecture)


@pytest.mark.parametrize("architecture, name", [("sm_90", "sm_80"), ("sm_90a", "sm_90a"), ("sm_103", "sm_100f")])
def test_ptx_that_a_device_runs(architecture, name):
    assert ptx_kernels(PTX.replace("sm_80", name), architecture) == TAKES


def test_the_version_for_which_a_driver_is_too_old():
    error = with_version(DriverTooOldError("the driver is too old"), PTX.encode())
    assert isinstance(error, DriverTooOldError)
    assert str(error).startswith(
        "the driver is too old\nline 2, column 1: the driver does not know this version of PTX\n  .version 7.8"
    )
    other = DeviceCodeError("something else")
    assert with_version(other, PTX.encode()) is other


@pytest.mark.parametrize(
    ("architecture", "changed", "message"),
    [
        ("sm_80", {"cuda": PTX, "entry": "commented"}, "no kernel 'commented' in its code, which has five, sized, none"),
        ("sm_80", {"cuda": PTX, "entry": "none"}, "'none' takes 0 pointers; 2 arrays and results were given"),
        ("sm_80", {"cuda": PTX.replace(".u64 x", ".f64 x")}, r"parameter 1 of the kernel 'five' is .param .f64 x"),
        ("sm_80", {"cuda": PTX.replace("sm_80", "sm_90")}, r"(?s)'five' is taken as PTX text: line 3.*\^"),
        ("sm_80", {"llvm": 'target triple = "x86_64-unknown-linux-gnu"\n' + FIVE}, "is for x86_64-.*; nvptx64-nvidia-cuda is"),
        ("gfx90a", {"llvm": 'target triple = "nvptx64-nvidia-cuda"\n' + FIVE}, "is for nvptx64-nvidia-cuda; amd"),
        ("sm_80", {"llvm": FIVE.replace("@five", "@six")}, "no kernel 'five' in its code, which has six"),
        ("sm_80", {"llvm": FIVE.replace("ptr %x", "i64 %x")}, "parameter 1 of the kernel 'five' is i64; it is"),
        ("sm_80", {"llvm": FIVE.replace("ptr %x", "ptr addrspace(1) %x")}, r"parameter 1 .* is ptr addrspace\(1\)"),
        ("", {"llvm": FIVE.replace("void @", "spir_kernel void @")}, "parameter 1 of the kernel 'five' is ptr; it is"),
        ("gfx90a", {"llvm": FIVE.replace("void", "i32").replace("ret i32", "ret i32 0")}, "'five' returns i32; a kernel"),
    ],
)  # fmt: skip
def test_code_that_is_no_kernel_of_these_arrays(architecture, changed, message):
    with pytest.raises(DeviceCodeError, match=message):
        compile_five(architecture, **changed)


@pytest.mark.parametrize("triple", ["unknown-unknown-unknown", "nvptx64-nvidia-cuda"])
def test_assembly_for_the_device(triple):
    assert b".entry" in compile_five("sm_80", llvm=f'target triple = "{triple}"\n{FIVE}').custom_kernels[0].code
