"""What belongs together in a text: brackets and their partners, comments and their ops."""

from __future__ import annotations

from lhkit.schedule.lexing import Token

# Steps that are switched off stand in comments that begin like this; they belong to no other step.
OFF_MARK = "//lhkit:off"
CLOSERS = {"(": ")", "[": "]", "{": "}"}


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
