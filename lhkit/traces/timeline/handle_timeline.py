"""The timeline of a trace as a drawing: folded rows, columns, arcs."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from lhkit.model.printable import counted
from lhkit.model.trace_record import Trace
from lhkit.traces.explain.handle_explanation import explain_failure
from lhkit.traces.record.handle_history import death_in_words, display_names
from lhkit.traces.report.trace_text import failure_reasons
from lhkit.traces.timeline.lifelines import Event, Lifeline, lifelines
from lhkit.traces.timeline.timeline_columns import Span, columns_of, groups_of, visible_moments
from lhkit.traces.timeline.timeline_records import Arc, Fold, Row, RowMaker, TimelineDrawing
from lhkit.traces.timeline.timeline_svg import timeline_html, timeline_svg
from lhkit.traces.timeline.timeline_text import timeline_text

# Minimal number of similar neighbors to fold.
_LEAST_ALIKE = 4
# The handles of a row, and whether they look alike.
RowGroup = tuple[list[Lifeline], bool]


def row_groups_of(lines: list[Lifeline], maker: RowMaker, most: int, important: set[str]) -> list[RowGroup]:
    """Return groups of handles that share a row, about ``most`` of them; important handles are folded last."""
    row_groups: list[RowGroup] = []
    homes: dict[object, list[Lifeline]] = {}
    for line in lines:
        if maker.is_in_folds(line):
            home = (maker.column_of(maker.events(line)[0]), line.handle.kind == "param")
            if home in homes:
                homes[home].append(line)
                continue
            homes[home] = [line]
            row_groups.append((homes[home], False))
        else:
            row_groups.append(([line], False))
    if len(row_groups) > most:
        row_groups = _joined_alike(row_groups, maker, important)
    if len(row_groups) > most:
        row_groups = _joined_rest(row_groups, most, important)
    return row_groups


def _joined_alike(row_groups: list[RowGroup], maker: RowMaker, important: set[str]) -> list[RowGroup]:
    """Join neighbors that look alike, all but the first of them."""
    runs: list[list[RowGroup]] = []
    last: object = None
    for group in row_groups:
        is_single = len(group[0]) == 1 and group[0][0].handle.id not in important
        looks = maker.signature(group[0][0]) if is_single else None
        if looks is not None and looks == last:
            runs[-1].append(group)
        else:
            runs.append([group])
        last = looks
    joined: list[RowGroup] = []
    for run in runs:
        if len(run) < _LEAST_ALIKE:
            joined += run
        else:
            joined += [run[0], ([line for group, _ in run[1:] for line in group], True)]
    return joined


def _joined_rest(row_groups: list[RowGroup], most: int, important: set[str]) -> list[RowGroup]:
    """Join the least important rows with their neighbors."""
    singles = [b[0].handle for b, _ in row_groups if len(b) == 1]
    ranked = sorted(singles, key=lambda h: (h.defined_by >= 0, h.id not in important))
    kept = {h.id for h in ranked[: most // 2]}
    joined: list[RowGroup] = []
    was_joinable = False
    for group, alike in row_groups:
        is_joinable = group[0].handle.id not in kept
        is_same = bool(joined) and (joined[-1][0][0].handle.kind == "param") == (
            group[0].handle.kind == "param"
        )
        if is_joinable and was_joinable and is_same:
            joined[-1] = ([*joined[-1][0], *group], False)
        else:
            joined.append((group, alike))
        was_joinable = is_joinable
    return joined


__all__ = ["TimelineDrawing", "timeline_drawing", "timeline_html", "timeline_svg", "timeline_text"]


def timeline_drawing(
    trace: Trace, *, most_columns: int = 40, most_rows: int = 48, folded: Collection[int] = ()
) -> TimelineDrawing:
    """Return the drawing of a trace's timeline.

    Long traces are folded: middle iterations of loops, nested steps, then the middle of the schedule; and
    handles with events in folded columns only, or that look alike. Failures stay visible; what is folded is
    counted, and drawn in full in ``folds``.

    Args:
        trace: The trace.
        most_columns: Approximate maximum of columns.
        most_rows: Approximate maximum of rows.
        folded: Indices of steps whose nested steps are folded in any case.
    """
    timeline = _Timeline(trace, most_columns, most_rows)
    whole = timeline.whole(folded)
    if whole.folds:
        return whole
    overview = timeline.whole(timeline.steps_with_others_inside())
    return whole if overview.columns == whole.columns else dataclasses.replace(whole, overview=overview)


class _Timeline:
    def __init__(self, trace: Trace, most_columns: int, most_rows: int) -> None:
        self._trace, self._most_columns, self._most_rows = trace, most_columns, most_rows
        self._lives = lifelines(trace)
        self._names = display_names(trace)
        lines = self._lives.lines
        # Parameters come last.
        self._lines = [x for x in lines if x.handle.kind != "param"] + [
            x for x in lines if x.handle.kind == "param"
        ]

        # Handles to which something happens, by moment; who kills counts too.
        self._touched: dict[int, set[str]] = {}
        for line in lines:
            for event in line.events:
                touched = self._touched.setdefault(event.moment, set())
                touched.add(line.handle.id)
                if event.death is not None:
                    touched.add(event.death.by)

    def steps_with_others_inside(self) -> set[int]:
        return {bracket.step for bracket in self._lives.brackets}

    def whole(self, folded: Collection[int]) -> TimelineDrawing:
        spans = visible_moments(self._trace, self._lives, self._most_columns, folded)
        if not spans:
            return TimelineDrawing(self._title(), (), (), (), (), self._verdict(), 0, ())
        maker = RowMaker(self._trace, columns_of(self._trace, self._lives, spans), self._names)
        row_groups = row_groups_of(self._lines, maker, self._most_rows, self._important())
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
        trace = self._trace
        if trace.outcome.status != "ok":
            at = "" if trace.outcome.failed_step is None else f" at step {trace.outcome.failed_step}"
            failed = trace.outcome.failed_step
            reasons = [] if failed is None else failure_reasons(trace, trace.step_records[failed])
            return f"{trace.outcome.status}{at}: {reasons[0] if reasons else explain_failure(trace).sentence}"
        steps = sum(s.status != "not-run" for s in trace.step_records)
        died = len({d.handle for s in trace.step_records for d in s.invalidated})
        handles = counted(len(trace.handle_records), "handle")
        return f"ok: {counted(steps, 'step')}, {handles}, {died} of them dead at the end"

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
        columns = columns_of(self._trace, self._lives, spans)
        maker = RowMaker(self._trace, columns, self._names)
        rows = tuple(
            maker.row(group[0]) if len(group) == 1 else maker.folded(group, alike=alike)
            for group, alike in row_groups
        )
        lines = [line for group, _ in row_groups for line in group]
        elsewhere = len(self._lines) - len(lines)
        groups = groups_of(self._trace, self._lives.brackets, spans)
        arcs = self._arcs(maker, rows, lines)
        return TimelineDrawing(self._title(), columns, rows, arcs, groups, verdict, elsewhere, folds)

    def _arcs(self, maker: RowMaker, rows: tuple[Row, ...], lines: list[Lifeline]) -> tuple[Arc, ...]:
        row_of = {handle: i for i, row in enumerate(rows) for handle in row.handles}
        ties: dict[tuple[int, int, str], list[Event]] = {}
        for line in lines:
            for event in maker.events(line):
                if event.death is not None and event.death.cause != "direct" and event.death.by in row_of:
                    ties.setdefault((maker.column_of(event), event.step, event.death.by), []).append(event)
        arcs: dict[tuple[int, int], Arc] = {}
        for (column, step, by), events in sorted(
            ties.items(), key=lambda t: (t[0][0], t[0][1], row_of[t[0][2]])
        ):
            start = row_of[by]
            known = arcs.get((column, start))
            ends = {row_of[e.death.handle] for e in events if e.death is not None} - {start}
            ends |= set(known.to_rows) if known else set()
            if ends:
                said = known.title if known else self._arc_title(step, by, events)
                arcs[column, start] = Arc(
                    column, known.step if known else step, start, tuple(sorted(ends)), said
                )
        return tuple(arcs.values())

    def _arc_title(self, step: int, by: str, events: list[Event]) -> str:
        if len(events) == 1 and events[0].death is not None:
            return death_in_words(self._trace, step, events[0].death, self._names)
        return f"step {step} consumed {self._names[by]}, and {len(events)} other handles died with it"

    def _fold_of_moments(self, span: Span) -> Fold:
        first, last = span
        sheets = []
        for begin in range(first, last + 1, self._most_columns):
            spans = [(m, m) for m in range(begin, min(begin + self._most_columns, last + 1))]
            shown = {h for m, _ in spans for h in self._touched.get(m, ())}
            lines = [line for line in self._lines if line.handle.id in shown]
            sheets.append(self._sheet(spans, [([line], False) for line in lines], ""))
        (column,) = columns_of(self._trace, self._lives, [span])
        return Fold(column.title, tuple(sheets))
