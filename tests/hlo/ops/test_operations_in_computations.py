"""Every operation inside of every kind of computation that another operation calls: native code against the reference."""

import numpy as np
import pytest
from called_operations import KINDS, SCALAR_KINDS, Kinds
from environments import prepared_environment
from phlox.backends.registry import get_backend
from phlox.hlo import OPERATIONS, HloError, parse_module

X = np.float32([2, -3, 5, 1])
# Nothing that two runs agree on, or something that only the entry computation can have.
LEFT_OUT = {
    "parameter", "rng", "rng-get-and-update-state", "trace", "infeed", "outfeed", "send", "recv", "send-done", "recv-done",
}  # fmt: skip
OPCODES = [opcode for opcode, record in OPERATIONS.items() if record.samples() and opcode not in LEFT_OUT]
# What docs/gaps.md says that compiled code refuses in called computations.
REFUSALS = ("in a computation that is applied to each element has no native code", "bytes of temporaries")
REFUSAL_OF_SIZES = "dynamic dimensions in the computation of"


def run(module, backend):
    """The results, or NotImplementedError."""
    try:
        executable = get_backend(backend).compile(module)
    except NotImplementedError as error:
        return error
    with prepared_environment(module).active():
        return executable(X)


def check(opcode, sample, kind):
    """The module has the same results, or the native code is missing for a reason that is listed."""
    try:
        module = Kinds(opcode, sample).module(kind)
    except HloError:
        return False
    found = run(module, "cpu")
    if isinstance(found, NotImplementedError):
        message = str(found)
        is_listed = kind in SCALAR_KINDS and any(reason in message for reason in REFUSALS)
        is_listed |= kind in (*SCALAR_KINDS, "scan", "asynchronous") and REFUSAL_OF_SIZES in message
        assert is_listed, f"{opcode} in {kind}: {message}"
        return False
    wanted = run(module, "reference")
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3, err_msg=f"{opcode} {sample.attributes} in {kind}")
    return True


@pytest.mark.parametrize("opcode", OPCODES)
def test_operation_in_one_kind(opcode):
    """Which kind it is goes round with the operations."""
    check(opcode, OPERATIONS[opcode].samples()[0], KINDS[OPCODES.index(opcode) % len(KINDS)])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("opcode", OPCODES)
def test_operation_in_every_kind(opcode, kind):
    for sample in OPERATIONS[opcode].samples()[:3]:
        check(opcode, sample, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_the_kinds_run_what_they_call(kind):
    """The results depend on the operation, but where it is in a condition: that holds either way."""
    sample = OPERATIONS["dot"].samples()[0]
    assert check("dot", sample, kind)
    with_it, without = Kinds("dot", sample), Kinds("dot", sample)
    without.values = [np.full_like(value, -100) for value in without.values]
    if kind not in ("select", "sort", "while_condition"):
        first, second = (run(one.module(kind), "cpu") for one in (with_it, without))
        assert any(np.any(one != other) for one, other in zip(first, second))


def test_names_of_nested_functions():
    """A loop nest that calls a computation with a loop nest of its own kind, and long computations within long ones."""
    assert check("select-and-scatter", OPERATIONS["select-and-scatter"].samples()[1], "select")

    def long(name, shape):
        opcodes = np.random.default_rng(0).choice(["sine", "tanh", "cosine", "negate", "abs"], 1000)
        steps = "\n".join(f"s{k} = {shape} {opcode}(s{k - 1})" for k, opcode in enumerate(opcodes, 1))
        return f"{name} {{\n s0 = {shape} parameter(0)\n{steps}\n"

    inner = long("inner", "f32[]") + "v = f32[2] broadcast(s1000), dimensions={}\n w = f32[2] sort(v), dimensions={0}, "
    inner += "to_apply=below\n x = f32[1] slice(w), slice={[1:2]}\n ROOT r = f32[] reshape(x)\n}\n"
    text = f"""HloModule m
    below {{
      a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT r = pred[] compare(a, b), direction=LT
    }}
    {inner}
    {long("ENTRY main", "f32[4]")}
      m = f32[4] map(s0), dimensions={{0}}, to_apply=inner
      ROOT r = f32[4] add(s1000, m)
    }}"""
    module = parse_module(text)
    wanted, found = (run(module, backend) for backend in ("reference", "cpu"))
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-4)
    assert get_backend("cpu").compile(module).llvm_ir().count('define internal i32 @"part.') > 1
