"""``lhkit.convert_conv_1x1_to_matmul``: a convolution with a window of a pixel becomes a product."""

from __future__ import annotations

from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")

# Which dimensions of image, filter and result become one; the order of the product's operands.
_LAYOUTS = {
    "linalg.conv_2d_nhwc_hwcf": ([[0, 1, 2], [3]], [[0, 1, 2], [3]], "image first", (0, 1)),
    "linalg.conv_2d_nchw_fchw": ([[0, 1], [2, 3]], [[0], [1, 2, 3]], "filter first", (2, 3)),
}


@transform_op("lhkit.convert_conv_1x1_to_matmul", consumes=["target"])
def convert_conv_1x1_to_matmul(target: Ops, *, rewriter: Rewriter) -> Ops:
    """Write convolutions with a window of 1x1 and strides of 1 as matrix products of reshaped operands.

    ::

        linalg.conv_2d_nhwc_hwcf ins(%image, %filter : tensor<2x5x7x3xf32>, tensor<1x1x3x4xf32>) ...
        // becomes
        %i = tensor.collapse_shape %image [[0, 1, 2], [3]] : tensor<2x5x7x3xf32> into tensor<70x3xf32>
        %f = tensor.collapse_shape %filter [[0, 1, 2], [3]] : tensor<1x1x3x4xf32> into tensor<3x4xf32>
        linalg.matmul ins(%i, %f : tensor<70x3xf32>, tensor<3x4xf32>) ...

    After ``ConvertConv2D1x1ToMatmul`` of IREE. Extents may be dynamic but for the window's.

    Args:
        target: ``linalg.conv_2d_nhwc_hwcf``, or ``linalg.conv_2d_nchw_fchw`` of one image; consumed.
        rewriter: How the payload is changed.

    Returns:
        The products.

    Raises:
        SilenceableError: Another op, a larger window, other strides, several images with channels first.
    """
    for op in target:
        _check(op.operation)
    return [_convert(op.operation, rewriter) for op in target]


def _check(op: Any) -> None:
    if op.name not in _LAYOUTS:
        raise SilenceableError(f"only {' and '.join(_LAYOUTS)} become products", at=op)
    window = [op.operands[1].type.shape[d] for d in _LAYOUTS[op.name][3]]
    if window != [1, 1]:
        spelled = "x".join("?" if ir.ShapedType.is_dynamic_size(n) else str(n) for n in window)
        raise SilenceableError(f"its window is {spelled}, and only one of 1x1 is none", at=op)
    strides = (
        [int(s) for s in ir.DenseIntElementsAttr(op.attributes["strides"])]
        if "strides" in op.attributes
        else []
    )
    if any(s != 1 for s in strides):
        raise SilenceableError(f"its strides are {strides}, and a product reads every pixel", at=op)
    if op.name.endswith("fchw") and op.operands[0].type.shape[0] != 1:
        raise SilenceableError("with channels first a product takes one image only", at=op)


def _convert(conv: Any, rewriter: Rewriter) -> Any:
    groups, filter_groups, order, _ = _LAYOUTS[conv.name]
    image, weights, init = conv.operands
    with rewriter.before(conv):
        pixels, matrix, start = (
            _collapsed(image, groups),
            _collapsed(weights, filter_groups),
            _collapsed(init, groups),
        )
        operands = (pixels, matrix) if order == "image first" else (matrix, pixels)
        product = _linalg.matmul(*operands, outs=[start])
        extents = [
            _tensor.dim(init, _index(i))
            for i, n in enumerate(init.type.shape)
            if ir.ShapedType.is_dynamic_size(n)
        ]
        back = _tensor.expand_shape(conv.results[0].type, product, groups, extents, list(init.type.shape))
    rewriter.replace(conv, [back])
    return product.owner


def _collapsed(value: Any, groups: list[list[int]]) -> Any:
    shape = [_product([value.type.shape[d] for d in group]) for group in groups]
    type_ = ir.RankedTensorType.get(shape, value.type.element_type)
    return _tensor.collapse_shape(type_, value, groups)


def _product(extents: list[int]) -> int:
    total = 1
    for extent in extents:
        if ir.ShapedType.is_dynamic_size(extent):
            return int(ir.ShapedType.get_dynamic_size())
        total *= extent
    return total


def _index(value: int) -> Any:
    return host_module("dialects.arith").constant(ir.IndexType.get(), value)
