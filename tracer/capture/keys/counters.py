"""``collections.Counter`` and ``defaultdict`` of what the program computes."""

from __future__ import annotations

import heapq
import operator
from collections import Counter, OrderedDict, defaultdict
from typing import Any

from .. import journals
from ..calls.dispatch import call
from ..calls.meanings import implements
from ..calls.methods_of_containers import listed_iterator, may_give_keys
from ..loops.iteration import unlisted
from ..loops.unrolling import for_
from ..places import NO_NAMES
from . import dicts
from .dicts import get, is_concerned, put, put_all
from .listed_dicts import listed_dict, note_dict


def _new(kind: type, *args: Any, **more: Any) -> Any:
    new = kind(*args, **more)
    journals.note_made(new)
    note_dict(new)
    return new


@implements(Counter)
def counter(iterable: Any = None, /, **more: Any) -> Counter:
    if (listed := listed_dict(Counter)) is not None:
        call(listed.update, *(() if iterable is None else (iterable,)), **more)
        return listed
    iterable = listed_iterator(unlisted(iterable))
    if not may_give_keys(iterable):
        return _new(Counter, iterable, **more)
    new = _new(Counter)
    _update(new, iterable, **more)
    return new


@implements(defaultdict)
def defaultdict_(factory: Any = None, /, *args: Any, **more: Any) -> defaultdict:
    new = listed_dict(defaultdict, factory)
    new = _new(defaultdict, factory) if new is None else new
    for given in (*args, more):
        put_all(new, given)
    return new


@implements(OrderedDict)
def ordered_dict(*args: Any, **more: Any) -> Any:
    if (listed := listed_dict(OrderedDict)) is not None:
        call(listed.update, *args, **more)
        return listed
    if not any(map(may_give_keys, args)):
        return _new(OrderedDict, *args, **more)
    new = _new(OrderedDict)
    for given in (*args, more):
        put_all(new, given)
    return new


@implements(Counter.copy)
def _copy(holder: Counter) -> Counter:
    return dicts.copy(holder)


def _count(holder: Counter, key: Any, number: Any) -> None:
    before = get(holder, key, 0) if is_concerned(holder, key) else holder.get(key, 0)  # of one from outside it is noted
    put(holder, key, before + number)


@implements(Counter.update)
def _update(holder: Counter, iterable: Any = None, /, **more: Any) -> None:
    _add(holder, iterable, 1)
    _add(holder, more, 1)


@implements(Counter.subtract)
def _subtract(holder: Counter, iterable: Any = None, /, **more: Any) -> None:
    _add(holder, iterable, -1)
    _add(holder, more, -1)


def _add(holder: Counter, iterable: Any, sign: int) -> None:
    iterable = unlisted(iterable)
    if isinstance(iterable, dict):
        for_(call(iterable.items), lambda pair: _count(holder, pair[0], sign * pair[1]), None, NO_NAMES)
    elif iterable is not None:
        for_(iterable, lambda key: _count(holder, key, sign), None, NO_NAMES)


@implements(Counter.most_common)
def _most_common(holder: Counter, n: Any = None) -> list[tuple]:
    by_count = operator.itemgetter(1)
    if n is None:
        return call(sorted, call(holder.items), key=by_count, reverse=True)
    return call(heapq.nlargest, n, call(holder.items), key=by_count)


@implements(Counter.total)
def _total(holder: Counter) -> Any:
    return call(sum, call(holder.values))
