"""What is a number, and what an array without dimensions: as NumPy returns it, of numbers, of such arrays, and of elements."""

import warnings

import numpy as np
import pytest
from phlox import jit
from written_functions import written

# Of an array x, a number s, an array without dimensions z, integers i, a matrix m, complex numbers c, and truths b.
EXPRESSIONS = """
np.isin(s,x)
np.where(s>1,s,0)
np.where(x[0]>1,1,0)
np.squeeze(x[:1])
np.asarray(s)
np.array(s)
np.nan_to_num(s)
np.real(s)
np.real(c[0])
np.imag(c[0])
np.real(z)
np.reshape(x[0],())
np.copy(s)
np.full((),s)
np.zeros(())
np.clip(s,0,1)
np.clip(z,0,1)
np.select([s>1],[s],0)
np.choose(1,[s,s+1])
np.choose(i[1],[s,s+1])
np.piecewise(s,[s>1],[1,2])
np.piecewise(z,[z>1],[1,2])
np.broadcast_to(s,())
np.take(x,0)
np.take(x,i[1])
np.take(x,np.array(1))
np.interp(1.5,x,x)
np.interp(s,np.sort(x),x)
np.interp(z,np.sort(x),x)
np.polyval(x,s)
np.polyval([1,2],s)
np.polyval(x,z)
np.digitize(s,np.sort(x))
np.searchsorted(np.sort(x),s)
np.searchsorted(np.sort(x),z)
np.percentile(x,30)
np.percentile(x,[30])
np.quantile(x,s/10)
np.median(x)
np.average(x)
np.trace(m)
np.einsum('ii',m)
np.einsum('i,i->',x,x)
np.einsum('i,i',x,x)
np.tensordot(x,x,1)
np.tensordot(m,m)
np.inner(x,x)
np.inner(s,x)
np.inner(s,s)
np.dot(x,x)
np.dot(s,s)
np.dot(z,z)
np.vdot(x,x)
np.vdot(s,s)
np.linalg.norm(x)
np.linalg.norm(m)
np.linalg.norm(s)
np.linalg.det(m)
np.linalg.slogdet(m)
np.cross(x[:2],x[1:3])
np.ptp(x)
np.around(s)
np.around(z)
np.round(z,1)
np.fix(s)
np.fix(z)
np.sinc(s)
np.sinc(z)
np.i0(s)
np.i0(z)
np.angle(c[0])
np.angle(z)
np.unravel_index(i[0],(2,3))
np.ravel_multi_index((i[1],i[2]),(4,4))
np.heaviside(s,1)
np.isclose(s,s)
np.isclose(z,z)
np.allclose(x,x)
np.isreal(s)
np.isreal(z)
np.iscomplex(s)
np.iscomplex(c[0])
np.isneginf(s)
np.isposinf(z)
np.isposinf(s)
np.spacing(s)
np.unwrap(x)[0]
np.nanmedian(x)
np.nanpercentile(x,3)
np.nanmean(x)
np.nanstd(x)
np.nanmax(x)
np.nanargmax(x)
np.argmax(x)
np.argmax(m,axis=None)
np.count_nonzero(x)
np.count_nonzero(m,axis=0)[0]
np.size(x)
np.ndim(s)
np.amin(z)
np.max(z)
np.sum(z)
np.mean(z)
np.mean(s)
np.sum(s)
np.cumsum(s)
np.prod(z)
np.all(s)
np.any(z)
np.sort(x)[0]
np.transpose(s)
np.transpose(z)
np.moveaxis(z,(),())
np.ravel(s)
np.flip(z)
np.repeat(s,2)
np.tile(s,1)
np.tile(s,())
np.diff(x)[0]
np.gradient(x)[0]
np.trapezoid(x)
np.corrcoef(x)
np.corrcoef(x,x)
np.cov(x)
np.histogram(x)[0][0]
np.bincount(i)[0]
np.apply_along_axis(np.sum,0,x)
np.apply_over_axes(np.sum,m,[0,1])
np.vectorize(lambda q:q*2)(s)
np.vectorize(lambda q:q*2)(z)
np.add.reduce(x)
np.add.reduce(z)
np.maximum.reduce(x)
np.add(s,1)
np.add(z,1)
np.add(z,z)
z+1
-z
z*z
abs(z)
z**2
z>1
~b[0]
np.logical_not(z)
np.sqrt(z)
np.exp(s)
np.floor_divide(z,2)
np.divmod(z,2)
np.modf(z)
np.frexp(z)
np.modf(s)
x.sum()
x[1]
x[[1]][0]
x[...,0]
x[(0,)]
m[0,0]
m[0][0]
z[()]
z[...]
x[1,...]
x[i[1]]
x[np.array(1)]
m[np.array(1),np.array(1)]
x.take(1)
x.item(1)
z.item()
x.dot(x)
x.max()
x.argmax()
m.trace()
x.mean()
x.var()
x.squeeze()
x[:1].squeeze()
z.copy()
z.astype(int)
s.astype(int)
x[0].astype(np.float32)
x[0].copy()
x[0].reshape(())
z.reshape(())
z.T
s.T
x[0].real
z.real
z.ravel()[0]
z.round()
s.round()
z.clip(0,1)
s.clip(0,1)
z.conj()
s.conj()
z.sum()
s.sum()
s.max()
z.max()
np.asanyarray(s)
np.ascontiguousarray(s)
np.atleast_1d(s)
np.require(z)
np.matmul(x,x)
x@x
np.linalg.matrix_rank(m)
np.linalg.cond(m)
np.linalg.multi_dot([x,m.repeat(4)[:4*3].reshape(4,3),i])
np.convolve(x,x)[0]
np.correlate(x,x)
np.correlate(x,x)[0]
np.polynomial.polynomial.polyval(s,x)
np.polynomial.polynomial.polyval(z,x)
np.polynomial.chebyshev.chebval(s,x)
np.fft.fft(x)[0]
np.random.default_rng(0).random()
np.random.default_rng(0).integers(5)
np.sign(z)
np.rint(z)
np.deg2rad(z)
np.hypot(z,z)
np.float64(z)
float(z)
int(z)
np.int32(s)
complex(s)
bool(z)
round(s)
np.shape(z)
np.array_equal(z,z)
np.array_equiv(z,z)
np.take_along_axis(x,i,0)[0]
np.partition(x,1)[1]
np.argpartition(x,1)[0]*0
np.nonzero(x)[0][0]
np.flatnonzero(z)
np.tri(2)[0,0]
np.diag(m)[0]
np.diagonal(m)[0]
np.vander(x)[0,0]
np.kron(s,s)
np.kron(z,z)
np.outer(s,s)
np.block(s)
np.block([[s]])
np.concatenate([x,x])[0]
np.stack([s,s])[0]
np.append(x,s)[-1]
np.insert(x,0,s)[0]
np.delete(x,0)[0]
np.resize(s,())
np.resize(s,2)
np.rot90(m)[0,0]
np.roll(s,1)
np.roll(z,1)
np.swapaxes(m,0,1)[0,0]
np.expand_dims(s,0)
np.broadcast_arrays(s,s)[0]
np.nextafter(s,s)
np.copysign(z,s)
np.ldexp(z,2)
np.gcd(i[0],i[1])
np.lcm(np.array(4),6)
np.packbits(b)[0]
np.ediff1d(x)[0]
np.setdiff1d(x,x)
np.unique(s)
np.unique(z)
np.unique(x)[0]
np.trim_zeros(x)[0]
np.extract(b,i)[0]
np.compress(b,i)[0]
np.argwhere(x)[0,0]
np.nansum(z)
np.nanmax(z)
np.nancumsum(z)
np.std(z)
np.var(s)
np.average(x,weights=x)
np.average(z)
np.median(z)
np.percentile(z,50)
np.ptp(z)
np.cumprod(z)
np.interp([1.5],x,x)
s[...]
x[0][...]
s[()]
s[None]
""".strip().splitlines()


def arguments():
    x, m = np.array([1.0, 6.0, 9.0, 2.0]), np.arange(9.0).reshape(3, 3)
    return x, np.float64(6.0), np.array([3, 1, 2]), m, np.array(2.5), np.array([1 + 2j, 3.0]), np.array([True, False, True])


def returned(function):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = function(*arguments())
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_numbers_and_arrays_without_dimensions(expression):
    source = f"def f(x, s, i, m, z, c, b):\n    return {expression}\n"
    function = written(source, f"number or array: {expression}", np=np)["f"]
    for one, other in zip(returned(function), returned(jit(function)), strict=True):
        assert (type(other), np.shape(other)) == (type(one), np.shape(one))
        assert getattr(other, "dtype", None) == getattr(one, "dtype", None)
        np.testing.assert_allclose(other, one, rtol=1e-12)


@pytest.mark.parametrize("expression", [
    "n + l", "l + n", "n - t", "t / n", "n ** r", "n < l", "n >= t", "n == l", "n != r", "n * l", "t * n", "n * r", "n @ l",
    "n & t",
    "n[0]", "n[...]", "n + None", "n < 'a'", "divmod(n, l)",
])  # fmt: skip
def test_numbers_of_pythons_are_no_arrays_beside_sequences(expression):
    source = f"""
def f(n, l, t, r):
    try:
        return {expression}
    except TypeError as error:
        return str(error)
"""
    function = written(source, f"beside a sequence: {expression}")["f"]
    for number in (2, 2.5, True):
        given = number, [1, 2.0], (1, 2), range(2)
        assert jit(function)(*given) == function(*given)


def test_what_python_does_not_add_is_not_added_in_place():
    def added(n, values):
        n += values
        return n

    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+=: 'float' and 'list'"):
        jit(added)(2.5, [1.0])
