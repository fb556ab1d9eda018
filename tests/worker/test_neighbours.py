"""Signs of timings: seen by other processes, gone with the process that made them."""

import platform
import subprocess
import sys
from pathlib import Path

from lhkit.worker import timing_conditions
from lhkit.worker.folders import machine_folder
from lhkit.worker.limits import process_environment
from lhkit.worker.timing_conditions import timing_sign

HOLD = """
import sys
from pathlib import Path
from lhkit.worker.timing_conditions import timing_sign
with timing_sign(Path(sys.argv[1])):
    print("timing", flush=True)
    sys.stdin.readline()
"""
ALLOCATE = """
import ctypes
malloc = ctypes.CDLL(None).malloc
malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
malloc(64 << 20)
print(*[line for line in open("/proc/self/smaps") if line.startswith("VmFlags:")])
"""
# Three buffers of 3 MiB a call, as of a kernel with temporary results; the page faults of the last of many calls.
CALL_AGAIN = """
import ctypes, resource
libc = ctypes.CDLL(None)
libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
def call():
    buffers = [libc.malloc(3 << 20) for _ in range(3)]
    for each in buffers:
        ctypes.memset(each, 1, 3 << 20)
    for each in buffers:
        libc.free(each)
for _ in range(8):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    call()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def another(folder):
    """Start a process that says it is timing until it is told to end."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "timing\n"
    return process


def test_a_timing_alone_sees_no_other_and_leaves_nothing(tmp_path):
    with timing_sign(tmp_path) as is_another:
        assert not is_another() and len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_another_process_is_seen_for_as_long_as_it_times(tmp_path):
    process = another(tmp_path)
    with timing_sign(tmp_path) as is_another:
        assert is_another()
        process.communicate("\n", timeout=30)
        assert not is_another()


def test_a_process_that_was_killed_is_not_seen(tmp_path):
    process = another(tmp_path)
    process.kill()
    process.communicate(timeout=30)
    assert len(list(tmp_path.iterdir())) == 1
    with timing_sign(tmp_path) as is_another:
        assert not is_another() and len(list(tmp_path.iterdir())) == 1  # its sign is removed, ours is there


def test_what_no_timing_made_is_not_a_sign_and_stays(tmp_path):
    strange = {"notes.txt", "x-1", "1", "9-99999999999999999999"}
    for name in strange:
        (tmp_path / name).touch()
    (tmp_path / "1-7").mkdir()
    (tmp_path / "1-8").symlink_to(tmp_path / "notes.txt")
    for name in ("1-5", "999999999-17"):  # process 1 began at another time
        (tmp_path / name).touch()
    with timing_sign(tmp_path) as is_another:
        assert not is_another()
    assert {path.name for path in tmp_path.iterdir()} == strange | {"1-7", "1-8"}


def test_a_sign_is_not_made_through_a_link(tmp_path, monkeypatch):
    (tmp_path / "5-5").symlink_to(tmp_path / "target")
    monkeypatch.setattr("lhkit.worker.timing_conditions._sign_of", lambda process: "5-5")
    with timing_sign(tmp_path) as is_another:
        assert not is_another()
    assert not (tmp_path / "target").exists() and (tmp_path / "5-5").is_symlink()


def test_the_signs_of_a_user_are_in_a_private_folder_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(timing_conditions, "signs_folder", timing_conditions.signs_folder.__wrapped__)
    with timing_sign():
        signs = machine_folder("timings")
        assert len(list(signs.iterdir())) == 1 and signs.is_relative_to(tmp_path)


def test_a_relative_state_folder_is_the_same_one_for_workers(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LHKIT_STATE_DIR", "state")
    assert process_environment(1)["LHKIT_STATE_DIR"] == str(tmp_path / "state")


def test_where_no_file_can_be_written_a_timing_goes_on(tmp_path):
    (tmp_path / "file").touch()
    with timing_sign(tmp_path / "file" / "below") as is_another:
        assert not is_another()


def test_large_buffers_of_workers_ask_for_large_pages(monkeypatch):
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.perturb=0")
    environment = process_environment(1)
    assert {"glibc.malloc.perturb=0", "glibc.malloc.hugetlb=1"} <= {*environment["GLIBC_TUNABLES"].split(":")}
    monkeypatch.setenv("GLIBC_TUNABLES", environment["GLIBC_TUNABLES"])
    assert process_environment(1)["GLIBC_TUNABLES"] == environment["GLIBC_TUNABLES"]
    mode = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if mode.exists() and "[madvise]" in mode.read_text() and platform.libc_ver()[0] == "glibc":
        # The flag "hg" of a mapping: madvise(MADV_HUGEPAGE) was called.
        ran = subprocess.run(
            [sys.executable, "-c", ALLOCATE], env=environment, check=True, stdout=subprocess.PIPE
        )
        assert b" hg" in ran.stdout


def test_what_a_call_freed_is_there_for_the_next(monkeypatch):
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=0:glibc.malloc.trim_threshold=200000000")
    environment = process_environment(1)
    given = dict(each.split("=") for each in environment["GLIBC_TUNABLES"].split(":"))
    assert given["glibc.malloc.hugetlb"] == "0" and given["glibc.malloc.trim_threshold"] == "200000000"
    if platform.libc_ver()[0] == "glibc":
        ran = subprocess.run(
            [sys.executable, "-c", CALL_AGAIN], env=environment, check=True, stdout=subprocess.PIPE
        )
        assert int(ran.stdout) < 16
