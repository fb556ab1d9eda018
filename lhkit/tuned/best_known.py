"""``lhkit.best``: what is known for a payload, or for its nearest shape."""

from __future__ import annotations

import dataclasses
import datetime
import os
import platform
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lhkit.draw.tables import format_ns
from lhkit.load.loader import as_payload
from lhkit.load.schedule_export import tunable_text
from lhkit.load.target_choice import code_target, cpu_model, cpu_name, find_target
from lhkit.model.errors import LhkitError, public
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.showable import Printable
from lhkit.text.knob_text import standalone
from lhkit.tuned.payload_content import Content, changed_extents, content_of, log_distance
from lhkit.tuned.tuned_store import TunedSchedule, all_tuned, is_empty, keep_tuned, read_tuned, tuned_path
from lhkit.worker.client import Worker


@dataclass(frozen=True, slots=True)
class Best(Printable):
    """What is known for a payload; false where nothing is.

    Attributes:
        payload: The payload.
        target: The instruction set that was asked for.
        tuned: The schedule and what was measured, or None.
        is_exact: Whether it is for this very payload, on a CPU of this kind. Else it is an offer: of the
            nearest shape, or of another CPU.
        note: What is known, in a sentence.
    """

    payload: str
    target: str
    tuned: TunedSchedule | None
    is_exact: bool
    note: str

    def __bool__(self) -> bool:
        return self.tuned is not None

    @property
    def text(self) -> str:
        """The text of the schedule, for `lhkit.load_schedule`; empty where nothing is known."""
        return self.tuned.schedule if self.tuned is not None else ""

    def _mime_bundle(self) -> dict[str, Any]:
        lines = [f"{self.payload}, {self.target}: {self.note}"]
        if self.tuned is not None:
            knobs = ", ".join(f"{name} = {value}" for name, value in self.tuned.knobs)
            lines += [describe_tuned(self.tuned), f"knobs: {knobs or 'none'}"]
        return {"text/plain": "\n".join(lines)}


@public
def best(
    payload: Payload | str | os.PathLike[str], target: str | None = None, *, worker: Worker | None = None
) -> Best:
    """Return the best schedule that sweeps found for a payload, or for its nearest shape.

    Every sweep that ends with a winner keeps it, by what the payload computes: its ops, extents and types, not
    its names, places and constant data; and by instruction set and CPU. Where nothing is known for that, the
    same ops with other extents are looked for, or another CPU: `Best.is_exact` is False then.

    Args:
        payload: The payload, loaded or a path.
        target: The instruction set, as for `lhkit.compile`.
        worker: Another worker than the session's.

    Raises:
        UsageError: There is no such target or file.
        PayloadError: The payload does not parse or does not verify.
    """
    payload = as_payload(payload, worker)
    content, instructions = content_of(payload, worker), _instructions(target)
    if (tuned := _exact(content, instructions)) is not None:
        return Best(payload.source, instructions, tuned, True, "known")
    near = [
        t
        for t in all_tuned()
        if (t.structure, t.target, len(t.extents)) == (content.structure, instructions, len(content.extents))
    ]
    if not near:
        return Best(payload.source, instructions, None, False, "nothing is known, nor for another shape")
    tuned = min(near, key=lambda t: (log_distance(content.extents, t.extents), t.cpu != _cpu(), t.time_ns))
    changed = ", ".join(f"{b} for {a}" for a, b in changed_extents(content.extents, tuned.extents))
    note = f"not known; the nearest known shape has {changed}" if changed else "not known on this CPU"
    return Best(payload.source, instructions, tuned, False, note)


def describe_tuned(tuned: TunedSchedule) -> str:
    """Return where a tuned schedule is from, in a line."""
    how = "imported; won" if tuned.is_imported else "won"
    faster = "".join(f", {ratio:.3g}× the speed of {name}" for name, ratio in tuned.speed_ups)
    where = f"{tuned.date[:10]} on {tuned.machine} ({tuned.cpu})"
    return f"{how} a sweep of {tuned.payload} {where}: {format_ns(tuned.time_ns)}{faster}"


def exact_match(payload: Payload, target: str | None, worker: Worker | None) -> TunedSchedule | None:
    """Return the schedule that is known for this very payload on this CPU, or None."""
    if is_empty():
        return None
    try:
        return _exact(content_of(payload, worker), _instructions(target))
    except LhkitError:  # of a payload that cannot be parsed; what uses it says so
        return None


def keep_winner(
    content: Content,
    payload: Payload,
    schedule: Schedule,
    *,
    target: str,
    time_ns: float,
    speed_ups: Mapping[str, float],
) -> None:
    """Keep the winner of a sweep, with its knobs set; where that cannot be done it is said as a warning.

    Only what its text alone decides is kept: no bound arguments, no passes that the user allowed.

    Args:
        content: What it is kept for.
        payload: The payload, for its name.
        schedule: The schedule, its knobs set.
        target: What it was compiled for; empty for this CPU.
        time_ns: Median time of a call.
        speed_ups: Its speed as a multiple of that of others, by their names.
    """
    from lhkit import __version__

    if schedule.bind or schedule.allowed_passes:
        return
    now = datetime.datetime.now(datetime.UTC)
    try:
        whole = standalone(schedule)
        values = tuple(schedule.values.items())
        tuned = TunedSchedule(
            content=content.digest,
            structure=content.structure,
            extents=content.extents,
            target=target or find_target("host").name,
            cpu=_cpu(),
            schedule=tunable_text(dataclasses.replace(whole, settings=values)),
            knobs=values,
            time_ns=time_ns,
            speed_ups=tuple(speed_ups.items()),
            payload=payload.source,
            machine=platform.node(),
            date=now.isoformat(timespec="seconds"),
            lhkit=__version__,
            entry=schedule.entry,
        )
        keep_tuned(tuned)
    except LhkitError as error:
        warnings.warn(f"the winner is not kept for other payloads: {error}", stacklevel=2)


def can_be_kept(payload: Payload) -> bool:
    """Return whether times of a payload are of its content alone: one function, all extents known."""
    defined = [f for f in payload.functions if not f.is_declaration]
    return len(defined) == 1 and not defined[0].is_dynamic


def _exact(content: Content, target: str) -> TunedSchedule | None:
    try:
        return read_tuned(tuned_path(content.digest, target, _cpu()))
    except OSError:  # there is no state folder
        return None


def _instructions(target: str | None) -> str:
    """Return the instruction set that kernels for a target are compiled for."""
    return code_target(target) or find_target("host").name


def _cpu() -> str:
    return f"{cpu_name()}, {cpu_model()}"
