"""Loops in machine code do as many calls and multiply-adds, copy and read as many bytes, as they are asked to."""

import ctypes

import numpy as np
import pytest

from lhkit.compiler.machine.memref_arguments import PreparedCall
from lhkit.compiler.machine.timing_runs import (
    COPY_BLOCK_BYTES,
    FMA_UNROLL,
    CoreProbe,
    LoopLibrary,
    call_loop,
    copy_text,
    fma_text,
    read_text,
    repeated,
    system_copy_text,
)
from lhkit.worker.shared_arrays import placed_empty


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_a_call_is_repeated_as_often_as_asked(count):
    calls = []
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(calls.append)
    inner = PreparedCall(ctypes.cast(callback, ctypes.c_void_p).value, [])
    repeated(inner, count)()
    assert calls == [inner.packed_address] * count


@pytest.mark.parametrize(("dtype", "bits", "accumulators"), [("float32", 128, 8), ("float64", 256, 12)])
def test_multiply_adds_are_all_done(dtype, bits, accumulators):
    (data,) = placed_empty([((192 // np.dtype(dtype).itemsize,), dtype)], 64)
    third = data.size // 3
    lanes = bits // 8 // data.itemsize
    data[:third], data[third:] = 1.0, 2.0  # each multiply-add adds 2
    library = LoopLibrary(fma_text("fma", dtype, bits, accumulators))
    call_loop(library.address("fma"), data.ctypes.data, 10)()
    expected = accumulators * (2.0 + 10 * FMA_UNROLL * 2.0)
    assert data[2 * third : 2 * third + lanes].tolist() == [expected] * lanes


@pytest.mark.parametrize(
    "text", [copy_text("c", nontemporal=n) for n in (False, True)] + [system_copy_text("c")]
)
def test_a_copy_copies_its_blocks_and_nothing_else(text):
    nbytes = 3 * COPY_BLOCK_BYTES
    source, target = placed_empty([((nbytes,), "uint8"), ((nbytes + 64,), "uint8")], 64)
    source[:], target[:] = np.arange(nbytes) % 251, 255
    library = LoopLibrary(text)
    call_loop(library.address("c"), target.ctypes.data, source.ctypes.data, 3)()
    assert (target[:nbytes] == source).all()
    assert (target[nbytes:] == 255).all()


def test_a_read_adds_up_every_word_of_its_blocks():
    (source, sums) = placed_empty(
        [((3 * COPY_BLOCK_BYTES // 4,), "int32"), ((COPY_BLOCK_BYTES // 4,), "int32")], 64
    )
    source[:], sums[:] = np.arange(source.size), 0
    sums[:16] = 1  # where every sum begins
    library = LoopLibrary(read_text("r"))
    call_loop(library.address("r"), sums.ctypes.data, source.ctypes.data, 3)()
    assert (sums == 1 + source.reshape(3, -1).sum(0)).all()


def test_the_limits_of_a_core_stand_in_the_ratio_of_their_element_sizes():
    probe = CoreProbe(128, 1 << 20)
    samples = [probe.sample() for _ in range(5)]
    best = {name: max(s[name] for s in samples) for name in samples[0]}
    assert 1.6 < best["fma_gflops"] / best["fma_f64_gflops"] < 2.4
    assert best["copy_gbytes"] > 0 and best["read_gbytes"] > 0
