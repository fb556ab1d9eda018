"""Where the time of a kernel goes, by instruction: a timer interrupts its calls and notes the program counter.

A POSIX timer needs no right, where perf events are refused to this process, as in most containers. Its signal
handler is machine code made here: one in Python would run between two bytecodes, long after the kernel. As with
perf events without hardware support, what is noted is the instruction that waits for one before it.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import platform
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from lhkit.compiler.machine.compiled_kernel import C_ENTRY, Recipe, build_kernel
from lhkit.compiler.machine.memref_arguments import PreparedCall
from lhkit.compiler.machine.object_code import function_places
from lhkit.compiler.machine.timing_runs import LoopLibrary, call_loop, native_batches, time_call
from lhkit.model.instructions import CodeSamples

Arguments = Sequence[np.ndarray[Any, Any] | np.generic]
Results = Sequence[np.ndarray[Any, Any] | np.dtype[Any]]
PERIOD_NS = 997_000  # no multiple of what kernels and other timers repeat
_MOST_SAMPLES = 1 << 14
_BATCH_NS = 20_000_000
_MOST_CALLS = 1 << 20
# Byte offset of the program counter in the context that a handler gets.
_COUNTERS = {"x86_64": 168, "aarch64": 440}
_CLOCK_MONOTONIC, _THREAD_ID = 1, 4
_WITH_INFO, _RESTART = 0x4, 0x10000000


class _Action(ctypes.Structure):
    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class _Event(ctypes.Structure):
    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("thread", ctypes.c_int),
        ("rest", ctypes.c_int * 11),
    )


def sample_kernel(recipe: Recipe, arguments: Arguments, results: Results, seconds: float) -> CodeSamples:
    """Return where calls of a kernel on one thread spend their time, repeated for so long and sampled.

    Returns:
        The samples by place in the section of the code, as in `machine_code`; or why there are none.
    """
    if sys.platform != "linux" or platform.machine() not in _COUNTERS:
        return CodeSamples(reason=f"no timer samples code on {platform.system()} {platform.machine()}")
    kernel = build_kernel(dataclasses.replace(recipe, is_threaded=False), is_outlined=True)
    engine, address = kernel.code
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.o"
        engine.dump_to_object_file(str(path))
        places, size = function_places(path)
    # The wrapper that is called lies in the same section.
    base = address - places[f"_mlir_{C_ENTRY}"]
    counters = _sampled(kernel.prepare(arguments, results), seconds) - base
    inside = counters[(counters >= 0) & (counters < size)]
    return CodeSamples(tuple(sorted(Counter(inside.tolist()).items())), len(counters) - len(inside), PERIOD_NS)


def _sampled(call: PreparedCall, seconds: float) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the program counters that were noted while a call was repeated."""
    batches, end = native_batches(call), time.monotonic() + seconds
    buffer = np.zeros(2 + _MOST_SAMPLES, np.int64)
    buffer[1] = _MOST_SAMPLES
    with _ticking(buffer):
        once_ns = time_call(call)
        batch = batches(min(max(1, _BATCH_NS // max(once_ns, 1)), _MOST_CALLS))
        while time.monotonic() < end:
            batch()
    return buffer[2 : 2 + buffer[0]]


@functools.cache
def _handler() -> tuple[int, LoopLibrary]:
    """Return the address of the handler, and what its code lives in."""
    text = Path(__file__).with_name("sampling_handler.mlir").read_text(encoding="utf-8")
    library = LoopLibrary(Template(text).substitute(counter=_COUNTERS[platform.machine()]))
    place = np.zeros(1, np.int64)
    call_loop(library.address("address_of_note"), place.ctypes.data)()
    return int(place[0]), library


@contextlib.contextmanager
def _ticking(buffer: np.ndarray[Any, np.dtype[np.int64]]) -> Iterator[None]:
    """Have a timer interrupt this thread and note where it is."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = int(signal.SIGPROF)
    action, before = _Action(handler=_handler()[0], flags=_WITH_INFO | _RESTART), _Action()
    _checked(libc.sigaction(number, ctypes.byref(action), ctypes.byref(before)))
    event = _Event(value=buffer.ctypes.data, signal=number, notify=_THREAD_ID, thread=threading.get_native_id())
    timer = ctypes.c_void_p()
    try:
        _checked(libc.timer_create(_CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)))
        try:
            every = (ctypes.c_long * 4)(0, PERIOD_NS, 0, PERIOD_NS)
            _checked(libc.timer_settime(timer, 0, ctypes.byref(every), None))
            yield
        finally:
            libc.timer_delete(timer)
    finally:
        libc.sigaction(number, ctypes.byref(before), None)


def _checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), "a timer that samples code was refused")
