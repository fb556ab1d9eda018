"""Facts about transform ops: how results relate to operands, and which ops keep other payload in place.

What an op consumes is not among them: the compiler says that. The source of each fact is the documentation of
the op. An op that is not listed may return anything, and may move any payload op.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from lhkit.model.step_form import op_of_type

# Kinds of payload ops as far as a schedule names them: ops and interfaces of a match, types of handles.


# Names of ops, and of interfaces in angle brackets; None where nothing is known.
Kinds = frozenset[str] | None

LINALG, TILING, LOOPS = "<LinalgOp>", "<TilingInterface>", "<LoopLikeInterface>"
# The values of transform.structured.match's `interface` attribute.
INTERFACES = (LINALG, TILING, LOOPS)
MODULE: Kinds = frozenset({"builtin.module"})
FUNCTION: Kinds = frozenset({"func.func"})

_LOOP_NAMES = ("scf.for", "scf.forall", "scf.parallel", "scf.while", "affine.for", "affine.parallel")
# Ops of linalg that are not a LinalgOp; they can be tiled, except for terminators and the like.
_OTHER_LINALG = (
    "linalg.softmax",
    "linalg.pack",
    "linalg.unpack",
    "linalg.winograd_filter_transform",
    "linalg.winograd_input_transform",
    "linalg.winograd_output_transform",
)
_NO_STRUCTURE = ("linalg.yield", "linalg.index")
_OUTSIDE = frozenset({"builtin.module", "func.func"})


def kinds_of_type(type_: str) -> Kinds:
    """Return the kind of op that a handle type names, None for ``any_op`` and others."""
    name = op_of_type(type_)
    return frozenset({name}) if name else None


def _implements(name: str, interface: str) -> bool:
    if name == interface:
        return True
    if interface not in INTERFACES:
        return False
    if name in INTERFACES:
        return (name, interface) == (LINALG, TILING)
    if interface == LOOPS:
        return name in _LOOP_NAMES
    if name in _OTHER_LINALG or name == "tensor.pad":
        return interface == TILING
    return name.startswith("linalg.") and name not in _NO_STRUCTURE


def kinds_intersect(a: Kinds, b: Kinds) -> bool:
    """Return True if both are known and an op can be of both."""
    if a is None or b is None:
        return False
    return any(_implements(x, y) or _implements(y, x) for x in a for y in b)


def kinds_within(a: Kinds, b: Kinds) -> bool:
    """Return True if every op of kinds ``a`` is of kinds ``b``."""
    if a is None or b is None:
        return False
    return all(any(_implements(x, y) for y in b) for x in a)


def is_outer(kinds: Kinds) -> bool:
    """Return True for functions and modules: ops do not leave them, and they are never inside a loop."""
    return kinds is not None and kinds <= _OUTSIDE


def is_plain(kinds: Kinds) -> bool:
    """Return True for structured ops: they are not loops and do not nest."""
    return kinds is not None and kinds_within(kinds, frozenset({TILING}))


def is_loop(kinds: Kinds) -> bool:
    """Return True for loops."""
    return kinds is not None and kinds_within(kinds, frozenset({LOOPS}))


# What the payload ops of a result are:
#   same: those of the operand (-1: of all operands together)
#   part: some of the operand's, and no two results share one
#   found: all ops of certain kinds at or under the operand's
#   around: ops around the operand's
#   near: producers or consumers of the operand's, or the ops that define its values
#   new: made in place of the operand's
#   apart: made elsewhere
Relation = Literal["same", "part", "found", "around", "near", "new", "apart"]
# The kind of a new op: that of the operand.
AS_OPERAND = "as the operand"


@dataclass(frozen=True, slots=True)
class ResultFact:
    """The relation of a result to an operand; fields count operands or results, -1 being all or the last.

    Attributes:
        relation: See above.
        of: Number of the operand it relates to, -1 for all.
        kind: Op name or ``AS_OPERAND`` if it is known.
        within: Its ops are nested directly in those of this result.
        inside: Its ops are nested at any depth in those of this result.
    """

    relation: Relation
    of: int = 0
    kind: str | None = None
    within: int | None = None
    inside: int | None = None


@dataclass(frozen=True, slots=True)
class OpFacts:
    """Facts about an op.

    Attributes:
        nests: True if its results but the first are loops, each directly in the one before it.
        from_end: True if the facts are those of the last results, and the first of them holds for any before.
        keeps: True if other payload ops stay in place and unchanged.
        may_repeat: True if it takes aliasing operands though it consumes one.
    """

    results: tuple[ResultFact, ...] = ()
    nests: bool = False
    from_end: bool = False
    keeps: bool = False
    may_repeat: bool = False

    def result(self, index: int, count: int) -> ResultFact | None:
        """Return the fact about result ``index`` of ``count``."""
        if not self.results:
            return None
        if self.from_end:
            return self.results[max(0, len(self.results) - (count - index))]
        return self.results[min(index, len(self.results) - 1)]


def _gives(*results: ResultFact, nests: bool = False, from_end: bool = False) -> OpFacts:
    return OpFacts(results, nests, from_end, keeps=True)


_SAME = ResultFact("same")
_NEAR = ResultFact("near")
_NEW = ResultFact("new")
_SAME_KIND = ResultFact("new", kind=AS_OPERAND)
_GENERIC = ResultFact("new", kind="linalg.generic")
_FOR = ResultFact("new", kind="scf.for")
_TILED = ResultFact("new", kind=AS_OPERAND, within=-1)
_OUTLINED = ResultFact("apart", kind="func.func")
_IN_LOOP = ResultFact("new", within=-1)

FACTS: Mapping[str, OpFacts] = {
    # Handles.
    "transform.cast": _gives(_SAME),
    "transform.merge_handles": _gives(ResultFact("same", of=-1)),
    "transform.replicate": _gives(ResultFact("same", of=1)),
    "transform.split_handle": _gives(ResultFact("part")),
    "transform.select": _gives(ResultFact("part")),
    "transform.structured.match": _gives(ResultFact("found")),
    "transform.get_parent_op": _gives(ResultFact("around")),
    "transform.get_producer_of_operand": _gives(_NEAR),
    "transform.get_consumers_of_result": _gives(_NEAR),
    "transform.get_operand": _gives(_NEAR),
    "transform.get_result": _gives(_SAME),
    "transform.get_defining_op": _gives(_SAME),
    # What changes no payload, or only attributes.
    "transform.annotate": _gives(),
    "transform.print": _gives(),
    "transform.verify": _gives(),
    "transform.debug.emit_remark_at": _gives(),
    "transform.debug.emit_param_as_remark": _gives(),
    # Tiling: the loops from the outermost in, the tiled op in the innermost.
    "transform.structured.tile_using_for": _gives(_TILED, _FOR, nests=True),
    "transform.structured.fuse": _gives(_TILED, ResultFact("new", kind=LOOPS), nests=True),
    "transform.structured.tile_using_forall": _gives(_TILED, ResultFact("new", kind="scf.forall")),
    "transform.structured.tile_reduction_using_for": _gives(_NEW, _IN_LOOP, _NEW, _FOR, from_end=True),
    "transform.structured.tile_reduction_using_forall": _gives(
        _NEW, _IN_LOOP, _NEW, ResultFact("new", kind="scf.forall"), from_end=True
    ),
    # The containing op's handle is only read; the second result is the same op or what took its place.
    "transform.structured.fuse_into_containing_op": OpFacts(
        (ResultFact("new", kind=AS_OPERAND, inside=-1), ResultFact("same", of=1)), keeps=True, may_repeat=True
    ),
    # Rewrites in place.
    "transform.structured.generalize": _gives(_GENERIC),
    "transform.structured.interchange": _gives(_GENERIC),
    "transform.structured.specialize": _gives(_NEW),
    "transform.structured.split": _gives(_SAME_KIND),
    "transform.structured.split_reduction": _gives(_NEW),
    "transform.structured.pad": _gives(_SAME_KIND, _NEW),
    "transform.structured.pack": _gives(_NEW),
    "transform.structured.scalarize": _gives(_NEW),
    "transform.structured.decompose": _gives(_NEW),
    "transform.structured.flatten_elementwise": _gives(_NEW),
    "transform.structured.transpose_matmul": _gives(_NEW),
    "transform.structured.rewrite_in_destination_passing_style": _gives(_NEW),
    "transform.structured.vectorize": _gives(),
    "transform.structured.convert_to_loops": _gives(ResultFact("new", kind=LOOPS)),
    # Loops. An unrolled loop's body is copied and gone; a peeled one is two.
    "transform.loop.unroll": _gives(),
    "transform.loop.peel": _gives(_FOR),
    "transform.loop.coalesce": _gives(_FOR),
    "transform.loop.coalesce_nested": _gives(_FOR),
    "transform.loop.forall_to_for": _gives(_FOR),
    "transform.loop.forall_to_parallel": _gives(ResultFact("new", kind="scf.parallel")),
    "transform.loop.parallel_for_to_nested_fors": _gives(_FOR),
    "transform.loop.outline": _gives(_OUTLINED, ResultFact("new", kind="func.call")),
    # What may clean up or move whatever is inside, and gives the same function or module back.
    "transform.apply_registered_pass": OpFacts((_SAME_KIND,)),
    "transform.bufferization.one_shot_bufferize": OpFacts((_SAME_KIND,)),
    "transform.structured.vectorize_children_and_apply_patterns": OpFacts((_SAME_KIND,)),
    "transform.structured.hoist_redundant_vector_transfers": OpFacts((_SAME_KIND,)),
    "transform.structured.hoist_redundant_vector_broadcasts": OpFacts((_SAME_KIND,)),
    "transform.foreach_match": OpFacts((_SAME_KIND, _NEAR), may_repeat=True),
    "transform.alternatives": OpFacts((_SAME_KIND,)),
}
NO_FACTS = OpFacts()
