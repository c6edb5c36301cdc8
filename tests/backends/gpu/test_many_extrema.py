"""Long code without branches in which integers are compared: the driver's compiler ends the process over it as it is."""

import numpy as np
from gpu_backends import processor_backend
from phlox import device_put, jit
from phlox.backends.registry import in_place_of
from programs.registry import PROGRAMS
from thinning import left_to_ci


@left_to_ci
def test_a_table_of_extrema():
    """Its loops have known numbers of rounds, and become one block of code."""
    program = PROGRAMS["polybench_stencils.nussinov"]
    size, sequence = program.arguments_of(1)
    with in_place_of("opencl", processor_backend()):
        found = jit(program.function)(size, device_put(sequence, "opencl"))
        np.testing.assert_array_equal(np.asarray(found), program.function(size, sequence))
