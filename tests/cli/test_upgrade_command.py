"""``lhkit upgrade``: what it prints, writes and exits with."""

from pathlib import Path

import pytest

from lhkit.load.shipped_files import shipped_folder

OLD = (
    "// A matmul.\ntransform.sequence failures(propagate) {\n"
    '^bb0(%root: !transform.any_op, %m: !transform.op<"linalg.matmul">):\n'
    "  %loop, %piece = transform.structured.tile_to_forall_op %m tile_sizes [4]\n"
    '    : (!transform.op<"linalg.matmul">) -> (!transform.any_op, !transform.any_op)\n'
    "  //LEFT\n  transform.yield\n}\n"
)
LEFT = OLD.replace("//LEFT", "transform.iree.bufferize %root")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "old.mlir"
    path.write_text(OLD)
    path.chmod(0o640)
    return path


def test_the_diff_is_shown_and_the_file_left(file, lhkit_here):
    done = lhkit_here("upgrade", "old.mlir")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("--- old.mlir\n+++ old.mlir (today)\n@@")
    assert "+  %piece, %loop = transform.structured.tile_using_forall %m tile_sizes [4]\n" in done.stdout
    assert "now parses" in done.stderr and "--bind linalg.matmul" in done.stderr
    assert file.read_text() == OLD


def test_written_it_is_a_schedule_with_the_same_permissions(file, lhkit_here):
    assert lhkit_here("upgrade", "old.mlir", "--write").stdout == ""
    assert file.stat().st_mode & 0o777 == 0o640
    assert "// A matmul.\n" in file.read_text()
    traced = lhkit_here("trace", "matmul", "old.mlir", "--bind", "linalg.matmul")
    assert traced.returncode == 0, traced.stderr
    again = lhkit_here("upgrade", "old.mlir")
    assert (again.returncode, again.stdout) == (0, "") and "nothing to rewrite" in again.stderr


def test_what_is_left_is_exit_1_with_place_caret_and_what_to_write(file, lhkit_here):
    file.write_text(LEFT)
    done = lhkit_here("upgrade", "old.mlir")
    assert done.returncode == 1 and "tile_using_forall" in done.stdout
    lines = done.stderr.splitlines()
    at = next(
        i for i, line in enumerate(lines) if line.startswith("old.mlir:6:3: error: transform.iree.bufferize")
    )
    assert "transform.bufferization.one_shot_bufferize" in lines[at]
    assert lines[at + 2].index("^") == lines[at + 1].index("transform.iree.bufferize")
    written = lhkit_here("upgrade", "old.mlir", "--write")
    assert written.returncode == 1 and "tile_using_forall" in file.read_text()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        (b"", "is empty"),
        (b"ML\xefR\x01", "bytecode"),
        (b"\xff\xfe", "neither MLIR text"),
    ],
)
def test_what_is_no_text_is_exit_2(content, words, tmp_path, lhkit_here):
    if content is not None:
        Path(tmp_path / "x.mlir").write_bytes(content)
    done = lhkit_here("upgrade", "x.mlir")
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


def test_elementwise_ops_are_written_the_one_way_or_the_other(tmp_path, lhkit_here):
    named = (shipped_folder("data") / "fc_relu.mlir").read_text()
    (tmp_path / "layer.mlir").write_text(named)
    done = lhkit_here("upgrade", "layer.mlir", "--elementwise", "elementwise", "--write")
    assert done.returncode == 0 and "2 old spellings rewritten; now parses" in done.stderr
    written = (tmp_path / "layer.mlir").read_text()
    assert (
        "linalg.add ins" not in written
        and "linalg.elementwise kind=#linalg.elementwise_kind<add> ins" in written
    )
    assert lhkit_here("upgrade", "layer.mlir").stdout == ""
    assert lhkit_here("upgrade", "layer.mlir", "--elementwise", "named", "--write").returncode == 0
    assert (tmp_path / "layer.mlir").read_text() == named
    (tmp_path / "layer.mlir").write_text(written.replace("kind=#linalg.elementwise_kind<add>", "<add>"))
    assert lhkit_here("run", "layer.mlir", "--size", "8").returncode == 0
    assert "<add>" in lhkit_here("upgrade", "layer.mlir").stdout
