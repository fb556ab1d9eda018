"""What transform ops need of the payload ops that they are for, in words; the compiler often gives no reason.

Each condition is certain: where it says that a step fails, the interpreter fails, which a test asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lhkit.compiler.interpreter.handle_frames import Handle
from lhkit.compiler.interpreter.probes import PlannedOp
from lhkit.compiler.interpreter.refused_steps import fatal_request_of, requested_sizes, unrolled_copies
from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.extents import static_shape
from lhkit.compiler.ir.parsing import span_of
from lhkit.model.errors import Diagnostic
from lhkit.model.fatal_attributes import ALTERNATIVES_ON_COPY, ALTERNATIVES_ON_ROOT, too_many_copies
from lhkit.model.trace_record import ParamReference

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
_LOOPS = ("scf.for", "affine.for")


def has_preconditions(op: str) -> bool:
    """Return True for a transform op, by name, that conditions are known of."""
    return op.removeprefix("transform.") in CONDITIONS


def unmet_preconditions(op: Any, targets: Sequence[Any]) -> tuple[Diagnostic, ...]:
    """Return what a transform op needs and payload ops of its first operand do not have.

    Args:
        op: The transform op.
        targets: The payload ops.

    Returns:
        An error for each different complaint, at the transform op, with the first payload op as a note.
    """
    found: dict[str, Diagnostic] = {}
    for target, said in _unmet(op, targets[:_MOST_TARGETS]):
        if said not in found:
            about = Diagnostic("note", f"the {target.name} that it is for", span_of(target.location))
            found[said] = Diagnostic("error", said, span_of(op.location), (about,))
    return tuple(found.values())


def _unmet(op: Any, targets: Sequence[Any]) -> Iterator[tuple[Any, str]]:
    name = op.name.removeprefix("transform.")
    for target in targets:
        for condition in CONDITIONS.get(name, ()):
            if (said := condition(op, target)) is not None:
                yield target, f"{name} {said}"
                break


def _is_structured(op: Any) -> bool:
    return (
        op.name.startswith("linalg.")
        and len(op.regions) == 1
        and op.name not in ("linalg.softmax", "linalg.pack")
    )


def _shaped(op: Any) -> list[Any]:
    return [v.type for v in (*op.operands, *op.results) if isinstance(v.type, ir.ShapedType)]


def tileable(_op: Any, target: Any) -> str | None:
    """Complain about an op without a tiling interface."""
    dialect = target.name.partition(".")[0]
    if dialect in _UNTILED_DIALECTS or target.name in _UNTILED_OPS:
        return f"takes ops that can be tiled, such as those of linalg; {target.name} cannot"
    return None


def on_tensors(_op: Any, target: Any) -> str | None:
    """Complain about an op on memrefs."""
    if any(isinstance(v.type, ir.MemRefType) for v in target.operands):
        return f"takes tensors; this {target.name} is on memrefs"
    return None


def on_memrefs(_op: Any, target: Any) -> str | None:
    """Complain about an op on tensors."""
    if any(isinstance(t, ir.RankedTensorType) for t in _shaped(target)):
        return f"takes memrefs; this {target.name} is on tensors: bufferize first"
    return None


def structured(_op: Any, target: Any) -> str | None:
    """Complain about an op that is not a structured op of linalg."""
    if not _is_structured(target):
        return f"takes structured ops of linalg; {target.name} is none"
    return None


def generic(_op: Any, target: Any) -> str | None:
    """Complain about an op that is not linalg.generic."""
    if target.name != "linalg.generic":
        return f"takes linalg.generic; this is {target.name}: transform.structured.generalize makes one of it"
    return None


def loop(_op: Any, target: Any) -> str | None:
    """Complain about an op that is not a loop."""
    return None if target.name in _LOOPS else f"takes loops (scf.for); this is {target.name}"


def for_loop(_op: Any, target: Any) -> str | None:
    """Complain about an op that is not scf.for."""
    return None if target.name == "scf.for" else f"takes scf.for; this is {target.name}"


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
        return None
    if any(None in static_shape(t) for t in _shaped(target)):
        unknown = f"this {target.name} has extents that are not known (?)"
        return f"takes static shapes; {unknown}: give vector_sizes, or tile it"
    return None


def reduces(_op: Any, target: Any) -> str | None:
    """Complain about an op whose loops are all parallel."""
    kinds = _iterators(target)
    if kinds is not None and "reduction" not in kinds:
        return f"takes ops with a reduction; all loops of this {target.name} are parallel"
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
    why = " because it is on memrefs" if count == 0 and on_tensors(op, target) else ""
    return f"asks for result {number}; this {target.name} has {_counted(count, 'result')}{why}"


def _counted(number: int, what: str) -> str:
    return f"no {what}s" if number == 0 else f"{number} {what}" + ("s" if number > 1 else "")


def _iterators(op: Any) -> list[str] | None:
    """Return the kinds of the loops of a structured op, None where its text does not say them."""
    if op.name == "linalg.generic":
        return ["reduction" if "reduction" in str(k) else "parallel" for k in op.attributes["iterator_types"]]
    return {"linalg.fill": ["parallel"], "linalg.copy": ["parallel"], "linalg.add": ["parallel"]}.get(op.name)


def _rank(op: Any) -> int | None:
    """Return the number of loops of an op, None where its name does not tell."""
    if op.name == "linalg.generic":
        return len(list(op.attributes["iterator_types"]))
    if op.name in ("linalg.fill", "linalg.copy", "linalg.add", "linalg.max", "linalg.mul", "linalg.exp"):
        return len(static_shape(op.operands[len(op.operands) - 1].type))
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


_MATMULS = ("linalg.matmul", "linalg.batch_matmul")


def matmul(_op: Any, target: Any) -> str | None:
    """Complain about an op that is not a product of matrices."""
    return (
        None
        if target.name in _MATMULS
        else f"takes linalg.matmul and linalg.batch_matmul; this is {target.name}"
    )


def convolution(_op: Any, target: Any) -> str | None:
    """Complain about an op that is no convolution."""
    if _is_structured(target) and ("conv" in target.name or target.name == "linalg.generic"):
        return None
    return f"takes convolutions; this is {target.name}"


CONDITIONS: Mapping[str, tuple[Condition, ...]] = {
    "structured.fuse": (tileable, on_tensors),
    "structured.tile_using_for": (tileable, enough_loops),
    "structured.tile_using_forall": (tileable,),
    "structured.tile_reduction_using_for": (structured, reduces, on_tensors, one_result),
    "structured.tile_reduction_using_forall": (structured, reduces, on_tensors, one_result),
    "structured.fuse_into_containing_op": (tileable,),
    "structured.pad": (structured, on_tensors, fitting_padding_values),
    "structured.pack": (structured, on_tensors),
    "structured.promote": (structured, on_memrefs),
    "structured.generalize": (structured,),
    "structured.interchange": (generic,),
    "structured.split_reduction": (structured, reduces, on_tensors),
    "structured.transpose_matmul": (matmul, on_tensors),
    "structured.convert_conv2d_to_img2col": (convolution, on_tensors),
    "structured.transpose_conv2d": (convolution,),
    "structured.vectorize": (static_or_sized,),
    "get_producer_of_operand": (operand_with_producer,),
    "get_consumers_of_result": (has_result,),
    "get_result": (has_result,),
    "loop.unroll": (loop,),
    "loop.peel": (for_loop,),
    "loop.pipeline": (for_loop,),
    "loop.coalesce": (loop,),
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
        return fatal_request_of(op.op, [n for h in handles[1:] for n in _integers(h)])
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


def _integers(handle: Handle) -> list[int]:
    texts = [r.param.partition(" ")[0] for r in handle.payload if isinstance(r, ParamReference)]
    return [int(text) for text in texts if text.lstrip("-").isdigit()]
