"""Functions of libraries that are given what exists when the program runs: refused by name, wherever they fail."""

import base64
import hashlib
import heapq
import pickle
import string
import struct
import zlib
from datetime import timedelta

import numpy as np
import pytest
from phlox import TracerError, jit

X = np.arange(1.0, 4.0)


@pytest.mark.parametrize(
    ("function", "name"), [
        (lambda x: zlib.crc32(x), "zlib.crc32"), (lambda x: zlib.crc32(x.tobytes()), "zlib.crc32"),
        (lambda x: hashlib.md5(x).digest(), "hashlib.openssl_md5"), (lambda x: struct.pack("d", x[0]), "struct.pack"),
        (lambda x: base64.b64encode(x), "base64.b64encode"), (lambda x: pickle.dumps([x]), "pickle.dumps"),
        (lambda x: memoryview(x)[0], "memoryview"), (lambda x: timedelta(seconds=x[0]), "datetime.timedelta"),
        (lambda x: string.Template("$a").substitute(a=x[0]), "string.Template.substitute"),
    ],
)  # fmt: skip
def test_what_takes_values(function, name):
    function(X)
    with pytest.raises(TracerError, match=rf"^{name} takes values.* phlox.host_call\({name}, result_shapes") as caught:
        jit(function)(X)
    assert "TracedArray" not in str(caught.value)


def test_what_is_raised_of_known_values_is_the_libraries():
    with pytest.raises(struct.error, match="required argument is not a float"):
        jit(lambda x: struct.pack("d", "a"))(X)


def test_what_a_function_of_the_users_raises_is_not_said_of_the_library():
    class Cell:
        def __init__(self, value):
            self.value = value

        def __lt__(self, other):
            raise KeyError("no order")

    def pushed(x):
        try:
            heapq.heappush([Cell(x[0])], Cell(x[1]))
        except KeyError as error:
            return error.args[0], x
        return None

    assert repr(jit(pushed)(X)) == repr(pushed(X))


@pytest.mark.parametrize(("function", "kind"), [(lambda x: (v for v in x), "a generator"), (lambda x: lambda: x, "a function")])
def test_what_cannot_be_returned(function, kind):
    with pytest.raises(TracerError, match=f"is {kind}, which is neither"):
        jit(function)(X)
