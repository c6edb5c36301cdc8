"""Devices by name, where functions run, and that code of one device is never called for another."""

import asyncio
import re
import threading
from contextvars import copy_context

import device_with_memory
import numpy as np
import phlox
import pytest
from phlox import device_put, jit
from phlox.backends.reference.backend import ReferenceBackend
from phlox.backends.registry import (
    BackendUnavailableError,
    available_backends,
    backend_in_force,
    get_backend,
    register_backend,
)
from phlox.command_line import info

NAME = device_with_memory.NAME


@pytest.fixture(autouse=True)
def registered(registered):
    device_with_memory.register()


@pytest.fixture
def several():
    """A backend with three devices, the last of which is broken."""

    def load(number):
        if number == 2:
            raise BackendUnavailableError("it is broken")
        return device_with_memory.BackendWithMemory()

    register_backend("several", load, device_count=lambda: 3)


def runs_on(function, x):
    """Whether a call of host arrays makes transfers to the device with a memory of its own."""
    memory = get_backend(NAME).memory
    before = memory.transfers
    found = function(x)
    assert type(found) is np.ndarray
    return NAME if memory.transfers > before else "cpu"


def test_devices_are_listed():
    names = [device.name for device in phlox.devices()]
    assert names[:2] == ["cpu:0", "reference:0"] and f"{NAME}:0" in names
    (device,) = phlox.devices(NAME)
    assert (device.name, device.platform, repr(device)) == (f"{NAME}:0", NAME, f"<device {NAME}:0>")
    assert device_put(np.ones(1), device).device == device
    with pytest.raises(ValueError, match="no backend is named 'tpu'"):
        phlox.devices("tpu")


def test_several_devices_of_one_backend(several):
    assert [device.name for device in phlox.devices() if device.platform == "several"] == ["several:0", "several:1"]
    assert get_backend("several") is get_backend("several:0")
    assert get_backend("several:1") is get_backend("several:1") is not get_backend("several")
    x, y = device_put(np.ones(3), "several"), device_put(np.ones(3), "several:1")
    assert [(x + 1).device.name, (y + 1).device.name] == ["several:0", "several:1"]
    with pytest.raises(phlox.MixedDevicesError, match="several:0 and .* on several:1"):
        x + y
    np.testing.assert_array_equal(device_put(y, "several") + x, 2 * np.ones(3))
    with pytest.raises(BackendUnavailableError, match="several:2 cannot be used: it is broken"):
        device_put(x, "several:2")
    for name in ("several:3", "cpu:1", "several:" + 5000 * "9"):
        with pytest.raises(ValueError, match=r"no device is named '.*'; \w+ has \d, the first one is \w+:0"):
            device_put(x, name)


@pytest.mark.parametrize("name", ["absent", "absent:0", "absent:1", "absent:" + 5000 * "9"])
def test_devices_of_a_backend_that_has_none(registered, name):
    def load(number):
        raise BackendUnavailableError(f"there is no driver for {number}")

    register_backend("absent", load, lambda: 0)
    with pytest.raises(BackendUnavailableError, match="cannot be used: there is no driver for 0"):
        get_backend(name)


@pytest.mark.parametrize("number", ["", "one", "-1", "+0", " 0", "0 ", "00", "01", "1_0", "٠", "0:0", ":0"])
def test_names_of_devices_have_one_form(number):
    name, function = f"cpu:{number}", jit(lambda x: x + 1, backend=f"cpu:{number}")
    for use in (lambda: device_put(np.ones(1), name), lambda: function(np.ones(1)), lambda: phlox.devices(name)):
        with pytest.raises(ValueError, match=f"no device is named '{re.escape(name)}'; names are 'cpu', .* or 'cpu:0'"):
            use()


@pytest.mark.parametrize("name", ["", " cpu", "cpu ", "CPU", "cpu\n", ":0", "cpu :0"])
def test_names_of_backends_are_as_they_are_spelled(name):
    with pytest.raises(ValueError, match="no backend is named .*; known are cpu, reference"):
        device_put(np.ones(1), name)


@pytest.mark.parametrize("name", [0, True, b"cpu", 1.5, ["cpu"], phlox.devices("cpu")[0].backend])
def test_names_of_devices_are_texts(name):
    said = f"is named by a text, such as 'cpu' or 'cuda:0'; {type(name).__name__} given"
    for use in (lambda: device_put(np.ones(1), name), lambda: phlox.devices(name), lambda: get_backend(name)):
        with pytest.raises(TypeError, match=f"a device {said}"):
            use()
    with pytest.raises(TypeError, match=f"jit: the backend {said}"):
        jit(lambda x: x, backend=name)


def test_devices_of_a_device():
    with pytest.raises(ValueError, match="'cpu:0' names a device; its backend is 'cpu'"):
        phlox.devices("cpu:0")


def test_names_of_backends_are_identifiers():
    for name in ("cuda:0", "", "a b"):
        with pytest.raises(ValueError, match="identifier"):
            register_backend(name, ReferenceBackend)


def test_functions_that_name_no_backend_run_on_the_device_in_force():
    double, named = jit(lambda x: 2 * x), jit(lambda x: 2 * x, backend="cpu")
    x = np.ones(3)
    for _ in range(3):  # natively, from the second call on
        assert runs_on(double, x) == runs_on(named, x) == "cpu"
    for _ in range(2):
        with phlox.device(NAME):
            for _ in range(2):
                assert (runs_on(double, x), runs_on(named, x)) == (NAME, "cpu")
            with phlox.device("cpu"):
                assert runs_on(double, x) == "cpu"
            assert runs_on(double, x) == NAME
            assert device_put(x).device.name == f"{NAME}:0"
        assert runs_on(double, x) == "cpu"


def test_functions_made_and_compiled_within():
    with phlox.device(NAME):
        double = jit(lambda x: 2 * x)
        assert runs_on(double, np.ones(3)) == NAME
        compiled = double.compile(np.ones(3))
    assert runs_on(double, np.ones(3)) == "cpu"
    assert runs_on(compiled, np.ones(3)) == NAME


def test_arrays_decide_before_the_device_in_force():
    x = device_put(np.ones(3), NAME)
    with phlox.device("cpu"):
        assert jit(lambda x: 2 * x)(x).device.name == f"{NAME}:0"


class Walk:
    def __init__(self, device):
        self.place = device_put(np.zeros(2), device) if device else np.zeros(2)
        self.steps = device_put(np.array(0), device) if device else np.array(0)

    @jit
    def step(self, by):
        self.place = self.place + by
        self.steps += 1
        return self.place.sum()


def test_arrays_from_outside_decide_where_nothing_else_does():
    memory = get_backend(NAME).memory
    walks = [Walk(NAME), Walk(None), Walk("cpu")]
    for _ in range(3):
        for walk in walks:
            total = walk.step(1.5)
            assert type(total) is (np.float64 if walk is walks[1] else phlox.DeviceArray)
            assert type(walk.place) is (np.ndarray if walk is walks[1] else phlox.DeviceArray)
    before = memory.transfers
    walks[0].step(1.5)
    assert memory.transfers == before  # the number is there from the calls before
    for walk, name, count in zip(walks, (f"{NAME}:0", None, "cpu:0"), (4, 3, 3)):
        assert name is None or walk.place.device.name == name
        np.testing.assert_array_equal(walk.place, [1.5 * count] * 2)
        assert int(walk.steps) == count
    assert Walk.step.cache_info().misses == 3


def test_arrays_from_outside_that_move():
    shift = device_put(np.ones(3), NAME)
    shifted = jit(lambda x: x + shift)
    assert shifted(np.ones(3)).device.name == f"{NAME}:0"
    assert shifted.compile(1.0)(1.0).device.name == f"{NAME}:0"
    for name in (None, "cpu:0", f"{NAME}:0"):
        shift = device_put(np.ones(3), name) if name else np.ones(3)
        found = shifted(1.0)
        assert type(found) is np.ndarray if name is None else found.device.name == name
        np.testing.assert_array_equal(found, [2.0] * 3)


def test_arrays_from_outside_on_another_device_than_is_asked_for():
    shift, other = device_put(np.ones(3), NAME), device_put(np.ones(3), "cpu")
    with pytest.raises(phlox.MixedDevicesError, match=f"runs on cpu:0, and closure variable shift is on {NAME}:0"):
        jit(lambda x: x + shift, backend="cpu")(1.0)
    with phlox.device("cpu"), pytest.raises(phlox.MixedDevicesError, match="runs on cpu:0"):
        jit(lambda x: x + shift)(1.0)
    with pytest.raises(phlox.MixedDevicesError, match=f"other is on cpu:0 and closure variable shift on {NAME}:0"):
        jit(lambda x: x + shift + other)(1.0)


def test_a_device_ends_with_an_exception():
    with pytest.raises(ZeroDivisionError), phlox.device(NAME):
        1 / 0  # noqa: B018
    assert backend_in_force() is None


def test_as_a_decorator():
    double = jit(lambda x: 2 * x)

    @phlox.device(NAME)
    def work(x, depth=2):
        assert runs_on(double, x) == NAME
        return work(x, depth - 1) if depth else 0

    work(np.ones(3))
    assert runs_on(double, np.ones(3)) == "cpu"


def test_unknown_devices():
    for name, error in [("tpu", ValueError), (3, TypeError)]:
        with pytest.raises(error):
            phlox.device(name)


def test_threads_have_their_own():
    double, found = jit(lambda x: 2 * x), {}
    inside, done = threading.Event(), threading.Event()
    double(np.ones(3))

    def work():
        found["thread"] = backend_in_force()
        with phlox.device(NAME):
            inside.set()
            done.wait(10)
            found["within"] = double(np.ones(3)), backend_in_force()

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(10)
    assert runs_on(double, np.ones(3)) == "cpu"
    done.set()
    thread.join()
    assert (found["thread"], found["within"][1]) == (None, f"{NAME}:0")


def test_tasks_keep_theirs():
    double = jit(lambda x: 2 * x)
    double(np.ones(3))

    async def later():
        await asyncio.sleep(0)
        return runs_on(double, np.ones(3))

    async def main():
        with phlox.device(NAME):
            task = asyncio.create_task(later())
        return runs_on(double, np.ones(3)), await task

    assert asyncio.run(main()) == ("cpu", NAME)


def test_contexts_that_outlive_the_block():
    double = jit(lambda x: 2 * x)
    for _ in range(2):
        double(np.ones(3))
    with phlox.device(NAME):
        context = copy_context()
    assert runs_on(double, np.ones(3)) == "cpu"
    assert context.run(runs_on, double, np.ones(3)) == NAME


def test_a_backend_by_the_environment_is_still_there(monkeypatch):
    monkeypatch.setenv("PHLOX_BACKEND", NAME)
    assert runs_on(jit(lambda x: 2 * x), np.ones(3)) == NAME
    assert device_put(np.ones(3)).device.name == f"{NAME}:0"
    with phlox.device("cpu"):
        assert runs_on(jit(lambda x: 2 * x), np.ones(3)) == "cpu"


def test_device_put_of_containers():
    x = device_put(np.ones(2), NAME)
    found = device_put({"a": [np.ones(3), np.float32(2)], "n": 3, "s": "text", "x": x}, NAME)
    assert [type(one) for one in found["a"]] == [phlox.DeviceArray] * 2
    assert (found["a"][1].dtype, found["a"][1].shape, found["n"], found["s"]) == (np.float32, (), 3, "text")
    assert found["x"] is x
    for nothing in (3.0, [1, 2], "text"):
        with pytest.raises(TypeError, match="there is none in"):
            device_put(nothing, NAME)


def test_device_put_copies():
    x = np.ones(3)
    put = device_put(x, "cpu")
    x[0] = 5
    assert put.tolist() == [1, 1, 1]
    assert device_put(np.asfortranarray(np.arange(6).reshape(2, 3))[:, ::-1], NAME).tolist() == [[2, 1, 0], [5, 4, 3]]
    assert device_put(np.arange(3).astype(">i4"), NAME).tolist() == [0, 1, 2]


def test_memory_stats():
    x = device_put(np.ones(4), NAME)
    assert phlox.memory_stats(NAME) == phlox.memory_stats(x.device) == {"bytes_in_use": 32}
    with phlox.device(NAME):
        assert phlox.memory_stats()["bytes_in_use"] == 32
    with pytest.raises(NotImplementedError, match="cpu:0"):
        phlox.memory_stats("cpu")


def test_cache_info_and_clear_know_of_devices():
    double = jit(lambda x: 2 * x)
    double(np.ones(3))
    double(device_put(np.ones(3), NAME))
    assert double.cache_info().misses == len(double.cache_info().entries) == 2
    assert "2 entries" in str(double.cache_info())
    double.cache_clear()
    assert double.cache_info().misses == 0


def test_reasons_of_backends_with_several_devices(several):
    assert available_backends()["several"] is None


def test_info_names_devices_and_says_why_others_are_not_there():
    backend = get_backend(NAME)
    backend.properties = type("Properties", (), {"name": "An accelerator"})()

    def broken():
        raise BackendUnavailableError("no driver is installed")

    register_backend("broken", broken)
    rows = info.backends()
    assert rows[NAME] == f"available; {NAME}:0 is An accelerator"
    assert (rows["cpu"], rows["broken"]) == ("available", "not available: no driver is installed")
