"""Live board of a running sweep in a notebook: progress, heat map, the charts of its page, stop button."""

from __future__ import annotations

import dataclasses
import math
import threading
import time
import weakref
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from lhkit.draw.figures import load_matplotlib
from lhkit.draw.live_view import is_live
from lhkit.draw.tables import format_ns
from lhkit.draw.view_widgets import widget_bundle
from lhkit.sweeps.engine import SweepEvent
from lhkit.sweeps.live_sweep import Sweep
from lhkit.sweeps.sweep_charts import MOST_KNOBS, HeatMap, heat_map
from lhkit.sweeps.sweep_page import Pace, drawn, page_charts
from lhkit.sweeps.sweep_table import leaders
from lhkit.sweeps.variant_record import FAILED

_STATIC = Path(__file__).parent / "static"
# Updates cost the kernel's time; more frequent ones cannot be read.
_SECONDS_BETWEEN = 0.2
# Larger spaces have no heat map while they run.
_MOST_CELLS = 2_000
# Charts of the page that the board has in a form of its own, at once and not in turn.
_OWN = ("Knobs", "Outcomes")


def board_state(sweep: Sweep) -> dict[str, Any]:
    """Return what the board shows of a sweep, as JSON can hold it."""
    heat, records, best = _heat(sweep), sweep.records, None
    if (record := sweep.best) is not None and record.time_ns is not None:
        knobs = ", ".join(f"{axis.name} = {record.values[axis.name]}" for axis in sweep.space.axes)
        best = f"{knobs}: {format_ns(record.time_ns.median)}"
    failed = Counter(r.status for r in records)
    return {
        "done": len(records),
        "total": sweep.total,
        "end": "broke off" if sweep.failure else sweep.end,
        "best": best,
        "confirming": _confirming(sweep),
        "failures": [[status, failed[status]] for status in FAILED if failed[status]],
        "heat": None if heat is None else dataclasses.asdict(heat),
    }


def _confirming(sweep: Sweep) -> dict[str, Any] | None:
    """Return how far the confirmation has come; at the end what it found, in a sentence a payload."""
    if (step := sweep.confirming) is not None:
        return {"done": step.processes, "total": step.most, "words": f"{len(step.contenders)} in the race"}
    found = [
        f"{name}: {c.verdict.reason}" if name else c.verdict.reason for name, c in sweep.confirmations.items()
    ]
    return {"done": 0, "total": 0, "words": "; ".join(found)} if found else None


def _heat(sweep: Sweep) -> HeatMap | None:
    varied = {axis.name: axis.values for axis in sweep.space.axes if len(axis.values) > 1}
    if not 0 < len(varied) <= MOST_KNOBS or math.prod(map(len, varied.values())) > _MOST_CELLS:
        return None
    ahead = leaders(sweep.result()) if sweep.end is not None else None
    return heat_map(sweep.records, values=varied, ahead=ahead)


class SweepBoard(anywidget.AnyWidget):
    """Live view of a running sweep, with a button that stops it; the kernel stays free.

    ``SweepBoard(lhkit.sweep(…))`` at the end of a cell shows it, as does the sweep itself while it runs.
    """

    _esm = _STATIC / "sweep_board.js"
    _css = _STATIC / "sweep_board.css"
    state = traitlets.Dict().tag(sync=True)
    charts = traitlets.Dict().tag(sync=True)

    def __init__(self, sweep: Sweep) -> None:
        super().__init__(state=board_state(sweep))
        self._sweep = sweep
        self._shown_at = time.monotonic()
        self._pace, self._turn = Pace(), 0
        self._loading = threading.Thread(target=load_matplotlib, daemon=True)
        self._loading.start()
        self._unsubscribe = sweep.subscribe(self._show)
        self.on_msg(self._hear)

    def _show(self, event: SweepEvent) -> None:
        """Show what happened, at most a few times a second; the end in any case."""
        now = time.monotonic()
        is_over = event.end is not None
        if not is_over and event.confirming is None and now - self._shown_at < _SECONDS_BETWEEN:
            return
        self._shown_at = now
        self.state = board_state(self._sweep)
        if is_over:
            self._unsubscribe()
        if is_over or (self._pace.is_due() and not self._loading.is_alive()):
            self._draw(is_over=is_over)

    def _draw(self, *, is_over: bool) -> None:
        """Draw the next chart, at the end all of them: between two of them the kernel is free."""
        if self._sweep.best is None:
            return
        with self._pace.drawing():
            charts = page_charts(self._sweep.result())
            headings = [heading for heading in charts if heading not in _OWN]
            due = headings if is_over else [headings[self._turn % len(headings)]]
            self._turn += 1
            new = {heading: drawn(charts[heading]()) for heading in due}
            self.charts = {h: (self.charts | new)[h] for h in headings if h in self.charts or h in new}

    def _hear(self, _widget: object, content: object, _buffers: Sequence[bytes]) -> None:
        if content == {"kind": "stop"}:
            self._sweep.stop()


# One board serves all outputs of a sweep.
_BOARDS: weakref.WeakKeyDictionary[Sweep, SweepBoard] = weakref.WeakKeyDictionary()


def sweep_bundle(sweep: Sweep) -> dict[str, Any]:
    """Return a sweep as a MIME bundle: its board while it runs under a kernel, else its result."""
    if not sweep.is_running:
        return dict(sweep.result()._repr_mimebundle_())
    if not is_live():
        return {"text/plain": repr(sweep)}
    board = _BOARDS.get(sweep)
    if board is None:
        board = _BOARDS[sweep] = SweepBoard(sweep)
    return {**widget_bundle(board), "text/plain": repr(sweep)}
