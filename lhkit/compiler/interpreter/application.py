"""Applying a schedule to a payload, and saying what kind of failure it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.extension.own_op_failures import blame_own_op, forget_failures
from lhkit.compiler.interpreter.binding import bind_trailing_arguments
from lhkit.compiler.interpreter.pass_checks import check_passes
from lhkit.compiler.ir.bindings import interpreter, ir
from lhkit.compiler.ir.diagnostics import from_flattened, from_structured, kind_of_application
from lhkit.compiler.ir.functions import function_type, symbol_name
from lhkit.compiler.ir.parsing import parse_module
from lhkit.compiler.ir.schedule_modules import (
    SEQUENCE_MARK,
    find_entry,
    home_of,
    parse_schedule,
    sequence_ops,
    set_knobs,
)
from lhkit.compiler.ir.sources import Source, failure_in
from lhkit.model.errors import LhkitError, error_for
from lhkit.model.failure import FailureKind
from lhkit.model.knob import KnobValue

_READ_ONLY = "transform.readonly"
_PROBE_ENTRY = "__lhkit_suppress"


@dataclass(frozen=True, slots=True)
class Application:
    """A schedule to be applied: its sources (libraries last), entry, knob values and bindings.

    ``allowed_passes`` are the passes that it may run besides those of `lhkit.model.pass_policy`.
    """

    sources: tuple[Source, ...]
    entry: str
    knobs: Mapping[str, KnobValue]
    bind: tuple[str, ...] = ()
    allowed_passes: tuple[str, ...] = ()


def parse_payload(source: Source) -> Any:
    """Return the module of a payload; named sequences that stand beside it are left out."""
    module = parse_module(source)
    strip_sequences(module)
    return module


def strip_sequences(module: Any) -> None:
    """Remove named sequences, and modules that hold nothing else, from a payload, in place."""
    for op in sequence_ops(module):
        op.erase()
    for op in [o.operation for o in module.body.operations]:
        if op.name == "builtin.module" and SEQUENCE_MARK in op.attributes and _is_empty(op):
            op.erase()
    if SEQUENCE_MARK in module.operation.attributes:
        del module.operation.attributes[SEQUENCE_MARK]


def _is_empty(module_op: Any) -> bool:
    return not list(module_op.regions[0].blocks[0].operations)


def apply_schedule(payload: Any, payload_source: Source, application: Application) -> None:
    """Apply a schedule to a payload module, in place; the result is verified.

    Raises:
        ScheduleError: It does not parse, verify or apply, or leaves a payload that does not verify.
    """
    apply_prepared(payload, payload_source, application, prepare_application(application))


def apply_prepared(
    payload: Any, payload_source: Source, application: Application, prepared: tuple[Any, Any, Any]
) -> None:
    """Do what `apply_schedule` does with a schedule that `prepare_application` returned, in its context."""
    _module, home, entry = prepared
    sources = (payload_source, *application.sources)
    forget_failures()
    try:
        interpreter.apply_named_sequence(payload.operation, entry, home)
    except (ValueError, ir.MLIRError) as error:
        raise application_error(error, payload_source, application) from None
    try:
        payload.operation.verify()
    except ir.MLIRError as error:
        message = f"{application.sources[0].name} applies, and leaves a payload that does not verify"
        diagnostics = from_structured(error)
        raise error_for(failure_in(sources, "invalid-payload", message, diagnostics, stage="apply")) from None


def prepare_application(application: Application) -> tuple[Any, Any, Any]:
    """Return (module, home of the sequences in it, entry) of a schedule with knobs and bindings in place.

    The module has to be kept as long as the others are in use: they do not keep it alive.
    """
    module = prepare_module(application)
    entry = find_entry(module, application.entry)
    bind_trailing_arguments(entry, application.bind, application.sources[0])
    return module, home_of(entry), entry


def prepare_module(application: Application) -> Any:
    """Return the module of a schedule that is about to be applied, knobs set.

    Raises:
        ScheduleError: It does not parse or verify, or runs a pass that is not allowed.
    """
    module = parse_schedule(application.sources)
    check_passes(module, application.sources, application.allowed_passes)
    set_knobs(module, application.knobs)
    return module


def application_error(error: Exception, payload_source: Source, application: Application) -> LhkitError:
    """Return the typed error for what the interpreter raised."""
    diagnostics = from_flattened(str(error))
    sources = (payload_source, *application.sources)
    kind = kind_of_application(diagnostics)
    own, diagnostics = blame_own_op(diagnostics)
    if kind is None and own is not None:
        kind, sources = own.kind, (*sources, *own.sources)
    if kind is None:
        kind = _kind_by_suppressing(payload_source, application)
    message = f"{application.sources[0].name} does not apply to {payload_source.name}"
    if not diagnostics:
        message += "; the step that failed gave no reason"
    return error_for(failure_in(sources, kind, message, diagnostics, stage="apply"))


def _kind_by_suppressing(payload_source: Source, application: Application) -> FailureKind:
    """Return the kind of a failure by applying again with silenceable failures suppressed.

    The interpreter itself is asked, because its message does not tell the kinds apart.
    """
    payload = parse_payload(payload_source)
    _module, home, entry = prepare_application(application)
    name, type_ = symbol_name(entry), function_type(entry)
    if list(type_.results):
        return "definite"
    root = type_.inputs[0]
    # Declarations merge only where their marks agree.
    marks = str(entry.attributes["arg_attrs"]) if "arg_attrs" in entry.attributes else ""
    mark = _READ_ONLY if _READ_ONLY in marks else "transform.consumed"
    probe = ir.Module.parse(
        f"module attributes {{{SEQUENCE_MARK}}} {{\n"
        f"transform.named_sequence private @{name}({root} {{{mark}}})\n"
        f"transform.named_sequence @{_PROBE_ENTRY}(%root: {root} {{{mark}}}) {{\n"
        f"transform.include @{name} failures(suppress) (%root) : ({root}) -> ()\n"
        "transform.yield\n}}"
    )
    try:
        interpreter.copy_symbols_and_merge_into(home, probe.operation)
        suppressing = next(op for op in sequence_ops(home) if symbol_name(op) == _PROBE_ENTRY)
        interpreter.apply_named_sequence(payload.operation, suppressing, home)
    except (ValueError, ir.MLIRError):
        return "definite"
    return "silenceable"
