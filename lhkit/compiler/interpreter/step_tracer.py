"""Following a run from probe to probe: which step runs, what it consumes, what it did."""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from lhkit.compiler.extension.own_op_failures import forget_failures
from lhkit.compiler.extension.own_op_registry import generation
from lhkit.compiler.interpreter import rehearsal
from lhkit.compiler.interpreter.application import (
    application_error,
    bind_trailing_arguments,
    parse_payload,
    prepare_module,
)
from lhkit.compiler.interpreter.handle_frames import (
    Frame,
    Handle,
    Running,
    ask,
    identify,
    in_scope,
    is_erased,
    keeping_addresses,
    lookup,
)
from lhkit.compiler.interpreter.idle_steps import CALLS, erase_idle_steps
from lhkit.compiler.interpreter.payload_walk import address
from lhkit.compiler.interpreter.preconditions import CONDITIONS, find_fatal_use, unmet_preconditions
from lhkit.compiler.interpreter.probes import Plan, PlannedBlock, PlannedOp, PlannedValue, listening, load_probe
from lhkit.compiler.interpreter.refused_steps import size_suspicions
from lhkit.compiler.interpreter.trace_journal import Hearing, Journal, Watch
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import interpreter, ir
from lhkit.compiler.ir.context_pool import is_reusable, reused_context
from lhkit.compiler.ir.parsing import failure_in, walk
from lhkit.compiler.ir.schedule_modules import find_entry, home_of, sequence_ops, set_knobs
from lhkit.model.codec import to_json
from lhkit.model.errors import Diagnostic, Failure
from lhkit.model.invalidation import Use, Verdict, judge
from lhkit.model.trace_json import handle_to_json
from lhkit.model.trace_record import HandleChange, HandleRecord, Invalidation, Operand, StepStatus, TraceStep
from lhkit.worker.requests import Application, Source

# Of a longer loop only the first and last half as many iterations are recorded.
MOST_ITERATIONS = 64
# Ops that work on what their handles point to, and do nothing where all of these are empty.
_ON_TARGETS = ("transform.structured.", "transform.loop.")


@dataclasses.dataclass(frozen=True, slots=True)
class Ending:
    """How a traced run ended: why it failed and in which step, both None where it did not.

    ``is_vague`` says that steps inside the failed one failed, and which they are is not known.
    """

    failure: Failure | None = None
    failed_step: int | None = None
    is_vague: bool = False


class Tracer:
    """Follows a run from probe to probe."""

    def __init__(
        self,
        context: Any,
        root: Any,
        home: Any,
        plan: Plan,
        names: Names,
        journal: Journal,
        sources: tuple[Source, ...],
        *,
        is_thorough: bool = False,
        is_brief: bool = False,
    ) -> None:
        # Whether steps that fail, and whose block goes on, may be taken for steps that do nothing.
        self._is_brief = is_brief
        self._context, self._root, self._home = context, root, home
        self._plan, self._journal, self._sources = plan, journal, sources
        # Whether to look also for failures that make an op around them fail later, not only for those that
        # are reported nowhere.
        self._is_thorough = is_thorough
        self._is_vague = False
        self._hearing = Hearing(sources)
        self._frames: list[Frame] = []
        self._watch = Watch(root, names, journal)
        self._identities = self._watch.identities
        self._steps = 0
        self._handles = 0
        # Why a probe stopped the run.
        self._stopped: Failure | None = None

    def run(self, entry: Any, payload_source: Source, application: Application) -> Ending:
        """Apply the schedule."""
        # The ops of every block, for those that never run.
        blocks = [[[o.name, to_json(o.source)] for o in b.ops] for b in self._plan.blocks]
        self._journal.write("blocks", blocks)
        self._watch.look(-1)
        self._watch.snapshot(-1)
        forget_failures()
        try:
            with listening(self._probe):
                interpreter.apply_named_sequence(self._root, entry, self._home)
        except (ValueError, ir.MLIRError) as error:
            self._hearing.stop()  # what is asked of the compiler from here on is not a step's
            failure = self._stopped
            if failure is None:
                failure = application_error(error, payload_source, application).failure
                # Its own diagnostics may be remarks of steps before.
                errors = tuple(d for d in self._hearing.said() if d.severity == "error")
                failure = dataclasses.replace(failure, diagnostics=errors or failure.diagnostics)
            return self._fail(failure)
        finally:
            self._hearing.stop()
        if self._is_brief:
            self._watch.snapshot(self._steps)
        return Ending(is_vague=self._is_vague)

    # Called by probes.

    def _probe(self, number: int, state: Any) -> bool:
        now = time.perf_counter_ns()
        self._hearing.start(self._context)
        block, at = self._plan.probes[number]
        if at == 0:
            self._enter(block, state)
        else:
            self._unwind(lambda frame: frame.block is block and frame.running is not None)
            if not self._finish(state, now):
                return False
        self._frames[-1].at = at
        return at == len(block.ops) or self._begin(state)

    def _unwind(self, wanted: Any) -> None:
        """Leave blocks until the innermost is as wanted; one that had not come to its end has failed."""
        left: list[Handle] = []
        while self._frames and not wanted(self._frames[-1]):
            frame = self._frames[-1]
            left += () if frame.is_muted else frame.handles.values()
            if frame.parent is not None:
                frame.parent.last_was_left = not frame.is_done
                # A block that was left before its end yields nothing; what it would may not even be defined.
                yielded = [lookup(self._frames, v) for v in frame.block.yielded] if frame.is_done else []
                frame.parent.yields_invalid = any(h.state == "invalid" for h in yielded)
            if frame.running is not None:
                self._roll_back(frame, frame.running, left)
                self._end(frame, frame.running, "suppressed", time.perf_counter_ns(), self._hearing.said())
            self._frames.pop()

    def _roll_back(self, frame: Frame, failed: Running, left: list[Handle]) -> None:
        """Take note that an alternative is left for its failed step: the copy that it worked on is erased."""
        if frame.parent is None or not frame.parent.op.tries:
            return
        # The interpreter says nothing of why it failed; a run that looks closer does.
        self._is_vague = not self._is_thorough
        lost = [h for h in left if h.state == "live" and h.planned.kind != "param"]
        failed.changes += [HandleChange(h.id, "empty") for h in lost]
        frame.parent.rolled_back.append(rehearsal.rollback_note(frame, failed))

    def _enter(self, block: PlannedBlock, state: Any) -> None:
        def leads_here(frame: Frame) -> bool:
            op = frame.running.op if frame.running else None
            return op is not None and (block.owner is op or block.sequence[1:] in op.callees)

        self._unwind(leads_here)
        outer = self._frames[-1] if self._frames else None
        parent = outer.running if outer else None
        iteration = alternative = None
        if parent is not None and parent.op.loops:
            iteration = parent.entered
        elif parent is not None and len(parent.op.blocks) > 1:
            alternative = block.region
        depth, path = (outer.depth + 1, (*outer.path, parent.index)) if outer and parent else (0, ())
        frame = Frame(block, parent, iteration, alternative, depth, path)
        if parent is not None:
            parent.entered += 1
            parent.last_region, parent.last_is_empty = block.region, not block.ops
        frame.is_muted = self._mutes(outer, parent, iteration)
        if parent is not None:
            silent = self._is_thorough or any(f.goes_on for f in self._frames)
            goes_on = parent.op.suppresses or ((parent.op.collects or parent.op.tries) and silent)
            frame.goes_on = goes_on and not self._is_brief
        self._frames.append(frame)
        defined_by = parent.index if parent else -1
        for number, argument in enumerate(block.arguments):
            handle = self._define(frame, argument, defined_by)
            handle.is_lost = is_erased(parent, number, iteration, self._identities)
            handle.erased_by = "iteration" if handle.is_lost and argument.kind == "op" else ""
            if not handle.is_lost:
                ask(state, handle, self._identities)
        self._take_clones(frame, state, parent)
        # The first step inside says what the handles are that begin with the block.
        frame.news = [h.change() for h in frame.handles.values()]

    def _mutes(self, outer: Frame | None, parent: Running | None, iteration: int | None) -> bool:
        """Return True if a frame is not recorded: the middle of a long loop."""
        if outer is None or outer.is_muted or parent is None or iteration is None:
            return outer is not None and outer.is_muted
        if parent.iterations is None:
            return iteration >= MOST_ITERATIONS
        half = MOST_ITERATIONS // 2
        return half <= iteration < parent.iterations - half

    def _take_clones(self, frame: Frame, state: Any, parent: Running | None) -> None:
        """Look for payload ops outside the payload: alternatives work on clones."""
        for handle in frame.handles.values():
            ops = state.get_payload_ops(handle.planned.value) if handle.lists_ops else ()
            if any(op.parent is None and op != self._root for op in ops):
                frame.clones.append(handle)
        if frame.clones and parent is not None:
            delta = self._watch.look(parent.index, state, self._frames)
            if delta is not None:
                parent.deltas.append(delta)
            for handle in frame.handles.values():
                if not handle.is_lost:
                    ask(state, handle, self._identities)

    def _begin(self, state: Any) -> bool:
        """Judge the next op of the innermost block before it runs; False if it would end the process."""
        frame = self._frames[-1]
        op = frame.block.ops[frame.at]
        uses = [(lookup(self._frames, planned), consumes) for planned, consumes in op.operands]
        kills = any(consumes for _, consumes in uses)  # only then other handles matter
        scope = {h.id: h for h in (in_scope(self._frames) if kills else [h for h, _ in uses])}
        live = {i: h.points_to for i, h in scope.items() if h.state != "invalid" and h.planned.kind != "param"}
        verdict = judge(
            [Use(h.id, consumes) for h, consumes in uses],
            live,
            lambda i: scope[i].state == "invalid",
            self._identities.parent_of,
            may_repeat=lambda: self._may_repeat(op),
        )
        index = frame.parent.index if frame.is_muted and frame.parent else self._steps
        running = Running(index, op, uses, verdict, self._invalidated(verdict))
        running.news, frame.news = frame.news, []
        handles = [h for h, _ in uses if h.planned.kind != "param"]
        running.acts_on_nothing = bool(handles) and all(h.state == "empty" for h in handles)
        if op.loops and op.blocks and uses:
            running.iterations = min(len(h.payload) for h, _ in uses)
            running.targets = [identify(h, self._identities) for h, _ in uses]
        running.keeping = keeping_addresses(self._frames, op, uses, self._identities)
        frame.running = running
        if op.asked is not None and uses[0][0].state == "live":
            targets = [o.operation for o in state.get_payload_ops(uses[0][0].planned.value)]
            running.warnings += size_suspicions(op.asked, [h.payload for h, _ in uses], targets)
        if not frame.is_muted:
            self._steps += 1
            self._journal.begin(self._step(frame, running, "not-run"), frame.block.number, frame.at)
            if frame.goes_on and verdict.invalid is None:
                failure = rehearsal.find_silent_failure(self._frames, state, self._home, self._root)
                running.fails_silently = failure is not None
                running.diagnostics = self._hearing.named(failure or ())
        message = None if verdict.is_refused else find_fatal_use(op, [h for h, _ in uses], state, self._root)
        for death in verdict.deaths:  # the interpreter, too, takes note before it applies the op
            scope[death.handle].state = "invalid"
        self._hearing.forget()
        running.started_ns = time.perf_counter_ns()
        if message is not None:
            at = (Diagnostic("error", message, op.source),)
            said = f"{op.name.removeprefix('transform.')} would end the compiler"
            self._stopped = failure_in(self._sources, "definite", said, at, stage="apply")
        return message is None

    def _may_repeat(self, op: PlannedOp) -> bool:
        consumed = next((i for i, (v, c) in enumerate(op.operands) if c and v.kind == "op"), None)
        return consumed is not None and rehearsal.takes_repeated_handles(op.op, consumed, self._home)

    def _finish(self, state: Any, now: int) -> bool:
        """Record that the innermost running op has ended; False if it left an invalid payload."""
        frame = self._frames[-1]
        running = frame.running
        if running is None:  # pragma: no cover
            raise AssertionError("a probe after an op follows the one before it")
        # Looking at thousands of ops takes long, and most steps only look at the payload themselves.
        # So do those that change payload only through their inner steps, which were looked at to the end.
        has_steps = running.entered > 0 and not running.last_was_left
        reads = running.op.only_reads or (has_steps and self._is_brief)
        reads |= running.op.name in CALLS and not running.last_was_left
        reads |= running.acts_on_nothing and running.op.name.startswith(_ON_TARGETS)
        has_results = not running.yields_invalid and running.verdict.repeated is None
        given = running.op.results if has_results else ()
        delta = None if reads else self._watch.look(running.index, state, self._frames, given)
        if delta is not None:
            running.deltas.append(delta)
            # A mark is verified with the ops that have it: they are all that changed.
            marked = running.op.name == "transform.annotate"
            changed = state.get_payload_ops(running.uses[0][0].planned.value) if marked else ()
            if not frame.is_muted and (problem := self._watch.find_problem(changed)) is not None:
                message = f"{self._sources[1].name} leaves a payload that does not verify"
                self._stopped = failure_in(self._sources, "invalid-payload", message, problem, stage="apply")
                return False
            running.changes += self._lose_erased(running)
            running.changes += self._ask_all(state)
        for planned in running.op.results:
            handle = self._define(frame, planned, running.index)
            running.results.append(handle)
            if running.yields_invalid:
                handle.state = "invalid"
            elif running.verdict.repeated is not None:
                handle.is_lost = True  # it was refused before it had results, even empty ones
            else:
                ask(state, handle, self._identities)
        running.changes += [h.change() for h in running.results]
        failed = running.last_was_left or running.fails_silently
        self._end(frame, running, "suppressed" if failed else "ok", now, self._hearing.said())
        frame.running = None
        if not frame.is_muted:
            self._watch.snapshot(running.index, prints=not self._is_brief)
        return True

    def _define(self, frame: Frame, planned: PlannedValue, defined_by: int) -> Handle:
        handle = Handle(f"h{self._handles}", planned)
        self._handles += 1
        frame.handles[id(planned)] = handle
        if not frame.is_muted:
            path = frame.path
            record = HandleRecord(handle.id, planned.name, planned.kind, frame.block.sequence, path, defined_by)
            self._journal.write("handle", record.id, handle_to_json(record))
        return handle

    def _ask_all(self, state: Any) -> list[HandleChange]:
        """Update every valid handle after the payload has changed; return those that changed."""
        changes = []
        for frame in self._frames:
            for handle in frame.handles.values():
                if handle.state == "invalid" or handle.planned.kind == "param" or handle.is_lost:
                    continue
                before = (handle.state, handle.payload)
                values_of = handle.points_to.ops if handle.points_to.is_value else ()
                if any(self._identities.id_at(op) is None for op in values_of):
                    handle.is_lost, handle.state, handle.payload = True, "empty", ()
                    handle.points_to = dataclasses.replace(handle.points_to, ops=(), values=(), roots=())
                else:
                    ask(state, handle, self._identities)
                if before != (handle.state, handle.payload) and not frame.is_muted:
                    changes.append(handle.change())
        return changes

    def _lose_erased(self, running: Running) -> list[HandleChange]:
        """Take note of handles that keep the address of an op which a step has erased; return what changed."""
        erased = [h for h, ops in running.keeping if any(self._identities.id_at(at) != i for at, i in ops)]
        for handle in erased:
            handle.is_lost, handle.state, handle.payload, handle.erased_by = True, "empty", (), "step"
        return [handle.change() for handle in erased if not self._frames[-1].is_muted]

    def _fail(self, failure: Failure) -> Ending:
        """Record which of the ops that are running failed, and with it those around it."""
        failed: int | None = None
        ends_it = self._failing(failure)
        said, left = self._hearing.said(), list[Handle]()
        while self._frames:
            frame = self._frames[-1]
            running = frame.running
            left += () if frame.is_muted else frame.handles.values()
            if running is not None:
                heard: tuple[Diagnostic, ...] = ()  # what was said last is of the step that ends the run
                if running is ends_it:
                    failed, heard = self._fail_innermost(frame, running, failure), said
                    diagnostics = rehearsal.with_alternatives(running, failure.diagnostics, "failed")
                    failure = dataclasses.replace(failure, diagnostics=diagnostics)
                elif failed is None:
                    self._roll_back(frame, running, left)
                status: StepStatus = "suppressed" if failed is None else "failed"
                self._end(frame, running, status, time.perf_counter_ns(), heard)
            self._frames.pop()
        return Ending(failure, failed, self._is_vague)

    def _failing(self, failure: Failure) -> Running | None:
        """Return the innermost running op, or one around it that swallowed its failure and failed then."""
        inside_out = [f.running for f in reversed(self._frames) if f.running is not None]
        place = failure.diagnostics[0].span if failure.diagnostics else None
        named = (r for r in inside_out if place is not None and r.op.source == place)
        return next(named, inside_out[0] if inside_out else None)

    def _fail_innermost(self, frame: Frame, running: Running, failure: Failure) -> int:
        if frame.is_muted:  # what fails is shown even in the middle of a long loop
            frame.is_muted = False
            running.index, self._steps = self._steps, self._steps + 1
            self._journal.begin(self._step(frame, running, "not-run"), frame.block.number, frame.at)
        running.diagnostics += failure.diagnostics
        running.unmet = self._unmet(running)
        self._is_vague |= running.op.collects and running.entered > 0 and not self._is_thorough
        refused = failure.kind in ("invalidated-handle", "repeated-payload")
        if refused != running.verdict.is_refused:
            running.warnings.append(rehearsal.defect(refused))
        return running.index

    def _unmet(self, running: Running) -> tuple[Diagnostic, ...]:
        """Return what the step needs and its payload ops, those that are still there, do not have."""
        if not running.uses or running.op.name not in CONDITIONS or running.verdict.is_refused:
            return ()
        wanted = dict.fromkeys(running.uses[0][0].points_to.ops)
        present = {at: op for op in walk(self._root) if (at := address(op)) in wanted}
        found = unmet_preconditions(running.op.op, [present[at] for at in wanted if at in present])
        return self._hearing.named(found)

    def _end(
        self, frame: Frame, running: Running, status: StepStatus, now: int, said: tuple[Diagnostic, ...]
    ) -> None:
        """Write down a step that has ended, and what was said while it ran."""
        heard = (*running.unmet, *rehearsal.with_alternatives(running, said or running.diagnostics, status))
        self._hearing.forget()
        if frame.is_muted:
            return
        delta = running.delta()
        if status == "ok":
            if running.verdict.is_refused:
                running.warnings.append(rehearsal.defect(False))
            running.warnings += rehearsal.suspicions(running, delta)
            if running.op.loops and running.entered > MOST_ITERATIONS:
                first = MOST_ITERATIONS if running.iterations is None else MOST_ITERATIONS // 2
                left = 0 if running.iterations is None else first
                self._journal.write("elided", running.index, first, running.entered - 1 - left)
        # Who lists an op twice is refused after the interpreter has taken note of the deaths.
        goes_on = status == "suppressed" and running.verdict.invalid is None
        dead = running.invalidated if goes_on or not running.verdict.is_refused else ()
        step = self._step(
            frame,
            running,
            status,
            results=tuple(h.id for h in running.results),
            changes=(*running.news, *(HandleChange(d.handle, "invalid") for d in dead), *running.changes),
            invalidated=dead,
            payload_delta=delta,
            diagnostics=heard,
            time_ns=now - running.started_ns,
        )
        self._journal.write_step(step)

    def _invalidated(self, verdict: Verdict) -> tuple[Invalidation, ...]:
        id_at = self._identities.id_at
        return tuple(
            Invalidation(d.handle, d.cause, d.by, id_at(d.payload_op), id_at(d.ancestor))
            for d in verdict.deaths
        )

    @staticmethod
    def _step(frame: Frame, running: Running, status: StepStatus, **ended: Any) -> TraceStep:
        return TraceStep(
            index=running.index,
            op=running.op.name,
            source=running.op.source,
            depth=frame.depth,
            parent=frame.parent.index if frame.parent else None,
            iteration=frame.iteration,
            alternative=frame.alternative,
            status=status,
            operands=tuple(Operand(h.id, "consume" if c else "read") for h, c in running.uses),
            warnings=tuple(running.warnings),
            **ended,
        )


# The one run in which a schedule is traced: probes call back between its steps.


def trace_application(
    payload_source: Source,
    application: Application,
    journal_path: Path,
    *,
    without_idle: bool = False,
    parsed: Any = None,
) -> Ending:
    """Apply a schedule to a payload and record every step in a journal; on request without idle ones.

    ``parsed`` is what `parse_schedule` returned for it, if that is at hand; it is changed.

    Raises:
        PayloadError, ScheduleError, UsageError: There is nothing to trace.
    """
    how = {"without_idle": without_idle, "parsed": parsed}
    ending = _run(payload_source, application, journal_path, is_thorough=False, **how)
    if ending.is_vague:
        # Most runs do not fail, and looking closer takes time: only now is it worth it.
        ending = _run(payload_source, application, journal_path, is_thorough=True)
    return ending


@dataclasses.dataclass(slots=True)
class _PlannedSchedule:
    """A schedule with its probes, to be applied again with other values of its knobs."""

    context: Any
    module: Any
    entry: Any
    plan: Plan
    uses: int = 0


# The schedule that was traced last: values of its knobs are attributes, and all else of it is as before.
_last_planned: dict[Hashable, _PlannedSchedule] = {}
_MOST_USES = 30  # attributes stay in a context until its end


def _plan(
    application: Application, sources: tuple[Source, ...], payload: Any, parsed: Any, *, without_idle: bool
) -> _PlannedSchedule:
    names = Names(sources)
    module = prepare_module(application, parsed)
    entry = find_entry(module, application.entry)
    block = entry.regions[0].blocks[0]
    written = [names.argument(a) for a in block.arguments][1:]
    count = len(block.operations)
    values = bind_trailing_arguments(entry, application.bind, application.sources[0])
    # The ops that bind come first and are not the author's steps.
    unseen = [o.operation for o in block.operations][: len(block.operations) - count]
    home = home_of(entry)
    if without_idle and len(sequence_ops(module)) > 1:  # in a single sequence few steps are idle
        erase_idle_steps(payload.operation.clone().operation, home, entry)
    key = None if without_idle else (application.sources, application.entry, application.bind)
    plan = Plan(home, names, unseen, list(zip(values, written, strict=True)), key)
    return _PlannedSchedule(module.context, module, entry, plan)


def _run(
    payload_source: Source,
    application: Application,
    journal_path: Path,
    *,
    is_thorough: bool,
    without_idle: bool = False,
    parsed: Any = None,
) -> Ending:
    sources = (payload_source, *application.sources)
    how_applied = (application.sources, application.entry, application.bind, application.allowed_passes)
    key: Hashable = (generation(), without_idle, *how_applied, tuple(application.knobs))
    planned = _last_planned.pop(key, None)
    with planned.context if planned else parsed.context if parsed else reused_context() as context:
        load_probe(context)
        payload = parse_payload(payload_source)
        if planned is not None:
            set_knobs(planned.module, application.knobs)
        else:
            planned = _plan(application, sources, payload, parsed, without_idle=without_idle)
        journal = Journal(journal_path)
        # Thousands of records are made and none is garbage: the collector would only take time.
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            how = {"is_thorough": is_thorough, "is_brief": without_idle}
            home = home_of(planned.entry)
            tracer = Tracer(
                context, payload.operation, home, planned.plan, Names(sources), journal, sources, **how
            )
            ending = tracer.run(planned.entry, payload_source, application)
        finally:
            journal.close()
            if was_enabled:
                gc.enable()
        planned.uses += 1
        # Which steps are idle depends on the knobs, and what a step that failed has left is not known.
        if not without_idle and ending.failure is None and planned.uses < _MOST_USES and is_reusable(context):
            _last_planned.clear()
            _last_planned[key] = planned
        return ending
