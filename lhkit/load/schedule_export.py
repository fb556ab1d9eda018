"""Portable and tunable exports of schedules, and applying an export by MLIR's own pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import TypeVar

from lhkit.load.loader import parse_text, payload_source, sources_of
from lhkit.model.errors import UsageError, usage_error
from lhkit.model.payload import Payload
from lhkit.model.schedule import Library, Schedule
from lhkit.text.knob_text import (
    exported_for,
    folded_text,
    optional_ops,
    portable_problems,
    standalone,
    with_knobs_set,
    without_default_rules,
    without_optional_steps,
    without_requirements,
)
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.requests import Application, ApplyByPass


def tunable_text(schedule: Schedule) -> str:
    """Return a schedule's text with its knobs; those that are set have that value as default, on any target."""
    text = without_default_rules(schedule.text, dict(schedule.settings)) if schedule.settings else schedule.text
    return with_knobs_set(dataclasses.replace(schedule, text=text, target_defaults=()))


def prevents_portable(schedule: Schedule) -> tuple[str, ...]:
    """Return what keeps a schedule from being exported, each with its place; empty if nothing does."""
    try:
        values = schedule.values
    except UsageError as error:
        return (error.failure.describe(),)
    texts = [(schedule.source, schedule.text), *((lib.source, lib.text) for lib in schedule.libraries)]
    optional = optional_ops(schedule.text)
    return tuple(problem for name, text in texts for problem in portable_problems(text, name, values, optional))


def portable_text(schedule: Schedule, *, worker: Worker | None = None) -> str:
    """Return a schedule's text for other programs: knobs folded, libraries copied in.

    Steps of lhkit's own ops keep it from being exported, but for those of ops that a comment calls optional
    (``// lhkit: optional OP``; the schedule's hold for its libraries too): the export goes without them, and so
    has to do what it does without them.

    Comments and layout stay, but for comments about knobs. The first line names the target that values of knobs
    follow from, if any.
    """
    if found := prevents_portable(schedule):
        raise usage_error(f"{schedule.source} cannot be exported to other programs", "\n".join(found))
    optional = optional_ops(schedule.text)
    libraries = [_without_optional_steps(library, optional) for library in schedule.libraries]
    alone = dataclasses.replace(_without_optional_steps(schedule, optional), libraries=tuple(libraries))
    return _in_one_file(alone, worker)


def folded_schedule(schedule: Schedule, *, worker: Worker | None = None) -> str:
    """Return a schedule's text as lhkit runs it, own ops and all: knobs folded, libraries copied in."""
    return _in_one_file(schedule, worker)


def _in_one_file(schedule: Schedule, worker: Worker | None) -> str:
    values = schedule.values
    libraries = [
        dataclasses.replace(each, text=folded_text(each.text, each.source, values))
        for each in schedule.libraries
    ]
    asking = without_default_rules(without_requirements(schedule.text))
    folded = folded_text(asking, schedule.source, values)
    alone = standalone(dataclasses.replace(schedule, text=folded, libraries=tuple(libraries)))
    text = alone.text
    if schedule.target_defaults:
        text = exported_for(text, schedule.target)
    return parse_text(alone, text, worker=worker)[0].text


_Text = TypeVar("_Text", Schedule, Library)


def _without_optional_steps(schedule: _Text, optional: Collection[str]) -> _Text:
    text = without_optional_steps(schedule.text, schedule.source, optional)
    return dataclasses.replace(schedule, text=text)


def apply_portable(payload: Payload, schedule: Schedule, *, worker: Worker | None = None) -> str:
    """Return the payload after the interpreter pass applied the portable text, as ``mlir-opt`` does."""
    sources = sources_of([(schedule.source, portable_text(schedule, worker=worker).encode())])
    application = Application(sources, schedule.entry, {}, schedule.bind, schedule.allowed_passes)
    return (worker or shared_worker()).ask(ApplyByPass(payload_source(payload), application)).value
