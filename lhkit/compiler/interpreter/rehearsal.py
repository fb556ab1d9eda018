"""One transform op applied alone, on the side, to learn what the interpreter keeps to itself."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lhkit.compiler.extension.own_op_failures import blame_own_op, failures_set_aside
from lhkit.compiler.extension.own_op_registry import find_definition
from lhkit.compiler.interpreter.application import parse_payload, prepare_application
from lhkit.compiler.interpreter.effects import add_sequence, module_around
from lhkit.compiler.interpreter.handle_frames import Frame, Handle, Running, clone_roots
from lhkit.compiler.interpreter.payload_walk import address, ops_under
from lhkit.compiler.interpreter.probes import GIVEN, PROBE, giving, insert_probe, kind_of, listening
from lhkit.compiler.interpreter.refused_steps import extents_of
from lhkit.compiler.ir.bindings import interpreter, ir
from lhkit.compiler.ir.context_pool import reused_context
from lhkit.compiler.ir.functions import symbol_name
from lhkit.compiler.ir.parsing import from_flattened, from_structured, kind_of_application, walk
from lhkit.compiler.ir.schedule_modules import sequence_ops
from lhkit.compiler.tiling.tiled_op_reader import tilings_in
from lhkit.model.errors import Diagnostic, LhkitError
from lhkit.model.explanation import Subject
from lhkit.model.trace_record import (
    ArgumentReference,
    PayloadDelta,
    Reference,
    ResultReference,
    StepStatus,
    TraceWarning,
)
from lhkit.worker.requests import Application, Source, StepOutcome

_SCRATCH = "__lhkit_rehearsal"
# The probe behind the op; its number is not a probe's of a plan.
_BEHIND = -1

# A handle: its value in the schedule, and what it points to: payload ops, values or attributes.
Given = tuple[Any, Sequence[Any]]

_repeats: dict[tuple[str, str], bool] = {}


def takes_repeated_handles(op: Any, consumed: int, home: Any) -> bool:
    """Return True if an op lets its operands point to payload that a consumed one points to.

    Ops say so to the interpreter only, which is asked once for each form of an op, its name and attributes.

    Args:
        op: The op.
        consumed: Number of the first handle to ops that it consumes.
        home: The module of the schedule's sequences; as before when this returns.
    """
    if find_definition(op.name) is not None:  # and what it was applied to here would be news to its author
        return False
    form = (op.name, str(op.attributes))
    if form not in _repeats:
        _repeats[form] = _ask_for_repeats(op, consumed, home)
    return _repeats[form]


def _as_printed(value: Any) -> str:
    """Return how the compiler prints a value in a message: as the op that defines it."""
    if isinstance(value, ir.BlockArgument):
        return f"<block argument> of type '{value.type}' at index: {value.arg_number}"
    return str(value.owner)


def _with_texts(diagnostic: Diagnostic, texts: Mapping[str, str]) -> Diagnostic:
    message = diagnostic.message
    for old, new in texts.items():
        message = message.replace(old, new)
    notes = tuple(_with_texts(n, texts) for n in diagnostic.notes)
    return dataclasses.replace(diagnostic, message=message, notes=notes)


def _ask_for_repeats(op: Any, consumed: int, home: Any) -> bool:
    values = list(op.operands)
    handles = [i for i, v in enumerate(values) if kind_of(v.type) == "op"]
    target = values[consumed]
    payload = ir.Module.create(ir.Location.unknown(op.context))
    # Nothing is applied to handles to nothing, and consuming one invalidates it for the operands that
    # follow. Where none follows it has to list an op twice.
    twice: list[Any] = []
    if handles[-1] == consumed:
        one = payload.operation
        if str(target.type).startswith("!transform.op<"):
            name = str(target.type).partition('"')[2].partition('"')[0]
            one = ir.Operation.create(name, loc=ir.Location.unknown(op.context))
        twice = [one, one]
    given = [(v, twice if v == target else ()) for v in dict.fromkeys(values)]
    with _scratch(op, [v for v, _ in given]) as (sequence, block, results):
        copy = _put(op, block, results)
        for i in handles:
            copy.operands[i] = results[target]
        problems = _apply(sequence, home, payload.operation, [p for _, p in given])
    kind = None if problems is None else kind_of_application(problems)
    return kind not in ("invalidated-handle", "repeated-payload")


def _put(op: Any, block: Any, results: Mapping[Any, Any]) -> Any:
    """Add a copy of an op to a block, with other operands, and a probe behind it."""
    end = ir.InsertionPoint(block)
    copy = op.clone(ip=end).operation
    for inner in (copy, *walk(copy)):
        for value, result in results.items():
            inner.replace_uses_of_with(value, result)
    insert_probe(ir.Operation.create("transform.yield", ip=end), _BEHIND)
    return copy


@contextlib.contextmanager
def _scratch(op: Any, values: Sequence[Any]) -> Iterator[tuple[Any, Any, dict[Any, Any]]]:
    """Put a sequence beside that of an op, for a while; its block begins with handles that stand for values."""
    with op.context, ir.Location.unknown():
        block = module_around(op).regions[0].blocks[0]
        sequence = add_sequence(_SCRATCH, [ir.Type.parse("!transform.any_op")], block)
        try:
            block = sequence.regions[0].blocks[0]
            at = ir.InsertionPoint(block)
            ops = {v: ir.Operation.create(GIVEN, results=[v.type], ip=at) for v in dict.fromkeys(values)}
            yield sequence, block, {v: op.results[0] for v, op in ops.items()}
        finally:
            sequence.erase()


def _apply(
    sequence: Any, home: Any, payload: Any, payloads: Sequence[Sequence[Any]]
) -> tuple[Diagnostic, ...] | None:
    """Apply a scratch sequence; return why its op fails, or None if the probe behind it is reached."""
    reached = False

    def listen(number: int, _state: Any) -> bool:
        nonlocal reached
        reached = reached or number == _BEHIND
        return number != _BEHIND

    with failures_set_aside():
        try:
            with listening(listen), giving(payloads):
                interpreter.apply_named_sequence(payload, sequence, home)
        except (ValueError, ir.MLIRError) as error:
            return None if reached else blame_own_op(from_flattened(str(error)))[1]
    return None


# One step more: the last step of a schedule, applied to see what it does to the payload and what it gives.


MARK = "lhkit.given"


def try_last_step(
    payload_source: Source, application: Application, depth: int = 0, known: str = ""
) -> StepOutcome:
    """Apply a schedule and return its effect on the payload.

    Args:
        payload_source: The payload.
        application: The schedule.
        depth: How many last steps to enter for the step in question: 0 for the last one of the entry, 1 for the
            last one inside of that, or in the sequence that it includes.
        known: Digest of a payload whose structured ops are not asked for.

    An attribute that a last step ``annotate`` wrote under `MARK` counts as the first result.
    """
    with reused_context():
        payload = parse_payload(payload_source)
        try:
            # The module is kept here: what is in it does not keep it alive.
            _module, home, entry = prepare_application(application)
        except LhkitError as error:
            said = error.failure.diagnostics
            return _failed(said[0].message if said else error.failure.message)
        count = _mark_results(_last_block(home, entry, depth))
        try:
            interpreter.apply_named_sequence(payload.operation, entry, home)
            payload.operation.verify()
        except ir.MLIRError as error:
            return _failed(f"it leaves a payload that does not verify: {from_structured(error)[0].message}")
        except ValueError as error:
            said = from_flattened(str(error))
            return _failed(said[0].message if said else "it gives no reason")
        given = _take_marks(payload, count)
        names = Counter(op.name for op in walk(payload.operation))
        digest = hashlib.sha256(str(payload).encode()).hexdigest()
        tilings = None if digest == known else tilings_in(payload, payload_source)
        return StepOutcome(None, names, digest, tuple(given), tilings)


def _failed(why: str) -> StepOutcome:
    return StepOutcome(why, {}, "", ())


def _last_block(home: Any, entry: Any, depth: int) -> Any:
    """Return the block that so many last steps of the entry lead to."""
    block = entry.regions[0].blocks[0]
    for _ in range(depth):
        step = list(block.operations)[-2].operation
        if step.name == "transform.include":
            wanted = ir.FlatSymbolRefAttr(step.attributes["target"]).value
            step = next(op for op in sequence_ops(home) if symbol_name(op) == wanted)
        block = list(step.regions[-1].blocks)[-1]
    return block


def _mark_results(block: Any) -> int:
    """Have the payload ops of the last step's results marked; return how many results there are."""
    ops = list(block.operations)
    if len(ops) < 2:
        return 1
    results = list(ops[-2].operation.results)
    with ir.InsertionPoint(ops[-1]), ir.Location.unknown():
        for i, result in enumerate(results):
            if kind_of(result.type) == "op":
                name = ir.StringAttr.get(f"{MARK}{i}")
                ir.Operation.create("transform.annotate", operands=[result], attributes={"name": name})
    return len(results) or 1


def _take_marks(payload: Any, count: int) -> list[Subject]:
    """Return what each handle points to, and take the marks off."""
    marked: list[list[Any]] = [[] for _ in range(count)]
    for op in (payload.operation, *walk(payload.operation)):
        for i in range(count):
            if f"{MARK}{i}" in op.attributes:
                del op.attributes[f"{MARK}{i}"]
                marked[i].append(op)
    return [_describe(ops) for ops in marked]


def _describe(ops: list[Any]) -> Subject:
    if not ops:
        return Subject()
    first = ops[0]
    types = [o.type for o in first.operands]
    elements = tuple(str(ir.ShapedType(t).element_type) for t in types if isinstance(t, ir.ShapedType))
    return Subject(tuple(op.name for op in ops), tuple(extents_of(first) or ()), elements)


# Failures that the interpreter swallows without a word, found by rehearsing an op on a copy of the payload.


def find_silent_failure(frames: list[Frame], state: Any, home: Any, root: Any) -> tuple[Diagnostic, ...] | None:
    """Return why the next op of the innermost frame fails, or None if it succeeds; nothing is changed."""
    frame = frames[-1]
    op = frame.block.ops[frame.at].op
    roots = [root, *clone_roots(frames, state)]
    # They live as long as these objects do, not those that a walk gives; clones that the op may erase
    # must not be owned by an object, but by a module.
    owners = [each.clone().operation for each in roots]
    shelter = ir.Module.create(ir.Location.unknown(root.context))
    for each in owners[1:]:
        shelter.body.append(each)
    pairs = zip(ops_under(roots), ops_under(owners), strict=True)
    copies = {address(op): copy for op, copy in pairs}
    handles = [(h, f) for f in frames for h in f.handles.values() if h.state != "invalid"]
    given = [_counterpart(h, state, copies) for h, _ in handles]
    later = [h.planned.value for h, f in handles if _has_use_to_come(h, f)]
    with _scratch(op, [v for v, _ in given]) as (sequence, block, results):
        _put(op, block, results)
        # Nothing gets here. The interpreter tracks the payload of handles that have uses to come.
        uses = [results[v] for v in later]
        ir.Operation.create(PROBE, operands=uses, ip=ir.InsertionPoint.at_block_terminator(block))
        problems = _apply(sequence, home, owners[0], [p for _, p in given])
        if problems is None:
            return None
        if not any(GIVEN in repr(p) for p in problems):  # printing an op numbers all values of the schedule
            return tuple(problems)
        texts = {str(r.owner): _as_printed(v) for v, r in results.items()}
        return tuple(_with_texts(p, texts) for p in problems)


def rollback_note(frame: Frame, failed: Running) -> Diagnostic:
    """Return which alternative was rolled back, for which step, and why that one failed."""
    reason = next((d for d in failed.diagnostics if d.severity == "error" and d.message.strip()), None)
    said = "it gave no reason" if reason is None else reason.message.strip().partition("\n")[0]
    place = "" if failed.op.source is None else f", {failed.op.source}"
    at = f"step {failed.index} ({failed.op.name}{place})"
    return Diagnostic("note", f"alternative {frame.block.region} failed at {at}: {said}", failed.op.source)


def with_alternatives(
    running: Running, said: tuple[Diagnostic, ...], status: StepStatus
) -> tuple[Diagnostic, ...]:
    """Return what was said of a step; of alternatives also which was taken, and why those before it failed."""
    if not running.op.tries or (len(running.op.blocks) == 1 and not running.rolled_back):
        return said
    failed = tuple(running.rolled_back)
    if status != "ok":
        at = next((i for i, d in enumerate(said) if d.severity == "error"), None)
        if at is None:
            return said
        told = dataclasses.replace(said[at], notes=(*said[at].notes, *failed))
        return (*said[:at], told, *said[at + 1 :])
    taken = f"alternative {running.last_region} was taken"
    if running.last_is_empty:
        taken += ", which is empty and leaves the payload as it was"
    sentence = "; ".join([taken, *(d.message for d in failed)])
    return (*said, Diagnostic("note", sentence, running.op.source))


def _counterpart(handle: Handle, state: Any, copies: dict[int, Any]) -> Given:
    """Return a handle with what it points to in the copy."""
    value, kind = handle.planned.value, handle.planned.kind
    if handle.is_lost:
        return value, ()
    if kind == "param":
        return value, state.get_params(value)
    if kind == "op":
        return value, [copies[at] for at in handle.points_to.ops]
    references = zip(handle.points_to.ops, handle.payload, strict=True)
    return value, [_copied_value(copies[at], reference) for at, reference in references]


def _copied_value(op: Any, reference: Reference) -> Any:
    if isinstance(reference, ResultReference):
        return op.results[reference.result]
    if isinstance(reference, ArgumentReference):
        return op.regions[reference.region].blocks[reference.block].arguments[reference.argument]
    raise AssertionError("a value handle points to results and arguments")  # pragma: no cover


def _has_use_to_come(handle: Handle, frame: Frame) -> bool:
    """Return True for a handle of a block that is used by what has not run yet, or runs now."""
    running = frame.block.ops[frame.at].op
    for use in handle.planned.value.uses:
        user = use.owner.operation
        if user == running:
            continue
        while user.block != running.block:
            user = user.parent.operation
        if user == running or running.is_before_in_block(user):
            return True
    return False


# What is legal in a schedule and seldom meant: matches of nothing, steps that do nothing.


def suspicions(running: Running, delta: PayloadDelta) -> list[TraceWarning]:
    """Return the warnings about a step that succeeded."""
    if running.acts_on_nothing:
        names = [h.planned.name for h, _ in running.uses if h.planned.kind != "param"]
        return [TraceWarning("no-effect", f"does nothing: {_are_empty(names)}")]
    consumes = any(c for _, c in running.uses)
    found = [h for h in running.results if h.planned.kind != "param"]
    if not consumes and found and not any(h.payload for h in found) and not running.op.blocks:
        empty = _are_empty([h.planned.name for h in found])
        it = "it" if len(found) == 1 else "them"
        return [TraceWarning("zero-match", f"finds nothing: {empty}, and what uses {it} will do nothing")]
    if consumes and delta == PayloadDelta() and not running.entered:
        return [TraceWarning("no-effect", "leaves the payload as it was")]
    return []


def _are_empty(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return f"{', '.join(distinct)} {'is' if len(distinct) == 1 else 'are'} empty"


def defect(refused: bool) -> TraceWarning:
    """Return the warning that the interpreter and the rule for handles disagree on a step."""
    said = "refuses" if refused else "accepts"
    ours = "accepts" if refused else "refuses"
    message = f"the interpreter {said} this use of handles, which the rule for handles {ours}"
    return TraceWarning("defect", message + "; the interpreter is right, please report this")
