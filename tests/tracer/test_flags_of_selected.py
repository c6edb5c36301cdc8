"""``flags`` of arrays whose sizes are known at run time only: what does not depend on the sizes is known."""

import numpy as np
import pytest
from phlox import jit


def test_what_is_known_of_selected_elements():
    def function(x):
        chosen, rows = x[x > 2], x.reshape(-1, 2)[x[::2] > 2]
        known = chosen.flags.writeable, chosen.flags.c_contiguous, chosen.flags["F"], chosen.flags.num
        return known, rows.flags.writeable, rows.flags["ALIGNED"], chosen[::2].flags.behaved

    jitted = jit(function)
    for x in (np.arange(6.0), np.zeros(6)):
        assert jitted(x) == function(x)


def test_the_order_of_rows_is_refused():
    with pytest.raises(NotImplementedError, match="the flag c_contiguous of an array whose sizes are known at run time only"):
        jit(lambda x: x.reshape(-1, 2)[x[::2] > 2].flags.c_contiguous)(np.arange(6.0))
