"""Layouts: values do not depend on them, bytes do, and no pass behind normalization meets them."""

import numpy as np
import pytest
from cpu_passes import SIMPLIFY_AND_FUSE, optimize
from layouts import check_in_layouts
from operation_checks import has_bound, operations_without_native_code
from phlox import jit, load_hlo, register_custom_call
from phlox.compile.layout_normalization import normalize_layouts
from phlox.hlo import OPERATIONS, evaluate, leaves, parse_module, verify
from phlox.runtime import unregister_custom_call
from retyped_samples import operand_shape

X = np.arange(6, dtype=np.float32).reshape(2, 3)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
both_backends = pytest.mark.parametrize("backend", ["reference", "cpu"])


def program(entry, functions=""):
    return f"HloModule layouts\n{functions}\nENTRY main {{ {entry} }}"


def opcodes(computation):
    return [instruction.opcode for instruction in computation.instructions]


# --- bytes ---

BYTES = {
    "an expanded operation": (
        """x = f32[3,3]{1,0} parameter(0)  c = f32[3,3]{0,1} cholesky(x), lower=true
        ROOT b = f32[9]{0} bitcast(c)""",
        lambda x: np.linalg.cholesky(x.astype(np.float64)).ravel("F"),
        np.float32([[4, 2, 2], [2, 5, 3], [2, 3, 6]]),
    ),
    "a call": (
        "x = f32[2,3]{1,0} parameter(0)  y = f32[2,3]{0,1} call(x), to_apply=same  ROOT b = f32[6]{0} bitcast(y)",
        lambda x: x.ravel("F"),
        X,
    ),
    "a copy": (
        "x = f32[2,3,4]{2,1,0} parameter(0)  c = f32[2,3,4]{1,0,2} copy(x)  ROOT b = f32[4,2,3]{2,1,0} bitcast(c)",
        lambda x: x.transpose(2, 0, 1),
        CUBE,
    ),
    "a parameter": (
        "x = f32[2,3,4]{0,2,1} parameter(0)  ROOT b = f32[24]{0} bitcast(x)",
        lambda x: x.transpose(1, 2, 0).ravel(),
        CUBE,
    ),
    "a computation that starts on its own": (
        """x = f32[2,3]{0,1} parameter(0)  s = ((f32[2,3]{0,1}), f32[6]{0}, u32[]) async-start(x), calls=flat
        ROOT d = f32[6]{0} async-done(s)""",
        lambda x: x.ravel("F"),
        X,
    ),
    "branches that see one array in two layouts": (
        """x = f32[2,3]{0,1} parameter(0)  yes = pred[] constant(true)  no = pred[] constant(false)
        a = f32[6]{0} conditional(yes, x, x), true_computation=flat, false_computation=row_major
        b = f32[6]{0} conditional(no, x, x), true_computation=flat, false_computation=row_major
        ROOT s = f32[6]{0} subtract(a, b)""",
        lambda x: x.ravel("F") - x.ravel(),
        X,
    ),
    "the computation of a map": (
        """x = f32[2,3]{0,1} parameter(0)  m = f32[2,3]{0,1} map(x), dimensions={0,1}, to_apply=bits
        ROOT b = f32[6]{0} bitcast(m)""",
        lambda x: -x.ravel("F"),
        X,
    ),
    "there and back": (
        "x = f32[2,3]{0,1} parameter(0)  b = f32[6]{0} bitcast(x)  ROOT c = f32[2,3]{1,0} bitcast(b)",
        lambda x: x.ravel("F").reshape(2, 3),
        X,
    ),
    "an element of a tuple": (
        """t = (f32[2,3]{0,1}, (f32[2,3]{1,0})) parameter(0)  x = f32[2,3]{0,1} get-tuple-element(t), index=0
        r = (f32[2,3]{1,0}) get-tuple-element(t), index=1  y = f32[2,3]{1,0} get-tuple-element(r), index=0
        a = f32[6]{0} bitcast(x)  b = f32[6]{0} bitcast(y)  ROOT s = f32[6]{0} subtract(a, b)""",
        lambda t: t[0].ravel("F") - t[1][0].ravel(),
        (X, (X + 1,)),
    ),
}
FUNCTIONS = """
same { p = f32[2,3]{1,0} parameter(0)  ROOT q = f32[2,3]{1,0} copy(p) }
flat { p = f32[2,3]{0,1} parameter(0)  ROOT q = f32[6]{0} bitcast(p) }
row_major { p = f32[2,3]{1,0} parameter(0)  ROOT q = f32[6]{0} bitcast(p) }
bits { p = f32[] parameter(0)  q = f32[1]{0} bitcast(p)  r = f32[] bitcast(q)  ROOT n = f32[] negate(r) }
"""


@both_backends
@pytest.mark.parametrize("name", BYTES)
def test_a_bitcast_sees_the_layout(name, backend):
    entry, expected, argument = BYTES[name]
    np.testing.assert_allclose(load_hlo(program(entry, FUNCTIONS), backend)(argument), expected(argument), rtol=1e-6)


def convolution(copied):
    """A convolution whose operands come and whose result goes by copies into other layouts, or not."""
    base, kernel = ("c", "d") if copied else ("x", "w")
    return program(f"""
      x = f32[2,5,6,3]{{3,2,1,0}} parameter(0)  w = f32[2,3,3,4]{{3,2,1,0}} parameter(1)
      c = f32[2,5,6,3]{{0,1,2,3}} copy(x)  d = f32[2,3,3,4]{{2,3,1,0}} copy(w)
      v = f32[2,4,4,4]{{{"0,3,1,2" if copied else "3,2,1,0"}}} convolution({base}, {kernel}), window={{size=2x3}},
        dim_labels=b01f_01io->b01f
      ROOT r = f32[2,4,4,4]{{3,2,1,0}} copy(v)""")


def test_convolution_of_copies():
    random = np.random.default_rng(0)
    x, w = (random.integers(-9, 9, sizes).astype(np.float32) for sizes in ((2, 5, 6, 3), (2, 3, 3, 4)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), axis=(1, 2))
    expected = np.einsum("bijfyx,yxfo->bijo", windows, w)
    for copied in (False, True):
        for backend in ("reference", "cpu"):
            np.testing.assert_array_equal(load_hlo(convolution(copied), backend)(x, w), expected)


@both_backends
def test_custom_calls_in_a_loop(backend):
    """What one call returns goes through bitcasts to the next one, in the layout that both state."""
    call = 'custom_call_target="test_scaled", operand_layout_constraints={f32[2,3]{0,1}}'
    functions = f"""
    condition {{ s = (s32[], f32[2,3]{{0,1}}) parameter(0)  k = s32[] get-tuple-element(s), index=0
      ROOT l = pred[] compare(k, s32[] constant(5)), direction=LT }}
    body {{ s = (s32[], f32[2,3]{{0,1}}) parameter(0)  k = s32[] get-tuple-element(s), index=0
      x = f32[2,3]{{0,1}} get-tuple-element(s), index=1  y = f32[2,3]{{0,1}} custom-call(x), {call}
      b = f32[6]{{0}} bitcast(y)  r = f32[6]{{0}} reverse(b), dimensions={{0}}  c = f32[2,3]{{0,1}} bitcast(r)
      n = s32[] add(k, s32[] constant(1))  ROOT t = (s32[], f32[2,3]{{0,1}}) tuple(n, c) }}"""
    entry = f"""x = f32[2,3]{{0,1}} parameter(0)  p = f32[2,3]{{0,1}} custom-call(x), {call}
      w = (s32[], f32[2,3]{{0,1}}) while(tuple(s32[] constant(0), p)), condition=condition, body=body
      g = f32[2,3]{{0,1}} get-tuple-element(w), index=1  ROOT r = (f32[2,3]{{0,1}}, f32[2,3]{{0,1}}) tuple(g, p)"""

    def scaled(x):
        return x * 2 + X

    register_custom_call("test_scaled", scaled)
    try:
        result, first = load_hlo(program(entry, functions), backend)(X)
    finally:
        unregister_custom_call("test_scaled")
    expected = scaled(X)
    np.testing.assert_array_equal(first, expected)
    for _ in range(5):
        expected = scaled(expected).ravel("F")[::-1].reshape(2, 3, order="F")
    np.testing.assert_array_equal(result, expected)


def test_transforms_of_column_major_arrays():
    x = np.asfortranarray(np.arange(48).reshape(6, 8) % 7 + 1j)
    for function in (np.fft.fft, np.fft.ifft, np.fft.fft2):
        np.testing.assert_allclose(jit(function)(x), function(x), atol=1e-12)


# --- the form behind normalization ---


def normalized(text):
    """The entry's instructions behind normalization, which keeps the meaning and has nothing to do a second time."""
    module = parse_module(text)
    after = normalize_layouts(module)
    verify(after)
    assert normalize_layouts(after) is after
    arguments = [np.arange(p.size, dtype=p.dtype).reshape(p.dimensions) for p in module.entry.parameter_shapes]
    if all(target is None for target in map(lambda i: i.attributes.get("custom_call_target"), after.entry.instructions)):
        np.testing.assert_array_equal(evaluate(after.entry, *arguments), evaluate(module.entry, *arguments))
    return [
        f"{instruction.shape} {instruction.opcode}"
        for instruction in after.entry.instructions
        if instruction.opcode != "constant"
    ]


def test_parameters_and_results():
    text = program("x = f32[2,3]{0,1} parameter(0)  y = f32[2,3]{1,0} parameter(1)  ROOT z = f32[2,3]{0,1} add(x, y)")
    forms = ["f32[2,3]{0,1} parameter", "f32[3,2] bitcast", "f32[2,3] transpose", "f32[2,3] parameter", "f32[2,3] add"]
    assert normalized(text) == forms


def test_a_copy_is_a_value():
    text = program("x = f32[2,3]{1,0} parameter(0)  c = f32[2,3]{0,1} copy(x)  ROOT b = f32[3,2]{1,0} bitcast(c)")
    assert normalized(text) == ["f32[2,3] parameter", "f32[2,3] copy", "f32[3,2] transpose"]
    assert opcodes(optimize(parse_module(text)).entry) == ["parameter", "fusion"]


def test_a_chain_of_copies_and_bitcasts_is_nothing():
    text = program("""x = f32[2,3,4]{2,1,0} parameter(0)  c = f32[2,3,4]{0,1,2} copy(x)  b = f32[4,3,2]{2,1,0} bitcast(c)
      d = f32[4,3,2]{0,1,2} copy(b)  ROOT e = f32[2,3,4]{2,1,0} bitcast(d)""")
    assert opcodes(optimize(parse_module(text)).entry) == ["parameter"]


CALL = 'custom-call(x), custom_call_target="f", operand_layout_constraints={f32[2,3]{0,1}}'


def test_custom_calls_keep_their_layouts():
    text = program(f"x = f32[2,3]{{1,0}} parameter(0)  ROOT y = f32[2,3]{{0,1}} {CALL}")
    assert normalized(text) == [
        "f32[2,3] parameter", "f32[3,2] transpose", "f32[2,3]{0,1} bitcast", "f32[2,3]{0,1} custom-call",
        "f32[3,2] bitcast", "f32[2,3] transpose",
    ]  # fmt: skip


def test_what_lies_as_a_custom_call_wants_it_is_not_moved():
    text = program(
        f"x = f32[2,3]{{0,1}} parameter(0)  y = f32[2,3]{{0,1}} {CALL}  ROOT z = f32[2,3]{{0,1}} {CALL.replace('x', 'y')}"
    )
    before = parse_module(text)
    after = optimize(before)
    verify(after)
    assert opcodes(after.entry) == ["parameter", "custom-call", "custom-call", "bitcast", "fusion"]


def test_loops_and_branches_work_on_row_major_arrays():
    functions = """
    condition { s = (f32[2,3]{0,1}) parameter(0)  ROOT no = pred[] constant(false) }
    body { ROOT s = (f32[2,3]{0,1}) parameter(0) }
    branch { p = f32[2,3]{0,1} parameter(0)  ROOT n = f32[2,3]{0,1} negate(p) }"""
    text = program(
        """x = f32[2,3]{0,1} parameter(0)  t = (f32[2,3]{0,1}) tuple(x)
        w = (f32[2,3]{0,1}) while(t), condition=condition, body=body  y = f32[2,3]{0,1} get-tuple-element(w), index=0
        yes = pred[] constant(true)
        ROOT c = f32[2,3]{0,1} conditional(yes, y, x), true_computation=branch, false_computation=branch""",
        functions,
    )
    assert normalized(text)[3:] == [
        "(f32[2,3]) tuple",
        "(f32[2,3]) while",
        "f32[2,3] get-tuple-element",
        "f32[2,3] conditional",
    ]


def test_nothing_behind_the_pipeline_states_a_layout_but_what_is_seen_from_outside():
    for text in (convolution(True), program(BYTES["an element of a tuple"][0]), program(BYTES["a call"][0], FUNCTIONS)):
        after = optimize(parse_module(text), ("expand-collectives", "expand", *SIMPLIFY_AND_FUSE))
        for computation in after.computations():
            for instruction in computation.instructions:
                stated = any(leaf.layout is not None for leaf in leaves(instruction.shape))
                assert not stated or instruction.opcode in ("parameter", "get-tuple-element")


# --- every operation ---

# A bitcast depends on layouts (see test_bitcast.py); the others are not operations on operands.
LEFT_OUT = {"bitcast", "parameter", "rng-get-and-update-state"}
GROUP = 24  # cases that are compiled together


def arrays_of(sample):
    """The shapes of the arrays that the sample states."""
    shapes = [operand_shape(operand) for operand in sample.operands] + ([] if sample.shape is None else [sample.shape])
    return [leaf for shape in shapes for leaf in leaves(shape)]


def is_static(sample):
    return not any(shape.has_dynamic_dimensions for shape in arrays_of(sample))


def has_several_layouts(sample):
    return any(shape.rank > 1 and shape.size > 1 for shape in arrays_of(sample))


SAMPLES = {opcode: [*filter(is_static, record.samples())] for opcode, record in OPERATIONS.items() if opcode not in LEFT_OUT}
NATIVE = [opcode for opcode, samples in SAMPLES.items() if samples and opcode not in operations_without_native_code()]


def cases_of(opcode):
    return [(opcode, sample) for sample in SAMPLES[opcode] if has_bound(opcode, sample)]


@pytest.mark.parametrize("opcode", SAMPLES)
def test_operations_on_the_reference(opcode):
    cases = cases_of(opcode)
    if cases:
        check_in_layouts(cases[:: 1 + len(cases) // 6], np.random.default_rng(len(opcode)), "reference")


@pytest.mark.parametrize("start", range(0, len(NATIVE), GROUP))
def test_one_sample_of_each_operation(start):
    random = np.random.default_rng(start)
    cases = []
    for opcode in NATIVE[start : start + GROUP]:
        telling = [case for case in cases_of(opcode) if has_several_layouts(case[1])] or cases_of(opcode)
        cases.append(telling[random.integers(len(telling))])
    check_in_layouts(cases, random, "cpu")


@pytest.mark.slow
@pytest.mark.parametrize("opcode", NATIVE)
def test_operations(opcode):
    cases = cases_of(opcode)
    for seed in range(4):
        for start in range(0, len(cases), GROUP):
            check_in_layouts(cases[start : start + GROUP], np.random.default_rng(1000 * seed + start), "cpu")
