"""Edits of schedules against the real parser: the reading agrees with it, and results are accepted and mean the same."""

import random

import pytest
from texts import ROOT, damaged, generated, shipped
from tutorial_cases import CASES, schedule_text

import lhkit.compiler.ops  # noqa: F401 - its ops are parsed here
from lhkit.compiler.ir.bindings import ir, new_context
from lhkit.load.loader import application_of, load_schedule, sources_of
from lhkit.load.verified_edits import check_agreement, edit_schedule, find_disagreement, read_script
from lhkit.model.errors import LhkitError, ScheduleError, UsageError
from lhkit.model.ir_outline import WrittenOp
from lhkit.text.knob_text import knob_to_literal, requirements_of
from lhkit.text.script import SEQUENCE, Replacement, Script, extent_of, with_replacements
from lhkit.text.step_arguments import set_argument
from lhkit.text.step_edits import (
    disable_step,
    disabled_steps,
    duplicate_step,
    enable_step,
    insert_step,
    move_step,
    remove_step,
    wrap_in_foreach,
)
from lhkit.worker.kernel_requests import KernelSpec, Lower
from lhkit.worker.requests import LoadSchedule, Source

SCHEDULES = {n: t for n, t in shipped().items() if (ROOT / "schedules" / n).exists()}
TUTORIAL = [schedule_text(case.values[0]) for case in CASES]


def outline(text, worker):
    return worker.ask(LoadSchedule(sources_of([("<schedule>", text.encode())]), with_written_ops=True)).written


def script(text, worker):
    parsed = outline(text, worker)
    check_agreement(text, parsed)
    return Script(text, outline=parsed)


def accepted(text, worker):
    """Return a script of a text, None if it consumes a handle twice: the verifier sees that in some regions."""
    try:
        return script(text, worker)
    except ScheduleError as error:
        assert "more than one potential consumer" in str(error)
        return None


def printed(text, *, generic=False, places=False):
    """Return a text as the compiler prints it, names of handles forgotten."""
    with new_context():
        module = ir.Module.parse(text)
        return module.operation.get_asm(print_generic_op_form=generic, enable_debug_info=places)


# What stands in no shipped file: forms that take a reader some care.
FORMS = {
    "old attributes and functions beside": """
#map = affine_map<(d0, d1) -> (d0)>
#line = affine_map<(d0) -> (d0)>
!any = !transform.any_op
module @outer attributes {x.a = "} {", transform.with_named_sequence} { // a comment with { and "
  func.func @f(%a: memref<4xf32>, %i: index) -> (f32, i1) attributes {x.y = affine_map<(d0) -> (d0)>} {
    %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
    cf.br ^bb1(%i : index)
  ^bb1(%j: index):  // pred
    %v = scf.for %k = %j to %i step %i iter_args(%s = %i) -> (index) { scf.yield %s : index }
    affine.for %q = max #map(%i)[%i] to 10 { }
    %g = linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
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
      %q = "transform.get_parent_op"(%each) <{nth_parent = 1 : i64, op_name = "a}b"}> {"x.y" = #map} : (!any) -> !any
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
    assert survived >= len(seeds) / 100
    return count


def test_generated_schedules_are_read_as_they_are_parsed(worker):
    assert agreeing(range(60), worker) == 60


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
        moved = WrittenOp(parsed[0].name, 1, 2, (), (), ())
        check_agreement(text, (moved, *parsed[1:]))
    with pytest.raises(UsageError, match=r"results of transform\.tune\.knob read as %tile_m and are %other"):
        first = parsed[1]
        other = WrittenOp(first.name, first.line, first.column, ("%other",), (), ())
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
    """Return the numbers of steps inside sequences that are no terminators and no patterns."""
    return [
        i
        for i, op in enumerate(s.steps)
        if op.name not in (SEQUENCE, "transform.yield") and "patterns." not in op.name
    ]


def edit_randomly(s, seed, worker):
    """Try every edit on a random step of a schedule; returns the names of those that were made."""
    draw = random.Random(seed)
    text, made = s.text, []
    meaning = printed(text)
    number = draw.choice(steps_to_edit(s))
    op = s.steps[number]
    has_lines = extent_of(text, op, op).has_lines

    def assert_restored(back):
        # A step between others on one line may come back on a separate line.
        assert back == text if has_lines else printed(back) == meaning

    there = check_edited(duplicate_step(s, number), text)
    if (twice := accepted(there, worker)) is not None:
        assert len(twice.steps) - len(s.steps) == len([o for o in op.walk() if o.name.startswith("transform.")])
        copy = next(i for i, o in enumerate(twice.steps) if o.start >= op.end)
        assert_restored(remove_step(twice, copy).text)
        made.append("duplicate")

    there = check_edited(
        insert_step(
            s, "// new\n%new = transform.param.constant 1 : i64 -> !transform.param<i64>", before=number
        ),
        text,
    )
    assert_restored(remove_step(script(there, worker), "%new").text)
    there = check_edited(
        insert_step(s, "%new = transform.param.constant 1 : i64 -> !transform.param<i64>", after=number), text
    )
    assert_restored(remove_step(script(there, worker), "%new").text)

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

    for target in draw.sample(steps_to_edit(s), min(4, len(steps_to_edit(s)))):
        try:
            there = check_edited(move_step(s, number, before=target), text)
        except UsageError:
            continue
        if accepted(there, worker):
            made.append("move")

    if op.operands:
        try:
            there = check_edited(wrap_in_foreach(s, number), text)
        except UsageError as refusal:
            assert "part of a match" in str(refusal)
        else:
            script(there, worker)
            made.append("foreach")
    return made


def test_edits_of_generated_schedules_are_accepted_and_undone(worker):
    made = []
    for seed, text in enumerate(generated(20)):
        made += edit_randomly(script(text, worker), seed, worker)
    assert {name: made.count(name) >= 2 for name in set(made)} == dict.fromkeys(
        ("duplicate", "disable", "remove", "move", "foreach"), True
    )


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_edits_of_shipped_schedules_are_accepted_and_undone(name, worker):
    edit_randomly(script(SCHEDULES[name], worker), 0, worker)


@pytest.mark.heavy
def test_edits_of_1000_generated_schedules_are_accepted_and_undone(worker):
    for seed, text in enumerate(generated(1000)):
        edit_randomly(script(text, worker), seed, worker)


def test_an_edit_of_a_schedule_is_a_new_schedule(worker):
    schedule = load_schedule("fc_relu_tile_fuse.mlir", knobs={"tile_m": 16, "tile_n": 32}, worker=worker)
    new = "%new = transform.param.constant 1 : i64 -> !transform.param<i64>"
    edit = edit_schedule(schedule, lambda s: insert_step(s, new, before="%loops"), worker=worker)
    assert edit.before is schedule and edit.after.text == edit.edited.text != schedule.text
    assert (edit.after.source, edit.after.entry, edit.after.settings) == (
        schedule.source,
        schedule.entry,
        schedule.settings,
    )
    back = edit_schedule(edit.after, lambda s: remove_step(s, "%new"), script=edit.script, worker=worker)
    assert back.after == schedule and edit.script == read_script(edit.after, worker=worker)
    # A script of another text is not used.
    stale = edit_schedule(
        schedule, lambda s: insert_step(s, new, after="%loops"), script=edit.script, worker=worker
    )
    assert stale.after.text.count("%new =") == 1
    without = edit_schedule(schedule, lambda s: knob_to_literal(s, "tile_n", 32), worker=worker).after
    assert [k.name for k in without.knobs] == ["tile_m"] and without.settings == (("tile_m", 16),)
    assert "tile_sizes [%tile_m, 32]" in without.text


def test_an_edit_whose_text_the_compiler_refuses_is_an_error_with_its_place(worker):
    schedule = load_schedule("matmul_tile.mlir", worker=worker)
    with pytest.raises(ScheduleError) as error:
        edit_schedule(schedule, lambda s: set_argument(s, "%tiled", "tile_sizes", "[%matmul]"), worker=worker)
    assert f"{schedule.source}:13:" in str(error.value)
    with pytest.raises(UsageError, match="cannot be removed"):
        edit_schedule(schedule, lambda s: remove_step(s, "%matmul"), worker=worker)


def _is_handed_on(script, knob):
    """Whether a step takes a knob as it is, where no literal can stand."""
    defined = next(d for d in script.handles.definitions if d.name.text == f"%{knob}")
    takers = ("include", "foreach_match", "annotate")
    return any(taker in user.name for _, user in defined.uses for taker in takers)


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_knobs_become_literals(name, worker):
    schedule = load_schedule(name, worker=worker)
    before = read_script(schedule, worker=worker)
    for knob in schedule.knobs:
        if _is_handed_on(before, knob.name):
            with pytest.raises(UsageError, match="It reads the knob's parameter as a handle"):
                edit_schedule(schedule, lambda s, k=knob: knob_to_literal(s, k.name), worker=worker)
            continue
        if any(knob.name in r.names for r in requirements_of(schedule)):
            with pytest.raises(UsageError, match=f"has no knob '{knob.name}'"):
                edit_schedule(schedule, lambda s, k=knob: knob_to_literal(s, k.name), worker=worker)
            continue
        folded = edit_schedule(schedule, lambda s, k=knob: knob_to_literal(s, k.name), worker=worker).after
        assert knob.name not in [k.name for k in folded.knobs]
        assert f"%{knob.name}" not in folded.text


PAYLOAD = """
func.func @f(%a: tensor<16x32xf32>, %b: tensor<32x8xf32>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %m = linalg.matmul ins(%a, %b : tensor<16x32xf32>, tensor<32x8xf32>) outs(%c : tensor<16x8xf32>) -> tensor<16x8xf32>
  %s = linalg.matmul ins(%a, %b : tensor<16x32xf32>, tensor<32x8xf32>) outs(%m : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %s : tensor<16x8xf32>
}
"""
BOTH = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %all = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    // Tiles of both.
    %tiled, %loops:2 = transform.structured.tile_using_for %all tile_sizes [8, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %inner, %sums = transform.structured.tile_using_for %tiled tile_sizes [0, 0, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.loop.unroll %loops#1 {factor = 2} : !transform.any_op
    transform.yield
  }
}
"""


def scheduled(schedule, worker, payload=PAYLOAD):
    """Return the payload as a schedule leaves it."""
    source = Source("payload", "payload", "payload", payload.encode())
    return worker.ask(Lower(KernelSpec(source, "f", application_of(schedule), 0), "scheduled")).value


@pytest.mark.parametrize(
    "edit",
    [
        lambda s: wrap_in_foreach(s, "%tiled"),
        lambda s: wrap_in_foreach(s, "%tiled", "%inner"),
    ],
)
def test_edits_of_structure_leave_the_payload_as_before(edit, worker):
    schedule = load_schedule(BOTH, worker=worker)
    changed = edit_schedule(schedule, edit, worker=worker).after
    assert changed.text != BOTH and "// Tiles of both." in changed.text
    assert scheduled(changed, worker) == scheduled(schedule, worker)
    wrong = edit_schedule(schedule, lambda s: set_argument(s, 4, "factor", "4"), worker=worker).after
    assert scheduled(wrong, worker) != scheduled(schedule, worker)


def test_a_knob_at_its_default_leaves_the_payload_as_the_literal_does(worker):
    # A parameter stands for one payload op.
    one = "\n".join(line for line in PAYLOAD.splitlines() if "%s =" not in line).replace("%s", "%m")
    schedule = load_schedule("matmul_tile.mlir", worker=worker)
    literal = schedule
    for knob in schedule.knobs:
        literal = edit_schedule(literal, lambda s, k=knob: knob_to_literal(s, k.name), worker=worker).after
    expected = scheduled(literal, worker, one)
    other = {k.name: next(o for o in k.options if o != k.default) for k in schedule.knobs}
    assert scheduled(schedule, worker, one) == expected != scheduled(schedule.with_knobs(other), worker, one)
