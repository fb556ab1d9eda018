"""The OpenMP runtime, and what is said where it cannot be had."""

import importlib.metadata
import json
import os
import subprocess
import sys

import pytest

from lhkit.compiler.lowering import target_attributes as openmp
from lhkit.model.errors import UsageError
from lhkit.model.target import available_cores


def test_the_installed_runtime_is_found_and_loads():
    found = openmp.find_openmp()
    assert found is not None and openmp.openmp_library() == str(found)


WHERE_THREADS_RUN = """
import ctypes, json, os, threading
from lhkit.compiler.lowering.target_attributes import openmp_library

runtime = ctypes.CDLL(openmp_library())
masks = {}

def note(_data):
    masks[threading.get_native_id()] = sorted(os.sched_getaffinity(0))

runtime.GOMP_parallel(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(note), None, 2, 0)
caller = masks.pop(threading.get_native_id())
print(json.dumps([caller, *masks.values()]))
"""

WHAT_OTHERS_SEE = """
import json, os, subprocess, sys
from lhkit.compiler.lowering.target_attributes import openmp_library

openmp_library()
seen = "import json, os; print(json.dumps([n for n in os.environ if n.startswith('OMP_P')]))"
print(subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True).stdout)
"""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system cannot bind threads")
def test_a_thread_is_bound_to_another_core_than_the_callers():
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == 1:
        return  # then kernels on two threads are refused, which another test holds
    done = subprocess.run([sys.executable, "-c", WHERE_THREADS_RUN], capture_output=True, text=True, check=True)
    caller, *others = json.loads(done.stdout)
    assert caller == cores
    assert len(others) == 1 and len(others[0]) < len(cores) and cores[0] not in others[0]


def test_another_runtime_is_not_told_to_bind_its_threads():
    """PyTorch's would bind the main thread of its process to one core when it is imported."""
    unbound = {name: value for name, value in os.environ.items() if not name.startswith("OMP_P")}
    done = subprocess.run(
        [sys.executable, "-c", WHAT_OTHERS_SEE], env=unbound, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []


def test_a_runtime_that_is_not_installed(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", missing)
    assert openmp.find_openmp() is None
    with pytest.raises(UsageError, match="needs the OpenMP runtime of intel-openmp") as caught:
        openmp.openmp_library()
    assert caught.value.failure.advice == "Install it: pip install 'lhkit[openmp]'"


def test_a_runtime_whose_file_is_gone(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "files", lambda _name: [])
    assert openmp.find_openmp() is None


def test_a_runtime_that_does_not_load(monkeypatch, tmp_path):
    broken = tmp_path / "libiomp5.so"
    broken.write_text("no library")
    monkeypatch.setattr(openmp, "find_openmp", lambda: broken)
    with pytest.raises(UsageError, match="the OpenMP runtime does not load") as caught:
        openmp.openmp_library()
    assert "lhkit[openmp]" in caught.value.failure.advice


def test_one_thread_is_always_allowed(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    openmp.check_threads(1)


@pytest.mark.parametrize("threads", [0, -1])
def test_fewer_than_one_thread(threads):
    with pytest.raises(UsageError, match=f"a kernel on {threads} threads"):
        openmp.check_threads(threads)


def test_more_threads_than_cores(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    cores = available_cores()
    openmp.check_threads(cores)
    with pytest.raises(UsageError, match=f"a kernel on {cores + 1} threads, with {cores} core") as caught:
        openmp.check_threads(cores + 1)
    assert f"to {cores} at most" in caught.value.failure.advice


def test_a_second_pool_of_threads(monkeypatch):
    monkeypatch.setattr(openmp, "available_cores", lambda: 8)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    with pytest.raises(UsageError, match="2 threads beside numerical libraries on 2 in one process"):
        openmp.check_threads(2)
