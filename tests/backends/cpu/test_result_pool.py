"""The pool of memory for large results, and what stays in the process when compiled code goes."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from hand_written_kernels import add_kernel, f8, function, native, same
from phlox.backends.cpu.call import (
    ArrayGuard,
    CallSignature,
    ResultSpec,
    result_pool,
)

LARGE = 1 << 18


def large_function(count=LARGE):
    guard = ArrayGuard(f8, (count,))
    return function(CallSignature((guard, guard), results=(ResultSpec(f8, (count,), "C"),)), add_kernel(count))


@pytest.fixture
def empty_pool():
    result_pool.trim()
    yield
    result_pool.trim()
    assert result_pool.cached_bytes() == 0


@native
def test_large_results_are_recycled(empty_pool):
    f = large_function()
    x = np.arange(float(LARGE))
    result = f(x, x)
    same(result, x + x)
    assert result.flags.owndata and result.ctypes.data % 4096 == 0
    address = result.ctypes.data
    del result
    assert result_pool.cached_bytes() == 8 * LARGE
    result = f(x, x)
    assert result.ctypes.data == address
    assert result_pool.cached_bytes() == 0
    view = result[1:]
    del result
    assert result_pool.cached_bytes() == 0, "a view keeps its memory"
    other = f(x, x)
    assert other.ctypes.data != address
    same(view, (x + x)[1:])


@native
def test_pool_serves_only_requests_of_about_the_same_size(empty_pool):
    f, smaller = large_function(), large_function(LARGE // 2)
    f(np.ones(LARGE), np.ones(LARGE))
    assert result_pool.cached_bytes() == 8 * LARGE
    half = smaller(np.ones(LARGE // 2), np.ones(LARGE // 2))
    assert result_pool.cached_bytes() == 8 * LARGE
    assert half.sum() == LARGE


@native
def test_pool_holds_a_bounded_number_of_blocks(empty_pool):
    f = large_function()
    x = np.ones(LARGE)
    results = [f(x, x) for _ in range(20)]
    assert all(result.sum() == 2 * LARGE for result in results)
    assert len({result.ctypes.data for result in results}) == 20
    del results
    assert result_pool.cached_bytes() == 16 * 8 * LARGE
    result_pool.trim()
    assert result_pool.cached_bytes() == 0


@native
def test_pooled_arrays_can_be_resized(empty_pool):
    x = np.arange(float(LARGE))
    result = large_function()(x, x)
    result.resize(4 * LARGE, refcheck=False)
    assert result_pool.cached_bytes() == 8 * LARGE, "the memory it had before"
    np.testing.assert_array_equal(result[:LARGE], x + x)
    assert not result[LARGE:].any()
    result.resize(10, refcheck=False)
    np.testing.assert_array_equal(result, (x + x)[:10])
    result.resize(0, refcheck=False)
    del result
    result_pool.trim()


@native
def test_other_allocations_do_not_use_the_pool(empty_pool):
    from numpy._core.multiarray import get_handler_name

    x = np.ones(LARGE)
    result = large_function()(x, x)
    assert get_handler_name(result) == "phlox_result_pool"
    assert get_handler_name(result + 1) == get_handler_name(x) == get_handler_name()


@native
def test_pool_from_many_threads(empty_pool):
    f, wrong = large_function(), []

    def work(seed):
        x = np.full(LARGE, float(seed))
        for _ in range(15):
            first, second = f(x, x), f(x, x)
            if first[0] != 2 * seed or second[-1] != 2 * seed or first.ctypes.data == second.ctypes.data:
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert 0 < result_pool.cached_bytes() <= 16 * 8 * LARGE


def run_python(source, **environment):
    """Runs a program in a fresh interpreter; returns its output."""
    completed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


PROGRAM = """
    import numpy as np
    from phlox.backends.cpu.call import *
    from phlox.backends.cpu.call import native_functions, result_pool
    from phlox.backends.cpu.machine_code import compile_object
    from phlox.backends.cpu.target import host_target
    Function = make_vectorcall_type(type("Base", (), {"call_in_python": lambda self: None}))
    code = compile_object("define i32 @kernel(ptr %a, ptr %r) {\\nret i32 0\\n}", host_target())
    kernel = native_functions.load_for_good(code, {}, ("kernel",))["kernel"]
    f = Function()
    install_entry(f, bind_entry(CallSignature((), results=(ResultSpec(np.dtype("f8"), (1 << 19,)),)), kernel, None))
    f()
    print(result_pool.cached_bytes())
    three = [f(), f(), f()]
    del three
    print(result_pool.cached_bytes())
    import builtins
    builtins.kept = [f(), f, f()]
"""


@native
@pytest.mark.parametrize(
    ("limit", "cached"),
    [("0", (0, 0)), ("5000000", (4 << 20, 4 << 20)), ("10000000", (4 << 20, 8 << 20)), ("2000000", (0, 0))],
)
def test_pool_limit_and_exit_with_live_results(limit, cached):
    assert run_python(PROGRAM, PHLOX_RESULT_POOL_BYTES=limit) == f"{cached[0]}\n{cached[1]}\n"


@native
def test_pool_limit_is_checked():
    check = (
        PROGRAM.split("install_entry")[0].rstrip()
        + """
    try:
        bind_entry(CallSignature((), results=(ResultSpec(np.dtype("f8"), (1 << 19,)),)), kernel, None)
    except ValueError as error:
        print(error)
    """
    )
    assert run_python(check, PHLOX_RESULT_POOL_BYTES="lots").startswith("PHLOX_RESULT_POOL_BYTES requires a number of bytes")
