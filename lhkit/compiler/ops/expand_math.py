"""``lhkit.expand_math``: exponentials, logarithms, tanh, erf and rsqrt as arithmetic, also of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.lowering import float_functions
from lhkit.compiler.lowering.float_functions import FloatCode, like
from lhkit.model.own_op_definition import Ops, Rewriter, transform_op

_arith: Any = host_module("dialects.arith")

# The function, and whether it is for f64 too.
_FUNCTIONS: dict[str, tuple[Callable[[FloatCode, Any], Any], bool]] = {
    "exp": (float_functions.exp, True),
    "log": (float_functions.log, False),
    "tanh": (float_functions.tanh, False),
    "erf": (float_functions.erf, False),
    "rsqrt": (float_functions.rsqrt, True),
}


@transform_op("lhkit.expand_math")
def expand_math(target: Ops, *, rewriter: Rewriter) -> None:
    """Write exp, log, tanh, erf and rsqrt as range reduction and polynomial, in ops that CPUs have for vectors.

    ::

        %y = math.exp %x : vector<16xf32>
        // becomes
        %shifted = math.fma %x, %log2_e, %shifter : vector<16xf32>
        ...                                                 // about 20 ops of arith, and math.fma

    Otherwise each element of a vector becomes a call of ``expf``. Scalars in the bodies of linalg ops are
    written out too and can then be vectorized. Of f64 only exp and rsqrt are; f16 and bf16 go by way of f32.
    Ops that it does not know stay.

    The largest errors in f32, in units in the last place: exp 0.88, log 1.50, tanh 1.35, erf 1.09, rsqrt 1.49
    (of 71 million values over the whole range, erf of 9 million; exp in f64: 0.9). Infinities, NaN, signed
    zeros and subnormal arguments and results are as the functions have them; NaN keeps no payload.

    Args:
        target: Ops of the math dialect, or functions and other ops with such inside.
        rewriter: How the payload is changed.
    """
    found = [op for each in target for op in (each.operation, *walk(each.operation)) if _is_known(op)]
    # A handle may hold an op and what is inside it.
    for op in dict.fromkeys(found):
        with rewriter.before(op):
            value = _expanded(op)
        rewriter.replace(op, [value])


def _is_known(op: Any) -> bool:
    dialect, _, name = op.name.partition(".")
    return dialect == "math" and name in _FUNCTIONS and _width(op.results[0].type) in _widths(name)


def _widths(name: str) -> tuple[int, ...]:
    return (16, 32, 64) if _FUNCTIONS[name][1] else (16, 32)


def _width(type_: Any) -> int:
    return int((type_.element_type if isinstance(type_, ir.ShapedType) else type_).width)


def _expanded(op: Any) -> Any:
    function, _ = _FUNCTIONS[op.name.partition(".")[2]]
    operand, type_ = op.operands[0], op.results[0].type
    if _width(type_) != 16:
        return function(FloatCode(type_), operand)
    wide = like(type_, ir.F32Type.get())
    return _arith.truncf(type_, function(FloatCode(wide), _arith.extf(wide, operand)))
