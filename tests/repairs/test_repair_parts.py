"""What repairs are made of: ops found again in an edited text, steps moved with what they need, results taken away."""

import pytest
from planted_failures import ADD, ANY, FOUR, MAX, PLANTED, TILE_M, text_of, tile, unroll, vectorize

from lhkit.model.errors import Diagnostic
from lhkit.model.span import Span
from lhkit.repairs.repair_context import (
    candidate,
    corresponding_ops,
    distinct,
    moved_before,
    unified_diff,
    with_more_results,
    without_last_results,
)
from lhkit.repairs.unloadable_text import propose_for_text
from lhkit.text.parser import read_steps
from lhkit.text.script import Replacement, Script, with_replacements


def step(script, beginning):
    """Return the step whose text begins like this."""
    return next(op for op in script.steps if script.text[op.start :].startswith(beginning))


def test_a_step_moves_with_what_it_depends_on_and_is_found_again():
    text = text_of(
        ADD + MAX + f"%x = transform.get_producer_of_operand %add[0] : ({ANY}) -> {ANY}\n" + vectorize("%x")
    )
    script = Script(text)
    moved = moved_before(script, step(script, "transform.structured.vectorize"), step(script, "%max"))
    edited = candidate("move-before", "", script, moved).edited
    names = [op.name.removeprefix("transform.") for op in read_steps(edited.text)][1:-1]
    assert names == ["structured.match", "get_producer_of_operand", "structured.vectorize", "structured.match"]
    pairs = corresponding_ops(edited)
    assert len(pairs) == len(script.steps)
    for old, new in pairs.items():
        first = text[old:].partition("\n")[0]
        assert edited.text[new:].startswith(first)


def test_a_step_does_not_move_before_what_it_needs_nor_out_of_its_block():
    script = Script(text_of(ADD + tile("%t, %l", "%add", "[8]", f"({ANY}) -> ({ANY}, {ANY})") + unroll("%l")))
    assert moved_before(script, step(script, "transform.loop.unroll"), step(script, "%t, %l")) is None
    assert moved_before(script, step(script, "%add"), step(script, "%t, %l")) is None


def test_results_are_taken_away_and_added_at_the_end():
    script = Script(text_of(TILE_M))
    op = step(script, "%t, %l:3")
    fewer = with_replacements(script.text, without_last_results(script, op, 1))
    assert (
        f"%t, %l:2 = transform.structured.tile_using_for %m tile_sizes [8, 8, 4] : {FOUR.replace(f'{ANY}, {ANY}, ', f'{ANY}, ', 1)}"
        in fewer
    )
    fewest = with_replacements(script.text, without_last_results(script, op, 3))
    assert (
        f"    %t = transform.structured.tile_using_for %m tile_sizes [8, 8, 4] : ({ANY}) -> ({ANY})\n" in fewest
    )
    assert without_last_results(script, op, 4) is None and without_last_results(script, op, 0) == []
    more = with_replacements(script.text, with_more_results(script, op, ["%k"]))
    assert "%t, %l:3, %k = " in more and f"-> ({', '.join([ANY] * 5)})" in more
    used = Script(text_of(TILE_M + unroll("%l#2")))
    assert without_last_results(used, step(used, "%t, %l:3"), 1) is None


def test_of_candidates_with_one_text_the_least_doubtful_is_tried():
    def replace(new, doubt):
        return candidate("spelling", new, Script("%abc"), [Replacement(0, 4, new)], doubt)

    tried = distinct(
        [replace("%abcdef", 0), replace("%abd", 1), replace("%abcd", 0), replace("%abd", 0), replace("%abc", 0)]
    )
    assert [(c.edited.text, c.doubt) for c in tried] == [("%abcd", 0), ("%abd", 0), ("%abcdef", 0)]
    assert [c.characters_changed for c in tried] == [1, 2, 3]
    assert unified_diff("a\nb\n", "a\nc\n", "x.mlir").splitlines()[:2] == [
        "--- x.mlir",
        "+++ x.mlir (repaired)",
    ]


@pytest.mark.parametrize(
    "message",
    [
        "something else",
        "use of undeclared SSA value name",
        "argument #7 is consumed in the body but is not marked as such",
    ],
)
@pytest.mark.parametrize("place", [(1, 1), (2, 3), (99, 1), (3, 400)])
def test_what_the_compiler_says_of_another_place_gives_no_candidate(message, place):
    text = PLANTED["sizes: a negative one"].wrong_text
    assert propose_for_text(Script(text), Diagnostic("error", message, Span("<schedule>", *place))) == []
    assert propose_for_text(Script(text), Diagnostic("error", message)) == []
