"""The trace assembled from runs of a compiler binary.

One run prints the payload after every step; further runs mark the payload ops of valid handles with attributes.
Valid handles follow from what they pointed to before, so each consuming step takes a run. Nested steps, times,
changes of single payload ops and targets of value handles are not available; the trace says so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import count

from lhkit.load.environment import cpu_name
from lhkit.load.source_texts import read_libraries, read_module
from lhkit.model.errors import Diagnostic, Failure, FailureKind, OutcomeStatus, error_for, usage_error
from lhkit.model.invalidation import Death, Verdict
from lhkit.model.payload import Payload
from lhkit.model.schedule import NamedSequence, Schedule, choose_entry
from lhkit.model.snapshot_delta import find_edits, written_order
from lhkit.model.span import Span
from lhkit.model.trace_record import (
    HandleChange,
    HandleRecord,
    Invalidation,
    Operand,
    Outcome,
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
from lhkit.traces.opt.opt_binary import (
    OptHost,
    OptRun,
    align,
    diagnostics,
    ended_steps,
    printed_payloads,
    tree_of,
)
from lhkit.traces.opt.opt_runs import PAYLOAD, SCHEDULE, OptTracing
from lhkit.traces.opt.probed_schedule import find_sequences_by_name, read_entry, without_sequences
from lhkit.worker.limits import Limits
from lhkit.worker.temp_folders import temporary_place

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
    """Return the trace: ``run`` is the one without marks, ``payloads`` its payloads by step."""
    entry = tracing.entry
    last = max(payloads)
    failed = last + 1 if run.status != "ok" and last + 1 < len(entry.steps) else None
    ids, ops = _op_records(tracing, last)
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


def _op_records(tracing: OptTracing, last: int) -> tuple[dict[int, tuple[str, ...]], tuple[PayloadOp, ...]]:
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
            "payload ops matched by their text, targets of value handles unknown"
        )
        warnings.append(TraceWarning("binary-host", message))
    if tracing.entry.steps[index].op.regions or tracing.entry.steps[index].op.name == "transform.include":
        warnings.append(TraceWarning("binary-host", f"steps inside of it are not seen by {host}"))
    if tracing.differs_from == index:
        message = "the marks on payload ops changed the effect of this step; handles may be wrong from here on"
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


def trace_with_opt(
    host: OptHost, payload: Payload, schedule: Schedule, *, limits: Limits | None = None
) -> Trace:
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
        allowed = schedule.allowed_passes
        tracing = OptTracing(
            host, entry, schedule.bind, libraries, folder, limits or Limits(), allowed_passes=allowed
        )
        plain = tracing.run()
        names = {PAYLOAD: payload.source, SCHEDULE: schedule.source}
        names |= {p: library.source for p, library in zip(libraries, schedule.libraries, strict=True)}
        payloads = printed_payloads(plain.output)
        if plain.status in ("crashed", "timeout") and (ended := ended_steps(plain.errors)):
            # What it had printed is gone; up to there it can be had again.
            payloads = printed_payloads(tracing.run(ended - 1).output)
        said = diagnostics(plain.errors, names)
        if not payloads:
            raise error_for(_not_begun(host, plain, said, payload, schedule))
        tracing.trees.update({step: tree_of(text) for step, text in payloads.items()})
        tracing.infer_effects()
        tracing.follow(payloads)
        return assemble_trace(tracing, payload, schedule, plain, payloads, said)


def _not_begun(
    host: OptHost, run: OptRun, said: tuple[Diagnostic, ...], payload: Payload, schedule: Schedule
) -> Failure:
    in_payload = bool(said) and said[0].span is not None and said[0].span.file == payload.source
    kind = "payload-parse" if in_payload else "schedule-parse"
    if run.status != "failed":
        kind = "timeout" if run.status == "timeout" else "crash"
    return Failure(
        kind=kind,  # type: ignore[arg-type]
        message=f"{host.name} {host.version} failed before the first step",
        diagnostics=said,
        advice="Its MLIR may not know what the text uses; without LHKIT_OPT the bindings trace it.",
        output="" if said else run.errors,
        texts=((payload.source, payload.text), (schedule.source, schedule.text)),
    )


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
