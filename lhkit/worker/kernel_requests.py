"""Requests about kernels, their timing, and the variants of a sweep, each with the type of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from lhkit.model.instructions import MachineCode
from lhkit.model.knob import KnobValue
from lhkit.model.memory_footprint import HeapCount, MemoryProgram
from lhkit.model.signature import Microkernel
from lhkit.worker.requests import Answer, Application, Request, Source, Value
from lhkit.worker.shared_arrays import ArrayPlace


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """Everything that determines a kernel.

    Attributes:
        application: The schedule, or None.
        opt_level: LLVM's optimization level, 0 to 3.
        target: The target whose instructions it may use; empty for this CPU.
        resources: Data of constants, by the names of their resources.
    """

    payload: Source
    function: str
    application: Application | None
    opt_level: int
    microkernels: tuple[Microkernel, ...] = ()
    target: str = ""
    resources: Mapping[str, ArrayPlace] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallSetup:
    """The arrays that calls of a kernel share.

    Attributes:
        arguments: Copied before the calls.
        results: Shapes and dtypes only.
        written: Of each argument, whether a call may write to it.
        alignment_bytes: Buffers start at odd multiples of this power of two.
    """

    arguments: tuple[ArrayPlace, ...]
    results: tuple[ArrayPlace, ...]
    written: tuple[bool, ...]
    alignment_bytes: int


# Kernels.


class CompiledAnswer(Answer, frozen=True):
    """A kernel in memory: its number, and the time from text to machine code."""

    kernel: int
    compile_ns: int


class Compile(Request[CompiledAnswer], frozen=True, tag="compile"):
    """Compile a kernel."""

    spec: KernelSpec


class Lower(Request[Value[str]], frozen=True, tag="lower"):
    """Return the IR of a kernel at a stage of the lowering."""

    spec: KernelSpec
    stage: str


class Disassemble(Request[Value[str]], frozen=True, tag="assembly"):
    """Return the machine code of a kernel as text."""

    spec: KernelSpec


class ReadMachineCode(Request[Value[MachineCode]], frozen=True, tag="machine_code"):
    """Return the instructions of a kernel, on demand with their lines in the bufferized IR."""

    spec: KernelSpec
    with_lines: bool = False


class MemoryAnswer(Answer, frozen=True):
    """The memory program of a kernel, and what a call asked the heap for, if one was made."""

    program: MemoryProgram
    counted: HeapCount | None


class ReadMemory(Request[MemoryAnswer], frozen=True, tag="memory"):
    """Read the memory program of a kernel.

    Attributes:
        is_scheduled_only: Read it from the scheduled payload, which has buffers; nothing is compiled.
        arguments: Arguments of one counted call, or None for no call.
        results: Shapes and dtypes only.
    """

    spec: KernelSpec
    is_scheduled_only: bool = False
    arguments: tuple[ArrayPlace, ...] | None = None
    results: tuple[ArrayPlace, ...] = ()


class CallAnswer(Answer, frozen=True):
    """The results of a call.

    Attributes:
        is_gone: Whether the worker does not hold the kernel any more; then there are no results.
        results: With content unless they have a file or are held.
        held: Of each result, whether the worker holds it until `CollectResults`.
    """

    is_gone: bool = False
    results: tuple[ArrayPlace, ...] = ()
    held: tuple[bool, ...] = ()


class CallKernel(Request[CallAnswer], frozen=True, tag="call"):
    """Call a kernel; results go to the files of their places, or come in the answer."""

    kernel: int
    arguments: tuple[ArrayPlace, ...]
    results: tuple[ArrayPlace, ...]


class CollectResults(Request[Answer], frozen=True, tag="collect"):
    """Write the results that are held to these places."""

    results: tuple[ArrayPlace, ...]


class RunReference(Request[Value[tuple[ArrayPlace, ...]]], frozen=True, tag="reference"):
    """Run a Python function; the answer has its results, and then the arguments that it may write to."""

    function: str
    arguments: tuple[ArrayPlace, ...]
    written: tuple[int, ...]


# Timing.


class TimingAnswer(Answer, frozen=True):
    """The number of a prepared timing and its core, or that a kernel is not held any more."""

    is_gone: bool = False
    timing: int = 0
    core: int | None = None


class PrepareTiming(Request[TimingAnswer], frozen=True, tag="prepare_timing"):
    """Prepare calls on the same arguments for timing.

    Attributes:
        entries: Of each the number of a kernel, or a Python function.
        cache: ``warm`` or ``cold``.
        pin: Whether to stay on one core.
        vector_bits: Width of vectors, for the limits of the core.
    """

    entries: tuple[int | str, ...]
    setup: CallSetup
    cache: str
    pin: bool
    vector_bits: int
    has_fma: bool


class WarmUpAnswer(Answer, frozen=True):
    """How many calls make a batch, and whether times became stable."""

    calls: int
    stable: bool


class WarmUp(Request[WarmUpAnswer], frozen=True, tag="warm_up"):
    """Calibrate and warm up an entry of a timing."""

    timing: int
    entry: int
    batch_ns: int


class RoundAnswer(Answer, frozen=True):
    """The samples of a round.

    Attributes:
        samples_ns: Entry and time of one call, in the order of the round.
        limits: The limits of the core.
        is_disturbed: Whether another process was timing on this machine.
    """

    samples_ns: tuple[tuple[int, float], ...]
    limits: Mapping[str, float]
    is_disturbed: bool


class TimeRound(Request[RoundAnswer], frozen=True, tag="time_round"):
    """Take a sample of each of these entries, in this order; ``names`` are told as progress."""

    timing: int
    order: tuple[int, ...]
    round: int
    names: tuple[str, ...]


class ReleaseTiming(Request[Answer], frozen=True, tag="release_timing"):
    """Forget a timing."""

    timing: int


# Sweeps.


@dataclass(frozen=True, slots=True)
class TimingRules:
    """How a variant is timed.

    Attributes:
        batch_ns: Least duration of a run; short calls are repeated in it, in machine code.
        least_runs: Fewer runs are not trusted to have settled.
        enough_ns: Time after which a few runs are enough.
        hopeless: A variant is stopped if its first run takes this many times the time of the best one.
        pin: Whether to stay on one core.
    """

    batch_ns: int
    least_runs: int
    most_runs: int
    enough_ns: int
    hopeless: float
    pin: bool


class PrepareSweep(Request[Answer], frozen=True, tag="prepare_sweep"):
    """Prepare a payload for variants of a schedule.

    Attributes:
        spec: Payload and schedule; the values of knobs do not matter.
        expected: Expected results, then written memrefs, each with its tolerance (None: exact).
        places: Where wrong results are put.
        sweep: The name of this preparation.
        known: Hashes of programs that need not be tried again.
    """

    spec: KernelSpec
    setup: CallSetup
    expected: tuple[tuple[ArrayPlace, ArrayPlace | None], ...]
    places: tuple[ArrayPlace, ...]
    rules: TimingRules
    sweep: str = ""
    known: tuple[str, ...] = ()


class VariantAnswer(Answer, frozen=True):
    """The outcome of a variant.

    Attributes:
        status: ``same`` if its program is known, ``gone`` if the worker does not hold the preparation.
        ir_sha256: Hash of the program.
        spent_ns: Time of each part: ``apply``, ``compile``, ``verify``, ``time``.
        compile_ns: Time from text to machine code, or None.
        time_ns: ``median``, ``min`` and ``mad`` of the runs, and their number ``runs``; or None.
        max_abs_error: The largest difference from what was expected, or None.
        shapes: The shapes of wrong results.
    """

    status: Literal["ok", "same", "stopped-early", "wrong-result", "gone"]
    ir_sha256: str = ""
    spent_ns: Mapping[str, int] = {}
    compile_ns: int | None = None
    time_ns: Mapping[str, int] | None = None
    max_abs_error: float | None = None
    shapes: tuple[tuple[int, ...], ...] = ()


class TryVariant(Request[VariantAnswer], frozen=True, tag="try_variant"):
    """Compile, verify and time a variant.

    Attributes:
        sweep: The name of the preparation.
        best_ns: Median time of the best variant so far, or None.
        is_looked_up: Whether known programs are left out.
        learned: Hashes of programs that other workers have tried since.
    """

    sweep: str
    knobs: Mapping[str, KnobValue]
    best_ns: float | None
    is_looked_up: bool
    learned: tuple[str, ...] = ()


class ReleaseSweep(Request[Answer], frozen=True, tag="release_sweep"):
    """Forget a preparation."""

    sweep: str
