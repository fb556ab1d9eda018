"""Arguments of a step as they are written: lists and values behind words, entries of dictionaries, types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lhkit.schedule.lexing import Token, lex, without_trivia
from lhkit.schedule.tree import Group, OpSyntax

_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
# Words of the syntax that are no names of arguments.
_SYNTAX_WORDS = ("attributes", "in", "to", "into", "from", "failures", "loc", "num", "by")


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a step: its name and where its value stands.

    Attributes:
        name: ``tile_sizes``, ``factor``.
        start: Where the value begins; where the name ends for a flag without a value.
        end: Where the value ends.
        form: ``list`` for ``tile_sizes [8]``, ``braces`` for ``ops{…}``, ``word`` for ``after 4``, ``entry`` in
            a dictionary.
        name_start: Where its name begins.
    """

    name: str
    start: int
    end: int
    form: str
    name_start: int


def arguments_of(text: str, op: OpSyntax) -> tuple[Argument, ...]:
    """Return the arguments of a step in the order of the text; operands that stand alone are none."""
    found: list[Argument] = []
    tokens = _own_tokens(text, op)
    by_start = {g.start: g for g in op.groups}
    for i, token in enumerate(tokens):
        if token.kind != "word" or token.text in _SYNTAX_WORDS or token.start == op.name_start:
            continue
        at = i + 1
        if at < len(tokens) and tokens[at].text == "=":
            at += 1
        group = by_start.get(tokens[at].start) if at < len(tokens) else None
        if group is not None and group.opener in "[{":
            form = "list" if group.opener == "[" else "braces"
            found.append(Argument(token.text, group.start, group.end, form, token.start))
        elif at < len(tokens) and (end := _value_end(tokens, at, is_assigned=at > i + 1)) is not None:
            found.append(Argument(token.text, tokens[at].start, end, "word", token.start))
    for group in dictionaries_of(op):
        found += _entries(text, group)
    return tuple(sorted(found, key=lambda a: a.start))


def dictionaries_of(op: OpSyntax) -> tuple[Group, ...]:
    """Return the attribute dictionaries of an op."""
    return tuple(g for g in op.groups if g.opener == "{" and g.keyword in ("", "attributes"))


def elements_of(text: str, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Return where the elements of a bracketed list stand, brackets included in the span given."""
    found: list[tuple[int, int]] = []
    for piece in _split(_tokens(text, start + 1, end - 1)):
        found.append((piece[0].start, piece[-1].end))
    return tuple(found)


def types_of(text: str, op: OpSyntax) -> tuple[tuple[int, int], ...]:
    """Return where the types of an op's operands stand in its trailing types."""
    if op.signature is None:
        return ()
    tokens = _tokens(text, op.signature[0] + 1, op.signature[1])
    if tokens and tokens[0].text == "(":
        depth = 0
        for i, token in enumerate(tokens):
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            if depth == 0:
                return tuple((p[0].start, p[-1].end) for p in _split(tokens[1:i]))
    stop = next((i for i, t in enumerate(tokens) if t.text in ("->", "to")), len(tokens))
    return tuple((p[0].start, p[-1].end) for p in _split(tokens[:stop]))


def _tokens(text: str, start: int, end: int) -> list[Token]:
    return [t._replace(start=t.start + start) for t in without_trivia(lex(text[start:end]))]


def _own_tokens(text: str, op: OpSyntax) -> list[Token]:
    """Return the tokens of an op outside its brackets and regions; of a bracket, the first token only."""
    spans = sorted([(g.start, g.end) for g in op.groups] + [(r.start, r.end) for r in op.regions])
    tokens = []
    skipped_to = 0
    for token in _tokens(text, op.name_start, op.end):
        if token.start < skipped_to:
            continue
        inside = next((end for start, end in spans if start == token.start), None)
        skipped_to = inside or skipped_to
        tokens.append(token)
    return tokens


def _value_end(tokens: list[Token], i: int, *, is_assigned: bool) -> int | None:
    """Return where the value that begins at a token ends, None where no value does."""
    if tokens[i].text == "-" and i + 1 < len(tokens):
        i += 1
    kinds = ("number", "string", "attribute", "value", "symbol")
    if tokens[i].kind not in (*kinds, "word") or (tokens[i].kind == "word" and not is_assigned):
        return None
    end, angles = i + 1, 0
    while end < len(tokens) and (tokens[end].text == "<" or angles):
        angles += {"<": 1, ">": -1}.get(tokens[end].text, 0)
        end += 1
    return tokens[end - 1].end


def _entries(text: str, group: Group) -> Iterator[Argument]:
    for piece in _split(_tokens(text, group.start + 1, group.end - 1)):
        name = piece[0].text.strip('"')
        if len(piece) > 2 and piece[1].text == "=":
            yield Argument(name, piece[2].start, piece[-1].end, "entry", piece[0].start)
        elif len(piece) == 1:
            yield Argument(name, piece[0].end, piece[0].end, "entry", piece[0].start)


def _split(tokens: list[Token]) -> Iterator[list[Token]]:
    """Yield the pieces between commas outside all brackets."""
    piece: list[Token] = []
    depth = 0
    for token in tokens:
        depth += _BRACKETS.get(token.text, 0) + {"<": 1, ">": -1}.get(token.text, 0)
        if token.text == "," and depth == 0:
            if piece:
                yield piece
            piece = []
        else:
            piece.append(token)
    if piece:
        yield piece
