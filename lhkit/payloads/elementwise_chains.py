"""Payloads that touch every element once: chains, transposition, slices, dynamic sizes."""

from __future__ import annotations

import itertools

from lhkit.model.payload import Payload
from lhkit.payloads.mlir_pieces import FunctionText, element_type, tensor

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
    text = FunctionText(e, a=out, b=out, c=out)
    text.constant("zero")
    text.elementwise("product", "mul", "a", "b")
    text.elementwise("sum", "add", "product", "c")
    text.filled("zeros", out, "zero")
    text.elementwise("relu", "max", "sum", "zeros")
    comment = "Three elementwise ops in a row: max(a * b + c, 0)."
    return text.payload("elementwise_chain", f"{m}x{n} {dtype}", comment, "relu")


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
    text = FunctionText(e, source=out, shift=out, scale=out, low=out, high=out)
    stage = (("add", "shift"), ("mul", "scale"), ("max", "low"), ("min", "high"))
    value = "source"
    for i, (op, operand) in enumerate(itertools.islice(itertools.cycle(stage), _CHAIN_OPS - 1)):
        text.elementwise(f"{op}{i}", op, value, operand)
        value = f"{op}{i}"
    text.elementwise("magnitude", "abs", value)
    comment = f"{_CHAIN_OPS} ops in a row: min(max((x + shift) * scale, low), high) over and over, then abs."
    return text.payload("op_chain", f"{n} {dtype}", comment, "magnitude")


def transpose(m: int = 1024, n: int = 1024, dtype: str = "float32") -> Payload:
    """Return a transposition: ``transpose(source: m×n) -> n×m``.

    Args:
        m: Rows of the source.
        n: Columns of the source.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, n)
    out = tensor(e, n, m)
    text = FunctionText(e, source=tensor(e, m, n))
    text.define("empty", out, f"tensor.empty() : {out}")
    text.op("transposed", "transpose", ("source",), "empty", out, "permutation = [1, 0]")
    return text.payload("transpose", f"{m}x{n} {dtype}", "Rows become columns.", "transposed")


def strided_window(m: int = 512, n: int = 512, dtype: str = "float32") -> Payload:
    """Return a strided read: ``strided_window(source: 2m×2n) -> m×n``, the odd rows and even columns, doubled.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype, m, n)
    source, out = tensor(e, 2 * m, 2 * n), tensor(e, m, n)
    text = FunctionText(e, source=source)
    text.define("window", out, f"tensor.extract_slice %source[1, 0] [{m}, {n}] [2, 2] : {source} to {out}")
    text.elementwise("doubled", "add", "window", "window")
    comment = "Every second row and column, read with strides, and doubled."
    return text.payload("strided_window", f"{m}x{n} {dtype}", comment, "doubled")


def relu_dynamic(dtype: str = "float32") -> Payload:
    """Return max(x, 0) for a matrix of any size: ``relu_dynamic(source: ?×?) -> ?×?``.

    Args:
        dtype: ``bfloat16``, ``float16``, ``float32`` or ``float64``.
    """
    e = element_type(dtype)
    any_size = tensor(e, "?", "?")
    text = FunctionText(e, source=any_size)
    text.sizes("source", "source")
    text.constant("zero")
    text.filled("zeros", any_size, "zero")
    text.elementwise("relu", "max", "source", "zeros")
    return text.payload("relu_dynamic", dtype, "max(x, 0), whatever the size.", "relu")


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
    text = FunctionText(e, weights=weights, inputs=inputs)
    text.constant("zero")
    _generic(text, "transposed", (_COPIED, _TURNED), "weights", rows, "%in")
    text.filled("product_init", product, "zero")
    operands = f"ins(%transposed, %inputs : {rows}, {inputs}) outs(%product_init : {product}) -> {product}"
    maps = f"indexing_maps = [{_PRODUCT}]"
    text.define("product", product, f"linalg.matmul\n      {maps}\n      {operands}")
    _generic(text, "doubled", (_COPIED, _COPIED), "transposed", rows, "arith.addf %in, %in")
    results = ("product", "transposed", "doubled")
    return text.payload("transpose_pack", f"{m}x{n}x{k} {dtype}", _COMMENT, *results)


def _generic(
    text: FunctionText, name: str, maps: tuple[str, str], operand: str, type_: str, value: str
) -> None:
    is_copy, element = value == "%in", text.element
    body = "" if is_copy else f"    %value = {value} : {element}\n"
    text.define(f"{name}_empty", type_, f"tensor.empty() : {type_}")
    text.define(
        name,
        type_,
        f"linalg.generic {{indexing_maps = [{', '.join(maps)}],"
        ' iterator_types = ["parallel", "parallel"]}\n'
        f"      ins(%{operand} : {text.types[operand]}) outs(%{name}_empty : {type_}) {{\n"
        f"  ^bb0(%in: {element}, %out: {element}):\n{body}"
        f"    linalg.yield {'%in' if is_copy else '%value'} : {element}\n"
        f"  }} -> {type_}",
    )
