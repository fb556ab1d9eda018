"""Signs of timings: seen by other processes, gone with the process that made them."""

import subprocess
import sys

from lhkit.worker.neighbours import timing_sign

HOLD = """
import sys
from pathlib import Path
from lhkit.worker.neighbours import timing_sign
with timing_sign(Path(sys.argv[1])):
    print("timing", flush=True)
    sys.stdin.readline()
"""


def another(folder):
    """Start a process that says it is timing until it is told to end."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "timing\n"
    return process


def test_a_timing_alone_sees_nobody_and_leaves_nothing(tmp_path):
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


def test_what_is_no_sign_and_a_number_that_was_used_again_are_nobody(tmp_path):
    for name in ("notes.txt", "1-5", "x-1", "999999999-17"):  # process 1 began at another time
        (tmp_path / name).touch()
    with timing_sign(tmp_path) as is_another:
        assert not is_another()


def test_where_no_file_can_be_written_a_timing_goes_on(tmp_path):
    (tmp_path / "file").touch()
    with timing_sign(tmp_path / "file" / "below") as is_another:
        assert not is_another()
