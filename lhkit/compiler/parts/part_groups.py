"""Which ops of a function belong together: one that multiplies or reduces, with what fuses into it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.resource_constants import resource_of
from lhkit.compiler.ops.convert_const_resources_to_args import find_anchor

_linalg: Any = host_module("dialects.linalg")

CONTRACTION, CONVOLUTION, REDUCTION, ELEMENTWISE, COPY, OTHER = (
    "contraction", "convolution", "reduction", "elementwise", "copy", "other",
)  # fmt: skip
_PRODUCTS = (CONTRACTION, CONVOLUTION)
_VIEWS = ("tensor.collapse_shape", "tensor.expand_shape", "tensor.extract_slice", "tensor.cast")
_MOVES = (
    "tensor.pad",
    "tensor.insert_slice",
    "tensor.concat",
    "linalg.transpose",
    "linalg.broadcast",
    "linalg.copy",
)
_CHEAP = (
    "tensor.empty",
    "tensor.dim",
    "arith.",
    "affine.apply",
    "affine.min",
    "affine.max",
    "linalg.fill",
    "index.",
)
# Constants with more elements are handed to parts as weights are.
_MOST_WRITTEN = 64


@dataclass(eq=False)
class Group:
    """Ops that are computed together, in the order of the function."""

    ops: list[Any]
    kinds: set[str] = field(default_factory=set)  # Of its ops, without views

    @property
    def kind(self) -> str:
        """What the group is by the op that takes most time."""
        order = (CONVOLUTION, CONTRACTION, REDUCTION, OTHER, ELEMENTWISE)
        return next((k for k in order if k in self.kinds), COPY)

    @property
    def has_product(self) -> bool:
        """Whether an op in it multiplies and adds up."""
        return not self.kinds.isdisjoint(_PRODUCTS)

    @property
    def only_moves(self) -> bool:
        """Whether it computes nothing."""
        return self.kinds <= {COPY}


def is_copied(op: Any) -> bool:
    """Return whether an op is so cheap that each part has its own: sizes, scalars, constants, fills."""
    if not op.name.startswith(_CHEAP) or is_weight(op):
        return False
    if op.name.startswith("arith."):
        return (
            not any(isinstance(r.type, ir.RankedTensorType) for r in op.results) or op.name == "arith.constant"
        )
    return True


def is_weight(op: Any) -> bool:
    """Return whether an op is a constant array that is handed to the parts that read it."""
    if op.name != "arith.constant" or not isinstance(op.results[0].type, ir.RankedTensorType):
        return False
    if resource_of(op) is not None:
        return True
    value = op.attributes["value"]
    is_splat = isinstance(value, ir.DenseElementsAttr) and value.is_splat
    shaped = ir.RankedTensorType(op.results[0].type)
    count = 1
    for i in range(shaped.rank):
        count *= shaped.get_dim_size(i)
    return not is_splat and count > _MOST_WRITTEN


def kind_of(op: Any) -> str | None:
    """Return what an op does; None for one that parts do not take, such as one on memrefs."""
    if not op.results or not all(isinstance(r.type, ir.RankedTensorType) for r in op.results):
        return None
    if op.name in _MOVES:
        return COPY
    if op.name.startswith("linalg."):
        return _kind_of_linalg(op)
    return OTHER if op.name.startswith("tensor.") else None


def _kind_of_linalg(op: Any) -> str:
    anchor = find_anchor(op)
    if anchor is not None:
        return CONVOLUTION if anchor.kind == "conv" else CONTRACTION
    if op.name == "linalg.softmax":
        return REDUCTION
    attribute = _linalg.get_indexing_maps(op)
    if attribute is None:
        return OTHER
    maps = [ir.AffineMapAttr(m).value for m in ir.ArrayAttr(attribute)]
    written = maps[len(op.operands) - len(op.results) :]
    if any(m.n_dims > sum(not isinstance(r, ir.AffineConstantExpr) for r in m.results) for m in written):
        return CONVOLUTION if op.name.startswith("linalg.conv_") else REDUCTION
    inner = op.regions[0].blocks[0].operations if op.regions else ()
    return COPY if len(inner) == 1 and len(op.operands) > len(op.results) else ELEMENTWISE


def groups_of(block: Any) -> list[Group]:
    """Return the groups of a function's block, by their first ops; ops in none of them stay where they are."""
    ops = [op.operation for op in block.operations]
    group_of: dict[Any, Group] = {}
    groups: list[Group] = []
    for op in ops:
        if is_copied(op) or is_weight(op):
            continue
        is_view = op.name in _VIEWS
        kind = None if is_view else kind_of(op)
        if is_view or kind is not None:
            group = Group([op], {kind} if kind else set())
            groups.append(group)
            group_of[op] = group
    position = {op: i for i, op in enumerate(ops)}
    for allowed in (_is_end, _is_start_or_same, _moves_result):
        _merge(groups, group_of, position, allowed)
    _merge_attention(groups, group_of, position)
    return [g for g in groups if g.kinds]


def _is_end(a: Group, b: Group) -> bool:
    """Return whether one group ends with another, which works by elements on products."""
    return a.has_product and ELEMENTWISE in b.kinds and b.kinds <= {ELEMENTWISE, COPY}


def _moves_result(a: Group, b: Group) -> bool:
    """Return whether a group only moves what the other gives; what a product reads belongs to that."""
    return a.has_product and b.only_moves


def _is_start_or_same(a: Group, b: Group) -> bool:
    if OTHER in a.kinds or OTHER in b.kinds:
        return not a.kinds  # a view
    if a.has_product:
        return _is_end(a, b)
    return a.only_moves or _is_of_weights(a) if b.has_product else True


def _is_of_weights(group: Group) -> bool:
    """Return whether a group computes from weights alone, which is done once."""
    inside = {*group.ops}
    owners = [v.owner.operation if isinstance(v, ir.OpResult) else None for o in group.ops for v in o.operands]
    return all(o is not None and (o in inside or is_copied(o) or is_weight(o)) for o in owners)


def _consumer(group: Group, group_of: dict[Any, Group]) -> Group | None:
    """Return the only group that reads what a group gives; None if there are several, or other readers."""
    inside, found = {*group.ops}, None
    for op in group.ops:
        for user in (user for result in op.results for user in users_of(result, op.block)):
            if user in inside:
                continue
            reader = group_of.get(user)
            if reader is None or found not in (None, reader):
                return None
            found = reader
    return found


def users_of(value: Any, block: Any) -> Iterator[Any]:
    """Yield the ops of a block that read a value, also from within their regions."""
    for use in value.uses:
        user = use.owner.operation
        while user.block != block:
            user = user.parent.operation
        yield user


def _merge(groups: list[Group], group_of: dict[Any, Group], position: dict[Any, int], allowed: Any) -> None:
    is_changed = True
    while is_changed:
        is_changed = False
        for group in reversed(groups[:]):
            consumer = _consumer(group, group_of)
            if consumer is not None and consumer is not group and allowed(group, consumer):
                _join([group, consumer], groups, group_of, position)
                is_changed = True


def _join(
    joined: Iterable[Group], groups: list[Group], group_of: dict[Any, Group], position: dict[Any, int]
) -> None:
    first, *others = joined
    for other in others:
        first.ops += other.ops
        first.kinds |= other.kinds
        groups.remove(other)
    first.ops.sort(key=position.__getitem__)
    for op in first.ops:
        group_of[op] = first


def _merge_attention(groups: list[Group], group_of: dict[Any, Group], position: dict[Any, int]) -> None:
    """Join products of queries and keys, softmax, and the product with the values."""
    for scores in groups[:]:
        if scores not in groups or scores.kind != CONTRACTION:
            continue
        softmax = _consumer(scores, group_of)
        if softmax is None or softmax.kind != REDUCTION:
            continue
        values = _consumer(softmax, group_of)
        if values is not None and values.kind == CONTRACTION:
            _join([scores, softmax, values], groups, group_of, position)
