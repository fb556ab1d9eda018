"""Passes that a schedule would run and may not, found in its IR before anything is applied."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir, passmanager
from lhkit.compiler.ir.diagnostics import span_of
from lhkit.compiler.ir.parsing import Places, failure_in, walk
from lhkit.model.errors import Diagnostic, error_for
from lhkit.model.pass_policy import (
    ALLOWED_PASSES,
    APPLY_PASS,
    REFUSED_PASSES,
    RefusedPass,
    how_to_allow,
    is_plain_name,
    no_such_pass,
    refusal_of,
)
from lhkit.worker.requests import Source


def check_passes(module: Any, sources: Sequence[Source], allowed: Collection[str] = ()) -> None:
    """Refuse a module that runs a pass which is not allowed, anywhere in it.

    Sequences that nothing includes count too: what is applied is decided later, and elsewhere.

    Args:
        module: The module of a schedule, libraries merged in.
        sources: Its texts, for places; the first one is the schedule.
        allowed: Passes that the user allows besides those of the list.

    Raises:
        ScheduleError: It does; each such step is named with its place.
    """
    refused = list(_refused(module.operation, allowed))
    if refused:
        found = tuple([Diagnostic("error", reason, span_of(op.location)) for op, _, reason, _ in refused])
        message = f"{sources[0].name} runs a pass that is not allowed"
        registered = [name for _, name, _, is_registered in refused if is_registered]
        if not registered:
            message = f"{sources[0].name} runs a pass that does not exist"
        advice = how_to_allow(registered)
        raise error_for(
            failure_in(sources, "schedule-verify", message, found, stage="verify", advice=advice)
        ) from None


def refused_passes(
    module: Any, sources: Sequence[Source], allowed: Collection[str] = ()
) -> tuple[RefusedPass, ...]:
    """Return the steps of a module, in order, that run a pass which is not allowed."""
    places = Places(sources)
    found = []
    for op, name, reason, is_registered in _refused(module.operation, allowed):
        span = span_of(op.location)
        place = None if span is None else places.known(span)
        found.append(RefusedPass(name, place, reason, is_registered))
    return tuple(found)


def _refused(operation: Any, allowed: Collection[str]) -> Iterator[tuple[Any, str, str, bool]]:
    """Yield (op, name of the pass, why it is refused, whether there is such a pass)."""
    for op in walk(operation):
        if op.name == APPLY_PASS:
            name = ir.StringAttr(op.attributes["pass_name"]).value
            reason = refusal_of(name, _options(op), allowed)
            if reason is not None:
                is_there = name in ALLOWED_PASSES or name in REFUSED_PASSES or _is_registered(name, op.context)
                yield op, name, reason if is_there else no_such_pass(name), is_there


def _is_registered(name: str, context: Any) -> bool:
    if not is_plain_name(name):
        return False
    try:
        passmanager.PassManager.parse(f"any({name})", context)
    except ValueError:
        return False
    return True


def _options(op: Any) -> Iterator[tuple[str, bool]]:
    """Yield the options of a step with whether each is a literal number or boolean."""
    options = op.attributes["options"] if "options" in op.attributes else None
    if options is None:
        return
    if not isinstance(options, ir.DictAttr):  # older bindings: one string with all options
        if ir.StringAttr(options).value:
            yield str(options), False
        return
    for option in options:
        yield option.name, isinstance(option.attr, ir.IntegerAttr | ir.BoolAttr)
