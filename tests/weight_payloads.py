"""Payloads with weights as resources, and what their constants are for."""

from dataclasses import dataclass

import numpy as np


def hexed(array, alignment=4):
    """Return an array as MLIR text writes the data of a resource."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).tobytes()
    return f'"0x{alignment.to_bytes(4, "little").hex()}{data.hex().upper()}"'


def resources(arrays):
    """Return the end of a text with the data of resources."""
    entries = ",\n".join(f'      "{name}": {hexed(a)}' for name, a in arrays.items())
    return f"\n{{-#\n  dialect_resources: {{\n    builtin: {{\n{entries}\n    }}\n  }}\n#-}}\n"


def constant(name, type_, resource=None):
    """Return the line of a constant whose data is a resource."""
    return f"    %{name} = arith.constant dense_resource<{resource or name}> : tensor<{type_}>\n"


def filled(name, type_):
    """Return the lines of a tensor of zeros."""
    return (
        f"    %{name}_e = tensor.empty() : tensor<{type_}>\n"
        f"    %{name} = linalg.fill ins(%zero : f32) outs(%{name}_e : tensor<{type_}>) -> tensor<{type_}>\n"
    )


def matmul(name, lhs, rhs, m, n, k, into=None):
    """Return the lines of a product, into zeros if nothing else is said."""
    init = "" if into else filled(f"{name}_z", f"{m}x{n}xf32")
    return (
        f"{init}    %{name} = linalg.matmul ins(%{lhs}, %{rhs} : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>)"
        f" outs(%{into or name + '_z'} : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>\n"
    )


def elementwise(name, op, lhs, rhs, type_, rhs_type=None, rhs_map="(d0, d1) -> (d0, d1)"):
    """Return the lines of an elementwise ``linalg.generic``; the second operand may have another map."""
    same = "affine_map<(d0, d1) -> (d0, d1)>"
    return f"""    %{name}_e = tensor.empty() : tensor<{type_}>
    %{name} = linalg.generic {{indexing_maps = [{same}, affine_map<{rhs_map}>, {same}],
      iterator_types = ["parallel", "parallel"]}}
      ins(%{lhs}, %{rhs} : tensor<{type_}>, tensor<{rhs_type or type_}>) outs(%{name}_e : tensor<{type_}>) {{
    ^bb0(%l: f32, %r: f32, %o: f32):
      %e = {op} %l, %r : f32
      linalg.yield %e : f32
    }} -> tensor<{type_}>
"""


def main(argument, result, lines, returned):
    """Return a payload of one function."""
    return (
        f"module {{\n  func.func @main(%x: tensor<{argument}>) -> tensor<{result}> {{\n"
        f"    %zero = arith.constant 0.0 : f32\n{lines}    return %{returned} : tensor<{result}>\n  }}\n}}\n"
    )


@dataclass(frozen=True)
class Case:
    """A payload and what its constants are called, in order: argument name to resource."""

    name: str
    text: str
    roles: dict


BIAS_MAP = "(d0, d1) -> (d1)"
_MAPS_ABC = """#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
"""

MLP = Case(
    "the document's chain: two layers with transposed weights and biases, constants in reverse",
    main(
        "4x8xf32",
        "4x5xf32",
        constant("w1", "5x6xf32")
        + constant("b1", "5xf32")
        + constant("w0", "6x8xf32")
        + constant("b0", "6xf32")
        + """    %t0_e = tensor.empty() : tensor<8x6xf32>
    %t0 = linalg.transpose ins(%w0 : tensor<6x8xf32>) outs(%t0_e : tensor<8x6xf32>) permutation = [1, 0]
    %t1_e = tensor.empty() : tensor<6x5xf32>
    %t1 = linalg.transpose ins(%w1 : tensor<5x6xf32>) outs(%t1_e : tensor<6x5xf32>) permutation = [1, 0]
"""
        + matmul("p0", "x", "t0", 4, 6, 8)
        + elementwise("s0", "arith.addf", "p0", "b0", "4x6xf32", "6xf32", BIAS_MAP)
        + elementwise("r0", "arith.maximumf", "s0", "p0_z", "4x6xf32")
        + matmul("p1", "r0", "t1", 4, 5, 6)
        + elementwise("s1", "arith.addf", "p1", "b1", "4x5xf32", "5xf32", BIAS_MAP),
        "s1",
    ),
    {"matmul_0_B": "w0", "matmul_0_epilogue": "b0", "matmul_1_B": "w1", "matmul_1_epilogue": "b1"},
)

CONSTANT_A = Case(
    "a constant matrix on the left, and two constants after one product",
    main(
        "8x5xf32",
        "4x5xf32",
        constant("scale", "4x5xf32")
        + constant("bias", "4x5xf32")
        + constant("w", "4x8xf32")
        + matmul("p", "w", "x", 4, 5, 8)
        + elementwise("s", "arith.addf", "p", "bias", "4x5xf32")
        + elementwise("t", "arith.mulf", "s", "scale", "4x5xf32"),
        "t",
    ),
    {"matmul_0_A": "w", "matmul_0_epilogue": "bias", "matmul_0_epilogue_1": "scale"},
)

BIAS_AS_INIT = Case(
    "a bias that is broadcast and added to, and data scaled before the product",
    main(
        "4x8xf32",
        "4x5xf32",
        constant("bias", "5xf32")
        + constant("gamma", "4x8xf32")
        + constant("w", "8x5xf32")
        + """    %init_e = tensor.empty() : tensor<4x5xf32>
    %init = linalg.broadcast ins(%bias : tensor<5xf32>) outs(%init_e : tensor<4x5xf32>) dimensions = [0]
"""
        + elementwise("g", "arith.mulf", "x", "gamma", "4x8xf32")
        + matmul("p", "g", "w", 4, 5, 8, into="init"),
        "p",
    ),
    {"matmul_0_prologue": "gamma", "matmul_0_B": "w", "matmul_0_C": "bias"},
)

GENERIC = Case(
    "a product written as linalg.generic, its factors in the other order",
    _MAPS_ABC
    + main(
        "4x8xf32",
        "4x5xf32",
        constant("w", "8x5xf32")
        + filled("z", "4x5xf32")
        + """    %p = linalg.generic {indexing_maps = [#b, #a, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %x : tensor<8x5xf32>, tensor<4x8xf32>) outs(%z : tensor<4x5xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %m = arith.mulf %r, %l : f32
      %s = arith.addf %m, %o : f32
      linalg.yield %s : f32
    } -> tensor<4x5xf32>
""",
        "p",
    ),
    {"matmul_0_B": "w"},
)

CASTS = Case(
    "weights in f16 through a cast of the elements, a reshape and a tensor.cast",
    main(
        "4x8xf32",
        "4x5xf32",
        """    %w = arith.constant dense_resource<w> : tensor<40xf16>
    %wide_e = tensor.empty() : tensor<40xf32>
    %wide = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]} ins(%w : tensor<40xf16>) outs(%wide_e : tensor<40xf32>) {
    ^bb0(%i: f16, %o: f32):
      %e = arith.extf %i : f16 to f32
      linalg.yield %e : f32
    } -> tensor<40xf32>
    %matrix = tensor.expand_shape %wide [[0, 1]] output_shape [8, 5] : tensor<40xf32> into tensor<8x5xf32>
    %unknown = tensor.cast %matrix : tensor<8x5xf32> to tensor<?x5xf32>
    %known = tensor.cast %unknown : tensor<?x5xf32> to tensor<8x5xf32>
"""
        + matmul("p", "x", "known", 4, 5, 8),
        "p",
    ),
    {"matmul_0_B": "w"},
)

PACKED = Case(
    "weights packed into tiles for a product of tiles",
    main(
        "1x2x4x4xf32",
        "1x3x4x2xf32",
        constant("w", "8x6xf32")
        + """    %t_e = tensor.empty() : tensor<3x2x2x4xf32>
    %t = linalg.pack %w outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [2, 4] into %t_e
      : tensor<8x6xf32> -> tensor<3x2x2x4xf32>
"""
        + filled("z", "1x3x4x2xf32")
        + """    %p = linalg.mmt4d ins(%x, %t : tensor<1x2x4x4xf32>, tensor<3x2x2x4xf32>)
      outs(%z : tensor<1x3x4x2xf32>) -> tensor<1x3x4x2xf32>
""",
        "p",
    ),
    {"matmul_0_B": "w"},
)

BATCH = Case(
    "a product for each of a batch, then one of matrix and vector",
    main(
        "2x4x8xf32",
        "5xf32",
        constant("v", "5x8xf32")
        + constant("w", "2x8x4xf32")
        + filled("z", "2x4x4xf32")
        + """    %p = linalg.batch_matmul ins(%x, %w : tensor<2x4x8xf32>, tensor<2x8x4xf32>)
      outs(%z : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %row = tensor.extract_slice %p[0, 0, 0] [1, 2, 4] [1, 1, 1] : tensor<2x4x4xf32> to tensor<2x4xf32>
    %vector = tensor.collapse_shape %row [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
"""
        + filled("y", "5xf32")
        + """    %q = linalg.matvec ins(%v, %vector : tensor<5x8xf32>, tensor<8xf32>) outs(%y : tensor<5xf32>)
      -> tensor<5xf32>
""",
        "q",
    ),
    {"batch_matmul_0_B": "w", "matvec_0_A": "v"},
)

CONVOLUTION = Case(
    "a convolution with a bias, its result multiplied by a matrix",
    main(
        "1x6x6x3xf32",
        "16x5xf32",
        constant("w", "4x5xf32")
        + constant("bias", "4xf32")
        + constant("filter", "3x3x3x4xf32")
        + filled("z", "1x4x4x4xf32")
        + """    %c = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %filter : tensor<1x6x6x3xf32>, tensor<3x3x3x4xf32>) outs(%z : tensor<1x4x4x4xf32>)
      -> tensor<1x4x4x4xf32>
    %rows = tensor.collapse_shape %c [[0, 1, 2], [3]] : tensor<1x4x4x4xf32> into tensor<16x4xf32>
"""
        + elementwise("s", "arith.addf", "rows", "bias", "16x4xf32", "4xf32", BIAS_MAP)
        + matmul("p", "s", "w", 16, 5, 4),
        "p",
    ),
    {"conv_0_B": "filter", "conv_0_epilogue": "bias", "matmul_0_B": "w"},
)

GENERIC_CONVOLUTION = Case(
    "a convolution written as linalg.generic, the filter first",
    """#i = affine_map<(o, f, k) -> (o + k)>
#w = affine_map<(o, f, k) -> (f, k)>
#r = affine_map<(o, f, k) -> (o, f)>
"""
    + main(
        "10xf32",
        "8x2xf32",
        constant("w", "2x3xf32")
        + filled("z", "8x2xf32")
        + """    %c = linalg.generic {indexing_maps = [#w, #i, #r], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %x : tensor<2x3xf32>, tensor<10xf32>) outs(%z : tensor<8x2xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %m = arith.mulf %l, %r : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<8x2xf32>
""",
        "c",
    ),
    {"conv_0_B": "w"},
)

SHARED = Case(
    "one resource in two constants and two layers; splat constants stay",
    main(
        "4x8xf32",
        "4x8xf32",
        constant("w", "8x8xf32", "tied")
        + constant("again", "8x8xf32", "tied")
        + "    %ones = arith.constant dense<1.0> : tensor<4x8xf32>\n"
        + matmul("p", "x", "w", 4, 8, 8)
        + elementwise("s", "arith.addf", "p", "ones", "4x8xf32")
        + matmul("q", "s", "again", 4, 8, 8),
        "q",
    ),
    {"matmul_0_B": "tied"},
)

LOOP = Case(
    "a constant carried by a loop, a product in its body",
    main(
        "4x4xf32",
        "4x4xf32",
        constant("start", "4x4xf32")
        + constant("w", "4x4xf32")
        + """    %from = arith.constant 0 : index
    %to = arith.constant 3 : index
    %by = arith.constant 1 : index
    %out = scf.for %i = %from to %to step %by iter_args(%state = %start) -> (tensor<4x4xf32>) {
"""
        + elementwise("in", "arith.addf", "state", "x", "4x4xf32")
        + matmul("p", "in", "w", 4, 4, 4)
        + """      scf.yield %p : tensor<4x4xf32>
    }
""",
        "out",
    ),
    {"matmul_0_prologue": "start", "matmul_0_B": "w"},
)

FUNCTIONS = Case(
    "a layer in a function of its own, called twice, with a constant of the caller",
    "module {\n  func.func private @layer(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {\n"
    "    %zero = arith.constant 0.0 : f32\n"
    + constant("bias", "8xf32")
    + matmul("p", "x", "w", 4, 8, 8)
    + elementwise("s", "arith.addf", "p", "bias", "4x8xf32", "8xf32", BIAS_MAP)
    + "    return %s : tensor<4x8xf32>\n  }\n"
    "  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {\n"
    + constant("w", "8x8xf32")
    + constant("after", "4x8xf32")
    + """    %a = call @layer(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %b = call @layer(%a, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
"""
    + elementwise("s", "arith.addf", "b", "after", "4x8xf32")
    + "    return %s : tensor<4x8xf32>\n  }\n}\n",
    {"layer_matmul_0_B": "w", "layer_matmul_0_epilogue": "bias", "layer_epilogue": "after"},
)

CASES = (
    MLP,
    CONSTANT_A,
    BIAS_AS_INIT,
    GENERIC,
    CASTS,
    PACKED,
    BATCH,
    CONVOLUTION,
    GENERIC_CONVOLUTION,
    SHARED,
    LOOP,
    FUNCTIONS,
)
