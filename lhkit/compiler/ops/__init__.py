"""Transform ops of lhkit itself, defined as a user would define them.

- ``add_up_in_f32``: ``lhkit.add_up_in_f32``: products of 16-bit floats and of small integers are added up in
  f32.
- ``collapse_reduced_dims``: ``lhkit.collapse_reduced_dims``: what is reduced along several short dimensions is
  reduced along one.
- ``contraction_to_matmul``: ``lhkit.contraction_to_matmul``: contractions in any order of dimensions become
  matrix products.
- ``convert_const_resources_to_args``: ``lhkit.convert_const_resources_to_args``: constants whose data is a
  resource become function arguments.
- ``convolution_to_contraction``: ``lhkit.convolution_to_contraction``: convolutions become contractions of
  their copied windows.
- ``convolution_to_nhwc``: ``lhkit.convolution_to_nhwc``: convolutions of images become those of one layout.
- ``copied_windows``: Copies of the windows of images, row by row, for rewrites of convolutions.
- ``debug_ops``: ``lhkit.strip_debug_ops`` and ``lhkit.trace_dispatches``: assertions and prints taken out, and
  prints put around calls.
- ``demote_f64``: ``lhkit.demote_f64``: what is computed in f64 is computed in f32.
- ``dispatch_regions``: ``lhkit.form_dispatch_regions``: linalg ops in groups that are one piece of work each.
- ``expand_math``: ``lhkit.expand_math``: exp, log, log1p, tanh, erf, rsqrt and small powers in arithmetic,
  also of vectors.
- ``expand_tensor_shapes``: ``lhkit.expand_tensor_shapes``: functions are given the sizes of dynamic tensors
  beside them.
- ``memrefs_to_tensors``: ``lhkit.memrefs_to_tensors``: functions that compute on memrefs compute on tensors in
  between.
- ``outline_ops``: ``lhkit.outline_ops``: ops become calls of functions, out of the reach of passes over their
  function.
- ``program_globals``: ``lhkit.fold_globals`` and ``lhkit.hoist_into_globals``: globals become constants, and
  constant computations globals.
- ``replace_with_call``: ``lhkit.replace_with_call``: the call of an outlined function becomes the call of a
  microkernel.
- ``linalg_rewrites``: Rewrites of linalg ops: 1x1 convolutions, accumulators, transposes into packs, loop
  order, scalars.
- ``mark_small_ops``: ``lhkit.mark_small_ops``: an attribute on the ops of linalg that take few steps.
- ``split_argmax``: ``lhkit.split_argmax``: the place of a row's largest or smallest element is found by as many
  lanes as a vector has.
- ``split_zero_points``: ``lhkit.split_zero_points``: quantized products and convolutions become those of the
  numbers as they are.
- ``tensor_parts``: Parts of tensors, loops over them and ops by maps, as several rewrites of linalg ops write
  them.
- ``unroll_window``: ``lhkit.unroll_window``: convolutions of each channel for itself, and poolings, become
  elementwise ops.
- ``winograd_conv2d``: ``lhkit.winograd_conv2d``: convolutions with windows of 3x3 by Winograd's F(2x2, 3x3).
"""

from __future__ import annotations

from lhkit.compiler.extension.own_op_registry import register
from lhkit.compiler.ops import (
    add_up_in_f32,
    collapse_reduced_dims,
    contraction_to_matmul,
    convert_const_resources_to_args,
    convolution_to_contraction,
    convolution_to_nhwc,
    debug_ops,
    demote_f64,
    dispatch_regions,
    expand_math,
    expand_tensor_shapes,
    linalg_rewrites,
    mark_small_ops,
    memrefs_to_tensors,
    outline_ops,
    program_globals,
    replace_with_call,
    split_argmax,
    split_zero_points,
    unroll_window,
    winograd_conv2d,
)
from lhkit.model.own_op_definition import take_definitions

__all__ = [
    "add_up_in_f32",
    "collapse_reduced_dims",
    "contraction_to_matmul",
    "convert_const_resources_to_args",
    "convolution_to_contraction",
    "convolution_to_nhwc",
    "debug_ops",
    "demote_f64",
    "dispatch_regions",
    "expand_math",
    "expand_tensor_shapes",
    "linalg_rewrites",
    "mark_small_ops",
    "memrefs_to_tensors",
    "outline_ops",
    "program_globals",
    "replace_with_call",
    "split_argmax",
    "split_zero_points",
    "unroll_window",
    "winograd_conv2d",
]

# Importing the modules has defined their ops.
register(sorted(take_definitions(), key=lambda definition: definition.op.name))
