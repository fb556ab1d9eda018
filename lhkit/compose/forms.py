"""Forms of the steps of a schedule, read and written by the compiler."""

from __future__ import annotations

from lhkit.load.loader import describe_sources
from lhkit.model.codec import from_json
from lhkit.model.step_form import WrittenForm
from lhkit.worker.client import Worker
from lhkit.worker.workers import shared_worker


def read_forms(text: str, *, name: str = "<schedule>", worker: Worker | None = None) -> tuple[WrittenForm, ...]:
    """Return the steps of a schedule's named sequences as forms, in order; inner steps stand in their regions.

    Args:
        text: Transform IR that parses and verifies.
        name: What to call it in messages.
        worker: Another worker than the session's.

    Raises:
        ScheduleError: It does not parse or does not verify; with line, column and carets.
    """
    described, body = describe_sources([(name, text.encode())], role="schedule")
    answer = (worker or shared_worker()).request("read_forms", {"sources": described}, body)
    return tuple(from_json(WrittenForm, step) for step in answer.header["steps"])
