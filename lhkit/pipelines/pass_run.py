"""Runs of pass pipelines in the worker, pass by pass, also of lhkit's own lowering."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from lhkit.kernels.kernel import Kernel
from lhkit.load.loader import application_of, as_payload, as_schedule, payload_source
from lhkit.model.errors import Failure, public, usage_error
from lhkit.model.file_io import read_text
from lhkit.model.knob import KnobValue
from lhkit.model.pass_pipeline import LOWER, parse_pipeline
from lhkit.model.pass_trace import PassStep, PassTrace, by_dialect, sorted_counts
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import ScheduleRecord, Trace
from lhkit.pipelines.iree_passes import phase_of, run_iree
from lhkit.pipelines.print_ir_log import TextStore
from lhkit.traces.record.placed_ops import shown_delta
from lhkit.traces.record.trace_run import RecordedRun, record_run
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.kernel_requests import RunPasses
from lhkit.worker.limits import Limits
from lhkit.worker.reproducer import write_reproducer
from lhkit.worker.requests import Source

_NO_SUCH_OP = "the payload has no op of the kind that it is nested in"


@public
def run_passes(
    payload: Payload | str | os.PathLike[str],
    pipeline: str | os.PathLike[str],
    *,
    schedule: Schedule | str | os.PathLike[str] | None = None,
    knobs: Mapping[str, KnobValue] | None = None,
    function: str | None = None,
    allow_passes: Sequence[str] = (),
    worker: Worker | None = None,
    limits: Limits | None = None,
) -> PassTrace:
    """Run a pass pipeline on a payload and record what each pass does, op by op.

    A pass that fails or crashes, and an exceeded limit, give a value up to there: ``failure`` has the reason,
    the last good IR, and a file that repeats it.

    Args:
        payload: The payload, loaded or a path; it is not changed.
        pipeline: The text of a pipeline, as for ``mlir-opt --pass-pipeline``, also without ``builtin.module``
            around it; a ``Path`` is a file with such a text. ``lower`` is lhkit's own lowering to LLVM. With
            ``iree`` IREE compiles it for this CPU (extra ``iree``), with ``iree:flow`` up to that phase.
        schedule: A schedule to apply before, loaded or a path; IREE is given it as a preprocessing spec.
        knobs: Values for knobs of the schedule.
        function: The function to lower; needed for ``lower`` where the payload has several.
        allow_passes: Passes that may run besides those that only change IR.
        worker: Another worker than the session's.
        limits: Time and memory for the run.

    Returns:
        The passes, an immutable value.

    Raises:
        UsageError: The text is no pipeline, or has a pass that does not exist or is not allowed.
        PayloadError, ScheduleError: The payload or the schedule does not load, or the schedule does not apply.

    Before and after: ``lhkit.passes("fc_relu.mlir", "func.func(canonicalize,cse)").diff(0)``.
    """
    payload = as_payload(payload, worker)
    if schedule is not None:
        schedule = as_schedule(schedule, worker)
        schedule = schedule.with_knobs(knobs) if knobs else schedule
    elif knobs:
        raise usage_error("knobs were given without a schedule")
    worker, (name, text) = worker or shared_worker(), _pipeline_text(pipeline)
    if (phase := phase_of(text)) is not None:
        return run_iree(payload, text.strip(), phase, schedule, worker, limits or Limits())
    spec = Kernel(payload, schedule, function, 3, worker, limits).spec() if text.strip() == LOWER else None
    applied = ScheduleRecord(name, hashlib.sha256(text.encode()).hexdigest(), text)
    given = (payload_source(payload), Source("code", "pipeline", name, text.encode()))
    application = application_of(schedule) if schedule is not None else None

    def request(journal: str) -> RunPasses:
        return RunPasses(*given, journal, application, tuple(allow_passes), spec)

    return _pass_trace(record_run(request, payload, applied, worker, limits), text.strip())


def _pipeline_text(pipeline: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the name and the text of a pipeline."""
    if isinstance(pipeline, str):
        return "pipeline", pipeline
    try:
        return os.fspath(pipeline), read_text(pipeline, most=1 << 20)
    except (OSError, UnicodeDecodeError) as error:
        raise usage_error(
            f"{os.fspath(pipeline)} cannot be read: {getattr(error, 'strerror', error)}"
        ) from None


def _pass_trace(run: RecordedRun, pipeline: str) -> PassTrace:
    texts = TextStore()
    steps = (*_steps(run, texts), *_never_run(run, pipeline))
    made = PassTrace(
        run.trace.payload.source,
        pipeline,
        steps,
        tuple(texts.packed),
        None,
        is_by_identity=True,
        record=run.trace,
    )
    return dataclasses.replace(made, failure=_placed(run, made)) if run.failure is not None else made


def _never_run(run: RecordedRun, pipeline: str) -> Iterator[PassStep]:
    """Yield the passes of a pipeline for ops that the payload does not have: they did not run."""
    if run.failure is None and pipeline != LOWER:
        ran, index = {step.op for step in run.trace.step_records}, len(run.trace.step_records)
        for item in parse_pipeline(pipeline).passes():
            if str(item) not in ran:
                yield PassStep(index, item.name, item.options, status="not-run", message=_NO_SUCH_OP)
                index += 1


def _placed(run: RecordedRun, made: PassTrace) -> Failure:
    """Return a failure with the pass that it came from, the IR before it, and a file that repeats it."""
    assert run.failure is not None
    failure, at = run.failure, run.trace.outcome.failed_step
    if at is not None and failure.kind != "lowering":
        step = made.steps[at]
        failure = dataclasses.replace(failure, message=f"{step.name} on {step.scope}: {failure.message}")
    reproducer = failure.reproducer or write_reproducer([run.request], failure)
    return dataclasses.replace(failure, reproducer=reproducer, last_good_ir=made.last_good_ir)


def _steps(run: RecordedRun, texts: TextStore) -> Iterator[PassStep]:
    trace = run.trace
    snapshots = _texts_by_step(trace)
    now = texts.add(next(snapshots, (-1, b""))[1]) if trace.snapshots else None
    upcoming = next(snapshots, None)
    for step in trace.step_records:
        name, _, options = step.op.partition("{")
        before: int | None = now
        if upcoming is not None and upcoming[0] == step.index:
            now, upcoming = texts.add(upcoming[1]), next(snapshots, None)
        ran = step.status != "not-run"
        message = "; ".join(d.message for d in step.diagnostics)
        delta = shown_delta(trace, step.index)
        made, gone = (Counter(trace.op(op).name for op in ops) for ops in (delta.created, delta.erased))
        yield PassStep(
            step.index,
            name,
            options.removesuffix("}"),
            run.scopes.get(step.index, ""),
            status="ok" if step.status == "suppressed" else step.status,
            before=before if ran else None,
            after=now if step.status == "ok" else None,
            made=sorted_counts(made),
            gone=sorted_counts(gone),
            ops=by_dialect(texts.counts[now]) if now is not None else (),
            time_ns=step.time_ns if step.status == "ok" else None,
            message=message,
        )


def _texts_by_step(trace: Trace) -> Iterator[tuple[int, bytes]]:
    """Yield each snapshot's step and text; each is an edit of the one before it."""
    lines: list[str] = []
    for snapshot in trace.snapshots:
        if snapshot.text is not None:
            lines = snapshot.text.split("\n")
        for edit in reversed(snapshot.edits):
            lines[edit.first - 1 : edit.first - 1 + edit.count] = edit.lines
        yield snapshot.step, "\n".join(lines).strip("\n").encode(errors="replace")
