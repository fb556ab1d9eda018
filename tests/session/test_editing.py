"""Edits of schedules against the real parser: the reading agrees with it, and results are accepted and mean the same."""

import random

import pytest
from test_tutorial_sequences import CASES, schedule_text
from texts import ROOT, damaged, generated, shipped

import lhkit
from lhkit.compiler.bindings import ir, new_context
from lhkit.model.errors import LhkitError, ScheduleError, UsageError
from lhkit.model.jsonable import from_json
from lhkit.model.outline import OutlineOp
from lhkit.schedule.agreement import check_agreement, find_disagreement
from lhkit.schedule.edits_arguments import set_argument
from lhkit.schedule.edits_handles import rename_handle, set_operand
from lhkit.schedule.edits_knobs import knob_to_literal, literal_to_knob
from lhkit.schedule.edits_steps import duplicate_step, insert_step, move_step, remove_step
from lhkit.schedule.edits_structure import extract_sequence, inline_include, wrap_in_foreach
from lhkit.schedule.edits_switching import disable_step, disabled_steps, enable_step
from lhkit.schedule.naming import fresh_name, names_in
from lhkit.schedule.script import SEQUENCE, Replacement, Script, with_replacements
from lhkit.session.editing import edit_schedule, read_script
from lhkit.session.loading import describe_sources, load_schedule

SCHEDULES = {n: t for n, t in shipped().items() if (ROOT / "schedules" / n).exists()}
TUTORIAL = [schedule_text(case.values[0]) for case in CASES]


def outline(text, worker):
    described, body = describe_sources([("<schedule>", text.encode())], role="schedule")
    answer = worker.request("outline", {"sources": described}, body)
    return tuple(from_json(OutlineOp, op) for op in answer.header["ops"])


def script(text, worker):
    parsed = outline(text, worker)
    check_agreement(text, parsed)
    return Script(text, outline=parsed)


def printed(text, *, generic=False, places=False):
    """Return a text as the compiler prints it, names of handles forgotten."""
    with new_context():
        module = ir.Module.parse(text)
        return module.operation.get_asm(print_generic_op_form=generic, enable_debug_info=places)


# What stands in no shipped file: forms that take a reader some care.
FORMS = {
    "old attributes and functions beside": """
#map = affine_map<(d0, d1) -> (d0)>
!any = !transform.any_op
module @outer attributes {x.a = "} {", transform.with_named_sequence} { // a comment with { and "
  func.func @f(%a: memref<4xf32>, %i: index) -> (f32, i1) attributes {x.y = affine_map<(d0) -> (d0)>} {
    %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
    cf.br ^bb1(%i : index)
  ^bb1(%j: index):  // pred
    %v = scf.for %k = %j to %i step %i iter_args(%s = %i) -> (index) { scf.yield %s : index }
    affine.for %q = max #map(%i)[%i] to 10 { }
    %g = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "reduction"]}
      ins(%c : tensor<2xf32>) outs(%c : tensor<2xf32>) { ^bb0(%x: f32, %y: f32): linalg.yield %x : f32 } -> tensor<2xf32>
    %t = arith.constant true
    %z = arith.constant 0.0 : f32
    return %z, %t : f32, i1
  }
  transform.named_sequence @__transform_main(%root: !any {transform.readonly}, %p: !transform.op<"linalg.matmul">) {
    %f = transform.structured.match ops{["func.func"]} attributes {x.y = affine_map<(d0) -> (d0)>} in %root : (!any) -> !any
    %0:2, %named = transform.split_handle %f
      : (!any) -> (!any, !any, !any) loc("x.mlir":3:4)
    transform.apply_patterns to %0#1 { transform.apply_patterns.canonicalization } {max_iterations = 3 : i64} : !any
    transform.apply_conversion_patterns to %f {
      transform.apply_conversion_patterns.dialect_to_llvm "index"
    } with type_converter {
      transform.apply_conversion_patterns.memref.memref_to_llvm_type_converter {use_opaque_pointers = true}
    } {legal_dialects = ["llvm"], partial_conversion} : !any
    transform.alternatives %named : !any { ^bb0(%a: !any): transform.yield }, { ^bb0(%a: !any): }
    "transform.foreach"(%f) ({
    ^bb0(%each: !any):
      %q = "transform.get_parent_op"(%each) <{nth_parent = 1 : i64, op_name = "a}b"}> {"transform.x" = #map} : (!any) -> !any
      "transform.yield"() : () -> ()
    }) : (!any) -> ()
    transform.sequence %f : !any failures(suppress) { ^bb0(%in: !any): transform.print %in {name = "//", skip_regions} : !any }
    transform.yield
  }
  module attributes {transform.with_named_sequence} {
    transform.named_sequence private @declared(!any {transform.readonly}) -> !any
  }
}
{-# dialect_resources: { builtin: { r: "0x0400000001000000" } } #-}
""",
    "two modules, ops on one line, windows line ends": """
module attributes {transform.with_named_sequence} { transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) { %a = transform.param.constant 1 : i64 -> !transform.param<i64> %b = transform.num_associations %root : (!transform.any_op) -> !transform.param<i64> transform.yield } }
module { func.func private @f() }
""".replace("\n", "\r\n"),
}


@pytest.mark.parametrize("name", sorted(FORMS))
def test_forms_that_need_care_are_read_as_they_are_parsed(name, worker):
    text = FORMS[name].replace("#map(%i)[%i]", "affine_map<(d0) -> (d0, 0)>(%i)")
    check_agreement(text, outline(text, worker))
    for generic in (False, True):
        for places in (False, True):
            again = printed(text, generic=generic, places=places)
            check_agreement(again, outline(again, worker))


def test_schedules_of_the_project_and_of_the_tutorial_are_read_as_they_are_parsed(worker):
    for text in [*SCHEDULES.values(), *TUTORIAL]:
        check_agreement(text, outline(text, worker))
        again = printed(text, generic=True)
        check_agreement(again, outline(again, worker))


def agreeing(seeds, worker):
    """Return how many schedules, whole and damaged, were read as they are parsed."""
    texts = generated(max(seeds) + 1)
    count = survived = 0
    for seed in seeds:
        check_agreement(texts[seed], outline(texts[seed], worker))
        count += 1
        hurt = damaged(texts[seed], seed, times=1)
        try:
            parsed = outline(hurt, worker)
        except LhkitError:
            continue
        assert find_disagreement(hurt, parsed) is None, f"damaged {seed}"
        survived += 1
    assert survived >= len(seeds) / 50
    return count


def test_generated_schedules_are_read_as_they_are_parsed(worker):
    assert agreeing(range(200), worker) == 200


@pytest.mark.heavy
def test_1000_generated_schedules_are_read_as_they_are_parsed(worker):
    assert agreeing(range(1000), worker) == 1000


def test_a_text_that_is_read_otherwise_is_refused_with_the_place(worker):
    text = SCHEDULES["matmul_tile.mlir"]
    parsed = outline(text, worker)
    with pytest.raises(UsageError) as error:
        check_agreement(text, parsed[:4] + parsed[5:], source="mine.mlir")
    message = str(error.value)
    assert "mine.mlir cannot be edited by steps" in message
    assert (
        "the text has transform.structured.match where the compiler has transform.structured.tile_using_for"
        in message
    )
    assert "mine.mlir:11:15" in message and message.splitlines()[3].index("^") == 9 + 14
    with pytest.raises(UsageError, match="reads as 7 transform ops, and the compiler has 6"):
        check_agreement(text, parsed[:-1])
    with pytest.raises(UsageError, match="stands at line 1, column 2 for the compiler"):
        moved = OutlineOp(parsed[0].name, 1, 2, (), (), (), ())
        check_agreement(text, (moved, *parsed[1:]))
    with pytest.raises(UsageError, match="results of transform.tune.knob read as %tile_m and are %other"):
        first = parsed[1]
        other = OutlineOp(first.name, first.line, first.column, ("%other",), (), (), ())
        check_agreement(text, (parsed[0], other, *parsed[2:]))


def check_edited(edited, text):
    """Hold an edit against what it says of itself: only its places differ, and they lead back."""
    assert edited.before == text and edited.title
    assert with_replacements(text, edited.replacements) == edited.text
    back, shift = [], 0
    for r in edited.replacements:
        back.append(Replacement(r.start + shift, r.start + shift + len(r.text), text[r.start : r.end]))
        shift += len(r.text) - (r.end - r.start)
    assert with_replacements(edited.text, back) == text
    return edited.text


def steps_to_edit(s):
    """Return the numbers of steps inside sequences that are no terminators."""
    return [
        i
        for i, op in enumerate(s.steps)
        if op.name not in (SEQUENCE, "transform.yield") and "apply_patterns." not in op.name
    ]


def edit_randomly(s, seed, worker):
    """Try every edit on a random step of a schedule; returns the names of those that were made."""
    draw = random.Random(seed)
    text, made = s.text, []
    meaning = printed(text)
    number = draw.choice(steps_to_edit(s))
    op = s.steps[number]

    renamed = draw.choice(s.handles.definitions)
    new = fresh_name("%renamed", names_in(text))
    at = s.number_of(renamed.op)
    there = check_edited(rename_handle(s, renamed.name.text, new, at=at), text)
    assert printed(there) == meaning and there != text
    again = rename_handle(Script(there), new, renamed.name.text)
    assert check_edited(again, there) == text

    there = check_edited(duplicate_step(s, number), text)
    twice = script(there, worker)
    assert len(twice.steps) - len(s.steps) == len([o for o in op.walk() if o.name.startswith("transform.")])
    copy = next(i for i, o in enumerate(twice.steps) if o.start > op.start and i > number and o.start >= op.end)
    assert remove_step(twice, copy).text == text

    there = check_edited(
        insert_step(
            s, "// new\n%new = transform.param.constant 1 : i64 -> !transform.param<i64>", before=number
        ),
        text,
    )
    assert remove_step(script(there, worker), "%new").text == text
    there = check_edited(
        insert_step(s, "%new = transform.param.constant 1 : i64 -> !transform.param<i64>", after=number), text
    )
    assert remove_step(script(there, worker), "%new").text == text

    for edit, name in ((disable_step, "disable"), (remove_step, "remove")):
        try:
            there = check_edited(edit(s, number, with_dependents=True), text)
        except UsageError:
            continue
        script(there, worker)
        made.append(name)
        if name == "disable":
            for _ in disabled_steps(there):
                there = enable_step(Script(there), 0).text
            assert there == text

    target = draw.choice(steps_to_edit(s))
    try:
        there = check_edited(move_step(s, number, before=target), text)
    except UsageError:
        there = None
    if there is not None:
        script(there, worker)
        made.append("move")

    if op.operands:
        script(check_edited(wrap_in_foreach(s, number), text), worker)
        made.append("foreach")
    there = check_edited(extract_sequence(s, "@extracted", number), text)
    extracted = script(there, worker)
    include = next(
        i
        for i, o in enumerate(extracted.steps)
        if o.name == "transform.include" and "@extracted" in there[o.start : o.end]
    )
    back = script(check_edited(inline_include(extracted, include), there), worker)
    assert printed(remove_step(back, "@extracted").text) == meaning
    return made


def test_edits_of_generated_schedules_are_accepted_and_undone(worker):
    made = []
    for seed, text in enumerate(generated(60)):
        made += edit_randomly(script(text, worker), seed, worker)
    assert {name: made.count(name) >= 5 for name in set(made)} == dict.fromkeys(
        ("disable", "remove", "move", "foreach"), True
    )


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_edits_of_shipped_schedules_are_accepted_and_undone(name, worker):
    for seed in range(2):
        edit_randomly(script(SCHEDULES[name], worker), seed, worker)


@pytest.mark.heavy
def test_edits_of_1000_generated_schedules_are_accepted_and_undone(worker):
    for seed, text in enumerate(generated(1000)):
        edit_randomly(script(text, worker), seed, worker)
