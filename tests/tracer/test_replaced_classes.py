"""Classes whose methods, properties and base classes become others between calls, or in the function."""

import numpy as np
import pytest
from changed_outside import does_the_same
from phlox import TracerError, jit

X = np.array([1.0, -2.0, 3.0])
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


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


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    assert does_the_same(PROGRAMS[name])


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
