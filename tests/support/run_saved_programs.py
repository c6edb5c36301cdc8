"""Runs compiled programs that another process has saved: ``run_saved_programs.py FOLDER``.

FOLDER holds files ``NAME.program``, and ``NAME.arguments``, the pickled arguments, one tuple for each call. The results go to
``NAME.results``, likewise. A file ``NAME.hlo`` has the module, where the program finds values in its environment.
"""

import pickle
import sys
from pathlib import Path

import numpy as np
from environments import prepared_environment
from phlox import register_custom_call
from phlox.backends.cpu.dynamic_shapes import executable_of
from phlox.backends.cpu.native_program import NativeProgram
from phlox.hlo import parse_module
from phlox.runtime import Environment
from phlox.runtime.random_state import RandomState

UNUSUAL_NAME = 'a "name", \\ of é'
TARGETS = {
    "example_roll": lambda x, *, attributes: np.roll(x, attributes["by"]),
    UNUSUAL_NAME: lambda x, *, attributes: x + len(attributes["backend_config"]),
}


def register_targets():
    for name, function in TARGETS.items():
        register_custom_call(name, function)


def results_of(executable, module, calls):
    """The results of the calls, or the messages of what they raise, in an environment in which the module finds its values."""
    environment = Environment() if module is None else prepared_environment(module)
    environment.random_state = RandomState(7)
    results = []
    with environment.active():
        for arguments in calls:
            try:
                results.append(executable(*arguments))
            except ValueError as error:
                results.append(str(error))
    return results


def main(folder):
    register_targets()
    for path in sorted(folder.glob("*.program")):
        executable = executable_of(NativeProgram.from_bytes(path.read_bytes()))
        text = path.with_suffix(".hlo")
        module = parse_module(text.read_text(encoding="utf-8")) if text.exists() else None
        calls = pickle.loads(path.with_suffix(".arguments").read_bytes())
        path.with_suffix(".results").write_bytes(pickle.dumps(results_of(executable, module, calls)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
