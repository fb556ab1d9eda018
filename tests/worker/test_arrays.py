"""Arrays across the wall: inline, lent files, and files that arrays live in."""

import gc
from pathlib import Path

import numpy as np
import pytest

from lhkit.worker.arrays import INLINE_BYTES, MappedFiles, Packing, SharedFiles, aligned_copy, aligned_empty


@pytest.fixture
def files():
    shared = SharedFiles()
    yield shared
    shared.close()


@pytest.mark.parametrize("shape", [(3,), (INLINE_BYTES // 4 + 1,), (200, 301), ()])
@pytest.mark.parametrize("dtype", ["float32", "int8", "float64", "bool"])
def test_an_array_comes_through(files, shape, dtype):
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    packing = Packing(files)
    descriptor = packing.add(array)
    assert ("inline" in descriptor) == (array.nbytes <= INLINE_BYTES)
    received = MappedFiles().array(descriptor, packing.body)
    np.testing.assert_array_equal(received, array)
    packing.release()


def test_strided_and_reversed_views_come_through(files):
    base = np.arange(300 * 400, dtype=np.float32).reshape(300, 400)
    for view in (base[::2, ::-3], base.T, base[1:, 1:]):
        packing = Packing(files)
        received = MappedFiles().array(packing.add(view), packing.body)
        np.testing.assert_array_equal(received, view)
        packing.release()


def test_an_array_that_lives_in_a_file_is_not_copied(files):
    array = files.new_array((64, 32), np.dtype(np.float32))
    array[...] = 1
    packing = Packing(files)
    seen = MappedFiles().array(packing.add(array[2:]), packing.body)
    seen[0, 0] = 7
    assert array[2, 0] == 7
    assert "file" in packing.add(array) and packing.add(array)["offset"] == 0
    assert files.find(array[:, 1:]) is None  # not contiguous: it has to be copied


def test_the_file_goes_with_the_last_array(files):
    array = files.new_array((8,), np.dtype(np.float32))
    path = Path(files.find(array)["file"])
    view = array[1:]
    del array
    gc.collect()
    assert path.exists()
    del view
    gc.collect()
    assert not path.exists()


def test_lent_files_are_used_again(files):
    names = set()
    for _ in range(20):
        packing = Packing(files)
        descriptor, _ = packing.reserve((1000, 1000), np.dtype(np.float32))
        names.add(descriptor["file"])
        packing.release()
    assert len(names) == 1


def test_copies_are_aligned_for_vectors():
    for count in range(2, 50):
        assert aligned_copy(np.arange(count, dtype=np.int8)[1:]).ctypes.data % 64 == 0
        assert aligned_empty((count, 3), np.dtype(np.float64)).ctypes.data % 64 == 0
