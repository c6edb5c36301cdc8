"""Collectives in two halves: dones that get the value of their start by way of loops, branches, tuples and copies."""

import numpy as np
import pytest
from device_programs import ADD, assert_all, both, load, values
from phlox.hlo import ELEMENT_TYPES, F32, PRED, S8, U32, Shape, TupleShape
from phlox.hlo.ops.collective_handles import handle_of, placeholder

STARTS = {
    "all-reduce": ("f32[2]", "f32[2]", "to_apply=add", lambda x: [x.sum(0)] * len(x)),
    "all-gather": ("(f32[2], f32[6])", "f32[6]", "dimensions={0}", lambda x: [x.reshape(-1)] * len(x)),
    "collective-permute": (
        "(f32[2], f32[2])", "f32[2]", "source_target_pairs={{0,1},{1,2},{2,0}}", lambda x: np.roll(x, 1, 0),
    ),
}  # fmt: skip


@both
@pytest.mark.parametrize("opcode", STARTS)
def test_pipelined_loop(backend, opcode):
    """Each iteration waits for what the one before has begun; two are on their way at once, and are alike."""
    started, done, attributes, expected = STARTS[opcode]
    state = f"(s32[], f32[2], {started}, {started}, {done})"
    functions = f"""{ADD}
    body {{
      p = {state} parameter(0)
      i = s32[] get-tuple-element(p), index=0
      x = f32[2] get-tuple-element(p), index=1
      old = {started} get-tuple-element(p), index=2
      new = {started} get-tuple-element(p), index=3
      last = {done} get-tuple-element(p), index=4
      one = s32[] constant(1)
      j = s32[] add(i, one)
      two = f32[] constant(2)
      twos = f32[2] broadcast(two), dimensions={{}}
      y = f32[2] multiply(x, twos)
      d = {done} {opcode}-done(new)
      s = {started} {opcode}-start(y), {attributes}
      sum = {done} add(d, last)
      ROOT t = {state} tuple(j, y, s, old, sum)
    }}
    condition {{
      p = {state} parameter(0)
      i = s32[] get-tuple-element(p), index=0
      n = s32[] constant(3)
      ROOT c = pred[] compare(i, n), direction=LT
    }}"""
    body = f"""x = f32[2] parameter(0)
    i = s32[] constant(0)
    zero = f32[] constant(0)
    zeros = {done} broadcast(zero), dimensions={{}}
    ten = f32[] constant(10)
    tens = f32[2] broadcast(ten), dimensions={{}}
    z = f32[2] add(x, tens)
    a = {started} {opcode}-start(x), {attributes}
    b = {started} {opcode}-start(z), {attributes}
    t = {state} tuple(i, x, b, a, zeros)
    w = {state} while(t), condition=condition, body=body
    p = {started} get-tuple-element(w), index=2
    q = {started} get-tuple-element(w), index=3
    r = {done} get-tuple-element(w), index=4
    pd = {done} {opcode}-done(p)
    qd = {done} {opcode}-done(q)
    ROOT u = ({done}, {done}, {done}) tuple(pd, qd, r)"""
    x = values(3, 2)
    # Waited for in the loop: of x, of x + 10, of 2 x; left for after it: of 8 x and of 4 x.
    whole = [expected(part) for part in (8 * x, 4 * x, x, x + 10, 2 * x)]
    module = load(body, backend, 3, functions=functions)
    for _ in range(2):
        for device, result in enumerate(module.run_replicas([[own] for own in x])):
            eighth, fourth, *looped = (part[device] for part in whole)
            assert_all(result, [eighth, fourth, sum(looped)])


@both
def test_through_a_branch_and_copies(backend):
    """What of two was begun comes out of a conditional, whose predicate is data; the other is waited for afterwards."""
    functions = f"""{ADD}
    same {{ p = (f32[2], f32[2]) parameter(0)
      x = f32[2] get-tuple-element(p), index=0
      y = f32[2] get-tuple-element(p), index=1
      ROOT t = (f32[2], f32[2]) tuple(x, y) }}
    swapped {{ p = (f32[2], f32[2]) parameter(0)
      x = f32[2] get-tuple-element(p), index=0
      y = f32[2] get-tuple-element(p), index=1
      ROOT t = (f32[2], f32[2]) tuple(y, x) }}"""
    body = """x = f32[2] parameter(0)
    flag = pred[] parameter(1)
    n = f32[2] negate(x)
    a = f32[2] all-reduce-start(x), to_apply=add
    b = f32[2] all-reduce-start(n), to_apply=add
    c = f32[2] copy(b)
    t = (f32[2], f32[2]) tuple(a, c)
    s = (f32[2], f32[2]) conditional(flag, t, t), true_computation=same, false_computation=swapped
    p = f32[2] get-tuple-element(s), index=0
    q = f32[2] get-tuple-element(s), index=1
    pd = f32[2] all-reduce-done(p)
    qd = f32[2] all-reduce-done(q)
    ROOT r = (f32[2], f32[2]) tuple(pd, qd)"""
    module, x = load(body, backend, 2, functions=functions), values(2, 2)
    for flag, sign in ((True, 1), (False, -1)):
        for result in module.run_replicas([[own, np.bool_(flag)] for own in x]):
            assert_all(result, [sign * x.sum(0), -sign * x.sum(0)])


def predicates(*begun):
    """Sums of pred[2], which have no room for a handle, begun as these, and waited for through a tuple, in this order."""
    both_ = "either { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT c = pred[] or(a, b) }"
    functions = both_ + "\nidentity { ROOT p = (" + ", ".join(["pred[2]"] * len(begun)) + ") parameter(0) }"
    types = ", ".join(["pred[2]"] * len(begun))
    lines = ["x = pred[2] parameter(0)", "flag = pred[] parameter(1)"]
    lines += [f"{name} = pred[2] all-reduce-start(x), to_apply=either" for name in begun]
    lines += [f"t = ({types}) tuple({', '.join(begun)})"]
    lines += [f"s = ({types}) conditional(flag, t, t), true_computation=identity, false_computation=identity"]
    lines += [
        f"g{n} = pred[2] get-tuple-element(s), index={n}\nd{n} = pred[2] all-reduce-done(g{n})" for n in range(len(begun))
    ]
    lines += [f"ROOT r = ({types}) tuple({', '.join(f'd{n}' for n in range(len(begun)))})"]
    return functions, "\n".join(lines)


@both
def test_without_room_for_a_handle(backend):
    """One is found, several are not told apart, which is said."""
    arguments = [[np.array([True, False]), np.True_], [np.array([False, False]), np.True_]]
    functions, body = predicates("a")
    for (result,) in load(body, backend, 2, functions=functions).run_replicas(arguments):
        assert result.tolist() == [True, False]
    if backend == "reference":  # the simplification of the CPU backend removes the conditional, so each sees its start
        functions, body = predicates("a", "b")
        with pytest.raises(NotImplementedError, match=r"all-reduce-done is not implemented .* pred\[2\] has no room"):
            load(body, backend, 2, functions=functions).run_replicas(arguments)


@both
def test_done_twice(backend):
    body = """x = f32[2] parameter(0)
    s = f32[2] all-reduce-start(x), to_apply=add
    d = f32[2] all-reduce-done(s)
    e = f32[2] all-reduce-done(s)
    ROOT r = f32[2] add(d, e)"""
    with pytest.raises(ValueError, match="all-reduce-done: the operand is not the value of all-reduce-start that is begun"):
        load(body, backend, 2).run_replicas([[np.ones(2, np.float32)]] * 2)


# --- asynchronous wrappers ---


@both
@pytest.mark.parametrize(
    ("opcode", "result", "attributes", "expected"),
    [
        ("reduce-scatter", "f32[2]", "dimensions={0}, to_apply=add", lambda x: np.split(x.sum(0), 2)),
        ("all-to-all", "f32[4]", "dimensions={0}", lambda x: [x[:, :2].reshape(-1), x[:, 2:].reshape(-1)]),
        ("collective-broadcast", "f32[4]", "replica_groups={{1,0}}", lambda x: [x[1]] * 2),
        ("collective-reduce", "f32[4]", "to_apply=add", lambda x: [x.sum(0), 0 * x[1]]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("contexts", ["", ", u32[]"])
def test_wrapped_collectives_do_not_wait_at_the_start(backend, opcode, result, attributes, expected, contexts):
    """The two devices begin in different orders, so they would wait for each other for ever if a start did."""
    started = f"((f32[4]), {result}{contexts})"
    if "to_apply" in attributes:
        attributes += ", use_global_device_ids=true, replica_groups={{0,1}}"
    functions = ADD
    for order in ("one", "other"):
        names = ("a", "b") if order == "one" else ("b", "a")
        functions += f"""
        a.{order} {{ x = f32[4] parameter(0)  ROOT y = {result} {opcode}(x), {attributes}, channel_id=1 }}
        b.{order} {{ x = f32[4] parameter(0)
          n = f32[4] negate(x)
          ROOT y = {result} {opcode}(n), {attributes}, channel_id=2 }}
        """
        lines = [f"    {name} = {started} async-start(x), calls={name}.{order}" for name in names]
        functions += f"{order} {{ x = f32[4] parameter(0)\n" + "\n".join(lines)
        functions += f"\n    da = {result} async-done(a)\n    db = {result} async-done(b)"
        functions += f"\n    ROOT t = ({result}, {result}) tuple(da, db) }}\n"
    body = f"""x = f32[4] parameter(0)
    flag = pred[] parameter(1)
    ROOT r = ({result}, {result}) conditional(flag, x, x), true_computation=one, false_computation=other"""
    module, x = load(body, backend, 1, 2, functions=functions), values(2, 4)
    results = module.run_replicas([[own, np.bool_(number == 0)] for number, own in enumerate(x)])
    for own, wanted in zip(results, expected(x), strict=True):
        assert_all(own, [wanted, -wanted])


@both
@pytest.mark.parametrize("trips", [1, 4])
def test_wrapped_collective_in_a_pipelined_loop(backend, trips):
    state = "(s32[], f32[2], ((f32[2]), f32[2], u32[]))"
    functions = f"""{ADD}
    first {{ x = f32[2] parameter(0)  ROOT y = f32[2] all-reduce(x), to_apply=add }}
    next {{ x = f32[2] parameter(0)  ROOT y = f32[2] all-reduce(x), to_apply=add }}
    body {{ p = {state} parameter(0)
      i = s32[] get-tuple-element(p), index=0
      total = f32[2] get-tuple-element(p), index=1
      s = ((f32[2]), f32[2], u32[]) get-tuple-element(p), index=2
      u = ((f32[2]), f32[2], u32[]) async-update(s)
      d = f32[2] async-done(u)
      more = f32[2] add(total, d)
      n = ((f32[2]), f32[2], u32[]) async-start(d), calls=next
      one = s32[] constant(1)
      j = s32[] add(i, one)
      ROOT t = {state} tuple(j, more, n) }}
    condition {{ p = {state} parameter(0)
      i = s32[] get-tuple-element(p), index=0
      n = s32[] constant({trips})
      ROOT c = pred[] compare(i, n), direction=LT }}"""
    body = f"""x = f32[2] parameter(0)
    i = s32[] constant(0)
    s = ((f32[2]), f32[2], u32[]) async-start(x), calls=first
    t = {state} tuple(i, x, s)
    w = {state} while(t), condition=condition, body=body
    total = f32[2] get-tuple-element(w), index=1
    a = ((f32[2]), f32[2], u32[]) get-tuple-element(w), index=2
    d = f32[2] async-done(a)
    ROOT r = (f32[2], f32[2]) tuple(total, d)"""
    x = values(2, 2)
    sums = [x.sum(0) * 2**n for n in range(trips + 1)]
    results = load(body, backend, 2, functions=functions).run_replicas([[own] for own in x])
    for own, result in zip(x, results):
        assert_all(result, [own + sum(sums[:-1]), sums[-1]])
    # On one device a sum is its operand.
    (total, last) = load(body, backend, functions=functions)(x[0])
    assert_all([total, last], [x[0] * (1 + trips), x[0]])


# --- handles ---


def test_handles():
    """Every element type and layout gives back what was put in; what has no room holds zeros."""
    for element_type in ELEMENT_TYPES.values():
        if element_type.dtype is None:
            continue
        for sizes in ((), (3, 2)):
            shape = Shape(element_type, sizes)
            has_room = element_type is not PRED and element_type.bits >= 8
            value = placeholder(shape, 200)
            assert value.shape == sizes and value.dtype == element_type.dtype
            assert handle_of(value.T, shape) == (200 if has_room else 0)
    assert handle_of(placeholder(Shape(S8, (2,)), 256), Shape(S8, (2,))) == 0
    pair = TupleShape((Shape(S8), TupleShape((Shape(F32, (0,)), Shape(U32)))))
    assert handle_of(placeholder(pair, 300), pair) == 300


@both
@pytest.mark.parametrize("name", ["s8", "f8e4m3fn", "f8e8m0fnu", "bf16", "f16", "u16", "f64", "c64", "c128"])
def test_copies_keep_handles(backend, name):
    """Through the copies, in another layout, and the loop of each backend, whatever number the bits of the handle are."""
    whole = f"{name}[2,3]"
    state = f"(s32[], {whole}, {whole})"
    functions = f"""body {{ p = {state} parameter(0)
      i = s32[] get-tuple-element(p), index=0
      x = {whole} get-tuple-element(p), index=1
      y = {whole} get-tuple-element(p), index=2
      one = s32[] constant(1)
      j = s32[] add(i, one)
      c = {whole}{{0,1}} copy(x)
      ROOT t = {state} tuple(j, y, c) }}
    condition {{ p = {state} parameter(0)
      i = s32[] get-tuple-element(p), index=0
      n = s32[] constant(3)
      ROOT c = pred[] compare(i, n), direction=LT }}
    second {{ a = {name}[] parameter(0)  ROOT b = {name}[] parameter(1) }}"""
    body = f"""x = {whole} parameter(0)
    y = {whole} parameter(1)
    i = s32[] constant(0)
    s = {whole} all-reduce-start(x), to_apply=second
    r = {whole} all-reduce-start(y), to_apply=second
    t = {state} tuple(i, s, r)
    w = {state} while(t), condition=condition, body=body
    a = {whole} get-tuple-element(w), index=1
    b = {whole} get-tuple-element(w), index=2
    ad = {whole} all-reduce-done(a)
    bd = {whole} all-reduce-done(b)
    ROOT u = ({whole}, {whole}) tuple(ad, bd)"""
    x, y = (np.arange(start, start + 12).reshape(2, 2, 3).astype(ELEMENT_TYPES[name].dtype) for start in (1, 20))
    for first, second in load(body, backend, 2, functions=functions).run_replicas(list(zip(x, y))):
        assert first.tobytes() == y[1].tobytes() and second.tobytes() == x[1].tobytes()
