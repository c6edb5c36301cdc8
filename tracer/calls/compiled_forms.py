"""The code that a jitted function has: found by the form of a call, or made for it, and forgotten."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from ...backends.registry import Backend, get_backend
from ...hlo.determinism import set_determinism
from ...hlo.fast_math import allow_fast_math
from ...hlo.interrupts import not_of_a_signal
from ...hlo.source_lines import belongs_to_a_library, raising_line
from ...runtime.determinism import determinism
from ...runtime.garbage import rare_collections
from ...runtime.locks import compilation_lock
from ...runtime.progress import Progress
from ..capture.calls.dispatch import reason_not_captured
from ..capture.lists.references import forget_other_way
from ..capture.outside.arguments import require_distinct
from ..outside.paths import NO_OBJECTS, Objects
from ..outside.policy import OpenedInVain, Policy
from ..recording.device_arrays import ArrayOnDevice, one_device
from ..recording.errors import (
    ChangedMeanwhile,
    ConcretizationError,
    IntegerOverflow,
    OtherKind,
    RaisedBehindChanges,
    SizeBeyondBound,
    StaleCapture,
    TracerError,
)
from ..recording.guessed_bounds import copied_guesses, outgrown
from ..recording.intervals import UnprovenInterval
from .arguments import Call, structure_words
from .cache import CacheEntry, explain_miss, static_numbers
from .concretization import make_known, texts_behind
from .native_call import has_arrays_on_device, install
from .own_code import read_function
from .prepared_calls import PreparedCalls
from .recompilation import Recompilations
from .recorded_function import CallForm, Recording, selected
from .shared_memory import Place
from .specialization import KnownForm, Sharing, Specialization
from .traced_function import Aliases, record
from .within_budget import compiled_within

# Forms of what is outside that are kept for one form of call.
_MOST_KEPT = 8


class CompiledForms:
    """A function with the options of `jit`, and its code by form of call: structure, shapes, dtypes, order, static values.

    Methods are given the jitted function that is called, which is not held here: it is gone with its last name.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function, self._options = function, options
        self.own_code, self.reader, self.to_trace = read_function(function, options)
        self.backend: Backend | None = None  # in the place of the one that is named
        # One function of NumPy's, which is given whatever arrays there are on devices.
        self.is_for_any_form = getattr(function, "is_for_any_form", False)
        self.prepared = PreparedCalls()
        self.entries: dict[Specialization, CacheEntry] = {}
        self.hits = self.misses = 0
        self._known: dict[Any, KnownForm] = {}
        self._specializations: dict[Any, list[Specialization]] = {}
        self._policy = Policy()
        self._guessed_bounds: dict[str, int] = {}  # by the user's line: of sizes that are known at run
        # time only; and whether numbers that may be complex are real
        self._outgrown = ""  # why the code for the next call is made, where it is not for what it is given
        self._compilations = Recompilations()

    def clear(self) -> None:
        """Forget all compiled code and all counts."""
        for table in (self._known, self._specializations, self.entries):
            table.clear()
        self.prepared.clear()
        self.reader.intervals.clear()
        self.reader.taken_apart.clear()
        self.reader.texts.clear()
        self.reader.opened.clear()
        self._policy.clear()
        self.hits = self.misses = 0
        self._compilations = Recompilations()

    def read_again(self) -> None:
        """The function has other code, or other defaults, and nothing is left of what was made of the earlier ones."""
        self.own_code, self.reader, self.to_trace = read_function(self._function, self._options)
        self._outgrown = "the function has other code, or other defaults"

    def has_code_for(self, key: Any) -> bool:
        """Whether there is code for a form of call; also where the key has an unhashable part, which the form then names."""
        try:
            return key in self._known
        except TypeError:
            return True

    def run(self, jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any], turned: frozenset[str] = frozenset()) -> Any:
        """Find the code for this call, or make it, and run it. Raises RaisedBehindChanges where Python has to make the call.

        turned: the places at which this call has found numbers of another kind than was guessed.
        """
        key, leaves, containers = self.reader.read(args, kwargs)
        try:
            known = self._known.get(key)
        except TypeError:  # an unhashable part, which the form names
            known = None
        objects = NO_OBJECTS
        specialization = None
        if known is not None:
            if known.objects:
                objects = {path: leaves[number] for path, number in known.objects.items()}
            specialization = known.fitting(objects)
        opened = self.reader.opened
        if opened and opened.closes_shared(self.reader.given(args, kwargs)):
            return self.run(jitted, args, kwargs, turned)
        if specialization is None:
            call = Call(self.reader, args, kwargs, leaves, containers)
            if reason := self._opened(call):
                self._outgrown = reason
                return self.run(jitted, args, kwargs, turned)
            objects = call.object_values()
            try:
                with Progress(jitted.__name__, "tracing"), rare_collections():
                    known, specialization = self._prepare(jitted, call, objects)
            except OpenedInVain:
                self.close_known()
                return self.run(jitted, args, kwargs, turned)
            except not_of_a_signal(Exception) as error:
                if not self._closes_opened(error, args, kwargs):
                    raise
                return self.run(jitted, args, kwargs, turned)
            self.close_known()
        else:
            self.hits += 1
            if specialization.is_met_again():
                self._install(jitted, specialization, Call(self.reader, args, kwargs, leaves, containers))
        if specialization.recording.containers:
            objects = {**objects, **self.reader.named(specialization.recording.containers, args, kwargs)}
            if specialization.changes_containers:
                require_distinct((*args, *kwargs.values()))
        values = leaves if known.selection is None else selected(leaves, known.selection)
        if self.is_for_any_form and specialization.may_meet_aliases:
            values = specialization.read_before(values)
        try:
            same = specialization.same_arrays(values, objects) if specialization.may_meet_aliases else None
            if same is None:
                found = specialization(values, objects)
                if ArrayOnDevice.exist and specialization.can_be_prepared:
                    self.prepared.prepare(self, args, kwargs, known)
                return found
            variant = specialization.variants.get(same)
            if variant is None or not variant.fits(objects):
                call = Call(self.reader, args, kwargs, leaves, containers)
                with Progress(jitted.__name__, "tracing"), rare_collections():
                    variant = self._variant(jitted, specialization, same, call, objects)
            return specialization.call_variant(variant, same, values, objects)
        except ChangedMeanwhile:
            return self.run(jitted, args, kwargs, turned)
        except OpenedInVain:
            self.close_known()
            return self.run(jitted, args, kwargs, turned)
        except StaleCapture as stale:
            if isinstance(stale, SizeBeyondBound):
                bound = self._guessed_bounds[stale.place]
                self._guessed_bounds[stale.place] = outgrown(bound, stale.size)
                self._outgrown = f"{stale.place}: a size is larger than {bound}"
            elif isinstance(stale, OtherKind):
                if stale.place in turned:
                    raise NotImplementedError(f"{stale.place}: numbers are real and complex in one call") from None
                turned |= {stale.place}
                self._guessed_bounds[stale.place] = stale.holds
                self._outgrown = str(stale)
            elif isinstance(stale, IntegerOverflow):
                call = Call(self.reader, args, kwargs, leaves, containers)
                if specialization.has_effects or not call.narrow_all():
                    raise
                return self.run(jitted, args, kwargs)
            self._forget(specialization)
            beginning = stale.beginning
        with beginning.repeating() if beginning is not None else nullcontext():
            return self.run(jitted, args, kwargs, turned)

    def prepare_for(self, jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Make the code for such a call."""
        _, leaves, containers = self.reader.read(args, kwargs)
        call = Call(self.reader, args, kwargs, leaves, containers)
        if self._opened(call):
            self.prepare_for(jitted, args, kwargs)
        else:
            try:
                with rare_collections():
                    self._prepare(jitted, call, call.object_values())
            except OpenedInVain:
                self.close_known()
                return self.prepare_for(jitted, args, kwargs)
            self.close_known()

    def _opened(self, call: Call) -> str:
        """Which of the arguments are inputs from now on, and why; nothing where none comes to be one.

        Where the function is not written anew Python asks texts itself, and has to know them.
        """
        takes_texts = self._options["control_flow"] == "source" and reason_not_captured(self._function) is None
        if reason := self.reader.opened.opens(call, self._policy, takes_texts):
            return reason
        return self.reader.texts.note(call) if takes_texts else ""

    def close_known(self) -> None:
        """Read the arguments as all others that have been opened in vain."""
        if self.reader.opened.close_known(self._policy):
            self.reader.texts.begin_again()

    def _closes_opened(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Closes the opened arguments of a call that could not be recorded, where it may be for them; whether there are any."""
        raised = raising_line(error)
        is_the_users = raised is not None and not belongs_to_a_library(raised.tb_frame.f_code.co_filename)
        if isinstance(error, RaisedBehindChanges) or is_the_users and not isinstance(error, (TracerError, NotImplementedError)):
            return False
        is_closed = self.reader.opened.close_given(self.reader.given(args, kwargs))
        if is_closed:
            self.reader.texts.begin_again()
        return is_closed

    def _prepare(self, jitted: Any, call: Call, objects: dict[str, Any]) -> tuple[KnownForm, Specialization]:
        """Trace and compile for this form of call, unless only its spelling is new.

        No lock is held while the function is traced: it may wait for other threads, which may call it. Several threads may so
        trace the same; the first of them compiles.
        """
        form, recording = self.form_and_recording(jitted.__name__, call, objects)
        with compilation_lock:
            if (form.numbers, form.taken_apart, form.texts) != (call.numbers(), call.taken_apart(), call.open_texts()):
                # Another thread has found that they must be traced for fewer values.
                return self._prepare(jitted, call, objects)
            canonical_key, order = call.canonical_key(), call.leaf_order()
            selection = form.selection(order)
            specializations = self._specializations.setdefault(canonical_key, [])
            known = KnownForm(specializations, selection, call.objects())
            specialization = known.fitting(objects)
            if specialization is not None:
                self.hits += 1
            elif recording is None:  # forgotten meanwhile
                return self._prepare(jitted, call, objects)
            else:
                specialization = self._specialize(jitted, form, recording, call, specializations, objects)
                self.prepared.clear()  # integers may be traced for other values than before
                specializations.insert(0, specialization)
                for forgotten in specializations[_MOST_KEPT:]:
                    self.entries.pop(forgotten, None)
                del specializations[_MOST_KEPT:]
            self._known[call.key()] = known
            return known, specialization

    def _specialize(
        self,
        jitted: Any,
        form: CallForm,
        recording: Recording,
        call: Call,
        others: Sequence[Specialization],
        objects: Objects,
    ) -> Specialization:
        """Compile a recording, and let calls like this one bypass Python where they can."""
        structure = structure_words(form.structures)
        outside = min([other.differences(objects) for other in others], key=len, default=[])
        outgrown, self._outgrown = self._outgrown, ""
        reason = outgrown or "; ".join(outside) or explain_miss(form.leaves, structure, list(self.entries.values()))
        started = time.perf_counter()
        specialization = self._compiled(jitted.__name__, recording, call)
        seconds = time.perf_counter() - started
        native = install(specialization, jitted, form, call)
        numbers = static_numbers(form.leaves, form.numbers)
        self.entries[specialization] = CacheEntry(tuple(form.leaves), structure, reason, numbers, native, seconds)
        self.misses += 1
        if not self.is_for_any_form:
            self._compilations.note(jitted.__name__, reason, recording.trace_seconds + seconds)
        return specialization

    def _install(self, jitted: Any, specialization: Specialization, call: Call) -> None:
        """Let calls like this one bypass Python: it is spelled otherwise, or something outside has moved."""
        entry = self.entries.get(specialization)
        if entry is not None and install(specialization, jitted, call.form(), call):
            self.entries[specialization] = replace(entry, native=True)

    def _compiled(self, name: str, recording: Recording, call: Call) -> Specialization:
        backend, on_device = self._backend_for(recording), has_arrays_on_device(recording, call)
        executable = compiled_within(self._options["budget"], backend, name, recording, on_device)
        return Specialization(recording, executable, backend, follows_captures=self.names_no_backend)

    def _backend_for(self, recording: Recording) -> Backend:
        """That of the function; where it names none, that of the device of the arrays that it finds outside."""
        return self.backend or self.backend_outside(recording) or get_backend(self._options["backend"])

    def backend_outside(self, recording: Recording) -> Backend | None:
        """That of the device of the arrays that the function finds outside; None where these are the process's."""
        if not self.names_no_backend or not ArrayOnDevice.exist:
            return None
        captures = recording.captures
        device = one_device([one.device for one in captures], lambda: [one.path.text for one in captures])
        return None if device is None else device.backend

    @property
    def names_no_backend(self) -> bool:
        return self._options["backend"] is None and self.backend is None

    def form_and_recording(
        self, name: str, call: Call, objects: dict[str, Any], descriptions: bool = False, known_too: bool = False
    ) -> tuple[CallForm, Recording | None]:
        """Trace the function, for fewer values of integers where it needs that. No recording where there is code already."""
        texts = self.reader.texts
        open_at_first = texts.state()
        while True:
            form = call.form(descriptions)
            others = () if known_too else self._specializations.get(call.canonical_key(), ())
            if any(specialization.fits(objects) for specialization in list(others)):
                return form, None
            if others:
                self._policy.learn(others[0].recording.guards, objects)
            guessed = copied_guesses(self._guessed_bounds)
            try:
                recording = self._recorded(name, form, objects)
                if not texts.make_too_long(call, recording.module):
                    return form, recording
                are_closed = texts.close(call)
            except not_of_a_signal(UnprovenInterval, Exception) as error:
                is_of_values = isinstance(error, (ConcretizationError, UnprovenInterval))
                are_closed = False
                if not (is_of_values and make_known(self.reader, self._policy, call, form, error)):
                    are_closed = texts.close(call, texts_behind(form, error))
                    if not are_closed:
                        forget_other_way(self._guessed_bounds)
                        texts.put_back(open_at_first)
                        if is_of_values and isinstance(missing := error.__cause__, NotImplementedError):
                            raise missing.with_traceback(error.__traceback__) from None  # known values would do without it
                        raise
            if are_closed:
                self._guessed_bounds, self._outgrown = guessed, ""
            objects.update(call.object_values())  # arrays whose contents are known are among them from now on

    def _recorded(self, name: str, form: CallForm, objects: Objects, *sharing: Any) -> Recording:
        recording = record(self.to_trace(), name, form, self._policy, objects, self._guessed_bounds, *sharing)
        if self._options["fastmath"]:
            allow_fast_math(recording.module)
        asked = self._options["deterministic"]
        if asked is not None or determinism:
            set_determinism(recording.module, asked is not False)
        return recording

    def _variant(
        self, jitted: Any, specialization: Specialization, same: Sharing, call: Call, objects: Objects
    ) -> Specialization:
        """The code that treats the arguments, and the arrays from outside, that share their memory as what they are."""
        form, count = call.form(), len(specialization.leaves)
        captured = specialization.captured_arrays(objects)
        aliases: Aliases = {}
        for number, (array, (path, *_)) in enumerate(zip(captured, specialization.captured_forms), count):
            first = same[number]
            if isinstance(first, Place) or first < count:
                aliases[id(array)] = first, path.key if isinstance(first, Place) else None, number
        recording = self._recorded(jitted.__name__, form, objects, same[:count], aliases)
        with compilation_lock:
            is_new = same not in specialization.variants
            variant = specialization.variants[same] = self._compiled(jitted.__name__, recording, call)
            self.misses += 1
            if is_new and not any(isinstance(place, Place) for place in same):
                install(variant, jitted, form, call, specialization.named(same))
        return variant

    def _forget(self, specialization: Specialization) -> None:
        self.entries.pop(specialization, None)
        for specializations in self._specializations.values():
            if specialization in specializations:
                specializations.remove(specialization)
