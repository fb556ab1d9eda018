"""Types that transform ops end with: reading them, and adding those that older versions did without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lhkit.schedule.lexing import Token
from lhkit.schedule.upgrading.edits import Edit, between, inserted
from lhkit.schedule.upgrading.statements import Statement, closing, is_bracket

ANY_OP = "!transform.any_op"
PDL_OPERATION = "!pdl.operation"
PARAM = "!transform.param<i64>"

Types = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of an op as written.

    Attributes:
        colon: Index of the ``:`` in the tokens, or None where there are no types.
        operands: The types before ``->``, or all where there is none.
        results: The types behind ``->``, or None where there is none.
    """

    colon: int | None
    operands: tuple[str, ...] = ()
    results: tuple[str, ...] | None = None


def own_tokens(statement: Statement) -> list[Token]:
    """Return the tokens that a statement's types are among: behind its regions, if it has some."""
    return statement.tail if statement.regions else statement.head


def source_of(tokens: Sequence[Token]) -> str:
    """Return tokens as text, without the comments and line breaks between them."""
    pieces = []
    for i, token in enumerate(tokens):
        apart = i > 0 and tokens[i - 1].end < token.start
        pieces.append((" " if apart else "") + token.text)
    return "".join(pieces)


def split_list(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return tokens split at the commas that stand in no bracket."""
    parts: list[list[Token]] = [[]]
    i = 0
    while i < len(tokens):
        if tokens[i].text == ",":
            parts.append([])
        elif is_bracket(tokens, i, "([{<"):
            end = closing(tokens, i)
            parts[-1] += tokens[i : end + 1]
            i = end
        else:
            parts[-1].append(tokens[i])
        i += 1
    return [p for p in parts if p]


def outside_brackets(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the indices of tokens that stand in no bracket; those of the opening brackets too."""
    i = 0
    while i < len(tokens):
        yield i
        if is_bracket(tokens, i, "([{<"):
            i = closing(tokens, i)
        i += 1


def signature_of(statement: Statement) -> Signature:
    """Return the types that a statement ends with."""
    tokens = own_tokens(statement)
    colon = next((i for i in outside_brackets(tokens) if tokens[i].text == ":"), None)
    if colon is None:
        return Signature(None)
    behind = tokens[colon + 1 :]
    arrow = next((i for i in outside_brackets(behind) if behind[i].text == "->"), None)
    if arrow is None:
        return Signature(colon, _types(behind))
    return Signature(colon, _types(behind[:arrow]), _types(behind[arrow + 1 :]))


def _types(tokens: Sequence[Token]) -> tuple[str, ...]:
    if tokens and tokens[0].text == "(" and closing(tokens, 0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    return tuple(source_of(part) for part in split_list(tokens))


def values_of(statement: Statement, signature: Signature) -> list[Token]:
    """Return the operands of a statement, as far as they are written before its types."""
    tokens = statement.head
    if signature.colon is not None and not statement.regions:
        tokens = tokens[: signature.colon]
    return [t for t in tokens if t.kind == "value"]


def spelled(results: Sequence[str]) -> str:
    """Return the types of results as they are written behind an arrow."""
    return results[0] if len(results) == 1 else f"({', '.join(results)})"


def functional(operands: Sequence[str], results: Sequence[str]) -> str:
    """Return a trailing functional type with its colon."""
    return f": ({', '.join(operands)}) -> {spelled(results)}"


def type_edit(statement: Statement, signature: Signature, types: str) -> Edit:
    """Return the edit that gives a statement these types, colon included, in place of what it has."""
    tokens = own_tokens(statement)
    if signature.colon is None:
        return inserted(statement.last.end, " " + types)
    return between(tokens[signature.colon], tokens[-1], types)


def operand_types(statement: Statement, signature: Signature, types: Types) -> list[str]:
    """Return the type of each operand: the one written, else that of its definition, else any op."""
    values = values_of(statement, signature)
    inline = _inline_types(statement)
    written = list(signature.operands)
    found = []
    for value in values:
        if value.start in inline:
            found.append(inline[value.start])
        elif written:
            found.append(written.pop(0))
        else:
            found.append(type_of(value, types))
    return found


def _inline_types(statement: Statement) -> dict[int, str]:
    return {value.start: source_of(type_) for value, type_ in _annotated(statement)}


def _annotated(statement: Statement) -> Iterator[tuple[Token, list[Token]]]:
    """Yield the operands in lists that carry a type of their own, as in ``[4, %size : !transform.any_op]``."""
    tokens = statement.head
    for i in outside_brackets(tokens):
        if tokens[i].text != "[":
            continue
        for part in split_list(tokens[i + 1 : closing(tokens, i)]):
            if part[0].kind == "value" and len(part) > 2 and part[1].text == ":":
                yield part[0], part[2:]


def inline_type_edits(statement: Statement) -> tuple[Edit, ...]:
    """Return the edits that take the types out of an op's lists; today they stand with the others."""
    return tuple(Edit(value.end, type_[-1].end, "") for value, type_ in _annotated(statement))


def type_of(value: Token, types: Types) -> str:
    """Return the type of a value as its definition has it, today's spelling; any op if that is not known."""
    name, _, number = value.text.partition("#")
    known = types.get(name, ())
    index = int(number[:6] or 0)  # a text may say anything
    return known[index] if index < len(known) else ANY_OP


def collect_types(statements: Sequence[Statement]) -> Types:
    """Return the types of all values that are defined with theirs, by name."""
    types: Types = {}
    for statement in statements:
        for inner in statement.walk():
            if inner.at.kind == "block" or inner.name.endswith("named_sequence"):
                types.update(_arguments(inner.head))
            elif inner.results:
                types.update(_results(inner))
    return types


def _arguments(tokens: Sequence[Token]) -> Types:
    start = next((i for i, t in enumerate(tokens) if t.text == "("), None)
    if start is None:
        return {}
    found: Types = {}
    for part in split_list(tokens[start + 1 : closing(tokens, start)]):
        if part[0].kind == "value" and len(part) > 2:
            end = next((i for i, t in enumerate(part) if t.text == "{"), len(part))
            found[part[0].text] = (today(source_of(part[2:end])),)
    return found


def _results(statement: Statement) -> Types:
    results = list(signature_of(statement).results or ())
    found: Types = {}
    for token, count in statement.results:
        found[token.text] = tuple(today(t) for t in results[:count])
        results = results[count:]
    return found


def today(type_: str) -> str:
    """Return a handle type in today's spelling."""
    return ANY_OP if type_ == PDL_OPERATION else type_
