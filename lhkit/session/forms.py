"""Forms of the steps of a schedule, read and written by the compiler."""

from __future__ import annotations

from lhkit.model.catalogue import Catalogue
from lhkit.model.forms import Form, WrittenForm
from lhkit.model.jsonable import from_json
from lhkit.schedule.forms import scratch_module
from lhkit.session.catalogues import load_catalogue
from lhkit.session.loading import describe_sources
from lhkit.session.workers import shared_worker
from lhkit.worker.client import Worker


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


def print_forms(
    forms: tuple[Form, ...], *, catalogue: Catalogue | None = None, worker: Worker | None = None
) -> tuple[str, ...]:
    """Return forms as people write them: in the custom syntax of each op, as MLIR prints it.

    Args:
        forms: Steps, each for itself: every operand of one is taken as given.
        catalogue: The catalogue; default the session's.
        worker: Another worker than the session's.

    Raises:
        UsageError: A form is none of its op's.
        ScheduleError: MLIR refuses one.
    """
    catalogue = catalogue or load_catalogue(worker)
    text = scratch_module(forms, catalogue)
    steps = read_forms(text, name="<forms>", worker=worker)
    return tuple(_alone(s.text, f, s.form) for s, f in zip(steps, forms, strict=True))


def _alone(text: str, form: Form, around: Form) -> str:
    """Return the text of a form, a pattern's taken out of the op around it."""
    if form.op == around.op:
        return text
    return next(line.strip() for line in text.splitlines() if line.strip().startswith(form.op))
