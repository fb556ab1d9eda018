"""One step more: the last step of a schedule, applied to see what it does to the payload and what it gives."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

from lhkit.compiler.interpreter.application import Application, parse_payload, prepare_application
from lhkit.compiler.interpreter.probes import kind_of
from lhkit.compiler.interpreter.requested_sizes import extents_of
from lhkit.compiler.ir.bindings import interpreter, ir, new_context
from lhkit.compiler.ir.diagnostics import from_flattened, from_structured
from lhkit.compiler.ir.functions import symbol_name
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.ir.schedule_modules import sequence_ops
from lhkit.compiler.ir.sources import Source
from lhkit.model.codec import to_json
from lhkit.model.errors import LhkitError
from lhkit.model.tried import Subject

MARK = "lhkit.given"


def try_last_step(payload_source: Source, application: Application, depth: int = 0) -> dict[str, Any]:
    """Apply a schedule and return what became of it, as JSON-ready data.

    Args:
        payload_source: The payload.
        application: The schedule.
        depth: How many last steps to enter for the step in question: 0 for the last one of the entry, 1 for the
            last one inside of that, or in the sequence that it includes.

    Returns:
        ``failed``: why it does not apply, or None; ``counts``: payload ops by name; ``digest``: of the payload;
        ``given``: for each handle that the last step defines, a `Subject`, or None where it is
        not a handle to ops. An attribute that a last step ``annotate`` wrote under `MARK` counts as the first.
    """
    with new_context():
        payload = parse_payload(payload_source)
        try:
            # The module is kept here: what is in it does not keep it alive.
            _module, home, entry = prepare_application(application)
        except LhkitError as error:
            said = error.failure.diagnostics
            return {"failed": said[0].message if said else error.failure.message}
        count = _mark_results(_last_block(home, entry, depth))
        try:
            interpreter.apply_named_sequence(payload.operation, entry, home)
            payload.operation.verify()
        except ir.MLIRError as error:
            return {"failed": f"it leaves a payload that does not verify: {from_structured(error)[0].message}"}
        except ValueError as error:
            said = from_flattened(str(error))
            return {"failed": said[0].message if said else "it gives no reason"}
        given = _take_marks(payload, count)
        names = Counter(op.name for op in walk(payload.operation))
        digest = hashlib.sha256(str(payload).encode()).hexdigest()
        return {"failed": None, "counts": names, "digest": digest, "given": to_json(given)}


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
