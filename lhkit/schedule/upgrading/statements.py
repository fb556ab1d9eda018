"""Text of any age as statements: ops with their results, their own tokens and their regions.

No parser of MLIR takes what it no longer knows, so this one goes by looks: where an op begins, and which
braces are regions. It never fails; a text that misleads it is rewritten less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lhkit.schedule.lexing import Token, lex, without_trivia

# Names that stood without a dialect: in functions before the standard dialect was taken apart, and in transform
# sequences, whose dialect is the default inside them. Only what may begin a line: behind "=" any word is one.
BARE_NAMES = frozenset(
    [
        "module",
        "func",
        "call",
        "call_indirect",
        "return",
        "br",
        "cond_br",
        "switch",
        "store",
        "dealloc",
        "assert",
        "tensor_store",
        "linalg_yield",
        "sequence",
        "with_pdl_patterns",
        "foreach",
        "alternatives",
        "yield",
        "print",
        "include",
        "apply_patterns",
        "annotate",
        "test_print_remark_at_operand",
        "test_print_param",
        "test_print_number_of_associated_payload_ir_ops",
        "test_consume_operand",
        "bufferize",
    ]
)
_OPENERS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_CLOSERS = frozenset(_OPENERS.values())
# No op has more results; a text may say anything.
_MOST_RESULTS = 1_000
# Deeper braces are taken for brackets: nobody nests like that, and walking must not run out of stack.
_DEEPEST = 100
_TERMINATORS = (".yield", ".return", ".in_parallel", ".perform_concurrently", ".terminator")


@dataclass(slots=True)
class Region:
    """The statements between two braces; ``close`` is None where the text ends before."""

    open: Token
    close: Token | None = None
    statements: list[Statement] = field(default_factory=list)


@dataclass(slots=True)
class Statement:
    """An op, a block's label (``^bb0(…):``) or an alias (``#map = …``).

    Attributes:
        name: The op's name as written, without quotes; the label or the alias otherwise.
        at: The token of the name.
        results: The value tokens in front of ``=``, each with how many results it stands for.
        head: Tokens behind the name, as far as the first region.
        regions: Its regions, in order.
        tail: Tokens behind the first region that are in none.
        first: The first token, of a result or the name.
        last: The last token of all.
        is_generic: True for the form with quotes, which says all of an op.
    """

    name: str
    at: Token
    first: Token
    last: Token
    results: tuple[tuple[Token, int], ...] = ()
    head: list[Token] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    tail: list[Token] = field(default_factory=list)
    is_generic: bool = False

    @property
    def result_count(self) -> int:
        """How many results it is given names for; no op has more than the bound."""
        return min(sum(count for _, count in self.results), _MOST_RESULTS)

    def walk(self) -> Iterator[Statement]:
        """Yield it and all statements in it, outer before inner."""
        yield self
        for region in self.regions:
            for statement in region.statements:
                yield from statement.walk()


def parse_statements(text: str | tuple[Token, ...]) -> list[Statement]:
    """Return the statements at the top level of a text, or of the tokens of one."""
    return _Parser(without_trivia(lex(text) if isinstance(text, str) else text)).parse()


def closing(tokens: Sequence[Token], at: int) -> int:
    """Return the index of what closes the bracket at an index, or that of the last token."""
    depth = 0
    for i in range(at, len(tokens)):
        if is_bracket(tokens, i, _OPENERS):
            depth += 1
        elif is_bracket(tokens, i, _CLOSERS):
            depth -= 1
            if depth == 0:
                return i
    return len(tokens) - 1


def is_bracket(tokens: Sequence[Token], i: int, which: Sequence[str] | frozenset[str] | dict[str, str]) -> bool:
    """Return True for a token that is one of these brackets, and no comparison in an affine set."""
    token = tokens[i]
    if token.kind != "punctuation" or token.text not in which:
        return False
    following = tokens[i + 1] if i + 1 < len(tokens) else None
    compares = token.text in "<>" and following is not None and following.text == "="
    return not (compares and following is not None and following.start == token.end)


def is_whole(statement: Statement) -> bool:
    """Return True if the brackets of a statement close, and nothing in it is no token: it can be rewritten."""
    open_brackets: list[str] = []
    tokens = [*statement.head, *statement.tail]
    for i, token in enumerate(tokens):
        if token.kind == "unknown":
            return False
        if is_bracket(tokens, i, _OPENERS):
            open_brackets.append(_OPENERS[token.text])
        elif is_bracket(tokens, i, _CLOSERS) and (not open_brackets or open_brackets.pop() != token.text):
            return False
    return not open_brackets


class _Parser:
    """One pass over the tokens, with a stack of the regions that are open."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._top: list[Statement] = []
        # Each open region: its statements, the statement going on, the brackets open in that one.
        self._lists: list[list[Statement]] = [self._top]
        self._current: list[Statement | None] = [None]
        self._brackets: list[list[str]] = [[]]
        # How often each closing bracket is waited for: looking through the list would take quadratic time.
        self._waits: list[Counter[str]] = [Counter()]

    def parse(self) -> list[Statement]:
        """Return the statements at the top level."""
        i = 0
        while i < len(self._tokens):
            i = self._step(i)
        return self._top

    def _step(self, i: int) -> int:
        token = self._tokens[i]
        brackets, waits = self._brackets[-1], self._waits[-1]
        if not brackets:
            if token.text == "}" and len(self._lists) > 1:
                self._close(token)
                return i + 1
            if (begun := self._begin(i)) is not None:
                return begun
        nests = token.text == "{" and len(self._lists) < _DEEPEST
        if nests and self._current[-1] is not None and self._is_region(i):
            region = Region(token)
            self._extend(token, keep=False)
            statement = self._current[-1]
            statement.regions.append(region)
            self._lists.append(region.statements)
            self._current.append(None)
            self._brackets.append([])
            self._waits.append(Counter())
            return i + 1
        if is_bracket(self._tokens, i, _OPENERS):
            brackets.append(_OPENERS[token.text])
            waits[brackets[-1]] += 1
        elif is_bracket(self._tokens, i, _CLOSERS) and waits[token.text]:
            closed = ""
            while closed != token.text:
                closed = brackets.pop()
                waits[closed] -= 1
        self._extend(token)
        if token.text == ":" and not brackets and (label := self._current[-1]) and label.at.kind == "block":
            self._current[-1] = None
        return i + 1

    def _extend(self, token: Token, *, keep: bool = True) -> None:
        statement = self._current[-1]
        if statement is None:
            return
        statement.last = token
        if keep:
            (statement.tail if statement.regions else statement.head).append(token)

    def _close(self, token: Token) -> None:
        self._lists.pop()
        self._current.pop()
        self._brackets.pop()
        self._waits.pop()
        statement = self._current[-1]
        if statement is not None:
            statement.regions[-1].close = token
            for outer in self._current:
                if outer is not None:
                    outer.last = token

    def _begin(self, i: int) -> int | None:
        """Begin the statement that starts at an index; return the index behind its name, or None."""
        token = self._tokens[i]
        current = self._current[-1]
        if token.kind in ("block", "attribute", "type"):
            wanted = {"(", ":"} if token.kind == "block" else {"="}
            if self._starts_line(i) and self._text(i + 1) in wanted:
                return self._add(Statement(token.text, token, token, token), i + 1)
            return None
        # Results come after no comma; looking on from every value of a long list would take quadratic time.
        results, at = ([], i) if self._text(i - 1) == "," else self._results(i)
        if results and current is not None and current.last is current.at:
            return None  # "scf.for %i = …": the loop's own variable
        named = self._tokens[at] if at < len(self._tokens) else None
        if named is None or named.kind not in ("word", "string"):
            return None
        if not results and not self._begins_bare(i, named):
            return None
        generic = named.kind == "string"
        if generic and self._text(at + 1) != "(":
            return None
        name = named.text.strip('"')
        return self._add(Statement(name, named, token, named, tuple(results), is_generic=generic), at + 1)

    def _begins_bare(self, i: int, named: Token) -> bool:
        first = self._starts_line(i) or self._current[-1] is None
        if named.kind == "string":
            return first
        if "." in named.text:
            return first or self._text(i - 1) not in ("=", ",", ":", "->")
        return first and named.text in BARE_NAMES and self._text(i - 1) not in ("=", ",", "->")

    def _add(self, statement: Statement, following: int) -> int:
        self._lists[-1].append(statement)
        self._current[-1] = statement
        for outer in self._current:
            if outer is not None:
                outer.last = statement.last
        return following

    def _results(self, i: int) -> tuple[list[tuple[Token, int]], int]:
        """Return the results in front of "=" from an index on, and the index behind it, if there are any."""
        results = []
        at = i
        while at < len(self._tokens) and self._tokens[at].kind == "value":
            count = 1
            token = self._tokens[at]
            at += 1
            if self._text(at) == ":" and self._text(at + 1).isdecimal():
                count = min(int(self._text(at + 1)[:6]), _MOST_RESULTS)
                at += 2
            results.append((token, count))
            if self._text(at) == "=":
                return results, at + 1
            if self._text(at) != ",":
                break
            at += 1
        return [], i

    def _is_region(self, i: int) -> bool:
        following = self._tokens[i + 1] if i + 1 < len(self._tokens) else None
        if following is None or following.kind in ("block", "comment"):
            return True
        after = self._text(i + 2)
        if following.kind == "value":
            return bool(self._results(i + 1)[0])
        if following.kind == "string":
            return after == "("
        if following.kind == "word":
            if after in ("=", ","):
                return False
            return after != "}" or following.text.endswith(_TERMINATORS) or following.text in BARE_NAMES
        return following.text == "}" and self._opens_empty_region()

    def _opens_empty_region(self) -> bool:
        current = self._current[-1]
        return current is not None and current.name in ("module", "builtin.module", "transform.named_sequence")

    def _starts_line(self, i: int) -> bool:
        return i == 0 or self._tokens[i - 1].line < self._tokens[i].line or self._text(i - 1) in ("{", "}")

    def _text(self, i: int) -> str:
        return self._tokens[i].text if 0 <= i < len(self._tokens) else ""
