"""Arrays across the wall: inline, lent files, and files that arrays live in."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest

from lhkit.worker.shared_arrays import (
    INLINE_BYTES,
    MappedFiles,
    Packing,
    SharedFiles,
    aligned_copy,
    aligned_empty,
)


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
    place = packing.add(array)
    assert (place.file is None) == (array.nbytes <= INLINE_BYTES)
    received = MappedFiles().array(place)
    np.testing.assert_array_equal(received, array)
    packing.release()


def test_strided_and_reversed_views_come_through(files):
    base = np.arange(300 * 400, dtype=np.float32).reshape(300, 400)
    for view in (base[::2, ::-3], base.T, base[1:, 1:]):
        packing = Packing(files)
        received = MappedFiles().array(packing.add(view))
        np.testing.assert_array_equal(received, view)
        packing.release()


def test_an_array_that_lives_in_a_file_is_not_copied(files):
    array = files.new_array((64, 32), np.dtype(np.float32))
    array[...] = 1
    packing = Packing(files)
    seen = MappedFiles().array(packing.add(array[2:]))
    seen[0, 0] = 7
    assert array[2, 0] == 7
    assert packing.add(array).file and packing.add(array).offset == 0
    assert files.find(array[:, 1:]) is None  # not contiguous: it has to be copied


def test_the_file_goes_with_the_last_array(files):
    array = files.new_array((8,), np.dtype(np.float32))
    path = Path(files.find(array).file)
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
        place, _ = packing.reserve((1000, 1000), np.dtype(np.float32))
        names.add(place.file)
        packing.release()
    assert len(names) == 1


def test_copies_are_aligned_for_vectors():
    for count in range(2, 50):
        assert aligned_copy(np.arange(count, dtype=np.int8)[1:]).ctypes.data % 64 == 0
        assert aligned_empty((count, 3), np.dtype(np.float64)).ctypes.data % 64 == 0


def test_a_result_stays_in_its_file_until_it_is_unused(files):
    packing = Packing(files)
    _, view = packing.reserve((100, 100), np.dtype("float32"))
    kept = packing.keep(view)
    packing.release()
    kept[...] = 7
    assert kept is view
    assert files.find(kept) is not None
    row, used = kept[3], kept.ctypes.data
    del kept, view
    _, other = Packing(files).reserve((100, 100), np.dtype("float32"))
    assert other.ctypes.data != used
    other[...] = 1
    assert (row == 7).all()
    del row
    _, again = Packing(files).reserve((100, 100), np.dtype("float32"))
    assert again.ctypes.data == used


def test_only_so_many_results_stay_in_files(files):
    kept = []
    for _ in range(140):
        packing = Packing(files)
        _, view = packing.reserve((64,), np.dtype("float32"))
        view[...] = len(kept)
        kept.append(packing.keep(view))
        packing.release()
    assert [int(k[0]) for k in kept] == list(range(140))
    assert sum(files.find(k) is not None for k in kept) < 140


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_file_that_a_forked_process_may_read_is_not_used_again(files):
    packing = Packing(files)
    before, view = packing.reserve((100, 100), np.dtype("float32"))
    kept = packing.keep(view)
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    del kept, view
    after, _ = Packing(files).reserve((100, 100), np.dtype("float32"))
    assert after.file != before.file
    assert not Path(before.file).exists()
