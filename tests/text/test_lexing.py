"""The lexer loses nothing, never raises, and knows where each token stands."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import damaged, generated, listings, shipped

from lhkit.text.lexer import TokenKind, lex, without_trivia


def check(text):
    """Hold tokens against the text: nothing lost, and every place right."""
    tokens = lex(text)
    assert "".join(t.text for t in tokens) == text
    lines = text.split("\n")
    for token in tokens:
        assert token.text and text[token.start : token.end] == token.text and token.kind in get_args(TokenKind)
        assert lines[token.line - 1].startswith(token.text.split("\n")[0], token.column - 1)
    return tokens


@pytest.mark.parametrize("name", sorted(shipped()))
def test_shipped_texts_are_read_without_loss_and_without_unknowns(name):
    assert all(t.kind != "unknown" for t in check(shipped()[name]))


def test_listings_of_the_tests_are_read_without_loss():
    texts = listings()
    assert len(texts) > 50
    for text in texts:
        check(text)


def test_1000_generated_schedules_whole_and_damaged_are_read_without_loss():
    for seed, text in enumerate(generated(1000)):
        tokens = lex(text)
        assert "".join(t.text for t in tokens) == text and all(t.kind != "unknown" for t in tokens)
        check(damaged(text, seed))


@given(st.text(alphabet=st.sampled_from(list('%#@!^"\\/{}()[]<>-:=.,0x9aZ_ \n\t\r\0é≤')), max_size=60))
def test_any_text_is_read_without_loss(text):
    check(text)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("%a #map !t ^bb0 @f", "value attribute type block symbol"),
        ("%loops#1 %0#12 %x-y.z", "value value value"),
        (
            '%l:2 = "transform.x"(%c)',
            "value punctuation number punctuation string punctuation value punctuation",
        ),
        ('@"a } name" "a \\" b"', "symbol string"),
        ("transform.structured.match ops", "word word"),
        ("4x8xf32 0x1F 1.0e-5 -3", "number word number number punctuation number"),
        ("!transform.op<", "type punctuation"),
        ("-> - > ...", "punctuation punctuation punctuation punctuation"),
        ('"no end', "unknown"),
        ("é\0$", "unknown unknown unknown"),
        ("% # ! ^ @ ~", "unknown unknown unknown unknown unknown unknown"),
    ],
)
def test_kinds(text, kinds):
    assert [t.kind for t in without_trivia(check(text))] == kinds.split()


def test_comments_and_strings_hide_one_another():
    tokens = check('"a // b" // "c\n"d')
    assert [(t.kind, t.text) for t in tokens if t.kind != "space"] == [
        ("string", '"a // b"'),
        ("comment", '// "c'),
        ("unknown", '"d'),
    ]


def test_resources_are_one_token_whatever_their_blobs_hold():
    section = '{-#\n  dialect_resources: { builtin: { a: "0x04#-}000" } } // #-} here\n#-}'
    assert [t.kind for t in check(section + " module")] == ["resources", "space", "word"]
    assert check("{-# } module")[0].kind == "punctuation"


def test_places_count_lines_as_mlir_does():
    tokens = without_trivia(check("// é\u2028 one line\r\n  %é = a\n\tb"))
    assert [(t.text, t.line, t.column) for t in tokens][-2:] == [("a", 2, 8), ("b", 3, 2)]


@pytest.mark.parametrize("piece", ['"', '{-# "', '{-# "\n', "{-# ", "//", "%"])
def test_hostile_texts_are_lexed_in_one_pass(piece):
    text = piece * 50_000
    assert "".join(t.text for t in lex(text)) == text
