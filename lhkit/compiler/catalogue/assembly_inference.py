"""Inference of the custom syntax of transform ops from printed instances that differ in one thing."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Sequence

from lhkit.model.op_catalogue import (
    STYLES,
    TAKEN_ALONG,
    TYPES_STYLES,
    Assembly,
    CatalogueOp,
    Example,
    Piece,
    TypesStyle,
    dictionary_text,
    piece_texts,
    present,
    spelled,
    types_text,
    whole_text,
)
from lhkit.model.step_form import Form


def learn_assembly(op: CatalogueOp, steps: Sequence[tuple[str, Example]]) -> Assembly | None:
    """Return the custom syntax that fits all examples of an op, or None if none is found.

    ``steps`` are instances, each with one thing more than one before it, and the name of that thing.
    """
    fitting: list[Assembly] = []
    for style in TYPES_STYLES:
        for assembly in _first_assemblies(op, steps[0][1], style):
            learned = assembly
            for name, example in steps[1:]:
                learned = _taught(learned, op, name, example) or learned
            for example in op.examples:
                companions = {c for n in learned.known for c in _companions(op, n)}
                for name in sorted(present(example.form) - companions.union(learned.known)):
                    learned = _taught(learned, op, name, example) or learned
            if _fits(learned, op):
                fitting.append(learned)
    return max(fitting, key=lambda a: len(a.known), default=None)


def _fits(assembly: Assembly, op: CatalogueOp) -> bool:
    """Return True if every example that sets nothing unknown comes out as MLIR prints it."""
    known = [e for e in op.examples if present(e.form) <= set(assembly.known)]
    return bool(known) and all(_rendered(assembly, e.form, op, e) == e.text for e in known)


def _rendered(assembly: Assembly, form: Form, op: CatalogueOp, example: Example) -> str:
    return whole_text(form, op, "".join(piece_texts(assembly, form, op, _regions_in(example))))


def _regions_in(example: Example) -> str:
    """Return the text of a printed op's regions, from the first brace that ends a line."""
    if not example.form.regions or "{\n" not in example.text:
        return ""
    start = example.text.index("{\n")
    return example.text[start : example.text.rindex("\n}") + 2]


def _rest(op: CatalogueOp, example: Example) -> str:
    """Return what follows the name of a printed op."""
    return example.text.partition(op.name)[2]


def _first_assemblies(op: CatalogueOp, example: Example, style: TypesStyle) -> Iterator[Assembly]:
    """Yield the ways to read the smallest instance with one way to write types."""
    form = example.form
    given = [n for n, _ in form.attributes if n not in TAKEN_ALONG]
    for count in range(len(given), -1, -1):
        for inside in itertools.combinations(given, count):
            pieces = _cut(op, example, style, inside, [n for n in given if n not in inside])
            if pieces is not None:
                known = {o.name for o in op.operands if o.count == "one"} | present(form) | TAKEN_ALONG
                known |= {c for p in pieces if p.kind == "attribute" for c in _companions(op, p.text)}
                yield Assembly(pieces, style, tuple(sorted(known & _names(op))))


def _names(op: CatalogueOp) -> set[str]:
    return {o.name for o in op.operands} | {a.name for a in op.attributes}


def _cut(
    op: CatalogueOp, example: Example, style: TypesStyle, inside: Sequence[str], apart: Sequence[str]
) -> tuple[Piece, ...] | None:
    """Return what follows the op's name as pieces; some attributes stand in the dictionary, others apart."""
    form = example.form
    parts: list[str | Piece] = [_rest(op, example)]
    dictionary = dictionary_text(form, op, {n for n, _ in form.attributes} - set(inside))
    wanted = [(_regions_in(example), Piece("regions")), (types_text(style, form), Piece("types"))]
    wanted.append((dictionary, Piece("dictionary")))
    for value, piece in wanted:
        if value and not _place(parts, value, piece, last=piece.kind == "types"):
            return None
    for name, values in form.operands:
        if any(a.dynamic == name for a in op.attributes):
            continue
        if not _place(parts, ", ".join(v.name for v in values), Piece("operands", name)):
            return None
    # Attributes with a default may be printed all the same.
    defaults = [a.name for a in op.attributes if a.name not in (*apart, *inside) and a.name not in TAKEN_ALONG]
    left = [n for n in (*apart, *defaults) if not _place_attribute(parts, op, form, n, is_named=True)]
    left = [n for n in left if n in defaults or not _place_attribute(parts, op, form, n, is_named=False)]
    left = [
        n
        for n in left
        if not (_is_printed_default(op, n) and _place_attribute(parts, op, form, n, is_named=False))
    ]
    if any(n in apart for n in left) or any(isinstance(p, str) and "!transform" in p for p in parts):
        return None
    if style != "none" and not types_text(style, form):
        parts.append(Piece("types"))
    pieces = [Piece("text", p) if isinstance(p, str) else p for p in parts if p != ""]
    return tuple(_with_needs(op, form, pieces))


def _is_printed_default(op: CatalogueOp, name: str) -> bool:
    spec = op.attribute(name)
    return spec is not None and (spec.default == () or spec.kind == "enum")


def _with_needs(op: CatalogueOp, form: Form, pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Yield pieces, those of attributes that could be left out marked, with the word before them."""
    optional = {n for n, _ in form.attributes if (spec := op.attribute(n)) is not None and not spec.is_required}
    for piece, after in itertools.zip_longest(pieces, pieces[1:]):
        if piece.kind == "text" and after is not None and after.kind == "attribute" and after.text in optional:
            start = match.start() if (match := _LAST_WORD.search(piece.text)) else len(piece.text)
            yield dataclasses.replace(piece, text=piece.text[:start])
            yield dataclasses.replace(piece, text=piece.text[start:], needs=after.text)
        elif piece.kind == "attribute" and piece.text in optional:
            yield dataclasses.replace(piece, needs=piece.text)
        else:
            yield piece


_LAST_WORD = re.compile(r" \w+ (= )?\Z")


def _place_attribute(
    parts: list[str | Piece], op: CatalogueOp, form: Form, name: str, *, is_named: bool
) -> bool:
    """Put an attribute in the place of its value: after its name, or wherever it is found first."""
    spec = op.attribute(name)
    if spec is None:
        return False
    for style in STYLES:
        value = spelled(style, form, spec)
        for before in (f"{name} = ", f"{name.removeprefix('static_')} = ") if is_named else ("",):
            if value and _place(parts, value, Piece("attribute", name, style), within=before + value):
                return True
    return False


def _place(parts: list[str | Piece], value: str, piece: Piece, *, last: bool = False, within: str = "") -> bool:
    """Replace the text that a piece represents by the piece; False if the text does not occur."""
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
    """Return an assembly that also knows one more thing, or None if its position is not found."""
    if not present(example.form) <= {*assembly.known, name, *_companions(op, name)}:
        return None
    known = tuple(sorted({*assembly.known, name, *_companions(op, name)} & _names(op)))
    for candidate in _candidates(dataclasses.replace(assembly, known=known), assembly.known, op, name, example):
        if _rendered(candidate, example.form, op, example) == example.text:
            return candidate
    return None


def _companions(op: CatalogueOp, name: str) -> tuple[str, ...]:
    """Return what is set together with an attribute: the values of a list of sizes, and which are scalable."""
    spec = op.attribute(name)
    return (spec.dynamic, *TAKEN_ALONG) if spec is not None and spec.dynamic is not None else ()


def _candidates(
    assembly: Assembly, known_before: Sequence[str], op: CatalogueOp, name: str, example: Example
) -> Iterator[Assembly]:
    """Yield assemblies that may express one more thing: as it is, in a dictionary, or in a text put in."""
    yield assembly
    if name in known_before:
        return
    if not any(p.kind == "dictionary" for p in assembly.pieces):
        for i in range(len(assembly.pieces), -1, -1):
            pieces = (*assembly.pieces[:i], Piece("dictionary"), *assembly.pieces[i:])
            yield dataclasses.replace(assembly, pieces=pieces)
    form, text = example.form, _rest(op, example)
    hidden = dataclasses.replace(form, attributes=tuple(p for p in form.attributes if p[0] != name))
    texts = list(piece_texts(assembly, hidden, op, _regions_in(example)))
    types = types_text(assembly.types, form)
    texts = [types if p.kind == "types" else t for p, t in zip(assembly.pieces, texts, strict=True)]
    before = "".join(texts)
    length = len(text) - len(before)
    for at in sorted(range(len(before) + 1), key=lambda at: (not text[at:].startswith(" "), -at)):
        end = at + length
        is_inserted = length > 0 and text[:at] == before[:at] and text[end:] == before[at:]
        if not is_inserted or any(re.fullmatch(r"\w\w", text[i - 1 : i + 1]) for i in (at, end)):
            continue
        if (split := _split(assembly.pieces, texts, at)) is not None:
            for new in _readings(op, name, form, text[at:end]):
                yield dataclasses.replace(assembly, pieces=(*split[0], *new, *split[1]))


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
            first, second = (dataclasses.replace(piece, text=t) for t in (text[:at], text[at:]))
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
        found = spec.kind == "flag" or _place_attribute(parts, op, form, name, is_named=False)
    if found:
        pieces = (Piece("text", p) if isinstance(p, str) else p for p in parts if p != "")
        yield tuple(dataclasses.replace(p, needs=name) for p in pieces)
