"""What transform ops need of the payload ops that they are for, in words; the compiler often gives no reason.

Each condition is certain: where it says that a step fails, the interpreter fails, which a test asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lhkit.compiler.interpreter.handle_frames import Handle
from lhkit.compiler.interpreter.probes import PlannedOp
from lhkit.compiler.interpreter.refused_steps import (
    extents_of,
    fatal_request_of,
    integer_of,
    requested_sizes,
    unrolled_copies,
)
from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.extents import static_shape
from lhkit.compiler.ir.parsing import span_of
from lhkit.model.errors import Diagnostic
from lhkit.model.fatal_attributes import ALTERNATIVES_ON_COPY, ALTERNATIVES_ON_ROOT, too_many_copies

# Asked of a transform op and of one payload op of its first operand; None where nothing is wrong.
Condition = Callable[[Any, Any], str | None]

# Of a handle to many ops so many are looked at.
_MOST_TARGETS = 256
# Dialects, and ops of others, whose ops cannot be tiled.
_UNTILED_DIALECTS = ("arith", "builtin", "cf", "func", "math", "memref", "scf", "vector")
_UNTILED_OPS = (
    "linalg.yield",
    "linalg.index",
    "tensor.empty",
    "tensor.dim",
    "tensor.extract_slice",
    "tensor.insert_slice",
)
# Dialects whose ops are there for the ops in them.
_OF_OTHER_OPS = ("builtin", "func", "scf")
_LOOPS = ("scf.for", "affine.for")
_MATMULS = ("linalg.matmul", "linalg.batch_matmul")


def unmet_preconditions(op: Any, targets: Sequence[Any]) -> tuple[Diagnostic, ...]:
    """Return what a transform op needs and payload ops of its first operand do not have.

    Args:
        op: The transform op.
        targets: The payload ops.

    Returns:
        An error for each different complaint, at the transform op, with the first payload op as a note.
    """
    name = op.name.removeprefix("transform.")
    found: dict[str, Diagnostic] = {}
    for target in targets[:_MOST_TARGETS]:
        complaints = (condition(op, target) for condition in CONDITIONS.get(op.name, ()))
        said = next(filter(None, complaints), None)
        if said is not None and said not in found:
            about = Diagnostic("note", f"the {target.name} that it is for", span_of(target.location))
            found[said] = Diagnostic("error", f"{name} {said}", span_of(op.location), (about,))
    return tuple(found.values())


def _is_structured(op: Any) -> bool:
    return (
        op.name.startswith("linalg.")
        and len(op.regions) == 1
        and op.name not in ("linalg.softmax", "linalg.pack")
    )


def _shaped(op: Any) -> list[Any]:
    return [v.type for v in (*op.operands, *op.results) if isinstance(v.type, ir.ShapedType)]


def _takes(fits: Callable[[Any], bool], complaint: str) -> Condition:
    """Return the condition that a payload op fits; ``{name}`` in the complaint is replaced by its name."""
    return lambda _op, target: None if fits(target) else complaint.format(name=target.name)


def _is_tileable(op: Any) -> bool:
    return op.name.partition(".")[0] not in _UNTILED_DIALECTS and op.name not in _UNTILED_OPS


def _is_on_tensors(op: Any) -> bool:
    return not any(isinstance(v.type, ir.MemRefType) for v in op.operands)


def _is_on_memrefs(op: Any) -> bool:
    return not any(isinstance(t, ir.RankedTensorType) for t in _shaped(op))


def _may_reduce(op: Any) -> bool:
    kinds = _iterators(op)
    return kinds is None or "reduction" in kinds


def _may_be_convolution(op: Any) -> bool:
    return _is_structured(op) and ("conv" in op.name or op.name == "linalg.generic")


tileable = _takes(_is_tileable, "takes ops that can be tiled, such as those of linalg; {name} cannot")
on_tensors = _takes(_is_on_tensors, "takes tensors; this {name} is on memrefs")
on_memrefs = _takes(_is_on_memrefs, "takes memrefs; this {name} is on tensors: bufferize first")
structured = _takes(_is_structured, "takes structured ops of linalg; {name} is none")
generic = _takes(
    lambda op: op.name == "linalg.generic",
    "takes linalg.generic; this is {name}: transform.structured.generalize makes one of it",
)
loop = _takes(lambda op: op.name in _LOOPS, "takes loops (scf.for); this is {name}")
vectorizable = _takes(
    lambda op: op.name.partition(".")[0] not in _OF_OTHER_OPS,
    "takes single ops, such as those of linalg; this is {name}",
)
for_loop = _takes(lambda op: op.name == "scf.for", "takes scf.for; this is {name}")
matmul = _takes(lambda op: op.name in _MATMULS, "takes linalg.matmul and linalg.batch_matmul; this is {name}")
convolution = _takes(_may_be_convolution, "takes convolutions; this is {name}")
reduces = _takes(_may_reduce, "takes ops with a reduction; all loops of this {name} are parallel")


def enough_loops(op: Any, target: Any) -> str | None:
    """Complain about more tile sizes than the op has loops."""
    asked, loops = requested_sizes(op), _rank(target)
    if asked is None or loops is None or asked.meaning != "tile size" or len(asked.sizes) <= loops:
        return None
    return f"has {len(asked.sizes)} tile sizes, and the {target.name} has {loops} loops"


def static_or_sized(op: Any, target: Any) -> str | None:
    """Complain about unknown extents without vector sizes, and about too few or many vector sizes."""
    if not _is_structured(target):
        return None
    asked = requested_sizes(op)
    sizes, loops = (asked.sizes if asked else ()), _rank(target)
    if sizes:
        if loops is not None and len(sizes) != loops:
            return f"has {len(sizes)} vector sizes, and the {target.name} has {loops} loops: give one for each"
        return _too_small_vector(sizes, target)
    if any(None in static_shape(t) for t in _shaped(target)):
        unknown = f"this {target.name} has extents that are not known (?)"
        owners = [v.owner for v in target.operands]
        is_padded = any(o.name == "tensor.pad" for o in owners if not isinstance(o, ir.Block))
        other = "pad its other loops too (padding_dimensions)" if is_padded else "tile it"
        return f"takes static shapes; {unknown}: give vector_sizes, or {other}"
    return None


def _too_small_vector(sizes: Sequence[int | None], target: Any) -> str | None:
    for loop, (size, extent) in enumerate(zip(sizes, extents_of(target) or (), strict=False)):
        if size is not None and extent is not None and size < extent:
            what = f"has vector size {size} for loop {loop} of this {target.name}, which runs over {extent}"
            return f"{what}: one vector has to hold all of it; tile that loop by {size} first"
    return None


def one_result(_op: Any, target: Any) -> str | None:
    """Complain about several results."""
    if len(target.results) > 1:
        return f"takes ops with one result; this {target.name} has {len(target.results)}"
    return None


def operand_with_producer(op: Any, target: Any) -> str | None:
    """Complain about an operand that is not there, or that is an argument of a block."""
    number, count = ir.IntegerAttr(op.attributes["operand_number"]).value, len(target.operands)
    if number >= count:
        return f"asks for operand {number}; this {target.name} has {_counted(count, 'operand')}"
    if isinstance(target.operands[number], ir.BlockArgument):
        around = target.operands[number].owner.owner
        return f"asks which op computes operand {number}: none, it is an argument of the {around.name}"
    return None


def has_result(op: Any, target: Any) -> str | None:
    """Complain about a result that is not there."""
    count = len(target.results)
    if "result_number" in op.attributes:
        asked = [ir.IntegerAttr(op.attributes["result_number"]).value]
    else:  # transform.get_result, of which only lists of positions from the first on are looked at
        asked = list(ir.DenseI64ArrayAttr(op.attributes["raw_position_list"]))
    number = max(asked, default=-1)
    if number < count or "is_inverted" in op.attributes or "is_all" in op.attributes:
        return None
    why = " because it is on memrefs" if count == 0 and not _is_on_tensors(target) else ""
    return f"asks for result {number}; this {target.name} has {_counted(count, 'result')}{why}"


def _counted(number: int, what: str) -> str:
    return f"no {what}s" if number == 0 else f"{number} {what}" + ("s" if number > 1 else "")


def _iterators(op: Any) -> list[str] | None:
    """Return the kinds of the loops of a structured op, None where its text does not say them."""
    if op.name == "linalg.generic":
        return ["reduction" if "reduction" in str(k) else "parallel" for k in op.attributes["iterator_types"]]
    return ["parallel"] if op.name in ("linalg.fill", "linalg.copy", "linalg.add") else None


def _rank(op: Any) -> int | None:
    """Return the number of loops of an op, None where its name does not tell."""
    if op.name == "linalg.generic":
        return len(list(op.attributes["iterator_types"]))
    if op.name in ("linalg.fill", "linalg.copy", "linalg.add", "linalg.max", "linalg.mul", "linalg.exp"):
        return len(static_shape(list(op.operands)[-1].type))
    return {
        "linalg.matmul": 3,
        "linalg.batch_matmul": 4,
        "linalg.matvec": 2,
        "linalg.conv_2d_nhwc_hwcf": 7,
    }.get(op.name)


def fitting_padding_values(op: Any, target: Any) -> str | None:
    """Complain about a padding value of another type than the elements of its operand."""
    if "padding_values" not in op.attributes:
        return None
    for number, (value, operand) in enumerate(
        zip(op.attributes["padding_values"], target.operands, strict=False)
    ):
        shaped = isinstance(operand.type, ir.ShapedType)
        element = ir.ShapedType(operand.type).element_type if shaped else operand.type
        if isinstance(value, ir.FloatAttr | ir.IntegerAttr) and value.type != element:
            return (
                f"fills operand {number} of this {target.name} with {value.type}, and its elements are"
                f" {element}: write padding_values of {element} into the schedule, or give it a payload"
                f" of {value.type}"
            )
    return None


CONDITIONS: Mapping[str, tuple[Condition, ...]] = {
    "transform.structured.fuse": (tileable, on_tensors),
    "transform.structured.tile_using_for": (tileable, enough_loops),
    "transform.structured.tile_using_forall": (tileable,),
    "transform.structured.tile_reduction_using_for": (structured, reduces, on_tensors, one_result),
    "transform.structured.tile_reduction_using_forall": (structured, reduces, on_tensors, one_result),
    "transform.structured.fuse_into_containing_op": (tileable,),
    "transform.structured.pad": (structured, on_tensors, fitting_padding_values),
    "transform.structured.pack": (structured, on_tensors),
    "transform.structured.promote": (structured, on_memrefs),
    "transform.structured.generalize": (structured,),
    "transform.structured.interchange": (generic,),
    "transform.structured.split_reduction": (structured, reduces, on_tensors),
    "transform.structured.transpose_matmul": (matmul, on_tensors),
    "transform.structured.convert_conv2d_to_img2col": (convolution, on_tensors),
    "transform.structured.transpose_conv2d": (convolution,),
    "transform.structured.vectorize": (vectorizable, static_or_sized),
    "transform.get_producer_of_operand": (operand_with_producer,),
    "transform.get_consumers_of_result": (has_result,),
    "transform.get_result": (has_result,),
    "transform.loop.unroll": (loop,),
    "transform.loop.peel": (for_loop,),
    "transform.loop.pipeline": (for_loop,),
    "transform.loop.coalesce": (loop,),
}


_UNROLL = ("transform.loop.unroll", "transform.loop.unroll_and_jam")
# With the attribute that gives an operand of the op they are for; sizes of other groups mean something else.
_TAKES_PARAMETERS = ("transform.structured.pad",)


def find_fatal_use(op: PlannedOp, handles: Sequence[Handle], state: Any, root: Any) -> str | None:
    """Return why the next step would end the process, None if it would not."""
    dangling = next((h for h in handles if h.erased_by), None)
    if dangling is not None:
        return f"{dangling.planned.name} points to a payload op that an earlier {dangling.erased_by} erased"
    if not handles or handles[0].state != "live":
        return None
    if op.name in _TAKES_PARAMETERS and len(handles) > 1:
        given = [integer_of(reference) for h in handles[1:] for reference in h.payload]
        return fatal_request_of(op.op, [n for n in given if n is not None])
    if op.fatal is not None:
        return op.fatal
    if op.name == "transform.alternatives":
        loose = [o for o in state.get_payload_ops(handles[0].planned.value) if o.operation.parent is None]
        return None if not loose else ALTERNATIVES_ON_ROOT if root in loose else ALTERNATIVES_ON_COPY
    if op.name in _UNROLL:
        factor = ir.IntegerAttr(op.op.attributes["factor"]).value
        loops = [o.operation for o in state.get_payload_ops(handles[0].planned.value)]
        return too_many_copies(max((unrolled_copies(o, factor) for o in loops), default=0))
    return None
