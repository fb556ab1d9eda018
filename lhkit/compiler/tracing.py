"""Following a run from probe to probe: which step runs, what it consumes, what it did."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from lhkit.compiler.applying import Application, application_error
from lhkit.compiler.bindings import interpreter, ir
from lhkit.compiler.diagnostics import convert
from lhkit.compiler.frames import Frame, Handle, Running, ask, in_scope, lookup
from lhkit.compiler.journal import Journal
from lhkit.compiler.names import Names
from lhkit.compiler.plan import Plan, PlannedBlock, PlannedValue
from lhkit.compiler.probes import listening
from lhkit.compiler.requested_sizes import size_suspicions
from lhkit.compiler.sources import Source, failure_in, rename_places
from lhkit.compiler.suspicions import suspicions
from lhkit.compiler.watching import Watch
from lhkit.model.failure import Diagnostic, Failure
from lhkit.model.trace import (
    Elision,
    HandleChange,
    HandleRecord,
    Invalidation,
    Operand,
    PayloadDelta,
    StepStatus,
    TraceStep,
    TraceWarning,
)
from lhkit.model.validity import Use, Verdict, judge

# Of a longer loop only the first and last half as many iterations are recorded.
MOST_ITERATIONS = 64


@dataclasses.dataclass(frozen=True, slots=True)
class Ending:
    """How a traced run ended: why it failed and in which step, both None where it did not."""

    failure: Failure | None = None
    failed_step: int | None = None


class Tracer:
    """Follows a run from probe to probe."""

    def __init__(
        self, root: Any, plan: Plan, names: Names, journal: Journal, sources: tuple[Source, ...]
    ) -> None:
        self._root, self._plan, self._journal, self._sources = root, plan, journal, sources
        self._labels = {s.label: s.name for s in sources}
        self._frames: list[Frame] = []
        self._watch = Watch(root, names, journal)
        self._identities = self._watch.identities
        self._heard: list[Diagnostic] = []
        self._steps = 0
        self._handles = 0
        self._context: Any = None
        self._handler: Any = None
        self._invalid: Failure | None = None

    def run(
        self, context: Any, entry: Any, home: Any, payload_source: Source, application: Application
    ) -> Ending:
        """Apply the schedule."""
        self._context = context
        self._journal.blocks(self._plan.blocks)
        self._watch.look(-1)
        self._watch.snapshot(-1)
        try:
            with listening(self._probe):
                interpreter.apply_named_sequence(self._root, entry, home)
        except (ValueError, ir.MLIRError) as error:
            failure = self._invalid or application_error(error, payload_source, application).failure
            return Ending(failure, self._fail(failure))
        finally:
            if self._handler is not None:
                self._handler.detach()
            self._handler = None
        return Ending()

    # Called by probes.

    def _probe(self, number: int, state: Any) -> bool:
        now = time.perf_counter_ns()
        if self._handler is None:
            self._listen()
        block, at = self._plan.probes[number]
        if at == 0:
            self._enter(block, state)
        else:
            self._unwind(lambda frame: frame.block is block and frame.running is not None)
            if not self._finish(state, now):
                return False
        self._frames[-1].at = at
        if at < len(block.ops):
            self._begin(state)
        return True

    def _listen(self) -> None:
        # Handlers attached before the application see nothing; one that is reachable from its own
        # callback would never be freed.
        heard = self._heard

        def hear(diagnostic: Any) -> bool:
            heard.append(convert(diagnostic))
            return False

        self._handler = self._context.attach_diagnostic_handler(hear)

    def _unwind(self, wanted: Any) -> None:
        """Leave blocks until the innermost is as wanted; one that had not come to its end has failed."""
        while self._frames and not wanted(self._frames[-1]):
            frame = self._frames[-1]
            if frame.parent is not None:
                frame.parent.last_was_left = not frame.is_done
                yielded = [lookup(self._frames, v) for v in frame.block.yielded]
                frame.parent.yields_invalid = any(h.state == "invalid" for h in yielded)
            if frame.running is not None:
                self._end(frame, frame.running, "suppressed", time.perf_counter_ns())
            self._frames.pop()

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
        frame.is_muted = self._mutes(outer, parent, iteration)
        self._frames.append(frame)
        defined_by = parent.index if parent else -1
        for argument in block.arguments:
            self._ask(state, self._define(frame, argument, defined_by))
        self._take_clones(frame, state, parent)
        # The first step inside says what the handles are that begin with the block.
        frame.news = [h.change() for h in frame.handles.values()]

    def _mutes(self, outer: Frame | None, parent: Running | None, iteration: int | None) -> bool:
        """Return True if a frame is not recorded: the middle of a long loop."""
        if outer is None or parent is None:
            return False
        if outer.is_muted:
            return True
        if iteration is None:
            return False
        half = MOST_ITERATIONS // 2
        total = parent.iterations
        if total is None:
            return iteration >= MOST_ITERATIONS
        return total > MOST_ITERATIONS and half <= iteration < total - half

    def _take_clones(self, frame: Frame, state: Any, parent: Running | None) -> None:
        """Look for payload ops outside the payload: alternatives work on clones."""
        for handle in frame.handles.values():
            if handle.planned.kind != "op":
                continue
            ops = state.get_payload_ops(handle.planned.value)
            if any(self._watch.is_outside(o) for o in ops):
                frame.clones.append(handle)
        if frame.clones and parent is not None:
            delta = self._watch.look(parent.index, state, self._frames)
            if delta is not None:
                parent.deltas.append(delta)
            for handle in frame.handles.values():
                self._ask(state, handle)

    def _begin(self, state: Any) -> None:
        """Judge the next op of the innermost block before it runs."""
        frame = self._frames[-1]
        op = frame.block.ops[frame.at]
        uses = [(lookup(self._frames, planned), consumes) for planned, consumes in op.operands]
        scope = {h.id: h for h in in_scope(self._frames)}
        live = {i: h.points_to for i, h in scope.items() if h.state != "invalid" and h.planned.kind != "param"}
        verdict = judge(
            [Use(h.id, consumes) for h, consumes in uses],
            live,
            lambda i: scope[i].state == "invalid",
            self._identities.parent_of,
            may_repeat=op.may_repeat,
        )
        index = frame.parent.index if frame.is_muted and frame.parent else self._steps
        running = Running(index, op, uses, verdict, self._invalidated(verdict))
        running.changes, frame.news = frame.news, []
        handles = [h for h, _ in uses if h.planned.kind != "param"]
        running.acts_on_nothing = bool(handles) and all(h.state == "empty" for h in handles)
        if op.loops and op.blocks and uses:
            running.iterations = len(uses[0][0].payload)
        frame.running = running
        if op.asked is not None and uses[0][0].state == "live":
            targets = [o.operation for o in state.get_payload_ops(uses[0][0].planned.value)]
            running.warnings += size_suspicions(op.asked, [h.payload for h, _ in uses], targets)
        for death in verdict.deaths:  # the interpreter, too, takes note before it applies the op
            scope[death.handle].state = "invalid"
        if not frame.is_muted:
            self._steps += 1
            self._journal.begin(self._step(frame, running, "not-run"), frame.block, frame.at)
        self._heard.clear()
        running.started_ns = time.perf_counter_ns()

    def _finish(self, state: Any, now: int) -> bool:
        """Record that the innermost running op has ended; False if it left an invalid payload."""
        frame = self._frames[-1]
        running = frame.running
        if running is None:  # pragma: no cover
            raise AssertionError("a probe after an op follows the one before it")
        # Looking at thousands of ops takes long, and most steps only look at the payload themselves.
        reads = running.op.only_reads
        delta = None if reads else self._watch.look(running.index, state, self._frames)
        if delta is not None:
            running.deltas.append(delta)
            if not frame.is_muted and (problem := self._watch.find_problem()) is not None:
                message = f"{self._sources[1].name} leaves a payload that does not verify"
                self._invalid = failure_in(self._sources, "invalid-payload", message, problem, stage="apply")
                return False
            running.changes += self._ask_all(state)
        for planned in running.op.results:
            handle = self._define(frame, planned, running.index)
            running.results.append(handle)
            if running.yields_invalid:
                handle.state = "invalid"
            else:
                self._ask(state, handle)
        running.changes += [h.change() for h in running.results]
        self._end(frame, running, "suppressed" if running.last_was_left else "ok", now)
        frame.running = None
        if not frame.is_muted:
            self._watch.snapshot(running.index)
        return True

    def _define(self, frame: Frame, planned: PlannedValue, defined_by: int) -> Handle:
        handle = Handle(f"h{self._handles}", planned)
        self._handles += 1
        frame.handles[id(planned)] = handle
        if not frame.is_muted:
            path = frame.path
            record = HandleRecord(handle.id, planned.name, planned.kind, frame.block.sequence, path, defined_by)
            self._journal.handle(record)
        return handle

    def _ask(self, state: Any, handle: Handle) -> None:
        ask(state, handle, self._identities)

    def _ask_all(self, state: Any) -> list[HandleChange]:
        """Update every valid handle after the payload has changed; return those that changed."""
        changes = []
        for frame in self._frames:
            for handle in frame.handles.values():
                if handle.state == "invalid" or handle.planned.kind == "param" or handle.is_lost:
                    continue
                before = (handle.state, handle.payload)
                if self._has_lost_values(handle):
                    handle.is_lost, handle.state, handle.payload = True, "empty", ()
                    handle.points_to = dataclasses.replace(handle.points_to, ops=(), values=(), roots=())
                else:
                    self._ask(state, handle)
                if before != (handle.state, handle.payload) and not frame.is_muted:
                    changes.append(handle.change())
        return changes

    def _has_lost_values(self, handle: Handle) -> bool:
        points_to = handle.points_to
        return points_to.is_value and any(self._identities.id_at(o) is None for o in points_to.ops)

    def _fail(self, failure: Failure) -> int | None:
        """Record that the op that is running failed, and with it those around it; return its step."""
        failed: int | None = None
        while self._frames:
            frame = self._frames[-1]
            running = frame.running
            if running is not None:
                if failed is None:
                    failed = self._fail_innermost(frame, running, failure)
                self._end(frame, running, "failed", time.perf_counter_ns())
            self._frames.pop()
        return failed

    def _fail_innermost(self, frame: Frame, running: Running, failure: Failure) -> int:
        if frame.is_muted:  # what fails is shown even in the middle of a long loop
            frame.is_muted = False
            running.index, self._steps = self._steps, self._steps + 1
            self._journal.begin(self._step(frame, running, "not-run"), frame.block, frame.at)
        running.diagnostics += failure.diagnostics
        refused = failure.kind in ("invalidated-handle", "repeated-payload")
        if refused != running.verdict.is_refused:
            running.warnings.append(_defect(refused))
        return running.index

    def _end(self, frame: Frame, running: Running, status: StepStatus, now: int) -> None:
        """Write down a step that has ended."""
        heard = [rename_places(d, self._labels) for d in self._heard] or running.diagnostics
        self._heard.clear()
        if frame.is_muted:
            return
        delta = _merge(running.deltas)
        if status == "ok":
            if running.verdict.is_refused:
                running.warnings.append(_defect(False))
            running.warnings += suspicions(running, delta)
            if running.op.loops:
                self._elide(running)
        dead = () if running.verdict.is_refused else running.invalidated
        step = dataclasses.replace(
            self._step(frame, running, status),
            results=tuple(h.id for h in running.results),
            changes=(*(HandleChange(d.handle, "invalid") for d in dead), *running.changes),
            invalidated=dead,
            payload_delta=delta,
            warnings=tuple(running.warnings),
            diagnostics=tuple(heard),
            time_ns=now - running.started_ns,
        )
        self._journal.end(step)

    def _elide(self, running: Running) -> None:
        ran, total = running.entered, running.iterations
        first = MOST_ITERATIONS if total is None else MOST_ITERATIONS // 2
        last = ran - 1 if total is None else ran - 1 - first
        if ran > MOST_ITERATIONS:
            self._journal.elided(Elision(running.index, first, last))

    def _invalidated(self, verdict: Verdict) -> tuple[Invalidation, ...]:
        def op_id(at: Any) -> str | None:
            return None if at is None else self._identities.id_at(at)

        return tuple(
            Invalidation(d.handle, d.cause, d.by, op_id(d.payload_op), op_id(d.ancestor))
            for d in verdict.deaths
        )

    @staticmethod
    def _step(frame: Frame, running: Running, status: StepStatus) -> TraceStep:
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
        )


def _merge(deltas: list[PayloadDelta]) -> PayloadDelta:
    if len(deltas) == 1:
        return deltas[0]

    def joined(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(i for d in deltas for i in getattr(d, name)))

    return PayloadDelta(joined("created"), joined("erased"), joined("changed"), joined("moved"))


def _defect(refused: bool) -> TraceWarning:
    said = "refuses" if refused else "accepts"
    ours = "accepts" if refused else "refuses"
    message = f"the interpreter {said} this use of handles, which the rule for handles {ours}"
    return TraceWarning("defect", message + "; the interpreter is right, please report this")
