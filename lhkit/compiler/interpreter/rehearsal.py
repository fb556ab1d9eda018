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
from lhkit.compiler.interpreter.effects import module_around
from lhkit.compiler.interpreter.probes import GIVEN, PROBE, giving, insert_probe, kind_of, listening
from lhkit.compiler.interpreter.refused_steps import extents_of
from lhkit.compiler.ir.bindings import interpreter, ir, new_context
from lhkit.compiler.ir.diagnostics import from_flattened, from_structured, kind_of_application
from lhkit.compiler.ir.functions import symbol_name
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.ir.schedule_modules import sequence_ops
from lhkit.model.errors import Diagnostic, LhkitError
from lhkit.model.explanation import Subject
from lhkit.worker.requests import Application, Source, StepOutcome

_SCRATCH = "__lhkit_rehearsal"
# The probe behind the op; its number is no probe's of a plan.
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


def rehearse(
    op: Any, home: Any, payload: Any, handles: Sequence[Given], later: Sequence[Any]
) -> tuple[Diagnostic, ...] | None:
    """Apply a copy of an op to a payload; return why it fails, or None if it succeeds.

    Args:
        op: The op.
        home: The module of the schedule's sequences; as before when this returns.
        payload: The root of the payload; it is changed.
        handles: The handles that the op, or an op after it, may use; those of the op are among them.
        later: The values of the handles that ops after it use.
    """
    with _scratch(op, [v for v, _ in handles]) as (sequence, block, given):
        _put(op, block, given)
        # Nothing gets here. The interpreter tracks the payload of handles that have uses to come.
        uses = [given[v] for v in later]
        ir.Operation.create(PROBE, operands=uses, ip=ir.InsertionPoint.at_block_terminator(block))
        problems = _apply(sequence, home, payload, [p for _, p in handles])
        if problems is None:
            return None
        texts = {str(r.owner): _as_printed(v) for v, r in given.items()}
        return tuple(_with_texts(p, texts) for p in problems)


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
        root = ir.Type.parse("!transform.any_op")
        sequence = ir.Operation.create(
            "transform.named_sequence",
            attributes={
                "sym_name": ir.StringAttr.get(_SCRATCH),
                "sym_visibility": ir.StringAttr.get("private"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get([root], [])),
            },
            regions=1,
            ip=ir.InsertionPoint(module_around(op).regions[0].blocks[0]),
        )
        try:
            block = sequence.regions[0].blocks.append(root)
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


def try_last_step(payload_source: Source, application: Application, depth: int = 0) -> StepOutcome:
    """Apply a schedule and return its effect on the payload.

    Args:
        payload_source: The payload.
        application: The schedule.
        depth: How many last steps to enter for the step in question: 0 for the last one of the entry, 1 for the
            last one inside of that, or in the sequence that it includes.

    An attribute that a last step ``annotate`` wrote under `MARK` counts as the first result.
    """
    with new_context():
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
        return StepOutcome(None, names, digest, tuple(given))


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
