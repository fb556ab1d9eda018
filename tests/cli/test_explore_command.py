"""``lhkit explore`` on bad input: messages and exit codes, and nothing is served."""

import socket

import pytest

from lhkit.cli import explore_command
from lhkit.cli.main import run_program


@pytest.fixture
def said(capsys):
    def explored(*arguments):
        code = run_program(["explore", "--no-browser", *map(str, arguments)])
        done = capsys.readouterr()
        assert not done.out and "Traceback" not in done.err
        return code, done.err

    return explored


def test_files_that_are_missing_or_no_payload(said, tmp_path):
    code, words = said(tmp_path / "none.mlir")
    assert code == 2 and "none.mlir" in words
    code, words = said("fc_relu.mlir", tmp_path / "none.mlir")
    assert code == 2 and "none.mlir" in words
    (tmp_path / "bad.mlir").write_text("func.func @f( {")
    code, words = said(tmp_path / "bad.mlir")
    assert code == 2 and "bad.mlir:1:" in words and "^" in words
    (tmp_path / "bad.json").write_text("{}")
    code, words = said(tmp_path / "bad.json")
    assert code == 2 and "holds no workbench" in words


def test_a_port_that_is_taken(said):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, words = said("--port", port)
    assert code == 2 and words.startswith(f"lhkit: port {port} cannot be used: ") and "--port" in words


def test_knobs_and_schedules_that_do_not_fit(said):
    code, words = said("fc_relu.mlir", "fc_relu_handles.mlir", "--set", "tiel=8")
    assert code == 2 and "tiel" in words and "tile" in words
    code, words = said("fc_relu.mlir", "--set", "tile=8")
    assert code == 2 and "need a schedule" in words


def test_the_browser_is_given_a_private_file_and_not_the_token(monkeypatch, tmp_path):
    given = []
    monkeypatch.setattr(explore_command.webbrowser, "open", lambda url: given.append(url) or True)
    assert explore_command._open("http://127.0.0.1:1/?token=abc", tmp_path)
    (file,) = tmp_path.iterdir()
    assert given == [file.as_uri()] and "token" not in given[0]
    assert "url=http://127.0.0.1:1/?token=abc" in file.read_text() and not file.stat().st_mode & 0o077
