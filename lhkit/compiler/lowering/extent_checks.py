"""Runtime checks of dynamic extents: conditions found at compile time, evaluated before every call.

Compiled code believes that the extents of its operands fit one another; where they do not, it would read and
write outside of its arrays.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.ir.bindings import ir, passmanager
from lhkit.compiler.ir.functions import function_ops, symbol_name
from lhkit.compiler.ir.parsing import failure_in, span_of
from lhkit.model.errors import Diagnostic, error_for
from lhkit.model.span import Span
from lhkit.worker.requests import Source

# Every op says what has to hold when it runs; what these conditions need is then brought back to extents of
# arguments. Calls and elementwise arithmetic become what the checks know.
_CONDITIONS = (
    "inline",
    "func.func(convert-elementwise-to-linalg)",
    "generate-runtime-verification",
    "resolve-ranked-shaped-type-result-dims",
    "canonicalize",
    "cse",
)
_REASON = re.compile(r"(?:= |\n)([a-z_]+\.[a-z_.0-9]+).*\n\^ (.*)\n", re.DOTALL)

Shapes = Sequence[tuple[int, ...]]
_Value = Callable[[Shapes], int]

# By the name in the index dialect; arith adds an i.
_INDEX_OPS: dict[str, Callable[[int, int], int]] = {
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul, "mins": min, "maxs": max},
    **{"and": operator.and_, "or": operator.or_},
}
_BINARY = {
    "xori": operator.xor,
    **_INDEX_OPS,
    **{f"{name}i": function for name, function in _INDEX_OPS.items()},
}
# In the order in which arith numbers its predicates.
_COMPARISONS: dict[str, Callable[[int, int], int]] = {
    **{"eq": operator.eq, "ne": operator.ne},
    **{"slt": operator.lt, "sle": operator.le, "sgt": operator.gt, "sge": operator.ge},
}
_COMPARED = {
    **{f"{i} : i64": function for i, function in enumerate(_COMPARISONS.values())},
    **{f"#index<cmp_predicate {name}>": function for name, function in _COMPARISONS.items()},
}


@dataclass(frozen=True, slots=True)
class ExtentCheck:
    """A condition on the shapes of arguments: it holds where ``holds`` is true or a guard is false."""

    guards: tuple[_Value, ...]
    holds: _Value
    reason: str
    span: Span | None

    def fails(self, shapes: Shapes) -> bool:
        """Return True if these shapes break the condition."""
        return all(guard(shapes) for guard in self.guards) and not self.holds(shapes)


def extent_checks(module: Any, function: str) -> tuple[ExtentCheck, ...]:
    """Return a function's conditions on the shapes of its arguments, outside of loops; consumes the module."""
    for op in function_ops(module):
        visibility = "public" if symbol_name(op) == function else "private"
        op.attributes["sym_visibility"] = ir.StringAttr.get(visibility)
    passmanager.PassManager.parse(f"builtin.module({','.join(_CONDITIONS)})").run(module.operation)
    entry = next(op for op in function_ops(module) if symbol_name(op) == function)
    checks: dict[Any, ExtentCheck] = {}
    for op, guards in _assertions(entry.regions[0].blocks[0], ()):
        values = [_value_of(v) for v in (op.operands[0], *guards)]
        if None not in values:
            holds, *conditions = values
            check = ExtentCheck(tuple(conditions), holds, _reason(op), span_of(op.location))  # type: ignore[arg-type]
            checks.setdefault((op.operands[0], guards), check)
    return tuple(checks.values())


def _assertions(block: Any, guards: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield the assertions that run whenever some conditions hold, with these conditions."""
    for op in [o.operation for o in block.operations]:
        if op.name == "cf.assert":
            yield op, guards
        elif op.name == "scf.if":
            yield from _assertions(op.regions[0].blocks[0], (*guards, op.operands[0]))


def _value_of(value: Any) -> _Value | None:
    """Return how to compute an SSA value from the shapes of arguments, or None if they do not tell."""
    if not isinstance(value.owner, ir.Operation | ir.OpView):
        return None
    op = value.owner.operation if isinstance(value.owner, ir.OpView) else value.owner
    name = op.name.partition(".")[2]
    if name == "constant":
        number = op.attributes["value"]
        constant = int(number.value) if isinstance(number, ir.IntegerAttr | ir.BoolAttr) else None
        return None if constant is None else lambda shapes: constant
    if name == "dim" and isinstance(op.operands[0].owner, ir.Block):
        number, axis = ir.BlockArgument(op.operands[0]).arg_number, _value_of(op.operands[1])
        return None if axis is None else lambda shapes: shapes[number][axis(shapes)]
    predicate = next((str(op.attributes[n]) for n in ("predicate", "pred") if n in op.attributes), "")
    function = _COMPARED.get(predicate) if name in ("cmp", "cmpi") else _BINARY.get(name)
    operands = [_value_of(v) for v in op.operands] if function else [None]
    if function is None or None in operands:
        return None
    left, right = operands
    return lambda shapes: function(left(shapes), right(shapes))  # type: ignore[misc]


def _reason(op: Any) -> str:
    message = ir.StringAttr(op.attributes["msg"]).value
    found = _REASON.search(message)
    return f"{found[1]}: {found[2]}" if found else message


def check_extents(checks: Sequence[ExtentCheck], shapes: Shapes, sources: Sequence[Source]) -> None:
    """Refuse arguments of shapes that break a condition."""
    for check in checks:
        if check.fails(shapes):
            shown = ", ".join("x".join(map(str, s)) or "scalar" for s in shapes)
            message = f"the extents of the arguments ({shown}) do not fit one another"
            diagnostics = (Diagnostic("error", check.reason, check.span),)
            raise error_for(failure_in(sources, "usage", message, diagnostics, stage="call"))
