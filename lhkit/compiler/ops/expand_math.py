"""``lhkit.expand_math``: exp, log, log1p, tanh, erf, rsqrt and small powers in arithmetic, also of vectors."""

from __future__ import annotations

import functools
import math
import struct
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.parsing import walk
from lhkit.model.own_op_definition import Ops, Rewriter, transform_op

_arith: Any = host_module("dialects.arith")
_math: Any = host_module("dialects.math")

# The coefficients of each function.
_FITS: Mapping[str, list[float]] = tomllib.loads(
    Path(__file__).with_name("polynomials.toml").read_text(encoding="utf-8")
)
_FLOATS = {32: ("f", "I", 23, 127), 64: ("d", "Q", 52, 1023)}


class FloatCode:
    """Constants, comparisons and casts for arithmetic on one type: f32, f64, or vectors or tensors of them."""

    def __init__(self, type_: Any) -> None:
        element = type_.element_type if isinstance(type_, ir.ShapedType) else type_
        self.type = type_
        self.bits = element.width
        self._packed, self._packed_bits, self.mantissa_bits, self.bias = _FLOATS[self.bits]
        self._element = element
        self._whole = ir.IntegerType.get_signless(self.bits)
        self._whole_type = like(type_, self._whole)
        self._constants: dict[Any, Any] = {}

    def number(self, value: float) -> Any:
        """Return a constant, rounded to the type."""
        (exact,) = struct.unpack(self._packed, struct.pack(self._packed, value))
        return self._constant(ir.FloatAttr.get(self._element, exact), self.type)

    def whole(self, value: int) -> Any:
        """Return a constant integer with as many bits as a float."""
        return self._constant(ir.IntegerAttr.get(self._whole, value), self._whole_type)

    def bits_of(self, value: float) -> int:
        """Return the bits of a number of the type as an integer."""
        return int(struct.unpack(self._packed_bits, struct.pack(self._packed, value))[0])

    def polynomial(self, x: Any, coefficients: Sequence[float]) -> Any:
        """Return the sum of ``coefficients[k]`` · x**k, by Horner's scheme."""
        *others, value = map(self.number, coefficients)
        for coefficient in reversed(others):
            value = _math.fma(value, x, coefficient)
        return value

    def where(self, predicate: str, a: Any, b: Any, then: Any, otherwise: Any) -> Any:
        """Return ``then`` where the comparison holds (``olt``, ``ugt``, …), else ``otherwise``."""
        kind = getattr(_arith.CmpFPredicate, predicate.upper())
        return _arith.select(_arith.cmpf(kind, a, b), then, otherwise)

    def as_whole(self, a: Any) -> Any:
        """Return the bits of floats as integers."""
        return _arith.bitcast(self._whole_type, a)

    def as_float(self, a: Any) -> Any:
        """Return integers as the floats with those bits."""
        return _arith.bitcast(self.type, a)

    def _constant(self, value: Any, type_: Any) -> Any:
        if value not in self._constants:
            is_shaped = isinstance(type_, ir.ShapedType)
            filled = ir.DenseElementsAttr.get_splat(type_, value) if is_shaped else value
            self._constants[value] = _arith.constant(type_, filled)
        return self._constants[value]


def like(type_: Any, element: Any) -> Any:
    """Return a float, vector or tensor type with another element type."""
    if isinstance(type_, ir.VectorType):
        scalable = type_.scalable_dims if type_.scalable else None
        return ir.VectorType.get(type_.shape, element, scalable=scalable)
    if isinstance(type_, ir.RankedTensorType):
        return ir.RankedTensorType.get(type_.shape, element)
    return element


_LOG2_E = 1 / math.log(2)
# ln 2 as the number of the type nearest to it, and the rest.
_LN_2 = {32: (0.693147182464599609375, -1.904654299957768e-09), 64: (math.log(2), 2.3190468138462996e-17)}
# Of exp: below the first all is 0, below the second results may be subnormal, above the third infinite.
_EXP_BOUNDS = {32: (-104.0, -86.0, 88.72283172607422), 64: (-746.0, -707.0, 709.782712893384)}
# Of exp under afn: n - 1 is from -127 on, and at most 128.
_AFN_BOUNDS = (-87.6, 89.3)
# tanh is 1 in f32 from 9.02 on.
_TANH_SMALL, _TANH_LARGEST = 0.625, 10.0
_ERF_SMALL, _ERF_LARGEST = 0.9375, 4.0


def exp(code: FloatCode, x: Any) -> Any:
    """Return e to a power: 2^n · e^r with x = n · ln 2 + r."""
    zero_below, small_below, infinite_above = _EXP_BOUNDS[code.bits]
    # Comparisons are false for NaN, which so passes.
    lowest = code.number(zero_below)
    clamped = code.where("ogt", lowest, x, lowest, x)
    mantissa, exponent = _exp_parts(code, clamped)
    # Where the result may be subnormal it is made 2^64 times as large, and then rounded once.
    is_small = ("olt", clamped, code.number(small_below))
    lifted = _arith.addi(exponent, code.whole(64 << code.mantissa_bits))
    exponent = code.where(*is_small, lifted, exponent)
    result = code.as_float(_arith.addi(code.as_whole(mantissa), exponent))
    result = code.where(*is_small, _arith.mulf(result, code.number(2.0**-64)), result)
    is_large = ("ugt", x, code.number(infinite_above))
    return code.where(*is_large, _arith.addf(x, code.number(math.inf)), result)


def _exp_parts(code: FloatCode, x: Any) -> tuple[Any, Any]:
    """Return exp(r), and n in the bits of an exponent, of a number whose exponential is finite."""
    high, low = _LN_2[code.bits]
    # Adding this leaves the nearest integer in the last bits.
    shifter = code.number(1.5 * 2.0**code.mantissa_bits)
    shifted = _math.fma(x, code.number(_LOG2_E), shifter)
    n = _arith.subf(shifted, shifter)
    r = _math.fma(n, code.number(-low), _math.fma(n, code.number(-high), x))
    value = code.polynomial(r, (1.0, 1.0, *_FITS[f"exp_f{code.bits}"]))
    return value, _arith.shli(code.as_whole(shifted), code.whole(code.mantissa_bits))


def approximate_exp(code: FloatCode, x: Any) -> Any:
    """Return e to a power, 0 where that is below 1.7e-38: 2^(n-1) · 2 e^r with x = n · ln 2 + r."""
    lowest, highest = code.number(_AFN_BOUNDS[0]), code.number(_AFN_BOUNDS[1])
    clamped = code.where("ogt", lowest, x, lowest, x)
    clamped = code.where("olt", highest, clamped, highest, clamped)
    high, low = _LN_2[32]
    # The last bits of the sum are n - 1 as the exponent of a float.
    shifter = code.number(1.5 * 2.0**23 + 126)
    shifted = _math.fma(clamped, code.number(_LOG2_E), shifter)
    n = _arith.subf(shifted, shifter)
    r = _math.fma(n, code.number(-low), _math.fma(n, code.number(-high), clamped))
    doubled = code.polynomial(r, [2 * c for c in _FITS["exp_afn"]])
    # A product, not a sum of bits, so that NaN stays, and what is too large becomes infinite.
    return _arith.mulf(doubled, code.as_float(_arith.shli(code.as_whole(shifted), code.whole(23))))


def _plain_exp(code: FloatCode, x: Any) -> Any:
    """Return e to the power x where that is a normal number."""
    mantissa, exponent = _exp_parts(code, x)
    return code.as_float(_arith.addi(code.as_whole(mantissa), exponent))


def log(code: FloatCode, x: Any) -> Any:
    """Return the natural logarithm: e · ln 2 + ln m with x = 2^e · m, m between the roots of 1/2 and 2."""
    is_small = ("olt", x, code.number(2.0 ** (1 - code.bias)))
    # Subnormals are made normal.
    scaled = code.where(*is_small, _arith.mulf(x, code.number(2.0**code.mantissa_bits)), x)
    lift = code.where(*is_small, code.number(-float(code.mantissa_bits)), code.number(0.0))
    result = _plain_log(code, scaled, lift)
    infinity, zero = code.number(math.inf), code.number(0.0)
    result = code.where("oeq", x, infinity, infinity, result)
    result = code.where("oeq", x, zero, code.number(-math.inf), result)
    return code.where("ult", x, zero, code.number(math.nan), result)


def _plain_log(code: FloatCode, x: Any, lift: Any = None) -> Any:
    """Return the natural logarithm of a positive, normal number, and of 2 as often as ``lift`` says."""
    bits = code.as_whole(x)
    distance = _arith.subi(bits, code.whole(code.bits_of(math.sqrt(0.5))))
    exponent = _arith.shrsi(distance, code.whole(code.mantissa_bits))
    mantissa = code.as_float(_arith.subi(bits, _arith.shli(exponent, code.whole(code.mantissa_bits))))
    e = _arith.sitofp(code.type, exponent)
    e = e if lift is None else _arith.addf(e, lift)
    f = _arith.subf(mantissa, code.number(1.0))
    square = _arith.mulf(f, f)
    high, low = _LN_2[code.bits]
    tail = _math.fma(e, code.number(low), _cube_and_more(code, f, square))
    tail = _math.fma(square, code.number(-0.5), tail)
    # e times the high part is exact only in the fma, so the sum of the large terms comes last.
    return _arith.addf(_math.fma(e, code.number(high), f), tail)


def _cube_and_more(code: FloatCode, f: Any, square: Any) -> Any:
    """Return what is left of ln(1 + f) behind f - f² / 2, 1 + f between the roots of 1/2 and 2."""
    return _arith.mulf(_arith.mulf(f, square), code.polynomial(f, _FITS["log"]))


def log1p(code: FloatCode, x: Any) -> Any:
    """Return ln(1 + x): by the polynomial of x near 0, else ln(u) + (1 + x - u) / u with u = 1 + x rounded."""
    one = code.number(1.0)
    square = _arith.mulf(x, x)
    near = _arith.addf(x, _math.fma(square, code.number(-0.5), _cube_and_more(code, x, square)))
    u = _arith.addf(x, one)
    lost = _arith.subf(x, _arith.subf(u, one))
    far = _arith.addf(_plain_log(code, u), _arith.divf(lost, u))
    infinity, least = code.number(math.inf), code.number(-1.0)
    far = code.where("oeq", x, infinity, infinity, far)
    far = code.where("oeq", x, least, code.number(-math.inf), far)
    far = code.where("ult", x, least, code.number(math.nan), far)
    result = code.where("olt", x, code.number(math.sqrt(2.0) - 1), near, far)
    return code.where("olt", x, code.number(math.sqrt(0.5) - 1), far, result)


def tanh(code: FloatCode, x: Any) -> Any:
    """Return the hyperbolic tangent: x + x³ · P(x²) where |x| is small, else 1 - 2 / (exp(2 |x|) + 1)."""
    a = _math.absf(x)
    square = _arith.mulf(a, a)
    small = _math.fma(a, _arith.mulf(square, code.polynomial(square, _FITS["tanh"])), a)
    largest = code.number(_TANH_LARGEST)
    clamped = code.where("olt", largest, a, largest, a)
    one = code.number(1.0)
    power = _plain_exp(code, _arith.addf(clamped, clamped))
    large = _arith.subf(one, _arith.divf(code.number(2.0), _arith.addf(power, one)))
    # NaN is not large.
    return _math.copysign(code.where("oge", a, code.number(_TANH_SMALL), large, small), x)


def erf(code: FloatCode, x: Any) -> Any:
    """Return the error function: x + x · P(x²) where |x| is small, else 1 - exp(-|x| · Q(|x|))."""
    a = _math.absf(x)
    small = _math.fma(a, code.polynomial(_arith.mulf(a, a), _FITS["erf"]), a)
    largest = code.number(_ERF_LARGEST)
    clamped = code.where("olt", largest, a, largest, a)
    minus = code.number(-1.0)
    power = _arith.mulf(_arith.mulf(clamped, minus), code.polynomial(clamped, _FITS["erf_tail"]))
    large = _arith.subf(code.number(1.0), _plain_exp(code, power))
    return _math.copysign(code.where("oge", a, code.number(_ERF_SMALL), large, small), x)


def rsqrt(code: FloatCode, x: Any) -> Any:
    """Return 1 / sqrt(x), for both of which CPUs have vector instructions."""
    return _arith.divf(code.number(1.0), _math.sqrt(x))


def power(code: FloatCode, x: Any, exponent: int) -> Any:
    """Return x to an integer power by squares and products, in the order in which libraries compute it."""
    result, square, left = None, x, abs(exponent)
    while left:
        if left % 2:
            result = square if result is None else _arith.mulf(result, square)
        left //= 2
        if left:
            square = _arith.mulf(square, square)
    one = code.number(1.0)
    if result is None:
        return one
    return _arith.divf(one, result) if exponent < 0 else result


# The function, and the widths of the floats that it is for.
_FUNCTIONS: dict[str, tuple[Callable[[FloatCode, Any], Any], tuple[int, ...]]] = {
    "exp": (exp, (16, 32, 64)),
    "log": (log, (16, 32)),
    "log1p": (log1p, (16, 32)),
    "tanh": (tanh, (16, 32)),
    "erf": (erf, (16, 32)),
    "rsqrt": (rsqrt, (16, 32, 64)),
}


@transform_op("lhkit.expand_math")
def expand_math(target: Ops, *, rewriter: Rewriter) -> None:
    """Write exp, log, log1p, tanh, erf and rsqrt as range reduction and polynomial, as CPUs can do in vectors.

    ::

        %y = math.exp %x : vector<16xf32>
        // becomes
        %shifted = math.fma %x, %log2_e, %shifter : vector<16xf32>
        ...                                                 // about 20 ops of arith, and math.fma

    Otherwise each element of a vector becomes a call of ``expf``. Scalars in the bodies of linalg ops are
    written out too and can then be vectorized. Of f64 only exp and rsqrt are; f16 and bf16 go by way of f32.
    Powers with a constant integer exponent up to 32 are products. Ops that it does not know stay.

    The largest errors in f32, in units in the last place: exp 0.88, log 1.50, log1p 1.51, tanh 1.35, erf 1.09,
    rsqrt 1.49 (of 71 million values over the whole range, erf of 9 million, log1p of 12; exp in f64: 0.9).
    Infinities, NaN, signed zeros and subnormal arguments and results are as the functions have them; NaN keeps
    no payload.

    An exp in f32 or less whose fast-math flags allow approximations (``afn``) takes 14 instructions instead of
    25: its largest error is 2.0 units in the last place, and results below 1.7e-38 are 0.

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


# A larger power is a loop.
_MOST_SQUARES = 32


def _exponent(op: Any) -> int | None:
    """Return the exponent of a power with a small constant one."""
    producer = op.operands[1].owner if op.name == "math.fpowi" else None
    if not isinstance(producer, ir.Operation | ir.OpView) or producer.operation.name != "arith.constant":
        return None
    value = producer.operation.attributes["value"]
    if isinstance(value, ir.DenseElementsAttr):
        if not value.is_splat:
            return None
        value = value.get_splat_value()
    exponent = int(ir.IntegerAttr(value).value)
    return exponent if abs(exponent) <= _MOST_SQUARES else None


def _is_known(op: Any) -> bool:
    dialect, _, name = op.name.partition(".")
    if op.name == "math.fpowi":
        return _width(op.results[0].type) in (16, 32, 64) and _exponent(op) is not None
    return dialect == "math" and name in _FUNCTIONS and _width(op.results[0].type) in _FUNCTIONS[name][1]


def _may_approximate(op: Any) -> bool:
    flags = str(op.attributes["fastmath"]) if "fastmath" in op.attributes else ""
    return "afn" in flags or "fast>" in flags


def _width(type_: Any) -> int:
    return int((type_.element_type if isinstance(type_, ir.ShapedType) else type_).width)


def _expanded(op: Any) -> Any:
    exponent = _exponent(op)
    if exponent is None:
        function, _ = _FUNCTIONS[op.name.partition(".")[2]]
    else:
        function = functools.partial(power, exponent=exponent)
    operand, type_ = op.operands[0], op.results[0].type
    if function is exp and _width(type_) <= 32 and _may_approximate(op):
        function = approximate_exp
    if _width(type_) != 16:
        return function(FloatCode(type_), operand)
    wide = like(type_, ir.F32Type.get())
    return _arith.truncf(type_, function(FloatCode(wide), _arith.extf(wide, operand)))
