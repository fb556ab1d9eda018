"""Payloads about the layout of data: what is transposed, packed, and used in both forms."""

from __future__ import annotations

from lhkit.model.payload import Payload
from lhkit.payloads.mlir_pieces import element_type, filled, function, generate, tensor

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
    """Return the lines that make ``%name``, element by element from one operand."""
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
