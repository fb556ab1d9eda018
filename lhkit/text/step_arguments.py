"""Source spans of a step's arguments and types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lhkit.text.lexer import Token
from lhkit.text.op_tree import Group, OpSyntax
from lhkit.text.parser import closing, outside_brackets, split_list
from lhkit.text.script import Edited, Replacement, Script, StepRef

# Words of the syntax that are no names of arguments.
_SYNTAX_WORDS = ("attributes", "in", "to", "into", "from", "failures", "loc", "num", "by")


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a step: its name and the span of its value."""

    name: str
    start: int
    end: int
    # ``list`` for ``tile_sizes [8]``, ``braces`` for ``ops{…}``, ``word`` for ``after 4``, ``entry`` in a
    # dictionary
    form: str
    name_start: int


def arguments_of(op: OpSyntax) -> tuple[Argument, ...]:
    """Return the arguments of a step in the order of the text; bare operands are not arguments."""
    found: list[Argument] = []
    tokens = _outside_groups(op)
    by_start = {g.start: g for g in op.groups}
    for i, token in enumerate(tokens):
        if token.kind != "word" or token.text in _SYNTAX_WORDS:
            continue
        at = i + 1
        if at < len(tokens) and tokens[at].text == "=":
            at += 1
        if at < len(tokens) and any(token.end <= r.start < tokens[at].start for r in op.regions):
            continue  # the word introduces a region
        group = by_start.get(tokens[at].start) if at < len(tokens) else None
        if group is not None and group.opener in "[{":
            form = "list" if group.opener == "[" else "braces"
            found.append(Argument(token.text, group.start, group.end, form, token.start))
        elif at < len(tokens) and (end := _value_end(tokens, at, is_assigned=at > i + 1)) is not None:
            found.append(Argument(token.text, tokens[at].start, end, "word", token.start))
    for group in dictionaries_of(op):
        found += _entries(op, group)
    return tuple(sorted(found, key=lambda a: a.start))


def dictionaries_of(op: OpSyntax) -> tuple[Group, ...]:
    """Return the attribute dictionaries of an op."""
    return tuple(g for g in op.groups if g.opener == "{" and g.keyword in ("", "attributes"))


def elements_of(op: OpSyntax, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Return the spans of the elements of a bracketed list; ``span`` includes the brackets."""
    return _spans(op.tokens_in(start + 1, end - 1))


def types_of(op: OpSyntax) -> tuple[tuple[int, int], ...]:
    """Return the spans of the operand types in an op's trailing types."""
    tokens = op.tokens_in(*op.signature) if op.signature is not None else ()
    if not tokens or tokens[0].text == "->":
        return ()
    tokens = tokens[1:]
    if tokens and tokens[0].text == "(":
        return _spans(tokens[1 : closing(tokens, 0)])
    stop = next((i for i, t in enumerate(tokens) if t.text in ("->", "to")), len(tokens))
    return _spans(tokens[:stop])


def result_types_of(op: OpSyntax) -> tuple[tuple[int, int], ...]:
    """Return the spans of the result types behind the arrow; empty without an arrow."""
    tokens = op.tokens_in(*op.signature) if op.signature is not None else op.head
    arrow = max((i for i in outside_brackets(tokens) if tokens[i].text == "->"), default=len(tokens))
    types = tokens[arrow + 1 :]
    if types and types[0].text == "(":
        return _spans(types[1 : closing(types, 0)])
    stop = next((i for i, token in enumerate(types) if token.text == "attributes"), len(types))
    return _spans(types[:stop])


def _spans(tokens: Sequence[Token]) -> tuple[tuple[int, int], ...]:
    return tuple((piece[0].start, piece[-1].end) for piece in split_list(tokens))


def _outside_groups(op: OpSyntax) -> list[Token]:
    """Return the tokens of an op outside its brackets; of a bracket, the first token only."""
    ends = {group.start: group.end for group in op.groups}
    tokens: list[Token] = []
    behind = 0
    for token in op.tokens:
        if token.start >= behind:
            tokens.append(token)
            behind = ends.get(token.start, behind)
    return tokens


def _value_end(tokens: Sequence[Token], i: int, *, is_assigned: bool) -> int | None:
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


def _entries(op: OpSyntax, group: Group) -> Iterator[Argument]:
    for piece in split_list(op.tokens_in(group.start + 1, group.end - 1)):
        name = piece[0].text.strip('"')
        if len(piece) > 2 and piece[1].text == "=":
            yield Argument(name, piece[2].start, piece[-1].end, "entry", piece[0].start)
        elif len(piece) == 1:
            yield Argument(name, piece[0].end, piece[0].end, "entry", piece[0].start)


def set_argument(
    script: Script, step: StepRef, name: str, value: str | None, *, index: int | None = None
) -> Edited:
    """Give an argument of a step another value, or take it away; all else of the step stays as it is written.

    An argument that is not there becomes an entry of the step's attribute dictionary. (Where an op writes it
    otherwise, behind a word of its own, write the step anew with ``replace_step``.)
    """
    op = script.find(step)
    found = next((a for a in arguments_of(op) if a.name == name), None)
    title = f"set {name} of {script.describe(op)}"
    if value is None:
        return script.edited([_removal(script, op, name, found)], f"remove {name} of {script.describe(op)}")
    if found is None:
        if index is not None:
            raise script.refusal(f"{script.describe(op)} has no {name}, so no element {index} of it", op)
        return script.edited([_new_entry(script, op, f"{name} = {value}" if value else name)], title)
    if index is not None:
        elements = elements_of(op, found.start, found.end) if found.form != "word" else ()
        if not 0 <= index < len(elements):
            message = f"{name} of {script.describe(op)} has {len(elements)} elements, no number {index}"
            raise script.refusal(message, found.start)
        start, end = elements[index]
        return script.edited([Replacement(start, end, value)], title)
    start, end = found.start, found.end
    if found.form == "braces" and not value.startswith("{"):
        start, end = start + 1, end - 1
    if start == end:
        value = f" = {value}" if value else ""
    return script.edited([Replacement(start, end, value)], title)


def _removal(script: Script, op: OpSyntax, name: str, found: Argument | None) -> Replacement:
    text = script.text
    if found is None or found.form in ("list", "word", "braces"):
        what = "has no" if found is None else "cannot do without"
        raise script.refusal(f"{script.describe(op)} {what} {name}", op)
    group = next(g for g in dictionaries_of(op) if g.start < found.name_start < g.end)
    entries = elements_of(op, group.start, group.end)
    if len(entries) == 1:
        return Replacement(len(text[: group.start].rstrip(" ")), group.end, "")
    i = next(i for i, (start, _) in enumerate(entries) if start == found.name_start)
    if i + 1 < len(entries):
        return Replacement(entries[i][0], entries[i + 1][0], "")
    return Replacement(entries[i - 1][1], entries[i][1], "")


def _new_entry(script: Script, op: OpSyntax, entry: str) -> Replacement:
    text = script.text
    groups = dictionaries_of(op)
    if groups:
        inside = text[groups[-1].start + 1 : groups[-1].end - 1]
        at = groups[-1].start + 1 + len(inside.rstrip())
        return Replacement(at, at, f", {entry}" if inside.strip() else entry)
    # Before the types; an op with a region and no types has its dictionary behind it.
    end = op.end
    if op.signature is not None:
        end = op.signature[0]
    elif op.location is not None and not op.regions:
        end = op.location[0]
    at = len(text[:end].rstrip())
    return Replacement(at, at, f" {{{entry}}}")
