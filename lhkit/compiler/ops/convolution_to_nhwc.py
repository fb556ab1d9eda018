"""``lhkit.convolution_to_nhwc``: convolutions of images become those of one layout."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.parsing import producer_of
from lhkit.compiler.ops.convolution_to_contraction import Convolution
from lhkit.compiler.ops.linalg_rewrites import named_op
from lhkit.compiler.ops.tensor_parts import loop_over, part_of, put_part, reads, value_at
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")

_MOST_LANES = 16  # Elements of 32 bits in the widest vectors


@transform_op("lhkit.convolution_to_nhwc", consumes=["target"])
def convolution_to_nhwc(target: Ops, *, rewriter: Rewriter) -> Ops:
    """Write convolutions of images as ``linalg.conv_2d_nhwc_hwcf``, so that one schedule takes all of them.

    ::

        linalg.conv_2d_ngchw_gfchw ins(%image, %filter : tensor<1x4x8x9x9xf32>, tensor<4x16x8x3x3xf32>) ...
        // becomes
        %i = linalg.transpose ins(%image) ... : tensor<4x1x9x9x8xf32>
        %w = linalg.transpose ins(%filter) ... : tensor<4x3x3x8x16xf32>
        %r = scf.for %g = %c0 to %c4 step %c1 iter_args(...) {
          linalg.fill, linalg.conv_2d_nhwc_hwcf ins(%i_g, %w_g : tensor<1x9x9x8xf32>, tensor<3x3x8x16xf32>) }
        linalg.transpose ins(%r) ... : tensor<1x4x16x7x7xf32>

    Operands that have this order, groups wherever they are, are read as they are, and so is the result written
    where its channels are a multiple of 16. Every product and every sum stays what it was.

    Args:
        target: Convolutions of linalg of f32 on tensors of known extents, named or ``linalg.generic``, in two
            dimensions with channels that are summed, one group or several, any strides and dilations, and a
            window of more than one place or strides; consumed.
        rewriter: How the payload is changed.

    Returns:
        The convolutions, each in a loop over its groups, of one iteration where it has none.

    Raises:
        SilenceableError: Another op, type or number of dimensions; a filter that would have to be transposed
            and has more elements than image and result, which takes longer than copies of windows
            (``lhkit.convolution_to_contraction``).
    """
    known = [Convolution.of(op.operation) for op in target]
    for op, convolution in zip(target, known, strict=True):
        _check(op.operation, convolution)
    products: list[Any] = []
    for op, convolution in zip(target, known, strict=True):
        with rewriter.before(op.operation):
            written = _Writer(convolution, products).whole()
        rewriter.replace(op.operation, [written])
    return products


def _check(op: Any, conv: Convolution) -> None:
    taps, channels, filters = _kinds(conv)
    counts = [len(dims) for dims in (conv.images, conv.pixels, set(taps), channels, filters)]
    shapes = [n for value in conv.operands for n in value.type.shape]
    if counts != [1, 2, 2, 1, 1] or len(conv.groups) > 1 or any(map(ir.ShapedType.is_dynamic_size, shapes)):
        raise SilenceableError("it is no convolution of images in two dimensions of known extents", at=op)
    is_f32 = all(isinstance(value.type.element_type, ir.F32Type) for value in conv.operands)
    if not is_f32 or not conv.is_copied():
        raise SilenceableError("it is not of f32, or a product of matrices already", at=op)
    image, weights, result = (math.prod(value.type.shape) for value in conv.operands)
    is_moved = [d for d in conv.dims(1) if d not in conv.groups] != [*taps, *channels, *filters]
    if is_moved and weights > image + result:
        raise SilenceableError(
            "its filter has more elements than image and result, and is in another order", at=op
        )


def _kinds(conv: Convolution) -> tuple[list[int], list[int], list[int]]:
    """Return the loops of the window in the order of those of pixels, of channels, and of the result's."""
    taps = [w for p in conv.pixels for w in conv.window if reads(conv.maps[0][conv.place(p)], w)]
    own = [d for d in conv.dims(1) if d not in (*conv.window, *conv.groups)]
    return taps, [d for d in own if d not in conv.dims(2)], [d for d in own if d in conv.dims(2)]


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes a convolution in the order of linalg.conv_2d_nhwc_hwcf, group by group."""

    conv: Convolution
    products: list[Any]

    def whole(self) -> Any:
        conv = self.conv
        taps, channels, filters = _kinds(conv)
        image, weights, start = conv.operands
        fill = producer_of(start)
        scalar = None if fill is None or fill.name != "linalg.fill" else fill.operands[0]
        pixels = [*conv.images, *conv.pixels]
        places = {conv.place(d): d for d in (*pixels, *conv.groups, *channels)}
        # A group's part of a row is written in place where it is whole vectors, which need no mask.
        is_whole = not conv.groups or conv.size(filters[0]) % _MOST_LANES == 0
        image, image_dims = self._ordered(image, [places[i] for i in range(len(places))], [*pixels, *channels])
        weights, weight_dims = self._ordered(weights, conv.dims(1), [*taps, *channels, *filters])
        result = conv.dims(2)
        dims = self._order(result, [*pixels, *filters], is_in_place=is_whole)
        if scalar is None:
            start = self._moved(start, result, dims)
        else:
            start = _tensor.empty([start.type.shape[result.index(d)] for d in dims], start.type.element_type)

        def write(i: Any, whole: Any) -> Any:
            parts = [image, weights, whole]
            for group in conv.groups:
                dims_of = (image_dims, weight_dims, dims)
                parts = [part_of(v, d.index(group), i, None) for v, d in zip(parts, dims_of, strict=True)]
            product = self._product(parts, taps, scalar)
            return put_part(product, whole, dims.index(conv.groups[0]), i, None) if conv.groups else product

        total = loop_over(conv.size(conv.groups[0]) if conv.groups else 1, 1, start, write)
        return self._moved(total, dims, result)

    def _product(self, parts: list[Any], taps: list[int], scalar: Any) -> Any:
        image, weights, start = parts
        if scalar is not None:
            constant = producer_of(scalar)
            # A constant of its own, so that the loop can be put into a function.
            is_constant = constant is not None and constant.name == "arith.constant"
            start = named_op("FillOp", constant.clone().results[0] if is_constant else scalar, out=start)
        exprs = [self.conv.maps[0][self.conv.place(p)] for p in self.conv.pixels]
        dilations = [value_at(expr, {tap: 1}) for expr, tap in zip(exprs, taps, strict=True)]
        steps = {"strides": self.conv.strides, "dilations": dilations}
        constants = {k: ir.DenseIntElementsAttr.get(np.array(v, np.int64)) for k, v in steps.items()}
        product = named_op("Conv2DNhwcHwcfOp", image, weights, out=start, **constants)
        self.products.append(product.owner.operation)
        return product

    def _order(self, dims: list[int], wanted: list[int], *, is_in_place: bool = True) -> list[int]:
        """Return the order in which a tensor is read or written: groups where they are, or first."""
        if is_in_place and [d for d in dims if d in wanted] == wanted:
            return dims
        return [*self.conv.groups, *wanted]

    def _ordered(self, value: Any, dims: list[int], wanted: list[int]) -> tuple[Any, list[int]]:
        order = self._order(dims, wanted)
        return self._moved(value, dims, order), order

    def _moved(self, value: Any, dims: list[int], order: list[int]) -> Any:
        if order == dims:
            return value
        permutation = [dims.index(d) for d in order]
        out = _tensor.empty([value.type.shape[i] for i in permutation], value.type.element_type)
        moved = _linalg.transpose(value, outs=[out], permutation=permutation)
        return moved if isinstance(moved, ir.Value) else moved.results[0]
