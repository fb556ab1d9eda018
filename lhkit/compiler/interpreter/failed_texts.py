"""How a schedule fails with other texts: which op does, and nothing else; a tenth of what a trace takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from lhkit.compiler.extension.own_op_failures import forget_failures
from lhkit.compiler.interpreter.application import bind_trailing_arguments, parse_payload, prepare_module
from lhkit.compiler.interpreter.refused_steps import fatal_request_of
from lhkit.compiler.ir import schedule_modules
from lhkit.compiler.ir.bindings import interpreter, ir
from lhkit.compiler.ir.context_pool import reused_context
from lhkit.compiler.ir.parsing import Places, from_flattened, walk
from lhkit.model.errors import LhkitError
from lhkit.worker.requests import Application, FailedText, Source


def failed_texts(
    payload: Source, application: Application, texts: Iterable[bytes]
) -> Iterator[FailedText | None]:
    """Yield how a schedule fails with each text; None if it applies, or if that cannot be told for sure."""
    with reused_context():
        given = parse_payload(payload).operation
        for text in texts:
            first = dataclasses.replace(application.sources[0], content=text)
            variant = dataclasses.replace(application, sources=(first, *application.sources[1:]))
            try:
                module = schedule_modules.parse_schedule(variant.sources)
            except LhkitError:
                yield FailedText(None)
                continue
            try:
                yield _failed_text(given.clone().operation, module, variant)
            except LhkitError:
                yield None


# There is payload with which these end the process: a trace looks at it before it applies them.
_ARE_LOOKED_AT = (
    "transform.alternatives",
    "transform.apply_registered_pass",
    "transform.collect_matching",
    "transform.foreach",
    "transform.foreach_match",
    "transform.loop.unroll",
    "transform.loop.unroll_and_jam",
    "transform.structured.pad",
)


def _ends_no_process(op: Any) -> bool:
    return op.name not in _ARE_LOOKED_AT and fatal_request_of(op) is None


def _failed_text(payload: Any, module: Any, application: Application) -> FailedText | None:
    if not all(map(_ends_no_process, walk(module.operation))):
        return None
    module = prepare_module(application, module)
    entry = schedule_modules.find_entry(module, application.entry)
    bind_trailing_arguments(entry, application.bind, application.sources[0])
    forget_failures()
    try:
        interpreter.apply_named_sequence(payload, entry, schedule_modules.home_of(entry))
    except (ValueError, ir.MLIRError) as error:
        source = application.sources[0]
        spans = [d.span for d in from_flattened(str(error)) if d.span and d.span.file == source.label]
        return FailedText(Places((source,)).known(spans[0])) if len(spans) == 1 else None
    return None
