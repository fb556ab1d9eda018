"""What reads a stranger's text does not recurse, and believes no number in it."""

import sys

import pytest

from lhkit.load.old_spellings import _advice, top_level_sequence
from lhkit.text.parser import read_steps
from lhkit.text.script import read_handles
from lhkit.text.upgrades import text_upgrade as upgrade
from lhkit.text.upgrades.text_upgrade import upgrade_text
from lhkit.traces.diff.op_diff import text_diff

TILE = " = transform.structured.tile_using_for %a[1]"
BOMBS = {
    "count of results": f"%loops:18446744073709551616{TILE}\n",
    "digits of a count": f"%loops:{'9' * 5000}{TILE}\n%x = transform.a.b %loops#{'9' * 5000}\n",
    "counts": ", ".join(f"%a{i}:99999" for i in range(2000)) + TILE,
    "digits of a shape": f"%0 = tensor.expand_shape %a [[0, 1]] : tensor<{'9' * 5000}xf32> into tensor<4x{'9' * 5000}xf32>",
    "braces": "module {" * 4000,
    "closed braces": "module {" * 2000 + "}" * 2000,
    "generic regions": '"a.b"() ({\n' * 2000 + "}) : () -> ()\n" * 2000,
    "brackets": "a.b " + "([<" * 2000 + ">])" * 2000,
    "wrong brackets": "a.b " + "(}" * 4000,
    "handles": ", ".join(f"%a{i}" for i in range(4000)),
    "quotes": '"' * 8000,
    "parts": "// -----\n" * 2000,
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_hostile_texts_are_read(bomb):
    text, limit = BOMBS[bomb], sys.getrecursionlimit()
    sys.setrecursionlimit(900)  # the stack is not to depend on the text
    try:
        upgrade_text(text)
        read_steps(text)
        read_handles.__wrapped__(text)
    finally:
        sys.setrecursionlimit(limit)
    text_diff(text[:2000], text[:2000] + "x")


def test_a_long_text_that_fails_is_not_looked_through_for_old_spellings(monkeypatch):
    def looked(_text):
        raise AssertionError("the text was looked through")

    monkeypatch.setattr(upgrade, "read_syntax", looked)
    long = b"module {}\n" * 30_000
    assert _advice("s.mlir", [long], None, None) == "" and top_level_sequence("s.mlir", long) is None


def test_edits_that_meet_are_not_made_twice():
    text = "%a, %b:3 = transform.structured.tile %x [1, 2] // transform.structured.tile\n" * 3
    once = upgrade_text(text).text
    assert upgrade_text(once).text == once and once.count("// transform.structured.tile\n") == 3
