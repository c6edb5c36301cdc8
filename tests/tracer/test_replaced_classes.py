"""Classes whose methods, special methods, properties and base classes become others between calls, or in the function."""

import numpy as np
import pytest
from phlox import TracerError, jit

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
def made_inside_inherited(decorate):
    class B:
        def m(self, x):
            return x * 2

    class A(B):
        pass

    f = decorate(lambda x: A().m(x))
    r = [f(X), f(X)]
    A.m = lambda self, x: x * 3
    r += [f(X), f(X)]
    return r


@program
def made_inside(decorate):
    class A:
        def m(self, x):
            return x * 2

    f = decorate(lambda x: A().m(x))
    r = [f(X), f(X)]
    A.m = lambda self, x: x * 3
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
def property_replaced(decorate):
    class A:
        @property
        def p(self):
            return 3

    a = A()
    f = decorate(lambda x: x * a.p)
    r = [f(X), f(X)]
    A.p = property(lambda self: 4)
    r += [f(X), f(X)]
    A.p = 8
    r += [f(X)]
    return r


@program
def property_replaced_inside(decorate):
    class A:
        @property
        def p(self):
            return 3

    f = decorate(lambda x: x * A().p)
    r = [f(X), f(X)]
    A.p = property(lambda self: 4)
    r += [f(X), f(X)]
    A.p = 8
    r += [f(X)]
    return r


@program
def property_inherited(decorate):
    class B:
        @property
        def p(self):
            return 3

    class A(B):
        pass

    a = A()
    f = decorate(lambda x: x * a.p)
    r = [f(X), f(X)]
    A.p = property(lambda self: 4)
    r += [f(X), f(X)]
    return r


@program
def property_fget_code(decorate):
    def get(self):
        return 3

    class A:
        p = property(get)

    a = A()
    f = decorate(lambda x: x * a.p)
    r = [f(X), f(X)]
    get.__code__ = (lambda self: 5).__code__
    r += [f(X), f(X)]
    return r


@program
def setter_replaced(decorate):
    class A:
        def _g(self):
            return self.v

        def _s(self, v):
            self.v = v

        p = property(_g, _s)

    a = A()

    def g(x):
        a.p = x
        return a.p

    f = decorate(g)
    r = [f(X), f(X)]

    def s2(self, v):
        self.v = v * 2

    A.p = property(A._g, s2)
    r += [f(X), f(X)]
    return r


@program
def metaclass_attr(decorate):
    class M(type):
        q = 3

    class A(metaclass=M):
        pass

    f = decorate(lambda x: x * A.q)
    r = [f(X), f(X)]
    M.q = 4
    r += [f(X), f(X)]
    A.q = 9
    r += [f(X)]
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
def class_assign(decorate):
    class A:
        def m(self):
            return 2

    class B:
        def m(self):
            return 3

    a = A()
    f = decorate(lambda x: x * a.m())
    r = [f(X), f(X)]
    a.__class__ = B
    r += [f(X), f(X)]
    a.__class__ = A
    return r + [f(X)]


@program
def class_assign_arg(decorate):
    class A:
        def m(self):
            return 2

    class B:
        def m(self):
            return 3

    a = A()
    f = decorate(lambda a, x: x * a.m())
    r = [f(a, X), f(a, X)]
    a.__class__ = B
    r += [f(a, X), f(a, X)]
    a.__class__ = A
    return r + [f(a, X)]


@program
def class_assign_isinstance(decorate):
    class A:
        pass

    class B:
        pass

    a = A()
    f = decorate(lambda x: x * (2 if isinstance(a, A) else 3))
    r = [f(X), f(X)]
    a.__class__ = B
    r += [f(X), f(X)]
    return r


@program
def bases_assign(decorate):
    class P:
        v = 1

    class Q:
        v = 2

    class First:
        pass

    class A(First, P):
        pass

    a = A()
    f = decorate(lambda x: x * a.v + x * A.v + x * A().v)
    r = [f(X), f(X)]
    A.__bases__ = (First, Q)
    r += [f(X), f(X)]
    return r


@program
def isinstance_bases(decorate):
    class First:
        pass

    class P:
        pass

    class A(First):
        pass

    a = A()
    f = decorate(lambda x: x * (2 if isinstance(a, P) else 3) * (5 if issubclass(A, P) else 7))
    r = [f(X), f(X)]
    A.__bases__ = (P,)
    r += [f(X), f(X)]
    return r


@program
def descriptor(decorate):
    class D:
        def __get__(self, o, t):
            return 3

    class A:
        d = D()

    a = A()
    f = decorate(lambda x: x * a.d)
    r = [f(X), f(X)]
    D.__get__ = lambda self, o, t: 4
    r += [f(X), f(X)]
    return r


@program
def descriptor_inside(decorate):
    class D:
        def __get__(self, o, t):
            return 3

    class A:
        d = D()

    f = decorate(lambda x: x * A().d)
    r = [f(X), f(X)]
    D.__get__ = lambda self, o, t: 4
    r += [f(X), f(X)]
    A.d = 9
    return r + [f(X)]


@program
def descriptor_state(decorate):
    class D:
        v = 3

        def __get__(self, o, t):
            return self.v

    class A:
        d = D()

    a = A()
    f = decorate(lambda x: x * a.d)
    r = [f(X), f(X)]
    A.__dict__["d"].v = 4
    r += [f(X), f(X)]
    return r


@program
def classmethod_replaced(decorate):
    class A:
        k = 2

        @classmethod
        def m(cls):
            return cls.k

        @staticmethod
        def s():
            return 5

    f = decorate(lambda x: x * A.m() * A.s())
    r = [f(X), f(X)]
    A.k = 3
    r += [f(X)]
    A.m = classmethod(lambda cls: cls.k * 7)
    r += [f(X), f(X)]
    A.s = staticmethod(lambda: 11)
    return r + [f(X)]


@program
def classmethod_inst(decorate):
    class A:
        k = 2

        @classmethod
        def m(cls):
            return cls.k

        @staticmethod
        def s():
            return 5

    a = A()
    f = decorate(lambda x: x * a.m() * a.s())
    r = [f(X), f(X)]
    A.k = 3
    r += [f(X)]
    A.m = classmethod(lambda cls: cls.k * 7)
    r += [f(X), f(X)]
    A.s = staticmethod(lambda: 11)
    return r + [f(X)]


@program
def super_replaced(decorate):
    class B:
        def m(self):
            return 2

    class A(B):
        def m(self):
            return super().m() * 3

    a = A()
    f = decorate(lambda x: x * a.m())
    r = [f(X), f(X)]
    B.m = lambda self: 5
    r += [f(X), f(X)]
    return r


@program
def super_inserted(decorate):
    class B:
        def m(self):
            return 2

    class M(B):
        pass

    class A(M):
        def m(self):
            return super().m() * 3

    a = A()
    f = decorate(lambda x: x * a.m())
    r = [f(X), f(X)]
    M.m = lambda self: 5
    r += [f(X), f(X)]
    return r


@program
def super_inside(decorate):
    class B:
        def m(self):
            return 2

    class A(B):
        def m(self):
            return super().m() * 3

    f = decorate(lambda x: x * A().m())
    r = [f(X), f(X)]
    B.m = lambda self: 5
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


@program
def class_made_inside_method_set(decorate):
    class A:
        pass

    def g(x):
        A.f = lambda self, y: y * self.k
        a = A()
        a.k = 3
        return a.f(x)

    f = decorate(g)
    r = [f(X), f(X)]
    a = A()
    a.k = 5
    return r + [a.f(X)]


@program
def class_set_property(decorate):
    class A:
        pass

    def g(x):
        A.p = property(lambda self: 5)
        return A().p * x

    f = decorate(g)
    return [f(X), f(X), A().p]


@program
def class_set_classmethod(decorate):
    class A:
        k = 3

    def g(x):
        A.c = classmethod(lambda cls: cls.k)
        A.s = staticmethod(lambda: 11)
        a = A()
        return x * A.c() * a.c() * A.s() * a.s()

    f = decorate(g)
    return [f(X), f(X), A.c(), A().s()]


@program
def class_set_outside_inst(decorate):
    class A:
        def m(self):
            return 1

    a = A()
    a.k = 2

    def g(x):
        A.m = lambda self: self.k * 10
        return a.m() * x

    f = decorate(g)
    r = [f(X), f(X)]
    a.k = 4
    return r + [f(X), a.m()]


@program
def class_set_unbound(decorate):
    class A:
        pass

    def g(x):
        A.f = lambda y: y * 2
        return A.f(x)

    f = decorate(g)
    return [f(X), f(X), A.f(3)]


@program
def class_counter(decorate):
    class A:
        n = 0

        def __init__(self):
            A.n += 1

    def g(x):
        A()
        A()
        return x * A.n

    f = decorate(g)
    return [f(X), f(X), f(X), A.n]


@program
def class_type_self_counter(decorate):
    class A:
        n = 0

        def bump(self):
            type(self).n += 1
            self.__class__.n += 1

    a = A()

    def g(x):
        a.bump()
        A().bump()
        return x * a.n

    f = decorate(g)
    return [f(X), f(X), f(X), A.n]


@program
def class_setattr(decorate):
    class A:
        pass

    def g(x):
        A.k = 3
        A.l = [x]
        return A.k * A.l[0] + A().k

    f = decorate(g)
    return [f(X), f(X), A.k, A.l]


@program
def local_class(decorate):
    def g(x):
        class A:
            n = 0

            def m(self):
                return 2

        A.n += 1
        A.m = lambda self: self.n * 7
        return x * A().m() * A.n

    f = decorate(g)
    return [f(X), f(X), f(X)]


def same(one, other):
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    expected = PROGRAMS[name](lambda function: function)
    assert same(expected, PROGRAMS[name](jit))


class Plain:
    def method(self):
        return 1.0


def sets_special_method(x):
    Plain.__len__ = lambda self: 4
    return x


def sets_constructor(x):
    Plain.__init__ = lambda self, x: None
    return x


def deletes_method(x):
    del Plain.method
    return x


def sets_descriptor(x):
    class Descriptor:
        def __get__(self, instance, owner):
            return 3.0

    Plain.number = Descriptor()
    return x * Plain().number


@pytest.mark.parametrize("function", [sets_special_method, sets_constructor, deletes_method, sets_descriptor])
def test_what_is_refused(function):
    before = dict(vars(Plain))
    with pytest.raises(TracerError, match="Fix: "):
        jit(function)(X)
    assert dict(vars(Plain)) == before


def test_a_class_that_changes_all_the_time_keeps_its_calls_native():
    class Counter:
        total = 0

        def value(self, x):
            return x * 2

    counter = Counter()
    f = jit(lambda x: counter.value(x))
    for number in range(200):
        Counter.total = number
        assert f(X).tolist() == (X * 2).tolist()
    assert (f.cache_info().misses, f.cache_info().hits < 20) == (1, True)
    Counter.value = lambda self, x: x * 3
    assert f(X).tolist() == (X * 3).tolist()
    Counter.__call__ = lambda self: 0
    assert f(X).tolist() == (X * 3).tolist()
