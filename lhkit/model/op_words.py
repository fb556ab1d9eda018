"""Documentation of ops in lhkit's own words: purpose, example, notation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lhkit.model.errors import usage_error

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


# Words about ops of payloads: what each computes in a sentence, and as NumPy or as a loop where that says
# more.


@dataclass(frozen=True, slots=True)
class PayloadOp:
    """An op of payloads.

    Attributes:
        name: Its full name, such as ``linalg.matmul``.
        sentence: What it does.
        reading: The same as NumPy or as a Python loop, or empty. Inputs are called A, B, … in order, the
            output C; ``+=`` means that what the output held before counts.
    """

    name: str
    sentence: str
    reading: str = ""


def payload_op(name: str) -> PayloadOp:
    """Return the words about an op of payloads."""
    if name not in PAYLOAD_OPS:
        dialect = name.partition(".")[0]
        same = [n for n in PAYLOAD_OPS if n.partition(".")[0] == dialect]
        advice = f"Of {dialect} there are words about {', '.join(same)}." if same else None
        raise usage_error(f"there is no documentation of {name!r}", advice)
    return PAYLOAD_OPS[name]


_ROWS = (
    ("affine.apply", "Computes an index from others by a linear formula.", "i * 8 + j"),
    ("affine.for", "A loop whose bounds are linear formulas.", "for i in range(lower, upper, step): …"),
    ("affine.load", "Reads an element at indices that are linear formulas.", "A[i + 1, j]"),
    ("affine.max", "The largest of several linear formulas.", "max(i, j + 4)"),
    ("affine.min", "The smallest of several linear formulas, such as a tile's size at the border.", "min(8, n - i)"),
    ("affine.store", "Writes an element at indices that are linear formulas.", "C[i + 1, j] = a"),
    ("arith.addf", "Adds two floats, elementwise on vectors and tensors.", "a + b"),
    ("arith.addi", "Adds two integers, elementwise on vectors and tensors.", "a + b"),
    ("arith.cmpf", "Compares two floats.", "a < b"),
    ("arith.cmpi", "Compares two integers, as signed or as unsigned ones.", "a < b"),
    ("arith.constant", "A value that is known at compile time.", ""),
    ("arith.divf", "Divides two floats.", "a / b"),
    ("arith.extf", "Widens a float, such as f16 to f32.", "a.astype(np.float32)"),
    ("arith.extsi", "Widens a signed integer.", "a.astype(np.int32)"),
    ("arith.index_cast", "Turns an integer into an index or back.", ""),
    ("arith.maximumf", "The larger of two floats; NaN if one is NaN.", "np.maximum(a, b)"),
    ("arith.maxnumf", "The larger of two floats; the other one if one is NaN.", "np.fmax(a, b)"),
    ("arith.minimumf", "The smaller of two floats; NaN if one is NaN.", "np.minimum(a, b)"),
    ("arith.mulf", "Multiplies two floats.", "a * b"),
    ("arith.muli", "Multiplies two integers.", "a * b"),
    ("arith.negf", "Changes the sign of a float.", "-a"),
    ("arith.select", "One of two values, as a condition says.", "np.where(c, a, b)"),
    ("arith.sitofp", "Turns a signed integer into a float.", "a.astype(np.float32)"),
    ("arith.subf", "Subtracts two floats.", "a - b"),
    ("arith.subi", "Subtracts two integers.", "a - b"),
    ("arith.truncf", "Narrows a float, such as f32 to f16.", "a.astype(np.float16)"),
    ("arith.trunci", "Narrows an integer; its upper bits are lost.", "a.astype(np.int8)"),
    ("bufferization.materialize_in_destination", "Makes a tensor's result land in a given buffer.", "C[...] = A"),
    ("bufferization.to_buffer", "The buffer in which a tensor lives.", ""),
    ("bufferization.to_tensor", "The tensor that a buffer holds.", ""),
    ("cf.br", "Goes to another block.", ""),
    ("cf.cond_br", "Goes to one of two blocks, as a condition says.", ""),
    ("func.call", "Calls a function.", "f(a, b)"),
    ("func.func", "A function.", "def f(a, b): …"),
    ("func.return", "Ends a function and gives its results.", "return a"),
    ("linalg.abs", "The absolute value of every element.", "C = np.abs(A)"),
    ("linalg.add", "Adds two tensors, element by element.", "C = A + B"),
    ("linalg.batch_matmul", "A matrix product for each entry of a batch.", "C += A @ B"),
    ("linalg.batch_matvec", "A matrix times a vector for each entry of a batch.", "C += np.einsum('bmk,bk->bm', A, B)"),
    ("linalg.broadcast", "Repeats a tensor along new dimensions.", "C = np.broadcast_to(np.expand_dims(A, axes), C.shape)"),
    ("linalg.conv_1d", "A one-dimensional convolution without channels.",
     "for x, k: C[x] += A[x + k] * B[k]"),
    ("linalg.conv_2d", "A two-dimensional convolution without channels.",
     "for y, x, i, j: C[y, x] += A[y + i, x + j] * B[i, j]"),
    ("linalg.conv_2d_nchw_fchw", "A two-dimensional convolution, channels before rows.",
     "for n, f, y, x, c, i, j: C[n, f, y, x] += A[n, c, y * sy + i * dy, x * sx + j * dx] * B[f, c, i, j]"),
    ("linalg.conv_2d_nhwc_hwcf", "A two-dimensional convolution, channels last.",
     "for n, y, x, f, i, j, c: C[n, y, x, f] += A[n, y * sy + i * dy, x * sx + j * dx, c] * B[i, j, c, f]"),
    ("linalg.copy", "Copies a tensor or buffer.", "C = A"),
    ("linalg.depthwise_conv_2d_nhwc_hwc", "A convolution of each channel for itself, channels last.",
     "for n, y, x, c, i, j: C[n, y, x, c] += A[n, y * sy + i * dy, x * sx + j * dx, c] * B[i, j, c]"),
    ("linalg.div", "Divides two tensors, element by element.", "C = A / B"),
    ("linalg.dot", "The inner product of two vectors.", "C += np.dot(A, B)"),
    ("linalg.elementwise", "One arithmetic function for every element.", "C = f(A, B)"),
    ("linalg.exp", "The exponential of every element.", "C = np.exp(A)"),
    ("linalg.fill", "Sets every element to one value.", "C = np.full(C.shape, a)"),
    ("linalg.generic", "Any loop nest over tensors whose indices are linear, with its own body.",
     "for every point of the iteration space: C[…] = body(A[…], B[…], C[…])"),
    ("linalg.index", "The number of the iteration along a dimension, inside linalg.generic.", "i"),
    ("linalg.map", "A function of its own for every element.", "C = np.vectorize(f)(A, B)"),
    ("linalg.matmul", "A matrix product, added to what the output holds.", "C += A @ B"),
    ("linalg.matvec", "A matrix times a vector, added to what the output holds.", "C += A @ B"),
    ("linalg.max", "The larger of two tensors, element by element.", "C = np.maximum(A, B)"),
    ("linalg.mmt4d", "A matrix product of operands that are packed into tiles.",
     "C += np.einsum('mkac,nkbc->mnab', A, B)"),
    ("linalg.mul", "Multiplies two tensors, element by element.", "C = A * B"),
    ("linalg.pack", "Rearranges a matrix into tiles that lie together in memory.",
     "C = A.reshape(M // m, m, N // n, n).transpose(0, 2, 1, 3)"),
    ("linalg.pooling_nhwc_max", "The largest element of each window, channels last.",
     "for n, y, x, c, i, j: C[n, y, x, c] = max(C[n, y, x, c], A[n, y * sy + i * dy, x * sx + j * dx, c])"),
    ("linalg.pooling_nhwc_sum", "The sum of each window, channels last.",
     "for n, y, x, c, i, j: C[n, y, x, c] += A[n, y * sy + i * dy, x * sx + j * dx, c]"),
    ("linalg.reduce", "Combines the elements along dimensions, such as a sum of rows.", "C += A.sum(axis)"),
    ("linalg.softmax", "Exponentials along a dimension, divided by their sum.",
     "E = np.exp(A - A.max(axis, keepdims=True)); C = E / E.sum(axis, keepdims=True)"),
    ("linalg.sub", "Subtracts two tensors, element by element.", "C = A - B"),
    ("linalg.transpose", "Exchanges dimensions.", "C = np.transpose(A, permutation)"),
    ("linalg.unpack", "Puts tiles back into a matrix.",
     "C = A.transpose(0, 2, 1, 3).reshape(M, N)"),
    ("linalg.vecmat", "A vector times a matrix, added to what the output holds.", "C += A @ B"),
    ("linalg.yield", "Gives the value of an element from a body.", "return a"),
    ("math.exp", "The exponential.", "np.exp(a)"),
    ("math.fma", "Multiplies and adds with one rounding.", "a * b + c"),
    ("math.log", "The natural logarithm.", "np.log(a)"),
    ("math.rsqrt", "One divided by the square root.", "1 / np.sqrt(a)"),
    ("math.sqrt", "The square root.", "np.sqrt(a)"),
    ("math.tanh", "The hyperbolic tangent.", "np.tanh(a)"),
    ("memref.alloc", "Takes memory for a buffer.", "np.empty(shape, dtype)"),
    ("memref.alloca", "Takes memory on the stack.", "np.empty(shape, dtype)"),
    ("memref.copy", "Copies one buffer into another.", "C[...] = A"),
    ("memref.dealloc", "Gives the memory of a buffer back.", ""),
    ("memref.dim", "The size of a dimension of a buffer.", "A.shape[d]"),
    ("memref.load", "Reads an element.", "A[i, j]"),
    ("memref.store", "Writes an element.", "C[i, j] = a"),
    ("memref.subview", "A window into a buffer, without a copy.", "A[i:i+m*s:s, j:j+n*t:t]"),
    ("scf.for", "A loop that hands values from one iteration to the next.", "for i in range(lower, upper, step): …"),
    ("scf.forall", "Iterations that are independent of one another and may run at the same time.",
     "for i, j in any order: …"),
    ("scf.forall.in_parallel", "Says which slices the iterations of an scf.forall give.", ""),
    ("scf.if", "One of two bodies, as a condition says.", "if c: … else: …"),
    ("scf.parallel", "Iterations on buffers that may run at the same time.", "for i, j in any order: …"),
    ("scf.while", "A loop that goes on while a condition holds.", "while c: …"),
    ("scf.yield", "Gives values to the next iteration, or the results of an scf.if.", ""),
    ("tensor.cast", "The same tensor with more or less known of its sizes.", ""),
    ("tensor.collapse_shape", "Joins neighbouring dimensions.", "A.reshape(…)"),
    ("tensor.dim", "The size of a dimension of a tensor.", "A.shape[d]"),
    ("tensor.empty", "A tensor of a size with no values yet.", "np.empty(shape, dtype)"),
    ("tensor.expand_shape", "Splits dimensions.", "A.reshape(…)"),
    ("tensor.extract", "Reads an element.", "A[i, j]"),
    ("tensor.extract_slice", "A part of a tensor, such as a tile.", "A[i:i+m*s:s, j:j+n*t:t]"),
    ("tensor.insert", "A tensor with one element replaced.", "C = A.copy(); C[i, j] = a"),
    ("tensor.insert_slice", "A tensor with a part replaced, such as a tile.", "C = B.copy(); C[i:i+m*s:s, j:j+n*t:t] = A"),
    ("tensor.pad", "A tensor with values put around it.", "np.pad(A, ((l0, h0), (l1, h1)), constant_values=a)"),
    ("tensor.parallel_insert_slice", "The part of a shared tensor that an iteration gives.", "C[i:i+m*s:s, j:j+n*t:t] = A"),
    ("vector.broadcast", "Repeats a value or vector along new dimensions.", "np.broadcast_to(A, shape)"),
    ("vector.contract", "A contraction of vectors, such as a small matrix product.", "C += A @ B"),
    ("vector.create_mask", "A mask that is true up to an index in each dimension.", "np.arange(n) < k"),
    ("vector.extract", "A part of a vector.", "A[i]"),
    ("vector.extract_strided_slice", "A window of a vector.", "A[i:i+m]"),
    ("vector.fma", "Multiplies and adds vectors with one rounding.", "A * B + C"),
    ("vector.insert", "A vector with a part replaced.", "C = B.copy(); C[i] = A"),
    ("vector.load", "Reads neighbouring elements of a buffer.", "A[i, j:j+n]"),
    ("vector.mask", "Applies an op to the elements for which a mask is true.", ""),
    ("vector.multi_reduction", "Combines the elements of a vector along dimensions.", "C + A.sum(axis)"),
    ("vector.outerproduct", "The outer product of two vectors, added to a matrix.", "C + np.outer(A, B)"),
    ("vector.reduction", "Combines all elements of a vector.", "A.sum()"),
    ("vector.shape_cast", "The same elements in another shape.", "A.reshape(…)"),
    ("vector.shuffle", "Elements of two vectors in a new order.", "np.concatenate([A, B])[order]"),
    ("vector.store", "Writes neighbouring elements to a buffer.", "C[i, j:j+n] = A"),
    ("vector.transfer_read", "Reads a vector from a tensor or buffer, with a value for what lies outside.", "A[i:i+m, j:j+n]"),
    ("vector.transfer_write", "Writes a vector to a tensor or buffer; what lies outside is left out.", "C[i:i+m, j:j+n] = A"),
    ("vector.transpose", "Exchanges dimensions of a vector.", "np.transpose(A, permutation)"),
)  # fmt: skip

PAYLOAD_OPS: Mapping[str, PayloadOp] = {row[0]: PayloadOp(*row) for row in _ROWS}
