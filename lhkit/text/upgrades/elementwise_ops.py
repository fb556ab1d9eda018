"""Elementwise ops of linalg, named or by kind, rewritten to the other spelling, in payloads and schedules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from lhkit.model.elementwise_kinds import ELEMENTWISE, KINDS, NAMES, ElementwiseSpelling, kind_attribute
from lhkit.text.brackets import are_balanced, closing, outside_brackets, source_of, split_list
from lhkit.text.lexer import Token
from lhkit.text.op_tree import BlockLabel, OpSyntax
from lhkit.text.parser import read_syntax
from lhkit.text.script import Replacement, with_replacements
from lhkit.text.upgrades.linalg_rules import indexing_maps
from lhkit.text.upgrades.rule_edits import Finding, between, hint, inserted, replaced, rewrite
from lhkit.text.upgrades.signatures import signature_of, spelled

# "any": named ops stay where the bindings have them; else all ops are rewritten, as far as they can be.
Wanted = Literal["any", "named", "elementwise"]
_REMOVED_IN = 24  # the LLVM that was under development then
# Takes an op or a label, and whether it stands in a schedule.
Respelling = Callable[[OpSyntax | BlockLabel, bool], Iterable[Finding]]
_MENTIONED = re.compile(rf"\b(?:{'|'.join(re.escape(name) for name in KINDS)}|{re.escape(ELEMENTWISE)})\b")


def respelling(spelling: ElementwiseSpelling, wanted: Wanted) -> Respelling:
    """Return the rule that rewrites the elementwise ops of a text.

    Args:
        spelling: What the bindings take.
        wanted: Which of the two is to be written where the bindings take both.
    """
    if not spelling.form or (wanted == "named" and spelling.named):
        to_kind = False
    elif not spelling.named or wanted == "elementwise":
        to_kind = True
    else:
        return lambda op, _: _stated_as_taken(op, spelling) if isinstance(op, OpSyntax) else ()

    def rule(op: OpSyntax | BlockLabel, in_transform: bool) -> Iterable[Finding]:
        if isinstance(op, BlockLabel):
            yield from _other_names(op) if in_transform and to_kind else ()
        elif in_transform and op.spelling.startswith("transform."):
            yield from (_match_kinds if to_kind else _match_names)(op)
        elif to_kind:
            yield from _by_kind(op, spelling) or _stated_as_taken(op, spelling)
        else:
            yield from list(_named(op)) or _stated_as_taken(op, spelling)

    return rule


def mentions_elementwise(text: str) -> bool:
    """Return True if a text may hold an elementwise op, or the name of one; takes time linear in its length."""
    return _MENTIONED.search(text) is not None


def respell_text(text: str, spelling: ElementwiseSpelling, wanted: Wanted = "any") -> str:
    """Return a text with elementwise ops rewritten; see `respelling`.

    Every op stays on its line. What cannot be rewritten stays as it is.
    """
    rule = respelling(spelling, wanted)
    edits = [
        e for f in _visit(read_syntax(text, is_old=True).ops, rule, False) for e in getattr(f, "edits", ())
    ]
    return with_replacements(text, edits) if edits else text


def _visit(ops: Sequence[OpSyntax], rule: Respelling, inside: bool) -> Iterator[Finding]:
    for op in ops:
        in_transform = inside or op.spelling.startswith("transform.")
        if are_balanced(op.tokens):
            yield from rule(op, in_transform)
        for region in op.regions:
            for label in region.labels:
                yield from rule(label, in_transform)
            yield from _visit(region.ops, rule, in_transform)


def _by_kind(op: OpSyntax, spelling: ElementwiseSpelling) -> list[Finding]:
    """``linalg.add`` → ``linalg.elementwise <add>``; operands of another rank need their maps written."""
    if op.spelling not in KINDS or op.is_generic:
        return []
    new = spelling.op(KINDS[op.spelling])
    maps = indexing_maps(op.head)
    if maps is None:
        return [hint(op.at, f"{op.spelling} is {ELEMENTWISE} today", f"{new} ins(…) outs(…)")]
    return [rewrite(op.at, op.spelling, new, replaced(op.at, new + maps), until=_REMOVED_IN)]


def _named(op: OpSyntax) -> Iterator[Finding]:
    """``linalg.elementwise <add>`` → ``linalg.add``, where there is such an op and no map says more."""
    stated = _stated_kind(op)
    if stated is None:
        return
    kind, end, _ = stated
    if kind in NAMES and not any(t.text == "indexing_maps" for t in op.head):
        yield rewrite(op.at, f"{ELEMENTWISE} <{kind}>", NAMES[kind], between(op.at, end, NAMES[kind]))


def _stated_as_taken(op: OpSyntax, spelling: ElementwiseSpelling) -> Iterable[Finding]:
    """State the kind in the form that the bindings take."""
    stated = _stated_kind(op)
    if stated is not None and spelling.form and stated[2] != spelling.form:
        kind, end, form = stated
        old = ElementwiseSpelling(form="kind" if form == "kind" else "short").op(kind)
        new = spelling.op(kind)
        yield rewrite(op.at, old, new, between(op.at, end, new))


def _stated_kind(op: OpSyntax) -> tuple[str, Token, str] | None:
    """Return (kind, last token of it, form) of a ``linalg.elementwise``, or None for what is none."""
    if op.spelling != ELEMENTWISE or op.is_generic:
        return None
    words = [t.text for t in op.head[:6]]
    if words[:1] == ["<"] and words[2:3] == [">"]:
        return words[1], op.head[2], "short"
    if words[:4] == ["kind", "=", "#linalg.elementwise_kind", "<"] and words[5:6] == [">"]:
        return words[4], op.head[5], "kind"
    return None


def _match_kinds(op: OpSyntax) -> Iterator[Finding]:
    """Match by kind what was matched by name; several names are several matches, merged on the same line."""
    names, end = _matched_names(op)
    gone = [n for n in names if n in KINDS]
    if not gone:
        yield from _other_names(op)
    elif ELEMENTWISE in names:
        return  # names that do not exist match nothing
    elif len(names) == 1:
        new = f'ops{{["{ELEMENTWISE}"]}} attributes {{kind = {kind_attribute(KINDS[gone[0]])}}}'
        edits = [*_with_kind(op, end, KINDS[gone[0]]), *_renamed(op)]
        yield rewrite(op.at, f'ops{{["{gone[0]}"]}}', new, *edits, until=_REMOVED_IN)
    elif len(op.results) == 1 and not op.regions and not any(t.text == "attributes" for t in op.head):
        others = [n for n in names if n not in KINDS]
        new = "a match for each kind, and transform.merge_handles"
        text = _merged(op, end, [([n], None) for n in others] + [([ELEMENTWISE], KINDS[n]) for n in gone])
        edit = between(op.first, op.last, text)
        yield rewrite(op.at, f"ops{{[{', '.join(gone)}]}}", new, edit, until=_REMOVED_IN)
    else:
        instead = (
            f'a match of "{ELEMENTWISE}" for each, with its kind in attributes, and transform.merge_handles'
        )
        yield hint(op.at, f"{', '.join(gone)} are {ELEMENTWISE} today", instead)


def _matched_names(op: OpSyntax) -> tuple[list[str], int]:
    """Return the names in ``ops{[…]}`` of a match and the index of the ``}``; no names where it has none."""
    tokens = op.head
    if op.spelling != "transform.structured.match" or op.is_generic:
        return [], 0
    for i in outside_brackets(tokens):
        if tokens[i].text == "ops" and i + 1 < len(tokens) and tokens[i + 1].text == "{":
            end = closing(tokens, i + 1)
            return [t.text.strip('"') for t in tokens[i:end] if t.kind == "string"], end
    return [], 0


def _with_kind(op: OpSyntax, end: int, kind: str) -> list[Replacement]:
    """Return the edits that let a match ask for a kind too."""
    tokens, said = op.head, f"kind = {kind_attribute(kind)}"
    for i in outside_brackets(tokens):
        if tokens[i].text == "attributes" and i + 1 < len(tokens):
            return [inserted(tokens[i + 1].end, f"{said}, ")]
        if tokens[i].text == "interface" and i + 1 < len(tokens):
            end = closing(tokens, i + 1)
    return [inserted(tokens[end].end, f" attributes {{{said}}}")]


def _merged(op: OpSyntax, end: int, parts: Sequence[tuple[list[str], str | None]]) -> str:
    """Return a match for each part, of names and maybe a kind, and what merges them, on one line."""
    result, rest = op.results[0].text, source_of(op.head[end + 1 :])
    type_ = spelled(signature_of(op).results or ())
    made = []
    for names, kind in parts:
        part = f"{result}_{kind or names[0].rpartition('.')[2]}"
        listed = ", ".join(f'"{n}"' for n in names)
        of_kind = f" attributes {{kind = {kind_attribute(kind)}}}" if kind else ""
        made.append((part, f"{part} = {op.spelling} ops{{[{listed}]}}{of_kind} {rest}"))
    merged = f"{result} = transform.merge_handles {', '.join(part for part, _ in made)} : {type_}"
    return "  ".join([*(text for _, text in made), merged])


def _other_names(op: OpSyntax | BlockLabel) -> Iterator[Finding]:
    """Name the op of every kind in the types of handles, and where there is no asking for a kind."""
    if edits := _renamed(op):
        names = ", ".join(dict.fromkeys(t.text for t in _strings(op)))
        yield rewrite(op.at, names, f'"{ELEMENTWISE}"', *edits, until=_REMOVED_IN)


def _renamed(op: OpSyntax | BlockLabel) -> list[Replacement]:
    return [replaced(t, f'"{ELEMENTWISE}"') for t in _strings(op)]


def _strings(op: OpSyntax | BlockLabel) -> list[Token]:
    """Return the tokens of a step that are the name of a named elementwise op."""
    tokens = op.tokens
    return [t for t in tokens if t.kind == "string" and t.text.strip('"') in KINDS]


def _match_names(op: OpSyntax) -> Iterator[Finding]:
    """Match by name what was matched by kind."""
    names, end = _matched_names(op)
    tokens = op.head
    start = next((i for i in outside_brackets(tokens) if tokens[i].text == "attributes"), None)
    if names != [ELEMENTWISE] or start is None:
        return
    entries = split_list(tokens[start + 2 : closing(tokens, start + 1)])
    said = {e[0].text: source_of(e[2:]) for e in entries}
    name = next((n for n, kind in KINDS.items() if said.get("kind") == kind_attribute(kind)), None)
    if name is None:
        return
    rest = ", ".join(source_of(e) for e in entries if e[0].text != "kind")
    text = f" attributes {{{rest}}}" if rest else ""
    string = next(t for t in tokens[: end + 1] if t.kind == "string")
    edits = [
        replaced(string, f'"{name}"'),
        Replacement(tokens[start - 1].end, tokens[closing(tokens, start + 1)].end, text),
    ]
    yield rewrite(
        op.at,
        f'ops{{["{ELEMENTWISE}"]}} attributes {{kind = {said["kind"]}}}',
        f'ops{{["{name}"]}}',
        *edits,
    )
