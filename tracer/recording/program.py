"""What is known of a whole program while it is recorded: all of its traces share it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import hlo
from ...hlo.source_lines import belongs_to_a_library, raising_line
from ...hlo.tracebacks import Place
from .device_arrays import ArrayOnDevice

if TYPE_CHECKING:
    from .errors import ConcretizationError
    from .trace import Storage, Trace

# What a code of the error flag stands for: an exception's type and its message, or an exception as it is, and the user's lines.
ErrorMessage = tuple[type[Exception] | Exception, str, Sequence[Place]]


class Program:
    """What the traces of one program share: that of the function, and those of its loops, branches and calls."""

    def __init__(self) -> None:
        self.captures: dict[int, Capture] = {}  # by id
        self.replaced_captures: list[Capture] = []
        self.error_flag: Storage | None = None
        self.error_messages: list[ErrorMessage] = []
        self.error_handling = np.geterr()  # as it was outside of the function
        self.print_options = np.get_printoptions()  # the same
        self.compares_arrays = False  # whether it is asked if two arrays of the caller's are one
        self.changes_before_errors = False  # whether a side of a branch that raises has changed something before
        self.may_err = False  # whether what `np.geterr()` says decides what the program does
        self.said_of_stand_ins: BaseException | None = None  # what Python or NumPy has raised of them: it says it of the values
        self.caught: set[int] = set()  # the numbers of errors that handlers have caught
        self.behind_changes: set[int] = set()  # of errors of which it is not known what was done before, those behind something
        self.open_tries = 0  # try statements with handlers whose bodies are being recorded
        self.regions: list[Any] = []  # for capture/failures.py: there are some where a handler may catch errors
        self.host_functions: list[Any] = []  # what the program calls, to be kept while it may run
        self.generators: dict[tuple, Any] = {}  # those of random numbers from outside, by the keys of their paths
        self.unproven: BaseException | None = None  # the UnprovenInterval that was raised
        self.argument_names: dict[hlo.Instruction, str] = {}  # of its parameters
        self.intervals: dict[hlo.Instruction, tuple[int, int]] = {}  # see recording/intervals.py
        self.checked_integers: set[hlo.Instruction] = set()
        self.record_classes: dict[tuple[str, str], type] = {}  # those of this recording, which may have made them itself
        self.found_sources: dict[hlo.Instruction, frozenset[hlo.Instruction] | None] = {}  # for `sources`
        self.guessed_bounds: dict[str, Any] = {}  # of sizes, by the user's line; see `OtherKind`, too
        self.places_of_sizes: dict[hlo.Instruction, str] = {}  # for which a bound has been guessed, s32[] and s64[]
        self.asked_kinds: dict[str, int] = {}  # how often a kind of numbers has been guessed, by place
        self.python_integers: set[hlo.Instruction] = set()  # parameters
        self.python_numbers: set[hlo.Instruction] = set()  # parameters that may become static
        self.recorded_calls: dict[tuple, Any] = {}  # what calls have recorded (functions/recorded_calls.py)
        self.calls_of_users: Any = None  # for capture/calls/repeated_calls.py
        self.cached_calls: dict[tuple, tuple] = {}  # for capture/calls/cached_functions.py
        self.concretizations: list[ConcretizationError] = []  # NumPy replaces some of them by errors of its own
        self.known_values: dict[hlo.Instruction, Any] = {}  # for recording/known_values.py
        self.changes_of_sets: dict[int, tuple[set, set[str]]] = {}  # by which methods known elements were put there or taken
        self.made_objects: dict[int, tuple[Any, Trace]] = {}  # objects that the function makes, by id, and where
        self.followed_objects: dict[int, Any] = {}  # those of libraries' classes that it makes of traced values
        self.placed: dict[int, tuple[Any, int]] = {}  # by id: what stands for arrays that share memory, with their numbers
        self.surroundings: Any = None  # what is read from outside (tracer.outside)
        self.long_loops: dict[tuple, int] = {}  # for capture/loops/unrolling.py
        self.trials: list[tuple] = []  # for capture/loops/trials.py
        self.unrolled_loops: dict[tuple[str, int], str] = {}  # by the user's line, how and why
        self.most_recorded = math.inf  # behind so many instructions no round is unrolled any more
        # By the user's line, how often a while loop has been run in Python to its end.
        self.known_whiles: defaultdict[tuple[str, int], float] = defaultdict(int)
        self.has_open_lists = False  # whether any list has ever had an item that stands for its elements (capture/lists/)
        self.tables: list[Any] = []  # those in which lists lie (capture/lists/)
        self.characters: Any = None  # for capture/texts/characters.py
        self.given_texts: list[hlo.Instruction] = []  # the characters of texts among the arguments that are inputs
        self.used_texts: dict[Any, Any] = {}  # for capture/texts/shared.py
        self.used_again: set[Any] = set()  # the places of those of these that are used once more
        self.written_elements: dict[Any, Any] = {}  # for capture/lists/text_ranks.py
        self.ranks_of_texts: dict[Any, Any] = {}
        self.settled_lists: dict[tuple[int, ...], Any] = {}  # by the ids of their elements (capture/lists/known_lists.py)
        self.growing_tables: dict[int, Any] = {}  # by the ids of the containers of their lists (capture/lists/growing.py)
        self.puts_lists_into_dicts = False
        self.list_makers: dict[int, Any] = {}  # the instructions of users that have made lists, by the ids of these
        self.makers_of_copies: set[Any] = set()  # those of lists of which there are copies
        self.set_makers: dict[int, Any] = {}  # the same of sets
        self.makers_of_copied_sets: set[Any] = set()
        # By id, sets and dicts that show what others hold, with how many elements that are.
        self.sets_shown: dict[int, tuple[Any, Any]] = {}
        self.container_makers: dict[int, Any] = {}  # for capture/lists/listed.py
        self.makers_of_copied_containers: set[Any] = set()
        self.set_maker: Any = None  # for capture/keys/set_makers.py
        self.list_maker: Any = None
        self.dict_makers: dict[int, Any] = {}  # the same of dicts, where these are noted
        self.makers_of_copied_dicts: set[Any] = set()
        self.makers_of_keys: dict[tuple, set[Any]] = {}  # by the keys of dicts, where these are noted
        self.copied: dict[int, Any] = {}  # containers by id, with lists that are copies of one of several
        self.origins: dict[int, Any] = {}  # by id, containers that stand for one of several, with those (capture/origins.py)
        self.stand_for: dict[int, Any] = {}  # the same the other way round
        self.noted_origins: list[tuple[int, Any]] = []  # in their order
        self.left_iterators: dict[int, Any] = {}  # by id, those of which the program decides where a loop has left them
        self.attribute_dicts: dict[int, Any] = {}  # by id, dicts that are those of objects, with these
        self.merged: dict[int, Any] = {}  # containers of branches by id, with the test and those of both sides
        self.element_arrays: dict[int, Any] = {}  # by id, arrays that are changed in containers (capture/element_arrays.py)
        self.rows_made_of: set[Any] = set()  # the storages of arrays that have become elements of open lists
        self.moves_rows = False  # whether elements only move to other rows
        self.in_several_rows: set[Any] = set()  # those of these that may be in several rows
        self.tables_of_arrays: set[Any] = set()  # what stands for all arrays that are elements of a table
        self.arrays_put: dict[int, int] = {}  # by id, how many arrays the function has put into these
        self.copies: dict[int, Any] = {}  # containers that stand for others, by id (capture/lists/runs.py)
        self.put_objects: dict[int, Any] = {}  # objects among these that lists hold copies of: which ones they are is known
        self.read_tuples: dict[int, tuple] = {}  # those that stand for elements of lists, by their ids
        self.returned: list[Any] = []  # those of which a function that has not ended will return copies

    def paths_of(self, parameters: Iterable[hlo.Instruction]) -> frozenset[tuple]:
        """The keys of the paths at which these parameters are found; not of those that are arguments."""
        wanted = set(parameters)
        return frozenset(
            [one.path.known_by for one in self.captures.values() if one.parameter in wanted and one.path is not None]
        )

    def replaced_concretization(self, error: Exception) -> ConcretizationError | None:
        """The ConcretizationError that NumPy replaced by this error, as for ``np.zeros(traced)``; None if there is none.

        It is the last one, if it was raised for the line at which the error was, and did not pass through the user's code.
        """
        if not self.concretizations or not isinstance(error, (TypeError, ValueError)):
            return None
        found = self.concretizations[-1]
        first, last = found.__traceback__, raising_line(error)
        # Before CPython 3.12 an exception that C code drops has no traceback yet.
        passed_user_code = first is not None and not belongs_to_a_library(first.tb_frame.f_code.co_filename)
        if last is None or passed_user_code or found.location is None:
            return None
        at_one_line = (last.tb_frame.f_code.co_filename, last.tb_lineno) == (found.location.file, found.location.line)
        return found if at_one_line else None


class Capture:
    """A concrete array or number that the traced function met, and the hidden parameter that stands for it.

    ``convert`` makes what the program takes of what is found at a call, None where that is the same. The snapshot serves to
    see whether an array is changed while the function is traced. ``path`` (of `tracer.outside`) says where it is found then.
    Once the function is recorded the array is known no more, but for its ``strides`` and its ``device``.
    """

    __slots__ = ("array", "storage", "parameter", "convert", "snapshot", "path", "strides", "device")

    def __init__(self, array: Any, storage: Storage, convert: Callable[[Any], Any] | None = None, path: Any = None) -> None:
        self.array, self.storage, self.parameter, self.convert = array, storage, storage.instruction, convert
        if isinstance(array, ArrayOnDevice):
            self.snapshot = array.state
        else:
            self.snapshot = _sample(array) if isinstance(array, np.ndarray) else np.asarray(array)
        self.path = path

    def is_unchanged(self) -> bool:
        """Whether the array still holds what it held when it was captured (large arrays: in a sample of their elements)."""
        if isinstance(self.array, ArrayOnDevice):
            return self.snapshot == self.array.state
        return not isinstance(self.array, np.ndarray) or self.snapshot.tobytes() == _sample(self.array).tobytes()

    def let_go(self) -> None:
        """Keep neither the array, whose owner may drop it, nor the trace."""
        self.strides = self.array.strides if isinstance(self.array, np.ndarray) else ()
        self.device = self.array.device if isinstance(self.array, ArrayOnDevice) else None
        self.array = self.storage = None

    @property
    def snapshot_is_whole(self) -> bool:
        return not isinstance(self.array, ArrayOnDevice) and self.snapshot.shape == self.array.shape


def _sample(array: np.ndarray, size: int = 4096) -> np.ndarray:
    if array.size <= size:
        return array.copy()
    return array[np.unravel_index(np.linspace(0, array.size - 1, size).astype(np.intp), array.shape)]
