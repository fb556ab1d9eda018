"""A trace by a compiler binary: what can be had from prints, with the same rule for handles.

The text of the schedule gets probes: one run prints the payload after every step, and further runs mark the
payload ops of the handles that are valid then with attributes, which the print shows. Which handles are valid
after a step follows from what they pointed to before it, so each consuming step takes a run. Steps inside of
other steps, times, what became of single payload ops, and what value handles point to cannot be had; the
trace says so.
"""

from __future__ import annotations

from lhkit.model.errors import error_for
from lhkit.model.failure import Diagnostic, Failure
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import (
    Trace,
)
from lhkit.traces.opt.opt_assembling import assemble_trace
from lhkit.traces.opt.opt_binary import OptHost, OptRun
from lhkit.traces.opt.opt_output import (
    diagnostics,
    ended_steps,
    printed_payloads,
    tree_of,
)
from lhkit.traces.opt.opt_runs import PAYLOAD, SCHEDULE, OptTracing
from lhkit.traces.opt.probed_schedule import (
    read_entry,
    without_sequences,
)
from lhkit.worker.limits import Limits
from lhkit.worker.temp_folders import temporary_place


def trace_with_opt(
    host: OptHost, payload: Payload, schedule: Schedule, *, limits: Limits | None = None
) -> Trace:
    """Apply a schedule with a compiler binary and record what handles are after every step.

    Args:
        host: The program, from `opt_host`.
        payload: What to apply it to; named sequences in it are left out.
        schedule: What to apply; knobs must have been folded to literals for compilers that have none.
        limits: Time and memory of each run.

    Raises:
        PayloadError, ScheduleError: The program's version of MLIR does not take the text.
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
        message=f"{host.name} {host.version} did not come to the first step",
        diagnostics=said,
        advice="Its MLIR may not know what the text uses; without LHKIT_OPT the bindings trace it.",
        output="" if said else run.errors,
        texts=((payload.source, payload.text), (schedule.source, schedule.text)),
    )
