"""LLVM in several threads at once."""

import phlox
from llvmlite import binding
from llvmlite.binding import ffi
from phlox.backends.llvm.llvm_threads import in_threads


def described(triple):
    """By functions that take llvmlite's lock."""
    binding.initialize_all_targets()
    return binding.Target.from_triple(triple).description


def test_what_an_interrupt_has_left_locked_keeps_no_thread_waiting():
    binding.initialize_all_targets()
    ffi.lib._lock._lock.acquire()
    with phlox.config(num_threads=2):
        assert len(in_threads(described, ["nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa", "x86_64-unknown-linux-gnu"])) == 3
    assert not ffi.lib._lock._lock._is_owned()


def test_results_are_in_the_order_of_the_texts():
    with phlox.config(num_threads=2):
        assert in_threads(lambda text: text * 2, ["a", "bbb", "cc", "a"]) == ["aa", "bbbbbb", "cccc", "aa"]
