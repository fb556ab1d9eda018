"""Expressions as text: what they are as in Python, and bounds on what they cost."""

import ast
import math
import operator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lhkit.model.errors import UsageError
from lhkit.model.span import Span
from lhkit.text.expressions import parse_expression

VALUES = {"a": 3, "b": -7, "x": 2.5, "flag": True, "word": "ijk"}
FUNCTIONS = {
    "abs": abs,
    "max": max,
    "min": min,
    "divides": lambda a, b: abs(a) != 0 and abs(b) % a == 0 if abs(b) + 1 else None,
}
BOUND = 2**127
BINARY = ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!=", "in", "not in"]


def parse(text, known=tuple(VALUES)):
    return parse_expression(
        text, known, owner="the space", at=Span("s.mlir", 4, 11), source="\n\n\n" + " " * 10 + text
    )


def nested(inner):
    pair = st.tuples(inner, inner)
    return st.one_of(
        st.builds("({})".format, inner),
        st.builds("{}{}".format, st.sampled_from(["-", "+", "~", "not "]), inner),
        st.builds(
            lambda op, p: f"{p[0]} {op} {p[1]}", st.sampled_from([*BINARY, *COMPARISONS, "and", "or"]), pair
        ),
        st.builds("{} if {} else {}".format, inner, inner, inner),
        st.builds(lambda f, p: f"{f}({p[0]}, {p[1]})", st.sampled_from(["max", "min", "divides"]), pair),
        st.builds("abs({})".format, inner),
    )


LEAVES = st.one_of(
    st.sampled_from([*VALUES, "True", "False", "'ij'", '"b"', "0", "1", "2", "64", "1.5", "0x1f", "1e3"]),
    st.integers(0, 2**40).map(str),
)
# Texts that are well-formed mostly, and any order of words.
TEXTS = st.recursive(LEAVES, nested, max_leaves=12)
WORDS = st.lists(
    st.sampled_from(
        [
            "a",
            "x",
            "1",
            "(",
            ")",
            "max(",
            ",",
            "if",
            "else",
            "not",
            "in",
            "and",
            "or",
            "-",
            "~",
            "<",
            *BINARY,
        ]
    ),
    max_size=9,
).map(" ".join)


OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.RShift: operator.rshift,
    ast.Pow: lambda a, b: a**b if not (isinstance(b, int) and b > 200 and abs(a) > 1) else BOUND,
    ast.LShift: lambda a, b: a << b if b < 200 or not a else BOUND,
}  # fmt: skip


class Bounded(ast.NodeTransformer):
    """Python's tree with arithmetic that raises where this language has no value."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        which = ast.Constant(type(node.op).__name__)
        return ast.Call(ast.Name("__binary", ast.Load()), [which, node.left, node.right], [])

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Invert):
            return ast.Call(ast.Name("__invert", ast.Load()), [node.operand], [])
        return node


def binary(which, left, right):
    if isinstance(left, str) or isinstance(right, str):
        raise TypeError
    value = OPERATORS[getattr(ast, which)](left, right)
    if isinstance(value, complex) or not abs(value) < (BOUND if isinstance(value, int) else math.inf):
        raise ArithmeticError
    return value


def in_python(text):
    """Return Python's tree of a text, or None where it is not of this language."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        is_call = isinstance(node, ast.Call)
        if isinstance(node, ast.Tuple | ast.GeneratorExp) or (is_call and not isinstance(node.func, ast.Name)):
            return None
        if is_call and len(node.args) < 1 + (node.func.id != "abs"):
            return None
    return ast.fix_missing_locations(Bounded().visit(tree))


@settings(max_examples=400, deadline=None)
@given(st.one_of(TEXTS, WORDS))
@example("-2 ** -x ** 2 < 1 < a != b in word")
@example("1 if 2 if 3 else 4 else 5")
@example("a if b else b if a else x")
@example("(1 < 2) < 3 < 4 < 5 and not 1 < 2 == True")
@example("1 < 2 > 9 != 1 // 0")
def test_an_expression_is_what_it_is_in_python(text):
    tree = in_python(text)
    if tree is None:
        with pytest.raises(UsageError):
            parse(text)
        return
    expression = parse(text)
    compiled = compile(tree, "<text>", "eval")
    names = {
        **VALUES,
        **FUNCTIONS,
        "__binary": binary,
        "__invert": lambda a: ~int(a) if a is True or a is False else ~a,
    }
    try:
        expected = eval(compiled, {"__builtins__": {}}, names)
    except (ArithmeticError, TypeError, ValueError):
        with pytest.raises(ValueError, match=r"."):
            expression.value(VALUES)
        return
    value = expression.value(VALUES)
    assert type(value) is type(expected) and value == expected


def test_values_within_bounds_are_not_refused():
    for text, expected in {
        "64 if a == 3 else a / 16": 64,
        "divides(3, 12) and not divides(0, 12)": True,
        "max(1, a, 2) * min(x, 9) // 2 % 4": 3.0,
        "2 ** 126 - 1 + 2 ** 126": 2**127 - 1,
        "1 < a < 4 < 9": True,
        "1 < a < 2 < 1 // 0": False,
        "word == 'ijk' and 'j' in word and word < 'z'": True,
        "a & (a - 1) == 2 and 1 << 3 == 8": True,
        "max(1, 2,)": 2,
        "-a ** 2": -9,
        "(\n a\n)": 3,
    }.items():
        assert parse(text).value(VALUES) == expected, text


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("a +", "'a \\+' is not an expression: expected a value, found the end", 14),
        ("", "expected a value, found the end", 11),
        ("a b", "expected an operator, found b", 13),
        ("(a", "a parenthesis is not closed", 11),
        ("a)", "a parenthesis is closed that was not opened", 12),
        ("a, b", "a comma outside of a function's arguments", 12),
        ("a if b", "'if' without 'else'", 13),
        ("a else b", "'else' without 'if'", 13),
        ("a = 3", "it has '='", 13),
        ("a.__class__", "it has '\\.'", 12),
        ("a[0]", "it has '\\['", 12),
        ("'a", "a string without an end", 11),
        ("f'{a}'", "expected an operator, found '{a}'", 12),
        ("open('/etc/passwd')", "there is no function 'open'", 11),
        ("abs(a, b)", "abs takes 1 argument, not 2", 11),
        ("a > 1 and k > a", "the space has no knob 'k'", 21),
        ("0b12", "0b12 is not a number", 11),
        ("1__0", "1__0 is not a number", 11),
        ("1e999", "inf is not a finite number", 11),
        (str(2**127), r"too large \(they have to be below 2\*\*127\)", 11),
        ("9" * 5000, "a number is too long", 11),
        ("a " * 6000, "it is longer than 10,000 characters", 11),
        ("a+" * 3000 + "a", "it has more than 2,000 words", 2011),
    ],
)
def test_what_is_no_expression_is_refused_at_its_place(text, message, column):
    with pytest.raises(UsageError, match=message) as raised:
        parse(text)
    assert (raised.value.failure.span.line, raised.value.failure.span.column) == (4, column)
    assert "^" in str(raised.value) and len(str(raised.value)) < 1000


@pytest.mark.parametrize(
    "text",
    [
        "3999999**3999999",
        "9 ** 9 ** 9",
        "1 << 10 ** 9",
        "2.0 ** 99999",
        "(0 - 8) ** 0.5",
        "'%9999999999d' % 1",
        "'a' * 10 ** 10",
        "word + word",
        "word < 3",
        "3 in 4",
        "max(word, 3)",
        "~x",
        "-word",
        "1 / 0",
        "0 ** -1",
        "a << -1",
        "huge + 1",
        "nan + 1",
        " * ".join(["(a + 9999999999)"] * 300),
    ],
)
def test_what_has_no_bounded_value_is_said(text):
    values = {**VALUES, "huge": 1 << 5000, "nan": math.nan}
    with pytest.raises(ValueError, match=r"."):
        parse(text, tuple(values)).value(values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-" * 1999 + "a", -3),
        ("(" * 900 + "a" + ")" * 900, 3),
        ("not " * 1500 + "a", True),
        ("a < 9 " + "< 9 " * 900, False),
        (" and ".join(["a"] * 900), 3),
        ("a if b else " * 400 + "b", 3),
        ("max(1, " * 390 + "a" + ")" * 390, 3),
        ("1 ** " * 900 + "1", 1),
    ],
)
def test_depth_is_no_recursion(text, expected):
    assert parse(text).value(VALUES) == expected
