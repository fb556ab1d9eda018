"""Elementary functions of floats by range reduction and polynomial, and the notation they are written in.

Coefficients are minimax fits, made in 50 digits by reweighted least squares and Remez's exchange, of what is
left when the first terms of the series, which stay exact, are taken off; then rounded to the type.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir

# Short notation for arithmetic on one float type or vectors of it, written as ops of arith and math.


_arith: Any = host_module("dialects.arith")
_math: Any = host_module("dialects.math")

_FLOATS = {32: ("f", "I", 23, 127), 64: ("d", "Q", 52, 1023)}


class FloatCode:
    """Creates ops at the insertion point, all of one type: f32 or f64, or vectors or tensors of them.

    Args:
        type_: The type of every float.

    Attributes:
        bits: 32 or 64.
        mantissa_bits: 23 or 52.
        bias: Of the exponent: 127 or 1023.
    """

    def __init__(self, type_: Any) -> None:
        element = type_.element_type if isinstance(type_, ir.ShapedType) else type_
        self.type = type_
        self.bits = element.width
        self._packed, self._packed_bits, self.mantissa_bits, self.bias = _FLOATS[self.bits]
        self._element = element
        self._whole = ir.IntegerType.get_signless(self.bits)
        self._whole_type = like(type_, self._whole)
        self._constants: dict[tuple[str, bytes], Any] = {}

    def number(self, value: float) -> Any:
        """Return a constant, rounded to the type."""
        packed = struct.pack(self._packed, value)
        exact = struct.unpack(self._packed, packed)[0]
        return self._constant("float", packed, self.type, lambda: ir.FloatAttr.get(self._element, exact))

    def whole(self, value: int) -> Any:
        """Return a constant integer with as many bits as a float."""
        packed = struct.pack("q", value)
        return self._constant("whole", packed, self._whole_type, lambda: ir.IntegerAttr.get(self._whole, value))

    def bits_of(self, value: float) -> int:
        """Return the bits of a number of the type as an integer."""
        return int(struct.unpack(self._packed_bits, struct.pack(self._packed, value))[0])

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """Return a·b + c, rounded once."""
        return _math.fma(a, b, c)

    def add(self, a: Any, b: Any) -> Any:
        """Return a + b."""
        return _arith.addf(a, b)

    def sub(self, a: Any, b: Any) -> Any:
        """Return a - b."""
        return _arith.subf(a, b)

    def mul(self, a: Any, b: Any) -> Any:
        """Return a·b."""
        return _arith.mulf(a, b)

    def div(self, a: Any, b: Any) -> Any:
        """Return a / b."""
        return _arith.divf(a, b)

    def sqrt(self, a: Any) -> Any:
        """Return the square root."""
        return _math.sqrt(a)

    def polynomial(self, x: Any, coefficients: Sequence[float]) -> Any:
        """Return the sum of ``coefficients[k]`` · x to the power k, by Horner's scheme."""
        *others, value = map(self.number, coefficients)
        for coefficient in reversed(others):
            value = self.fma(value, x, coefficient)
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

    def to_float(self, a: Any) -> Any:
        """Return integers as floats of the same value."""
        return _arith.sitofp(self.type, a)

    def whole_add(self, a: Any, b: Any) -> Any:
        """Return the sum of integers, modulo 2 to the power of their bits."""
        return _arith.addi(a, b)

    def whole_sub(self, a: Any, b: Any) -> Any:
        """Return the difference of integers, modulo 2 to the power of their bits."""
        return _arith.subi(a, b)

    def shift_left(self, a: Any, count: int) -> Any:
        """Return integers shifted to the left."""
        return _arith.shli(a, self.whole(count))

    def shift_right(self, a: Any, count: int) -> Any:
        """Return integers shifted to the right, keeping the sign."""
        return _arith.shrsi(a, self.whole(count))

    def absolute(self, a: Any) -> Any:
        """Return the absolute value."""
        return _math.absf(a)

    def copy_sign(self, a: Any, sign: Any) -> Any:
        """Return ``a`` with the sign of another."""
        return _math.copysign(a, sign)

    def _constant(self, kind: str, packed: bytes, type_: Any, attribute: Any) -> Any:
        key = (kind, packed)
        if key not in self._constants:
            value = attribute()
            if isinstance(type_, ir.ShapedType):
                value = ir.DenseElementsAttr.get_splat(type_, value)
            self._constants[key] = _arith.constant(type_, value)
        return self._constants[key]


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
# (exp(r) - 1 - r) / r**2 for |r| up to ln(2) / 2.
_EXP = {
    32: (
        0.4999999403953552,
        0.1666651964187622,
        0.041668396443128586,
        0.008368785493075848,
        0.0013814418343827128,
    ),
    64: (
        0.5000000000000011,
        0.16666666666666416,
        0.041666666666529004,
        0.008333333333491828,
        0.0013888888943965083,
        0.0001984126951339312,
        2.4801492725602447e-05,
        2.7557579431409505e-06,
        2.763038972368051e-07,
        2.5002504125504957e-08,
    ),
}
# Of exp: below the first all is 0, below the second results may be subnormal, above the third infinite.
_EXP_BOUNDS = {32: (-104.0, -86.0, 88.72283172607422), 64: (-746.0, -707.0, 709.782712893384)}
# (log(1 + f) - f + f**2 / 2) / f**3 for 1 + f from sqrt(1/2) to sqrt(2).
_LOG = (
    0.3333333134651184,
    -0.250008225440979,
    0.2000122219324112,
    -0.1662333607673645,
    0.14201873540878296,
    -0.13160493969917297,
    0.12760871648788452,
    -0.07632789015769958,
)
# (tanh(x) / x - 1) / x**2 as a polynomial of x**2, for |x| up to 0.625.
_TANH = (
    -0.3333328068256378,
    0.13331441581249237,
    -0.05373971164226532,
    0.020639078691601753,
    -0.005704977549612522,
)
_TANH_SMALL = 0.625
# tanh is 1 in f32 from 9.02 on.
_TANH_LARGEST = 10.0
# erf(x) / x - 1 as a polynomial of x**2, for |x| up to 0.95.
_ERF = (
    0.12837916612625122,
    -0.37612631916999817,
    0.11283663660287857,
    -0.026857703924179077,
    0.005196951329708099,
    -0.0008097698446363211,
    8.185076148947701e-05,
)
_ERF_SMALL = 0.9375
# -log(1 - erf(x)) / x for x from 0.9 to 4; from 3.92 on erf is 1 in f32.
_ERF_TAIL = (
    1.1285165548324585,
    0.6357112526893616,
    0.10527049750089645,
    -0.022895121946930885,
    0.0032164501026272774,
    -0.0002141536824638024,
)
_ERF_LARGEST = 4.0


def exp(code: FloatCode, x: Any) -> Any:
    """Return e to a power: 2^n · e^r with x = n · ln 2 + r."""
    zero_below, small_below, infinite_above = _EXP_BOUNDS[code.bits]
    # Comparisons are false for NaN, which so passes.
    lowest = code.number(zero_below)
    clamped = code.where("ogt", lowest, x, lowest, x)
    mantissa, exponent = _exp_parts(code, clamped)
    # Where the result may be subnormal it is made 2^64 times as large, and then rounded once.
    is_small = ("olt", clamped, code.number(small_below))
    lifted = code.whole_add(exponent, code.whole(64 << code.mantissa_bits))
    exponent = code.where(*is_small, lifted, exponent)
    result = code.as_float(code.whole_add(code.as_whole(mantissa), exponent))
    result = code.where(*is_small, code.mul(result, code.number(2.0**-64)), result)
    is_large = ("ugt", x, code.number(infinite_above))
    return code.where(*is_large, code.add(x, code.number(math.inf)), result)


def _exp_parts(code: FloatCode, x: Any) -> tuple[Any, Any]:
    """Return exp(r), and n in the bits of an exponent, of a number whose exponential is finite."""
    high, low = _LN_2[code.bits]
    # Adding this leaves the nearest integer in the last bits.
    shifter = code.number(1.5 * 2.0**code.mantissa_bits)
    shifted = code.fma(x, code.number(_LOG2_E), shifter)
    n = code.sub(shifted, shifter)
    r = code.fma(n, code.number(-low), code.fma(n, code.number(-high), x))
    value = code.polynomial(r, (1.0, 1.0, *_EXP[code.bits]))
    return value, code.shift_left(code.as_whole(shifted), code.mantissa_bits)


def _plain_exp(code: FloatCode, x: Any) -> Any:
    """Return e to the power x where that is a normal number."""
    mantissa, exponent = _exp_parts(code, x)
    return code.as_float(code.whole_add(code.as_whole(mantissa), exponent))


def log(code: FloatCode, x: Any) -> Any:
    """Return the natural logarithm: e · ln 2 + ln m with x = 2^e · m, m between the roots of 1/2 and 2."""
    is_small = ("olt", x, code.number(2.0 ** (1 - code.bias)))
    # Subnormals are made normal.
    scaled = code.where(*is_small, code.mul(x, code.number(2.0**code.mantissa_bits)), x)
    lift = code.where(*is_small, code.number(-float(code.mantissa_bits)), code.number(0.0))
    bits = code.as_whole(scaled)
    exponent = code.shift_right(
        code.whole_sub(bits, code.whole(code.bits_of(math.sqrt(0.5)))), code.mantissa_bits
    )
    mantissa = code.as_float(code.whole_sub(bits, code.shift_left(exponent, code.mantissa_bits)))
    e = code.add(code.to_float(exponent), lift)
    f = code.sub(mantissa, code.number(1.0))
    square = code.mul(f, f)
    tail = code.mul(code.mul(f, square), code.polynomial(f, _LOG))
    high, low = _LN_2[code.bits]
    tail = code.fma(e, code.number(low), tail)
    tail = code.fma(square, code.number(-0.5), tail)
    # e times the high part is exact only in the fma, so the sum of the large terms comes last.
    result = code.add(code.fma(e, code.number(high), f), tail)
    infinity, zero = code.number(math.inf), code.number(0.0)
    result = code.where("oeq", x, infinity, infinity, result)
    result = code.where("oeq", x, zero, code.number(-math.inf), result)
    return code.where("ult", x, zero, code.number(math.nan), result)


def tanh(code: FloatCode, x: Any) -> Any:
    """Return the hyperbolic tangent: x + x³ · P(x²) where |x| is small, else 1 - 2 / (exp(2 |x|) + 1)."""
    a = code.absolute(x)
    square = code.mul(a, a)
    small = code.fma(a, code.mul(square, code.polynomial(square, _TANH)), a)
    largest = code.number(_TANH_LARGEST)
    clamped = code.where("olt", largest, a, largest, a)
    one = code.number(1.0)
    power = _plain_exp(code, code.add(clamped, clamped))
    large = code.sub(one, code.div(code.number(2.0), code.add(power, one)))
    # NaN is not large.
    return code.copy_sign(code.where("oge", a, code.number(_TANH_SMALL), large, small), x)


def erf(code: FloatCode, x: Any) -> Any:
    """Return the error function: x + x · P(x²) where |x| is small, else 1 - exp(-|x| · Q(|x|))."""
    a = code.absolute(x)
    small = code.fma(a, code.polynomial(code.mul(a, a), _ERF), a)
    largest = code.number(_ERF_LARGEST)
    clamped = code.where("olt", largest, a, largest, a)
    minus = code.number(-1.0)
    power = code.mul(code.mul(clamped, minus), code.polynomial(clamped, _ERF_TAIL))
    large = code.sub(code.number(1.0), _plain_exp(code, power))
    return code.copy_sign(code.where("oge", a, code.number(_ERF_SMALL), large, small), x)


def rsqrt(code: FloatCode, x: Any) -> Any:
    """Return 1 / sqrt(x), for both of which CPUs have vector instructions."""
    return code.div(code.number(1.0), code.sqrt(x))
