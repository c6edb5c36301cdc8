"""Classes whose special methods, which Python calls by itself, become others between calls, or in the function."""

import numpy as np
import pytest
from changed_outside import does_the_same

X = np.array([1.0, -2.0, 3.0])
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def call_of_object_class(decorate):
    class S:
        def __call__(self, x):
            return x * 2

    s = S()
    f = decorate(lambda x: s(x) + 1)
    r = [f(X), f(X)]
    S.__call__ = lambda self, x: x * 3
    r += [f(X), f(X)]
    return r


@program
def jit_object(decorate):
    class S:
        def __call__(self, x):
            return x * 2

    s = S()
    f = decorate(s)
    r = [f(X), f(X)]
    S.__call__ = lambda self, x: x * 3
    r += [f(X), f(X)]
    return r


@program
def init_replaced(decorate):
    class A:
        def __init__(self, x):
            self.x = x

    f = decorate(lambda x: A(x).x)

    def other(self, x):
        self.x = x * 5

    r = [f(X), f(X)]
    A.__init__ = other
    r += [f(X), f(X)]
    return r


@program
def init_appears(decorate):
    class A:
        x = 3.0

    f = decorate(lambda x: A().x * x)

    def other(self):
        self.x = 5.0

    r = [f(X), f(X)]
    A.__init__ = other
    r += [f(X), f(X)]
    return r


@program
def new_appears(decorate):
    class A:
        x = 3.0

    class B:
        x = 4.0

    f = decorate(lambda x: A().x * x)
    r = [f(X), f(X)]
    A.__new__ = lambda cls: B()
    r += [f(X), f(X)]
    return r


@program
def dunder_add(decorate):
    class A:
        def __init__(self, v):
            self.v = v

        def __add__(self, o):
            return self.v + o.v

    f = decorate(lambda x: A(x) + A(2))
    r = [f(X), f(X)]
    A.__add__ = lambda self, o: self.v * o.v
    r += [f(X), f(X)]
    return r


@program
def dunder_add_outside(decorate):
    class A:
        def __init__(self, v):
            self.v = v

        def __add__(self, o):
            return self.v + o

    a = A(3.0)
    f = decorate(lambda x: a + x)
    r = [f(X), f(X)]
    A.__add__ = lambda self, o: self.v * o
    r += [f(X), f(X)]
    return r


@program
def dunder_bool_appears(decorate):
    class A:
        pass

    a = A()
    f = decorate(lambda x: x if a else -x)
    r = [f(X), f(X)]
    A.__bool__ = lambda self: False
    r += [f(X), f(X)]
    return r


@program
def dunder_len_outside(decorate):
    class A:
        def __len__(self):
            return 3

    a = A()
    f = decorate(lambda x: x * len(a))
    r = [f(X), f(X)]
    A.__len__ = lambda self: 5
    r += [f(X), f(X)]
    return r


@program
def dunder_getattr_appears(decorate):
    class A:
        pass

    a = A()
    f = decorate(lambda x: x * getattr(a, "q", 2))
    r = [f(X), f(X)]
    A.__getattr__ = lambda self, n: 7
    r += [f(X), f(X)]
    return r


@program
def dunder_getattr_replaced(decorate):
    class A:
        def __getattr__(self, n):
            return 3

    a = A()
    f = decorate(lambda x: x * a.q)
    r = [f(X), f(X)]
    A.__getattr__ = lambda self, n: 7
    r += [f(X), f(X)]
    a.q = 9
    r += [f(X), f(X)]
    return r


@program
def dunder_getattr_replaced_inside(decorate):
    class A:
        def __getattr__(self, n):
            return 3

    f = decorate(lambda x: x * A().q)
    r = [f(X), f(X)]
    A.__getattr__ = lambda self, n: 7
    r += [f(X), f(X)]
    A.q = 9
    r += [f(X), f(X)]
    return r


@program
def metaclass_call(decorate):
    class M(type):
        def __call__(cls):
            return 3

    class A(metaclass=M):
        pass

    f = decorate(lambda x: x * A())
    r = [f(X), f(X)]
    M.__call__ = lambda cls: 4
    r += [f(X), f(X)]
    return r


@program
def match_args(decorate):
    class P:
        __match_args__ = ("a", "b")

        def __init__(self):
            self.a = 1
            self.b = 2

    p = P()

    def g(x):
        match p:
            case P(1, q):
                return x * q
            case P(2, q):
                return x * q * 10

    f = decorate(g)
    r = [f(X), f(X)]
    P.__match_args__ = ("b", "a")
    return r + [f(X), f(X)]


@program
def fstring_format(decorate):
    class P:
        def __format__(self, s):
            return "a"

    p = P()
    f = decorate(lambda x: (x, f"{p}"))
    r = [f(X)]
    P.__format__ = lambda self, s: "b"
    return r + [f(X)]


@program
def repr_replaced(decorate):
    class P:
        def __repr__(self):
            return "a"

    p = P()
    f = decorate(lambda x: (x, repr(p), str(p)))
    r = [f(X)]
    P.__repr__ = lambda self: "b"
    return r + [f(X)]


@program
def eq_replaced(decorate):
    class P:
        def __eq__(self, o):
            return True

        __hash__ = None

    p, q = P(), P()
    f = decorate(lambda x: x * (2 if p == q else 3))
    r = [f(X)]
    P.__eq__ = lambda self, o: False
    return r + [f(X)]


@program
def eq_appears(decorate):
    class P:
        pass

    p, q = P(), P()
    f = decorate(lambda x: x * (2 if p == q else 3))
    r = [f(X)]
    P.__eq__ = lambda self, o: True
    return r + [f(X)]


@program
def contains_appears(decorate):
    class P:
        def __contains__(self, v):
            return True

    p = P()
    f = decorate(lambda x: x * (2 if 3 in p else 3))
    r = [f(X)]
    P.__contains__ = lambda self, o: False
    return r + [f(X)]


@program
def iter_replaced(decorate):
    class P:
        def __iter__(self):
            return iter([1, 2])

    p = P()
    f = decorate(lambda x: x * sum(p))
    r = [f(X)]
    P.__iter__ = lambda self: iter([5])
    return r + [f(X)]


@program
def enter_replaced(decorate):
    class P:
        def __enter__(self):
            return 2

        def __exit__(self, *a):
            return False

    p = P()

    def g(x):
        with p as v:
            return x * v

    f = decorate(g)
    r = [f(X)]
    P.__enter__ = lambda self: 7
    return r + [f(X)]


@program
def getitem_replaced(decorate):
    class P:
        def __getitem__(self, v):
            return v

    p = P()
    f = decorate(lambda x: x * p[3])
    r = [f(X)]
    P.__getitem__ = lambda self, o: 8
    return r + [f(X)]


@program
def array_method(decorate):
    class P:
        def __array__(self, dtype=None, copy=None):
            return np.ones(3)

    p = P()
    f = decorate(lambda x: x * np.asarray(p))
    r = [f(X)]
    P.__array__ = lambda self, dtype=None, copy=None: np.full(3, 4.0)
    return r + [f(X)]


@program
def float_method(decorate):
    class P:
        def __float__(self):
            return 2.0

    p = P()
    f = decorate(lambda x: x * float(p))
    r = [f(X)]
    P.__float__ = lambda self: 5.0
    return r + [f(X)]


@program
def index_method(decorate):
    class P:
        def __index__(self):
            return 1

    p = P()
    f = decorate(lambda x: x[p])
    r = [f(X)]
    P.__index__ = lambda self: 2
    return r + [f(X)]


@program
def key_function(decorate):
    class K:
        def key(self, v):
            return v

    k = K()
    f = decorate(lambda x: sorted([3, -4, 1], key=k.key))
    r = [f(X)]
    K.key = lambda self, v: -v
    return r + [f(X)]


@program
def user_exc(decorate):
    class E(Exception):
        code = 3

    def g(x):
        try:
            raise E()
        except E as e:
            return x * e.code

    f = decorate(g)
    r = [f(X), f(X)]
    E.code = 8
    return r + [f(X)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    assert does_the_same(PROGRAMS[name])
