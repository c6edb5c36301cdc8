"""Show versions, the processor, the backends and the settings.

The settings are the environment variables that phlox reads, with what each is set to.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib import metadata
from pathlib import Path

import numpy as np

from .. import __version__
from ..backends.registry import DEFAULT_BACKEND, available_backends, native_call_unavailable, threads_unavailable
from ..runtime.config import config
from ..tracer.calls.devices import devices as phlox_devices

SETTINGS = {
    "PHLOX_BACKEND": f"the backend, where none is named ({DEFAULT_BACKEND})",
    "PHLOX_REFERENCE_TRACE": "1: the reference backend prints each instruction with its value",
    "PHLOX_TARGET": "what code is generated for: native, or a level, x86-64 to x86-64-v4, of which any processor runs it",
    "PHLOX_NUM_THREADS": "how many threads compiled code uses, the calling one included",
    "PHLOX_OPENCL_KERNELS": "gpu: OpenCL devices that are processors run the kernels of GPUs",
    "PHLOX_KERNEL_SECONDS": "how long a call waits for kernels on a GPU; else as long as they take",
    "PHLOX_DETERMINISTIC": "1: results on GPUs are the same from run to run",
    "PHLOX_RESULT_POOL_BYTES": "how many bytes of results' memory the cpu backend keeps for the next results",
    "PHLOX_CACHE": "0: no code is kept on disk for later processes",
    "PHLOX_CACHE_DIR": "the folder where code is kept (python -m phlox cache shows it)",
    "PHLOX_CACHE_BYTES": "how many bytes of code are kept on disk; the least recently used goes first",
    "PHLOX_DUMP": "a folder: every pass writes the module there if it changed it",
    "PHLOX_CHECK": "1: verify the module after every pass",
    "PHLOX_PROFILE": "1: print at the end where the time went, by kernel; a file's name: write a trace there, too",
    "PHLOX_TIME": "1: print where compile time goes",
    "PHLOX_PROGRESS": "0: no line about long compilations; 1: not only in terminals and notebooks",
    "PHLOX_FULL_TRACEBACK": "1: tracebacks keep the lines of phlox and NumPy",
}

VECTOR_FEATURES = ("sse4.2", "avx", "avx2", "fma", "f16c", "avx512", "avxvnni", "amx", "neon", "sve", "fullfp16", "bf16", "rvv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser  # the command takes none


def run(options: argparse.Namespace) -> int:
    del options
    for title, rows in (
        ("versions", versions()),
        ("processor", processor()),
        ("backends", backends()),
        ("settings", settings()),
    ):
        print(title)
        width = max(map(len, rows))
        for name, value in rows.items():
            print(f"  {name:{width}}  {value}")
    return 0


def versions() -> dict[str, str]:
    """Versions of phlox and of what it stands on."""
    rows = {
        "phlox": __version__,
        "Python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.platform()})",
        "NumPy": np.__version__,
        "ml_dtypes": metadata.version("ml_dtypes"),
    }
    try:
        # Here it may be missing.
        import llvmlite
        import llvmlite.binding

        rows["llvmlite"] = llvmlite.__version__
        rows["LLVM"] = ".".join(map(str, llvmlite.binding.llvm_version_info))
    except ImportError as error:
        rows["llvmlite"] = f"cannot be imported: {error}"
    return rows


def processor() -> dict[str, str]:
    """The host's processor, as the operating system and LLVM name it, and its vector features."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    rows = {"name": _processor_name(), "cores": f"{available} available"}
    try:
        from llvmlite import binding  # which may be missing

        features = binding.get_host_cpu_features()
        vector = sorted(name for name, present in features.items() if present and name.startswith(VECTOR_FEATURES))
        rows["LLVM name"] = f"{binding.get_host_cpu_name()} ({binding.get_process_triple()})"
        rows["vector features"] = " ".join(vector) or "none"
    except ImportError:
        rows["LLVM name"] = "unknown without llvmlite"
    return rows


def backends() -> dict[str, str]:
    """Each backend: available, or why not; whether jitted functions are called natively; and the threads of compiled code."""
    reasons = {**available_backends(), "native call": native_call_unavailable()}
    rows = {name: "available" if reason is None else f"not available: {reason}" for name, reason in reasons.items()}
    described: dict[str, list[str]] = {}
    for device in phlox_devices():
        if device.properties is not None:
            described.setdefault(device.platform, []).append(f"{device.name} is {getattr(device.properties, 'name', '')}")
    rows |= {name: f"available; {', '.join(found)}" for name, found in described.items()}
    reason = threads_unavailable()
    return rows | {"threads": f"{config().num_threads} for compiled code" if reason is None else f"1: {reason}"}


def settings() -> dict[str, str]:
    """The environment variables that phlox reads."""
    width = max(len(os.environ.get(name, "not set")) for name in SETTINGS)
    return {name: f"{os.environ.get(name, 'not set'):{width}}  {meaning}" for name, meaning in SETTINGS.items()}


def _processor_name() -> str:
    if sys.platform == "linux":
        try:
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
        except OSError:
            pass
    return platform.processor() or platform.machine() or "unknown"
