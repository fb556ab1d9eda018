"""Failures that the interpreter swallows without a word, found by rehearsing an op on a copy of the payload."""

from __future__ import annotations

import dataclasses
from typing import Any

from lhkit.compiler.interpreter.handle_frames import Frame, Handle, Running, clone_roots
from lhkit.compiler.interpreter.op_identity import address
from lhkit.compiler.interpreter.rehearsal import Given, rehearse
from lhkit.compiler.ir.bindings import ir
from lhkit.model.errors import Diagnostic
from lhkit.model.trace_record import (
    ArgumentReference,
    PayloadDelta,
    Reference,
    ResultReference,
    StepStatus,
    TraceWarning,
)


def find_silent_failure(frames: list[Frame], state: Any, home: Any, root: Any) -> tuple[Diagnostic, ...] | None:
    """Return why the op that is about to run fails, or None if it succeeds; nothing is changed.

    Args:
        frames: The blocks that are running; the op is the next of the innermost.
        state: The interpreter's state.
        home: The module of the schedule's sequences.
        root: The root of the payload.
    """
    frame = frames[-1]
    op = frame.block.ops[frame.at].op
    roots = [root, *clone_roots(frames, state)]
    # They live as long as these objects do, not those that a walk gives; clones that the op may erase
    # must not be owned by an object, but by a module.
    owners = [each.clone().operation for each in roots]
    shelter = ir.Module.create(ir.Location.unknown(root.context))
    for each in owners[1:]:
        shelter.body.append(each)
    pairs = (zip(_all_ops(a), _all_ops(b), strict=True) for a, b in zip(roots, owners, strict=True))
    copies = {address(op): copy for each in pairs for op, copy in each}
    handles = [(h, f) for f in frames for h in f.handles.values() if h.state != "invalid"]
    given = [_counterpart(h, state, copies) for h, _ in handles]
    later = [h.planned.value for h, f in handles if _has_use_to_come(h, f)]
    return rehearse(op, home, owners[0], given, later)


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


def _all_ops(root: Any) -> list[Any]:
    ops: list[Any] = []

    def visit(op: Any) -> Any:
        ops.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return ops


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
    """Return the warnings about a step that succeeded.

    Args:
        running: The step.
        delta: What it did to the payload.
    """
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
    """Return the warning that the interpreter and the rule for handles disagree on a step.

    Args:
        refused: Whether the interpreter refused it.
    """
    said = "refuses" if refused else "accepts"
    ours = "accepts" if refused else "refuses"
    message = f"the interpreter {said} this use of handles, which the rule for handles {ours}"
    return TraceWarning("defect", message + "; the interpreter is right, please report this")
