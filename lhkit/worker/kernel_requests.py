"""Requests about kernels, their timing, and the variants of a sweep, each with the type of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from lhkit.model.instructions import CodeSamples, MachineCode
from lhkit.model.knob import KnobValue
from lhkit.model.memory_footprint import HeapCount, MemoryProgram
from lhkit.model.signature import Microkernel
from lhkit.worker.requests import Answer, Application, Request, Source, TraceAnswer, Value
from lhkit.worker.shared_arrays import ArrayPlace


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """Everything that determines a kernel."""

    payload: Source
    function: str
    application: Application | None  # The schedule, or None
    opt_level: int  # LLVM's optimization level, 0 to 3
    microkernels: tuple[Microkernel, ...] = ()
    target: str = ""  # The target whose instructions it may use; empty for this CPU
    # Data of constants, by the names of their resources
    resources: Mapping[str, ArrayPlace] = field(default_factory=dict)
    bound: Mapping[int, ArrayPlace] = field(default_factory=dict)  # Arguments that are constants of the kernel


@dataclass(frozen=True, slots=True)
class CallSetup:
    """The arrays that calls of a kernel share."""

    arguments: tuple[ArrayPlace, ...]  # Copied before the calls
    results: tuple[ArrayPlace, ...]  # Shapes and dtypes only
    written: tuple[bool, ...]  # Of each argument, whether a call may write to it
    alignment_bytes: int  # Buffers start at odd multiples of this power of two


# Kernels.


class CompiledAnswer(Answer, frozen=True):
    """A kernel in memory: its number, and the time from text to machine code."""

    kernel: int
    compile_ns: int
    packed_bytes: int = 0  # Size of what was computed from constants when it was built


class Compile(Request[CompiledAnswer], frozen=True, tag="compile"):
    """Compile a kernel."""

    spec: KernelSpec


class Lower(Request[Value[str]], frozen=True, tag="lower"):
    """Return the IR of a kernel at a stage of the lowering."""

    spec: KernelSpec
    stage: str


class RunPasses(Request[TraceAnswer], frozen=True, tag="passes"):
    """Run a pipeline pass by pass, or lower a kernel so; records go to the file ``journal``."""

    payload: Source
    pipeline: Source
    journal: str
    application: Application | None = None  # A schedule that is applied before
    allowed_passes: tuple[str, ...] = ()
    spec: KernelSpec | None = None  # The kernel to lower in place of the pipeline


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
    """Read the memory program of a kernel."""

    spec: KernelSpec
    # Read it from the scheduled payload, which has buffers; nothing is compiled
    is_scheduled_only: bool = False
    arguments: tuple[ArrayPlace, ...] | None = None  # Arguments of one counted call, or None for no call
    results: tuple[ArrayPlace, ...] = ()  # Shapes and dtypes only


class CallAnswer(Answer, frozen=True):
    """The results of a call."""

    is_gone: bool = False  # Whether the worker does not hold the kernel any more; then there are no results
    results: tuple[ArrayPlace, ...] = ()  # With content unless they have a file or are held
    held: tuple[bool, ...] = ()  # Of each result, whether the worker holds it until `CollectResults`
    last_ns: int = 0  # Time of the call whose results count


class CallKernel(Request[CallAnswer], frozen=True, tag="call"):
    """Call a kernel; results go to the files of their places, or come in the answer."""

    kernel: int
    arguments: tuple[ArrayPlace, ...]
    results: tuple[ArrayPlace, ...]
    before: int = 0  # Calls without a pause before the one whose results count, to fill the caches


class SampleCode(Request[Value[CodeSamples]], frozen=True, tag="sample_code"):
    """Compile a kernel for one thread, repeat calls of it, and sample where they are."""

    spec: KernelSpec
    arguments: tuple[ArrayPlace, ...]
    results: tuple[ArrayPlace, ...]
    seconds: float


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
    """Prepare calls on the same arguments for timing."""

    entries: tuple[int | str, ...]  # Of each the number of a kernel, or a Python function
    setup: CallSetup
    cache: str  # ``warm`` or ``cold``
    pin: bool  # Whether to stay on one core
    vector_bits: int  # Width of vectors, for the limits of the core
    has_fma: bool
    from_python: bool = False  # Whether kernels too are repeated by a loop in Python


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
    """The samples of a round."""

    samples_ns: tuple[tuple[int, float], ...]  # Entry and time of one call, in the order of the round
    limits: Mapping[str, float]  # The limits of the core
    is_disturbed: bool  # Whether another process was timing on this machine


class TimeRound(Request[RoundAnswer], frozen=True, tag="time_round"):
    """Take a sample of each of these entries, in this order; ``names`` are reported as progress."""

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
    """How a variant is timed."""

    batch_ns: int  # Least duration of a run; short calls are repeated in it, in machine code
    least_runs: int  # Fewer runs are not trusted to have settled
    most_runs: int
    enough_ns: int  # Time after which a few runs are enough
    hopeless: float  # A variant is stopped if its first run takes this many times the time of the best one
    pin: bool  # Whether to stay on one core
    # ``thread`` counts processor time of the thread alone: beside other programs, and of one thread
    clock: Literal["wall", "thread"] = "wall"
    plain_first: bool = False  # Whether code that is not optimized may be enough to give a variant up


class PrepareSweep(Request[Answer], frozen=True, tag="prepare_sweep"):
    """Prepare a payload for variants of a schedule."""

    spec: KernelSpec  # Payload and schedule; the values of knobs do not matter
    setup: CallSetup
    # Expected results, then written memrefs, each with its tolerance (None: exact)
    expected: tuple[tuple[ArrayPlace, ArrayPlace | None], ...]
    places: tuple[ArrayPlace, ...]  # Where wrong results are put
    rules: TimingRules
    sweep: str = ""  # The name of this preparation
    known: tuple[str, ...] = ()  # Hashes of programs that need not be tried again
    # A file that the process locks while it verifies and times, if another process takes turns with it
    turn: str = ""
    lane: int = 0  # Which of the two it is: each has a core of its own


class VariantAnswer(Answer, frozen=True):
    """The outcome of a variant."""

    # ``same`` if its program is known, ``gone`` if the worker does not hold the preparation
    status: Literal["ok", "same", "stopped-early", "wrong-result", "gone"]
    ir_sha256: str = ""  # Hash of the program
    spent_ns: Mapping[str, int] = {}  # Time of each part: ``apply``, ``compile``, ``verify``, ``time``
    compile_ns: int | None = None  # Time from text to machine code, or None
    # ``median``, ``min`` and ``mad`` of the runs, and their number ``runs``; or None
    time_ns: Mapping[str, int] | None = None
    short_ns: int | None = None  # The time of a call by a run or two, before it was timed in full; or None
    max_abs_error: float | None = None  # The largest difference from what was expected, or None
    shapes: tuple[tuple[int, ...], ...] = ()  # The shapes of wrong results


class TryVariant(Request[VariantAnswer], frozen=True, tag="try_variant"):
    """Compile, verify and time a variant."""

    sweep: str  # The name of the preparation
    knobs: Mapping[str, KnobValue]
    best_ns: float | None  # Median time of the best variant so far, or None
    is_looked_up: bool  # Whether known programs are left out
    learned: tuple[str, ...] = ()  # Hashes of programs that other workers have tried since
    code: bytes = b""  # Its object file, if another process compiled it


class VariantCode(Answer, frozen=True):
    """The machine code of a variant."""

    # ``same`` if its program is known, ``gone`` if the worker does not hold the preparation
    status: Literal["made", "same", "gone"]
    ir_sha256: str = ""  # Hash of the program
    spent_ns: Mapping[str, int] = {}  # Time of each part: ``apply``, ``compile``
    code: bytes = b""  # The object file; empty if it has to be compiled where it is timed


class CompileVariant(Request[VariantCode], frozen=True, tag="compile_variant"):
    """Compile a variant for another process."""

    sweep: str  # The name of the preparation
    knobs: Mapping[str, KnobValue]
    is_looked_up: bool  # Whether known programs are left out
    learned: tuple[str, ...] = ()  # Hashes of programs that other workers have tried since


@dataclass(frozen=True, slots=True)
class VariantDescription:
    """What is known of a variant before it is lowered."""

    ir_sha256: str  # Hash of the program
    features: Mapping[str, float]  # For cost models, by name


class VariantDescriptions(Answer, frozen=True):
    """Descriptions of variants in their order; None where the schedule does not apply."""

    variants: tuple[VariantDescription | None, ...]
    is_gone: bool = False  # Whether the worker does not hold the preparation


class DescribeVariants(Request[VariantDescriptions], frozen=True, tag="describe_variants"):
    """Apply the schedule with some values of its knobs, and read the features of the results."""

    sweep: str  # The name of the preparation
    knobs: tuple[Mapping[str, KnobValue], ...]
    vector_bytes: int  # Of a register of the target


class ReleaseSweep(Request[Answer], frozen=True, tag="release_sweep"):
    """Forget a preparation."""

    sweep: str
