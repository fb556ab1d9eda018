"""Printing a form in the custom assembly format of its op."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from lhkit.model.op_catalogue import Assembly, AttributeSpec, CatalogueOp, TypesStyle
from lhkit.model.step_form import AttributeValue, Form, TypedName, attribute_text, left_side


def custom_text(form: Form, op: CatalogueOp, regions: str = "") -> str | None:
    """Return a form in its op's custom syntax, or None if that is not known for all that it sets."""
    if op.assembly is None or not present(form) <= set(op.assembly.known):
        return None
    if form.results and op.regions and not any(e.form.results for e in op.examples):
        # The position of result types beside regions is not known from an example.
        return None
    return whole_text(form, op, "".join(piece_texts(op.assembly, form, op, regions)))


def whole_text(form: Form, op: CatalogueOp, rest: str) -> str:
    """Return an op's text with its results and the text that follows it."""
    made = left_side([v.name for v in form.result_values])
    lines = f"{made} = {op.name}{rest}" if made else f"{op.name}{rest}"
    return "\n".join(line.rstrip() for line in lines.splitlines())


def present(form: Form) -> set[str]:
    """Return the names of the operands and attributes that a form gives."""
    return {name for name, _ in (*form.operands, *form.attributes)}


def piece_texts(assembly: Assembly, form: Form, op: CatalogueOp, regions: str) -> Iterator[str]:
    """Yield what each piece makes of a form; nothing for those that it does not need."""
    given = present(form)
    given |= {a.name for a in op.attributes if a.dynamic in given}
    apart = {p.text for p in assembly.pieces if p.kind == "attribute"} | _words_of_flags(assembly, op)
    for piece in assembly.pieces:
        if piece.needs and piece.needs not in given:
            yield ""
        elif piece.kind == "text":
            yield piece.text
        elif piece.kind == "operands":
            yield ", ".join(v.name for v in dict(form.operands).get(piece.text, ()))
        elif piece.kind == "attribute":
            spec = op.attribute(piece.text)
            yield "" if spec is None else STYLES[piece.style](form, spec) or ""
        elif piece.kind == "types":
            yield types_text(assembly.types, form)
        else:
            yield regions if piece.kind == "regions" else dictionary_text(form, op, apart)


def _words_of_flags(assembly: Assembly, op: CatalogueOp) -> set[str]:
    """Return the attributes implied by fixed text, and those printed with lists of sizes."""
    taken = {p.needs for p in assembly.pieces if p.kind == "text" and p.needs}
    return taken | TAKEN_ALONG


SCALABLE = "scalable_sizes"
_ACTIONS = "actions"
# Attributes that are written as part of another one.
TAKEN_ALONG = frozenset((SCALABLE, _ACTIONS, "is_all", "is_inverted"))


def dictionary_text(form: Form, op: CatalogueOp, apart: set[str]) -> str:
    """Return the remaining attributes, as `` {name = value, …}``; nothing if there are none."""
    entries = []
    for name, value in sorted(form.attributes):
        spec = op.attribute(name)
        if name in apart or spec is None:
            continue
        entries.append(name if spec.kind == "flag" else f"{name} = {_entry(value, spec)}")
    return f" {{{', '.join(entries)}}}" if entries else ""


def _entry(value: AttributeValue, spec: AttributeSpec) -> str:
    if spec.kind == "enum":
        return next((c.text for c in spec.cases if c.name == value), str(value))
    if spec.kind in ("ints", "bools") and spec.storage.startswith("["):
        return _brackets(value)
    if spec.kind == "int-lists" and isinstance(value, tuple):
        return f"[{', '.join(_brackets(v) for v in value)}]"
    return attribute_text(value, spec.kind, spec.storage)


def types_text(style: TypesStyle, form: Form) -> str:
    """Return the types of a form's operands and results as an op writes them."""
    given = [v.type for v in form.operand_values]
    made = [v.type for v in form.result_values]
    results = made[0] if len(made) == 1 else f"({', '.join(made)})"
    match style:
        case "function":
            return f" : ({', '.join(given)}) -> {results}"
        case "operands":
            return f" : {', '.join(given)}{f' -> {results}' if made else ''}" if given else ""
        case "first":
            return f" : {given[0]}" if given else ""
        case "result":
            return f" -> {results}" if made else ""
        case "cast":
            return f" : {', '.join(given)} to {results}"
        case "one-result":
            return f" : {', '.join(given)}" if given else ""
        case "either":
            return f" : ({', '.join(given)}) -> {results}" if made else f" : {', '.join(given)}"
        case "same-results":
            return f" : ({', '.join(given)}) -> {made[0] if made else '()'}"
        case _:
            return ""


def _given(form: Form, spec: AttributeSpec) -> AttributeValue:
    return dict(form.attributes).get(spec.name, spec.default)


def _mixed(form: Form, spec: AttributeSpec) -> str | None:
    """Spell a list of sizes: numbers, values for those left open, brackets around those that are scalable."""
    value = _given(form, spec)
    if not isinstance(value, tuple) or spec.kind != "ints":
        return None
    names = iter([v.name for v in dict(form.operands).get(spec.dynamic or "", ())])
    scalable = dict(form.attributes).get(SCALABLE, ())
    flags = scalable if isinstance(scalable, tuple) and spec.dynamic else ()
    entries = []
    for i, entry in enumerate(value):
        text = next(names, "") if entry is None else str(entry)
        entries.append(f"[{text}]" if i < len(flags) and flags[i] else text)
    return f"[{', '.join(entries)}]"


def _number(form: Form, spec: AttributeSpec) -> str | None:
    """Print a number, or the value in its place."""
    values: Sequence[TypedName] = dict(form.operands).get(spec.dynamic or "", ())
    if values:
        return values[0].name
    value = _given(form, spec)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _word(form: Form, spec: AttributeSpec) -> str | None:
    value = _given(form, spec)
    if spec.kind == "string" or not isinstance(value, bool | str):
        return None
    return str(value).lower() if isinstance(value, bool) else value


def _quoted(form: Form, spec: AttributeSpec) -> str | None:
    value = _given(form, spec)
    return attribute_text(value, "string", "") if isinstance(value, str) else None


def _typed(form: Form, spec: AttributeSpec) -> str | None:
    value = _given(form, spec)
    return None if value is None or spec.kind == "enum" else _entry(value, spec)


def _bracketed(form: Form, spec: AttributeSpec) -> str | None:
    value = _given(form, spec)
    return _brackets(value) if isinstance(value, tuple) and spec.kind in ("ints", "bools") else None


def _pairs(form: Form, spec: AttributeSpec) -> str | None:
    """Spell matchers with their actions."""
    matchers, actions = _given(form, spec), dict(form.attributes).get(_ACTIONS)
    if spec.name != "matchers" or not isinstance(matchers, tuple) or not isinstance(actions, tuple):
        return None
    return ",\n    ".join(f"{m} -> {a}" for m, a in zip(matchers, actions, strict=False))


def _positions(form: Form, spec: AttributeSpec) -> str | None:
    """Spell which operands or results are meant: some, all but some, or all."""
    given = dict(form.attributes)
    listed = _brackets(_given(form, spec))[1:-1]
    if spec.name not in ("raw_position_list", "raw_dim_list"):
        return None
    return (
        "[all]" if given.get("is_all") else f"[except({listed})]" if given.get("is_inverted") else f"[{listed}]"
    )


def _options(form: Form, spec: AttributeSpec) -> str | None:
    """Spell a dictionary whose entries may be parameters."""
    value = _given(form, spec)
    if spec.kind != "dictionary" or not isinstance(value, tuple):
        return None
    values = [v.name for _, group in form.operands[1:] for v in group]
    entries = []
    for entry in value:
        name, text = entry if isinstance(entry, tuple) else ("", "")
        index = _PARAM_OPERAND.fullmatch(str(text))
        known = index is not None and int(index[1]) < len(values)
        entries.append(f'"{name}" = {values[int(index[1])] if index and known else text}')
    return f"{{{', '.join(entries)}}}"


_PARAM_OPERAND = re.compile(r"#transform\.param_operand<index\s*=\s*(\d+)(?: : i64)?>")


def _brackets(value: object) -> str:
    items = value if isinstance(value, tuple) else ()
    return f"[{', '.join(str(v).lower() if isinstance(v, bool) else str(v) for v in items)}]"


STYLES: Mapping[str, Callable[[Form, AttributeSpec], str | None]] = {
    "positions": _positions,
    "mixed": _mixed,
    "number": _number,
    "word": _word,
    "quoted": _quoted,
    "options": _options,
    "typed": _typed,
    "bracketed": _bracketed,
    "pairs": _pairs,
}
