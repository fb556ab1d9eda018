"""Places, failures, knobs and entries: messages people read, and JSON both ways."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lhkit.model.codec import from_json, to_json
from lhkit.model.errors import (
    FAILURE_KINDS,
    Diagnostic,
    Failure,
    InvalidatedHandleError,
    LhkitError,
    ScheduleError,
    UsageError,
    error_for,
)
from lhkit.model.knob import Knob, resolve_knobs
from lhkit.model.schedule import NamedSequence, Schedule, choose_entry
from lhkit.model.signature import ArrayType, Function
from lhkit.model.span import Span, excerpt


def test_excerpt_puts_the_caret_under_the_column():
    text = "first\n  %x = foo.bar %y\n"
    line, caret = excerpt(Span("a.mlir", 2, 8), {"a.mlir": text}).splitlines()
    assert line == "     2 |   %x = foo.bar %y"
    assert line[caret.index("^") :].startswith("foo.bar")


@given(st.integers(1, 400), st.text(st.characters(codec="ascii", exclude_characters="\r\n"), max_size=400))
def test_the_caret_is_under_its_character_however_long_the_line(column, text):
    text = text.replace("\x0b", " ").replace("\x0c", " ")
    text = "".join(c if c.isprintable() else " " for c in text)
    shown = excerpt(Span("f", 1, column), {"f": text})
    if not text:
        assert shown == ""
        return
    line, caret = shown.splitlines()
    at = caret.index("^")
    expected = text[column - 1] if column <= len(text) else ""
    assert line[at : at + 1].strip("…") == expected.strip("…") or column > len(text)


def test_no_excerpt_for_an_unknown_file_or_line():
    assert excerpt(Span("b", 1, 1), {"a": "x"}) == ""
    assert excerpt(Span("a", 9, 1), {"a": "x"}) == ""


def test_a_failure_says_what_where_why_and_what_next():
    note = Diagnostic("note", "made here", Span("s.mlir", 1, 1))
    failure = Failure(
        kind="invalidated-handle",
        message="s.mlir does not apply",
        diagnostics=(Diagnostic("error", "a dead handle\nand the whole op", Span("s.mlir", 2, 3), (note,)),),
        advice="Match again.",
        texts=(("s.mlir", "make\n  use"),),
    )
    assert failure.describe().splitlines() == [
        "s.mlir does not apply",
        "s.mlir:2:3: error: a dead handle …",
        "     2 |   use",
        "           ^",
        "s.mlir:1:1: note: made here",
        "     1 | make",
        "         ^",
        "Match again.",
    ]
    error = error_for(failure)
    assert isinstance(error, InvalidatedHandleError) and isinstance(error, ScheduleError)
    assert error._render_traceback_() == [f"InvalidatedHandleError: {failure.describe()}"]


def test_every_kind_of_failure_has_an_exit_code_and_a_class():
    codes = {kind: Failure(kind=kind, message="m").exit_code for kind in FAILURE_KINDS}
    assert codes["usage"] == codes["payload-parse"] == 2
    assert codes["payload-verify"] == codes["definite"] == codes["lowering"] == 1
    assert codes["crash"] == codes["timeout"] == codes["memory"] == 3
    assert codes["cancelled"] == 130
    assert all(isinstance(error_for(Failure(kind=k, message="m")), LhkitError) for k in FAILURE_KINDS)


def test_values_survive_json():
    failure = Failure(
        kind="crash",
        message="m",
        diagnostics=(Diagnostic("error", "d", Span("f", 1, 2), (Diagnostic("note", "n"),)),),
        texts=(("f", "text"),),
    )
    function = Function("f", (ArrayType("tensor", (None, 3), "float32", "tensor<?x3xf32>"),), (), 4)
    for value in (failure, function, Knob("k", (1, 2.5, True, "a"), None, 3)):
        again = from_json(type(value), json.loads(json.dumps(to_json(value))))
        assert again == value
        assert [type(v) for v in dataclasses.astuple(again)] == [type(v) for v in dataclasses.astuple(value)]


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ({"file": "f", "line": "1", "column": 2}, "Span.line"),
        ({"file": "f", "line": 1}, "Span"),
        ({"file": "f", "line": 1, "column": 2, "extra": 0}, "extra"),
        ([], "Span"),
    ],
)
def test_json_that_does_not_fit_names_the_field(data, where):
    with pytest.raises(ValueError, match=where):
        from_json(Span, data)


def test_knobs_are_resolved_from_settings_and_defaults():
    knobs = (Knob("m", (4, 8), 8, 1), Knob("mode", ("a", "b"), None, 2), Knob("on", (True, False), True, 3))
    assert resolve_knobs(knobs, {"mode": "b", "m": 4}, source="s") == {"m": 4, "mode": "b", "on": True}
    with pytest.raises(UsageError, match="no knob 'n'") as error:
        resolve_knobs(knobs, {"n": 1}, source="s")
    assert "m, mode, on" in str(error.value)
    with pytest.raises(UsageError, match="no default"):
        resolve_knobs(knobs, {}, source="s")
    with pytest.raises(UsageError, match="one of 4, 8"):
        resolve_knobs(knobs, {"mode": "a", "m": 5}, source="s")


def test_knob_values_are_spelled_as_on_the_command_line():
    assert Knob("m", (4, 8), 8, 1).parse("4") == 4
    assert Knob("on", (True, False), True, 1).parse("false") is False
    assert Knob("free", (), None, 1).parse("12") == 12
    assert Knob("free", (), None, 1).parse("1.5") == 1.5
    assert Knob("free", (), None, 1).parse("word") == "word"
    with pytest.raises(UsageError):
        Knob("m", (4, 8), 8, 1).parse("12")
    with pytest.raises(UsageError):
        Knob("m", (1, 0), 1, 1).check(True)


def test_the_entry_is_the_one_named_else_main_else_the_only_public_one():
    main, a, b = (
        NamedSequence(n, (), 1, p) for n, p in (("__transform_main", True), ("a", True), ("b", False))
    )
    assert choose_entry([a, main], None, source="s") == "__transform_main"
    assert choose_entry([a, b], None, source="s") == "a"
    assert choose_entry([a, b], "@b", source="s") == "b"
    with pytest.raises(UsageError, match="no named sequence @c"):
        choose_entry([a, b], "c", source="s")
    with pytest.raises(UsageError, match="2 other public"):
        choose_entry([a, NamedSequence("d", (), 1)], None, source="s")


def test_setting_knobs_gives_a_new_schedule():
    schedule = Schedule("s", "text", (), (Knob("m", (4, 8), 8, 1),), "main")
    changed = schedule.with_knobs({"m": 4})
    assert schedule.values == {"m": 8} and changed.values == {"m": 4}
    assert changed.sha256 == schedule.sha256
