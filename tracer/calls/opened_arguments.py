"""Lists and dicts among the arguments that have other lengths and keys at each call: they are read as what is outside.

They hold numbers and texts, or tuples, dicts, short lists and dataclasses of these, that are alike: each place is a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..outside.entries import EntryForm, entries_key, form_of
from ..outside.paths import Argument, Length
from ..outside.policy import Policy
from ..recording import pytree

if TYPE_CHECKING:
    from .arguments import Call

KINDS = (list, dict)
# Of one argument: so many are compiled for before it is opened, where its entries are like those of an earlier call.
_MOST_STRUCTURES = 2
# One of more entries is opened at once, as what is done for each of them while the function is traced takes long.
_MOST_ENTRIES = 512


class OpenedArguments:
    """Which arguments of a function are opened, by their ``names``: those whose entries are alike, as `outside.entries` says.

    Such an argument is an object to the key of a call; what it holds becomes columns, which are inputs.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._closed: set[str] = set()
        self._structures: dict[str, set[int]] = {}
        self._forms: dict[str, set[EntryForm | None]] = {}

    def __bool__(self) -> bool:
        return bool(self.names)

    def clear(self) -> None:
        """Forget what there has been."""
        for held in (self.names, self._closed, self._structures, self._forms):
            held.clear()

    def takes(self, name: str, value: Any) -> bool:
        """Whether this argument is one of them."""
        return name in self.names and type(value) in KINDS

    def opens(self, call: Call, policy: Policy, takes_texts: bool) -> str | None:
        """Opens an argument of a call that is to be compiled for, if one is due; says so.

        takes_texts: whether texts in it may be inputs; else Python has to know them.
        """
        for one in call.arguments:
            if type(one.value) not in KINDS or one.structure is pytree.LEAF or one.name in self._closed:
                continue
            seen = self._structures.setdefault(one.name, set())
            seen.add(hash(one.structure))
            is_long, form = len(one.value) > _MOST_ENTRIES, form_of(one.value)
            forms = self._forms.setdefault(one.name, set())
            is_due = is_long or len(seen) > _MOST_STRUCTURES and form in forms
            forms.add(form)
            if is_due and form is not None and (takes_texts or not form.holds_texts):
                self.names.add(one.name)
                policy.hidden |= {entries_key(Argument(one.name)), Length(Argument(one.name)).key}
                why = "is long" if is_long else "has had several structures"
                return f"argument {one.name}: what it holds is an input from now on, as it {why}"
        return None

    def close(self, names: Iterable[str]) -> bool:
        """Read these arguments as all others again, for good; whether there are any."""
        found = {*names} & self.names
        self._closed |= {*names}
        self.names = self.names - found
        return bool(found)

    def close_given(self, given: Mapping[str, Any]) -> bool:
        """Close those that a call has, which could not be recorded with them; whether there are any."""
        return self.close([name for name, value in given.items() if self.takes(name, value)])

    def close_known(self, policy: Policy) -> bool:
        """Close those whose entries Python needs to know; whether there are any."""
        return self.close([name for name in self.names if entries_key(Argument(name)) in policy.known])

    def closes_shared(self, given: Mapping[str, Any]) -> bool:
        """Closes all where one is also another argument, or a part of one: what is changed in one place is changed in both."""
        if len(given) == 1:
            return False
        opened = {id(value) for name, value in given.items() if self.takes(name, value)}
        others = [value for value in given.values() if id(value) not in opened]
        are_shared = len(given) - len(others) > len(opened) or any(_holds(value, opened) for value in others)
        if are_shared:
            self.close(self.names)
        return are_shared


def _holds(value: Any, ids: set[int]) -> bool:
    """Whether one of these objects is a part of a container."""
    parts = pytree.taken_apart(value)
    return parts is not None and any(id(part) in ids or _holds(part, ids) for part in parts[1])
