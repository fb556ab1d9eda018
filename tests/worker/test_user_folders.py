"""Folders of the user: private, never through links of others, and there without a home folder too."""

import os
import stat
import sys
from pathlib import Path

import pytest

from lhkit.compose.session_history import RecoveryFile, Version
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.worker import folders
from lhkit.worker.folders import home_folder, machine_folder, open_private, private_folder, state_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes of POSIX")


@pytest.fixture
def homeless(monkeypatch, tmp_path):
    """A process without HOME whose user has no passwd entry; returns its temporary folder."""
    import pwd

    def unknown(user):
        raise KeyError(user)

    for name in ("HOME", "LHKIT_STATE_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def mode_of(path):
    return stat.S_IMODE(path.lstat().st_mode)


def test_what_is_made_is_for_its_user_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path / "new" / "state"))
    folders = [state_folder(), state_folder("sessions"), machine_folder("timings")]
    assert [mode_of(folder) for folder in folders] == [0o700] * 3
    assert state_folder() == tmp_path / "new" / "state" and folders[1] == state_folder() / "sessions"
    assert folders[2].is_relative_to(state_folder("machines"))


def test_a_folder_of_ours_that_others_may_enter_is_closed_to_them(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert mode_of(private_folder(tmp_path / "open")) == 0o700


@pytest.mark.parametrize("kind", ["link", "link to nothing", "file", "folder of another user"])
def test_what_another_may_have_put_there_is_refused(monkeypatch, tmp_path, kind):
    path, target = tmp_path / "sessions", tmp_path / "target"
    if kind == "link":
        target.mkdir()
    if kind.startswith("link"):
        path.symlink_to(target)
    elif kind == "file":
        path.touch()
    else:
        path.mkdir()
        monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path))
    with pytest.raises(OSError, match="sessions") as caught:
        state_folder("sessions")
    assert caught.value.filename == str(path) and caught.value.strerror
    assert kind == "link to nothing" or not any(target.iterdir() if target.exists() else ())
    assert kind != "link to nothing" or not target.exists()


def test_files_are_not_opened_through_links(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="link"):
        open_private(tmp_path / "link")
    assert not (tmp_path / "target").exists()
    os.close(open_private(tmp_path / "file"))
    assert mode_of(tmp_path / "file") == 0o600
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe"):
        open_private(tmp_path / "pipe")


def test_without_a_home_folder_the_temporary_folder_has_one_for_this_user(homeless):
    own = homeless / f"lhkit-{os.geteuid()}"
    assert state_folder("sessions") == own / "state" / "sessions"
    assert folders.cache_folder("crashes") == own / "cache" / "crashes"
    assert home_folder() == own / "home"
    assert mode_of(own) == 0o700
    assert str(own) in folders.homeless_note() and "LHKIT_STATE_DIR" in folders.homeless_note()


def test_a_home_folder_that_cannot_be_written_is_as_none(monkeypatch, homeless):
    (homeless / "file").touch()
    monkeypatch.setenv("HOME", str(homeless / "file"))
    assert state_folder().is_relative_to(homeless / f"lhkit-{os.geteuid()}")


def test_with_a_home_folder_there_is_nothing_to_say(monkeypatch, homeless):
    monkeypatch.setenv("HOME", str(homeless / "anna"))
    assert state_folder("sessions").is_relative_to(homeless / "anna")
    assert home_folder() == homeless / "anna" and folders.homeless_note() is None


def test_the_place_of_a_user_without_home_is_refused_where_another_has_taken_it(homeless):
    (homeless / "trap").mkdir()
    (homeless / f"lhkit-{os.geteuid()}").symlink_to(homeless / "trap")
    with pytest.raises(OSError, match="symbolic link"):
        state_folder("sessions")
    assert not any((homeless / "trap").iterdir())


def test_machines_that_share_a_home_folder_share_no_locks(monkeypatch):
    here = machine_folder("timings")
    monkeypatch.setattr("platform.node", lambda: "../an other")
    there = machine_folder("timings")
    assert there != here and there.parent.parent == here.parent.parent


HOMELESS = """
import pwd
def unknown(user):
    raise KeyError(user)
pwd.getpwuid = unknown
"""
TINY = "func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }"


def test_the_command_line_works_without_home_and_passwd_entry(tmp_path, lhkit_command):
    (tmp_path / "sitecustomize.py").write_text(HOMELESS)
    (tmp_path / "tiny.mlir").write_text(TINY)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    path = os.pathsep.join([str(tmp_path), str(Path(folders.__file__).parents[1])])
    # Those of the test's own environment are empty, which is as if they were not there.
    gone = dict.fromkeys(("LHKIT_STATE_DIR", "LHKIT_CRASH_DIR", "LHKIT_CATALOGUE_DIR", "HOME"), "")
    environment = {**gone, "PYTHONPATH": path, "TMPDIR": str(temporary)}
    for arguments in (["lab", "--help"], ["run", tmp_path / "tiny.mlir"]):
        done = lhkit_command(*arguments, env=environment)
        assert done.returncode == 0, done.stderr
    # Nothing lies in a folder "~" of the place where it was started.
    assert {p.name for p in tmp_path.iterdir()} <= {"sitecustomize.py", "tiny.mlir", "temporary", "__pycache__"}
    assert {p.name for p in temporary.iterdir()} <= {f"lhkit-{os.geteuid()}"}


def test_sessions_kept_in_the_temporary_folder_are_said(homeless):
    schedule = Schedule("s.mlir", "module {}", (), (), "main")
    recovery = RecoveryFile(Payload("p.mlir", "module {}", ()), Version(schedule, schedule.text, "opened"))
    with pytest.warns(UserWarning, match=f"keeps its files in {homeless}.*LHKIT_STATE_DIR=FOLDER"):
        recovery.save_soon(lambda: None)
    recovery.close()
