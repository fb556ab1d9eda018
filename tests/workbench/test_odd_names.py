"""Sequences with odd names: every export of a workbench is a valid file, or a typed error that says why."""

import json

import pytest

import lhkit
from lhkit.compose.builder.builder_code import builder_code
from lhkit.model.errors import LhkitError, UsageError
from lhkit.workbench.workbench_exports import EXPORTS, exported

ODD = [
    "a b",
    "</script><img src=x onerror=window.pwned=1>",
    "$(touch pwned)",
    "a\nb",
    'q"uote',
    "back\\slash",
    "größe",
    "1st",
    "$",
    "a::b",
    "a#1",
    "\x1b[31m",
    "`'%{}",
    "\u202ex",
    "\u2028",
]
PLAIN = ["class", "s", "lhkit", "schedule", "a.b"]
ANY = "!transform.any_op"
# An entry, and a sequence that it includes.
ENTRY = f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence NAME(%root: {ANY} {{transform.readonly}}) {{
    %op = transform.structured.match ops{{["linalg.matmul"]}} in %root : ({ANY}) -> {ANY}
    %n = transform.tune.knob<"n"> = 8 : i64 from options = [4, 8] -> !transform.param<i64>
    transform.annotate %op "tile" = %n : {ANY}, !transform.param<i64>
    transform.include INNER failures(propagate) (%op) : ({ANY}) -> ()
    transform.yield
  }}
  transform.named_sequence private INNER(%op: {ANY} {{transform.readonly}}) {{
    transform.annotate %op "seen" : {ANY}
    transform.yield
  }}
}}
"""


def quoted(name):
    """Return a symbol as a text may spell it, every byte that is no letter escaped."""
    shown = (chr(b) if chr(b).isalnum() and b < 128 else f"\\{b:02X}" for b in name.encode())
    return f'@"{"".join(shown)}"'


def text_of(name):
    return ENTRY.replace("NAME", quoted(name)).replace("INNER", quoted(f"{name}."))


@pytest.mark.parametrize("name", ODD + PLAIN)
def test_every_export_is_a_valid_file_or_says_why_it_is_none(name, open_bench, worker):
    bench = open_bench(text_of(name))
    assert bench.workbench.trace.outcome.status == "ok"
    made = {}
    for kind in EXPORTS:
        try:
            made[kind] = exported(bench.workbench, kind)
        except LhkitError as error:
            made[kind] = error
    for kind in ("schedule", "portable"):
        again = lhkit.load_schedule(made[kind].decode(), worker=worker)
        assert {s.name for s in again.sequences} == {s.name for s in bench.session.schedule.sequences}
    code = made.pop("code")
    if name in PLAIN:
        found = {}
        exec(compile(code, "<code>", "exec"), found)
        built = found["schedule"]
        assert built.entry == name and {s.name for s in built.sequences} == {name, f"{name}."}
    else:
        assert isinstance(code, UsageError)
        assert "a builder does not" in str(code) or "in a builder" in str(code)
    assert json.loads(made["state"])
    assert made["page"].startswith(b"<!DOCTYPE html>") and b"<img src=x" not in made["page"]
    assert b"# " in made["markdown"] and made["report"].startswith(b"PK")


def test_the_refusal_names_the_place(worker):
    schedule = lhkit.load_schedule(text_of("a b"), name="odd.mlir", worker=worker)
    with pytest.raises(UsageError, match="cannot be the name of a sequence in a builder") as caught:
        builder_code(schedule, worker=worker)
    assert "odd.mlir:2:" in str(caught.value) and '@"a\\20b"' in str(caught.value)
    assert "Rename it" in str(caught.value)


@pytest.mark.parametrize("name", ["a b", "class", "größe", "a#1"])
def test_steps_are_added_to_an_entry_with_an_odd_name_and_it_is_duplicated(name, open_bench):
    bench = open_bench(text_of(name))
    assert bench.session.schedule.entry == name
    bench.do("add_step", op="transform.apply_cse", fields={"target": "%op"})
    assert "transform.apply_cse to %op" in bench.session.text, bench.notice
    bench.do("duplicate_step", step="2:3")
    assert len(bench.session.schedule.sequences) == 3, bench.notice


def test_handles_whose_names_differ_in_signs_alone_are_different_variables(worker):
    text = f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.readonly}}) {{
    %a.b = transform.structured.match ops{{["linalg.fill"]}} in %root : ({ANY}) -> {ANY}
    %a_b = transform.structured.match ops{{["linalg.matmul"]}} in %root : ({ANY}) -> {ANY}
    transform.annotate %a.b "first" : {ANY}
    transform.annotate %a_b "second" : {ANY}
    transform.yield
  }}
}}
"""
    found = {}
    exec(
        compile(builder_code(lhkit.load_schedule(text, worker=worker), worker=worker), "<code>", "exec"), found
    )
    built = found["schedule"].text
    assert 'transform.annotate %a.b "first"' in built and 'transform.annotate %a_b "second"' in built
