"""Arguments made from a signature."""

import numpy as np
import pytest

from lhkit.load.random_inputs import DEFAULT_EXTENT, generate_arguments
from lhkit.model.signature import ArrayType, Function


def function_of(*types):
    return Function("f", tuple(types), (), 1)


def test_dynamic_extents_are_all_the_same_and_static_ones_stay():
    types = ArrayType("tensor", (None, 3, None), "float32", ""), ArrayType("memref", (None,), "int8", "")
    assert [a.shape for a in generate_arguments(function_of(*types), extent=5)] == [(5, 3, 5), (5,)]
    assert generate_arguments(function_of(*types))[1].shape == (DEFAULT_EXTENT,)
    assert generate_arguments(function_of(*types), extent=0)[0].shape == (0, 3, 0)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int64", "float16", "bfloat16", "float64", "complex64"]
)
@pytest.mark.parametrize("shape", [(), (0,), (40, 5)])
def test_arrays_have_shape_and_dtype_and_follow_from_the_seed(dtype, shape):
    function = function_of(ArrayType("tensor", shape, dtype, ""))
    first, again, other = (generate_arguments(function, seed)[0] for seed in (1, 1, 2))
    assert isinstance(first, np.ndarray)
    assert (first.dtype.name, first.shape) == (dtype, shape)
    np.testing.assert_array_equal(first, again)
    if first.size > 1:
        assert not np.array_equal(first, other)
