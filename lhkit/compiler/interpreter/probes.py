"""Transform ops of our own: probes call back while a schedule runs, and one gives handles their payload."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lhkit.compiler.interpreter.effects import UPSTREAM, Effects, effects_of
from lhkit.compiler.interpreter.refused_steps import RequestedSizes, fatal_request_of, requested_sizes
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import expect_dialect, host_module, ir
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.ir.schedule_modules import referred_sequences, sequence_ops, sequence_path
from lhkit.model.span import Span
from lhkit.model.trace_record import HandleKind

# A separate dialect: the ops that people write are in others, and one can be loaded only once.
PROBE = "lhkit_trace.probe"
GIVEN = "lhkit_trace.given"
_DIALECT = """irdl.dialect @lhkit_trace {
  irdl.operation @probe {
    %number = irdl.any
    irdl.attributes { "number" = %number }
  }
  irdl.operation @given {
    %handle = irdl.any
    irdl.results(handle: %handle)
  }
}"""

# What is called with the number of a probe and the interpreter's state; False stops the application.
Listener = Callable[[int, Any], bool]
_listeners: list[Listener] = []
# What the next ``given`` ops hand out, one after the other: payload ops, values or attributes.
_given: list[Iterator[Sequence[Any]]] = []

_transform: Any = host_module("dialects.transform")
expect_dialect("lhkit_trace")


class _Op(_transform.TransformOpInterface):  # type: ignore[misc]
    @staticmethod
    def allow_repeated_handle_operands(_op: Any) -> bool:
        return False


class _Apply(_Op):
    @staticmethod
    def apply(op: Any, _rewriter: Any, _results: Any, state: Any) -> Any:
        go_on = _listeners[-1](ir.IntegerAttr(op.attributes["number"]).value, state)
        result = _transform.DiagnosedSilenceableFailure
        return result.Success if go_on else result.DefiniteFailure


class _Give(_Op):
    @staticmethod
    def apply(op: Any, _rewriter: Any, results: Any, _state: Any) -> Any:
        handle, payload = op.results[0], list(next(_given[-1]))
        give = {"op": results.set_ops, "value": results.set_values, "param": results.set_params}
        give[kind_of(handle.type)](handle, payload)
        return _transform.DiagnosedSilenceableFailure.Success


class _Effects(_transform.MemoryEffectsOpInterface):  # type: ignore[misc]
    # Older bindings hand over a list to fill, newer ones take what is returned.
    @staticmethod
    def get_effects(_op: Any, _effects: Any = None) -> list[Any]:
        return []


def load_probe(context: Any) -> None:
    """Make our ops known to a context, unless they are."""
    if getattr(context, "lhkit_has_probes", False):
        return
    context.lhkit_has_probes = True
    with context:
        host_module("dialects.irdl").load_dialects(ir.Module.parse(_DIALECT))
        _Apply.attach(PROBE, context=context)
        _Give.attach(GIVEN, context=context)
        # An op without a model of its effects ends the process.
        for name in (PROBE, GIVEN):
            _Effects.attach(name, context=context)


def insert_probe(before: Any, number: int) -> Any:
    """Insert a probe before a transform op, or at an insertion point, and return it."""
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
    place = before if isinstance(before, ir.InsertionPoint) else ir.InsertionPoint(before)
    return ir.Operation.create(PROBE, attributes={"number": attribute}, loc=ir.Location.unknown(), ip=place)


def kind_of(type_: Any) -> HandleKind:
    """Return what a transform value of a type is a handle to."""
    text = str(type_)
    if text.startswith(("!transform.any_op", "!transform.op<", "!pdl.operation")):
        return "op"
    return "value" if text.startswith("!transform.any_value") else "param"


@contextlib.contextmanager
def giving(payloads: Sequence[Sequence[Any]]) -> Iterator[None]:
    """Let the ops ``given`` hand out these lists of payload ops, values or attributes, one after the other."""
    _given.append(iter(payloads))
    try:
        yield
    finally:
        _given.pop()


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let probes call a function; what it raises is raised here, after the application has stopped."""
    raised: list[BaseException] = []

    def guarded(number: int, state: Any) -> bool:
        if raised:
            return False
        try:
            return listener(number, state)
        except BaseException as error:  # noqa: BLE001 - must not unwind through the interpreter
            raised.append(error)
            return False

    _listeners.append(guarded)
    try:
        yield
    finally:
        _listeners.pop()
        if raised:
            raise raised[0]


# A schedule before it runs: its blocks and ops with names, places and effects, and a probe at every gap.


_TERMINATOR = "transform.yield"
_SUPPRESS = 2
_LOOPS = ("transform.foreach", "transform.foreach_match")


@dataclass(slots=True)
class PlannedValue:
    """A transform value: the handle it is, in the IR."""

    value: Any
    name: str
    kind: HandleKind


@dataclass(slots=True)
class PlannedOp:
    """A transform op: operands with what is done to them, results, and where control may go from it.

    Attributes:
        operands: Each operand, and whether it is consumed.
        callees: Names of the sequences it may enter.
        suppresses: True where a failing op inside of it does not end the block.
        collects: True where it does not either, and makes this op fail at its end.
        tries: True if it enters its blocks in turn, each on a copy of its operand, until one succeeds.
        loops: True if it enters its block or callees once for each payload op.
        asked: The sizes that it asks for, if it does.
        only_reads: True if it cannot change the payload.
        fatal: What in its attributes ends the process once it has payload; see `lhkit.model.fatal_attributes`.
        blocks: Its blocks of steps, one a region.
    """

    op: Any
    name: str
    source: Span | None
    operands: list[tuple[PlannedValue, bool]]
    results: list[PlannedValue]
    callees: tuple[str, ...]
    suppresses: bool
    collects: bool
    tries: bool
    loops: bool
    asked: RequestedSizes | None
    only_reads: bool
    fatal: str | None
    blocks: list[PlannedBlock] = field(default_factory=list)


@dataclass(slots=True)
class PlannedBlock:
    """A block that probes stand in.

    Attributes:
        number: Its index among the blocks of the plan.
        sequence: The named sequence it is in.
        arguments: Its arguments.
        ops: Its ops without the terminator.
        yielded: What its terminator hands on.
        is_isolated: True for the body of a named sequence, which sees no handles from outside.
        region: Number of its region in its op.
        owner: The op it belongs to, None for a named sequence.
    """

    number: int
    sequence: str
    arguments: list[PlannedValue]
    ops: list[PlannedOp]
    yielded: list[PlannedValue]
    is_isolated: bool
    region: int
    owner: PlannedOp | None


class Plan:
    """The blocks of a schedule module by number, and the block and gap of each probe."""

    def __init__(
        self,
        home: Any,
        names: Names,
        unseen: Sequence[Any] = (),
        bound: Sequence[tuple[Any, str]] = (),
        key: Hashable = None,
    ) -> None:
        """Plan a schedule and put probes into it, in place.

        Args:
            home: The module operation of the sequences.
            names: Names and places of its sources.
            unseen: Ops that are not the author's; no probe and no step is for them.
            bound: Their results that stand for arguments of the entry, with the names of the arguments.
            key: The sources and what is bound, None if steps of them were left out. What effects upstream's ops
                have follows from these; it is asked of the compiler once.
        """
        self.probes: list[tuple[PlannedBlock, int]] = []
        self.blocks: list[PlannedBlock] = []
        self._names = names
        self._unseen = unseen
        self._bound = bound
        self._values: dict[Any, PlannedValue] = {}
        sequences = stepping_sequences(home)
        ops = [op for sequence in sequences for op in steps_in(sequence)]
        self._effects = dict(zip(ops, _known_effects(home, ops, key), strict=True))
        for sequence in sequences:
            self._block(sequence.regions[0].blocks[0], f"@{sequence_path(sequence)}", None, 0)

    def _block(self, block: Any, sequence: str, owner: PlannedOp | None, region: int) -> PlannedBlock:
        arguments = [self._value(a, self._names.argument(a)) for a in block.arguments]
        planned = PlannedBlock(len(self.blocks), sequence, arguments, [], [], owner is None, region, owner)
        self.blocks.append(planned)
        ops = [o.operation for o in block.operations]
        seen = [o for o in ops[:-1] if o not in self._unseen]
        if owner is None and any(o in self._unseen for o in ops):
            planned.arguments += [self._value(value, name) for value, name in self._bound]
        for i, op in enumerate(seen):
            self._probe(op, planned, i)
            planned.ops.append(self._op(op, sequence))
        self._probe(ops[-1], planned, len(seen))
        planned.yielded = [self._values[v] for v in ops[-1].operands]
        return planned

    def _probe(self, op: Any, block: PlannedBlock, at: int) -> None:
        insert_probe(op, len(self.probes))
        self.probes.append((block, at))

    def _op(self, op: Any, sequence: str) -> PlannedOp:
        effects = self._effects[op]
        operands = [(self._values[v], c) for v, c in zip(op.operands, effects.consumed, strict=True)]
        names = self._names.results(op)
        callees = tuple(referred_sequences(op, ("target", "actions")))
        planned = PlannedOp(
            op,
            op.name,
            self._names.place(op.location),
            operands,
            [self._value(r, n) for r, n in zip(op.results, names, strict=True)],
            callees,
            suppresses=_suppresses(op),
            collects="actions" in op.attributes,
            tries=op.name == "transform.alternatives",
            loops=op.name in _LOOPS,
            asked=requested_sizes(op),
            only_reads=effects.only_reads and not callees,
            fatal=fatal_request_of(op),
        )
        for i, block in stepping_blocks(op):
            planned.blocks.append(self._block(block, sequence, planned, i))
        return planned

    def _value(self, value: Any, name: str) -> PlannedValue:
        planned = PlannedValue(value, name, kind_of(value.type))
        self._values[value] = planned
        return planned


# Effects of the ops of the last schedules: knobs change values, and not what an op consumes.
_known: dict[Hashable, list[Effects]] = {}
_MOST_KNOWN = 8


def _known_effects(home: Any, ops: list[Any], key: Hashable) -> list[Effects]:
    if key is None or not all(op.name.startswith(UPSTREAM) for op in ops):
        return effects_of(home, ops)
    key = key, tuple([(op.name, len(op.operands), len(op.regions)) for op in ops])
    if key not in _known:
        while len(_known) >= _MOST_KNOWN:
            del _known[next(iter(_known))]
        _known[key] = effects_of(home, ops)
    return _known[key]


def stepping_sequences(home: Any) -> list[Any]:
    """Return the named sequences whose ops run one after the other: not those that only match."""
    matchers = _matchers(home)
    return [op for op in sequence_ops(home) if len(op.regions[0].blocks) and sequence_path(op) not in matchers]


def steps_in(op: Any) -> Iterator[Any]:
    """Yield the ops of the blocks that probes can stand in, inner ones too, without terminators."""
    for _, block in stepping_blocks(op):
        for inner in list(block.operations)[:-1]:
            yield inner.operation
            yield from steps_in(inner.operation)


def stepping_blocks(op: Any) -> Iterator[tuple[int, Any]]:
    """Yield (region number, block) of the regions whose ops run one after the other: those that yield."""
    for i, region in enumerate(op.regions):
        for block in region.blocks:
            ops = list(block.operations)
            if ops and ops[-1].operation.name == _TERMINATOR:
                yield i, block


def _matchers(home: Any) -> set[str]:
    """Return the sequences that only match: probes are not allowed in them, nor in what they include."""
    by_name = {sequence_path(op): op for op in sequence_ops(home)}
    found: set[str] = set()
    waiting = [s for op in walk(home) for s in referred_sequences(op, ("matchers", "matcher"))]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            inner = walk(by_name[name]) if name in by_name else ()
            waiting += [s for op in inner for s in referred_sequences(op, ("target",))]
    return found


def _suppresses(op: Any) -> bool:
    mode = "failure_propagation_mode"
    return mode in op.attributes and ir.IntegerAttr(op.attributes[mode]).value == _SUPPRESS
