"""Runs on several devices: arguments, deadlocks, failures, interrupts, and what the devices share."""

import threading
import time

import numpy as np
import pytest
from device_programs import ADD, assert_all, both, built, load
from phlox import hlo, load_hlo
from phlox.hlo import F32, S32, Shape, TupleShape
from phlox.runtime import CommunicationError, Communicator, DeadlockError, Environment, current_environment, run_on_devices
from phlox.xla_builder import XlaBuilder
from signals import interrupt


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    left = [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("phlox ")]
    assert not left


REPLICA_BRANCH = """HloModule test, replica_count=3
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
yes { x = f32[2] parameter(0)  ROOT sum_of_some = f32[2] all-reduce(x), to_apply=add }
no { x = f32[2] parameter(0)  ROOT y = f32[2] negate(x) }
ENTRY main {
  x = f32[2] parameter(0)
  c = pred[] parameter(1)
  ROOT z = f32[2] conditional(c, x, x), true_computation=yes, false_computation=no
}"""


@both
def test_deadlock_where_one_has_ended(backend):
    module = load_hlo(REPLICA_BRANCH, backend)
    x = np.ones(2, np.float32)
    arguments = [[x, np.bool_(flag)] for flag in (True, False, True)]
    for _ in range(2):
        with pytest.raises(DeadlockError) as caught:
            module.run_replicas(arguments)
        assert str(caught.value).splitlines() == [
            "deadlock: every device that has not ended waits for ever",
            "  replica 0 waits in all-reduce %sum_of_some for replica 1",
            "  replica 1 has ended",
            "  replica 2 waits in all-reduce %sum_of_some for replica 1",
        ]
    assert_all(module.run_replicas([[x, np.bool_(True)]] * 3), [3 * x] * 3)


@both
def test_deadlock_where_trip_counts_differ(backend):
    """The documents' example: a loop that runs more often on one replica than on the other."""
    functions = f"""{ADD}
    body {{ p = (s32[], f32[2]) parameter(0)
      i = s32[] get-tuple-element(p), index=0
      x = f32[2] get-tuple-element(p), index=1
      one = s32[] constant(1)
      j = s32[] subtract(i, one)
      in_loop = f32[2] all-reduce(x), to_apply=add
      ROOT t = (s32[], f32[2]) tuple(j, in_loop) }}
    condition {{ p = (s32[], f32[2]) parameter(0)
      i = s32[] get-tuple-element(p), index=0
      zero = s32[] constant(0)
      ROOT c = pred[] compare(i, zero), direction=GT }}"""
    body = """n = s32[] parameter(0)
    x = f32[2] parameter(1)
    t = (s32[], f32[2]) tuple(n, x)
    ROOT w = (s32[], f32[2]) while(t), condition=condition, body=body"""
    module = load(body, backend, 2, functions=functions)
    x = np.ones(2, np.float32)
    with pytest.raises(DeadlockError, match="replica 1 waits in all-reduce %in_loop.* for replica 0"):
        module.run_replicas([[np.int32(2), x], [np.int32(3), x]])
    assert module.run_replicas([[np.int32(3), x]] * 2)[0][1].tolist() == [8, 8]


def test_deadlock_where_two_wait_for_each_other():
    """Each has begun with another meeting; a third device has ended. Partitions are named."""

    def program(first, second):
        environment = current_environment()
        device, everyone = (environment.replica, environment.partition), ((0, 0), (0, 1))
        if environment.partition == 2:
            return
        for key in (first, second):
            meeting = environment.communicator.contribute(device, key, everyone, f"step {key}", 1, lambda values: values)
            environment.communicator.take(device, meeting)

    with pytest.raises(DeadlockError) as caught:
        run_on_devices(program, [("a", "b"), ("b", "a"), ("a", "b")], 1, 3)
    assert "partition 0 waits in step a for partition 1" in str(caught.value)
    assert "partition 1 waits in step b for partition 0" in str(caught.value)
    assert "partition 2 has ended" in str(caught.value)
    run_on_devices(program, [("a", "b")] * 3, 1, 3)


@both
def test_different_operations_on_one_channel(backend):
    text = REPLICA_BRANCH.replace("replica_count=3", "replica_count=2").replace("to_apply", "channel_id=1, to_apply")
    text = text.replace("f32[2] negate(x)", "f32[2] collective-permute(x), channel_id=1, source_target_pairs={}")
    module = load_hlo(text.replace("replica_count=2", "replica_count=1, num_partitions=2"), backend)
    x = np.ones(2, np.float32)
    with pytest.raises(CommunicationError, match="it meets partition . with .*: what they do differs"):
        module.run_replicas([[x, np.bool_(True)], [x, np.bool_(False)]])


def test_an_error_on_one_device_ends_the_others():
    seen = []

    def program():
        environment = current_environment()
        device = (environment.replica, 0)
        if environment.replica == 1:
            raise ZeroDivisionError("on purpose")
        everyone = tuple((r, 0) for r in range(3))
        try:
            meeting = environment.communicator.contribute(device, "sum", everyone, "a sum", 1, lambda values: values)
            environment.communicator.take(device, meeting)
        except CommunicationError as error:
            seen.append(str(error))
            raise

    with pytest.raises(ZeroDivisionError, match="on purpose") as caught:
        run_on_devices(program, [()] * 3, 3)
    assert caught.value.__notes__ == ["raised on replica 1"]
    assert seen == ["replica 1 has ended with ZeroDivisionError: on purpose"] * 2


def test_an_error_ends_waits_for_the_host():
    """A device that waits for infeed does not hold the others up for longer than it takes to look again."""

    def program():
        environment = current_environment()
        if environment.replica == 1:
            raise ZeroDivisionError("on purpose")
        environment.infeed.get()

    start = time.monotonic()
    with Environment().active(), pytest.raises(ZeroDivisionError):
        run_on_devices(program, [()] * 2, 2)
    assert time.monotonic() - start < 30


def test_interrupt():
    """An interrupt of the caller ends devices that wait, and is raised when all have ended."""
    ended, signals = [], []

    def program():
        environment = current_environment()
        try:
            if environment.replica == 1:  # begins to wait after the interrupt
                while not signals:
                    time.sleep(0.1)
            environment.communicator.wait_until((environment.replica, 0), "a test", lambda: False)
        finally:
            ended.append(environment.replica)

    interrupt(0.2, run_on_devices, program, [(), ()], 2, error=KeyboardInterrupt, handled=signals)
    assert sorted(ended) == [0, 1]


@both
def test_counts_of_arguments(backend):
    module = load("ROOT x = f32[2] parameter(0)", backend, 2, 2)
    x = np.float32([1, 2])
    with pytest.raises(ValueError, match="runs on 4 devices .replica_count 2 times num_partitions 2.*, 3 given"):
        module.run_replicas([[x]] * 3)
    with pytest.raises(TypeError, match="device 2: .*takes 1 argument .*, 2 given"):
        module.run_replicas([[x], [x], [x, x], [x]])
    with pytest.raises(ValueError, match=r"device 1: .*f32\[2\] is required"):
        module.run_replicas([[x], [x[:1]], [x], [x]])
    with pytest.raises(TypeError, match="device 0: a sequence of arguments is required, int given"):
        module.run_replicas([1, 2, 3, 4])
    results = module(x)
    assert isinstance(results, tuple) and len(results) == 4
    assert_all(results, [x] * 4)


@both
def test_one_device(backend):
    """A call gives the result itself; groups that name other devices are errors."""
    x = np.float32([1, 2])
    assert_all([load("x = f32[2] parameter(0)\nROOT y = f32[2] all-reduce(x), to_apply=add", backend)(x)], [x])
    body = "x = f32[2] parameter(0)\nROOT y = f32[2] all-reduce(x), to_apply=add, replica_groups={{0,1}}"
    with pytest.raises(ValueError, match="all-reduce: replica 1 is named, but the program runs on 1 replica$"):
        load(body, backend)(x)
    body = "x = f32[2] parameter(0)\nROOT y = f32[4] all-gather(x), dimensions={0}"
    with pytest.raises(ValueError, match="all-gather: 1 devices of a group require sizes 1 to 1, the shapes say 4 to 2"):
        load(body, backend)(x)


def test_one_device_needs_no_host_calls():
    body = """x = f32[2] parameter(0)
    y = f32[2] all-reduce(x), to_apply=add
    p = (f32[2], f32[2], u32[], u32[]) collective-permute-start(y), source_target_pairs={}
    ROOT z = f32[2] collective-permute-done(p)"""
    module = load(body, "cpu")
    assert not any(opcode in module.executable.as_text() for opcode in ("all-reduce", "collective-permute"))
    assert module(np.float32([1, 2])).tolist() == [0, 0]


@both
def test_a_group_that_leaves_a_device_out(backend):
    body = "x = f32[2] parameter(0)\nROOT y = f32[2] all-reduce(x), to_apply=add, replica_groups={{0}}"
    with pytest.raises(ValueError, match="no replica group names the device of replica 1"):
        load(body, backend, 2)(np.float32([1, 2]))


@both
def test_ragged_sizes_that_disagree(backend):
    shapes = [Shape(F32, (4,)), Shape(F32, (4,)), *[Shape(S32, (2,))] * 4]
    module = load_hlo(built(lambda b, *o: b.emit("ragged-all-to-all", *o), shapes, 2).as_text(), backend)
    x, ones, zeros = np.ones(4, np.float32), np.int32([1, 1]), np.int32([0, 0])
    with pytest.raises(ValueError, match="1 rows are sent, but recv_sizes says 2"):
        module(x, x, zeros, ones, zeros, ones * 2)
    with pytest.raises(ValueError, match="cannot be put"):
        module(x, x, zeros, ones, ones * 4, ones)


@both
def test_a_done_without_its_start(backend):
    body = "x = f32[2] parameter(0)\nROOT y = f32[2] all-reduce-done(x)"
    with pytest.raises(ValueError, match="all-reduce-done: the operand is not the value of all-reduce-start that is begun"):
        load(body, backend, 2)(np.float32([1, 2]))


@pytest.mark.parametrize("count", ["0", "-1", "x", "1025"])
def test_invalid_counts(count):
    with pytest.raises((hlo.HloError, NotImplementedError), match="replica_count|at most 1024 devices"):
        load_hlo(f"HloModule m, replica_count={count}\nENTRY f {{ ROOT x = f32[] parameter(0) }}")


def test_slices_in_place_are_a_gap():
    body = "x = f32[2] parameter(0)\nROOT y = f32[2] collective-permute(x), source_target_pairs={}, slice_sizes={{1}}"
    with pytest.raises(NotImplementedError, match="slice_sizes"):
        load(body, "cpu")


def test_seeds_and_queues_are_the_callers():
    def program():
        environment = current_environment()
        return environment.seed, environment.infeed, environment.replica

    with Environment(seed=5).active():
        outer = current_environment()
        assert run_on_devices(program, [(), ()], 2) == [(5, outer.infeed, 0), (5, outer.infeed, 1)]


def test_shapes_of_starts():
    b = XlaBuilder("starts")
    x = b.parameter(Shape(F32, (2, 3)))
    start = b.emit("all-gather-start", x, dimensions=(1,), replica_groups=((0, 1),))
    assert start.shape == TupleShape((Shape(F32, (2, 3)), Shape(F32, (2, 6))))
    assert b.emit("all-gather-done", start).shape == Shape(F32, (2, 6))
    permute = b.emit("collective-permute-start", x, source_target_pairs=((0, 1),))
    assert str(permute.shape) == "(f32[2,3], f32[2,3], u32[], u32[])"


def test_names_of_devices():
    assert Communicator(2, 3).name((1, 2)) == "replica 1, partition 2"


ENDLESS = """
HloModule endless, replica_count=2

goes_on { i = s64[] parameter(0)  n = s64[] constant(1000000000000)  ROOT c = pred[] compare(i, n), direction=LT }

step { i = s64[] parameter(0)  one = s64[] constant(1)  ROOT n = s64[] add(i, one) }

ENTRY main { i = s64[] parameter(0)  ROOT w = s64[] while(i), condition=goes_on, body=step }
"""


def test_interrupt_of_devices_that_compute():
    """They end at once, too, though they wait for nobody."""
    interrupt(0.2, load_hlo(ENDLESS), np.int64(0))
