"""What the builder writes is what llvmlite's writes."""

import pytest
from llvmlite import ir
from phlox.backends.llvm.builder import Builder

I1, I32, F32, F64, POINTER = ir.IntType(1), ir.IntType(32), ir.FloatType(), ir.DoubleType(), ir.PointerType()
VECTOR, GLOBAL = ir.VectorType(F32, 4), ir.PointerType(addrspace=1)
ARGUMENTS = [I1, I32, F32, VECTOR, POINTER, GLOBAL]
INTEGERS = ["add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and_", "or_", "xor"]
FLOATS = ["fadd", "fsub", "fmul", "fdiv", "frem"]
ORDERS = ["<", "<=", ">", ">=", "==", "!="]


def arithmetic(b, condition, number, x, vector, pointer, device):
    for name in INTEGERS:
        emit = getattr(b, name)
        emit(emit(number, number), I32(3), flags=["nuw", "nsw"])
    for name in FLOATS:
        emit = getattr(b, name)
        emit(emit(x, x), F32(3), name="named", flags=("contract",))
        emit(vector, vector)
    b.fneg(b.fneg(x), flags=("fast",))
    b.not_(b.neg(number))


def comparisons(b, condition, number, x, vector, pointer, device):
    for order in ORDERS:
        for compare in (b.icmp_signed, b.icmp_unsigned):
            b.select(compare(order, number, I32(1)), x, F32(2))
        for compare in (b.fcmp_ordered, b.fcmp_unordered):
            b.select(compare(order, vector, vector, flags=("nnan", "ninf")), vector, vector, flags=("fast",))
    b.fcmp_ordered("ord", x, x, name="is_number")
    b.fcmp_unordered("uno", x, x)


def casts(b, condition, number, x, vector, pointer, device):
    wide = b.fpext(x, F64)
    b.fptrunc(wide, F32)
    b.fptrunc(x, F32)
    b.sext(b.zext(b.trunc(number, I1), I32), ir.IntType(64), name="wide")
    b.sitofp(b.fptosi(b.uitofp(b.fptoui(x, I32), F32), I32), F32)
    b.bitcast(vector, ir.VectorType(I32, 4))
    b.inttoptr(b.ptrtoint(b.addrspacecast(device, POINTER), I32), POINTER)


def memory(b, condition, number, x, vector, pointer, device):
    place = b.alloca(F32)
    b.store(x, place)
    b.load(place)
    b.store(b.load(device, typ=VECTOR), pointer, align=8).set_metadata("nontemporal", b.module.add_metadata([I32(1)]))
    b.load(device, typ=VECTOR).set_metadata("range", b.module.add_metadata([I32(1), I32(2)]))
    b.load(pointer, name="read", align=4, typ=F32)
    here = b.gep(pointer, [number, I32(0)], source_etype=ir.ArrayType(F32, 4))
    b.gep(here, [I32(1)], inbounds=True, name='a "name" \\', source_etype=F32)
    b.load(b.gep(device, [number], source_etype=F32), typ=F32)


def elements(b, condition, number, x, vector, pointer, device):
    other = b.insert_element(vector, x, I32(0))
    b.extract_element(other, number, name="one")
    b.shuffle_vector(other, ir.Constant(VECTOR, ir.Undefined), ir.Constant(ir.VectorType(I32, 2), [1, 0]))


def branches(b, condition, number, x, vector, pointer, device):
    with b.if_else(condition, likely=True) as (then, otherwise):
        with then:
            one = b.fadd(x, x)
            here = b.block
        with otherwise:
            there = b.block
    merged = b.phi(F32, name="merged", flags=("fast",))
    merged.add_incoming(one, here)
    merged.add_incoming(x, there)
    with b.goto_entry_block():
        b.mul(number, number)
    b.position_before(merged)
    first = b.phi(I32)
    first.add_incoming(number, here)
    first.add_incoming(I32(1), there)


def calls(b, condition, number, x, vector, pointer, device):
    module = b.module
    kernel = ir.Function(module, ir.FunctionType(ir.VoidType(), [F32, POINTER]), "kernel")
    kernel.calling_convention = "spir_func"
    b.call(kernel, [x, pointer])
    b.call(kernel, (x, pointer), cconv="fastcc", tail="musttail", attrs=("convergent",), arg_attrs={1: ("noalias",)})
    sine = ir.Function(module, ir.FunctionType(F32, [F32]), "sine")
    b.call(sine, [x], name="result", fastmath=("nnan",))
    b.call(sine, [b.call(sine, [x])])
    text = ir.Function(module, ir.FunctionType(I32, [POINTER], var_arg=True), "text")
    b.call(text, [pointer])
    b.call(text, [pointer, number])
    b.call(pointer_to(sine), [x])
    b.call(ir.InlineAsm(ir.FunctionType(F32, [F32]), "ex2.approx.f32 $0, $1;", "=f,f"), [x])
    b.call(ir.Function(module, ir.FunctionType(ir.VoidType(), [ir.MetaDataType()]), "llvm.x"), [module.add_metadata([number])])
    b.fence("acquire")


def pointer_to(function):
    return function.bitcast(function.type)


CASES = [arithmetic, comparisons, casts, memory, elements, branches, calls]


def text_by(builder, write):
    function = ir.Function(ir.Module("written"), ir.FunctionType(ir.VoidType(), ARGUMENTS), write.__name__)
    b = builder(function.append_basic_block("entry"))
    write(b, *function.args)
    b.ret_void()
    return str(function.module)


@pytest.mark.parametrize("write", CASES, ids=lambda write: write.__name__)
def test_texts_are_llvmlites(write):
    assert text_by(Builder, write) == text_by(ir.IRBuilder, write)


WRONG = [
    lambda b, condition, number, *_: b.add(number, number).set_metadata("range", b.module.add_metadata([I32(1)])),
    lambda b, condition, number, x, *_: b.add(number, x),
    lambda b, condition, number, x, *_: b.select(condition, number, x),
    lambda b, condition, number, x, *_: b.icmp_signed("<>", number, number),
    lambda b, condition, number, x, *_: b.load(x, typ=F32),
    lambda b, condition, number, x, vector, pointer, device: b.load(pointer),
    lambda b, condition, number, x, *_: b.store(x, x),
    lambda b, condition, number, x, *_: b.extract_element(x, number),
    lambda b, condition, number, x, vector, *_: b.insert_element(vector, number, number),
    lambda b, condition, number, x, *_: b.call(ir.Function(b.module, ir.FunctionType(F32, [F32]), "f"), [number]),
]


@pytest.mark.parametrize("write", WRONG)
def test_what_would_be_wrong_is_refused(write):
    with pytest.raises((TypeError, ValueError)):
        text_by(Builder, write)
