"""How much work a payload's function does, read off its ops before anything is scheduled."""

from __future__ import annotations

from collections.abc import Sequence

from lhkit.compiler.interpreter.application import parse_payload
from lhkit.compiler.ir.bindings import new_context
from lhkit.compiler.ir.extents import Extents, Shape, product, static_shape
from lhkit.compiler.ir.functions import function_ops, function_type, symbol_name
from lhkit.compiler.ir.sources import Source
from lhkit.compiler.ir.traffic import compulsory_bytes
from lhkit.compiler.ir.work_estimate import FlopCounter
from lhkit.model.work import Work


def work_of(payload: Source, function: str, shapes: Sequence[Shape] | None = None) -> Work:
    """Return the work of one call of a function.

    Args:
        payload: The unscheduled payload.
        function: Name of one of its functions.
        shapes: The shape of each argument; dynamic extents are not known without.
    """
    with new_context():
        module = parse_payload(payload)
        op = next(op for op in function_ops(module) if symbol_name(op) == function)
        given = shapes or [static_shape(t) for t in function_type(op).inputs]
        extents = Extents()
        tally = FlopCounter(module, extents).count_function(function, given, [None] * len(given))
        blocks = list(op.regions[0].blocks)
        if len(blocks) != 1:
            return Work(tally.flops, None, _most_terms(given))
        returned = list(blocks[0].operations)[-1].operation.operands
        traffic = compulsory_bytes(module, function, given, [extents.shape(v) for v in returned])
        return Work(tally.flops, traffic, tally.terms or _most_terms(given))


def _most_terms(shapes: Sequence[Shape]) -> int:
    """Return the elements of the largest argument, which no reduction of it can exceed."""
    return max((product(n for n in shape if n) or 1 for shape in shapes), default=1)
