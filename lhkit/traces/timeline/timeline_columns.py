"""The columns of a timeline: folding, labels, heads."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import PurePath

from lhkit.draw.svg import element, escaped, fitted, marks
from lhkit.draw.theme import MONO
from lhkit.model.trace_record import Trace, TraceStep
from lhkit.traces.report.trace_text import STATUS
from lhkit.traces.timeline.lifelines import Bracket, Lifelines, Moment
from lhkit.traces.timeline.timeline_layout import BRACKET, SLANT_DEGREES, SMALL, TimelineLayout
from lhkit.traces.timeline.timeline_records import Column, Group, StepMark, TimelineDrawing

Span = tuple[int, int]
# Number of columns around a failure that stay visible.
_NEAR = 3
_MOST_NOT_RUN = 6


def visible_moments(trace: Trace, lives: Lifelines, most: int, folded: Collection[int] = ()) -> list[Span]:
    """Return spans of moments, both ends included, of about ``most`` columns; longer spans are folds.

    First the middle iterations of loops are folded, then nested steps, deepest first, then the middle of the
    schedule. Failures are folded last.
    """
    folding = _Folding(trace, lives)
    folding.hide_not_run()
    for bracket in lives.brackets:
        if bracket.step in folded:
            folding.hide_inside(bracket)
    for hide in (folding.hide_iterations, folding.hide_insides):
        if folding.columns() > most:
            hide(most)
    if folding.columns() > most:
        folding.hide_the_middle(most)
    return folding.spans()


class _Folding:
    def __init__(self, trace: Trace, lives: Lifelines) -> None:
        self._trace, self._moments, self._brackets = trace, lives.moments, lives.brackets
        self._hidden = [False] * len(self._moments)
        failed = trace.outcome.failed_step
        at = [i for i, m in enumerate(self._moments) if m.kind == "step" and m.step == failed]
        self._failed = at[0] if at and failed is not None else None

    def spans(self) -> list[Span]:
        found: list[Span] = []
        for i, is_hidden in enumerate(self._hidden):
            if is_hidden and found and self._hidden[found[-1][1]]:
                found[-1] = (found[-1][0], i)
            else:
                found.append((i, i))
        return found

    def columns(self) -> int:
        return len(self.spans())

    def hide_not_run(self) -> None:
        run: list[int] = []
        for i, moment in enumerate(self._moments):
            if moment.step >= 0 and self._trace.step_records[moment.step].status == "not-run":
                run.append(i)
                continue
            self._hide_run(run)
            run = []
        self._hide_run(run)

    def _hide_run(self, run: list[int]) -> None:
        if len(run) > _MOST_NOT_RUN:
            self._hide(run[1:-1])

    def hide_iterations(self, most: int) -> None:
        """Hide all iterations of each loop but the first, the last, and a failed one."""
        for bracket in sorted(self._brackets, key=lambda b: b.depth):
            if self.columns() <= most:
                return
            middle = [t for t in bracket.turns[1:-1] if not self._has_failed(*t)]
            if len(bracket.turns) >= 4:
                self._hide(i for first, last in middle for i in range(first, last + 1))
                # What was not recorded lies between them.
                self._hide(
                    i
                    for i in range(bracket.first, bracket.last)
                    if self._moments[i].kind == "elided" and self._hidden[i - 1]
                )

    def hide_insides(self, most: int) -> None:
        for bracket in sorted(self._brackets, key=lambda b: (-b.depth, b.first)):
            if self.columns() <= most:
                return
            if bracket.last - bracket.first > 2 and not self._has_failed(bracket.first + 1, bracket.last):
                self.hide_inside(bracket)

    def hide_inside(self, bracket: Bracket) -> None:
        last = bracket.last if self._moments[bracket.last].kind != "end" else bracket.last - 1
        self._hide(range(bracket.first + 1, last + 1))

    def _has_failed(self, first: int, last: int) -> bool:
        return self._failed is not None and first <= self._failed <= last

    def hide_the_middle(self, most: int) -> None:
        """Hide all but the first and the last columns, and those around a failure."""
        spans = self.spans()
        left = {*range(most - most // 3), *range(len(spans) - most // 3, len(spans))}
        for i, (first, last) in enumerate(spans):
            if self._has_failed(first - _NEAR, last + _NEAR):
                left.add(i)
            elif i not in left:
                self._hide(range(first, last + 1))

    def _hide(self, moments: Iterable[int]) -> None:
        for moment in moments:
            self._hidden[moment] = True


# A folded column has the worst mark of its steps.
_WORST: tuple[StepMark, ...] = ("crashed", "failed", "suppressed", "warning", "not-run")
_MOST_DIAGNOSTICS = 2


def columns_of(trace: Trace, lives: Lifelines, spans: list[Span]) -> tuple[Column, ...]:
    """Return one column per span of moments."""
    return tuple(
        _one(trace, lives.moments[first], first) if first == last else _folded(trace, lives, first, last)
        for first, last in spans
    )


def groups_of(trace: Trace, brackets: tuple[Bracket, ...], spans: list[Span]) -> tuple[Group, ...]:
    """Return the visible brackets: those that begin in an unfolded column, or before the first."""
    found = []
    for bracket in brackets:
        columns = [i for i, (f, last) in enumerate(spans) if f <= bracket.last and last >= bracket.first]
        if not columns:
            continue
        first, last = spans[columns[0]]
        is_hidden = first < last and first <= bracket.first
        if not is_hidden:
            name = f"{bracket.step} {short_name(trace.step_records[bracket.step].op)}"
            found.append(Group(bracket.step, columns[0], columns[-1], bracket.depth, name))
    return tuple(found)


def short_name(op: str) -> str:
    """Return the last part of an op's name."""
    return op.rpartition(".")[2]


def _fold_label(trace: Trace, lives: Lifelines, first: int, last: int) -> str:
    """Return the label of a fold: ``⋯ 30 more iterations``, ``⋯ 120 more steps``."""
    moments = lives.moments[first : last + 1]
    begun = moments[0]
    lost = sum(_lost(m) for m in moments)
    unrecorded = f", {lost} not recorded" if lost else ""
    same = [m for m in moments if m.kind == "turn" and m.step == begun.step]
    if begun.kind == "turn" and begun.turn[0] is not None and _is_inside(trace, moments, begun.step):
        return f"⋯ {len(same) + lost} more iterations{unrecorded}"
    steps = [trace.step_records[m.step] for m in moments if m.kind == "step"]
    what = "steps not run" if steps and all(s.status == "not-run" for s in steps) else "more steps"
    return f"⋯ {len(steps)} {what}{unrecorded}"


def _lost(moment: Moment) -> int:
    first, last = moment.turn
    return (last or 0) - (first or 0) + 1 if moment.kind == "elided" else 0


def _is_inside(trace: Trace, moments: tuple[Moment, ...], step: int) -> bool:
    outer = trace.step_records[step].depth
    return all(m.step == step or trace.step_records[m.step].depth > outer for m in moments)


def _folded(trace: Trace, lives: Lifelines, first: int, last: int) -> Column:
    label = _fold_label(trace, lives, first, last)
    moments = lives.moments[first : last + 1]
    steps = [trace.step_records[m.step] for m in moments if m.kind == "step"]
    kinds = [_mark(step) for step in steps]
    mark: StepMark = next((k for k in _WORST if k in kinds), "")
    note = ""
    if mark not in ("", "not-run"):
        note = f"! {kinds.count(mark)} {'with warnings' if mark == 'warning' else mark}"
    title = f"{label}: steps {steps[0].index} to {steps[-1].index}" if steps else label
    return Column(
        "fold",
        None,
        label.partition(",")[0],
        f"{title}; {note}" if note else title,
        (first, last),
        depth=min((s.depth for s in steps), default=0),
        steps=len(steps),
        note=note,
        mark=mark,
    )


def _one(trace: Trace, moment: Moment, at: int) -> Column:
    here = (at, at)
    if moment.kind == "start":
        return Column("start", None, "arguments", f"the arguments of @{trace.schedule.entry}", here)
    step = trace.step_records[moment.step]
    name = short_name(step.op)
    if moment.kind == "step":
        title, note, mark = _step_title(step), _note(step), _mark(step)
        return Column("step", step.index, name, title, here, step.depth, 1, note, mark)
    if moment.kind == "end":
        title = f"step {step.index} ({step.op}) ends: consumed handles die, results are defined"
        return Column("end", step.index, f"end of {name}", title, here, step.depth)
    if moment.kind == "elided":
        label = f"⋯ {_lost(moment)} iterations not recorded"
        title = f"iterations {moment.turn[0]} to {moment.turn[1]} of step {step.index} ran and are not recorded"
        return Column("elided", step.index, label, title, here, step.depth + 1)
    iteration, alternative = moment.turn
    label = f"iteration {iteration}" if iteration is not None else f"alternative {alternative}"
    title = f"{label} of step {step.index} ({step.op}) begins"
    return Column("turn", step.index, label, title, here, step.depth + 1)


def _mark(step: TraceStep) -> StepMark:
    if step.status != "ok":
        return step.status
    return "warning" if step.warnings else ""


def _note(step: TraceStep) -> str:
    if step.status != "ok":
        return STATUS[step.status][0]
    kinds = list(dict.fromkeys(w.kind for w in step.warnings))
    return f"! {', '.join(kinds)}" if kinds else ""


def _step_title(step: TraceStep) -> str:
    place = f", {PurePath(step.source.file).name}:{step.source.line}" if step.source else ""
    lines = [f"step {step.index}: {step.op}{place}"]
    if step.status != "ok":
        lines.append(STATUS[step.status][0])
    lines += [f"! {w.kind}: {w.message}" for w in step.warnings]
    said = [d for d in step.diagnostics if d.severity in ("error", "note")][:_MOST_DIAGNOSTICS]
    lines += [d.message.strip().partition("\n")[0] for d in said]
    return "\n".join(lines)


# Heads of the columns, brackets, and the bands behind the rows.


_BANDS: dict[StepMark, str] = {
    "failed": "erased-paper",
    "crashed": "erased-paper",
    "suppressed": "changed-paper",
}
_TONES: dict[StepMark, str] = {"": "ink", "warning": "ink", "not-run": "faint"}
# Signs of columns that are not steps, in compact drawings.
_SIGNS = {"start": "▹", "turn": "↻", "end": "◃", "fold": "⋯", "elided": "⋯"}
_SMALLER = 9.5


def heads_part(drawing: TimelineDrawing, at: TimelineLayout) -> str:
    """Return the heads of the columns with their brackets; in a compact drawing only numbers."""
    head = _number if at.is_compact else _named
    drawn = [_bracket(i, drawing, at) for i in range(len(drawing.groups))]
    drawn += [head(i, column, at) for i, column in enumerate(drawing.columns)]
    return element("g", *drawn, font_family=MONO)


def bands_part(drawing: TimelineDrawing, at: TimelineLayout) -> str:
    """Return the bands behind the rows: nested steps, failed steps, the selected step."""
    drawn = []
    for group in drawing.groups:
        left, right = at.edges[group.first] + 2, at.edges[group.last + 1] - 2
        y = at.tracks if at.is_compact else at.numbers + 7 + BRACKET * group.depth
        size = {"x": left, "y": y, "width": right - left, "height": at.bottom - y}
        drawn.append(element("rect", **size, fill="faint", fill_opacity=0.07, data_step=group.step))
    for index, column in enumerate(drawing.columns):
        left, right = at.edges[index], at.edges[index + 1]
        size = {"x": left, "y": at.tracks, "width": right - left, "height": at.bottom - at.tracks}
        if column.mark in _BANDS or column.kind == "fold":
            drawn.append(element("rect", **size, fill=_BANDS.get(column.mark, "panel")))
        if column.kind == "step":
            # Seen when the step is selected.
            drawn.append(element("rect", **size, fill="none", pointer_events="none", data_step=column.step))
    return "".join(drawn)


def _named(index: int, column: Column, at: TimelineLayout) -> str:
    head, tone, x = at.heads[index], _tone(column), at.middle(index)
    note = ""
    if head.note:
        weight = "normal" if column.mark == "not-run" else "bold"
        note = element("tspan", escaped(head.note), dx=6, fill=_note_tone(column.mark), font_weight=weight)
    slanted = f"translate({x:.1f} {at.numbers - 15:.1f}) rotate(-{SLANT_DEGREES})"
    look: dict[str, object] = {"font_size": SMALL, "fill": tone}
    found = marks(step=column.step, label=column.title if column.kind == "step" else "")
    words = [
        element("title", escaped(column.title)),
        element("text", escaped(head.name), note, transform=slanted, **look, **found),
    ]
    number = "⋯" if column.kind in ("fold", "elided") else str(column.step) if column.kind == "step" else ""
    if number:
        place = {"x": x, "y": at.numbers, "text_anchor": "middle", "font_weight": "bold"}
        words.append(element("text", escaped(number), **place, **look, data_step=column.step))
    return element("g", *words, class_="lh-step")


def _number(index: int, column: Column, at: TimelineLayout) -> str:
    left, right = at.edges[index], at.edges[index + 1]
    is_step = column.kind == "step"
    sign = str(column.step) if is_step else _SIGNS[column.kind]
    look = {"font_size": SMALL, "fill": _tone(column), "text_anchor": "middle"}
    text = element("text", escaped(sign), x=at.middle(index), y=at.numbers, font_weight="bold", **look)
    # All of the cell can be pointed at; what is wrong with the step is seen without pointing.
    cell = {"x": left, "y": 0, "width": right - left, "height": at.tracks, "pointer_events": "all"}
    ground = element("rect", fill=_BANDS.get(column.mark, "none"), **cell)
    warning = ""
    if column.mark == "warning":
        place = {"x": right - 8, "y": at.numbers, "font_size": SMALL, "font_weight": "bold"}
        warning = element("text", "!", fill=_note_tone(column.mark), **place)
    found = marks(step=column.step, label=column.title if is_step else "")
    return element(
        "g", element("title", escaped(column.title)), ground, text, warning, class_="lh-step", **found
    )


def _tone(column: Column) -> str:
    return _TONES.get(column.mark, "dead") if column.kind == "step" else "faint"


def _note_tone(mark: StepMark) -> str:
    return {"not-run": "faint", "warning": "ink"}.get(mark, "dead")


def _bracket(index: int, drawing: TimelineDrawing, at: TimelineLayout) -> str:
    group = drawing.groups[index]
    left, right = at.edges[group.first] + 2, at.edges[group.last + 1] - 2
    y = at.numbers + 7 + BRACKET * group.depth
    tick = f"M{left:.1f} {y + 6:.1f}V{y:.1f}H{right:.1f}v6"
    drawn = element("path", d=tick, fill="none", stroke="faint", stroke_width=1.5, data_step=group.step)
    if fitted(group.name, right - left - 10, _SMALLER) == group.name:
        drawn += element("text", escaped(group.name), x=left + 5, y=y + 11, font_size=_SMALLER, fill="faint")
    return drawn
