"""Calls of classes: instances, whose `__new__` and `__init__` are captured if they are the user's."""

from __future__ import annotations

import types
from typing import Any

from ...calls.library_effects import require_no_effect
from ...outside.ownership import belongs_to_the_user
from ...recording.attributes import factories_left_out, factories_of, has_attributes_alone, is_generated
from ...recording.current_trace import current_trace
from .. import journals, made_iterators
from ..lists.references import kept
from ..outside.libraries import meet
from ..outside.surroundings import current_surroundings
from .followed_libraries import is_followed, is_users, may_call_the_users
from .handed_functions import seen_in
from .library_calls import call_library
from .meanings import MEANINGS, Call
from .users_functions import captured


def made_instance(call: Call, kind: type, args: tuple, kwargs: dict) -> Any:
    """An instance of a class, whose ``__init__``, if it has one, is captured if it is the user's."""
    new, initialize, surroundings = kind.__new__, kind.__init__, current_surroundings()
    if surroundings is not None:
        meet(surroundings, kind)
    is_error = issubclass(kind, BaseException) and type(new) is types.BuiltinFunctionType
    is_plain = is_error or new is object.__new__ or has_attributes_alone(kind) and is_users(new)
    has_none = initialize is object.__init__ and (is_users(new) or not args and not kwargs)
    follows = type(initialize) is types.FunctionType and (
        is_followed(initialize, args, kwargs) or may_call_the_users(initialize, args, kwargs)
    )
    is_captured = has_none or follows or is_users(initialize)
    factories = factories_of(kind) if is_generated(initialize) else []
    if factories:
        left_out = factories_left_out(factories, initialize, args, kwargs)
        kwargs = {**kwargs, **{name: call(factory) for name, factory in left_out.items()}}
    if type(kind).__call__ is not type.__call__ or not is_plain or not is_captured:
        if not belongs_to_the_user(kind):
            made_iterators.require_made_here(*args)
            args, kwargs = seen_in(call, args, kwargs)
            require_no_effect(kind)
        made = kind(*args, **kwargs) if belongs_to_the_user(kind) else call_library(kind, kind, args, kwargs)
        if surroundings is not None and type(made) is kind and isinstance(made, tuple):
            made.__class__ = surroundings.class_to_make(kind)
        journals.note_made(made)
        return kept(made)
    if is_users(new):
        made = captured(new)(kind, *args, **kwargs)
    else:
        made = new(kind, *args) if is_error else MEANINGS[object.__new__](kind)
        journals.note_made(made)
        if follows:
            current_trace().program.followed_objects[id(made)] = made
    if not has_none and isinstance(made, kind):
        captured(initialize)(made, *args, **kwargs)
    for one in factories:
        if not one.init and isinstance(held := getattr(made, one.name), (list, dict, set)):
            if one.default_factory() is not held:  # one that it always gives is from outside
                journals.note_made(held)
    return kept(made)
