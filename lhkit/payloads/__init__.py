"""Generators of payloads: the shipped ones in any size and element type.

Each writes MLIR with named linalg ops where there are some, a value for every step, and loads it, so what
comes back is verified. The NumPy reference of each is the function of its name in ``data/references.py``.

- ``contractions``: Products of matrices: plain, batched, with a vector, dynamic, and in mixed precision.
- ``elementwise_chains``: Payloads that touch every element once: chains, transposition, slices, dynamic sizes.
- ``networks``: Pieces of neural networks: layers, attention, and what works by rows: sums, softmax, layer
  normalization.
- ``mlir_pieces``: Pieces of MLIR that the generators share.
"""

from lhkit.payloads.contractions import (
    batch_matmul,
    conv2d_nhwc,
    depthwise_conv2d_nhwc,
    matmul,
    matmul_bf16_f32,
    matmul_dynamic,
    matmul_i8_i32,
    matvec,
)
from lhkit.payloads.elementwise_chains import (
    elementwise_chain,
    op_chain,
    relu_dynamic,
    strided_window,
    transpose,
    transpose_pack,
)
from lhkit.payloads.networks import attention, fc_relu, layernorm, mlp, row_sum, softmax

__all__ = [
    "attention",
    "batch_matmul",
    "conv2d_nhwc",
    "depthwise_conv2d_nhwc",
    "elementwise_chain",
    "fc_relu",
    "layernorm",
    "matmul",
    "matmul_bf16_f32",
    "matmul_dynamic",
    "matmul_i8_i32",
    "matvec",
    "mlp",
    "op_chain",
    "relu_dynamic",
    "row_sum",
    "softmax",
    "strided_window",
    "transpose",
    "transpose_pack",
]
