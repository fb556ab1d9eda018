"""Transform ops of lhkit itself, one module each, defined as a user would define them.

- ``convert_const_resources_to_args``: ``lhkit.convert_const_resources_to_args``: constants whose data is a
  resource become function arguments.
- ``constant_roles``: What the constants of a function are for: which anchor they lead to, or come after,
  along the data flow.
- ``convert_conv_1x1_to_matmul``: ``lhkit.convert_conv_1x1_to_matmul``: a convolution with a window of a pixel
  becomes a product.
- ``detach_elementwise``: ``lhkit.detach_elementwise``: a product starts from zeros, and its sum is an op of
  its own.
- ``detensorize``: ``lhkit.detensorize``: tensors without dimensions become the scalars that they hold.
- ``expand_math``: ``lhkit.expand_math``: exponentials, logarithms, tanh, erf and rsqrt as arithmetic, also of
  vectors.
- ``fold_transpose_into_pack``: ``lhkit.fold_transpose_into_pack``: a pack of a transpose becomes a pack of
  what was transposed.
- ``interchange_reductions``: ``lhkit.interchange_reductions``: the loops of reductions go inside, those of
  the results outside.
- ``replace_with_call``: ``lhkit.replace_with_call``: the call of an outlined function becomes the call of a
  microkernel.
"""

from __future__ import annotations

from lhkit.compiler.extension.own_op_registry import register
from lhkit.compiler.ops.convert_const_resources_to_args import (
    convert_const_resources_to_args as convert_const_resources_to_args,
)
from lhkit.compiler.ops.convert_conv_1x1_to_matmul import (
    convert_conv_1x1_to_matmul as convert_conv_1x1_to_matmul,
)
from lhkit.compiler.ops.detach_elementwise import detach_elementwise as detach_elementwise
from lhkit.compiler.ops.detensorize import detensorize as detensorize
from lhkit.compiler.ops.expand_math import expand_math as expand_math
from lhkit.compiler.ops.fold_transpose_into_pack import fold_transpose_into_pack as fold_transpose_into_pack
from lhkit.compiler.ops.interchange_reductions import interchange_reductions as interchange_reductions
from lhkit.compiler.ops.replace_with_call import replace_with_call as replace_with_call
from lhkit.model.own_op_definition import take_definitions

# Importing the modules has defined their ops.
register(take_definitions())
