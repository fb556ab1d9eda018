"""The one run in which a schedule is traced: probes call back between its steps."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from lhkit.compiler.interpreter.application import Application, parse_payload, prepare_module
from lhkit.compiler.interpreter.binding import bind_trailing_arguments
from lhkit.compiler.interpreter.plan import Plan
from lhkit.compiler.interpreter.probes import load_probe
from lhkit.compiler.interpreter.step_tracer import Ending, Tracer
from lhkit.compiler.interpreter.trace_journal import Journal
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import new_context
from lhkit.compiler.ir.schedule_modules import find_entry, home_of
from lhkit.compiler.ir.sources import Source


def trace_application(payload_source: Source, application: Application, journal_path: Path) -> Ending:
    """Apply a schedule to a payload and record every step in a journal.

    Raises:
        PayloadError, ScheduleError, UsageError: There is nothing to trace.
    """
    ending = _run(payload_source, application, journal_path, is_thorough=False)
    if ending.is_vague:
        # Most runs do not fail, and looking closer takes time: only now is it worth it.
        ending = _run(payload_source, application, journal_path, is_thorough=True)
    return ending


def _run(payload_source: Source, application: Application, journal_path: Path, *, is_thorough: bool) -> Ending:
    sources = (payload_source, *application.sources)
    with new_context() as context:
        load_probe(context)
        payload = parse_payload(payload_source)
        names = Names(sources)
        # The module is kept here: what is in it does not keep it alive.
        _module, home, entry, plan = _plan(application, names)
        journal = Journal(journal_path)
        # Thousands of records are made and none is garbage: the collector would only take time.
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            tracer = Tracer(payload.operation, plan, names, journal, sources, is_thorough=is_thorough)
            return tracer.run(context, entry, home, payload_source, application)
        finally:
            journal.close()
            if was_enabled:
                gc.enable()


def _plan(application: Application, names: Names) -> tuple[Any, Any, Any, Plan]:
    module = prepare_module(application)
    entry = find_entry(module, application.entry)
    block = entry.regions[0].blocks[0]
    written = [names.argument(a) for a in block.arguments][1:]
    count = len(block.operations)
    values = bind_trailing_arguments(entry, application.bind, application.sources[0])
    # The ops that bind stand first and are nobody's steps.
    unseen = [o.operation for o in block.operations][: len(block.operations) - count]
    home = home_of(entry)
    return module, home, entry, Plan(home, names, unseen, list(zip(values, written, strict=True)))
