"""Failures that the interpreter swallows without a word, found by rehearsing an op on a copy of the payload."""

from __future__ import annotations

from typing import Any

from lhkit.compiler.bindings import ir
from lhkit.compiler.frames import Frame, Handle
from lhkit.compiler.identity import address
from lhkit.compiler.rehearsal import Given, rehearse
from lhkit.model.failure import Diagnostic
from lhkit.model.trace import ArgumentReference, Reference, ResultReference


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
    roots = [root, *_clones(frames, state)]
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


def _clones(frames: list[Frame], state: Any) -> list[Any]:
    """Return what alternatives work on, which is outside the payload."""
    handles = [h for f in frames for h in f.clones if h.state != "invalid"]
    return [o for h in handles for o in state.get_payload_ops(h.planned.value) if o.parent is None]


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
