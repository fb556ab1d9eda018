"""What belongs together in a text: brackets and their partners, elements of lists, comments and their ops."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from lhkit.text.lexer import Token

# Steps that are switched off stand in comments that begin like this; they belong to no other step.
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
    """Return what comments belong to.

    Returns:
        By the start of a token, where the comments right above it begin; by the end of a token, where a comment
        behind it on its line ends.
    """
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
    following = tokens[i + 1] if i + 1 < len(tokens) else None
    compares = token.text in "<>" and following is not None and following.text == "="
    return not (compares and following is not None and following.start == token.end)


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


def source_of(tokens: Sequence[Token]) -> str:
    """Return tokens as text, without the comments and line breaks between them."""
    pieces = []
    for i, token in enumerate(tokens):
        apart = i > 0 and tokens[i - 1].end < token.start
        pieces.append((" " if apart else "") + token.text)
    return "".join(pieces)
