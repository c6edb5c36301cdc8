"""Infeed, outfeed, send, recv and trace: in optimized programs they run as often as written, in order, on every backend."""

import gc
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import phlox
import pytest
from cpu_passes import SIMPLIFY, optimize
from phlox import load_hlo
from phlox.hlo import F32, S32, Shape, parse_module
from phlox.runtime import Channels, Environment, HostQueue, QueueClosedError
from phlox.xla_builder import XlaBuilder

BACKENDS = ["reference", "cpu"]
both_backends = pytest.mark.parametrize("backend", BACKENDS)


@pytest.fixture
def environment():
    """An environment of this test's own, whose waits are short and whose outfeed takes much."""
    made = Environment(
        infeed=HostQueue("infeed", 64, 0.2), outfeed=HostQueue("outfeed", 1000, 0.2), channels=Channels(timeout=5)
    )
    with made.active():
        yield made


def drained(queue):
    return [queue.get(0) for _ in range(len(queue))]


def module(body, computations=""):
    return f"HloModule m\n{computations}\nENTRY main {{\n{body}\n}}\n"


# --- the queues ---


@both_backends
def test_infeed_and_outfeed(environment, backend):
    program = load_hlo(module("""
      t = token[] after-all()
      i = ((f32[3], (s32[], pred[2])), token[]) infeed(t), infeed_config="slot"
      data = (f32[3], (s32[], pred[2])) get-tuple-element(i), index=0
      t1 = token[] get-tuple-element(i), index=1
      o = token[] outfeed(data, t1), outfeed_shape=(f32[3]{0}, (s32[], pred[2]{0})), outfeed_config="back"
      x = f32[3] get-tuple-element(data), index=0
      ROOT y = f32[3] add(x, x)
    """), backend)  # fmt: skip
    for start in range(3):
        value = np.float32([start, 2, 3]), (np.int32(7), np.array([True, False]))
        environment.infeed.put(value)
        np.testing.assert_array_equal(program(), 2 * value[0])
        x, (n, p) = environment.outfeed.get()
        np.testing.assert_array_equal(x, value[0])
        assert n == 7 and p.tolist() == [True, False]
    assert len(environment.infeed) == len(environment.outfeed) == 0


@both_backends
def test_an_empty_tuple_is_not_transferred(environment, backend):
    program = load_hlo(module("""
      t = token[] after-all()
      i = ((), token[]) infeed(t)
      e = () get-tuple-element(i), index=0
      o = token[] outfeed(e, t)
      ROOT y = f32[] constant(1)
    """), backend)  # fmt: skip
    assert program() == 1
    assert len(environment.outfeed) == 0


@both_backends
@pytest.mark.parametrize(
    ("value", "given"), [(np.float32([1, 2]), "f32[2]"), (np.float64([1, 2, 3]), "f64[3]"), ((np.float32(1),), "(f32[])")]
)
def test_infeed_of_another_shape_names_both(environment, backend, value, given):
    b = XlaBuilder("f")
    program = load_hlo(b.build_module(b.Infeed(Shape(F32, (3,)))).as_text(), backend)
    environment.infeed.put(value)
    with pytest.raises(TypeError, match=re.escape(f"value of shape f32[3], but one of shape {given} was given")):
        program()
    assert len(environment.infeed) == 1
    environment.infeed.clear()
    environment.infeed.put(np.float32([1, 2, 3]))
    np.testing.assert_array_equal(program(), [1, 2, 3])


@both_backends
def test_waits_end(environment, backend):
    b = XlaBuilder("f")
    program = load_hlo(b.build_module(b.Infeed(Shape(F32, (3,)))).as_text(), backend)
    with pytest.raises(TimeoutError, match=r"infeed: the program waits for a value of shape f32\[3\]"):
        program()
    environment.infeed.timeout = None
    closing = threading.Timer(0.1, environment.infeed.close)
    closing.start()
    with pytest.raises(QueueClosedError, match=r"closed and empty; the program waits for a value of shape f32\[3\]"):
        program()
    closing.join()
    with pytest.raises(QueueClosedError, match=r"the host cannot put a value of shape s32\[\]"):
        environment.infeed.put(np.int32(1))


def test_queue():
    queue = HostQueue("q", capacity=2)
    value = np.arange(3)
    queue.put(value)
    value[:] = 0
    queue.put((np.float32(1), np.int8([2])))
    with pytest.raises(TimeoutError, match=r"q: the host waits to put a value of shape pred\[\], and 2 are there already"):
        queue.put(True, timeout=0.01)
    assert queue.get().tolist() == [0, 1, 2]
    queue.close()
    assert queue.is_closed and repr(queue) == "<queue q: closed, 1 of 2 values>"
    assert queue.get() == (1, np.int8([2]))
    with pytest.raises(QueueClosedError):
        queue.get()
    queue.clear()
    with pytest.raises(TimeoutError, match="nothing happened for 0.01 seconds"):
        queue.get(timeout=0.01)
    with pytest.raises(TypeError, match="an array, or a tuple of arrays, is required"):
        queue.put("text")
    with pytest.raises(ValueError, match="at least 1"):
        HostQueue("q", capacity=0)


# --- order and life ---

# A note in the outfeed: the number, after the token.
NOTE = """
note {
  n = s32[] parameter(0)
  t = token[] after-all()
  o = token[] outfeed(n, t)
  ROOT same = s32[] add(n, n)
}
notes {
  n = s32[] parameter(0)
  ten = s32[] constant(10)
  first = s32[] call(n), to_apply=note
  more = s32[] add(n, ten)
  second = s32[] call(more), to_apply=note
  ROOT zero = s32[] constant(0)
}
"""
LOOP = """
below {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  limit = s32[] get-tuple-element(s), index=1
  ROOT c = pred[] compare(i, limit), direction=LT
}
step {
  s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  limit = s32[] get-tuple-element(s), index=1
  unused = s32[] call(i), to_apply=notes
  constant.9 = s32[] constant(9)
  invariant = s32[] call(constant.9), to_apply=note
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT r = (s32[], s32[]) tuple(next, limit)
}
"""
LOOP_NOTES = [note for i in range(3) for note in (i, i + 10, 9)]
PROGRAMS = {
    "what nobody uses": ("n = s32[] constant(3)\n u = s32[] call(n), to_apply=notes\n ROOT r = s32[] constant(0)", [3, 13]),
    "alike twice": (
        "n = s32[] constant(3)\n a = s32[] call(n), to_apply=note\n b = s32[] call(n), to_apply=note\nROOT r = s32[] add(a, b)",
        [3, 3],
    ),
    "not in the order of use": (
        "n = s32[] constant(3)\n m = s32[] constant(4)\n a = s32[] call(n), to_apply=note\n b = s32[] call(m), to_apply=note\n"
        "ROOT r = s32[] subtract(b, a)",
        [3, 4],
    ),
    "loop": (
        "z = s32[] constant(0)\n n = s32[] constant(3)\n s = (s32[], s32[]) tuple(z, n)\n"
        "w = (s32[], s32[]) while(s), condition=below, body=step\n ROOT r = s32[] constant(0)",
        LOOP_NOTES,
    ),
    "loop of one round": (
        "z = s32[] constant(2)\n n = s32[] constant(3)\n s = (s32[], s32[]) tuple(z, n)\n"
        "w = (s32[], s32[]) while(s), condition=below, body=step\n ROOT r = s32[] get-tuple-element(w), index=0",
        [2, 12, 9],
    ),
    "loop of no round": (
        "z = s32[] constant(3)\n n = s32[] constant(3)\n s = (s32[], s32[]) tuple(z, n)\n"
        "w = (s32[], s32[]) while(s), condition=below, body=step\n ROOT r = s32[] get-tuple-element(w), index=0",
        [],
    ),
    "branch": (
        "p = pred[] parameter(0)\n n = s32[] constant(5)\n"
        "c = s32[] conditional(p, n, n), true_computation=note, false_computation=notes\n ROOT r = s32[] constant(0)",
        [5],
    ),
    "branch known beforehand": (
        "p = pred[] constant(false)\n n = s32[] constant(5)\n"
        "ROOT c = s32[] conditional(p, n, n), true_computation=note, false_computation=notes",
        [5, 15],
    ),
    "branches alike": (
        "p = pred[] parameter(0)\n n = s32[] constant(5)\n"
        "ROOT c = s32[] conditional(p, n, n), true_computation=notes, false_computation=notes",
        [5, 15],
    ),
}
PROGRAMS = {name: (module(body, NOTE + LOOP), notes) for name, (body, notes) in PROGRAMS.items()}
# A loop in a branch in a loop.
PROGRAMS["nested"] = (
    module(
        "z = s32[] constant(0)\n s = (s32[]) tuple(z)\n w = (s32[]) while(s), condition=twice, body=outer\n"
        "ROOT r = s32[] get-tuple-element(w), index=0",
        NOTE
        + LOOP
        + """
    inner { n = s32[] parameter(0)
      z = s32[] constant(1)
      l = s32[] constant(3)
      s = (s32[], s32[]) tuple(z, l)
      w = (s32[], s32[]) while(s), condition=below, body=step
      ROOT r = s32[] get-tuple-element(w), index=0 }
    twice { s = (s32[]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      two = s32[] constant(2)
      ROOT c = pred[] compare(i, two), direction=LT }
    outer { s = (s32[]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      one = s32[] constant(1)
      p = pred[] compare(i, one), direction=LT
      c = s32[] conditional(p, i, i), true_computation=inner, false_computation=note
      next = s32[] add(i, one)
      ROOT r = (s32[]) tuple(next) }
    """,
    ),
    [1, 11, 9, 2, 12, 9, 1],
)


@pytest.mark.parametrize("name", PROGRAMS)
@both_backends
def test_effects_happen_as_written(environment, backend, name):
    text, notes = PROGRAMS[name]
    arguments = [True] if "parameter(0)" in text.partition("ENTRY")[2] else []
    program = load_hlo(text, backend)
    for _ in range(2):
        program(*arguments)
        assert drained(environment.outfeed) == notes


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_pass_keeps_effects(environment, name):
    """Each prefix of the pipeline, run by the reference."""
    text, notes = PROGRAMS[name]
    steps = ["expand-collectives", "expand"]
    for step in SIMPLIFY:
        steps += [step] if isinstance(step, str) else [*step.passes, *step.passes]
    for count in range(1, len(steps) + 1):
        optimized = optimize(parse_module(text), tuple(steps[:count]))
        phlox.hlo.evaluate(optimized.entry, *[np.True_] * len(optimized.entry.parameters), environment=environment)
        assert drained(environment.outfeed) == notes, steps[count - 1]


@both_backends
def test_a_consumer_keeps_up_with_a_loop(environment, backend):
    """The outfeed holds two values, so that program and host take turns."""
    environment.outfeed.capacity = 2
    environment.outfeed.timeout = 10
    program = load_hlo(PROGRAMS["loop"][0].replace("n = s32[] constant(3)", "n = s32[] constant(50)"), backend)
    with ThreadPoolExecutor(1) as threads:
        consumer = threads.submit(lambda: [int(environment.outfeed.get()) for _ in range(150)])
        program()
        assert consumer.result() == [note for i in range(50) for note in (i, i + 10, 9)]


@both_backends
def test_an_error_inside_of_loops_leaves_the_program_usable(environment, backend):
    program = load_hlo(PROGRAMS["nested"][0], backend)
    environment.outfeed.capacity = 4
    environment.outfeed.timeout = 0.01
    for _ in range(20):
        with pytest.raises(TimeoutError, match=r"outfeed: the program waits to put a value of shape s32\[\], and 4 are there"):
            program()
        environment.outfeed.clear()
    environment.outfeed.capacity = 100
    assert program() == 2
    assert drained(environment.outfeed) == PROGRAMS["nested"][1]


def test_memory_after_errors(environment):
    """The temporaries of a call that fails are freed: many calls with a large arena do not add up."""
    b = XlaBuilder("f")
    x = b.parameter(Shape(F32, (1 << 20,)))
    y = b.Rev(b.Neg(x), (0,))
    b.Outfeed(b.Rev(b.Add(y, y), (0,)))
    program = load_hlo(b.build_module(y).as_text())
    assert program.executable.memory_analysis()["temporaries"] >= 1 << 22
    environment.outfeed.close()
    values = np.ones(1 << 20, np.float32)

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    for round_ in range(60):
        with pytest.raises(QueueClosedError):
            program(values)
        if round_ == 10:
            gc.collect()
            before = resident()
    gc.collect()
    assert resident() - before < 20 * values.nbytes


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="signals cannot be raised")
@both_backends
def test_keyboard_interrupt(environment, backend):
    environment.infeed.timeout = 30
    b = XlaBuilder("f")
    program = load_hlo(b.build_module(b.Infeed(Shape(S32))).as_text(), backend)
    main = threading.main_thread()
    interrupt = threading.Timer(0.2, lambda: signal.pthread_kill(main.ident, signal.SIGINT))
    started = time.monotonic()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        interrupt.start()
        with pytest.raises(KeyboardInterrupt):
            program()
        assert time.monotonic() - started < 25
        interrupt.join()
    finally:
        signal.signal(signal.SIGINT, before)
    environment.infeed.put(np.int32(4))
    assert program() == 4


@both_backends
def test_two_threads_run_one_executable(backend):
    program = load_hlo(PROGRAMS["nested"][0], backend)

    def run():
        environment = Environment(outfeed=HostQueue("outfeed", 1000))
        with environment.active():
            for _ in range(20):
                program()
        return drained(environment.outfeed)

    with ThreadPoolExecutor(2) as threads:
        results = [future.result() for future in [threads.submit(run) for _ in range(2)]]
    assert results == [PROGRAMS["nested"][1] * 20] * 2


# --- channels ---


def sender(values=Shape(F32, (3,)), channel=1):
    b = XlaBuilder("sender")
    x = b.parameter(values)
    b.Send(x, channel)
    return b.build_module(x).as_text()


def receiver(values=Shape(F32, (3,)), channel=1):
    b = XlaBuilder("receiver")
    return b.build_module(b.Neg(b.Recv(values, channel))).as_text()


def run_both(environment, first, second):
    """Both at the same time, in threads of the same environment."""

    def run(call):
        with environment.active():
            return call()

    with ThreadPoolExecutor(2) as threads:
        futures = [threads.submit(run, call) for call in (first, second)]
    return [future.result() for future in futures]


@both_backends
def test_send_and_recv(environment, backend):
    send, receive = load_hlo(sender(), backend), load_hlo(receiver(), backend)
    for start in range(5):
        x = np.float32([start, 2, 3])
        _, result = run_both(environment, lambda x=x: send(x), receive)
        np.testing.assert_array_equal(result, -x)


@both_backends
def test_both_ways(environment, backend):
    """Two programs send first and receive then: a send does not wait for its recv."""
    text = module("""
      x = f32[2] parameter(0)
      t = token[] after-all()
      s = (f32[2], u32[], token[]) send(x, t), channel_id=OUT
      r = (f32[2], u32[], token[]) recv(t), channel_id=IN
      sd = token[] send-done(s), channel_id=OUT
      rd = (f32[2], token[]) recv-done(r), channel_id=IN
      ROOT y = f32[2] get-tuple-element(rd), index=0
    """)  # fmt: skip
    left, right = (load_hlo(text.replace("OUT", a).replace("IN", b), backend) for a, b in (("1", "2"), ("2", "1")))
    x, y = np.float32([1, 2]), np.float32([3, 4])
    got_left, got_right = run_both(environment, lambda: left(x), lambda: right(y))
    np.testing.assert_array_equal(got_left, y)
    np.testing.assert_array_equal(got_right, x)


@both_backends
def test_waits_of_channels_end(environment, backend):
    environment.channels.timeout = 0.05
    with pytest.raises(TimeoutError, match=r"channel 1: recv-done waits for data of shape f32\[3\]"):
        load_hlo(receiver(), backend)()
    environment.channels.clear()
    with pytest.raises(TimeoutError, match="channel 1: send-done waits for a recv"):
        load_hlo(sender(), backend)(np.float32([1, 2, 3]))
    environment.channels.clear()
    environment.channels.timeout = None
    waiting = load_hlo(receiver(), backend)
    closing = threading.Timer(0.2, environment.channels.close)
    closing.start()
    with pytest.raises(QueueClosedError, match="channel 1: the channels were closed; recv-done waits"):
        waiting()
    closing.join()
    with pytest.raises(QueueClosedError, match="the channels are closed; a recv cannot begin"):
        load_hlo(receiver(), backend)()


@both_backends
def test_another_shape_is_sent(environment, backend):
    environment.channels.send(1, np.float64([1, 2, 3]))
    with pytest.raises(TypeError, match=r"channel 1: the recv takes f32\[3\], but f64\[3\] was sent"):
        load_hlo(receiver(), backend)()


@both_backends
def test_host_transfers(environment, backend):
    program = load_hlo(module("""
      t = token[] after-all()
      r = (f32[2], u32[], token[]) recv(t), channel_id=1, is_host_transfer=true, NAME
      rd = (f32[2], token[]) recv-done(r), channel_id=1, is_host_transfer=true, NAME
      x = f32[2] get-tuple-element(rd), index=0
      y = f32[2] add(x, x)
      s = (f32[2], u32[], token[]) send(y, t), channel_id=2, is_host_transfer=true
      sd = token[] send-done(s), channel_id=2, is_host_transfer=true
      ROOT z = f32[] constant(0)
    """).replace("NAME", 'frontend_attributes={_xla_host_transfer_rendezvous="question"}'), backend)  # fmt: skip
    environment.channels.send("question", np.float32([1, 2]))
    program()
    np.testing.assert_array_equal(environment.channels.recv(2), [2, 4])
    with pytest.raises(TimeoutError, match="channel 2: the host waits for data"):
        environment.channels.recv(2, timeout=0.01)
    environment.channels.send("question", np.float32([3, 4]))
    program()
    np.testing.assert_array_equal(environment.channels.recv(2), [6, 8])


# --- trace ---


@both_backends
def test_trace_prints(capfd, backend):
    b = XlaBuilder("f")
    x = b.parameter(Shape(S32, (3,)))
    y = b.Add(x, x)
    assert b.Trace("twice", y) is None
    built = b.build_module()
    assert built.entry.root is y
    load_hlo(built.as_text(), backend)(np.int32([1, 2, 3]))
    assert capfd.readouterr().out == "twice: [2 4 6]\n"


def test_trace_in_the_client_interface(capfd):
    from phlox.client import ClientLibrary, ComputationBuilder, LiteralUtil

    client = ClientLibrary.ClientLibraryOrDie()
    builder = ComputationBuilder(client, "traced")
    x = LiteralUtil.CreateR1([1.0, 2.0])
    parameter = builder.Parameter(0, x.shape, "x")
    total = builder.Add(parameter, parameter)
    builder.Trace("sum", total)
    assert client.ExecuteAndTransfer(builder.Build(), [client.TransferToServer(x)]).value.tolist() == [2, 4]
    assert capfd.readouterr().out == "sum: [2. 4.]\n"
