"""Requests to the compiler's worker, each with the type of its answer."""

from __future__ import annotations

import functools
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import msgspec

from lhkit.model.blobs import ResourceUse
from lhkit.model.errors import Failure
from lhkit.model.explanation import Subject
from lhkit.model.fatal_attributes import ElementwiseSpelling
from lhkit.model.instructions import MachineCode
from lhkit.model.ir_outline import Outline, PayloadOutline, WrittenOp
from lhkit.model.knob import Knob, KnobValue
from lhkit.model.measurement import Work
from lhkit.model.memory_footprint import HeapCount, MemoryProgram
from lhkit.model.own_op_definition import OwnOp
from lhkit.model.schedule import NamedSequence
from lhkit.model.signature import Function, Microkernel
from lhkit.model.step_form import WrittenForm
from lhkit.model.tile_picture import Tilings
from lhkit.worker.shared_arrays import ArrayPlace

_BYTECODE_MAGIC = b"ML\xefR"


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer without content; the base of all others.

    Attributes:
        output: What the compiler printed meanwhile.
    """

    output: str = ""


AnswerType = TypeVar("AnswerType", bound=Answer)


class Request(msgspec.Struct, Generic[AnswerType], frozen=True, tag_field="request"):
    """A request; its tag is its name in messages and reproducers."""

    @classmethod
    @functools.cache
    def answer_type(cls) -> type[AnswerType]:
        """Return the type of its answer."""
        answer: type[AnswerType] = typing.get_args(cls.__orig_bases__[0])[0]  # type: ignore[attr-defined]
        return answer


def name_of(request: Request[Any]) -> str:
    """Return the name of a request in messages and reproducers."""
    return str(request.__struct_config__.tag)


# Parts of requests: sources, and the application of a schedule.


@dataclass(frozen=True, slots=True)
class Source:
    """A text or bytecode to be parsed.

    Attributes:
        role: ``payload`` or ``schedule`` (libraries too); decides the kind of its failures. ``code`` is not IR.
        label: The file name of its locations in the IR, unique in a request.
        name: The file name in messages.
        content: MLIR text (UTF-8) or bytecode.
    """

    role: Literal["payload", "schedule", "code"]
    label: str
    name: str
    content: bytes

    @property
    def is_bytecode(self) -> bool:
        """True if the content starts as bytecode does."""
        return self.content.startswith(_BYTECODE_MAGIC)


@dataclass(frozen=True, slots=True)
class Application:
    """A schedule to be applied.

    Attributes:
        sources: The schedule, and the libraries after it.
        entry: The sequence to apply.
        knobs: Values of its knobs.
        bind: Op names that trailing arguments of the entry are bound to.
        allowed_passes: Passes that it may run besides those of `lhkit.model.pass_policy`.
    """

    sources: tuple[Source, ...]
    entry: str
    knobs: Mapping[str, KnobValue]
    bind: tuple[str, ...] = ()
    allowed_passes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """All that decides a kernel.

    Attributes:
        payload: The payload.
        function: Which of its functions.
        application: The schedule, or None.
        opt_level: LLVM's optimization level, 0 to 3.
        microkernels: The implementations of microkernels that the schedule calls.
        target: Whose instructions it may use; empty for this CPU.
        resources: Where the data of constants is, by the names of their resources.
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
        arguments: The arguments, which are copied.
        results: Shapes and dtypes of the results.
        written: Of each argument, whether a call may write to it.
        alignment_bytes: Buffers start at odd multiples of this power of two.
    """

    arguments: tuple[ArrayPlace, ...]
    results: tuple[ArrayPlace, ...]
    written: tuple[bool, ...]
    alignment_bytes: int


# The worker itself.


class Ping(Request[Answer], frozen=True, tag="ping"):
    """Do nothing."""


class Description(Answer, frozen=True):
    """The bindings and what works with them.

    Attributes:
        host: The package that provides them.
        version: Its version.
        pipeline_sha256: Hash of the lowering pipeline.
        openmp: The OpenMP library that kernels use, or None.
        capabilities: What works, by the names in ``lhkit doctor``; None where it is not known.
    """

    host: str
    version: str
    pipeline_sha256: str
    openmp: str | None
    capabilities: Mapping[str, bool | None]


class Describe(Request[Description], frozen=True, tag="describe"):
    """Describe the bindings."""


class SpellingAnswer(Answer, frozen=True):
    """How the bindings spell elementwise ops of linalg."""

    spelling: ElementwiseSpelling


class AskSpelling(Request[SpellingAnswer], frozen=True, tag="elementwise_spelling"):
    """Find out how the bindings spell elementwise ops of linalg."""


@dataclass(frozen=True, slots=True)
class Defence:
    """One thing that the worker must not be able to do, tried by the worker itself.

    Attributes:
        what: What was tried.
        holds: Whether it was refused.
        how: By what, or why not.
    """

    what: str
    holds: bool
    how: str


class DefencesAnswer(Answer, frozen=True):
    """What the sandbox refuses."""

    defences: tuple[Defence, ...]


class TryDefences(Request[DefencesAnswer], frozen=True, tag="defences"):
    """Try what the sandbox has to refuse."""


class OwnOpsAnswer(Answer, frozen=True):
    """Transform ops that are defined in Python."""

    ops: tuple[OwnOp, ...]


class LoadOps(Request[OwnOpsAnswer], frozen=True, tag="load_ops"):
    """Load the transform ops of a Python file; the answer has those of this file."""

    file: str
    text: bytes


class ListOwnOps(Request[OwnOpsAnswer], frozen=True, tag="own_ops"):
    """List all transform ops that are defined in Python."""


class CatalogueAnswer(Answer, frozen=True):
    """The catalogue of transform ops, as JSON for the cache."""

    content: bytes


class MakeCatalogue(Request[CatalogueAnswer], frozen=True, tag="catalogue"):
    """Make the catalogue of transform ops for this version of lhkit."""

    lhkit: str


# Payloads and schedules.


class PayloadAnswer(Answer, frozen=True):
    """A parsed payload.

    Attributes:
        text: Its text if it was bytecode, else None.
        functions: Its functions.
        sequences: The named sequences beside them.
        resources: Its constants with data in resources.
    """

    text: str | None
    functions: tuple[Function, ...]
    resources: tuple[ResourceUse, ...]
    sequences: tuple[NamedSequence, ...]


class LoadPayload(Request[PayloadAnswer], frozen=True, tag="load_payload"):
    """Parse and verify a payload."""

    name: str
    content: bytes


class AppliedPayload(Answer, frozen=True):
    """The payload after a schedule.

    Attributes:
        text: Its text, or None if nothing changed.
        functions: Its functions.
        resources: Its constants with data in resources.
    """

    text: str | None
    functions: tuple[Function, ...]
    resources: tuple[ResourceUse, ...]


class Apply(Request[AppliedPayload], frozen=True, tag="apply"):
    """Apply a schedule to a payload."""

    payload: Source
    application: Application


class ScheduleAnswer(Answer, frozen=True):
    """A parsed schedule.

    Attributes:
        text: Its text if it was bytecode, else None.
        functions: Names of the functions beside its sequences.
        sequences: Its named sequences, and those of its libraries.
        knobs: Its knobs.
        written: Its ops with their places, if they were asked for.
    """

    text: str | None
    functions: tuple[str, ...]
    sequences: tuple[NamedSequence, ...]
    knobs: tuple[Knob, ...]
    written: tuple[WrittenOp, ...] = ()


class LoadSchedule(Request[ScheduleAnswer], frozen=True, tag="load_schedule"):
    """Parse and verify a schedule with its libraries."""

    sources: tuple[Source, ...]
    with_written_ops: bool = False


class FormsAnswer(Answer, frozen=True):
    """The steps of a schedule's sequences as forms."""

    steps: tuple[WrittenForm, ...]


class ReadForms(Request[FormsAnswer], frozen=True, tag="read_forms"):
    """Read the steps of a schedule as forms."""

    source: Source


class TextAnswer(Answer, frozen=True):
    """IR or assembly."""

    text: str


class ApplyByPass(Request[TextAnswer], frozen=True, tag="apply_by_pass"):
    """Apply a schedule by the compiler's own interpreter pass."""

    payload: Source
    application: Application


class WorkAnswer(Answer, frozen=True):
    """The work of one call."""

    work: Work


class CountWork(Request[WorkAnswer], frozen=True, tag="work"):
    """Count the operations and bytes of a function, for argument shapes where extents are dynamic."""

    payload: Source
    function: str
    shapes: tuple[tuple[int, ...], ...] | None


class TilingsAnswer(Answer, frozen=True):
    """The structured ops of a payload in their loops."""

    tilings: Tilings


class ReadTilings(Request[TilingsAnswer], frozen=True, tag="tilings"):
    """Read the structured ops of a payload."""

    payload: Source


class OutlineAnswer(Answer, frozen=True):
    """The outline of a schedule."""

    outline: Outline


class OutlineSchedule(Request[OutlineAnswer], frozen=True, tag="outline"):
    """Outline a schedule; knobs without values stay open."""

    application: Application


class PayloadOutlineAnswer(Answer, frozen=True):
    """The outline of a payload."""

    outline: PayloadOutline


class OutlinePayload(Request[PayloadOutlineAnswer], frozen=True, tag="payload_outline"):
    """Outline a payload."""

    payload: Source


class TraceAnswer(Answer, frozen=True):
    """The end of a trace.

    Attributes:
        failure: Why the schedule does not apply, or None.
        failed_step: The step that failed.
    """

    failure: Failure | None
    failed_step: int | None


class TraceSchedule(Request[TraceAnswer], frozen=True, tag="trace"):
    """Apply a schedule step by step; records go to the file ``journal``."""

    payload: Source
    application: Application
    journal: str


class StepOutcome(msgspec.Struct, frozen=True):
    """The payload after the last step of a schedule.

    Attributes:
        failed: Why the schedule does not apply, or None; then the other fields are empty.
        counts: How many ops of each name there are.
        digest: Hash of the payload.
        given: What each result of the step points to.
    """

    failed: str | None
    counts: Mapping[str, int]
    digest: str
    given: tuple[Subject, ...]


class StepOutcomes(Answer, frozen=True):
    """One outcome per text."""

    outcomes: tuple[StepOutcome, ...]


class TrySteps(Request[StepOutcomes], frozen=True, tag="try_steps"):
    """Apply a schedule with each of several texts; of each, describe the last step at a nesting depth."""

    payload: Source
    application: Application
    texts: tuple[str, ...]
    depth: int


# Kernels.


class CompiledAnswer(Answer, frozen=True):
    """A kernel in memory: its number, and the time from text to machine code."""

    kernel: int
    compile_ns: int


class Compile(Request[CompiledAnswer], frozen=True, tag="compile"):
    """Compile a kernel."""

    spec: KernelSpec


class Lower(Request[TextAnswer], frozen=True, tag="lower"):
    """Return the IR of a kernel at a stage of the lowering."""

    spec: KernelSpec
    stage: str


class Disassemble(Request[TextAnswer], frozen=True, tag="assembly"):
    """Return the machine code of a kernel as text."""

    spec: KernelSpec


class MachineCodeAnswer(Answer, frozen=True):
    """The instructions of a kernel."""

    code: MachineCode


class ReadMachineCode(Request[MachineCodeAnswer], frozen=True, tag="machine_code"):
    """Return the instructions of a kernel, on demand with their lines in the bufferized IR."""

    spec: KernelSpec
    with_lines: bool = False


class MemoryAnswer(Answer, frozen=True):
    """The memory program of a kernel, and what a call asked the heap for, if one was made."""

    program: MemoryProgram
    counted: HeapCount | None


class ReadMemory(Request[MemoryAnswer], frozen=True, tag="memory"):
    """Read what a kernel does with memory.

    Attributes:
        spec: The kernel.
        is_scheduled_only: Read it from the scheduled payload, which has buffers; nothing is compiled.
        arguments: What to call it with, or None for no call.
        results: Shapes and dtypes of the results.
    """

    spec: KernelSpec
    is_scheduled_only: bool = False
    arguments: tuple[ArrayPlace, ...] | None = None
    results: tuple[ArrayPlace, ...] = ()


class CallAnswer(Answer, frozen=True):
    """The results of a call.

    Attributes:
        is_gone: Whether the worker does not hold the kernel any more; then there are no results.
        results: The results, with content unless they have a file or are held.
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


class ArraysAnswer(Answer, frozen=True):
    """Arrays with their content."""

    arrays: tuple[ArrayPlace, ...]


class RunReference(Request[ArraysAnswer], frozen=True, tag="reference"):
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
        entries: The number of a kernel, or a Python function, of each entry.
        setup: Their arrays.
        cache: ``warm`` or ``cold``.
        pin: Whether to stay on one core.
        vector_bits: The width of vectors, for the limits of the core.
        has_fma: Whether there are fused multiply-adds.
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
        most_runs: Limit on runs.
        enough_ns: Time after which a few runs are enough.
        hopeless: A variant whose first run takes so many times the time of the best one is stopped there.
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
        setup: The arrays of calls.
        expected: What results and then written memrefs have to be, each with what it may differ by (None: not
            at all).
        places: Where wrong results are put.
        rules: How variants are timed.
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
        status: ``ok``, ``same`` (its program is known), ``stopped-early``, ``wrong-result``, or ``gone`` if the
            worker does not hold the preparation.
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
        knobs: A value for every knob.
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
