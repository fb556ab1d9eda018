"""Schedules written for other programs, and applied by one that is not lhkit."""

from __future__ import annotations

import dataclasses

from lhkit.compose.builder.builder_code import SequenceForms, python_code
from lhkit.compose.forms import read_forms
from lhkit.load.catalogue_cache import load_catalogue
from lhkit.load.loader import describe_sources, parse_text
from lhkit.model.errors import UsageError, usage_error
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.step_form import Form, TypedName
from lhkit.text.defaults import exported_for, without_default_rules
from lhkit.text.libraries import standalone
from lhkit.text.naming import is_symbol_name, symbol_name
from lhkit.text.portable_export import folded_text, portable_problems
from lhkit.text.requirements import without_requirements
from lhkit.text.script import SEQUENCE, Script
from lhkit.traces.report.upstream_module import with_knobs_set
from lhkit.worker.client import Worker
from lhkit.worker.workers import shared_worker


def tunable_text(schedule: Schedule) -> str:
    """Return a schedule's text with its knobs; those that are set have that value as default, on any target.

    Raises:
        UsageError: A knob's value cannot be written into the text.
    """
    text = without_default_rules(schedule.text, dict(schedule.settings)) if schedule.settings else schedule.text
    return with_knobs_set(dataclasses.replace(schedule, text=text, target_defaults=()))


def prevents_portable(schedule: Schedule) -> tuple[str, ...]:
    """Return what keeps a schedule from being exported, each with its place; empty if nothing does."""
    try:
        values = schedule.values
    except UsageError as error:
        return (error.failure.describe(),)
    texts = [(schedule.source, schedule.text), *((lib.source, lib.text) for lib in schedule.libraries)]
    return tuple(problem for name, text in texts for problem in portable_problems(text, name, values))


def portable_text(schedule: Schedule, *, worker: Worker | None = None) -> str:
    """Return a schedule's text for other programs: knobs are folded to what they are set to, no op is ours.

    Comments and layout stay. What the schedule includes from libraries stands in its own text, so that the
    export is one file; comments that ask something of knobs go with the knobs. Where the values of knobs follow
    from a target, the first line says which.

    Raises:
        UsageError: Something prevents it; all of it is listed.
        ScheduleError: What came out is not accepted.
    """
    _refuse(schedule)
    alone = standalone(schedule)
    asking = without_default_rules(without_requirements(alone.text))
    text = folded_text(asking, alone.source, schedule.values)
    if schedule.target_defaults:
        text = exported_for(text, schedule.target)
    return parse_text(alone, text, worker=worker)[0].text


def _refuse(schedule: Schedule) -> None:
    if found := prevents_portable(schedule):
        listed = "\n".join(found)
        raise usage_error(f"{schedule.source} cannot be exported to other programs", listed)


def apply_portable(payload: Payload, schedule: Schedule, *, worker: Worker | None = None) -> str:
    """Return the payload after the compiler's own pass applied the portable text of a schedule.

    This is what ``mlir-opt`` does, with the passes ``transform-preload-library`` and ``transform-interpreter``;
    nothing of how lhkit applies schedules takes part.

    Raises:
        UsageError: Something prevents the export.
        ScheduleError: The pass does not accept it or fails.
    """
    parts = [(schedule.source, portable_text(schedule, worker=worker).encode())]
    content = payload.bytecode or payload.text.encode()
    first, content = describe_sources([(payload.source, content)], role="payload")
    described, body = describe_sources(parts, role="schedule")
    fields = {"sources": first + described, "entry": schedule.entry, "bind": list(schedule.bind)}
    fields["allowed_passes"] = list(schedule.allowed_passes)
    return (worker or shared_worker()).request("apply_by_pass", fields, content + body).body.decode()


def builder_code(schedule: Schedule, *, worker: Worker | None = None) -> str:
    """Return Python code that builds a schedule with `lhkit.building`; its last line makes ``schedule``.

    Comments are not part of it; knobs have the defaults of the text.

    Raises:
        UsageError: The schedule includes from libraries, declares sequences, holds nested modules, or has a
            sequence whose name a builder does not take.
        ScheduleError: It does not parse or does not verify.
    """
    declared = [s.name for s in schedule.sequences if s.is_declaration or "::" in s.name]
    if schedule.libraries or declared:
        what = "includes from libraries" if schedule.libraries else f"declares or nests {', '.join(declared)}"
        raise usage_error(
            f"{schedule.source} {what}, which a builder does not", "Inline or copy what it includes first."
        )
    script = Script(schedule.text, schedule.source)
    heads = {symbol_name(op.symbol): op for op in script.steps if op.name == SEQUENCE}
    for name, head in heads.items():
        if not is_symbol_name(f"@{name}"):
            raise script.refusal(
                f"{head.symbol} cannot be the name of a sequence in a builder",
                head,
                "Rename it: letters, digits and _ $ ., no digit first.",
            )
    steps: dict[str, list[Form]] = {}
    for written in read_forms(schedule.text, name=schedule.source, worker=worker):
        steps.setdefault(written.sequence, []).append(written.form)
    found = []
    for sequence in schedule.sequences:
        names = heads[sequence.name].regions[0].blocks[0].arguments
        typed = tuple(TypedName(n.text, t) for n, t in zip(names, sequence.arguments, strict=True))
        ends = [*(n.start for n in names[1:]), heads[sequence.name].regions[0].start]
        consumes = tuple(
            n.text[1:]
            for n, end in zip(names, ends, strict=True)
            if "transform.consumed" in script.text[n.end : end]
        )
        body = tuple(steps.get(sequence.name, ()))
        found.append(SequenceForms(sequence.name, typed, consumes, body, sequence.is_public))
    return python_code(found, schedule.entry, schedule.bind, load_catalogue(worker))
