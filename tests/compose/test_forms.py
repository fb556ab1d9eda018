"""Forms to text without the compiler, and what is seen to be wrong with them."""

import pytest

from lhkit.compose.form_text import (
    form_problems,
    form_text,
    generic_form_text,
    kind_of_type,
    mixed_entries,
)
from lhkit.model.errors import UsageError
from lhkit.model.op_catalogue import (
    Assembly,
    AttributeSpec,
    Catalogue,
    CatalogueOp,
    EnumCase,
    OperandSpec,
    Piece,
    RegionSpec,
    ResultSpec,
)
from lhkit.model.step_form import DYNAMIC, Form, FormBlock, TypedName

OP = "!transform.any_op"
TARGET, SIZE, LOOP = TypedName("%mm", OP), TypedName("%size", "!transform.param<i64>"), TypedName("%loop", OP)

TILE = CatalogueOp(
    "transform.x.tile",
    "x",
    "Tile",
    "step",
    "Tiles.",
    "Tiles.",
    operands=(
        OperandSpec("target", ("op",), "one", OP, True, ""),
        OperandSpec("sizes", ("op", "param"), "many", OP, False, ""),
    ),
    attributes=(
        AttributeSpec("static_sizes", "ints", "array<i64>", default=(), dynamic="sizes"),
        AttributeSpec("count", "int", "i64", is_required=True),
        AttributeSpec("mode", "enum", cases=(EnumCase("fast", "0 : i32"), EnumCase("safe", "1 : i32"))),
        AttributeSpec("label", "string"),
        AttributeSpec("deep", "flag"),
    ),
    results=(ResultSpec("loop", ("op",), "one", OP, ""),),
    assembly=Assembly(
        (
            Piece("text", " "),
            Piece("operands", "target"),
            Piece("text", " by "),
            Piece("attribute", "static_sizes", "mixed"),
            Piece("text", " deep", needs="deep"),
            Piece("dictionary"),
            Piece("types"),
        ),
        "function",
        ("count", "deep", "label", "sizes", "static_sizes", "target"),
    ),
)
EACH = CatalogueOp(
    "transform.each", "x", "Each", "step", "Each.", "Each.", regions=(RegionSpec("body", "body"),)
)
CATALOGUE = Catalogue(("host", "1", "0"), (EACH, TILE))


def tile(*attributes, sizes=(), operands=(("target", (TARGET,)),), results=(("loop", (LOOP,)),)):
    given = (*operands, *([("sizes", sizes)] if sizes else []))
    return Form("transform.x.tile", given, attributes, results)


def test_custom_syntax_leaves_out_what_is_not_set():
    assert (
        form_text(tile(("count", 2)), CATALOGUE)
        == f"%loop = transform.x.tile %mm by [] {{count = 2 : i64}} : ({OP}) -> {OP}"
    )


def test_sizes_are_numbers_and_values_in_one_list():
    form = tile(("static_sizes", (8, None)), ("count", 2), ("deep", True), sizes=(SIZE,))
    assert form_text(form, CATALOGUE) == (
        f"%loop = transform.x.tile %mm by [8, %size] deep {{count = 2 : i64}} : ({OP}, !transform.param<i64>) -> {OP}"
    )
    assert f"static_sizes = array<i64: 8, {DYNAMIC}>" in generic_form_text(form, CATALOGUE)


def test_strings_are_escaped():
    assert 'label = "a \\"b\\" \\\\ \\0A"' in form_text(tile(("count", 2), ("label", 'a "b" \\ \n')), CATALOGUE)


def test_what_has_no_known_spelling_makes_the_text_generic():
    text = form_text(tile(("count", 2), ("mode", "safe")), CATALOGUE)
    assert text.startswith(
        '%loop = "transform.x.tile"(%mm) <{static_sizes = array<i64>, count = 2 : i64, mode = 1 : i32}>'
    )


def test_bodies_end_with_a_yield_in_generic_syntax():
    form = Form("transform.each", regions=(FormBlock((TARGET,), (tile(("count", 1)),)),))
    lines = generic_form_text(form, CATALOGUE).splitlines()
    assert lines[1] == f"^bb0(%mm: {OP}):"
    assert lines[2].strip().startswith('%loop = "transform.x.tile"')
    assert lines[3].strip() == '"transform.yield"() : () -> ()'


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        (tile(), "attribute 'count' is required"),
        (tile(("count", "two")), "attribute 'count': 'two' is not a value of kind int"),
        (tile(("count", True)), "attribute 'count': True is not a value of kind int"),
        (tile(("count", 1), ("mode", "slow")), "'slow' is none of fast, safe"),
        (tile(("count", 1), ("speed", 1)), "there is no attribute 'speed'; there are static_sizes, count"),
        (tile(("count", 1), operands=()), "operand 'target' is exactly one value, and 0 are given"),
        (
            tile(("count", 1), operands=(("target", (SIZE,)),)),
            "'target' takes op handles, and %size is !transform.param<i64>",
        ),
        (tile(("count", 1), results=(("loops", (LOOP,)),)), "there is no result 'loops'"),
        (tile(("count", 1), ("static_sizes", (None,))), "leaves 1 entries open, and 'sizes' gives 0"),
        (Form("transform.each"), "it has 1 regions, and 0 are given"),
    ],
)
def test_what_is_wrong_with_a_form_is_said_in_words(form, problem):
    assert any(problem in p for p in form_problems(form, CATALOGUE)), form_problems(form, CATALOGUE)
    with pytest.raises(UsageError):
        form_text(form, CATALOGUE)


def test_a_right_form_has_no_problems():
    assert form_problems(tile(("count", 1), ("static_sizes", (4, None)), sizes=(SIZE,)), CATALOGUE) == ()


def test_a_list_of_sizes_is_read_with_its_values():
    form = tile(("static_sizes", (8, None, 0)), ("count", 1), sizes=(SIZE,))
    assert mixed_entries(form, TILE.attributes[0]) == (8, SIZE, 0)


def test_types_tell_kinds():
    assert [kind_of_type(t) for t in (OP, '!transform.op<"scf.for">', "!transform.any_param", "!transform.any_value", "i1")] == [
        "op", "op", "param", "value", None,
    ]  # fmt: skip
