"""Short notation for arithmetic on one float type or vectors of it, written as ops of arith and math."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir

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
