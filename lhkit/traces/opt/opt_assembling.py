"""What runs of a compiler binary found out, put together as a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from lhkit.load.environment import cpu_name
from lhkit.model.failure import Diagnostic, Failure, FailureKind
from lhkit.model.invalidation import Death, Verdict
from lhkit.model.op_order import written_order
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.snapshot_delta import find_edits
from lhkit.model.span import Span
from lhkit.model.trace_record import (
    HandleChange,
    HandleRecord,
    Invalidation,
    Operand,
    Outcome,
    OutcomeStatus,
    ParamReference,
    PayloadOp,
    ScheduleRecord,
    Snapshot,
    SourceRecord,
    StepStatus,
    Toolchain,
    Trace,
    TraceStep,
    TraceWarning,
)
from lhkit.traces.opt.opt_binary import OptRun
from lhkit.traces.opt.opt_output import (
    align,
)
from lhkit.traces.opt.opt_runs import OptTracing

_ENDINGS: Mapping[str, tuple[OutcomeStatus, FailureKind]] = {
    "timeout": ("timeout", "timeout"),
    "crashed": ("crashed", "crash"),
}


def assemble_trace(
    tracing: OptTracing,
    payload: Payload,
    schedule: Schedule,
    run: OptRun,
    payloads: dict[int, str],
    said: tuple[Diagnostic, ...],
) -> Trace:
    """Return the trace of what runs found out.

    Args:
        tracing: The runs, with what handles point to.
        payload: What the schedule was applied to.
        schedule: The schedule.
        run: The run without marks, which decides how it ended.
        payloads: The payload after each step of that run.
        said: Its errors.
    """
    entry = tracing.entry
    last = max(payloads)
    failed = last + 1 if run.status != "ok" and last + 1 < len(entry.steps) else None
    ids, ops = _op_records(tracing, payload, last)
    steps = [_step(tracing, i, ids, failed, said, schedule) for i in range(len(entry.steps))]
    return Trace(
        payload=SourceRecord(payload.source, payload.sha256),
        schedule=ScheduleRecord(
            schedule.source, schedule.sha256, schedule.entry, tuple(schedule.values.items())
        ),
        toolchain=Toolchain(tracing.host.name, tracing.host.version, cpu_name()),
        outcome=_outcome(tracing, run, failed, said, payload, schedule),
        handle_records=tuple(
            HandleRecord(f"h{i}", h.name, h.kind, f"@{entry.name}", (), h.defined_by)
            for i, h in enumerate(entry.handles)
        ),
        step_records=tuple(steps),
        elided=(),
        op_records=ops,
        snapshots=tuple(_snapshots(payloads, ids)),
    )


def _snapshots(payloads: dict[int, str], ids: dict[int, tuple[str, ...]]) -> list[Snapshot]:
    found = [Snapshot(-1, payloads[-1], ops=written_order(ids[-1]))]
    for step in range(max(payloads) + 1):
        edits = find_edits(payloads[step - 1].split("\n"), payloads[step].split("\n"))
        found.append(Snapshot(step, None, step - 1, edits, written_order(ids[step])))
    return found


def _op_records(
    tracing: OptTracing, payload: Payload, last: int
) -> tuple[dict[int, tuple[str, ...]], tuple[PayloadOp, ...]]:
    """Return the ids of the ops of each tree, and a record for each id."""
    fresh = (f"o{i}" for i in count())
    ids: dict[int, tuple[str, ...]] = {}
    records: dict[str, PayloadOp] = {}
    for step in range(-1, last + 1):
        tree = tracing.trees[step]
        ids[step] = align(tracing.trees.get(step - 1, ()), ids.get(step - 1, ()), tree, fresh)
        for op, each in zip(tree, ids[step], strict=True):
            parent = None if op.parent is None else ids[step][op.parent]
            records.setdefault(each, PayloadOp(each, op.name, parent, (), step, None, None))
        for gone in set(ids.get(step - 1, ())) - set(ids[step]):
            known = records[gone]
            records[gone] = PayloadOp(known.id, known.name, known.parent, (), known.born, step, None)
    return ids, tuple(records.values())


def _step(
    tracing: OptTracing,
    index: int,
    ids: dict[int, tuple[str, ...]],
    failed: int | None,
    said: tuple[Diagnostic, ...],
    schedule: Schedule,
) -> TraceStep:
    step = tracing.entry.steps[index]
    ran = index in ids
    status: StepStatus = "ok" if ran else "failed" if index == failed else "not-run"
    at = step.op.at
    consumed = tracing.consumed[index]
    verdict = tracing.verdicts.get(index, Verdict()) if ran else Verdict()
    names = ids.get(index - 1, ())
    return TraceStep(
        index=index,
        op=step.op.name,
        source=Span(schedule.source, at.line, at.column),
        status=status,
        operands=tuple(
            Operand(f"h{o}", "consume" if c else "read") for o, c in zip(step.operands, consumed, strict=True)
        ),
        results=tuple(f"h{r}" for r in step.results) if ran else (),
        changes=_changes(tracing, index, ids) if ran else (),
        invalidated=tuple(_invalidation(d, names) for d in verdict.deaths),
        warnings=_warnings(tracing, index),
        diagnostics=said if index == failed else (),
    )


def _invalidation(death: Death, names: Sequence[str]) -> Invalidation:
    op = None if death.payload_op is None else names[death.payload_op]
    ancestor = None if death.ancestor is None else names[death.ancestor]
    return Invalidation(f"h{death.handle}", death.cause, f"h{death.by}", op, ancestor)


def _changes(tracing: OptTracing, index: int, ids: dict[int, tuple[str, ...]]) -> tuple[HandleChange, ...]:
    before = _states(tracing, index - 1, ids) if index else {}
    now = _states(tracing, index, ids)
    changes = [change for handle, change in now.items() if before.get(handle) != change]
    dead = tracing.verdicts.get(index, Verdict()).deaths
    return (*changes, *(HandleChange(f"h{d.handle}", "invalid") for d in dead))


def _states(tracing: OptTracing, step: int, ids: dict[int, tuple[str, ...]]) -> dict[int, HandleChange]:
    states = {}
    for handle in tracing.valid.get(step, ()):
        known = tracing.entry.handles[handle]
        if known.kind == "param" and handle in tracing.parameters:
            states[handle] = HandleChange(f"h{handle}", "live", (ParamReference(tracing.parameters[handle]),))
        elif known.kind != "op":
            states[handle] = HandleChange(f"h{handle}", "live")
        elif step in tracing.points_to:
            ops = tuple(ids[step][op] for op in tracing.points_to[step].get(handle, ()))
            states[handle] = HandleChange(f"h{handle}", "live" if ops else "empty", ops)
    return states


def _warnings(tracing: OptTracing, index: int) -> tuple[TraceWarning, ...]:
    host = f"{tracing.host.name} {tracing.host.version}"
    warnings = []
    if index == 0:
        message = (
            f"traced by running {host}: no times, no changes of single payload ops, "
            "ids of payload ops by likeness of their text, nothing of what value handles point to"
        )
        warnings.append(TraceWarning("binary-host", message))
    if tracing.entry.steps[index].op.regions or tracing.entry.steps[index].op.name == "transform.include":
        warnings.append(TraceWarning("binary-host", f"steps inside of it are not seen by {host}"))
    if tracing.differs_from == index:
        message = "the marks on payload ops changed what this step did; handles may be wrong from here on"
        warnings.append(TraceWarning("defect", message))
    return tuple(warnings)


def _outcome(
    tracing: OptTracing,
    run: OptRun,
    failed: int | None,
    said: tuple[Diagnostic, ...],
    payload: Payload,
    schedule: Schedule,
) -> Outcome:
    if run.status == "ok":
        return Outcome()
    texts = ((payload.source, payload.text), (schedule.source, schedule.text))
    status, kind = _ENDINGS.get(run.status, ("failed", _kind(tracing, failed, said)))
    failure = Failure(
        kind=kind,
        message=f"{schedule.source} does not apply to {payload.source}",
        diagnostics=said,
        texts=texts,
        output="" if said else run.errors,
    )
    return Outcome(status, failed, kind, failure.describe())


def _kind(tracing: OptTracing, failed: int | None, said: tuple[Diagnostic, ...]) -> FailureKind:
    if failed is None:
        return "invalid-payload"
    messages = " ".join(d.message for d in said)
    if "invalidated by a previously executed transform op" in messages:
        return "invalidated-handle"
    if "more than once" in messages:
        return "repeated-payload"
    return "silenceable" if tracing.suppresses() else "definite"
