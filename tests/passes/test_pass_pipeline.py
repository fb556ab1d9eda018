"""Texts of pass pipelines: trees, places of mistakes, and what the policy is asked about."""

import pytest

import lhkit
from lhkit.model.pass_pipeline import parse_pipeline


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("canonicalize,cse", "builtin.module(canonicalize,cse)"),
        (" builtin.module( func.func(a , b{x=1} ),\n c ) ", "builtin.module(func.func(a,b{x=1}),c)"),
        ("func.func(a)", "builtin.module(func.func(a))"),
        ("any(cse)", "any(cse)"),
        ("a{x={y,z} w='(p' v=\"q)\"},b", "builtin.module(a{x={y,z} w='(p' v=\"q)\"},b)"),
        ("", "builtin.module()"),
        ("builtin.module()", "builtin.module()"),
    ],
)
def test_a_pipeline_is_a_tree(text, written):
    assert str(parse_pipeline(text)) == written
    assert str(parse_pipeline(written)) == written


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("builtin.module(cse", "1:15", "this '(' is never closed"),
        ("cse)", "1:4", "nothing is open that this ')' closes"),
        ("cse,", "1:5", "expected the name of a pass"),
        ("cse,,cse", "1:5", "expected the name of a pass"),
        ("cse{a", "1:4", "this '{' is never closed"),
        ("cse cse", "1:5", "expected ',' or ')' after cse"),
        ("func.func(\n  cse,\n  é)", "3:3", "expected the name of a pass"),
        ('cse{a="}",snapshot-op-locations{filename=x}"}', "1:8", "a brace in a quoted option"),
        ("any(" * 100_000, "1:205", "nested more than 50 deep"),
    ],
)
def test_a_mistake_has_a_place(text, place, message):
    with pytest.raises(lhkit.errors.UsageError) as raised:
        parse_pipeline(text, "p.txt")
    assert str(raised.value).startswith(f"p.txt:{place}: error: ") and message in str(raised.value)
    assert "^" in str(raised.value) or place.endswith(":205")


def test_numbers_among_options():
    (item,) = parse_pipeline("inline{a=3 b=-4 c=true d=x e={f=1} g='5' h}").passes()
    assert item.option_kinds == tuple(zip("abcdegh", [True, True, True, *[False] * 4], strict=True))
