"""SPIR-V as text: that of LLVM beside its modules, that of others beside SPIR-V Tools, and what is wrong in texts."""

import random
import re
import struct
import traceback
from decimal import Decimal

import ml_dtypes
import numpy as np
import phlox
import pytest
from gpu_backends import WITH_SAMPLES, native_samples, target
from hot_programs import HOT_PROGRAMS, hot_module
from opencl_device import opencl_driver
from operation_checks import module_of
from phlox.backends.gpu.backend import program_of
from phlox.backends.gpu.code_generation import spirv
from phlox.backends.gpu.code_generation.spirv_print import with_own_numbers
from phlox.backends.gpu.given_code.spirv_assembler import assemble_spirv
from phlox.backends.gpu.given_code.spirv_blocks import check_blocks
from phlox.backends.gpu.given_code.spirv_grammar import enumerations, instructions, opencl_instructions
from phlox.backends.gpu.given_code.spirv_module import spirv_kernels
from phlox.backends.gpu.given_code.text_places import TextError
from phlox.gpu import DeviceCodeError, kernel
from spirv_tools import assembled_by_tools, needs_spirv_tools, printed_by_tools
from thinning import left_to_ci, one_in

SCALE = """
; SPIR-V
; Version: 1.2
               OpCapability Addresses
               OpCapability Kernel
               OpCapability Int64
    %opencl = OpExtInstImport "OpenCL.std"
               OpMemoryModel Physical64 OpenCL
               OpEntryPoint Kernel %scale "scale" %id
               OpName %root "a \\"name\\", with a ; in it"
               OpDecorate %id BuiltIn GlobalInvocationId
               OpDecorate %id Constant
       %void = OpTypeVoid
      %float = OpTypeFloat 32
      %ulong = OpTypeInt 64 0
     %vector = OpTypeVector %ulong 3
      %input = OpTypePointer Input %vector
    %pointer = OpTypePointer CrossWorkgroup %float
       %type = OpTypeFunction %void %pointer %pointer
        %two = OpConstant %float 0x1p+1
         %id = OpVariable %input Input
      %scale = OpFunction %void None %type
          %x = OpFunctionParameter %pointer
          %y = OpFunctionParameter %pointer
      %entry = OpLabel
     %number = OpLoad %vector %id Aligned 32
      %index = OpCompositeExtract %ulong %number 0 ; of the first dimension
       %from = OpInBoundsPtrAccessChain %pointer %x %index
      %value = OpLoad %float %from Volatile|Aligned 4
       %root = OpExtInst %float %opencl sqrt %value
    %product = OpFMul %float %root %two
         %to = OpInBoundsPtrAccessChain %pointer %y %index
               OpStore %to %product Aligned 4
               OpReturn
               OpFunctionEnd
"""
NUMBERS = """
%1 = OpTypeInt 8 0
%2 = OpTypeInt 16 1
%3 = OpTypeInt 32 0
%4 = OpTypeInt 64 1
%5 = OpTypeFloat 16
%6 = OpTypeFloat 32
%7 = OpTypeFloat 64
"""
X = np.arange(256, dtype=np.float32)


def scale(**changed):
    return kernel(**{"entry": "scale", "result": lambda x: x, "grid": 4, "block": 64, "opencl": SCALE, **changed})


def body(module):
    """The words behind the header, of which the generator and the bound are anyone's."""
    return module[:8].hex(), list(struct.unpack(f"<{len(module) // 4 - 5}I", module[20:]))


# --- the text of LLVM ---


def assert_text_is_module(module, monkeypatch):
    """That of the text of each of the program's parts comes the module that LLVM makes of it."""
    emit, parts = spirv.emit_apart, []

    def emit_both(llvm_ir, form, *others):
        made = emit(llvm_ir, form, *others)
        parts.append((with_own_numbers(emit(llvm_ir, "assembly", *others).decode()), made))
        return made

    monkeypatch.setattr(spirv, "emit_apart", emit_both)
    program_of(module, target(""))
    for text, made in parts:
        assert body(assemble_spirv(text)) == body(made)
        check_blocks(text)
    return parts


@pytest.mark.parametrize("opcode", one_in(len(WITH_SAMPLES), WITH_SAMPLES, ci_step=4))
def test_text_of_samples_is_their_module(opcode, monkeypatch):
    samples = native_samples(opcode)
    if samples:
        assert_text_is_module(module_of(opcode, samples)[0], monkeypatch)


@pytest.mark.parametrize("name", one_in(len(HOT_PROGRAMS), HOT_PROGRAMS, ci_step=2))
def test_text_of_programs_is_their_module(name, monkeypatch):
    assert assert_text_is_module(hot_module(name), monkeypatch)


def test_numbers_that_llvm_prints_otherwise():
    stores = {
        "half": ["0xH3C00", "0xH7C00", "0xHFC00", "0xHFE01", "0xH0001", "0xH8000"],
        "double": ["0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000", "0x0000000000000001"],
        "float": ["0x7FF0000000000000", "0x7FF8000000000000", "0x36A0000000000000"],
        "i8": ["-1"],
        "i64": ["-1"],
    }
    lines = [f"  store {type_} {value}, ptr addrspace(1) %x" for type_, values in stores.items() for value in values]
    llvm_ir = "\n".join(["define spir_kernel void @f(ptr addrspace(1) %x) {", *lines, "  ret void", "}"])
    text, module = (spirv.emit_apart(llvm_ir, form, target("").triple) for form in ("assembly", "object"))
    assert body(assemble_spirv(with_own_numbers(text.decode()))) == body(module)


@pytest.mark.of_gpus
def test_text_that_phlox_prints_runs_edited():
    opencl_driver()
    compiled = phlox.jit(lambda x: np.float32(3) * x, backend="opencl").compile(X)
    (name,) = re.findall(r'OpEntryPoint Kernel \S+ "(\w+)"', compiled.as_text("assembly"))
    edited = re.sub(r"(OpConstant %\d+) 3$", r"\1 5", compiled.as_text("assembly"), flags=re.MULTILINE)
    _, blocks, threads = re.search(rf"launch ({name}), (\d+) blocks of (\d+) threads", compiled.as_text("plan")).groups()
    five = scale(entry=name, grid=int(blocks), block=int(threads), opencl=edited)
    np.testing.assert_array_equal(phlox.jit(lambda x: five(x), backend="opencl")(X), 5 * X)


# --- the text of others ---


def test_text_by_hand_runs():
    opencl_driver()
    np.testing.assert_allclose(phlox.jit(lambda x: scale()(x), backend="opencl")(X), 2 * np.sqrt(X), rtol=1e-6)


@needs_spirv_tools
@pytest.mark.parametrize("options", [(), ("--raw-id",), ("--no-indent", "--comment"), ("--no-header", "--offsets")])
def test_text_that_tools_print(options):
    """Ids have other numbers in texts with names."""
    text = printed_by_tools(assemble_spirv(SCALE), *options)
    assert body(assemble_spirv(text))[1] == body(assembled_by_tools(text))[1]
    assert ("Version: 1.2" in text) == (assemble_spirv(text)[4:8] == b"\0\2\1\0")


OPERANDS = {
    "id": "%3", "type": "%1", "integer": "7", "float": "1.5", "string": '"a \\" b"', "number": "9", "case": "11",
    "extended": "exp %3", "operation": "IAdd %3 %3",
}  # fmt: skip


def an_operand(kind, name=None):
    """Text for an operand; of a kind with names, this one or the first, and what it is followed by."""
    if kind in OPERANDS:
        return OPERANDS[kind]
    values = enumerations()[kind].values
    name = name or next(iter(values))
    return " ".join([name, *[an_operand(one) for operand in values[name][1] for one in operand.kinds]])


def statements(number, name, operands, are_all):
    """The instruction with all operands, or those that it needs."""
    words = [f"%{number} =", name] if any(one.kinds == ("result",) for one in operands) else [name]
    for operand in operands:
        count = {"": 1, "?": int(are_all), "*": 2 * are_all}[operand.quantifier]
        if operand.kinds != ("result",):
            words += [an_operand(kind) for _ in range(count) for kind in operand.kinds]
    text = " ".join(words)
    if name.startswith("OpExtInst"):
        if name == "OpExtInstImport":
            text = text.replace(OPERANDS["string"], '"OpenCL.std"')
        else:
            text = text.replace("%1 %3 exp %3 %3 %3", "%1 %3 exp %3").replace("%1 %3", "%1 %2")
    return text


def every_instruction():
    """A text with every instruction, every name of a number and every extended instruction that is known."""
    lines = ["%1 = OpTypeInt 32 0", '%2 = OpExtInstImport "OpenCL.std"', "%3 = OpUndef %1"]
    for name, (_, operands) in instructions().items():
        for are_all in (False, True):
            lines.append(statements(len(lines) + 1, name, operands, are_all))
    carriers = {
        kind: f"OpDecorate %3 {name} "
        + " ".join(an_operand(one) if one != kind else "{}" for of in operands for one in of.kinds)
        for name, (_, operands) in enumerations()["Decoration"].values.items()
        for kind in {one for of in operands for one in of.kinds}
    }
    for kind, (_, values) in enumerations().items():
        of = [
            statements(0, name, operands, True)
            for name, (_, operands) in instructions().items()
            if (kind,) in [one.kinds for one in operands]
        ]
        for name in values:
            number = len(lines) + 1
            if of:
                lines.append(of[0].replace("%0 =", f"%{number} =").replace(an_operand(kind), an_operand(kind, name), 1))
            elif kind in carriers:
                lines.append(carriers[kind].format(an_operand(kind, name)))
    for name, (_, operands) in opencl_instructions().items():
        given = " ".join(an_operand(kind) for operand in operands for kind in operand.kinds)
        lines.append(f"%{len(lines) + 1} = OpExtInst %1 %2 {name} {given}")
    return "\n".join(lines)


@needs_spirv_tools
def test_the_grammar_is_that_of_spirv_tools():
    text = every_instruction()
    assert body(assemble_spirv(text))[1] == body(assembled_by_tools(text))[1]


@needs_spirv_tools
@pytest.mark.parametrize(
    "line",
    [
        "%8 = OpConstant %1 255", "%8 = OpConstant %1 0xff", "%8 = OpConstant %2 -32768", "%8 = OpConstant %2 0xffff",
        "%8 = OpConstant %3 4294967295", "%8 = OpConstant %4 -1", "%8 = OpConstant %4 0x8000000000000000",
        "%8 = OpConstant %5 -0x1.8p+16", "%8 = OpConstant %5 65504", "%8 = OpConstant %5 0x1p-24", "%8 = OpConstant %6 0.1",
        "%8 = OpConstant %6 -0", "%8 = OpConstant %6 0x1p+128", "%8 = OpConstant %6 -0x1.8p+128", "%8 = OpConstant %6 1e-45",
        "%8 = OpConstant %6 3.4028234663852886e+38", "%8 = OpConstant %7 0x1p+128", "%8 = OpConstant %7 0x1p+1024",
        "%8 = OpConstant %7 2.2250738585072011e-308", "%8 = OpConstant %7 -1e23",
        "%8 = OpUndef %4 OpSwitch %8 %9 -1 %10 7 %9 %9 = OpLabel %10 = OpLabel",
        "%name = OpUndef %4 %10 = OpCopyObject %4 %other %other = OpUndef %4 ; both orders",
        '%8 = OpString "\\\\ \\n \\"" OpSourceContinued "two\nlines; and words"', "%8 = OpString \"d\u00e9j\u00e0 vu\"",
        "OpDecorate %1 !44 !0x10 %2 7 1.5 \"text\"", "OpNop !0x00010000 !65793", "OpStore %1 %2 !2 !4",
    ],
)  # fmt: skip
def test_literals_are_those_of_spirv_tools(line):
    assert body(assemble_spirv(NUMBERS + line))[1] == body(assembled_by_tools(NUMBERS + line))[1]


@pytest.mark.parametrize(
    "width, dtype", [(16, np.float16), (32, np.float32), (64, np.float64), ("16 BFloat16KHR", ml_dtypes.bfloat16)]
)
def test_numbers_are_rounded_once(width, dtype):
    """Beside NumPy, which rounds numbers of 64 bits; those that lie halfway are among them."""
    bits = np.dtype(dtype).itemsize * 8
    rng = np.random.default_rng(0)
    integers = rng.integers(0, (1 << bits - 1) - 1, 200, dtype=np.uint64).astype(f"u{bits // 8}")
    values = integers.view(dtype)
    with np.errstate(invalid="ignore"):  # of NaNs
        values = values.astype(np.float64)
    values = values[np.isfinite(values)][:60]
    if bits < 64:
        above = np.nextafter(values.astype(dtype), dtype(np.inf)).astype(np.float64)
        values = np.concatenate([values, (values + above) / 2, values * 1e-3])
    lines = [f"%{number} = OpConstant %1 {Decimal(value):f}" for number, value in enumerate(values.tolist(), 2)]
    module = assemble_spirv("\n".join([f"%1 = OpTypeFloat {width}", *lines]))
    count = 2 if bits == 64 else 1
    words = np.frombuffer(module[-4 * (3 + count) * len(values) :], np.uint32).reshape(len(values), -1)[:, 3:]
    found = words.copy().view(np.uint64)[:, 0] if bits == 64 else words[:, 0]
    expected = values.astype(dtype).view(f"u{bits // 8}")
    np.testing.assert_array_equal(found, expected)


# --- what is wrong ---


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("five", "line 1, column 1: an instruction is required, as %1 = OpTypeVoid, got five"),
        ("OpCapability Kernel\n  OpTypVoid", "line 2, column 3: OpTypVoid is no instruction; is it OpTypeVoid or"),
        ("%1 = OpTypeVoid\n%1 = OpTypeBool", "line 2, column 1: %1 is defined already, in line 1"),
        ("%1 = OpTypeVoid\n%2 = OpUndef %tpye\n%type = OpTypeBool", "line 2, column 14: %tpye is not defined; is it %type?"),
        ("OpTypeVoid", "column 1: OpTypeVoid has a result: %name = OpTypeVoid ..."),
        ("%1 = OpReturn", "column 1: OpReturn has no result"),
        ("%1 =", "an instruction is required behind ="),
        ("%1 = OpTypeInt 32", "column 16: OpTypeInt takes integer integer; an integer is missing behind 32"),
        ("%1 = OpTypeInt 32 0 0", "column 21: OpTypeInt takes integer integer; 0 is one more"),
        ("%1 = OpTypeInt 32 -1", "column 19: an unsigned integer of 32 bits is required, between 0 and 4294967295, got -1"),
        ("OpCapability Kernal", "Kernal is no Capability; is it Kernel"),
        ("%1 = OpTypeVoid\nOpStore %1 %1 Volatile|Alined 4", "line 2, column 24: Alined is no MemoryAccess; is it Aligned?"),
        ("%1 = OpTypeVoid OpStore %1 %1 Aligned", "an integer is missing behind Aligned"),
        ("OpMemoryModel 3 OpenCL", "3 is no AddressingModel; there are Logical, Physical32"),
        ("%1 = OpTypeFloat 16 %2 = OpConstant %1 65520", "floating-point number of 16 bits is required, which is finite"),
        ("%1 = OpTypeFloat 32 %2 = OpConstant %1 ten", "floating-point number of 32 bits is required, got ten"),
        ("%1 = OpTypeInt 8 0 %2 = OpConstant %1 256", "unsigned integer of 8 bits is required, between 0 and 255, got 256"),
        ("%1 = OpTypeInt 8 0 %2 = OpConstant %1 1.5", "unsigned integer of 8 bits is required, got 1.5"),
        ("%2 = OpConstant %1 1 %1 = OpTypeInt 8 0", "column 17: %1 is no OpTypeInt or OpTypeFloat that stands before 1"),
        ("OpName name \"name\"", "column 8: an id is required, as %1 or %name, got name"),
        ("%1 = OpString name", 'a string is required, as "text", got name'),
        ("%1 = OpString \"name", "column 15: a string that does not end"),
        ("%a.b = OpTypeVoid", "an id is letters, digits and _ behind a %, got %a.b"),
        ("%4194303 = OpTypeVoid", "numeric ids are between 1 and 4,194,302"),
        ("%1 = OpTypeVoid %2 = OpUndef %1 %3 = OpExtInst %1 %2 exp %2", "names are known of OpenCL.std alone; %2 is no set"),
        ('%1 = OpTypeVoid\n%2 = OpExtInstImport "OpenCL.std"\n%3 = OpExtInst %1 %2 sqr %1', "sqr is no instruction of OpenCL"),
        ('%1 = OpTypeVoid %2 = OpExtInstImport "GLSL.std.450" %3 = OpExtInst %1 %2 Exp %1', "%2 is GLSL.std.450"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_text(text, message):
    with pytest.raises(TextError, match=re.escape(message)):
        assemble_spirv(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SCALE.replace("OpReturn", ""), "line 25, column 16: the block has no end, as OpBranch, "),
        (SCALE.replace("OpFunctionEnd", ""), "line 22, column 16: the function has no OpFunctionEnd"),
        (SCALE.replace("OpFunctionEnd", SCALE[SCALE.index("%scale = OpFunction") :]), "the function has no OpFunctionEnd"),
        (SCALE.replace("%entry = OpLabel", ""), "line 26, column 16: OpLoad stands behind no OpLabel"),
        (SCALE.replace("OpReturn", "OpReturn OpReturn"), "line 34, column 25: OpReturn stands behind no OpLabel"),
        (SCALE + "OpFunctionEnd", "line 36, column 1: OpFunctionEnd stands behind no OpFunction"),
        (SCALE + "%more = OpLabel", "line 36, column 9: OpLabel stands behind no OpFunction"),
    ],
)
def test_what_has_no_blocks(text, message):
    """Intel's compiler for processors ends the process for some of these."""
    with pytest.raises(TextError, match=re.escape(message)):
        check_blocks(text)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"opencl": SCALE.replace("OpReturn", "")}, r"(?s)taken as SPIR-V as text: .*the block has no end"),
        ({"opencl": SCALE.replace("OpFMul", "OpFmul")}, r"(?s)taken as SPIR-V as text: line 31, column 16: OpFmul is .*\^"),
        ({"entry": "other"}, "no kernel 'other' in its code, which has scale"),
        ({"shared_bytes": 4}, "'scale' takes 2 pointers; 2 arrays and results and shared memory were given"),
        ({"opencl": SCALE.replace("%pointer %pointer", "%pointer %ulong")}, "parameter 2 .* is no pointer; it is given"),
        ({"opencl": SCALE.replace("CrossWorkgroup", "Workgroup")}, "parameter 1 .* a pointer to the memory of a block; it is"),
        ({"opencl": assemble_spirv(SCALE)[:-2]}, "is taken as a SPIR-V module .*: it is whole words"),
        ({"opencl": assemble_spirv(SCALE)[:-12]}, "SPIR-V module .*: word .* begins an instruction"),
    ],
)  # fmt: skip
def test_a_kernel_whose_text_is_wrong(changed, message):
    one = scale(**changed)

    def users_function(x):
        return one(x)

    module = phlox.hlo.parse_module(phlox.jit(users_function).lower(X).module.as_text(metadata=True))
    with pytest.raises(DeviceCodeError, match=message) as raised:
        program_of(module, target(""))
    assert "return one(x)" in "".join(traceback.format_exception(raised.value))


@left_to_ci
def test_damaged_texts():
    """They are modules, or refused."""
    rng = random.Random(0)
    pieces = [*'%="!|;\\ \n0x19ap+-', "Op", "OpTypeInt", "%two", "!1", "9" * 30]
    whole = SCALE + NUMBERS.replace("%", "%n") + "OpStore %x %y !4 5 1.5 %n1"
    refused = 0
    for _ in range(600):
        text = whole
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(text))
            text = text[:place] + rng.choice(["", *pieces]) + text[place + rng.randint(0, 6) :]
        try:
            spirv_kernels(assemble_spirv(text))
            check_blocks(text)
        except ValueError:
            refused += 1
    assert 300 < refused < 600
