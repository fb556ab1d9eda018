"""Error-tolerant parser from tokens to ops, without knowledge of particular ops.

An op begins where results and ``=`` precede a name, or at a name with a dot, at the bracket depth of its block.
It ends where the next one begins or its block ends. Other text there belongs to the preceding op.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from lhkit.text.lexer import Token, lex, without_trivia
from lhkit.text.op_tree import (
    MOST_RESULTS,
    BlockLabel,
    BlockSyntax,
    Group,
    Name,
    OpSyntax,
    RegionSyntax,
    Syntax,
    Use,
)

# Disabled steps are comments with this prefix; they are not leading comments of the next step.
OFF_MARK = "//lhkit:off"
CLOSERS = {"(": ")", "[": "]", "{": "}"}
# Outside of affine sets, angles are brackets too.
_OPENERS = {**CLOSERS, "<": ">"}
_CLOSING = frozenset(_OPENERS.values())


def partners_of(tokens: tuple[Token, ...]) -> list[int | None]:
    """Return, for each opening bracket, the index of the one that closes it; None for all else.

    A brace that nothing closes reaches to the end of what is around it, for texts that break off; a parenthesis
    or bracket like that is taken for an ordinary token.
    """
    partner: list[int | None] = [None] * len(tokens)
    open_: list[int] = []
    for i, token in enumerate(tokens):
        if token.kind != "punctuation":
            continue
        if token.text in CLOSERS:
            open_.append(i)
        elif token.text in (")", "]", "}"):
            # A brace outranks what is left open inside it; the others close only what they belong to.
            while token.text == "}" and open_ and tokens[open_[-1]].text != "{":
                open_.pop()
            if open_ and CLOSERS[tokens[open_[-1]].text] == token.text:
                partner[open_.pop()] = i
    for i in open_:
        if tokens[i].text == "{":
            partner[i] = len(tokens)
    return partner


def comments_of(tokens: tuple[Token, ...]) -> tuple[dict[int, int], dict[int, int]]:
    """Return what comments belong to."""
    leads: dict[int, int] = {}
    tails: dict[int, int] = {}
    lead: int | None = None
    before: Token | None = None
    for token in tokens:
        if token.kind == "comment":
            own_line = before is None or before.line != token.line
            if before is not None and not own_line:
                tails[before.end] = token.end
            elif token.text.startswith(OFF_MARK):
                lead = None
            elif lead is None:
                lead = token.start
        elif token.kind == "space":
            lead = lead if token.text.count("\n") <= 1 else None
        else:
            if lead is not None:
                leads[token.start] = lead
            lead, before = None, token
    return leads, tails


def is_bracket(tokens: Sequence[Token], i: int, which: Collection[str]) -> bool:
    """Return True for a token that is one of these brackets, and no comparison in an affine set."""
    token = tokens[i]
    if token.kind != "punctuation" or token.text not in which:
        return False
    if token.text not in "<>" or i + 1 == len(tokens):
        return True
    return tokens[i + 1].text != "=" or tokens[i + 1].start > token.end


def closing(tokens: Sequence[Token], at: int) -> int:
    """Return the index of what closes the bracket at an index, or that of the last token."""
    depth = 0
    for i in range(at, len(tokens)):
        if is_bracket(tokens, i, _OPENERS):
            depth += 1
        elif is_bracket(tokens, i, _CLOSING):
            depth -= 1
            if depth == 0:
                return i
    return len(tokens) - 1


def are_balanced(tokens: Sequence[Token]) -> bool:
    """Return True if all brackets among tokens close, and nothing is a token that no lexer takes."""
    open_brackets: list[str] = []
    for i, token in enumerate(tokens):
        if token.kind == "unknown":
            return False
        if is_bracket(tokens, i, _OPENERS):
            open_brackets.append(_OPENERS[token.text])
        elif is_bracket(tokens, i, _CLOSING) and (not open_brackets or open_brackets.pop() != token.text):
            return False
    return not open_brackets


def split_list(tokens: Sequence[Token]) -> list[list[Token]]:
    """Split tokens at top-level commas."""
    commas = [i for i in outside_brackets(tokens) if tokens[i].text == ","]
    bounds = pairwise([-1, *commas, len(tokens)])
    return [list(tokens[before + 1 : end]) for before, end in bounds if end > before + 1]


def outside_brackets(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the indices of tokens outside brackets, opening brackets included."""
    i = 0
    while i < len(tokens):
        yield i
        if is_bracket(tokens, i, "([{<"):
            i = closing(tokens, i)
        i += 1


def first_outside(tokens: Sequence[Token], text: str) -> int | None:
    """Return the index of the first token with a text outside brackets, or None."""
    return next((i for i in outside_brackets(tokens) if tokens[i].text == text), None)


def brackets_behind(tokens: Sequence[Token], word: str, opener: str) -> tuple[int, int] | None:
    """Return the indices of the brackets of ``word [`` outside of other brackets, or None."""
    for i in outside_brackets(tokens[:-1]):
        if tokens[i].text == word and tokens[i + 1].text == opener:
            return i + 1, closing(tokens, i + 1)
    return None


def source_of(tokens: Sequence[Token]) -> str:
    """Return tokens as text, without the comments and line breaks between them."""
    behind = (" " * (before.end < token.start) + token.text for before, token in pairwise(tokens))
    return "".join([*(token.text for token in tokens[:1]), *behind])


# Ops that are written without a dialect; elsewhere such words are keywords.
BARE_NAMES = {"module": "builtin.module", "return": "func.return", "call": "func.call", "func": "func.func"}
# Names that once were written without a dialect: those of the standard dialect in functions, and those of
# transform in the regions of its ops. Only what may begin a line: behind "=" any word is one.
_OLD_NAMES = """
call_indirect br cond_br switch store dealloc assert tensor_store linalg_yield sequence with_pdl_patterns
foreach alternatives yield print include apply_patterns annotate test_print_remark_at_operand
test_print_param test_print_number_of_associated_payload_ir_ops test_consume_operand bufferize
"""
OLD_NAMES = frozenset(_OLD_NAMES.split())
# In the region of a transform.sequence, and only there, ops may leave out the dialect.
_SHORT_NAMES = """
alternatives annotate apply_conversion_patterns apply_cse apply_dce apply_licm apply_patterns
apply_registered_pass cast collect_matching foreach foreach_match get_consumers_of_result get_defining_op
get_operand get_parent_op get_producer_of_operand get_result get_type include merge_handles num_associations
payload print replicate select sequence split_handle verify yield
"""
SHORT_NAMES = frozenset(_SHORT_NAMES.split())
CONNECTORS = {"=", ",", ":", "->", "<", "-", "+", "*", "|", "?", "::"}
# Tokens after ``%i =`` in a loop's head that do not begin an op.
NO_OPS = {"max", "min", "dense", "affine_map", "affine_set", "true", "false", "unit"}
# Ops whose braces hold a region where the braces alone do not tell, as in ``{}``.
_REGION_HOLDERS = """
builtin.module func.func transform.named_sequence transform.sequence transform.foreach
transform.alternatives transform.tune.alternatives transform.apply_patterns
transform.apply_conversion_patterns transform.with_pdl_patterns linalg.reduce linalg.map
"""
REGION_HOLDERS = frozenset(_REGION_HOLDERS.split())
TERMINATORS = (".yield", ".return")
# The last colon of these belongs to an attribute: their types begin at the arrow.
TYPED_BY_ARROW = ("transform.tune.knob", "transform.param.constant")
# Deeper regions stay unread: nothing a person writes, and the reader must not run out of stack.
_MOST_DEPTH = 60
# How far into a dictionary the reader looks for what cannot be in one.
_MOST_TOKENS = 200


class _Head(NamedTuple):
    """The beginning of an op: its results and the index of the token with its name."""

    results: tuple[Name, ...]
    name_at: int
    name: str
    is_generic: bool


# More than a schedule has libraries, each with and without its optional steps and with its knobs as numbers.
_MOST_TEXTS = 64


@functools.lru_cache(maxsize=_MOST_TEXTS)
def read_syntax(text: str, *, is_old: bool = False) -> Syntax:
    """Return the ops of a text; of a broken one, those that can be made out. Never raises."""
    tokens = lex(text)
    starts = (0, *(end.end() for end in re.finditer("\n", text)))
    reader = _Reader(text, tokens, OLD_NAMES if is_old else frozenset())
    blocks = reader.blocks(0, len(reader.tokens), 0, ())
    ops = tuple(op for block in blocks for op in block.ops)
    return Syntax(text, tokens, ops, starts)


@functools.lru_cache(maxsize=_MOST_TEXTS)
def read_steps(text: str) -> tuple[OpSyntax, ...]:
    """Return all transform ops of a text in order, terminators too, and all ops nested in one."""
    return tuple(_steps_in(read_syntax(text).ops, is_inside=False))


@functools.lru_cache(maxsize=_MOST_TEXTS)
def number_steps(text: str) -> Mapping[int, int]:
    """Return the number of each step of a text by the place where it begins."""
    return {step.start: number for number, step in enumerate(read_steps(text))}


def _steps_in(ops: tuple[OpSyntax, ...], *, is_inside: bool) -> Iterator[OpSyntax]:
    for op in ops:
        is_step = is_inside or op.name.startswith("transform.")
        if is_step:
            yield op
        for region in op.regions:
            yield from _steps_in(region.ops, is_inside=is_step)


class _Reader:
    """Reads the tokens that mean something, with the partner of every bracket known beforehand."""

    def __init__(self, text: str, tokens: tuple[Token, ...], old_names: frozenset[str]) -> None:
        self._text = text
        self._old_names = old_names
        self.tokens = without_trivia(tokens)
        self._partner = partners_of(self.tokens)
        self._leads, self._tails = comments_of(tokens)
        self._is_in_sequence = False

    def blocks(self, i: int, end: int, depth: int, arguments: tuple[Name, ...]) -> tuple[BlockSyntax, ...]:
        """Return the blocks of a region whose tokens are ``i`` to ``end``; the first one may have no label."""
        blocks: list[BlockSyntax] = []
        label: BlockLabel | None = None
        ops: list[OpSyntax] = []
        is_fresh = True
        while i < end:
            after = self._label_end(i, end)
            if after is not None:
                if ops or label is not None or arguments:
                    blocks.append(BlockSyntax(label, arguments, tuple(ops)))
                label, ops = BlockLabel(self.tokens[i], self.tokens[i + 1 : after]), []
                arguments = self._arguments(i + 1, after - 1)
                i, is_fresh = after, True
            elif (head := self._head(i, end, is_fresh)) is not None:
                op, i = self._op(head, i, end, depth)
                ops.append(op)
                is_fresh = False
            else:
                i, is_fresh = i + 1, False
        blocks.append(BlockSyntax(label, arguments, tuple(ops)))
        return tuple(blocks)

    def _is(self, i: int, end: int, text: str) -> bool:
        return i < end and self.tokens[i].text == text

    def _label_end(self, i: int, end: int) -> int | None:
        """Return the index behind the colon of a block's label, None where none begins."""
        if self.tokens[i].kind != "block":
            return None
        after = i + 1
        if self._is(after, end, "(") and self._partner[after] is not None:
            after = (self._partner[after] or 0) + 1
        return after + 1 if self._is(after, end, ":") else None

    def _head(self, i: int, end: int, is_fresh: bool) -> _Head | None:
        """Return the head of the op that begins at a token, None where none does."""
        # Results come after no comma; looking on from every handle of a long list would take quadratic time.
        if not is_fresh and self.tokens[i - 1].text == ",":
            return None
        names: list[Name] = []
        at = i
        while at < end and self.tokens[at].kind == "value":
            token = self.tokens[at]
            count, stop = 1, token.end
            if self._is(at + 1, end, ":") and at + 2 < end and self.tokens[at + 2].text.isdecimal():
                count, stop = min(int(self.tokens[at + 2].text[:6]), MOST_RESULTS), self.tokens[at + 2].end
                at += 2
            names.append(Name(token.text, token.start, stop, count))
            at += 1
            if not self._is(at, end, ","):
                break
            at += 1
        if names:
            if not self._is(at, end, "="):
                return None
            at += 1
        # No op begins inside a list or a type.
        before, token = self.tokens[i - 1], self.tokens[i]
        may_begin = before.line != token.line or before.text not in CONNECTORS
        if at >= end or not (names or is_fresh or may_begin):
            return None
        name = self._op_name(at, end, bool(names), is_fresh)
        return None if name is None else _Head(tuple(names), at, name, self.tokens[at].kind == "string")

    def _op_name(self, i: int, end: int, has_results: bool, is_fresh: bool) -> str | None:
        token = self.tokens[i]
        if token.kind == "string":
            return token.text[1:-1] if self._is(i + 1, end, "(") else None
        if token.kind != "word":
            return None
        if "." in token.text:
            return token.text
        if self._is_in_sequence and token.text in SHORT_NAMES:
            return f"transform.{token.text}"
        if has_results:
            return None if token.text in NO_OPS else BARE_NAMES.get(token.text, token.text)
        starts = is_fresh or self.tokens[i - 1].line != token.line or self.tokens[i - 1].text == "}"
        is_bare = token.text in BARE_NAMES or token.text in self._old_names
        return BARE_NAMES.get(token.text, token.text) if starts and is_bare else None

    def _op(self, head: _Head, first: int, end: int, depth: int) -> tuple[OpSyntax, int]:
        operands, groups, regions = list[Use](), list[Group](), list[RegionSyntax]()
        braces: list[int] = []  # those that open its regions
        arguments: tuple[Name, ...] = ()
        marks: list[int] = []  # tokens at the depth of the block
        i = head.name_at + 1
        while i < end and not self._ends(i, end, depth):
            partner = self._partner[i]
            is_region = partner is not None and self._holds_region(i, partner, head)
            if partner is None or partner > end or not (is_region or self._is_whole(i, partner)):
                marks.append(i)
                operands += self._uses(i, i + 1)
                i += 1
                continue
            if is_region:
                braces.append(i)
                regions.append(self._region(i, partner, depth, head.name, arguments))
            elif head.is_generic and self._is(i, end, "(") and self._is(i + 1, end, "{"):
                inside = self._regions(i + 1, partner)
                braces += inside
                regions += [self._region(at, self._partner[at] or 0, depth, head.name, ()) for at in inside]
            else:
                groups.append(self._group(i, partner))
                if head.name == "transform.named_sequence" and self._is(i, end, "(") and not head.is_generic:
                    arguments = arguments or self._arguments(i, partner)
                else:
                    operands += self._uses(i, partner)
            marks += [i, partner]
            i = partner + 1
        i = min(i, len(self.tokens))
        last = self.tokens[min(i, end) - 1]
        location = self._location(marks, i)
        types_end = location[0] if location else last.end
        own, rest = self._own_tokens(head.name_at + 1, braces, min(i, end))
        op = OpSyntax(
            name=head.name,
            first=self.tokens[first],
            at=self.tokens[head.name_at],
            last=last,
            head=own,
            rest=rest,
            results=head.results,
            operands=tuple(operands),
            groups=tuple(groups),
            regions=tuple(regions),
            arguments=arguments,
            signature=self._signature(head.name, marks, types_end, regions),
            location=location,
            lead=self._leads.get(self.tokens[first].start, self.tokens[first].start),
            tail=self._tails.get(last.end, last.end),
        )
        return op, i

    def _own_tokens(self, i: int, braces: list[int], end: int) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
        """Return the tokens from ``i`` on as far as the first region, and those behind it that are in none."""
        starts = [i, *((self._partner[brace] or 0) + 1 for brace in braces)]
        first, *others = (self.tokens[a:b] for a, b in zip(starts, [*braces, end], strict=True))
        return first, tuple(itertools.chain(*others))

    def _ends(self, i: int, end: int, depth: int) -> bool:
        token = self.tokens[i]
        if token.text == "}" or token.kind == "resources":
            return True
        if depth == 0 and token.kind in ("attribute", "type") and self._is(i + 1, end, "="):
            return True
        if token.kind == "block":
            return self._label_end(i, end) is not None
        return token.kind in ("value", "word", "string") and self._head(i, end, False) is not None

    def _is_whole(self, i: int, partner: int) -> bool:
        """Return False for a dictionary that nothing closes: it reaches into steps, which define handles."""
        if self.tokens[i].text != "{":
            return True
        inside = self.tokens[i + 1 : min(partner, i + 1 + _MOST_TOKENS)]
        return partner < len(self.tokens) and all(t.kind != "value" for t in inside)

    def _uses(self, i: int, end: int) -> list[Use]:
        return [Use(t.text, t.start, t.end) for t in self.tokens[i:end] if t.kind == "value"]

    def _group(self, i: int, partner: int) -> Group:
        before = self.tokens[i - 2 if self.tokens[i - 1].text == "=" else i - 1]
        keyword = before.text if before.kind == "word" else ""
        return Group(self.tokens[i].text, self.tokens[i].start, self.tokens[partner].end, keyword)

    def _holds_region(self, i: int, partner: int, of: _Head) -> bool:
        """Return True for braces that hold ops, False for a dictionary or a list in braces."""
        before, owner = self.tokens[i - 1], of.name
        if of.is_generic or self.tokens[i].text != "{" or before.text in ("attributes", "=", "<"):
            return False
        if before.kind == "word" and before.end == self.tokens[i].start:  # ops{["linalg.matmul"]}
            return False
        inside = i + 1
        if inside == partner:
            return owner in REGION_HOLDERS
        if self._label_end(inside, partner) is not None:
            return True
        head = self._head(inside, partner, True)
        if head is None:
            is_entry = self.tokens[inside].kind in ("word", "string") and (
                inside + 1 == partner or self.tokens[inside + 1].text in ("=", ",")
            )
            return owner in REGION_HOLDERS and not is_entry
        if head.results or head.is_generic:
            return True
        if inside + 1 == partner:
            return owner in REGION_HOLDERS or head.name.endswith(TERMINATORS)
        return self.tokens[inside + 1].text not in ("=", ",")

    def _region(
        self, i: int, partner: int, depth: int, owner: str, arguments: tuple[Name, ...]
    ) -> RegionSyntax:
        was, self._is_in_sequence = self._is_in_sequence, owner == "transform.sequence"
        is_read = depth < _MOST_DEPTH
        blocks = self.blocks(i + 1, partner, depth + 1, arguments) if is_read else ()
        self._is_in_sequence = was
        last = self.tokens[min(partner, len(self.tokens) - 1)]
        return RegionSyntax(self.tokens[i].start, last.end, blocks, partner < len(self.tokens))

    def _regions(self, i: int, end: int) -> list[int]:
        """Return where the regions of the generic form begin: braces between commas."""
        found = []
        while i < end:
            partner = self._partner[i]
            if self.tokens[i].text == "{" and partner is not None:
                found.append(i)
                i = partner
            i += 1
        return found

    def _arguments(self, i: int, end: int) -> tuple[Name, ...]:
        """Return the arguments in parentheses that open at ``i``: ``(%a: T {…}, %b: T)``."""
        found = []
        at = i + 1
        while at < end:
            token = self.tokens[at]
            if token.kind == "value" and self._is(at + 1, end, ":"):
                stop = self._type_end(at + 2, end)
                span = (self.tokens[at + 2].start, self.tokens[stop - 1].end) if stop > at + 2 else None
                found.append(Name(token.text, token.start, token.end, type_span=span))
                at = stop
            else:
                partner = self._partner[at]
                at = partner + 1 if partner is not None else at + 1
        return tuple(found)

    def _type_end(self, i: int, end: int) -> int:
        angles = 0
        while i < end:
            token, partner = self.tokens[i], self._partner[i]
            if angles <= 0 and (token.text in (",", "{", ")") or token.text == "loc"):
                break
            angles += {"<": 1, ">": -1}.get(token.text, 0)
            i = partner + 1 if partner is not None else i + 1
        return min(i, end)

    def _location(self, marks: list[int], end: int) -> tuple[int, int] | None:
        """Return the start of a trailing ``loc(…)``."""
        if len(marks) < 3 or marks[-1] != end - 1 or marks[-1] >= len(self.tokens):
            return None
        word, opener, closer = (self.tokens[i] for i in marks[-3:])
        return (word.start, closer.end) if (word.text, opener.text) == ("loc", "(") else None

    def _signature(
        self, name: str, marks: list[int], end: int, regions: list[RegionSyntax]
    ) -> tuple[int, int] | None:
        opener = "->" if name in TYPED_BY_ARROW else ":"
        starts = [t.start for t in (self.tokens[i] for i in marks if i < len(self.tokens)) if t.text == opener]
        start = max((s for s in starts if s < end), default=None)
        if start is None:
            return None
        end = min([end, *(r.start for r in regions if r.start > start)])
        return start, len(self._text[:end].rstrip())
