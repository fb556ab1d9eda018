"""A FIFO, a socket, a device, a directory or no name at all, wherever a file is read: a sentence, and at once."""

import os
from pathlib import Path

import pytest

import lhkit
from lhkit.bench.bench_file import load_bench
from lhkit.cli.run_command import _load_array
from lhkit.compose.session import FollowedFile
from lhkit.lessons.publishing import publish_notebook
from lhkit.load import old_spellings
from lhkit.load.file_upgrade import upgrade_file
from lhkit.load.resource_data import read_weights
from lhkit.load.user_code import load_own_ops, read_microkernels
from lhkit.model.errors import LhkitError, UsageError
from lhkit.model.file_io import write_file
from lhkit.model.signature import ArrayType
from lhkit.sweeps.record_store import Store
from lhkit.sweeps.sweep_files import load_records
from lhkit.text.upgrades.rule_edits import Upgrade
from lhkit.workbench.workbench_exports import read_state

READERS = {
    "payload": (".mlir", lhkit.load_payload),
    "schedule": (".mlir", lhkit.load_schedule),
    "library": (".mlir", lambda path: lhkit.load_schedule("module {}", libraries=[path])),
    "upgrade": (".mlir", upgrade_file),
    "reading a store": (".jsonl", load_records),
    "writing a store": (".jsonl", Store),
    "npz": (".npz", lambda path: read_weights(Path(path), ["w"])),
    "safetensors": (".safetensors", lambda path: read_weights(Path(path), ["w"])),
    "argument": (".npy", lambda path: _load_array(path, ArrayType("tensor", "float32", (1,), "tensor<1xf32>"))),
    "bench": (".json", load_bench),
    "workbench": (".json", read_state),
    "notebook": (".ipynb", lambda path: publish_notebook(Path(path))),
    "microkernel": (".c", lambda path: read_microkernels({"k": path})),
    "own ops": (".py", load_own_ops),
    "followed": (".mlir", lambda path: FollowedFile(Path(path))),
}
KINDS = {
    "fifo": (os.mkfifo, "it is a FIFO, not a regular file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "it is a device, not a regular file"),
    "directory": (Path.mkdir, "directory"),
    "NUL": (None, "holds a NUL character"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_regular_file_is_refused_wherever_files_are_read(reader, kind, tmp_path):
    suffix, read = READERS[reader]
    make, message = KINDS[kind]
    path = tmp_path / f"given{suffix}"
    if make is not None:
        make(path)
    with pytest.raises(UsageError, match=message):
        read(str(path) if make is not None else f"{tmp_path}/a\0b{suffix}")


def test_a_file_whose_name_holds_a_nul_is_not_written(tmp_path):
    with pytest.raises(UsageError, match=r"'.*/a\\x00b' cannot be written: its name holds a NUL character"):
        write_file(f"{tmp_path}/a\0b", b"")


@pytest.mark.parametrize("read", [lhkit.load_payload, lhkit.load_schedule])
def test_a_text_on_one_line_is_taken_as_a_path_that_no_file_can_have(read):
    with pytest.raises(UsageError, match="cannot be read: File name too long"):
        read("%a:" * 2_000)


def test_old_spellings_are_not_looked_for_in_long_texts(monkeypatch, worker):
    looked_at = []
    monkeypatch.setattr(
        old_spellings, "upgrade_text", lambda text: looked_at.append(len(text)) or Upgrade(text)
    )
    monkeypatch.setattr(
        old_spellings, "has_top_level_sequence", lambda text: looked_at.append(len(text)) and False
    )
    for read in (lhkit.load_payload, lhkit.load_schedule):
        with pytest.raises(LhkitError, match="expected integer number of results"):
            read("\n" + "%a:" * 20_000, worker=worker)
    assert looked_at == []
    with pytest.raises(LhkitError, match="expected integer number of results"):
        lhkit.load_payload("\n" + "%a:" * 20, worker=worker)
    assert looked_at == [61]
