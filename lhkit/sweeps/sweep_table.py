"""The result of a sweep as tables and lines of text."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from lhkit.draw.figures import figure_html, figure_png, figure_svg
from lhkit.draw.svg import drawing_id, escaped
from lhkit.draw.tables import Table, format_ns, format_share, table_html, table_text
from lhkit.draw.viewer import Pane, View, view_html
from lhkit.model.errors import UsageError
from lhkit.model.printable import said_once
from lhkit.sweeps import sweep_charts
from lhkit.sweeps.confirmation import Ahead, ahead_of, describe_confirmation, more_time_for
from lhkit.sweeps.parallel_coordinates import draw_parallel_coordinates, parallel_coordinates
from lhkit.sweeps.space import PAYLOAD_AXIS
from lhkit.sweeps.sweep_summary import SweepResult, best_by_payload, payload_rows, rank_choices, varied_knobs
from lhkit.sweeps.variant_record import SweepRecord, best_of, timed_records

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_MOST_ROWS = 10
_MOST_FAILURES = 3
_PARTS = {
    "describe": "describing",
    "apply": "applying schedules",
    "compile": "compiling",
    "verify": "verifying",
    "time": "timing",
    "engine": "everything else",
}


AHEAD = "▸"  # Before a variant that is ahead.


def sweep_table(result: SweepResult) -> Table:
    """Return the best variants: knobs that were swept, time, spread, speed against the best, throughput.

    Of several payloads it is the table from payload to best knobs.
    """
    if len(dict(result.axes).get(PAYLOAD_AXIS, ())) > 1 and any(r.status == "ok" for r in result.records):
        return _payload_table(result)
    timed = timed_records(result.records)
    swept = [name for name, values in result.axes if len(values) > 1] or [name for name, _ in result.axes]
    has_gflops = any(r.gflops is not None for _, r in timed)
    ahead = leaders(result).keys
    rows = []
    for time, record in timed[:_MOST_ROWS]:
        values = record.values
        rows.append(
            (
                AHEAD if record.key in ahead else "",
                *(str(values.get(name, "")) for name in swept),
                format_ns(time.median),
                format_ns(time.mad),
                f"{timed[0][0].median / time.median:.3g}×",
                *([f"{record.gflops:.3g}" if record.gflops is not None else ""] if has_gflops else []),
                format_ns(record.compile_ns) if record.compile_ns is not None else "",
            )
        )
    rate = ["GFLOP/s"] if has_gflops else []
    return Table(("", *swept, "median", "± MAD", "speed vs first row", *rate, "compile"), tuple(rows))


def leaders(result: SweepResult) -> Ahead:
    """Return who is ahead, for the table and the drawings alike."""
    fastest = [key for key, _ in best_by_payload(result.records).values()]
    return ahead_of([found for _, found in result.confirmations], fastest)


def _payload_table(result: SweepResult) -> Table:
    knobs = [name for name, values in result.axes if len(values) > 1 and name != PAYLOAD_AXIS]
    rows = []
    for row in payload_rows(result):
        values = [str(row.get(name, "")) for name in (PAYLOAD_AXIS, *knobs)]
        median, regret = format_ns(float(row["median_ns"] or 0)), row["regret_of_one_choice"]
        shown_regret = "" if regret is None else format_share(float(regret))
        rows.append((*values, median, shown_regret, str(row["confirmed"] or "")))
    return Table((PAYLOAD_AXIS, *knobs, "median", "regret of one choice", "confirmed"), tuple(rows))


def _choice_lines(result: SweepResult) -> list[str]:
    try:
        choice = rank_choices(result.records)[0]
    except UsageError:
        return []
    knobs = ", ".join(f"{name} = {value}" for name, value in choice.knobs)
    worst = max(choice.regrets, key=lambda pair: pair[1])
    mean, most = format_share(choice.mean_regret), format_share(worst[1])
    regret = f"slower than the best of each by {mean} on average, at most by {most} ({worst[0]})"
    return [f"one choice for all: {knobs}, {regret}"]


def sweep_lines(result: SweepResult) -> list[str]:
    """Return what belongs under the table: who is marked in it, the course of the sweep, then who won."""
    return [*_marked_lines(result), *course_lines(result), *confirmation_lines(result)]


def _marked_lines(result: SweepResult) -> list[str]:
    marked = any(row[0] == AHEAD for row in sweep_table(result).rows)
    return [f"{AHEAD} {leaders(result).words}"] if marked else []


def course_lines(result: SweepResult) -> list[str]:
    """Return counts, failures with a reason each, knobs without effect, and where the time went."""
    counts = Counter(record.status for record in result.records)
    listed = ", ".join(f"{n} {status}" for status, n in counts.items()) or "none"
    lines = [f"variants: {len(result.records)} ({listed}); {result.known} of them known before"]
    for status, failed in result.failures.items():
        said = said_once(
            [(_knobs_of(r), _without_folders(r.message or "", result)) for r in failed], _MOST_FAILURES
        )
        lines += [f"  {status}: {line}" for line in said[:_MOST_FAILURES]]
        if len(said) > _MOST_FAILURES:
            lines.append(f"  {status}: {len(said) - _MOST_FAILURES} other messages")
    lines += _choice_lines(result)
    for name in result.knobs_without_effect:
        lines.append(f"knob {name!r} made no difference: variants that differ in it alone are one program")
    if result.end not in ("finished", None):
        lines.append(f"the sweep was not finished ({result.end}); run it again to resume")
    return [*lines, *_machine_lines(result), *_stage_lines(result), *_time_lines(result)]


def _knobs_of(record: SweepRecord) -> str:
    return " ".join(f"{name}={value}" for name, value in record.knobs) or "the only variant"


def _without_folders(message: str, result: SweepResult) -> str:
    """Return a message with the names of the sweep's files instead of their paths: results are handed on."""
    for source in (result.schedule.source, *result.payloads):
        message = message.replace(source, PurePath(source).name)
    return message


def _machine_lines(result: SweepResult) -> list[str]:
    """Return who of a cluster took part, and what is best on its other kinds of machines."""
    lines = [f"cluster: {line}" for line in result.machines]
    for kind in result.kinds:
        found = f"{kind.variants} variants" + (f", broke off: {kind.failure}" if kind.failure else "")
        if kind.best is not None and kind.best.time_ns is not None:
            knobs = ", ".join(f"{name} = {value}" for name, value in kind.best.knobs)
            found += f"; the fastest when timed alone {knobs}: {format_ns(kind.best.time_ns.median)}"
        lines.append(f"on {kind.name}: {found}")
    return lines


def _stage_lines(result: SweepResult) -> list[str]:
    """Return the stages, and how far the cost model can be believed; nothing without one."""
    if (found := result.prediction) is None:
        return []
    said = [
        f"{stage.name} {stage.variants}"
        + ("" if stage.spent_ns is None else f" ({stage.spent_ns / 1e9:.3g} s)")
        + (f", cut {stage.cut}" if stage.cut else "")
        for stage in result.stages
        if stage.variants
    ]
    believed = "not known" if found.rank_correlation is None else f"{found.rank_correlation:.2f}"
    return [
        f"stages: {'; '.join(said)}",
        f"cost model: rank correlation {believed}, cross-validated on {len(found.pairs)} variants;"
        f" it took {found.spent_ns / 1e9:.2g} s",
    ]


def confirmation_lines(result: SweepResult) -> list[str]:
    """Return the outcome of the confirmation, or that there was none."""
    if result.unconfirmed is not None:
        return [f"the best few were not timed again: {result.unconfirmed}"]
    lines = []
    for name, found in result.confirmations:
        own = describe_confirmation(found, advise=False)
        lines += own if not name else [f"{name}: {own[0]}", *(f"  {line}" for line in own[1:])]
    lines += more_time_for([name for name, found in result.confirmations if not found.is_settled])
    first, confirmed = best_of(result.records), result.confirmation
    if confirmed is not None and first is not None and confirmed.leader_key != first.key:
        lines.append("the table is in the order of the first timings; those side by side tell more")
    if not lines and result.best is not None:
        lines.append("the best few were not timed again: whether the first is really the fastest is not known")
    return lines


def _time_lines(result: SweepResult) -> list[str]:
    spent = dict(result.spent_ns)
    total = sum(spent.get(part, 0) for part in _PARTS)
    tried = len(result.records) - result.known
    if not tried or not total:
        return []
    shares = ", ".join(f"{format_share(spent.get(part, 0) / total)} {name}" for part, name in _PARTS.items())
    return [f"time: {total / 1e9:.3g} s, {tried / (total / 1e9):.3g} variants a second: {shares}"]


def sweep_result_bundle(result: SweepResult) -> dict[str, Any]:
    """Return the result of a sweep as table and drawing, and below them its course and what failed."""
    table = sweep_table(result)
    bundle = {"text/plain": sweep_text(result)}
    shown = table_html(table) if table.rows else ""
    verdict = "\n".join([*_marked_lines(result), *confirmation_lines(result)])
    shown += f'<pre class="lh-note">{escaped(verdict)}</pre>' if verdict else ""
    panes = [Pane("variants", "", shown)] if shown else []
    if varied_knobs(result.records):
        figure = draw_knobs(result)
        drawn = figure_svg(figure)
        panes.append(Pane("knobs", "", figure_html(figure), picture=drawn))
        bundle["image/png"] = base64.b64encode(figure_png(figure)).decode()
    more = '<pre class="lh-note">' + escaped("\n".join(course_lines(result))) + "</pre>"
    if result.records:
        kinds: tuple[SweepFigure, ...] = (
            "history",
            "outcomes",
            *(("prediction",) if result.prediction else ()),
        )
        more += "".join(figure_html(SWEEP_FIGURES[kind](result)) for kind in kinds)
    panes.append(Pane("course", "course and outcomes of the sweep", more, folded=True))
    view = View(drawing_id("sweep", *(pane.html for pane in panes)), tuple(panes))
    return {"text/html": view_html(view), **bundle}


def sweep_text(result: SweepResult) -> str:
    """Return the result for a terminal: the table of the best, and what belongs under it."""
    table, lines = sweep_table(result), "\n".join(sweep_lines(result))
    return f"{table_text(table)}\n{lines}" if table.rows else lines


def draw_knobs(result: SweepResult) -> Figure:
    """Return the figure that fits the knobs: heat maps of up to three, else parallel coordinates."""
    ahead = leaders(result)
    varied = varied_knobs(result.records)
    if len(varied) <= sweep_charts.MOST_KNOBS:
        values = {name: own for name, own in result.axes if name in varied}
        return sweep_charts.draw_heat_map(sweep_charts.heat_map(result.records, values=values, ahead=ahead))
    return draw_parallel_coordinates(parallel_coordinates(result.records, ahead=ahead))


SweepFigure = Literal["knobs", "history", "outcomes", "prediction"]
SWEEP_FIGURES: Mapping[SweepFigure, Callable[[SweepResult], Figure]] = {
    "knobs": draw_knobs,
    "history": lambda result: sweep_charts.draw_history(sweep_charts.sweep_history(result.records)),
    "outcomes": lambda result: sweep_charts.draw_statuses(sweep_charts.status_bars(result.records)),
    "prediction": lambda result: sweep_charts.draw_prediction(result.prediction),
}
