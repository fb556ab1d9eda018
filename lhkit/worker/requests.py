"""Requests about payloads and schedules, each with the type of its answer."""

from __future__ import annotations

import functools
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import msgspec

from lhkit.model.errors import Failure
from lhkit.model.explanation import Subject
from lhkit.model.fatal_attributes import ElementwiseSpelling
from lhkit.model.ir_outline import Outline, PayloadOutline, WrittenOp
from lhkit.model.knob import Knob, KnobValue
from lhkit.model.measurement import Work
from lhkit.model.own_op_definition import OwnOp
from lhkit.model.payload import ResourceUse
from lhkit.model.schedule import NamedSequence
from lhkit.model.signature import Function
from lhkit.model.span import Span
from lhkit.model.step_form import WrittenForm
from lhkit.model.tile_picture import Tilings

_BYTECODE_MAGIC = b"ML\xefR"


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer without content; the base of all others. ``output`` is what the compiler printed meanwhile."""

    output: str = ""


T = TypeVar("T")


class Value(Answer, Generic[T], frozen=True):
    """An answer that is one value."""

    value: T


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
    """A text or bytecode to be parsed."""

    # Decides the kind of its failures; libraries are schedules, ``code`` is not IR
    role: Literal["payload", "schedule", "code"]
    label: str  # The file name of its locations in the IR, unique in a request
    name: str  # The file name in messages
    content: bytes

    @property
    def is_bytecode(self) -> bool:
        """True if the content starts as bytecode does."""
        return self.content.startswith(_BYTECODE_MAGIC)


@dataclass(frozen=True, slots=True)
class Application:
    """A schedule to be applied."""

    sources: tuple[Source, ...]  # The schedule, and the libraries after it
    entry: str
    knobs: Mapping[str, KnobValue]
    bind: tuple[str, ...] = ()  # Op names that trailing arguments of the entry are bound to
    allowed_passes: tuple[str, ...] = ()  # Passes that it may run besides those of `lhkit.model.pass_policy`


# The worker itself.


class Ping(Request[Answer], frozen=True, tag="ping"):
    """Do nothing."""


class Description(Answer, frozen=True):
    """The bindings and what works with them."""

    host: str  # The package that provides them
    version: str
    pipeline_sha256: str  # Hash of the lowering pipeline
    openmp: str | None  # The OpenMP library that kernels use, or None
    capabilities: Mapping[str, bool | None]  # By the names in ``lhkit doctor``; None where it is not known


class Describe(Request[Description], frozen=True, tag="describe"):
    """Describe the bindings."""


class AskSpelling(Request[Value[ElementwiseSpelling]], frozen=True, tag="elementwise_spelling"):
    """Find out how the bindings spell elementwise ops of linalg."""


@dataclass(frozen=True, slots=True)
class Defence:
    """What the worker tried that must be refused, whether it was (``holds``), and by what or why not."""

    what: str
    holds: bool
    how: str


class TryDefences(Request[Value[tuple[Defence, ...]]], frozen=True, tag="defences"):
    """Try what the sandbox has to refuse."""


class LoadOps(Request[Value[tuple[OwnOp, ...]]], frozen=True, tag="load_ops"):
    """Load the transform ops of a Python file; the answer has those of this file."""

    file: str
    text: bytes


class ListOwnOps(Request[Value[tuple[OwnOp, ...]]], frozen=True, tag="own_ops"):
    """List all transform ops that are defined in Python."""


class MakeCatalogue(Request[Value[bytes]], frozen=True, tag="catalogue"):
    """Make the catalogue of transform ops for this version of lhkit."""

    lhkit: str


# Payloads and schedules.


class PayloadAnswer(Answer, frozen=True):
    """A parsed payload; ``text`` is None unless it was bytecode or in another dialect, and is converted.

    ``resources`` are constants in resources.
    """

    text: str | None
    functions: tuple[Function, ...]
    resources: tuple[ResourceUse, ...]
    sequences: tuple[NamedSequence, ...]
    is_converted: bool = False


class LoadPayload(Request[PayloadAnswer], frozen=True, tag="load_payload"):
    """Parse and verify a payload."""

    name: str
    content: bytes


class TorchAnswer(Answer, frozen=True):
    """A converted module: its text, and the names of the weights that it uses."""

    text: str
    weights: tuple[str, ...]


class ImportTorch(Request[TorchAnswer], frozen=True, tag="import_torch"):
    """Convert an exported PyTorch program; ``weights`` are the tensors in it whose data is not read.

    ``file`` has the program; a process that was forked with the program in its memory needs none.
    """

    file: str
    name: str
    weights: tuple[str, ...]


class AppliedPayload(Answer, frozen=True):
    """The payload after a schedule; ``text`` is None if nothing changed."""

    text: str | None
    functions: tuple[Function, ...]
    resources: tuple[ResourceUse, ...]


class Apply(Request[AppliedPayload], frozen=True, tag="apply"):
    """Apply a schedule to a payload."""

    payload: Source
    application: Application
    most_elements: int = 0  # Of vectors, if it is a trial: it fails if a step makes a larger one


# Parts of payloads.


@dataclass(frozen=True, slots=True)
class PartCut:
    """A part of a function."""

    name: str  # Of its function
    kind: str  # ``contraction``, ``convolution``, ``reduction``, ``elementwise``, ``copy``, ``other``
    text: str  # Its function, alone in a module
    functions: tuple[Function, ...]
    ops: tuple[str, ...]  # The names of its ops
    calls: tuple[tuple[int, ...], ...]  # Of each call the lines of its ops in the payload


class PartAnswer(Answer, frozen=True):
    """A payload whose function calls its parts."""

    text: str
    functions: tuple[Function, ...]
    parts: tuple[PartCut, ...]
    order: tuple[str, ...]  # The parts that the function calls, one after the other


class CutParts(Request[PartAnswer], frozen=True, tag="cut_parts"):
    """Cut a function into parts."""

    payload: Source
    function: str


@dataclass(frozen=True, slots=True)
class ScheduledPart:
    """A part and how it is scheduled."""

    name: str
    payload: Source
    application: Application


class AssembleParts(Request[AppliedPayload], frozen=True, tag="assemble_parts"):
    """Put scheduled parts into the function that calls them."""

    payload: Source  # As `CutParts` answers it
    function: str
    parts: tuple[ScheduledPart, ...]
    # What the function returns too: ``clocks``, readings in seconds before each call and at the end;
    # ``operands``, what the first call of each part is given
    added: Literal["", "clocks", "operands"] = ""
    # Arguments of the function that will be constants
    bound: tuple[int, ...] = ()


class ScheduleAnswer(Answer, frozen=True):
    """A parsed schedule."""

    text: str | None  # Its text if it was bytecode, else None
    functions: tuple[str, ...]  # Names of the functions beside its sequences
    sequences: tuple[NamedSequence, ...]  # Its named sequences, and those of its libraries
    knobs: tuple[Knob, ...]
    written: tuple[WrittenOp, ...] = ()  # Its ops with their places, if they were asked for


class LoadSchedule(Request[ScheduleAnswer], frozen=True, tag="load_schedule"):
    """Parse and verify a schedule with its libraries."""

    sources: tuple[Source, ...]
    with_written_ops: bool = False


class ReadForms(Request[Value[tuple[WrittenForm, ...]]], frozen=True, tag="read_forms"):
    """Read the steps of a schedule as forms."""

    source: Source


class ApplyByPass(Request[Value[str]], frozen=True, tag="apply_by_pass"):
    """Apply a schedule by the compiler's own interpreter pass."""

    payload: Source
    application: Application


class CountWork(Request[Value[Work]], frozen=True, tag="work"):
    """Count the operations and bytes of a function, for argument shapes where extents are dynamic."""

    payload: Source
    function: str
    shapes: tuple[tuple[int, ...], ...] | None


class ReadTilings(Request[Value[Tilings]], frozen=True, tag="tilings"):
    """Read the structured ops of a payload."""

    payload: Source


class OutlineSchedule(Request[Value[Outline]], frozen=True, tag="outline"):
    """Outline a schedule; knobs without values stay open."""

    application: Application


class OutlinePayload(Request[Value[PayloadOutline]], frozen=True, tag="payload_outline"):
    """Outline a payload."""

    payload: Source


class TraceAnswer(Answer, frozen=True):
    """The end of a trace: why the schedule does not apply, or None, and the step that failed."""

    failure: Failure | None
    failed_step: int | None


class TraceSchedule(Request[TraceAnswer], frozen=True, tag="trace"):
    """Apply a schedule step by step; records go to the file ``journal``.

    Before each step the worker looks for the ``stop_file``; if there is one, the request fails as cancelled.
    """

    payload: Source
    application: Application
    journal: str
    without_idle: bool = False  # Whether steps that do nothing to the payload are left out

    @property
    def stop_file(self) -> str:
        """Path of the file that cancels it."""
        return f"{self.journal}.stop"


# Steps of an entry by number, each with -1, or with the number of an op in its first block.
Removal = tuple[tuple[int, int], ...]
# Steps that are left out with what gives the handle that they read.
LEFT_OUT_TOO = ("transform.structured.match", "transform.cast", "transform.merge_handles", "transform.annotate")


class FindRemovable(Request[Value[tuple[int, ...]]], frozen=True, tag="find_removable"):
    """Say which removals, each tried with those before it that did, leave the scheduled payload as it is."""

    payload: Source
    application: Application
    removals: tuple[Removal, ...]
    ignored: tuple[str, ...]  # Attributes of payload ops that do not count


class CountOps(Request[Value[tuple[Mapping[str, int] | None, ...]]], frozen=True, tag="count_ops"):
    """Count ops by name after a schedule with each of some values of its knobs; None if it does not apply."""

    payload: Source
    application: Application
    knobs: tuple[Mapping[str, KnobValue], ...]


class FailedText(msgspec.Struct, frozen=True):
    """How a text of a schedule fails: the place of the op that does, None where it does not even load."""

    place: Span | None


class FindFailures(Request[Value[tuple[FailedText | None, ...]]], frozen=True, tag="find_failures"):
    """Say how a schedule fails with each of some other texts; None if it applies, or cannot be told.

    Nothing is recorded, so it takes a tenth of the time of a trace.
    """

    payload: Source
    application: Application
    texts: tuple[bytes, ...]


class CanonicalText(Request[Value[str]], frozen=True, tag="canonical_text"):
    """Return a payload's ops and types as text, without names, places, comments and data."""

    payload: Source


class StepOutcome(msgspec.Struct, frozen=True):
    """The payload after the last step of a schedule."""

    failed: str | None  # Why the schedule does not apply, or None; then the other fields are empty
    counts: Mapping[str, int]  # Number of ops by name
    digest: str
    given: tuple[Subject, ...]  # What each result of the step points to
    tilings: Tilings | None = None  # Its structured ops, if it is another payload than the one that is known


class TrySteps(Request[Value[tuple[StepOutcome, ...]]], frozen=True, tag="try_steps"):
    """Apply a schedule with each of several texts; of each, describe the last step at a nesting depth."""

    payload: Source
    application: Application
    texts: tuple[str, ...]
    depth: int
    known: str = ""  # Digest of a payload whose structured ops are known
