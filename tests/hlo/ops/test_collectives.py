"""Programs on several devices: every collective operation against NumPy on all devices' values, groups, deadlocks, failures."""

import json
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from device_programs import ADD, assert_all, both, built, load, run, values
from hypothesis import given, settings
from hypothesis import strategies as st
from phlox import hlo, load_hlo
from phlox.hlo import F32, S32, Shape
from phlox.hlo.builder import scalar_computation
from phlox.hlo.replica_groups import (
    CROSS_PARTITION,
    CROSS_REPLICA,
    CROSS_REPLICA_AND_PARTITION,
    FLATTENED_ID,
    IotaGroups,
    group_mode,
    participants,
)

COUNTS = [1, 2, 4, 8]


def all_to_all(split, concat, count, b, x):
    return b.AllToAll(x, split, concat, count)


# --- the examples of the documents ---


@both
def test_all_reduce_of_the_documents(backend):
    module = load("x = f32[2] parameter(0)\nROOT y = f32[2] all-reduce(x), to_apply=add", backend, 2)
    results = module.run_replicas([[np.float32([1.0, 2.5])], [np.float32([3.0, 5.25])]])
    assert_all(results, np.float32([[4.0, 7.75], [4.0, 7.75]]))


@both
def test_all_gather_of_the_documents(backend):
    module = load("x = f32[2] parameter(0)\nROOT y = f32[4] all-gather(x), dimensions={0}", backend, 2)
    results = module.run_replicas([[np.float32([1.0, 2.5])], [np.float32([3.0, 5.25])]])
    assert_all(results, np.float32([[1.0, 2.5, 3.0, 5.25]] * 2))


@both
def test_reduce_scatter_of_the_documents(backend):
    body = "x = f32[2] parameter(0)\nROOT y = f32[1] reduce-scatter(x), dimensions={0}, to_apply=add"
    results = load(body, backend, 2).run_replicas([[np.float32([1.0, 2.25])], [np.float32([3.0, 5.25])]])
    assert_all(results, np.float32([[4.0], [7.5]]))


@both
def test_all_to_all_of_the_documents(backend):
    """f32[4,16] on 4 cores, split along 1, concatenated along 0: f32[16,4] on each."""
    module = built(lambda b, x: b.AllToAll(x, 1, 0, 4), [Shape(F32, (4, 16))], 4)
    x = values(4, 4, 16)
    expected = [np.concatenate([x[j][:, 4 * i : 4 * i + 4] for j in range(4)], 0) for i in range(4)]
    assert_all(run(module, backend, x), expected)


@both
def test_groups_of_the_documents(backend):
    """{0, 2}, {1, 3} for sums, and {1,2,3}, {4,5,0} for an all-to-all, whose order counts."""
    x = values(4, 3)
    module = built(lambda b, x: b.CrossReplicaSum(x, [[0, 2], [1, 3]]), [Shape(F32, (3,))], 4)
    assert_all(run(module, backend, x), [x[0] + x[2], x[1] + x[3]] * 2)
    x = values(6, 3, 2)
    module = built(lambda b, x: b.AllToAll(x, 0, 0, 3, [[1, 2, 3], [4, 5, 0]]), [Shape(F32, (3, 2))], 6)
    place = {1: (0, (1, 2, 3)), 2: (1, (1, 2, 3)), 3: (2, (1, 2, 3)), 4: (0, (4, 5, 0)), 5: (1, (4, 5, 0)), 0: (2, (4, 5, 0))}
    assert_all(run(module, backend, x), [np.stack([x[j][place[i][0]] for j in place[i][1]]) for i in range(6)])


# --- every operation, on 1 to 8 replicas ---


@both
@pytest.mark.parametrize("count", COUNTS)
class TestCounts:
    def test_all_reduce(self, backend, count):
        x, y = values(count, 3, 5), values(count, seed=1)
        module = built(lambda b, x, y: b.CrossReplicaSum(b.emit("tuple", x, y)), [Shape(F32, (3, 5)), Shape(F32)], count)
        results = run(module, backend, x, y)
        assert_all([result[0] for result in results], [x.sum(0)] * count)
        assert_all([result[1] for result in results], [y.sum(0)] * count)

    @pytest.mark.parametrize("opcode", ["maximum", "minimum", "multiply"])
    def test_other_computations(self, backend, count, opcode):
        x = values(count, 7)
        module = built(lambda b, x: b.AllReduce(x, scalar_computation(opcode, F32)), [Shape(F32, (7,))], count)
        assert_all(run(module, backend, x), [getattr(np, opcode).reduce(x, 0)] * count)

    def test_all_gather(self, backend, count):
        x = values(count, 2, 3)
        module = built(lambda b, x: b.AllGather(x, 1, count), [Shape(F32, (2, 3))], count)
        assert_all(run(module, backend, x), [np.concatenate(x, 1)] * count)

    def test_reduce_scatter(self, backend, count):
        x = values(count, 2, 8)
        add = scalar_computation("add", F32)
        module = built(lambda b, x: b.ReduceScatter(x, add, 1, count), [Shape(F32, (2, 8))], count)
        assert_all(run(module, backend, x), np.split(x.sum(0), count, 1))

    def test_all_to_all(self, backend, count):
        x = values(count, 8, 8)
        for split, concat in ((0, 1), (1, 0), (0, 0)):
            module = built(partial(all_to_all, split, concat, count), [Shape(F32, (8, 8))], count)
            parts = [np.split(own, count, split) for own in x]
            assert_all(run(module, backend, x), [np.concatenate([p[i] for p in parts], concat) for i in range(count)])

    def test_all_to_all_of_tuples(self, backend, count):
        x = values(count, count, 3)
        module = built(lambda b, *xs: b.AllToAllTuple(xs), [Shape(F32, (3,))] * count, count)
        results = run(module, backend, *np.swapaxes(x, 0, 1))
        for i, result in enumerate(results):
            assert_all(result, x[:, i])

    def test_collective_permute(self, backend, count):
        """A shift by one: replica 0 is no target, and gets zeros."""
        x = values(count, 4) + 20
        pairs = [(i, i + 1) for i in range(count - 1)]
        module = built(lambda b, x: b.CollectivePermute(x, pairs), [Shape(F32, (4,))], count)
        assert_all(run(module, backend, x), [np.zeros(4, np.float32), *x[:-1]])

    def test_collective_broadcast(self, backend, count):
        x = values(count, 4) + 20
        last = count - 1
        module = built(lambda b, x: b.CollectiveBroadcast(x, [[last, 0]] if last else [[0]]), [Shape(F32, (4,))], count)
        named = {last, 0}
        assert_all(run(module, backend, x), [x[last] if i in named else np.zeros(4, np.float32) for i in range(count)])

    def test_ragged_all_to_all(self, backend, count):
        """Replica i sends i + j % 2 rows to replica j, from the input's start, to rows 20 j' on for sender j'."""
        x = values(count, 10, 2)
        sizes = np.array([[i % 3 + j % 2 for j in range(count)] for i in range(count)], np.int32)
        output = np.full((count, 20 * count, 2), -1, np.float32)
        starts = np.zeros((count, count), np.int32)
        targets = np.array([[20 * i] * count for i in range(count)], np.int32)
        shapes = [Shape(F32, (10, 2)), Shape(F32, (20 * count, 2)), *[Shape(S32, (count,))] * 4]
        module = built(lambda b, *operands: b.emit("ragged-all-to-all", *operands), shapes, count)
        expected = output.copy()
        for i in range(count):
            for j in range(count):
                expected[j, 20 * i : 20 * i + sizes[i, j]] = x[i, : sizes[i, j]]
        assert_all(run(module, backend, x, output, starts, sizes, targets, sizes.T), expected)

    def test_ids(self, backend, count):
        module = built(lambda b: b.emit("tuple", b.ReplicaId(), b.PartitionId()), [], count)
        assert load_hlo(module.as_text(), backend).run_replicas([[]] * count) == tuple((i, 0) for i in range(count))

    def test_starts_and_dones(self, backend, count):
        """All are begun before any is waited for, and waited for in another order."""
        gathered, pairs = f"f32[{2 * count}]", ",".join(f"{{{i},{(i + 1) % count}}}" for i in range(count))
        module = load(
            f"""x = f32[2] parameter(0)
            r = f32[2] all-reduce-start(x), to_apply=add
            s = (f32[2], f32[2]) all-reduce-start(x, x), to_apply=add
            g = (f32[2], {gathered}) all-gather-start(x), dimensions={{0}}
            p = (f32[2], f32[2], u32[], u32[]) collective-permute-start(x), source_target_pairs={{{pairs}}}
            pd = f32[2] collective-permute-done(p)
            gd = {gathered} all-gather-done(g)
            sd = (f32[2], f32[2]) all-reduce-done(s)
            s0 = f32[2] get-tuple-element(sd), index=1
            rd = f32[2] all-reduce-done(r)
            ROOT t = (f32[2], {gathered}, f32[2], f32[2]) tuple(pd, gd, s0, rd)""",
            backend, count,
        )  # fmt: skip
        x = values(count, 2)
        for _ in range(2):
            results = module.run_replicas([[own] for own in x])
            for i, result in enumerate(results):
                assert_all(result, [x[i - 1], x.reshape(-1), x.sum(0), x.sum(0)])

    def test_asynchronous_wrapper(self, backend, count):
        body = "x = f32[2] parameter(0)\ns = ((f32[2]), f32[2], u32[]) all-reduce-async-start(x), to_apply=add"
        body = body.replace("all-reduce-async-start", "collective-broadcast-start").replace(", to_apply=add", "")
        module = load(body + "\nROOT d = f32[2] collective-broadcast-done(s)", backend, count)
        x = values(count, 2)
        assert_all(module.run_replicas([[own] for own in x]), [x[0]] * count)

    def test_in_control_flow(self, backend, count):
        """Sums in a loop whose trip count is data, and in the branches of a conditional."""
        functions = f"""{ADD}
        body {{ p = (s32[], s32[], f32[3]) parameter(0)
          i = s32[] get-tuple-element(p), index=0
          n = s32[] get-tuple-element(p), index=1
          x = f32[3] get-tuple-element(p), index=2
          one = s32[] constant(1)
          j = s32[] add(i, one)
          y = f32[3] all-reduce(x), to_apply=add
          ROOT t = (s32[], s32[], f32[3]) tuple(j, n, y) }}
        condition {{ p = (s32[], s32[], f32[3]) parameter(0)
          i = s32[] get-tuple-element(p), index=0
          n = s32[] get-tuple-element(p), index=1
          ROOT c = pred[] compare(i, n), direction=LT }}
        yes {{ x = f32[3] parameter(0)
          ROOT y = f32[3] all-reduce(x), to_apply=add }}
        no {{ x = f32[3] parameter(0)
          ROOT y = f32[3] negate(x) }}"""
        body = """x = f32[3] parameter(0)
        n = s32[] parameter(1)
        c = pred[] parameter(2)
        zero = s32[] constant(0)
        t = (s32[], s32[], f32[3]) tuple(zero, n, x)
        w = (s32[], s32[], f32[3]) while(t), condition=condition, body=body
        y = f32[3] get-tuple-element(w), index=2
        ROOT z = f32[3] conditional(c, y, y), true_computation=yes, false_computation=no"""
        module, x = load(body, backend, count, functions=functions), values(count, 3)
        for trips in (0, 1, 3):
            looped = [x.sum(0) * count ** (trips - 1)] * count if trips else list(x)
            both = [(np.sum(looped, 0), True), (None, False)]
            for summed, flag in both:
                results = module.run_replicas([[own, np.int32(trips), np.bool_(flag)] for own in x])
                assert_all(results, [summed] * count if flag else [-own for own in looped])


@both
@settings(deadline=None, derandomize=True, max_examples=12)
@given(data=st.data())
def test_random_groups(backend, data):
    """Any order and any equal sizes of groups."""
    count = data.draw(st.sampled_from([2, 4, 6]))
    size = data.draw(st.sampled_from([n for n in (1, 2, 3, 4, 6) if count % n == 0]))
    order = data.draw(st.permutations(range(count)))
    groups = [order[start : start + size] for start in range(0, count, size)]
    x = values(count, size, 2, seed=data.draw(st.integers(0, 99)))
    add = scalar_computation("add", F32)

    def build(b, x):
        parts = (
            b.AllReduce(x, add, groups), b.AllGather(x, 0, size, groups), b.ReduceScatter(x, add, 0, size, groups),
            b.AllToAll(x, 0, 0, size, groups), b.CollectiveBroadcast(x, groups),
        )  # fmt: skip
        return b.emit("tuple", *parts)

    results = run(built(build, [Shape(F32, (size, 2))], count), backend, x)
    for group in groups:
        own = x[list(group)]
        for place, device in enumerate(group):
            expected = [own.sum(0), np.concatenate(own, 0), own.sum(0)[place : place + 1], own[:, place], own[0]]
            assert_all(results[device], expected)


@both
def test_floating_point_sums_are_in_the_order_of_the_group(backend):
    """From left to right whatever the threads do, so the sums are equal everywhere and every time."""
    x = np.random.default_rng(3).standard_normal((8, 2000)).astype(np.float32) * np.float32(10) ** np.arange(8)[:, None]
    x = x.astype(np.float32)
    order = [5, 0, 3, 7, 1, 2, 6, 4]
    module = load_hlo(built(lambda b, x: b.CrossReplicaSum(x, [order]), [Shape(F32, (2000,))], 8).as_text(), backend)
    expected = x[order[0]]
    for device in order[1:]:
        expected = expected + x[device]
    for _ in range(5):
        assert_all(module.run_replicas([[own] for own in x]), [expected] * 8)


@both
def test_large_arrays_beside_native_loops(backend):
    """Temporaries that are not on the stack: each thread has its own."""
    x = np.random.default_rng(4).standard_normal((4, 200, 300)).astype(np.float32)
    body = """x = f32[200,300] parameter(0)
    t = f32[300,200] transpose(x), dimensions={1,0}
    d = f32[200,200] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    s = f32[200,200] all-reduce(d), to_apply=add
    ROOT e = f32[200,200] dot(s, d), lhs_contracting_dims={1}, rhs_contracting_dims={0}"""
    module = load(body, backend, 4)
    products = [own @ own.T for own in x.astype(np.float64)]
    for _ in range(3):
        for result, product in zip(module.run_replicas([[own] for own in x]), products):
            np.testing.assert_allclose(result, sum(products) @ product, rtol=1e-3, atol=1)


# --- partitions ---


@both
def test_group_modes(backend):
    """2 replicas with 3 partitions each; the value is ten times the replica, plus the partition."""
    groups = "replica_groups={{1,0}}"
    body = f"""x = f32[1] parameter(0)
    a = f32[2] all-gather(x), dimensions={{0}}, {groups}
    b = f32[6] all-gather(x), dimensions={{0}}, {groups}, channel_id=1
    c = f32[3] all-gather(x), dimensions={{0}}, replica_groups={{{{0,4,2}},{{5,1,3}}}}, channel_id=2, use_global_device_ids=true
    d = f32[1] collective-broadcast(x), replica_groups={{{{2,0,1}}}}, channel_id=3
    e = f32[1] collective-permute(x), source_target_pairs={{{{0,2}}}}, channel_id=4
    f = f32[1] collective-permute(x), source_target_pairs={{{{0,1}}}}
    ROOT t = (f32[2], f32[6], f32[3], f32[1], f32[1], f32[1]) tuple(a, b, c, d, e, f)"""
    module = load(body, backend, 2, 3)
    assert module.device_count == 6
    devices = [(r, p) for r in range(2) for p in range(3)]
    results = module.run_replicas([[np.float32([10 * r + p])] for r, p in devices])
    for (r, p), (a, b, c, d, e, f) in zip(devices, results):
        assert a.tolist() == [10 + p, p]
        assert b.tolist() == [10, 11, 12, 0, 1, 2]
        assert c.tolist() == ([0, 11, 2] if 3 * r + p in (0, 4, 2) else [12, 1, 10])
        assert d.tolist() == [10 * r + 2]
        assert e.tolist() == [10 * r if p == 2 else 0]
        assert f.tolist() == [p if r == 1 else 0]


def test_group_mode():
    assert group_mode(None, None) == group_mode(None, False) == CROSS_REPLICA
    assert group_mode(1, None) == CROSS_PARTITION
    assert group_mode(1, False) == CROSS_REPLICA_AND_PARTITION
    assert group_mode(1, True) == FLATTENED_ID
    with pytest.raises(hlo.ShapeError, match="requires a channel_id"):
        group_mode(None, True)


def test_participants():
    assert participants((), CROSS_REPLICA, (1, 1), 3, 2) == ((0, 1), (1, 1), (2, 1))
    assert participants((), CROSS_REPLICA_AND_PARTITION, (1, 1), 2, 2) == ((0, 0), (0, 1), (1, 0), (1, 1))
    assert participants(((3, 0), (1, 2)), FLATTENED_ID, (0, 1), 2, 2) == ((0, 1), (1, 0))
    assert participants(((0,),), CROSS_PARTITION, (0, 1), 1, 2) == ()
    with pytest.raises(ValueError, match="replica 2 is named, but the program runs on 2 replicas"):
        participants(((0, 2),), CROSS_REPLICA, (0, 0), 2, 1)


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("[2,4]<=[8]", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("[2,4]<=[4,2]T(1,0)", ((0, 2, 4, 6), (1, 3, 5, 7))),
        ("[4,2]<=[2,2,2]T(2,0,1)", ((0, 2), (4, 6), (1, 3), (5, 7))),
    ],
)
def test_iota_groups(text, groups):
    body = f"ENTRY f {{ x = f32[8] parameter(0)  ROOT y = f32[8] collective-broadcast(x), replica_groups={text} }}"
    module = hlo.parse_module("HloModule m, replica_count=8\n" + body)
    value = module.entry.root.attributes["replica_groups"]
    assert isinstance(value, IotaGroups) and value.expanded() == groups
    assert f"replica_groups={text}" in module.as_text()
    x = values(8, 8)
    first = {device: group[0] for group in groups for device in group}
    assert_all(run(module, "cpu", x), [x[first[device]] for device in range(8)])


@pytest.mark.parametrize(
    "text", ["[2,4]<=[7]", "[8]<=[8]", "[2,4]<=[4,2]T(0,0)", "[0,4]<=[0]", "[1048577,1]<=[1048577]", "{{0},{0}}"]
)
def test_invalid_groups(text):
    body = f"ENTRY f {{ x = f32[8] parameter(0)  ROOT y = f32[8] collective-broadcast(x), replica_groups={text} }}"
    with pytest.raises(hlo.HloSyntaxError, match="replica_groups"):
        hlo.parse_module(body)


# --- JAX ---

SHARDED = """
import json, sys
import jax, numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("i", "j"))
def f(x):
    shifted = lax.ppermute(x, "i", [(0, 1)])
    exchanged = lax.all_to_all(x, "j", 1, 0, tiled=True)
    scattered = lax.psum_scatter(lax.all_gather(x, "j", tiled=True), ("i", "j"), scatter_dimension=0, tiled=True)
    return lax.psum(x * x, "i"), lax.pmax(x, ("i", "j")), shifted, exchanged, scattered, lax.axis_index("j")[None, None] + 0 * x
def in_order(array):
    return sorted(array.addressable_shards, key=lambda shard: shard.device.id)
x = np.arange(64, dtype=np.float32).reshape(8, 8)
spec = P("i", "j")
program = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=spec, out_specs=(spec,) * 6, check_vma=False)).lower(x).compile()
results = [[np.asarray(shard.data).tolist() for shard in in_order(r)] for r in program(x)]
inputs = [np.asarray(shard.data).tolist() for shard in in_order(jax.device_put(x, jax.sharding.NamedSharding(mesh, spec)))]
json.dump({"text": program.as_text(), "inputs": inputs, "results": results}, sys.stdout)
"""


@pytest.fixture(scope="module")
def sharded():
    pytest.importorskip("jax")
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", SHARDED], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.peer
@both
def test_a_program_that_jax_has_partitioned(sharded, backend):
    module = load_hlo(sharded["text"], backend)
    assert module.device_count == 4
    results = module.run_replicas([[np.float32(shard)] for shard in sharded["inputs"]])
    for device, result in enumerate(results):
        for own, wanted in zip(result, sharded["results"], strict=True):
            np.testing.assert_array_equal(own, np.asarray(wanted[device], own.dtype))


# --- roots ---


@both
def test_collective_reduce(backend):
    """The sum is the first device's of each group; the other gets zeros."""
    text = "replica_groups={{1,0},{2,3}}, has_dynamic_root=false, to_apply=add"
    module = load(f"x = f32[8] parameter(0)\nROOT y = f32[8] collective-reduce(x), {text}", backend, 4)
    x = values(4, 8)
    nothing = np.zeros(8, np.float32)
    assert_all(module.run_replicas([[own] for own in x]), [nothing, x[0] + x[1], x[2] + x[3], nothing])


@both
def test_roots_that_are_data(backend):
    body = """x = f32[2] parameter(0)
    y = f32[] parameter(1)
    roots = s32[2] parameter(2)
    r = (f32[2], f32[]) collective-reduce(x, y, roots), replica_groups={{2,0,1}}, has_dynamic_root=true, to_apply=add
    b = (f32[2], f32[]) collective-broadcast(x, y, roots), replica_groups={{2,0,1}}, has_dynamic_root=true
    ROOT t = ((f32[2], f32[]), (f32[2], f32[])) tuple(r, b)"""
    module, x, y = load(body, backend, 3), values(3, 2), values(3)
    group = [2, 0, 1]
    for roots in ([0, 0], [2, 1], [1, 2]):
        of_x, of_y = (group[root] for root in roots)
        results = module.run_replicas([[x[i], y[i], np.int32(roots)] for i in range(3)])
        for device, (summed, sent) in enumerate(results):
            assert_all(summed, [x.sum(0) * (device == of_x), np.float32(y.sum() * (device == of_y))])
            assert_all(sent, [x[of_x], y[of_y]])
    for root in (3, -1):
        with pytest.raises(ValueError, match="a root must be the place of a device in its group, from 0 to 2, got"):
            module.run_replicas([[x[i], y[i], np.int32([0, root])] for i in range(3)])
    with pytest.raises(ValueError, match="all devices of a group must give the same roots"):
        module.run_replicas([[x[i], y[i], np.int32([0, i])] for i in range(3)])


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_all_to_all_has_as_many_operands_as_devices(backend):
    """Which no group says here: the only device is all of them."""
    text = """HloModule m
    ENTRY e {
      x = f32[3] parameter(0)
      ROOT r = (f32[3], f32[3]) all-to-all(x, x), replica_groups={}
    }"""
    with pytest.raises(ValueError, match="one operand for each of the 1 devices of a group, 2 given"):
        load_hlo(text, backend)(np.zeros(3, np.float32))
