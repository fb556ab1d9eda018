"""What a killed process leaves: its workers end with it, its folders go at the next start, nothing else does."""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import closing

import psutil
import pytest

from lhkit.model.errors import CrashError
from lhkit.worker import folders as folders_module
from lhkit.worker.client import Worker
from lhkit.worker.folders import collect_abandoned, temporary_folder, temporary_place
from lhkit.worker.limits import Limits
from lhkit.worker.process_groups import end_group, still_running
from lhkit.worker.requests import Ping

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks and signals of POSIX")

# A worker's client with a forked child, as a notebook's kernel with a multiprocessing pool has: the child
# inherits the client's ends of the pipes, and lives until its standard input ends.
CLIENT = """
import os, sys
from lhkit.worker.client import Worker
from lhkit.worker.requests import Ping
worker = Worker()
worker.ask(Ping())
child = os.fork()
if not child:
    sys.stdin.read()
    os._exit(0)
print(worker.pid, child, flush=True)
sys.stdin.read()
"""
FOLDERS = """
import os, sys
from lhkit.worker.folders import temporary_folder
kept = [temporary_folder(sys, prefix)[0] for prefix in ("lhkit-worker-", "lhkit-arrays-", "lhkit-lab-")]
(kept[0] / "file").touch()
(kept[1] / "link").symlink_to(sys.argv[1], target_is_directory=True)
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files of this test, its processes included."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def start(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_worker_ends_with_its_client_though_a_forked_child_holds_its_pipes(temporary):
    client = start(CLIENT)
    worker, child = (psutil.Process(int(pid)) for pid in client.stdout.readline().split())
    client.kill()
    client.wait()
    assert not still_running([worker], 60), "the worker outlives its client"
    assert child.is_running() and collect_abandoned() == [], "its child may still read arrays"
    client.stdin.close()
    client.stdout.close()
    assert not still_running([child], 60)
    assert len(collect_abandoned()) == 2 and list(temporary.iterdir()) == []


def test_folders_of_a_killed_process_are_deleted_at_the_next_start(temporary, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    killed = start(FOLDERS, precious)
    killed.stdout.readline()
    assert len(list(temporary.iterdir())) == 3 and collect_abandoned() == []
    killed.kill()
    killed.communicate()
    folders_module._collect_once.cache_clear()  # as in a new process
    with temporary_place("lhkit-own-") as own:
        assert list(temporary.iterdir()) == [own]
    assert list(temporary.iterdir()) == [] and (precious / "file").exists()


def test_only_what_lhkit_made_is_deleted(temporary, tmp_path):
    with temporary_place("lhkit-x-") as made:
        owner = next(made.iterdir()).name
    (temporary / "lhkit-without-an-owner").mkdir(mode=0o700)
    (temporary / "lhkit-open").mkdir()
    (temporary / "lhkit-open" / owner).touch()
    (temporary / "lhkit-open").chmod(0o755)  # lhkit makes none that others may enter
    (temporary / "other-abc").mkdir(mode=0o700)
    (temporary / "other-abc" / owner).touch()
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o700)
    (outside / owner).touch()
    (temporary / "lhkit-link").symlink_to(outside, target_is_directory=True)
    (temporary / "lhkit-linked-owner").mkdir(mode=0o700)
    (temporary / "lhkit-linked-owner" / owner).symlink_to(outside / owner)
    (temporary / "lhkit-pipe").mkdir(mode=0o700)
    os.mkfifo(temporary / "lhkit-pipe" / owner)
    before = set(temporary.iterdir())
    assert collect_abandoned() == [] and set(temporary.iterdir()) == before
    assert (outside / owner).exists()


def test_folders_of_another_user_are_left_alone(temporary, monkeypatch):
    folder, delete = temporary_folder(test_only_what_lhkit_made_is_deleted, "lhkit-x-")
    owner = next(folder.iterdir())
    content = owner.read_bytes()
    delete()
    folder.mkdir(mode=0o700)
    owner.write_bytes(content)
    owner.chmod(0o600)
    user = os.geteuid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: user + 1)
        assert collect_abandoned() == []
    assert collect_abandoned() == [folder]


FORKING = """
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if not os.fork():
    print(os.getpid(), flush=True)
    signal.pause()
signal.pause()
"""


@pytest.mark.parametrize("dies_first", [False, True])
def test_what_a_worker_forked_ends_with_it(dies_first):
    command = [sys.executable, "-c", FORKING]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, text=True
    )
    child = psutil.Process(int(process.stdout.readline()))
    if dies_first:
        process.send_signal(signal.SIGKILL)
        process.wait()
    end_group(process)
    assert not still_running([child], 60) and process.stdin.closed


DYING = """
import os, signal, sys
from lhkit.worker.framing import Call, Hello, read_message, write_message
write_message(sys.stdout.buffer, Hello(1))
read_message(sys.stdin.buffer, Call)
if os.fork():
    os.kill(os.getpid(), signal.SIGSEGV)
signal.pause()
"""


def test_the_death_of_a_worker_is_seen_though_what_it_forked_holds_its_pipe(tmp_path, monkeypatch):
    (tmp_path / "lhkit_dying.py").write_text(DYING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with closing(Worker(program="lhkit_dying")) as worker, pytest.raises(CrashError, match="SIGSEGV"):
        worker.ask(Ping(), limits=Limits(seconds=60))
