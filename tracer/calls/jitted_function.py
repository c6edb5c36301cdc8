"""What `jit` makes: a function that is compiled for each form of call that it meets."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from contextlib import nullcontext
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
from ...hlo.tracebacks import for_users, keep_frames_of_users
from ...runtime.determinism import determinism
from ..capture.calls.dispatch import reason_not_captured
from ..outside.policy import OpenedInVain
from ..recording import pytree
from ..recording.callables import describe_as, named
from ..recording.current_trace import current_trace
from ..recording.device_arrays import ArrayOnDevice, common_device
from ..recording.errors import RaisedBehindChanges
from ..source.sending import Sources, is_found_by_name, remember_sources, sources_of, values_sent_by_cloudpickle
from .again import made_again
from .cache import CacheEntry, CacheInfo
from .compiled_forms import CompiledForms
from .diversion import current_way, note_function
from .explanation import Explanation, explanation
from .leaves import PYTHON_SCALARS, STATIC_CALLABLES
from .nested_call import call_in_trace
from .own_code import HasCode, OwnCode
from .prepared_calls import NOT_PREPARED
from .profile import Profile, profile
from .recompilation import warn_of_python
from .specialization import Specialization
from .stages import Compiled, Lowered, Traced
from .tiered import BackgroundCompilations

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")

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
        if not isinstance(static_argnums, int):
            static_argnums = tuple(static_argnums)
        if not isinstance(static_argnames, str):
            static_argnames = tuple(static_argnames)
        static = {"static_argnums": static_argnums, "static_argnames": static_argnames}
        effort = {"tiered": tiered, "fastmath": fastmath, "budget": budget}
        options = {**static, "backend": backend, "control_flow": control_flow, **effort, "deterministic": deterministic}
        self.backend, self.options, self._function = backend, options, function
        self._forms = CompiledForms(function, options)
        self._background = BackgroundCompilations() if tiered else None
        self._siblings: dict[tuple[Backend, bool], JittedFunctionBase] = {}
        # Those that make calls on devices, and share the prepared calls.
        self._on_devices: dict[tuple[Backend, bool], JittedFunctionBase] = {}
        note_function(self)

    def _follow_function(self) -> None:
        """Forget what was made of other code, or for other defaults."""
        if self._forms.own_code.has_changed():
            self.cache_clear()
            self._forms.read_again()

    # --- calling ---

    def call_in_python(self, *args: Any, **kwargs: Any) -> Any:
        forms = self._forms
        prepared = forms.prepared
        if (
            prepared.by_key
            and current_trace() is None
            and current_way() is None
            and not forms.own_code.has_changed()
            and (found := prepared.find(args, kwargs)) is not None
        ):
            call, leaves = found
            try:
                results = call.run(leaves)
            except BaseException as error:
                keep_frames_of_users(error)
                raise
            if results is not NOT_PREPARED:
                call.owner.hits += 1
                return results
        beginning = made_again()
        self._follow_function()
        if current_trace() is not None:
            self.own_code.guard()
            return call_in_trace(self._forms.to_trace(), self.__name__, args, kwargs)
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
        if self._forms.is_for_any_form:  # Python would call the very same
            raise behind_changes.make_error()
        beginning = behind_changes.beginning
        if beginning is None:
            found = self._function(*args, **kwargs)
            if behind_changes.has_ended_recording and not behind_changes.is_sure:
                warn_of_python(self.__name__, behind_changes.make_error())
        else:
            with beginning.repeating():
                found = self._forms.to_trace()(*args, **kwargs)
        if behind_changes.is_sure:
            raise behind_changes.make_error()
        return found

    def run_compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Find the code for this call, or make it, and run it. Raises RaisedBehindChanges where Python has to make the call."""
        return self._forms.run(self, args, kwargs)

    def _run_at_once(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run compiled code where there is some for such a call, and else the function itself, while code is made."""
        key, *_ = self._forms.reader.read(args, kwargs)
        forms = self._forms
        if forms.has_code_for(key) or not self._background.is_going_on(key, lambda: forms.prepare_for(self, args, kwargs)):
            return self.run_compiled(args, kwargs)
        return self._function(*args, **kwargs)

    @property
    def own_code(self) -> OwnCode:
        return self._forms.own_code

    @property
    def facts(self) -> list[tuple[Any, ...]]:
        """As `identities.facts_of` has them, what holds where code of this function may be called natively."""
        return [*self.own_code.facts, *(no_backend_in_force() if self._forms.names_no_backend else ())]

    def _of_device(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> JittedFunctionBase:
        """The function that makes this call: where it names no backend, the one of the device of its arrays, or in force.

        Likewise where it does not say whether results are to be the same from run to run.
        """
        if self._forms.names_no_backend:
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
        backend = self._own_backend
        return self._on_device(backend) if _may_differ(backend) else self

    @property
    def _own_backend(self) -> Backend:
        return self._forms.backend or get_backend(self.backend)

    def backend_of_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Backend:
        """The backend whose code makes this call: that of the function, or of the device of its arguments."""
        return self._of_device(args, kwargs)._own_backend

    def _leaf_names(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
        """Those of the leaves that may lie on a device."""
        given = [one for one in self._forms.reader.given(args, kwargs).items() if not _is_of_host(one[1])]
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
            found._forms.prepared = self._forms.prepared
        return found

    def compiled_by(self, backend: Backend, deterministic: bool = False) -> JittedFunctionBase:
        """The same function, compiled by a backend that may have no name; the same one each time.

        deterministic: whether results are to be the same from run to run, where the function does not say it.
        """
        key = backend, deterministic
        if key not in self._siblings:
            options = {**self.options, "tiered": False} | ({"deterministic": True} if deterministic else {})
            sibling = self._siblings[key] = type(self)(self._function, **options)
            sibling._forms.backend = backend
            sibling._forms.reader.texts = self._forms.reader.texts  # what is input here, is there
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
        hits, misses = sum([one._forms.hits for one in own]), sum([one._forms.misses for one in own])
        return CacheInfo(self.__name__, hits, misses, tuple(self._all_entries().values()), self._reason_not_captured)

    def _all_entries(self) -> dict[Specialization, CacheEntry]:
        return {key: entry for one in (self, *self._on_devices.values()) for key, entry in one._forms.entries.items()}

    def explain(self) -> Explanation:
        """What has become of the function, for each form of call: text, and in notebooks a card with the program, drawn.

        Which loops are loops of the program and which were unrolled, and why; what becomes of branches; what is read and set
        outside; the exceptions that the program may raise; the arrays that are copied; operations, memory, and time.
        """
        entries = self._all_entries()
        for sibling in self._siblings.values():  # which make the calls where kernels are timed, in the place of this one
            entries = entries or sibling._all_entries()
        return explanation(self.__name__, entries, self._reason_not_captured)

    @property
    def _reason_not_captured(self) -> str | None:
        return reason_not_captured(self._function) if self.options["control_flow"] == "source" else None

    def cache_clear(self) -> None:
        """Forget all compiled code and all counts."""
        remove_native_entries(self)
        self._forms.clear()
        if self._background is not None:
            self._background.clear()
        for sibling in self._siblings.values():
            sibling.cache_clear()

    # --- stages ---

    @for_users
    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace the function for these arguments, which may be arrays or descriptions (`ShapeDtype`), and run nothing."""
        self._follow_function()
        function = self._of_device(args, kwargs)
        if function is not self:
            return function.trace(*args, **kwargs)
        try:
            call = self._forms.reader.call(args, kwargs)
            form, recording = self._forms.form_and_recording(
                self.__name__, call, call.object_values(), descriptions=True, known_too=True
            )
        except RaisedBehindChanges as raised:
            raise raised.make_error() from None
        except OpenedInVain:
            self._forms.close_known()
            return self.trace(*args, **kwargs)
        backend = self._forms.backend or self._forms.backend_outside(recording) or self.backend
        return Traced(self.__name__, form, recording, self._forms.reader, backend, self.options["budget"])

    @for_users
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The module for these arguments, which may be arrays or descriptions (`ShapeDtype`)."""
        return self.trace(*args, **kwargs).lower()

    @for_users
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
    JittedFunction.__name__ = JittedFunction.__qualname__ = "JittedFunction"


def _may_differ(backend: Backend) -> bool:
    """Whether results of a backend may differ from run to run where nothing else is asked for."""
    return not getattr(backend, "is_deterministic", True)


def _is_of_host(value: Any) -> bool:
    """Whether an argument holds no array on a device; the most frequent ones that do not."""
    return type(value) is np.ndarray or type(value) in PYTHON_SCALARS


def _empty() -> Any:
    """A jitted function that is being unpickled; it exists before its function, which may refer to it."""
    return JittedFunction.__new__(JittedFunction)
