"""What is known of a running schedule: which block is in which op, and what each handle is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lhkit.compiler.interpreter.op_identity import Identities
from lhkit.compiler.interpreter.payload_walk import address, addresses
from lhkit.compiler.interpreter.probes import PlannedBlock, PlannedOp, PlannedValue
from lhkit.model import trace_record as record
from lhkit.model.errors import Diagnostic
from lhkit.model.invalidation import PointsTo, Verdict

_NOTHING = PointsTo(())
# They rewrite without the interpreter's listener.
_ERASE_UNTOLD = ("transform.loop.unroll", "transform.loop.unroll_and_jam", "transform.apply_registered_pass")


@dataclass(slots=True)
class Handle:
    """A dynamic definition of a handle, as it is now."""

    id: str
    planned: PlannedValue
    state: record.HandleState = "empty"
    points_to: PointsTo = _NOTHING
    payload: tuple[record.Reference, ...] = ()
    # A value handle whose values were erased may not be asked for them.
    is_lost: bool = False
    # ``iteration`` or ``step``: what has erased a payload op whose address the interpreter still has.
    erased_by: str = ""

    @property
    def lists_ops(self) -> bool:
        """True if the interpreter has payload ops for it and may be asked for them."""
        return self.state == "live" and self.planned.kind == "op" and not self.is_lost

    def change(self) -> record.HandleChange:
        """Return its state as the trace records it."""
        return record.HandleChange(self.id, self.state, self.payload if self.state == "live" else ())


@dataclass(slots=True)
class Running:
    """A step that has begun."""

    index: int
    op: PlannedOp
    uses: list[tuple[Handle, bool]]
    verdict: Verdict
    invalidated: tuple[record.Invalidation, ...]
    started_ns: int = 0
    entered: int = 0
    iterations: int | None = None
    last_was_left: bool = False
    yields_invalid: bool = False
    acts_on_nothing: bool = False
    results: list[Handle] = field(default_factory=list)
    news: list[record.HandleChange] = field(default_factory=list)
    changes: list[record.HandleChange] = field(default_factory=list)
    deltas: list[record.PayloadDelta] = field(default_factory=list)
    warnings: list[record.TraceWarning] = field(default_factory=list)
    diagnostics: tuple[Diagnostic, ...] = ()
    # Of a loop: what each operand pointed to when it began, as `identify` says it.
    targets: list[tuple[tuple[int, str | None], ...]] = field(default_factory=list)
    # Handles that keep the addresses of ops which it may erase, with what they point to, as `identify` says it.
    keeping: list[tuple[Handle, tuple[tuple[int, str | None], ...]]] = field(default_factory=list)
    # Known where its block goes on after a failure.
    fails_silently: bool = False
    # Of alternatives: the one that it entered last, and why each that was rolled back failed.
    last_region: int = 0
    last_is_empty: bool = False
    rolled_back: list[Diagnostic] = field(default_factory=list)
    # What it needs of its payload ops and they do not have, known once it has failed.
    unmet: tuple[Diagnostic, ...] = ()

    def delta(self) -> record.PayloadDelta:
        """Return what it did to the payload, from the first look to the last."""
        if len(self.deltas) == 1:
            return self.deltas[0]

        def joined(name: str) -> tuple[str, ...]:
            return tuple(dict.fromkeys(i for d in self.deltas for i in getattr(d, name)))

        return record.PayloadDelta(joined("created"), joined("erased"), joined("changed"), joined("moved"))


@dataclass(slots=True)
class Frame:
    """One execution of a block.

    ``goes_on`` is true where a failing op does not end it, and the failure is not reported elsewhere.
    """

    block: PlannedBlock
    parent: Running | None
    iteration: int | None
    alternative: int | None
    depth: int
    path: tuple[int, ...]
    handles: dict[int, Handle] = field(default_factory=dict)
    at: int = 0
    running: Running | None = None
    clones: list[Handle] = field(default_factory=list)
    news: list[record.HandleChange] = field(default_factory=list)
    is_muted: bool = False
    goes_on: bool = False

    @property
    def is_done(self) -> bool:
        """True if its last op has run."""
        return self.at == len(self.block.ops)


def in_scope(frames: list[Frame]) -> Iterator[Handle]:
    """Yield the handles that the innermost block may refer to."""
    for frame in reversed(frames):
        yield from frame.handles.values()
        if frame.block.is_isolated:
            return


def lookup(frames: list[Frame], planned: PlannedValue) -> Handle:
    """Return the handle that a value is in the innermost block."""
    return next(f.handles[id(planned)] for f in reversed(frames) if id(planned) in f.handles)


def ask(state: Any, handle: Handle, identities: Identities) -> None:
    """Update a valid handle from the interpreter's state."""
    value, kind = handle.planned.value, handle.planned.kind
    if kind == "op":
        ops = tuple(addresses(state.get_payload_ops(value)))
        handle.points_to = PointsTo(ops)
        handle.payload = tuple([i for op in ops if (i := identities.id_at(op)) is not None])
        handle.state = "live" if ops else "empty"
    elif kind == "param":
        attributes = state.get_params(value)
        handle.payload = tuple([record.ParamReference(str(a)) for a in attributes])
        handle.state = "live" if attributes else "empty"
    else:
        values = [_value_reference(v, identities) for v in state.get_payload_values(value)]
        handle.points_to = PointsTo(
            tuple([op for _, op, _ in values]),
            tuple([(op, reference) for reference, op, _ in values]),
            tuple([root for _, _, roots in values for root in roots]),
            is_value=True,
        )
        handle.payload = tuple([reference for reference, _, _ in values])
        handle.state = "live" if values else "empty"


def _value_reference(value: Any, identities: Identities) -> tuple[record.Reference, int, tuple[int, ...]]:
    """Return (reference, address of the op that has the value, addresses of what consuming it consumes)."""
    owner = value.owner
    if hasattr(value, "result_number"):
        op = address(owner.operation)
        return record.ResultReference(identities.id_at(op) or "", value.result_number), op, (op,)
    around = owner.owner.operation
    op = address(around)
    roots = tuple(address(o.operation) for o in owner.operations)
    blocks = ((r, b, block) for r, region in enumerate(around.regions) for b, block in enumerate(region.blocks))
    r, b = next((r, b) for r, b, block in blocks if block == owner)
    return record.ArgumentReference(identities.id_at(op) or "", r, b, value.arg_number), op, roots


def clone_roots(frames: list[Frame], state: Any, given: Sequence[PlannedValue] = ()) -> list[Any]:
    """Return the copies that alternatives work on, outside the payload; ``given`` are no handles yet."""
    first = next((i for i, f in enumerate(frames) if f.clones), None)
    if first is None:
        return []
    handles = [h for f in frames for h in f.clones]
    values = []
    if any(h.state == "invalid" for h in handles):
        # A step consumed the handle to a copy, and may have given another to what is in it.
        handles = [h for f in frames[first:] for h in f.handles.values()]
        values = [p.value for p in given if p.kind == "op"]
    values += [h.planned.value for h in handles if h.lists_ops]
    tops = [_top(op) for value in values for op in state.get_payload_ops(value)]
    return list({address(top.operation): top for top in tops}.values())


def _top(op: Any) -> Any:
    while op.parent is not None:
        op = op.parent
    return op


def identify(handle: Handle, identities: Identities) -> tuple[tuple[int, str | None], ...]:
    """Return the addresses and ids of the payload ops of a handle, or of those that have its values."""
    return tuple([(at, identities.id_at(at)) for at in handle.points_to.ops])


def keeping_addresses(
    frames: list[Frame], op: PlannedOp, uses: list[tuple[Handle, bool]], identities: Identities
) -> list[tuple[Handle, tuple[tuple[int, str | None], ...]]]:
    """Return the handles that will keep the addresses of payload ops which a step may erase, and these ops.

    The rule by which handles die ends at sequences that are included, and these steps do not tell the
    interpreter what they erase: so handles of the sequences around keep pointing there.
    """
    if op.name not in _ERASE_UNTOLD:
        return []
    roots = {at for handle, consumes in uses if consumes for at in handle.points_to.ops}
    inner = {h.id for h in in_scope(frames)}

    def is_inside(at: int | None) -> bool:
        while at is not None and at not in roots:
            at = identities.parent_of(at)
        return at is not None

    return [
        (handle, identify(handle, identities))
        for frame in frames
        for handle in frame.handles.values()
        if handle.id not in inner and handle.lists_ops and any(map(is_inside, handle.points_to.ops))
    ]


def is_erased(loop: Running | None, operand: int, iteration: int | None, identities: Identities) -> bool:
    """Return True for an iteration over an op that one before has erased: the state may not be asked for it."""
    # There are no targets for parameters.
    targets = loop.targets[operand] if loop is not None and operand < len(loop.targets) else []
    if iteration is None or iteration >= len(targets):
        return False
    at, known_as = targets[iteration]
    return identities.id_at(at) != known_as
