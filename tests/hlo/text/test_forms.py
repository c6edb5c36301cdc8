"""Forms of HLO text that mean what others mean: what they mean, what is kept of them, and what of their kind is refused."""

import re

import ml_dtypes
import numpy as np
import pytest
from constructs import CONSTRUCTS
from phlox import hlo, load_hlo
from phlox.backends.arguments import flatten
from phlox.backends.loading import random_arguments
from phlox.hlo import HloSyntaxError, Layout, Module, Shape, parse_module
from phlox.hlo.mesh_groups import MeshGroups, Part
from phlox.hlo.text.annotations import is_annotation
from retyped_samples import operand_shape

both = pytest.mark.parametrize("backend", ["reference", "cpu"])
BF16, F16, F32, F64 = ml_dtypes.bfloat16, np.float16, np.float32, np.float64


def results_of(name, backend, arguments):
    return flatten(load_hlo(CONSTRUCTS[name].text, backend)(*arguments))


def check(results, expected):
    for result, wanted in zip(results, flatten(expected), strict=True):
        wanted = np.asarray(wanted)
        assert np.asarray(result).dtype == wanted.dtype
        wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(np.asarray(result).astype(wide), wanted.astype(wide), rtol=2e-6, atol=1e-6)


def mixed(x, y, h):
    wide = x.astype(F32)
    last = max(range(4), key=lambda i: (wide[i], i)) if wide.max() >= 0 else None
    window = np.where(wide[::2] >= wide[1::2], 0, 1) + np.arange(0, 4, 2)
    scattered = np.zeros(4, F32)
    scattered[window] = [1, 2]
    return (
        wide + y, (wide * y).astype(BF16), wide + y, -wide.astype(F64), (wide - h.astype(F32)).astype(BF16),
        np.where(wide < y, wide, y), np.concatenate([wide, y]), wide.sum().astype(BF16), (wide[1:] + wide[:-1]).astype(BF16),
        (BF16(0) if last is None else x[last], np.int32(-1 if last is None else last)), wide * 2, scattered.astype(BF16), wide,
    )  # fmt: skip


def products(x, y):
    sums = x @ y.astype(F32)
    convolved = np.float32([1.5 * x[0, 0] + 2 * x[0, 1], 1.5 * x[0, 1] + 2 * x[0, 2]])
    return np.trunc(sums).astype(np.int32), np.clip(np.trunc(convolved), 0, 255).astype(np.uint8)[None, :, None]


MEANINGS = {
    "numbers for whole arrays, commas that are missing": lambda: (
        np.float32([4] + [0] * 8), np.int32([[-1, 0, 0], [0, 0, 0]]), np.array([True, False]), np.float32([3, 0]), np.int32(7),
        np.float32([[1, 2], [3, 4]]), np.complex64([1 + 2j, 3 + 4j]), np.array([False, True, True]),
    ),
    "headers that name other parameters": lambda x: -x,
    "layouts of sparse arrays": lambda a, b, c: a + b + c,
    "mixed precision": mixed,
    "products of floats summed to integers": products,
    "a reduction to a tuple of one": lambda x: (x.sum(1), x.astype(BF16).astype(F32).sum(0).astype(BF16)),
    "transforms of length 0": lambda x, y: (x * 0, x * 0, y),
    "types of comparisons": lambda x, y: (x <= x, x <= x, y <= y, x <= x),
    "operands bound late": lambda x, y: (
        x - y, (x - y) / x, (x - y) / x - y, np.concatenate([x, y]),
    ),
    "elements of tuples as operands": lambda p: (p[1][0], p[1][1]),
    "attributes of newer versions": lambda x: (
        -np.sort(-x)[:, :2], np.argsort(-x, kind="stable")[:, :2].astype(np.int32),
        (np.stack([x[:-1] @ [1, 2, 3, 4] + x[1:] @ [0, 1, 0, 1]])[..., None]).astype(F32),
    ),
    "layouts that are inferred": lambda x, y: (x + y, x + y, np.where(x < y, x, y), y.T, x[:, ::-1], (x + y).T.ravel()),
    "what is said of an asynchronous start": lambda x: x,
}  # fmt: skip


@both
@pytest.mark.parametrize("name", MEANINGS)
def test_meaning(name, backend):
    module = parse_module(CONSTRUCTS[name].text)
    for seed in range(3):
        arguments = random_arguments(module, seed)
        expected = MEANINGS[name](*arguments)
        check(results_of(name, backend, arguments), expected if isinstance(expected, tuple) else (expected,))


@both
def test_reducers_of_other_types_round_where_they_say(backend):
    """Ones summed in bf16 stop at 256; summed in f32 and rounded at the end they do not."""
    text = """
    add {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT c = {0}[] add(a, b) }}
    ENTRY main {{
      x = {1}[1000] parameter(0)
      zero = {1}[] constant(0)
      ROOT r = {1}[] reduce(x, zero), dimensions={{0}}, to_apply=add
    }}"""
    check([load_hlo(text.format("f32", "bf16"), backend)(np.ones(1000, BF16))], BF16(1000))
    # Each sum of two that is rounded to bf16 loses the small one.
    x = np.float32([1, 2.0**-9])
    check([load_hlo(text.format("bf16", "f32").replace("1000", "2"), backend)(x)], F32(1))


@both
def test_transfers_without_a_channel_meet(backend):
    module = load_hlo(CONSTRUCTS["transfers without a channel, channel 0"].text, backend)
    x = np.float32([[1, 2], [3, 5]])
    for own in module.run_replicas([[row] for row in x]):
        np.testing.assert_array_equal(own, x.sum(0))


@both
def test_groups_on_a_mesh(backend):
    module = load_hlo(CONSTRUCTS["replica groups on a mesh"].text, backend)
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    # b: the mesh holds 0, 2, 4, 6 and 1, 3, 5, 7; two halves of the rows of each of four are a group.
    groups = {0: (0, 1, 2, 3), 1: (4, 5, 6, 7)}
    other = {device: (0, 2, 1, 3) if device < 4 else (4, 6, 5, 7) for device in range(8)}
    for device, own in enumerate(module.run_replicas([[row] for row in x])):
        np.testing.assert_array_equal(own, x[list(groups[device // 4])].sum(0) + x[list(other[device])].sum(0))


@pytest.mark.parametrize(
    "axes, parts, devices, expected",
    [
        ({"a": 2, "b": 2}, [Part("a")], (), ((0, 2), (1, 3))),
        ({"a": 2, "b": 2}, [Part("b"), Part("a")], (), ((0, 2, 1, 3),)),
        ({"a": 2, "b": 2}, [Part("a")], (0, 2, 1, 3), ((0, 1), (2, 3))),
        ({"a": 8}, [Part("a", 2, 2)], (), ((0, 2), (1, 3), (4, 6), (5, 7))),
        ({"a": 8}, [Part("a", 1, 2), Part("a", 4, 2)], (), ((0, 1, 4, 5), (2, 3, 6, 7))),
    ],
)
def test_mesh_groups(axes, parts, devices, expected):
    assert MeshGroups(tuple(axes.items()), tuple(parts), devices).expanded() == expected


ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }"
ENTRY = f"{ADD}\nENTRY main {{\n  x = f32[2] parameter(0)\n"


@pytest.mark.parametrize(
    "groups, message",
    [
        ("mesh[a=2] {a}", "a mesh and its axes, .* expected"),
        ("mesh['a'=2]", "a mesh and its axes, .* expected"),
        ("mesh['a'=2] {}", "a mesh and its axes, .* expected"),
        ("mesh['a'=1] {'a'}", "more than one device"),
        ("mesh['a'=0] {'a'}", "sizes of axes must be above 0"),
        ("mesh['a'=2,'a'=2] {'a'}", "no axis may stand twice"),
        ("mesh['a'=2] {'b'}", "the mesh has no axis 'b'"),
        ("mesh['a'=4] {'a':(3)2}", "must divide its size 4"),
        ("mesh['a'=4] {'a':(1)4,'a'}", "must divide its size 4"),
        ("mesh['a'=2] , device_ids=(0,0) {'a'}", "device_ids must be the numbers from 0 to 1"),
        ("mesh['a'=2], device_ids=([3]) {'a'}", "device_ids must be the numbers from 0 to 1"),
        ("mesh['a'=2], device_ids=([2]T(1)) {'a'}", r"device_ids=\(\[sizes\]T\(order\)\) expected"),
        ("mesh['a'=9999999] {'a'}", "at most 1048576 devices"),
    ],
)
def test_wrong_meshes(groups, message):
    text = f"{ENTRY}  ROOT y = f32[2] all-reduce(x), replica_groups={groups}, to_apply=add\n}}"
    with pytest.raises(HloSyntaxError, match=message):
        parse_module(text)


# --- what is kept, and not run ---


@both
@pytest.mark.parametrize(
    "name, message",
    [
        ("unbounded dimensions and buffers", "arrays of unknown size and buffers are not implemented: .*f32.[?],784."),
        ("dynamic dimensions that are kept", "custom-call of dynamic dimensions is not implemented"),
        ("states of random bits of other devices", "rng_default is implemented for a state of u64.2. or u64.3., not u64.1."),
    ],
)
def test_what_is_kept_is_not_run(name, message, backend):
    with pytest.raises(NotImplementedError, match=message):
        module = load_hlo(CONSTRUCTS[name].text, backend)
        module(*random_arguments(module.module))


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "x = f32[] parameter(0)\n  ROOT y = f32[999999999] constant(1)",
            r"line 4, column \d+: a constant of 3999999996 bytes",
        ),
        (
            "x = f32[1,4,4] parameter(0)\n  ROOT y = f32[1,4,4] convolution(x, x, x), dim_labels=0bf_0io->0bf, window={size=1},"
            " sparsity_config={lhs={sparsity=2x4 dimension=2 stride=1 idx=2}}",
            r"line 4, column \d+: convolution with sparsity_config is not implemented",
        ),
        ("x = f32[?] parameter(0)\n  ROOT y = f32[?] negate(x)", r"line 4, column \d+: negate of f32.[?]., which has no size"),
        ("x = f32[2] parameter(0)\n  ROOT y = b(f32[2]) copy(x)", r"line 4, column \d+: copy of b.f32.2.., which has no size"),
        (
            "x = f32[<=2] parameter(0)\n  ROOT y = s32[<=2] bitcast(x)",
            r"line 4, column \d+: bitcast of dynamic dimensions is not",
        ),
    ],
)
def test_what_is_not_implemented_is_told_with_its_place(text, message):
    with pytest.raises(NotImplementedError, match=message):
        parse_module(f"HloModule m\nENTRY main {{\n  {text}\n}}")


# --- what is refused ---

PAIR = """
ENTRY main {
  p = (f32[2], f32[3]) parameter(0)
  q = f32[2] parameter(1)
  a = f32[2] get-tuple-element(p), index=0
  ROOT r = (f32[2], f32[2]) tuple(a, q)
}"""


@pytest.mark.parametrize(
    "header",
    [
        "input_output_alias={ {0}: (0, {0}, must-alias), {1}: (1, {}) }", "input_output_alias={}",
        "input_output_alias={ {1}: (0, {0}, may-alias), }", "buffer_donor={ (0, {1}), (1, {}) }", "is_scheduled=false",
        "allow_spmd_sharding_propagation_to_parameters={true,false}, allow_spmd_sharding_propagation_to_output=true",
    ],
)  # fmt: skip
def test_headers(header):
    module = parse_module(f"HloModule m, {header}{PAIR}")
    assert parse_module(module.as_text()) == module and header in module.as_text()


@pytest.mark.parametrize(
    "header, message",
    [
        ("input_output_alias={ {2}: (0, {0}) }", "the result .* has no array at index .2."),
        ("input_output_alias={ {}: (1, {}) }", "the result .* has no array at index .."),
        ("input_output_alias={ {0}: (2, {}) }", "has 2 parameters, 2 is named"),
        ("input_output_alias={ {0}: (0, {2}) }", "parameter 0, .* has no array at index .2."),
        ("input_output_alias={ {0}: (0, {}) }", "parameter 0, .* has no array at index .."),
        ("input_output_alias={ {0}: (0, {1}) }", "which differ in size"),
        ("input_output_alias={ {0}: (0, {0}), {1}: (0, {0}) }", "what another alias does already"),
        ("input_output_alias={ {0}: (0, {0}), {0}: (1, {}) }", "what another alias does already"),
        *[
            (f"input_output_alias={value}", "input_output_alias: . .0.: .* expected, found")
            for value in (
                "x", "{ {0}: 0 }", "{ {0} (0, {0}) }", "{ {0}: (0) }", "{ {0}: (0, 0) }", "{ {0}: (-1, {}) }",
                "{ {a}: (0, {}) }", "{ {0}: (0, {0}, never) }", "{ {0}: (0, {0}): {1} }", "{ {0}: (0, {0}) {1}: (1, {}) }",
            )
        ],
        ("buffer_donor={ (2, {}) }", "has 2 parameters, 2 is named"),
        ("buffer_donor={ (0, {}) }", "parameter 0, .* has no array at index .."),
        *[
            (f"buffer_donor={value}", "buffer_donor: .* expected, found")
            for value in ("x", "{ 0 }", "{ (0) }", "{ (zero, {}) }", "{ (0, {0, a}) }", "{ (0, {0}) (1, {}) }")
        ],
        ("is_scheduled=maybe", "is_scheduled: true or false expected"),
        ("replica_count=two", "replica_count: an integer expected"),
        ("alias_passthrough_params=1", "alias_passthrough_params: true or false expected"),
        ("allow_spmd_sharding_propagation_to_output={true,1}", "expected, found {true,1}"),
        ("frontend_attributes=5", "frontend_attributes: .* expected"),
        ("entry_computation_layout=5", "entry_computation_layout: .* expected"),
    ],
)  # fmt: skip
def test_wrong_headers(header, message):
    with pytest.raises(HloSyntaxError, match=message) as caught:
        parse_module(f"HloModule m, {header}{PAIR}")
    assert (caught.value.line, caught.value.column) == (1, 15 + header.index("="))


NEGATE, EXPONENTIAL, CALL = "negate(x)", "exponential(x)", 'custom-call(x), custom_call_target="f"'
GOOD = [
    (EXPONENTIAL, "result_accuracy={mode=highest}"), ("tanh(x)", "result_accuracy={mode=default}"),
    ("erf(x)", "result_accuracy={tolerance={rtol=0.5, atol=1e-3, ulps=2}}"), (NEGATE, 'backend_config="a\\"b"'),
    (NEGATE, "sharding={devices=[2,1]<=[2]}"), (NEGATE, "sharding={{replicated}, {manual}}"),
    (NEGATE, "sharding={maximal_mesh[device_id=5]}"), (NEGATE, "statistics={visualizing_index=1,stat-1=3.5}"),
    (CALL, "operand_layout_constraints={f32[2]{0}}"), (CALL, "output_to_operand_aliasing={{}: (0, {})}"),
    (CALL, "schedule=SCHEDULE_EARLIEST"), (CALL, "operand_precision={highest}"),
]  # fmt: skip
_OF_OTHERS = [
    "operand_precision={highest}", "algorithm=dot_f32_f32_f32", "schedule=SCHEDULE_LATEST", 'async_execution_thread="x"',
    "output_to_operand_aliasing={{}: (0, {})}",
]  # fmt: skip
_ACCURACIES = [
    "highest", "{}", "{0.5}", "{mode=high}", "{foo=1}", "{mode=highest, tolerance={rtol=1}}", "{tolerance=5}",
    "{tolerance={rtol=x}}", "{tolerance={rtol=1 atol=2}}",
]  # fmt: skip
_CONSTRAINTS = ["{}", "5", "{f32}", "{f32[3]{0}}", "{f32[2]{1}}", "{s32[2]{0}}", "{f32[2]{0}, f32[2]{0}}"]
_ALIASES = ["5", "{foo}", "{{}: 0}", "{{}: (1, {})}", "{{0}: (0, {})}", "{{}: (0, {0})}", "{{}: (0, {}, must-alias)}"]
BAD = [
    *((EXPONENTIAL, f"result_accuracy={value}") for value in _ACCURACIES), (NEGATE, "result_accuracy={mode=highest}"),
    ("copy(x)", "result_accuracy={mode=highest}"), (NEGATE, "sharding={foo}"), (NEGATE, "sharding=5"),
    (NEGATE, "backend_config=foo"), (NEGATE, "frontend_attributes=a"), (NEGATE, "statistics={foo}"), (NEGATE, "origin={foo}"),
    (NEGATE, "parameter_replication={1}"), (NEGATE, "control-predecessors=x"),
    *((CALL, f"operand_layout_constraints={value}") for value in _CONSTRAINTS),
    *((CALL, f"output_to_operand_aliasing={value}") for value in _ALIASES),
    (CALL, "schedule=LATER"), (CALL, "backend_config=5"), (CALL, "operand_precision={x}"),
    *((NEGATE, attribute) for attribute in _OF_OTHERS),
]  # fmt: skip


@pytest.mark.parametrize("operation, attribute", GOOD)
def test_annotations(operation, attribute):
    module = parse_module(f"ENTRY main {{\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] {operation}, {attribute}\n}}")
    assert parse_module(module.as_text()) == module and attribute in module.as_text()


@pytest.mark.parametrize("operation, attribute", BAD)
def test_wrong_annotations(operation, attribute):
    with pytest.raises(HloSyntaxError, match=re.escape(attribute.partition("=")[0])) as caught:
        parse_module(f"ENTRY main {{\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] {operation}, {attribute}\n}}")
    assert caught.value.line == 3


WRAPPED = """
w {{
  a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  ROOT c = f32[4] add(a, b)
}}
ENTRY main {{
  x = f32[4] parameter(0)
  s = {start}
  {rest}
}}"""
FULL, PART = "((f32[4], f32[4]), f32[4], s32[])", "((f32[4]), f32[4], s32[])"
FULL_START, PART_START = f"{FULL} async-start(x, x), calls=w", f"{PART} async-start(x), calls=w"


@pytest.mark.parametrize(
    "start, rest, message",
    [
        (FULL_START, f"t = {FULL_START}", "called by more than one async-start"),
        (FULL_START, 'd = f32[4] async-done(s), async_execution_thread="p"', "on the thread p, its start on main"),
        (
            f'{FULL} add-start(x, x), async_execution_thread="p"',
            'd = add-done(s), async_execution_thread="q"',
            "its start on p",
        ),
        (PART_START, "d = f32[4] async-done(s)", "waits for operands: it can be updated"),
        (PART_START, "d = f32[4] negate(x)", "s waits for operands that are never bound"),
        (PART_START, "d = tuple(s)", "waits for operands: it can be updated and done"),
        (PART_START, f"u = {PART} async-update(s, x)", "must begin with those of all operands"),
        (PART_START, "d = f32[4] async-done(s, x, x)", "s takes 2 operands, 3 are bound"),
        (FULL_START, "d = f32[4] async-done(x, x)", "bound to async-start alone"),
        (PART_START, "d = f32[4] negate-done(s, x)", "it comes from add-start"),
    ],
)
def test_wrong_asynchronous_operations(start, rest, message):
    with pytest.raises(HloSyntaxError, match=message):
        parse_module(WRAPPED.format(start=start, rest=rest))


def test_memory_for_the_result_of_a_start_is_not_implemented():
    rest = f"u = {FULL} async-update(s, x)\n  ROOT d = f32[4] async-done(u)"
    with pytest.raises(NotImplementedError, match="line 10, column .* memory for the result of s, behind its operands"):
        parse_module(WRAPPED.format(start="((f32[4], f32[4]), (), s32[]) async-start(x, x), calls=w", rest=rest))


# What a conversion does not mend.
@pytest.mark.parametrize(
    "lines, message",
    [
        ("y = s32[2] convert(x)\n  ROOT z = f32[2] add(x, y)", "must have the same shape"),
        ("ROOT y = s32[2] negate(x)", "the result shape is f32.2., but s32.2. was stated"),
        ("ROOT y = f16[3] negate(x)", "the result shape is f32.2., but f16.3. was stated"),
        ("ROOT y = (f16[2]) tuple(x)", "the result shape is .f32.2.., but .f16.2.. was stated"),
        ("ROOT y = bf16[2] bitcast(x)", "bitcast"),
        (
            "zero = s32[] constant(0)\n  ROOT y = s32[] reduce(x, zero), dimensions={0}, to_apply=add",
            "init value 0 must be f32",
        ),
        ("ROOT y = f32[2] get-tuple-element(x#0), index=0", "get-tuple-element"),
        ("t = tuple(x)\n  ROOT y = f32[2] negate(t#1)", "index must be in .0, 1. for .*, got 1"),
    ],
)
def test_other_types_are_refused(lines, message):
    with pytest.raises(HloSyntaxError, match=message):
        parse_module(f"{ENTRY}  {lines}\n}}")


@pytest.mark.parametrize(
    "call, message",
    [
        (
            '(f32[2], s32[3]) custom-call(x), custom_call_target="TopK"',
            "TopK of f32.2. returns .f32.k., s32.k.. with k up to 2",
        ),
        ('(f32[2], f32[2]) custom-call(x), custom_call_target="mhlo.topk"', "returns"),
        ('f32[3] custom-call(x), custom_call_target="Sharding"', "Sharding returns its operand, of shape f32.2."),
        ('f32[2] custom-call(x, x), custom_call_target="MoveToHost"', "MoveToHost takes one operand, 2 given"),
        ('f32[2] custom-call(x), custom_call_target="lapack_spotrf_ffi"', r"takes \(f32\[n,n\]\).*, got \(f32\[2\]\)"),
        ('f32[2,2] custom-call(m), custom_call_target="lapack_spotrf_ffi"', r"returns \(f32\[2,2\], s32\[\]\), but"),
        ('(f32[2,2], s32[]) custom-call(m), custom_call_target="lapack_dpotrf_ffi"', r"takes \(f64\[n,n\]\)"),
        ('(f32[2,2], s32[3], s32[]) custom-call(m), custom_call_target="lapack_sgetrf_ffi"', r"s32\[2\], s32\[\]\), but"),
        ('f32[2] custom-call(m, x), custom_call_target="lapack_strsm_ffi"', r"takes \(f32\[s,s\], f32\[p,q\]\)"),
    ],
)
def test_results_of_known_calls(call, message):
    with pytest.raises(HloSyntaxError, match=f"line 5, column .*{message}"):
        parse_module(f"{ENTRY}  m = f32[2,2] parameter(1)\n  ROOT y = {call}\n}}")


# --- against XLA ---


def peer_text(text):
    return pytest.importorskip("jaxlib._hlo").hlo_module_from_text(text).to_string()


# Names with "_" are other ones in XLA, 1e10 and -0 are read otherwise; f32[]{} and greater-than are refused.
NOT_READ_ALIKE = {
    "dump: sort, gather, scatter, iota, select-and-scatter", "dump: random numbers as jax lowers them",
    "dump: constants of many ranks, special values", "dump: hlo of 2018 with old spellings",
    "dump: nested called computations before the entry, many comments",
}  # fmt: skip
# Names of parts that are written inside of others, order and names of computations are not XLA's.
SAME_IN_XLA = [
    "layouts with tiles, memory spaces, element sizes, splits", "metadata of all kinds", "shardings", "header with everything",
    "backend configurations, statistics, frontend attributes", "original values",
    "asynchronous operations in their short spelling", "custom calls of all forms",
    "unbounded dimensions and buffers", "dynamic dimensions that are kept", "transfers without a channel, channel 0",
    "layouts that are inferred", "what is said of an asynchronous start", "replica groups on a mesh", "types of comparisons",
    "states of random bits of other devices", "transforms of length 0", "bytes that are not UTF-8",
    *(name for name in CONSTRUCTS if name.startswith("dump: ") and name not in NOT_READ_ALIKE),
]  # fmt: skip


@pytest.mark.peer
@pytest.mark.parametrize("name", SAME_IN_XLA)
def test_nothing_is_dropped(name):
    """XLA reads of the printed text what it reads of the text."""
    module = parse_module(CONSTRUCTS[name].text)
    texts = [re.sub(r"^HloModule [\w.\-]+", "", peer_text(t)) for t in (CONSTRUCTS[name].text, module.as_text(metadata=True))]
    assert texts[0] == texts[1]


@pytest.mark.peer
def test_operations_have_the_annotations_that_they_have_in_xla():
    xla = pytest.importorskip("jaxlib._hlo")
    compared = 0
    for record in hlo.OPERATIONS.values():
        for sample in record.samples()[:1]:
            shapes = [operand_shape(o) for o in sample.operands]
            operands = [hlo.make_instruction("parameter", (), {"number": i}, shape) for i, shape in enumerate(shapes)]
            instruction = hlo.make_instruction(record.opcode, operands, sample.attributes, sample.shape)
            text = Module("m", hlo.Computation("main", (*operands, instruction), instruction)).as_text()
            before, _, line = text.rpartition("ROOT ")
            with pytest.raises(RuntimeError) as caught:
                xla.hlo_module_from_text(before + "ROOT " + line.replace("\n", ", nothing=1\n", 1))
            allowed = re.search("Allowed attributes: (.*)", str(caught.value))
            if allowed is None or record.opcode == "async-start":  # which is printed in its short spelling
                continue
            allowed, compared = allowed[1].split(", "), compared + 1
            for attribute in (*_OF_OTHERS, "result_accuracy={mode=highest}"):
                name = attribute.partition("=")[0]
                if name not in record.attributes:
                    assert is_annotation(name, record.opcode, False) == (name in allowed), (record.opcode, name)
    assert compared > 100


@pytest.mark.peer
def test_layouts_are_inferred_as_in_xla():
    xla = pytest.importorskip("jaxlib._hlo")
    compared = 0
    for record in hlo.OPERATIONS.values():
        for sample in record.samples()[:4]:
            shapes = [operand_shape(o) for o in sample.operands]
            if sample.shape is not None or any(s.is_tuple for s in shapes) or not any(s.rank > 1 for s in shapes):
                continue
            orders = [tuple(range(s.rank)) if i % 2 == 0 else (*range(1, s.rank), 0)[: s.rank] for i, s in enumerate(shapes)]
            shapes = [Shape(s.element_type, s.dimensions, Layout(o) if s.rank > 1 else None) for s, o in zip(shapes, orders)]
            operands = [hlo.make_instruction("parameter", (), {"number": i}, shape) for i, shape in enumerate(shapes)]
            instruction = hlo.make_instruction(record.opcode, operands, sample.attributes)
            text = Module("m", hlo.Computation("main", (*operands, instruction), instruction)).as_text()
            text = re.sub(r"^HloModule.*|(?<=ENTRY %main) .*(?= \{)", "", text, flags=re.MULTILINE)
            text = re.sub(rf"(ROOT %\S+ =) .* ({record.opcode}\()", r"\1 \2", "HloModule m\n" + text)
            try:
                printed = xla.hlo_module_from_text(text).to_string()
            except Exception:
                continue  # a shape that XLA wants stated, or an operation that this version lacks
            roots = [re.search(rf"ENTRY.*?ROOT \S+ = (.*) {record.opcode}\(", t, re.DOTALL) for t in
                     (printed, parse_module(text).as_text())]  # fmt: skip
            assert roots[0][1] == roots[1][1], text
            compared += 1
    assert compared > 120
