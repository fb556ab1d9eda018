"""Words about ops of payloads: what each computes in a sentence, and as NumPy or as a loop where that says more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lhkit.model.errors import usage_error


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
    """Return the words about an op of payloads.

    Raises:
        UsageError: There are none.
    """
    if name not in PAYLOAD_OPS:
        dialect = name.partition(".")[0]
        same = [n for n in PAYLOAD_OPS if n.partition(".")[0] == dialect]
        advice = f"Of {dialect} there are words about {', '.join(same)}." if same else None
        raise usage_error(f"there are no words about {name!r}", advice)
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
