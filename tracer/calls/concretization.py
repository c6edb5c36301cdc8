"""What becomes known to the trace, where a function needs the value of a number."""

from __future__ import annotations

from ... import hlo
from ..outside.paths import Argument
from ..outside.policy import Policy
from ..recording.errors import ENDS_RECURSION, ConcretizationError
from ..recording.intervals import UnprovenInterval
from .arguments import ArgumentReader, Call
from .leaves import PackedLeaf
from .recorded_function import CallForm


def texts_behind(form: CallForm, error: Exception) -> set[str]:
    """The arguments with texts that an error comes from, as far as it says so."""
    leaves, sources = form.parameters, getattr(error, "sources", None) or ()
    numbers = [parameter.attributes["number"] for parameter in sources]
    return {leaves[number].path for number in numbers if number < len(leaves) and leaves[number].kind == "texts"}


def make_known(
    reader: ArgumentReader, policy: Policy, call: Call, form: CallForm, error: ConcretizationError | UnprovenInterval
) -> bool:
    """Whether the error comes from numbers that can be traced for fewer values, and from what is outside; they will be."""
    if not error.sources:
        return False
    leaves = form.parameters
    numbers = [parameter.attributes["number"] for parameter in error.sources]
    numbers = [number for number in numbers if number < len(leaves)]
    if len(numbers) + len(error.outside) < len(error.sources):  # arrays that are not found at a path
        return False
    sources = [leaves[number] for number in numbers]
    if not all([call.is_on_host(leaf.path) for leaf in sources if not isinstance(leaf, PackedLeaf)]):
        return False
    if any(leaf.kind == "texts" for leaf in sources):
        return False
    if packs := [leaf for leaf in sources if isinstance(leaf, PackedLeaf)]:  # it is to be seen which of them it is
        reader.taken_apart.update(leaf.path for leaf in packs)
        return True
    is_unproven = isinstance(error, UnprovenInterval)
    # Floats decide on sizes, but are too many to trace for each that a condition is asked of.
    takes_floats = not is_unproven and error.array.element_type is not hlo.PRED
    takes_arrays = takes_floats and error.purpose != ENDS_RECURSION
    arrays = [leaf for leaf in sources if takes_arrays and leaf.is_short_row_of_integers]
    outside = error.outside
    if not all(leaf in arrays or (leaf.is_number if takes_floats else leaf.is_integer) for leaf in sources):
        # Integers beside arrays may be all that it depends on, as where a branch hands on what both have decided.
        sources, arrays, outside = [leaf for leaf in sources if takes_arrays and leaf.is_integer], [], frozenset()
        if not sources:
            return False
    if is_unproven and any(leaf.interval is None for leaf in sources):  # of the integers of NumPy's there are no fewer
        return False
    if not sources and outside <= policy.known:
        return False
    for leaf in sources:
        if is_unproven:
            call.narrow(leaf.path, error.wanted)
        elif leaf.kind == "python scalar":
            reader.intervals[leaf.path] = None
        else:
            reader.known.add(leaf.path)
    policy.known |= outside | {Argument(leaf.path).key for leaf in arrays}
    return True
