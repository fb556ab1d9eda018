"""Schedules built by Python calls: ``with lhkit.building(payload) as s:``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lhkit.compose.builder.schedule_builder import Builder
from lhkit.load.catalogue_cache import load_catalogue
from lhkit.load.loader import load_schedule
from lhkit.load.user_code import known_own_ops
from lhkit.model.errors import usage_error
from lhkit.model.op_catalogue import Catalogue
from lhkit.model.own_catalogue import with_own_ops
from lhkit.model.payload import Payload
from lhkit.model.schedule import DEFAULT_ENTRY, Schedule
from lhkit.model.trace_record import Trace
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.client import Worker


class ScheduleBuilder(Builder):
    """A builder that knows its payload, and has the compiler at hand for the schedule that it built."""

    payload: Payload | None
    bind: tuple[str, ...]
    _worker: Worker | None

    def __enter__(self) -> ScheduleBuilder:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def schedule(self, *, name: str = "<built>") -> Schedule:
        """Return what was built as a schedule, verified by the compiler.

        Raises:
            UsageError: A step with a body was called without ``with``.
            ScheduleError: The compiler refuses it; with line and column of the text.
        """
        return load_schedule(self.text, bind=self.bind, name=name, worker=self._worker)

    def trace(self) -> Trace:
        """Return the trace of what was built so far on the payload.

        Raises:
            UsageError: There is no payload.
            ScheduleError: As of `schedule`.
        """
        if self.payload is None:
            raise usage_error(
                "there is no payload to apply the schedule to", "Give it: lhkit.building(payload)."
            )
        return trace_schedule(self.payload, self.schedule(), worker=self._worker)


def building(
    payload: Payload | None = None,
    *,
    bind: Sequence[str] = (),
    entry: str = DEFAULT_ENTRY,
    arguments: Sequence[str] | Mapping[str, str] | None = None,
    consumes: Sequence[str] = (),
    catalogue: Catalogue | None = None,
    worker: Worker | None = None,
) -> ScheduleBuilder:
    """Return a builder of a schedule.

    ::

        with lhkit.building(payload) as s:
            matmul = s.match(ops=["linalg.matmul"])
            tiled, *loops = s.structured.tile_using_for(matmul, tile_sizes=[8, 32])
        schedule = s.schedule()

    Building needs no compiler, once what it knows of the ops is kept; only ``s.schedule()`` and ``s.trace()``
    ask it.

    Args:
        payload: What ``s.trace()`` applies the schedule to.
        bind: Op names; each gives the entry an argument after the root, bound to all payload ops of that name.
        entry: Name of the sequence that is applied.
        arguments: The entry's arguments instead: names, or names with types; the root first.
        consumes: Arguments to be marked as consumed though no step consumes them itself.
        catalogue: The catalogue; default the session's, with the ops of one's own that are loaded.
        worker: Another worker than the session's.

    Raises:
        UsageError: No bindings are installed, or a name that cannot be one.
    """
    bound = {name.rpartition(".")[2]: name for name in bind}
    builder = ScheduleBuilder(
        catalogue or with_own_ops(load_catalogue(worker), known_own_ops(worker)),
        entry=entry,
        arguments={"root": "op", **bound} if arguments is None else arguments,
        consumes=consumes,
    )
    builder.payload, builder.bind, builder._worker = payload, tuple(bind), worker
    return builder
