"""The custom syntax of transform ops, learned from what MLIR prints when one thing after another is set."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from lhkit.model.assembly import (
    SCALABLE,
    STYLES,
    TYPES_STYLES,
    Assembly,
    Piece,
    TypesStyle,
    dictionary_text,
    piece_texts,
    present,
    types_text,
    whole_text,
)
from lhkit.model.catalogue import CatalogueOp, Example
from lhkit.model.forms import Form


def learn_assembly(op: CatalogueOp, steps: Sequence[tuple[str, Example]]) -> Assembly | None:
    """Return the custom syntax that fits all examples of an op, or None if none is found.

    Args:
        op: The op, with its examples.
        steps: Instances, each with one thing more than one before it; with the name of that thing, empty for
            the first.
    """
    for style in TYPES_STYLES:
        for assembly in _first_assemblies(op, steps[0][1], style):
            learned = assembly
            for name, example in steps[1:]:
                learned = _taught(learned, op, name, example) or learned
            if _fits(learned, op):
                return learned
    return None


def _fits(assembly: Assembly, op: CatalogueOp) -> bool:
    """Return True if every example that sets nothing unknown comes out as MLIR prints it."""
    known = [e for e in op.examples if present(e.form) <= set(assembly.known)]
    return bool(known) and all(_rendered(assembly, e.form, op, e) == e.text for e in known)


def _rendered(assembly: Assembly, form: Form, op: CatalogueOp, example: Example) -> str:
    return whole_text(form, op, "".join(piece_texts(assembly, form, op, regions_in(example))))


def regions_in(example: Example) -> str:
    """Return the text of the regions of a printed op: from the first brace that ends a line to the last that begins one."""
    if not example.form.regions:
        return ""
    start = example.text.index("{\n")
    return example.text[start : example.text.rindex("\n}") + 2]


def _rest(op: CatalogueOp, example: Example) -> str:
    """Return what follows the name of a printed op."""
    return example.text.partition(op.name)[2]


def _first_assemblies(op: CatalogueOp, example: Example, style: TypesStyle) -> Iterator[Assembly]:
    """Yield the ways to read the smallest instance with one way to write types."""
    text, form = _rest(op, example), example.form
    given = [n for n, _ in form.attributes]
    always = [a.name for a in op.attributes if a.default == () and a.name != SCALABLE]
    for count in range(len(given), -1, -1):
        for inside in itertools.combinations(given, count):
            apart = [n for n in (*given, *always) if n not in inside and n != SCALABLE]
            pieces = _cut(op, example, text, style, inside, apart)
            if pieces is not None:
                known = {o.name for o in op.operands if o.count == "one"} | set(given) | present(form) | {SCALABLE}
                yield Assembly(pieces, style, tuple(sorted(known)))


def _cut(
    op: CatalogueOp, example: Example, text: str, style: TypesStyle, inside: Sequence[str], apart: Sequence[str]
) -> tuple[Piece, ...] | None:
    """Return a text as pieces: some attributes in the dictionary, others in places of their own."""
    form = example.form
    wanted = [(regions_in(example), Piece("regions")), (types_text(style, form), Piece("types"))]
    wanted.append((dictionary_text(form, op, {n for n, _ in form.attributes} - set(inside)), Piece("dictionary")))
    parts: list[str | Piece] = [text]
    for value, piece in wanted:
        if value and not _place(parts, value, piece, last=piece.kind == "types"):
            return None
    for name, values in form.operands:
        if any(a.dynamic == name for a in op.attributes):
            continue
        if not _place(parts, ", ".join(v.name for v in values), Piece("operands", name)):
            return None
    for name in apart:
        if not _place_attribute(parts, op, form, name):
            spec = op.attribute(name)
            if spec is None or spec.default != ():
                return None
    return tuple(Piece("text", p) if isinstance(p, str) else p for p in parts if p != "")


def _place_attribute(parts: list[str | Piece], op: CatalogueOp, form: Form, name: str) -> bool:
    spec = op.attribute(name)
    if spec is None:
        return False
    values = [(style, spell(form, spec)) for style, spell in STYLES.items()]
    named = [(f"{word} = {v}", v, s) for s, v in values if v for word in (name, name.removeprefix("static_"))]
    for longer, value, style in named:
        if _place(parts, value, Piece("attribute", name, style), within=longer):
            return True
    return any(v and _place(parts, v, Piece("attribute", name, s)) for s, v in values)


def _place(parts: list[str | Piece], value: str, piece: Piece, *, last: bool = False, within: str = "") -> bool:
    """Put a piece in the place of the text that it stands for; False if that is nowhere."""
    order = range(len(parts) - 1, -1, -1) if last else range(len(parts))
    for i in order:
        part = parts[i]
        if not isinstance(part, str):
            continue
        at = part.rfind(value) if last else part.find(within or value)
        if at >= 0:
            at += within.rfind(value) if within else 0
            parts[i : i + 1] = [part[:at], piece, part[at + len(value) :]]
            return True
    return False


def _taught(assembly: Assembly, op: CatalogueOp, name: str, example: Example) -> Assembly | None:
    """Return an assembly that also knows one more thing, or None if where it stands is not seen."""
    if not present(example.form) <= {*assembly.known, name, *_companions(op, name)}:
        return None
    known = tuple(sorted({*assembly.known, name, *_companions(op, name)}))
    for candidate in _candidates(dataclasses.replace(assembly, known=known), op, name, example):
        if _rendered(candidate, example.form, op, example) == example.text:
            return candidate
    return None


def _companions(op: CatalogueOp, name: str) -> tuple[str, ...]:
    """Return what is set together with an attribute: the values of a list of sizes, and which are scalable."""
    spec = op.attribute(name)
    return (spec.dynamic, SCALABLE) if spec is not None and spec.dynamic is not None else ()


def _candidates(assembly: Assembly, op: CatalogueOp, name: str, example: Example) -> Iterator[Assembly]:
    """Yield assemblies that may express one more thing: as it is, in a dictionary, or in a text put in."""
    yield assembly
    if not any(p.kind == "dictionary" for p in assembly.pieces):
        for i in range(len(assembly.pieces) + 1):
            pieces = (*assembly.pieces[:i], Piece("dictionary"), *assembly.pieces[i:])
            yield dataclasses.replace(assembly, pieces=pieces)
    form, text = example.form, _rest(op, example)
    hidden = dataclasses.replace(form, attributes=tuple(p for p in form.attributes if p[0] != name))
    texts = list(piece_texts(assembly, hidden, op, regions_in(example)))
    types = types_text(assembly.types, form)
    texts = [types if p.kind == "types" else t for p, t in zip(assembly.pieces, texts, strict=True)]
    before = "".join(texts)
    length = len(text) - len(before)
    for at in range(len(before), -1, -1):
        if length > 0 and text[:at] == before[:at] and text[at + length :] == before[at:]:
            yield from _with_inserted(assembly, op, name, form, texts, at, text[at : at + length])


def _with_inserted(
    assembly: Assembly, op: CatalogueOp, name: str, form: Form, texts: Sequence[str], at: int, inserted: str
) -> Iterator[Assembly]:
    split = _split(assembly.pieces, texts, at)
    if split is None:
        return
    before, after = split
    for new in _readings(op, name, form, inserted):
        yield dataclasses.replace(assembly, pieces=(*before, *new, *after))


def _split(
    pieces: Sequence[Piece], texts: Sequence[str], at: int
) -> tuple[tuple[Piece, ...], tuple[Piece, ...]] | None:
    """Return the pieces before and after a place in their text; None if it is inside what is no fixed text."""
    for i, (piece, text) in enumerate(zip(pieces, texts, strict=True)):
        if at <= 0:
            return tuple(pieces[:i]), tuple(pieces[i:])
        if at < len(text):
            if piece.kind != "text":
                return None
            halves = (dataclasses.replace(piece, text=t) for t in (text[:at], text[at:]))
            first, second = halves
            return (*pieces[:i], first), (second, *pieces[i + 1 :])
        at -= len(text)
    return tuple(pieces), ()


def _readings(op: CatalogueOp, name: str, form: Form, inserted: str) -> Iterator[tuple[Piece, ...]]:
    """Yield what a text that came with something set may be made of."""
    spec = op.attribute(name)
    parts: list[str | Piece] = [inserted]
    if spec is None:
        values = dict(form.operands).get(name, ())
        found = _place(parts, ", ".join(v.name for v in values), Piece("operands", name))
    else:
        found = spec.kind == "flag" or _place_attribute(parts, op, form, name)
    if found:
        pieces = (Piece("text", p) if isinstance(p, str) else p for p in parts if p != "")
        yield tuple(dataclasses.replace(p, needs=name) for p in pieces)
