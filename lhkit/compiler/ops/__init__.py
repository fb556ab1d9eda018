"""Transform ops of lhkit itself, defined as anybody's own are; every worker has them."""

from __future__ import annotations

from lhkit.compiler.ops.fold_transpose_into_pack import fold_transpose_into_pack as fold_transpose_into_pack
from lhkit.compiler.ops.replace_with_call import replace_with_call as replace_with_call
from lhkit.compiler.own_ops import register
from lhkit.model.own_ops import take_definitions

# Importing the modules has defined their ops.
register(take_definitions())
