"""Transform ops of lhkit itself, defined as anybody's own are; every worker has them."""

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
