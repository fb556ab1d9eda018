"""The page of a sweep: everything that is known of it, written anew while it runs, readable when it is over."""

from __future__ import annotations

import contextlib
import functools
import math
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from lhkit.draw.figures import NARROW, figure_html, new_axes, with_narrow
from lhkit.draw.svg import escaped, html_document
from lhkit.draw.tables import table_html
from lhkit.draw.theme import BLUE, FAINT, GREY, theme_style
from lhkit.model.knob import KnobValue
from lhkit.sweeps import sweep_charts
from lhkit.sweeps.confirmation_run import choose_contenders
from lhkit.sweeps.engine import SweepEvent
from lhkit.sweeps.parallel_coordinates import draw_parallel_coordinates, parallel_coordinates
from lhkit.sweeps.space import PAYLOAD_AXIS
from lhkit.sweeps.sweep_summary import SweepResult, varied_knobs
from lhkit.sweeps.sweep_table import (
    AHEAD,
    SWEEP_FIGURES,
    SweepFigure,
    confirmation_lines,
    course_lines,
    draw_knobs,
    leaders,
    sweep_table,
)
from lhkit.sweeps.variant_record import SweepRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lhkit.sweeps.live_sweep import Sweep

_SECONDS_BETWEEN, _SHARE = 2.0, 0.1
_ERRORS = 3.0


def sweep_page(result: SweepResult) -> str:
    """Return the page of a sweep as HTML; while the sweep runs it asks for itself again every few seconds."""
    title = f"Sweep of {PurePath(result.schedule.source).name} on {', '.join(result.payloads)}"
    is_over = result.end is not None
    refresh = f'<meta http-equiv="refresh" content="{_SECONDS_BETWEEN:.0f}">'
    verdict = "\n".join(confirmation_lines(result)) if is_over else "still running"
    sections = [
        *([] if is_over else [refresh]),
        f"<h1>{escaped(title)}</h1>",
        f'<pre class="notes">{escaped(verdict)}</pre>',
        table_html(sweep_table(result)),
        *(f"<h2>{escaped(heading)}</h2>\n{_figure(draw())}" for heading, draw in page_charts(result).items()),
    ]
    course = "\n".join(course_lines(result))
    sections.append(f'<h2>Course</h2>\n<pre class="notes">{escaped(course)}</pre>')
    return html_document(title, sections, style=theme_style())


def page_charts(result: SweepResult) -> dict[str, Callable[[], Figure]]:
    """Return what draws each chart of a sweep's page, by its heading."""
    varied = varied_knobs(result.records)
    charts: dict[str, Callable[[], Figure]] = {
        "Contenders": lambda: draw_contenders(contenders_of(result), leaders(result).words)
    }
    if varied:
        charts["Knobs"] = lambda: draw_knobs(result)
    if 1 < len(varied) <= sweep_charts.MOST_KNOBS:
        charts["Fastest variants, and what each knob explains"] = lambda: draw_parallel_coordinates(
            parallel_coordinates(result.records, ahead=leaders(result))
        )
    kinds: tuple[SweepFigure, ...] = ("history", "outcomes", "prediction")
    for kind in kinds if result.prediction else kinds[:2]:
        charts[kind.capitalize()] = functools.partial(SWEEP_FIGURES[kind], result)
    return charts


def drawn(figure: Figure) -> str:
    """Return a chart as HTML in the colours of what is around it."""
    return f"<style>{theme_style()}</style>{_figure(figure)}"


def _figure(figure: Figure) -> str:
    return f'<figure class="lh">{figure_html(figure)}</figure>'


class Pace:
    """Leaves drawing a tenth of the time, as it takes a second or so in the process of the sweep."""

    def __init__(self) -> None:
        self._next, self._share = 0.0, 1.0  # the first drawing imports what draws: it tells nothing of others

    def is_due(self) -> bool:
        """Return whether the last drawing is long enough ago."""
        return time.monotonic() >= self._next

    @contextlib.contextmanager
    def drawing(self) -> Iterator[None]:
        """Take note of how long a drawing takes."""
        started = time.monotonic()
        yield
        now = time.monotonic()
        self._next = now + max(_SECONDS_BETWEEN, (now - started) / self._share)
        self._share = _SHARE


class PageWriter:
    """Writes the page of a sweep while it runs, and at its end: subscribe it to the sweep's events."""

    def __init__(self, sweep: Sweep, write: Callable[[str], None]) -> None:
        self._sweep, self._write = sweep, write
        self._pace = Pace()

    def __call__(self, event: SweepEvent) -> None:
        """Write the page, if the last time is long enough ago."""
        if event.end is not None or self._pace.is_due():
            with self._pace.drawing():
                self._write(sweep_page(self._sweep.result()))


@dataclass(frozen=True, slots=True)
class Contender:
    """A row of the chart: time as a multiple of its payload's best, with interval; None of a predicted one."""

    name: str
    ratio: float
    interval: tuple[float, float] | None
    is_ahead: bool = False


def contenders_of(result: SweepResult) -> tuple[Contender, ...]:
    """Return who may be the best: as timed side by side, else alone, and those predicted to be as fast."""
    swept, ahead = [name for name, values in result.axes if len(values) > 1], leaders(result).keys
    found: list[Contender] = []
    for _, confirmed in result.confirmations:
        knobs = {name: _named({n: v for n, v in own if n in swept}) for name, own in confirmed.knobs}
        keys = dict(confirmed.keys)
        found += [
            Contender(
                knobs.get(s.name, s.name), s.lead.middle, (s.lead.low, s.lead.high), keys[s.name] in ahead
            )
            for s in confirmed.verdict.standings
        ]
    by_payload: dict[object, list[SweepRecord]] = {}
    for record in result.records:
        by_payload.setdefault(record.values.get(PAYLOAD_AXIS), []).append(record)
    best = 0
    for records in by_payload.values():
        own = [(r, r.time_ns) for r in choose_contenders(records) if r.time_ns is not None]
        best = own[0][1].median if own else best
        for record, t in own if not result.confirmations else ():
            error = _ERRORS * t.mad / math.sqrt(t.runs)
            name = _named({n: record.values[n] for n in swept if n in record.values})
            ends = ((t.median - error) / best, (t.median + error) / best)
            found.append(Contender(name, t.median / best, ends, record.key in ahead))
    rest = result.prediction.rest if result.prediction is not None and best else ()
    return (*found, *(Contender(_named(dict(point)), ns / best, None) for point, ns in rest))


def _named(values: Mapping[str, KnobValue]) -> str:
    return textwrap.shorten(", ".join(f"{n} = {v}" for n, v in values.items()), 60, placeholder=" …")


def draw_contenders(contenders: Sequence[Contender], ahead: str = "") -> Figure:
    """Return a figure: a row each, filled with its interval where it was timed, open where it is predicted.

    ``ahead`` says what the mark of those that are ahead means.
    """
    wide, narrow = (_contenders_figure(contenders, ahead, is_narrow=is_narrow) for is_narrow in (False, True))
    return with_narrow(wide, narrow)


def _contenders_figure(contenders: Sequence[Contender], ahead: str, *, is_narrow: bool) -> Figure:
    """Return a figure of a row each; in a narrow one names are above their rows, not beside them."""
    width, row_height = (NARROW, 0.42) if is_narrow else (8.4, 0.3)
    figure, axes = new_axes(width, 1.2 + row_height * max(len(contenders), 1))
    key = []
    for row, each in enumerate(contenders):
        if each.interval is None:
            axes.plot(each.ratio, row, marker="o", color=GREY, fillstyle="none")
            key.append("open: predicted, not tried")
        else:
            low, high = each.interval
            axes.plot(each.ratio, row, marker="D" if each.is_ahead else "o", color=BLUE)
            if not math.isfinite(high - low):
                key.append("no bar: one process tells no interval")
            elif (low, high) != (1.0, 1.0):  # as the one ahead is to itself
                axes.plot(each.interval, (row, row), color=BLUE, linewidth=2)
                key.append("bar: interval of the ratio")
    names = [f"{AHEAD} {c.name}" if c.is_ahead else c.name for c in contenders]
    axes.set_yticks(range(len(contenders)), [""] * len(names) if is_narrow else names)
    for row, name in enumerate(names) if is_narrow else ():
        axes.text(0.01, row - 0.22, name, transform=axes.get_yaxis_transform(), fontsize=8.5)
    axes.set_ylim(len(contenders) - 0.4, -0.9 if is_narrow else -0.6)
    axes.set_xlabel(f"time as a multiple of that of {AHEAD}" if contenders else "no variant was timed")
    marked = [f"{AHEAD} {ahead}"] if ahead and any(c.is_ahead for c in contenders) else []
    said = ("\n" if is_narrow else " · ").join([*marked, *dict.fromkeys(key)])
    figure.supxlabel(said, fontsize=8, color=FAINT)
    return figure
