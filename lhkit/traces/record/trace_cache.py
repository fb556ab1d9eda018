"""Traces of one payload, the latest of them kept: undo and redo cost no run."""

from __future__ import annotations

from collections import OrderedDict

from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

_MOST_TRACES = 16


class TraceCache:
    """Gives the trace of a schedule, taken now or earlier."""

    def __init__(self, payload: Payload, worker: Worker | None, limits: Limits | None) -> None:
        self._payload, self._worker, self._limits = payload, worker, limits
        self._traces: OrderedDict[Schedule, Trace] = OrderedDict()

    def trace(self, schedule: Schedule) -> Trace:
        """Return the trace of a schedule.

        Raises:
            LhkitError: Tracing is refused, as `trace_schedule` says.
        """
        kept = self._traces.get(schedule)
        if kept is not None:
            self._traces.move_to_end(schedule)
            return kept
        trace = trace_schedule(self._payload, schedule, worker=self._worker, limits=self._limits)
        if trace.outcome.status in ("ok", "failed"):  # a limit or a crash may not come again
            self._traces[schedule] = trace
            while len(self._traces) > _MOST_TRACES:
                self._traces.popitem(last=False)
        return trace
