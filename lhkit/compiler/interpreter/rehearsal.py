"""One transform op applied alone, on the side, to learn what the interpreter keeps to itself."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lhkit.compiler.extension.own_op_failures import blame_own_op, failures_set_aside
from lhkit.compiler.extension.own_op_registry import find_definition
from lhkit.compiler.interpreter.effects import module_around
from lhkit.compiler.interpreter.probes import GIVEN, PROBE, giving, insert_probe, kind_of, listening
from lhkit.compiler.ir.bindings import interpreter, ir
from lhkit.compiler.ir.diagnostics import from_flattened, kind_of_application
from lhkit.compiler.ir.parsing import walk
from lhkit.model.failure import Diagnostic

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
