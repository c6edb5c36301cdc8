"""What runs behind errors, caught or not: finally clauses, the methods of managers, and what else a with statement does."""

import contextlib
import io

import numpy as np
import pytest
from phlox import jit


def finally_in_rounds(x):
    n, log = 0, []
    for v in x:
        try:
            n += 1
            if v < 0:
                raise ValueError("neg")
            n += 10
        except ValueError:
            n += 100
            continue
        finally:
            n += 1000
            log.append(n)
        n += 10000
    return n, log


def finally_in_a_call(x):
    depth = 0
    maxd = 0

    def visit(i):
        nonlocal depth, maxd
        depth += 1
        try:
            maxd = max(maxd, depth)
            if x[i] > 5:
                raise KeyError("stop")
            return x[i]
        finally:
            depth -= 1

    total = 0.0
    try:
        for i in range(len(x)):
            total += visit(i)
    except KeyError:
        pass
    return total, depth, maxd


def left_in_finally(x):
    for v in x:
        try:
            if v < 0:
                raise ValueError("neg")
        finally:
            if v > 5:
                break  # noqa: B012
    else:
        return "end"
    return v


def printed_in_finally(x):
    try:
        print("begin")
        if x[0] > 5:
            raise ValueError(f"v {x[0]}")
        if x[1] < 0:
            raise KeyError("k")
    except KeyError as e:
        print("key", e)
        raise RuntimeError("bad") from e
    else:
        print("else")
    finally:
        print("finally", x[0])
    return "ok"


class Resource:
    def __init__(self):
        self.opened = 0
        self.closed = 0
        self.failed = 0

    def __enter__(self):
        self.opened += 1
        return self

    def __exit__(self, kind, e, tb):
        self.closed += 1
        if kind is not None:
            self.failed += 1
        return kind is ValueError


def a_manager_that_swallows(x):
    r = Resource()
    n = 0
    for v in x:
        with r:
            n += 1
            if v < 0:
                raise ValueError("neg")
            n += 10
    return r.opened, r.closed, r.failed, n


def a_manager_that_does_not(x):
    r = Resource()
    n = 0
    try:
        for v in x:
            with r:
                n += 1
                if v < 0:
                    raise KeyError("neg")
                n += 10
                if v > 8:
                    break
    except KeyError:
        n += 1000
    return r.opened, r.closed, r.failed, n


@contextlib.contextmanager
def guard(log):
    log.append("in")
    try:
        yield len(log)
    except ValueError:
        log.append("err")
    finally:
        log.append("out")


def a_manager_of_a_generator(x):
    log = []
    for v in x:
        with guard(log) as k:
            if v < 0:
                raise ValueError
            log.append(k)
    return log


def returned_in_a_manager(x):
    log = []

    def f(v):
        with guard(log):
            if v < 0:
                raise ValueError
            if v > 5:
                return v
            log.append("x")
        return -v

    return [f(v) for v in x], log


def groups(x):
    tot = 0
    try:
        for v in x:
            if v < 0:
                raise ValueError("v")
            if v > 8:
                raise KeyError("v")
            tot += v
    except* ValueError:
        tot = -1
    except* KeyError:
        tot = -2
    return tot


def suppressed_by_another_name(x):
    quiet, n = contextlib.suppress(ValueError), 0
    for v in x:
        with quiet:
            n += 1
            if v < 0:
                raise ValueError
            n += 10
    return n


def a_stack_of_managers(x):
    resource, n = Resource(), 0
    with contextlib.ExitStack() as stack:
        stack.enter_context(resource)
        n += 1
        if x[1] < 0:
            raise ValueError
        n += 10
    return resource.closed, resource.failed, n


def two_managers(x):
    outer, inner, n = Resource(), Resource(), 0
    for v in x:
        with outer as first, inner as second:
            n += first.opened + second.opened
            if v < 0:
                raise ValueError
            n += 10
    return outer.failed, inner.failed, outer.closed, inner.closed, n


FUNCTIONS = [
    finally_in_rounds, finally_in_a_call, left_in_finally, printed_in_finally, a_manager_that_swallows,
    a_manager_that_does_not, a_manager_of_a_generator, returned_in_a_manager, groups, suppressed_by_another_name,
    a_stack_of_managers, two_managers,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_runs_behind_errors(function):
    def outcome(function, x):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                result = repr(function(np.array(x)))
            except Exception as error:
                result = type(error), str(error), repr(error.__cause__)
        return result, printed.getvalue()

    jitted = jit(function)
    for x in ([1.0, -2, 3, 9], [1.0, 2, 3, 4], [9.0, 2, -3, 4], [-9.0, -2, -3, -4], [6.0, 7, 6, 6], [1.0, -2, 3, 9]):
        assert outcome(jitted, x) == outcome(function, x)
