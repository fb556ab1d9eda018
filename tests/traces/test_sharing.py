"""Payload and schedule in one module, links to Compiler Explorer, command lines."""

import base64
import dataclasses
import json
import zlib

import pytest

from lhkit.model.errors import UsageError
from lhkit.model.payload import Payload
from lhkit.model.schedule import Library, Schedule
from lhkit.model.trace_record import Provenance
from lhkit.text.knob_text import with_knobs_set
from lhkit.traces.report.markdown_report import (
    LONGEST_URL,
    combined,
    compiler_explorer_url,
    interpreter_options,
    shorten,
    trace_command,
)

PAYLOAD = "#map = affine_map<(d0) -> (d0)>\nfunc.func @f() { return }\n"
SCHEDULE = """#map = affine_map<(d0,
  d1) -> (d1)>
#map1 = affine_map<(d0) -> (0)>
module attributes {transform.with_named_sequence, a = #map, b = #map1} {
  %n = transform.tune.knob<"n"> = 8 : i64 from options = [4, 8] -> !transform.param<i64>
  %s = transform.tune.knob<"s"> options = ["a", "b"] -> !transform.any_param
}
"""
PARTS = (
    Payload("/home/somebody/p.mlir", PAYLOAD, ()),
    Schedule("/home/somebody/s.mlir", SCHEDULE, (), (), "__transform_main"),
)


def state_of(url):
    packed = base64.urlsafe_b64decode(url.removeprefix("https://godbolt.org/clientstate/"))
    return json.loads(zlib.decompress(packed))


def test_aliases_stand_outside_and_a_name_for_two_things_becomes_two():
    text = combined(Provenance(*PARTS))
    head, _, rest = text.partition("module attributes {transform.with_named_sequence} {\n")
    assert head.splitlines() == [
        "#map = affine_map<(d0) -> (d0)>",
        "#schedule_map = affine_map<(d0,",
        "  d1) -> (d1)>",
        "#map1 = affine_map<(d0) -> (0)>",
    ]
    assert "a = #schedule_map, b = #map1" in rest
    assert rest.index("// The schedule.") < rest.index("// The payload.") < rest.index("func.func @f")


def test_aliases_that_agree_stay_one():
    same = dataclasses.replace(PARTS[1], text="#map = affine_map<(d0) -> (d0)>\nmodule { }\n")
    assert combined(Provenance(PARTS[0], same)).count("#map = ") == 1


def test_knobs_that_were_set_are_written_as_defaults():
    schedule = dataclasses.replace(PARTS[1], settings=(("n", 4), ("s", "b")))
    text = with_knobs_set(schedule)
    assert 'knob<"n"> = 4 : i64 from options = [4, 8]' in text
    assert 'knob<"s"> = "b" from options = ["a", "b"]' in text
    assert with_knobs_set(PARTS[1]) == SCHEDULE
    with pytest.raises(UsageError, match="'other' cannot be written into"):
        with_knobs_set(dataclasses.replace(PARTS[1], settings=(("other", 1),)))


def test_libraries_do_not_fit_into_one_module():
    schedule = dataclasses.replace(PARTS[1], libraries=(Library("l.mlir", "module {}"),))
    with pytest.raises(UsageError, match=r"includes from l\.mlir"):
        combined(Provenance(PARTS[0], schedule))


def test_a_link_holds_source_compiler_and_options():
    state = state_of(compiler_explorer_url(*PARTS))
    (session,) = state["sessions"]
    assert (session["language"], session["compilers"][0]["id"]) == ("mlir", "mliropttrunk")
    assert session["compilers"][0]["options"] == '--transform-interpreter="debug-payload-root-tag=payload"'
    assert session["source"] == combined(Provenance(*PARTS)) and "/home" not in session["source"]


def test_a_link_that_would_be_too_long_says_by_how_much():
    noise = "\n".join(f"// {i * 2654435761 % 2**32:x}" for i in range(4000))
    with pytest.raises(UsageError) as caught:
        compiler_explorer_url(dataclasses.replace(PARTS[0], text=PAYLOAD + noise), PARTS[1])
    message = caught.value.failure.message.replace(",", "")
    long, over = (int(word) for word in message.split() if word.isdigit() and int(word) != LONGEST_URL)
    assert long - over == LONGEST_URL and over > 0


def test_commands_repeat_entry_knobs_bindings_and_libraries():
    schedule = dataclasses.replace(
        PARTS[1], entry="other", settings=(("n", 4), ("flag", True)), bind=("linalg.matmul", "linalg.add")
    )
    assert trace_command(schedule, "p file.mlir", "s.mlir", ["l.mlir"]) == (
        "lhkit trace 'p file.mlir' s.mlir --entry other --set n=4 --set flag=true"
        " --bind linalg.matmul --bind linalg.add --library l.mlir"
    )
    assert interpreter_options(schedule) == (
        '--transform-interpreter="debug-payload-root-tag=payload entry-point=other'
        ' debug-bind-trailing-args=linalg.matmul,linalg.add"'
    )


def test_files_go_by_their_short_names():
    assert shorten("/a/b.mlir:3:4 and /a/b.mlirbc", {"/a/b.mlir": "b.mlir", "/a/b.mlirbc": "b.mlirbc"}) == (
        "b.mlir:3:4 and b.mlirbc"
    )
