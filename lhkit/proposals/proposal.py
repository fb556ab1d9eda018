"""Proposals of schedules: the schedule for any payload, written out for one payload and verified."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from lhkit.load.loader import application_of, as_payload, load_schedule, payload_source
from lhkit.load.schedule_export import apply_portable, tunable_text
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import LhkitError, UsageError, WorkerError, public, usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.measurement import Verification
from lhkit.model.payload import Payload
from lhkit.model.schedule import DEFAULT_ENTRY, Schedule
from lhkit.model.showable import Printable
from lhkit.model.span import Span
from lhkit.model.trace_record import PayloadOp, Trace
from lhkit.proposals.line_trials import smaller
from lhkit.proposals.straight_line import Line, NotStraight, StraightLine, live_lines, written
from lhkit.proposals.verification_thread import Verdict, VerificationThread, verification_thread
from lhkit.text.knob_text import knob_to_literal, requirements_of, standalone, with_knobs_set
from lhkit.text.script import Script
from lhkit.traces.record.trace_run import trace_schedule, trace_working_steps
from lhkit.tuned.best_known import describe_tuned, exact_match
from lhkit.tuned.tuned_store import TunedSchedule, load_tuned
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.requests import Apply, CountOps, FindRemovable, Removal

if TYPE_CHECKING:
    from lhkit.sweeps.live_sweep import Sweep

_FOR_ANY = "cpu.mlir"
_MOST_ELEMENTS = 1 << 14  # Of a vector while steps are left out: without tiles all of a tensor may become one
_STRUCTURED = ("linalg.", "tensor.pad")
_NO_WORK = (
    "arith.constant",
    "func.",
    "tensor.empty",
    "builtin.",
    "linalg.yield",
    "linalg.index",
    "tensor.yield",
)
_HEADER = """\
// Payload: {payload}
// Idea:    what cpu.mlir does with this payload on {target}, without its matchers; written by lhkit propose.
// Knobs:   {knobs}
// Result:  {result}
"""


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """An op that a proposal does not turn into vector code."""

    op: str  # Its name in the payload as given
    source: Span | None  # Its place in the payload
    why: str

    def __str__(self) -> str:
        return f"{self.source}: {self.op}: {self.why}" if self.source else f"{self.op}: {self.why}"


@dataclass(frozen=True, slots=True)
class Proposal(Printable):
    """A schedule for one payload, verified.

    Attributes:
        payload: The payload.
        schedule: The schedule.
        verification: Its results beside those of the unscheduled payload; None where it cannot be run.
        left_alone: The ops that it leaves as they are, in the order of the payload.
        notes: What else there is to say: why it could not be verified, or not be written without matchers.
        applications: How often a schedule was applied to find it.
    """

    payload: Payload
    schedule: Schedule
    verification: Verification | None
    left_alone: tuple[LeftAlone, ...]
    notes: tuple[str, ...]
    applications: int

    @property
    def text(self) -> str:
        """The schedule's text."""
        return self.schedule.text

    @public
    def trace(self) -> Trace:
        """Return the trace of the proposed schedule, as ``lhkit trace`` shows it."""
        return trace_schedule(self.payload, self.schedule)

    @property
    def lines(self) -> tuple[str, ...]:
        """What it says besides the schedule, one line each."""
        return (_verdict(self.verification), *self.notes, *(f"left alone: {each}" for each in self.left_alone))

    def _mime_bundle(self) -> dict[str, Any]:
        return {"text/plain": "\n".join([self.text.rstrip("\n"), *self.lines])}


@public
def propose(
    payload: Payload | str | os.PathLike[str],
    target: str | None = None,
    *,
    sweep: float | None = None,
    run_sweep: Callable[[Sweep], None] | None = None,
    use_kept: bool = False,
    progress: Callable[[str], None] | None = None,
    worker: Worker | None = None,
) -> Proposal:
    """Return a first schedule for a payload: what ``cpu.mlir`` does with it, written out, applied and verified.

    Its steps are those that changed this payload, with plain matches, the comments of the files where they
    come from, and the knobs that matter; it is text to be read, changed and swept. Where a sweep found the best
    schedule for the same ops, extents and types before (see `lhkit.best`), that is proposed, verified again.

    Args:
        payload: The payload, loaded or a path; it is not changed.
        target: The target that defaults of knobs follow from, as for `load_schedule`.
        sweep: Seconds in which the knobs that are left are tuned by a sweep, one after the other; without, they
            have the defaults of ``cpu.mlir``. An interrupt ends it, and the best values so far are taken.
        run_sweep: What runs that sweep, to show how far it is; default: nothing is shown.
        use_kept: Whether to propose what a sweep found before; not done together with ``sweep``.
        progress: Is told what is done next, a few words at a time.
        worker: Another worker than the session's.

    Returns:
        The proposal: its schedule, the verification, and the ops that are left alone.

    Raises:
        ScheduleError: ``cpu.mlir`` does not apply to the payload.
        DefectError: The scheduled payload computes something else than the unscheduled one.
        UsageError: ``sweep`` is no positive number.
    """
    if sweep is not None and not sweep > 0:
        raise usage_error(f"sweep={sweep}: no time to try anything", "Give a number of seconds above 0.")
    payload = as_payload(payload, worker)
    with verification_thread(payload, worker) as thread:
        notes: list[str] = []
        if use_kept and sweep is None and (tuned := exact_match(payload, target, worker)) is not None:
            kept = _kept_proposal(payload, tuned, target, worker, thread)
            if isinstance(kept, Proposal):
                return kept
            notes.append(kept)
        general = load_schedule(shipped_folder("schedules") / _FOR_ANY, target=target, worker=worker)
        search = _Search(payload, general, worker, progress or (lambda stage: None), thread)
        search.notes += notes
        return search.proposal(sweep, run_sweep)


def _kept_proposal(
    payload: Payload,
    tuned: TunedSchedule,
    target: str | None,
    worker: Worker | None,
    thread: VerificationThread,
) -> Proposal | str:
    """Return what a sweep found as a proposal, verified again; or why it cannot be one."""
    try:
        schedule = load_tuned(tuned, target=target, worker=worker)
        trace = trace_working_steps(payload, schedule, worker)
        verdict = thread.verdict(schedule).result()
    except LhkitError as error:
        if error.failure.kind == "cancelled":
            raise
        return f"what is kept for this payload is not proposed: {error.failure.message}"
    if verdict.verification is None or not verdict.verification.ok:
        why = verdict.verification.difference if verdict.verification else "; ".join(verdict.notes)
        return f"what is kept for this payload is not proposed: {why}"
    text = schedule.text.replace(_UNVERIFIED, f"{_verdict(verdict.verification)}.", 1)
    notes = (f"kept: {describe_tuned(tuned)}", *verdict.notes)
    left = tuple(_left_alone(trace, payload))
    return Proposal(payload, dataclasses.replace(schedule, text=text), verdict.verification, left, notes, 1)


def _verdict(verification: Verification | None) -> str:
    if verification is None:
        return "not verified"
    return f"verified against {verification.against}: largest error {verification.max_abs_error:.2g}"


class _Search:
    """Looks for the text of a proposal by applying candidates."""

    def __init__(
        self,
        payload: Payload,
        general: Schedule,
        worker: Worker | None,
        progress: Callable[[str], None],
        thread: VerificationThread,
    ) -> None:
        self.payload, self.general, self.worker, self.progress = payload, general, worker, progress
        self.thread = thread
        # The verdict on a draft of what becomes the schedule, and the payload that the draft gives.
        self.early: tuple[Future[Verdict], str] | None = None
        self.payloads: dict[Schedule, str] = {}  # That drafts gave
        # Whether the steps of what becomes the schedule apply without ops of lhkit.
        self.is_portable: Future[bool] | None = None
        progress(f"applying {_FOR_ANY}")
        self.applications = 1
        self.requirements = requirements_of(general)
        thread.begin()  # it takes as long as the search, from here on
        self.trace = trace_working_steps(payload, general, worker)
        self.notes: list[str] = []
        self.marks: set[str] = set()

    def proposal(self, seconds: float | None, run_sweep: Callable[[Sweep], None] | None) -> Proposal:
        """Return the proposal, its knobs tuned if there are seconds for it."""
        if self.trace.outcome.status != "ok":
            self._applied(self.general)  # raises what the trace has as a value
        left = tuple(_left_alone(self.trace, self.payload))
        schedule, tuned = self._written_out(is_last=seconds is None), ""
        if seconds is not None:
            from lhkit.proposals.knob_tuning import run_in_thread, tune_knobs

            run = run_sweep or run_in_thread
            schedule, tuned = tune_knobs(self.payload, schedule, seconds, worker=self.worker, run=run)
            self.notes.append(tuned)
        schedule = self._without_false_claim(schedule)
        self.progress("verifying it against the unscheduled payload")
        verification = self._verified(schedule)
        if verification is not None and not verification.ok:
            message = f"{schedule.source} changes what {self.payload.source} computes"
            raise RuntimeError(f"{message}: {verification.difference}")  # a defect, typed by `public`
        result = f"{_verdict(verification)}." + f"\n//          {tuned}" * bool(tuned)
        text = schedule.text.replace(_UNVERIFIED, result, 1)
        schedule = dataclasses.replace(schedule, text=text)
        return Proposal(self.payload, schedule, verification, left, tuple(self.notes), self.applications)

    def _written_out(self, *, is_last: bool) -> Schedule:
        try:
            straight = StraightLine(self.trace)
        except NotStraight as reason:
            self.notes.append(f"written with the matchers of {_FOR_ANY}: {reason}")
            return self._with_matchers()
        self.marks = straight.marks
        wanted = self._normal(self.trace.last_snapshot_text())

        def is_same(lines: Sequence[Line], most_elements: int = 0) -> bool:
            try:
                return self._normal(self._applied(self._loadable(lines), most_elements)) == wanted
            except LhkitError:
                return False

        for with_all_marks in (False, True):
            live = partial(live_lines, marks=self.marks, with_all_marks=with_all_marks)
            lines = live(straight.lines)
            if is_same(lines):
                if is_last:  # else its verification would disturb the sweep
                    self._verify_early(self._loadable(lines))
                self.progress("leaving out steps that it does not need")
                is_still_same = partial(is_same, most_elements=_MOST_ELEMENTS)
                shorter = smaller(lines, live, straight.root, is_still_same, self._removable, wanted)
                # What was marked for steps that are left out may have handles without marks now.
                again = self._again(shorter)
                for found in sorted((again, shorter), key=lambda each: written(each).count("\n")):
                    if is_same(found):
                        lines = found
                        break
                draft = self._loadable(lines)
                if is_last:
                    self._verify_early(draft)
                    self.is_portable = self.thread.beside(partial(self._applies_elsewhere, draft))
                return self._with_knobs(draft)
        self.notes.append(f"written with the matchers of {_FOR_ANY}: steps alone gave another payload")
        return self._with_matchers()

    def _verify_early(self, draft: Schedule) -> None:
        """Begin to verify the payload that a draft gives, unless that is the one being verified."""
        payload = self._applied(draft)
        if self.early is None or self.early[1] != payload:
            self.early = self.thread.verdict(draft), payload

    def _without_false_claim(self, schedule: Schedule) -> Schedule:
        """Return a schedule that calls ops of lhkit optional only if the other steps apply without them."""
        claims = list(_OPTIONAL.finditer(schedule.text))
        if len(claims) != 1:  # none, or those of cpu.mlir itself
            return schedule
        tried = self.is_portable
        if not (tried.result() if tried else self._applies_elsewhere(schedule, self.worker)):
            self.notes.append(f"other programs cannot apply it: steps need those of {claims[0][1]}")
            return dataclasses.replace(schedule, text=schedule.text.replace(claims[0][0], "", 1))
        return schedule

    def _applies_elsewhere(self, schedule: Schedule, worker: Worker | None) -> bool:
        if not _OPTIONAL.search(schedule.text):
            return True
        try:
            apply_portable(self.payload, schedule, worker=worker)
        except LhkitError:
            return False
        return True

    def _again(self, lines: list[Line]) -> list[Line]:
        """Return lines as they are written after tracing them."""
        try:
            trace = trace_working_steps(self.payload, self._loadable(lines), self.worker)
            straight = StraightLine(trace, by_place=True)
        except NotStraight:
            return lines
        return live_lines(straight.lines, straight.marks)

    def _with_matchers(self) -> Schedule:
        try:
            whole = standalone(self.general)
        except UsageError:  # sequences of two files that have one name
            return self.general
        text = tunable_text(dataclasses.replace(whole, settings=tuple(self.general.values.items())))
        return load_schedule(text, name=self._name, target=self.general.target, worker=self.worker)

    @property
    def _name(self) -> str:
        return f"proposed for {self.payload.source}"

    def _loadable(self, lines: Sequence[Line]) -> Schedule:
        """Return lines as a schedule that was not parsed yet; knobs have the values that were traced."""
        steps = written(lines)
        values = self.general.values
        knobs = tuple(k for k in self.general.knobs if f'knob<"{k.name}">' in steps)
        own = sorted(set(re.findall(r'"(lhkit\.\w+)"', steps)))
        directives = [f"// lhkit: optional {', '.join(own)}"] * bool(own)
        for requirement in self.requirements:
            expression = requirement.expression.text
            if {*requirement.names} & {k.name for k in knobs}:
                for name in {*requirement.names} - {k.name for k in knobs}:
                    expression = re.sub(rf"\b{name}\b", str(values[name]), expression)
                directives.append(f"// lhkit: require {expression}")
        header = _HEADER.format(
            payload=self.payload.source,
            target=self.general.target or "this CPU",
            knobs=_listed(k.name for k in knobs),
            result=_UNVERIFIED,
        )
        consumes = any(h for x in lines for _, _, h in x.uses if x.op == "transform.apply_registered_pass")
        mark = "consumed" if consumes else "readonly"
        text = (
            header
            + "".join(f"{each}\n" for each in directives)
            + "module attributes {transform.with_named_sequence} {\n"
            + f"  transform.named_sequence @{DEFAULT_ENTRY}(%root: !transform.any_op {{transform.{mark}}}) {{\n"
            + (steps + "\n" if steps else "")
            + "    transform.yield\n  }\n}\n"
        )
        used = tuple((k.name, values[k.name]) for k in knobs)
        draft = dataclasses.replace(
            self.general,
            source=self._name,
            text=text,
            knobs=knobs,
            settings=used,
            target_defaults=(),
            libraries=(),
        )
        return dataclasses.replace(draft, text=with_knobs_set(draft), settings=())

    def _applied(self, schedule: Schedule, most_elements: int = 0) -> str:
        if schedule not in self.payloads:
            self.applications += 1
            request = Apply(payload_source(self.payload), application_of(schedule), most_elements)
            answer = (self.worker or shared_worker()).ask(request)
            self.payloads[schedule] = answer.text or self.payload.text
        return self.payloads[schedule]

    def _removable(self, lines: Sequence[Line], removals: Sequence[Removal]) -> tuple[int, ...]:
        self.applications += len(removals)
        application = application_of(self._loadable(lines))
        marks = tuple(sorted(self.marks))
        request = FindRemovable(payload_source(self.payload), application, tuple(removals), marks)
        try:
            return (self.worker or shared_worker()).ask(request).value
        except WorkerError:  # a step that went on and on, or ended the compiler, without one before it
            return ()

    def _normal(self, text: str) -> str:
        """Return a payload's text without names of values and without marks, to be compared."""
        return normal_text(text, self.marks)

    # Knobs.

    def _with_knobs(self, draft: Schedule) -> Schedule:
        """Return the parsed schedule; options of its knobs that this structure does not allow are left out."""
        self.progress("trying values of its knobs")
        text, options = draft.text, self._options(draft)
        for knob in draft.knobs:
            value = self.general.values[knob.name]
            kept = options[knob.name] or [value]
            listed = ", ".join(map(str, kept))
            text = re.sub(rf'(knob<"{knob.name}">[^\n]* options = )\[[^\]\n]*\]', rf"\1[{listed}]", text)
            if len(kept) == 1:
                with contextlib.suppress(LhkitError):  # a step that takes no literal
                    text = knob_to_literal(Script(text, self._name), knob.name, int(value)).text
                    text = _REQUIRED.sub(partial(_literal, name=knob.name, value=value), text)
        text = _TYPES.sub(lambda m: f"{m[1]} {m[2]}" if len(m[1] + m[2]) < _WIDTH else m[0], text)
        left_open = _listed(k.name for k in draft.knobs if f'knob<"{k.name}">' in text)
        text = re.sub(r"(?m)^(// Knobs: +).*$", rf"\g<1>{left_open}", text, count=1)
        return load_schedule(text, name=self._name, target=self.general.target or None, worker=self.worker)

    def _options(self, draft: Schedule) -> dict[str, list[KnobValue]]:
        """Return the values of each knob with which the steps apply and leave no more ops as they are."""
        extents = {int(e) for e in re.findall(r"(?<=[<x])\d+(?=x)", self.payload.text)}
        tried: dict[tuple[str, KnobValue], Mapping[str, KnobValue]] = {}
        for knob in draft.knobs:
            value = self.general.values[knob.name]
            # Where tiles come out even nothing was peeled: so they must with another value.
            even = [e for e in extents if isinstance(value, int) and value and e > value and not e % value]
            for option in knob.options:
                if option != value and all(option and not e % int(option) for e in even):
                    with contextlib.suppress(LhkitError):  # one that a requirement excludes
                        changed = dataclasses.replace(draft, settings=((knob.name, option),))
                        tried[knob.name, option] = application_of(changed).knobs
        given, *counts = self._counts(draft, [draft.values, *tried.values()])
        most = _structured_left(given or {})
        holds = {t for t, c in zip(tried, counts, strict=True) if c is not None and _structured_left(c) <= most}
        holds.update((knob.name, self.general.values[knob.name]) for knob in draft.knobs)
        return {k.name: [o for o in k.options if (k.name, o) in holds] for k in draft.knobs}

    def _counts(
        self, draft: Schedule, variants: Sequence[Mapping[str, KnobValue]]
    ) -> list[Mapping[str, int] | None]:
        """Return how many ops of each name the variants of a draft leave; two workers count side by side."""
        self.applications += len(variants)

        def count(some: Sequence[Mapping[str, KnobValue]], worker: Worker | None) -> list[Any]:
            request = CountOps(payload_source(self.payload), application_of(draft), tuple(some))
            return list((worker or shared_worker()).ask(request).value)

        half = -(-len(variants) // 2)
        mine, rest = variants[:half], variants[half:]
        if not rest:
            return count(mine, self.worker)
        counted = self.thread.beside(partial(count, rest))
        first = count(mine, self.worker)
        # One that still verifies would take longer.
        return first + (count(rest, self.worker) if counted.cancel() else counted.result())

    def _verified(self, schedule: Schedule) -> Verification | None:
        """Return how the scheduled functions compare with the unscheduled ones; the worst if all are right."""
        # What gives the same payload, to the letter, computes the same.
        if self.early is not None and self._applied(schedule) == self.early[1]:
            verdict = self.early[0].result()
        else:
            verdict = self.thread.verdict(schedule).result()
        self.notes += verdict.notes
        return verdict.verification


def _listed(names: Iterable[str]) -> str:
    """Return the knobs of a schedule for its header."""
    listed = ", ".join(names)
    return f"{listed}; see {_FOR_ANY}." if listed else "none."


def _literal(required: re.Match[str], name: str, value: KnobValue) -> str:
    """Return a requirement with the value of a knob; nothing if it names no other knob."""
    text = re.sub(rf"\b{name}\b", str(value), required[0])
    return text if text == required[0] or re.search(r"[A-Za-z_]", text[len(required[1]) :]) else ""


_UNVERIFIED = "not verified yet."
_AROUND = ("linalg.fill", "tensor.pad")
_DOT_PRODUCT = re.compile(r"attrs = +\{[^\n]*\bdot_products\b")
_TYPES = re.compile(r"^( +[^/\n]*[^/{\s])\n +(: \(.*)$", re.MULTILINE)  # of a step, in a line of their own
_WIDTH = 140  # What fits is on one line
_OPTIONAL = re.compile(r"^// lhkit: optional (.*)\n", re.MULTILINE)
_REQUIRED = re.compile(r"^(// lhkit: require ).*\n", re.MULTILINE)
_NAMED = re.compile(r"%[\w$.-]+|\^bb\d+")


def normal_text(text: str, marks: set[str]) -> str:
    """Return a payload's text with values numbered and without some attributes."""
    if marks:
        any_of = "|".join(sorted(marks))
        text = re.sub(
            rf'\b(?:{any_of})(?: = (?:"[^"]*"|#map\d*|affine_map<\([^>]*->[^>]*>))?(?=[,}}])', "", text
        )
        text = re.sub(r"\{[ ,]+", "{", re.sub(r"[ ,]+\}", "}", re.sub(r",(?:\s*,)+", ",", text)))
        text = re.sub(r" (?:attributes )?\{\}", "", text)
    maps = dict(re.findall(r"^(#map\d*) = (.*)$", text, re.MULTILINE))
    text = re.sub(r"^#map\d* = .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"#map\d*", lambda m: maps.get(m[0], m[0]), text)
    numbers: dict[str, str] = {}
    return _NAMED.sub(lambda m: numbers.setdefault(m[0], f"{m[0][0]}{len(numbers)}"), text)


def _structured_left(counts: Mapping[str, int]) -> int:
    return sum(n for op, n in counts.items() if op.startswith(_STRUCTURED) and not op.startswith(_NO_WORK))


def _left_alone(trace: Trace, payload: Payload) -> list[LeftAlone]:
    """Return the ops of a payload that are no vector code after a trace; all ops if none is structured."""
    ops = {op.id: op for op in trace.op_records}
    given = [op for op in trace.op_records if op.born < 0 and not op.name.startswith(_NO_WORK)]
    structured = [op for op in given if op.name.startswith(_STRUCTURED)]
    if not structured:
        functions = {op.id for op in trace.op_records if op.name == "func.func"}
        return [
            LeftAlone(op.name, op.source, "no op of linalg; cpu.mlir schedules only these")
            for op in given
            if op.parent in functions
        ]
    left = [
        op
        for op in trace.op_records
        if op.died is None and op.name.startswith(_STRUCTURED) and not op.name.startswith(_NO_WORK)
    ]
    generics = [op for op in left if op.name == "linalg.generic"]
    if len(generics) == len(_DOT_PRODUCT.findall(trace.last_snapshot_text())):
        # All of them become instructions when the payload is lowered.
        left = [op for op in left if op not in generics]
    in_vectors = {
        origin.id
        for op in (trace.op_records if left else ())
        if op.died is None and op.name.startswith("vector.")
        for origin in _origins(op, ops)
    }
    on_memrefs = re.search(r"linalg\.[^\n]*memref<", trace.last_snapshot_text()) is not None
    found: dict[str, LeftAlone] = {}
    for op in left:
        for origin in _origins(op, ops):
            if op.name in _AROUND and op.name != origin.name:
                continue  # where the result begins, or its operands are filled up: nothing of the op itself
            line = _line_of(payload.text, origin.source)
            why = (
                "it is on memrefs that more than ops of linalg use; cpu.mlir takes tensors"
                if "memref<" in line and on_memrefs
                else "a part of it, such as an edge, stays a loop over elements"
                if origin.id in in_vectors
                else "it stays a loop over elements: cpu.mlir knows no vector code for it"
            )
            found.setdefault(origin.id, LeftAlone(origin.name, origin.source, why))
    return sorted(found.values(), key=lambda x: (x.source.line, x.source.column) if x.source else (0, 0))


def _origins(op: PayloadOp, ops: dict[str, PayloadOp]) -> list[PayloadOp]:
    if op.born < 0 or not op.derived_from:
        return [op]
    return [o for parent in op.derived_from if parent in ops for o in _origins(ops[parent], ops)]


def _line_of(text: str, source: Span | None) -> str:
    lines = text.splitlines()
    return lines[source.line - 1] if source is not None and 0 < source.line <= len(lines) else ""
