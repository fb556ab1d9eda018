"""What strangers' files say reaches the terminal in printable form, whatever its encoding."""

import json
import os
import sys
from pathlib import Path

import pytest

import lhkit
from lhkit.cli.main import run_program
from lhkit.cli.terminal import replace_unencodable, say
from lhkit.load.loader import load_payload, load_schedule
from lhkit.model.errors import usage_error
from lhkit.model.printable import printable

# Sets the title, rings, clears the screen in one byte, turns the direction of writing, goes back on the line.
HOSTILE = "\x1b]0;owned\x07\x9b2J\u202e\r"
SCHEDULE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    transform.debug.emit_remark_at %root, "REMARK" : !transform.any_op
    transform.yield
  }
}
"""
PAYLOAD = """func.func @"f\\1B[2J"(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
"""


def is_printable(text):
    return printable(text) == text


@pytest.fixture
def files(tmp_path):
    payload, schedule = tmp_path / f"p{HOSTILE}.mlir", tmp_path / f"s{HOSTILE}.mlir"
    payload.write_text(PAYLOAD)
    schedule.write_text(SCHEDULE.replace("REMARK", HOSTILE.replace("\r", "")), encoding="utf-8")
    return payload, schedule


def test_every_character_that_steers_is_escaped():
    assert printable(HOSTILE) == "\\x1b]0;owned\\x07\\x9b2J\\u202e\\x0d"
    assert printable("a\tb\nc é → 表 🙂") == "a\tb\nc é → 表 🙂"
    assert printable("\udcff\u2028\u2066\x7f\x00") == "\\udcff\\u2028\\u2066\\x7f\\x00"


@pytest.mark.parametrize(
    "command",
    [
        ("trace", "PAYLOAD", "SCHEDULE"),
        ("trace", "PAYLOAD", "SCHEDULE", "--diff", "0"),
        ("check", "SCHEDULE"),
        ("run", "PAYLOAD"),
        ("upgrade", "SCHEDULE"),
        ("trace", "PAYLOAD", "PAYLOAD"),
        ("check", f"no{HOSTILE}.mlir"),
        ("trace", "PAYLOAD", "SCHEDULE", "--entry", HOSTILE),
        ("compare", "PAYLOAD", "SCHEDULE"),
        ("bench", "PAYLOAD", f"--no{HOSTILE}"),
        (f"comm{HOSTILE}and",),
    ],
    ids=range(11),
)
def test_commands_write_printable_text(command, files, lhkit_here):
    given = dict(zip(("PAYLOAD", "SCHEDULE"), files, strict=True))
    done = lhkit_here(*(given.get(word, word) for word in command))
    assert done.stdout or done.stderr
    assert is_printable(done.stdout) and is_printable(done.stderr)
    assert done.returncode in (0, 1, 2)


def test_json_is_as_it_was(files, lhkit_here):
    done = lhkit_here("trace", *files, "--json", "-")
    assert json.loads(done.stdout)["payload"]["source"] == str(files[0])


def test_reprs_and_errors_are_printable(files, worker):
    payload = load_payload(files[0], worker=worker)
    schedule = load_schedule(files[1], worker=worker)
    values = [
        payload,
        schedule,
        lhkit.trace(payload, schedule, worker=worker),
        lhkit.check(schedule, worker=worker),
    ]
    for value in values:
        assert is_printable(value._repr_mimebundle_()["text/plain"])
    assert all(is_printable(repr(value)) for value in values)
    assert is_printable(str(usage_error(f"no {HOSTILE}", HOSTILE)))


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_terminal_without_unicode_gets_replaced_characters(encoding, tmp_path, monkeypatch):
    with (
        (tmp_path / "out").open("w", encoding=encoding) as out,
        (tmp_path / "err").open("w", encoding=encoding) as err,
    ):
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        replace_unencodable()
        say("a → b")
        say("a → b", err=True)
        (tmp_path / "é→.mlir").write_text("module {}")
        assert run_program(["check", str(tmp_path / "é→.mlir")]) == 2
    assert (tmp_path / "out").read_text(encoding=encoding) == "a ? b\n"
    assert (tmp_path / "err").read_text(encoding=encoding).startswith("a ? b\nlhkit: ")


def test_a_name_that_is_no_text_is_written(tmp_path, lhkit_here):
    payload = os.fsdecode(os.fsencode(tmp_path) + b"/p\xff.mlir")
    Path(payload).write_text(PAYLOAD)
    (tmp_path / "s.mlir").write_text(SCHEDULE)
    done = lhkit_here("trace", payload, "s.mlir", "--html", "t.html", "--json", "t.json", "--markdown", "t.md")
    assert done.returncode == 0, done.stderr
    assert r"p\udcff.mlir" in (tmp_path / "t.html").read_text()
