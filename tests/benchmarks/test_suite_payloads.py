"""Payloads of the suite's own generators compute what their NumPy references do."""

import math

import numpy as np
import pytest

import lhkit
from benchmarks.suite import SuiteFamily
from benchmarks.suite_payloads import convolution, einsum, reduction
from benchmarks.suite_table import find_generator, load_table
from lhkit.model.errors import UsageError

TABLE = load_table()
SHAPES = [(f, shape) for f in TABLE.families for shape in f.shapes if f.name.startswith("any-")]
WORDS = {shape[0]: f for f, shape in SHAPES if isinstance(shape[0], str)}


def small(word):
    """Return the arguments of a generator, all extents small and different."""
    if "->" in word:
        return (word, *range(5, 5 + len(set(word) - set(",->"))))
    return (word, 6, 7) if WORDS[word].payload == "reduction" else (word, 5, 4, 3, 2, 2)


@pytest.mark.parametrize("word", WORDS)
def test_a_payload_is_what_its_reference_says(word, worker):
    made = find_generator(WORDS[word])(*small(word))
    verdict = lhkit.verify(lhkit.compile(made, worker=worker))
    assert verdict.ok, verdict.difference
    assert verdict.against == "NumPy"


def test_an_einsum_is_the_op_that_its_letters_say(worker):
    lhs, rhs = (np.arange(math.prod(s), dtype=np.float32).reshape(s) for s in ((3, 2), (4, 3)))
    found = lhkit.compile(einsum("km,nk->nm", 3, 2, 4), worker=worker)(lhs, rhs)
    assert (found == rhs @ lhs).all() and found.shape == (4, 2)


def test_the_place_of_a_maximum_is_the_first(worker):
    source = np.array([[1, 3, 3], [-5, -6, -4]], np.float32)
    places = lhkit.compile(reduction("row_argmax", 2, 3), worker=worker)(source)
    assert places.tolist() == [1, 2] and places.dtype == np.int64


def test_a_stride_takes_every_second_place(worker):
    image = np.arange(25, dtype=np.float32).reshape(1, 1, 5, 5)
    corner = np.zeros((1, 3, 3), np.float32)
    corner[0, 0, 0] = 1
    found = lhkit.compile(convolution("depthwise_nchw_stride2", 2, 2, 1), worker=worker)(image, corner)
    assert found.tolist() == [[[[0, 2], [10, 12]]]]


def test_unknown_names_are_refused():
    with pytest.raises(UsageError, match="no convolution 'round'"):
        convolution("round", 2, 2, 1)
    family = SuiteFamily("f", "f", "no_such", "cpu.mlir", "fma", 1.0, (), ((1,),), ((1,),))
    with pytest.raises(UsageError, match="no generator 'no_such'"):
        find_generator(family)
