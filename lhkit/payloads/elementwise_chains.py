"""Payloads that touch every element once: chains, transposition, slices, dynamic sizes."""

from __future__ import annotations

import itertools

from lhkit.model.payload import Payload
from lhkit.payloads.mlir_pieces import element_type, elementwise, filled, function, generate, tensor

# The reference has the same number.
_CHAIN_OPS = 1000


def elementwise_chain(m: int = 1024, n: int = 1024, dtype: str = "float32") -> Payload:
    """Return a chain: ``elementwise_chain(a, b, c: m×n) -> m×n``, max(a·b + c, 0) by elements.

    Args:
        m: Rows.
        n: Columns.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, n)
    out = tensor(e, m, n)
    body = (
        f"  %zero = arith.constant 0.0 : {e}\n"
        + elementwise("product", "mul", out, "%a", "%b")
        + elementwise("sum", "add", out, "%product", "%c")
        + filled("zeros", out, "%zero", e)
        + elementwise("relu", "max", out, "%sum", "%zeros")
        + f"  return %relu : {out}\n"
    )
    comment = "Three elementwise ops in a row: max(a * b + c, 0)."
    text = function("elementwise_chain", {"a": out, "b": out, "c": out}, out, body, comment)
    return generate("elementwise_chain", text, f"{m}x{n} {dtype}")


def op_chain(n: int = 512, dtype: str = "float32") -> Payload:
    """Return a program of 1,000 linalg ops: ``op_chain(source, shift, scale, low, high: n) -> n``.

    The stage min(max((x + shift) · scale, low), high) over and over, and at the end the magnitude; low and
    high keep every value in bounds. For tools that have to cope with many ops: there is little to compute,
    and half a minute to compile unless a schedule fuses it.

    Args:
        n: Length of every vector.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, n)
    out = tensor(e, n)
    stage = (("add", "%shift"), ("mul", "%scale"), ("max", "%low"), ("min", "%high"))
    body, value = "", "%source"
    for i, (op, operand) in enumerate(itertools.islice(itertools.cycle(stage), _CHAIN_OPS - 1)):
        body += elementwise(f"{op}{i}", op, out, value, operand)
        value = f"%{op}{i}"
    body += elementwise("magnitude", "abs", out, value) + f"  return %magnitude : {out}\n"
    comment = f"{_CHAIN_OPS} ops in a row: min(max((x + shift) * scale, low), high) over and over, then abs."
    arguments = dict.fromkeys(("source", "shift", "scale", "low", "high"), out)
    text = function("op_chain", arguments, out, body, comment)
    return generate("op_chain", text, f"{n} {dtype}")


def transpose(m: int = 1024, n: int = 1024, dtype: str = "float32") -> Payload:
    """Return a transposition: ``transpose(source: m×n) -> n×m``.

    Args:
        m: Rows of the source.
        n: Columns of the source.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, n)
    source, out = tensor(e, m, n), tensor(e, n, m)
    body = f"""\
  %empty = tensor.empty() : {out}
  %transposed = linalg.transpose ins(%source : {source}) outs(%empty : {out}) permutation = [1, 0]
  return %transposed : {out}
"""
    text = function("transpose", {"source": source}, out, body, "Rows become columns.")
    return generate("transpose", text, f"{m}x{n} {dtype}")


def strided_window(m: int = 512, n: int = 512, dtype: str = "float32") -> Payload:
    """Return a strided read: ``strided_window(source: 2m×2n) -> m×n``, the odd rows and even columns, doubled.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, n)
    source, out = tensor(e, 2 * m, 2 * n), tensor(e, m, n)
    body = (
        f"  %window = tensor.extract_slice %source[1, 0] [{m}, {n}] [2, 2] : {source} to {out}\n"
        + elementwise("doubled", "add", out, "%window", "%window")
        + f"  return %doubled : {out}\n"
    )
    comment = "Every second row and column, read with strides, and doubled."
    text = function("strided_window", {"source": source}, out, body, comment)
    return generate("strided_window", text, f"{m}x{n} {dtype}")


def relu_dynamic(dtype: str = "float32") -> Payload:
    """Return max(x, 0) for a matrix of any size: ``relu_dynamic(source: ?×?) -> ?×?``.

    Args:
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype)
    any_size = tensor(e, "?", "?")
    body = f"""\
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %source, %c0 : {any_size}
  %n = tensor.dim %source, %c1 : {any_size}
  %zero = arith.constant 0.0 : {e}
  %zeros_empty = tensor.empty(%m, %n) : {any_size}
  %zeros = linalg.fill ins(%zero : {e}) outs(%zeros_empty : {any_size}) -> {any_size}
  %relu_empty = tensor.empty(%m, %n) : {any_size}
  %relu = linalg.max ins(%source, %zeros : {any_size}, {any_size}) outs(%relu_empty : {any_size}) -> {any_size}
  return %relu : {any_size}
"""
    text = function("relu_dynamic", {"source": any_size}, any_size, body, "max(x, 0), whatever the size.")
    return generate("relu_dynamic", text, dtype)


# Payloads about the layout of data: what is transposed, packed, and used in both forms.


_COPIED = "affine_map<(d0, d1) -> (d0, d1)>"
_TURNED = "affine_map<(d0, d1) -> (d1, d0)>"
_PRODUCT = ", ".join(f"affine_map<(m, n, k) -> ({dims})>" for dims in ("m, k", "n, k", "m, n"))
_COMMENT = """\
A transpose whose result is used three times: by a product, by an elementwise op, and by the caller.
// The product is to read it packed into tiles, so folding the transpose into that pack is tempting; see
// schedules/packing/transpose_pack.mlir. After an issue thread of IREE on folds that inhibit fusion."""


def transpose_pack(m: int = 256, n: int = 256, k: int = 512, dtype: str = "float32") -> Payload:
    """Return a product whose left side is transposed first, and a second and third use of the transposed.

    ``transpose_pack(weights: k×m, inputs: n×k) -> (m×n, m×k, m×k)``: the product ``weights.T @ inputs.T``, the
    transposed weights, and twice the transposed weights.

    Args:
        m: Rows of the product.
        n: Columns of the product.
        k: Length of the reduction.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, n, k)
    weights, inputs, rows, product = tensor(e, k, m), tensor(e, n, k), tensor(e, m, k), tensor(e, m, n)
    body = "".join(
        [
            f"  %zero = arith.constant 0.0 : {e}\n",
            _generic("transposed", (_COPIED, _TURNED), "%weights", weights, rows, e, "%in"),
            filled("product_init", product, "%zero", e),
            "  %product = linalg.matmul\n",
            f"      indexing_maps = [{_PRODUCT}]\n",
            f"      ins(%transposed, %inputs : {rows}, {inputs})",
            f" outs(%product_init : {product}) -> {product}\n",
            _generic("doubled", (_COPIED, _COPIED), "%transposed", rows, rows, e, "arith.addf %in, %in"),
            f"  return %product, %transposed, %doubled : {product}, {rows}, {rows}\n",
        ]
    )
    results = f"({product}, {rows}, {rows})"
    text = function("transpose_pack", {"weights": weights, "inputs": inputs}, results, body, _COMMENT)
    return generate("transpose_pack", text, f"{m}x{n}x{k} {dtype}")


def _generic(
    name: str, maps: tuple[str, str], operand: str, from_type: str, to_type: str, element: str, value: str
) -> str:
    is_copy = value == "%in"
    body = "" if is_copy else f"    %value = {value} : {element}\n"
    return (
        f"  %{name}_empty = tensor.empty() : {to_type}\n"
        f"  %{name} = linalg.generic {{indexing_maps = [{', '.join(maps)}],"
        ' iterator_types = ["parallel", "parallel"]}\n'
        f"      ins({operand} : {from_type}) outs(%{name}_empty : {to_type}) {{\n"
        f"  ^bb0(%in: {element}, %out: {element}):\n{body}"
        f"    linalg.yield {'%in' if is_copy else '%value'} : {element}\n"
        f"  }} -> {to_type}\n"
    )
