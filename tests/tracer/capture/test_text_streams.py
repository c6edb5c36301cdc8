"""``io.StringIO`` in a traced function: what is written to it, when the program runs."""

import io

import numpy as np
import phlox
import pytest


def printed(x):
    out = io.StringIO()
    print(x[0], "and", x[1:], file=out)
    print(x.sum(), 3, sep="; ", end="|", file=out)
    return out.getvalue()


def written(x):
    out = io.StringIO()
    count = out.write(f"{x[0]:.2f}\n")
    out.writelines(["a\n", f"{x[1]}\n"])
    return out.getvalue().upper(), count, len(out.getvalue())


def in_a_loop(x):
    out = io.StringIO()
    for k, v in enumerate(x):
        print(k, v, sep=": ", end=";", file=out)
        if v > 1:
            out.write("!")
    return out.getvalue()


def in_a_long_loop(x):
    out, total = io.StringIO(), 0.0
    for k in range(200):
        total += x[k % 3] * k
        if k % 50 == 0:
            out.write(f"{total:.3f} ")
    return out.getvalue(), total


def by_others(x):
    def report(stream, *values):
        for value in values:
            stream.write("%.1f," % value)  # noqa: UP031
        return stream

    first, second = io.StringIO(), io.StringIO()
    report(first, x[0]), report(second, *x)
    other = first if x[0] > 1 else second
    return other.getvalue(), first.getvalue(), type(first) is io.StringIO


def with_known_texts(x):
    out = io.StringIO()
    print("known", 1, file=out)
    return out.getvalue(), x * 2


def saved(x):
    out, table = io.StringIO(), np.stack([x, x * 10], axis=1)
    np.savetxt(out, table, fmt="%.3f", delimiter=",", header="a,b", comments="")
    np.savetxt(fname=out, X=x)
    np.savetxt(out, table, fmt=["%.2f", "%8.3e"], footer="end\nof it")
    np.savetxt(out, table.astype(int), fmt="%d and %d;", newline="|")
    np.savetxt(out, [[1, 2]], fmt="%d")
    return out.getvalue()


@pytest.mark.parametrize("function", [printed, written, in_a_loop, in_a_long_loop, by_others, with_known_texts, saved])
def test_text_streams(function):
    jitted = phlox.jit(function)
    for x in (np.array([1.0, 2.5, 0.5]), np.array([3.0, 0.25, 7.0]), np.array([1.0, 2.5, 0.5])):
        assert repr(jitted(x)) == repr(function(x))


@pytest.mark.parametrize(
    "ask", [
        lambda out, x: out.read(), lambda out, x: out.truncate(0), lambda out, x: np.savetxt(out, x + 1j),
        lambda out, x: print(x, file=io.StringIO("begin")), lambda out, x: io.StringIO("begin").write(f"{x}"),
    ],
)  # fmt: skip
def test_what_is_not_followed(ask):
    with pytest.raises((phlox.TracerError, TypeError, NotImplementedError), match="StringIO|Deferred"):
        phlox.jit(lambda x: (ask(io.StringIO(), x), x)[1])(np.ones(2))


def test_a_stream_that_is_read():
    assert phlox.jit(lambda x: np.loadtxt(io.StringIO("1 2")) * x)(2.0).tolist() == [2.0, 4.0]


def test_streams_of_bytes():
    def found_in(stream):
        return np.genfromtxt(stream)

    assert phlox.jit(lambda x: found_in(io.BytesIO(b"1 2")) * x)(2.0).tolist() == [2.0, 4.0]
    for write in (lambda out, x: np.save(out, x), lambda out, x: np.savetxt(out, x), lambda out, x: np.savetxt(fname=out, X=x)):
        with pytest.raises(NotImplementedError, match=r"np\.save(txt)?"):
            phlox.jit(lambda x, write=write: (write(out := io.BytesIO(), x), out.getvalue())[1])(np.ones(2))
