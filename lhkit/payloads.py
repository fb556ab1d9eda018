"""Generators of payloads: the shipped ones in any size and element type.

Each writes MLIR with named linalg ops, a value for every step, and loads it, so what comes back is
verified. The NumPy reference of each is the function of its name in ``data/references.py``.
"""

from __future__ import annotations

from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.session.loading import load_payload
from lhkit.shipped import shipped_folder

_FLOAT_TYPES = {"float32": "f32", "float64": "f64", "f32": "f32", "f64": "f64"}

_MATMUL = """\
// {m}x{k} times {k}x{n}.
func.func @matmul(%lhs: {lhs}, %rhs: {rhs}) -> {out} {{
  %zero = arith.constant 0.0 : {e}
  %empty = tensor.empty() : {out}
  %init = linalg.fill ins(%zero : {e}) outs(%empty : {out}) -> {out}
  %product = linalg.matmul ins(%lhs, %rhs : {lhs}, {rhs}) outs(%init : {out}) -> {out}
  return %product : {out}
}}
"""

_FC_RELU = """\
// A fully connected layer with bias and ReLU: max(lhs * rhs + bias, 0).
func.func @fc_relu(%lhs: {lhs}, %rhs: {rhs}, %bias: {out}) -> {out} {{
  %zero = arith.constant 0.0 : {e}
  %empty = tensor.empty() : {out}
  %init = linalg.fill ins(%zero : {e}) outs(%empty : {out}) -> {out}
  %product = linalg.matmul ins(%lhs, %rhs : {lhs}, {rhs}) outs(%init : {out}) -> {out}

  %empty_sum = tensor.empty() : {out}
  %sum = linalg.add ins(%product, %bias : {out}, {out}) outs(%empty_sum : {out}) -> {out}

  %empty_zeros = tensor.empty() : {out}
  %zeros = linalg.fill ins(%zero : {e}) outs(%empty_zeros : {out}) -> {out}
  %empty_relu = tensor.empty() : {out}
  %relu = linalg.max ins(%sum, %zeros : {out}, {out}) outs(%empty_relu : {out}) -> {out}
  return %relu : {out}
}}
"""

_ELEMENTWISE_CHAIN = """\
// Three elementwise ops in a row: max(a * b + c, 0).
func.func @elementwise_chain(%a: {out}, %b: {out}, %c: {out}) -> {out} {{
  %zero = arith.constant 0.0 : {e}
  %empty_product = tensor.empty() : {out}
  %product = linalg.mul ins(%a, %b : {out}, {out}) outs(%empty_product : {out}) -> {out}

  %empty_sum = tensor.empty() : {out}
  %sum = linalg.add ins(%product, %c : {out}, {out}) outs(%empty_sum : {out}) -> {out}

  %empty_zeros = tensor.empty() : {out}
  %zeros = linalg.fill ins(%zero : {e}) outs(%empty_zeros : {out}) -> {out}
  %empty_relu = tensor.empty() : {out}
  %relu = linalg.max ins(%sum, %zeros : {out}, {out}) outs(%empty_relu : {out}) -> {out}
  return %relu : {out}
}}
"""

_ROW_SUM = """\
// The sum of each row.
func.func @row_sum(%source: {source}) -> {out} {{
  %zero = arith.constant 0.0 : {e}
  %empty = tensor.empty() : {out}
  %init = linalg.fill ins(%zero : {e}) outs(%empty : {out}) -> {out}
  %sums = linalg.reduce {{ arith.addf }} ins(%source : {source}) outs(%init : {out}) dimensions = [1]
  return %sums : {out}
}}
"""


def matmul(m: int = 512, n: int = 512, k: int = 512, dtype: str = "float32") -> Payload:
    """Return a matrix product: ``matmul(lhs: m×k, rhs: k×n) -> m×n``.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        k: Length of the reduction.
        dtype: ``float32`` or ``float64``.
    """
    return _generate("matmul", _matmul_text(m, n, k, dtype), f"{m}x{n}x{k} {dtype}")


def fc_relu(m: int = 512, n: int = 512, k: int = 512, dtype: str = "float32") -> Payload:
    """Return a layer: ``fc_relu(lhs: m×k, rhs: k×n, bias: m×n) -> m×n``, max(lhs·rhs + bias, 0).

    The shape of the layer in the transform dialect's tutorial, with a matrix for the bias.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        k: Length of the reduction.
        dtype: ``float32`` or ``float64``.
    """
    return _generate("fc_relu", _fc_relu_text(m, n, k, dtype), f"{m}x{n}x{k} {dtype}")


def elementwise_chain(m: int = 1024, n: int = 1024, dtype: str = "float32") -> Payload:
    """Return a chain: ``elementwise_chain(a, b, c: m×n) -> m×n``, max(a·b + c, 0) by elements.

    Args:
        m: Rows.
        n: Columns.
        dtype: ``float32`` or ``float64``.
    """
    return _generate("elementwise_chain", _elementwise_chain_text(m, n, dtype), f"{m}x{n} {dtype}")


def row_sum(m: int = 1024, n: int = 1024, dtype: str = "float32") -> Payload:
    """Return a reduction: ``row_sum(source: m×n) -> m``, the sum of each row.

    Args:
        m: Rows.
        n: Columns, the length of the reduction.
        dtype: ``float32`` or ``float64``.
    """
    return _generate("row_sum", _row_sum_text(m, n, dtype), f"{m}x{n} {dtype}")


def _matmul_text(m: int, n: int, k: int, dtype: str) -> str:
    e = _element_type(dtype, m, n, k)
    types = {"lhs": _tensor(e, m, k), "rhs": _tensor(e, k, n), "out": _tensor(e, m, n)}
    return _MATMUL.format(m=m, n=n, k=k, e=e, **types)


def _fc_relu_text(m: int, n: int, k: int, dtype: str) -> str:
    e = _element_type(dtype, m, n, k)
    return _FC_RELU.format(lhs=_tensor(e, m, k), rhs=_tensor(e, k, n), out=_tensor(e, m, n), e=e)


def _elementwise_chain_text(m: int, n: int, dtype: str) -> str:
    e = _element_type(dtype, m, n)
    return _ELEMENTWISE_CHAIN.format(out=_tensor(e, m, n), e=e)


def _row_sum_text(m: int, n: int, dtype: str) -> str:
    e = _element_type(dtype, m, n)
    return _ROW_SUM.format(source=_tensor(e, m, n), out=_tensor(e, m), e=e)


def _tensor(element_type: str, *shape: int) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element_type}>"


def _element_type(dtype: str, *extents: int) -> str:
    if dtype not in _FLOAT_TYPES:
        raise usage_error(f"no payload of {dtype!r}", f"Element types: {', '.join(_FLOAT_TYPES)}.")
    if wrong := [n for n in extents if n < 1]:
        raise usage_error(f"an extent of {wrong[0]}", "Extents are at least 1.")
    return _FLOAT_TYPES[dtype]


def _generate(name: str, text: str, sizes: str) -> Payload:
    reference = f"{shipped_folder('data') / 'references.py'}:{name}"
    return load_payload(text, name=f"<{name} {sizes}>", reference=reference)
