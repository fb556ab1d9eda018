"""The trace assembled from runs of a compiler binary.

One run prints the payload after every step; further runs mark the payload ops of valid handles with attributes.
Valid handles follow from what they pointed to before, so each consuming step takes a run. Nested steps, times,
changes of single payload ops and targets of value handles are not available; the trace says so.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from itertools import count

from lhkit.load.source_texts import read_libraries, read_module
from lhkit.load.target_choice import cpu_name
from lhkit.model import trace_record as record
from lhkit.model.errors import Failure, FailureKind, error_for, usage_error
from lhkit.model.invalidation import Death, Verdict
from lhkit.model.payload import Payload
from lhkit.model.schedule import NamedSequence, Schedule, choose_entry
from lhkit.model.span import Span
from lhkit.model.trace_json import find_edits, written_order
from lhkit.traces.opt.opt_runs import (
    PAYLOAD,
    SCHEDULE,
    OptHost,
    OptRun,
    OptTracing,
    align,
    diagnostics,
    ended_steps,
    find_sequences_by_name,
    printed_payloads,
    read_entry,
    tree_of,
    without_sequences,
)
from lhkit.worker.folders import temporary_place
from lhkit.worker.limits import Limits

_ENDINGS: Mapping[str, FailureKind] = {"timeout": "timeout", "crashed": "crash"}


class _TraceAssembly:
    """A trace made of runs: ``run`` is the one without marks, ``payloads`` has what it printed, by step."""

    def __init__(
        self, tracing: OptTracing, payload: Payload, schedule: Schedule, run: OptRun, payloads: dict[int, str]
    ) -> None:
        self._tracing, self._payload, self._schedule = tracing, payload, schedule
        self._run, self._payloads = run, payloads
        self._steps = tracing.entry.steps
        self._last = max(payloads, default=-1)
        ran_all = run.status == "ok" or self._last + 1 >= len(self._steps)
        self._failed = None if ran_all else self._last + 1
        libraries = {p: each.source for p, each in zip(tracing.libraries, schedule.libraries, strict=True)}
        self._said = diagnostics(run.errors, {PAYLOAD: payload.source, SCHEDULE: schedule.source, **libraries})
        # Ids of the payload ops after each step.
        self._ids: dict[int, tuple[str, ...]] = {}

    def trace(self) -> record.Trace:
        """Return the trace."""
        payload, schedule, entry = self._payload, self._schedule, self._tracing.entry
        host, ops = self._tracing.host, self._op_records()
        return record.Trace(
            payload=record.SourceRecord(payload.source, payload.sha256),
            schedule=record.ScheduleRecord(
                schedule.source, schedule.sha256, schedule.entry, tuple(schedule.values.items())
            ),
            toolchain=record.Toolchain(host.name, host.version, cpu_name()),
            outcome=self._outcome(),
            handle_records=tuple(
                record.HandleRecord(f"h{i}", h.name, h.kind, f"@{entry.name}", (), h.defined_by)
                for i, h in enumerate(entry.handles)
            ),
            step_records=tuple(self._step(index) for index in range(len(self._steps))),
            elided=(),
            op_records=ops,
            snapshots=tuple(self._snapshot(step) for step in range(-1, self._last + 1)),
        )

    def _op_records(self) -> tuple[record.PayloadOp, ...]:
        fresh = (f"o{i}" for i in count())
        trees = self._tracing.trees
        records: dict[str, record.PayloadOp] = {}
        before: tuple[str, ...] = ()
        for step in range(-1, self._last + 1):
            now = align(trees.get(step - 1, ()), before, trees[step], fresh)
            for op, each in zip(trees[step], now, strict=True):
                parent = None if op.parent is None else now[op.parent]
                records.setdefault(each, record.PayloadOp(each, op.name, parent, (), step, None, None))
            for gone in set(before) - set(now):
                records[gone] = dataclasses.replace(records[gone], died=step)
            self._ids[step] = before = now
        return tuple(records.values())

    def _snapshot(self, step: int) -> record.Snapshot:
        order = written_order(self._ids[step])
        if step < 0:
            return record.Snapshot(step, self._payloads[step], ops=order)
        edits = find_edits(self._payloads[step - 1].split("\n"), self._payloads[step].split("\n"))
        return record.Snapshot(step, None, step - 1, edits, order)

    def _step(self, index: int) -> record.TraceStep:
        step, consumed = self._steps[index], self._tracing.consumed[index]
        ran = index in self._ids
        status: record.StepStatus = "ok" if ran else "failed" if index == self._failed else "not-run"
        verdict = self._tracing.verdicts.get(index, Verdict()) if ran else Verdict()
        return record.TraceStep(
            index=index,
            op=step.op.name,
            source=Span(self._schedule.source, step.op.at.line, step.op.at.column),
            status=status,
            operands=tuple(
                record.Operand(f"h{o}", "consume" if c else "read")
                for o, c in zip(step.operands, consumed, strict=True)
            ),
            results=tuple(f"h{r}" for r in step.results) if ran else (),
            changes=self._changes(index, verdict) if ran else (),
            invalidated=tuple(self._invalidation(index, death) for death in verdict.deaths),
            warnings=self._warnings(index),
            diagnostics=self._said if index == self._failed else (),
        )

    def _invalidation(self, index: int, death: Death) -> record.Invalidation:
        ids = self._ids[index - 1]
        op, ancestor = (None if at is None else ids[at] for at in (death.payload_op, death.ancestor))
        return record.Invalidation(f"h{death.handle}", death.cause, f"h{death.by}", op, ancestor)

    def _changes(self, index: int, verdict: Verdict) -> tuple[record.HandleChange, ...]:
        before = self._states(index - 1) if index else {}
        now = self._states(index)
        changes = [change for handle, change in now.items() if before.get(handle) != change]
        return (*changes, *(record.HandleChange(f"h{d.handle}", "invalid") for d in verdict.deaths))

    def _states(self, step: int) -> dict[int, record.HandleChange]:
        tracing, states = self._tracing, {}
        for handle in tracing.valid.get(step, ()):
            kind, name = tracing.entry.handles[handle].kind, f"h{handle}"
            if kind == "param" and handle in tracing.parameters:
                states[handle] = record.HandleChange(
                    name, "live", (record.ParamReference(tracing.parameters[handle]),)
                )
            elif kind != "op":
                states[handle] = record.HandleChange(name, "live")
            elif step in tracing.points_to:
                ops = tuple(self._ids[step][op] for op in tracing.points_to[step].get(handle, ()))
                states[handle] = record.HandleChange(name, "live" if ops else "empty", ops)
        return states

    def _warnings(self, index: int) -> tuple[record.TraceWarning, ...]:
        host, op = self._tracing.host, self._steps[index].op
        warnings = []
        if index == 0:
            message = (
                f"traced by running {host.name} {host.version}: no times, no changes of single payload ops, "
                "payload ops matched by their text, targets of value handles unknown"
            )
            warnings.append(record.TraceWarning("binary-host", message))
        if op.regions or op.name == "transform.include":
            message = f"steps inside of it are not seen by {host.name} {host.version}"
            warnings.append(record.TraceWarning("binary-host", message))
        if self._tracing.differs_from == index:
            message = (
                "the marks on payload ops changed the effect of this step; handles may be wrong from here on"
            )
            warnings.append(record.TraceWarning("defect", message))
        return tuple(warnings)

    def _outcome(self) -> record.Outcome:
        if self._run.status == "ok":
            return record.Outcome()
        kind = _ENDINGS.get(self._run.status) or self._kind()
        message = f"{self._schedule.source} does not apply to {self._payload.source}"
        return outcome_of(self._failure(kind, message), self._failed)

    def _kind(self) -> FailureKind:
        if self._failed is None:
            return "invalid-payload"
        messages = " ".join(d.message for d in self._said)
        if "invalidated by a previously executed transform op" in messages:
            return "invalidated-handle"
        if "more than once" in messages:
            return "repeated-payload"
        return "silenceable" if self._tracing.suppresses() else "definite"

    def _failure(self, kind: FailureKind, message: str, advice: str | None = None) -> Failure:
        texts = ((self._payload.source, self._payload.text), (self._schedule.source, self._schedule.text))
        output = "" if self._said else self._run.errors
        return Failure(kind, message, self._said, advice, texts=texts, output=output)

    def failure_before_steps(self) -> Failure:
        """Return why no step began."""
        first = self._said[0].span if self._said else None
        in_payload = first is not None and first.file == self._payload.source
        parse: FailureKind = "payload-parse" if in_payload else "schedule-parse"
        kind = parse if self._run.status == "failed" else _ENDINGS.get(self._run.status, "crash")
        host = self._tracing.host
        return self._failure(
            kind,
            f"{host.name} {host.version} failed before the first step",
            "Its MLIR may not know what the text uses; without LHKIT_OPT the bindings trace it.",
        )


def outcome_of(failure: Failure, failed_step: int | None) -> record.Outcome:
    """Return the outcome of a trace that ended with a failure; the trace has the last good IR itself."""
    shown = dataclasses.replace(failure, last_good_ir=None)
    return record.Outcome(failure.reaction.outcome, failed_step, failure.kind, shown.describe())


def trace_with_opt(
    host: OptHost, payload: Payload, schedule: Schedule, *, limits: Limits | None = None
) -> record.Trace:
    """Apply a schedule with a compiler binary and record the handles after every step.

    Named sequences in the payload are ignored; knobs must be folded for compilers without them.

    Raises:
        PayloadError, ScheduleError: The program's version of MLIR does not accept the text.
        UsageError: The entry is not in the schedule's own text.
    """
    entry = read_entry(schedule.text, schedule.entry)
    with temporary_place("lhkit-opt-") as folder:
        (folder / PAYLOAD).write_text(without_sequences(payload.text), encoding="utf-8")
        libraries = tuple(f"library{i}.mlir" for i in range(len(schedule.libraries)))
        for path, library in zip(libraries, schedule.libraries, strict=True):
            (folder / path).write_text(library.text, encoding="utf-8")
        given = (schedule.bind, libraries, schedule.allowed_passes)
        tracing = OptTracing(host, entry, *given, folder, limits or Limits())
        plain = tracing.run()
        payloads = printed_payloads(plain.output)
        if plain.status in ("crashed", "timeout") and (ended := ended_steps(plain.errors)):
            # What it had printed is gone; up to there it can be had again.
            payloads = printed_payloads(tracing.run(ended - 1).output)
        assembly = _TraceAssembly(tracing, payload, schedule, plain, payloads)
        if not payloads:
            raise error_for(assembly.failure_before_steps())
        tracing.trees.update({step: tree_of(text) for step, text in payloads.items()})
        tracing.infer_effects()
        tracing.follow(payloads)
        return assembly.trace()


def load_for_opt(
    payload: str | os.PathLike[str],
    schedule: str | os.PathLike[str],
    *,
    entry: str | None = None,
    bind: Sequence[str] = (),
    libraries: Sequence[str | os.PathLike[str]] = (),
    allow_passes: Sequence[str] = (),
) -> tuple[Payload, Schedule]:
    """Return a payload and a schedule without parsing them: the binary will.

    Args:
        payload: A path, or MLIR text.
        schedule: A path, or transform IR.
        entry: The named sequence to apply; default ``__transform_main``, else the only one.
        bind: Op names for the entry's arguments after the root.
        libraries: Files with named sequences that the schedule includes, besides those that its comments name.
        allow_passes: Passes that it may run besides those of `lhkit.model.pass_policy`.

    Raises:
        UsageError: No such file, bytecode, no named sequence, or no such entry.
    """
    source, content, _, _ = read_module(payload, "data", "<payload>")
    shown, written, _, _ = read_module(schedule, "schedules", "<schedule>")
    text = written.decode(errors="replace")
    sequences = tuple(NamedSequence(name, (), op.at.line) for name, op in find_sequences_by_name(text).items())
    if not sequences:
        raise usage_error(f"{shown} has no named sequence")
    return (
        Payload(source=source, text=content.decode(errors="replace"), functions=()),
        Schedule(
            source=shown,
            text=text,
            sequences=sequences,
            knobs=(),
            entry=choose_entry(sequences, entry, source=shown),
            bind=tuple(bind),
            libraries=read_libraries(shown, written, libraries),
            allowed_passes=tuple(allow_passes),
        ),
    )
