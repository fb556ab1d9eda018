"""Arrays across the wall: inline, lent files, and files that arrays live in."""

import gc
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from lhkit.worker import shared_arrays
from lhkit.worker.shared_arrays import (
    INLINE_BYTES,
    BlobFile,
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


def blob_of(data):
    with BlobFile() as file:
        file.write(data)
        return file.finish()[0]


def place_of(files, data):
    return files.find(np.frombuffer(data, np.uint8))


def test_small_blobs_share_files_that_go_with_the_last_of_them(files, monkeypatch):
    monkeypatch.setattr(shared_arrays, "_SHARED_BYTES", 200)
    shared_arrays._small_blobs.clear()
    blobs = [blob_of(bytes([i]) * (10 + i)) for i in range(7)]
    assert [bytes(b) for b in blobs] == [bytes([i]) * (10 + i) for i in range(7)]
    places = [place_of(files, b) for b in blobs]
    assert [p.offset for p in places] == [0, 64, 128, 0, 64, 128, 0]
    assert len({p.file for p in places}) == 3 and all(p.is_read_only for p in places)
    assert all(np.frombuffer(b, np.uint8).ctypes.data % 64 == 0 for b in blobs)
    first = Path(places[0].file)
    del blobs[1:3]
    gc.collect()
    assert first.exists()
    del blobs[0]
    gc.collect()
    assert not first.exists()
    assert [bytes(b) for b in blobs] == [bytes([i]) * (10 + i) for i in range(3, 7)]


def test_a_large_blob_has_a_file_of_its_own(files):
    pieces = [b"a" * 9000, b"b" * 9000, b"c"]
    with BlobFile() as file:
        for piece in pieces:
            file.write(piece)
        large, digest = file.finish()
    assert bytes(large) == b"".join(pieces) and digest == hashlib.sha256(large).hexdigest()
    place = place_of(files, large)
    assert place.offset == 0 and place.file != place_of(files, blob_of(b"small")).file
    path = Path(place.file)
    del large
    gc.collect()
    assert not path.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_does_not_write_into_the_blobs_of_its_parent():
    before = blob_of(b"parent")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(reading, 1)
        blob_of(b"child!")
        os._exit(0)
    after = blob_of(b"after!")
    os.write(writing, b"x")
    assert os.waitpid(child, 0)[1] == 0
    os.close(reading)
    os.close(writing)
    assert (bytes(before), bytes(after)) == (b"parent", b"after!")
