"""Edits, changes and hints of upgrade rules, and the trailing types of ops."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lhkit.text.lexer import Token
from lhkit.text.op_tree import Name, OpSyntax
from lhkit.text.parser import closing, first_outside, outside_brackets, source_of, split_list
from lhkit.text.script import Replacement


@dataclass(frozen=True, slots=True)
class Change:
    """A spelling rewritten."""

    line: int  # Line of the old spelling, from 1, in the text as it was given
    old: str
    new: str
    # The first version of LLVM that no longer took the old one, or None where it is not known
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Hint:
    """A spelling that was left as it is."""

    line: int
    column: int
    message: str
    instead: str


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A text with its old spellings rewritten."""

    text: str
    changes: tuple[Change, ...] = ()
    hints: tuple[Hint, ...] = ()
    lines: tuple[int, ...] = ()  # For each line of the new text the line of the given one that it comes from
    # For each extra argument of the sequence that is applied, the payload op that it takes; "" unknown
    bind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One change and its edits, which are done together or not at all."""

    change: Change
    edits: tuple[Replacement, ...]


Finding = Rewrite | Hint


def replaced(token: Token | Name, text: str) -> Replacement:
    """Return the edit that puts a text in place of a token or the name of a result."""
    return Replacement(token.start, token.end, text)


def between(first: Token | Name, last: Token | Name, text: str) -> Replacement:
    """Return the edit that puts a text in place of tokens, from the first to the last of them."""
    return Replacement(first.start, last.end, text)


def inserted(offset: int, text: str) -> Replacement:
    """Return the edit that puts a text in at an offset."""
    return Replacement(offset, offset, text)


def rewrite(at: Token, old: str, new: str, *edits: Replacement, until: int | None = None) -> Rewrite:
    """Return a rewrite located at a token."""
    return Rewrite(Change(at.line, old, new, until), edits)


def rename(op: OpSyntax, new: str, *edits: Replacement, said: str = "", until: int | None = None) -> Rewrite:
    """Return a rewrite of an op's name, with other edits of the op; ``said`` describes the new spelling."""
    return rewrite(op.at, op.spelling, said or new, replaced(op.at, new), *edits, until=until)


def rewrite_op(op: OpSyntax, old: str, new: str, text: str, *, until: int | None = None) -> Rewrite:
    """Return a rewrite that puts a text in place of a whole op."""
    return rewrite(op.at, old, new, between(op.first, op.last, text), until=until)


def hint(at: Token, message: str, instead: str) -> Hint:
    """Return a hint at a token."""
    return Hint(at.line, at.column, message, instead)


def attribute_entries(op: OpSyntax) -> tuple[Token, Token, list[list[Token]]] | None:
    """Return the braces of the first attribute dictionary of an op and its entries, or None."""
    start = first_outside(op.head, "{")
    if start is None:
        return None
    end = closing(op.head, start)
    return op.head[start], op.head[end], split_list(op.head[start + 1 : end])


# Types that transform ops end with: reading them, and adding those that older versions did without.


ANY_OP = "!transform.any_op"
PDL_OPERATION = "!pdl.operation"
PARAM = "!transform.param<i64>"

Types = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of an op as written."""

    tokens: tuple[Token, ...]  # The tokens that the types are among: behind the op's regions, if it has some
    colon: int | None  # Index of the ``:`` in the tokens, or None where there are no types
    operands: tuple[str, ...] = ()
    results: tuple[str, ...] | None = None  # The types behind ``->``, or None where there is none

    @property
    def start(self) -> int:
        """Start of the types behind the colon."""
        return self.tokens[(self.colon or 0) + 1].start

    def has_word(self, text: str) -> bool:
        """Return True if a word is among the tokens."""
        return any(token.text == text for token in self.tokens)


def signature_of(op: OpSyntax) -> Signature:
    """Return the types that a op ends with."""
    tokens = op.rest if op.regions else op.head
    colon = first_outside(tokens, ":")
    if colon is None:
        return Signature(tokens, None)
    behind = tokens[colon + 1 :]
    arrow = first_outside(behind, "->")
    if arrow is None:
        return Signature(tokens, colon, _types(behind))
    return Signature(tokens, colon, _types(behind[:arrow]), _types(behind[arrow + 1 :]))


def _types(tokens: Sequence[Token]) -> tuple[str, ...]:
    if tokens and tokens[0].text == "(" and closing(tokens, 0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    return tuple(source_of(part) for part in split_list(tokens))


def values_of(op: OpSyntax, signature: Signature) -> list[Token]:
    """Return the operands of a op, as far as they are written before its types."""
    tokens = op.head
    if signature.colon is not None and not op.regions:
        tokens = tokens[: signature.colon]
    return [t for t in tokens if t.kind == "value"]


def spelled(results: Sequence[str]) -> str:
    """Return the types of results as they are written behind an arrow."""
    return results[0] if len(results) == 1 else f"({', '.join(results)})"


def functional(operands: Sequence[str], results: Sequence[str]) -> str:
    """Return a trailing functional type with its colon."""
    return f": ({', '.join(operands)}) -> {spelled(results)}"


def type_edit(op: OpSyntax, signature: Signature, types: str) -> Replacement:
    """Return the edit that gives a op these types, colon included, in place of what it has."""
    if signature.colon is None:
        return inserted(op.end, " " + types)
    return between(signature.tokens[signature.colon], signature.tokens[-1], types)


def operand_types(op: OpSyntax, signature: Signature, types: Types) -> list[str]:
    """Return the type of each operand: the one written, else that of its definition, else any op."""
    inline = {value.start: source_of(type_) for value, type_ in _annotated(op)}
    written = iter(signature.operands)
    return [
        inline[value.start] if value.start in inline else next(written, None) or type_of(value, types)
        for value in values_of(op, signature)
    ]


def _annotated(op: OpSyntax) -> Iterator[tuple[Token, list[Token]]]:
    """Yield the operands in lists that carry a type of their own, as in ``[4, %size : !transform.any_op]``."""
    tokens = op.head
    for i in outside_brackets(tokens):
        if tokens[i].text != "[":
            continue
        for part in split_list(tokens[i + 1 : closing(tokens, i)]):
            if part[0].kind == "value" and len(part) > 2 and part[1].text == ":":
                yield part[0], part[2:]


def inline_type_edits(op: OpSyntax) -> tuple[Replacement, ...]:
    """Return the edits that take the types out of an op's lists; today they are trailing types."""
    return tuple(Replacement(value.end, type_[-1].end, "") for value, type_ in _annotated(op))


def type_of(value: Token, types: Types) -> str:
    """Return the type of a value as its definition has it, today's spelling; any op if that is not known."""
    name, _, number = value.text.partition("#")
    known = types.get(name, ())
    index = int(number[:6] or 0)  # a text may say anything
    return known[index] if index < len(known) else ANY_OP


def collect_types(ops: Sequence[OpSyntax]) -> Types:
    """Return the types of all values that are defined with theirs, by name."""
    types: Types = {}
    for op in ops:
        for inner in op.walk():
            if inner.spelling.endswith("named_sequence"):
                types.update(_argument_types(inner.head))
            elif inner.results:
                results = list(signature_of(inner).results or ())
                for name in inner.results:
                    types[name.text] = tuple(today(t) for t in results[: name.count])
                    results = results[name.count :]
            for region in inner.regions:
                for label in region.labels:
                    types.update(_argument_types(label.tokens))
    return types


def arguments_in(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the arguments in the first parentheses of a label or a named sequence, each with its type."""
    start = next((i for i, t in enumerate(tokens) if t.text == "("), None)
    if start is None:
        return []
    return split_list(tokens[start + 1 : closing(tokens, start)])


def _argument_types(tokens: Sequence[Token]) -> Types:
    found: Types = {}
    for part in arguments_in(tokens):
        if part[0].kind == "value" and len(part) > 2:
            end = next((i for i, t in enumerate(part) if t.text == "{"), len(part))
            found[part[0].text] = (today(source_of(part[2:end])),)
    return found


def today(type_: str) -> str:
    """Return a handle type in today's spelling."""
    return ANY_OP if type_ == PDL_OPERATION else type_


@dataclass(frozen=True)
class Scope:
    """What a rule may look at beside its op: the types of values, and the ops of its block."""

    types: Types
    siblings: Sequence[OpSyntax]

    @functools.cached_property
    def numbered_uses(self) -> Mapping[str, Sequence[Token]]:
        """The uses of one of several results, ``%loops#1``, in the block and in regions inside it, by name."""
        found: dict[str, list[Token]] = {}
        inside = (inner for sibling in self.siblings for inner in sibling.walk())
        for token in (token for inner in inside for token in inner.tokens):
            if token.kind == "value" and "#" in token.text:
                found.setdefault(token.text.partition("#")[0], []).append(token)
        return found


Rule = Callable[[OpSyntax, Scope], Iterable[Finding]]
