"""What is changed in an element of a list whose length the program decides is changed in the list, or an error says so."""

from collections import deque

import numpy as np
import pytest
from phlox import TracerError, jit

X = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0])

CHANGES_OF_DEQUES = {
    "append": lambda queue: queue.append(1.0),
    "appendleft": lambda queue: queue.appendleft(1.0),
    "extend": lambda queue: queue.extend([1.0, 2.0]),
    "extendleft": lambda queue: queue.extendleft([1.0, 2.0]),
    "pop": lambda queue: queue.pop(),
    "popleft": lambda queue: queue.popleft(),
    "rotate": lambda queue: queue.rotate(1),
    "clear": lambda queue: queue.clear(),
}


@pytest.mark.parametrize("change", CHANGES_OF_DEQUES.values(), ids=CHANGES_OF_DEQUES)
def test_deques_that_are_elements(change):
    def some(x):
        queues = []
        for value in x:
            if value > 0:
                queues.append(deque([value, 2.0]))
        change(queues[1])
        return queues

    with pytest.raises(TracerError, match="a deque is changed"):
        jit(some)(X)
