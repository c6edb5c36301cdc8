"""One value in several places: as the operand, the index and the update of a write, as two elements of a state or a tuple.

What is written in place must not be read afterwards under another name.
"""

import numpy as np
import pytest
from comparisons import flattened
from operation_checks import assert_agrees, has_bound, is_tame, module_of, operations_without_native_code
from phlox import cond, fori_loop, hlo, jit, load_hlo, scan, while_loop
from phlox.backends.registry import get_backend
from phlox.hlo import OPERATIONS
from phlox.xla_builder import XlaBuilder
from retyped_samples import operand_shape
from sample_values import value_of

# --- NumPy ---

X = np.array([5.0, 3.0, 1.0, 4.0, 2.0])
P = np.array([3, 0, 2, 1, 4])
M = np.arange(12.0).reshape(3, 4)


def overwritten_by_itself(x, i):
    y = np.sort(x)
    y[i] = y
    return y


def added_to_itself(x, i):
    y = x * 2
    np.add.at(y, i, y)
    return y


def greater_of_itself(x, i):
    y = x - 3
    np.maximum.at(y, i, y)
    return y


def permuted_by_itself(x, i):
    p = i * 1
    p[p] = p
    return p


def positions_of_positions(x, i):
    p = i + 0
    p[p[p]] = p
    return p, p[p]


def inverse_in_place(x, i):
    order = np.argsort(x)
    order[order] = np.arange(5)
    return order


def shifted_onto_itself(x, i):
    y = x * 1
    y[1:] += y[:-1]
    y[:-1] = y[1:]
    return y


def reversed_onto_itself(x, i):
    y = x + 1
    y[:] = y[::-1]
    y[::-1] = y
    return y


def every_other_onto_the_rest(x, i):
    y = np.concatenate([x, x])
    y[::2] = y[1::2]
    y[5:] = y[:5]
    return y


def square_of_itself(x, i):
    y = x + 1
    y *= y
    np.subtract(y, y[::-1], out=y)
    return y


def rows_of_a_matrix(x, i):
    m = x[:, None] * x
    m[i] = m
    m[:, i] = m
    m[i, i] = m[0]
    return m


def transposed_onto_itself(x, i):
    m = np.outer(x, x + 1)
    m[...] = m.T
    m += m.T
    return m


def masked_by_itself(x, i):
    y = x - 3
    y[y > 0] = -y[y > 0]
    np.putmask(y, y < -1, y[::-1])
    return y


def diagonal_from_a_row(x, i):
    m = np.outer(x, x)
    d = m[0]
    m[np.arange(5), np.arange(5)] = d
    np.add.at(m, (i, i), d)
    return m


def accumulated_in_a_loop(x, i):
    def step(k, y):
        y = np.sort(y)
        y[i] = y
        np.add.at(y, i, y)
        return y

    return fori_loop(0, 4, step, x * 1)


def one_array_twice_in_the_state(x, i):
    def step(k, state):
        a, b = state
        a[i] = b
        return a * 0.5, a + b

    y = np.sort(x)
    return fori_loop(0, 3, step, (y, y * 1))


def exchanged_in_while(x, i):
    y = x * 3
    result = while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[2], s[1] + s[2], s[1]), (0, y, y, y))
    return result[1], result[2], result[3]


def written_in_scan(x, i):
    def step(carry, row):
        carry = np.sort(carry) + 0
        carry[i] = carry + row
        return carry, carry

    return scan(step, x - 1, np.stack([x, x, x]))


def written_in_a_branch(x, i):
    y = np.sort(x)

    def one():
        y[i] = y
        return y.sum()

    def two():
        y[:] = y[::-1]
        return y[0]

    return cond(x[0] > 4, one, two), y


def view_and_base(x, i):
    m = (x[:4] * 1).reshape(2, 2)
    flat = m.reshape(-1)
    flat[i[:4] % 4] = flat
    m[0] = m[:, 0]
    return m, flat


def set_and_read_in_turn(x, i):
    y = np.sort(x)
    z = y[i]
    y[i] = z
    z[i] = y
    return y, z, y + z


def moved_to_other_rows(x, i):
    m = np.stack([x, x + 1, x + 2])
    m[[2, 0, 1]] = m
    m[[0, 1]] = m[[1, 0]]
    np.minimum.at(m, [0, 0, 1], m)
    return m


PROGRAMS = [value for value in list(globals().values()) if getattr(value, "__module__", None) == __name__]


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_numpy_programs(program, backend):
    """Control flow runs as Python where nothing is traced, so the function itself says what is right."""
    for x, i in ((X, P), (X[::-1].copy(), np.array([1, 1, 3, 0, 1]))):
        ours, theirs = (x.copy(), i.copy()), (x.copy(), i.copy())
        actual, expected = jit(program, backend=backend)(*ours), program(*theirs)
        for mine, wanted in zip(flattened((actual, ours)), flattened((expected, theirs)), strict=True):
            assert mine.dtype == wanted.dtype
            np.testing.assert_array_equal(mine, wanted)


# --- HLO text ---

# In each program y = 2 x and nothing is read from the argument afterwards, so that y may be written over.
REDUCERS = """
last { a = f32[] parameter(0)  ROOT b = f32[] parameter(1) }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
"""
SCATTER = "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
V = np.float32([3, 1, 4, 2])
ORDER = np.int32([2, 0, 3, 1])


def scattered(y, indices, update, combine=None):
    result = y.copy()
    if combine is None:
        result[indices] = update
    else:
        combine.at(result, indices, update)
    return result


# Name: the entry's instructions behind y, functions, what it gives.
TEXTS = {
    "scatter of itself": (
        f"ROOT r = f32[4] scatter(y, i, y), {SCATTER}, to_apply=last", "", lambda y, i: scattered(y, i, y),
    ),
    "scatter of its other name": (
        f"""t = (f32[4], f32[4]) tuple(y, y)  z = f32[4] get-tuple-element(t), index=1
        ROOT r = f32[4] scatter(y, i, z), {SCATTER}, to_apply=add""",
        "",
        lambda y, i: scattered(y, i, y, np.add),
    ),
    "scatters one after the other": (
        f"""s = f32[4] scatter(y, i, y), {SCATTER}, to_apply=last  u = f32[4] scatter(s, i, s), {SCATTER}, to_apply=add
        ROOT r = f32[4] scatter(u, i, u), {SCATTER}, to_apply=last""",
        "",
        lambda y, i: (lambda u: scattered(u, i, u))((lambda s: scattered(s, i, s, np.add))(scattered(y, i, y))),
    ),
    "one array twice in a scatter": (
        f"ROOT r = (f32[4], f32[4]) scatter(y, y, i, y, y), {SCATTER}, to_apply=both",
        """both { a = f32[] parameter(0)  b = f32[] parameter(1)  c = f32[] parameter(2)  d = f32[] parameter(3)
        ROOT t = (f32[], f32[]) tuple(c, b) }""",
        lambda y, i: (scattered(y, i, y), y),
    ),
    "a part of itself": (
        """one = s32[] constant(1)  p = f32[3] slice(y), slice={[0:3]}  u = f32[4] dynamic-update-slice(y, p, one)
        q = f32[3] slice(u), slice={[1:4]}  ROOT r = f32[4] dynamic-update-slice(u, q, one)""",
        "",
        lambda y, i: np.float32([y[0], y[0], y[1], y[2]]),
    ),
    "the whole of itself": (
        "k = s32[] constant(7)  ROOT r = f32[4] dynamic-update-slice(y, y, k)", "", lambda y, i: y,
    ),
    "rows of its square": (
        """m = f32[2,2] reshape(y)  n = f32[2,2] transpose(m), dimensions={1,0}  z = s32[] constant(0)
        d = f32[2,2] dynamic-update-slice(m, n, z, z)  ROOT r = f32[2,2] subtract(d, m)""",
        "",
        lambda y, i: y.reshape(2, 2).T - y.reshape(2, 2),
    ),
    "itself reversed": (
        """b = (f32[4], f32[4]) opt-barrier((f32[4], f32[4]) tuple(y, y))  a = f32[4] get-tuple-element(b), index=0
        c = f32[4] get-tuple-element(b), index=1  d = f32[4] reverse(c), dimensions={0}  ROOT r = f32[4] subtract(a, d)""",
        "",
        lambda y, i: y - y[::-1],
    ),
    "chosen from itself": (
        """b = (f32[4], f32[4]) opt-barrier((f32[4], f32[4]) tuple(y, y))  a = f32[4] get-tuple-element(b), index=0
        d = f32[4] reverse(y), dimensions={0}  p = pred[4] compare(a, d), direction=LT  ROOT r = f32[4] select(p, a, d)""",
        "",
        lambda y, i: np.minimum(y, y[::-1]),
    ),
    "results that are one value": (
        "n = (f32[4], f32[4]) tuple(y, y)  ROOT r = (f32[4], (f32[4], f32[4]), f32[2,2]) tuple(y, n, f32[2,2] reshape(y))",
        "",
        lambda y, i: (y, y, y, y.reshape(2, 2)),
    ),
    "sorted with itself": (
        "ROOT r = (f32[4], f32[4]) sort(y, y), dimensions={0}, to_apply=less",
        """less { a = f32[] parameter(0)  b = f32[] parameter(1)  c = f32[] parameter(2)  d = f32[] parameter(3)
        ROOT l = pred[] compare(c, d), direction=GT }""",
        lambda y, i: (np.sort(y)[::-1],) * 2,
    ),
    "a state that holds it twice": (
        """w = (s32[], f32[4], f32[4], s32[4]) while(tuple(s32[] constant(0), y, y, i)), condition=condition, body=body
        a = f32[4] get-tuple-element(w), index=1  b = f32[4] get-tuple-element(w), index=2
        ROOT r = (f32[4], f32[4]) tuple(a, b)""",
        f"""condition {{ s = (s32[], f32[4], f32[4], s32[4]) parameter(0)  k = s32[] get-tuple-element(s), index=0
        ROOT l = pred[] compare(k, s32[] constant(3)), direction=LT }}
        body {{ s = (s32[], f32[4], f32[4], s32[4]) parameter(0)  k = s32[] get-tuple-element(s), index=0
        a = f32[4] get-tuple-element(s), index=1  b = f32[4] get-tuple-element(s), index=2
        i = s32[4] get-tuple-element(s), index=3  d = f32[4] scatter(a, i, b), {SCATTER}, to_apply=add
        n = s32[] add(k, s32[] constant(1))  ROOT t = (s32[], f32[4], f32[4], s32[4]) tuple(n, d, a, i) }}""",
        lambda y, i: stepped(y, y, i, 3),
    ),
    "a branch that holds it twice": (
        """p = pred[] constant(true)
        ROOT r = (f32[4], f32[4]) conditional(p, (f32[4], f32[4]) tuple(y, y), (f32[4], f32[4]) tuple(y, y)),
        true_computation=moved, false_computation=moved""",
        """moved { t = (f32[4], f32[4]) parameter(0)  a = f32[4] get-tuple-element(t), index=0
        b = f32[4] get-tuple-element(t), index=1  c = f32[3] slice(b), slice={[0:3]}
        d = f32[4] dynamic-update-slice(a, c, s32[] constant(1))  ROOT r = (f32[4], f32[4]) tuple(d, b) }""",
        lambda y, i: (np.float32([y[0], *y[:3]]), y),
    ),
    "a call with it twice": (
        "ROOT r = (f32[4], f32[4]) call(y, y, i), to_apply=written",
        f"""written {{ a = f32[4] parameter(0)  b = f32[4] parameter(1)  i = s32[4] parameter(2)
        c = f32[4] scatter(a, i, b), {SCATTER}, to_apply=last  ROOT t = (f32[4], f32[4]) tuple(c, f32[4] negate(b)) }}""",
        lambda y, i: (scattered(y, i, y), -y),
    ),
    "a fusion with it twice": (
        "ROOT r = f32[4] fusion(y, y), kind=kLoop, calls=fused",
        """fused { a = f32[4] parameter(0)  b = f32[4] parameter(1)  c = f32[4] reverse(b), dimensions={0}
        ROOT d = f32[4] multiply(a, c) }""",
        lambda y, i: y * y[::-1],
    ),
    "an asynchronous call with it twice": (
        """s = ((f32[4], f32[4]), f32[4], u32[]) async-start(y, y), calls=wrapped
        u = ((f32[4], f32[4]), f32[4], u32[]) async-update(s)  d = f32[4] async-done(u)
        ROOT r = (f32[4], f32[4]) tuple(d, y)""",
        """wrapped { a = f32[4] parameter(0)  b = f32[4] parameter(1)  c = f32[4] reverse(b), dimensions={0}
        ROOT d = f32[4] subtract(a, c) }""",
        lambda y, i: (y - y[::-1], y),
    ),
    "a collective of it twice": (
        """a = (f32[4], f32[4]) all-reduce(y, y), replica_groups={}, to_apply=add  b = f32[4] get-tuple-element(a), index=0
        c = f32[4] get-tuple-element(a), index=1
        d = f32[2] slice(c), slice={[2:4]}  ROOT r = f32[4] dynamic-update-slice(b, d, s32[] constant(0))""",
        "",
        lambda y, i: np.float32([y[2], y[3], y[2], y[3]]),
    ),
    "a copy in two halves": (
        f"""s = (f32[4], f32[4], u32[]) copy-start(y)  c = f32[4] copy-done(s)
        d = f32[4] scatter(y, i, c), {SCATTER}, to_apply=last  ROOT r = (f32[4], f32[4]) tuple(d, c)""",
        "",
        lambda y, i: (scattered(y, i, y), y),
    ),
}  # fmt: skip


def stepped(a, b, i, count):
    for _ in range(count):
        a, b = scattered(a, i, b, np.add), a
    return a, b


@pytest.mark.parametrize("alias", ["", ", input_output_alias={ {}: (0, {}, may-alias) }"], ids=["", "donated"])
@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("name", TEXTS)
def test_text(name, backend, alias):
    """An argument that the program may reuse for its result is left alone."""
    lines, functions, expected = TEXTS[name]
    if alias and "ROOT r = (" in lines:
        alias = alias.replace("{}:", "{0}:")
    entry = f"ENTRY main {{ x = f32[4] parameter(0)  i = s32[4] parameter(1)  y = f32[4] add(x, x)  {lines} }}"
    x, i = V.copy(), ORDER.copy()
    result = load_hlo(f"HloModule same{alias}\n{REDUCERS}{functions}\n{entry}", backend)(x, i)
    for mine, wanted in zip(flattened(result), flattened(expected(2 * V, ORDER)), strict=True):
        np.testing.assert_array_equal(mine, wanted)
    np.testing.assert_array_equal(x, V)
    np.testing.assert_array_equal(i, ORDER)


# --- every operation ---


def is_shared(sample, position):
    """Whether another operand has the same shape, so that both may be one value."""
    shapes = [operand_shape(operand) for operand in sample.operands]
    shape = shapes[position]
    return not shape.is_tuple and shape.rank > 0 and not shape.has_dynamic_dimensions and shapes.count(shape) > 1


def cases_of(opcode):
    """Samples whose operands, or some of them, may be one value."""
    samples = [sample for sample in OPERATIONS[opcode].samples() if has_bound(opcode, sample)]
    return [(opcode, sample) for sample in samples if any(is_shared(sample, n) for n in range(len(sample.operands)))]


def named_anew(b, value, number):
    """The value, under another name each time."""
    if number % 3 == 1:
        return b.GetTupleElement(b.emit("opt-barrier", b.Tuple([value, value])), 1)
    return b.Reshape(b.Reshape(value, (value.shape.size,)), value.shape.dimensions) if number % 3 == 2 else value


def check_on_one_value(cases, random):
    """Each operation on values that are computed for it and that it alone needs, so that it may write them over."""
    b, values, results = XlaBuilder("same"), [], []
    for opcode, sample in cases:
        operands, given = [], []
        for number, operand in enumerate(sample.operands):
            shape = operand_shape(operand)
            first = [operand_shape(other) for other in sample.operands].index(shape)
            if first < number and is_shared(sample, number):
                operands.append(named_anew(b, operands[first], number))
                given.append(given[first])
                continue
            value = value_of(operand, random, is_tame(opcode), nan=opcode != "sort")
            values.append(value)
            operands.append(b.parameter(shape))
            if is_shared(sample, number):
                value = np.flip(value, 0)
                operands[-1] = b.emit("opt-barrier", b.Rev(operands[-1], dimensions=[0]))
            given.append(value)
        results.append((opcode, sample, given, b.emit(opcode, *operands, shape=sample.shape, **sample.attributes)))
    module = b.build_module(b.Tuple([instruction for *_, instruction in results]))
    found = iter(get_backend("cpu").compile(module)(*flattened(tuple(values))))
    for opcode, sample, given, instruction in results:
        expected = flattened(hlo.evaluate(module_of(opcode, [sample])[0].entry, *given))
        for shape, wanted in zip(hlo.array_leaves(instruction.shape), expected, strict=True):
            assert_agrees(np.asarray(next(found)), wanted, given, shape.element_type, opcode, f"{opcode} {sample}")


# Of ragged-all-to-all three operands are sizes and offsets, which must fit together.
LEFT_OUT = operations_without_native_code() | {"ragged-all-to-all"}
NATIVE = [name for name in OPERATIONS if name not in LEFT_OUT and cases_of(name)]
GROUP = 24  # cases that are compiled together


@pytest.mark.parametrize("start", range(0, len(NATIVE), GROUP))
def test_two_operands_that_are_one_value(start):
    random = np.random.default_rng(start)
    cases = [cases_of(opcode) for opcode in NATIVE[start : start + GROUP]]
    check_on_one_value([of_one[random.integers(len(of_one))] for of_one in cases], random)


@pytest.mark.slow
@pytest.mark.parametrize("opcode", NATIVE)
def test_all_operands_that_are_one_value(opcode):
    cases = cases_of(opcode)
    for start in range(0, len(cases), GROUP):
        check_on_one_value(cases[start : start + GROUP], np.random.default_rng(start))
