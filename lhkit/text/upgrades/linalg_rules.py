"""Upgrade rules for named ops of linalg."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from lhkit.model.fatal_attributes import ELEMENTWISE, KINDS, NAMES, ElementwiseSpelling, kind_attribute
from lhkit.text.lexer import Token
from lhkit.text.op_tree import BlockLabel, OpSyntax
from lhkit.text.parser import (
    are_balanced,
    brackets_behind,
    closing,
    first_outside,
    read_syntax,
    source_of,
    split_list,
)
from lhkit.text.script import Replacement, with_replacements
from lhkit.text.upgrades.rule_edits import (
    Finding,
    attribute_entries,
    between,
    hint,
    inserted,
    rename,
    replaced,
    rewrite,
    signature_of,
    spelled,
)

_DEFAULT_KIND = {"linalg.elemwise_binary": "add", "linalg.elemwise_unary": "exp"}
TRANSPOSED = {
    "linalg.matmul_transpose_a": ("linalg.matmul", "m, n, k", "k, m", "k, n", "m, n"),
    "linalg.matmul_transpose_b": ("linalg.matmul", "m, n, k", "m, k", "n, k", "m, n"),
    "linalg.batch_matmul_transpose_a": ("linalg.batch_matmul", "b, m, n, k", "b, k, m", "b, k, n", "b, m, n"),
    "linalg.batch_matmul_transpose_b": ("linalg.batch_matmul", "b, m, n, k", "b, m, k", "b, n, k", "b, m, n"),
}
_SHAPED = re.compile(r"(?:tensor|memref|vector)<((?:(?:\d+|\?)x)*)")


def _elementwise(op: OpSyntax) -> Iterable[Finding]:
    """One op with a kind took the place of the unary and the binary one; scalars need their maps written."""
    dictionary = attribute_entries(op)
    entries = dictionary[2] if dictionary else []
    said = {e[0].text: source_of(e[2:]) for e in entries}
    kind = re.search(r"<\s*(\w+)\s*>", said.get("fun", ""))
    name = kind[1] if kind else _DEFAULT_KIND[op.spelling]
    new = ElementwiseSpelling().op(name)
    if "cast" in said:
        yield hint(op.at, f"{op.spelling} with a cast has no equal", f"cast the inputs first, then {new}")
        return
    maps = indexing_maps(op.head)
    if maps is None:
        yield hint(op.at, f"{op.spelling} is linalg.elementwise today", f"{new} ins(…) outs(…)")
        return
    new += maps
    rest = [source_of(e) for e in entries if e[0].text != "fun"]
    new += f" {{{', '.join(rest)}}}" if rest else ""
    edit = between(op.at, dictionary[1] if dictionary else op.at, new)
    yield rewrite(op.at, f"{op.spelling} {{{name}}}", f"linalg.elementwise <{name}>", edit, until=22)


def indexing_maps(tokens: Sequence[Token]) -> str | None:
    """Return the indexing maps that an elementwise op has to state, "" for none, None if types are missing."""
    inputs, outputs = _operand_ranks(tokens, "ins"), _operand_ranks(tokens, "outs")
    if not inputs or len(outputs) != 1 or any(r not in (0, outputs[0]) for r in inputs):
        return None
    if all(r == outputs[0] for r in inputs):
        return ""
    dims = ", ".join(f"d{i}" for i in range(outputs[0]))
    whole, scalar = f"affine_map<({dims}) -> ({dims})>", f"affine_map<({dims}) -> ()>"
    return f" indexing_maps = [{', '.join(scalar if r == 0 else whole for r in (*inputs, outputs[0]))}]"


def _operand_ranks(tokens: Sequence[Token], word: str) -> list[int]:
    """Return the rank of each operand in ``ins(…)`` or ``outs(…)``, 0 for a scalar."""
    start, end = brackets_behind(tokens, word, "(") or (0, 0)
    part = tokens[start + 1 : end]
    colon = first_outside(part, ":")
    types = split_list(part[colon + 1 :]) if colon is not None else []
    matches = [_SHAPED.match(source_of(t).replace(" ", "")) for t in types]
    return [match[1].count("x") if match else 0 for match in matches]


def _transposed(op: OpSyntax) -> Iterable[Finding]:
    """A transposed matmul is a matmul whose maps say so."""
    new, dims, *results = TRANSPOSED[op.spelling]
    maps = ", ".join(f"affine_map<({dims}) -> ({r})>" for r in results)
    yield rename(op, f"{new} indexing_maps = [{maps}]", said=f"{new} indexing_maps = […]", until=22)


def _unsigned(op: OpSyntax) -> Iterable[Finding]:
    new = "linalg.matmul {cast = #linalg.type_fn<cast_unsigned>}"
    yield rename(op, new, said="linalg.matmul {cast = …<cast_unsigned>}", until=20)


def _init(op: OpSyntax) -> Iterable[Finding]:
    """``init(…)`` on named ops, of the first proposals of linalg on tensors, is ``outs(…)``."""
    if brackets := brackets_behind(op.head, "init", "("):
        yield rewrite(op.at, "init(…)", "outs(…)", replaced(op.head[brackets[0] - 1], "outs"), until=12)


def _operands_in_parentheses(op: OpSyntax) -> Iterable[Finding]:
    """``linalg.fill(%value, %out) : types`` and ``linalg.copy(%in, %out)`` have ``ins`` and ``outs`` today."""
    tokens = op.head
    signature = signature_of(op)
    if not tokens or tokens[0].text != "(" or len(signature.operands) < 2:
        return
    values = [source_of(p) for p in split_list(tokens[1 : closing(tokens, 0)])]
    pairs = list(zip(values, signature.operands[:2], strict=False))
    if len(pairs) != 2:
        return
    if op.spelling == "linalg.fill" and _SHAPED.match(pairs[0][1]) and not _SHAPED.match(pairs[1][1]):
        pairs.reverse()  # still older: the output came first
    (source, source_type), (target, target_type) = pairs
    text = f"{op.spelling} ins({source} : {source_type}) outs({target} : {target_type})"
    if signature.results:
        text += f" -> {', '.join(signature.results)}"
    edit = between(op.at, op.last, text)
    yield rewrite(op.at, f"{op.spelling}(a, b)", f"{op.spelling} ins(a) outs(b)", edit, until=15)


LINALG_RULES: dict[str, tuple[Callable[[OpSyntax], Iterable[Finding]], ...]] = {
    **dict.fromkeys(_DEFAULT_KIND, (_elementwise,)),
    **dict.fromkeys(TRANSPOSED, (_init, _transposed)),
    "linalg.matmul_unsigned": (_unsigned,),
    **dict.fromkeys(("linalg.matmul", "linalg.batch_matmul", "linalg.matvec", "linalg.dot"), (_init,)),
    **dict.fromkeys(("linalg.fill", "linalg.copy"), (_operands_in_parentheses,)),
}


# "any": named ops stay where the bindings have them; else all ops are rewritten, as far as they can be.
Wanted = Literal["any", "named", "elementwise"]
_REMOVED_IN = 24  # the LLVM that was under development then
# Takes an op or a label, and whether it is in a schedule.
Respelling = Callable[[OpSyntax | BlockLabel, bool], Iterable[Finding]]
_MENTIONED = re.compile(rf"\b(?:{'|'.join(re.escape(name) for name in KINDS)}|{re.escape(ELEMENTWISE)})\b")


def respelling(spelling: ElementwiseSpelling, wanted: Wanted) -> Respelling:
    """Return the rule that rewrites the elementwise ops of a text."""
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
    """Return a text with elementwise ops rewritten as `respelling` can; every op stays on its line."""
    rule = respelling(spelling, wanted)
    found = _visit(read_syntax(text, is_old=True).ops, rule, False)
    edits = [edit for finding in found for edit in getattr(finding, "edits", ())]
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
    kind, end, _ = _stated_kind(op) or ("", op.at, "")
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
        edits = [_with_kind(op, end, KINDS[gone[0]]), *_renamed(op)]
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
    if op.spelling != "transform.structured.match" or op.is_generic:
        return [], 0
    start, end = brackets_behind(op.head, "ops", "{") or (0, 0)
    return [t.text.strip('"') for t in op.head[start:end] if t.kind == "string"], end


def _with_kind(op: OpSyntax, end: int, kind: str) -> Replacement:
    tokens, said = op.head, f"kind = {kind_attribute(kind)}"
    if attributes := brackets_behind(tokens, "attributes", "{"):
        return inserted(tokens[attributes[0]].end, f"{said}, ")
    if interface := brackets_behind(tokens, "interface", "{"):
        end = interface[1]
    return inserted(tokens[end].end, f" attributes {{{said}}}")


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
        starts = {edit.start for edit in edits}
        names = ", ".join(dict.fromkeys(t.text for t in op.tokens if t.start in starts))
        yield rewrite(op.at, names, f'"{ELEMENTWISE}"', *edits, until=_REMOVED_IN)


def _renamed(op: OpSyntax | BlockLabel) -> list[Replacement]:
    named = (t for t in op.tokens if t.kind == "string" and t.text.strip('"') in KINDS)
    return [replaced(t, f'"{ELEMENTWISE}"') for t in named]


def _match_names(op: OpSyntax) -> Iterator[Finding]:
    """Match by name what was matched by kind."""
    names, end = _matched_names(op)
    tokens = op.head
    attributes = brackets_behind(tokens, "attributes", "{")
    if names != [ELEMENTWISE] or attributes is None:
        return
    first, last = attributes
    entries = split_list(tokens[first + 1 : last])
    said = {e[0].text: source_of(e[2:]) for e in entries}
    name = next((n for n, kind in KINDS.items() if said.get("kind") == kind_attribute(kind)), None)
    if name is None:
        return
    rest = ", ".join(source_of(e) for e in entries if e[0].text != "kind")
    text = f" attributes {{{rest}}}" if rest else ""
    string = next(t for t in tokens[: end + 1] if t.kind == "string")
    edits = [replaced(string, f'"{name}"'), Replacement(tokens[first - 2].end, tokens[last].end, text)]
    old = f'ops{{["{ELEMENTWISE}"]}} attributes {{kind = {said["kind"]}}}'
    yield rewrite(op.at, old, f'ops{{["{name}"]}}', *edits)
