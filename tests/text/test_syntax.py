"""The tree of a text: parts of ops, scopes of handles, and what is left of a text that is broken."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import ROOT, damaged, generated, listings, shipped

from lhkit.load.shipped_files import shipped_folder
from lhkit.text.lexer import without_trivia
from lhkit.text.parser import read_steps, read_syntax
from lhkit.text.script import SEQUENCE, read_handles, with_bodies_at

ANY = "!transform.any_op"


def check(text):
    """Read a text and hold the places in the tree against it."""
    syntax = read_syntax(text)
    read_handles(text)
    for op in syntax.walk():
        assert op.lead <= op.start <= op.name_start < op.end <= op.tail <= len(text)
        for name in (*op.results, *op.arguments):
            assert text.startswith(name.text, name.start)
        for use in op.operands:
            assert text[use.start : use.end] == use.text
        for group in op.groups:
            assert text[group.start] == group.opener
        inside = [o for region in op.regions for o in region.ops]
        assert all(op.start < o.start and o.end <= op.end for o in inside)
        assert all(a.end <= b.start for a, b in itertools.pairwise(inside))
    return syntax


def emitted(text, *, is_old=False):
    """Return a text put together from the tree: each token of an op from its place there, trivia in between."""
    syntax = read_syntax(text, is_old=is_old)
    meaning = without_trivia(syntax.tokens)
    index = {token.start: i for i, token in enumerate(meaning)}

    def tokens_of(op):
        yield from meaning[index[op.start] : index[op.name_start] + 1]
        yield from op.tokens
        for region in op.regions:
            yield from (meaning[index[region.start]], meaning[index[region.end - 1]])
            for label in region.labels:
                yield from (label.at, *label.tokens)
            for inner in region.ops:
                yield from tokens_of(inner)

    inside = [token for op in syntax.ops for token in tokens_of(op)]
    outside = [
        t for t in syntax.tokens if t.is_trivia or not any(o.start <= t.start < o.end for o in syntax.ops)
    ]
    return "".join(token.text for token in sorted([*inside, *outside], key=lambda token: token.start))


def only(text):
    """Return the only op of a text, and a function that gives a part's text."""
    (op,) = check(text).ops
    return op, lambda span: span and text[span[0] : span[1]]


SHIPPED = sorted([*ROOT.glob("schedules/**/*.mlir"), *ROOT.glob("data/*.mlir")])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.name)
def test_shipped_texts_come_back_from_their_trees(path):
    text = path.read_text(encoding="utf-8")
    assert emitted(text) == text


def test_generated_texts_come_back_from_their_trees():
    for text in generated(200):
        assert emitted(text) == text


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parent / "old_spellings").iterdir()), ids=lambda p: p.name
)
def test_texts_in_old_spellings_come_back_from_their_trees(path):
    text = path.read_text()
    assert emitted(text, is_old=True) == text


def test_parts_of_an_op():
    text = (
        f'%a, %b:2 = transform.structured.tile_using_for %x#1 tile_sizes [8, %p] {{x.y = "}}"}}\n'
        f'  : ({ANY}, !transform.param<i64>) -> ({ANY}, {ANY}, {ANY}) loc("f":1:2)'
    )
    op, part = only(text)
    assert op.name == "transform.structured.tile_using_for" and op.values == ("%a", "%b#0", "%b#1")
    assert [u.text for u in op.operands] == ["%x#1", "%p"] and op.operands[0].name == "%x"
    assert [(g.opener, g.keyword) for g in op.groups][:2] == [("[", "tile_sizes"), ("{", "")]
    assert part(op.location) == 'loc("f":1:2)'
    assert part(op.signature) == f": ({ANY}, !transform.param<i64>) -> ({ANY}, {ANY}, {ANY})"


def test_parts_of_a_generic_op_with_regions():
    text = f'%0 = "transform.alternatives"(%a) <{{p = 1}}> ({{\n^bb0(%b: {ANY}):\n  "x.y"() : () -> ()\n}}, {{\n}}) {{q}} : ({ANY}) -> {ANY}'
    op, part = only(text)
    assert op.is_generic and [len(r.ops) for r in op.regions] == [1, 0]
    assert [u.text for u in op.operands] == ["%a"] and part(op.signature) == f": ({ANY}) -> {ANY}"
    assert [a.text for a in op.regions[0].blocks[0].arguments] == ["%b"]


def test_types_of_arguments_end_where_they_end():
    text = 'transform.named_sequence @f(%a: !transform.op<"a, b">{transform.readonly}, %b : !p<x<y, (z)>> loc("f":1:1)) { }'
    op, part = only(text)
    assert [(a.text, part(a.type_span)) for a in op.arguments] == [
        ("%a", '!transform.op<"a, b">'),
        ("%b", "!p<x<y, (z)>>"),
    ]
    assert op.regions[0].blocks[0].arguments == op.arguments


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("module {}", 1),
        ("module attributes {a.b} {}", 1),
        ("transform.print %a {x.y}", 0),
        ("transform.print %a {name = 1}", 0),
        ("transform.apply_patterns to %f { transform.apply_patterns.canonicalization }", 1),
        ("transform.apply_patterns to %f {}", 1),
        ("transform.apply_patterns to %f { } {max_iterations = 1}", 1),
        ("transform.structured.match interface{LinalgOp} in %a", 0),
        ('transform.structured.match ops{["a.b"]} attributes {c.d} in %a', 0),
        ("transform.named_sequence @f() { transform.yield }", 1),
        ("other.op { other.yield }", 1),
        ("other.op { %a = other.thing }", 1),
        ("other.op { other.thing, flag }", 0),
        ("transform.foreach %a : !t { ^bb0(%b: !t): }", 1),
    ],
)
def test_braces_are_regions_or_dictionaries(text, regions):
    assert len(only(text)[0].regions) == regions


def test_ops_of_a_sequence_may_leave_out_the_dialect_and_others_may_not():
    inside = "{ ^bb0(%b: !t): %c = cast %b : !t to !u print %c : !u\n yield }"
    text = f"transform.sequence %a : !t failures(propagate) {inside}\ntransform.foreach %a : !t {inside}"
    sequence, foreach = check(text).ops
    assert [op.name for op in sequence.regions[0].ops] == [
        "transform.cast",
        "transform.print",
        "transform.yield",
    ]
    assert [op.name for op in foreach.regions[0].ops] == ["cast"]


def test_ops_end_where_they_end():
    text = """
    #map = affine_map<(d0) -> (d0 floordiv 2)>
    func.func @f(%a: index) attributes {x = 1} {
      %0:2 = "some.op"(%a) ({ ^bb0(%b: index): "some.end"() : () -> () }) : (index) -> (i1, i1)
      scf.for %i = %a to %a step %a {
        test.nothing %i {k = "}"} // }
      }
      cf.cond_br %0#0, ^bb1(%a : index), ^bb2
    ^bb1(%c: index):
      return
    ^bb2: return
    }
    """
    (function,) = read_syntax(text).ops
    blocks = function.regions[0].blocks
    assert [[op.name for op in block.ops] for block in blocks] == [
        ["some.op", "scf.for", "cf.cond_br"],
        ["func.return"],
        ["func.return"],
    ]
    assert [label.at.text for label in function.regions[0].labels] == ["^bb1", "^bb2"]
    generic = blocks[0].ops[0]
    assert generic.is_generic and generic.result_count == 2 and generic.last.text == ")"
    assert "".join(token.text for token in generic.head) == "(%a)("
    assert "".join(token.text for token in generic.rest) == "):(index)->(i1,i1)"
    (inner,) = generic.regions[0].blocks
    assert inner.label.at.text == "^bb0" and [op.name for op in inner.ops] == ["some.end"]


def test_old_ops_that_leave_out_the_dialect_are_ops_where_they_begin_a_line():
    text = "func @f(%c: i1) {\n  cond_br %c, ^bb1, ^bb2\n^bb1:\n  br ^bb2\n^bb2:\n  return\n}\n"
    (old,) = read_syntax(text, is_old=True).ops
    assert [op.spelling for op in old.regions[0].ops] == ["cond_br", "br", "return"]
    (new,) = read_syntax(text).ops
    assert [op.name for op in new.regions[0].ops] == ["func.return"]


def test_scopes_of_handles():
    text = f"""
module {{
  transform.named_sequence @f(%a: {ANY}) {{
    %x = a.b %a
    transform.foreach %x : {ANY} {{
    ^bb0(%y: {ANY}):
      %z = a.b %x, %y
    }}
    transform.foreach %x : {ANY} {{
    ^bb0(%y: {ANY}):
      %z = a.b %y
    }}
    transform.yield
  }}
  transform.named_sequence @g(%a: {ANY}) {{
    a.b %a, %x
  }}
}}"""
    check(text)
    found = [(d.name.text, len(d.uses)) for d in read_handles(text).definitions]
    assert found == [("%a", 1), ("%x", 3), ("%y", 1), ("%z", 0), ("%y", 1), ("%z", 0), ("%a", 1)]


WHOLE = f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @f(%root: {ANY}) {{
    %a = transform.one %root : ({ANY}) -> {ANY}
    MIDDLE
    %c = transform.three %a : ({ANY}) -> {ANY}
    transform.yield
  }}
}}
"""


@pytest.mark.parametrize(
    ("middle", "names"),
    [
        ("", ["one", "three"]),
        ("%b = transform.two %a : (", ["one", "two", "three"]),
        ("%b = transform.two %a {x = [1, 2", ["one", "two", "three"]),
        ('%b = transform.two "no end', ["one", "two", "three"]),
        ("%b = ", ["one"]),
        ("%b =\n\n", ["one", "three"]),
        ("tile_sizes ] ) > nonsense", ["one", "three"]),
        ("{-# /* ~ `", ["one", "three"]),
        ("transform.two %a : ->", ["one", "two", "three"]),
        ("^bb1", ["one", "three"]),
        ("^bb1: transform.two", ["one", "two", "three"]),
    ],
)
def test_a_broken_step_leaves_the_others(middle, names):
    text = WHOLE.replace("MIDDLE", middle)
    check(text)
    found = [op.name.removeprefix("transform.") for op in read_steps(text)]
    assert [n for n in found if n in ("one", "two", "three")] == names or middle == "%b = "


def test_a_text_that_breaks_off_keeps_what_was_written():
    text = WHOLE.replace("MIDDLE", "transform.foreach %a : !t {\n^bb0(%e: !t):\n transform.two %e")
    for end in range(len(text)):
        check(text[:end])
    cut = text[: text.index(" %e\n") + 3]
    assert [op.name.removeprefix("transform.") for op in read_steps(cut)] == [
        "named_sequence",
        "one",
        "foreach",
        "two",
    ]


def test_no_text_makes_the_reader_fail():
    texts = [*shipped().values(), *listings(), *generated(200)]
    for seed, text in enumerate(texts):
        check(damaged(text, seed))


@given(
    st.lists(
        st.sampled_from(
            [
                "%a",
                "%b#1",
                "=",
                ",",
                ":",
                "2",
                "a.b",
                '"c.d"',
                "(",
                ")",
                "{",
                "}",
                "[",
                "]",
                "<",
                ">",
                "->",
                "^bb0",
                "@f",
                "loc",
                "module",
                "attributes",
                "#m",
                "!t",
                "//x\n",
                "\n",
                '"',
            ]
        ),
        max_size=40,
    )
)
def test_no_sequence_of_tokens_makes_the_reader_fail(pieces):
    check(" ".join(pieces))


@pytest.mark.parametrize(
    "piece",
    [
        "%a, ",
        "%a = ",
        "a.b ",
        "{",
        "module { ",
        "(",
        "^a(%b: ",
        "a.b {c.d ",
        '"a.b"(',
        "a.b : ",
        "loc(",
        "<",
        "a.b } ",
        "{-# ",
    ],
)
def test_hostile_texts_are_read_without_much_time_or_stack(piece):
    read_handles(piece * 20_000)


def test_bodies_are_blanked_where_no_line_is_wanted():
    text = (shipped_folder("schedules") / "cpu.mlir").read_text(encoding="utf-8")
    whole = read_syntax(text)
    sequences = [op for op in whole.walk() if op.name == SEQUENCE]
    wanted = sequences[len(sequences) // 2]
    line = text.count("\n", 0, wanted.end)  # the last one in it
    blanked = with_bodies_at(text, {line})
    assert len(blanked) == len(text) and blanked[wanted.start : wanted.end] == text[wanted.start : wanted.end]
    read = read_syntax(blanked)
    assert [op.symbol for op in read.walk() if op.name == SEQUENCE] == [op.symbol for op in sequences]
    assert len([*read.walk()]) < len([*whole.walk()]) / 2
    for op in read.walk():
        if op.name == SEQUENCE and op.regions:
            assert op.regions[0].ops[-1].name == "transform.yield"
