"""The record of one application of a schedule: the state of every handle after every step.

Handles and payload ops have ids that are local to the trace (``h3``, ``o17``); a handle's id is one dynamic
definition, so a loop body defines new handles in every iteration.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from lhkit.model.errors import Diagnostic, OutcomeStatus, public
from lhkit.model.expectation import UnmetExpectation
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.showable import Printable
from lhkit.model.span import Span

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from lhkit.model.explanation import Explanation, FusionAnswer, Repairs


@dataclass(frozen=True, slots=True)
class Provenance:
    """The payload and schedule of a trace, with versions."""

    payload: Payload
    schedule: Schedule
    versions: tuple[tuple[str, str], ...] = ()
    own_ops: tuple[tuple[str, str], ...] = ()  # The Python files with user-defined ops, each as (path, text)

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """The texts that places point into, each as (file name, text)."""
        libraries = ((library.source, library.text) for library in self.schedule.libraries)
        own = ((self.payload.source, self.payload.text), (self.schedule.source, self.schedule.text))
        return (*own, *libraries, *self.own_ops)


TRACE_SCHEMA = "lhkit.trace/1"

HandleKind = Literal["op", "value", "param"]
HandleState = Literal["live", "empty", "invalid"]
# What readers see; files keep the short word.
STATE_WORDS: Mapping[HandleState, str] = {"live": "live", "empty": "empty", "invalid": "invalidated"}
StepStatus = Literal["ok", "failed", "suppressed", "not-run", "crashed"]
Effect = Literal["read", "consume"]
Cause = Literal["direct", "alias", "nested"]


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """The display name of a text, and the SHA-256 of its content in hexadecimal."""

    source: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ScheduleRecord:
    """The applied schedule: text, entry, and the value of every knob."""

    source: str
    sha256: str
    entry: str
    knobs: tuple[tuple[str, KnobValue], ...] = ()


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The bindings (package and version) and the CPU."""

    bindings: str
    version: str
    cpu: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the application ended."""

    status: OutcomeStatus = "ok"
    failed_step: int | None = None  # Index of the step that failed or crashed, or None
    kind: str | None = None  # One of ``FAILURE_KINDS``, None on success
    message: str | None = None


@dataclass(frozen=True, slots=True)
class HandleRecord:
    """One dynamic definition of a handle."""

    id: str
    name: str
    kind: HandleKind  # The kind of handle
    sequence: str  # The named sequence it is written in, with ``@``
    path: tuple[int, ...]  # Indices of the enclosing steps, outermost first
    defined_by: int  # Index of the defining step, -1 for an argument of the entry


@dataclass(frozen=True, slots=True)
class ResultReference:
    """Result number ``result`` of a payload op."""

    op: str
    result: int


@dataclass(frozen=True, slots=True)
class ArgumentReference:
    """An argument of a block of a payload op's region."""

    op: str
    region: int
    block: int
    argument: int


@dataclass(frozen=True, slots=True)
class ParamReference:
    """A parameter, as the attribute that MLIR prints (``16 : i64``)."""

    param: str


# A payload op is referred to by its id.
Reference = str | ResultReference | ArgumentReference | ParamReference


@dataclass(frozen=True, slots=True)
class Operand:
    """A use of a handle by a step, and its effect."""

    handle: str
    effect: Effect


@dataclass(frozen=True, slots=True)
class HandleChange:
    """The state of a handle after a step that changed it; ``payload`` is empty unless it is ``live``."""

    handle: str
    state: HandleState
    payload: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Invalidation:
    """The death of a handle."""

    handle: str  # The handle that died
    # ``direct``: it was consumed; ``alias``: it shared a payload op with the consumed handle; ``nested``:
    # its payload op was nested in one of the consumed handle
    cause: Cause
    by: str  # The consumed handle
    # The payload op of the invalidated handle that is shared or nested; None if the consumed handle was empty
    payload_op: str | None
    ancestor: str | None  # The payload op of the consumed handle that is or contains it, None likewise


DeltaSign = Literal["+", "−", "~", "↕"]
# The signs of what a step did to payload ops, in the order in which they are shown.
DELTA_WORDS: dict[DeltaSign, str] = {"+": "created", "−": "erased", "~": "changed", "↕": "moved"}


@dataclass(frozen=True, slots=True)
class PayloadDelta:
    """The effect of a step on payload ops, by id.

    A changed op has other operands, attributes or types, a moved one another parent or position among its
    siblings.
    """

    created: tuple[str, ...] = ()
    erased: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()

    @property
    def signed(self) -> tuple[tuple[DeltaSign, tuple[str, ...]], ...]:
        """Each non-empty part with the sign that all drawings and texts have for it."""
        parts = (self.created, self.erased, self.changed, self.moved)
        return tuple((sign, ids) for sign, ids in zip(DELTA_WORDS, parts, strict=True) if ids)


@dataclass(frozen=True, slots=True)
class TraceWarning:
    """A warning about a legal step that is probably a mistake.

    The kind ``defect`` says that the interpreter and the rule for handles disagree.
    """

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One execution of one transform op."""

    index: int  # Order of execution from 0; steps that never ran follow at the end
    op: str
    source: Span | None
    depth: int = 0
    parent: int | None = None
    iteration: int | None = None  # Iteration of its parent, from 0, or None
    alternative: int | None = None  # Region of its parent, from 0, or None
    status: StepStatus = "ok"  # How it ended; ``suppressed`` is a failure that an enclosing step suppressed
    operands: tuple[Operand, ...] = ()
    results: tuple[str, ...] = ()
    # The handles that it changed, after its end. The first step of a block also has the block's arguments.
    changes: tuple[HandleChange, ...] = ()
    invalidated: tuple[Invalidation, ...] = ()  # The handles that it invalidated
    payload_delta: PayloadDelta = PayloadDelta()
    warnings: tuple[TraceWarning, ...] = ()
    # The compiler's messages; of alternatives also a note which one was taken and why others failed
    diagnostics: tuple[Diagnostic, ...] = ()
    time_ns: int = 0  # Its duration, nested steps included


@dataclass(frozen=True, slots=True)
class Elision:
    """Iterations ``first`` to ``last`` of step ``parent`` ran and are not recorded as steps."""

    parent: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class PayloadOp:
    """One op of the payload, from creation to erasure."""

    id: str
    name: str
    parent: str | None  # The op that contained it when it was first seen, or None
    derived_from: tuple[str, ...]  # The ops that it was made from
    born: int  # Index of the step that created it, -1 for an op of the payload as given
    died: int | None  # Index of the step that erased it, or None
    source: Span | None  # Its place in the source; None for a derived op


@dataclass(frozen=True, slots=True)
class Edit:
    """``count`` lines from line ``first`` (from 1, counted in the base) are replaced by ``lines``."""

    first: int
    count: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The payload after a step: its text, or edits to the snapshot of step ``base`` in ascending order.

    Step -1 is the payload as given. ``ops`` are the payload ops, outer before inner, as `trace_json` writes
    them, omitted ones included; None where they are those of the base, or not known.
    """

    step: int
    text: str | None = None
    base: int | None = None
    edits: tuple[Edit, ...] = ()
    ops: str | None = None


@dataclass(frozen=True, slots=True)
class Trace(Printable):
    """The record of one application of a schedule to a payload.

    Attributes:
        payload: Name and hash of the payload.
        schedule: Name, hash, entry and knobs of the schedule.
        toolchain: The bindings and the CPU.
        outcome: How it ended.
        handle_records: Every dynamic definition of a handle, in order.
        step_records: Every execution of a transform op, in order.
        elided: Iterations that ran and were not recorded.
        op_records: Every payload op, derived ops after their origins; a tuple, or a sequence that equals one.
        snapshots: The payload before the first step and after every step that ran; enclosing steps follow
            nested ones.
        provenance: Payload and schedule, None for a trace that was read from JSON.
        unmet: The expectations of the schedule (``// lhkit: expect``) that the last payload does not meet.
    """

    payload: SourceRecord
    schedule: ScheduleRecord
    toolchain: Toolchain
    outcome: Outcome
    handle_records: tuple[HandleRecord, ...]
    step_records: tuple[TraceStep, ...]
    elided: tuple[Elision, ...]
    op_records: Sequence[PayloadOp]
    snapshots: tuple[Snapshot, ...]
    provenance: Provenance | None = field(default=None, repr=False, compare=False)
    unmet: tuple[UnmetExpectation, ...] = ()
    _handles: Mapping[str, HandleRecord] = field(init=False, repr=False, compare=False)
    _ops: dict[str, PayloadOp] = field(init=False, repr=False, compare=False)
    _snapshots: Mapping[int, Snapshot] = field(init=False, repr=False, compare=False)
    _ended: list[tuple[TraceStep, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_handles", {h.id: h for h in self.handle_records})
        # Thousands, and most uses of a trace need none of them: filled by the first that does.
        object.__setattr__(self, "_ops", {})
        object.__setattr__(self, "_ended", [])
        object.__setattr__(self, "_snapshots", {s.step: s for s in self.snapshots})

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """The sources that places point into, each as (file name, text); empty where they are not known."""
        return self.provenance.texts if self.provenance else ()

    def handle(self, handle_id: str) -> HandleRecord:
        """Return a handle by id; KeyError if there is none."""
        return self._handles[handle_id]

    def op(self, op_id: str) -> PayloadOp:
        """Return a payload op by id; KeyError if there is none."""
        if not self._ops:
            self._ops.update({o.id: o for o in self.op_records})
        return self._ops[op_id]

    @property
    def steps_frame(self) -> pd.DataFrame:
        """One row per step: place, status, handles by name, changes of the payload, time."""
        from lhkit.traces.report.trace_frames import steps_frame

        return steps_frame(self)

    @property
    def handles_frame(self) -> pd.DataFrame:
        """One row per handle: definition, uses, state at the end, invalidation and its cause."""
        from lhkit.traces.report.trace_frames import handles_frame

        return handles_frame(self)

    @property
    def ops_frame(self) -> pd.DataFrame:
        """One row per payload op: origins, and the steps that created and erased it."""
        from lhkit.traces.report.trace_frames import ops_frame

        return ops_frame(self)

    def snapshot_text(self, step: int) -> str | None:
        """Return the payload after a step (-1: before the first), or None where it is not known."""
        chain: list[Snapshot] = []
        snapshot = self._snapshots.get(step)
        while snapshot is not None and snapshot.base is not None:
            chain.append(snapshot)
            snapshot = self._snapshots.get(snapshot.base)
        if snapshot is None or snapshot.text is None:
            return None
        lines = snapshot.text.split("\n")
        for each in reversed(chain):
            for edit in reversed(each.edits):
                lines[edit.first - 1 : edit.first - 1 + edit.count] = edit.lines
        return "\n".join(lines)

    def last_snapshot_text(self) -> str:
        """Return the last known good payload."""
        return self.snapshot_text(self.snapshots[-1].step) or "" if self.snapshots else ""

    def steps_by_end(self) -> tuple[TraceStep, ...]:
        """Return the steps in the order in which they ended: nested steps before enclosing ones."""
        if not self._ended:
            ended: list[TraceStep] = []
            open_steps: list[TraceStep] = []
            for step in self.step_records:
                while open_steps and open_steps[-1].index != step.parent:
                    ended.append(open_steps.pop())
                open_steps.append(step)
            self._ended.append((*ended, *reversed(open_steps)))
        return self._ended[0]

    def states_after(self, step: int) -> dict[str, HandleChange]:
        """Return the last known state of every handle when a step had ended, by handle id."""
        states: dict[str, HandleChange] = {}
        if step < 0:
            return states
        for each in self.steps_by_end():
            states.update((c.handle, c) for c in each.changes)
            if each.index == step:
                break
        return states

    # Implemented in rooms above the model: imported when called.

    @public
    def why(self, handle: str | None = None) -> Explanation:
        """Return why a handle is what it is at the end; without a handle, why the schedule failed.

        Args:
            handle: Its name as written (``%tiled``; the last that was defined under it) or its id.

        Returns:
            One sentence and the places of definition, consumption and use; shows itself as text.

        Raises:
            UsageError: There is no such handle.
        """
        from lhkit.traces.explain.handle_explanation import explain

        return explain(self, handle)

    @public
    def why_not_fused(
        self, producer: str, consumer: str, *, limit: int = 2, seconds: float = 10.0
    ) -> FusionAnswer:
        """Return why two ops are not fused at the end, as `lhkit.why_not_fused` says."""
        from lhkit.fusion.fusion_doctor import why_not_fused

        return why_not_fused(self, producer, consumer, limit=limit, seconds=seconds)

    @public
    def repairs(self, *, limit: int = 3, seconds: float | None = None) -> Repairs:
        """Return changes of the schedule's text after which what failed passes; the best first.

        Each was applied to a copy of the text and traced, so this takes as long as a few traces. Where the
        schedule passes with warnings, it returns changes that take the first of them away which can be, and
        add none. Each says what the final payload is like, and which warnings are left.

        Args:
            limit: How many to return at most.
            seconds: How long to look; what was found until then is returned.

        Returns:
            The repairs, a sequence that shows itself as titles and diffs; empty where none helps.

        Raises:
            UsageError: The payload and the schedule are not known: the trace was read from JSON.
        """
        from lhkit.repairs.repair_trials import repairs_of

        return repairs_of(self, limit=limit, seconds=seconds)

    @public
    def to_markdown(self, *, command: str | None = None) -> str:
        """Return a report for an issue thread: what failed, why, payload, schedule, versions, command.

        It stays under 60,000 bytes: long texts lose their middle, which is said where it was.

        Args:
            command: The command line to state instead of the one that repeats the trace.
        """
        from lhkit.traces.report.markdown_report import trace_markdown

        return trace_markdown(self, command=command)

    @public
    def compiler_explorer_url(self) -> str:
        """Return a link that opens payload and schedule in Compiler Explorer's ``mlir-opt``.

        The link holds the texts; nothing is sent until the link is opened.

        Raises:
            UsageError: It would be too long, or the texts are not known; the message says by how much.
        """
        from lhkit.traces.report.markdown_report import trace_url

        return trace_url(self)

    @public
    def save_reproducer(self, folder: str | os.PathLike[str]) -> Path:
        """Write a folder that repeats the trace: payload, schedule, commands, versions, a README.

        Args:
            folder: Where; it must not exist or be empty. It appears whole or not at all.

        Returns:
            Its path.

        Raises:
            UsageError: It cannot be written there, or the texts are not known.
        """
        from lhkit.traces.report.markdown_report import save_reproducer

        return save_reproducer(self, folder)

    @public
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace as JSON (``lhkit.trace/1``); `lhkit.load_trace` reads it.

        Args:
            path: The file; it is replaced atomically.

        Returns:
            The path.

        Raises:
            UsageError: It cannot be written.
        """
        from lhkit.model.trace_json import save_trace

        return save_trace(self, path)

    @public
    def save_html(self, path: str | os.PathLike[str], *, command: str | None = None) -> Path:
        """Write one HTML file with all drawings: no kernel, no network, steps to go through, one selection.

        Args:
            path: Where; the file appears whole or not at all.
            command: The command line to state instead of the one that repeats the trace.

        Returns:
            Its path.

        Raises:
            UsageError: It cannot be written there.
        """
        from lhkit.show import save_page

        return save_page(self, path, command=command)

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.show.trace_view import trace_bundle

        return trace_bundle(self)
