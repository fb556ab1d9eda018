"""Words about transform ops that are ours: what one uses each for, and the most used ones in a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping

FIND = "Find and select"
ASK = "Ask in a matcher"
TILE = "Tile and fuse"
LOOPS = "Change loops"
REWRITE = "Rewrite an op"
PAD = "Pad and pack"
VECTORIZE = "Vectorize"
MEMORY = "Bufferize and place in memory"
CLEAN = "Clean up"
LOWER = "Convert and lower"
CONTROL = "Control what is applied"
PARAMETERS = "Parameters and knobs"
SHOW = "Show and check"
DEVICES = "GPUs and other devices"
PATTERNS = "Patterns to apply"
STRUCTURE = "Structure of a file"

# The first rule that fits the name without the dialect's decides; roles other than steps have groups of their own.
_RULES: tuple[tuple[str, str], ...] = (
    (r"match(\..*)?", ASK),
    (r"param\..*|tune\..*|smt\..*|get_type|num_associations", PARAMETERS),
    (r"get_.*|pdl_match|select|cast|merge_handles|split_handle|replicate|collect_matching", FIND),
    (r"structured\.match|sparse_tensor\.match\..*|irdl\.collect_matching|dlti\.query", FIND),
    (r"(structured\.)?(gpu|nvgpu|xegpu)\..*", DEVICES),
    (r"structured\.(tile_.*|fuse.*|multitile_sizes|continuous_tile_sizes|split|split_reduction)", TILE),
    (r"structured\.(pad.*|pack.*|hoist_pad.*|lower_pack|lower_unpack)", PAD),
    (r"structured\.(vectorize.*|hoist_redundant_.*)|affine\.super_vectorize", VECTORIZE),
    (r"structured\.(promote.*|bufferize_to_allocation|eliminate_empty_tensors|insert_slice_to_copy)", MEMORY),
    (r"structured\.(linalg_copy_to_memref|rewrite_in_destination_passing_style)", MEMORY),
    (r"bufferization\..*|memref\..*", MEMORY),
    (r"structured\.convert_to_loops|apply_registered_pass|apply_conversion_patterns", LOWER),
    (r"structured\..*|func\..*|tensor\..*", REWRITE),
    (r"loop\..*|scf\..*|affine\..*", LOOPS),
    (r"apply_(cse|dce|licm|patterns)", CLEAN),
    (r"alternatives|foreach.*|include|sequence", CONTROL),
    (r"print|verify|annotate|debug\..*", SHOW),
)


def group_of(name: str, role: str) -> str:
    """Return what one uses a transform op for, of its full name and its role."""
    if role == "structural":
        return STRUCTURE
    if role == "structure-matcher":
        return ASK
    if role != "step":
        return PATTERNS
    short = name.removeprefix("transform.")
    return next((group for rule, group in _RULES if re.fullmatch(rule, short)), REWRITE)


def sentence_for(name: str, documentation: str) -> str:
    """Return what an op does in a sentence: ours, else the first of the dialect's documentation."""
    if ours := SENTENCES.get(name.removeprefix("transform.")):
        return ours
    paragraph = " ".join(documentation.strip().partition("\n\n")[0].split())
    match = re.match(r".+?[.:](?=\s+[A-Z`]|\Z)", paragraph)
    return (match[0] if match else paragraph).rstrip(":.") + "."


SENTENCES: Mapping[str, str] = {
    "structured.match": "Gives a handle to all ops below the target that have a name, an interface or attributes.",
    "get_parent_op": "Gives the op around each target: the nearest, or the nearest of a name.",
    "get_producer_of_operand": "Gives the op that computes an operand of each target.",
    "get_consumers_of_result": "Gives the ops that use a result of each target.",
    "get_operand": "Gives handles to operands of each target, as values.",
    "get_result": "Gives handles to results of each target, as values.",
    "get_defining_op": "Gives the op that computes each value.",
    "select": "Keeps those of the targets that have a name.",
    "cast": "Gives the same ops under a narrower or a wider type of handle; a wrong op is an error.",
    "merge_handles": "Joins several handles into one.",
    "split_handle": "Gives a handle of its own to each of the ops of one handle.",
    "foreach": "Applies its body once for each op of the target.",
    "foreach_match": "Walks the payload and applies to each op the action of the first matcher that takes it.",
    "include": "Applies a named sequence, as a call.",
    "sequence": "Applies its body as one step whose failure may be suppressed.",
    "alternatives": "Tries bodies in turn on a copy and keeps the first that succeeds.",
    "named_sequence": "Names a list of steps, to be applied or included.",
    "yield": "Ends a body and says which handles it gives back.",
    "param.constant": "Gives a parameter with a fixed value.",
    "tune.knob": "Gives a parameter whose value is to be chosen from options.",
    "structured.tile_using_for": "Cuts an op into tiles, with an scf.for loop for each dimension whose size is not 0.",
    "structured.tile_using_forall": "Cuts an op into tiles that are independent of one another, in one scf.forall.",
    "structured.tile_reduction_using_for": "Tiles a reduction into partial results and a step that combines them.",
    "structured.split_reduction": "Splits a reduction into a parallel part and a smaller reduction.",
    "structured.fuse": "Tiles an op and pulls the ops that compute its inputs into the loops.",
    "structured.fuse_into_containing_op": "Moves the op that computes something into the loop that uses it.",
    "structured.split": "Splits an op into two along a dimension, at an index.",
    "structured.multitile_sizes": "Computes two tile sizes that together cover a dimension without a remainder.",
    "structured.interchange": "Changes the order of an op's loops.",
    "structured.generalize": "Turns a named op such as linalg.matmul into the linalg.generic it stands for.",
    "structured.specialize": "Turns a linalg.generic into the named op it is, where it is one.",
    "structured.decompose": "Splits a convolution or pooling over two dimensions into one over one.",
    "structured.pad": "Pads operands of an op to fixed or rounded sizes, so that every tile is full.",
    "structured.hoist_pad": "Moves a pad out of loops, so that data is copied once into a packed buffer.",
    "structured.pack": "Changes the layout of an op's operands to tiles of given sizes.",
    "structured.pack_greedily": "Packs an op as the matrix product that is found in it.",
    "structured.vectorize": "Turns an op of static sizes into vector ops, masked ones if vector sizes are given.",
    "structured.vectorize_children_and_apply_patterns": "Vectorizes all that it can in a function and cleans up.",
    "structured.bufferize_to_allocation": "Gives an op's result a buffer of its own in a memory space.",
    "structured.convert_to_loops": "Lowers an op to scalar code in loops.",
    "loop.unroll": "Repeats the body of a loop a number of times an iteration.",
    "loop.peel": "Splits off the last, incomplete iteration of a loop, so that the rest is regular.",
    "loop.outline": "Moves a loop into a function of its own and puts a call in its place.",
    "loop.pipeline": "Starts the loads of later iterations before the arithmetic of earlier ones is done.",
    "loop.coalesce": "Makes one loop of a perfect nest.",
    "loop.hoist_loop_invariant_subsets": "Moves reads and writes of the same slice out of a loop.",
    "loop.forall_to_for": "Turns an scf.forall into a nest of scf.for.",
    "bufferization.one_shot_bufferize": "Turns tensors into buffers, reusing memory where that is safe.",
    "apply_patterns": "Rewrites the target with sets of patterns until nothing changes.",
    "apply_conversion_patterns": "Converts the target's ops to others, with patterns and a type converter.",
    "apply_registered_pass": "Runs a pass of the compiler on the target.",
    "apply_cse": "Removes ops that compute what another one computes already.",
    "apply_dce": "Removes ops whose results nobody uses.",
    "apply_licm": "Moves ops that do not depend on a loop out of it.",
    "annotate": "Puts an attribute on the target's ops.",
    "print": "Prints the target's ops while the schedule is applied.",
    "verify": "Checks the target; a payload that does not verify is an error.",
    "apply_patterns.canonicalization": "The simplifications that every op brings along.",
    "apply_patterns.gpu.gpu_rewrite_patterns": "Lowers all-reductions, shuffles and ids of a GPU to simpler ops.",
    "apply_patterns.linalg.fold_pack_unpack_into_empty": "Folds a pack or unpack of an empty tensor into the tensor.",
    "structured.pack_transpose": "Transposes a pack or unpack together with the op that it feeds.",
    "apply_patterns.vector.lower_contraction": "Turns vector.contract into outer products, dot products or matrix intrinsics.",
    "apply_patterns.vector.lower_transfer": "Turns transfers of several dimensions into ones that hardware has.",
    "apply_patterns.linalg.tiling_canonicalization": "The simplifications that make code neat after tiling.",
}
