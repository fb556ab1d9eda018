"""Applying a schedule to a payload, and saying what kind of failure it was."""

from __future__ import annotations

import dataclasses
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lhkit.compiler.extension.own_op_failures import blame_own_op, forget_failures
from lhkit.compiler.ir import parsing, schedule_modules
from lhkit.compiler.ir.bindings import interpreter, ir, new_context, passmanager
from lhkit.compiler.ir.capabilities import match_attributes
from lhkit.compiler.ir.context_pool import reused_context
from lhkit.compiler.ir.functions import function_type, symbol_name
from lhkit.model.errors import Diagnostic, FailureKind, LhkitError, UsageError, error_for, usage_error
from lhkit.model.knob import KnobValue
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
from lhkit.worker.requests import Application, Source

# Arguments of an entry beyond the root, bound to what the payload holds.

_OP_HANDLE = re.compile(r"!transform\.(any_op|op<.*>)")
_INTEGERS = re.compile(r"#-?\d+(;-?\d+)*")


def bind_trailing_arguments(entry: Any, bind: Sequence[str], source: Source) -> list[Any]:
    """Give the trailing arguments of an entry their payload ops, in place; return the values that replace them.

    The i-th argument after the root becomes what the i-th binding says: a handle to all payload ops of a
    name, with ``^`` before the name a handle to all their results, with ``#`` integers (``#8;16``). It is made
    before the first step, and spelled as in the pass option ``debug-bind-trailing-args``. (Calling the entry
    from a wrapper would not do: an include consumes the root first and so kills the other handles.)

    Raises:
        UsageError: No root, more or fewer names than arguments after it, or one that cannot be bound so.
    """
    types = list(function_type(entry).inputs)

    def refuse(location: Any, problem: str, advice: str) -> UsageError:
        place = parsing.span_of(location)
        at = None if place is None else parsing.Places([source]).known(place)
        message = f"@{symbol_name(entry)} of {source.name} {problem}"
        return usage_error(message, advice, at=at, text=source.content.decode(errors="replace"))

    root = types[0] if types else "no argument"
    if not _OP_HANDLE.fullmatch(str(root)):
        advice = "The first argument of an entry is a handle to ops: %root: !transform.any_op."
        raise refuse(entry.location, f"takes {root} where the payload's root goes", advice)
    if len(types) != len(bind) + 1:
        problem = f"takes {len(types) - 1} arguments after the root, and {len(bind)} are bound"
        usage = " ".join("--bind OPNAME" for _ in types[1:]) or "no --bind"
        advice = f"Give {usage} (bind=[…] in Python): one for each argument, in order."
        raise refuse(entry.location, problem, advice)
    if not bind:
        return []
    block = entry.regions[0].blocks[0]
    trailing = list(block.arguments)[1:]
    for argument, binding in zip(trailing, bind, strict=True):
        if not _takes(argument.type, binding):
            raise refuse(
                argument.location,
                f"has an argument of type {argument.type}, to which {binding!r} cannot be bound",
                "OPNAME binds payload ops to an op handle, ^OPNAME their results to a value handle, "
                "#1;2;3 integers to a parameter.",
            )
    made = []
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
        for argument, binding in zip(trailing, bind, strict=True):
            made.append(_bound(block.arguments[0], binding, argument.type))
            argument.replace_all_uses_with(made[-1])
    for i in reversed(range(1, len(types))):
        block.erase_argument(i)
    entry.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types[:1], []))
    if "arg_attrs" in entry.attributes:
        kept = list(ir.ArrayAttr(entry.attributes["arg_attrs"]))[:1]
        entry.attributes["arg_attrs"] = ir.ArrayAttr.get(kept)
    return made


def _takes(type_: Any, binding: str) -> bool:
    """Return True if an argument of that type can be bound so."""
    text = str(type_)
    if binding.startswith("#"):
        return _INTEGERS.fullmatch(binding) is not None and text.startswith("!transform.param<")
    return text == "!transform.any_value" if binding.startswith("^") else bool(_OP_HANDLE.fullmatch(text))


def _bound(root: Any, binding: str, type_: Any) -> Any:
    """Return the value of a binding: payload ops under the root, their results, or integers."""
    if binding.startswith("#"):
        i64 = ir.IntegerType.get_signless(64)
        numbers = [ir.IntegerAttr.get(i64, int(n)) for n in binding[1:].split(";")]
        each = [_created("transform.param.constant", type_, value=n) for n in numbers]
        return _created("transform.merge_handles", type_, *each)
    if not binding.startswith("^"):
        return _created("transform.structured.match", type_, root, **match_attributes(binding))
    any_op = ir.Type.parse("!transform.any_op")
    matched = _created("transform.structured.match", any_op, root, **match_attributes(binding[1:]))
    all_results = {"raw_position_list": ir.DenseI64ArrayAttr.get([]), "is_all": ir.UnitAttr.get()}
    return _created("transform.get_result", type_, matched, **all_results)


def _created(name: str, type_: Any, *operands: Any, **attributes: Any) -> Any:
    return ir.Operation.create(name, [type_], operands, attributes).results[0]


_READ_ONLY = "transform.readonly"
_PROBE_ENTRY = "__lhkit_suppress"
# The module of a schedule, the home of the sequences in it, and the entry; these do not keep the module alive.
Prepared = tuple[Any, Any, Any]


def parse_payload(source: Source) -> Any:
    """Return the module of a payload; named sequences that stand beside it are left out."""
    module = parsing.parse_module(source)
    strip_sequences(module)
    return module


def strip_sequences(module: Any) -> None:
    """Remove named sequences, and modules that hold nothing else, from a payload, in place."""
    for op in schedule_modules.sequence_ops(module):
        op.erase()
    for op in [o.operation for o in module.body.operations]:
        is_empty = op.name == "builtin.module" and not list(op.regions[0].blocks[0].operations)
        if is_empty and schedule_modules.SEQUENCE_MARK in op.attributes:
            op.erase()
    if schedule_modules.SEQUENCE_MARK in module.operation.attributes:
        del module.operation.attributes[schedule_modules.SEQUENCE_MARK]


def apply_schedule(
    payload: Any, payload_source: Source, application: Application, prepared: Prepared | None = None
) -> None:
    """Apply a schedule to a payload module, in place; the result is verified.

    Args:
        payload: The module.
        payload_source: Its source.
        application: The schedule.
        prepared: What `prepare_application` returned for it in the module's context, to be applied again.

    Raises:
        ScheduleError: It does not parse, verify or apply, or leaves a payload that does not verify.
    """
    _module, home, entry = prepared or prepare_application(application)
    sources = (payload_source, *application.sources)
    forget_failures()
    try:
        interpreter.apply_named_sequence(payload.operation, entry, home)
    except (ValueError, ir.MLIRError) as error:
        raise application_error(error, payload_source, application, (_module, home, entry)) from None
    try:
        payload.operation.verify()
    except ir.MLIRError as error:
        message = f"{application.sources[0].name} applies, and leaves a payload that does not verify"
        diagnostics = parsing.from_structured(error)
        raise error_for(
            parsing.failure_in(sources, "invalid-payload", message, diagnostics, stage="apply")
        ) from None


def op_counts(
    payload: Source, application: Application, variants: Iterable[Mapping[str, KnobValue]]
) -> Iterator[Mapping[str, int] | None]:
    """Yield how many ops of each name a schedule gives with values of its knobs; None if it does not apply."""
    with reused_context():
        given = parse_payload(payload).operation
        module, home, entry = prepare_application(application)
        for knobs in variants:
            schedule_modules.set_knobs(module, {**application.knobs, **knobs})
            forget_failures()
            applied = given.clone().operation
            try:
                interpreter.apply_named_sequence(applied, entry, home)
                applied.verify()
                yield Counter(op.name for op in parsing.walk(applied))
            except (ValueError, ir.MLIRError):
                yield None


def prepare_application(application: Application) -> Prepared:
    """Return a schedule with knobs and bindings in place."""
    module = prepare_module(application)
    entry = schedule_modules.find_entry(module, application.entry)
    bind_trailing_arguments(entry, application.bind, application.sources[0])
    return module, schedule_modules.home_of(entry), entry


def prepare_module(application: Application, parsed: Any = None) -> Any:
    """Return the module of a schedule that is about to be applied, knobs set; ``parsed`` is what it is made of.

    Raises:
        ScheduleError: It does not parse or verify, or runs a pass that is not allowed.
    """
    module = parsed or schedule_modules.parse_schedule(application.sources)
    check_passes(module, application.sources, application.allowed_passes)
    schedule_modules.set_knobs(module, application.knobs)
    return module


def application_error(
    error: Exception, payload_source: Source, application: Application, prepared: Prepared | None = None
) -> LhkitError:
    """Return the typed error for what the interpreter raised; ``prepared`` is what was applied, if known."""
    diagnostics = parsing.from_flattened(str(error))
    sources = (payload_source, *application.sources)
    kind = parsing.kind_of_application(diagnostics)
    own, diagnostics = blame_own_op(diagnostics)
    if kind is None and own is not None:
        kind, sources = own.kind, (*sources, *own.sources)
    if kind is None:
        kind = _kind_by_suppressing(payload_source, application, prepared)
    message = f"{application.sources[0].name} does not apply to {payload_source.name}"
    if not diagnostics:
        message += "; the step that failed gave no reason"
    return error_for(parsing.failure_in(sources, kind, message, diagnostics, stage="apply"))


def _kind_by_suppressing(
    payload_source: Source, application: Application, prepared: Prepared | None
) -> FailureKind:
    """Return the kind of a failure by applying again with silenceable failures suppressed.

    The interpreter itself is asked, because its message does not tell the kinds apart.
    """
    payload = parse_payload(payload_source)
    _module, home, entry = prepared or prepare_application(application)
    if list(function_type(entry).results):
        return "definite"
    try:
        interpreter.apply_named_sequence(payload.operation, _suppressing(home, entry), home)
    except (ValueError, ir.MLIRError):
        return "definite"
    return "silenceable"


def _suppressing(home: Any, entry: Any) -> Any:
    """Return the sequence beside an entry, merged into its home once, that includes it without its failures."""
    known = [op for op in schedule_modules.sequence_ops(home) if symbol_name(op) == _PROBE_ENTRY]
    if known:
        return known[0]
    name, root = symbol_name(entry), function_type(entry).inputs[0]
    # Declarations merge only where their marks agree.
    marks = str(entry.attributes["arg_attrs"]) if "arg_attrs" in entry.attributes else ""
    mark = _READ_ONLY if _READ_ONLY in marks else "transform.consumed"
    probe = ir.Module.parse(
        f"module attributes {{{schedule_modules.SEQUENCE_MARK}}} {{\n"
        f"transform.named_sequence private @{name}({root} {{{mark}}})\n"
        f"transform.named_sequence @{_PROBE_ENTRY}(%root: {root} {{{mark}}}) {{\n"
        f"transform.include @{name} failures(suppress) (%root) : ({root}) -> ()\n"
        "transform.yield\n}}"
    )
    interpreter.copy_symbols_and_merge_into(home, probe.operation)
    return next(op for op in schedule_modules.sequence_ops(home) if symbol_name(op) == _PROBE_ENTRY)


# Schedules applied by the compiler's own passes, as ``mlir-opt`` applies them: a judge of what is exported.


def apply_by_pass(
    payload: Source,
    schedules: Sequence[Source],
    entry: str,
    bind: Sequence[str],
    allowed_passes: Sequence[str] = (),
) -> str:
    """Return the text of a payload after ``transform-interpreter`` ran on it.

    Args:
        payload: The payload.
        schedules: Files with named sequences, as ``transform-preload-library`` reads them.
        entry: The sequence to apply.
        bind: What the entry's trailing arguments are bound to.
        allowed_passes: Passes that the schedules may run besides those of `lhkit.model.pass_policy`.

    Raises:
        ScheduleError: A pass fails, or is not allowed.
        UsageError: A name that cannot stand in the text of a pipeline.
    """
    symbol = entry.rpartition("::")[2]
    for name in (symbol, *bind):
        if not is_plain_name(name):
            raise usage_error(f"the name {name!r} cannot be an option of the pass transform-interpreter")
    with tempfile.TemporaryDirectory() as folder, new_context():
        files = [Path(folder) / f"{source.label}.mlir" for source in schedules]
        for file, source in zip(files, schedules, strict=True):
            file.write_bytes(source.content)
            check_passes(parsing.parse_module(source), [source], allowed_passes)
        options = [f"entry-point={symbol}"]
        options += [f"debug-bind-trailing-args={','.join(bind)}"] if bind else []
        paths = ",".join(map(str, files))
        pipeline = (
            f"builtin.module(transform-preload-library{{transform-library-paths={paths}}},"
            f"transform-interpreter{{{' '.join(options)}}})"
        )
        module = parse_payload(payload)
        try:
            passmanager.PassManager.parse(pipeline).run(module.operation)
        except ir.MLIRError as error:
            diagnostics = parsing.from_structured(error)
            labelled = [dataclasses.replace(s, label=str(f)) for s, f in zip(schedules, files, strict=True)]
            kind = parsing.kind_of_application(diagnostics) or "definite"
            message = f"the pass transform-interpreter fails with {schedules[0].name} on {payload.name}"
            failure = parsing.failure_in((payload, *labelled), kind, message, diagnostics, stage="apply")
            raise error_for(failure) from None
        return str(module)


# Passes that a schedule would run and may not, found in its IR before anything is applied.


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
        found = tuple(Diagnostic("error", r.reason, r.source) for r in refused)
        registered = [r.name for r in refused if r.is_registered]
        flaw = "is not allowed" if registered else "does not exist"
        message = f"{sources[0].name} runs a pass that {flaw}"
        advice = how_to_allow(registered)
        raise error_for(
            parsing.failure_in(sources, "schedule-verify", message, found, stage="verify", advice=advice)
        ) from None


def refused_passes(
    module: Any, sources: Sequence[Source], allowed: Collection[str] = ()
) -> tuple[RefusedPass, ...]:
    """Return the steps of a module, in order, that run a pass which is not allowed."""
    places = parsing.Places(sources)
    return tuple(
        dataclasses.replace(r, source=r.source and places.known(r.source))
        for r in _refused(module.operation, allowed)
    )


def _refused(operation: Any, allowed: Collection[str]) -> Iterator[RefusedPass]:
    """Yield the refused steps with their places as the compiler says them."""
    for op in parsing.walk(operation):
        if op.name == APPLY_PASS:
            name = ir.StringAttr(op.attributes["pass_name"]).value
            reason = refusal_of(name, _options(op), allowed)
            if reason is not None:
                is_there = name in ALLOWED_PASSES or name in REFUSED_PASSES or is_registered(name, op.context)
                yield RefusedPass(
                    name, parsing.span_of(op.location), reason if is_there else no_such_pass(name), is_there
                )


def is_registered(name: str, context: Any) -> bool:
    """Return whether the compiler has a pass of this name."""
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
