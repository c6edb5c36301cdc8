"""Programs of computations that call each other: their size counts once, however many ways lead to them."""

import re

import numpy as np
import pytest
from cpu_passes import SIMPLIFY_AND_FUSE, optimize
from phlox import hlo
from phlox.backends.registry import get_backend
from phlox.runtime import Environment, HostQueue, register_custom_call, unregister_custom_call

TWICE = {
    "call": "a = f32[4] call(x), to_apply=f{0}\n b = f32[4] call(a), to_apply=f{0}\n ROOT c = f32[4] add(a, b)",
    "fusion": "a = f32[4] fusion(x), kind=kLoop, calls=f{0}\n b = f32[4] fusion(a), kind=kLoop, calls=f{0}\n"
    " ROOT c = f32[4] add(a, b)",
    "conditional": "p = pred[] constant(true)\n"
    " a = f32[4] conditional(p, x, x), true_computation=f{0}, false_computation=f{0}\n"
    " b = f32[4] conditional(p, x, x), true_computation=f{0}, false_computation=f{0}\n ROOT c = f32[4] add(a, b)",
    "while": "z = pred[] constant(true)\n i = (pred[], f32[4]) tuple(z, x)\n"
    " v = (pred[], f32[4]) while(i), condition=once, body=b{0}\n w = (pred[], f32[4]) while(v), condition=once, body=b{0}\n"
    " j = (pred[], f32[4]) while(i), condition=once, body=b{0}\n a = f32[4] get-tuple-element(w), index=1\n"
    " b = f32[4] get-tuple-element(j), index=1\n ROOT c = f32[4] add(a, b)",
    "effects": "a = f32[4] call(x), to_apply=f{0}\n b = f32[4] call(a), to_apply=f{0}\n t = token[] after-all()\n"
    " s = token[] outfeed(b, t)\n ROOT c = f32[4] add(a, b)",
}
BODY = """b{0} {{
 p = (pred[], f32[4]) parameter(0)
 x = f32[4] get-tuple-element(p), index=1
 n = pred[] constant(false)
 y = f32[4] call(x), to_apply=f{0}
 ROOT t = (pred[], f32[4]) tuple(n, y)
}}

"""
ONCE = "once {\n p = (pred[], f32[4]) parameter(0)\n ROOT l = pred[] get-tuple-element(p), index=0\n}\n\n"
LEAF = "HloModule m\n\nf0 {\n x = f32[4] parameter(0)\n h = f32[] constant(0.5)\n s = f32[4] broadcast(h), dimensions={}\n"


def chain(kind, length):
    """x / 2, called twice by a computation that is called twice by one that is called ..."""
    text = LEAF + " ROOT y = f32[4] multiply(x, s)\n}\n\n" + ONCE
    for number in range(length):
        body = BODY.format(number) if kind == "while" else ""
        text += body + f"f{number + 1} {{\n x = f32[4] parameter(0)\n {TWICE[kind].format(number)}\n}}\n\n"
    text += f"ENTRY e {{\n x = f32[4] parameter(0)\n ROOT c = f32[4] call(x), to_apply=f{length}\n}}\n"
    return hlo.parse_module(text)


def value(kind, length):
    """What the chain makes of 1."""

    def run(x, number):
        if number == 0:
            return x / 2
        a = run(x, number - 1)
        if kind == "while":  # the second loop finds that it is not to run
            return a + a
        return a + (a if kind == "conditional" else run(a, number - 1))

    return run(np.float32(1), length)


@pytest.mark.parametrize("kind", [kind for kind in TWICE if kind != "effects"])
@pytest.mark.parametrize("length", [2, 9])
def test_values_of_chains(kind, length):
    (result,) = get_backend("cpu").compile(chain(kind, length))(np.ones(4, np.float32))
    np.testing.assert_allclose(result, np.full(4, value(kind, length)), rtol=1e-5)


@pytest.mark.parametrize("kind", TWICE)
def test_passes_keep_long_chains_short(kind):
    module = chain(kind, 40)
    hlo.verify(module)
    assert hlo.parse_module(module.as_text()) == module
    optimized = optimize(module, ("expand", *SIMPLIFY_AND_FUSE))
    hlo.verify(optimized)
    assert optimized.instruction_count() < 100 * 40


@pytest.mark.parametrize("kind", ["call", "while", "effects"])
def test_long_chains_compile(kind):
    executable = get_backend("cpu").compile(chain(kind, 30))
    assert 3 <= len(re.findall(r"define internal i32 @\"call", executable.llvm_ir())) <= 60
    if kind == "while":  # few of its loops run
        np.testing.assert_array_equal(executable(np.ones(4, np.float32))[0], np.full(4, 0.5 * 2**30, np.float32))


def test_effects_in_functions_happen_in_order_and_as_often_as_written():
    module = chain("effects", 9)
    sent = []
    for backend in ("cpu", "reference"):
        environment = Environment(outfeed=HostQueue("outfeed", 1000, 0.2))
        executable = get_backend(backend).compile(module)
        assert backend == "reference" or "define internal i32" in executable.llvm_ir()
        with environment.active():
            executable(np.ones(4, np.float32))
        sent.append([environment.outfeed.get(0)[0] for _ in range(len(environment.outfeed))])
    assert len(sent[0]) == 2**9 - 1
    assert sent[0] == sent[1]


def test_errors_in_functions_end_the_program():
    calls = []

    def fail_at_fifth(x):
        calls.append(x)
        if len(calls) == 5:
            raise ZeroDivisionError("the fifth")
        return x

    register_custom_call("fail_at_fifth", fail_at_fifth)
    try:
        text = chain("call", 9).as_text().replace("multiply(%x, %s)", 'custom-call(%x), custom_call_target="fail_at_fifth"')
        executable = get_backend("cpu").compile(hlo.parse_module(text))
        with pytest.raises(ZeroDivisionError, match="the fifth"):
            executable(np.ones(4, np.float32))
    finally:
        unregister_custom_call("fail_at_fifth")
    assert len(calls) == 5


def test_functions_with_temporaries():
    """Each has some in the caller's arena, which is on the heap."""
    product = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    text = f"HloModule m\n\nf0 {{\n x = s32[64,64] parameter(0)\n ROOT y = s32[64,64] dot(x, x), {product}\n}}\n\n"
    for number in range(8):
        text += f"f{number + 1} {{\n x = s32[64,64] parameter(0)\n a = s32[64,64] call(x), to_apply=f{number}\n"
        text += f" b = s32[64,64] call(a), to_apply=f{number}\n d = s32[64,64] dot(a, b), {product}\n"
        text += f" e = s32[64,64] dot(d, x), {product}\n ROOT c = s32[64,64] add(e, a)\n}}\n\n"
    text += "ENTRY e {\n x = s32[64,64] parameter(0)\n ROOT c = s32[64,64] call(x), to_apply=f8\n}\n"

    def run(x, number):
        if number == 0:
            return x @ x
        a = run(x, number - 1)
        return a @ run(a, number - 1) @ x + a

    executable = get_backend("cpu").compile(hlo.parse_module(text))
    assert executable.llvm_ir().count("define internal i32 @") >= 1
    assert 0 < executable.memory_analysis()["temporaries"] < 64 * 64 * 4 * 100
    x = np.random.default_rng(0).integers(-9, 9, (64, 64)).astype(np.int32)
    np.testing.assert_array_equal(executable(x)[0], run(x, 8))


def test_reducers_of_many_calls():
    text = "HloModule m\n\nf0 {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] maximum(x, y)\n}\n\n"
    for number in range(30):
        text += (
            f"f{number + 1} {{\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n a = f32[] call(x, y), to_apply=f{number}\n"
        )
        text += f" b = f32[] call(a, y), to_apply=f{number}\n ROOT z = f32[] maximum(a, b)\n}}\n\n"
    text += "ENTRY e {\n x = f32[3,40] parameter(0)\n z = f32[] constant(0)\n"
    text += " ROOT c = f32[3] reduce(x, z), dimensions={1}, to_apply=f30\n}\n"
    assert len(get_backend("cpu").compile(hlo.parse_module(text)).llvm_ir()) < 1e6
    x = np.random.default_rng(0).random((3, 40), np.float32)
    few = hlo.parse_module(text.replace("to_apply=f30", "to_apply=f8"))
    np.testing.assert_array_equal(get_backend("cpu").compile(few)(x)[0], x.max(axis=1))


def test_deep_chains_are_walked_without_recursion():
    text = LEAF + " ROOT y = f32[4] multiply(x, s)\n}\n\n"
    for number in range(2000):
        text += f"f{number + 1} {{\n x = f32[4] parameter(0)\n ROOT y = f32[4] call(x), to_apply=f{number}\n}}\n\n"
    text += "ENTRY e {\n x = f32[4] parameter(0)\n ROOT c = f32[4] call(x), to_apply=f2000\n}\n"
    module = hlo.parse_module(text)
    hlo.verify(module)
    assert module == hlo.parse_module(module.as_text())
    (result,) = get_backend("cpu").compile(module)(np.ones(4, np.float32))
    np.testing.assert_array_equal(result, np.full(4, 0.5, np.float32))


def test_chains_on_dynamic_dimensions():
    def module(length):
        text = chain("call", length).as_text().replace("f32[4]", "f32[<=4]")
        return hlo.parse_module(text.replace("broadcast(%h), dimensions={}", "multiply(%x, %x)"))

    def value(x, number):
        if number == 0:
            return x * (x * x)
        a = value(x, number - 1)
        return a + value(a, number - 1)

    executable = get_backend("cpu").compile(module(10))
    x = np.float32([1e-3, 2e-3, 0])
    np.testing.assert_allclose(executable(x)[0], value(x, 10), rtol=1e-5)
    get_backend("cpu").compile(module(30))
