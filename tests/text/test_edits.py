"""Edits as texts: what changes, what does not, and what is refused with which words."""

import difflib

import pytest

from lhkit.model.errors import UsageError
from lhkit.text.knob_text import knob_to_literal
from lhkit.text.script import Script
from lhkit.text.step_arguments import arguments_of, result_types_of, set_argument, types_of
from lhkit.text.step_edits import (
    dependents_of,
    disable_step,
    disabled_steps,
    duplicate_step,
    enable_step,
    insert_step,
    move_step,
    remove_step,
    replace_step,
    wrap_in_foreach,
)

ANY = "!transform.any_op"
TEXT = f"""// Payload: anything.
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{
    // The product.
    %mm = transform.structured.match ops{{["linalg.matmul"]}} in %root : ({ANY}) -> {ANY} // keep

    // Tiles,
    // two loops.
    %tiled, %loops:2 = transform.structured.tile_using_for %mm tile_sizes [8, 32]
      : ({ANY}) -> ({ANY}, {ANY}, {ANY})
    transform.loop.unroll %loops#1 {{factor = 4}} : {ANY} // twice?
    transform.foreach %tiled : {ANY} {{
    ^bb0(%each: {ANY}):
      transform.structured.vectorize %each : {ANY}
    }}
    transform.include @clean failures(propagate) (%root) : ({ANY}) -> ()
    transform.yield
  }}

  transform.named_sequence private @clean(%root: {ANY} {{transform.readonly}}) {{
    %mm = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}
    transform.apply_cse to %mm : {ANY}
    transform.yield
  }}
}}
"""
SCRIPT = Script(TEXT, "mine.mlir")
MAIN, MATCH, TILE, UNROLL, FOREACH, VECTORIZE, INCLUDE, YIELD, CLEAN = range(9)


def changes(edited, text=TEXT):
    """Return the lines that an edit took away and those that it brought, with signs."""
    lines = difflib.ndiff(text.splitlines(), edited.text.splitlines())
    return [line[0] + line[2:].replace(ANY, "T") for line in lines if line[0] in "+-"]


def refusal(edit, *arguments, **options):
    """Return the message with which an edit is refused."""
    with pytest.raises(UsageError) as error:
        edit(*arguments, **options)
    assert error.value.failure.kind == "usage"
    return str(error.value)


def test_steps_are_found_by_number_handle_and_sequence():
    assert [SCRIPT.find(r).name for r in (1, "%tiled", "%loops#1", "@clean")] == [
        "transform.structured.match",
        "transform.structured.tile_using_for",
        "transform.structured.tile_using_for",
        "transform.named_sequence",
    ]
    assert SCRIPT.number_of(SCRIPT.find("@clean")) == CLEAN
    assert refusal(SCRIPT.find, 12) == "no op has the number 12; those of mine.mlir are 0 to 11"
    assert (
        refusal(SCRIPT.find, "%mm")
        == "%mm is defined by several steps, at lines 5, 21; give the number of the step"
    )
    assert refusal(SCRIPT.find, "%x") == "no step of mine.mlir defines %x"


def test_ops_of_other_dialects_are_steps_inside_of_sequences():
    own = insert_step(SCRIPT, f"%call = mine.call %tiled : {ANY}", after=UNROLL)
    script = Script(own.text)
    assert [op.name for op in script.steps].count("mine.call") == 1 and script.find("%call").name == "mine.call"
    assert remove_step(script, "%call").text == TEXT
    beside = Script(TEXT + "func.func private @f()\n")
    assert [op.name for op in beside.steps] == [op.name for op in SCRIPT.steps]
    off = disable_step(script, "%call").text
    assert [d.name for d in disabled_steps(off)] == ["mine.call"] and enable_step(
        Script(off), 0
    ).text == own.text


def test_comments_belong_to_the_step_below_or_before_them():
    op = SCRIPT.find(TILE)
    assert TEXT[op.lead : op.start] == "// Tiles,\n    // two loops.\n    "
    unroll = SCRIPT.find(UNROLL)
    assert TEXT[unroll.end : unroll.tail] == " // twice?"
    assert SCRIPT.find(MATCH).lead == TEXT.index("// The product")
    apart = Script("// far\n\n// near\na.b // end\n")
    assert apart.syntax.ops[0].lead == 8


def test_insert_before_behind_and_inside():
    line = "%p = transform.param.constant 1 : i64 -> !transform.param<i64>"
    assert changes(insert_step(SCRIPT, line, before=TILE)) == [f"+    {line}"]
    assert insert_step(SCRIPT, line, before=TILE).text.index(line) == TEXT.index("// Tiles")
    assert changes(insert_step(SCRIPT, f"  // Why.\n  {line}\n", after=UNROLL)) == [
        "+    // Why.",
        f"+    {line}",
    ]
    after = insert_step(SCRIPT, line, after=UNROLL).text
    assert after.index(line) > TEXT.index("// twice?")
    inside = insert_step(SCRIPT, line, inside=FOREACH).text.splitlines()
    assert inside[inside.index(f"      {line}") - 1].strip().startswith("transform.structured.vectorize")
    end = insert_step(SCRIPT, line, inside="@__transform_main").text.splitlines()
    assert end[end.index(f"    {line}") + 1] == "    transform.yield"
    empty = Script("module {\n  transform.named_sequence @f() {\n  }\n}\n")
    assert insert_step(empty, line, inside="@f").text.splitlines()[2:4] == [f"    {line}", "  }"]


def test_inserted_handles_get_free_names():
    lines = f"""%tiled, %loops:2 = transform.structured.tile_using_for %tiled tile_sizes [2, 2] : ({ANY}) -> ({ANY}, {ANY}, {ANY})
transform.loop.unroll %loops#1 {{factor = 2}} : {ANY}
transform.foreach %tiled : {ANY} {{
^bb0(%each: {ANY}):
  %root = transform.get_parent_op %each : ({ANY}) -> {ANY}
}}"""
    edited = insert_step(SCRIPT, lines, after=UNROLL)
    added = [line.strip() for line in changes(edited)]
    assert added[0].startswith(
        "+    %tiled_1, %loops_1:2 = transform.structured.tile_using_for %tiled tile_sizes"
    )
    assert "unroll %loops_1#1 " in added[1] and "foreach %tiled_1 " in added[2] and "%each: T" in added[3]
    assert "%root_1 = transform.get_parent_op %each" in added[4]
    assert edited.notes[0] == "%tiled is called %tiled_1 here, since the name is taken"


def test_insert_refuses():
    assert (
        refusal(insert_step, SCRIPT, "transform.yield")
        == "say where to insert: exactly one of before, after and inside"
    )
    assert refusal(insert_step, SCRIPT, "// only a comment", before=1) == "the text to insert has no op in it"
    message = refusal(insert_step, SCRIPT, "transform.print", after=YIELD)
    assert message.startswith(
        "mine.mlir:17:5: error: nothing can follow transform.yield (line 17): it ends its block\n"
    )
    assert "transform.loop.unroll (line 11) has no steps inside" in refusal(
        insert_step, SCRIPT, "a.b\ntransform.print", inside=3
    )


def test_replace_keeps_comments():
    edited = replace_step(SCRIPT, UNROLL, f"transform.loop.peel %loops#1\n  : ({ANY}) -> ({ANY}, {ANY})")
    assert changes(edited) == [
        "-    transform.loop.unroll %loops#1 {factor = 4} : T // twice?",
        "+    transform.loop.peel %loops#1",
        "+      : (T) -> (T, T) // twice?",
    ]
    assert "must be one op" in refusal(replace_step, SCRIPT, UNROLL, "transform.print\ntransform.print")
    assert "must be one op" in refusal(replace_step, SCRIPT, UNROLL, "nothing")


def test_remove_takes_comments_along_and_lists_dependents():
    assert changes(remove_step(SCRIPT, UNROLL)) == [
        "-    transform.loop.unroll %loops#1 {factor = 4} : T // twice?"
    ]
    assert [SCRIPT.number_of(op) for op in dependents_of(SCRIPT, MATCH)] == [TILE, UNROLL, FOREACH]
    message = refusal(remove_step, SCRIPT, TILE)
    assert message.splitlines()[0] == (
        "mine.mlir:9:24: error: transform.structured.tile_using_for (line 9) cannot be removed: "
        "transform.loop.unroll (line 11), transform.foreach (line 12) depend on it"
    )
    assert "with_dependents=True" in message and "     9 |     %tiled" in message
    edited = remove_step(SCRIPT, TILE, with_dependents=True)
    assert (
        "tile_using_for" not in edited.text and "foreach" not in edited.text and "// Tiles" not in edited.text
    )
    assert edited.notes == (
        "removed transform.loop.unroll (line 11) too",
        "removed transform.foreach (line 12) too",
    )
    assert "it ends its block" in refusal(remove_step, SCRIPT, YIELD)
    assert "transform.include (line 16) depend on it" in refusal(remove_step, SCRIPT, "@clean")


def test_remove_refuses_what_a_terminator_hands_on():
    text = TEXT.replace("transform.yield\n  }\n\n", f"transform.yield %mm : {ANY}\n  }}\n\n")
    message = refusal(remove_step, Script(text), MATCH, with_dependents=True)
    assert "a terminator hands on its results" in message and "transform.yield %mm" in message


def test_move_keeps_every_handle_defined():
    edited = move_step(SCRIPT, INCLUDE, before=MATCH)
    line = "    transform.include @clean failures(propagate) (%root) : (T) -> ()"
    assert changes(edited) == [f"+{line}", f"-{line}"]
    assert edited.text.index("@clean fail") < edited.text.index("// The product")
    deeper = move_step(SCRIPT, INCLUDE, after=VECTORIZE)
    assert changes(deeper) == [f"+  {line}", f"-{line}"]
    message = refusal(move_step, SCRIPT, UNROLL, before=TILE)
    assert message.startswith(
        "mine.mlir:9:13: error: transform.loop.unroll (line 11) cannot move there: it uses %loops#1, defined at line 9, "
        "which it cannot read there\n     9 |     %tiled"
    )
    message = refusal(move_step, SCRIPT, MATCH, after=TILE)
    assert "cannot move there: transform.structured.tile_using_for (line 9) uses %mm" in message
    assert "cannot move there: it uses %each" in refusal(move_step, SCRIPT, VECTORIZE, after=INCLUDE)
    assert "nothing can follow transform.yield" in refusal(move_step, SCRIPT, UNROLL, after=YIELD)
    assert "cannot move into itself" in refusal(move_step, SCRIPT, FOREACH, before=VECTORIZE)
    assert "ends its block" in refusal(move_step, SCRIPT, YIELD, before=UNROLL)
    assert "a step must be inside a sequence" in refusal(move_step, SCRIPT, UNROLL, before="@clean")
    assert "it uses %loops#1" in refusal(move_step, SCRIPT, UNROLL, before=CLEAN + 2)
    closed = Script(TEXT.replace("transform.foreach %tiled", "transform.alternatives %tiled"))
    assert "it uses %root, defined at line 3, which it cannot read there" in refusal(
        move_step, closed, INCLUDE, before=VECTORIZE
    )


def test_a_moved_step_gets_free_names():
    inner = f"    transform.foreach %mm : {ANY} {{\n    ^bb0(%each: {ANY}):\n      %x = mine.op %each : {ANY}\n    }}\n"
    other = f"    transform.foreach %mm : {ANY} {{\n    ^bb0(%each: {ANY}):\n      %x = mine.op %mm : {ANY}\n    }}\n"
    script = Script(TEXT.replace("    transform.include", other + inner + "    transform.include"))
    foreach = [i for i, op in enumerate(script.steps) if op.name == "transform.foreach"]
    nested = move_step(script, foreach[2], before=VECTORIZE)
    assert nested.notes == ("%each is called %each_1 there, since the name is taken",)
    assert "^bb0(%each_1: " in nested.text and "%x = mine.op %each_1 " in nested.text
    # Out of its region, the handle would stand before another one of its name.
    outside = move_step(script, foreach[1] + 1, before=foreach[1])
    assert outside.notes == ("%x is called %x_1 there, since the name is taken",)
    assert "\n    %x_1 = mine.op %mm" in outside.text and "%x = mine.op %each" in outside.text


def test_duplicate_gives_fresh_names():
    edited = duplicate_step(SCRIPT, TILE)
    assert "%tiled_1, %loops_1:2 = transform.structured.tile_using_for %mm tile_sizes [8, 32]" in edited.text
    assert len(changes(edited)) == 4 and edited.notes == (
        "%tiled of the copy is called %tiled_1",
        "%loops of the copy is called %loops_1",
    )
    copied = duplicate_step(SCRIPT, "@clean").text
    assert copied.count("@clean_1(") == 1 and copied.count("@clean(") == 1
    assert "ends its block" in refusal(duplicate_step, SCRIPT, YIELD)


def test_disabled_steps_stay_in_the_text():
    edited = disable_step(SCRIPT, FOREACH)
    assert [c for c in changes(edited) if c[0] == "+"] == [
        "+    //lhkit:off transform.foreach %tiled : T {",
        "+    //lhkit:off+ ^bb0(%each: T):",
        "+      //lhkit:off+ transform.structured.vectorize %each : T",
        "+    //lhkit:off+ }",
    ]
    (off,) = disabled_steps(edited.text)
    assert (off.name, off.line) == ("transform.foreach", 12) and off.text.endswith("\n    }")
    assert enable_step(Script(edited.text), 0).text == TEXT
    both = disable_step(SCRIPT, TILE, with_dependents=True)
    assert [d.name.rpartition(".")[2] for d in disabled_steps(both.text)] == [
        "tile_using_for",
        "unroll",
        "foreach",
    ]
    # The marks belong to no step: taking the next one away leaves them.
    rest = Script(both.text)
    kept = remove_step(rest, next(i for i, op in enumerate(rest.steps) if op.name == "transform.include"))
    assert len(disabled_steps(kept.text)) == 3


def test_disabling_twice_keeps_blank_lines_and_marks_apart():
    text = TEXT.replace("%each: !transform.any_op):\n", "%each: !transform.any_op):\n\n   \n")
    first = disable_step(Script(text), VECTORIZE)
    second = disable_step(Script(first.text), FOREACH)
    assert len(disabled_steps(second.text)) == 1
    assert enable_step(Script(second.text), 0).text == first.text
    assert enable_step(Script(first.text), 0).text == text


def test_disable_refuses():
    assert "cannot be switched off: transform.loop.unroll" in refusal(disable_step, SCRIPT, TILE)
    assert "it ends its block" in refusal(disable_step, SCRIPT, YIELD)
    line = Script(
        f"module {{ transform.named_sequence @f(%a: {ANY}) {{ transform.print %a : {ANY} transform.yield }} }}"
    )
    assert "something stands behind it on its last line" in refusal(disable_step, line, 1)
    assert refusal(enable_step, SCRIPT, 0) == "no step number 0 is switched off; 0 are"


ARGUMENTS = f"""
transform.structured.tile_using_for %a tile_sizes [8, [4], %b] interchange = [1, 0] {{x.y = #m<a, b>, flag}} : ({ANY}, {ANY}) -> ()
transform.structured.split %a after 4 {{dimension = 0 : i64}} : {ANY}
transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct"
transform.structured.match ops{{["linalg.matmul", "linalg.add"]}} attributes {{iterator = "a, b"}} in %a : ({ANY}) -> {ANY}
"transform.get_parent_op"(%a) <{{nth_parent = -1 : i64, deduplicate}}> : ({ANY}) -> {ANY}
"""


def test_a_word_that_introduces_a_region_is_no_argument():
    text = (
        "transform.apply_conversion_patterns to %a { transform.x.patterns } "
        "with type_converter { transform.x.converter } {partial_conversion} : !transform.any_op"
    )
    (op, *_) = Script(text).steps
    assert [a.name for a in arguments_of(op)] == ["partial_conversion"]


def test_types_are_found_with_parentheses_and_without():
    def types(text):
        (op, *_) = Script(text).steps
        return [[text[start:end] for start, end in found] for found in (types_of(op), result_types_of(op))]

    assert types("transform.a.b %a, %b : (!t, !u) -> (!v, !w)") == [["!t", "!u"], ["!v", "!w"]]
    assert types("transform.a.b %a : !t -> !v, !w { transform.yield }") == [["!t"], ["!v", "!w"]]
    assert types('transform.tune.knob<"k"> = 4 : i64 from options = [4] -> !v') == [[], ["!v"]]
    assert types("transform.a.b %a : !t") == [["!t"], []]
    assert types("transform.a.b") == [[], []]


def test_arguments_are_found_by_name():
    script = Script(ARGUMENTS)
    found = [[(a.name, a.form, ARGUMENTS[a.start : a.end]) for a in arguments_of(op)] for op in script.steps]
    assert found == [
        [
            ("tile_sizes", "list", "[8, [4], %b]"),
            ("interchange", "list", "[1, 0]"),
            ("x.y", "entry", "#m<a, b>"),
            ("flag", "entry", ""),
        ],
        [("after", "word", "4"), ("dimension", "entry", "0 : i64")],
        [("lowering_strategy", "word", '"outerproduct"')],
        [("ops", "braces", '{["linalg.matmul", "linalg.add"]}'), ("iterator", "entry", '"a, b"')],
        [("nth_parent", "entry", "-1 : i64"), ("deduplicate", "entry", "")],
    ]


@pytest.mark.parametrize(
    ("step", "name", "value", "index", "old", "new"),
    [
        (0, "tile_sizes", "[1]", None, "[8, [4], %b]", "[1]"),
        (0, "tile_sizes", "16", 0, "[8,", "[16,"),
        (0, "tile_sizes", "16", 1, "[4],", "16,"),
        (0, "x.y", "3 : i64", None, "#m<a, b>", "3 : i64"),
        (0, "flag", "false", None, "flag}", "flag = false}"),
        (0, "flag", None, None, ", flag}", "}"),
        (0, "x.y", None, None, "x.y = #m<a, b>, ", ""),
        (0, "more", "", None, ", flag}", ", flag, more}"),
        (1, "after", "%p", None, "after 4", "after %p"),
        (1, "dimension", None, None, " {dimension = 0 : i64}", ""),
        (2, "lowering_strategy", '"dot"', None, '"outerproduct"', '"dot"'),
        (2, "new", "1", None, '"outerproduct"', '"outerproduct" {new = 1}'),
        (3, "ops", '["linalg.max"]', None, '["linalg.matmul", "linalg.add"]', '["linalg.max"]'),
        (4, "nth_parent", "2 : i64", None, "-1 : i64", "2 : i64"),
    ],
)
def test_set_argument_touches_nothing_else(step, name, value, index, old, new):
    edited = set_argument(Script(ARGUMENTS), step, name, value, index=index)
    head, _, tail = ARGUMENTS.partition(old)
    assert edited.text == head + new + tail


def test_a_first_entry_goes_before_the_types_or_behind_the_region():
    assert 'ops{["linalg.matmul"]} in %root {x.y} : (' in set_argument(SCRIPT, MATCH, "x.y", "").text
    assert "      transform.structured.vectorize %each {create_named_contraction} : " in (
        set_argument(SCRIPT, VECTORIZE, "create_named_contraction", "").text
    )


def test_set_argument_refuses():
    script = Script(ARGUMENTS)
    assert "tile_sizes of transform" in refusal(set_argument, script, 0, "tile_sizes", "1", index=3)
    assert "has 3 elements, no number 3" in refusal(set_argument, script, 0, "tile_sizes", "1", index=3)
    assert "has no sizes, so no element 0" in refusal(set_argument, script, 0, "sizes", "1", index=0)
    assert "has no sizes" in refusal(set_argument, script, 0, "sizes", None)
    assert "cannot do without tile_sizes" in refusal(set_argument, script, 0, "tile_sizes", None)


KNOB = '%tile_n = transform.tune.knob<"tile_n"> = 32 : i64 from options = [16, 32] -> !transform.param<i64>'
KNOBBED = (
    insert_step(SCRIPT, KNOB, before=TILE)
    .text.replace("[8, 32]", "[8, %tile_n]")
    .replace(
        f": ({ANY}) -> ({ANY}, {ANY}, {ANY})", f": ({ANY}, !transform.param<i64>) -> ({ANY}, {ANY}, {ANY})"
    )
)


def test_a_knob_becomes_a_literal():
    knobbed = Script(KNOBBED, "mine.mlir")
    assert knob_to_literal(knobbed, "tile_n").text == TEXT
    assert "tile_sizes [8, 16]" in knob_to_literal(knobbed, "tile_n", 16).text


def test_knobs_refuse():
    assert refusal(knob_to_literal, SCRIPT, "t") == "mine.mlir has no knob 't'; it has none"
    bare = KNOBBED.replace("= 32 : i64 from options", "options")
    assert "the knob 'tile_n' has no default" in refusal(knob_to_literal, Script(bare), "tile_n")
    handed = KNOBBED.replace(
        "(%root) : (!transform.any_op) -> ()", "(%root, %tile_n) : (!transform.any_op, i64) -> ()"
    )
    assert "takes no integer in the place of %tile_n" in refusal(knob_to_literal, Script(handed), "tile_n")


def test_structure_refuses():
    assert "does not read %loops#0" in refusal(wrap_in_foreach, SCRIPT, UNROLL, handle="%loops#0")
    assert "does not follow" in refusal(wrap_in_foreach, SCRIPT, UNROLL, TILE)
