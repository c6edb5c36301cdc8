"""What `jit` makes: a function that is compiled for each form of call that it meets."""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

import numpy as np

from ...backends.registry import (
    Backend,
    backend_in_force,
    get_backend,
    make_callable_type,
    no_backend_in_force,
    remove_native_entries,
)
from ...hlo.determinism import set_determinism
from ...hlo.fast_math import allow_fast_math
from ...hlo.tracebacks import keep_frames_of_users
from ...runtime.determinism import determinism
from ...runtime.garbage import rare_collections
from ...runtime.locks import compilation_lock
from ...runtime.progress import Progress
from ..capture.calls.dispatch import reason_not_captured
from ..capture.outside.arguments import require_distinct
from ..outside.paths import NO_OBJECTS, Objects
from ..outside.policy import Policy
from ..recording import pytree
from ..recording.callables import describe_as, named
from ..recording.current_trace import current_trace
from ..recording.device_arrays import ArrayOnDevice, common_device
from ..recording.errors import (
    ChangedMeanwhile,
    ConcretizationError,
    IntegerOverflow,
    OtherKind,
    RaisedBehindChanges,
    SizeBeyondBound,
    StaleCapture,
)
from ..recording.guessed_bounds import outgrown
from ..recording.intervals import UnprovenInterval
from ..source.sending import Sources, is_found_by_name, remember_sources, sources_of, values_sent_by_cloudpickle
from .again import made_again
from .arguments import Call, structure_words
from .cache import CacheEntry, CacheInfo, explain_miss, static_numbers
from .concretization import make_known
from .diversion import current_way, note_function
from .explanation import Explanation, explanation
from .leaves import PYTHON_SCALARS, STATIC_CALLABLES
from .native_call import install
from .nested_call import call_in_trace
from .own_code import HasCode, read_function
from .prepared_calls import NOT_PREPARED, PreparedCalls
from .profile import Profile, profile
from .recompilation import Recompilations
from .shared_memory import Place
from .specialization import KnownForm, Sharing, Specialization
from .stages import Compiled, Lowered, Traced
from .tiered import BackgroundCompilations
from .traced_function import CallForm, Recording, record, selected
from .within_budget import compiled_within

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")


# Forms of what is outside that are kept for one form of call.
_MOST_KEPT = 8
# What others ask a function for. Annotations may be made when they are asked for, so that they are not taken over before.
_OF_THE_FUNCTION = frozenset({"__annotations__", "__defaults__", "__kwdefaults__", "__type_params__"})


class JittedFunctionBase(HasCode):
    """A compiled function; made by `jit`.

    Calls run compiled code, which is made when a form of call (structure, shapes, dtypes, memory order, static values) is met
    for the first time. Within another traced function a call is recorded as an HLO ``call``.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnums: int | Iterable[int] = (),
        static_argnames: str | Iterable[str] = (),
        backend: str | None = None,
        control_flow: str = "source",
        tiered: bool = False,
        fastmath: bool = False,
        budget: float | None = None,
        deterministic: bool | None = None,
    ) -> None:
        describe_as(self, function)
        self.backend = backend
        self._function = function
        if not isinstance(static_argnums, int):
            static_argnums = tuple(static_argnums)
        if not isinstance(static_argnames, str):
            static_argnames = tuple(static_argnames)
        static = {"static_argnums": static_argnums, "static_argnames": static_argnames}
        effort = {"tiered": tiered, "fastmath": fastmath, "budget": budget}
        self.options = {**static, "backend": backend, "control_flow": control_flow, **effort, "deterministic": deterministic}
        self._budget = budget
        # One function of NumPy's, which is given whatever arrays there are on devices.
        self.is_for_any_form = getattr(function, "is_for_any_form", False)
        self._background = BackgroundCompilations() if tiered else None
        self.own_code, self._reader, self._to_trace = read_function(function, self.options)
        self._known: dict[Any, KnownForm] = {}
        self._specializations: dict[Any, list[Specialization]] = {}
        self._policy = Policy()
        self._entries: dict[Specialization, CacheEntry] = {}
        self._guessed_bounds: dict[str, int] = {}  # by the user's line: of sizes that are known at run
        # time only; and whether numbers that may be complex are real
        self._outgrown = ""  # why the code for the next call is made, where it is not for what it is given
        self._hits = self._misses = 0
        self._compilations = Recompilations()
        self._backend: Backend | None = None  # in the place of the one that is named
        self._siblings: dict[tuple[Backend, bool], JittedFunctionBase] = {}
        self._on_devices: dict[tuple[Backend, bool], JittedFunctionBase] = {}  # those that make calls on devices
        self._prepared = PreparedCalls()  # which they share
        note_function(self)

    def _follow_function(self) -> None:
        """Forget what was made of other code, or for other defaults."""
        if self.own_code.has_changed():
            self.own_code, self._reader, self._to_trace = read_function(self._function, self.options)
            self.cache_clear()
            self._outgrown = "the function has other code, or other defaults"

    # --- calling ---

    def call_in_python(self, *args: Any, **kwargs: Any) -> Any:
        prepared = self._prepared
        if (
            prepared.by_key
            and current_trace() is None
            and current_way() is None
            and not self.own_code.has_changed()
            and (found := prepared.find(args, kwargs)) is not None
        ):
            call, leaves = found
            try:
                results = call.run(leaves)
            except BaseException as error:
                keep_frames_of_users(error)
                raise
            if results is not NOT_PREPARED:
                call.owner._hits += 1
                return results
        beginning = made_again()
        self._follow_function()
        if current_trace() is not None:
            self.own_code.guard()
            return call_in_trace(self._to_trace(), self.__name__, args, kwargs)
        function = self._of_device(args, kwargs)
        if function is not self:
            return function(*args, **kwargs)
        may_wait = self._background is None or beginning is not None
        way = current_way() or (JittedFunctionBase.run_compiled if may_wait else JittedFunctionBase._run_at_once)
        try:
            try:
                with beginning.repeating() if beginning is not None else nullcontext():
                    return way(self, args, kwargs)
            except RaisedBehindChanges as raised:
                behind_changes = raised
            return self._called_by_python(behind_changes, args, kwargs)
        except BaseException as error:
            keep_frames_of_users(error)
            raise

    def _called_by_python(self, behind_changes: RaisedBehindChanges, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Python changes what is changed before the error, and raises it."""
        if self.is_for_any_form:  # Python would call the very same
            raise behind_changes.make_error()
        beginning = behind_changes.beginning
        if beginning is None:
            found = self._function(*args, **kwargs)
        else:
            with beginning.repeating():
                found = self._to_trace()(*args, **kwargs)
        if behind_changes.is_sure:
            raise behind_changes.make_error()
        return found

    def _run_at_once(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run compiled code where there is some for such a call, and else the function itself, while code is made."""
        key, *_ = self._reader.read(args, kwargs)
        try:
            is_known = key in self._known
        except TypeError:  # an unhashable part, which the form names
            is_known = True
        if is_known or not self._background.is_going_on(key, lambda: self._prepare_for(args, kwargs)):
            return self.run_compiled(args, kwargs)
        return self._function(*args, **kwargs)

    def _prepare_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Make the code for such a call."""
        _, leaves, containers = self._reader.read(args, kwargs)
        call = Call(self._reader, args, kwargs, leaves, containers)
        if self._reader.opened.opens(call, self._policy) is not None:
            self._prepare_for(args, kwargs)
        else:
            with rare_collections():
                self._prepare(call, call.object_values())
            self._reader.opened.close_known(self._policy)

    def run_compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any], turned: frozenset[str] = frozenset()) -> Any:
        """Find the code for this call, or make it, and run it. Raises RaisedBehindChanges where Python has to make the call.

        turned: the places at which this call has found numbers of another kind than was guessed.
        """
        key, leaves, containers = self._reader.read(args, kwargs)
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
        opened = self._reader.opened
        if opened and opened.closes_shared(self._reader.given(args, kwargs)):
            return self.run_compiled(args, kwargs, turned)
        if specialization is None:
            call = Call(self._reader, args, kwargs, leaves, containers)
            if (reason := opened.opens(call, self._policy)) is not None:
                self._outgrown = reason
                return self.run_compiled(args, kwargs, turned)
            objects = call.object_values()
            with Progress(self.__name__, "tracing"), rare_collections():
                known, specialization = self._prepare(call, objects)
            opened.close_known(self._policy)
        else:
            self._hits += 1
            if specialization.is_met_again():
                self._install(specialization, Call(self._reader, args, kwargs, leaves, containers))
        if specialization.recording.containers:
            objects = {**objects, **self._reader.named(specialization.recording.containers, args, kwargs)}
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
                    self._prepared.prepare(self, args, kwargs, known)
                return found
            variant = specialization.variants.get(same)
            if variant is None or not variant.fits(objects):
                call = Call(self._reader, args, kwargs, leaves, containers)
                with Progress(self.__name__, "tracing"), rare_collections():
                    variant = self._variant(specialization, same, call, objects)
            return specialization.call_variant(variant, same, values, objects)
        except ChangedMeanwhile:
            return self.run_compiled(args, kwargs, turned)
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
                call = Call(self._reader, args, kwargs, leaves, containers)
                if specialization.has_effects or not call.narrow_all():
                    raise
                return self.run_compiled(args, kwargs)
            self._forget(specialization)
            beginning = stale.beginning
        with beginning.repeating() if beginning is not None else nullcontext():
            return self.run_compiled(args, kwargs, turned)

    def _prepare(self, call: Call, objects: dict[str, Any]) -> tuple[KnownForm, Specialization]:
        """Trace and compile for this form of call, unless only its spelling is new.

        No lock is held while the function is traced: it may wait for other threads, which may call it. Several threads may so
        trace the same; the first of them compiles.
        """
        form, recording = self._form_and_recording(call, objects)
        with compilation_lock:
            if (form.numbers, form.taken_apart) != (call.numbers(), call.taken_apart()):
                return self._prepare(call, objects)  # another thread has found that they must be traced for fewer values
            canonical_key, order = call.canonical_key(), call.leaf_order()
            selection = form.selection(order)
            specializations = self._specializations.setdefault(canonical_key, [])
            known = KnownForm(specializations, selection, call.objects())
            specialization = known.fitting(objects)
            if specialization is not None:
                self._hits += 1
            elif recording is None:  # forgotten meanwhile
                return self._prepare(call, objects)
            else:
                specialization = self._specialize(form, recording, call, specializations, objects)
                self._prepared.clear()  # integers may be traced for other values than before
                specializations.insert(0, specialization)
                for forgotten in specializations[_MOST_KEPT:]:
                    self._entries.pop(forgotten, None)
                del specializations[_MOST_KEPT:]
            self._known[call.key()] = known
            return known, specialization

    def _specialize(
        self,
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
        reason = outgrown or "; ".join(outside) or explain_miss(form.leaves, structure, list(self._entries.values()))
        started = time.perf_counter()
        specialization = self._compiled(recording)
        seconds = time.perf_counter() - started
        native = install(specialization, self, form, call)
        numbers = static_numbers(form.leaves, form.numbers)
        self._entries[specialization] = CacheEntry(tuple(form.leaves), structure, reason, numbers, native, seconds)
        self._misses += 1
        if not self.is_for_any_form:
            self._compilations.note(self.__name__, reason, recording.trace_seconds + seconds)
        return specialization

    def _install(self, specialization: Specialization, call: Call) -> None:
        """Let calls like this one bypass Python: it is spelled otherwise, or something outside has moved."""
        entry = self._entries.get(specialization)
        if entry is not None and install(specialization, self, call.form(), call):
            self._entries[specialization] = replace(entry, native=True)

    def _compiled(self, recording: Recording) -> Specialization:
        backend = self._backend_for(recording)
        executable = compiled_within(self._budget, backend, self.__name__, recording)
        return Specialization(recording, executable, backend, follows_captures=self._names_no_backend)

    def _backend_for(self, recording: Recording) -> Backend:
        """That of the function; where it names none, that of the device of the arrays that it finds outside."""
        return self._backend or self._backend_outside(recording) or get_backend(self.backend)

    def _backend_outside(self, recording: Recording) -> Backend | None:
        """That of the device of the arrays that the function finds outside; None where these are the process's."""
        if not self._names_no_backend or not ArrayOnDevice.exist:
            return None
        captures = recording.captures
        device = common_device([one.array for one in captures], lambda: [one.path.text for one in captures])
        return None if device is None else device.backend

    @property
    def _names_no_backend(self) -> bool:
        return self.backend is None and self._backend is None

    @property
    def facts(self) -> list[tuple[Any, ...]]:
        """As `identities.facts_of` has them, what holds where code of this function may be called natively."""
        return [*self.own_code.facts, *(no_backend_in_force() if self._names_no_backend else ())]

    def _of_device(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> JittedFunctionBase:
        """The function that makes this call: where it names no backend, the one of the device of its arrays, or in force.

        Likewise where it does not say whether results are to be the same from run to run.
        """
        if self._names_no_backend:
            leaves: list[Any] = []
            for value in (*args, *kwargs.values()) if ArrayOnDevice.exist else ():
                if not _is_of_host(value):
                    pytree.flatten_into(value, leaves)
            device = common_device(leaves, lambda: self._leaf_names(args, kwargs)) if leaves else None
            if device is not None:
                return self._on_device(device.backend)
            if backend_in_force() is not None:
                return self._on_device(get_backend())
        if not self._follows_determinism:
            return self
        backend = self._backend or get_backend(self.backend)
        return self._on_device(backend) if _may_differ(backend) else self

    def _leaf_names(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
        """Those of the leaves that may lie on a device."""
        given = [one for one in self._reader.given(args, kwargs).items() if not _is_of_host(one[1])]
        return [f"argument {path}" for name, value in given for path in pytree.leaf_paths(pytree.flatten(value)[1], name)]

    @property
    def _follows_determinism(self) -> bool:
        """Whether results are to be the same from run to run by the setting of the process: the function does not say."""
        return self.options["deterministic"] is None and bool(determinism)

    def _on_device(self, backend: Backend) -> JittedFunctionBase:
        key = backend, self._follows_determinism and _may_differ(backend)
        found = self._on_devices.get(key)
        if found is None:
            found = self._on_devices[key] = self.compiled_by(*key)
            found._prepared = self._prepared
        return found

    def _form_and_recording(
        self, call: Call, objects: dict[str, Any], descriptions: bool = False, known_too: bool = False
    ) -> tuple[CallForm, Recording | None]:
        """Trace the function, for fewer values of integers where it needs that. No recording where there is code already."""
        while True:
            form = call.form(descriptions)
            others = () if known_too else self._specializations.get(call.canonical_key(), ())
            if any(specialization.fits(objects) for specialization in list(others)):
                return form, None
            if others:
                self._policy.learn(others[0].recording.guards, objects)
            try:
                return form, self._recorded(form, objects)
            except (ConcretizationError, UnprovenInterval) as error:
                if not make_known(self._reader, self._policy, call, form, error):
                    raise
                objects.update(call.object_values())  # arrays whose contents are known are among them from now on

    def _recorded(self, form: CallForm, objects: Objects, *sharing: Any) -> Recording:
        recording = record(self._to_trace(), self.__name__, form, self._policy, objects, self._guessed_bounds, *sharing)
        if self.options["fastmath"]:
            allow_fast_math(recording.module)
        asked = self.options["deterministic"]
        if asked is not None or determinism:
            set_determinism(recording.module, asked is not False)
        return recording

    def _variant(self, specialization: Specialization, same: Sharing, call: Call, objects: Objects) -> Specialization:
        """The code that treats the arguments, and the arrays from outside, that share their memory as what they are."""
        form, count = call.form(), len(specialization.leaves)
        captured = specialization.captured_arrays(objects)
        aliases: dict[int, int | Place] = {}
        for index, (array, first) in enumerate(zip(captured, same[count:]), count):
            if isinstance(first, Place) or first < count:
                aliases[id(array)] = first
            elif first < index:
                raise ValueError(
                    f"{self.__name__} changes an array from outside in place, and uses it as two objects with the same memory; "
                    "use one of them"
                )
        recording = self._recorded(form, objects, same[:count], aliases)
        with compilation_lock:
            is_new = same not in specialization.variants
            variant = specialization.variants[same] = self._compiled(recording)
            self._misses += 1
            if is_new and not any(isinstance(place, Place) for place in same):
                install(variant, self, form, call, specialization.named(same))
        return variant

    def _forget(self, specialization: Specialization) -> None:
        self._entries.pop(specialization, None)
        for specializations in self._specializations.values():
            if specialization in specializations:
                specializations.remove(specialization)

    def compiled_by(self, backend: Backend, deterministic: bool = False) -> JittedFunctionBase:
        """The same function, compiled by a backend that may have no name; the same one each time.

        deterministic: whether results are to be the same from run to run, where the function does not say it.
        """
        key = backend, deterministic
        if key not in self._siblings:
            options = {**self.options, "tiered": False} | ({"deterministic": True} if deterministic else {})
            sibling = self._siblings[key] = type(self)(self._function, **options)
            sibling._backend = backend
        return self._siblings[key]

    def profile(self, *args: Any, **kwargs: Any) -> Profile:
        """Call the function, and say where its time goes, by line of source.

        The code is compiled anew for that, with readings of the clock where it goes from one line to another; what they take is
        taken off. What is fused is one entry with all of its lines. Raises what the call raises; NotImplementedError where the
        backend cannot time lines.
        """
        return profile(self, args, kwargs)

    # --- the cache ---

    def cache_info(self) -> CacheInfo:
        """Hits, misses, and the compiled entries with the reasons for which they were compiled."""
        own = (self, *self._on_devices.values())
        hits, misses = sum([one._hits for one in own]), sum([one._misses for one in own])
        return CacheInfo(self.__name__, hits, misses, tuple(self._all_entries().values()), self._reason_not_captured)

    def _all_entries(self) -> dict[Specialization, CacheEntry]:
        return {key: entry for one in (self, *self._on_devices.values()) for key, entry in one._entries.items()}

    def explain(self) -> Explanation:
        """What has become of the function, for each form of call: text, and in notebooks a card with the program, drawn.

        Which loops are loops of the program and which were unrolled, and why; what becomes of branches; what is read and set
        outside; the exceptions that the program may raise; the arrays that are copied; operations, memory, and time.
        """
        return explanation(self.__name__, self._all_entries(), self._reason_not_captured)

    @property
    def _reason_not_captured(self) -> str | None:
        return reason_not_captured(self._function) if self.options["control_flow"] == "source" else None

    def cache_clear(self) -> None:
        """Forget all compiled code and all counts."""
        remove_native_entries(self)
        for table in (self._known, self._specializations, self._entries):
            table.clear()
        self._prepared.clear()
        if self._background is not None:
            self._background.clear()
        for sibling in self._siblings.values():
            sibling.cache_clear()
        self._reader.intervals.clear()
        self._reader.taken_apart.clear()
        self._policy.clear()
        self._hits = self._misses = 0
        self._compilations = Recompilations()

    # --- stages ---

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace the function for these arguments, which may be arrays or descriptions (`ShapeDtype`), and run nothing."""
        self._follow_function()
        function = self._of_device(args, kwargs)
        if function is not self:
            return function.trace(*args, **kwargs)
        try:
            call = self._reader.call(args, kwargs)
            form, recording = self._form_and_recording(call, call.object_values(), descriptions=True, known_too=True)
        except RaisedBehindChanges as raised:
            error = raised.make_error()
            keep_frames_of_users(error)
            raise error from None
        except BaseException as error:
            keep_frames_of_users(error)
            raise
        backend = self._backend or self._backend_outside(recording) or self.backend
        return Traced(self.__name__, form, recording, self._reader, backend, self._budget)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The module for these arguments, which may be arrays or descriptions (`ShapeDtype`)."""
        return self.trace(*args, **kwargs).lower()

    def compile(self, *args: Any, **kwargs: Any) -> Compiled:
        """Compiled code for these arguments, which may be arrays or descriptions (`ShapeDtype`); the cache is not used."""
        return self.lower(*args, **kwargs).compile()

    # --- being a function ---

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name in _OF_THE_FUNCTION and hasattr(named(self._function), name):
            return getattr(named(self._function), name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"<jitted {self._function!r}>"

    def __reduce__(self) -> Any:
        by_value = values_sent_by_cloudpickle(sys._getframe(1))
        if is_found_by_name(self) and (by_value is None or not by_value(self.__module__)):
            return self.__qualname__  # pickled as functions are: by name
        sources = None if by_value is None else sources_of(self._function)
        return _empty, (), (self._function, self.options, sources)

    def __setstate__(self, state: tuple[Callable[..., Any], dict[str, Any], Sources | None]) -> None:
        function, options, sources = state
        if sources is not None:
            remember_sources(sources, function)
        self.__init__(function, **options)

    def __deepcopy__(self, memo: dict) -> Any:
        return self

    def __copy__(self) -> Any:
        return self


STATIC_CALLABLES.append(JittedFunctionBase)


if TYPE_CHECKING:

    class JittedFunction(JittedFunctionBase, Generic[P, R]):
        """What type checkers see: a callable with the function's own parameters and result, and the methods above."""

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> Self: ...

        @overload
        def __get__(
            self: JittedFunction[Concatenate[Any, Q], R], instance: object, owner: type | None = None
        ) -> Callable[Q, R]: ...

        def __get__(self, instance: Any, owner: type | None = None) -> Any: ...

else:
    JittedFunction = make_callable_type(JittedFunctionBase)


def _may_differ(backend: Backend) -> bool:
    """Whether results of a backend may differ from run to run where nothing else is asked for."""
    return not getattr(backend, "is_deterministic", True)


def _is_of_host(value: Any) -> bool:
    """Whether an argument holds no array on a device; the most frequent ones that do not."""
    return type(value) is np.ndarray or type(value) in PYTHON_SCALARS


def _empty() -> Any:
    """A jitted function that is being unpickled; it exists before its function, which may refer to it."""
    return JittedFunction.__new__(JittedFunction)
