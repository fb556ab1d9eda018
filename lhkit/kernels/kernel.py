"""Kernels: compiled payloads that take and return NumPy arrays and survive restarts of the worker."""

from __future__ import annotations

import dataclasses
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lhkit.kernels.argument_marshalling import (
    fit_arguments,
    kernel_spec,
    pack_arguments,
    pack_result,
    result_places,
)
from lhkit.kernels.bound_arguments import all_arguments, bind_arrays
from lhkit.kernels.code_listing import CodeListing, list_code
from lhkit.kernels.hot_loops import find_hot_loops
from lhkit.load.loader import as_payload, as_schedule
from lhkit.load.random_inputs import generate_arguments
from lhkit.load.target_choice import code_target
from lhkit.load.user_code import read_microkernels
from lhkit.load.weights import with_weights
from lhkit.memory.footprint_estimate import predict_footprint
from lhkit.memory.kernel_memory import deciding_values, footprint_name
from lhkit.model.errors import CrashError, Failure, LhkitError, ScheduleError, error_for, public, usage_error
from lhkit.model.instructions import CodeSamples, HotLoops
from lhkit.model.knob import KnobValue
from lhkit.model.memory_footprint import Footprint
from lhkit.model.payload import Payload
from lhkit.model.printable import printable
from lhkit.model.schedule import Schedule
from lhkit.model.showable import Showable
from lhkit.model.signature import ArrayType, Microkernel
from lhkit.text.expectations import expectations_of
from lhkit.traces.explain.handle_explanation import failure_of
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.kernel_requests import (
    CallAnswer,
    CallKernel,
    CollectResults,
    Compile,
    Disassemble,
    KernelSpec,
    Lower,
    ReadMachineCode,
    ReadMemory,
    SampleCode,
)
from lhkit.worker.limits import Limits
from lhkit.worker.requests import AnswerType, Request
from lhkit.worker.shared_arrays import ArrayPlace, Packing, array_of_content, dtype_named

# Errors of schedules that do not apply: the same diagnostics for kernels as for traces.


_STAGE = "apply"


def traced_error(
    error: LhkitError, payload: Payload, schedule: Schedule, worker: Worker, limits: Limits | None
) -> LhkitError:
    """Return the error of a schedule that did not apply with the reason that a trace of it finds.

    Errors that the trace does not repeat stay, and those of time or memory: it would take as much again.
    """
    failure = error.failure
    if failure.stage != _STAGE or failure.kind in ("timeout", "memory", "cancelled"):
        return error
    try:
        found = failure_of(trace_schedule(payload, schedule, worker=worker, limits=limits))
    except LhkitError:
        return error
    if found is None:
        return error
    more = {"request": failure.request, "stage": _STAGE, "last_good_ir": failure.last_good_ir}
    if found.kind == "crash":
        more |= {"reproducer": failure.reproducer, "output": failure.output}
    return error_for(dataclasses.replace(found, **more))  # type: ignore[arg-type]


def refuse_unmet(payload: Payload, schedule: Schedule, worker: Worker, limits: Limits | None = None) -> None:
    """Raise the error of a schedule that applies to a payload and does not do what its comments expect.

    A kernel that is not what its schedule says would be measured under a false name. A schedule that does not
    apply at all passes here: compiling it says more.
    """
    if expectations_of(schedule):
        trace = trace_schedule(payload, schedule, worker=worker, limits=limits)
        failure = failure_of(trace) if trace.unmet else None
        if failure is not None:
            raise error_for(failure)


Array = NDArray[Any]


@public
def compile_kernel(
    payload: Payload | str | os.PathLike[str],
    schedule: Schedule | str | os.PathLike[str] | None = None,
    knobs: Mapping[str, KnobValue] | None = None,
    *,
    function: str | None = None,
    opt_level: int = 3,
    target: str | None = None,
    microkernels: Mapping[str, str | os.PathLike[str]] | None = None,
    worker: Worker | None = None,
    limits: Limits | None = None,
) -> Kernel:
    """Compile a payload, scheduled or not, for this machine's CPU, or for an older one of its kind.

    Args:
        payload: What to compile, loaded or a path; it is not changed.
        schedule: What to apply to it first, loaded or a path.
        knobs: Values for knobs of the schedule, over those it has.
        function: Which function of the payload; needed where it has several.
        opt_level: LLVM's optimization level, 0 to 3.
        target: Whose instructions it may use: ``sse``, ``avx2``, ``avx512`` or ``host``. Default: the target
            of the schedule, else what ``LHKIT_TARGET`` names, where this CPU has its instructions; else all
            that this CPU has. Knobs of the schedule that are not set get their defaults for the target, also
            where it was loaded for another one.
        microkernels: What runs for each microkernel that the schedule calls (``lhkit.replace_with_call``), by
            name: C source (``FILE.c``) or a Python function (``FILE.py:FUNCTION``).
        worker: Another worker than the session's.
        limits: Time and memory for each request.

    Returns:
        The kernel; call it with NumPy arrays.

    Raises:
        UsageError: No such function, knob or target, or one that this CPU cannot execute; a microkernel that is
            missing, unknown or does not load.
        ScheduleError: The schedule does not apply, or leaves another payload than its comments expect.
        PayloadError: The payload cannot be lowered; the message names op, place and stage.
        WorkerError: The compiler crashed, or took too much time or memory.

    Warns:
        UserWarning: The schedule has the sizes of another target in its text.
    """
    if opt_level not in range(4):
        raise usage_error(f"the optimization level is {opt_level!r}, not 0 to 3")
    payload = as_payload(payload, worker)
    if schedule is not None:
        schedule = as_schedule(schedule, worker, target=target)
    elif knobs:
        raise usage_error("knobs were given without a schedule")
    if schedule is not None and knobs:
        schedule = schedule.with_knobs(knobs)
    given = read_microkernels(microkernels)
    worker = worker or shared_worker()
    if schedule is not None:
        refuse_unmet(payload, schedule, worker, limits)
    kernel = Kernel(payload, schedule, function, opt_level, worker, limits, given, target=target)
    kernel.build()
    return kernel


@public
def empty(shape: int | tuple[int, ...], dtype: DTypeLike = "float32") -> Array:
    """Return an uninitialized array that kernels read and write without a copy.

    Args:
        shape: Extents in elements.
        dtype: Element type: a name such as ``float32`` or ``bfloat16``, or a NumPy dtype.

    Raises:
        UsageError: An extent is not an integer from 0 up, or there is no such dtype.
        MemoryLimitError: There is no room for it.
    """
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if not all(isinstance(n, int | np.integer) and n >= 0 for n in extents):
        raise usage_error(f"the extents are {shape!r}, not integers from 0 up")
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    return shared_worker().files.new_array(extents, dtype_named(name))


class Kernel(Showable):
    """A compiled payload. Calling it costs about as much as its own work.

    Attributes:
        payload: What was compiled.
        schedule: What was applied to it, or None.
        function: The signature of the compiled function.
        compile_ns: Time of the last build, from text to machine code.
        output: What the compiler printed during the last build (``transform.print`` and remarks).
        printed: What the payload printed during the last call (``vector.print``, ``printMemrefF32`` and the
            like), at most 64 KiB.
        worker: The worker that it lives in.
        microkernels: What runs for the microkernels that the schedule calls.
        target: The target that it is compiled for; empty for this CPU, with all its instructions.
        bound: The arrays that are bound to arguments, by position; see `bind`.
        packed_bytes: Size of what the worker keeps of packed constants.
        last_call_ns: Time of the last call in the worker, without the way there.
        calls_before: How often a call runs the kernel first, without a pause, to have its data in the caches.
    """

    def __init__(
        self,
        payload: Payload,
        schedule: Schedule | None,
        function: str | None,
        opt_level: int,
        worker: Worker,
        limits: Limits | None,
        microkernels: tuple[Microkernel, ...] = (),
        *,
        target: str | None = None,
        bound: Mapping[int, Array] | None = None,
    ) -> None:
        self.payload = payload
        self.schedule = schedule
        self.function = payload.function(function)
        self.bound = dict(bound or {})
        self.compile_ns = 0
        self.packed_bytes = 0
        self.output = ""
        self.printed = ""
        self.worker = worker
        self.microkernels = microkernels
        self.calls_before = 0
        self.last_call_ns = 0
        self.target = code_target(target, schedule)
        self._limits = limits
        self._opt_level = opt_level
        self._number: int | None = None
        self._generation = -1
        self._finalizer: weakref.finalize[Any, Any] | None = None

    @property
    def name(self) -> str:
        """What to call it in tables: the schedule's source, or ``unscheduled``."""
        return self.schedule.source if self.schedule else "unscheduled"

    @property
    def origin(self) -> Payload:
        """The payload that it computes, as it was given: kernels of the same can be compared."""
        return self.payload

    @property
    def schedule_values(self) -> dict[str, KnobValue]:
        """The value of every knob of the schedule."""
        return self.schedule.values if self.schedule else {}

    @public
    def build(self) -> int:
        """Compile now if the worker does not hold the kernel (any more); return its number there."""
        if self._number is not None and self._generation == self.worker.generation:
            return self._number
        answer = self._ask(Compile(self.spec()))
        self._number, self._generation = answer.kernel, self.worker.generation
        self.compile_ns, self.output = answer.compile_ns, answer.output
        self.packed_bytes = answer.packed_bytes
        if self._finalizer is not None:
            self._finalizer.detach()
        self._finalizer = weakref.finalize(self, self.worker.release, self._number, self._generation)
        self._finalizer.atexit = False
        return self._number

    def forget(self) -> None:
        """Take note that the worker no longer holds the kernel; the next call builds it again."""
        self._number = None

    def spec(self, target: str | None = None) -> KernelSpec:
        """Return what decides the kernel, or the same for another target."""
        return kernel_spec(
            self.payload,
            self.schedule,
            self.function.name,
            self._opt_level,
            self.worker,
            self.microkernels,
            self.target if target is None else code_target(target),
            self.bound,
        )

    @public
    def bind(self, arguments: Mapping[str | int, Any] | None = None, /, **named: Any) -> Kernel:
        """Return a kernel with arguments, such as weights, that stay the same in every call.

        They become constants of the payload before the schedule is applied. What the schedule computes from
        constants alone, before the loops that read it, is computed once when the kernel is built, and again
        after a restart of the worker: weights that are packed as a whole, transposed or cast. A schedule that
        packs nothing as a whole gives a kernel that computes what it computed before.

        Args:
            arguments: Arrays by the position of the argument, or by its name in the payload.
            **named: The same by name: ``kernel.bind(rhs=weights, bias=bias)``.

        Returns:
            A kernel, compiled; calls take the other arguments. It has copies of the arrays: changing these
            later changes nothing.

        Raises:
            UsageError: No such argument; one that is no tensor; an array of another shape or dtype.
            LhkitError: As from `compile_kernel`.
        """
        given: dict[str | int, Any] = dict(arguments or {})
        given.update(named)
        bound = {**self.bound, **bind_arrays(self.payload, self.function, given, self.worker)}
        kernel = Kernel(
            self.payload,
            self.schedule,
            self.function.name,
            self._opt_level,
            self.worker,
            self._limits,
            self.microkernels,
            bound=bound,
        )
        kernel.target = self.target
        kernel.build()
        return kernel

    @public
    def ir(self, stage: str = "scheduled") -> str:
        """Return the IR at a stage: ``scheduled``, ``bufferized``, ``loops`` or ``llvm``."""
        return self._ask(Lower(self.spec(), stage)).value

    @public
    def assembly(self, target: str | None = None) -> str:
        """Return the machine code of the kernel as assembly, an instruction a line.

        Args:
            target: Make it for ``sse``, ``avx2``, ``avx512``, ``neon`` or ``host``, not the kernel's target.
                Nothing is executed: this CPU need not have the instructions. Knobs keep their values. On x86,
                ``neon`` needs the extra ``arm`` (llvmlite) and is code for a Neoverse N1.
        """
        return self._ask(Disassemble(self.spec(target))).value

    @public
    def hot_loops(self, target: str | None = None) -> HotLoops:
        """Return what each innermost loop of the machine code does, and what bounds it.

        The target is as in `assembly`.
        """
        return find_hot_loops(self._ask(ReadMachineCode(self.spec(target))).value)

    @public
    def listing(self, target: str | None = None) -> CodeListing:
        """Return the instructions of the innermost loops beside the bufferized IR that they come from.

        The target is as in `assembly`.
        """
        return list_code(self._ask(ReadMachineCode(self.spec(target), with_lines=True)).value)

    def samples(self, *, seconds: float = 0.5) -> CodeSamples:
        """Return where calls on generated arguments spend their time, or why that is not known.

        Args:
            seconds: How long they are repeated; one call is made in any case.

        Raises:
            WorkerError: The kernel crashed or took too long.
        """
        arrays = fit_arguments(self.function, self._all(generate_arguments(self.function)))
        results = result_places(self.function.results)
        packing = Packing(self.worker.files)
        try:
            sent = pack_arguments(packing, self._left(arrays), self._left(self.function.arguments))
            places = tuple(place for place, _ in sent)
            return self._ask(SampleCode(self.spec(), places, results, seconds)).value
        finally:
            packing.release()

    @public
    def footprint(self, *arguments: Any, count: bool = True) -> Footprint:
        """Return the memory that a call asks for: predicted from the buffers, and counted in a run.

        Args:
            *arguments: As for a call; they stay as they are. Without any they are generated.
            count: Whether to run the kernel and count; what it calls in a library or a microkernel is not
                counted.

        Raises:
            UsageError: An argument does not fit.
            WorkerError: The kernel crashed or took too long.
        """
        types = self.function.arguments
        given = arguments or generate_arguments(self.function)
        arrays = self._left(fit_arguments(self.function, self._all(given)))
        types = self._left(types)
        packing = Packing(self.worker.files)
        try:
            places = None
            if count:
                copies = [array.copy() for array in arrays]
                places = tuple(place for place, _ in pack_arguments(packing, copies, types))
            request = ReadMemory(self.spec(), arguments=places, results=result_places(self.function.results))
            answer = self._ask(request)
        finally:
            packing.release()
        predicted = predict_footprint(answer.program, deciding_values(types, arrays))
        return Footprint(footprint_name(self.function, self.schedule), predicted, answer.counted)

    @public
    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel.

        Args:
            *arguments: NumPy arrays with the shapes and dtypes of the function's arguments. Arrays for
                memrefs are written to in place; those for tensors never change. Those that were constants
                once may all be left out: the payload has them. So may those that are bound; what is given for
                these is not read.

        Returns:
            The result, a tuple of several, or None. Tensors come as arrays, scalars as NumPy scalars.
        """
        given = with_weights(self.payload, self.function, self._all(arguments))
        arrays = fit_arguments(self.function, given)
        packing = Packing(self.worker.files)
        try:
            return self._call(arrays, packing)
        finally:
            packing.release()

    def _all(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments of a call with those that are bound."""
        return tuple(all_arguments(self.bound, arguments, len(self.function.arguments)))

    def _left(self, values: Sequence[Any]) -> Any:
        """Return what belongs to the arguments that are not bound."""
        return [value for i, value in enumerate(values) if i not in self.bound]

    def _call(self, arrays: list[Array], packing: Packing) -> Any:
        types = self._left(self.function.arguments)
        taken = list(zip(self._left(arrays), types, strict=True))
        sent = pack_arguments(packing, self._left(arrays), types)
        results = [pack_result(packing, t) for t in self.function.results]
        answer = self._run(tuple(place for place, _ in sent), tuple(place for place, _ in results))
        for (array, type_), (_, view) in zip(taken, sent, strict=True):
            if type_.kind == "memref" and view is not None:
                array[...] = view
        return _unpack(self._collect(answer, results, packing), self.function.results, packing)

    def _collect(
        self, answer: CallAnswer, results: list[tuple[ArrayPlace, Array | None]], packing: Packing
    ) -> list[tuple[ArrayPlace, Array | None]]:
        """Return the results as they were answered; large ones are fetched from the worker."""
        found = [(place, view) for place, (_, view) in zip(answer.results, results, strict=True)]
        held = [i for i, is_held in enumerate(answer.held) if is_held]
        for i in held:
            place = answer.results[i]
            found[i] = packing.reserve(place.extents, dtype_named(place.dtype))
        if held:
            self._ask(CollectResults(tuple(found[i][0] for i in held)))
        return found

    def _run(self, arguments: tuple[ArrayPlace, ...], results: tuple[ArrayPlace, ...]) -> CallAnswer:
        for _ in range(2):
            call = CallKernel(self.build(), arguments, results, self.calls_before)
            answer = self._ask(call, before=lambda: [Compile(self.spec())])
            if not answer.is_gone:
                self.printed, self.last_call_ns = answer.output, answer.last_ns
                return answer
            self.forget()
        raise CrashError(Failure(kind="crash", message="the worker forgets kernels as soon as they are built"))

    def _ask(
        self, request: Request[AnswerType], before: Callable[[], Sequence[Request[Any]]] = tuple
    ) -> AnswerType:
        good = self.payload.text
        try:
            return self.worker.ask(request, limits=self._limits, before=before, last_good_ir=good)
        except (ScheduleError, CrashError) as error:
            if self.schedule is None:
                raise
            raise traced_error(error, self.payload, self.schedule, self.worker, self._limits) from None

    def __repr__(self) -> str:
        name = f"{self.name}, {len(self.bound)} bound" if self.bound else self.name
        words = f"Kernel({self.function.describe()}, {name}, compiled in {self.compile_ns / 1e6:.0f} ms)"
        return printable(words)

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.show.value_views import kernel_bundle

        return kernel_bundle(self)


def _unpack(
    results: list[tuple[ArrayPlace, Array | None]], types: tuple[ArrayType, ...], packing: Packing
) -> Any:
    values: list[Any] = []
    for (place, view), type_ in zip(results, types, strict=True):
        array = packing.keep(view) if view is not None else array_of_content(place).copy()
        values.append(array[()] if type_.kind == "scalar" else array)
    if not values:
        return None
    return values[0] if len(values) == 1 else tuple(values)


def scheduled_footprint(
    payload: Payload,
    schedule: Schedule | None = None,
    knobs: Mapping[str, KnobValue] | None = None,
    *,
    function: str | None = None,
    worker: Worker | None = None,
) -> Footprint:
    """Return the estimated memory of a payload that its schedule bufferizes; nothing is compiled or run.

    Buffers that nothing frees yet live to the end. What depends on the extents of arguments is bounded.
    """
    if schedule is not None and knobs:
        schedule = schedule.with_knobs(knobs)
    chosen = payload.function(function)
    worker = worker or shared_worker()
    spec = kernel_spec(payload, schedule, chosen.name, 0, worker)
    program = worker.ask(ReadMemory(spec, is_scheduled_only=True)).program
    return Footprint(footprint_name(chosen, schedule), predict_footprint(program, ()))
