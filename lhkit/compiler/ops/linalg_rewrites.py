"""Rewrites of linalg ops: 1x1 convolutions, accumulators, transposes into packs, loop order, scalars.

Upstream's pattern for transposes (``apply_patterns.tensor.fold_into_pack_and_unpack``) folds whatever else uses
the transpose. Then the transpose stays, the pack no longer reads it, and a later step that wants to fuse the
two finds no producer. Here the schedule says when to fold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.capabilities import elementwise_op
from lhkit.compiler.ir.parsing import producer_of, walk
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_linalg: Any = host_module("dialects.linalg")
_tensor: Any = host_module("dialects.tensor")
_arith: Any = host_module("dialects.arith")
_scf: Any = host_module("dialects.scf")

# Which dimensions of image, filter and result become one; the order of the product's operands.
_LAYOUTS = {
    "linalg.conv_2d_nhwc_hwcf": ([[0, 1, 2], [3]], [[0, 1, 2], [3]], "image first", (0, 1)),
    "linalg.conv_2d_nchw_fchw": ([[0, 1], [2, 3]], [[0], [1, 2, 3]], "filter first", (2, 3)),
}


def named_op(name: str, *inputs: Any, out: Any, **attributes: Any) -> Any:
    """Return the result of a new named linalg op, such as ``FillOp``, that writes to a tensor ``out``.

    The bindings' own builders need a quarter of a second to be loaded (see `bindings`).
    """
    op = getattr(_linalg, name)([out.type], inputs, [out], **attributes)
    _linalg.fill_builtin_region(op.operation)
    return op.results[0]


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
        _check_conv(op.operation)
    return [_convert_conv(op.operation, rewriter) for op in target]


def _check_conv(op: Any) -> None:
    if op.name not in _LAYOUTS:
        raise SilenceableError(f"only {' and '.join(_LAYOUTS)} become products", at=op)
    window = [op.operands[1].type.shape[d] for d in _LAYOUTS[op.name][3]]
    if window != [1, 1]:
        spelled = "x".join("?" if ir.ShapedType.is_dynamic_size(n) else str(n) for n in window)
        raise SilenceableError(f"its window is {spelled}, and only one of 1x1 is none", at=op)
    has_strides = "strides" in op.attributes
    strides = [int(s) for s in ir.DenseIntElementsAttr(op.attributes["strides"])] if has_strides else []
    if any(s != 1 for s in strides):
        raise SilenceableError(f"its strides are {strides}, and a product reads every pixel", at=op)
    if op.name.endswith("fchw") and op.operands[0].type.shape[0] != 1:
        raise SilenceableError("with channels first a product takes one image only", at=op)


def _convert_conv(conv: Any, rewriter: Rewriter) -> Any:
    groups, filter_groups, order, _ = _LAYOUTS[conv.name]
    image, weights, init = conv.operands
    with rewriter.before(conv):
        pixels, matrix = _collapsed(image, groups), _collapsed(weights, filter_groups)
        start = _collapsed(init, groups)
        operands = (pixels, matrix) if order == "image first" else (matrix, pixels)
        product = _linalg.matmul(*operands, outs=[start])
        extents = [n for n in _mixed_extents(init) if not isinstance(n, int)]
        back = _tensor.expand_shape(conv.results[0].type, product, groups, extents, list(init.type.shape))
    rewriter.replace(conv, [back])
    return product.owner


def _collapsed(value: Any, groups: list[list[int]]) -> Any:
    shape = [_product([value.type.shape[d] for d in group]) for group in groups]
    type_ = ir.RankedTensorType.get(shape, value.type.element_type)
    return _tensor.collapse_shape(type_, value, groups)


def _product(extents: list[int]) -> int:
    is_dynamic = any(map(ir.ShapedType.is_dynamic_size, extents))
    return int(ir.ShapedType.get_dynamic_size()) if is_dynamic else math.prod(extents)


def _mixed_extents(value: Any) -> list[Any]:
    """Return the extents of a tensor: numbers, and ``tensor.dim`` of those that are dynamic."""
    return [
        _tensor.dim(value, _arith.constant(ir.IndexType.get(), i)) if ir.ShapedType.is_dynamic_size(n) else n
        for i, n in enumerate(value.type.shape)
    ]


_KINDS = ("matmul", "batch_matmul", "matvec", "vecmat", "dot", "mmt4d", "conv_", "depthwise_conv_")


@transform_op("lhkit.detach_elementwise", consumes=["target"])
def detach_elementwise(target: Ops, *, rewriter: Rewriter) -> tuple[Ops, Ops]:
    """Let products and convolutions start from zeros, and add what they started from afterwards.

    ::

        %r = linalg.matmul ins(%a, %b) outs(%c)
        // becomes
        %z = linalg.fill ins(%zero) outs(%empty)
        %p = linalg.matmul ins(%a, %b) outs(%z)
        %r = linalg.add ins(%p, %c) outs(%empty)

    Then what computes ``%c`` is not tied to the product's buffer, and the sum can be fused with what follows.
    After ``DetachElementwiseFromNamedOps`` of IREE; ``apply_patterns.linalg.fold_add_into_dest`` is the
    inverse. Floating point sums may round differently. Ops that start from a fill are left as they are.

    Args:
        target: Named products and convolutions of linalg on tensors; consumed.
        rewriter: How the payload is changed.

    Returns:
        The products and convolutions, and the sums.

    Raises:
        SilenceableError: Another op.
    """
    for op in target:
        kind = op.operation.name.removeprefix("linalg.")
        if kind == op.operation.name or not kind.startswith(_KINDS):
            raise SilenceableError("this is not a named product or convolution of linalg", at=op)
        if len(op.operation.results) != 1:
            raise SilenceableError("it works on buffers, and only tensors can be detached", at=op)
    changed, sums = [], []
    for op in target:
        start = op.operation.operands[len(op.operation.operands) - 1]
        producer = producer_of(start)
        if producer is not None and producer.name == "linalg.fill":
            changed.append(op.operation)
        else:
            product, total = _detach(op.operation, start, rewriter)
            changed.append(product)
            sums.append(total)
    return changed, sums


def _detach(op: Any, start: Any, rewriter: Rewriter) -> tuple[Any, Any]:
    type_ = start.type
    with rewriter.before(op):
        extents = _mixed_extents(start)
        is_float = isinstance(type_.element_type, ir.FloatType)
        zero = _arith.constant(type_.element_type, 0.0 if is_float else 0)
        zeros = named_op("FillOp", zero, out=_tensor.empty(extents, type_.element_type))
        product = op.clone()
        product.operands[len(op.operands) - 1] = zeros
        out = _tensor.empty(extents, type_.element_type)
        total = elementwise_op("add", product.results[0], start, out=out)
    rewriter.replace(op, [total])
    return product.operation, total.owner


@transform_op("lhkit.detensorize")
def detensorize(target: Ops, *, rewriter: Rewriter) -> None:
    """Compute with scalars what is computed with tensors of no dimension.

    ``linalg.generic`` and ``linalg.fill`` on such tensors become their bodies, and loops (``scf.for``) carry
    scalars::

        %r = linalg.generic ... ins(%x, %y : tensor<f32>, tensor<f32>) { arith.mulf } -> tensor<f32>
        // becomes
        %a = tensor.extract %x[] : tensor<f32>
        %b = tensor.extract %y[] : tensor<f32>
        %c = arith.mulf %a, %b : f32
        %r = tensor.from_elements %c : tensor<f32>

    Pairs of ``from_elements`` and ``extract`` go with the next canonicalization. After ``LinalgDetensorize``,
    which upstream and IREE had; ``scf.while`` and branches between blocks keep their tensors.

    Args:
        target: Where they are looked for: inside of these ops.
        rewriter: How the payload is changed.
    """
    inside = [op for root in target for op in walk(root.operation)]
    # Chosen before the first is replaced: an op that is gone may not even be asked for its name.
    scalars = [op for op in inside if op.name in {"linalg.generic", "linalg.fill"} and _is_scalar(op)]
    loops = [op for op in inside if op.name == "scf.for" and any(_has_no_dimension(r.type) for r in op.results)]
    for op in scalars:
        _inline(op, rewriter)
    for op in loops:
        _carry_scalars(op, rewriter)


def _has_no_dimension(type_: Any) -> bool:
    return isinstance(type_, ir.RankedTensorType) and type_.rank == 0


def _is_scalar(op: Any) -> bool:
    """Return True where all tensors of an op have no dimension, and it gives at least one."""
    tensors = [v.type for v in op.operands if isinstance(v.type, ir.ShapedType)]
    return bool(list(op.results)) and all(map(_has_no_dimension, tensors)) and not _reads_index(op)


def _reads_index(op: Any) -> bool:
    return any(o.operation.name == "linalg.index" for o in op.regions[0].blocks[0].operations)


def _scalar(value: Any) -> Any:
    return _tensor.extract(value, []) if _has_no_dimension(value.type) else value


def _inline(op: Any, rewriter: Rewriter) -> None:
    block = op.regions[0].blocks[0]
    with rewriter.before(op):
        known = dict(zip(block.arguments, map(_scalar, op.operands), strict=True))
        *body, last = [o.operation for o in block.operations]
        for each in body:
            new = each.clone()
            for i, operand in enumerate(each.operands):
                new.operands[i] = known.get(operand, operand)
            known |= zip(each.results, new.results, strict=True)
        values = _as_carried([known.get(v, v) for v in last.operands], op.results)
    rewriter.replace(op, values)


def _carry_scalars(loop: Any, rewriter: Rewriter) -> None:
    lower, upper, step, *inits = loop.operands
    old = loop.regions[0].blocks[0]
    with rewriter.before(loop):
        new = _scf.ForOp(lower, upper, step, [_scalar(v) for v in inits])
        with ir.InsertionPoint(new.body):
            carried = _as_carried(new.inner_iter_args, list(old.arguments)[1:])
        for argument, value in zip(old.arguments, [new.induction_variable, *carried], strict=True):
            argument.replace_all_uses_with(value)
        for op in list(old.operations):
            new.body.append(op)
        last = list(new.body.operations)[-1].operation
        with ir.InsertionPoint(last):
            for i, value in enumerate(list(last.operands)):
                last.operands[i] = _scalar(value)
        outside = _as_carried(new.results, loop.results)
    rewriter.replace(loop, outside)


def _as_carried(values: Any, before: Any) -> list[Any]:
    """Return scalars as tensors where the values before them were tensors."""
    return [
        _tensor.from_elements(old.type, [value]) if _has_no_dimension(old.type) else value
        for value, old in zip(values, before, strict=True)
    ]


@transform_op("lhkit.fold_transpose_into_pack")
def fold_transpose_into_pack(
    target: Ops, *, single_use: bool = False, goes_away: bool = False, rewriter: Rewriter
) -> Ops:
    """Let packs of a transpose pack its source, in the order of dimensions that comes to the same.

    ::

        %t = linalg.transpose ins(%x) permutation = [1, 0]
        linalg.pack %t inner_dims_pos = [0, 1] inner_tiles = [8, 1] into %d
        // becomes
        linalg.pack %x outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [8, 1] into %d

    A transpose is a ``linalg.transpose``, or a ``linalg.generic`` that only permutes. One that nothing uses
    any more is erased. Folding a second time changes nothing.

    Args:
        target: Where packs are looked for: the ops themselves and what is inside of them.
        single_use: Fold only where the pack is the one use of the transpose, so that the transpose is gone
            afterwards and never left behind beside the pack.
        goes_away: Fold only where all uses of the transpose are packs that fold, however many.
        rewriter: How the payload is changed.

    Returns:
        The packs that were folded, as they are now.

    Raises:
        SilenceableError: Both conditions are asked for.
    """
    if single_use and goes_away:
        raise SilenceableError("single_use is the stricter of the two conditions: leave goes_away out")
    folded = []
    for pack in [op for root in target for op in walk(root.operation) if op.name == "linalg.pack"]:
        transpose = producer_of(pack.operands[0])
        permutation = None if transpose is None else permutation_of(transpose)
        if permutation is None or not _may_fold(transpose, single_use=single_use, goes_away=goes_away):
            continue
        folded.append(_fold(pack, transpose, permutation, rewriter))
        if not list(transpose.results[0].uses):
            rewriter.erase(transpose)
    return folded


def permutation_of(op: Any) -> tuple[int, ...] | None:
    """Return which dimension of the input each dimension of the result is; None if the op is no transpose."""
    if op.name == "linalg.transpose":
        return tuple(int(d) for d in op.attributes["permutation"])
    if op.name != "linalg.generic" or len(op.operands) != 2 or len(op.results) != 1:
        return None
    block = op.regions[0].blocks[0]
    last = list(block.operations)[-1].operation
    if len(list(block.operations)) != 1 or last.operands[0] != block.arguments[0]:
        return None
    maps = [ir.AffineMapAttr(m).value for m in ir.ArrayAttr(op.attributes["indexing_maps"])]
    loops = [_loops(m) for m in maps]
    if any(sorted(found) != list(range(m.n_dims)) for found, m in zip(loops, maps, strict=True)):
        return None
    source, result = loops
    return tuple(source.index(loop) for loop in result)


def _loops(affine_map: Any) -> list[int]:
    """Return the loop that each result of a map is; nothing for a map that computes."""
    results = list(affine_map.results)
    if not all(isinstance(r, ir.AffineDimExpr) for r in results):
        return []
    return [ir.AffineDimExpr(r).position for r in results]


def _may_fold(transpose: Any, *, single_use: bool, goes_away: bool) -> bool:
    users = [use.owner.operation for use in transpose.results[0].uses]
    if single_use:
        return len(users) == 1
    return not goes_away or all(
        u.name == "linalg.pack" and producer_of(u.operands[0]) == transpose for u in users
    )


def _fold(pack: Any, transpose: Any, permutation: Sequence[int], rewriter: Rewriter) -> Any:
    inner = [permutation[d] for d in _dimensions(pack, "inner_dims_pos")]
    outer = [permutation[d] for d in _dimensions(pack, "outer_dims_perm") or range(len(permutation))]
    with rewriter.before(pack):
        folded = pack.clone()
        folded.operands[0] = transpose.operands[0]
        folded.attributes["inner_dims_pos"] = ir.DenseI64ArrayAttr.get(inner)
        # In order is what the attribute says by being empty.
        folded.attributes["outer_dims_perm"] = ir.DenseI64ArrayAttr.get([] if outer == sorted(outer) else outer)
    rewriter.replace(pack, folded)
    return folded.operation


def _dimensions(op: Any, name: str) -> list[int]:
    return [int(d) for d in op.attributes[name]] if name in op.attributes else []


@transform_op("lhkit.interchange_reductions", consumes=["target"])
def interchange_reductions(target: Ops, *, rewriter: Rewriter) -> Ops:
    """Order the loops of ``linalg.generic`` ops: parallel ones first, reductions last, else as they were.

    ::

        indexing_maps = [(d0, d1) -> (d0, d1), (d0, d1) -> (d1)], iterator_types = ["reduction", "parallel"]
        // becomes
        indexing_maps = [(d0, d1) -> (d1, d0), (d0, d1) -> (d0)], iterator_types = ["parallel", "reduction"]

    ``transform.structured.interchange`` does it where the permutation is known when the schedule is written;
    here it follows from each op. After ``InterchangeGenericOps`` of IREE.

    Args:
        target: ``linalg.generic`` ops; consumed.
        rewriter: How the payload is changed.

    Returns:
        The ops, those in order already unchanged.

    Raises:
        SilenceableError: Another op, or one whose body asks for the number of an iteration.
    """
    for op in target:
        if op.operation.name != "linalg.generic":
            raise SilenceableError("only the loops of a linalg.generic can be ordered", at=op)
        if _reads_index(op.operation):
            raise SilenceableError("its body asks for loop numbers (linalg.index), which would change", at=op)
    return [_ordered(op.operation, rewriter) for op in target]


def _ordered(op: Any, rewriter: Rewriter) -> Any:
    kinds = [str(k) for k in ir.ArrayAttr(op.attributes["iterator_types"])]
    order = sorted(range(len(kinds)), key=lambda loop: "reduction" in kinds[loop])
    if order == list(range(len(kinds))):
        return op
    with rewriter.before(op):
        new = op.clone()
        maps = [_permuted(ir.AffineMapAttr(m).value, order) for m in op.attributes["indexing_maps"]]
        new.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps])
        iterators = list(ir.ArrayAttr(op.attributes["iterator_types"]))
        new.attributes["iterator_types"] = ir.ArrayAttr.get([iterators[loop] for loop in order])
    rewriter.replace(op, new)
    return new.operation


def _permuted(affine_map: Any, order: list[int]) -> Any:
    """Return a map whose loop number ``i`` is what was loop ``order[i]``."""
    places = [ir.AffineDimExpr.get(order.index(loop)) for loop in range(len(order))]
    renumbered = ir.AffineMap.get(len(order), 0, places)
    return ir.AffineMap.get(len(order), 0, [e.compose(renumbered) for e in affine_map.results])
