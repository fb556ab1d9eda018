"""Views and pages of traces: handles, steps, payload frames, graphs and tiles."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, cast

from lhkit.draw.graph_svg import graph_html
from lhkit.draw.live_view import Drawing
from lhkit.draw.svg import drawing_id, element, escaped
from lhkit.draw.viewer import Frame, Pane, View, ViewStep, failure_html, page_html
from lhkit.load.catalogue_cache import known_help
from lhkit.model.errors import LhkitError, usage_error
from lhkit.model.explanation import Repair, Repairs
from lhkit.model.printable import counted
from lhkit.model.trace_record import ParamReference, PayloadDelta, Reference, Trace
from lhkit.show.value_views import graph_pane, tiles_pane
from lhkit.tiles.tile_requests import tile_picture_of
from lhkit.traces.diff.ir_html import ir_html
from lhkit.traces.diff.line_diff import IrDiff
from lhkit.traces.diff.op_diff import ir_diff
from lhkit.traces.explain.compiler_words import compiler_text
from lhkit.traces.explain.handle_explanation import failure_of
from lhkit.traces.graph.payload_graph import outline_after, payload_flow_of
from lhkit.traces.graph.schedule_graph import schedule_flow
from lhkit.traces.record.handle_history import display_names
from lhkit.traces.record.placed_ops import order_at
from lhkit.traces.report.markdown_report import trace_command
from lhkit.traces.report.schedule_html import schedule_html, schedule_lines, steps_html
from lhkit.traces.report.trace_text import plain_text, trace_lines
from lhkit.traces.timeline.handle_timeline import timeline_drawing, timeline_html, timeline_svg
from lhkit.traces.timeline.timeline_data import timeline_data
from lhkit.worker.client import Worker

# Limit on payload frames; each takes some kilobytes of a page.
_MOST_FRAMES = 250
_PAGE_ITERATIONS = 16
_STATUS_WORDS = {"ok": "", "suppressed": " · failed, suppressed", "not-run": " · not run"}


def trace_key(trace: Trace) -> str:
    """Return an id of a trace: a hash of payload, schedule, knobs and outcome."""
    schedule, outcome = trace.schedule, trace.outcome
    parts = (trace.payload.sha256, schedule.sha256, schedule.entry, repr(schedule.knobs))
    return drawing_id(*parts, outcome.status, str(outcome.failed_step), str(len(trace.step_records)))


def trace_view(trace: Trace, panes: tuple[Pane, ...], start: int | None = None) -> View:
    """Return a view of a trace; ``start`` None is the step that failed, else the last that ran."""
    names = display_names(trace)
    ends, held = _history(trace)
    at = start_step(trace) if start is None else start
    return View(trace_key(trace), panes, view_steps(trace), at, tuple(names.items()), ends, held)


def start_step(trace: Trace) -> int:
    """Return the step to show first: the one that failed, else the last that ran."""
    ran = [s.index for s in trace.step_records if s.status != "not-run"]
    failed = trace.outcome.failed_step
    return failed if failed is not None else (ran[-1] if ran else -1)


def view_steps(trace: Trace) -> tuple[ViewStep, ...]:
    """Return the positions of the slider: the payload as given, then every step."""
    steps = [ViewStep(-1, "before the first step")]
    for step in trace.step_records:
        status = _STATUS_WORDS.get(step.status, f" · {step.status.upper()}")
        steps.append(ViewStep(step.index, f"step {step.index} · {_short(step.op)}{status}", step.status))
    return tuple(steps)


def _short(op: str) -> str:
    return op.removeprefix("transform.")


def _history(
    trace: Trace,
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[str, tuple[tuple[int, str], ...]], ...]]:
    """Return `View.ends` and `View.held`: end positions of steps, and payload ops of handles over time."""
    ends: list[tuple[int, int]] = []
    held: dict[str, list[tuple[int, str]]] = {}
    for position, step in enumerate(trace.steps_by_end()):
        ends.append((step.index, position))
        for change in step.changes:
            held.setdefault(change.handle, []).append((position, _ops_in_words(change.payload)))
    return tuple(ends), tuple((handle, tuple(entries)) for handle, entries in held.items())


def _ops_in_words(payload: Sequence[Reference]) -> str:
    try:
        return " ".join(dict.fromkeys(cast("Sequence[str]", payload)))  # most handles are to ops, often to many
    except TypeError:
        references = [r for r in payload if not isinstance(r, ParamReference)]
        return " ".join(dict.fromkeys(r if isinstance(r, str) else r.op for r in references))


def timeline_pane(trace: Trace) -> Pane:
    """Return the handle timeline: with a script all of it, else the drawing with folds."""
    drawing = timeline_drawing(trace)
    picture = timeline_svg(drawing, themed=False)
    return Pane("timeline", "Handles", timeline_html(drawing), picture=picture, timeline=timeline_data(trace))


def schedule_panes(trace: Trace, help: Mapping[str, str]) -> tuple[Pane, ...]:
    """Return the schedule and its libraries, linked to steps and handles; empty without provenance."""
    given = trace.provenance
    if given is None:
        return ()
    own = schedule_lines(given.schedule.text, trace, help)
    panes = [Pane("schedule", "Schedule", schedule_html(own, label="schedule"))]
    for library in given.schedule.libraries:
        html = schedule_html(schedule_lines(library.text, trace, help, library.source), label="library")
        panes.append(Pane("library", PurePath(library.source).name, html, folded=True))
    return tuple(panes)


def payload_pane(trace: Trace) -> Pane:
    """Return the payload diff of each step; of very many steps those with the largest change."""
    steps = _steps_with_frames(trace)
    frames = tuple(Frame(step, ir_html(ir_diff(trace, step))) for step in steps)
    left = len(_steps_to_frame(trace)) - len(steps)
    title = "Payload" if not left else f"Payload (without {counted(left, 'step')} that changed little)"
    return Pane("payload", title, "" if frames else "nothing ran", frames)


def against_view(trace: Trace, diff: IrDiff) -> View:
    """Return a diff between any two steps, without a slider."""
    return dataclasses.replace(trace_view(trace, (Pane("payload", "Payload", ir_html(diff)),)), steps=())


def _steps_to_frame(trace: Trace) -> list[int]:
    """Return the steps with a snapshot, and the one that failed, which has none of its own."""
    failed = trace.outcome.failed_step
    steps = [s.step for s in trace.snapshots]
    return [*steps, failed] if steps and failed is not None and failed not in steps else steps


def _steps_with_frames(trace: Trace) -> list[int]:
    """Return the steps to show; of too many those with the largest change."""
    steps = _steps_to_frame(trace)
    if len(steps) > _MOST_FRAMES:
        kept = {-1, trace.outcome.failed_step, steps[-1]}

        def weight(step: int) -> tuple[bool, int]:
            delta = trace.step_records[step].payload_delta if step >= 0 else PayloadDelta()
            changed = sum(map(len, (delta.created, delta.erased, delta.changed, delta.moved)))
            return (step in kept, changed)

        steps = sorted(steps, key=weight, reverse=True)[:_MOST_FRAMES]
    return sorted(steps)


def failure_panes(trace: Trace, repairs: Sequence[Repair] = ()) -> tuple[Pane, ...]:
    """Return why a trace failed, as the command line says it, and the repairs that were tried."""
    failure, outcome = failure_of(trace), trace.outcome
    if failure is None and outcome.message is None:
        return ()
    if repairs:
        failure = failure and dataclasses.replace(failure, advice=None)
    said = failure_html(failure.describe() if failure else outcome.message or "", compiler_text(trace))
    if not repairs:
        return (Pane("failure", outcome.status, said),)
    listed = element("pre", escaped(Repairs(tuple(repairs)).describe()), class_="lh-repairs")
    title = "Repairs that were tried on a copy of the schedule"
    return Pane("failure", outcome.status, said), Pane("repairs", title, listed)


def whole_trace_view(
    trace: Trace, help: Mapping[str, str], details: Iterable[Pane] = (), repairs: Sequence[Repair] = ()
) -> View:
    """Return all drawings of a trace as one view; ``help`` maps ops to sentences, see `detail_panes`."""
    schedule = schedule_panes(trace, help)
    panes = (
        *failure_panes(trace, repairs),
        timeline_pane(trace),
        *schedule[:1],
        payload_pane(trace),
        Pane("steps", "Steps, one by one", steps_html(trace), folded=bool(schedule)),
        *schedule[1:],
        graph_pane("schedule-graph", "What flows where in the schedule", schedule_flow(trace), folded=True),
        *details,
    )
    return trace_view(trace, panes)


def _flow_said(trace: Trace, step: int) -> str:
    """Return the caption of a graph, which is shown until the next step that changes the payload."""
    said = "The payload as given."
    if step >= 0:
        op = _short(trace.step_records[step].op)
        said = f"After step {step}, {op}, with what it created, changed, moved and erased; the rest is folded."
    return element("p", escaped(said), class_="lh-note")


def trace_page(
    trace: Trace,
    help: Mapping[str, str],
    details: Iterable[Pane] = (),
    *,
    command: str | None = None,
    repairs: Sequence[Repair] = (),
) -> str:
    """Return a trace as one self-contained interactive HTML file; see `whole_trace_view`."""
    schedule = trace.schedule
    files = (PurePath(source).name for source in (schedule.source, trace.payload.source))
    title = "{}, applied to {}".format(*files)
    summary = f"{counted(len(trace.step_records), 'step')}, outcome: {trace.outcome.status}."
    hint = (
        " Go through them with the slider or ← and →; click a handle, a step or a payload op to see it"
        " everywhere; Esc lets go."
        " Ctrl or Shift and the wheel zoom."
    )
    view, facts = whole_trace_view(trace, help, details, repairs), _facts(trace, command)
    bare = _without_folders(trace)
    panes = [
        dataclasses.replace(
            pane,
            html=bare(pane.html),
            timeline=bare(pane.timeline),
            frames=tuple(dataclasses.replace(frame, html=bare(frame.html)) for frame in pane.frames),
        )
        for pane in view.panes
    ]
    facts = tuple((name, bare(value)) for name, value in facts)
    shown = dataclasses.replace(view, panes=tuple(panes))
    return page_html(shown, title=title, summary=summary, facts=facts, hint=hint)


def _without_folders(trace: Trace) -> Callable[[str], str]:
    """Return a function that takes the folders of a trace's files out of a text: a page is handed on."""
    files = [PurePath(s) for s in (trace.schedule.source, trace.payload.source, *(n for n, _ in trace.texts))]
    folders = {str(f)[: -len(f.name)] for f in files if f.is_absolute() and len(f.parts) > 2}

    def bare(text: str) -> str:
        for folder in sorted(folders, key=len, reverse=True):
            text = text.replace(folder, "")
        return text

    return bare


def _facts(trace: Trace, command: str | None) -> tuple[tuple[str, str], ...]:
    """Return the provenance of a trace: inputs with hashes, knobs, versions, the command."""
    schedule, toolchain = trace.schedule, trace.toolchain
    knobs = ", ".join(f"{name}={value}" for name, value in schedule.knobs)
    given = trace.provenance
    if given is not None and not command:
        files = [name for name, _ in given.texts]
        command = trace_command(given.schedule, files[0], files[1], files[2:])
    facts = {
        "payload": trace.payload.source,
        "sha256 of the payload": trace.payload.sha256,
        "schedule": f"{schedule.source}, @{schedule.entry}",
        "sha256 of the schedule": schedule.sha256,
        "knobs": knobs,
        toolchain.bindings: toolchain.version,
        "cpu": toolchain.cpu,
        **(dict(given.versions) if given else {}),
        "command": command or "",
    }
    return tuple((name, value) for name, value in facts.items() if name and value)


# Within these limits all graphs of a trace are drawn in less than two seconds.
_MOST_STEPS = 30
_MOST_OPS = 150
_ONE = "lhkit.show.graph(trace, step=…) draws that of one step."


def detail_panes(trace: Trace, *, worker: Worker | None = None) -> list[Pane]:
    """Return graphs of the payload and a picture of its tiles, or the reasons for leaving them out."""
    if not any(s.step == -1 for s in trace.snapshots):
        return []
    panes, notes = [], []
    try:
        frames = _payload_graphs(trace, worker)
        panes.append(Pane("payload-graph", "What flows where in the payload", frames=frames, folded=True))
    except LhkitError as error:
        notes.append(f"Graphs of the payload are not drawn: {_said(error)}")
    try:
        panes.append(tiles_pane(tile_picture_of(trace, worker=worker), _PAGE_ITERATIONS, folded=True))
    except LhkitError as error:
        notes.append(f"No picture of tiles: {_said(error)}")
    if notes:
        listed = "".join(element("p", escaped(note), class_="lh-note") for note in notes)
        panes.append(Pane("left-out", "", listed))
    return panes


def _payload_graphs(trace: Trace, worker: Worker | None) -> tuple[Frame, ...]:
    """Return the graph of the payload as given, and after each step that changed it."""
    known = {s.step for s in trace.snapshots}
    changing = (s.index for s in trace.step_records if s.payload_delta != PayloadDelta())
    steps = [step for step in (-1, *changing) if step in known]
    if len(steps) > _MOST_STEPS:
        raise usage_error(f"{counted(len(steps), 'step')} changed it. {_ONE}")
    ops = max(
        len(order_at(trace, step) or outline_after(trace, step, worker=worker).ops)
        for step in (steps[0], steps[-1])
    )
    if ops > _MOST_OPS:
        raise usage_error(f"it has {ops} ops. {_ONE}")
    flows = [payload_flow_of(trace, step, worker=worker) for step in steps]
    return tuple(
        Frame(step, _flow_said(trace, step) + graph_html(flow)) for step, flow in zip(steps, flows, strict=True)
    )


def _said(error: LhkitError) -> str:
    return error.failure.message.partition("\n")[0]


def trace_bundle(trace: Trace) -> dict[str, Any]:
    """Return a trace as a MIME bundle: its handles, its schedule, the payload after each step."""
    return trace_drawing(trace)._repr_mimebundle_()


def trace_drawing(trace: Trace, details: Iterable[Pane] = ()) -> Drawing:
    """Return all drawings of a trace as one; see `detail_panes`."""
    text = plain_text(trace_lines(trace))
    view = whole_trace_view(trace, known_help(), details)
    return Drawing(view, text, lambda: timeline_svg(timeline_drawing(trace), themed=False))
