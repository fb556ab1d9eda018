"""The handle timeline: folded columns and rows, arcs, and the timeline as text."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable
from pathlib import PurePath

from lhkit.model.printable import counted
from lhkit.model.trace_record import HandleState, Invalidation, Trace, TraceStep
from lhkit.traces.explain.handle_explanation import explain_failure
from lhkit.traces.record.handle_history import death_in_words, display_names
from lhkit.traces.report.trace_text import STATUS, failure_reasons
from lhkit.traces.timeline.lifelines import Bracket, EventKind, Lifeline, Lifelines, Moment, lifelines
from lhkit.traces.timeline.timeline_records import (
    Arc,
    Column,
    Fold,
    Group,
    Row,
    RowMaker,
    StepMark,
    TimelineDrawing,
)
from lhkit.traces.timeline.timeline_svg import timeline_html, timeline_svg

Span = tuple[int, int]
# Number of columns around a failure that stay visible.
_NEAR = 3
_MOST_NOT_RUN = 6


def _visible_moments(trace: Trace, lives: Lifelines, most: int, *, is_nested_folded: bool) -> list[Span]:
    """Return spans of moments, both ends included, of about ``most`` columns; longer spans are folds.

    First the middle iterations of loops are folded, then nested steps, deepest first, then the middle of the
    schedule. Failures are folded last.
    """
    folding = _Folding(trace, lives)
    folding.hide_not_run()
    for bracket in lives.brackets if is_nested_folded else ():
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
        for is_hidden, run in itertools.groupby(range(len(self._hidden)), self._hidden.__getitem__):
            moments = list(run)
            found += [(moments[0], moments[-1])] if is_hidden else [(m, m) for m in moments]
        return found

    def columns(self) -> int:
        return len(self.spans())

    def hide_not_run(self) -> None:
        def is_not_run(moment: int) -> bool:
            step = self._moments[moment].step
            return step >= 0 and self._trace.step_records[step].status == "not-run"

        for not_run, group in itertools.groupby(range(len(self._moments)), is_not_run):
            run = list(group)
            if not_run and len(run) > _MOST_NOT_RUN:
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


def _columns_of(trace: Trace, lives: Lifelines, spans: list[Span]) -> tuple[Column, ...]:
    return tuple(
        _column(trace, lives.moments[first], first) if first == last else _fold(trace, lives, first, last)
        for first, last in spans
    )


def _groups_of(trace: Trace, brackets: tuple[Bracket, ...], spans: list[Span]) -> tuple[Group, ...]:
    """Return the visible brackets: those that begin in an unfolded column, or before the first."""
    found = []
    for bracket in brackets:
        columns = [i for i, (f, last) in enumerate(spans) if f <= bracket.last and last >= bracket.first]
        if not columns:
            continue
        first, last = spans[columns[0]]
        if first == last or bracket.first < first:
            name = f"{bracket.step} {_short_name(trace.step_records[bracket.step].op)}"
            found.append(Group(bracket.step, columns[0], columns[-1], bracket.depth, name))
    return tuple(found)


def _short_name(op: str) -> str:
    return op.rpartition(".")[2]


def _fold_label(trace: Trace, lives: Lifelines, first: int, last: int) -> str:
    moments = lives.moments[first : last + 1]
    begun = moments[0]
    lost = sum(_lost(m) for m in moments)
    unrecorded = f", {lost} not recorded" if lost else ""
    same = [m for m in moments if m.kind == "turn" and m.step == begun.step]
    if begun.kind == "turn" and begun.turn[0] is not None:
        outer = trace.step_records[begun.step].depth
        if all(m.step == begun.step or trace.step_records[m.step].depth > outer for m in moments):
            return f"⋯ {len(same) + lost} more iterations{unrecorded}"
    steps = [trace.step_records[m.step] for m in moments if m.kind == "step"]
    what = "steps not run" if steps and all(s.status == "not-run" for s in steps) else "more steps"
    return f"⋯ {len(steps)} {what}{unrecorded}"


def _lost(moment: Moment) -> int:
    first, last = moment.turn
    return (last or 0) - (first or 0) + 1 if moment.kind == "elided" else 0


def _fold(trace: Trace, lives: Lifelines, first: int, last: int) -> Column:
    label = _fold_label(trace, lives, first, last)
    moments = lives.moments[first : last + 1]
    steps = [trace.step_records[m.step] for m in moments if m.kind == "step"]
    kinds = [_problem(step)[0] for step in steps]
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


def _column(trace: Trace, moment: Moment, at: int) -> Column:
    here = (at, at)
    if moment.kind == "start":
        return Column("start", None, "arguments", f"the arguments of @{trace.schedule.entry}", here)
    step = trace.step_records[moment.step]
    name = _short_name(step.op)
    if moment.kind == "step":
        mark, note = _problem(step)
        return Column("step", step.index, name, _step_title(step), here, step.depth, 1, note, mark)
    if moment.kind == "end":
        title = f"step {step.index} ({step.op}) ends: consumed handles are invalidated, results are defined"
        return Column("end", step.index, f"end of {name}", title, here, step.depth)
    if moment.kind == "elided":
        label = f"⋯ {_lost(moment)} iterations not recorded"
        title = f"iterations {moment.turn[0]} to {moment.turn[1]} of step {step.index} ran and are not recorded"
        return Column("elided", step.index, label, title, here, step.depth + 1)
    iteration, alternative = moment.turn
    label = f"iteration {iteration}" if iteration is not None else f"alternative {alternative}"
    title = f"{label} of step {step.index} ({step.op}) begins"
    return Column("turn", step.index, label, title, here, step.depth + 1)


def _problem(step: TraceStep) -> tuple[StepMark, str]:
    if step.status != "ok":
        return step.status, STATUS[step.status][0]
    kinds = ", ".join(dict.fromkeys(w.kind for w in step.warnings))
    return ("warning", f"! {kinds}") if kinds else ("", "")


def _step_title(step: TraceStep) -> str:
    place = f", {PurePath(step.source.file).name}:{step.source.line}" if step.source else ""
    lines = [f"step {step.index}: {step.op}{place}"]
    if step.status != "ok":
        lines.append(STATUS[step.status][0])
    lines += [f"! {w.kind}: {w.message}" for w in step.warnings]
    said = [d for d in step.diagnostics if d.severity in ("error", "note")][:_MOST_DIAGNOSTICS]
    lines += [d.message.strip().partition("\n")[0] for d in said]
    return "\n".join(lines)


MARKS: dict[EventKind, str] = {"made": "◆", "read": "○", "consumed": "●", "dead": "✕"}
BARS: dict[HandleState, str] = {"live": "━", "empty": "╌", "invalid": "░"}
_LEGEND = (
    "◆ made  ○ read  ● consumed  ✕ invalidated here   ━ live  ╌ empty  ░ invalidated"
    "   ] end of a step with others inside"
)
# Column of a mark within the four characters of a cell: uses before effects.
_PLACES: dict[EventKind, int] = {"read": 0, "consumed": 1, "made": 2, "dead": 3}
_CELL = 4
_MOST_COLUMNS = 20
_LONGEST_NAME = 28


def timeline_text(drawing: TimelineDrawing) -> str:
    """Return a timeline as text: panels of columns, each with its live rows and its steps."""
    lines = [drawing.title]
    for first in range(0, len(drawing.columns), _MOST_COLUMNS):
        lines += ["", *_panel(drawing, first, min(first + _MOST_COLUMNS, len(drawing.columns)))]
    return "\n".join(line.rstrip() for line in [*lines, "", drawing.verdict, _LEGEND]) + "\n"


def _panel(drawing: TimelineDrawing, first: int, end: int) -> list[str]:
    rows = [row for row in drawing.rows if _is_alive(row, first, end)]
    width = max([len(_cut(row.name)) for row in rows] + [4])
    columns = drawing.columns[first:end]
    lines = [" " * width + " " + "".join(_sign(c).rjust(_CELL) for c in columns)]
    first_parameter = next((row for row in rows if row.kind == "param"), None)
    for row in rows:
        if row is first_parameter:
            lines.append("parameters")
        track = "".join(_track(row, len(drawing.columns))[first * _CELL : end * _CELL])
        lines.append(f"{_cut(row.name).rjust(width)} {track}  {row.note}")
    return [*lines, "", *(f"{_sign(c):>4} {'  ' * c.depth}{c.name}  {c.note}" for c in columns)]


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _is_alive(row: Row, first: int, end: int) -> bool:
    has_mark = any(first <= m.column < end for m in row.marks)
    return has_mark or any(b.first < end and b.last >= first for b in row.bars) or not (row.bars or row.marks)


def _sign(column: Column) -> str:
    if column.kind == "step":
        return str(column.step)
    if column.kind == "turn":
        return f"#{column.name.rpartition(' ')[2]}"
    return {"start": "·", "end": "]"}.get(column.kind, "⋯")


def _track(row: Row, columns: int) -> list[str]:
    cells = [" "] * (columns * _CELL)
    for bar in row.bars:
        begin = 0 if bar.first < 0 else bar.first * _CELL + (2 if bar.state != "invalid" else 3)
        end = max(begin, (bar.last + 1) * _CELL if bar.runs_on else bar.last * _CELL + 3)
        cells[begin:end] = BARS[bar.state] * (end - begin)
    for mark in row.marks:
        cells[mark.column * _CELL + _PLACES[mark.kind]] = MARKS[mark.kind]
    return cells


# Minimal number of similar neighbors to fold.
_LEAST_ALIKE = 4
# The handles of a row, and whether they look alike.
RowGroup = tuple[list[Lifeline], bool]


def _row_groups_of(lines: list[Lifeline], maker: RowMaker, most: int, important: set[str]) -> list[RowGroup]:
    """Return groups of handles that share a row, about ``most`` of them; important handles are folded last."""
    homes: dict[object, list[Lifeline]] = {}
    for line in lines:
        home: object = line.handle.id
        if maker.is_in_folds(line):
            home = (maker.column_of(maker.events(line)[0]), line.handle.kind == "param")
        homes.setdefault(home, []).append(line)
    row_groups: list[RowGroup] = [(together, False) for together in homes.values()]
    if len(row_groups) > most:
        row_groups = _joined_alike(row_groups, maker, important)
    if len(row_groups) > most:
        row_groups = _joined_rest(row_groups, most, important)
    return row_groups


def _joined_alike(row_groups: list[RowGroup], maker: RowMaker, important: set[str]) -> list[RowGroup]:
    """Join neighbors that look alike, all but the first of them."""

    def looks(group: RowGroup) -> object:
        first, *others = group[0]
        return None if others or first.handle.id in important else maker.signature(first)

    joined: list[RowGroup] = []
    for look, run in itertools.groupby(row_groups, looks):
        first, *rest = run
        if look is None or len(rest) + 1 < _LEAST_ALIKE:
            joined += [first, *rest]
        else:
            joined += [first, ([line for group, _ in rest for line in group], True)]
    return joined


def _joined_rest(row_groups: list[RowGroup], most: int, important: set[str]) -> list[RowGroup]:
    singles = [b[0].handle for b, _ in row_groups if len(b) == 1]
    ranked = sorted(singles, key=lambda h: (h.defined_by >= 0, h.id not in important))
    kept = {h.id for h in ranked[: most // 2]}

    def sort(group: RowGroup) -> tuple[bool, bool]:
        return group[0][0].handle.id in kept, group[0][0].handle.kind == "param"

    joined: list[RowGroup] = []
    for (is_kept, _), run in itertools.groupby(row_groups, sort):
        groups = list(run)
        together = [line for group, _ in groups for line in group]
        joined += groups if is_kept or len(groups) == 1 else [(together, False)]
    return joined


__all__ = ["TimelineDrawing", "timeline_drawing", "timeline_html", "timeline_svg", "timeline_text"]


def timeline_drawing(trace: Trace, *, most_columns: int = 40, most_rows: int = 48) -> TimelineDrawing:
    """Return the drawing of a trace's timeline, of about ``most_columns`` columns and ``most_rows`` rows.

    Long traces are folded: middle iterations of loops, nested steps, then the middle of the schedule; and
    handles with events in folded columns only, or that look alike. Failures stay visible; what is folded is
    counted, and drawn in full in ``folds``.
    """
    timeline = _Timeline(trace, most_columns, most_rows)
    whole = timeline.whole()
    if whole.folds:
        return whole
    overview = timeline.whole(is_nested_folded=True)
    return whole if overview.columns == whole.columns else dataclasses.replace(whole, overview=overview)


class _Timeline:
    def __init__(self, trace: Trace, most_columns: int, most_rows: int) -> None:
        self._trace, self._most_columns, self._most_rows = trace, most_columns, most_rows
        self._lives = lifelines(trace)
        self._names = display_names(trace)
        lines = self._lives.lines
        # Parameters come last.
        self._lines = sorted(lines, key=lambda line: line.handle.kind == "param")

        # Handles to which something happens, by moment; who kills counts too.
        self._touched: dict[int, set[str]] = {}
        for line in lines:
            for event in line.events:
                touched = self._touched.setdefault(event.moment, set())
                touched.add(line.handle.id)
                if event.death is not None:
                    touched.add(event.death.by)

    def whole(self, *, is_nested_folded: bool = False) -> TimelineDrawing:
        spans = _visible_moments(
            self._trace, self._lives, self._most_columns, is_nested_folded=is_nested_folded
        )
        if not spans:
            return TimelineDrawing(self._title(), (), (), (), (), self._verdict(), 0, ())
        maker = RowMaker(self._trace, _columns_of(self._trace, self._lives, spans), self._names)
        row_groups = _row_groups_of(self._lines, maker, self._most_rows, self._important())
        folds = [self._fold_of_moments(span) for span in spans if span[0] < span[1]]
        for group, _ in row_groups:
            if len(group) > 1 and not all(maker.is_in_folds(line) for line in group):
                sheet = self._sheet(spans, [([line], False) for line in group], "")
                label = f"{maker.folded(group).name}, from {self._names[group[0].handle.id]} on"
                folds.append(Fold(label, (sheet,)))
        return self._sheet(spans, row_groups, self._verdict(), tuple(folds))

    def _title(self) -> str:
        trace = self._trace
        return f"Handles of @{trace.schedule.entry} ({trace.schedule.source}) applied to {trace.payload.source}"

    def _verdict(self) -> str:
        trace, failed = self._trace, self._trace.outcome.failed_step
        if trace.outcome.status != "ok":
            at = "" if failed is None else f" at step {failed}"
            reasons = [] if failed is None else failure_reasons(trace, trace.step_records[failed])
            return f"{trace.outcome.status}{at}: {reasons[0] if reasons else explain_failure(trace).sentence}"
        steps = sum(s.status != "not-run" for s in trace.step_records)
        died = len({d.handle for s in trace.step_records for d in s.invalidated})
        handles = counted(len(trace.handle_records), "handle")
        return f"ok: {counted(steps, 'step')}, {handles}, {died} of them invalidated at the end"

    def _important(self) -> set[str]:
        """Return the handles to keep: operands of the failed step, and those of indirect deaths."""
        failed = self._trace.outcome.failed_step
        found = {o.handle for o in self._trace.step_records[failed].operands} if failed is not None else set()
        for step in self._trace.step_records:
            ties = [d for d in step.invalidated if d.cause != "direct"]
            found |= {h for d in ties[:2] for h in (d.handle, d.by)}
        return found

    def _sheet(
        self, spans: list[Span], row_groups: list[RowGroup], verdict: str, folds: tuple[Fold, ...] = ()
    ) -> TimelineDrawing:
        columns = _columns_of(self._trace, self._lives, spans)
        maker = RowMaker(self._trace, columns, self._names)
        rows = tuple(
            maker.row(group[0]) if len(group) == 1 else maker.folded(group, alike=alike)
            for group, alike in row_groups
        )
        lines = [line for group, _ in row_groups for line in group]
        elsewhere = len(self._lines) - len(lines)
        groups = _groups_of(self._trace, self._lives.brackets, spans)
        arcs = self._arcs(maker, rows, lines)
        return TimelineDrawing(self._title(), columns, rows, arcs, groups, verdict, elsewhere, folds)

    def _arcs(self, maker: RowMaker, rows: tuple[Row, ...], lines: list[Lifeline]) -> tuple[Arc, ...]:
        row_of = {handle: i for i, row in enumerate(rows) for handle in row.handles}
        ties: dict[tuple[int, int, str], list[Invalidation]] = {}
        for line in lines:
            for event in maker.events(line):
                death = event.death
                if death is not None and death.cause != "direct" and death.by in row_of:
                    ties.setdefault((maker.column_of(event), event.step, death.by), []).append(death)
        arcs: dict[tuple[int, int], Arc] = {}
        for (column, step, by), deaths in sorted(
            ties.items(), key=lambda t: (t[0][0], t[0][1], row_of[t[0][2]])
        ):
            start = row_of[by]
            ends = {row_of[death.handle] for death in deaths} - {start}
            if not ends:
                continue
            said = f"step {step} consumed {self._names[by]} and invalidated {len(deaths)} other handles"
            if len(deaths) == 1:
                said = death_in_words(self._trace, step, deaths[0], self._names)
            # In a folded column, the arc of the first step represents all.
            arc = arcs.setdefault((column, start), Arc(column, step, start, (), said))
            arcs[column, start] = dataclasses.replace(arc, to_rows=tuple(sorted(ends.union(arc.to_rows))))
        return tuple(arcs.values())

    def _fold_of_moments(self, span: Span) -> Fold:
        first, last = span
        sheets = []
        for begin in range(first, last + 1, self._most_columns):
            spans = [(m, m) for m in range(begin, min(begin + self._most_columns, last + 1))]
            shown = {h for m, _ in spans for h in self._touched.get(m, ())}
            lines = [line for line in self._lines if line.handle.id in shown]
            sheets.append(self._sheet(spans, [([line], False) for line in lines], ""))
        (column,) = _columns_of(self._trace, self._lives, [span])
        return Fold(column.title, tuple(sheets))
